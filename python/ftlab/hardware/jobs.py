"""The fio jobs that a drive is measured with, and the script that runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ftlab._core import InputError

State: TypeAlias = Literal["empty", "filled", "aged"]
"""The drive before a job: discarded, written once in order, or overwritten at random after that."""

Use: TypeAlias = Literal["fitted", "predicted", ""]


@dataclass(frozen=True, slots=True)
class Job:
    """A job, its place in the script, and what its figures are for."""

    name: str
    """Of its files: `read-1.fio` and `read-1.json`."""
    about: str
    state: State
    use: Use
    """`fitted`: constants are taken from it; `predicted`: none is; empty: its figures are not compared."""
    text: str
    """The sections behind `[global]`."""
    seconds: int = 30
    """Run time; 0: until the whole drive is written."""
    is_paced: bool = False
    """True if the script gives it a rate, `RATE`: half of the requests a second of the job `random`."""
    writes: bool = True

    @property
    def file(self) -> str:
        """The job file."""
        time = f"time_based\nruntime={self.seconds}\n" if self.seconds else ""
        return f"# {self.about}.\n[global]\n{GLOBAL}{time}{self.text}"


GLOBAL = "filename=${DEV}\nioengine=libaio\ndirect=1\nnorandommap\n"

READER = "[reader]\nrw=randread\nbs=4k\niodepth={}\n"

WRITER = "[writer]\nrw=write\nbs=128k\niodepth=1\nrate={}m\n"


def _reads(depth: int, jobs: int = 1) -> str:
    several = f"numjobs={jobs}\ngroup_reporting\n" if jobs > 1 else ""
    return READER.format(depth // jobs) + several


JOBS: Sequence[Job] = (
    Job("write-1", "Writes of 4 KiB into an empty drive, one at a time", "empty", "fitted",
        "[writer]\nrw=write\nbs=4k\niodepth=1\n"),
    Job("write-32", "Writes of 4 KiB into an empty drive, 32 at a time", "empty", "predicted",
        "[writer]\nrw=write\nbs=4k\niodepth=32\n"),
    Job("fill", "The whole drive is written once, in order", "empty", "fitted",
        "[writer]\nrw=write\nbs=128k\niodepth=32\nsize=100%\n", 0),
    Job("read-1", "Random reads of 4 KiB, one at a time", "filled", "fitted", _reads(1), writes=False),
    Job("read-16", "Random reads of 4 KiB, 16 at a time", "filled", "predicted", _reads(16), writes=False),
    Job("read-64", "Random reads of 4 KiB, 64 at a time", "filled", "predicted", _reads(64, 4), writes=False),
    Job("read-256", "Random reads of 4 KiB, 256 at a time", "filled", "fitted", _reads(256, 8), writes=False),
    Job("read-128k", "Reads of 128 KiB in order, 32 at a time", "filled", "fitted",
        "[reader]\nrw=read\nbs=128k\niodepth=32\n", writes=False),
    Job("beside-50", "A reader beside writes of 50 MiB/s in order", "filled", "predicted",
        WRITER.format(50) + READER.format(1), 60),
    Job("beside-250", "A reader beside writes of 250 MiB/s in order", "filled", "fitted",
        WRITER.format(250) + READER.format(1), 60),
    Job("beside-1000", "A reader beside writes of 1,000 MiB/s in order", "filled", "predicted",
        WRITER.format(1000) + READER.format(1), 60),
    Job("beside-1000-32", "Reads, 32 at a time, beside writes of 1,000 MiB/s in order", "filled", "fitted",
        WRITER.format(1000) + READER.format(32), 60),
    Job("age", "Random writes of 4 KiB until the drive is steady", "filled", "",
        "[writer]\nrw=randwrite\nbs=4k\niodepth=128\n", 3000),
    Job("random", "Random writes of 4 KiB to a steady drive", "aged", "fitted",
        "[writer]\nrw=randwrite\nbs=4k\niodepth=128\n", 600),
    Job("limit", "A reader beside random writes as fast as they go", "aged", "predicted",
        "[writer]\nrw=randwrite\nbs=4k\niodepth=128\n" + READER.format(1), 120),
    Job("half", "Random writes at half of the rate of a steady drive", "aged", "predicted",
        "[writer]\nrw=randwrite\nbs=4k\niodepth=32\nrate_iops=${RATE}\nrate_process=poisson\n", 300, is_paced=True),
    Job("mixed", "70 % reads and 30 % writes of 4 KiB, 32 at a time", "aged", "predicted",
        "[mixed]\nrw=randrw\nrwmixread=70\nbs=4k\niodepth=32\n", 120),
    Job("cold", "Random writes to 40 % of the drive; the rest is cold", "aged", "predicted",
        "[writer]\nrw=randwrite\nbs=4k\niodepth=128\nsize=40%\n", 1200),
)  # fmt: skip
"""All jobs, in the order of the script."""

BY_NAME = {job.name: job for job in JOBS}

CAPACITY = "capacity"
"""The file of the drive's bytes."""

