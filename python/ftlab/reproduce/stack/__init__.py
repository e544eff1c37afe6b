"""All five papers on one modern device: each alone, each pair, and all together."""

from __future__ import annotations

from ftlab.reproduce.stack import drawing, tables
from ftlab.reproduce.stack.axes import (
    PLACES,
    SCALES,
    SEEDS,
    SUBSETS,
    WORKLOADS,
    Evidence,
    Point,
    sets,
    wanted,
    weight,
)
from ftlab.reproduce.study import Experiment, Study, grid

EXPERIMENTS = {
    name.lower(): Experiment(
        f"each alone, each pair and all five on {name}",
        grid(Point, workload=[name], members=SUBSETS, seed=SEEDS),
    )
    for name in WORKLOADS
}

STUDY = Study(
    name="stack",
    title="All five together",
    scales=SCALES,
    experiments=EXPERIMENTS,
    statements=(),
    preset=lambda _: "modern-tlc-small",
    sets=sets,
    weight=weight,
    traces=wanted,
    places=PLACES,
    evidence=Evidence,
    tables=[tables.gains, tables.interplays, tables.at_work, tables.everything],
    pictures={"together": drawing.together},
)
