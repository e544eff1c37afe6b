"""Cases in processes of their own: names that are no text, locales, limits, full outputs, interrupts and kills."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ftlab.analysis.battery_inputs import NAMES, TINY, TRACES
from ftlab.analysis.battery_oracle import Fault, Run, Scratch, kinds, outcome

PATIENCE_S = 200.0
"""A process that takes longer is a fault."""

INTERRUPTED_S = 10.0
"""A process that goes on for longer after Ctrl-C is a fault: a second, on a machine with other work."""

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


READY = "import sys, ftlab.cli; print('ready', flush=True); sys.exit(ftlab.cli.main(sys.argv[1:]))"
"""The command line, once everything is imported: before that, Ctrl-C is Python's."""


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


def _ready(s: Scratch, words: Sequence[str]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", READY, *words], cwd=s.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    if process.stdout.readline() != b"ready\n":
        raise Fault("the program does not begin")
    time.sleep(s.random.random() ** 2 * 3)
    return process


def interrupts(s: Scratch) -> str:
    """Ctrl-C at a random moment: the end comes at once, and nothing is left behind."""
    process = _ready(s, _long(s))
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    try:
        _, err = process.communicate(timeout=INTERRUPTED_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Fault(f"goes on for {INTERRUPTED_S:.0f} s after Ctrl-C") from None
    if process.returncode == 130 and err == b"interrupted\n":
        if time.monotonic() - begun > INTERRUPTED_S:
            raise Fault("goes on after Ctrl-C")
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
    process = _ready(s, words)
    process.send_signal(s.one((signal.SIGKILL, signal.SIGTERM)))
    process.communicate(timeout=PATIENCE_S)
    again = [word if word != "workload.requests=4000000000" else "workload.requests=50" for word in words]
    if "compare" in again or "run" in again:
        again += ["--set", "workload.requests=50"]
    return _ended(_start(s, again))


SHARES: dict[Run, float] = {locales: 1.2, limits: 0.4, full: 0.5, interrupts: 0.4, kills: 0.4}
"""How many of a hundred cases are of each kind."""

KINDS = kinds(SHARES)
