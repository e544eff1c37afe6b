"""Figures of one result, or of several over each other. Tables in, matplotlib figures out.

Every function takes results by label; a single result may have the label `""`. A figure whose table has no rows
(latencies under the executor `count`) does not exist: the function returns `None`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ftlab.base import escape
from ftlab.results import pictures, text
from ftlab.results.charts import Chart, Drawable, HeatMap, Values
from ftlab.results.drawing import CAUSE_COLOURS, FILE, KIND_COLOURS, colour, draw, plain
from ftlab.results.latency_parts import AT, KINDS, PARTS, Around, around
from ftlab.results.pictures import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PART_COLOURS = {
    "service": "#9aa5b1", "host_read": "#56b4e9", "host_program": "#0072b2", "gc": "#e69f00", "gc_wait": "#f3d08a",
    "erase": "#d55e00", "suspend": "#7a3300", "channel": "#8c6bb1", "queue": "#d9d9d9", "admission": "#1b1b1b",
    "controller": "#8c564b", "link": "#4d4d4d", "buffer": "#cc79a7", "old_version": "#a6761d",
    "map": "#009e73", "mapping": "#66c2a5", "other_tenant": "#9b1b5a",
    "correction": "#b8c400", "retry": "#a50f15", "fold": "#ff9da7", "refresh": "#e78ac3",
    "wear": "#b15928", "backup": "#6a3d9a",
}  # fmt: skip
"""Of the parts of a latency."""

DPI = 130


def figures(results: Results) -> dict[str, Figure]:
    """All figures there are for these results, by name; with several, also an overview."""
    made = {
        "latency": latency(results),
        "latency-parts": latency_parts(results),
        "series": series(results),
        "wear": wear(results),
        "utilisation": utilisation(results),
    }
    if len(results) > 1:
        made["overview"] = overview(results)
    return {name: figure for name, figure in made.items() if figure is not None}


def save(drawn: Mapping[str, Figure], directory: Path) -> None:
    """Writes each figure as PNG and SVG. The same figure gives the same bytes."""
    import matplotlib

    for name, figure in drawn.items():
        # To find a layout costs as much as to draw: it is done once for both.
        figure.set_dpi(DPI)
        if engine := figure.get_layout_engine():
            engine.execute(figure)
        figure.set_layout_engine(None)
        figure.savefig(directory / f"{name}.png", dpi=DPI, metadata={"Software": None})
        with matplotlib.rc_context({"svg.hashsalt": "ftlab"}):
            figure.savefig(directory / f"{name}.svg", metadata={"Date": None, "Creator": "ftlab"})


def latency(results: Results) -> Figure | None:
    """The latency distribution: how many requests are done by when, and the tail to p99.99.

    Left the cumulative distribution, right latency by percentile on a scale that gives each further nine the same
    room. One run has reads and writes in the same panels, several have a row for each. A curve ends where a
    percentile would rest on less than one request.
    """
    charts = pictures.latency(results)
    return sheet([charts[i : i + 2] for i in range(0, len(charts), 2)], height=3.2, width=10.5)


def sheet(rows: Sequence[Sequence[Drawable]], *, height: float, width: float) -> Figure | None:
    """Charts in rows under each other, with one legend above where they have series to tell apart."""
    if not rows:
        return None
    figure, panels = _panels(len(rows), max(map(len, rows)), height=height, width=width)
    for line, charts in zip(panels, rows, strict=True):
        for panel, chart in zip(line, charts, strict=False):
            draw(panel, chart, FILE)
            _title(panel, chart.title)
        for panel in line[len(charts) :]:
            panel.set_visible(False)
    if isinstance(rows[0][0], Chart):
        _legend(figure, panels[0, 0])
    return figure


def latency_parts(results: Results) -> Figure | None:
    """The parts of latencies, at the mean and at percentiles: reads and writes apart; a row for each run that
    split them.

    Bars are shares of the latency that stands over them: a p99.9 is a hundred times a p50 often enough.
    """
    rows = {
        label: {kind: [found for at in AT if (found := around(result, kind, at))] for kind in KINDS}
        for label, result in results.items()
        if "latency_parts" in result.summary
    }
    kinds = [kind for kind in KINDS if any(_took_time(of_kind[kind]) for of_kind in rows.values())]
    if not kinds:
        return None
    figure, panels = _panels(len(rows), len(kinds), height=3.1, width=5.6 * len(kinds) + 1)
    shown: dict[str, Any] = {}
    for line, (label, of_kind) in zip(panels, rows.items(), strict=True):
        for panel, kind in zip(line, kinds, strict=True):
            name = f"{kind}s of {escape.plot(label)}" if label else f"{kind}s"
            panel.set_title(f"{name}: what latencies went to", loc="left", fontsize=10.5, pad=18)
            shown |= _parts_of_kind(panel, of_kind[kind])
            panel.set_ylabel("share of the latency (%)")
    names = [name for name in PARTS if name in shown]
    handles, labels = [shown[name] for name in names], [PARTS[name].label for name in names]
    if "held" in shown:
        handles.append(shown["held"])
        labels.append("… of those that held\nplaces or room")
    figure.legend(
        handles, labels, loc="outside right center",
        frameon=False, fontsize=9, handlelength=1.2, reverse=True,
    )  # fmt: skip
    return figure


def _took_time(levels: Sequence[Around]) -> bool:
    return any(found.latency_us > 0 for found in levels)


def _share(found: Around, name: str, is_held: bool) -> float:
    """Percent of a latency for a cause that came to the request itself, or to those that held what it waited for."""
    us = sum(share.us for share in found.shares() if share.part == name and bool(share.way) == is_held)
    return 100 * us / found.latency_us if found.latency_us else 0.0


def _parts_of_kind(panel: Axes, levels: Sequence[Around]) -> dict[str, Any]:
    """Draws the bars of a kind of request; the handles of the parts that can be seen."""
    from matplotlib.patches import Patch

    places, base = np.arange(len(levels)), np.zeros(len(levels))
    shown: dict[str, Any] = {}
    for name in PARTS:
        for is_held in (False, True):
            shares = np.array([_share(found, name, is_held) for found in levels])
            if shares.max(initial=0) >= 0.05:
                bars = panel.bar(places, shares, 0.78, bottom=base, color=PART_COLOURS[name], linewidth=0,
                                 hatch="////" if is_held else "", edgecolor="#ffffff")  # fmt: skip
                shown.setdefault(name, bars if not is_held else Patch(color=PART_COLOURS[name]))
                if is_held:
                    shown["held"] = Patch(facecolor="#9aa5b1", hatch="////", edgecolor="#ffffff", linewidth=0)
            base += shares
    for place, found in zip(places, levels, strict=True):
        panel.annotate(text.duration(found.percentile_us), (place, 101), ha="center", va="bottom",
                       fontsize=8, annotation_clip=False)  # fmt: skip
    panel.set_xticks(places, [found.at for found in levels])
    panel.set_ylim(0, 100)
    panel.grid(False, axis="x")
    return shown


def series(results: Results) -> Figure | None:
    """Throughput, WAF, GC rate and mean latency, over the volume written and over simulated time."""
    columns = [charts for axis in ("volume", "time") if (charts := pictures.series(results, axis))]
    rows = [[chart for chart in row if chart is not None] for row in itertools.zip_longest(*columns)]
    return sheet(rows, height=2.1, width=5.4 * len(columns))


def wear(results: Results) -> Figure | None:
    """How often blocks were erased: the distribution, and where the erases are (one run) or the blocks in order of
    wear (several). Preconditioning counts: this is the state of the blocks.
    """
    charts: list[Drawable] = [*pictures.wear(results)]
    if not charts:
        return None
    if len(results) == 1 and (found := pictures.wear_map(next(iter(results.values())).wear)) is not None:
        charts.append(found)
    figure = sheet([charts], height=3.7, width=10.5)
    if figure is not None and charts[1:] and isinstance(charts[1], HeatMap):
        panel = figure.axes[1]
        bar = figure.colorbar(panel.images[0], ax=panel, label=charts[1].unit, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=8.5)
    return figure


def utilisation(results: Results) -> Figure | None:
    """The time of channels and dies by part: every channel and die of one run, or the means of several."""
    if not any(result.utilisation["index"].size for result in results.values()):
        return None
    if len(results) == 1:
        figure = sheet([pictures.utilisation(next(iter(results.values())))], height=3.7, width=11)
        for panel in () if figure is None else figure.axes:
            panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=4, frameon=False, fontsize=9,
                         handlelength=1.2, columnspacing=1.2)  # fmt: skip
        return figure
    figure, panels = _panels(1, 2, height=1.4 + 0.3 * len(results), width=11)
    labels = [escape.plot(label) for label in results]
    for panel, resource, colours in zip(
        panels[0], ("channel", "die"), (CAUSE_COLOURS, KIND_COLOURS), strict=True
    ):
        means = {
            part: np.array(
                [pictures.mean_of(result.utilisation, resource, part) for result in results.values()]
            )
            for part in colours
        }
        _stacked(panel, means, colours)
        panel.set_yticks(np.arange(len(labels)), labels if resource == "channel" else [""] * len(labels))
        panel.invert_yaxis()
        _title(panel, f"{resource}s by {pictures.BY[resource]}, mean")
        panel.set_xlabel("share of time (%)")
        panel.grid(False, axis="y")
    return figure


def overview(results: Results) -> Figure | None:
    """The headline figures side by side as bars."""
    shown = headlines(results)
    if not shown:
        return None
    figure, panels = _panels(1, len(shown), height=1.1 + 0.3 * len(results), width=3.0 * len(shown) + 1.2)
    places = np.arange(len(results))
    labels = [escape.plot(label) for label in results]
    for i, (panel, (title, values, words)) in enumerate(zip(panels[0], shown, strict=True)):
        numbers = [0.0 if value is None else value for value in values]
        bars = panel.barh(places, numbers, color=[colour(j) for j in range(len(values))], height=0.66)
        panel.bar_label(bars, words, padding=3, fontsize=8)
        _title(panel, title)
        panel.set_yticks(places, labels if i == 0 else [""] * len(results))
        panel.invert_yaxis()
        panel.margins(x=0.24)
        panel.xaxis.set_visible(False)
        for side in ("bottom", "left"):
            panel.spines[side].set_visible(False)
        panel.tick_params(left=False)
        panel.grid(False)
    return figure


HEADLINES: tuple[tuple[str, Callable[[float | None], str], tuple[str, ...]], ...] = (
    ("reads (IOPS)", text.count, ("host", "read_iops")),
    ("writes (IOPS)", text.count, ("host", "write_iops")),
    ("read latency, p99.9", text.duration, ("host", "read_latency_us", "p999")),
    ("write latency, p99.9", text.duration, ("host", "write_latency_us", "p999")),
    ("WAF", text.amplification, ("waf",)),
)


def headlines(results: Results) -> list[tuple[str, list[float | None], list[str]]]:
    """The headline figures: their names, values for each result, and how these are told, each in its own unit."""
    shown = []
    for title, form, path in HEADLINES:
        found = [_headline(result.summary, *path) for result in results.values()]
        if any(found):
            shown.append((title, found, [form(value) for value in found]))
    return shown


def _headline(summary: Mapping[str, Any], *path: str) -> float | None:
    value: Any = summary
    for key in path:
        value = value[key]
    return None if value is None else float(value)


def _panels(
    rows: int, columns: int, *, height: float, width: float, sharex: Any = False
) -> tuple[Figure, NDArray[Any]]:
    """A figure of `rows` × `columns` panels, `height` inches each and `width` inches in all."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height * rows + 0.5), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=sharex)
    for panel in panels.flat:
        plain(panel, FILE)
    return figure, panels


def _title(panel: Axes, text: str) -> None:
    panel.set_title(text, loc="left", fontsize=10.5)


def _legend(figure: Figure, panel: Axes) -> None:
    """One legend above all panels, if there is anything to tell apart."""
    handles, labels = panel.get_legend_handles_labels()
    if len(labels) < 2:
        return
    columns = min(len(labels), max(1, int(figure.get_figwidth() * 10) // (max(map(len, labels)) + 6)))
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False, fontsize=9.5)


def _stacked(panel: Axes, parts: Mapping[str, Values], colours: Mapping[str, str]) -> None:
    """Bars of parts that add up to 100 %; parts that are nowhere over 0.05 % have no entry in the legend."""
    count = len(next(iter(parts.values())))
    base = np.zeros(count)
    for part, values in parts.items():
        percent = 100 * np.nan_to_num(values)
        label = part if percent.max(initial=0) >= 0.05 else None
        panel.barh(np.arange(count), percent, 0.78, left=base, color=colours[part], label=label, linewidth=0)
        base += percent
    panel.set_xlim(0, 100)
    panel.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.3), ncols=4, frameon=False, fontsize=9, handlelength=1.2,
        columnspacing=1.2,
    )  # fmt: skip
