"""The measurement of a row: its job, run on the drive that stands for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ftlab.api import simulation
from ftlab.base.quantities import in_bytes, in_us
from ftlab.fio import running
from ftlab.fio.jobfile import JobFile
from ftlab.hardware.rows import NAMED, Row
from ftlab.results.result import Result

Scale: TypeAlias = Literal["quick", "full"]

AFTER = "rate after the pause"
"""The rate behind the longest pause, as a multiple of that of the first eighth before it."""

PHASE = re.compile(r"phase \d of (\d) ")
"""The beginning of the name of a phase's figure, with how many phases there are."""

CURVE = 90
"""Points of the curve of a fill, at most."""

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a run, from one volume written to another, in user capacities."""

    begin: float
    end: float

    @property
    def name(self) -> str:
        """As rows name its WAF."""
        return f"waf {self.begin:g}..{self.end:g}"

    @classmethod
    def of(cls, name: str) -> Span | None:
        """The part whose WAF has that name, if any."""
        found = re.fullmatch(r"waf ([0-9.]+?)\.\.([0-9.]+)", name)
        return cls(float(found[1]), float(found[2])) if found else None


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of a row's run, by name."""

    figures: Mapping[str, float]
    """The latencies are in microseconds, throughput in MB/s of 10^6 bytes."""
    waf: tuple[list[float], list[float]] | None = None
    """Capacities written, and the WAF until then since the last, of a run that wrote."""
    fill: tuple[list[float], list[float]] | None = None
    """Written, as parts of the raw space, and the GB/s until then since the last, if phases are asked for."""


def measure(row: Row, scale: Scale) -> Measured:
    """Runs a row's job.

    Raises:
        ConfigError, InputError, RunError: it cannot be run, or fails.
    """
    sets = {**row.sets, **(row.quick if scale == "quick" else row.full)}
    drive = row.source_of_drive
    asked = {name.rpartition(NAMED)[2] for figure in row.figures for name in (figure.of, figure.over)}
    if not row.fio:
        return figures(simulation.run(drive, sets=sets), asked)
    text = row.fio if scale == "full" else shortened(row)
    made = running.prepare(drive, JobFile(text, f"row {row.id}"), sets=sets)
    return figures(simulation.run(made.config), asked)


def shortened(row: Row) -> str:
    """A row's job file at the quick scale."""
    most = {"runtime": row.quick_runtime, "number_ios": row.quick_requests}
    return re.sub(
        r"(?m)^(runtime|number_ios)=(\d+)$",
        lambda found: f"{found[1]}={min(int(found[2]), most[found[1]])}",
        row.fio,
    )


def figures(result: Result, asked: Iterable[str] = ()) -> Measured:
    """The figures of a result, by the names that rows use; of those about parts of it the ones that are asked for."""
    summary = result.summary
    host, device = summary["host"], summary["config"]["device"]
    found: dict[str, float] = {}
    if host["iops"] is not None:
        found |= {"iops": host["iops"], "mb_s": host["throughput_mb_s"]}
    for kind in ("read", "write"):
        if not host[f"{kind}s"] or host["iops"] is None:
            continue
        found |= {f"{kind} iops": host[f"{kind}_iops"], f"{kind} mean": host[f"{kind}_latency_us"]["mean"]}
        of_kind = host["bytes_read" if kind == "read" else "bytes_written"]
        found[f"{kind} mb_s"] = of_kind / host["simulated_s"] / 1e6
        rows = result.latency["kind"] == kind
        upper, share = result.latency["latency_us"][rows], result.latency["cumulative_fraction"][rows]
        for name, part in PERCENTILES.items():
            found[f"{kind} {name}"] = float(upper[min(np.searchsorted(share, part - 1e-12), len(upper) - 1)])
    for tenant in summary.get("tenants", ()):
        # Those of a job of fio, which has a time at its beginning that does not count.
        of_reads = tenant["read_latency_us"]
        found |= {f"{tenant['name']}: read {name}": of_reads[name] for name in ("mean", "p99", "p999")}
    program = device["timing"]["program"]
    found["program"] = max(map(in_us, program)) if isinstance(program, list) else in_us(program)
    if summary["waf"] is None:
        return Measured(found)
    found |= {"waf": summary["waf"], "waf ratio": summary["waf"] / summary["waf_units"]}
    series = result.series
    rows = series["axis"] == "volume"
    written = series["capacities_written"][rows]
    steps = np.diff(written, prepend=0.0)
    programmed = np.nan_to_num(series["waf"][rows]) * steps
    for span in filter(None, map(Span.of, asked)):
        part = (written > span.begin) & (written <= span.end + 1e-9)
        # The last row of a run may end a little before.
        if written[-1] >= 0.97 * span.end:
            found[span.name] = float(programmed[part].sum() / steps[part].sum())
    fill = None
    if host["iops"] is not None and (about := [name for name in asked if name == AFTER or PHASE.match(name)]):
        more, fill = _over_time(result, about)
        found |= more
    return Measured(found, (written.tolist(), series["waf"][rows].tolist()), fill)


