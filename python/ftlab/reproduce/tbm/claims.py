"""What the TBM paper claims, and how each claim is measured and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ftlab.reproduce import claims as verdicts
from ftlab.reproduce.claims import About, Finding, Pick, Statement, decided
from ftlab.reproduce.tbm.axes import (
    ALLOCATIONS,
    PRISTINE,
    REPLAYS,
    Evidence,
    Point,
    long_term,
    ratio,
)
from ftlab.reproduce.tbm.traces import PAPER_NAMES, SERIES_WORKLOAD

SIGNED = "{:+.1f}".format


def statements() -> Iterator[Statement]:
    for replay in REPLAYS:
        yield from _series_statements(replay)
        yield from _bar_statements(replay)
    yield from _bac_statements()


def _series_point(allocation: str, tbm: bool, replay: str) -> Point:
    return Point(SERIES_WORKLOAD, allocation, tbm, False, replay)


def _fall(kind: str, allocation: str, tbm: bool, replay: str) -> Callable[[Evidence], Finding]:
    """By how much a multi-plane share is lower in the long term than in the pristine drive, in % of it."""

    def measure(evidence: Evidence) -> Finding:
        point = _series_point(allocation, tbm, replay)
        figure = f"multiplane_{kind}"
        before, after = (getattr(evidence.at(point, between), figure) for between in (PRISTINE, None))
        note = f"{100 * before:.1f} % of pages when pristine, {100 * after:.1f} % in the long term"
        return Finding(100 * (1 - ratio(after, before)), SERIES_WORKLOAD, note)

    return measure


def _series_statements(replay: str) -> Iterator[Statement]:
    statement = About("series", SERIES_WORKLOAD, id=f"{{}}-{replay}", claim=f"{{}} ({replay} loop)")
    yield statement(
        "a-writes-base", "Without TBM, D's share of multi-plane writes falls once the drive has been written",
        90.0, verdicts.at_least(80, 10), _fall("writes", "D", False, replay),
    )  # fmt: skip
    yield statement(
        "a-writes-tbm", "With TBM, D's share of multi-plane writes stays nearly constant",
        "near 0", verdicts.at_most(10, 40), _fall("writes", "D", True, replay),
    )  # fmt: skip
    yield statement(
        "a-reads-base", "Without TBM, D's share of multi-plane reads falls",
        "falls", verdicts.at_least(10, 1), _fall("reads", "D", False, replay),
    )  # fmt: skip
    yield statement(
        "a-reads-tbm", "With TBM, D's share of multi-plane reads stays nearly constant",
        "near 0", verdicts.at_most(10, 40), _fall("reads", "D", True, replay),
    )  # fmt: skip
    yield statement(
        "a-d-ahead-pristine", "On a pristine drive, D's response time is shorter than F's",
        "shorter", verdicts.at_least(verdicts.NOISE, 0), _lead(PRISTINE, replay),
    )  # fmt: skip
    yield statement(
        "a-d-ahead-later", "In the long term and without TBM, D has lost its lead over F",
        "lead lost", verdicts.at_most(verdicts.NOISE, 10), _lead(None, replay),
    )  # fmt: skip


def _lead(between: tuple[float, float] | None, replay: str) -> Callable[[Evidence], Finding]:
    def measure(evidence: Evidence) -> Finding:
        d, f = (evidence.at(_series_point(a, False, replay), between).response_us for a in ("D", "F"))
        note = f"mean response time D {d / 1e3:.3g} ms, F {f / 1e3:.3g} ms"
        return Finding(100 * (1 - ratio(d, f)), SERIES_WORKLOAD, note)

    return measure


def _changes(
    replay: str, change: Callable[[Evidence, str], float], pick: Pick
) -> Callable[[Evidence], Finding]:
    """A figure of every workload, of which one decides."""

    def measure(evidence: Evidence) -> Finding:
        names = [name for name in PAPER_NAMES if Point(name, "F", False, False, replay) in evidence.results]
        return decided({name: change(evidence, name) for name in names}, pick, SIGNED)

    return measure


def _gain(figure: str, allocation: str, replay: str) -> Callable[[Evidence, str], float]:
    def change(evidence: Evidence, name: str) -> float:
        base, twin = (Point(name, allocation, tbm, False, replay) for tbm in (False, True))
        return evidence.gain(figure, base, twin)

    return change


def _bar_statements(replay: str) -> Iterator[Statement]:
    statement = About("bars", SERIES_WORKLOAD, id=f"{{}}-{replay}", claim=f"{{}} ({replay} loop)")

    def worst_of_f(evidence: Evidence, name: str) -> float:
        return min(_gain(figure, "F", replay)(evidence, name) for figure in ("iops", "response_us"))

    yield statement(
        "b-f-never-slower", "F+TBM is never slower than F, in IOPS or response time: its worst case",
        "at least 0", verdicts.at_least(-verdicts.NOISE, -5), _changes(replay, worst_of_f, min),
    )  # fmt: skip
    for allocation, iops, response in (("F", 5.0, 17.0), ("D", 68.0, 42.0), ("F2", 73.0, 40.0)):
        words = f"{allocation}+TBM against {allocation}"
        # At the traces' own pace the device keeps up, so IOPS are the trace's, whatever the FTL does.
        if replay == "closed":
            yield statement(
                f"b-{allocation.lower()}-iops", f"{words}: the greatest gain in IOPS",
                iops, verdicts.up_to(iops), _changes(replay, _gain("iops", allocation, replay), max),
            )  # fmt: skip
        yield statement(
            f"b-{allocation.lower()}-response", f"{words}: the greatest cut of the mean response time",
            response, verdicts.up_to(response), _changes(replay, _gain("response_us", allocation, replay), max),
        )  # fmt: skip
    for name in ("prn-1", "fin1"):
        yield statement(
            f"b-d-loss-{name}", f"D+TBM loses against D on {name}: the change of its "
            + ("IOPS" if replay == "closed" else "response time, as a gain"),
            "-10 to -1", verdicts.within(-10, -1), _one(name, replay), workload=name,
        )  # fmt: skip
    yield statement(
        "d-gc-count", "TBM collects less often, with every allocation: the greatest change of the count",
        "below 0", verdicts.at_most(-verdicts.NOISE, 0), _changes(replay, _collections(replay), max),
    )  # fmt: skip
    yield statement(
        "d-gc-cost", "D+TBM moves more pages than D for each block erased: the median change over workloads",
        "above 0", verdicts.at_least(verdicts.NOISE, 0), _changes(replay, _cost(replay), _median),
    )  # fmt: skip
    yield statement(
        "d-f2-base", "Without TBM, F2's results are almost identical to F's: the greatest difference in "
        + ("IOPS" if replay == "closed" else "response time"),
        "near 0", verdicts.at_most(5, 10), _changes(replay, _f2_apart(replay), max),
    )  # fmt: skip


def _one(name: str, replay: str) -> Callable[[Evidence], Finding]:
    figure = "iops" if replay == "closed" else "response_us"

    def measure(evidence: Evidence) -> Finding:
        return Finding(_gain(figure, "D", replay)(evidence, name), name)

    return measure


def _collections(replay: str) -> Callable[[Evidence, str], float]:
    def change(evidence: Evidence, name: str) -> float:
        ratios = []
        for allocation in ALLOCATIONS:
            base, twin = (evidence.at(Point(name, allocation, tbm, False, replay)) for tbm in (False, True))
            ratios.append(ratio(twin.gc_count, base.gc_count))
        return 100 * (max(ratios) - 1)

    return change


def _cost(replay: str) -> Callable[[Evidence, str], float]:
    def change(evidence: Evidence, name: str) -> float:
        base, twin = (evidence.at(Point(name, "D", tbm, False, replay)) for tbm in (False, True))
        return 100 * (ratio(twin.gc_cost_per_block, base.gc_cost_per_block) - 1)

    return change


def _median(values: Iterable[float]) -> float:
    """The middle value; of an even number the lower of the two, so that it is one of them."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2]


