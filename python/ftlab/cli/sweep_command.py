"""The command `ftlab sweep`."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from ftlab._core import RunError
from ftlab.api.runner import Tell
from ftlab.cli.run_commands import add_until, check_until
from ftlab.cli.usage import Parser, check_jobs, plain, pointed
from ftlab.results import output, text
from ftlab.sweeps.headlines import figure_rows, spread_rows
from ftlab.sweeps.sweep import Sweep, sweep

EXAMPLE = """\
a specification, for example:

  config = "tbm-small"          # a preset, a file, or a list of them

  [set]                         # for all runs
  run.executor = "count"
  run.precondition = "steady"
  workload.generator = "uniform"
  workload.volume = "2x"

  [grid]                        # every combination
  op = [0.07, 0.15, 0.28]       # a key, or its last part
  victim = ["greedy", "fifo"]
  seed = "1..5"                 # a range; means are taken over seeds

[[list]] gives runs one by one; `repeats = 5` is `seed = "1..5"`. docs/sweeps.md has the rest.
"""

SHOWN_MAX = 40
"""Rows that fit a terminal; the tables have all."""


def add_arguments(command: Parser) -> None:
    """Adds the arguments of `ftlab sweep`."""
    command.runs(
        main,
        description="Run every configuration of a specification that is not kept yet, into one table.",
        example=EXAMPLE,
    )
    command.add_argument("spec", metavar="SPEC", help="a TOML file that says what to sweep over")
    command.add_argument(
        "--out", metavar="DIR",
        help="where runs are kept, to be taken up again, and the tables go (default: `out` of SPEC, or out/SPEC)",
    )  # fmt: skip
    command.add_argument(
        "--jobs", type=int, metavar="N", help="runs at once (default: as many as processors, and memory for)"
    )
    command.add_argument(
        "--shard",
        type=plain,
        metavar="I/N",
        help="only every N-th run, from the I-th on: for arrays of a batch system",
    )
    command.add_argument(
        "--scheduler",
        type=plain,
        metavar="ADDRESS",
        help="a Dask scheduler whose workers do the runs, tcp://HOST:PORT",
    )
    add_until(command)
    command.add_argument("--json", action="store_true", help="one JSON object on stdout, all else on stderr")


def main(options: argparse.Namespace) -> None:
    """Runs the command.

    Raises:
        ConfigError: the command line or the specification cannot be used.
        InputError: a file cannot be read, or the directory not be written.
        RunError: a run failed, or the cluster.
    """
    check_jobs(options.jobs)
    check_until(options)
    if options.jobs is not None and options.scheduler is not None:
        raise pointed(Parser.argv, Parser.argv.index("--scheduler") if "--scheduler" in Parser.argv else None,
                      "`--jobs` and `--scheduler` do not go together", "expected only one of them")  # fmt: skip
    shard = None if options.shard is None else _shard(options.shard)
    out = options.out or _out_of(options.spec)
    try:
        with Tell(sys.stderr) as tell:
            made = sweep(
                options.spec, out=out, jobs=options.jobs, shard=shard, scheduler=options.scheduler,
                until=options.until, tell=tell,
            )  # fmt: skip
    except KeyboardInterrupt:
        print("what is finished is kept; the same command goes on from there", file=sys.stderr)
        raise
    if options.json:
        sys.stdout.write(output.json_text(_json(made)))
    else:
        width = shutil.get_terminal_size((110, 24)).columns
        sys.stdout.write(_shown(made, width))
    sys.stdout.flush()
    print(f"written to {made.directory}: tables (Parquet), and what is kept in runs", file=sys.stderr)
    if made.errors:
        label, error = next(iter(made.errors.items()))
        raise RunError(
            f"error: {len(made.errors)} of {made.table.num_rows} runs failed; the first is `{label}`:\n{error}"
        )


def _out_of(spec: str) -> str | None:
    from ftlab.sweeps.spec import Spec

    return None if Spec.of(spec).out is not None else f"out/{Path(spec).stem}"


def _shard(word: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", word)
    i, n = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= i <= n:
        at = next((i for i, arg in enumerate(Parser.argv) if arg == word or arg.endswith(f"={word}")), None)
        raise pointed(
            Parser.argv, at, f"`{word}` is no shard", "expected I/N with I from 1 to N, such as 2/8"
        )
    return i, n


def _json(made: Sweep) -> dict[str, Any]:
    return {
        "schema": "ftlab.sweep/1",
        "factors": list(made.factors),
        "statuses": made.statuses,
        "runs": made.table.to_pylist(),
        "means": made.means.to_pylist(),
    }


def _shown(made: Sweep, width: int) -> str:
    """The number of runs, and the headline figures by factors, with their spread where there are several seeds."""
    statuses = ", ".join(
        f"{count} {status}" for status, count in sorted(made.statuses.items(), key=lambda s: -s[1])
    )
    lines = [f"{made.table.num_rows} runs: {statuses}"]
    head, rows = figure_rows(made) if made.volumes is None else spread_rows(made)
    if rows:
        shown = (made.means if made.volumes is None else made.volumes).column_names
        align = "<" * sum(name in shown for name in made.factors) + ">"
        lines += ["", _narrowed(text.columns([head, *rows[:SHOWN_MAX]], align=align), width)]
        if len(rows) > SHOWN_MAX:
            lines.append(f"… and {len(rows) - SHOWN_MAX} more; the tables have all")
    return "\n".join(lines) + "\n"


def _narrowed(lines: str, width: int) -> str:
    return "\n".join(line if len(line) <= width else f"{line[: width - 1]}…" for line in lines.splitlines())
