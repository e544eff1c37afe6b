"""A run in fio's names: the object of `--output-format=json`, and the lines that fio prints.

Percentiles are those of histograms, whose classes are .1 % wide. A drive has no submission of its own: `slat_ns` is 0,
and `clat_ns` and `lat_ns` are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ftlab._core import __version__
from ftlab.base import escape
from ftlab.fio.plan import Plan, is_joined
from ftlab.fio.sizes import KINDS
from ftlab.fio.streams import Stream
from ftlab.results.histogram import Latencies
from ftlab.results.result import Result


@dataclass(frozen=True, slots=True)
class Direction:
    """The requests of a kind of a stream."""

    kind: str
    latencies: Latencies | None
    """`None` where there are none."""
    bytes: int
    runtime_ns: int
    """From the beginning of what is measured until the last of the stream's requests is done."""

    @property
    def requests(self) -> int:
        """How many there are."""
        return 0 if self.latencies is None else self.latencies.requests


def directions(plan: Plan, result: Result) -> list[tuple[Stream, list[Direction]]]:
    """The figures of each stream, by kind of request; as one of a group, where `group_reporting` asks for it."""
    parts: list[list[tuple[Stream, list[Direction]]]] = []
    for number, stream in enumerate(plan.streams):
        one = (stream, [_of(plan, number, result, kind) for kind in KINDS])
        if is_joined(stream, parts[-1][-1][0] if parts else None):
            parts[-1].append(one)
        else:
            parts.append([one])
    return [
        (
            replace(group[0][0], copies=len(group)),
            [_together([one[1][i] for one in group]) for i in range(len(KINDS))],
        )
        for group in parts
    ]


def _of(plan: Plan, number: int, result: Result, kind: str) -> Direction:
    """The requests of a kind of a stream: those of a tenant, or of the only host."""
    figures, table = result.summary["host"], result.latency
    mine = table["kind"] == kind
    if plan.are_tenants:
        figures, table = result.summary["tenants"][number], result.tables["tenant_latency"]
        mine = (table["kind"] == kind) & (table["tenant"] == number)
    count = figures[f"{kind}s"] if plan.are_tenants or kind != "trim" else 0
    # Reads of what was never written may take no time at all.
    runtime = round((figures["simulated_s"] or 0.0) * 1e9)
    if not count:
        return Direction(kind, None, 0, runtime)
    ns, counts = table["latency_us"][mine] * 1e3, table["count"][mine].astype(float)
    # Trims have no mean of their own: it is that of the classes.
    of_kind = figures.get(f"{kind}_latency_us")
    mean = float((ns * counts).sum() / counts.sum()) if of_kind is None else of_kind["mean"] * 1e3
    bytes_ = figures[{"read": "bytes_read", "write": "bytes_written", "trim": "bytes_trimmed"}[kind]]
    return Direction(kind, Latencies(ns, counts, mean), bytes_, runtime)


def _together(parts: Sequence[Direction]) -> Direction:
    """Directions of several streams as one."""
    runtime = max(part.runtime_ns for part in parts)
    each = [part.latencies for part in parts if part.latencies is not None]
    if not each:
        return Direction(parts[0].kind, None, 0, runtime)
    return Direction(parts[0].kind, Latencies.together(each), sum(part.bytes for part in parts), runtime)


def notes(plan: Plan) -> list[str]:
    """The things that a user of fio may not expect of these figures."""
    told = list(plan.notes)
    if any(stream.ramp_us for stream in plan.streams):
        told.append(
            "`ramp_time` is left out of the figures in fio's names; those of ftlab beside them begin with the run"
        )
    return told


def to_json(plan: Plan, result: Result) -> dict[str, Any]:
    """The object that `fio --output-format=json` prints, as far as a simulated drive has its figures."""
    jobs = [_job(stream, found, _steady(plan, stream, result)) for stream, found in directions(plan, result)]
    return {
        "fio version": f"fio-3 layout of ftlab {__version__}",
        "timestamp": 0,
        "timestamp_ms": 0,
        "time": "",
        "global options": plan.globals,
        "jobs": jobs,
        "disk_util": [],
        "ftlab": {
            "notes": notes(plan),
            "waf": result.summary["waf"],
            "waf_units": result.summary["waf_units"],
        },
    }


def _job(stream: Stream, found: Sequence[Direction], steady: dict[str, Any]) -> dict[str, Any]:
    by_kind = {each.kind: each for each in found}
    runtime_ms = max(each.runtime_ns for each in found) // 1_000_000
    options = {word.written: word.value or "1" for word in stream.section.words.values()}
    job: dict[str, Any] = {
        "jobname": stream.name,
        "groupid": stream.group,
        "error": 0,
        "eta": 0,
        "elapsed": runtime_ms // 1000,
        "job options": options,
    }
    for kind in KINDS:
        job[kind] = _direction(by_kind.get(kind) or Direction(kind, None, 0, 0), stream.percentiles)
    depth = str(min(1 << (stream.depth - 1).bit_length(), 64))
    levels = ("1", "2", "4", "8", "16", "32", ">=64")
    depth = ">=64" if depth == "64" else depth
    return job | {
        "sync": {"total_ios": 0, "lat_ns": _spread(None)},
        "job_runtime": runtime_ms,
        "usr_cpu": 0.0,
        "sys_cpu": 0.0,
        "ctx": 0,
        "majf": 0,
        "minf": 0,
        "iodepth_level": {level: 100.0 if level == depth else 0.0 for level in levels},
        "iodepth_submit": _ONE_BY_ONE,
        "iodepth_complete": _ONE_BY_ONE,
        **_buckets(found),
        "latency_depth": stream.depth,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
        **steady,
    }