def _f2_apart(replay: str) -> Callable[[Evidence, str], float]:
    figure = "iops" if replay == "closed" else "response_us"

    def change(evidence: Evidence, name: str) -> float:
        f, f2 = (Point(name, allocation, False, False, replay) for allocation in ("F", "F2"))
        return abs(evidence.gain(figure, f, f2))

    return change


def _bac_apart(evidence: Evidence, name: str) -> float:
    """The greatest change of a workload's response time; both figures from the volume that both runs wrote."""
    apart = []
    for allocation in ALLOCATIONS:
        for tbm in (False, True):
            pac, bac = (Point(name, allocation, tbm, bac, "closed") for bac in (False, True))
            if bac in evidence.results:
                apart.append(evidence.gain("response_us", bac, pac, long_term(evidence.results[bac])))
    return max(apart, key=abs)


def _bac_statements() -> Iterator[Statement]:
    def of(names: Sequence[str]) -> Callable[[Evidence], Finding]:
        def measure(evidence: Evidence) -> Finding:
            ready = [n for n in names if Point(n, "F", False, True, "closed") in evidence.results]
            apart = {name: _bac_apart(evidence, name) for name in ready}
            found = decided(apart, lambda values: max(values, key=abs), SIGNED)
            return found._replace(measured=abs(found.measured))

        return measure

    statement, rule = About("bac", SERIES_WORKLOAD), verdicts.at_most(2, 4)
    yield statement(
        "c-bac", "PAC in place of BAC changes the long-term response time by less than 2 %: the greatest change",
        "below 2", rule, of([SERIES_WORKLOAD]),
    )  # fmt: skip
    yield statement(
        "c-bac-all", "PAC in place of BAC changes results by 0 to 2 % on all workloads: the greatest change of the "
        "response time", "up to 2", rule, of(PAPER_NAMES),
    )  # fmt: skip
