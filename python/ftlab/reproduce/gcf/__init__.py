"""GC forwarding: four ways to run channels, from a device whose user space has been written once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ftlab.reproduce.gcf import claims, drawing, tables
from ftlab.reproduce.gcf.axes import (
    BUFFERS_KIB,
    CAPTURED_NAMES,
    CHANNELS,
    FIGURE3,
    LANES,
    MAPPINGS,
    PATHOLOGICAL,
    READING_NAMES,
    READINGS,
    SCALES,
    SCHEMES,
    TABLE3,
    WINDOW_MS,
    WORKLOADS,
    Evidence,
    Point,
    reading_points,
    sets,
    table3_point,
    table3_settings,
    weight,
)
from ftlab.reproduce.gcf.hosts import CAPTURED, DESKTOP, MULTIMEDIA, ONE_CHANNEL
from ftlab.reproduce.gcf.lanes import Lane, record
from ftlab.reproduce.study import Experiment, Study, Work, grid
from ftlab.reproduce.workloads import Workload


def origin(workload: Workload) -> str:
    """Where a trace comes from."""
    if workload.name == ONE_CHANNEL.name:
        return "generated; nine writes in ten go to the first of eight channels"
    if workload.kind == "generated":
        return "generated to the figures of Table 2"
    return f"writes of {workload.origin}"


def timelines(work: Work) -> Mapping[Point, list[Lane]]:
    """Records the channels of `LANES`."""
    points = (point for points in LANES.values() for point in points)
    return {point: record(work.run(point), WINDOW_MS, work.out / "timelines", work.tell) for point in points}


EXPERIMENTS = {
    "fig3": Experiment(
        "dirty pages of the channels over time (FI, 8 channels, 8 MiB of buffer)",
        [FIGURE3],
        [tables.figure3], {"fig3": drawing.figure3},
    ),
    "fig8": Experiment(
        "IOPS by the number of channels",
        grid(Point, mapping=MAPPINGS, workload=WORKLOADS, scheme=SCHEMES, channels=CHANNELS),
        [drawing.FIGURE8.table], {"fig8": drawing.FIGURE8.picture},
    ),
    "fig9": Experiment(
        "channel time: host, GC and idle",
        grid(Point, mapping=MAPPINGS, workload=(*WORKLOADS, *CAPTURED_NAMES), scheme=SCHEMES),
        [tables.figure9], {"fig9": drawing.figure9},
    ),
    "fig10": Experiment(
        "IOPS by the size of the buffer, with two-plane chips",
        grid(Point, mapping=MAPPINGS, workload=WORKLOADS, scheme=SCHEMES, planes=[2], buffer_kib=BUFFERS_KIB),
        [drawing.FIGURE10.table], {"fig10": drawing.FIGURE10.picture},
    ),
    "table3": Experiment(
        "IOPS of four channels, by where partitions begin and what opens a log block",
        [table3_point(s, w, setting) for s, w in TABLE3 for setting in table3_settings(w)],
        [tables.table3], {"table3": drawing.table3},
    ),
    "readings": Experiment(
        "what IOPS depends on: broken log blocks, order and room of the buffer, trigger, preemption",
        [point for name in READING_NAMES for point in reading_points(name)],
        [tables.readings], {"readings": drawing.readings},
    ),
    "pathological": Experiment(
        "a workload that writes to one channel, with and without N_s",
        PATHOLOGICAL,
        [tables.pathological], {"pathological": drawing.pathological},
    ),
    "timelines": Experiment(
        "what every channel does over the same four seconds, and over the same tenth of a second",
        [],
        [tables.timelines], {"timelines": drawing.timelines, "moments": drawing.moments}, timelines,
    ),
}  # fmt: skip

STUDY = Study(
    name="gcf",
    title="GC forwarding",
    scales=SCALES,
    experiments=EXPERIMENTS,
    statements=tuple(claims.statements()),
    preset=lambda point: f"gcf-{point.scheme.lower()}",
    sets=sets,
    axes={"setting": {name: reading.sets for name, reading in READINGS.items()}},
    weight=weight,
    traces=lambda _: (DESKTOP, MULTIMEDIA, *CAPTURED, ONE_CHANNEL),
    places=(Path("../shared/traces"), Path("traces")),
    origin=origin,
    evidence=Evidence,
)