SCRIPT = "run.sh"

RATE = (
    'RATE=$(awk \'/"write" *:/ { w = 1 } w && /"iops"/ { gsub(/[^0-9.]/, ""); printf "%d", $0 / 2; exit }\' '
    "random.json)"
)
"""Half of the requests a second of the job `random`."""

_HEAD = r"""#!/bin/sh
# Measures a drive for `ftlab hardware fit`. Needs fio 3; with nvme-cli the drive's counters are kept too.
#
#   sh run.sh --read-only /dev/nvme0n1   minutes; reads only. The drive must hold data wherever it is read.
#   sh run.sh --destroy /dev/nvme0n1     about two hours and a fill. ALL DATA ON THE DRIVE ARE LOST.
set -eu
cd "$(dirname "$0")"
usage="usage: sh run.sh --read-only|--destroy DEVICE"
[ $# -eq 2 ] || { echo "$usage" >&2; exit 2; }
mode=$1
DEV=$2
export DEV
RATE=0
export RATE
case $mode in --read-only|--destroy) ;; *) echo "$usage" >&2; exit 2 ;; esac
[ -b "$DEV" ] || { echo "run.sh: $DEV is no block device" >&2; exit 2; }
command -v fio >/dev/null || { echo "run.sh: fio is not installed" >&2; exit 2; }
if [ "$mode" = --destroy ]; then
    if grep -q "^$DEV" /proc/mounts; then echo "run.sh: $DEV is mounted" >&2; exit 2; fi
    printf 'All data on %s will be lost. Type its name to go on: ' "$DEV"
    read -r answer
    [ "$answer" = "$DEV" ] || { echo "run.sh: nothing was done" >&2; exit 2; }
fi
blockdev --getsize64 "$DEV" > capacity

counters() {
    command -v nvme >/dev/null || return 0
    nvme smart-log -o json "$DEV" > "$1.smart.json" 2>/dev/null || rm -f "$1.smart.json"
    nvme ocp smart-add-log -o json "$DEV" > "$1.ocp.json" 2>/dev/null || rm -f "$1.ocp.json"
}

job() {
    echo "$1"
    counters "$1.before"
    # A file is there only where its job came to its end.
    fio $2 --output-format=json --output="$1.tmp" "$1.fio"
    counters "$1.after"
    mv "$1.tmp" "$1.json"
}
"""


def script() -> str:
    """The script that runs the jobs."""
    lines = [_HEAD, 'if [ "$mode" = --read-only ]; then']
    lines += [f"    job {job.name} --readonly" for job in JOBS if not job.writes]
    lines += [
        '    echo "done: ftlab hardware fit DIRECTORY --preset PRESET"', "    exit 0", "fi",
        'blkdiscard "$DEV" || echo "run.sh: $DEV was not discarded; writes into an empty drive are not"',
    ]  # fmt: skip
    for job in JOBS:
        if job.is_paced:
            lines.append(RATE)
        lines.append(f'job {job.name} ""')
    return "\n".join([*lines, 'echo "done: ftlab hardware fit DIRECTORY --preset PRESET"', ""])


def write(directory: Path) -> list[str]:
    """Writes job files and script to a directory, which is made; the names of the files.

    Raises:
        InputError: there is a file of such a name, or it cannot be written.
    """
    files = {f"{job.name}.fio": job.file for job in JOBS} | {SCRIPT: script()}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if there := next((name for name in files if (directory / name).exists()), None):
            raise InputError(
                f"error: {directory / there} is there already\nhint: expected a new directory for the jobs"
            )
        for name, text in files.items():
            (directory / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"error: {directory} cannot be written: {error.strerror or error}") from None
    return list(files)
