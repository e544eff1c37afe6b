"""Read disturb: the axes of the grid, what they set, and the figures of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ftlab.results.result import Result
from ftlab_reproduce import study
from ftlab_reproduce.ipr.hosts import BLOCK, EXCERPT_NAMES, MIXED, PAGE, pages
from ftlab_reproduce.study import Settings
from ftlab_reproduce.workloads import Workload

LIMIT = 10_000
"""Page reads of a block at full density; ten times as many at low density."""

SYSTEMS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "Baseline": ("refresh", {}),
    "RedFTL": ("redftl", {"hot_pages": 30, "shadow": 0.15, "monitor": 0.1}),
    "RL": ("read-leveling", {"hot_pages": 30, "shadow": 0.15, "monitor": 0.1}),
    "HotLD": ("hot-low-density", {"low_density": 0.15, "monitor": 0.1}),
    "IPR": (
        "ipr",
        {
            "low_density": 0.15,
            "monitor": 0.1,
            "pool": 0.2,
            "pool_victims": "any",
            "recent": 0.0625,
            "at_once": 1,
        },
    ),
}
"""The paper's methods: the mechanism's name and its parameters."""

SHADOW = ("RedFTL", "RL")
"""They have shadow blocks, and a full quota of those takes no more. HotLD and IPR evict, as the paper says."""

TIMED = "timed"
FULL, EVICTED, AVERAGE = "full quota otherwise", "evicted data stay read-hot", "average of regular blocks"
DEBT, RESTARTS, AT_ONCE = "erases by debt", "reads begin anew", "three blocks at once"
SPARE = "spare of the user space"
SHARED, GAINING = "refreshed pages among the host's", "pool blocks that gain"
POOL_FULL = "the pool full at the start"
SWAPS = {f"cold data to worn blocks, from {cycles} cycles on": cycles for cycles in (4, 16)}
RECENT = {f"recent: {share:g} of the blocks": share for share in (0.25, 1.0, 1000.0)}
SWAPPED = {f"{list(SWAPS)[-1]}; {name}": share for name, share in RECENT.items()}
QUOTAS = {f"quota {quota:g}": quota for quota in (0.05, 0.1, 0.2, 0.3)}


class Reading(NamedTuple):
    """A departure from what was settled on."""

    scheme: Mapping[str, Any]
    """Parameters of the mechanism; those that a method does not have are left out."""
    sets: Settings
    """Other settings."""


READINGS: Mapping[str, Reading] = {
    "": Reading({}, {}),
    # Shadow blocks are evicted then, and low-density blocks are not.
    FULL: Reading({}, {}),
    EVICTED: Reading({"full": "evict", "evicted": "read-hot"}, {}),
    AVERAGE: Reading({"average": "regular"}, {}),
    DEBT: Reading({"attribution": "debt"}, {}),
    RESTARTS: Reading({}, {"device.wear.reprogram_restarts": True}),
    AT_ONCE: Reading({"at_once": 3}, {}),
    SPARE: Reading({}, {}),
    # Until they were corrected the first two were settled on, and for a while the last.
    SHARED: Reading({}, {"ftl.separation": "none"}),
    GAINING: Reading({"pool_victims": "gaining"}, {}),
    **{name: Reading({}, {"ftl.wear_leveling.swap.threshold": cycles}) for name, cycles in SWAPS.items()},
    **{name: Reading({"recent": share}, {}) for name, share in RECENT.items()},
    **{
        name: Reading({"recent": share}, {"ftl.wear_leveling.swap.threshold": max(SWAPS.values())})
        for name, share in SWAPPED.items()
    },
    # What is written last lies in the highest blocks, and the oldest quarter of the fill is free.
    POOL_FULL: Reading({}, {"run.precondition.sequential": "1.25x"}),
    **{name: Reading({"low_density": quota}, {}) for name, quota in QUOTAS.items()},
    # As the paper's simulator, where a read waits for a whole refresh.
    TIMED: Reading({"blocks_reads": True}, {}),
}

READ_ONLY = "read-only"
"""The workload of the closed form, generated as it runs."""


class Point(NamedTuple):
    """Where in the grid a result is."""

    workload: str
    system: str
    setting: str = ""
    """One of `READINGS`."""

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.system}{self.setting and ', '}{self.setting} {self.workload}"


@dataclass(frozen=True, slots=True)
class Scale(study.Scale):
    """How large a device is, and how long a run."""

    user_blocks: int | None = None
    """Blocks that hold a generated workload's volume; `None`: as many as it has."""
    reads: float = 600_000.0
    """Page reads of a run for each block that holds data: sixty times what a block takes at full density. With a
    quarter of it the shares of wGC and rrGC had not become stable, which is when the paper ends a replay (section
    IV.A)."""
    written: float = 160.0
    """A run ends when so many user capacities have been written, if that is earlier."""
    planes: int = 32
    """Of the timed device."""
    timed_reads: float = 240_000.0
    """Page reads of a timed run for each block that holds data."""


