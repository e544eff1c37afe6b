"""Cases in processes of their own: names that are no text, locales, limits, full outputs, interrupts and kills."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from evidence.battery_inputs import NAMES, TINY, TRACES
from evidence.battery_oracle import Fault, Run, Scratch, kinds, outcome

PATIENCE_S = 200.0
"""A process that takes longer is a fault."""

INTERRUPTED_S = 1.0
"""A process that goes on for longer after Ctrl-C is a fault, on a machine without other work."""

LOCALES: tuple[dict[str, str], ...] = (
    {"LC_ALL": "C.UTF-8"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "latin-1"},
    {"PYTHONIOENCODING": "utf-16"},
    {"LC_ALL": "C"},
)
"""What a terminal may speak."""


def _start(s: Scratch, words: Sequence[bytes | str], **options: Any) -> subprocess.Popen[bytes]:
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "PYTHON"))
    }
    environment |= options.pop("locale", LOCALES[0])
    return subprocess.Popen(
        [sys.executable, "-m", "ftlab", *words], cwd=s.path, env=environment, stderr=subprocess.PIPE,
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **options},
    )  # fmt: skip


def _ended(process: subprocess.Popen[bytes], wants_json: bool = False, encoding: str = "utf-8") -> str:
    """The outcome of a process."""
    try:
        out, err = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Fault(f"no answer in {PATIENCE_S:.0f} s") from None
    text = (out or b"").decode("utf-8" if wants_json else encoding, "replace").replace("\ufeff", "")
    return outcome(
        process.returncode, text, err.decode(encoding, "replace").replace("\ufeff", ""), wants_json
    )


def locales(s: Scratch) -> str:
    """Commands under locales that have no letters but ASCII, with arguments and names that are not UTF-8."""
    locale = s.one(LOCALES)
    name = s.one((*(name for name in NAMES if "\0" not in name and "\ud800" not in name), "plain", "é.toml"))
    raw = os.fsencode(name)
    with contextlib.suppress(OSError):
        s.file(name, TINY)
    s.file("tiny.toml", TINY)
    s.file("t.csv", TRACES["msr"] * 20)
    wants_json = s.chance(0.4)
    words: list[bytes | str] = s.one(
        (
            ["run", "tiny.toml", "--set", "workload.requests=30"],
            ["run", "--set", "workload.requests=30", b"--out=" + raw, "tiny.toml"],
            ["run", "--set", b"run.seed=" + raw, "tiny.toml"],
            ["run", b"--trace=" + raw, "tiny.toml"],
            ["run", "--set", "workload.requests=30", "--", raw],
            ["compare", "tiny.toml", "--set", "workload.requests=30", "--vary", "ftl.victim=greedy,fifo"],
            ["trace", "info", "t.csv"],
            ["trace", "head", "t.csv", b"--format=" + raw],
            ["trace", "info", b"./" + raw],
            ["presets"],
            ["presets", "gcmix-dml"],
            ["presets", b"x" + raw],
            [b"x" + raw],
        )
    )
    if any(b"--out=" in word for word in words if isinstance(word, bytes)):
        s.outputs |= {s.path / name, s.path}
    encoding = locale.get("PYTHONIOENCODING", "utf-8")
    if wants_json:
        words.insert(len(words) - 1 if "--" not in words else words.index("--"), "--json")
    return _ended(_start(s, words, locale=locale), wants_json, encoding)


def limits(s: Scratch) -> str:
    """Devices, buffers and traces that a limit of memory does not allow, or does."""
    s.file("tiny.toml", TINY)
    megabytes = s.one((700, 1000, 1500, 3000))
    which = s.one((resource.RLIMIT_AS, resource.RLIMIT_DATA))
    blocks = s.one((12, 1000, 20_000, 200_000, 1_000_000))
    sets = s.one(
        (
            [f"device.blocks_per_plane={blocks}", "device.pages_per_block=256"],
            [f"device.blocks_per_plane={blocks}", "run.payload=stamp"],
            [f"device.blocks_per_plane={blocks}", "ftl.mapping.dftl.cache=100GiB"],
            [f"device.blocks_per_plane={blocks}", "ftl.write_buffer.fifo.size=64MiB"],
            ["host.queue_depth=65536", "workload.request_size=2MiB"],
            ["device.channels=256", "device.chips_per_channel=64", "device.pages_per_block=2"],
        )
    )
    words = [
        *(
            part
            for setting in (*sets, "workload.requests=10", "run.executor=count")
            for part in ("--set", setting)
        )
    ]
    if s.chance(0.3):
        wide = "".join(f"{10**15 + i},h,0,Write,{i * 2**38 % 2**61},{2**31},1\n" for i in range(2000))
        s.file("wide.csv", wide)
        process = _start(s, ["trace", "info", "wide.csv"], preexec_fn=_limit(which, megabytes << 20))
    else:
        process = _start(s, ["run", "tiny.toml", *words], preexec_fn=_limit(which, megabytes << 20))
    return _ended(process)


def _limit(which: int, most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(which, (most, most))


def full(s: Scratch) -> str:
    """Standard output that is full or closed, and files that may not grow."""
    s.file("tiny.toml", TINY)
    s.file("t.csv", TRACES["msr"] * 2000)
    s.outputs |= {s.path / name for name in ("out", "timeline.json", "aged.state", "t.out")}
    words: list[str] = s.one(
        (
            ["run", "tiny.toml"],
            ["run", "tiny.toml", "--out", "out"],
            ["run", "tiny.toml", "--timeline", "timeline.json"],
            ["run", "tiny.toml", "--save-state", "aged.state"],
            ["trace", "convert", "t.csv", "t.out"],
            ["trace", "info", "t.csv"],
            ["presets", "tbm"],
        )
    )
    match s.random.randrange(3):
        case 0:
            with Path("/dev/full").open("wb") as nowhere:
                return _ended(_start(s, words, stdout=nowhere))
        case 1:
            return _ended(_start(s, words, preexec_fn=_limit(resource.RLIMIT_FSIZE, s.one((0, 100, 5000)))))
        case _:
            process = _start(s, words)
            assert process.stdout is not None and process.stderr is not None
            process.stdout.close()
            err = process.stderr.read()
            process.stderr.close()
            code = process.wait(PATIENCE_S)
            return "exit 141" if code == 141 and not err else outcome(code, "", err.decode(), False)


SMALL_DISK = """\
mount -t tmpfs -o "size=$1" tmpfs disk && echo mine >disk/mine.txt || exit 99
case $2 in
    read-only) mount -o remount,ro disk ;;
    late) (sleep "$3"; mount -o remount,ro disk) 2>/dev/null & ;;
