"""What the TBM paper claims, and how each claim is measured and judged.

Every published number is judged once: in the closed loop, but for F's response time, which is another number than its
IOPS only while requests find the device now busy, now free. All of Figure 7 is of one device
(:data:`ftlab_reproduce.tbm.axes.FIGURE7`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from ftlab_reproduce import claims as verdicts
from ftlab_reproduce.claims import About, Finding, Pick, Statement, decided
from ftlab_reproduce.tbm.axes import (
    ALLOCATIONS,
    FIGURE7,
    LOAD_WORKLOAD,
    PRISTINE,
    STATED_LOAD,
    WAITS,
    WAITS_AT_PACE,
    Evidence,
    Point,
    first_collection,
    long_term,
    ratio,
)
from ftlab_reproduce.tbm.traces import LEAST_DATA, LOSING, MOVING_NAMES, PAPER_NAMES, SERIES_WORKLOAD

SIGNED = "{:+.1f}".format

Change = Callable[[Evidence, str], float]
"""A figure of a workload."""

MOVES = 1e-3
"""Pages moved for each page of the host: with less, what is moved tells nothing."""

SERVED_FIRST = "collections go before the host's writes to their die"
"""A rule of the engine that was changed after the first results."""

ALREADY_RUN = "judged from runs of a kind whose figures had been seen"

WORN = "a run begins with a worn drive that holds nothing"
"""Of Figure 7. A pristine drive was tried before, on which TBM gained nothing where no page moves."""

LETTER = f"{WORN}; lone pages move alone and reads wait for collections"


def statements() -> Iterator[Statement]:
    yield from _multiplane_statements()
    yield from _response_statements()
    yield from _side_effect_statements()
    yield from _erase_statements()
    yield from _bar_statements()
    yield from _cost_statements()
    yield from _loss_statements()
    yield from _bac_statements()


def series_point(allocation: str, tbm: bool = False, bac: bool = False) -> Point:
    """Of Figure 2 or 6, which begin with a pristine drive."""
    return Point(SERIES_WORKLOAD, allocation, tbm, bac, worn=False)


def lost(evidence: Evidence, point: Point, kind: str = "writes") -> tuple[float, str]:
    """By how much a multi-plane share is lower in the long term than in the pristine drive, in % of it."""
    before, after = (
        getattr(evidence.at(point, between), f"multiplane_{kind}") for between in (PRISTINE, None)
    )
    note = f"{100 * before:.1f} % of pages when pristine, {100 * after:.1f} % in the long term"
    return 100 * (1 - ratio(after, before)), note


def _multiplane_statements() -> Iterator[Statement]:
    statement = About("series", SERIES_WORKLOAD)

    def fall(kind: str, tbm: bool) -> Callable[[Evidence], Finding]:
        def measure(evidence: Evidence) -> Finding:
            value, note = lost(evidence, series_point("D", tbm), kind)
            return Finding(value, SERIES_WORKLOAD, note)

        return measure

    yield statement(
        "a-writes-base", "Without TBM, D's share of multi-plane writes falls once the drive has been written",
        90.0, verdicts.at_least(80, 10), fall("writes", False), basis="late", reading=SERVED_FIRST,
    )  # fmt: skip
    yield statement(
        "a-writes-tbm", "With TBM, D's share of multi-plane writes stays nearly constant",
        "near 0", verdicts.at_most(10, 40), fall("writes", True),
    )  # fmt: skip
    yield statement(
        "a-reads-base", "Without TBM, D's share of multi-plane reads falls",
        "falls", verdicts.at_least(10, 1), fall("reads", False),
    )  # fmt: skip
    yield statement(
        "a-reads-tbm", "With TBM, D's share of multi-plane reads stays nearly constant",
        "near 0", verdicts.at_most(10, 40), fall("reads", True),
    )  # fmt: skip


def rise(evidence: Evidence, allocation: str) -> float:
    """By how much the base's response time is longer in the long term than in the pristine drive, in % of that."""
    before, after = (evidence.at(series_point(allocation), b).response_us for b in (PRISTINE, None))
    return 100 * (ratio(after, before) - 1)


