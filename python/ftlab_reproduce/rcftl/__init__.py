"""rcFTL: off-chip copies, FastGC and restricted copybacks on blocks of six ages."""

from __future__ import annotations

from pathlib import Path

from ftlab._core import RunError
from ftlab_reproduce.rcftl import claims, drawing, model, tables
from ftlab_reproduce.rcftl.axes import (
    AGES,
    ALL_CHIPS,
    APART,
    COUNTERS,
    DRAMS,
    FEW_BLOCKS,
    FILLS,
    LEVELED,
    MIDDLE,
    MONTHS,
    OLD,
    READINGS,
    SCALES,
    SYSTEMS,
    VOLUME,
    YOUNG,
    Evidence,
    Point,
    sets,
    weight,
)
from ftlab_reproduce.rcftl.hosts import CAPTURED, FIO, FIO_MODELS, GENERATED_NAMES, HOSTS
from ftlab_reproduce.study import Experiment, Study, Work, grid
from ftlab_reproduce.workloads import Workload

BASES = grid(Point, workload=HOSTS, system=["base"])
THREE = (YOUNG, MIDDLE, OLD)


def _short(names: list[str], settings: list[str]) -> list[Point]:
    """The runs that show what a reading changes."""
    runs = (("base", YOUNG), ("FastGC", YOUNG), ("rcFTL", YOUNG), ("rcFTL", OLD))
    return [
        Point(name, system, age, setting) for setting in settings for name in names for system, age in runs
    ]


def ends(work: Work) -> dict[str, float]:
    """By age, after how many user capacities copybacks without a limit end in an error that ECC cannot correct."""
    return {AGES[age]: _end(work, Point("OLTP", "copyback", age)) for age in THREE}


def _end(work: Work, point: Point) -> float:
    work.tell.note(f"searching the end of {point.label}")
    low, high = 0, 1024 * VOLUME
    while high - low > 4:
        middle = (low + high) // 2
        job = work.study.run(point, None, SCALES["quick"])
        settings = {**job.sets, "workload.volume": f"{middle / 1024:.6f}x"}
        try:
            type(job)(job.label, job.preset, settings).job().run(lambda _: None)
        except RunError as error:
            if "uncorrectable" not in str(error):
                raise
            high = middle
        else:
            low = middle
    return high / 1024 if high < 1024 * VOLUME else float("nan")


def origin(workload: Workload) -> str:
    """Where a trace comes from."""
    if workload.name in FIO_MODELS:
        return f"generated; {100 * FIO_MODELS[workload.name].burst:.0f} % of the writes come in bursts"
    return f"{workload.origin}; reads and writes, in rounds"


EXPERIMENTS = {
    "model": Experiment(
        "Table I, Figures 1 and 2 as the model draws them, and the memory of quotas", [],
        [model.table1, model.memory], {"fig1": model.figure1, "fig2": model.figure2},
        lambda _: model.quota_bytes(**model.EXAMPLE),
    ),
    "fig6a": Experiment(
        "throughput of FastGC and rcFTL over the base, at six ages",
        [*BASES, *grid(Point, workload=HOSTS, system=("FastGC", "rcFTL"), age=AGES)],
        [tables.base, tables.throughput, tables.copybacks, tables.idle], {"fig6a": drawing.figure6a},
    ),
    "fig6b": Experiment(
        "what awareness of quality, quotas by block and the selector add, in both orders",
        grid(Point, workload=HOSTS, system=tables.STEPS, age=(YOUNG, OLD)),
        [tables.steps], {"fig6b": drawing.figure6b},
    ),
    "fig7a": Experiment(
        "WAF with quotas by page and by block",
        [*BASES, *grid(Point, workload=HOSTS, system=("FastGC", "rcFTL"), age=THREE),
         *grid(Point, workload=HOSTS, system=["FastGC"], age=THREE, setting=[COUNTERS])],
        [tables.wafs], {"fig7a": drawing.figure7a},
    ),
    "fig7b": Experiment(
        "the selector at three intensities",
        grid(Point, workload=FIO_MODELS, system=("rcFTL-", "rcFTL"), age=THREE),
        [tables.selector], {"fig7b": drawing.figure7b},
    ),
    "dram": Experiment(
        "the one constant: the bandwidth of the DRAM port",
        _short(list(GENERATED_NAMES), ["", *DRAMS]), [tables.dram], {"dram": drawing.dram},
    ),
    "readings": Experiment(
        "copies apart from host writes; counters in flash; fewer, larger blocks; all chips",
        [*_short(list(HOSTS), ["", APART]), *_short(list(GENERATED_NAMES), [FEW_BLOCKS]),
         *_short(["NTRX"], [ALL_CHIPS])],
        [tables.readings],
    ),
    "aside": Experiment(
        "both retentions of Table I; quotas under wear leveling; the selector's threshold",
        [*grid(Point, workload=["OLTP"], system=["rcFTL"], age=THREE, setting=("", MONTHS)),
         Point("OLTP", "rcFTL", OLD, LEVELED),
         Point("Low", "rcFTL-", OLD),
         *grid(Point, workload=["Low"], system=["rcFTL"], age=[OLD], setting=("", *FILLS))],
        [tables.retentions, tables.fills],
    ),
    "errors": Experiment(
        "after how much unrestricted copybacks lose data; the greatest error of the other runs",
        grid(Point, workload=GENERATED_NAMES, system=claims.RESTRICTED),
        [tables.greatest_errors], {}, ends,
    ),
}  # fmt: skip

STUDY = Study(
    name="rcftl",
    title="rcFTL",
    scales=SCALES,
    experiments=EXPERIMENTS,
    statements=tuple(claims.statements()),
    preset=lambda _: "rcftl",
    sets=sets,
    axes={"system": SYSTEMS, "setting": READINGS},
    weight=weight,
    traces=lambda _: (*CAPTURED, *FIO),
    places=(Path("../shared/traces/captured"),),
    origin=origin,
    evidence=Evidence,
    tables=[tables.verdicts],
)
