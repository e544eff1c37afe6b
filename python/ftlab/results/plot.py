"""Figures of one result, or of several over each other. Tables in, matplotlib figures out.

Every function takes results by label; a single result may have the label `""`. A figure whose table has no rows
(latencies under the executor `count`) does not exist: the function returns `None`.
"""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ftlab.base import escape
from ftlab.base.quantities import in_bytes
from ftlab.results import text
from ftlab.results.latency_parts import AT, KINDS, PARTS, Around, around
from ftlab.results.result import Columns, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Results = Mapping[str, Result]
Values = NDArray[np.float64]

COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#666666", "#a6761d", "#1b1b1b",
)  # fmt: skip
"""For runs side by side; told apart with any kind of colour vision. More runs have colours between those of the hue
circle, and every ten runs another line style.
"""

STYLES = ("-", "--", ":", "-.")

CAUSE_COLOURS = {
    "host": "#0072b2",
    "gc": "#d55e00",
    "mapping": "#009e73",
    "refresh": "#cc79a7",
    "backup": "#8c6bb1",
    "wear": "#e69f00",
    "rmw": "#56b4e9",
    "idle": "#e6e6e6",
}
KIND_COLOURS = {"read": "#cdb891", "program": "#8a6d3b", "erase": "#3b2f2f", "idle": "#e6e6e6"}
"""None of them stands for a cause, since dies by operation are drawn beside channels by cause."""

PART_COLOURS = {
    "service": "#9aa5b1", "host_read": "#56b4e9", "host_program": "#0072b2", "gc": "#e69f00", "gc_wait": "#f3d08a",
    "erase": "#d55e00", "suspend": "#7a3300", "channel": "#8c6bb1", "queue": "#d9d9d9", "admission": "#1b1b1b",
    "controller": "#8c564b", "link": "#4d4d4d", "buffer": "#cc79a7", "old_version": "#a6761d",
    "map": "#009e73", "mapping": "#66c2a5",
    "correction": "#b8c400", "refresh": "#e78ac3", "wear": "#b15928", "backup": "#6a3d9a",
}  # fmt: skip
"""Of the parts of a latency."""

BY = {"channel": "cause", "die": "operation"}
"""What the parts of a resource's time are."""

PERCENTILES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)
"""Ticks of the tail plot."""

INTERVALS = 160
"""Points of a curve over time or volume; finer intervals are added up into this many."""

DPI = 130

SHORTEST_US = 1e-3
"""Where a latency of zero (a write into a buffer) is drawn: a logarithmic scale has no zero."""


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
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        figure.savefig(directory / f"{name}.png", dpi=DPI, metadata={"Software": None})
        with matplotlib.rc_context({"svg.hashsalt": "ftlab"}):
            figure.savefig(directory / f"{name}.svg", metadata={"Date": None, "Creator": "ftlab"})


def latency(results: Results) -> Figure | None:
    """The latency distribution: how many requests are done by when, and the tail to p99.99.

    Left the cumulative distribution, right latency by percentile on a scale that gives each further nine the same
    room. One run has reads and writes in the same panels, several have a row for each. A curve ends where a
    percentile would rest on less than one request.
    """
    kinds = [kind for kind in ("read", "write") if any(curve_of(r, kind).requests for r in results.values())]
    if not kinds:
        return None
    if len(results) == 1:
        result = next(iter(results.values()))
        rows = {"latency": {f"{kind}s": curve_of(result, kind) for kind in kinds}}
    else:
        rows = {
            f"{kind} latency": {label: curve_of(result, kind) for label, result in results.items()}
            for kind in kinds
        }
    figure, panels = _panels(len(rows), 2, height=3.2, width=10.5)
    for (cdf, tail), (name, curves) in zip(panels, rows.items(), strict=True):
        curves = {label: curve for label, curve in curves.items() if curve.requests}
        for i, (label, curve) in enumerate(curves.items()):
            look = {**_look(i), "label": escape.plot(label)}
            cdf.step(
                curve.bounds[[0, *range(curve.bounds.size)]], [0, *(100 * curve.below)], where="post", **look
            )
            tail.plot(*curve.tail(), drawstyle="steps-pre", **look)
        _title(cdf, f"{name}, cumulative")
        _title(tail, f"{name} by percentile")
        cdf.set(xscale="log", ylim=(0, 100.5), ylabel="requests done (%)")
        tail.set(xscale="log", yscale="log", xlim=(1, 1 / (1 - PERCENTILES[-1])))
        # The very shortest would take half of the height.
        shown = [curve.bounds[np.searchsorted(curve.below, 0.02)] for curve in curves.values()]
        tail.set_ylim(bottom=0.8 * min(shown))
        tail.set_xticks([1 / (1 - p) for p in PERCENTILES], [percentile(p) for p in PERCENTILES])
        tail.minorticks_off()
        _time_axis(cdf.xaxis)
        _time_axis(tail.yaxis)
    is_zero = any(
        curve.bounds[0] <= SHORTEST_US
        for curves in rows.values()
        for curve in curves.values()
        if curve.requests
    )
    panels[-1, 0].set_xlabel(f"latency{' (0 is drawn at 1 ns)' if is_zero else ''}")
    panels[-1, 1].set_xlabel("percentile of requests")
    _legend(figure, panels[0, 0])
    return figure


