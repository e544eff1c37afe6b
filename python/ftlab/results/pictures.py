"""The charts of results: which figures are drawn, over what, and in which units. Those of the printed tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ftlab.results import text
from ftlab.results.charts import Axis, Chart, HeatMap, Line, Stack, Values
from ftlab.results.drawing import CAUSE_COLOURS, KIND_COLOURS
from ftlab.results.result import Columns, Result

Results = Mapping[str, Result]

PERCENTILES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)
"""Ticks of the tail plot."""

INTERVALS = 160
"""Points of a curve over time or volume; finer intervals are added up into this many."""

SHORTEST_US = 1e-3
"""Where a latency of zero (a write into a buffer) is drawn: a logarithmic scale has no zero."""


BY = {"channel": "cause", "die": "operation"}
"""The parts of a resource's time."""

SERIES_ROWS: tuple[tuple[str, str | tuple[str, str]], ...] = (
    ("throughput_mb_s", "throughput (MB/s)"),
    ("waf", "WAF"),
    ("gc", ("GC (victims / s)", "GC (victims / GB)")),
    ("latency_mean_us", "mean latency"),
)
"""Row and label of its axis; of two labels the first is for time, the second for volume."""


def short_duration(us: float) -> str:
    """A time on an axis: 50 µs, 2 ms."""
    if us == 0:
        return "0"
    for limit, scale, unit in ((1, 1e3, "ns"), (1e3, 1, "µs"), (1e6, 1e-3, "ms")):
        if us < limit:
            return f"{us * scale:g} {unit}"
    return f"{us * 1e-6:g} s"


def percentile(p: float) -> str:
    """The name of a percentile: p99.9."""
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
    table, page = result.series, _bytes_of_page(result.summary)
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


def _bytes_of_page(summary: Mapping[str, Any]) -> float:
    """Bytes of a page as the tables count them: of a map unit, where that is smaller."""
    pages = summary["flash"]["page_programs"]
    return (summary["waf"] or 0.0) * summary["host"]["bytes_written"] / pages if pages else 0.0


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


def mean_of(table: Columns, resource: str, part: str) -> float:
    """A part of the time of all channels, or all dies."""
    values: Sequence[float] = table[part][table["resource"] == resource]
    return float(np.mean(values)) if len(values) else 0.0


NINES = tuple((1 / (1 - p), percentile(p)) for p in PERCENTILES)

SHARE = Axis("", lambda v: f"{v:.4g} %", lambda v: f"{v:.0f} %", low=0, high=100)


def latency(results: Results) -> list[Chart]:
    """The distribution of latencies, and its tail: reads and writes of one run, or every run for each."""
    if len(results) == 1:
        result = next(iter(results.values()))
        curves = {f"{kind}s": curve_of(result, kind) for kind in ("read", "write")}
        there = [kind for kind, curve in curves.items() if curve.requests]
        # One line has no legend, so the title says what it is.
        groups = {f"latency of {there[0]} alone" if len(there) == 1 else "latency": curves}
    else:
        groups = {
            f"{kind} latency": {label: curve_of(result, kind) for label, result in results.items()}
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
    x = Axis(_zero("latency", curves), text.duration, short_duration, is_log=True)
    return Chart(f"{name[0].upper()}{name[1:]}: share of requests done", x, SHARE, lines, head, rows)


def _tail(name: str, curves: Mapping[str, tuple[int, Curve]]) -> Chart:
    # The very shortest would take half of the height.
    low = 0.8 * min(curve.bounds[np.searchsorted(curve.below, 0.02)] for _, curve in curves.values())
    lines = [Line(label, i, *curve.tail(), step="pre") for label, (i, curve) in curves.items()]
    x = Axis(
        "percentile of requests", _percentile_at, str, is_log=True, low=1.0, high=NINES[-1][0], ticks=NINES
    )
    y = Axis("", text.duration, short_duration, is_log=True, low=low)
    head, rows = _percentiles(curves)
    return Chart(f"{name[0].upper()}{name[1:]} by percentile", x, y, lines, head, rows)


def _percentile_at(reach: float) -> str:
    # A digit more than nines.
    return percentile(round(1 - 1 / reach, 2 + math.ceil(math.log10(max(reach, 2)))))


def _zero(label: str, curves: Mapping[str, tuple[int, Curve]]) -> str:
    is_zero = any(curve.bounds[0] <= SHORTEST_US for _, curve in curves.values())
    return f"{label}{' (0 is drawn at 1 ns)' if is_zero else ''}"


def _percentiles(curves: Mapping[str, tuple[int, Curve]]) -> tuple[list[str], list[list[str]]]:
    shown = PERCENTILES[1:]
    rows = []
    for label, (_, curve) in curves.items():
        at = np.searchsorted(curve.below, [p - 1e-12 for p in shown]).clip(max=curve.bounds.size - 1)
        rows.append([label, *(text.duration(float(curve.bounds[i])) for i in at)])
    return ["", *map(percentile, shown)], rows


def series(results: Results, axis: str) -> list[Chart]:
    """Throughput, WAF, GC rate and mean latency over the `volume` written, or over simulated `time`."""
    runs = {label: rebin(result, axis) for label, result in results.items()}
    known = [run for run in runs.values() if run is not None]
    if not known:
        return []
    key, x_label = along(axis, known)
    form = {
        "end_s": (lambda v: f"{text.figure(v, 4)} s"),
        "capacities_written": (lambda v: f"{text.figure(v)} × user capacity"),
        "host_written_gb": (lambda v: f"{text.figure(v)} GB written"),
    }[key]
    x = Axis(x_label, form, lambda v: f"{v:g}", low=0.0)
    charts = []
    for name, label in SERIES_ROWS:
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
        return Axis("", text.duration, short_duration, is_log=is_log, low=None if is_log else 0.0)
    form = (lambda v: f"{v:.3f}") if name == "waf" else text.figure
    low = 1.0 if name == "waf" and known.min() >= 1 else None if is_log else 0.0
    return Axis("", form, lambda v: f"{v:,g}", is_log=is_log, low=low)


def utilisation(result: Result) -> list[Stack]:
    """The work of every channel and die."""
    found = []
    for resource, parts in (("channel", CAUSE_COLOURS), ("die", KIND_COLOURS)):
        rows = result.utilisation["resource"] == resource
        if rows.any():
            places = [str(int(i)) for i in result.utilisation["index"][rows]]
            values = {part: result.utilisation[part][rows] for part in parts}
            title = f"What each {resource} did, by {BY[resource]}"
            found.append(Stack(title, resource, places, values))
    return found


def shares(results: Results, resource: str) -> dict[str, dict[str, float]]:
    """The time of channels, or dies: the mean of each run, by part."""
    parts = CAUSE_COLOURS if resource == "channel" else KIND_COLOURS
    return {
        label: {part: mean_of(result.utilisation, resource, part) for part in parts}
        for label, result in results.items()
        if (result.utilisation["resource"] == resource).any()
    }


def wear(results: Results) -> list[Chart]:
    """How often blocks were erased: the distribution, and, of several runs, the blocks in order of wear."""
    worn = {label: np.sort(result.wear["erases"]).astype(np.float64) for label, result in results.items()}
    if not any(values.size for values in worn.values()):
        return []
    edges = wear_edges(results)
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


def wear_map(wear_table: Columns) -> HeatMap | None:
    """Erases by plane (down) and place in the plane (across)."""
    if not wear_table["erases"].size:
        return None
    means, limits = wear_means(wear_table)
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
    head = ["plane", "least erases", "mean", "most"]
    return HeatMap(title, means, limits, where, ("block in its plane", "plane"), "erases", head, rows)
