"""The command `ftlab reproduce`."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ftlab import output, text
from ftlab.reproduce import claims, tbm, workloads
from ftlab.reproduce.experiment import Grid, Tell
from ftlab.reproduce.tbm import Evidence, Point
from ftlab.reproduce.workloads import Library, Workload
from ftlab.result import Result
from ftlab.usage import Parser, nearest, one_of, pointed

PAPERS = ("tbm",)

FIGURES = ("figure2", "figure6", "figure7", "data", "extra", "frontiers")
FILES = (
    "claims.json", "figures.json", "report.md",
    *(f"{name}-{replay}.{kind}" for name in FIGURES for replay in tbm.REPLAYS for kind in ("png", "svg")),
)  # fmt: skip
"""What a reproduction may write, beside its runs and traces."""


def add_parser(commands: Any) -> None:
    """Adds the command to the command line's grammar."""
    command = commands.add_parser(
        "reproduce", help="run a paper's experiments and judge its claims",
        description="Run a paper's experiments and judge its claims.", allow_abbrev=False,
    )  # fmt: skip
    command.add_argument("paper", metavar="PAPER", choices=PAPERS, help=f"one of {', '.join(PAPERS)}")
    command.add_argument(
        "--scale", metavar="SCALE", choices=tuple(tbm.SCALES), default="quick",
        help="quick (the default: 1/32 of the blocks and the data, minutes) or paper (full size, a day or more)",
    )  # fmt: skip
    command.add_argument(
        "--only", metavar="ID",
        help=f"one experiment ({', '.join(tbm.EXPERIMENTS)}), or the one behind a claim of that id",
    )  # fmt: skip
    command.add_argument(
        "--traces",
        metavar="DIR",
        help="a directory with the original traces, such as prn_0.csv.gz or Financial1.spc",
    )
    command.add_argument(
        "--out", metavar="DIR",
        help="where runs are kept, to be taken up again, and the figures go (default out/reproduce/PAPER-SCALE)",
    )  # fmt: skip
    command.add_argument("--json", action="store_true", help="one JSON object on stdout, all else on stderr")
    command.set_defaults(command=main)


def main(options: argparse.Namespace) -> None:
    """Runs the command.

    Raises:
        ConfigError: the command line or a configuration cannot be used.
        InputError: a trace or the output directory cannot be used.
        RunError: a run failed.
    """
    chosen = tbm.experiments_for(options.only)
    if chosen is None:
        known = [*tbm.EXPERIMENTS, *(statement.id for statement in tbm.STATEMENTS)]
        place = Parser.argv.index(options.only) if options.only in Parser.argv else None
        raise pointed(Parser.argv, place, f"`{options.only}` is neither an experiment nor a claim",
                      one_of(tbm.EXPERIMENTS), nearest(options.only, known))  # fmt: skip
    own = None if options.traces is None else Path(options.traces)
    out = Path(options.out or f"out/reproduce/{options.paper}-{options.scale}")
    directory = Report(out)
    with Tell(sys.stderr) as tell:
        evidence = gather(chosen, options.scale, out, own, tell)
    found = tbm.judged(evidence, chosen)
    directory.write(options.scale, evidence, found)
    if options.json:
        sys.stdout.write(output.json_text(claims.document(options.paper, options.scale, found)))
    else:
        width = shutil.get_terminal_size((110, 24)).columns
        sys.stdout.write(workloads.table(list(evidence.workloads.values())) + "\n\n")
        sys.stdout.write(claims.table(found, width))
    print(
        f"written to {out}: claims.json, report.md, figures; runs are kept in {out / 'runs'}", file=sys.stderr
    )


def gather(
    experiments: Sequence[str], scale: str, out: Path, own: Path | None, tell: Tell | None = None,
    jobs: int | None = None,
) -> Evidence:  # fmt: skip
    """Makes the workloads ready and runs what is not there yet."""
    size = tbm.SCALES[scale]
    library = Library(out / "traces", size.ratio, own, tbm.shipped_places())
    extras = [wanted.name for wanted in tbm.EXTRAS]
    points = {point: None for e in experiments for point in tbm.points(e, scale, extras)}
    needed = {point.workload for point in points}
    ready: dict[str, Workload] = {}
    for wanted in (*tbm.WORKLOADS, *tbm.VARIANTS, *tbm.EXTRAS):
        if wanted.name in needed:
            if tell is not None:
                tell.note(f"preparing {wanted.name}")
            if (workload := library.get(wanted)) is not None:
                ready[wanted.name] = workload
    points = {point: None for point in points if point.workload in ready}
    runs = {point: tbm.run_of(point, ready[point.workload], size) for point in points}
    results = Grid(out / "runs").run(list(runs.values()), tell, jobs)
    return Evidence({point: results[run.label] for point, run in runs.items()}, ready)


