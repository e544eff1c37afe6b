"""Twin block management: {F, D, F2} × {base, TBM} × {PAC, BAC}, from a pristine drive to ten capacities written, and
from a drive that was used before.
"""

from __future__ import annotations

from pathlib import Path

from ftlab.results import text
from ftlab_reproduce.claims import Claim
from ftlab_reproduce.study import Experiment, Study, grid
from ftlab_reproduce.tbm import claims, drawing, tables
from ftlab_reproduce.tbm.axes import (
    ALLOCATIONS,
    AXES,
    FIGURE7,
    FINER_LOADS,
    FRONTIER_WORKLOADS,
    FULL,
    LETTER_QUEUED,
    LOAD_WORKLOAD,
    LOADS,
    NO_PAD,
    OWN_PACE,
    QUEUED,
    RATED,
    READS_WAIT,
    SCALES,
    SINGLE,
    STATED_LOAD,
    TO_THE_LETTER,
    TWO_FRONTIERS,
    WAITS,
    WAITS_AT_PACE,
    Evidence,
    Point,
    at_load,
    sets,
    waits_for,
    weight,
)
from ftlab_reproduce.tbm.traces import (
    DATA_NAMES,
    EXTRA_NAMES,
    EXTRAS,
    LEAST_DATA,
    LONGER_NAMES,
    LOSING,
    MOVING_NAMES,
    PAPER_NAMES,
    SERIES_WORKLOAD,
    SIZED_NAMES,
    VARIANTS,
    WORKLOADS,
)
from ftlab_reproduce.workloads import Workload

BOTH = (False, True)


def origin(workload: Workload) -> str:
    """Where a trace comes from."""
    return "generated to the table's figures" if workload.kind == "generated" else workload.origin


def measured(claim: Claim) -> str:
    """A claim's figure with its unit."""
    return text.ABSENT if claim.measured is None else f"{claim.measured:.1f} {claim.unit}"