def carries_no_claim(point: Point) -> bool:
    """Whether no claim is measured from a run: full size has no time for it."""
    if point.setting == TIMED:
        return point.system not in ("Baseline", "RedFTL", "IPR")
    return point.workload in (*MIXED, *EXCERPT_NAMES) and point.system not in ("Baseline", "IPR")


ASIDE = frozenset({"leveling", "recent", "readings", "regions", "skew", "real", "quota"})
"""Experiments that no claim rests on; they take longer than all others together."""

SCALES = {
    "quick": Scale(1 / 32, user_blocks=640, planes=2, on_request=ASIDE),
    "paper": Scale(1.0, leaves_out=carries_no_claim, on_request=ASIDE),
}

SPARE_OF_RAW = 0.2
CLOSED_BLOCKS = 32
"""Of the device of the closed form."""
CLOSED_GENERATIONS = 300
"""How often each of its blocks comes to its limit."""


def mechanism(system: str, setting: str) -> dict[str, Any]:
    """The method and its parameters as settings."""
    name, own = SYSTEMS[system]
    refuses = (system in SHADOW) is not (setting == FULL)
    silent = {"full": "refuse" if refuses else "evict", "evicted": "regular", "average": "all"}
    known = {"margin": 32, "attribution": "asker", "blocks_reads": False, **own}
    known |= silent if own else {}
    changed = {key: value for key, value in READINGS[setting].scheme.items() if key in known}
    return {f"ftl.read_disturb.{name}.{key}": value for key, value in (known | changed).items()}


def user_blocks(workload: Workload) -> int:
    """Blocks that hold what a trace addresses."""
    return math.ceil(float(workload.info["highest_offset_bytes"]) / BLOCK)


def rounds(point: Point, workload: Workload, scale: Scale) -> int:
    """How often a trace is replayed: so many page reads, or so much written."""
    read, written = pages(workload.info)
    blocks = user_blocks(workload)
    each = scale.timed_reads if point.setting == TIMED else scale.reads
    most = [each * blocks / read] if read else []
    if written:
        most.append(scale.written * blocks * BLOCK / PAGE / written)
    return max(1, round(min(most)))


