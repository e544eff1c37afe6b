"""Ctrl-C and its like: every command ends within a second, and leaves nothing behind."""

from __future__ import annotations

import fcntl
import os
import re
import resource
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import TINY, listening

LONG = ("--set", "workload.requests=4000000000")
"""A run of minutes."""

SECOND = 1.5
"""A second, and what a busy machine adds."""


def slowed() -> float:
    """How much slower than by itself this process runs: others compute too."""
    begun, computed = time.monotonic(), time.process_time()
    while time.process_time() - computed < 0.1:
        pass
    return (time.monotonic() - begun) / 0.1


class Command:
    """A command in a process of its own, in a directory of its own."""

    def __init__(
        self, directory: Path, *arguments: str | Path, python: tuple[str, ...] = ("-m", "ftlab")
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *python, *map(str, arguments)],
            cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", preexec_fn=listening,
        )  # fmt: skip
        self.files = Path(f"/proc/{self.process.pid}/fd")

    def wait_until(self, happened: Callable[[], bool], patience: float = 60) -> None:
        end = time.monotonic() + patience
        while not happened():
            assert self.process.poll() is None, self.process.communicate()[1]
            assert time.monotonic() < end
            time.sleep(0.01)

    def has_open(self, path: Path) -> bool:
        """Whether the process has a file open: one of that name, or any in a directory."""
        opened = []
        for file in self.files.iterdir():
            try:
                opened.append(file.readlink())
            except FileNotFoundError:
                continue
        return any(path in (name, name.parent) for name in opened)

    def unread(self) -> int:
        """Bytes that wait in the pipe of its output; a pipe takes 64 KiB."""
        assert self.process.stdout is not None
        waiting = fcntl.ioctl(self.process.stdout, termios.FIONREAD, b"\0" * 4)
        return int.from_bytes(waiting, sys.byteorder)

    def hears_signals(self) -> bool:
        """Whether it is the command that handles SIGTERM, not the system."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
        return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)

    def end(self, number: int = signal.SIGINT, within: float = SECOND) -> tuple[int, str, str]:
        """Sends a signal; exit code and output, which came in time."""
        sent = time.monotonic()
        self.process.send_signal(number)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            pytest.fail(f"signal {number} had no effect in 20 s")
        passed = time.monotonic() - sent
        stdout, stderr = self.process.communicate()
        assert "Traceback" not in stderr, stderr
        # The longer way only if it is needed: it takes a moment.
        assert passed < within or passed < within * slowed(), f"it took {passed:.2f} s"
        return self.process.returncode, stdout, stderr


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe that nobody has open."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.fixture
def endless(pipe: Path) -> Iterator[Path]:
    """A pipe with a trace without end."""
    lines = "".join(f"{i},h,0,Write,{i % 1000 * 4096},4096,0\n" for i in range(1000)).encode()
    over = threading.Event()

    def feed() -> None:
        try:
            with pipe.open("wb", buffering=0) as file:
                while not over.is_set():
                    file.write(lines)
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=feed)
    thread.start()
    yield pipe
    over.set()
    # Whatever became of the reader: the feeder waits for nobody.
    os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
    thread.join()


@pytest.mark.parametrize(
    "arguments",
    [
        ("trace", "info", "pipe"),
        ("trace", "head", "pipe"),
        ("trace", "convert", "pipe", "out.csv"),
        ("trace", "convert", "small.csv", "pipe"),
        ("run", "pipe"),
        ("run", "tiny.toml", "--trace", "pipe"),
        ("run", "tiny.toml", "--set", "run.precondition.state=pipe"),
        ("compare", "pipe", "--vary", "run.seed=1,2"),
        ("compare", "tiny.toml", "--vary", "run.seed=1,2", "--trace", "pipe"),
    ],
)
def test_a_command_that_waits_for_a_pipe_ends(
    tmp_path: Path, tiny: Path, trace: Path, pipe: Path, arguments: tuple[str, ...]
) -> None:
    command = Command(tmp_path, *arguments)
    if arguments[-1] == "pipe" and arguments[1] == "convert":
        # A pipe without a reader cannot be opened.
        command.wait_until(lambda: command.has_open(trace))
    else:
        command.wait_until(lambda: command.has_open(pipe))
    assert command.end() == (130, "", "interrupted\n")
    assert {file.name for file in tmp_path.iterdir()} == {tiny.name, trace.name, pipe.name}


@pytest.mark.parametrize(
    "arguments",
    [
        ("info",),
        ("convert", "out.csv"),
        ("convert", "out.csv.xz"),
        ("convert", "out.csv.zst"),
    ],
)
def test_a_trace_without_end_ends(tmp_path: Path, endless: Path, arguments: tuple[str, ...]) -> None:
    action, *names = arguments
    outputs = [tmp_path / "out" / name for name in names]
    (tmp_path / "out").mkdir()
    for output in outputs:
        output.write_text("old", encoding="utf-8")
    command = Command(tmp_path, "trace", action, endless, *outputs)
    command.wait_until(lambda: command.has_open(endless))
    time.sleep(0.7)
    assert command.end() == (130, "", "interrupted\n")
    assert list((tmp_path / "out").iterdir()) == outputs
    for output in outputs:
        assert output.read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signals_stop_a_run(tmp_path: Path, tiny: Path, number: int, code: int) -> None:
    out, state = tmp_path / "out", tmp_path / "states" / "aged.state"
    state.parent.mkdir()
    command = Command(
        tmp_path, "run", tiny, *LONG, "--out", out, "--save-state", state, "--timeline", tmp_path / "t.json"
    )
    command.wait_until(state.exists)
    time.sleep(0.3)
    ended, stdout, stderr = command.end(number)
    assert (ended, stdout) == (code, "")
    # What was reached is said before.
    assert re.fullmatch(r"reached: run +\d+ %.*\ninterrupted\n", stderr), stderr
    assert list(out.iterdir()) == []
    assert [file.name for file in state.parent.iterdir()] == [state.name]


def test_signals_stop_what_reproduces_a_paper(tmp_path: Path) -> None:
    command = Command(tmp_path, "reproduce", "gcmix", "--only", "survival", "--out", "out")
    command.wait_until((tmp_path / "out").exists)
    time.sleep(2)
    code, stdout, stderr = command.end(signal.SIGTERM)
    assert (code, stdout) == (143, "")
    assert re.fullmatch(r"(reached: [^\n]*\n)?interrupted\n", stderr), stderr


@pytest.mark.parametrize(
    "program", [("closed_forms", "--out", "out"), ("battery", "--kind", "configurations", "--jobs", "1")]
)
def test_signals_stop_what_makes_the_evidence(tmp_path: Path, program: tuple[str, ...]) -> None:
    module, *arguments = program
    command = Command(tmp_path, *arguments, python=("-m", f"evidence.{module}"))
    command.wait_until(command.hears_signals)
    time.sleep(1)
    code, _, stderr = command.end()
    assert (code, stderr) == (130, "interrupted\n")


def test_a_command_ends_whose_reader_does_not_read(tmp_path: Path, trace: Path) -> None:
    command = Command(tmp_path, "trace", "head", trace, "-n", "3000", "--json")
    command.wait_until(lambda: command.unread() > 60_000)
    code, _, stderr = command.end()
    assert (code, stderr) == (130, "interrupted\n")


def test_at_any_moment_there_is_no_traceback(tmp_path: Path, tiny: Path) -> None:
    for step in range(14):
        command = Command(tmp_path, "run", tiny, "--out", "out")
        command.wait_until(command.hears_signals)
        time.sleep(step * 0.06)
        code, stdout, stderr = command.end()
        if code == 0:
            assert "WAF" in stdout
        elif code != -signal.SIGINT:
            # Otherwise it was over, but for leaving Python.
            assert code == 130, stderr
            assert re.fullmatch(r"(reached: [^\n]*\n)?interrupted\n", stderr), stderr


FINALIZED = """
import time
from ftlab import __main__
from ftlab.cli import main as command
class Late:
    def __del__(self):
        open("ready", "w").close()
        time.sleep(0.3)
