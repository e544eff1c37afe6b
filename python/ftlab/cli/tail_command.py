"""The command `ftlab explain-tail`."""

from __future__ import annotations

import argparse
import sys

from ftlab.base.hints import nearest, one_of
from ftlab.cli.usage import Parser, plain, pointed
from ftlab.results import output, tail
from ftlab.results.latency_parts import AT
from ftlab.results.result import Result

EXAMPLE = """\
for example:
  ftlab run drive.toml --set run.latency_parts=true --out out/drive
  ftlab explain-tail out/drive --at p99.9 --reads
"""


def add_arguments(command: Parser) -> None:
    """Adds the arguments of `ftlab explain-tail`."""
    command.runs(
        main, description="Say what the requests around a percentile of a run waited for.", example=EXAMPLE
    )
    command.add_argument(
        "directory", metavar="DIR", help="what `ftlab run --out DIR` wrote, with `run.latency_parts = true`"
    )
    command.add_argument(
        "--at", type=plain, metavar="P", default="p99.9", help=f"{', '.join(AT)} (default p99.9)"
    )
    kinds = command.add_mutually_exclusive_group()
    kinds.add_argument(
        "--reads",
        dest="kind",
        action="store_const",
        const="read",
        help="of reads (default, if there are any)",
    )
    kinds.add_argument("--writes", dest="kind", action="store_const", const="write", help="of writes")
    command.add_argument(
        "--tenant", type=plain, metavar="NAME", help="of one of several hosts (`[[tenant]]`)"
    )
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")


def main(options: argparse.Namespace) -> None:
    """Runs the command.

    Raises:
        UsageError: there is nothing to say of that percentile.
        InputError: there is no result, or it has no parts of latencies.
    """
    if options.at not in AT:
        place = Parser.argv.index(options.at) if options.at in Parser.argv else None
        raise pointed(Parser.argv, place, f"`--at {options.at}`", one_of(AT), nearest(options.at, AT))
    result = Result.load(options.directory)
    found = tail.chosen(result, options.directory, options.kind, options.at, options.tenant)
    if options.json:
        sys.stdout.write(output.json_text(tail.to_json(result, options.directory, found)))
    else:
        sys.stdout.write(tail.explanation(result, found))