def _response_statements() -> Iterator[Statement]:
    statement = About("series", SERIES_WORKLOAD)

    def lead(between: tuple[float, float] | None) -> Callable[[Evidence], Finding]:
        def measure(evidence: Evidence) -> Finding:
            d, f = (evidence.at(series_point(a), between).response_us for a in ("D", "F"))
            note = f"mean response time D {d / 1e3:.3g} ms, F {f / 1e3:.3g} ms"
            return Finding(100 * (1 - ratio(d, f)), SERIES_WORKLOAD, note)

        return measure

    def rises(allocation: str) -> Callable[[Evidence], Finding]:
        return lambda evidence: Finding(rise(evidence, allocation), SERIES_WORKLOAD)

    def faster(evidence: Evidence) -> Finding:
        d, f = (rise(evidence, a) for a in ("D", "F"))
        return Finding(d - f, SERIES_WORKLOAD, f"D by {d:.1f} %, F by {f:.1f} %")

    def begins(evidence: Evidence) -> Finding:
        return Finding(first_collection(evidence.results[series_point("D")]), SERIES_WORKLOAD)

    def improved(evidence: Evidence) -> Finding:
        return Finding(
            evidence.gain("response_us", series_point("D"), series_point("D", tbm=True)), SERIES_WORKLOAD
        )

    yield statement("a-d-ahead-pristine", "On a pristine drive, D's response time is shorter than F's",
                    "shorter", verdicts.at_least(verdicts.NOISE), lead(PRISTINE))  # fmt: skip
    yield statement("a-d-ahead-later", "In the long term and without TBM, D has lost its lead over F",
                    "lead lost", verdicts.at_most(verdicts.NOISE, 10), lead(None), basis="late",
                    reading=SERVED_FIRST)  # fmt: skip
    known = replace(statement, basis="late", reading=ALREADY_RUN)
    for allocation in ("F", "D"):
        yield known(
            f"a-{allocation.lower()}-rises", f"From about one capacity written {allocation}'s response time rises: "
            "long term over pristine", "rises", verdicts.at_least(verdicts.NOISE), rises(allocation),
        )  # fmt: skip
    yield known("a-d-rises-more", "D's response time rises more than F's, points", "more",
                verdicts.at_least(verdicts.NOISE), faster)  # fmt: skip
    yield known("a-gc-begins", "Collections begin when about one capacity has been written", 1.0,
                verdicts.near(1, 25), begins, unit="capacities")  # fmt: skip
    yield known("a-tbm-response", "TBM shortens D's long-term response time on prj-0 (Figures 2 and 6)", "shorter",
                verdicts.at_least(verdicts.NOISE), improved)  # fmt: skip


def _side_effect_statements() -> Iterator[Statement]:
    """Section 4.1: what keeps addresses equal in a pristine drive, and the two ways in which that is lost."""
    series, data = About("series", SERIES_WORKLOAD), About("data", LEAST_DATA)

    def first_fit(evidence: Evidence) -> Finding:
        pac, bac = (evidence.at(series_point("D", bac=b), PRISTINE).multiplane_writes for b in (False, True))
        note = f"{100 * pac:.1f} % of pages under PAC, {100 * bac:.1f} % under BAC"
        return Finding(100 * (1 - ratio(bac, pac)), SERIES_WORKLOAD, note)

    def no_move(evidence: Evidence, bac: bool) -> tuple[float, str]:
        point = Point(LEAST_DATA, "D", tbm=False, bac=bac, worn=False)
        value, note = lost(evidence, point)
        return value, f"{evidence.at(point).gc_cost:.2g} pages moved for each written; {note}"

    def blocks(evidence: Evidence) -> Finding:
        value, note = no_move(evidence, bac=True)
        return Finding(value, LEAST_DATA, note)

    def pages(evidence: Evidence) -> Finding:
        still, note = no_move(evidence, bac=False)
        moving, _ = lost(evidence, series_point("D"))
        return Finding(
            moving - still,
            LEAST_DATA,
            f"falls by {moving:.1f} % where pages move and {still:.1f} % where not: {note}",
        )

    yield series(
        "a-first-fit", "In a pristine drive first-fit satisfies BAC: what D's share of multi-plane writes loses by BAC",
        "near 0", verdicts.at_most(verdicts.NOISE, 10), first_fit, basis="late", reading=ALREADY_RUN,
    )  # fmt: skip
    yield data(
        "a-effect-blocks", "Victims of different addresses break BAC, though no page moves: the fall of D+BAC's "
        "multi-plane writes", "falls", verdicts.at_least(80, 10), blocks,
    )  # fmt: skip
    yield data(
        "a-effect-pages", "Unequal numbers of valid pages break PAC: the fall of D's multi-plane writes where pages "
        "move, over that where none does, points", "falls", verdicts.at_least(80, 10), pages,
    )  # fmt: skip


