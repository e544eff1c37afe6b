"""The command `ftlab smart`."""

from __future__ import annotations

import argparse
import sys

from ftlab.cli.usage import Parser
from ftlab.results import output, smart
from ftlab.results.result import Result

EXAMPLE = """\
for example:
  ftlab run client-tlc-small --out out/drive
  ftlab smart out/drive
"""


def add_arguments(command: Parser) -> None:
    """Adds the arguments of `ftlab smart`."""
    command.runs(
        main,
        description="Put a run in the names of drives' own logs: NVMe's SMART log, and OCP's C0h; before them what the "
        "drive promises.",
        example=EXAMPLE,
    )
    command.add_argument("directory", metavar="DIR", help="what `ftlab run --out DIR` wrote")
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")


def main(options: argparse.Namespace) -> None:
    """Runs the command.

    Raises:
        InputError: there is no result.
    """
    result = Result.load(options.directory)
    if options.json:
        sys.stdout.write(output.json_text(smart.values(result)))
    else:
        sys.stdout.write(smart.table(result))
