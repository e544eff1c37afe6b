"""The command `ftlab life`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ftlab._core import ConfigError
from ftlab.api.configs import config_argument
from ftlab.api.runner import Tell
from ftlab.base import escape
from ftlab.cli.live import Live
from ftlab.cli.run_commands import heard
from ftlab.cli.usage import COLUMNS_HELP, Parser, at, check_jobs, plain, pointed, say
from ftlab.lives.life import LifeDirectory, life
from ftlab.results import output

EXAMPLE = """\
for example:
  ftlab life client-tlc-small qlc-small --trace varmail.csv.zst --rated-pe 3000,1000 --per-day 1.2TB
  ftlab life drive.toml --trace captured.txt --rated-pe 3000 --spare 7%,12%,28% --out out/life
"""


def add_arguments(command: Parser) -> None:
    """Adds the arguments of `ftlab life`."""
    command.runs(
        main,
        description="Say how long drives live under a workload: write amplification of the steady state, bytes until "
        "the rated P/E cycles are over, and years at a rate.",
        example=EXAMPLE,
    )
    command.add_argument("configs", metavar="CONFIG", nargs="+", help="TOML files or names of presets")
    command.add_argument(
        "--trace", metavar="FILE", help="the workload: a trace, over and over; `-` is standard input"
    )
    command.add_argument("--columns", type=plain, metavar="COLUMNS", help=f"with --trace: {COLUMNS_HELP}")
    command.add_argument(
        "--fio",
        metavar="JOBFILE",
        help="the workload: a job file of fio; jobs that write alike are one workload",
    )
    command.add_argument("--section", type=plain, metavar="NAME", help="with --fio: the only job of the file")
    command.add_argument(
        "--workload", type=plain, metavar="GENERATOR",
        help="a generator in place of the configured workload, such as zipf or { zipf = { z = 0.9 } }",
    )  # fmt: skip
    command.add_argument(
        "--rated-pe", type=plain, metavar="N,...",
        help="P/E cycles of the datasheet, one number or one for each CONFIG (default: those of "
        "`device.bad_blocks.weibull.rated_cycles`)",
    )  # fmt: skip
    command.add_argument(
        "--per-day", type=plain, metavar="SIZE",
        help="what the host writes a day, such as 1.2TB, or 0.5x in user capacities of the first CONFIG (default: the "
        "mean rate of the trace)",
    )  # fmt: skip
    command.add_argument(
        "--spare", type=plain, metavar="A,B,...",
        help="spare ÷ user capacity that each drive is run with besides its own, and that may be taken (default: "
        "7%%,12%%,28%%, to compare with), or `own` for no other",
    )  # fmt: skip
    command.add_argument(
        "--years", type=plain, metavar="N", default="5",
        help="years of warranty: for drive writes a day, and how long a drive is to live (default 5)",
    )  # fmt: skip
    command.add_argument(
        "--rated-dwpd",
        type=plain,
        metavar="N,...",
        help="drive writes a day of the datasheet, to stand beside",
    )
    command.add_argument(
        "--price", type=plain, metavar="N,...", help="prices, one number or one for each CONFIG"
    )
    command.add_argument(
        "--latency", action="store_true",
        help="tell percentiles of the steady state too: a timed run of each drive, at its full size",
    )  # fmt: skip
    command.add_argument(
        "--set", type=plain, action="append", default=[], metavar="KEY=VALUE", dest="sets",
        help="override a setting of all drives; may be repeated",
    )  # fmt: skip
    command.add_argument(
        "--out", metavar="DIR", help="write life.json, life.md and a picture to this directory"
    )
    command.add_argument(
        "--no-plots", action="store_false", dest="plots", help="write no picture to the directory of `--out`"
    )
    command.add_argument("--json", action="store_true", help="one JSON object on stdout, all else on stderr")
    command.add_argument(
        "--jobs", type=int, metavar="N", help="runs at once (default: as many as processors, and memory for)"
    )


def main(options: argparse.Namespace) -> None:
    """Runs the command.

    Raises:
        ConfigError: the command line or a drive cannot be used.
        InputError: the trace or the directory cannot be used.
        RunError: no run came to its end.
    """
    check_jobs(options.jobs)
    if options.trace is not None and options.workload is not None:
        raise pointed(Parser.argv, at("--workload"), "`--workload` and a trace", "expected one of them")
    if options.fio is not None and (options.trace is not None or options.workload is not None):
        raise pointed(Parser.argv, at("--fio"), "`--fio` and another workload", "expected one of them")
    if options.section is not None and options.fio is None:
        raise pointed(
            Parser.argv, at("--section"), "`--section` without `--fio`", "expected `--fio JOBFILE` as well"
        )
    numbers = {
        name: _numbers(option, getattr(options, name))
        for option, name in (("--rated-pe", "rated_pe"), ("--rated-dwpd", "rated_dwpd"), ("--price", "price"))
    }
    years = _numbers("--years", options.years)
    if years is None or len(years) != 1:
        raise pointed(
            Parser.argv,
            at(options.years),
            f"`--years` is `{options.years}`",
            "expected one number, such as `5`",
        )
    directory = None if options.out is None else LifeDirectory(options.out)
    spares = _spares(options.spare)
    try:
        with Live(sys.stderr) as live, Tell(None if live else sys.stderr) as tell:
            made = life(
                [config_argument(config) for config in options.configs],
                rated_pe=numbers["rated_pe"], rated_dwpd=numbers["rated_dwpd"], prices=numbers["price"],
                workload=options.workload, trace=options.trace, columns=options.columns, fio=options.fio,
                section=options.section, latency=options.latency, per_day=options.per_day,
                spares=spares, years=years[0], sets=options.sets, jobs=options.jobs,
                progress=live or heard(tell),
            )  # fmt: skip
    except ConfigError as error:
        raise _at_option(error, options) from None
    if directory is not None:
        directory.write(made, plots=options.plots)
    if options.json:
        sys.stdout.write(output.json_text(made.to_json()))
    else:
        sys.stdout.write(str(made))
    if options.out is not None:
        say(f"written to {options.out}: life.json, life.md{' and life.png' if options.plots else ''}")


def _numbers(option: str, said: str | None) -> list[float] | None:
    """Numbers between commas.

    Raises:
        UsageError: one is none.
    """
    if said is None:
        return None
    try:
        return [float(word) for word in said.split(",")]
    except ValueError:
        raise pointed(Parser.argv, at(said), f"`{option}` is `{said}`",
                      "expected a number, or one for each CONFIG such as `3000,1000`") from None  # fmt: skip


def _spares(said: str | None) -> Sequence[float] | None:
    """The spares of the command line; none for `own`.

    Raises:
        UsageError: one is none.
    """
    if said is None or said == "own":
        return None if said is None else ()
    found = []
    for word in said.split(","):
        try:
            spare = float(word.strip().removesuffix("%")) / (100 if word.strip().endswith("%") else 1)
        except ValueError:
            spare = 0.0
        if spare <= 0 or (spare > 1 and not word.strip().endswith("%")):
            expected = "expected parts of the user capacity, such as `7%,12%,28%`"
            hint = f"did you mean `{spare:g}%`?" if spare > 1 else ""
            raise pointed(Parser.argv, at(said), f"`{word}` is no spare", expected, hint)
        found.append(spare)
    return found


def _at_option(error: ConfigError, options: argparse.Namespace) -> ConfigError:
    """The error of a number, pointed at where the command line has it."""
    told = str(error).removeprefix("error: ")
    for option in ("--rated-pe", "--rated-dwpd", "--price", "--years"):
        said = getattr(options, option.removeprefix("--").replace("-", "_"))
        if told.startswith(f"`{option}` ") and said is not None and "\n" not in told:
            message, _, expected = told.partition("; ")
            return pointed(Parser.argv, at(said), message, expected)
    if options.per_day is not None and f"`{options.per_day}`" in told and "\n" not in told:
        message, _, expected = told.partition("; ")
        return pointed(Parser.argv, at(options.per_day), escape.terminal(message), expected)
    return error