def sets(point: Point, workload: Workload | None, scale: Scale) -> Settings:
    """What a point sets."""
    if workload is None:
        return {**mechanism(point.system, point.setting), **_closed_form()}
    blocks = user_blocks(workload)
    spare = blocks * SPARE_OF_RAW if point.setting == SPARE else blocks * SPARE_OF_RAW / (1 - SPARE_OF_RAW)
    timed = point.setting == TIMED
    planes = scale.planes if timed else 1
    channels = max(1, planes // 4)
    return {
        **mechanism(point.system, point.setting),
        **READINGS[point.setting].sets,
        **_geometry(channels, planes // channels, math.ceil((blocks + spare) / planes)),
        "device.user_capacity": f"{blocks * BLOCK}B",
        "run.executor": "timed" if timed else "count",
        # A chip has the paper's load: a smaller device is asked as much less often.
        "host.time_scale": SCALES["paper"].planes / planes if timed else 1.0,
        "workload.rounds": rounds(point, workload, scale),
    }


def _geometry(channels: int, chips: int, blocks: int) -> Settings:
    return {
        "device.channels": channels,
        "device.chips_per_channel": chips,
        "device.blocks_per_plane": blocks,
    }


def _closed_form() -> Settings:
    """Single pages read anywhere: every block comes to its limit about as often."""
    blocks = round(CLOSED_BLOCKS * (1 - SPARE_OF_RAW))
    return {
        **_geometry(1, 1, CLOSED_BLOCKS),
        "device.user_capacity": f"{blocks * BLOCK}B",
        # What is only read is neither separated nor leveled.
        "ftl.separation": "none",
        "ftl.wear_leveling": "none",
        "run.executor": "count",
        "workload.generator": "uniform",
        "workload.read_fraction": 1.0,
        "workload.requests": CLOSED_GENERATIONS * blocks * LIMIT,
    }


def weight(point: Point, workload: Workload | None, scale: Scale) -> float:
    """About how much work a run is: page reads, and eight for each page written."""
    if workload is None:
        return float(CLOSED_GENERATIONS * CLOSED_BLOCKS * LIMIT)
    read, written = pages(workload.info)
    return rounds(point, workload, scale) * (read + 8 * written) * (8 if point.setting == TIMED else 1)


PARTS, LAST, MOVES = 10, 4, 0.01
"""A run has settled when the share of refreshes in all erases so far moves by less than this over the last of the
equal parts."""


def shares(result: Result) -> NDArray[np.float64]:
    """The share of refreshes in all erases so far, at the end of each part of the run."""
    rows = result.series["axis"] == "time"
    ends = result.series["end_s"][rows]
    both = [np.cumsum(result.series[key][rows].astype(float)) for key in ("refresh_erases", "erases")]
    marks = ends[-1] * np.arange(1, PARTS + 1) / PARTS
    refreshes, erases = (np.interp(marks, ends, of) for of in both)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(refreshes / erases)


def moved(result: Result) -> float:
    """By how much the share moves over the last parts; NaN where nothing was erased before them."""
    last = shares(result)[-LAST - 1 :]
    return float(last.max() - last.min())


def erases(summary: Mapping[str, Any], cause: str) -> int:
    """Erases of collections for one cause."""
    return int(summary["flash"]["by_cause"][cause]["erases"])


def share(summary: Mapping[str, Any]) -> float | None:
    """The share of refreshes in the erases of collections."""
    both = erases(summary, "gc") + erases(summary, "refresh")
    return erases(summary, "refresh") / both if both else None


def _of_wear(figure: str) -> Callable[[Mapping[str, Any]], Any]:
    return lambda summary: summary["wear"]["effective_erases"][figure]


def _of_disturb(name: str) -> Callable[[Mapping[str, Any]], Any]:
    return lambda summary: summary["policy"].get("read_disturb", {}).get(name)


class Evidence(study.Evidence[Point]):
    """The results of the grid, looked up by what claims ask."""

    FIGURES: ClassVar[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
        "wgc": lambda s: erases(s, "gc"),
        "rrgc": lambda s: erases(s, "refresh"),
        "level": lambda s: erases(s, "wear"),
        "erases": lambda s: s["flash"]["block_erases"],
        "share": share,
        "page_reads": lambda s: s["flash"]["page_reads"],
        "page_programs": lambda s: s["flash"]["page_programs"],
        "rounds": lambda s: s["workload"]["rounds"],
        **{f"effective_{of}": _of_wear(of) for of in ("mean", "stddev")},
        "read_us": lambda s: s["host"]["read_latency_us"]["mean"],
        **{
            name: _of_disturb(name)
            for name in (
                "refreshes", "reuse", "ipr_rate", "skipped", "max_reads_of_limit", "monitored",
                "read_hot_blocks", "evicted",
            )
        },
    }  # fmt: skip

    SUMMARY = (
        "flash.by_cause.gc", "flash.by_cause.refresh", "flash.by_cause.wear", "flash.block_erases", "flash.page_reads",
        "flash.page_programs", "policy.read_disturb", "workload.rounds", "host.read_latency_us.mean",
        "wear.effective_erases",
    )  # fmt: skip

    @classmethod
    def reduced(cls, point: Point, result: Result) -> Mapping[str, Mapping[str, Any]]:
        """Erases by the marks at which a run may have settled; latencies of timed runs; wear of Figure 11."""
        series = result.series
        rows = series["axis"] == "time"
        ends = series["end_s"][rows]
        marks = ends[-1] * np.arange(1, PARTS + 1) / PARTS
        both = {
            key: np.diff(np.interp(marks, ends, np.cumsum(series[key][rows].astype(float))), prepend=0.0)
            for key in ("refresh_erases", "erases")
        }
        found: dict[str, Mapping[str, Any]] = {"series": {"axis": ["time"] * PARTS, "end_s": marks, **both}}
        if point.setting == TIMED:
            found["latency"] = {key: result.latency[key] for key in ("kind", "latency_us", "count")}
        if (point.workload, point.system, point.setting) == ("Websearch", "IPR", ""):
            found["wear"] = {
                key: result.wear[key] for key in ("block_in_plane", "erases", "effective_erases")
            }
        return found

    def names(self, names: Sequence[str], system: str = "IPR", setting: str = "") -> list[str]:
        """Of the workloads, those that there are runs of."""
        return [name for name in names if Point(name, system, setting) in self.results]

    def over(self, name: str, system: str, figure: str, setting: str = "") -> float:
        """Erases of a method ÷ the baseline's: of `wgc` or `rrgc` with the baseline's of both (as Figure 9a)."""
        against = Point(name, "Baseline", setting)
        if against not in self.results:
            # What the reading does not concern is as it was.
            against = Point(name, "Baseline")
        base = [self.figure(against, key) for key in ("wgc", "rrgc")]
        whole = sum(base)
        return self.figure(Point(name, system, setting), figure) / whole if whole else math.nan

    def ratio(self, name: str, system: str, to: str = "Baseline", setting: str = "") -> float:
        """Erases for refreshes of a method ÷ those of another."""
        ours, theirs = (self.figure(Point(name, s, setting), "rrgc") for s in (system, to))
        return ours / theirs if theirs else math.nan

    def total(self, name: str, system: str) -> float:
        """All erases of collections ÷ the baseline's."""
        return self.over(name, system, "wgc") + self.over(name, system, "rrgc")

    def moved(self, point: Point) -> float:
        """By how much the share of refreshes still moves."""
        return moved(self.results[point])

    def used(self, name: str, system: str = "IPR") -> NDArray[np.float64]:
        """The cumulative distribution of used read counts of low-density blocks at their erase, by twentieths."""
        counts = _of_disturb("used_reads")(self.results[Point(name, system)].summary)
        whole = np.cumsum(np.asarray(counts if counts else [0], float))
        return np.asarray(whole / whole[-1]) if whole[-1] else np.full(whole.size, math.nan)

    def row(self, point: Point) -> dict[str, Any]:
        """A run's figures, as JSON."""
        still = self.moved(point)
        return {**super().row(point), "moved": None if math.isnan(still) else still}


def waits(result: Result) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Latencies of reads in ms, and how many reads had each."""
    mine = result.latency["kind"] == "read"
    return (
        np.asarray(result.latency["latency_us"][mine], float) / 1e3,
        np.asarray(result.latency["count"][mine], float),
    )


def between(result: Result, low: float, high: float) -> float:
    """Reads that took so many ms."""
    ms, count = waits(result)
    return float(count[(ms >= low) & (ms < high)].sum())
