"""All five papers on one modern device: each alone, each pair, and all together."""

from __future__ import annotations

from ftlab_reproduce.stack import drawing, tables
from ftlab_reproduce.stack.axes import (
    LOADS,
    PLACES,
    SCALES,
    SEEDS,
    SUBSETS,
    WORKLOADS,
    Evidence,
    Point,
    at_load,
    sets,
    waits_for,
    wanted,
    weight,
)
from ftlab_reproduce.study import Experiment, Study, grid

EXPERIMENTS = {
    name.lower(): Experiment(
        f"each alone, each pair and all five on {name}, with a full queue and at half load; at full size the headline",
        grid(Point, workload=[name], members=SUBSETS, seed=SEEDS, load=LOADS),
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
    waits_for=waits_for,
    sets_after=at_load,
    weight=weight,
    traces=wanted,
    places=PLACES,
    evidence=Evidence,
    tables=[tables.gains, tables.interplays, tables.at_work, tables.everything],
    pictures={"together": drawing.together, "steps": drawing.steps},
)
