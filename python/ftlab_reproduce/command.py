"""The command `ftlab reproduce`."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from ftlab.base.hints import nearest, one_of
from ftlab.cli.usage import Parser, check_jobs, pointed
from ftlab.results import output
from ftlab_reproduce import claims, everything, gcf, gcmix, ipr, rcftl, stack, tbm
from ftlab_reproduce.experiment import Tell
from ftlab_reproduce.study import Outcome, Study

PAPERS = {
    paper.name: paper for paper in (tbm.STUDY, gcmix.STUDY, gcf.STUDY, rcftl.STUDY, ipr.STUDY, stack.STUDY)
}
"""The last one is nobody's paper: all five together, which claims nothing."""

SCALES = tuple(dict.fromkeys(scale for paper in PAPERS.values() for scale in paper.scales))


NAMED = "`ftlab reproduce PAPER --help` lists the experiments and the claims of one paper."
"""The end of the help that is about all papers."""


def add_arguments(command: Parser) -> None:
    """Adds the arguments of `ftlab reproduce`. Help that is asked for one paper is about that paper."""
    asked = [PAPERS[word] for word in Parser.argv if word in PAPERS and {"-h", "--help"} & {*Parser.argv}]
    command.runs(main, example=claims_of(asked[0]) if asked else NAMED)
    command.add_argument(
        "paper", metavar="PAPER", choices=(*PAPERS, everything.NAME),
        help=f"{', '.join(PAPERS)}, or {everything.NAME}",
    )  # fmt: skip
    command.add_argument(
        "--scale", metavar="SCALE", choices=SCALES, default="quick",
        help="quick (the default: a smaller device) or paper (full size)",
    )  # fmt: skip
    command.add_argument(
        "--only", metavar="ID",
        help="one experiment, or the one behind a claim"
             + "".join(f": {', '.join(paper.experiments)}" for paper in asked[:1]),
    )  # fmt: skip
    command.add_argument(
        "--traces",
        metavar="DIR",
        help="the original traces, such as prn_0.csv.gz",
    )
    command.add_argument(
        "--out", metavar="DIR",
        help="where runs are kept and figures go (of its own: out/reproduce)",
    )  # fmt: skip
    command.add_argument(
        "--jobs", type=int, metavar="N", help="runs at once (default: as many as processors)"
    )
    command.add_argument(
        "--claims", nargs="+", metavar="FILE",
        help=f"of {everything.NAME}: runs nothing, puts claims.json files together",
    )  # fmt: skip
    command.add_argument("--json", action="store_true", help="one JSON object on stdout, all else on stderr")


def claims_of(paper: Study) -> str:
    """What `--only` knows besides experiments of one paper, and what each claim says."""
    if not paper.statements:
        return f"{paper.name} has no claims"
    indent = 2 + max(len(each.id) for each in paper.statements) + 2
    lines = [
        textwrap.fill(
            each.claim, 96, initial_indent=f"  {each.id}".ljust(indent), subsequent_indent=" " * indent
        )
        for each in paper.statements
    ]
    return "\n".join([f"claims of {paper.name}, by id:", *lines])


def main(options: argparse.Namespace) -> None:
    """Runs the command.

    Raises:
        ConfigError: the command line or a configuration cannot be used.
        InputError: a trace or the output directory cannot be used.
        RunError: a run failed.
    """
    check_jobs(options.jobs)
    own = None if options.traces is None else Path(options.traces)
    if options.paper == everything.NAME:
        reproduce_all(options, own)
        return
    if options.claims is not None:
        place = Parser.argv.index("--claims") if "--claims" in Parser.argv else None
        why = "`--claims` puts papers together that are reproduced already"
        raise pointed(Parser.argv, place, why, f"goes with `{everything.NAME}`")
    paper = PAPERS[options.paper]
    chosen = experiments_of(paper, options.only, options.scale)
    out = Path(options.out or f"out/reproduce/{options.paper}-{options.scale}")
    directory = Report(out, paper)
    with Tell(sys.stderr) as tell:
        outcome = paper.reproduce(chosen, options.scale, out, own, tell, options.jobs)
    directory.write(options.scale, outcome)
    if options.json:
        sys.stdout.write(
            output.json_text(claims.document(paper.name, options.scale, outcome.claims, outcome.cpu_s))
        )
    else:
        width = shutil.get_terminal_size((110, 24)).columns
        sys.stdout.write(outcome.tables + "\n\n")
        # With `--only`, claims of other experiments would bury those that were asked for; the files have them.
        judged = [claim for claim in outcome.claims if claim.verdict != "not-run" or options.only is None]
        nothing = "No claim is judged from this experiment alone; report.md has its figures.\n"
        sys.stdout.write(claims.table(judged, width) if judged else nothing)
    print(
        f"written to {out}: claims.json, report.md, figures; runs are kept in {out / 'runs'}", file=sys.stderr
    )