EXPERIMENTS = {
    "series": Experiment(
        "Figures 2 and 6: response time, GC rate and multi-plane shares over the volume written, from a pristine drive",
        grid(Point, workload=[SERIES_WORKLOAD], allocation=["F", "D"], tbm=BOTH, bac=BOTH, worn=[False]),
        [], {"figure2": drawing.series(False), "figure6": drawing.series(True)},
    ),
    "bars": Experiment(
        "Figure 7: IOPS, response time, GC cost and GC count on every workload, TBM beside the base, from a worn drive",
        grid(Point, workload=PAPER_NAMES, allocation=ALLOCATIONS, tbm=BOTH, setting=[FIGURE7]),
        [tables.gains], {"figure7": drawing.bars(drawing.paper_workloads)},
    ),
    "bac": Experiment(
        "whether equal block addresses are asked for",
        grid(Point, workload=PAPER_NAMES, allocation=ALLOCATIONS, tbm=BOTH, bac=BOTH, setting=[FIGURE7]),
    ),
    "load": Experiment(
        "an open loop: at the trace's own pace, and at parts of what the saturated base serves",
        grid(Point, workload=[LOAD_WORKLOAD], allocation=ALLOCATIONS, tbm=BOTH, setting=[FIGURE7, OWN_PACE, *LOADS]),
        [tables.loads], {"load": drawing.loads},
    ),
    "moving": Experiment(
        "what collections cost where pages move",
        grid(Point, workload=[*PAPER_NAMES, *MOVING_NAMES], allocation=["D"], tbm=BOTH, setting=[FIGURE7]),
        [tables.costs],
    ),
    "full": Experiment(
        "a drive that is full, whose collections move many pages",
        grid(Point, workload=[SERIES_WORKLOAD], allocation=["D"], tbm=BOTH, setting=[FULL]),
        [tables.full],
    ),
    "waits": Experiment(
        "what requests wait for",
        [*grid(Point, workload=[SERIES_WORKLOAD], allocation=["D"], tbm=BOTH, setting=[WAITS]),
         *grid(Point, workload=("prn-0", "prn-1"), allocation=["D"], tbm=BOTH, setting=[WAITS_AT_PACE])],
        [tables.waits],
    ),
    "together": Experiment(
        "Figure 7 with two lone pages moved at once, and reads that pass between copies",
        grid(Point, workload=PAPER_NAMES, allocation=ALLOCATIONS, tbm=BOTH),
        [tables.gathered],
    ),
    "loss": Experiment(
        "the workloads on which the paper reports a loss, with lone pages moved together or alone, and reads that wait",
        [
            *grid(Point, workload=[*LOSING, *LONGER_NAMES.values()], allocation=["D"], tbm=BOTH,
                  setting=["", READS_WAIT, TO_THE_LETTER]),
            *grid(Point, workload=LONGER_NAMES.values(), allocation=["D"], tbm=[True], setting=[SINGLE]),
        ],
        [tables.losses],
    ),
    "data": Experiment(
        "what a drive loses by moving pages, and by having been used",
        [
            *grid(Point, workload=[*DATA_NAMES, SERIES_WORKLOAD], allocation=["D"], tbm=BOTH, worn=[False]),
            *grid(Point, workload=[LEAST_DATA], allocation=["D"], tbm=[False], bac=[True], worn=[False]),
            *grid(Point, workload=[LEAST_DATA, SERIES_WORKLOAD], allocation=["D"], tbm=BOTH),
        ],
        [tables.amounts],
    ),
    "frontiers": Experiment(
        "where moved pages go: the host's frontier or one of their own, with and without dummy pages",
        [
            Point(name, allocation, tbm, False, False, setting)
            for name in FRONTIER_WORKLOADS for allocation in ("D", "F2")
            for tbm, setting in ((False, ""), (True, ""), (False, TWO_FRONTIERS), (True, NO_PAD))
        ],
        [], {"frontiers": drawing.frontiers},
    ),
    "turns": Experiment(
        "what brings the figures that miss to the paper's: requests in the device, channels, sizes",
        [
            *grid(Point, workload=[SERIES_WORKLOAD], allocation=["D", "F2"], tbm=BOTH, setting=["", *QUEUED, *RATED]),
            *grid(Point, workload=SIZED_NAMES, allocation=["D", "F2"], tbm=BOTH),
            *grid(Point, workload=LONGER_NAMES.values(), allocation=["D"], tbm=BOTH,
                  setting=[TO_THE_LETTER, *LETTER_QUEUED]),
        ],
        [tables.bounded, tables.losses_by_queue],
    ),
    "finer": Experiment(
        "what TBM saves of F's response time at more loads",
        grid(Point, workload=[LOAD_WORKLOAD], allocation=["F"], tbm=BOTH, setting=[STATED_LOAD, *FINER_LOADS]),
        [tables.finer_loads],
    ),
    "extra": Experiment(
        "Figure 7's bars on real traces that are not the paper's",
        grid(Point, workload=EXTRA_NAMES, allocation=ALLOCATIONS, tbm=BOTH, setting=[FIGURE7]),
        [], {"extra": drawing.bars(drawing.extra_workloads)},
    ),
}  # fmt: skip

STUDY = Study(
    name="tbm",
    title="TBM",
    scales=SCALES,
    experiments=EXPERIMENTS,
    statements=tuple(claims.statements()),
    preset=lambda _: "tbm",
    sets=sets,
    waits_for=waits_for,
    sets_after=at_load,
    axes=AXES,
    weight=weight,
    traces=lambda _: (*WORKLOADS, *VARIANTS, *EXTRAS),
    places=(Path("traces"), Path("../shared/traces")),
    origin=origin,
    evidence=Evidence,
    tables=[tables.long_term_figures],
    measured=measured,
    lists_all=True,
)