def _erase_statements() -> Iterator[Statement]:
    statement = About("series", SERIES_WORKLOAD)

    def share(tbm: bool) -> Callable[[Evidence], Finding]:
        point = series_point("D", tbm)
        return lambda evidence: Finding(100 * evidence.figure(point, "multiplane_erases"), SERIES_WORKLOAD)

    def saved(figure: Callable[[Evidence, Point], float]) -> Callable[[Evidence], Finding]:
        def measure(evidence: Evidence) -> Finding:
            base, twin = (figure(evidence, series_point("D", tbm)) for tbm in (False, True))
            return Finding(100 * (1 - ratio(twin, base)), SERIES_WORKLOAD)

        return measure

    yield statement("e-erases-base", "Collected plane by plane, few blocks are erased by multi-plane erases (D)", "few",
                    verdicts.at_most(25, 75), share(tbm=False), basis="late", reading=ALREADY_RUN)  # fmt: skip
    yield statement("e-erases-tbm", "TBM makes full use of multi-plane erases (D)", 100,
                    verdicts.around(100, 1), share(tbm=True), basis="construction")  # fmt: skip
    yield statement(
        "e-time", "With TBM dies spend less time in erases for what is written (D)", "less", verdicts.at_least(10, 1),
        saved(lambda evidence, point: evidence.figure(point, "erasing_s_per_gb")), basis="construction",
    )  # fmt: skip
    yield statement(
        "e-rate", "TBM greatly reduces the rate of collections (D)", "less", verdicts.at_least(10, 1),
        saved(lambda evidence, point: evidence.at(point).gc_per_gb), basis="construction",
    )  # fmt: skip


def _each(names: Iterable[str], change: Change, pick: Pick) -> Callable[[Evidence], Finding]:
    """A figure of every workload that there are runs of; one of them decides."""

    def measure(evidence: Evidence) -> Finding:
        ready = [name for name in names if Point(name, "D", tbm=False, setting=FIGURE7) in evidence.results]
        return decided({name: change(evidence, name) for name in ready}, pick, SIGNED)

    return measure


def gain(figure: str, allocation: str, evidence: Evidence, name: str, setting: str = FIGURE7) -> float:
    """What TBM gains on a workload from a worn drive, in %."""
    base, twin = (Point(name, allocation, tbm, setting=setting) for tbm in (False, True))
    return evidence.gain(figure, base, twin)


