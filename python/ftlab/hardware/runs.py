"""What is measured of a row: its job, run on the drive that stands for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ftlab.api import simulation
from ftlab.base.quantities import in_us
from ftlab.fio import running
from ftlab.fio.jobfile import JobFile
from ftlab.hardware.rows import Row
from ftlab.results.result import Result

Scale: TypeAlias = Literal["quick", "full"]

QUICK_RUNTIME = 3
"""Seconds of simulated time of a job that runs for a time, at the quick scale."""

QUICK_REQUESTS = 100_000
"""Requests of a job that has a number of them, at the quick scale, at most."""

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}


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
    if not row.fio:
        return figures(simulation.run(drive, sets=sets))
    text = row.fio if scale == "full" else shortened(row.fio)
    if row.reader:
        return _beside(row, text, sets)
    made = running.prepare(row.source_of_drive, JobFile(text, f"row {row.id}"), sets=sets)
    return figures(simulation.run(made.config, trace=made.trace, columns=made.columns))


def shortened(job: str) -> str:
    """A job file at the quick scale."""
    job = re.sub(r"(?m)^runtime=(\d+)$", lambda found: f"runtime={min(int(found[1]), QUICK_RUNTIME)}", job)
    return re.sub(
        r"(?m)^number_ios=(\d+)$", lambda found: f"number_ios={min(int(found[1]), QUICK_REQUESTS)}", job
    )


def _beside(row: Row, text: str, sets: Mapping[str, Any]) -> Measured:
    """A reader that sends one request after the other, beside paced jobs.

    Its loop beside others is not to be had of the host. So it is paced, at the rate that its mean latency gives: with
    one request in the drive at a time the two are the same on average, and the latencies are those of requests that
    meet the same drive. The rate is found by running again until it stays where it is.
    """
    rate, found = 10_000.0, None
    for _ in range(4):
        paced = text.replace(f"[{row.reader}]", f"[{row.reader}]\nrate_iops={round(rate)}")
        made = running.prepare(row.source_of_drive, JobFile(paced, f"row {row.id}"), sets=dict(sets))
        # Reads are all of one job, so no row for each request is needed. At this rate no read waits for the one before.
        config = {
            **made.config,
            "run": {**made.config["run"], "per_request": False},
            "host": {**made.config["host"], "queue_depth": "unlimited"},
        }
        found = figures(simulation.run(config, trace=made.trace, columns=made.columns))
        then = 1e6 / found.figures["read mean"]
        if abs(then - rate) < 0.02 * rate:
            break
        rate = then
    assert found is not None
    return Measured({**found.figures, "read iops": 1e6 / found.figures["read mean"]}, found.waf)


def figures(result: Result) -> Measured:
    """The figures of a result, by the names that rows use."""
    summary = result.summary
    host, device = summary["host"], summary["config"]["device"]
    found: dict[str, float] = {}
    if host["iops"] is not None:
        found |= {"iops": host["iops"], "mb_s": host["throughput_mb_s"]}
    for kind in ("read", "write"):
        if not host[f"{kind}s"] or host["iops"] is None:
            continue
        found |= {f"{kind} iops": host[f"{kind}_iops"], f"{kind} mean": host[f"{kind}_latency_us"]["mean"]}
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
    if written[-1] >= 39:
        for begin, end in ((0, 4), (30, 40)):
            part = (written > begin) & (written <= end + 1e-9)
            found[f"waf {begin}..{end}"] = float(programmed[part].sum() / steps[part].sum())
    return Measured(found, (written.tolist(), series["waf"][rows].tolist()))