def latency_parts(results: Results) -> Figure | None:
    """What latencies went to, at the mean and at percentiles: reads and writes apart; a row for each run that
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
    binned = {
        axis: {label: rebin(result, axis) for label, result in results.items()} for axis in ("volume", "time")
    }
    axes = [axis for axis, runs in binned.items() if any(run is not None for run in runs.values())]
    rows = [
        row
        for row in SERIES_ROWS
        if any(run is not None and np.isfinite(run[row[0]]).any() for a in axes for run in binned[a].values())
    ]
    if not axes or not rows:
        return None
    figure, panels = _panels(len(rows), len(axes), height=2.1, width=5.4 * len(axes), sharex="col")
    for column, axis in enumerate(axes):
        key, x_label = along(axis, binned[axis].values())
        for panel, (name, label) in zip(panels[:, column], rows, strict=True):
            for i, (run_label, run) in enumerate(binned[axis].items()):
                if run is not None:
                    panel.plot(run[key], run[name], **_look(i), label=escape.plot(run_label))
            panel.set_ylabel(label[axis == "volume"] if isinstance(label, tuple) else label)
            if name == "latency_mean_us":
                panel.yaxis.set_major_formatter(lambda us, _: short_duration(us))
            # A write buffer may take writes together: then less is programmed than written.
            panel.set_ylim(bottom=1 if name == "waf" and panel.dataLim.y0 >= 1 else 0)
            panel.margins(x=0.01)
        panels[-1, column].set_xlabel(x_label)
        _title(panels[0, column], "over the volume written" if axis == "volume" else "over simulated time")
    _legend(figure, panels[0, 0])
    return figure


SERIES_ROWS: tuple[tuple[str, str | tuple[str, str]], ...] = (
    ("throughput_mb_s", "throughput (MB/s)"),
    ("waf", "WAF"),
    ("gc", ("GC (victims / s)", "GC (victims / GB)")),
    ("latency_mean_us", "mean latency"),
)
"""Row and label of its axis; of two labels the first is for time, the second for volume."""


def wear(results: Results) -> Figure | None:
    """How often blocks were erased: the distribution, and where the erases are (one run) or the blocks in order of
    wear (several). Preconditioning counts: this is the state of the blocks.
    """
    if not any(result.wear["erases"].size for result in results.values()):
        return None
    figure, panels = _panels(1, 2, height=3.7, width=10.5)
    left, right = panels[0]
    edges = wear_edges(results)
    for i, (label, result) in enumerate(results.items()):
        counts, _ = np.histogram(result.wear["erases"], edges)
        look = _look(i)
        left.stairs(counts, edges, fill=len(results) == 1, color=look["color"], linestyle=look["linestyle"],
                    linewidth=1.4, label=escape.plot(label))  # fmt: skip
    _title(left, "distribution of wear")
    left.set(xlabel="erases of a block", ylabel="blocks")
    left.xaxis.get_major_locator().set_params(integer=True)
    if len(results) == 1:
        _wear_map(figure, right, next(iter(results.values())).wear)
    else:
        for i, (label, result) in enumerate(results.items()):
            worn = np.sort(result.wear["erases"])
            right.plot(np.linspace(0, 100, worn.size), worn, **_look(i), label=escape.plot(label))
        _title(right, "blocks in order of wear")
        right.set(xlabel="blocks, least worn first (%)", ylabel="erases")
        right.yaxis.get_major_locator().set_params(integer=True)
    _legend(figure, left)
    return figure


def utilisation(results: Results) -> Figure | None:
    """What channels and dies spent their time on: every channel and die of one run, or the means of several."""
    if not any(result.utilisation["index"].size for result in results.values()):
        return None
    if len(results) == 1:
        return _utilisation_of_one(next(iter(results.values())).utilisation)
    figure, panels = _panels(1, 2, height=1.4 + 0.3 * len(results), width=11)
    labels = [escape.plot(label) for label in results]
    for panel, resource, colours in zip(
        panels[0], ("channel", "die"), (CAUSE_COLOURS, KIND_COLOURS), strict=True
    ):
        means = {
            part: np.array([mean_of(result.utilisation, resource, part) for result in results.values()])
            for part in colours
        }
        _stacked(panel, np.arange(len(labels)), means, colours, horizontal=True)
        panel.set_yticks(np.arange(len(labels)), labels if resource == "channel" else [""] * len(labels))
        panel.invert_yaxis()
        _title(panel, f"{resource}s by {BY[resource]}, mean")
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
        bars = panel.barh(places, numbers, color=[_look(j)["color"] for j in range(len(values))], height=0.66)
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
    """What headline figures are called, what they are for each result, and how that is told, each in its own unit."""
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
        panel.grid(color="0.88", linewidth=0.7)
        panel.set_axisbelow(True)
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            panel.spines[side].set_color("0.5")
        panel.tick_params(color="0.5", labelsize=8.5)
        panel.xaxis.label.set_fontsize(9.5)
        panel.yaxis.label.set_fontsize(9.5)
    return figure, panels


def _look(i: int) -> dict[str, Any]:
    """Colour and line of the i-th run."""
    style = STYLES[(i // len(COLOURS)) % len(STYLES)]
    return {"color": _colour(i), "linestyle": style, "linewidth": 1.5}


GOLDEN = (5**0.5 - 1) / 2
"""Steps of this part of a circle never come close to where they were."""


def _colour(i: int) -> str:
    if i < len(COLOURS):
        return COLOURS[i]
    parts = colorsys.hls_to_rgb(i * GOLDEN % 1, (0.32, 0.45, 0.6)[i % 3], (0.75, 0.5)[i % 2])
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def _title(panel: Axes, text: str) -> None:
    panel.set_title(text, loc="left", fontsize=10.5)


def _legend(figure: Figure, panel: Axes) -> None:
    """One legend above all panels, if there is anything to tell apart."""
    handles, labels = panel.get_legend_handles_labels()
    if len(labels) < 2:
        return
    columns = min(len(labels), max(1, int(figure.get_figwidth() * 10) // (max(map(len, labels)) + 6)))
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False, fontsize=9.5)


def _time_axis(axis: Any) -> None:
    """Latencies on a logarithmic axis, in words a reader knows: 50 µs, 2 ms."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    few = low > 0 and np.log10(high / low) < 2.2
    axis.set_major_locator(LogLocator(10, subs=(1, 2, 5) if few else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda us, _: short_duration(us)))
    axis.set_minor_formatter(NullFormatter())