esac
shift 3
"$@"
code=$?
wait
{ cat disk/mine.txt; find disk -mindepth 1; } >left
exit $code
"""
"""A command on a disk of its own that is small, read-only, or becomes so; then what the command left there."""


@cache
def _namespace() -> list[str] | None:
    """What gives a process mounts of its own; nothing if it may have none."""
    for command in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
        try:
            subprocess.run([*command, "true"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return command
    return None


def disks(s: Scratch) -> str:
    """A disk that is full, read-only, or becomes so during a run: the summary is printed, the error says what helps"""
    namespace = _namespace()
    if namespace is None:
        return "no disks of its own"
    s.file("tiny.toml", TINY)
    s.file("t.csv", TRACES["msr"] * 2000)
    s.output("disk").mkdir()
    words: list[str] = s.one(
        (
            ["run", "tiny.toml", "--out", "disk/out"],
            ["run", "tiny.toml", "--json", "--out", "disk/out"],
            ["run", "tiny.toml", "--json", "--timeline", "disk/timeline.json"],
            ["run", "tiny.toml", "--save-state", "disk/aged.state"],
            ["run", "tiny.toml", "--set", "workload.requests=100000", "--out", "disk/out"],
            ["compare", "tiny.toml", "--vary", "ftl.victim=greedy,fifo", "--json", "--out", "disk/out"],
            ["trace", "convert", "t.csv", "disk/t.out"],
        )
    )
    kibibytes, how = s.one((8, 30, 60, 120, 250, 400, 4000)), s.one(("full", "full", "read-only", "late"))
    process = subprocess.Popen(
        [*namespace, "sh", "-c", SMALL_DISK, "sh", f"{kibibytes}k", how, str(s.random.random() * 3),
         sys.executable, "-m", "ftlab", *words],
        cwd=s.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    out, err = (text.decode() for text in process.communicate(timeout=PATIENCE_S))
    found = outcome(process.returncode, out, err, wants_json=False)
    if process.returncode == 1 and words[0] != "trace":
        if "--json" in words:
            json.loads(out)
        elif "WAF" not in out:
            raise Fault(f"the summary is lost: {err}")
    if process.returncode != 0 and "\nhint: " not in err:
        raise Fault(f"an error without a remedy: {err}")
    mine, *left = s.output("left").read_text(encoding="utf-8").splitlines()
    if mine != "mine":
        raise Fault("the user's file was changed")
    # A disk that nothing can be removed from keeps what is on it.
    staged = [
        name for name in left if (".ftlab-" in name and ".ftlab-files.json" not in name) or "partial" in name
    ]
    if staged and "Read-only" not in err:
        raise Fault(f"{staged[0]} was left behind")
    return f"{how}: {found}"


READY = """\
from ftlab import __main__
from ftlab.cli import main as command
main = command.main
def ready(argv):
    print("ready", flush=True)
    return main(argv)
command.main = ready
__main__.entry_point()
"""
"""The command as users start it, which says when everything is imported: before that, Ctrl-C is Python's."""


