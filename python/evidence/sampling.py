"""Samples of a device beside the whole device: how near their WAF comes, and how well they know it.

``python -m evidence.sampling --traces DIR --out docs/evidence`` runs the workloads of :data:`WORKLOADS` on a device of
16 GiB under each policy, whole and as samples, and keeps ``sampling.json``. DIR has the captured traces
(``NAME.csv.zst``); one that is not there is left out, and the page says so. The exit code is 1 if a sample by the page
is off by more than :data:`TOLERANCE`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidence import report
from ftlab.api.simulation import run

TOLERANCE = 0.01
"""Largest difference from the whole, as a fraction, that counts as agreement."""

DEVICE: Mapping[str, Any] = {
    "device.channels": 8, "device.chips_per_channel": 4, "device.dies_per_chip": 2, "device.planes_per_die": 1,
    "device.blocks_per_plane": 1120, "device.pages_per_block": 64, "device.page_size": "4KiB",
    "device.multiplane": "off", "device.user_capacity": "16GiB", "run.executor": "count",
}  # fmt: skip
"""71,680 blocks: a 32nd are 2,240."""

SAMPLE: Mapping[str, Any] = {"run.sample": "1/32", "run.sample_hashes": 4}

POLICIES: Mapping[str, Mapping[str, Any]] = {
    "greedy": {"ftl.victim": "greedy", "device.cell": "slc"},
    "cost-benefit": {"ftl.victim": "cost-benefit", "device.cell": "slc"},
    "DAC": {
        "ftl.victim": "greedy", "ftl.separation": "dac", "device.cell": "slc",
        "ftl.gc_schedule.threshold.free_blocks": 5,
    },
    "GCMix": {"ftl.victim": "greedy", "ftl.paired_page": "gcmix", "device.cell": "mlc"},
}  # fmt: skip

STEADY: Mapping[str, Any] = {"run.precondition": "steady", "workload.volume": "1x"}

WORKLOADS: Mapping[str, Mapping[str, Any]] = {
    "uniform": {"workload.generator": "uniform", **STEADY},
    "Zipf 0.9": {"workload.generator": {"zipf": {"z": 0.9}}, **STEADY},
    "Zipf 1.2": {"workload.generator": {"zipf": {"z": 1.2}}, **STEADY},
    "hot/cold 10/90": {"workload.generator": {"hot-cold": {"data": 0.1, "writes": 0.9}}, **STEADY},
}

TRACES = ("oltp", "ntrx", "varmail", "fileserver")

REPLAY: Mapping[str, Any] = {"run.precondition": {"sequential": "1x"}, "workload.volume": "2x"}

RUNS = ("4KiB", "64KiB")
"""Bytes that are in a sample together, of traces: a page, and more."""


@dataclass(frozen=True, slots=True)
class Point:
    """A workload under a policy, whole and sampled."""

    workload: str
    policy: str
    run: str
    """`run.sample_run`; empty of a generator."""
    whole: float
    sampled: float
    error: float | None
    whole_s: float
    sampled_s: float
    """Of one sample."""

    @property
    def difference(self) -> float:
        """Of the samples from the whole, as a fraction."""
        return self.sampled / self.whole - 1

    @property
    def is_vouched_for(self) -> bool:
        """True for samples by the page, as they are untuned."""
        return self.run in ("", RUNS[0])

    @property
    def row(self) -> str:
        """A line of the page's table."""
        error = "" if self.error is None else f" ± {self.error:.3f}"
        mark = "" if abs(self.difference) <= TOLERANCE else " **"
        return (
            f"| {self.workload} | {self.policy} | {self.run} | {self.whole:.3f} | {self.sampled:.3f}{error} | "
            f"{100 * self.difference:+.2f} %{mark} | {self.whole_s / max(self.sampled_s, 1e-9):.0f} |"
        )


def measured(name: str, policy: str, workload: Mapping[str, Any], trace: Path | None) -> Iterator[Point]:
    """A workload under a policy: the whole once, and samples of each length of run."""
    sets = {**DEVICE, **POLICIES[policy], **workload}
    whole = run("tbm-small", sets=sets, trace=trace).summary
    for length in [""] if trace is None else RUNS:
        more = {**SAMPLE, **({"run.sample_run": length} if length else {})}
        part = run("tbm-small", sets={**sets, **more}, trace=trace).summary
        waf = part["sample"]["waf"]
        yield Point(
            name, policy, length, whole["waf"], waf["mean"], waf["error"], _seconds(whole), _seconds(part),
        )  # fmt: skip


def _seconds(summary: Mapping[str, Any]) -> float:
    return float(summary["run"]["wall_s"] + summary["run"]["precondition_wall_s"])


def page(points: Sequence[Point], absent: Sequence[str]) -> str:
    """The page."""
    vouched = [point for point in points if point.is_vouched_for]
    near = sum(abs(point.difference) <= TOLERANCE for point in vouched)
    gone = f" Not there when this was written: {', '.join(absent)}." if absent else ""
    return "\n".join([
        "# Samples beside the whole device",
        "",
        f"{near} of {len(vouched)} samples by the page are within "
        f"{100 * TOLERANCE:g} % of the whole device's WAF; what is not is marked **. Of traces there are samples by "
        "runs of several pages beside them, which put more onto a plane than the whole device does. A device of 16 GiB "
        f"in 71,680 blocks of 64 pages of 4 KiB; four samples of a 32nd.{gone} The last column is how many times "
        "as long the whole took as one sample, ageing included.",
        "",
        "| workload | policy | run | WAF | of samples | difference | faster |",
        "|---|---|---:|---:|---:|---:|---:|",
        *(point.row for point in points),
        "",
    ])  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m evidence.sampling", description=__doc__)
    parser.add_argument(
        "--traces", type=Path, default=Path("traces"), metavar="DIR", help="where captured traces are"
    )
    parser.add_argument("--out", type=Path, default=Path("docs/evidence"), metavar="DIR")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="workloads (default: all)")
    options = parser.parse_args(arguments)
    jobs: list[tuple[str, str, Mapping[str, Any], Path | None]] = []
    absent = []
    for name, workload in WORKLOADS.items():
        jobs += [(name, policy, workload, None) for policy in POLICIES]
    for name in TRACES:
        trace = options.traces / f"{name}.csv.zst"
        if trace.exists():
            jobs += [(name, policy, REPLAY, trace) for policy in POLICIES]
        else:
            absent.append(name)
    jobs = [job for job in jobs if not options.only or job[0] in options.only]

    def one(job: tuple[str, str, Mapping[str, Any], Path | None]) -> list[Point]:
        points = []
        for point in measured(*job):
            print(point.row, file=sys.stderr, flush=True)
            points.append(point)
        return points

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        points = [point for found in threads.map(one, jobs) for point in found]
    command = report.command_of("sampling", arguments)
    report.write(options.out / "sampling.json", page(points, absent), command)
    sys.exit(any(abs(point.difference) > TOLERANCE for point in points if point.is_vouched_for))


if __name__ == "__main__":
    main()
