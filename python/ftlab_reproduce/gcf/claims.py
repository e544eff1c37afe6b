"""What the GC-forwarding paper claims, and how each claim is measured and judged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ftlab_reproduce import claims as verdicts
from ftlab_reproduce.claims import BASES, About, Basis, Claim, Statement, Values
from ftlab_reproduce.gcf.axes import (
    BUFFERS_KIB,
    CHANNELS,
    FIGURE3,
    FORWARDING,
    MAPPINGS,
    SCHEMES,
    TABLE3,
    TABLE3_SSD,
    WORKLOADS,
    Evidence,
    Point,
    dirty_pages,
    erases_by_channel,
    size_name,
    table3_point,
)
from ftlab_reproduce.gcf.hosts import CROWDED, ONE_CHANNEL, SIX_WRITES

LATE = {
    "first pages always open log blocks in Figure 3": ("f3-*",),
    "whole pages for the figures": ("f8-*-sync-random", "f10-dftl-cf-random*"),
    "four log blocks with room": ("f*-fast-*multimedia*", "f8-multimedia-mapping", "t3-*-multimedia"),
    "no log block for a first page while too many have room": ("f9-fast-*-desktop", "f9-fast-*-random"),
    "commands of whatever fits": ("f10-fast-cf-random*",),
    "step kept by the kind of operation under DFTL": (
        "f9-dftl-idle-desktop", "f9-dftl-gc-random", "f10-dftl-cf-*", "planes-dftl"
    ),
    "N_s counts the spare blocks of a channel, not of a plane": (
        "f10-dftl-cf-desktop", "f10-dftl-multimedia", "planes-dftl"
    ),
    "sector 63 for Table 3": ("t3-*-random", "t3-real"),
    "crowded Desktop": ("t3-*-desktop",),
    "a rule that came after the others": ("f8-trend-*", "f9-*-side-effect", "planes-*", "t3-real"),
    "four log blocks with room, under FAST": (
        "f8-fast-*-desktop", "f8-fast-*-random", "f9-fast-*", "f10-fast-*", "f8-trend-*", "f10-mapping", "planes-fast",
    ),
}  # fmt: skip
"""Readings and rules that were chosen after results had been seen, and the claims in view of which they were, or which
they can decide."""

HOLDS_ANYHOW = ("f8-fast-advantage-random",)
"""Claims under FAST that were stated before, and are reproduced whatever opens a log block (experiment `readings`)."""

BY_CONSTRUCTION = ("f2-*",)

FOLLOWS = ("t3-ratio-*",)
"""They are quotients of two others."""

TRIGGER = "GCF collects only while another channel is in mandatory collection"
"""The paper's words leave open what happens while none is: see the experiment `trigger`."""

OF_THE_TRIGGER = (
    "f8-*-forwarding-*", "f8-*-advantage-*", "f8-*-multimedia", "f8-trend-*", "f8-multimedia-mapping", "f9-*-idle-*",
    "f9-*-gc-*", "f10-*-cf-*", "f10-*-sync-*", "f10-*-gcf-*", "f10-*-desktop-*", "f10-*-multimedia", "f10-mapping",
    "ns-*",
)  # fmt: skip
"""The claims that runs of GCF decide."""


def basis(claim: str) -> Basis:
    """What the claim of an id rests on."""
    if _is_of(claim, BY_CONSTRUCTION):
        return "construction"
    if _is_of(claim, FOLLOWS):
        return "follows"
    return "late" if claim not in HOLDS_ANYHOW and readings(claim) else "stated"


def readings(claim: str) -> list[str]:
    """The readings in view of which a claim is post hoc."""
    return [words for words, patterns in LATE.items() if _is_of(claim, patterns)]


def named(claim: str) -> str:
    """The choices that carry much of a claim's figure, in words."""
    trigger = [TRIGGER] if _is_of(claim, OF_THE_TRIGGER) else []
    return "; ".join([*(readings(claim) if basis(claim) == "late" else ()), *trigger])


