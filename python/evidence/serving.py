"""The speed of `ftlab serve`: requests beside those of a server over plain memory, and the time of a restart.

``python -m evidence.serving --out docs/evidence`` ages a drive in memory, and has fio write and read 4 KiB at random at
depth 32; then nbdkit's memory plugin. It ages a drive of 64 GiB, and opens it by its checkpoint and, after a kill, by a
scan. Others on the machine take their share of the clock, so the processor's time stands beside it. At the end it says
which goals were met by the clock: on a machine that does nothing else.
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
import time
from dataclasses import dataclass
from pathlib import Path

from evidence import report, served
from ftlab.cli.usage import say

LARGE = ["client-tlc-small"]
SMALL = [
    *LARGE, "--set", "device.channels=4", "--set", "device.chips_per_channel=1", "--set", "device.blocks_per_plane=32",
    "--set", "device.user_capacity=3584MiB", "--set", "ftl.write_buffer.fifo.size=16MiB",
]  # fmt: skip
OPENED = "ftlab serve, just opened"
"""With an image that was opened just before: what is written meets each of its pages for the first time."""
TICKS = os.sysconf("SC_CLK_TCK")


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _aged(config: list[str], image: Path, volume: str) -> None:
    sets = ["run.executor=device", "run.precondition.random=1x", f"workload.volume={volume}"]
    words = [word for text in sets for word in ("--set", text)]
    served.command(
        sys.executable, "-m", "ftlab", "run", *config, *words, "--image", image, "--json", timeout_s=900
    )


def _opened(config: list[str], image: Path) -> tuple[subprocess.Popen[str], str, float, float]:
    """A server, the line on its restart, and the clock's and the processor's time until it serves."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "ftlab", "serve", *config, "--image", image, "--socket", image.with_suffix(".sock")],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    assert process.stderr is not None
    line = ""
    for line in process.stderr:
        if " opened in " in line:
            break
    return process, line.strip().split(": ", 1)[1], time.monotonic() - began, _cpu(process.pid)


@dataclass(frozen=True)
class Rate:
    """Requests of a kind that a server carried out."""

    server: str
    kind: str
    by_clock: float
    by_processor: float
    """For each second that it took of its processor."""

    def row(self) -> str:
        return f"| {self.server} | {self.kind}s | {self.by_clock:,.0f} | {self.by_processor:,.0f} |"


@dataclass(frozen=True)
class Opening:
    """A restart, with the start of the interpreter."""

    line: str
    by_clock: float
    by_processor: float

    def row(self) -> str:
        return f"| {self.line} | {self.by_clock:.2f} | {self.by_processor:.2f} |"


def _requests(name: str, pid: int, socket: Path, kind: str, seconds: int, size: str) -> Rate:
    before = _cpu(pid)
    told = served.command(
        "fio", "--name=x", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={socket}", f"--rw=rand{kind}", "--bs=4k",
        "--iodepth=32", "--time_based", f"--runtime={seconds}", f"--size={size}", "--norandommap",
        "--output-format=json",
    )  # fmt: skip
    job = json.loads(told[told.index("{") :])["jobs"][0][kind]
    taken = _cpu(pid) - before
    return Rate(name, kind, job["iops"], job["total_ios"] / taken)


def requests(place: Path, seconds: int) -> list[Rate]:
    """Requests of a drive and of plain memory."""
    image, rows = place / "small", []
    _aged(SMALL, image, "2x")
    process = _opened(SMALL, image)[0]
    for name, kind in ((OPENED, "write"), ("ftlab serve", "write"), ("ftlab serve", "read")):
        rows.append(_requests(name, process.pid, image.with_suffix(".sock"), kind, seconds, "3584M"))
    process.send_signal(signal.SIGTERM)
    process.communicate()
    image.unlink()
    socket = place / "memory.sock"
    memory = subprocess.Popen(["nbdkit", "-f", "-U", socket, "memory", "1G"])
    while not socket.exists():
        time.sleep(0.05)
    for kind in ("write", "read"):
        rows.append(_requests("nbdkit memory", memory.pid, socket, kind, seconds, "1G"))
    memory.terminate()
    memory.wait()
    return rows


def restarts(place: Path) -> list[Opening]:
    """Restarts of a drive of 64 GiB."""
    image, rows = place / "large", []
    _aged(LARGE, image, "0.001x")
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL, signal.SIGKILL):
        process, line, seconds, cpu = _opened(LARGE, image)
        rows.append(Opening(line, seconds, cpu))
        process.send_signal(number)
        process.communicate()
    return rows


def goals(rates: list[Rate], openings: list[Opening]) -> list[str]:
    """The goals, and which are met by the clock."""
    found = {(rate.server, rate.kind): rate for rate in rates}
    writes, reads = found["ftlab serve", "write"], found["ftlab serve", "read"]
    share = reads.by_clock / found["nbdkit memory", "read"].by_clock
    by_checkpoint = min(one.by_clock for one in openings if "checkpoint" in one.line)
    by_scan = min(one.by_clock for one in openings if "checkpoint" not in one.line)
    met = {True: "met", False: "missed"}
    return [
        f"| writes a second | 50,000 | {writes.by_clock:,.0f} | {met[writes.by_clock >= 50_000]} |",
        f"| reads, of those of nbdkit memory | 0.7 | {share:.2f} | {met[share >= 0.7]} |",
        f"| restart by checkpoint, s | 1 | {by_checkpoint:.2f} | {met[by_checkpoint <= 1]} |",
        f"| restart by scan, s | 20 | {by_scan:.2f} | {met[by_scan <= 20]} |",
    ]


PAGE = """\
# The speed of a served drive

On {cores} cores that others used too: load {load}.

Requests of 4 KiB at random, at depth 32, by fio's engine `nbd` over a Unix socket. The drive is `client-tlc-small` cut
down to 4.5 GiB of flash, of which the host has 3.5 GiB: it was filled and written over twice, so that it collects with
each write. Its image lies in memory. The first {seconds} s after it was opened are a row of their own: the operating
system has to map each of its pages then.

| server | requests | a second by the clock | for each second of its processor |
|---|---|---|---|
{requests}

`client-tlc-small`, 64 GiB of flash, aged; with the start of the interpreter:

| restart | seconds by the clock | of the processor |
|---|---|---|
{restarts}

By the clock, of restarts the fastest:

| | goal | measured | |
|---|---|---|---|
{goals}
"""


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 where nothing can be measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="of each kind of request")
    parser.add_argument("--out", type=Path, help="the directory of `serving.json`")
    options = parser.parse_args(arguments)
    if lacking := [tool for tool in ("fio", "nbdkit") if shutil.which(tool) is None]:
        say(f"not measured: needs {', '.join(lacking)}")
        return 1
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="serving-", dir="/dev/shm") as place:
        of_requests = requests(Path(place), options.seconds)
    say("\n".join(rate.row() for rate in of_requests))
    with tempfile.TemporaryDirectory(prefix="serving-") as place:
        of_restarts = restarts(Path(place))
    say("\n".join(opening.row() for opening in of_restarts))
    say("\n".join(goals(of_requests, of_restarts)))
    if options.out is not None:
        page = PAGE.format(
            seconds=options.seconds, cores=os.cpu_count(), load=f"{load:.1f}",
            requests="\n".join(rate.row() for rate in of_requests),
            restarts="\n".join(opening.row() for opening in of_restarts),
            goals="\n".join(goals(of_requests, of_restarts)),
        )  # fmt: skip
        report.write(options.out / "serving.json", page, report.command_of("serving", arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main())