def reproduce_all(options: argparse.Namespace, own: Path | None) -> None:
    """Runs every paper, each in a directory of its own, and writes one table of all claims.

    Raises:
        ConfigError: an experiment was asked for.
        InputError: a trace or an output directory cannot be used.
        RunError: a run failed; what was finished is kept.
    """
    if options.only is not None:
        place = Parser.argv.index("--only") if "--only" in Parser.argv else None
        raise pointed(Parser.argv, place, "`--only` names an experiment of one paper", one_of(tuple(PAPERS)))
    root = Path(options.out or "out/reproduce")
    if options.claims is not None:
        titles = {name: paper.title for name, paper in PAPERS.items() if paper.statements}
        scale, found = everything.taken_from([Path(file) for file in options.claims], titles)
        say_all(everything.Report(root, scale), found, options.json)
        return
    whole = everything.Report(root, options.scale)
    papers = {
        name: paper for name, paper in PAPERS.items() if paper.statements and options.scale in paper.scales
    }
    directories = {name: Report(root / f"{name}-{options.scale}", paper) for name, paper in papers.items()}
    found = {}
    for name, paper in papers.items():
        with Tell(sys.stderr) as tell:
            outcome = paper.reproduce(
                paper.default_experiments(options.scale),
                options.scale,
                directories[name].path,
                own,
                tell,
                options.jobs,
            )
        directories[name].write(options.scale, outcome)
        found[name] = everything.Found(paper.title, outcome.claims, outcome.cpu_s)
    say_all(whole, found, options.json)


def say_all(whole: everything.Report, found: Mapping[str, everything.Found], as_json: bool) -> None:
    """Writes and prints the table of all claims."""
    whole.write(found)
    if as_json:
        sys.stdout.write(output.json_text(everything.document(whole.scale, found)))
    else:
        sys.stdout.write(everything.table(found, shutil.get_terminal_size((110, 24)).columns) + "\n")
    names = f"all-{whole.scale}.md and all-{whole.scale}.json"
    print(f"written to {whole.path}: {names}", file=sys.stderr)


def experiments_of(paper: Study, only: str | None, scale: str) -> Sequence[str]:
    """The experiments that `--only` asks for; without it, those that the scale runs.

    Raises:
        ConfigError: it names neither an experiment nor a claim.
    """
    if only is None:
        return paper.default_experiments(scale)
    chosen = claims.experiments_for(only, paper.experiments, paper.statements)
    if chosen:
        return chosen
    known = [*paper.experiments, *(statement.id for statement in paper.statements)]
    place = Parser.argv.index(only) if only in Parser.argv else None
    raise pointed(Parser.argv, place, f"`{only}` is neither an experiment nor a claim",
                  one_of(tuple(paper.experiments)), nearest(only, known))  # fmt: skip


class Report(output.OutputDirectory):
    """The directory of a reproduction: claims, figures, and tables for reading."""

    def __init__(self, path: Path, paper: Study) -> None:
        pictures = [f"{name}.{kind}" for name in paper.picture_names for kind in ("png", "svg")]
        super().__init__(path, ("claims.json", "figures.json", "report.md", *pictures))
        self.paper = paper

    def write(self, scale: str, outcome: Outcome) -> None:
        """Writes everything but the runs, which are there already."""
        from ftlab.results import plot

        with self._staged() as staging:
            (staging / "claims.json").write_text(
                output.json_text(claims.document(self.paper.name, scale, outcome.claims, outcome.cpu_s)),
                encoding="utf-8",
            )
            (staging / "figures.json").write_text(output.json_text(outcome.figures), encoding="utf-8")
            (staging / "report.md").write_text(outcome.report, encoding="utf-8")
            plot.save(outcome.pictures(), staging)
