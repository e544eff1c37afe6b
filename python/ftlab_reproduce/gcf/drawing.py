"""The GC-forwarding paper's figures, from a grid's results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ftlab.results.drawing import CAUSE_COLOURS, COLOURS, KIND_COLOURS
from ftlab_reproduce.charts import Lines
from ftlab_reproduce.gcf.axes import (
    BEGINS,
    BUFFER_NAMES,
    BUFFERS_KIB,
    CACHES,
    CHANNELS,
    FIGURE3,
    LANES,
    MAPPINGS,
    MOMENT_MS,
    PAGE_MAP,
    PATHOLOGICAL,
    READING_NAMES,
    READINGS,
    SCHEMES,
    SECTOR_63,
    TABLE3_WORKLOADS,
    WINDOW_MS,
    WORKLOADS,
    Evidence,
    Point,
    dirty_pages,
    erases_by_channel,
    published,
    reading_points,
    settled_on,
    table3_point,
    table3_settings,
)
from ftlab_reproduce.gcf.hosts import SIX_WRITES
from ftlab_reproduce.gcf.lanes import PARTS as CLASSES
from ftlab_reproduce.panels import GREY, dress, legend, sheet, side_by_side

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ftlab_reproduce.gcf.lanes import Lane

COLOUR = dict(zip(SCHEMES, (COLOURS[7], *COLOURS[:3]), strict=True))
MARKS = dict(zip(SCHEMES, "sovD", strict=True))

BY_MAPPING: dict[str, Any] = {
    "panels": [[(mapping, workload) for workload in WORKLOADS] for mapping in MAPPINGS],
    "named": lambda evidence, panel: f"{panel[0]}, {evidence.named(panel[1])}",
    "series": SCHEMES,
    "head": ("mapping, workload", "channels are"),
    "unit": "IOPS",
    "colours": COLOUR,
    "marks": tuple(MARKS.values()),
}
FIGURE8 = Lines(
    title="Figure 8: IOPS by channels, 32 KiB of buffer",
    value=lambda evidence, panel, scheme, c: evidence.iops(panel[1], scheme, panel[0], c),
    along={str(c): c for c in CHANNELS},
    columns=[f"{c} channel{'s' * (c > 1)}" for c in CHANNELS],
    axis="channels",
    **BY_MAPPING,
)
FIGURE10 = Lines(
    title="Figure 10: IOPS by buffer, 8 channels x 2 planes",
    value=lambda evidence, panel, scheme, size: evidence.iops(panel[1], scheme, panel[0], 8, 2, size),
    along=dict(zip(BUFFER_NAMES, BUFFERS_KIB, strict=True)),
    axis="write buffer",
    **BY_MAPPING,
)

FIGURE8_AT_63 = replace(
    FIGURE8,
    title="Figure 8 at sector 63",
    value=lambda evidence, panel, scheme, c: evidence.iops(panel[1], scheme, panel[0], c, begin=SECTOR_63),
)
FIGURE10_AT_63 = replace(
    FIGURE10,
    title="Figure 10 at sector 63",
    value=lambda evidence, panel, scheme, size: evidence.iops(
        panel[1], scheme, panel[0], 8, 2, size, begin=SECTOR_63
    ),
)
MAPS = Lines(
    title="IOPS by where the map is",
    panels=[[8, 1]],
    named=lambda _, channels: f"Random, {channels} channel{'s' * (channels > 1)}",
    value=lambda evidence, channels, scheme, at: evidence.iops(
        "Random", scheme, at[0], channels, setting=at[1]
    ),
    series=SCHEMES,
    along={**{f"{name or 'settled on'}": ("DFTL", name) for name in CACHES}, PAGE_MAP: (PAGE_MAP, "")},
    head=("channels", "channels are"),
    axis="the map",
    unit="IOPS",
    colours=COLOUR,
    marks=tuple(MARKS.values()),
)
SHAPES = {"4 channels x 2 planes": (4, 2), "8 channels": (8, 1)}
PLANES = Lines(
    title="CF by channels and planes",
    panels=[[(mapping, begin) for begin in BEGINS] for mapping in MAPPINGS],
    named=lambda _, panel: ", ".join(panel),
    value=lambda evidence, panel, shape, workload: evidence.iops(
        workload, "CF", panel[0], *SHAPES[shape], begin=panel[1]
    ),
    series=("4 channels x 2 planes", "8 channels"),
    along={workload: workload for workload in WORKLOADS},
    head=("mapping, partition", "device"),
    axis="workload",
    unit="IOPS",
)

PARTS = {"host": CAUSE_COLOURS["host"], "gc": CAUSE_COLOURS["gc"], "idle": KIND_COLOURS["idle"]}
OPERATIONS = {
    (part, kind): colour
    for part, colours in {
        "host": ("#8fc1e3", CAUSE_COLOURS["host"], "#1b1b1b"),
        "gc": ("#f6c39c", CAUSE_COLOURS["gc"], "#1b1b1b"),
        "map": ("#8fd9c1", CAUSE_COLOURS["mapping"], "#1b1b1b"),
    }.items()
    for kind, colour in zip(("read", "program", "erase"), colours, strict=True)
}
"""By class and kind: reads are paler than programs."""

WORDS = {"host": "host", "gc": "GC", "idle": "idle"}


def figure2(evidence: Evidence) -> Figure:
    figure, ((panel,),) = sheet(6, 3.2)
    points = {s: Point(SIX_WRITES.name, s, channels=4, buffer_kib=0) for s in ("SYNC", "FI")}
    host = [evidence.figure(point, "host_programs") for point in points.values()]
    every = [evidence.figure(point, "programs") for point in points.values()]
    panel.bar(list(points), every, 0.6, color=GREY, label="unmodified pages")
    panel.bar(list(points), host, 0.6, color=PARTS["host"], label="pages of the host")
    panel.set_ylabel("pages programmed")
    dress(panel, "Six requests that modify twelve pages, four channels")
    legend(figure, panel)
    return figure


def figure3(evidence: Evidence) -> Figure:
    flushed, pages = dirty_pages(evidence.results[FIGURE3])
    batches = flushed / pages.shape[1] / 1e3
    figure, ((panel,),) = sheet(9, 4.2)
    for column in pages.T:
        panel.plot(batches, column, color="#cccccc", linewidth=0.8)
    # The two that most clearly take turns.
    against = np.corrcoef(pages.T)
    a, b = np.unravel_index(int(np.nanargmin(against)), against.shape)
    for name, channel, colour in (("a", a, COLOURS[0]), ("b", b, COLOURS[1])):
        panel.plot(
            batches, pages[:, channel], color=colour, linewidth=1.5, label=f"channel {name} ({channel})"
        )
    panel.plot([], [], color="#cccccc", label="the other six")
    panel.set_xlabel("batches of 8 pages flushed (thousands)")
    panel.set_ylabel("dirty pages")
    panel.set_ylim(bottom=0)
    dress(
        panel,
        "Dirty pages in a buffer of 2,048: FI, 8 channels, FAST, Random; a first page always opens a log block",
    )
    legend(figure, panel)
    return figure


def figure9(evidence: Evidence) -> Figure:
    names = evidence.traced()
    figure, panels = sheet(2.3 * len(names), 3.2 * len(MAPPINGS), len(MAPPINGS), len(names))
    for row, mapping in zip(panels, MAPPINGS, strict=True):
        for panel, name in zip(row, names, strict=True):
            bottom = np.zeros(len(SCHEMES))
            for part, colour in PARTS.items():
                heights = np.array([100 * evidence.figure(Point(name, s, mapping), part) for s in SCHEMES])
                panel.bar(SCHEMES, heights, 0.7, bottom=bottom, color=colour, label=WORDS[part])
                for place, (below, height) in enumerate(zip(bottom, heights, strict=True)):
                    if height >= 8:
                        panel.text(place, below + height / 2, f"{height:.0f}", ha="center", va="center", fontsize=8,
                                   color="black" if part == "idle" else "white")  # fmt: skip
                bottom += heights
            panel.set_ylim(0, 100)
            dress(panel, f"{mapping}, {name}")
            if panel is not row[0]:
                panel.set_yticklabels([])
        row[0].set_ylabel("channel time (%)")
    legend(figure, panels[0][0])
    return figure


def table3(evidence: Evidence) -> Figure:
    figure, (row,) = sheet(13, 4.1, 1, len(TABLE3_WORKLOADS))
    schemes = ("SYNC", "CF")
    for panel, workload in zip(row, TABLE3_WORKLOADS, strict=True):
        series: list[tuple[str, list[float], str]] = [
            ("published", [float(published(scheme, workload)) for scheme in schemes], "#999999")
        ]
        for i, (setting, begin) in enumerate(table3_settings(workload)):
            values = [evidence.figure(table3_point(s, workload, setting, begin), "iops") for s in schemes]
            series.append((f"{begin}, {settled_on(setting)}", values, COLOURS[i]))
        places, width = side_by_side(np.arange(len(schemes)), len(series))
        for at, (label, values, colour) in zip(places, series, strict=True):
            drawn = panel.bar(at, values, width, color=colour, label=label)
            panel.bar_label(drawn, fmt="%.0f", fontsize=7, padding=1)
        panel.set_xticks(
            range(len(schemes)), [f"{s}, {table3_point(s, workload).buffer_kib} KiB" for s in schemes]
        )
        panel.margins(y=0.1)
        dress(panel, workload)
    row[0].set_ylabel("IOPS")
    legend(figure, row[TABLE3_WORKLOADS.index("Random")], columns=2)
    return figure


def readings(evidence: Evidence) -> Figure:
    rows = [
        (name, workload)
        for name in READING_NAMES
        for workload in dict.fromkeys(point.workload for point in reading_points(name))
    ]
    figure, ((panel,),) = sheet(12, 0.32 * len(rows) + 1.6)
    for scheme in SCHEMES:
        places, values = [], []
        for i, (name, workload) in enumerate(rows):
            point, settled = Point(workload, scheme, setting=name), Point(workload, scheme)
            if point in evidence.results:
                places.append(i)
                values.append(evidence.figure(point, "iops") / evidence.figure(settled, "iops"))
        panel.plot(values, places, MARKS[scheme], color=COLOUR[scheme], label=scheme, markersize=7)
    panel.axvline(1, color=GREY, linewidth=0.8)
    panel.set_yticks(range(len(rows)), [f"{settled_on(name)}: {workload}" for name, workload in rows])
    panel.tick_params(axis="y", labelsize=8)
    panel.invert_yaxis()
    panel.set_xlim(left=0)
    dress(panel, "IOPS under other readings, settled on = 1")
    legend(figure, panel)
    return figure


def pathological(evidence: Evidence) -> Figure:
    figure, ((panel,),) = sheet(8, 3.6)
    erases = {point: erases_by_channel(evidence.results[point])[1:] for point in PATHOLOGICAL}
    places, width = side_by_side(1 + np.arange(erases[PATHOLOGICAL[0]].size), len(erases))
    for at, (point, found) in zip(places, erases.items(), strict=True):
        label = ", ".join(filter(None, (point.scheme, READINGS[point.setting].words)))
        panel.bar(
            at, found, width, color=COLOUR[point.scheme], alpha=0.45 if point.setting else 1.0, label=label
        )
    panel.set_xlabel("channel; the first, which nine writes in ten go to, is not shown")
    panel.set_ylabel("blocks erased")
    dress(panel, "What forwarding erases where it is of no use, with N_s and without")
    legend(figure, panel)
    return figure


def timelines(evidence: Evidence) -> Figure:
    found = {point: evidence.lanes[point] for point in LANES["FAST"]}
    figure, panels = sheet(10, 1.0 + 1.9 * len(found), len(found), 1)
    length = WINDOW_MS[1] - WINDOW_MS[0]
    for (panel,), (point, lanes) in zip(panels, found.items(), strict=True):
        for lane in lanes:
            for part in ("host", "gc"):
                spans = [(start, end - start) for start, end, what in lane.spans() if what == part]
                panel.broken_barh(spans, (lane.channel - 0.4, 0.8), color=PARTS[part], linewidth=0)
        _dress_lanes(panel, point, lanes, length)
    panels[-1][0].set_xlabel("ms")
    for part, colour in PARTS.items():
        panels[0][0].bar(0, 0, color=colour, label=WORDS[part])
    legend(figure, panels[0][0])
    return figure


def moments(evidence: Evidence) -> Figure:
    """The tenth of a second that shows most, operation by operation."""
    moments = {mapping: evidence.moment(mapping) for mapping in LANES}
    drawn = [(start, point, lanes) for start, found in moments.values() for point, lanes in found.items()]
    figure, panels = sheet(10, 1.2 + 1.45 * len(drawn), len(drawn), 1)
    for (panel,), (start, point, lanes) in zip(panels, drawn, strict=True):
        for lane in lanes:
            for (part, kind), colour in OPERATIONS.items():
                spans = [
                    (o.start, o.end - o.start) for o in lane.operations if (o.part, o.kind) == (part, kind)
                ]
                panel.broken_barh(spans, (lane.channel - 0.42, 0.84), color=colour, linewidth=0)
        _dress_lanes(panel, point, lanes, MOMENT_MS)
        if panel is not panels[-1][0]:
            panel.set_xticklabels([])
        if point.scheme == "FI":
            since = f"from {(WINDOW_MS[0] + start) / 1e3:.3f} s on"
            panel.set_title(since, fontsize=9, loc="right", color="#555555")
    panels[-1][0].set_xlabel("ms")
    names = {("host", "program"): "host program", ("gc", "program"): "GC program", ("map", "program"): "map program",
             ("gc", "erase"): "erase"}  # fmt: skip
    for operation, name in names.items():
        panels[0][0].bar(0, 0, color=OPERATIONS[operation], label=name)
    panels[0][0].bar(0, 0, color=OPERATIONS["gc", "read"], label="their reads: paler")
    panels[0][0].bar(0, 0, color=PARTS["idle"], label="idle")
    legend(figure, panels[0][0])
    return figure


def _dress_lanes(panel: Axes, point: Point, lanes: Sequence[Lane], length: float) -> None:
    for lane in lanes:
        panel.broken_barh(
            [(0, length)], (lane.channel - 0.4, 0.8), color=PARTS["idle"], linewidth=0, zorder=0.5
        )
    idle = 1 - float(np.mean([sum(lane.share(part, length) for part in CLASSES) for lane in lanes]))
    panel.set_xlim(0, length)
    panel.set_yticks(range(len(lanes)))
    panel.invert_yaxis()
    panel.set_ylabel("channel")
    dress(panel, f"{point.scheme}, {point.mapping}: {100 * idle:.0f} % idle")
    panel.grid(visible=False)
