"""The charts of results: which figures are drawn, over what, and in which units. Those of the printed tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ftlab.reports.charts import Axis, Chart, HeatMap, Line, Stack, table
from ftlab.reports.markup import Html
from ftlab.results import plot, text
from ftlab.results.plot import Curve, Results
from ftlab.results.result import Columns, Result

NINES = tuple((1 / (1 - p), plot.percentile(p)) for p in plot.PERCENTILES)

SHARE = Axis("", lambda v: f"{v:.4g} %", lambda v: f"{v:.0f} %", low=0, high=100)


def latency(results: Results) -> list[Chart]:
    """How many requests are done by when, and the tail: reads and writes of one run, or every run for each."""
    if len(results) == 1:
        result = next(iter(results.values()))
        groups = {"latency": {f"{kind}s": plot.curve_of(result, kind) for kind in ("read", "write")}}
    else:
        groups = {
            f"{kind} latency": {label: plot.curve_of(result, kind) for label, result in results.items()}
            for kind in ("read", "write")
        }
    charts = []
    for name, curves in groups.items():
        numbered = {label: (i, curve) for i, (label, curve) in enumerate(curves.items()) if curve.requests}
        if numbered:
            charts += [_cumulative(name, numbered), _tail(name, numbered)]
    return charts


def _cumulative(name: str, curves: Mapping[str, tuple[int, Curve]]) -> Chart:
    lines = [
        Line(
            label,
            i,
            curve.bounds[[0, *range(curve.bounds.size)]],
            np.append(0.0, 100 * curve.below),
            step="post",
        )
        for label, (i, curve) in curves.items()
    ]
    head, rows = _percentiles(curves)
    x = Axis(_zero("latency", curves), text.duration, plot.short_duration, is_log=True)
    return Chart(f"{name[0].upper()}{name[1:]}: share of requests done", x, SHARE, lines, head, rows)


def _tail(name: str, curves: Mapping[str, tuple[int, Curve]]) -> Chart:
    # The very shortest would take half of the height.
    low = 0.8 * min(curve.bounds[np.searchsorted(curve.below, 0.02)] for _, curve in curves.values())
    lines = [Line(label, i, *curve.tail(), step="pre") for label, (i, curve) in curves.items()]
    x = Axis(
        "percentile of requests", _percentile_at, str, is_log=True, low=1.0, high=NINES[-1][0], ticks=NINES
    )
    y = Axis("", text.duration, plot.short_duration, is_log=True, low=low)
    head, rows = _percentiles(curves)
    return Chart(f"{name[0].upper()}{name[1:]} by percentile", x, y, lines, head, rows)


def _percentile_at(reach: float) -> str:
    # A digit more than nines.
    return plot.percentile(round(1 - 1 / reach, 2 + math.ceil(math.log10(max(reach, 2)))))


def _zero(label: str, curves: Mapping[str, tuple[int, Curve]]) -> str:
    is_zero = any(curve.bounds[0] <= plot.SHORTEST_US for _, curve in curves.values())
    return f"{label}{' (0 is drawn at 1 ns)' if is_zero else ''}"


def _percentiles(curves: Mapping[str, tuple[int, Curve]]) -> tuple[list[str], list[list[str]]]:
    shown = plot.PERCENTILES[1:]
    rows = []
    for label, (_, curve) in curves.items():
        at = np.searchsorted(curve.below, [p - 1e-12 for p in shown]).clip(max=curve.bounds.size - 1)
        rows.append([label, *(text.duration(float(curve.bounds[i])) for i in at)])
    return ["", *map(plot.percentile, shown)], rows


def series(results: Results, axis: str) -> list[Chart]:
    """Throughput, WAF, GC rate and mean latency over the `volume` written, or over simulated `time`."""
    runs = {label: plot.rebin(result, axis) for label, result in results.items()}
    known = [run for run in runs.values() if run is not None]
    if not known:
        return []
    key, x_label = plot.along(axis, known)
    form = {
        "end_s": (lambda v: f"{text.figure(v, 4)} s"),
        "capacities_written": (lambda v: f"{text.figure(v)} × user capacity"),
        "host_written_gb": (lambda v: f"{text.figure(v)} GB written"),
    }[key]
    x = Axis(x_label, form, lambda v: f"{v:g}", low=0.0)
    charts = []
    for name, label in plot.SERIES_ROWS:
        lines = [
            Line(label_, i, run[key], run[name])
            for i, (label_, run) in enumerate(runs.items())
            if run is not None and np.isfinite(run[name]).any()
        ]
        if lines:
            title = label[axis == "volume"] if isinstance(label, tuple) else label
            charts.append(Chart(f"{title[0].upper()}{title[1:]}", x, _height(name, lines), lines))
    return charts


SPIKE = 20.0
"""A series whose greatest value is so many times its median is drawn on a logarithmic axis."""


def _height(name: str, lines: Sequence[Line]) -> Axis:
    """The axis of a figure over time or volume."""
    known = np.concatenate([line.y[np.isfinite(line.y)] for line in lines])
    is_log = name in ("waf", "latency_mean_us") and bool(
        known.min() > 0 and known.max() > SPIKE * np.median(known)
    )
    if name == "latency_mean_us":
        return Axis("", text.duration, plot.short_duration, is_log=is_log, low=None if is_log else 0.0)
    form = (lambda v: f"{v:.3f}") if name == "waf" else text.figure
    return Axis(
        "", form, lambda v: f"{v:,g}", is_log=is_log, low=1.0 if name == "waf" and known.min() >= 1 else 0.0
    )


def utilisation(result: Result) -> list[Stack]:
    """What every channel and die did."""
    found = []
    for resource, parts in (("channel", plot.CAUSE_COLOURS), ("die", plot.KIND_COLOURS)):
        rows = result.utilisation["resource"] == resource
        if rows.any():
            places = [str(int(i)) for i in result.utilisation["index"][rows]]
            values = {part: result.utilisation[part][rows] for part in parts}
            title = f"What each {resource} did, by {plot.BY[resource]}"
            found.append(Stack(title, resource, places, values))
    return found


def shares(results: Results, resource: str) -> dict[str, dict[str, float]]:
    """What channels, or dies, spent their time on: the mean of each run, by part."""
    parts = plot.CAUSE_COLOURS if resource == "channel" else plot.KIND_COLOURS
    return {
        label: {part: plot.mean_of(result.utilisation, resource, part) for part in parts}
        for label, result in results.items()
        if (result.utilisation["resource"] == resource).any()
    }


def wear(results: Results) -> list[Chart]:
    """How often blocks were erased: the distribution, and, of several runs, the blocks in order of wear."""
    worn = {label: np.sort(result.wear["erases"]).astype(np.float64) for label, result in results.items()}
    if not any(values.size for values in worn.values()):
        return []
    edges = plot.wear_edges(results)
    step = int(edges[1] - edges[0])
    lines, ordered = [], []
    for i, (label, values) in enumerate(worn.items()):
        counts, _ = np.histogram(values, edges)
        x = np.append(edges[0], edges)
        lines.append(
            Line(
                label,
                i,
                x,
                np.concatenate([[0], counts, [0]]).astype(np.float64),
                step="post",
                is_filled=len(results) == 1,
            )
        )
        ordered.append(Line(label, i, np.linspace(0, 100, values.size), values))
    rows = [
        [f"{edge + 0.5:,.0f}" if step == 1 else f"{edge + 0.5:,.0f} to {edge + step - 0.5:,.0f}",
         *(f"{line.y[k + 1]:,.0f}" for line in lines)]
        for k, edge in enumerate(edges[:-1]) if any(line.y[k + 1] for line in lines)
    ]  # fmt: skip
    erases = Axis("erases of a block", lambda v: f"{math.floor(v + 0.5 + 1e-9):,} erases", _whole_tick)
    blocks = Axis("", lambda v: f"{v:,.0f} blocks", _whole_tick, low=0.0)
    head = ["erases of a block", *(f"blocks{f' of {label}' if label else ''}" for label in worn)]
    charts = [Chart("How many blocks were erased how often", erases, blocks, lines, head, rows)]
    if len(results) > 1:
        share = Axis(
            "blocks, least worn first",
            lambda v: f"{v:.1f} % of the blocks",
            lambda v: f"{v:.0f} %",
            low=0,
            high=100,
        )
        counts_ = Axis("", lambda v: f"{v:,.0f} erases", _whole_tick)
        charts.append(Chart("Erases of the blocks, least worn first", share, counts_, ordered))
    return charts


def _whole_tick(value: float) -> str:
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-9 else ""


def wear_map(wear_table: Columns) -> Html | None:
    """Erases by plane (down) and place in the plane (across)."""
    if not wear_table["erases"].size:
        return None
    means, limits = plot.wear_means(wear_table)
    columns, per_plane = limits.size - 1, int(limits[-1])
    planes = wear_table["erases"].reshape(-1, per_plane)
    where = [
        " ".join(
            f"{name} {int(wear_table[name][i * per_plane])}" for name in ("channel", "chip", "die", "plane")
        )
        for i in range(len(planes))
    ]

    rows = [
        [where[i], text.count(float(p.min())), text.figure(float(p.mean())), text.count(float(p.max()))]
        for i, p in enumerate(planes)
    ]
    title = f"Where the erases are{'' if columns == per_plane else ', mean of neighbours'}"
    behind = table(["plane", "least erases", "mean", "most"], rows, title)
    return HeatMap(title, means, limits, where, ("block in its plane", "plane"), "erases").html(behind)


def flash(summary: Mapping[str, object]) -> tuple[list[str], list[list[str]]]:
    """Operations by cause, as the run's summary prints them."""
    flash_ = summary["flash"]
    assert isinstance(flash_, dict)
    kinds = [kind for kind in ("reads", "programs", "erases", "copybacks")
             if any(ops[kind] for ops in flash_["by_cause"].values())]  # fmt: skip
    rows = [
        [cause, *(text.count(ops[kind]) for kind in kinds)]
        for cause, ops in flash_["by_cause"].items() if any(ops.values())
    ]  # fmt: skip
    return ["cause", *kinds], rows
