"""TBM: the axes of its grid, what they set, and the figures of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ftlab.results.result import Result
from ftlab_reproduce import study
from ftlab_reproduce.study import Settings
from ftlab_reproduce.tbm.traces import (
    DATA_NAMES,
    LONGER_NAMES,
    MOVING_NAMES,
    SERIES_WORKLOAD,
    SIZED_NAMES,
    VARIANTS,
)
from ftlab_reproduce.workloads import Workload

ALLOCATIONS = ("F", "D", "F2")

CAPACITIES = 10.0
"""User capacities that a run of Figures 2 and 6 writes."""

PRISTINE = (0.1, 0.7)
"""Capacities written, between which a drive counts as pristine. Pages that are written in part use a whole page, so
the first collection comes before a whole capacity has been written."""

LONG_TERM = 0.5
"""The part of what a run writes, at its end, whose figures count as long-term: 5 to 10 capacities at full length."""

WORN = "1.25x"
"""Random writes that wear a drive in, before all is trimmed: enough that every plane was collected many times."""


@dataclass(frozen=True, slots=True)
class Scale(study.Scale):
    """How large the device is, as a part of the paper's blocks, capacity and data."""

    beside: float = 4.0
    """Capacities written by runs from a pristine drive beside Figures 2 and 6."""


LONG_RUNNING = ("tpce", "prn-0", "prn-1", "fin1")
"""Workloads of many reads or small requests. Their runs with both TBM and BAC are left out: twin blocks have one
offset, so BAC changes their IOPS by at most 0.03 % (measured once, over two capacities).
"""

ONCE = ("tpce",)
"""Of 13 requests one writes, a page: one capacity is 11 million requests at the quick scale."""

FRONTIER_WORKLOADS = (SERIES_WORKLOAD, "exch")
"""The workloads whose collections move pages: only there can it matter where they are put."""

LOAD_WORKLOAD = "exch"
"""The workload that is also replayed in an open loop: its collections move pages, and its requests are small."""

OWN_PACE = "at its own pace"
LOADS: Mapping[str, float] = {f"at {100 * load:.0f} % load": load for load in (0.3, 0.5, 0.7, 0.82, 0.9)}
"""Requests that arrive, of those that the base serves in the closed loop."""
FINER_LOADS: Mapping[str, float] = {f"at {100 * load:.0f} % load": load for load in (0.84, 0.86, 0.88)}
"""More of them, on which no claim rests."""
STATED_LOAD = next(name for name, load in LOADS.items() if load == 0.82)
"""The load at which F's response time is judged."""

TWO_FRONTIERS, NO_PAD = "two frontiers", "no pad"
SINGLE, READS_WAIT, TO_THE_LETTER = "lone pages alone", "reads wait", "to the letter"
WAITS, WAITS_AT_PACE = "waits by cause", "waits by cause at its own pace"
FULL = "from a full drive"

FIGURE7 = TO_THE_LETTER
"""The one setting of all of Figure 7: Algorithm 2 gives each lone page a destination of its own, and section 4 has
collections block the host."""


QUEUES = (4, 8, 16, 64)
"""Requests in the device, beside the paper's 32."""
RATES = (100, 50, 25)
"""MT/s of a channel, beside the paper's 200."""
QUEUED = tuple(f"{depth} requests" for depth in QUEUES)
RATED = tuple(f"{rate} MT/s" for rate in RATES)
LETTER_QUEUED = tuple(f"to the letter, {name}" for name in QUEUED)


class Departure(NamedTuple):
    """What differs from the preset."""

    sets: Settings
    twin: Settings
    """Parameters of twin blocks; the base has none of them."""


_READS_WAIT = {"ftl.scheduler.paq.gc": "non-preemptible"}
_ALONE = {"lone": "single"}
_OPEN = {"host.replay": "open", **_READS_WAIT}
_PARTS = {"run.latency_parts": True}

SETTINGS: Mapping[str, Departure] = {
    "": Departure({}, {}),
    TWO_FRONTIERS: Departure({"ftl.separation": "host-gc"}, {}),
    NO_PAD: Departure({}, {"pad": False}),
    SINGLE: Departure({}, _ALONE),
    READS_WAIT: Departure(_READS_WAIT, {}),
    TO_THE_LETTER: Departure(_READS_WAIT, _ALONE),
    WAITS: Departure({**_READS_WAIT, **_PARTS}, _ALONE),
    WAITS_AT_PACE: Departure({**_OPEN, **_PARTS}, _ALONE),
    FULL: Departure(_READS_WAIT, _ALONE),
    OWN_PACE: Departure(_OPEN, _ALONE),
    **{name: Departure(_OPEN, _ALONE) for name in (*LOADS, *FINER_LOADS)},
    **{name: Departure({"host.queue_depth": n}, {}) for name, n in zip(QUEUED, QUEUES, strict=True)},
    **{
        name: Departure({"device.timing.channel_rate": f"{n}MT/s"}, {})
        for name, n in zip(RATED, RATES, strict=True)
    },
    **{
        name: Departure({**_READS_WAIT, "host.queue_depth": n}, _ALONE)
        for name, n in zip(LETTER_QUEUED, QUEUES, strict=True)
    },
}
"""Departures from the preset, by name."""