def _long(s: Scratch) -> list[str]:
    s.file("tiny.toml", TINY)
    text = "".join(f"{10**15 + i},h,0,Write,{i * 7919 % 2000 * 4096},4096,1\n" for i in range(3000))
    s.file("t.csv", text * 60)
    s.outputs |= {s.path / name for name in ("out", "t.out", "aged.state", "timeline.json")}
    endless = ["--set", "workload.requests=4000000000"]
    words: list[str] = s.one(
        (
            ["run", "tiny.toml", *endless, "--out", "out"],
            ["run", "tiny.toml", *endless, "--set", "run.executor=count", "--save-state", "aged.state"],
            [
                "run",
                "tiny.toml",
                "--set",
                "workload.requests=20000",
                "--out",
                "out",
                "--timeline",
                "timeline.json",
            ],
            ["compare", "tiny.toml", "--vary", "ftl.victim=greedy,fifo", *endless, "--out", "out"],
            ["compare", "tiny.toml", "--vary", "ftl.victim=greedy,fifo", "--out", "out"],
            ["trace", "info", "t.csv"],
            ["trace", "convert", "t.csv", "t.out"],
        )
    )
    return words


def _waiting(s: Scratch) -> list[str]:
    """Commands whose input does not come, does not end, or is full of errors; or that have more to do than one run."""
    s.file("tiny.toml", TINY)
    os.mkfifo(s.output("pipe"))
    s.file("errors.toml", TINY + "".join(f"[x{i}]\ny = {i}\n" for i in range(s.one((3000, 30_000)))))
    s.outputs |= {s.path / name for name in ("out", "t.out")}
    words: list[str] = s.one(
        (
            ["trace", "info", "pipe"],
            ["trace", "convert", "pipe", "t.out"],
            ["run", "pipe"],
            ["run", "tiny.toml", "--trace", "pipe"],
            ["trace", "info", "/dev/zero"],
            ["trace", "info", "/dev/zero", "--format", "msr", "--skip-bad"],
            ["trace", "info", "/dev/urandom", "--format", "msr", "--skip-bad"],
            ["run", "/dev/zero"],
            ["run", "tiny.toml", "--trace", "/dev/zero"],
            ["run", "errors.toml"],
            ["compare", "errors.toml", "--vary", "run.seed=1,2"],
            ["reproduce", "gcmix", "--only", "survival", "--out", "out"],
            ["reproduce", "tbm", "--out", "out"],
        )
    )
    return words


def _listening() -> None:
    """Takes back what a shell or `nohup` made the battery ignore: a command that is told to ignore Ctrl-C does."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class _Ready:
    """The command line in a process, at a random moment after everything was imported."""

    def __init__(self, s: Scratch, words: Sequence[str]) -> None:
        begun = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-c", READY, *words], cwd=s.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, preexec_fn=_listening,
        )  # fmt: skip
        assert self.process.stdout is not None
        if self.process.stdout.readline() != b"ready\n":
            raise Fault("the program does not begin")
        self.slowed = max(1.0, (time.monotonic() - begun) / self._computed_s())
        """How much slower than by itself: other processes compute too."""
        time.sleep(s.random.random() ** 2 * 3)

    def _computed_s(self) -> float:
        # The fields behind the name, which may have blanks in it, begin with the third.
        about = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(about[11]) + int(about[12])) / os.sysconf("SC_CLK_TCK")


def interrupts(s: Scratch) -> str:
    """Ctrl-C at a random moment, also in what waits for a pipe or reads without end: the end comes within a second"""
    ready = _Ready(s, _long(s) if s.chance(0.5) else _waiting(s))
    process = ready.process
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=60 * INTERRUPTED_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Fault(f"goes on for {60 * INTERRUPTED_S:.0f} s after Ctrl-C") from None
    passed = time.monotonic() - begun
    if passed > INTERRUPTED_S * ready.slowed:
        raise Fault(f"goes on for {passed:.1f} s after Ctrl-C, where all is {ready.slowed:.1f} times slower")
    if process.returncode == 130 and err == b"interrupted\n":
        left = [
            file
            for name in ("t.out", "aged.state")
            if (file := s.path / name).exists() and not file.stat().st_size
        ]
        if left:
            raise Fault(f"an empty {left[0].name} was left behind")
        return "exit 130"
    return outcome(process.returncode, "", err.decode(), False)


def kills(s: Scratch) -> str:
    """The process is killed at a random moment: the next run finds its way, and cleans up after the dead one."""
    words = _long(s)
    process = _Ready(s, words).process
    process.send_signal(s.one((signal.SIGKILL, signal.SIGTERM)))
    process.communicate(timeout=PATIENCE_S)
    again = [word if word != "workload.requests=4000000000" else "workload.requests=50" for word in words]
    if "compare" in again or "run" in again:
        again += ["--set", "workload.requests=50"]
    return _ended(_start(s, again))


SHARES: dict[Run, float] = {locales: 0.5, limits: 0.3, full: 0.3, disks: 0.3, interrupts: 0.6, kills: 0.3}
"""How many of a hundred cases are of each kind."""

KINDS = kinds(SHARES)
