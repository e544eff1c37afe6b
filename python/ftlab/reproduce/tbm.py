"""Twin block management: {F, D, F2} × {base, TBM} × {PAC, BAC} from a pristine drive to ten capacities written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ftlab.reproduce import claims as verdicts
from ftlab.reproduce.claims import Claim, Finding, Rule, Statement
from ftlab.reproduce.experiment import Run
from ftlab.reproduce.synthesis import TraceModel
from ftlab.reproduce.workloads import Wanted, Workload
from ftlab.result import Result

PAPER = "tbm"
PRESET = "tbm"
ALLOCATIONS = ("F", "D", "F2")
REPLAYS = ("closed", "open")

CAPACITIES = 10.0
"""User capacities written by a run at full length."""

PRISTINE = (0.1, 0.7)
"""Capacities written, between which a drive counts as pristine. Pages that are written in part use a whole page, so
the first collection comes before a whole capacity has been written."""

LONG_TERM = 0.5
"""The part of what a run writes, at its end, whose figures count as long-term: 5 to 10 capacities at full length."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How large the device is."""

    ratio: float
    """Of the paper's blocks, capacity and data."""
    sets: Mapping[str, int | float | str]
    """The settings that make the preset's device so large."""
    short: float = CAPACITIES
    """Capacities written by runs beside the main ones ([`capacities`])."""
    shortest: float = CAPACITIES
    """The same for the workloads in `LONG_RUNNING` and `EXTRAS`."""


SCALES = {
    "quick": Scale(
        1 / 32, {"device.blocks_per_plane": 64, "device.user_capacity": "7.5GiB"}, short=4.0, shortest=2.0
    ),
    "paper": Scale(1.0, {}),
}


def _wanted(files: str, description: str, **model: float | int | str) -> Wanted:
    made = TraceModel(**model, sources=description)  # type: ignore[arg-type]
    table = {
        "write_fraction": made.write_fraction,
        "read_kib": made.read_kib,
        "write_kib": made.write_kib,
        "inter_arrival_ms": made.inter_arrival_ms,
    }
    return Wanted(made.name, files, table, made)


# Table 1's "Req. Size" is read / write: the public Postmark trace has 98.8 KiB reads and 833.0 KiB writes at 17 %
# writes, and the whole of Financial1 has 2.3 and 3.8.
SPACE_GIB = 240.0
"""The addresses of made traces lie anywhere in the drive. How much of it they fill follows from the requests of a pass
and their locality: all of them fill a small part, as a pass of the originals writes far less than 240 GB. See
docs/papers/tbm.md for why not less.
"""

WORKLOADS = (
    _wanted(
        r"tpc[-_]?e.*",
        "84 minutes of TPC-E; at 0.3 ms a pass has about 17 million requests and writes 11 GB; 8 KiB database pages",
        name="tpce", write_fraction=0.08, read_kib=8.0, write_kib=8.4, inter_arrival_ms=0.3,
        requests=16_800_000, space_gib=SPACE_GIB, zipf=0.6, sequential=0.02, lattice_kib=8.0, burst=1.0,
    ),
    _wanted(
        r"(msr[-_])?prn[-_]?0(\.csv)?",
        "MSR Cambridge, 7 days: 5.6 million requests over about 15 GiB; small writes, most to few places",
        name="prn-0", write_fraction=0.89, read_kib=22.9, write_kib=9.7, inter_arrival_ms=108.3,
        requests=5_590_000, space_gib=SPACE_GIB, zipf=0.9, sequential=0.2, lattice_kib=0.5, burst=8.0,
    ),
    _wanted(
        r"(msr[-_])?prn[-_]?1(\.csv)?",
        "MSR Cambridge, 7 days: 11.2 million requests over about 77 GiB, most of it read once; what is written is less",
        name="prn-1", write_fraction=0.25, read_kib=22.5, write_kib=11.7, inter_arrival_ms=53.8,
        requests=11_230_000, space_gib=SPACE_GIB, zipf=0.8, sequential=0.35, lattice_kib=0.5, burst=8.0,
    ),
    _wanted(
        r"exch.*",
        "Exchange 2007, 24 hours; at 1.1 ms 20 million requests are the first six; 8 KiB database pages",
        name="exch", write_fraction=0.72, read_kib=16.8, write_kib=15.9, inter_arrival_ms=1.1,
        requests=20_000_000, space_gib=SPACE_GIB, zipf=0.6, sequential=0.1, lattice_kib=8.0, burst=4.0,
    ),
    _wanted(
        r"fin(ancial)?[-_]?1(\.spc)?",
        "UMass Financial1, 12 hours: 5.3 million requests on 24 units; about 1 GiB of data, few places very hot",
        name="fin1", write_fraction=0.77, read_kib=2.3, write_kib=3.8, inter_arrival_ms=8.2,
        requests=5_330_000, space_gib=SPACE_GIB, zipf=1.0, sequential=0.1, lattice_kib=0.5, burst=4.0,
    ),
    _wanted(
        r"(msr[-_])?pro?j[-_]?0(\.csv)?",
        "MSR Cambridge, 7 days: 4.2 million requests, 144 GB written to about 3 GiB",
        name="prj-0", write_fraction=0.88, read_kib=17.9, write_kib=40.9, inter_arrival_ms=143.2,
        requests=4_220_000, space_gib=SPACE_GIB, zipf=0.9, sequential=0.25, lattice_kib=0.5, burst=8.0,
    ),
    _wanted(
        r"post(mark)?([-_].*)?(\.trace)?",
        "the public trace has 62 257 requests and 5.8 GiB of data; files are written whole, in sequence",
        name="post", write_fraction=0.17, read_kib=98.8, write_kib=833.0, inter_arrival_ms=6.9,
        requests=62_257, space_gib=SPACE_GIB, zipf=0.2, sequential=0.5, lattice_kib=4.0, burst=4.0, spread=0.4,
    ),
)  # fmt: skip
"""The paper's seven workloads, in the order of its Table 1."""