class Report(output.OutputDirectory):
    """The directory of a reproduction: claims, figures, and tables for reading."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, FILES)

    def write(self, scale: str, evidence: Evidence, found: Sequence[claims.Claim]) -> None:
        """Writes everything but the runs, which are there already."""
        from ftlab import plot
        from ftlab.reproduce import drawing

        with self._staged() as staging:
            (staging / "claims.json").write_text(
                output.json_text(claims.document(tbm.PAPER, scale, found)), encoding="utf-8"
            )
            (staging / "figures.json").write_text(output.json_text(figures(evidence)), encoding="utf-8")
            (staging / "report.md").write_text(report(scale, evidence, found), encoding="utf-8")
            plot.save(drawing.figures(evidence), staging)


COLUMNS = (
    "written",
    "IOPS",
    "response ms",
    "GC count",
    "pages moved per GC",
    "per erased block",
    "multi-plane writes %",
    "multi-plane reads %",
    "WAF",
)


def figures(evidence: Evidence) -> dict[str, Any]:
    """The long-term figures of every run."""
    rows = []
    for point, result in evidence.results.items():
        long_term = {key: _plain(value) for key, value in evidence.at(point)._asdict().items()}
        start, end = tbm.long_term(result)
        rows.append(
            {
                **point._asdict(),
                "config": point.config,
                "capacities_written": end,
                "long_term_from": start,
                "long_term": long_term,
                **_whole(result),
            }
        )
    return {"schema": "ftlab.reproduction/1", "paper": tbm.PAPER, "runs": rows}


def _whole(result: Result) -> dict[str, Any]:
    host = result.summary["host"]
    return {
        "waf": result.summary["waf"],
        "unmapped_reads": host["unmapped_reads"],
        "simulated_s": host["simulated_s"],
        "wall_s": result.summary["run"]["wall_s"],
    }


def _plain(value: float) -> float | None:
    return None if value != value else value


def report(scale: str, evidence: Evidence, found: Sequence[claims.Claim]) -> str:
    """Workloads, claims and long-term figures as a Markdown page."""
    lines = [f"# TBM, scale {scale}", "", "## Workloads", "", "```", workloads.table(list(evidence.workloads.values())),
             "```", ""]  # fmt: skip
    lines += [f"- {name}: {_origin(workload)}" for name, workload in evidence.workloads.items()]
    lines += [
        "",
        "## Claims",
        "",
        "| claim | paper | measured | verdict | workload | kind |",
        "|---|---:|---:|---|---|---|",
    ]
    for claim in found:
        measured = text.ABSENT if claim.measured is None else f"{claim.measured:.1f} {claim.unit}"
        lines.append(
            f"| {claim.id}: {claim.claim} | {claim.paper_value} | {measured} | {claim.verdict} | {claim.workload} "
            f"| {claim.workload_kind} |"
        )
    lines += [
        "",
        "## Long-term figures",
        "",
        "Each over the second half of what the run wrote; *written* is the whole of it, in user capacities.",
        "",
        "| workload | loop | run | " + " | ".join(COLUMNS) + " |",
        "|---|---|---|" + "---:|" * len(COLUMNS),
    ]
    for point, result in evidence.results.items():
        named = f"| {point.workload} | {point.replay} | {point.config} | "
        lines.append(named + " | ".join(_cells(evidence, point, result)) + " |")
    return "\n".join(lines) + "\n"


def _origin(workload: Workload) -> str:
    return "generated to the table's figures" if workload.kind == "generated" else workload.origin


def _cells(evidence: Evidence, point: Point, result: Result) -> list[str]:
    w = evidence.at(point)
    values: Mapping[str, float | None] = {
        "iops": w.iops,
        "response": w.response_us / 1e3,
        "gc": w.gc_count,
        "cost": w.gc_cost,
        "cost per block": w.gc_cost_per_block,
        "writes": 100 * w.multiplane_writes,
        "reads": 100 * w.multiplane_reads,
        "waf": result.summary["waf"],
    }
    return [
        f"{tbm.long_term(result)[1]:.3g}",
        *(
            text.count(value) if key in ("iops", "gc") else text.figure(None if value != value else value)
            for key, value in values.items()
        ),
    ]
