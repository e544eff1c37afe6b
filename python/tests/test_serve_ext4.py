"""ext4 on a served drive, through FUSE and a loop device, over kills of the server."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from conftest import TINY, listening

DRIVE = TINY.replace("blocks_per_plane = 40", "blocks_per_plane = 64") + (
    '[ftl]\nwrite_buffer.lru.size = "256KiB"\n'
)


class Served:
    """A server in a process of its own."""

    def __init__(self, place: Path) -> None:
        self.socket = place / "drive.img.sock"
        files = (str(place / "drive.toml"), "--image", str(place / "drive.img"))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ftlab", "serve", *files],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            preexec_fn=listening,
        )
        told = ""
        assert self.process.stderr
        for line in self.process.stderr:
            told += line
            if line.startswith("serving nbd"):
                return
        raise AssertionError(f"it does not serve: {told}")

    def end(self, number: int) -> int:
        """Sends a signal; the exit code."""
        self.process.send_signal(number)
        self.process.communicate(timeout=120)
        return self.process.returncode


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[], Served]]:
    """Starts servers on one image; what is left of them is killed."""
    (tmp_path / "drive.toml").write_text(DRIVE, encoding="utf-8")
    started: list[Served] = []

    def start() -> Served:
        started.append(Served(tmp_path))
        return started[-1]

    yield start
    for server in started:
        if server.process.returncode is None:
            server.end(signal.SIGKILL)


def _free_loop() -> bool:
    if os.geteuid() != 0 or not Path("/dev/fuse").exists():
        return False
    return subprocess.run(["losetup", "-f"], capture_output=True, check=False).returncode == 0


TOOLS = ("nbdfuse", "fusermount3", "losetup", "mkfs.ext4", "fsck.ext4")


def run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, f"{command}: {done.stdout.decode()}{done.stderr.decode()}"
    return done.stdout.decode()


@contextmanager
def attached(server: Served, place: Path) -> Iterator[str]:
    """The block device of a server, as this kernel has it."""
    with ExitStack() as stack:
        place.mkdir(exist_ok=True)
        fuse = subprocess.Popen(["nbdfuse", str(place / "disk"), "--unix", str(server.socket)])
        stack.callback(fuse.wait, 60)
        stack.callback(lambda: subprocess.run(["fusermount3", "-u", "-z", place], check=False))
        until = time.monotonic() + 60
        while not (place / "disk").exists():
            assert time.monotonic() < until, "nbdfuse has no disk"
            time.sleep(0.05)
        device = run("losetup", "-f", "--show", place / "disk").strip()
        stack.callback(lambda: subprocess.run(["losetup", "-d", device], check=False))
        yield device


@pytest.mark.skipif(
    not _free_loop() or any(shutil.which(tool) is None for tool in TOOLS),
    reason=f"needs root, FUSE, loop devices and {', '.join(TOOLS)}",
)
def test_ext4_outlives_kills(serve: Callable[[], Served], tmp_path: Path) -> None:
    place, mount = tmp_path / "fuse", tmp_path / "mnt"
    mount.mkdir()
    chance = random.Random(6)
    server = serve()
    with attached(server, place) as device:
        run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
    assert server.end(signal.SIGKILL) == -signal.SIGKILL
    kept: dict[str, str] = {}
    for kill in range(3):
        server = serve()
        with attached(server, place) as device:
            run("mount", device, mount)
            try:
                for name, digest in kept.items():
                    assert hashlib.sha256((mount / name).read_bytes()).hexdigest() == digest, (kill, name)
                for number in range(12):
                    name, data = f"{kill}-{number}", chance.randbytes(chance.randrange(1, 200_000))
                    with (mount / name).open("wb") as file:
                        file.write(data)
                        file.flush()
                        os.fsync(file.fileno())
                    kept[name] = hashlib.sha256(data).hexdigest()
                # What is under way when the power goes.
                for number in range(20):
                    (mount / f"loose-{kill}-{number}").write_bytes(chance.randbytes(30_000))
                assert server.end(signal.SIGKILL) == -signal.SIGKILL
            finally:
                subprocess.run(["umount", "-l", mount], check=False)
    server = serve()
    with attached(server, place) as device:
        # The journal is replayed first, as a mount does.
        run("mount", device, mount)
        try:
            for name, digest in kept.items():
                assert hashlib.sha256((mount / name).read_bytes()).hexdigest() == digest, name
        finally:
            run("umount", mount)
        run("fsck.ext4", "-fn", device)
    assert server.end(signal.SIGTERM) == 0
