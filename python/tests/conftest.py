"""What several tests need."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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
def ftlab(tmp_path: Path) -> Ftlab:
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
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run