def _bar_statements() -> Iterator[Statement]:
    statement = About("bars", SERIES_WORKLOAD, basis="late", reading=LETTER)

    def worst_of_f(evidence: Evidence, name: str) -> float:
        return min(gain(figure, "F", evidence, name) for figure in ("iops", "response_us"))

    def at_the_load(evidence: Evidence) -> Finding:
        value = gain("response_us", "F", evidence, LOAD_WORKLOAD, STATED_LOAD)
        return Finding(value, LOAD_WORKLOAD)

    def greatest(figure: str, allocation: str) -> Callable[[Evidence], Finding]:
        return _each(PAPER_NAMES, partial(gain, figure, allocation), max)

    yield statement(
        "b-f-always", "F+TBM is always faster than F, in IOPS and response time: its least gain", "above 0",
        verdicts.at_least(verdicts.NOISE), _each(PAPER_NAMES, worst_of_f, min),
    )  # fmt: skip
    for allocation, iops, response in (("F", 5.0, 17.0), ("D", 68.0, 42.0), ("F2", 73.0, 40.0)):
        words = f"{allocation}+TBM against {allocation}"
        yield statement(
            f"b-{allocation.lower()}-iops", f"{words}: the greatest gain in IOPS",
            iops, verdicts.up_to(iops), greatest("iops", allocation),
        )  # fmt: skip
        if allocation != "F":
            # With a full queue response time × IOPS is the depth of the queue.
            yield statement(
                f"b-{allocation.lower()}-response", f"{words}: the greatest cut of the mean response time",
                response, verdicts.up_to(response), greatest("response_us", allocation), basis="follows",
            )  # fmt: skip
    # The load was found by looking where the three published cuts appear together.
    yield statement(
        "b-f-response", f"F+TBM against F: the cut of the mean response time {STATED_LOAD}", 17.0,
        verdicts.up_to(17), at_the_load, experiment="load", workload=LOAD_WORKLOAD,
        reading=f"{LETTER}; the load",
    )  # fmt: skip
    yield statement(
        "b-d-prn-0", "On prn-0 better use of the planes outweighs what collections cost: D+TBM's gain in IOPS",
        "a gain", verdicts.at_least(verdicts.NOISE), _each(["prn-0"], partial(gain, "iops", "D"), max),
        workload="prn-0",
    )  # fmt: skip
    yield statement(
        "d-gc-count", "TBM collects less often, with every allocation: the greatest change of the count",
        "below 0", verdicts.at_most(-verdicts.NOISE), _each(PAPER_NAMES, _collections, max), basis="construction",
    )  # fmt: skip
    yield statement(
        "d-f2-base", "Without TBM, F2's results are almost identical to F's: the greatest difference in IOPS",
        "near 0", verdicts.at_most(5, 10), _each(PAPER_NAMES, _f2_apart, max),
    )  # fmt: skip
    yield statement(
        "b-waits", "With TBM the host's operations wait less for collections (prj-0, D): what is saved of the wait",
        "less", verdicts.at_least(10, verdicts.NOISE), _saved_wait, experiment="waits",
    )  # fmt: skip
    yield statement(
        "b-waits-prn", "At their own pace requests of prn-0 meet collections less than those of prn-1: the part of "
        "the response time under D+TBM that is a wait for them, points less", "less", verdicts.above(0),
        _less_met, experiment="waits", workload="prn-0",
    )  # fmt: skip


def _saved_wait(evidence: Evidence) -> Finding:
    base, twin = (
        evidence.figure(Point(SERIES_WORKLOAD, "D", tbm, setting=WAITS), "gc_wait_us")
        for tbm in (False, True)
    )
    note = f"{base / 1e3:.3g} to {twin / 1e3:.3g} ms a request"
    return Finding(100 * (1 - ratio(twin, base)), SERIES_WORKLOAD, note)


def met(evidence: Evidence, name: str, tbm: bool = True) -> float:
    """The part of the response time at the trace's own pace that is a wait for collections and erases, in %."""
    point = Point(name, "D", tbm, setting=WAITS_AT_PACE)
    return 100 * ratio(evidence.figure(point, "gc_wait_us"), evidence.figure(point, "response_us"))


def _less_met(evidence: Evidence) -> Finding:
    prn0, prn1 = (met(evidence, name) for name in ("prn-0", "prn-1"))
    return Finding(prn1 - prn0, "prn-0", f"prn-0 {prn0:.2f} %, prn-1 {prn1:.2f} %")


