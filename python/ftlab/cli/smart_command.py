"""The command `ftlab smart`."""

from __future__ import annotations

import argparse
import sys

from ftlab.cli.usage import Parser, pointed
from ftlab.results import drive_log, output, smart
from ftlab.results.result import Result

EXAMPLE = """\
for example:
  ftlab run client-tlc-small --out out/drive
  ftlab smart out/drive
  nvme smart-log -o json /dev/nvme0 > smart.json; nvme ocp smart-add-log -o json /dev/nvme0 > ocp.json
  ftlab smart out/drive --read smart.json --read ocp.json
"""


def add_arguments(command: Parser) -> None:
    """Adds the arguments of `ftlab smart`."""
    command.runs(
        main,
        description="Put a run in the names of drives' own logs: NVMe's SMART log, and OCP's C0h; before them what the "
        "drive promises. Or put it beside the logs of a real drive.",
        example=EXAMPLE,
    )
    command.add_argument("directory", metavar="DIR", nargs="?", help="what `ftlab run --out DIR` wrote")
    command.add_argument(
        "--read", metavar="FILE", action="append", default=[],
        help="a log of a real drive, as `nvme smart-log -o json` or `nvme ocp smart-add-log -o json` prints it; may be "
        "repeated",
    )  # fmt: skip
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")


def main(options: argparse.Namespace) -> None:
    """Runs the command.

    Raises:
        UsageError: neither a result nor a log is named.
        InputError: there is no result, or a log cannot be read.
    """
    if options.directory is None and not options.read:
        raise pointed(Parser.argv, None, "no result and no log", "expected a DIR, or `--read FILE`")
    log = drive_log.read(options.read) if options.read else None
    result = None if options.directory is None else Result.load(options.directory)
    if log is not None:
        shown = (
            output.json_text(drive_log.to_json(log, result)) if options.json else drive_log.table(log, result)
        )
        sys.stdout.write(shown)
    elif result is not None:
        sys.stdout.write(output.json_text(smart.values(result)) if options.json else smart.table(result))
