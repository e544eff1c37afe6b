"""The tables of the TBM report, from a grid's results."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ftlab.results import text
from ftlab_reproduce.study import tabled
from ftlab_reproduce.tbm.axes import (
    ALLOCATIONS,
    FIGURE7,
    FINER_LOADS,
    FULL,
    LETTER_QUEUED,
    LOAD_WORKLOAD,
    LOADS,
    OWN_PACE,
    QUEUED,
    RATED,
    READS_WAIT,
    SINGLE,
    STATED_LOAD,
    TO_THE_LETTER,
    WAITS,
    WAITS_AT_PACE,
    Evidence,
    Point,
    long_term,
)
from ftlab_reproduce.tbm.claims import cost, gain, workloads_of
from ftlab_reproduce.tbm.traces import (
    DATA_NAMES,
    LONGER_NAMES,
    LOSING,
    MOVING_NAMES,
    PAPER_NAMES,
    SERIES_WORKLOAD,
    SIZED_NAMES,
)


def _gain(
    evidence: Evidence, name: str, allocation: str, figure: str = "iops", setting: str = FIGURE7
) -> str:
    try:
        return f"{gain(figure, allocation, evidence, name, setting):+.1f} %"
    except KeyError:
        return text.ABSENT


def _share(value: float) -> str:
    return text.percent(value, 1)


HEAD = [
    "workload", "pages moved for each of the host's, D", "multi-plane writes: D", "D+TBM", "F2", "F2+TBM", "IOPS of F",
    "D", "F2", "F+TBM", "D+TBM", "F2+TBM", "response time saved: F+TBM", "D+TBM", "F2+TBM",
]  # fmt: skip


def _gains(setting: str) -> Callable[[Evidence], Iterator[list[str]]]:
    """A row for each workload, under one of the settings."""

    def rows(evidence: Evidence) -> Iterator[list[str]]:
        for name in workloads_of(evidence, PAPER_NAMES, setting):
            points = {
                (a, tbm): Point(name, a, tbm, setting=setting) for a in ALLOCATIONS for tbm in (False, True)
            }
            if not set(points.values()) <= set(evidence.results):
                continue
            at = {key: evidence.at(point) for key, point in points.items()}
            yield [
                evidence.named(name),
                text.figure(at["D", False].gc_cost),
                *(_share(at[a, tbm].multiplane_writes) for a in ("D", "F2") for tbm in (False, True)),
                *(text.count(at[a, False].iops) for a in ALLOCATIONS),
                *(_gain(evidence, name, a, setting=setting) for a in ALLOCATIONS),
                *(_gain(evidence, name, a, "response_us", setting) for a in ALLOCATIONS),
            ]

    return rows


gains = tabled("Figure 7: a worn drive, closed loop, Algorithm 2 to the letter", HEAD)(_gains(FIGURE7))
gathered = tabled("The same with two lone pages moved at once, and reads that pass between copies", HEAD)(
    _gains("")
)


@tabled(
    "A full drive (filled in order, then written at random once over), Algorithm 2 to the letter, D",
    ["workload", "pages moved for each of the host's: D", "D+TBM", "change", "multi-plane writes: D", "D+TBM",
     "IOPS of D", "D+TBM"],
)  # fmt: skip
def full(evidence: Evidence) -> Iterator[list[str]]:
    for name in workloads_of(evidence, PAPER_NAMES, FULL):
        base, twin = (evidence.at(Point(name, "D", tbm, setting=FULL)) for tbm in (False, True))
        yield [
            evidence.named(name), *(f"{at.gc_cost:.2f}" for at in (base, twin)),
            f"{100 * (twin.gc_cost / base.gc_cost - 1):+.1f} %",
            *(_share(at.multiplane_writes) for at in (base, twin)), text.count(base.iops),
            _gain(evidence, name, "D", setting=FULL),
        ]  # fmt: skip


@tabled(
    "What requests wait for, D: µs of a request for collections and their erases",
    ["workload", "requests come", "D", "D+TBM", "part of D's response time", "of D+TBM's"],
)
def waits(evidence: Evidence) -> Iterator[list[str]]:
    for setting in (WAITS, WAITS_AT_PACE):
        for name in workloads_of(evidence, PAPER_NAMES, setting):
            points = [Point(name, "D", tbm, setting=setting) for tbm in (False, True)]
            of = {
                key: [evidence.figure(point, key) for point in points]
                for key in ("gc_wait_us", "response_us")
            }
            yield [
                evidence.named(name), "with a full queue" if setting == WAITS else "at their own pace",
                *(text.figure(value) for value in of["gc_wait_us"]),
                *(text.percent(wait / whole) for wait, whole in zip(*of.values(), strict=True)),
            ]  # fmt: skip


@tabled(
    f"{LOAD_WORKLOAD} in an open loop, a worn drive: response time (ms), and what TBM saves of it",
    ["requests arrive", "F", "D", "F2", "F+TBM", "D+TBM", "F2+TBM"],
)
def loads(evidence: Evidence) -> Iterator[list[str]]:
    for setting in (OWN_PACE, *LOADS):
        points = [Point(LOAD_WORKLOAD, a, tbm=False, setting=setting) for a in ALLOCATIONS]
        if all(point in evidence.results for point in points):
            yield [
                setting,
                *(text.figure(evidence.at(point).response_us / 1e3) for point in points),
                *(_gain(evidence, LOAD_WORKLOAD, a, "response_us", setting) for a in ALLOCATIONS),
            ]


@tabled(
    "GC cost: pages moved for each page that the host writes, a worn drive",
    ["workload", "D", "D+TBM", "change", "D+TBM's IOPS"],
)
def costs(evidence: Evidence) -> Iterator[list[str]]:
    for name in workloads_of(evidence, (*PAPER_NAMES, *MOVING_NAMES)):
        both = [evidence.at(Point(name, "D", tbm, setting=FIGURE7)).gc_cost for tbm in (False, True)]
        change = cost(evidence, name)
        yield [
            evidence.named(name),
            *(f"{value:.4f}" for value in both),
            text.ABSENT if change != change else f"{change:+.1f} %",
            _gain(evidence, name, "D"),
        ]


@tabled(
    "Where the paper reports a loss: D+TBM's IOPS against D's, a worn drive",
    ["workload", "pages moved for each of the host's", "lone pages together", "lone pages alone",
     "together, reads wait", "alone, reads wait"],
)  # fmt: skip
def losses(evidence: Evidence) -> Iterator[list[str]]:
    names = (*LOSING, *LONGER_NAMES.values())
    run = {name for setting in ("", TO_THE_LETTER) for name in workloads_of(evidence, names, setting)}
    for name in (name for name in names if name in run):
        together = Point(name, "D", tbm=False)
        base = (
            together if together in evidence.results else Point(name, "D", tbm=False, setting=TO_THE_LETTER)
        )
        alone = Point(name, "D", tbm=True, setting=SINGLE)
        yield [
            evidence.named(name),
            f"{evidence.at(base).gc_cost:.4f}",
            _gain(evidence, name, "D", setting=""),
            f"{evidence.gain('iops', together, alone):+.1f} %" if alone in evidence.results else text.ABSENT,
            _gain(evidence, name, "D", setting=READS_WAIT),
            _gain(evidence, name, "D", setting=TO_THE_LETTER),
        ]


@tabled(
    f"{SERIES_WORKLOAD} with one thing changed: gains in IOPS, closed loop, a worn drive",
    ["changed", "multi-plane writes: D+TBM", "IOPS: D", "F2", "D+TBM", "F2+TBM"],
)
def bounded(evidence: Evidence) -> Iterator[list[str]]:
    every = [
        *((SERIES_WORKLOAD, setting) for setting in ("", *QUEUED, *RATED)),
        *((name, "") for name in SIZED_NAMES),
    ]
    for name, setting in every:
        points = [Point(name, a, tbm, setting=setting) for a in ("D", "F2") for tbm in (False, True)]
        if not all(point in evidence.results for point in points):
            continue
        at = {a: evidence.at(Point(name, a, tbm=False, setting=setting)) for a in ("D", "F2")}
        twin = evidence.at(Point(name, "D", tbm=True, setting=setting))
        yield [
            setting or (name if name != SERIES_WORKLOAD else "nothing"), _share(twin.multiplane_writes),
            *(text.count(window.iops) for window in at.values()),
            *(_gain(evidence, name, a, setting=setting) for a in at),
        ]  # fmt: skip


@tabled(
    "The claimed losses, to the letter of Algorithm 2, by requests in the device", ["workload", "32", *QUEUED]
)
def losses_by_queue(evidence: Evidence) -> Iterator[list[str]]:
    settings = (TO_THE_LETTER, *LETTER_QUEUED)
    for name in LONGER_NAMES.values():
        yield [evidence.named(name), *(_gain(evidence, name, "D", setting=setting) for setting in settings)]


@tabled(
    f"{LOAD_WORKLOAD} at more loads: what TBM saves of F's response time", ["requests arrive", "F", "F+TBM"]
)
def finer_loads(evidence: Evidence) -> Iterator[list[str]]:
    for setting in (STATED_LOAD, *FINER_LOADS):
        base = Point(LOAD_WORKLOAD, "F", tbm=False, setting=setting)
        if base in evidence.results:
            saved = _gain(evidence, LOAD_WORKLOAD, "F", "response_us", setting)
            yield [setting, f"{text.figure(evidence.at(base).response_us / 1e3)} ms", saved]


@tabled(
    f"{SERIES_WORKLOAD} in fewer addresses, D: what a drive loses by moving pages, and by having been used",
    [
        "workload",
        "start",
        "pages moved for each of the host's",
        "multi-plane writes: D",
        "D+TBM",
        "IOPS: D",
        "D+TBM",
    ],
)
def amounts(evidence: Evidence) -> Iterator[list[str]]:
    for worn in (False, True):
        for name in (*DATA_NAMES, SERIES_WORKLOAD):
            points = [Point(name, "D", tbm, worn=worn) for tbm in (False, True)]
            if all(point in evidence.results for point in points):
                base, twin = (evidence.at(point) for point in points)
                gained = evidence.gain("iops", points[0], points[1])
                yield [
                    evidence.named(name), points[0].start, f"{base.gc_cost:.4f}",
                    _share(base.multiplane_writes), _share(twin.multiplane_writes), text.count(base.iops),
                    f"{gained:+.1f} %",
                ]  # fmt: skip


@tabled(
    "Every run's long-term figures (over the second half of what it wrote; *written*: the whole, in user capacities)",
    ["workload", "start", "run", "written", "IOPS", "response ms", "GC count", "pages moved for each of the host's",
     "per erased block", "multi-plane writes %", "multi-plane reads %", "multi-plane erases %", "WAF"],
)  # fmt: skip
def long_term_figures(evidence: Evidence) -> Iterator[list[str]]:
    for point, result in evidence.results.items():
        w = evidence.at(point)
        figures = (
            w.gc_cost, w.gc_cost_per_block, 100 * w.multiplane_writes, 100 * w.multiplane_reads,
            100 * evidence.figure(point, "multiplane_erases"), result.summary["waf_units"],
        )  # fmt: skip
        yield [
            point.workload,
            point.start,
            point.config,
            f"{long_term(result)[1]:.3g}",
            text.count(w.iops),
            text.figure(_known(w.response_us / 1e3)),
            text.count(w.gc_count),
            *(text.figure(_known(value)) for value in figures),
        ]


def _known(value: float | None) -> float | None:
    return None if value != value else value
