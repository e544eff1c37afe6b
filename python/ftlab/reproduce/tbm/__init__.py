"""Twin block management: {F, D, F2} × {base, TBM} × {PAC, BAC} from a pristine drive to ten capacities written."""

from __future__ import annotations

from pathlib import Path

from ftlab import text
from ftlab.reproduce.claims import Claim
from ftlab.reproduce.study import Experiment, Study, grid
from ftlab.reproduce.tbm import claims, drawing, tables
from ftlab.reproduce.tbm.axes import (
    ALLOCATIONS,
    AXES,
    FRONTIER_WORKLOADS,
    NO_PAD,
    PACE_WORKLOAD,
    PACES,
    REPLAYS,
    SCALES,
    TWO_FRONTIERS,
    Evidence,
    Point,
    sets,
    weight,
)
from ftlab.reproduce.tbm.traces import (
    EXTRA_NAMES,
    EXTRAS,
    PAPER_NAMES,
    SERIES_WORKLOAD,
    VARIANT_NAMES,
    VARIANTS,
    WORKLOADS,
)
from ftlab.reproduce.workloads import Workload

BOTH = (False, True)
BASE_AND_TBM = {"allocation": ALLOCATIONS, "tbm": BOTH}


def origin(workload: Workload) -> str:
    """Where a trace comes from."""
    return "generated to the table's figures" if workload.kind == "generated" else workload.origin


def measured(claim: Claim) -> str:
    """A claim's figure with its unit."""
    return text.ABSENT if claim.measured is None else f"{claim.measured:.1f} {claim.unit}"


EXPERIMENTS = {
    "series": Experiment(
        "Figures 2 and 6: response time, GC rate and multi-plane shares over the volume written",
        grid(Point, replay=REPLAYS, workload=[SERIES_WORKLOAD], **BASE_AND_TBM, bac=BOTH),
    ),
    "bars": Experiment(
        "Figure 7: IOPS, response time, GC cost and GC count on every workload, TBM beside the base",
        grid(Point, replay=REPLAYS, workload=PAPER_NAMES, **BASE_AND_TBM, bac=[False]),
    ),
    "bac": Experiment(
        "whether equal block addresses are asked for",
        grid(Point, replay=["closed"], workload=PAPER_NAMES, **BASE_AND_TBM, bac=BOTH),
    ),
    "data": Experiment(
        "how much depends on the share of the drive that holds data",
        grid(Point, replay=["closed"], workload=VARIANT_NAMES, **BASE_AND_TBM, bac=[False]),
    ),
    "frontiers": Experiment(
        "where moved pages go: the host's frontier or one of their own, with and without dummy pages",
        [
            Point(name, allocation, tbm, False, "closed", setting)
            for name in FRONTIER_WORKLOADS for allocation in ALLOCATIONS
            for tbm, setting in ((False, ""), (True, ""), (False, TWO_FRONTIERS), (True, NO_PAD))
        ],
    ),
    "pace": Experiment(
        "the open loop at more than the trace's own pace",
        grid(Point, replay=["open"], workload=[PACE_WORKLOAD], setting=["", *PACES], **BASE_AND_TBM, bac=[False]),
    ),
    "extra": Experiment(
        "Figure 7's bars on real traces that are not the paper's",
        grid(Point, replay=["closed"], workload=EXTRA_NAMES, **BASE_AND_TBM, bac=[False]),
    ),
}  # fmt: skip

PICTURES = {
    f"{name}-{replay}": draw
    for replay in REPLAYS
    for name, draw in {
        "figure2": drawing.series(False, replay),
        "figure6": drawing.series(True, replay),
        "figure7": drawing.bars(drawing.paper_workloads, replay),
        "data": drawing.bars(drawing.data_workloads, replay),
        "extra": drawing.bars(drawing.extra_workloads, replay),
    }.items()
}

STUDY = Study(
    name="tbm",
    title="TBM",
    scales=SCALES,
    experiments=EXPERIMENTS,
    statements=tuple(claims.statements()),
    preset=lambda _: "tbm",
    sets=sets,
    axes=AXES,
    weight=weight,
    traces=lambda _: (*WORKLOADS, *VARIANTS, *EXTRAS),
    places=(Path("traces"), Path("../shared/traces")),
    origin=origin,
    evidence=Evidence,
    tables=[tables.long_term_figures],
    pictures={**PICTURES, "frontiers-closed": drawing.frontiers},
    measured=measured,
    lists_all=True,
)
