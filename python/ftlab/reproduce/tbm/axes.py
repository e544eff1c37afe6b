"""TBM: the axes of its grid, what they set, and the figures of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ftlab.reproduce import study
from ftlab.reproduce.study import Settings
from ftlab.reproduce.tbm.traces import EXTRA_NAMES, PAPER_NAMES, SERIES_WORKLOAD, VARIANTS
from ftlab.reproduce.workloads import Workload
from ftlab.result import Result

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
class Scale(study.Scale):
    """How large the device is, as a part of the paper's blocks, capacity and data."""

    short: float = CAPACITIES
    """Capacities written by runs beside the main ones ([`capacities`])."""
    shortest: float = CAPACITIES
    """The same for the workloads in `LONG_RUNNING` and the extra ones."""


LONG_RUNNING = ("tpce", "prn-0", "prn-1", "fin1")
"""Workloads of many reads or small requests: 9 to 117 million of them write ten capacities at the quick scale. Their
runs with both TBM and BAC are left to full size: twin blocks have one offset, so BAC changes their IOPS by at most
0.03 % (measured once, over two capacities).
"""

FRONTIER_WORKLOADS = (SERIES_WORKLOAD, "exch")
"""The workloads whose collections move pages: only there can it matter where they are put."""

PACE_WORKLOAD = "exch"
"""The workload that is also replayed faster: its collections move pages, and its requests are small."""

PACES: Mapping[str, Settings] = {
    "3 times the pace": {"host.time_scale": 1 / 3},
    "10 times the pace": {"host.time_scale": 0.1},
}
"""A device that is less idle, in the open loop."""

TWO_FRONTIERS, NO_PAD = "two frontiers", "no pad"

SETTINGS: Mapping[str, Settings] = {
    "": {},
    TWO_FRONTIERS: {"ftl.separation": "host-gc"},
    NO_PAD: {"ftl.reclaim_unit.twin.pad": False},
    **PACES,
}
"""Departures from the preset, by name."""

AXES: Mapping[str, Mapping[Any, Settings]] = {
    "allocation": {allocation: {"ftl.allocation": allocation} for allocation in ALLOCATIONS},
    "tbm": {False: {"ftl.reclaim_unit": "block"}, True: {"ftl.reclaim_unit": "twin"}},
    "bac": {False: {"device.multiplane": "pac"}, True: {"device.multiplane": "bac"}},
    "replay": {replay: {"host.replay": replay} for replay in REPLAYS},
    "setting": SETTINGS,
}


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


def _too_long(point: Point) -> bool:
    return point.bac and point.tbm and point.workload in LONG_RUNNING


def _whole_already(point: Point) -> bool:
    """At full size `post` is whole, and it is all there is."""
    return point.workload in [wanted.name for wanted in VARIANTS if wanted.ratio is not None]


SCALES = {
    "quick": Scale(
        1 / 32, {"device.blocks_per_plane": 64, "device.user_capacity": "7.5GiB"}, _too_long,
        short=4.0, shortest=2.0,
    ),
    "paper": Scale(1.0, {}, _whole_already),
}  # fmt: skip


def capacities(point: Point, scale: Scale) -> float:
    """User capacities that a run writes: the paper's ten in the closed loop with PAC and for Figures 2 and 6;
    elsewhere what the scale has time for.
    """
    plain = point.replay == "closed" and not point.bac and not point.setting
    if (plain and point.workload in PAPER_NAMES) or (point.workload == SERIES_WORKLOAD and not point.setting):
        return CAPACITIES
    return scale.shortest if point.workload in (*LONG_RUNNING, *EXTRA_NAMES) else scale.short


def sets(point: Point, _: Workload | None, scale: Scale) -> Settings:
    """What is set beside the axes."""
    return {"workload.volume": f"{capacities(point, scale):g}x", "run.precondition": "none"}


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
        iops=ratio(float(requests.sum()), seconds),
        response_us=_mean(s["latency_mean_us"], requests),
        gc_count=collections,
        gc_cost=ratio(float(s["gc_moved_pages"].sum()), collections),
        gc_cost_per_block=ratio(float(s["gc_moved_pages"].sum()), float(s["erases"].sum())),
        gc_per_gb=ratio(collections, gb),
        multiplane_writes=_mean(s["multiplane_program_fraction"], s["host_page_programs"].astype(float)),
        multiplane_reads=_mean(s["multiplane_read_fraction"], s["host_page_reads"].astype(float)),
    )


def ratio(above: float, below: float) -> float:
    """NaN where there is nothing to compare with."""
    return above / below if below else float("nan")


def _mean(values: np.ndarray, weights: np.ndarray) -> float:
    known = ~np.isnan(values) & (weights > 0)
    return ratio(float((values[known] * weights[known]).sum()), float(weights[known].sum()))


class Evidence(study.Evidence[Point]):
    """The results of the grid, looked up by what claims ask."""

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
            "capacities_written": end,
            "long_term_from": start,
            "long_term": figures,
            "waf": result.summary["waf"],
            "unmapped_reads": result.summary["host"]["unmapped_reads"],
            "simulated_s": result.summary["host"]["simulated_s"],
            "wall_s": result.summary["run"]["wall_s"],
        }
