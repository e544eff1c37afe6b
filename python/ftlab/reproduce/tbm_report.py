"""The TBM paper's runs, and what is told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ftlab import text
from ftlab.reproduce import claims, tbm, workloads
from ftlab.reproduce.experiment import Grid, Tell
from ftlab.reproduce.paper import Paper
from ftlab.reproduce.study import Outcome
from ftlab.reproduce.tbm import Evidence, Point
from ftlab.reproduce.workloads import Library, Workload
from ftlab.result import Result

PICTURES = ("figure2", "figure6", "figure7", "data", "extra", "frontiers")


def reproduce(
    experiments: Sequence[str], scale: str, out: Path, own: Path | None, tell: Tell | None = None,
    jobs: int | None = None,
) -> Outcome:  # fmt: skip
    """Runs experiments and judges the claims."""
    evidence = gather(experiments, scale, out, own, tell, jobs)
    found = tbm.judged(evidence, experiments)

    def pictures() -> Mapping[str, Any]:
        from ftlab.reproduce import drawing

        return drawing.figures(evidence)

    return Outcome(
        found,
        workloads.table(list(evidence.workloads.values())),
        report(scale, evidence, found),
        figures(evidence),
        pictures,
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


PAPER = Paper(
    tbm.PAPER,
    tuple(tbm.SCALES),
    tbm.EXPERIMENTS,
    tbm.STATEMENTS,
    [f"{name}-{replay}" for name in PICTURES for replay in tbm.REPLAYS],
    reproduce,
)
