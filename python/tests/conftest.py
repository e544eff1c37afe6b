"""What several tests need."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ftlab.cli.main import main

TINY = """\
# A device of 64 MiB that runs in milliseconds.
[device]
channels = 2
chips_per_channel = 1
dies_per_chip = 2
planes_per_die = 2
blocks_per_plane = 40
pages_per_block = 64
page_size = "4KiB"
cell = "mlc"
over_provisioning = 0.25

[host]
replay = "closed"
queue_depth = 8

[workload]
generator = "uniform"
request_size = "4KiB"
read_fraction = 0.3
requests = 20_000

[run]
executor = "timed"
precondition = "steady"
seed = 7
"""

TRACE = "\n".join(
    f"{128166372003061629 + i * 1000},host,0,{'Write' if i % 3 else 'Read'},{i * 7919 % 2000 * 4096},4096,100"
    for i in range(3000)
)

Ftlab = Callable[..., "subprocess.CompletedProcess[str]"]


def listening() -> None:
    """Takes back what a shell or `nohup` made the tests ignore."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """The configuration of a tiny device, as a file."""
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A small trace in the MSR format."""
    path = tmp_path / "small.csv"
    path.write_text(TRACE + "\n", encoding="utf-8")
    return path


@pytest.fixture
def ftlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ftlab:
    """Runs the command line in this process, in an empty directory: a process of its own takes 0.2 s to begin."""

    def run(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        words = [*map(str, arguments)]
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with monkeypatch.context() as patch, Path(os.devnull).open(encoding="utf-8") as nothing:
            patch.chdir(tmp_path)
            for name, stream in (("stdin", nothing), ("stdout", out), ("stderr", err)):
                patch.setattr(sys, name, stream)
            found: int | str | None
            try:
                found = main(words)
            except SystemExit as end:
                found = end.code
        assert isinstance(found, int), found
        return judged(subprocess.CompletedProcess(words, found, written(out), written(err)), code)

    return run


@pytest.fixture
def process(tmp_path: Path) -> Ftlab:
    """Runs the command line in a process of its own, in an empty directory."""

    def run(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            # Warnings, which a user does not see, are faults here.
            [sys.executable, "-W", "error", "-m", "ftlab", *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return judged(done, code)

    return run


def written(stream: io.TextIOWrapper) -> str:
    """The text that went into a stream."""
    stream.flush()
    content = stream.buffer
    assert isinstance(content, io.BytesIO)
    return content.getvalue().decode("utf-8")


def judged(done: subprocess.CompletedProcess[str], code: int) -> subprocess.CompletedProcess[str]:
    """A command that ended with that code, and of which no traceback reached the user."""
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done
