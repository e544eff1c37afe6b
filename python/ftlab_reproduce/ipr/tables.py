"""The tables of the read-disturb report, from a grid's results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ftlab.results import text
from ftlab_reproduce.ipr.axes import (
    LIMIT,
    MOVES,
    QUOTAS,
    READ_ONLY,
    READINGS,
    RECENT,
    SWAPPED,
    SWAPS,
    SYSTEMS,
    TIMED,
    Evidence,
    Point,
    between,
)
from ftlab_reproduce.ipr.claims import dram
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
    pages,
    variant,
)
from ftlab_reproduce.study import tabled


def cell(form: str, measure: Callable[..., float], *of: Any) -> str:
    """A figure of something, or that there is none."""
    try:
        value = measure(*of)
    except KeyError:
        return text.ABSENT
    return text.ABSENT if math.isnan(value) else form.format(value)


def from_table(evidence: Evidence, name: str) -> float:
    """The share of refreshes if reads ÷ limit were erased for them, and for the host what it writes: in %."""
    read, written = pages(evidence.workloads[name].info)
    refreshes, writes = read / LIMIT, written / 192
    return 100 * refreshes / (refreshes + writes)


@tabled(
    "Figure 2: erases of Baseline",
    ["workload", "page reads", "wGC", "rrGC", "rrGC, %", "from volumes alone, %", "rounds"],
)
def figure2(evidence: Evidence) -> Iterator[list[str]]:
    for name in evidence.names((*NAMES, *EXCERPT_NAMES), "Baseline"):
        point = Point(name, "Baseline")
        reads, wgc, rrgc, rounds = (
            text.count(evidence.figure(point, key)) for key in ("page_reads", "wgc", "rrgc", "rounds")
        )
        part = 100 * evidence.figure(point, "share")
        yield [
            evidence.named(name),
            reads,
            wgc,
            rrgc,
            f"{part:.1f}",
            f"{from_table(evidence, name):.1f}",
            rounds,
        ]


def erases(evidence: Evidence, point: Point) -> str:
    """wGC + rrGC of a run, all of Baseline's under the same = 1."""
    if point not in evidence.results:
        return text.ABSENT
    return " + ".join(
        cell("{:.3f}", evidence.over, *point[:2], key, point.setting) for key in ("wgc", "rrgc")
    )


def _erases(names: Sequence[str]) -> Callable[[Evidence], Iterator[list[str]]]:
    """A row for each workload, a column for every method."""

    def rows(evidence: Evidence) -> Iterator[list[str]]:
        for name in evidence.names(names, "Baseline"):
            yield [evidence.named(name), *(erases(evidence, Point(name, system)) for system in SYSTEMS)]

    return rows


HEAD = ["workload", *SYSTEMS]
figure9a = tabled("Figure 9a: erases, wGC + rrGC, all of Baseline's = 1", HEAD)(_erases(NAMES))
real = tabled("Real traces beside the paper's: wGC + rrGC, all of Baseline's = 1", HEAD)(
    _erases(EXCERPT_NAMES)
)
skew = tabled("Concentration of reads: wGC + rrGC, all of Baseline's = 1", HEAD)(
    _erases([n for name in VARIED for n in (name, variant(name, HALF), variant(name, EVEN))])
)


@tabled(
    "Where most reads go to a smaller or larger part of the volume: erases for refreshes, Baseline's = 1",
    [
        "workload",
        *(name for name in SYSTEMS if name != "Baseline"),
        "IPR: all erases",
        "IPR rate",
        "skipped, %",
    ],
)
def regions(evidence: Evidence) -> Iterator[list[str]]:
    for name in evidence.names((REGIONAL, *(variant(REGIONAL, kind) for kind in REGIONS)), "Baseline"):
        ipr = Point(name, "IPR")
        yield [
            evidence.named(name),
            *(
                cell("{:.3f}", evidence.ratio, name, system)
                for system in SYSTEMS if system != "Baseline"
            ),
            cell("{:.3f}", evidence.total, name, "IPR"),
            cell("{:.2f}", evidence.figure, ipr, "ipr_rate"),
            cell("{:.1f}", lambda p: 100 * evidence.figure(p, "skipped"), ipr),
        ]  # fmt: skip