EXTRAS = (
    Wanted("fin1 excerpt", r"umass-financial1-10k\.ascii", {}, is_paper=False, whole=True),
    Wanted("dtrs excerpt", r"snia-msps-dtrs-300s\.trace", {}, is_paper=False, whole=True),
)
"""Real traces that are not the paper's: rows of their own, in no claim."""

SERIES_WORKLOAD = "prj-0"
"""The workload of Figures 2 and 6."""

DATA_GIB = (3.0, 12.0, 24.0, 60.0)
"""Address spaces that the same requests are put into, to see what depends on how full the drive is."""


def _wanted_named(name: str) -> Wanted:
    return next(wanted for wanted in WORKLOADS if wanted.name == name)


def _in_less(wanted: Wanted, gib: float) -> Wanted:
    assert isinstance(wanted.model, TraceModel)
    name = f"{wanted.name} in {gib:g} GiB"
    model = replace(wanted.model, name=name, space_gib=gib)
    return Wanted(name, "", wanted.table, model, is_paper=False)


def _longer(wanted: Wanted, times: int) -> Wanted:
    """A pass with so many times the requests, which write to more places."""
    assert isinstance(wanted.model, TraceModel)
    name = f"{wanted.name} x {times}"
    model = replace(wanted.model, name=name, requests=times * wanted.model.requests)
    return Wanted(name, "", wanted.table, model, is_paper=False)


_POST = _wanted_named("post")

VARIANTS = (
    *(_in_less(_wanted_named(SERIES_WORKLOAD), gib) for gib in DATA_GIB),
    _longer(_wanted_named("prn-0"), 4),
    Wanted("post whole", _POST.files, _POST.table, is_paper=False, ratio=1.0),
)
"""Figure 2's workload with less data, and the two that move pages only with more."""

LONG_RUNNING = ("tpce", "prn-0", "prn-1", "fin1")
"""Workloads of many reads or small requests: 9 to 117 million of them write ten capacities at the quick scale. Their
runs with both TBM and BAC are left to full size: twin blocks have one offset, so BAC changes their IOPS by at most
0.03 % (measured once, over two capacities).
"""

FRONTIER_WORKLOADS = (SERIES_WORKLOAD, "exch")
"""The workloads whose collections move pages: only there can it matter where they are put."""

PACE_WORKLOAD = "exch"
"""The workload that is also replayed faster: its collections move pages, and its requests are small."""

PACES: Mapping[str, Mapping[str, float]] = {
    "3 times the pace": {"host.time_scale": 1 / 3},
    "10 times the pace": {"host.time_scale": 0.1},
}
"""A device that is less idle, in the open loop."""

