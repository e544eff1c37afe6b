"""The command `ftlab hardware`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import cast

from ftlab import _core
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
    add_command(
        actions, "fit", "fit a preset to a drive that fio measured, and predict the rest of its figures",
        "ftlab.cli.hardware_command:add_fit",
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


FIT_EXAMPLE = """\
for example:
  ftlab hardware fit --jobs drive
  sh drive/run.sh --destroy /dev/nvme0n1       (about two hours; all data on it are lost)
  ftlab hardware fit drive --preset enterprise-tlc --out my.toml
  ftlab run my.toml
"""


def add_fit(command: Parser) -> None:
    """Adds the arguments of `ftlab hardware fit`."""
    command.runs(fit, example=FIT_EXAMPLE)
    command.add_argument(
        "directory",
        type=plain,
        nargs="?",
        metavar="DIR",
        help="the directory in which run.sh measured the drive",
    )
    command.add_argument(
        "--jobs", type=plain, metavar="DIR",
        help="write the fio jobs and run.sh, which runs them, to this directory, and fit nothing",
    )  # fmt: skip
    command.add_argument(
        "--preset", type=plain, metavar="CONFIG",
        help="the preset or TOML file to start from: its structure, and what is not identified",
    )  # fmt: skip
    command.add_argument(
        "--out", type=plain, metavar="FILE", help="write the fitted drive to this new TOML file"
    )
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")


def fit(options: argparse.Namespace) -> None:
    """Runs `ftlab hardware fit`.

    Raises:
        UsageError: it is not said what to do.
        InputError: a measurement cannot be used, or a file not be written.
    """
    if options.jobs is not None:
        for given, option in (
            (options.directory, "DIR"),
            (options.preset, "--preset"),
            (options.out, "--out"),
        ):
            if given is not None:
                raise pointed(
                    Parser.argv, at(given), f"`--jobs` and `{option}`", "`--jobs DIR` alone writes the jobs"
                )
        from ftlab.hardware import jobs

        files = jobs.write(Path(options.jobs))
        say(f"written to {options.jobs}: {len(files) - 1} jobs of fio and {jobs.SCRIPT}")
        say(f"next: sh {options.jobs}/{jobs.SCRIPT} --read-only DEVICE (minutes; nothing is written)")
        say(
            f"  or: sh {options.jobs}/{jobs.SCRIPT} --destroy DEVICE (about two hours; all data on it are lost)"
        )
        return
    if options.directory is None:
        raise pointed(Parser.argv, None, "no measurements", "expected DIR, or `--jobs DIR` to write the jobs")
    if options.preset is None:
        raise pointed(
            Parser.argv,
            None,
            "no drive to start from",
            "expected `--preset CONFIG`",
            "for example `enterprise-tlc`",
        )
    place = None if options.out is None else Path(options.out)
    if place is not None:
        output.check_writable(place)
        if os.path.lexists(place):
            raise pointed(
                Parser.argv, at(options.out), f"{options.out} is there already", "expected a new file"
            )
    from ftlab.api.configs import Source, config_argument, set_list
    from ftlab.api.simulation import presets
    from ftlab.cli.init import save
    from ftlab.hardware import fit_page, measured
    from ftlab.hardware.fit import fit as fitted

    config = config_argument(options.preset)
    found = fitted(measured.load(Path(options.directory)), config, options.preset, tell=say)
    if place is not None:
        source = Source.of(config)
        whole = (
            None
            if options.preset in presets()
            else _core.resolve(source.kind, source.text, set_list(found.sets))[0]
        )
        save(place, fit_page.toml(found, whole), replaces=False)
        say(f"written to {options.out}: `ftlab run {options.out}` runs it")
    sys.stdout.write(output.json_text(fit_page.to_json(found)) if options.json else fit_page.table(found))


def main(options: argparse.Namespace) -> None:
    """Runs `ftlab hardware check`.

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
