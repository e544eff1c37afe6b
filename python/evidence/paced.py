"""The latencies of `ftlab serve --pace` under fio, beside those that `ftlab run` has for the same drive and load.

``python -m evidence.paced --out docs/evidence`` ages a drive. For each job the executor `timed` runs it without bytes;
then fio runs it over NBD on a server with `--pace`, and on one without: that is what client, socket and threads take by
themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidence import report, served
from evidence.serving import SMALL
from ftlab.cli.usage import say

AGED = "run.precondition.random=2x"


@dataclass(frozen=True)
class Job:
    """Requests of 4 KiB at random, so many at a time."""

    kind: str
    depth: int

    def sets(self, requests: int) -> list[str]:
        """The load as `ftlab run` takes it."""
        return [
            "run.executor=timed", AGED, "workload.generator=uniform", f"workload.requests={requests}",
            "workload.request_size=4KiB", f"workload.read_fraction={1 if self.kind == 'read' else 0}",
            "host.replay=closed", f"host.queue_depth={self.depth}",
        ]  # fmt: skip


JOBS = [Job("read", 1), Job("read", 4), Job("read", 16), Job("read", 64), Job("write", 1), Job("write", 16)]


@dataclass(frozen=True)
class Latencies:
    """In microseconds, and requests a second."""

    p50: float
    mean: float
    p99: float
    iops: float | None = None

    def __str__(self) -> str:
        rate = "" if self.iops is None else f", {self.iops:,.0f}"
        return f"{self.p50:,.0f} / {self.mean:,.0f} / {self.p99:,.0f}{rate}"


def _sets(sets: list[str]) -> list[str]:
    return [word for text in sets for word in ("--set", text)]


def predicted(job: Job, requests: int) -> Latencies:
    """By the executor `timed`."""
    text = served.command(
        sys.executable, "-m", "ftlab", "run", *SMALL, *_sets(job.sets(requests)), "--json", timeout_s=900
    )
    host = json.loads(text)["host"]
    found = host[f"{job.kind}_latency_us"]
    return Latencies(found["p50"], found["mean"], found["p99"], host["iops"])


def live(job: Job, image: Path, seconds: int, *options: str) -> tuple[Latencies, dict[str, Any]]:
    """By fio, over NBD, and what the server tells at its end."""
    scratch = image.with_name("live")
    served.command("cp", "--sparse=always", image, scratch)
    process = subprocess.Popen(
        [sys.executable, "-m", "ftlab", "serve", *SMALL, "--image", scratch, "--json", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("serving"):
            break
    told = served.command(
        "fio", "--name=x", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={scratch}.sock", f"--rw=rand{job.kind}",
        "--bs=4k", f"--iodepth={job.depth}", "--time_based", f"--runtime={seconds}", "--size=3584M",
        "--norandommap", "--output-format=json",
    )  # fmt: skip
    process.send_signal(signal.SIGTERM)
    status = json.loads(process.communicate()[0])
    scratch.unlink()
    found = json.loads(told[told.index("{") :])["jobs"][0][job.kind]
    mean, shares = found["lat_ns"]["mean"], found["clat_ns"]["percentile"]
    p50, p99 = shares["50.000000"], shares["99.000000"]
    return Latencies(p50 / 1e3, mean / 1e3, p99 / 1e3, found["iops"]), status


def rows(place: Path, seconds: int, requests: int) -> list[str]:
    """A row for each job."""
    image, found = place / "disk", []
    age = ["run.executor=device", AGED, "workload.volume=0.001x"]
    served.command(
        sys.executable, "-m", "ftlab", "run", *SMALL, *_sets(age), "--image", image, "--json", timeout_s=900
    )
    for job in JOBS:
        run = predicted(job, requests)
        paced, status = live(job, image, seconds, "--pace")
        bare = live(job, image, seconds)[0]
        pace = status["pace"]
        told = pace["latency"][job.kind]
        model = Latencies(told["p50"], told["mean"], told["p99"])
        late = f"{pace['late']:,} of {pace['completed']:,}"
        found.append(f"| {job.kind}, {job.depth} | {run} | {paced} | {model} | {bare} | {late} |")
        say(found[-1])
    return found


PAGE = """\
# Live latencies

On {cores} cores that others used too: load {load}.

Requests of 4 KiB at random on `client-tlc-small` cut down to 4.5 GiB of flash, of which the host has 3.5 GiB, written
over twice. *Run* is `ftlab run` with the executor `timed`, in a closed loop of that depth. *Live* is fio with its
engine `nbd` on `ftlab serve --pace`. *Model* is what the device in time had for the requests of fio; what lies between
it and *live* is the stack of this computer. *Floor* is fio on a server without `--pace`. *Late* are answers that came
more than half a millisecond after their time. Latencies are in microseconds: median / mean / p99; then follow requests
a second. Where others use the cores, means are those of waiting for a core, and medians tell more.

| requests, depth | run | live | model | floor | late |
|---|---|---|---|---|---|
{rows}
"""


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 where nothing can be measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="of each job")
    parser.add_argument("--requests", type=int, default=200_000, help="of each run without bytes")
    parser.add_argument("--out", type=Path, help="the directory of `paced.json`")
    options = parser.parse_args(arguments)
    if shutil.which("fio") is None:
        say("not measured: needs fio")
        return 1
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="paced-", dir="/dev/shm") as place:
        found = rows(Path(place), options.seconds, options.requests)
    if options.out is not None:
        page = PAGE.format(cores=os.cpu_count(), load=f"{load:.1f}", rows="\n".join(found))
        report.write(options.out / "paced.json", page, report.command_of("paced", arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main())
