"""All five papers on one modern device: each alone, each pair, and all together."""

from __future__ import annotations

from ftlab_reproduce.stack import drawing, lives, tables, today
from ftlab_reproduce.stack.axes import (
    LOADS,
    PLACES,
    SCALES,
    SEEDS,
    WORKLOADS,
    Evidence,
    Point,
    at_load,
    lived_points,
    own_points,
    preset_of,
    sets,
    todays_points,
    waits_for,
    wanted,
    weight,
)
from ftlab_reproduce.stack.bases import SUBSETS
from ftlab_reproduce.study import Experiment, Study, grid

EXPERIMENTS = {
    name.lower(): Experiment(
        f"each alone, each pair and all five on {name}, with a full queue and at half load; at full size the headline",
        grid(Point, workload=[name], members=SUBSETS, seed=SEEDS, load=LOADS),
    )
    for name in WORKLOADS
} | {
    "today": Experiment(
        "today's drive under every workload: each mechanism with a supercap, with backups and with GCMix, and what the "
        "drive has taken away; with a full queue, at half of the drive's rate, and at half of each one's own",
        todays_points(),
        tables=[today.worth],
        pictures={"today": today.bars},
    ),
    "lives": Experiment(
        "drives of both bases under every workload, written until so many blocks have failed that they take no more",
        lived_points(),
        tables=[lives.told],
        pictures={"lives": lives.bars},
    ),
    "own": Experiment(
        "the papers' base under every workload at half of each one's own rate",
        own_points(),
    ),
}

STUDY = Study(
    name="stack",
    title="All five together",
    scales=SCALES,
    experiments=EXPERIMENTS,
    statements=(),
    preset=preset_of,
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
