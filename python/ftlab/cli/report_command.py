"""The command `ftlab report`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from ftlab._core import InputError
from ftlab.base import escape
from ftlab.cli.usage import Parser

EXAMPLE = """\
for example:
  ftlab run tbm-small --out out/first && ftlab report out/first
  ftlab report out/greedy out/fifo            # two runs, side by side
  ftlab report out/op out/reproduce/tbm-quick --out study.html

The page needs no network and no other file. docs/results.md says what is on it.
"""

DEFAULT = "report.html"
"""The page of a command without `--out`."""


def add_arguments(command: Parser) -> None:
    """Adds the arguments of `ftlab report`."""
    command.runs(
        main,
        description="Make one self-contained HTML page from runs, comparisons, sweeps and reproductions.",
        example=EXAMPLE,
    )
    command.add_argument(
        "results", metavar="DIR", nargs="+",
        help="a directory that run, compare, sweep or reproduce wrote; several runs are put side by side",
    )  # fmt: skip
    command.add_argument(
        "--out", metavar="FILE",
        help=f"the page to write, in place of an earlier one (default: {DEFAULT}, which is not overwritten)",
    )  # fmt: skip


def main(options: argparse.Namespace) -> None:
    """Runs the command.

    Raises:
        InputError: a directory is no result, or the page is not to be overwritten.
        RunError: the page cannot be written.
    """
    # What draws takes a moment to import.
    from ftlab.reports import report

    place = Path(options.out or DEFAULT)
    if options.out is None and os.path.lexists(place):
        raise InputError(
            f"error: {DEFAULT} is there already, and nobody asked to overwrite it; expected `--out FILE`, "
            f"`--out {DEFAULT}` to replace a page"
        )
    report(options.results, place)
    print(f"written to {escape.terminal(str(place))}; open it in a browser", file=sys.stderr)