def _collections(evidence: Evidence, name: str) -> float:
    """The change of the number of collections, with the allocation where it falls least."""
    counts = [
        [evidence.at(Point(name, allocation, tbm, setting=FIGURE7)).gc_count for tbm in (False, True)]
        for allocation in ALLOCATIONS
    ]
    return 100 * (max(ratio(twin, base) for base, twin in counts) - 1)


def cost(evidence: Evidence, name: str) -> float:
    """By how much D+TBM moves more pages for each of the host's than D, in %; where hardly any moves there is none."""
    base, twin = (evidence.at(Point(name, "D", tbm, setting=FIGURE7)).gc_cost for tbm in (False, True))
    return 100 * (ratio(twin, base) - 1) if max(base, twin) >= MOVES else math.nan


def _cost_statements() -> Iterator[Statement]:
    yield About("moving", SERIES_WORKLOAD, basis="late", reading=LETTER)(
        "d-gc-cost", "D+TBM moves more pages than D for each page that the host writes: the least change over the "
        "workloads that move pages", "above 0", verdicts.at_least(verdicts.NOISE),
        _each((*PAPER_NAMES, *MOVING_NAMES), cost, min),
    )  # fmt: skip


def _f2_apart(evidence: Evidence, name: str) -> float:
    f, f2 = (Point(name, allocation, tbm=False, setting=FIGURE7) for allocation in ("F", "F2"))
    return abs(evidence.gain("iops", f, f2))


def _loss_statements() -> Iterator[Statement]:
    def of(name: str) -> Callable[[Evidence], Finding]:
        def measure(evidence: Evidence) -> Finding:
            base = evidence.at(Point(name, "D", tbm=False, setting=FIGURE7))
            return Finding(
                gain("iops", "D", evidence, name),
                name,
                f"D moves {base.gc_cost:.2g} pages for each of the host",
            )

        return measure

    for name in LOSING:
        yield About("bars", name, basis="late", reading=LETTER)(
            f"b-loss-{name}", f"D+TBM loses against D on {name}: the change of its IOPS",
            "-10 to -1", verdicts.within(-10, -1), of(name),
        )  # fmt: skip


def _bac_apart(evidence: Evidence, name: str) -> float:
    """The greatest change of a workload's response time; both figures from the volume that both runs wrote."""
    apart = []
    for allocation in ALLOCATIONS:
        for tbm in (False, True):
            pac, bac = (Point(name, allocation, tbm, bac, setting=FIGURE7) for bac in (False, True))
            if bac in evidence.results:
                apart.append(evidence.gain("response_us", bac, pac, long_term(evidence.results[bac])))
    return max(apart, key=abs, default=math.nan)


def _bac_statements() -> Iterator[Statement]:
    def in_series(evidence: Evidence) -> Finding:
        pac, bac = (series_point("D", bac=bac) for bac in (False, True))
        return Finding(evidence.gain("response_us", bac, pac), SERIES_WORKLOAD)

    def on_all(evidence: Evidence) -> Finding:
        found = _each(PAPER_NAMES, _bac_apart, partial(max, key=abs))(evidence)
        return found._replace(measured=abs(found.measured))

    yield About("series", SERIES_WORKLOAD)(
        "c-bac", "PAC in place of BAC shortens D's long-term response time by less than 2 % (Figure 2)", "below 2",
        verdicts.at_most(2, 4), in_series,
    )  # fmt: skip
    yield About("bac", SERIES_WORKLOAD, basis="late", reading=LETTER)(
        "c-bac-all", "PAC in place of BAC changes results by 0 to 2 % on all workloads: the greatest change of the "
        "response time", "up to 2", verdicts.at_most(2, 4), on_all,
    )  # fmt: skip


def workloads_of(evidence: Evidence, names: Sequence[str], setting: str = FIGURE7) -> list[str]:
    """Of the workloads, those with runs of D from a worn drive, base and TBM."""
    return [
        name for name in names
        if all(Point(name, "D", tbm, setting=setting) in evidence.results for tbm in (False, True))
    ]  # fmt: skip
