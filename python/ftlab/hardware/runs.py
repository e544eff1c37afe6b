"""What is measured of a row: its job, run on the drive that stands for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ftlab.api import simulation
from ftlab.base.quantities import in_us
from ftlab.fio import running
from ftlab.fio.jobfile import JobFile
from ftlab.hardware.rows import Row
from ftlab.results.result import Result

Scale: TypeAlias = Literal["quick", "full"]

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


def measure(row: Row, scale: Scale) -> Measured:
    """Runs a row's job.

    Raises:
        ConfigError, InputError, RunError: it cannot be run, or fails.
    """
    sets = {**row.sets, **(row.quick if scale == "quick" else row.full)}
    drive = row.source_of_drive
    spans = [span for figure in row.figures if (span := Span.of(figure.of))]
    if not row.fio:
        return figures(simulation.run(drive, sets=sets), spans)
    text = row.fio if scale == "full" else shortened(row)
    made = running.prepare(drive, JobFile(text, f"row {row.id}"), sets=sets)
    return figures(simulation.run(made.config), spans)


def shortened(row: Row) -> str:
    """A row's job file at the quick scale."""
    most = {"runtime": row.quick_runtime, "number_ios": row.quick_requests}
    return re.sub(
        r"(?m)^(runtime|number_ios)=(\d+)$",
        lambda found: f"{found[1]}={min(int(found[2]), most[found[1]])}",
        row.fio,
    )


def figures(result: Result, spans: Sequence[Span] = ()) -> Measured:
    """The figures of a result, by the names that rows use; the WAF of parts of it too."""
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
    for span in spans:
        part = (written > span.begin) & (written <= span.end + 1e-9)
        # The last row of a run may end a little before.
        if written[-1] >= 0.97 * span.end:
            found[span.name] = float(programmed[part].sum() / steps[part].sum())
    return Measured(found, (written.tolist(), series["waf"][rows].tolist()))
