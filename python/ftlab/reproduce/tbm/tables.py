"""The table of the TBM report, from a grid's results."""

from __future__ import annotations

from ftlab import text
from ftlab.reproduce.tbm.axes import Evidence, Point, long_term

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


def long_term_figures(evidence: Evidence) -> list[str]:
    """The figures of every run."""
    return [
        "## Long-term figures",
        "",
        "Each over the second half of what the run wrote; *written* is the whole of it, in user capacities.",
        "",
        "| workload | loop | run | " + " | ".join(COLUMNS) + " |",
        "|---|---|---|" + "---:|" * len(COLUMNS),
        *(
            f"| {point.workload} | {point.replay} | {point.config} | {' | '.join(_cells(evidence, point))} |"
            for point in evidence.results
        ),
    ]


def _cells(evidence: Evidence, point: Point) -> list[str]:
    result, w = evidence.results[point], evidence.at(point)
    others = (
        w.gc_cost, w.gc_cost_per_block, 100 * w.multiplane_writes, 100 * w.multiplane_reads, result.summary["waf"]
    )  # fmt: skip
    return [
        f"{long_term(result)[1]:.3g}",
        text.count(w.iops),
        text.figure(_known(w.response_us / 1e3)),
        text.count(w.gc_count),
        *(text.figure(_known(value)) for value in others),
    ]


def _known(value: float | None) -> float | None:
    return None if value != value else value