TWO_FRONTIERS, NO_PAD = "two frontiers", "no pad"

SETTINGS: Mapping[str, Mapping[str, float | str]] = {
    "": {},
    TWO_FRONTIERS: {"ftl.separation": "host-gc"},
    NO_PAD: {"ftl.reclaim_unit.twin.pad": 0},
    **PACES,
}
"""Departures from the preset, by name."""


class Point(NamedTuple):
    """Where in the grid a result is."""

    workload: str
    allocation: str
    tbm: bool
    bac: bool
    replay: str
    setting: str = ""
    """One of `SETTINGS`."""

    @property
    def config(self) -> str:
        """As the paper writes it: `D+TBM`, `F+BAC`."""
        name = f"{self.allocation}{'+TBM' if self.tbm else ''}{'+BAC' if self.bac else ''}"
        return f"{name}, {self.setting}" if self.setting else name

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.config} {self.workload} {self.replay}"


EXPERIMENTS = {
    "series": "Figures 2 and 6: response time, GC rate and multi-plane shares over the volume written",
    "bars": "Figure 7: IOPS, response time, GC cost and GC count on every workload, TBM beside the base",
    "bac": "whether equal block addresses are asked for",
    "data": "how much depends on the share of the drive that holds data",
    "frontiers": "where moved pages go: the host's frontier or one of their own, with and without dummy pages",
    "pace": "the open loop at more than the trace's own pace",
    "extra": "Figure 7's bars on real traces that are not the paper's",
}


def points(experiment: str, scale: str, extras: Sequence[str]) -> list[Point]:
    """The grid of an experiment."""
    both = (False, True)
    if experiment == "series":
        return [
            Point(SERIES_WORKLOAD, a, tbm, bac, replay)
            for replay in REPLAYS for a in ALLOCATIONS for tbm in both for bac in both
        ]  # fmt: skip
    if experiment == "bars":
        return [
            Point(wanted.name, a, tbm, False, replay)
            for replay in REPLAYS for wanted in WORKLOADS for a in ALLOCATIONS for tbm in both
        ]  # fmt: skip
    if experiment == "bac":
        return [
            Point(wanted.name, a, tbm, bac, "closed")
            for wanted in WORKLOADS for a in ALLOCATIONS for tbm in both for bac in both
            if not (bac and tbm and scale == "quick" and wanted.name in LONG_RUNNING)
        ]  # fmt: skip
    if experiment == "frontiers":
        ways = ((False, ""), (True, ""), (False, TWO_FRONTIERS), (True, NO_PAD))
        return [
            Point(name, a, tbm, False, "closed", setting)
            for name in FRONTIER_WORKLOADS for a in ALLOCATIONS for tbm, setting in ways
        ]  # fmt: skip
    if experiment == "pace":
        return [
            Point(PACE_WORKLOAD, a, tbm, False, "open", setting)
            for setting in ("", *PACES) for a in ALLOCATIONS for tbm in both
        ]  # fmt: skip
    names = extras if experiment == "extra" else _data_names(scale)
    return [Point(name, a, tbm, False, "closed") for name in names for a in ALLOCATIONS for tbm in both]


def _data_names(scale: str) -> list[str]:
    # At full size `post` is whole already, and it is all there is.
    return [wanted.name for wanted in VARIANTS if scale != "paper" or wanted.ratio is None]


def capacities(point: Point, scale: Scale) -> float:
    """User capacities that a run writes: the paper's ten in the closed loop with PAC and for Figures 2 and 6;
    elsewhere what the scale has time for.
    """
    plain = point.replay == "closed" and not point.bac and not point.setting
    names = [wanted.name for wanted in WORKLOADS]
    if (plain and point.workload in names) or (point.workload == SERIES_WORKLOAD and not point.setting):
        return CAPACITIES
    extras = tuple(wanted.name for wanted in EXTRAS)
    return scale.shortest if point.workload in (*LONG_RUNNING, *extras) else scale.short


