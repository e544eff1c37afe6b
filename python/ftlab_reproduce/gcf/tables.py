"""The tables of the GC-forwarding report, from a grid's results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ftlab.results import text
from ftlab_reproduce.claims import BASES, Claim, measured
from ftlab_reproduce.gcf import claims, lanes
from ftlab_reproduce.gcf.axes import (
    BEGINS,
    BUFFERS_KIB,
    CACHES,
    FIGURE3,
    MAP_READINGS,
    MAPPINGS,
    PAGE_MAP,
    PATHOLOGICAL,
    READING_NAMES,
    READINGS,
    SCHEMES,
    STARTS,
    TABLE3_SSD,
    TABLE3_WORKLOADS,
    TURNED,
    TURNS,
    WORKLOADS,
    Evidence,
    Point,
    crowded_points,
    dirty_pages,
    erases_by_channel,
    map_points,
    published,
    reading_points,
    settled_on,
    size_name,
    table3_point,
    table3_settings,
)
from ftlab_reproduce.gcf.hosts import SIX_WRITES
from ftlab_reproduce.study import Table, tabled


def _iops(evidence: Evidence, point: Point) -> str:
    return text.figure(evidence.figure(point, "iops")) if point in evidence.results else text.ABSENT


def _percent(evidence: Evidence, point: Point, part: str) -> str:
    return text.percent(evidence.figure(point, part) if point in evidence.results else None)


@tabled(
    "Figure 2: pages programmed for six requests that modify twelve, four channels, no buffer",
    ["channels are", "host", "read-modify-write", "all"],
)
def figure2(evidence: Evidence) -> Iterator[list[str]]:
    for scheme in ("SYNC", "FI"):
        point = Point(SIX_WRITES.name, scheme, channels=4, buffer_kib=0)
        host, every = (evidence.figure(point, name) for name in ("host_programs", "programs"))
        yield [scheme, f"{host:.0f}", f"{every - host:.0f}", f"{every:.0f}"]


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
    ["scheme, buffer, workload", "partition, reading", "published", "real SSD", "IOPS", "apart"],
)
def table3(evidence: Evidence) -> Iterator[list[str]]:
    for scheme in ("SYNC", "CF"):
        for workload in TABLE3_WORKLOADS:
            for setting, begin in table3_settings(workload):
                point = table3_point(scheme, workload, setting, begin)
                found, paper = evidence.figure(point, "iops"), published(scheme, workload)
                real = TABLE3_SSD[scheme, workload if workload in WORKLOADS else "Desktop"]
                yield [
                    f"{scheme}, {point.buffer_kib} KiB, {evidence.named(workload)}", f"{begin}, {settled_on(setting)}",
                    str(paper), str(real), text.figure(found), f"{100 * (found / paper - 1):+.0f} %",
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
    "Readings of DFTL on Random: IOPS and idle time, 8 channels; the last column of two-plane chips with 64 KiB",
    ["reading", *SCHEMES, "two planes: SYNC, FI, GCF, CF"],
)
def map_readings(evidence: Evidence) -> Iterator[list[str]]:
    for name in MAP_READINGS:
        one, two = ({p.scheme: p for p in map_points(name, planes)} for planes in (1, 2))
        cells = [
            f"{_iops(evidence, one[s])} (idle {_percent(evidence, one[s], 'idle')})" if s in one else text.ABSENT
            for s in SCHEMES
        ]  # fmt: skip
        yield [
            settled_on(name), *cells,
            ", ".join(_iops(evidence, two[s]) if s in two else text.ABSENT for s in SCHEMES),
        ]  # fmt: skip


@tabled(
    "The map: DFTL's cache, and a map in DRAM; Random, whole pages, IOPS of 1 and 8 channels",
    ["map", *(f"{scheme}: 1, 8, gain" for scheme in SCHEMES), "idle: SYNC, FI, GCF, CF"],
)
def caches(evidence: Evidence) -> Iterator[list[str]]:
    for mapping, name in (*(("DFTL", name) for name in CACHES), (PAGE_MAP, "")):
        cells = []
        for scheme in SCHEMES:
            one, eight = (
                evidence.figure(Point("Random", scheme, mapping, c, setting=name), "iops") for c in (1, 8)
            )
            cells.append(f"{text.figure(one)}, {text.figure(eight)}, {eight / one:.2f} x")
        idle = [_percent(evidence, Point("Random", s, mapping, setting=name), "idle") for s in SCHEMES]
        what = f"{mapping}, {settled_on(name)}" if mapping != PAGE_MAP else f"{PAGE_MAP} in DRAM"
        yield [what, *cells, ", ".join(idle)]


@tabled(
    "CF: four channels of two planes beside eight channels, 32 KiB of buffer",
    ["mapping, workload, partition", "4 channels x 2 planes", "8 channels", "apart"],
)
def planes(evidence: Evidence) -> Iterator[list[str]]:
    for m, w, begin in ((m, w, begin) for m in MAPPINGS for w in WORKLOADS for begin in BEGINS):
        few, many = (
            evidence.figure(Point(w, "CF", m, channels, planes, begin=begin), "iops")
            for channels, planes in ((4, 2), (8, 1))
        )
        yield [
            f"{m}, {evidence.named(w)}, {begin}", text.figure(few), text.figure(many),
            f"{100 * (few / many - 1):+.0f} %",
        ]  # fmt: skip


def both(evidence: Evidence) -> list[str]:
    """Every claim that was run with the partition at either place, and how many hold."""
    found = claims.judged_at_both(evidence)

    def cell(claim: Claim) -> str:
        return text.ABSENT if claim.verdict == "not-run" else f"{measured(claim)}, {claim.verdict}"

    head = ["claim", "paper", "where it is judged", "the other place", "rests on"]
    rows = [
        [here.id, str(here.paper_value), cell(here), cell(there), BASES[here.basis]] for here, there in found
    ]
    lines = text.markdown_table(
        "Both places of the partition: figures are judged on whole pages, Table 3 at sector 63", head, rows
    )
    counts = [claims.counted(pair[at] for pair in found) for at in (0, 1)]
    verdicts = ("reproduced", "direction", "not-reproduced")
    tally = [
        [words, *(" / ".join(str(column[known][verdict]) for column in counts) for verdict in verdicts)]
        for known, words in BASES.items()
    ]
    title = "How many claims hold: where they are judged / at the other place"
    return [*lines, "", *text.markdown_table(title, ["claims", *verdicts], tally)]


@tabled(
    "Claims that do not hold, under one other reading each; bold: reproduced; -: the reading has no part in it",
    ["claim", "paper", "settled on", *TURNS],
)
def turns(evidence: Evidence) -> Iterator[list[str]]:
    of = {name: evidence.under(name) for name in ("", *TURNS)}
    for statement in claims.statements():
        if statement.id not in TURNED:
            continue
        cells: dict[str, str] = {}
        for name, one in of.items():
            claim = statement.judged(one, {})
            figure = text.ABSENT if claim.measured is None else text.figure(claim.measured)
            cells[name] = f"**{figure}**" if claim.verdict == "reproduced" else figure
        changed = (cells[name] if cells[name] != cells[""] else text.ABSENT for name in TURNS)
        yield [statement.id, str(statement.paper_value), cells[""], *changed]


def _under(title: str, names: Sequence[str], chosen: Callable[[str], bool]) -> Table:
    """Claims as settled on and under other readings of all their runs."""

    @tabled(title, ["claim", "paper", "settled on", *map(settled_on, names)])
    def rows(evidence: Evidence) -> Iterator[list[str]]:
        of = [evidence.under(name) for name in ("", *names)]
        for statement in claims.statements():
            if not chosen(statement.id):
                continue
            judged = [statement.judged(one, {}) for one in of]
            cells = [
                text.ABSENT
                if claim.verdict == "not-run"
                else f"{text.figure(claim.measured)}, {claim.verdict}"
                for claim in judged
            ]
            if cells[0] != text.ABSENT:
                yield [statement.id, str(statement.paper_value), *cells]

    return rows


starts = _under("Claims under FAST by what opens a log block", STARTS, lambda claim: "-fast-" in claim)
triggers = _under("Claims by when GCF collects", ["empty"], claims.of_the_trigger)


@tabled(
    "Figure 10 under FAST with the Desktop that was fitted to Table 3",
    ["channels are", *(size_name(kib) for kib in BUFFERS_KIB)],
)
def crowded(evidence: Evidence) -> Iterator[list[str]]:
    points = crowded_points()
    for scheme in SCHEMES:
        yield [scheme, *(_iops(evidence, point) for point in points if point.scheme == scheme)]


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