AXES: Mapping[str, Mapping[Any, Settings]] = {
    "allocation": {allocation: {"ftl.allocation": allocation} for allocation in ALLOCATIONS},
    "bac": {False: {"device.multiplane": "pac"}, True: {"device.multiplane": "bac"}},
}


class Point(NamedTuple):
    """Where in the grid a result is."""

    workload: str
    allocation: str
    tbm: bool
    bac: bool = False
    worn: bool = True
    """Whether the drive was used before, or is pristine."""
    setting: str = ""
    """One of `SETTINGS`."""

    @property
    def config(self) -> str:
        """As the paper writes it: `D+TBM`, `F+BAC`."""
        name = f"{self.allocation}{'+TBM' if self.tbm else ''}{'+BAC' if self.bac else ''}"
        return f"{name}, {self.setting}" if self.setting else name

    @property
    def start(self) -> str:
        """What the drive was before."""
        return "full" if self.setting == FULL else "worn" if self.worn else "pristine"

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.config} {self.workload} {self.start}"


def _too_long(point: Point) -> bool:
    return point.bac and point.tbm and point.workload in LONG_RUNNING


def _not_at_full_size(point: Point) -> bool:
    """What the quick scale shows as well; what is left takes hours.

    `post` is whole at full size, and it is all there is. Traces of several passes in one take
    gigabytes of memory, and are run for their claims only.
    """
    if point.workload in LONGER_NAMES.values():
        return point.setting != FIGURE7
    if point.workload in SIZED_NAMES:
        return True
    is_whole = point.workload in [wanted.name for wanted in VARIANTS if wanted.ratio is not None]
    is_variant = point.workload in DATA_NAMES[1:] or (
        point.workload in MOVING_NAMES and point.allocation != "D"
    )
    known = ("", FIGURE7, WAITS, WAITS_AT_PACE, FULL, OWN_PACE, STATED_LOAD, *FINER_LOADS, RATED[0])
    is_aside = point.setting not in known
    is_bac = point.bac and point.worn and (point.tbm or point.allocation != "D")
    return is_whole or is_variant or is_aside or is_bac


SCALES = {
    "quick": Scale(
        1 / 32, {"device.blocks_per_plane": 64, "device.user_capacity": "7.5GiB"}, _too_long,
        on_request=frozenset({"turns", "finer", "together"}),
    ),
    "paper": Scale(
        1.0, {}, _not_at_full_size, on_request=frozenset({"frontiers", "extra", "turns", "finer", "together"}),
        beside=2.0,
    ),
}  # fmt: skip


def capacities(point: Point, scale: Scale) -> float:
    """User capacities that a run writes: the paper's ten for Figures 2 and 6, two from a worn drive."""
    if point.worn:
        return 1.0 if point.workload in ONCE else 2.0
    in_series = point.workload == SERIES_WORKLOAD and point.allocation != "F2" and not point.setting
    return CAPACITIES if in_series else scale.beside


def sets(point: Point, _: Workload | None, scale: Scale) -> Settings:
    """What is set beside the axes."""
    departure = SETTINGS[point.setting]
    twin = {f"ftl.reclaim_unit.twin.{name}": value for name, value in departure.twin.items()}
    return {
        "host.replay": "closed",
        **departure.sets,
        **((twin or {"ftl.reclaim_unit": "twin"}) if point.tbm else {"ftl.reclaim_unit": "block"}),
        "workload.volume": f"{capacities(point, scale):g}x",
        **_start(point),
    }


def _start(point: Point) -> Settings:
    """The drive before the run."""
    if point.setting == FULL:
        return {"run.precondition.random": "1x"}
    return {"run.precondition.worn": WORN} if point.worn else {"run.precondition": "none"}


def base_of(point: Point) -> Point:
    """The saturated base that a load is a part of."""
    return point._replace(tbm=False, setting=FIGURE7)


def waits_for(point: Point) -> Sequence[Point]:
    """What is to be known of a point before it runs."""
    return [base_of(point)] if point.setting in (*LOADS, *FINER_LOADS) else []


def at_load(point: Point, evidence: Evidence) -> Settings:
    """The pace at which so much of what the saturated base serves arrives, with TBM and without."""
    if point.setting not in (loads := {**LOADS, **FINER_LOADS}):
        return {}
    gap = float(evidence.workloads[point.workload].info["inter_arrival_ms_mean"]) / 1e3
    return {"host.time_scale": 1 / (gap * loads[point.setting] * evidence.at(base_of(point)).iops)}