@tabled(
    "Wear leveling: its erases, in % of those for the host and for refreshes; deviation of effective P/E cycles, in % "
    "of the mean",
    ["workload", *(f"{name}: {what}" for what in ("moves", "deviation") for name in SYSTEMS)],
)
def leveling(evidence: Evidence) -> Iterator[list[str]]:
    for name in evidence.names((*NAMES, *EXCERPT_NAMES)):
        points = [Point(name, system) for system in SYSTEMS]
        yield [
            evidence.named(name),
            *(cell("{:.1f}", moves, evidence, point) for point in points),
            *(cell("{:.0f}", deviation, evidence, point) for point in points),
        ]


def moves(evidence: Evidence, point: Point) -> float:
    """Erases of wear leveling, in % of those for the host and for refreshes."""
    counted = evidence.figure(point, "wgc") + evidence.figure(point, "rrgc")
    return 100 * evidence.figure(point, "level") / counted if counted else math.nan


def deviation(evidence: Evidence, point: Point) -> float:
    """The standard deviation of effective P/E cycles, in % of their mean."""
    mean, spread = (evidence.figure(point, f"effective_{of}") for of in ("mean", "stddev"))
    return 100 * spread / mean if mean else math.nan


LEVELED = ("Baseline", "RL", "HotLD", "IPR")
LEVELINGS = ("", *SWAPS)


@tabled(
    "Wear leveling as settled on, and otherwise: erases for refreshes, Baseline's under the same = 1; its own "
    "erases, in % of those for the host and for refreshes; deviation of effective P/E cycles, in % of the mean",
    ["workload", "leveling", "RL", "HotLD", "IPR", "IPR: wGC less Baseline's, % of all", "IPR rate", "skipped, %",
     "Baseline: moves", "IPR: moves", "Baseline: deviation", "IPR: deviation"],
)  # fmt: skip
def levelings(evidence: Evidence) -> Iterator[list[str]]:
    def more(name: str, setting: str) -> float:
        ours, base = (evidence.over(name, system, "wgc", setting) for system in ("IPR", "Baseline"))
        return 100 * (ours - base)

    for name in evidence.names(DOMINATED, "IPR", LEVELINGS[-1]):
        for setting in LEVELINGS:
            base, ipr = (Point(name, system, setting) for system in ("Baseline", "IPR"))
            yield [
                evidence.named(name),
                setting or "settled on",
                *(
                    cell("{:.3f}", evidence.ratio, name, system, "Baseline", setting)
                    for system in LEVELED[1:]
                ),
                cell("{:+.1f}", more, name, setting),
                cell("{:.2f}", evidence.figure, ipr, "ipr_rate"),
                cell("{:.1f}", lambda p: 100 * evidence.figure(p, "skipped"), ipr),
                *(cell("{:.1f}", moves, evidence, point) for point in (base, ipr)),
                *(cell("{:.0f}", deviation, evidence, point) for point in (base, ipr)),
            ]


SWAPPED_ON = ("WEB", "Websearch")
SWAPPED_WITH = (list(SWAPS)[-1], *SWAPPED)
"""Under `static` leveling the length decides nothing, so it is varied with the other as well."""


@tabled(
    "How long a block counts as recently involved in wear leveling, under IPR",
    ["workload", "recent", "erases for refreshes", "skipped, %", "IPR rate", "moves, %",
     "cycles outside the pool", "in the pool, real", "effective", "deviation, %", "outside the pool", "in the pool"],
)  # fmt: skip
def recency(evidence: Evidence) -> Iterator[list[str]]:
    for name in evidence.names(DOMINATED, "IPR", list(RECENT)[-1]):
        for setting in ("", *RECENT, *(SWAPPED_WITH if name in SWAPPED_ON else ())):
            point = Point(name, "IPR", setting)
            wear = evidence.results[point].wear
            inside = in_pool(wear)
            effective, real = (wear[key].astype(float) for key in ("effective_erases", "erases"))
            spreads = (effective[mine] for mine in (np.ones_like(inside), ~inside, inside))
            yield [
                evidence.named(name),
                setting or "settled on",
                text.count(evidence.figure(point, "rrgc")),
                cell("{:.1f}", lambda p: 100 * evidence.figure(p, "skipped"), point),
                cell("{:.2f}", evidence.figure, point, "ipr_rate"),
                cell("{:.1f}", moves, evidence, point),
                *(f"{of.mean():.1f}" for of in (real[~inside], real[inside], effective[inside])),
                *(f"{100 * of.std() / of.mean():.0f}" for of in spreads),
            ]


