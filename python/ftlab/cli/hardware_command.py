"""The command `ftlab hardware`."""

from __future__ import annotations

import argparse
import sys
from typing import cast

from ftlab._core import ConfigError
from ftlab.base.hints import nearest, one_of
from ftlab.cli.usage import Parser, add_command, at, plain, pointed, say
from ftlab.hardware.rows import chosen
from ftlab.results import output

SCALES = ("quick", "full")

EXAMPLE = """\
for example:
  ftlab hardware check --only 17 --only 20
  ftlab hardware check --only "reads by depth" --scale full --out out/hardware
"""


def add_arguments(command: Parser) -> None:
    """Adds the actions of `ftlab hardware`."""
    actions = command.add_subparsers(metavar="ACTION", required=True, title="actions")
    add_command(
        actions, "check", "run published figures of real drives, and say which are met",
        "ftlab.cli.hardware_command:add_check",
    )  # fmt: skip


def add_check(command: Parser) -> None:
    """Adds the arguments of `ftlab hardware check`."""
    command.runs(main, example=EXAMPLE)
    command.add_argument(
        "--only", type=plain, action="append", default=[], metavar="ROW",
        help="a row, by its id such as 17, or a family such as `reads by depth`; may be repeated",
    )  # fmt: skip
    command.add_argument(
        "--scale", type=plain, metavar="SCALE", default="quick",
        help="`quick`: small drives and short jobs (default); `full`: whole drives and the jobs' own times",
    )  # fmt: skip
    command.add_argument(
        "--out", metavar="DIR", help="write hardware.json, hardware.md and pictures to this directory"
    )
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")


def main(options: argparse.Namespace) -> None:
    """Runs the command.

    Raises:
        UsageError: there is no such scale, or no such row.
    """
    if options.scale not in SCALES:
        raise pointed(Parser.argv, at(options.scale), f"`--scale {options.scale}`", one_of(SCALES),
                      nearest(options.scale, SCALES))  # fmt: skip
    try:
        asked = chosen(options.only)
    except ConfigError as error:
        told, _, hint = str(error).removeprefix("error: ").partition("\nhint: ")
        found, _, expected = told.partition("; ")
        named = next(word for word in options.only if f"`{word}`" in found)
        raise pointed(Parser.argv, at(named), found, expected, hint) from None
    from ftlab.hardware import page
    from ftlab.hardware.check import check
    from ftlab.hardware.runs import Scale

    directory = None if options.out is None else page.CheckDirectory(options.out)
    done = check(asked, cast(Scale, options.scale), say)
    if directory is not None:
        directory.write(done)
        say(f"written to {options.out}: hardware.json, hardware.md and pictures")
    sys.stdout.write(output.json_text(done.to_json()) if options.json else page.table(done))
