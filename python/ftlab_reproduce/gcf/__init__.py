"""GC forwarding: four ways to run channels, from a device whose user space has been written once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ftlab_reproduce.gcf import claims, drawing, tables
from ftlab_reproduce.gcf.axes import (
    BEGINS,
    BUFFERS_KIB,
    CAPTURED_NAMES,
    CHANNELS,
    FIGURE3,
    LANES,
    MAP_READINGS,
    MAPPINGS,
    PATHOLOGICAL,
    READING_NAMES,
    READINGS,
    SCALES,
    SCHEMES,
    TABLE3_WORKLOADS,
    WINDOW_MS,
    WORKLOADS,
    Evidence,
    Point,
    cache_points,
    map_points,
    plane_points,
    reading_points,
    sets,
    start_points,
    table3_point,
    table3_settings,
    trigger_points,
    turn_points,
    turned,
    weight,
)
from ftlab_reproduce.gcf.hosts import CAPTURED, CROWDED, DESKTOP, MULTIMEDIA, ONE_CHANNEL, SIX_WRITES
from ftlab_reproduce.gcf.lanes import Lane, record
from ftlab_reproduce.study import Experiment, Study, Work, grid
from ftlab_reproduce.workloads import Workload


def origin(workload: Workload) -> str:
    """Where a trace comes from."""
    if workload.name == ONE_CHANNEL.name:
        return "generated; nine writes in ten go to the first of eight channels"
    if workload.name == CROWDED.name:
        return "generated to the figures of Table 2, and fitted to Table 3"
    if workload.name == SIX_WRITES.name:
        return "the requests of Figure 2"
    if workload.kind == "generated":
        return "generated to the figures of Table 2"
    return f"writes of {workload.origin}"


def timelines(work: Work) -> Mapping[Point, list[Lane]]:
    """Records the channels of `LANES`."""
    points = (point for points in LANES.values() for point in points)
    return {point: record(work.run(point), WINDOW_MS, work.out / "timelines", work.tell) for point in points}


EXPERIMENTS = {
    "fig2": Experiment(
        "pages programmed for six requests, in step and independent",
        grid(Point, workload=[SIX_WRITES.name], scheme=("SYNC", "FI"), channels=[4], buffer_kib=[0]),
        [tables.figure2], {"fig2": drawing.figure2},
    ),
    "fig3": Experiment(
        "dirty pages of the channels over time (FI, 8 channels, 8 MiB of buffer)",
        [FIGURE3, turned(FIGURE3)],
        [tables.figure3], {"fig3": drawing.figure3},
    ),
    "fig8": Experiment(
        "IOPS by the number of channels",
        grid(Point, mapping=MAPPINGS, workload=WORKLOADS, scheme=SCHEMES, channels=CHANNELS, begin=BEGINS),
        [drawing.FIGURE8.table, drawing.FIGURE8_AT_63.table],
        {"fig8": drawing.FIGURE8.picture, "fig8-sector-63": drawing.FIGURE8_AT_63.picture},
    ),
    "fig9": Experiment(
        "channel time: host, GC and idle",
        (
            *grid(Point, mapping=MAPPINGS, workload=WORKLOADS, scheme=SCHEMES, begin=BEGINS),
            *grid(Point, mapping=MAPPINGS, workload=CAPTURED_NAMES, scheme=SCHEMES),
        ),
        [tables.figure9], {"fig9": drawing.figure9},
    ),
    "fig10": Experiment(
        "IOPS by the size of the buffer, with two-plane chips",
        grid(Point, mapping=MAPPINGS, workload=WORKLOADS, scheme=SCHEMES, planes=[2], buffer_kib=BUFFERS_KIB,
             begin=BEGINS),
        [drawing.FIGURE10.table, drawing.FIGURE10_AT_63.table],
        {"fig10": drawing.FIGURE10.picture, "fig10-sector-63": drawing.FIGURE10_AT_63.picture},
    ),
    "planes": Experiment(
        "CF on four channels of two planes and on eight channels",
        plane_points(),
        [tables.planes], {"planes": drawing.PLANES.picture},
    ),
    "map": Experiment(
        "what DFTL's cache does, from a quarter of it to all entries, and a map in DRAM",
        cache_points(),
        [tables.caches], {"map": drawing.MAPS.picture},
    ),
    "table3": Experiment(
        "IOPS of four channels, by where partitions begin and what opens a log block",
        [table3_point(s, w, *at) for s in ("SYNC", "CF") for w in TABLE3_WORKLOADS for at in table3_settings(w)],
        [tables.table3], {"table3": drawing.table3},
    ),
    "readings": Experiment(
        "what IOPS depends on: broken log blocks, order and room of the buffer, trigger, preemption, pace",
        [
            *(point for name in READING_NAMES for point in reading_points(name)),
            *(point for name in MAP_READINGS for planes in (1, 2) for point in map_points(name, planes)),
        ],
        [tables.readings, tables.map_readings], {"readings": drawing.readings},
    ),
    "turns": Experiment(
        "the claims that do not hold, under other readings one at a time, and with another Desktop",
        turn_points(),
        [tables.turns, tables.crowded],
    ),
    "starts": Experiment(
        "the claims under FAST on Desktop and Random, by what opens a log block",
        start_points(),
        [tables.starts],
    ),
    "trigger": Experiment(
        "the claims by when GCF collects: only while another channel has to, or whenever a channel is out of pages",
        trigger_points(),
        [tables.triggers],
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
    traces=lambda _: (DESKTOP, MULTIMEDIA, CROWDED, *CAPTURED, ONE_CHANNEL, SIX_WRITES),
    places=(Path("../shared/traces"), Path("traces")),
    origin=origin,
    evidence=Evidence,
    tables=[tables.both],
)
