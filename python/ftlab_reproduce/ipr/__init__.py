"""Read disturb: refreshes, shadow blocks, and blocks of low density by in-place reprogramming."""

from __future__ import annotations

from pathlib import Path

from ftlab_reproduce.ipr import claims, drawing, tables
from ftlab_reproduce.ipr.axes import (
    AT_ONCE,
    AVERAGE,
    DEBT,
    EVICTED,
    FULL,
    GAINING,
    POOL_FULL,
    QUOTAS,
    READ_ONLY,
    RECENT,
    RESTARTS,
    SCALES,
    SHARED,
    SPARE,
    SWAPS,
    SYSTEMS,
    TIMED,
    Evidence,
    Point,
    sets,
    weight,
)
from ftlab_reproduce.ipr.hosts import (
    BOUND,
    DOMINATED,
    EVEN,
    EXCERPT_NAMES,
    HALF,
    NAMES,
    ONE_PAGE,
    REGIONAL,
    REGIONS,
    VARIED,
    variant,
    wanted,
)
from ftlab_reproduce.study import Experiment, Study, grid
from ftlab_reproduce.workloads import Workload

DENSE = ("Baseline", "HotLD", "IPR")

CONCERNED = {
    SHARED: tuple(SYSTEMS),
    GAINING: ("IPR",),
    **dict.fromkeys(RECENT, ("IPR",)),
    **dict.fromkeys(SWAPS, DENSE),
    POOL_FULL: DENSE,
    FULL: ("RedFTL", "RL", "HotLD", "IPR"),
    EVICTED: ("RL", "HotLD", "IPR"),
    AVERAGE: ("RL", "HotLD", "IPR"),
    DEBT: DENSE,
    RESTARTS: ("IPR",),
    AT_ONCE: ("IPR",),
    SPARE: tuple(SYSTEMS),
}
"""The methods that a reading can change."""


def _readings() -> list[Point]:
    points = grid(Point, workload=tables.READ_ON, system=SYSTEMS)
    return [
        *points,
        *(Point(name, s, r) for r, systems in CONCERNED.items() for name in tables.READ_ON for s in systems),
        *grid(Point, workload=[variant(name, ONE_PAGE) for name in VARIED], system=DENSE),
    ]


def origin(workload: Workload) -> str:
    """Where a trace comes from."""
    made = "generated to the figures of Table II"
    return made if workload.kind == "generated" else f"{workload.origin}; reads and writes, in rounds"


EXPERIMENTS = {
    "fig2": Experiment(
        "what part of the erases is for refreshes",
        grid(Point, workload=(*NAMES, *EXCERPT_NAMES), system=["Baseline"]),
        [tables.figure2], {"fig2": drawing.figure2},
    ),
    "fig9a": Experiment(
        "erases for the host and for refreshes of the five methods",
        grid(Point, workload=NAMES, system=SYSTEMS),
        [tables.figure9a, tables.mechanisms, tables.leveling], {"fig9a": drawing.figure9a},
    ),
    "fig9b": Experiment(
        "how much low-density blocks had used at their erase",
        grid(Point, workload=NAMES, system=["IPR"]),
        [tables.figure9b], {"fig9b": drawing.figure9b},
    ),
    "fig10": Experiment(
        "response times of reads on Websearch",
        grid(Point, workload=["Websearch"], system=SYSTEMS, setting=[TIMED]),
        [tables.figure10], {"fig10": drawing.figure10},
    ),
    "fig11": Experiment(
        "real and effective P/E cycles of every block on Websearch",
        [Point("Websearch", "IPR")],
        [tables.figure11], {"fig11": drawing.figure11},
    ),
    "skew": Experiment(
        "reads that are concentrated, by half, and not at all",
        grid(Point, workload=[n for name in VARIED for n in (name, variant(name, HALF), variant(name, EVEN))],
             system=DENSE),
        [tables.skew],
    ),
    "regions": Experiment(
        "how large the regions are that most reads go to",
        grid(Point, workload=[REGIONAL, *(variant(REGIONAL, kind) for kind in REGIONS)], system=SYSTEMS),
        [tables.regions],
    ),
    "leveling": Experiment(
        "wear leveling that moves cold data to worn blocks, after any erase",
        grid(Point, workload=DOMINATED, system=tables.LEVELED, setting=tables.LEVELINGS),
        [tables.levelings],
    ),
    "recent": Experiment(
        "how long a block counts as recently involved in wear leveling",
        [*grid(Point, workload=DOMINATED, system=["IPR"], setting=("", *RECENT)),
         *grid(Point, workload=tables.SWAPPED_ON, system=["IPR"], setting=tables.SWAPPED_WITH)],
        [tables.recency],
    ),
    "real": Experiment(
        "real traces beside the paper's",
        grid(Point, workload=EXCERPT_NAMES, system=SYSTEMS),
        [tables.real],
    ),
    "quota": Experiment(
        "quotas of low-density blocks",
        [*grid(Point, workload=(*VARIED, *BOUND), system=("HotLD", "IPR"), setting=("", *QUOTAS)),
         *grid(Point, workload=(*VARIED, *BOUND), system=["Baseline"])],
        [tables.quotas], {"quota": drawing.quotas},
    ),
    "readings": Experiment("what was settled on, and the other", _readings(), [tables.readings]),
    "closed": Experiment(
        "closed forms: refreshes of a device that is only read, memory",
        [Point(READ_ONLY, "Baseline")],
        [tables.closed_forms], {}, lambda _: claims.dram(128 * 2**30),
    ),
}  # fmt: skip

STUDY = Study(
    name="ipr",
    title="Read disturb and IPR",
    scales=SCALES,
    experiments=EXPERIMENTS,
    statements=tuple(claims.statements()),
    preset=lambda _: "ipr",
    sets=sets,
    weight=weight,
    traces=lambda scale: wanted(scale.user_blocks),
    places=(Path("../shared/traces"), Path("../shared/traces/captured")),
    origin=origin,
    evidence=Evidence,
    tables=[tables.unsettled],
)
