"""A drive of real bytes, served by a process of its own, as a block device of this kernel: for those who cut its power.

The device is attached through FUSE and a loop device, for which root is needed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random

DRIVE = """\
# Planes of 64 blocks of 1 MiB; a third more than the host's space.
[device]
channels = 2
chips_per_channel = 1
dies_per_chip = 2
planes_per_die = 2
blocks_per_plane = {blocks}
pages_per_block = 128
page_size = "8KiB"
cell = "slc"
user_capacity = "{mebibytes}MiB"

[device.timing]
read = "50us"
program = "500us"
erase = "3ms"
channel_rate = "800MT/s"

[ftl]
{choices}
"""
"""A drive that is small enough to be aged in a second."""

CHOICES = {
    "volatile": 'map_unit = "4KiB"\nwrite_buffer.lru.size = "512KiB"',
    "protected": 'map_unit = "4KiB"\nwrite_buffer.lru.size = "512KiB"\nwrite_buffer.lru.power_loss = "protected"',
}
"""The classes of drives, by name."""

TOOLS = ("nbdfuse", "fusermount3", "losetup")
"""Programs that attaching needs."""


def missing(*programs: str) -> str | None:
    """The reason why nothing can be attached here, or a program is not there."""
    lacking = [tool for tool in (*TOOLS, *programs) if shutil.which(tool) is None]
    if lacking:
        return f"needs {', '.join(lacking)}"
    if os.geteuid() != 0 or not Path("/dev/fuse").exists():
        return "needs root and FUSE"
    if subprocess.run(["losetup", "-f"], capture_output=True, check=False).returncode != 0:
        return "needs loop devices"
    return None


def command(*words: object, timeout_s: float = 300) -> str:
    """Carries out a command; what it prints.

    Raises:
        AssertionError: it failed.
    """
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, encoding="utf-8", errors="replace", check=False,
        timeout=timeout_s,
    )  # fmt: skip
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def any_cut(chance: Random) -> list[str]:
    """Options for a power cut: each power of two of operations is as likely, from a mount on to the end of a load."""
    return ["--cut-at", str(int(2 ** chance.uniform(3, 13)))]


def _takes_signals() -> None:
    """Takes back what a shell or `nohup` made this process ignore."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Served:
    """A server in a process of its own, over the image of a directory."""

    def __init__(self, place: Path, *options: str) -> None:
        self.place = place
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ftlab", "serve", place / "drive.toml", "--image", place / "disk", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", preexec_fn=_takes_signals,
        )  # fmt: skip
        self.said = ""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said += line
            if line.startswith("serving nbd"):
                return
        raise AssertionError(f"it does not serve: {self.said}")

    def end(self, number: int = signal.SIGTERM) -> int:
        """Sends a signal; the exit code."""
        self.process.send_signal(number)
        return self.wait()

    def kill(self) -> None:
        """The power goes off."""
        self.end(signal.SIGKILL)

    def wait(self) -> int:
        """Waits for its end; the exit code."""
        _, rest = self.process.communicate(timeout=120)
        self.said += rest
        return self.process.returncode


def make(place: Path, choices: str, mebibytes: int = 96) -> None:
    """Writes the configuration of a drive and its image, aged by an overwrite at random, so that it has to collect."""
    place.mkdir(parents=True, exist_ok=True)
    blocks = -(-mebibytes * 4 // (3 * 8))
    text = DRIVE.format(blocks=blocks, mebibytes=mebibytes, choices=choices)
    (place / "drive.toml").write_text(text, encoding="utf-8")
    aged = [
        "run.executor=device",
        "run.precondition.random=1x",
        "workload.generator=uniform",
        "workload.requests=1",
    ]
    sets = [word for one in aged for word in ("--set", one)]
    command(
        sys.executable, "-m", "ftlab", "run", place / "drive.toml", *sets, "--image", place / "disk", "--json"
    )


@contextmanager
def attached(server: Served) -> Iterator[str]:
    """The block device of a server, as this kernel has it."""
    place = server.place / "fuse"
    place.mkdir(exist_ok=True)
    with ExitStack() as stack:
        fuse = subprocess.Popen(["nbdfuse", place / "disk", "--unix", server.place / "disk.sock"],
                                stderr=subprocess.DEVNULL)  # fmt: skip
        stack.callback(fuse.wait, 60)
        stack.callback(_quietly, "fusermount3", "-u", "-z", place)
        until = time.monotonic() + 60
        while not (place / "disk").exists():
            assert time.monotonic() < until, "nbdfuse has no disk"
            time.sleep(0.02)
        device = command("losetup", "-f", "--show", place / "disk").strip()
        stack.callback(_quietly, "losetup", "-d", device)
        yield device


@contextmanager
def mounted(device: str, where: Path, *options: str) -> Iterator[Path]:
    """The file system of a device; it is let go of even if its device is gone."""
    where.mkdir(exist_ok=True)
    command("mount", *options, device, where)
    try:
        yield where
    finally:
        let_go(where)


def let_go(where: Path) -> None:
    """Unmounts. A file system whose device failed may refuse to be written back, and is let go of."""
    for _ in range(50):
        if subprocess.run(["umount", where], capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.02)
    _quietly("umount", "-l", where)


def _quietly(*words: object) -> None:
    with suppress(OSError):
        subprocess.run([str(word) for word in words], capture_output=True, check=False, timeout=60)
