"""Drives of today: what their makers and reviewers publish beside what their presets give for the same jobs.

``python -m evidence.hardware`` prints the table of ``docs/hardware.md``. The jobs are those of fio: 128 KiB in
sequence at queue depth 32, and 4 KiB at random at 32 and 256, on a drive that was filled, and for random writes
overwritten once at random.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from ftlab.api.simulation import run
from ftlab.results.result import Result
from ftlab.results.text import count, figure


@dataclass(frozen=True, slots=True)
class Job:
    """A job of fio, as a workload on a preconditioned drive."""

    name: str
    unit: str
    sets: dict[str, Any]

    def of(self, result: Result) -> float:
        """What it measures."""
        host = result.summary["host"]
        return float(host["iops"] if self.unit == "IOPS" else host["throughput_mb_s"])


def _job(name: str, generator: str, size: str, depth: int, reads: float, requests: int) -> Job:
    fill = {"random": "1x"} if generator == "uniform" and reads == 0 else {"sequential": "1x"}
    sets = {
        "host.replay": "closed", "host.queue_depth": depth, "workload.generator": generator,
        "workload.request_size": size, "workload.read_fraction": reads, "workload.requests": requests,
        "run.precondition": fill,
    }  # fmt: skip
    return Job(name, "MB/s" if generator == "sequential" else "IOPS", sets)


JOBS = (
    _job("sequential read, 128 KiB, QD 32", "sequential", "128KiB", 32, 1.0, 200_000),
    _job("sequential write, 128 KiB, QD 32", "sequential", "128KiB", 32, 0.0, 200_000),
    _job("random read, 4 KiB, QD 32", "uniform", "4KiB", 32, 1.0, 500_000),
    _job("random read, 4 KiB, QD 256", "uniform", "4KiB", 256, 1.0, 500_000),
    _job("random write, 4 KiB, QD 32", "uniform", "4KiB", 32, 0.0, 500_000),
    _job("random write, 4 KiB, QD 256", "uniform", "4KiB", 256, 0.0, 500_000),
)

COARSE = _job("random write, 64 KiB, QD 256", "uniform", "64KiB", 256, 0.0, 200_000)
"""One more for the preset whose map units are so large."""

READ, WRITE = "sequential read, 128 KiB, QD 32", "sequential write, 128 KiB, QD 32"
RANDOM_READ, RANDOM_WRITE = "random read, 4 KiB, QD 256", "random write, 4 KiB, QD 256"
PUBLISHED: dict[str, dict[str, tuple[float, str]]] = {
    "client-tlc-small": {READ: (7_400, "[5]"), WRITE: (3_150, "[3]"), RANDOM_READ: (1_000_000, "[5]")},
    "enterprise-tlc-small": {
        READ: (6_500, "[6]"), WRITE: (3_500, "[6]"), RANDOM_READ: (900_000, "[6]"), RANDOM_WRITE: (200_000, "[6]"),
    },
    "qlc-small": {
        READ: (3_200, "[7]"), WRITE: (1_000, "[7]"), RANDOM_READ: (427_000, "[7]"), RANDOM_WRITE: (36_000, "[7]"),
    },
    "qlc-dense-small": {RANDOM_READ: (800_000, "[13]")},
}  # fmt: skip
"""By preset and job: the figure, and the number of its source in ``docs/hardware.md``."""


def table() -> str:
    """The measured table, in Markdown."""
    lines = [
        "| preset | job | published | ftlab | deviation | WAF | WAF in units |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for preset, published in PUBLISHED.items():
        for job in (*JOBS, COARSE) if preset == "qlc-dense-small" else JOBS:
            result = run(preset, sets=job.sets)
            measured = job.of(result)
            known = published.get(job.name)
            form = count if job.unit == "IOPS" else figure
            told = f"{form(known[0])} {job.unit} {known[1]}" if known else "–"
            deviation = f"{100 * (measured / known[0] - 1):+.0f} %" if known else "–"
            wafs = (result.summary[key] for key in ("waf", "waf_units"))
            waf, units = ("–" if waf is None else f"{waf:.2f}" for waf in wafs)
            lines.append(
                f"| `{preset}` | {job.name} | {told} | {form(measured)} {job.unit} | {deviation} | {waf} | {units} |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