def main(argv):
    Late()
    time.sleep(30)
command.main = main
__main__.entry_point()
"""


def test_a_signal_during_a_finalizer_ends_what_comes_after(tmp_path: Path) -> None:
    command = Command(tmp_path, python=("-c", FINALIZED))
    command.wait_until((tmp_path / "ready").exists)
    # Sooner than the last resort.
    assert command.end(within=0.6) == (130, "", "interrupted\n")


LOCKED = """
import os, signal, threading
from ftlab import __main__
from ftlab.cli import main as command
def _main(argv):
    lock = threading.Lock()
    with lock:
        # As `Condition.wait` does, which a signal may leave before it has the lock again.
        lock.release()
        os.kill(os.getpid(), signal.SIGTERM)
command._main = _main
__main__.entry_point()
"""


def test_a_signal_that_comes_out_as_another_error_is_an_interruption(tmp_path: Path) -> None:
    done = Command(tmp_path, python=("-c", LOCKED)).process
    assert done.communicate(timeout=60) == ("", "interrupted\n")
    assert done.returncode == 143


DEAF = """
import ctypes, signal, sys
from ftlab import __main__
from ftlab.cli import main as command
def main(argv):
    # The signal goes to another thread, and nothing wakes this one; the interpreter is released.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    from ftlab import _core
    global staging
    staging = _core.Staging(".")
    ctypes.CDLL(None).sleep(30)