def of_the_trigger(claim: str) -> bool:
    """True if runs of GCF decide a claim."""
    return _is_of(claim, OF_THE_TRIGGER)


def _is_of(claim: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(claim, pattern) for pattern in patterns)


class Both(NamedTuple):
    """A claim where it is judged, and with the partition at the other place."""

    here: Claim
    there: Claim


def judged_at_both(evidence: Evidence) -> list[Both]:
    """The claims that were run."""
    kinds = {name: workload.kind for name, workload in evidence.workloads.items()}
    turned = evidence.turned()
    every = (Both(s.judged(evidence, kinds), s.judged(turned, kinds)) for s in statements())
    return [both for both in every if both.here.verdict != "not-run"]


def counted(claims: Iterable[Claim]) -> dict[Basis, Counter[str]]:
    """Verdicts by what claims rest on."""
    found: dict[Basis, Counter[str]] = {known: Counter() for known in BASES}
    for claim in claims:
        found[claim.basis][claim.verdict] += 1
    return found


def _ratio(workload: str, schemes: Sequence[str], mapping: str) -> Values:
    """IOPS of 8 channels ÷ those of one."""
    return lambda e: {
        s: e.iops(workload, s, mapping, CHANNELS[-1]) / e.iops(workload, s, mapping, CHANNELS[0]) for s in schemes
    }  # fmt: skip


def part(value: float, whole: float) -> float:
    """In %; NaN where there is nothing to compare with."""
    return 100 * value / whole if whole else math.nan


def _lead(workload: str, schemes: Sequence[str], base: Sequence[str], **places: Any) -> Values:
    """By how much % the IOPS of each scheme are above those of the best of others."""

    def values(e: Evidence) -> dict[str, float]:
        others = max(e.iops(workload, s, **places) for s in base)
        return {s: 100 * (e.iops(workload, s, **places) / others - 1) for s in schemes}

    return values


def _by_buffer(sizes: Sequence[int], of: Callable[[Evidence, int], float]) -> Values:
    return lambda e: {size_name(size): of(e, size) for size in sizes}


def _share(workload: str, schemes: Sequence[str], mapping: str, part: str) -> Values:
    return lambda e: {s: e.time(workload, s, mapping, part) for s in schemes}


def statements() -> Iterator[Statement]:
    """All claims, in the order of the paper's figures."""
    return (
        replace(statement, basis=basis(statement.id), reading=named(statement.id))
        for statement in _by_figure()
    )


def _by_figure() -> Iterator[Statement]:
    yield from _figure2()
    yield from _figure3()
    for mapping in MAPPINGS:
        yield from _figure8(mapping)
        yield from _figure9(mapping)
        yield from _figure10(mapping)
    yield from _figure8_mappings()
    yield from _figure10_mappings()
    yield from _planes()
    yield from _table3()
    yield from _pathological()


def _figure2() -> Iterator[Statement]:
    def times(evidence: Evidence) -> dict[str, float]:
        sync, independent = (
            evidence.figure(Point(SIX_WRITES.name, s, channels=4, buffer_kib=0), "programs")
            for s in ("SYNC", "FI")
        )
        return {"": sync / independent}

    yield About("fig2", unit="x").of(
        "f2-traffic", "Channels in step write 24 pages for six requests that modify 12, independent ones 12: pages of "
        "the one ÷ of the other", 2, verdicts.at_least(2, 1.01, "x"), SIX_WRITES.name, times,
    )  # fmt: skip


def _planes() -> Iterator[Statement]:
    def apart(m: str) -> Values:
        def values(e: Evidence) -> dict[str, float]:
            few = {w: e.iops(w, "CF", m, 4, 2) for w in WORKLOADS}
            return {w: abs(100 * (iops / e.iops(w, "CF", m, 8, 1) - 1)) for w, iops in few.items()}

        return values

    for m in MAPPINGS:
        yield About("planes").of(
            f"planes-{m.lower()}", f"{m}: With CF four channels of two planes are equivalent to eight channels: IOPS "
            "apart, at most of all workloads", "equivalent", verdicts.at_most(15, 30), "Random", apart(m), max,
        )  # fmt: skip


