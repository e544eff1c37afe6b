"""Drives of today: what their makers and reviewers publish beside what their presets give for the same jobs.

``python -m evidence.hardware`` prints a table of ``docs/hardware.md``. The jobs are those of fio: 128 KiB in
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
    """The measured figures by job and preset, in Markdown: beside each what is published, and the WAF in bytes."""
    jobs = (*JOBS, COARSE)
    lines = [
        f"| job | {' | '.join(f'`{preset}`' for preset in PUBLISHED)} |",
        f"|---|{'---:|' * len(PUBLISHED)}",
    ]
    for job in jobs:
        cells = []
        for preset, published in PUBLISHED.items():
            if job is COARSE and preset != "qlc-dense-small":
                cells.append("")
                continue
            cells.append(cell(job, run(preset, sets=job.sets), published.get(job.name)))
            print(preset, job.name, cells[-1], sep=": ", file=sys.stderr, flush=True)
        lines.append(f"| {job.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def cell(job: Job, result: Result, known: tuple[float, str] | None) -> str:
    """A figure, with its deviation from a published one and the WAF of writes."""
    form = count if job.unit == "IOPS" else figure
    measured = job.of(result)
    told = form(measured)
    if known:
        told += f" ({100 * (measured / known[0] - 1):+.0f} % of {form(known[0])} {known[1]})"
    waf = result.summary["waf"]
    return told if waf is None else f"{told}, WAF {waf:.2f}"


if __name__ == "__main__":
    print(table())