def weight(point: Point, workload: Workload, scale: Scale) -> float:
    """About how much work a run is."""
    return capacities(point, scale) * _pages_per_capacity(workload)


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
    """Pages moved for each page that the host writes."""
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
    # A row is a step of the volume; the first begins where the row before it ended.
    before = (series["axis"] == "volume") & (at <= between[0] + 1e-9)
    gb = (
        float(s["host_written_gb"].max() - series["host_written_gb"][before].max(initial=0.0))
        if rows.any()
        else 0.0
    )
    return Window(
        iops=ratio(float(requests.sum()), seconds),
        response_us=_mean(s["latency_mean_us"], requests),
        gc_count=collections,
        gc_cost=ratio(float(s["gc_moved_pages"].sum()), float(s["host_page_programs"].sum())),
        gc_cost_per_block=ratio(float(s["gc_moved_pages"].sum()), float(s["erases"].sum())),
        gc_per_gb=ratio(collections, gb),
        multiplane_writes=_mean(s["multiplane_program_fraction"], s["host_page_programs"].astype(float)),
        multiplane_reads=_mean(s["multiplane_read_fraction"], s["host_page_reads"].astype(float)),
    )


def first_collection(result: Result) -> float:
    """User capacities written when the first collection began."""
    series = result.series
    rows = (series["axis"] == "volume") & (series["gc_invocations"] > 0)
    return float(series["capacities_written"][rows].min()) if rows.any() else float("nan")


def ratio(above: float, below: float) -> float:
    """NaN where there is nothing to compare with."""
    return above / below if below else float("nan")


def _mean(values: np.ndarray, weights: np.ndarray) -> float:
    known = ~np.isnan(values) & (weights > 0)
    return ratio(float((values[known] * weights[known]).sum()), float(weights[known].sum()))


def _erasing(summary: Mapping[str, Any]) -> float:
    """Seconds that a die erases for each GB that the host writes to the device, as a mean over the dies."""
    host = summary["host"]
    return (
        1e9
        * float(summary["utilisation"]["die"]["erase"])
        * float(host["simulated_s"])
        / float(host["bytes_written"])
    )


COLUMNS = (
    "capacities_written", "start_s", "end_s", "host_written_gb", "reads", "writes", "latency_mean_us", "gc_invocations",
    "gc_moved_pages", "erases", "host_page_programs", "host_page_reads", "multiplane_program_fraction",
    "multiplane_read_fraction",
)  # fmt: skip
"""Of the series, what windows are made of."""


def _waiting(summary: Mapping[str, Any]) -> float | None:
    """µs of a request that it waited for collections and their erases, as a mean; `None` if the run did not tell."""
    parts, host = summary.get("latency_parts"), summary["host"]
    if parts is None:
        return None
    waited = sum(
        host[f"{op}s"] * sum(parts[op]["mean"]["parts_us"].get(part, 0.0) for part in ("gc", "gc_wait", "erase"))
        for op in ("read", "write") if parts.get(op) is not None
    )  # fmt: skip
    return ratio(float(waited), float(host["reads"] + host["writes"]))


class Evidence(study.Evidence[Point]):
    """The results of the grid, looked up by what claims ask."""

    FIGURES: ClassVar[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
        "multiplane_erases": lambda s: s["flash"]["multiplane"]["erase_fraction"],
        "erasing_s_per_gb": _erasing,
        "gc_wait_us": _waiting,
        "response_us": lambda s: s["host"]["latency_us"]["mean"],
    }
    SUMMARY = (
        "flash.multiplane.erase_fraction", "utilisation.die.erase", "host.simulated_s", "host.bytes_written",
        "host.latency_us.mean", "host.reads", "host.writes", "host.unmapped_reads", "waf_units",
        "latency_parts.read.mean.parts_us", "latency_parts.write.mean.parts_us",
    )  # fmt: skip

    @classmethod
    def reduced(cls, point: Point, result: Result) -> Mapping[str, Mapping[str, Any]]:
        """The rows of each tenth of a capacity as one; the first in which there is a collection stays by itself."""
        at = np.flatnonzero(result.series["axis"] == "volume")
        written = result.series["capacities_written"][at]
        tenth = np.ceil(np.round(10 * written, 6)).astype(int)
        cuts = set((np.flatnonzero(np.diff(tenth)) + 1).tolist())
        if (collecting := np.flatnonzero(result.series["gc_invocations"][at] > 0)).size:
            cuts |= {int(collecting[0]), int(collecting[0]) + 1}
        parts = np.split(at, sorted(cuts - {0, at.size}))
        return {"series": study.joined(result.series, COLUMNS, parts)}

    def __init__(
        self,
        results: Mapping[Point, Result],
        workloads: Mapping[str, Workload],
        beside: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(results, workloads, beside)
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
        return 100 * (ratio(after, before) - 1) * (1 if figure == "iops" else -1)

    def row(self, point: Point) -> dict[str, Any]:
        """A run's long-term figures, as JSON."""
        result = self.results[point]
        start, end = long_term(result)
        figures = {key: None if value != value else value for key, value in self.at(point)._asdict().items()}
        return {
            **point._asdict(),
            "config": point.config,
            **{name: of(result.summary) for name, of in self.FIGURES.items()},
            "capacities_written": end,
            "long_term_from": start,
            "long_term": figures,
            "waf": result.summary["waf_units"],
            "unmapped_reads": result.summary["host"]["unmapped_reads"],
            "simulated_s": result.summary["host"]["simulated_s"],
            "wall_s": result.summary["run"]["wall_s"],
        }