def in_pool(wear: Any) -> Any:
    """The blocks of the pool: a fifth of those of a plane, with the highest addresses."""
    return wear["block_in_plane"] >= 0.8 * (int(wear["block_in_plane"].max()) + 1)


@tabled(
    "What the mechanisms did",
    ["workload", "RL: reuse", "IPR rate", "skipped, %", "IPR: low-density blocks", "evicted", "HotLD: evicted",
     "most reads of a block ÷ limit"],
)  # fmt: skip
def mechanisms(evidence: Evidence) -> Iterator[list[str]]:
    for name in evidence.names((*NAMES, *EXCERPT_NAMES)):
        ipr = Point(name, "IPR")
        most = [
            evidence.figure(Point(name, s), "max_reads_of_limit")
            for s in SYSTEMS
            if Point(name, s) in evidence.results
        ]
        yield [
            evidence.named(name),
            cell("{:.2f}", evidence.figure, Point(name, "RL"), "reuse"),
            cell("{:.2f}", evidence.figure, ipr, "ipr_rate"),
            cell("{:.1f}", lambda p: 100 * evidence.figure(p, "skipped"), ipr),
            cell("{:.0f}", evidence.figure, ipr, "read_hot_blocks"),
            cell("{:,.0f}", evidence.figure, ipr, "evicted"),
            cell("{:,.0f}", evidence.figure, Point(name, "HotLD"), "evicted"),
            f"{max(most):.4f}",
        ]


TWENTIETHS = (2, 6, 10, 14, 18, 19)


@tabled(
    "Figure 9b: low-density blocks of IPR that had used less at their erase, in %",
    ["workload", *(f"{5 * at} %" for at in TWENTIETHS), "blocks"],
)
def figure9b(evidence: Evidence) -> Iterator[list[str]]:
    for name in evidence.names((*NAMES, *EXCERPT_NAMES)):
        found = evidence.results[Point(name, "IPR")].summary["policy"]["read_disturb"]["used_reads"]
        used = evidence.used(name)
        shown = [
            text.ABSENT if at > used.size or np.isnan(used).any() else f"{100 * used[at - 1]:.1f}"
            for at in TWENTIETHS
        ]
        yield [evidence.named(name), *shown, text.count(sum(found))]


INTERVALS = (0.0, 0.2, 5.0, 50.0, 150.0, 250.0, 350.0, math.inf)


@tabled(
    "Figure 10: reads of Websearch by response time",
    ["method", "mean, µs", *(f"from {low:g} ms" for low in INTERVALS[:-1]),
     "refreshes"],
)  # fmt: skip
def figure10(evidence: Evidence) -> Iterator[list[str]]:
    for system in SYSTEMS:
        point = Point("Websearch", system, TIMED)
        if point in evidence.results:
            found = [between(evidence.results[point], *pair) for pair in pairwise(INTERVALS)]
            yield [
                system,
                cell("{:.1f}", evidence.figure, point, "read_us"),
                *map(text.count, found),
                cell("{:,.0f}", evidence.figure, point, "refreshes"),
            ]


@tabled(
    "Figure 11: P/E cycles of blocks under IPR on Websearch",
    ["blocks", "mean", "least", "most", "std. dev."],
)
def figure11(evidence: Evidence) -> Iterator[list[str]]:
    if (point := Point("Websearch", "IPR")) not in evidence.results:
        return
    wear = evidence.results[point].wear
    pool = in_pool(wear)
    for words, key, mine in (
        ("outside the pool, real", "erases", ~pool),
        ("in the pool, real", "erases", pool),
        ("in the pool, effective", "effective_erases", pool),
        ("all, effective", "effective_erases", np.ones_like(pool)),
    ):
        cycles = wear[key][mine].astype(float)
        yield [
            words,
            *(f"{value:.1f}" for value in (cycles.mean(), cycles.min(), cycles.max(), cycles.std())),
        ]