def run_of(point: Point, workload: Workload, scale: Scale) -> Run:
    """A point as a run of the engine."""
    written = capacities(point, scale)
    setting = SETTINGS[point.setting]
    unit = {"ftl.reclaim_unit": "twin" if point.tbm else "block"}
    return Run(
        label=point.label,
        preset=PRESET,
        sets={
            **scale.sets,
            "device.multiplane": "bac" if point.bac else "pac",
            "ftl.allocation": point.allocation,
            # A parameter of the unit names it too.
            **({} if any(key.startswith("ftl.reclaim_unit.") for key in setting) else unit),
            **setting,
            "host.replay": point.replay,
            "workload.volume": f"{written:g}x",
            "run.precondition": "none",
        },
        trace=workload.path,
        weight=written * _pages_per_capacity(workload),
    )


def _pages_per_capacity(workload: Workload) -> float:
    """Page operations for each byte that counts towards the volume, roughly: requests straddle pages."""
    info = workload.info
    pages = (info["bytes_read"] + info["bytes_written"]) / 8192 + 0.5 * info["requests"]
    return float(pages / max(1, info["bytes_written"]))


class Window(NamedTuple):
    """Figures between two volumes written."""

    iops: float
    response_us: float
    gc_count: float
    gc_cost: float
    """Pages moved by a collection."""
    gc_cost_per_block: float
    """Pages moved for each block erased: a collection of twins erases one on every plane."""
    gc_per_gb: float
    multiplane_writes: float
    """Share of the pages written for the host that multi-plane commands wrote."""
    multiplane_reads: float


def long_term(result: Result) -> tuple[float, float]:
    """The capacities written between which a run's figures count as long-term."""
    written = result.series["capacities_written"][result.series["axis"] == "volume"]
    end = float(written.max())
    # The last request may go a little past the volume.
    return (1 - LONG_TERM) * round(end, 2), end


def window(result: Result, between: tuple[float, float] | None = None) -> Window:
    """Adds up the rows of the series between two volumes; without these, of the long term."""
    between = between or long_term(result)
    series = result.series
    at = series["capacities_written"]
    rows = (series["axis"] == "volume") & (at > between[0] + 1e-9) & (at <= between[1] + 1e-9)
    s = {key: values[rows] for key, values in series.items() if key != "axis"}
    requests = s["reads"].astype(float) + s["writes"]
    seconds = float((s["end_s"] - s["start_s"]).sum())
    collections = float(s["gc_invocations"].sum())
    volumes = at[rows]
    # A row is a step of the volume; the first begins where the row before it ended.
    gb = float(np.diff(s["host_written_gb"]).sum()) * volumes.size / max(1, volumes.size - 1)
    return Window(
        iops=_ratio(float(requests.sum()), seconds),
        response_us=_mean(s["latency_mean_us"], requests),
        gc_count=collections,
        gc_cost=_ratio(float(s["gc_moved_pages"].sum()), collections),
        gc_cost_per_block=_ratio(float(s["gc_moved_pages"].sum()), float(s["erases"].sum())),
        gc_per_gb=_ratio(collections, gb),
        multiplane_writes=_mean(s["multiplane_program_fraction"], s["host_page_programs"].astype(float)),
        multiplane_reads=_mean(s["multiplane_read_fraction"], s["host_page_reads"].astype(float)),
    )


def _ratio(above: float, below: float) -> float:
    return above / below if below else float("nan")


def _mean(values: np.ndarray, weights: np.ndarray) -> float:
    known = ~np.isnan(values) & (weights > 0)
    return _ratio(float((values[known] * weights[known]).sum()), float(weights[known].sum()))


class Evidence:
    """The results of a grid, looked up by what claims ask."""

    def __init__(self, results: Mapping[Point, Result], workloads: Mapping[str, Workload]) -> None:
        self.results = results
        self.workloads = workloads
        self._windows: dict[tuple[Point, tuple[float, float] | None], Window] = {}

    def at(self, point: Point, between: tuple[float, float] | None = None) -> Window:
        """The figures of a point between two volumes; without these, in its long term.

        Raises:
            KeyError: it was not run.
        """
        key = (point, between)
        if key not in self._windows:
            self._windows[key] = window(self.results[point], between)
        return self._windows[key]

    def gain(
        self, figure: str, base: Point, other: Point, between: tuple[float, float] | None = None
    ) -> float:
        """By how much `other` is better than `base`, in %: more IOPS, or a shorter response time."""
        before, after = (getattr(self.at(point, between), figure) for point in (base, other))
        return 100 * (_ratio(after, before) - 1) * (1 if figure == "iops" else -1)