def short_duration(us: float) -> str:
    """A time on an axis: 50 µs, 2 ms."""
    if us == 0:
        return "0"
    for limit, scale, unit in ((1, 1e3, "ns"), (1e3, 1, "µs"), (1e6, 1e-3, "ms")):
        if us < limit:
            return f"{us * scale:g} {unit}"
    return f"{us * 1e-6:g} s"


def percentile(p: float) -> str:
    """What a percentile is called: p99.9."""
    return f"p{100 * p:.10g}"


def curve_of(result: Result, kind: str) -> Curve:
    """The latencies of the requests of a kind."""
    table = result.latency
    rows = table["kind"] == kind
    return Curve(
        np.maximum(table["latency_us"][rows], SHORTEST_US),
        table["cumulative_fraction"][rows],
        int(table["count"][rows].sum()),
    )


class Curve(NamedTuple):
    """A distribution of latencies."""

    bounds: Values
    """Upper bounds of the classes in µs, `SHORTEST_US` at least."""
    below: Values
    """The fraction of requests up to each bound."""
    requests: int

    def tail(self) -> tuple[Values, Values]:
        """Latency by 1 / (1 - percentile), up to p99.99 or the last percentile that is one request wide; each value
        holds from the point before it to its own.
        """
        end = min(1 / (1 - PERCENTILES[-1]), float(self.requests))
        with np.errstate(divide="ignore"):
            reach = np.minimum(1 / np.maximum(1 - self.below, 0), end)
        shown = int(np.searchsorted(reach, end)) + 1
        return np.append(1.0, reach[:shown]), np.append(self.bounds[0], self.bounds[:shown])