@tabled(
    "The quota of low-density blocks: erases for refreshes, Baseline = 1",
    ["workload", "quota", "HotLD", "IPR", "IPR under HotLD, %", "HotLD: low-density blocks", "evicted",
     "IPR: blocks", "evicted"],
)  # fmt: skip
def quotas(evidence: Evidence) -> Iterator[list[str]]:
    def of(name: str, system: str, key: str, setting: str) -> float:
        return evidence.figure(Point(name, system, setting), key)

    def over(name: str, system: str, setting: str) -> float:
        return of(name, system, "rrgc", setting) / of(name, "Baseline", "rrgc", "")

    settings = sorted({"": 0.15, **QUOTAS}.items(), key=lambda item: item[1])
    for name in (*VARIED, *BOUND):
        for setting, quota in settings:
            yield [
                evidence.named(name),
                f"{100 * quota:g} %",
                cell("{:.3f}", over, name, "HotLD", setting),
                cell("{:.3f}", over, name, "IPR", setting),
                cell("{:+.1f}", lambda n, s: 100 * (1 - evidence.ratio(n, "IPR", "HotLD", s)), name, setting),
                *(
                    cell("{:,.0f}", of, name, system, key, setting)
                    for system in ("HotLD", "IPR")
                    for key in ("read_hot_blocks", "evicted")
                ),
            ]


READ_ON = ("SRC", "Websearch")
SHOWN = tuple(name for name in READINGS if name not in (TIMED, *QUOTAS))


@tabled(
    "Readings: wGC + rrGC, all of Baseline's under the same = 1",
    ["workload", "reading", *SYSTEMS, "RL: reuse", "IPR rate"],
)
def readings(evidence: Evidence) -> Iterator[list[str]]:
    whole = [(name, setting) for name in READ_ON for setting in SHOWN]
    for name, setting in [*whole, *((variant(name, ONE_PAGE), "") for name in VARIED)]:
        points = [Point(name, system, setting) for system in SYSTEMS]
        if not any(point in evidence.results for point in points):
            continue
        # What a reading does not concern is as it was.
        known = [
            point if point in evidence.results else Point(name, point.system)
            for point in points
        ]  # fmt: skip
        pairs = [erases(evidence, point) + ("" if point.setting == setting else " (same)") for point in known]
        yield [
            evidence.named(name),
            setting or "settled on",
            *pairs,
            cell("{:.2f}", evidence.figure, known[2], "reuse"),
            cell("{:.2f}", evidence.figure, known[4], "ipr_rate"),
        ]


@tabled("Closed forms", ["what", "expected", "measured"])
def closed_forms(evidence: Evidence) -> Iterator[list[str]]:
    point = Point(READ_ONLY, "Baseline")
    if point in evidence.results:
        found, read = (evidence.figure(point, key) for key in ("refreshes", "page_reads"))
        yield ["refreshes of a device that is only read", f"{read / LIMIT:,.1f}", text.count(found)]
    for words, user, spare in (
        ("128 GiB user, 160 GiB raw", 128 * 2**30, 0.2),
        ("128 GiB raw", 128 * 2**30, 0.0),
    ):
        yield [f"memory, {words}", "1.37 MB", f"{dram(user, spare) / 1e6:.3f} MB"]


@tabled("Runs that have not settled", ["run", "rounds", "the share of refreshes still moves by"])
def unsettled(evidence: Evidence) -> Iterator[list[str]]:
    for point in evidence.results:
        still = evidence.moved(point)
        if point.workload != READ_ONLY and not still < MOVES:
            yield [
                point.label,
                cell("{:,.0f}", evidence.figure, point, "rounds"),
                "" if math.isnan(still) else f"{still:.3f}",
            ]