def judged(evidence: Evidence, experiments: Sequence[str]) -> list[Claim]:
    """Every claim with what was measured; those of other experiments are not run, whatever their runs may share."""
    nothing = Evidence({}, evidence.workloads)
    kinds = {name: workload.kind for name, workload in evidence.workloads.items()}
    return [
        statement.judged(evidence if statement.experiment in experiments else nothing, kinds)
        for statement in STATEMENTS
    ]


def _statements() -> Iterator[Statement]:
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
        return Finding(100 * (1 - _ratio(after, before)), SERIES_WORKLOAD, note)

    return measure


def _series_statements(replay: str) -> Iterator[Statement]:
    how = f"{replay} loop"

    def statement(
        name: str, claim: str, paper: float | str | None, rule: Rule, measure: Callable[[Evidence], Finding]
    ) -> Statement:
        return Statement(
            f"{name}-{replay}", f"{claim} ({how})", paper, "%", rule, "series", measure, SERIES_WORKLOAD
        )

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
        return Finding(100 * (1 - _ratio(d, f)), SERIES_WORKLOAD, note)

    return measure


def _paper_names() -> list[str]:
    return [wanted.name for wanted in WORKLOADS]


def _changes(
    replay: str, change: Callable[[Evidence, str], float], pick: Callable[[Iterable[float]], float]
) -> Callable[[Evidence], Finding]:
    """A figure of every workload, of which one decides."""

    def measure(evidence: Evidence) -> Finding:
        names = [
            name for name in _paper_names() if Point(name, "F", False, False, replay) in evidence.results
        ]
        by_name = {name: change(evidence, name) for name in names}
        known = {name: value for name, value in by_name.items() if not np.isnan(value)}
        if not known:
            raise KeyError(replay)
        chosen = pick(known.values())
        decides = next(name for name, value in known.items() if value == chosen)
        return Finding(chosen, decides, ", ".join(f"{name} {value:+.1f}" for name, value in known.items()))

    return measure


def _gain(figure: str, allocation: str, replay: str) -> Callable[[Evidence, str], float]:
    def change(evidence: Evidence, name: str) -> float:
        base, twin = (Point(name, allocation, tbm, False, replay) for tbm in (False, True))
        return evidence.gain(figure, base, twin)

    return change


def _bar_statements(replay: str) -> Iterator[Statement]:
    how = f"{replay} loop"

    def statement(
        name: str, claim: str, paper: float | str | None, rule: Rule, measure: Callable[[Evidence], Finding],
        workload: str = SERIES_WORKLOAD,
    ) -> Statement:  # fmt: skip
        return Statement(f"{name}-{replay}", f"{claim} ({how})", paper, "%", rule, "bars", measure, workload)

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
            "-10 to -1", verdicts.within(-10, -1), _one(name, replay), name,
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
            ratios.append(_ratio(twin.gc_count, base.gc_count))
        return 100 * (max(ratios) - 1)

    return change


def _cost(replay: str) -> Callable[[Evidence, str], float]:
    def change(evidence: Evidence, name: str) -> float:
        base, twin = (evidence.at(Point(name, "D", tbm, False, replay)) for tbm in (False, True))
        return 100 * (_ratio(twin.gc_cost_per_block, base.gc_cost_per_block) - 1)

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
            if not apart:
                raise KeyError("bac")
            worst = max(apart, key=lambda name: abs(apart[name]))
            note = ", ".join(f"{name} {value:+.1f}" for name, value in apart.items())
            return Finding(abs(apart[worst]), worst, note)

        return measure

    rule = verdicts.at_most(2, 4)
    yield Statement(
        "c-bac", "PAC in place of BAC changes the long-term response time by less than 2 %: the greatest change",
        "below 2", "%", rule, "bac", of([SERIES_WORKLOAD]), SERIES_WORKLOAD,
    )  # fmt: skip
    yield Statement(
        "c-bac-all", "PAC in place of BAC changes results by 0 to 2 % on all workloads: the greatest change of the "
        "response time", "up to 2", "%", rule, "bac", of(_paper_names()), SERIES_WORKLOAD,
    )  # fmt: skip


STATEMENTS = tuple(_statements())


def shipped_places() -> list[Path]:
    """Where real traces may lie beside the project."""
    return [Path("traces"), Path("../shared/traces")]