def _figure3() -> Iterator[Statement]:
    def pages(evidence: Evidence) -> NDArray[np.float64]:
        return dirty_pages(evidence.results[FIGURE3])[1]

    def held(evidence: Evidence) -> dict[str, float]:
        return {"": 100 * float(pages(evidence).max()) / (FIGURE3.buffer_kib // 4)}

    def dry(evidence: Evidence) -> dict[str, float]:
        return {"": 100 * float((pages(evidence) < 1).any(axis=1).mean())}

    def turns(evidence: Evidence) -> dict[str, float]:
        found = pages(evidence)
        fullest = set(found.argmax(axis=1).tolist())
        starved = set(np.flatnonzero((found < 1).any(axis=0)).tolist())
        return {"": float(len(fullest & starved))}

    of = About("fig3", id="f3-{}").of
    yield of(
        "held", "A channel that collects accumulates dirty pages: the largest part of the buffer that one holds",
        "fills up the buffer", verdicts.at_least(40, 25), "Random", held,
    )  # fmt: skip
    yield of(
        "dry", "Others run out of pages meanwhile: the part of the time in which some channel has none",
        "some", verdicts.at_least(50, 10), "Random", dry,
    )  # fmt: skip
    yield of(
        "turns", "Channels switch roles: channels that were at one time the fullest and at another dry",
        2, verdicts.at_least(2, 1, "channels"), "Random", turns, unit="channels",
    )  # fmt: skip


def _figure8(m: str) -> Iterator[Statement]:
    of = About("fig8", unit="x", id=f"f8-{m.lower()}-{{}}", claim=f"{m}: {{}}").of

    for workload in ("Desktop", "Random"):
        yield of(
            f"forwarding-{workload.lower()}", f"GCF and CF gain significantly from channels on {workload}: "
            "IOPS of 8 ÷ of 1 at least", "significantly", verdicts.at_least(3, 1.5, "x"), workload,
            _ratio(workload, FORWARDING, m),
        )  # fmt: skip
    yield of(
        "fi-desktop", "FI gains little from channels on Desktop: IOPS of 8 ÷ of 1", "not significantly",
        verdicts.at_most(2, 3, "x"), "Desktop", _ratio("Desktop", ("FI",), m),
    )  # fmt: skip
    yield of(
        "sync-random", "SYNC barely gains from channels on Random: IOPS of 8 ÷ of 1", "barely",
        verdicts.at_most(1.25, 1.5, "x"), "Random", _ratio("Random", ("SYNC",), m), max,
    )  # fmt: skip
    yield of(
        "advantage-random", "GCF and CF are well above FI at 8 channels on Random: by how much at least",
        "significantly", verdicts.at_least(50, 10), "Random", _lead("Random", FORWARDING, ("FI",), mapping=m), unit="%",
    )  # fmt: skip
    yield of(
        "multimedia", "All gain from channels on Multimedia: IOPS of 8 ÷ of 1 at least", "benefit",
        verdicts.at_least(2, 1.1, "x"), "Multimedia", _ratio("Multimedia", SCHEMES, m),
    )  # fmt: skip


def _figure8_mappings() -> Iterator[Statement]:
    def unlike(workload: str) -> Values:
        def values(e: Evidence) -> dict[str, float]:
            fast, dftl = (_ratio(workload, FORWARDING, m)(e) for m in MAPPINGS)
            return {s: max(fast[s] / dftl[s], dftl[s] / fast[s]) for s in FORWARDING}

        return values

    for workload in ("Desktop", "Random"):
        yield About("fig8", unit="x").of(
            f"f8-trend-{workload.lower()}", f"GCF's and CF's gains from channels on {workload} are similar under both "
            "mappings: the larger gain ÷ the smaller, at most", "similar", verdicts.at_most(1.5, 2, "x"), workload,
            unlike(workload), max,
        )  # fmt: skip

    def gain(evidence: Evidence) -> dict[str, float]:
        by = {m: _ratio("Multimedia", SCHEMES, m)(evidence) for m in MAPPINGS}
        return {s: by["DFTL"][s] / by["FAST"][s] for s in SCHEMES}

    yield About("fig8", unit="x").of(
        "f8-multimedia-mapping", "On Multimedia channels bring more with page mapping than with hybrid mapping: the "
        "gain of the one ÷ of the other, at least", "above 1", verdicts.above(1.0, verdicts.RATIO_NOISE), "Multimedia",
        gain,
    )  # fmt: skip


def _figure9(m: str) -> Iterator[Statement]:
    of = About("fig9", id=f"f9-{m.lower()}-{{}}", claim=f"{m}: {{}}").of

    def furthest(paper: float) -> Callable[[Iterable[float]], float]:
        return lambda values: max(values, key=lambda value: abs(value - paper))

    for workload, paper in (("Desktop", 70.0), ("Random", 80.0)):
        yield of(
            f"fi-{workload.lower()}", f"FI's channels idle on {workload}: part of the time", paper,
            verdicts.around(paper, 10), workload, _share(workload, ("FI",), m, "idle"),
        )  # fmt: skip
    yield of(
        "idle-desktop", "GCF's and CF's channels idle on Desktop: the one furthest from the paper's", 20,
        verdicts.around(20, 10), "Desktop", _share("Desktop", FORWARDING, m, "idle"), furthest(20),
    )  # fmt: skip

    def of_busy(evidence: Evidence) -> dict[str, float]:
        gc, idle = (_share("Desktop", ("SYNC", *FORWARDING), m, part)(evidence) for part in ("gc", "idle"))
        return {s: 100 * gc[s] / (100 - idle[s]) for s in gc}

    yield of(
        "gc-desktop", "SYNC, GCF and CF spend half of their busy time on GC on Desktop: the one furthest from it", 50,
        verdicts.around(50, 15), "Desktop", of_busy, furthest(50),
    )  # fmt: skip
    yield of(
        "gc-random", "SYNC, GCF and CF spend nearly 90 % of the time on GC on Random: the one furthest from it", 90,
        verdicts.around(90, 7), "Random", _share("Random", ("SYNC", *FORWARDING), m, "gc"), furthest(90),
    )  # fmt: skip

    def side_effect(e: Evidence) -> dict[str, float]:
        waf = {s: {w: e.figure(Point(w, s, m), "waf") for w in ("Desktop", "Random")} for s in ("FI", "CF")}
        return {w: 100 * (waf["CF"][w] / waf["FI"][w] - 1) for w in waf["FI"]}

    yield of(
        "side-effect", "Filling cycles has a very limited side effect: WAF of CF above FI's, at most", "very limited",
        verdicts.at_most(5, 15), "Random", side_effect, max,
    )  # fmt: skip
    if m == "DFTL":
        yield of(
            "gc-multimedia", "GC on Multimedia is very little: the most of all", "very low",
            verdicts.at_most(5, 10), "Multimedia", _share("Multimedia", SCHEMES, m, "gc"), max,
        )  # fmt: skip
        return
    yield of(
        "gc-multimedia-least", "GC on Multimedia, the least of all", 10, verdicts.around(10, 5),
        "Multimedia", _share("Multimedia", SCHEMES, m, "gc"),
    )  # fmt: skip
    yield of(
        "gc-multimedia-most", "GC on Multimedia, the most of all", 40, verdicts.around(40, 10),
        "Multimedia", _share("Multimedia", SCHEMES, m, "gc"), max,
    )  # fmt: skip
    yield of(
        "fi-multimedia", "FI's channels idle on Multimedia: part of the time", 25, verdicts.around(25, 10),
        "Multimedia", _share("Multimedia", ("FI",), m, "idle"),
    )  # fmt: skip

    def left(evidence: Evidence) -> dict[str, float]:
        idle = _share("Multimedia", ("FI", *FORWARDING), m, "idle")(evidence)
        return {s: part(idle[s], idle["FI"]) for s in FORWARDING}

    yield of(
        "idle-multimedia", "GCF and CF idle significantly less than FI on Multimedia: what is left of FI's",
        "significantly", verdicts.at_most(60, 90), "Multimedia", left, max,
    )  # fmt: skip


def _figure10(m: str) -> Iterator[Statement]:
    of = About("fig10", id=f"f10-{m.lower()}-{{}}", claim=f"{m}: {{}}").of
    device: dict[str, Any] = {"mapping": m, "channels": 8, "planes": 2}

    def lead(workload: str, scheme: str, *others: str) -> Callable[[Evidence, int], float]:
        return lambda e, size: _lead(workload, (scheme,), others, buffer_kib=size, **device)(e)[scheme]

    for workload in ("Desktop", "Random"):
        name = workload.lower()
        yield of(
            f"cf-{name}", f"CF is the best of all on {workload} at every size: its lead, at least", "best",
            verdicts.at_least(verdicts.NOISE), workload,
            _by_buffer(BUFFERS_KIB, lead(workload, "CF", "SYNC", "FI", "GCF")),
        )  # fmt: skip

        def worst(e: Evidence, size: int, workload: str = workload) -> float:
            others = min(e.iops(workload, s, buffer_kib=size, **device) for s in SCHEMES if s != "SYNC")
            return 100 * (e.iops(workload, "SYNC", buffer_kib=size, **device) / others - 1)

        yield of(
            f"sync-{name}", f"SYNC is the worst of all on {workload} at every size: above the next, at most",
            "worst", verdicts.at_most(-verdicts.NOISE), workload, _by_buffer(BUFFERS_KIB, worst), max,
        )  # fmt: skip
    yield of(
        "gcf-random", "GCF is noticeably above FI on Random below 8 MiB: by how much at least", "noticeably",
        verdicts.at_least(10, verdicts.NOISE), "Random", _by_buffer(BUFFERS_KIB[:2], lead("Random", "GCF", "FI")),
    )  # fmt: skip
    yield of(
        "cf-random-32", "CF is greatly above GCF and FI on Random even at 32 MiB: by how much", "greatly",
        verdicts.at_least(50, 10), "Random", _by_buffer(BUFFERS_KIB[3:], lead("Random", "CF", "GCF", "FI")),
    )  # fmt: skip
    yield of(
        "fi-random-2", "FI is noticeably above SYNC on Random at 2 MiB: by how much", "noticeably",
        verdicts.at_least(10, verdicts.NOISE), "Random", _by_buffer(BUFFERS_KIB[1:2], lead("Random", "FI", "SYNC")),
    )  # fmt: skip

    def forwarded(e: Evidence, size: int) -> float:
        return min(lead("Desktop", s, "FI")(e, size) for s in FORWARDING)

    if m == "FAST":
        yield of(
            "desktop-small", "GCF and CF are very significantly above FI on Desktop up to 8 MiB: by how much at least",
            "very significantly", verdicts.at_least(25, 5), "Desktop", _by_buffer(BUFFERS_KIB[:3], forwarded),
        )  # fmt: skip
        yield of(
            "desktop-32", "32 MiB reduce the gap between GCF and CF and FI on Desktop: what is left of that at 64 KiB",
            "reduced", verdicts.at_most(75, 95), "Desktop",
            lambda e: {"": 100 * forwarded(e, BUFFERS_KIB[3]) / forwarded(e, BUFFERS_KIB[0])},
        )  # fmt: skip

    def apart(e: Evidence, size: int) -> float:
        found = [e.iops("Multimedia", s, buffer_kib=size, **device) for s in SCHEMES]
        return 100 * (max(found) / min(found) - 1)

    yield of(
        "multimedia", "All are comparable on Multimedia from 8 MiB on: best above worst, at most", "comparable",
        verdicts.at_most(15, 30), "Multimedia", _by_buffer(BUFFERS_KIB[2:], apart), max,
    )  # fmt: skip


def _figure10_mappings() -> Iterator[Statement]:
    def grown(e: Evidence, workload: str, mapping: str) -> float:
        ends = (BUFFERS_KIB[0], BUFFERS_KIB[-1])
        small, large = ([e.iops(workload, s, mapping, 8, 2, size) for s in SCHEMES] for size in ends)
        return math.prod(after / before for before, after in zip(small, large, strict=True)) ** (
            1 / len(SCHEMES)
        )

    def more(evidence: Evidence) -> dict[str, float]:
        return {w: grown(evidence, w, "DFTL") / grown(evidence, w, "FAST") for w in ("Desktop", "Random")}

    yield About("fig10", unit="x").of(
        "f10-mapping", "A larger buffer (64 KiB to 32 MiB) helps page mapping more than hybrid mapping: the gain "
        "of the one ÷ of the other, means over all, at least", "above 1", verdicts.above(1.0, verdicts.RATIO_NOISE),
        "Desktop", more,
    )  # fmt: skip


def _table3() -> Iterator[Statement]:
    def iops(scheme: str, workload: str, setting: str = "") -> Values:
        return lambda e: {"": e.figure(table3_point(scheme, workload, setting), "iops")}

    def ratio(workload: str) -> Values:
        return lambda e: {"": iops("CF", workload)(e)[""] / iops("SYNC", workload)(e)[""]}

    def above_real(e: Evidence) -> dict[str, float]:
        return {
            f"{scheme} {w}": 100 * (iops(scheme, _model(w))(e)[""] / real - 1)
            for (scheme, w), real in TABLE3_SSD.items()
        }  # fmt: skip

    of = About("table3", unit="x", id="t3-{}").of
    for (scheme, workload), published in TABLE3.items():
        device = f"{scheme} with {'32 KiB' if scheme == 'CF' else 'no buffer'}, 4 channels, FAST, {workload}"
        name = f"{scheme.lower()}-{workload.lower()}"
        rule = verdicts.near(published, 15)
        yield of(name, device, published, rule, _model(workload), iops(scheme, _model(workload)), unit="IOPS")
    for workload in WORKLOADS:
        times = TABLE3["CF", workload] / TABLE3["SYNC", workload]
        yield of(
            f"ratio-{workload.lower()}", f"CF with 32 KiB ÷ SYNC with no buffer on {workload}", round(times, 2),
            verdicts.times(times, 15), _model(workload), ratio(_model(workload)),
        )  # fmt: skip
    yield of(
        "real", "The real drive's IOPS are slightly below the simulator's: by how much these are above them, the row "
        "furthest from 7 %", "2 to 8", verdicts.within(0, 15), "Random", above_real,
        lambda values: max(values, key=lambda value: abs(value - 7)), unit="%",
    )  # fmt: skip


def _model(workload: str) -> str:
    """What stands for a workload of Table 3."""
    return CROWDED.name if workload == "Desktop" else workload


def _pathological() -> Iterator[Statement]:
    def others(evidence: Evidence, scheme: str, setting: str = "") -> float:
        return float(
            erases_by_channel(evidence.results[Point(ONE_CHANNEL.name, scheme, setting=setting)])[1:].sum()
        )

    of = About("pathological", id="ns-{}").of
    yield of(
        "protects", "N_s keeps the other channels from unnecessary erases where one channel gets nearly all writes: "
        "what is left of those without N_s, at most", "protects", verdicts.at_most(10, 50),
        ONE_CHANNEL.name, lambda e: {s: part(others(e, s), others(e, s, "no limit")) for s in FORWARDING}, max,
    )  # fmt: skip
    yield of(
        "little-help", "Forwarding is little help there: IOPS above FI's with N_s, at most", "little",
        verdicts.at_most(5, 20), ONE_CHANNEL.name, _lead(ONE_CHANNEL.name, FORWARDING, ("FI",)), max,
    )  # fmt: skip
