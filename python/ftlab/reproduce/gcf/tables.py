"""The tables of the GC-forwarding report, from a grid's results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ftlab import text
from ftlab.reproduce.gcf import lanes
from ftlab.reproduce.gcf.axes import (
    FIGURE3,
    MAPPINGS,
    PATHOLOGICAL,
    READING_NAMES,
    READINGS,
    SCHEMES,
    TABLE3,
    TABLE3_SSD,
    Evidence,
    Point,
    dirty_pages,
    erases_by_channel,
    reading_points,
    settled_on,
    table3_point,
    table3_settings,
)
from ftlab.reproduce.study import tabled


def _iops(evidence: Evidence, point: Point) -> str:
    return text.figure(evidence.figure(point, "iops")) if point in evidence.results else text.ABSENT


def _percent(evidence: Evidence, point: Point, part: str) -> str:
    return text.percent(evidence.figure(point, part) if point in evidence.results else None)


def figure3(evidence: Evidence) -> list[str]:
    """The pages of every channel, and in how many intervals."""
    flushed, pages = dirty_pages(evidence.results[FIGURE3])
    rows = [
        [str(i), f"{column.mean():.0f}", f"{column.max():.0f}", f"{100 * (column < 1).mean():.1f} %"]
        for i, column in enumerate(pages.T)
    ]
    lines = text.markdown_table(
        "Figure 3: dirty pages by channel, FI, 2,048 pages of buffer", ["channel", "mean", "largest", "dry"], rows
    )  # fmt: skip
    return [*lines, "", f"{text.count(flushed[-1])} pages were flushed in {len(pages)} intervals."]


@tabled(
    "Figure 9: channel time, 8 channels, 32 KiB of buffer",
    ["mapping, workload", "channels are", "host", "GC", "idle", "IOPS", "WAF", "forward collections"],
)
def figure9(evidence: Evidence) -> Iterator[list[str]]:
    for m, w, s in ((m, w, s) for m in MAPPINGS for w in evidence.traced() for s in SCHEMES):
        point = Point(w, s, m)
        cells = [_percent(evidence, point, part) for part in ("host", "gc", "idle")]
        waf, forward, every = (evidence.figure(point, name) for name in ("waf", "forward", "collections"))
        yield [
            f"{m}, {evidence.named(w)}", s, *cells, _iops(evidence, point), f"{waf:.2f}",
            f"{forward:,.0f} of {every:,.0f}",
        ]  # fmt: skip


@tabled(
    "Table 3: four channels, FAST",
    ["scheme, buffer, workload", "reading", "published", "real SSD", "IOPS", "apart"],
)
def table3(evidence: Evidence) -> Iterator[list[str]]:
    for (scheme, workload), published in TABLE3.items():
        for setting in table3_settings(workload):
            point = table3_point(scheme, workload, setting)
            found = evidence.figure(point, "iops")
            yield [
                f"{scheme}, {point.buffer_kib} KiB, {evidence.named(workload)}", settled_on(setting),
                str(published), str(TABLE3_SSD[scheme, workload]), text.figure(found),
                f"{100 * (found / published - 1):+.0f} %",
            ]  # fmt: skip


@tabled("Readings: IOPS, 8 channels, FAST, 32 KiB of buffer", ["reading", *SCHEMES])
def readings(evidence: Evidence) -> Iterator[list[str]]:
    for name in READING_NAMES:
        for workload in dict.fromkeys(point.workload for point in reading_points(name)):
            points = [Point(workload, scheme, setting=name) for scheme in SCHEMES]
            cells = [
                f"{_iops(evidence, point)} (idle {_percent(evidence, point, 'idle')})"
                if point in evidence.results else text.ABSENT
                for point in points
            ]  # fmt: skip
            yield [f"{settled_on(name)}: {evidence.named(workload)}", *cells]


@tabled(
    "N_s: nine writes in ten go to one channel",
    ["scheme", "IOPS", "erases of the first channel", "of the seven others", "WAF"],
)
def pathological(evidence: Evidence) -> Iterator[list[str]]:
    for point in PATHOLOGICAL:
        erases = erases_by_channel(evidence.results[point])
        yield [
            ", ".join(filter(None, (point.scheme, READINGS[point.setting].words))), _iops(evidence, point),
            f"{erases[0]:,.0f}", f"{erases[1:].sum():,.0f}", f"{evidence.figure(point, 'waf'):.2f}",
        ]  # fmt: skip


@tabled(
    "Timelines of Random, 8 channels",
    ["scheme, mapping", "from (ms)", "length (ms)", "host", "map", "GC", "idle"],
)
def timelines(evidence: Evidence) -> Iterator[list[str]]:
    for point, start, length, found in evidence.windows():
        shares = [float(np.mean([lane.share(part, length) for lane in found])) for part in lanes.PARTS]
        cells = [f"{100 * share:.1f} %" for share in (*shares, 1 - sum(shares))]
        yield [f"{point.scheme}, {point.mapping}", f"{start:,.0f}", f"{length:,.0f}", *cells]
