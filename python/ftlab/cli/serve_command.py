"""The command `ftlab serve`: a drive of real bytes as a block device, over NBD."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from ftlab import _core
from ftlab._core import InputError, RunError
from ftlab.api.configs import Source, config_argument
from ftlab.cli.usage import Parser, plain, say

LOOK_EVERY_S = 0.1
"""How long a signal may wait."""

POWER_CUT = "the power is cut"
"""Why a server ended whose device lost its power."""

NEW = "the drive is new: until its free space is written once nothing is collected; `--aged` ages it"
"""Said of a drive to which nothing was written, whose write amplification is that of an empty one."""

TELL_EVERY_S = 1.0
"""Between two lines of figures on a terminal."""


def add_arguments(command: Parser) -> None:
    """Adds the arguments of `ftlab serve`."""
    command.runs(_serve)
    command.add_argument("config", metavar="CONFIG", help="a TOML file or the name of a preset")
    command.add_argument(
        "--set", type=plain, action="append", default=[], metavar="KEY=VALUE", dest="sets",
        help="override a setting; may be repeated",
    )  # fmt: skip
    command.add_argument(
        "--image", metavar="FILE", required=True,
        help="the file that holds the drive; it is made where there is none, and is sparse",
    )  # fmt: skip
    where = command.add_mutually_exclusive_group()
    where.add_argument(
        "--socket",
        metavar="PATH",
        help="the Unix socket to listen at (default: the image's name and `.sock`)",
    )
    where.add_argument("--tcp", metavar="HOST:PORT", help="listen at TCP instead; it has no encryption")
    command.add_argument(
        "--read-only", action="store_true", help="take no writes, and leave the image as it is"
    )
    command.add_argument(
        "--aged", action="store_true",
        help="age a new drive first: as `run.precondition` has it, or every page once and twice its size at random",
    )  # fmt: skip
    command.add_argument(
        "--pace", action="store_true",
        help="answer no earlier than the simulated drive would: as `run.executor = timed` has it",
    )  # fmt: skip
    command.add_argument(
        "--cut-at", metavar="WHEN",
        help="cut the power: at an operation of the flash (a number or `random:SEED`), or `on-flush`",
    )  # fmt: skip
    command.add_argument(
        "--log-writes", metavar="FILE", help="log all writes in the format of dm-log-writes, for `replay-log`"
    )
    command.add_argument("--json", action="store_true", help="one JSON object on stdout, all else on stderr")


def _serve(options: argparse.Namespace) -> None:
    source = Source.of(config_argument(options.config))
    socket = options.socket
    if socket is None and options.tcp is None:
        socket = f"{options.image}.sock"
    if not Path(options.image).exists() and options.read_only:
        raise InputError(
            f"error: the image {options.image} does not exist, and `--read-only` makes none\n"
            "hint: leave out `--read-only` once"
        )
    if options.aged and options.read_only:
        raise InputError(
            "error: `--aged` writes to the drive, and `--read-only` does not\nhint: leave out one of them"
        )
    say(f"{'ageing' if options.aged else 'opening'} {options.image}")
    began = time.monotonic()
    server = _core.Server(
        source.kind,
        source.text,
        options.sets,
        options.image,
        socket=socket,
        tcp=options.tcp,
        read_only=options.read_only,
        aged=options.aged,
        cut_at=options.cut_at,
        log_writes=options.log_writes,
        pace=options.pace,
    )
    with _asked_to_end() as asked:
        _say_opened(json.loads(server.status()), server, time.monotonic() - began)
        ended = _until_end(server, asked)
    status = json.loads(server.status())
    if ended is None:
        server.stop()
        status["pace"] = json.loads(server.status())["pace"]
    status["ended"] = ended or "asked to"
    if options.json:
        sys.stdout.write(json.dumps(status, indent=2) + "\n")
    else:
        sys.stdout.write(_summary(status))
    if ended == POWER_CUT and options.cut_at is not None:
        say("the power was cut as asked for; the image is as the power left it")
    elif ended is not None:
        raise RunError(f"error: {ended}; the image is as the power left it")


def _say_opened(status: dict[str, Any], server: _core.Server, seconds: float) -> None:
    restart = status["restart"]
    if restart["from_checkpoint"]:
        how = f"{restart['pages_read']:,} pages of a checkpoint read"
    else:
        how = (
            f"{restart['pages_read']:,} spare areas read, {restart['erased_units']:,} units erased, "
            f"{restart['rescued_pages']:,} pages rescued"
        )
    say(
        f"{status['size'] / 2**20:,.0f} MiB in pages of {status['page_size']:,} bytes, opened in {seconds:.1f} s: {how}"
    )
    if status["new"]:
        say(f"note: {NEW}")
    if server.warning is not None:
        say(f"note: {server.warning}")
    say(f"serving {server.uri} until Ctrl-C")


def _until_end(server: _core.Server, asked: list[int]) -> str | None:
    """Waits until somebody asks to end (nothing), or the server ends by itself (why)."""
    shows, told, before = sys.stderr.isatty(), time.monotonic(), 0
    while not asked:
        ended = server.wait(LOOK_EVERY_S)
        for line in server.lines():
            say(line)
        if ended is not None:
            return ended
        now = time.monotonic()
        if shows and now - told >= TELL_EVERY_S:
            status = json.loads(server.status())
            requests = status["reads"] + status["writes"]
            sys.stderr.write(f"\r\x1b[K{_line(status, (requests - before) / (now - told))}")
            sys.stderr.flush()
            told, before = now, requests
    if shows:
        sys.stderr.write("\r\x1b[K")
    return None


def _line(status: dict[str, Any], iops: float) -> str:
    waf = "-" if status["waf"] is None else f"{status['waf']:.2f}"
    return (
        f"{iops:,.0f} IOPS, WAF {waf}, {status['free_blocks']:,} blocks free, {status['erases']:,} erases, "
        f"{status['connected']} clients{', end of life' * status['end_of_life']}{_behind(status['pace'])}"
    )


def _behind(pace: dict[str, Any] | None) -> str:
    """How far a paced server falls behind, if it does."""
    if pace is None:
        return ""
    if pace["has_ended"]:
        return ", not paced any more: the model has ended"
    if pace["late"] == 0:
        return ", in time"
    return f", {pace['late']:,} answers late, by up to {pace['behind_max_s'] * 1e3:,.1f} ms"


def _summary(status: dict[str, Any]) -> str:
    waf = "-" if status["waf"] is None else f"{status['waf']:.3f}"
    if status["new"] and status["waf"] is not None:
        waf += " of a drive that was new"
    rows = [
        ("reads", f"{status['reads']:,}, {status['bytes_read'] / 2**20:,.1f} MiB"),
        ("writes", f"{status['writes']:,}, {status['bytes_written'] / 2**20:,.1f} MiB"),
        ("flushes", f"{status['flushes']:,}"),
        ("discards", f"{status['trims']:,}, {status['bytes_trimmed'] / 2**20:,.1f} MiB"),
        ("errors", f"{status['errors']:,}"),
        ("write amplification", waf),
        ("erases", f"{status['erases']:,}"),
        ("free blocks", f"{status['free_blocks']:,}"),
    ]
    if status["end_of_life"]:
        rows.append(
            ("end of life", "reached: too many blocks have failed, and the drive takes no more writes")
        )
    if status["pace"] is not None:
        rows.extend(_pace_rows(status["pace"]))
    return "".join(f"{name:20} {value}\n" for name, value in rows)


def _pace_rows(pace: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The latencies of the simulated drive, and how far the server kept up."""
    latency = pace.get("latency", {})
    if "ended" in latency:
        yield "not paced to the end", latency["ended"].splitlines()[0]
    for kind in ("read", "write", "flush"):
        of = latency.get(kind)
        if of is not None and of["mean"] is not None:
            yield f"{kind} latency", f"mean {of['mean']:,.1f} us, p99 {of['p99']:,.1f} us, modelled"
    late, most = pace["late"], pace["behind_max_s"] * 1e3
    yield "late answers", f"{late:,} of {pace['completed']:,}, by up to {most:,.1f} ms"


@contextmanager
def _asked_to_end() -> Iterator[list[int]]:
    """The signals that asked to end while the block lasts. A drive may take its time to close."""
    asked: list[int] = []

    def ask(number: int, _: FrameType | None) -> None:
        asked.append(number)

    # Else the command would be ended within a second, however much is left to be written.
    wakes = signal.set_wakeup_fd(-1)
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield asked
    finally:
        if not asked:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(wakes)