def _over_time(
    result: Result, asked: Iterable[str]
) -> tuple[dict[str, float], tuple[list[float], list[float]]]:
    """The phases of a fill, and the rate after a pause; and the rate over what was written."""
    series = result.series
    rows = (series["axis"] == "volume") & np.isfinite(series["throughput_mb_s"])
    begins, ends, gigabytes = (series[name][rows] for name in ("start_s", "end_s", "host_written_gb"))
    device = result.summary["config"]["device"]
    found: dict[str, float] = {}
    if AFTER in asked:
        pause = int(np.argmax(ends - begins))
        if 0 < pause < len(ends) - 1:
            after = (gigabytes[-1] - gigabytes[pause]) / (ends[-1] - ends[pause])
            found[AFTER] = float(after / (gigabytes[pause // 8] / ends[pause // 8]))
    raw = in_bytes(device["user_capacity"]) * (1 + device["over_provisioning"]) / 1e9
    for count in sorted({int(told[1]) for name in asked if (told := PHASE.match(name))}):
        for number, phase in enumerate(phases(gigabytes, ends, count), start=1):
            found[f"phase {number} of {count} gb_s"] = phase.rate
            found[f"phase {number} of {count} ends"] = phase.end / raw
    step = -(-len(ends) // CURVE)
    x, y = (np.append(0.0, each[step - 1 :: step]) for each in (gigabytes, ends))
    return found, ((x[1:] / raw).tolist(), (np.diff(x) / np.diff(y)).tolist())


class Phase(NamedTuple):
    """A part of a run in which a drive is as fast throughout."""

    end: float
    """Written until its end."""
    rate: float


LEAST_STEP = 1.2
"""Two phases whose rates differ by less are one."""


def phases(written: NDArray[np.float64], seconds: NDArray[np.float64], count: int) -> list[Phase]:
    """The phases of a fill, of which there are `count`: lines through the time over the volume, by least squares.

    None where fewer can be told apart.
    """
    x, y = np.append(0.0, written), np.append(0.0, seconds)
    size = len(x)
    if size < 8 * count:
        return []
    moments = [np.append(0.0, np.cumsum(each)) for each in (np.ones(size), x, y, x * x, x * y, y * y)]
    # Of the points from `i` up to `j`, both in.
    n, sx, sy, sxx, sxy, syy = (each[None, 1:] - each[:-1, None] for each in moments)
    with np.errstate(divide="ignore", invalid="ignore"):
        across, along = syy - sy * sy / n, sxy - sx * sy / n
        left = across - along * along / (sxx - sx * sx / n)
    least = np.where(n >= 4, np.maximum(left, 0.0), np.inf)
    best, cuts = least[0], []
    for _ in range(count - 1):
        ways = best[:, None] + least
        cuts.append(np.argmin(ways, axis=0))
        best = np.min(ways, axis=0)
    ends = [size - 1]
    for cut in reversed(cuts):
        ends.insert(0, int(cut[ends[0]]))
    made = [
        Phase(float(x[end]), float((x[end] - x[begin]) / (y[end] - y[begin])))
        for begin, end in pairwise([0, *ends])
    ]
    steps = [max(a.rate, b.rate) / min(a.rate, b.rate) for a, b in pairwise(made)]
    return made if all(step >= LEAST_STEP for step in steps) else []
