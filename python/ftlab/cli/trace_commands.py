"""The commands about traces: `ftlab trace capture`, `info`, `head`, `convert` and `split`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib import resources
from pathlib import Path

from ftlab import _core
from ftlab.base import escape
from ftlab.base.quantities import in_bytes
from ftlab.cli.usage import COLUMNS_HELP, Parser, add_command, at, plain, pointed
from ftlab.results import output, text
from ftlab.traces import columnar, dividing, listing

MEMORY_MIN, MEMORY_MAX = 1 << 20, 1 << 40
"""Bytes of lines that may wait."""

HEAD_MAX = 1_000_000
"""Requests that `head` shows at most: they are in memory until they are printed."""


CAPTURE = """\
for example:
  ftlab trace capture --print > capture.sh
  sudo sh capture.sh /dev/nvme0n1 3600          # on the other machine
  ftlab trace info capture-nvme0n1-20261129T120000Z.txt.gz
"""


def add_actions(command: Parser) -> None:
    """Adds the actions of `ftlab trace`."""
    formats = json.loads(_core.trace_formats())
    actions = command.add_subparsers(metavar="ACTION", required=True, title="actions")
    capture = add_command(
        actions, "capture", "print a script that records a trace, for a machine without ftlab"
    )
    capture.runs(_trace_capture, example=CAPTURE)
    capture.add_argument(
        "--print",
        action="store_true",
        required=True,
        help="print the script, which says itself how it is used",
    )
    info = add_command(actions, "info", "read a whole trace and show what it holds")
    info.runs(_trace_info)
    head = add_command(actions, "head", "show the first requests of a trace")
    head.runs(_trace_head)
    convert = add_command(actions, "convert", "write a trace in another format")
    convert.runs(_trace_convert)
    divide = add_command(actions, "split", "write a trace of many volumes as a trace of each")
    divide.runs(_trace_split)
    for action in (info, head, convert, divide):
        action.add_argument(
            "file",
            metavar="FILE",
            help="the trace, plain or compressed, or `-` for standard input; its format is detected",
        )
        action.add_argument(
            "--format", type=plain, metavar="NAME", help=f"in place of detection: {_names(formats['read'])}"
        )
        action.add_argument("--columns", type=plain, metavar="COLUMNS", help=COLUMNS_HELP)
        action.add_argument(
            "--skip-bad", action="store_true", help="count lines that cannot be read and go on"
        )
        action.add_argument("--json", action="store_true", help="one JSON object on stdout")
    head.add_argument("-n", "--requests", type=int, default=10, metavar="N", help="how many (default 10)")
    convert.add_argument(
        "out", metavar="OUT", help="the file to write; .gz, .zst, .xz and .bz2 are compressed"
    )
    convert.add_argument(
        "--to", type=plain, metavar="NAME", default="msr", help=f"{_names(formats['written'])} (default msr)"
    )

    divide.add_argument(
        "out", metavar="DIR", help="a new directory, for a file of each volume and their list"
    )
    divide.add_argument(
        "--memory", type=plain, metavar="SIZE", default="256MiB",
        help="lines that wait in memory until they are written, at most (default 256MiB)",
    )  # fmt: skip


def _names(formats: Sequence[dict[str, str]]) -> str:
    return ", ".join(entry["name"] for entry in formats)


def _trace_capture(_: argparse.Namespace) -> None:
    sys.stdout.write(resources.files("ftlab.traces").joinpath("capture.sh").read_text(encoding="utf-8"))


def _trace_info(options: argparse.Namespace) -> None:
    with _trace_file(options) as (path, form, table):
        found = json.loads(_core.trace_info(path, format=form, skip_bad=options.skip_bad))
        if table is not None:
            found |= {"path": table.name, "columns": table.columns, "columns_guessed": table.guessed}
            found["format"] = table.format or found["format"]
    found |= listing.of_day(found)
    sys.stdout.write(output.json_text(found) if options.json else listing.info_text(found))


def _trace_head(options: argparse.Namespace) -> None:
    if not 1 <= options.requests <= HEAD_MAX:
        raise pointed(Parser.argv, at(str(options.requests)), f"`-n` is {options.requests}",
                      f"expected at least 1 and at most {HEAD_MAX:,}",
                      "`ftlab trace convert` writes a whole trace")  # fmt: skip
    with _trace_file(options) as (path, form, _):
        pieces = _core.trace_head(path, options.requests, format=form, skip_bad=options.skip_bad)
    found = [record for piece in pieces for record in json.loads(piece)]
    if options.json:
        sys.stdout.write(output.json_text({"path": options.file, "requests": found}))
    else:
        sys.stdout.write(listing.head_text(found))


def _trace_convert(options: argparse.Namespace) -> None:
    output.check_writable(options.out)
    if (
        Path(options.out).exists()
        and Path(options.file).exists()
        and Path(options.out).samefile(options.file)
    ):
        raise pointed(Parser.argv, at(options.out), "OUT is the trace itself", "expected another file")
    with _trace_file(options) as (path, form, _):
        done = json.loads(
            _core.trace_convert(path, options.out, options.to, format=form, skip_bad=options.skip_bad)
        )
    # What was written to stdout is a trace, and to be nothing else.
    report = sys.stderr if _is_stdout(options.out) else sys.stdout
    if options.json:
        report.write(output.json_text({"path": options.out, "format": options.to, **done}))
        return
    left_out = (
        f"; {text.count(done['left_out'])} left out, which {options.to} cannot express"
        if done["left_out"]
        else ""
    )
    report.write(
        f"{escape.terminal(options.out)}: {text.count(done['requests'])} requests as {options.to}{left_out}\n"
    )


def _trace_split(options: argparse.Namespace) -> None:
    memory = _memory(options.memory)
    place = Path(options.out)
    if place.exists() and not (place.is_dir() and not any(place.iterdir())):
        raise pointed(
            Parser.argv, at(options.out), f"`{options.out}` is there already", "expected a new directory"
        )
    with _trace_file(options) as (path, form, table):
        name = options.file if table is None else table.name
        found = dividing.divide(path, options.out, memory, name=name, format=form, skip_bad=options.skip_bad)
    if options.json:
        sys.stdout.write(output.json_text(found))
    else:
        sys.stdout.write(listing.split_text(found, options.out))


def _memory(word: str) -> int:
    try:
        size = in_bytes(word)
    except ValueError:
        size = 0
    if not MEMORY_MIN <= size <= MEMORY_MAX:
        raise pointed(
            Parser.argv,
            at(word),
            f"`--memory` is `{word}`",
            'expected a size from 1MiB to 1TiB, such as "256MiB"',
        )
    return size


def _trace_file(
    options: argparse.Namespace,
) -> AbstractContextManager[tuple[str, str | None, columnar.Given | None]]:
    """The trace that is asked for, as the engine finds and reads it."""
    if options.columns is not None and options.format is not None:
        raise pointed(Parser.argv, at(options.columns), "`--columns` and `--format` do not go together",
                      "expected only one of them")  # fmt: skip
    return columnar.for_engine(options.file, options.format, options.columns)


def _is_stdout(path: str) -> bool:
    try:
        return os.path.samestat(Path(path).stat(), os.fstat(sys.stdout.fileno()))
    except OSError:
        return False