def rebin(result: Result, axis: str) -> dict[str, Values] | None:
    """At most `INTERVALS` intervals of an axis. Counts and times are added up, and rates taken of the sums."""
    table, page = result.series, in_bytes(result.summary["config"]["device"]["page_size"])
    rows = table["axis"] == axis
    size = int(rows.sum())
    if size == 0:
        return None
    firsts = np.unique(np.arange(min(size, INTERVALS)) * size // min(size, INTERVALS))

    def total(values: Values) -> Values:
        return np.add.reduceat(np.nan_to_num(values), firsts)

    column = {name: values[rows].astype(np.float64) for name, values in table.items() if name != "axis"}
    lasts = np.append(firsts[1:], size) - 1
    seconds = total(column["end_s"] - column["start_s"])
    requests = column["reads"] + column["writes"]
    written = np.diff(column["host_written_gb"][lasts], prepend=0.0)
    timed = np.isfinite(column["throughput_mb_s"]).any()
    with np.errstate(divide="ignore", invalid="ignore"):
        megabytes = total(column["throughput_mb_s"] * (column["end_s"] - column["start_s"]))
        latencies = total(column["latency_mean_us"] * requests) / total(requests)
        waf = total(column["page_programs"]) * page / (written * 1e9)
        per = seconds if axis == "time" else written
        binned = {
            "end_s": column["end_s"][lasts],
            "host_written_gb": column["host_written_gb"][lasts],
            "capacities_written": column["capacities_written"][lasts],
            "throughput_mb_s": megabytes / seconds if timed else np.full(lasts.size, np.nan),
            "latency_mean_us": latencies if timed else np.full(lasts.size, np.nan),
            "waf": waf,
            "gc": total(column["gc_invocations"]) / per,
        }
    return {name: np.where(np.isfinite(values), values, np.nan) for name, values in binned.items()}


def along(axis: str, runs: Iterable[dict[str, Values] | None]) -> tuple[str, str]:
    """Which column to draw along, and what to call it."""
    if axis == "time":
        return "end_s", "simulated time (s)"
    most = max(float(run["capacities_written"].max()) for run in runs if run is not None)
    if most >= 0.5:
        return "capacities_written", "written by the host (× user capacity)"
    return "host_written_gb", "written by the host (GB)"


def wear_edges(results: Results) -> Values:
    """The limits of at most 60 classes of erases, in which all blocks are."""
    top = max(int(result.wear["erases"].max(initial=0)) for result in results.values())
    low = min(int(result.wear["erases"].min(initial=top)) for result in results.values())
    step = max(1, -(-(top - low + 1) // 60))
    return np.arange(low, top + step + 1, step, dtype=np.float64) - 0.5


def wear_means(table: Columns) -> tuple[Values, NDArray[np.int64]]:
    """Mean erases of at most 128 groups of neighbours in each plane, and the groups' first blocks and the end."""
    per_plane = int(table["block_in_plane"].max()) + 1
    planes = table["erases"].reshape(-1, per_plane).astype(np.float64)
    columns = min(per_plane, 128)
    limits = np.arange(columns + 1) * per_plane // columns
    return np.add.reduceat(planes, limits[:-1], axis=1) / np.diff(limits), limits


def _wear_map(figure: Figure, panel: Axes, table: Columns) -> None:
    """Mean erases by plane (down) and place in the plane (across)."""
    means, firsts = wear_means(table)
    columns, per_plane = firsts.size - 1, int(firsts[-1])
    image = panel.imshow(
        means, aspect="auto", interpolation="nearest", cmap="viridis", extent=(0, per_plane, len(means), 0)
    )
    _title(panel, "where the erases are")
    panel.set(xlabel="block in its plane", ylabel="plane")
    panel.grid(False)
    bar = figure.colorbar(image, ax=panel, label="mean erases" if columns < per_plane else "erases", pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8.5)


def _utilisation_of_one(table: Columns) -> Figure:
    figure, panels = _panels(1, 2, height=3.7, width=11)
    for panel, resource, colours in zip(
        panels[0], ("channel", "die"), (CAUSE_COLOURS, KIND_COLOURS), strict=True
    ):
        rows = table["resource"] == resource
        places = table["index"][rows]
        _stacked(panel, places, {part: table[part][rows] for part in colours}, colours, horizontal=False)
        _title(panel, f"what {resource}s did, by {BY[resource]}")
        panel.set(xlabel=resource, ylabel="share of time (%)")
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.grid(False, axis="x")
    return figure


def _stacked(
    panel: Axes,
    places: NDArray[Any],
    parts: Mapping[str, Values],
    colours: Mapping[str, str],
    *,
    horizontal: bool,
) -> None:
    """Bars of parts that add up to 100 %; parts that are nowhere over 0.05 % have no entry in the legend."""
    base = np.zeros(places.size)
    thickness = 1.0 if places.size > 40 else 0.78
    for part, values in parts.items():
        percent = 100 * np.nan_to_num(values)
        label = part if percent.max(initial=0) >= 0.05 else None
        look: dict[str, Any] = {"color": colours[part], "label": label, "linewidth": 0}
        if horizontal:
            panel.barh(places, percent, thickness, left=base, **look)
        else:
            panel.bar(places, percent, thickness, bottom=base, **look)
        base += percent
    if horizontal:
        panel.set_xlim(0, 100)
    else:
        panel.set_ylim(0, 100)
        panel.margins(x=0.01)
    panel.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.18 if not horizontal else -0.3), ncols=4, frameon=False,
        fontsize=9, handlelength=1.2, columnspacing=1.2,
    )  # fmt: skip


def mean_of(table: Columns, resource: str, part: str) -> float:
    """A part of the time of all channels, or all dies."""
    values: Sequence[float] = table[part][table["resource"] == resource]
    return float(np.mean(values)) if len(values) else 0.0