command.main = main
__main__.entry_point()
"""


def test_what_hears_nothing_ends_all_the_same(tmp_path: Path) -> None:
    command = Command(tmp_path, python=("-c", DEAF))
    command.wait_until(lambda: any(tmp_path.iterdir()))
    assert command.end() == (130, "", "interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_end_is_refused(tmp_path: Path, tiny: Path) -> None:
    def refused(*arguments: str) -> str:
        command = Command(tmp_path, *arguments)
        stdout, stderr = command.process.communicate(timeout=60)
        assert (command.process.returncode, stdout) == (2, "")
        return stderr

    forced = ("--format", "msr", "--skip-bad")
    assert "a line of more than 64 MiB" in refused("trace", "info", "/dev/zero", *forced)
    assert "line is longer than 65536 bytes" in refused("trace", "info", "/dev/zero", *forced[:2])
    assert "not a trace in a known format" in refused("trace", "convert", "/dev/zero", "out.csv")
    assert "longer than 1 MiB" in refused("run", "/dev/zero")
    assert "is not a device state" in refused("run", "tiny.toml", "--set", "run.precondition.state=/dev/zero")
    skip = ("--set", "workload.skip_bad=true", "--set", "workload.trace_format=msr")
    assert "a line of more than 64 MiB" in refused("run", "tiny.toml", "--trace", "/dev/zero", *skip)


DIES = """
import os, signal, sys
from pathlib import Path
from ftlab.results import output
with output.scratch(Path(sys.argv[1])) as staging:
    (staging / "summary.json").write_text("half")
    print("ready", flush=True)
    sys.stdin.read(1)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_killed_runs_left_is_cleared_away(tmp_path: Path, tiny: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    mine = out / ".ftlab-notes.staging"
    mine.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", DIES, str(out)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"

    def left() -> list[str]:
        subprocess.run(
            [sys.executable, "-m", "ftlab", "run", str(tiny), "--out", str(out)],
            capture_output=True, check=True, timeout=60,
        )  # fmt: skip
        return [file.name for file in out.glob(".ftlab-*.staging") if file != mine]

    assert len(left()) == 1, "its owner lives"
    process.communicate("\n", timeout=20)
    assert process.returncode == -signal.SIGKILL
    assert left() == []
    assert mine.exists()


def test_what_a_killed_conversion_left_is_cleared_away(tmp_path: Path, trace: Path, endless: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    mine = out / ".converted.csv.partial"
    mine.write_text("mine", encoding="utf-8")
    command = Command(tmp_path, "trace", "convert", endless, out / "converted.csv")
    command.wait_until(lambda: command.has_open(out))
    command.process.kill()
    command.process.communicate()
    assert len(list(out.iterdir())) == 2, "the half of the conversion"
    done = Command(tmp_path, "trace", "convert", trace, out / "other.csv").process
    assert done.communicate(timeout=60)[1] == ""
    assert {file.name for file in out.iterdir()} == {"other.csv", mine.name}


def limited() -> None:
    """Files of 4 KiB at most, in place of a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_conversion_that_finds_no_room_leaves_nothing(tmp_path: Path, trace: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "ftlab", "trace", "convert", str(trace), str(out / "o.csv")],
        capture_output=True, encoding="utf-8", preexec_fn=limited, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {out / 'o.csv'} cannot be written: File too large")
    assert "hint: files may not become that large here: raise the limit" in done.stderr
    assert list(out.iterdir()) == []


def test_a_configuration_may_come_from_a_pipe(tmp_path: Path, pipe: Path) -> None:
    command = Command(tmp_path, "run", pipe, "--json")
    pipe.write_text(TINY, encoding="utf-8")
    assert command.process.communicate(timeout=60)[1] == ""
    assert command.process.returncode == 0