def _steady(plan: Plan, stream: Stream, result: Result) -> dict[str, Any]:
    """The object `steadystate` of fio, for a job that may end once it is steady; empty for others."""
    if not stream.steady:
        return {}
    at = next(
        number
        for number, each in enumerate(plan.streams)
        if (each.section, each.copy) == (stream.section, stream.copy)
    )
    return {
        "steadystate": {
            "ss": stream.steady["steady"],
            "duration": int(stream.steady["steady_window"][:-1]),
            "attained": int(result.summary["tenants"][at]["steady_s"] is not None),
        }
    }


_ONE_BY_ONE = {level: 100.0 if level == "4" else 0.0 for level in ("0", "4", "8", "16", "32", "64", ">=64")}
"""How many requests are sent, or taken back, at once, in per cent by fio's classes: one, in the class up to 4."""


def _direction(found: Direction, percentiles: Sequence[float]) -> dict[str, Any]:
    seconds = found.runtime_ns / 1e9
    rate = found.bytes / seconds if seconds else 0.0
    clat = _spread(found.latencies)
    if found.latencies is not None:
        clat["percentile"] = {
            f"{percent:.6f}": found.latencies.percentile(percent) for percent in percentiles
        }
    iops = found.requests / seconds if seconds else 0.0
    return {
        "io_bytes": found.bytes,
        "io_kbytes": found.bytes >> 10,
        "bw_bytes": int(rate),
        "bw": int(rate) >> 10,
        "iops": iops,
        "runtime": found.runtime_ns // 1_000_000 if found.requests else 0,
        "total_ios": found.requests,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": _spread(None) | {"N": found.requests},
        "clat_ns": clat,
        "lat_ns": _spread(found.latencies),
        "bw_min": 0,
        "bw_max": 0,
        "bw_agg": 0.0,
        "bw_mean": 0.0,
        "bw_dev": 0.0,
        "bw_samples": 0,
        "iops_min": 0,
        "iops_max": 0,
        "iops_mean": 0.0,
        "iops_stddev": 0.0,
        "iops_samples": 0,
    }


def _spread(latencies: Latencies | None) -> dict[str, Any]:
    if latencies is None:
        return {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    return {
        "min": round(float(latencies.ns[0])),
        "max": round(float(latencies.ns[-1])),
        "mean": latencies.mean_ns,
        "stddev": latencies.deviation(),
        "N": latencies.requests,
    }


LATENCY_BUCKETS = (
    ("latency_ns", 1, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)),
    ("latency_us", 1000, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)),
    ("latency_ms", 1_000_000, (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000)),
)
"""fio's histogram: its parts, their nanoseconds, and the upper bounds in them."""


def _buckets(found: Sequence[Direction]) -> dict[str, dict[str, float]]:
    """The per cent of requests by latency, reads and writes together."""
    latencies = [each.latencies for each in found if each.latencies is not None]
    total = sum(each.requests for each in latencies)
    below, told = 0.0, {}
    for name, unit, bounds in LATENCY_BUCKETS:
        part: dict[str, float] = {}
        for bound in bounds:
            reached = sum(float(each.counts[each.ns < bound * unit].sum()) for each in latencies)
            part[str(bound)] = 100 * (reached - below) / total if total else 0.0
            below = reached
        told[name] = part
    told["latency_ms"][">=2000"] = 100 * (total - below) / total if total else 0.0
    return told


def text(plan: Plan, result: Result) -> str:
    """The lines that fio prints of its jobs, and what else is to be known."""
    lines = []
    for stream, found in directions(plan, result):
        lines.append(f"{escape.terminal(stream.name)}: (groupid={stream.group}, jobs={stream.copies})")
        for each in found:
            if each.latencies is not None:
                lines += _lines(each, each.latencies, stream.percentiles)
    lines += [f"note: {escape.terminal(note)}" for note in notes(plan)]
    return "\n".join(lines) + "\n"


def _lines(found: Direction, latencies: Latencies, percentiles: Sequence[float]) -> list[str]:
    seconds = found.runtime_ns / 1e9
    rate = found.bytes / seconds if seconds else 0.0
    iops = found.requests / seconds if seconds else 0.0
    longest = float(latencies.ns[-1])
    unit, scale = next((unit, scale) for unit, scale, most in UNITS if longest < most)
    spread = ", ".join(
        f"{name}={value / scale:.2f}"
        for name, value in (
            ("min", float(latencies.ns[0])), ("max", longest), ("avg", latencies.mean_ns),
            ("stdev", latencies.deviation()),
        )
    )  # fmt: skip
    told = [
        f"  {found.kind}: IOPS={_short(iops)}, BW={rate / 2**20:.1f}MiB/s ({rate / 1e6:.1f}MB/s)"
        f"({found.bytes / 2**20:.1f}MiB/{found.runtime_ns // 1_000_000}msec)",
        f"    clat ({unit}): {spread}",
        f"    clat percentiles ({unit}):",
    ]
    each = [f"{percent:5.2f}th=[{latencies.percentile(percent) / scale:8.1f}]" for percent in percentiles]
    told += [f"     | {', '.join(each[i : i + 4])}" for i in range(0, len(each), 4)]
    return told


UNITS = (("nsec", 1.0, 1e4), ("usec", 1e3, 1e8), ("msec", 1e6, math.inf))
"""Units of the printed latencies, their nanoseconds, and up to which latency."""


def _short(value: float) -> str:
    return f"{value / 1000:.1f}k" if value >= 10_000 else f"{value:.0f}"
