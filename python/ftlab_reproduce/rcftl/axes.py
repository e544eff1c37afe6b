"""rcFTL: the axes of its grid, what they set, and the figures of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ftlab.results.result import Result
from ftlab_reproduce import study
from ftlab_reproduce.rcftl.hosts import CAPTURED_NAMES, FIO_MODELS, HOSTS, PAGE, QUICK, Host
from ftlab_reproduce.study import Scale, Settings
from ftlab_reproduce.workloads import Workload

AGES = {0: "0K", 700: "1K", 1500: "2K", 2500: "3K", 3500: "4K", 4500: "5K"}
"""P/E cycles in each band of Table I, and the band's end in thousands."""

YOUNG, MIDDLE, OLD = 0, 2500, 4500


def _rcpb(quota: str, aware: str, selector: bool) -> Settings:
    own = {"quota": quota, "aware": aware, "selector": selector, "fill": 0.5}
    return {f"ftl.migration.rcpb.{key}": value for key, value in own.items()}


SYSTEMS: Mapping[str, Settings] = {
    "base": {"ftl.migration": "off-chip"},
    "FastGC": {"ftl.migration": "fastgc"},
    "aware, by page": _rcpb("page", "quality", False),
    "worst, by block": _rcpb("block", "worst", False),
    "rcFTL-": _rcpb("block", "quality", False),
    "rcFTL": _rcpb("block", "quality", True),
    "copyback": {"ftl.migration": "copyback"},
}
"""FTLs, by name; the middle ones are the steps from FastGC to rcFTL."""

CHANNELS_MB_S = 8 * 533
DRAM_MB_S = CHANNELS_MB_S // 2
"""The controller's DRAM port at full size: the paper's gains depend on this one constant, and it does not give it."""

COUNTERS = "counters in flash"
APART = "host and GC pages apart"
FEW_BLOCKS = "a quarter of the blocks"
ALL_CHIPS = "all 64 chips"
MONTHS = "retention of three months"
LEVELED = "with wear leveling"
FILLS = {f"selector at {100 * fill:g} %": fill for fill in (0.25, 0.75)}
"""Fills of the write buffer from which the selector chooses copybacks, beside the paper's half."""
DRAMS = {f"DRAM {mb_s} MB/s": mb_s for mb_s in (6400, 3200, 1600)}

READINGS: Mapping[str, Settings] = {
    "": {},
    COUNTERS: {"device.timing.program": "665197ns"},
    APART: {"ftl.separation": "host-gc"},
    FEW_BLOCKS: {
        "device.blocks_per_plane": 256,
        "device.pages_per_block": 64,
        "device.timing.erase": "1750us",
    },
    ALL_CHIPS: {},
    MONTHS: {"device.wear.retention": "3m"},
    LEVELED: {"ftl.wear_leveling": "static"},
    **{name: {"ftl.migration.rcpb.fill": fill} for name, fill in FILLS.items()},
    **{name: {} for name in DRAMS},
}
"""Departures from what was settled on. A page of every block of 128 that holds counters takes its room, in
[`sets`], and one more program: here a 127th of the time of each of the others. (`fastgc.metadata` would take a page of
every block of this device, which has sixteen.)
"""


class Point(NamedTuple):
    """Where in the grid a result is."""

    workload: str
    """One of `HOSTS` or of `FIO_MODELS`."""
    system: str
    age: int = 0
    """One of `AGES`. What moves off the chip knows none, so the base has 0."""
    setting: str = ""

    @property
    def label(self) -> str:
        """For people."""
        age = "" if self.system == "base" else f" {AGES[self.age]}"
        return f"{self.system}{age}{self.setting and ', '}{self.setting} {self.workload}"


SCALES = {
    "quick": Scale(QUICK),
    "paper": Scale(1.0, {}, lambda point: point.setting in (FEW_BLOCKS, ALL_CHIPS, MONTHS, LEVELED, *FILLS)),
}  # fmt: skip
"""Of the paper's chips. Captured traces and bursts are short, so that every scale has the same device for them."""

CHIPS, BLOCKS, PAGES_PER_BLOCK = 8, 1024, 16
"""Of the small device: one of the paper's channels, with blocks of an eighth of the pages."""


def _small(channels: int) -> Settings:
    """Pages of 4 KiB on a channel and a DRAM of a quarter of the rate take as long as the paper's of 16 KiB. An erase
    takes its share of a page's time, and the write buffer has as many pages for each chip as 10 MiB have at full size.
    """
    buffer = f"{10 * CHIPS * channels * PAGE}B"
    return {
        "device.channels": channels, "device.page_size": f"{PAGE}B", "device.pages_per_block": PAGES_PER_BLOCK,
        "device.timing.channel_rate": "133250kT/s", "device.timing.erase": "437500ns",
        "ftl.write_buffer.fifo": {"size": buffer, "order": "global", "release": "programmed", "flush": "free"},
    }  # fmt: skip


SPARE = 0.14
"""Of the device for Figure 7b, as the preset's."""

VOLUME = 4
"""User capacities written by a run; throughput and WAF are of the second half."""


def is_small(point: Point, scale: Scale) -> bool:
    """Whether a run is on the small device."""
    return scale.ratio < 1 or point.workload in (*CAPTURED_NAMES, *FIO_MODELS)


def sets(point: Point, workload: Workload | None, scale: Scale) -> Settings:
    """What a point sets beside its system and its reading."""
    host = HOSTS.get(point.workload)
    small = is_small(point, scale)
    channels = 1 if small and point.setting != ALL_CHIPS else 8
    chips, block = channels * CHIPS, (PAGES_PER_BLOCK * PAGE if small else 128 * 16 * 1024)
    spare = SPARE if host is None else host.spare if small else host.full_spare
    if host is not None and workload is not None:
        user = _mib(workload.info["highest_offset_bytes"] + 2**20 - 1)
        blocks = math.ceil((user << 20) * (1 + spare) / (chips * block))
    else:
        blocks = BLOCKS
        user = _mib(blocks * chips * block / (1 + spare))
    if point.setting == COUNTERS:
        blocks = blocks * 127 // 128
    dram = DRAMS.get(point.setting, DRAM_MB_S) * 1000 * channels // 8
    return {
        **(_small(channels) if small else {}),
        **_asked(host, small),
        "device.blocks_per_plane": blocks,
        "device.user_capacity": f"{user}MiB",
        "device.timing.dram_bandwidth": f"{dram // 4 if small else dram}kB/s",
        "device.wear.pe_cycles": point.age,
        "run.precondition.sequential": "1x",
        "workload.volume": f"{VOLUME}x",
    }


def _asked(host: Host | None, small: bool) -> Settings:
    """What the host asks for, and how; a generator's requests are single pages."""
    if host is None:
        return {"host.replay": "open"}
    return (
        {} if host.sets is None else {**host.sets, "workload.request_size": f"{PAGE if small else 4 * PAGE}B"}
    )


def _mib(size: float) -> int:
    return int(size) >> 20


def weight(point: Point, _: Workload | None, scale: Scale) -> float:
    """About how much work a run is: pages programmed and read for each that the host writes."""
    host = HOSTS.get(point.workload)
    return (2 * host.waf if host is not None else 6) * (1 if is_small(point, scale) else 64)


class Late(NamedTuple):
    """Figures of the second half of what a run wrote."""

    iops: float
    waf: float
    latency_us: float


def late(result: Result) -> Late:
    """Adds up the rows of the series in the second half."""
    series = result.series
    volume, written = series["axis"] == "volume", series["capacities_written"]
    rows = volume & (written > round(float(written[volume].max()), 2) / 2)
    requests = (series["reads"] + series["writes"])[rows].astype(float)
    host = float(series["host_page_programs"][rows].sum())
    timed = requests > 0
    latency = (series["latency_mean_us"][rows][timed] * requests[timed]).sum()
    return Late(
        iops=float(requests.sum() / (series["end_s"] - series["start_s"])[rows].sum()),
        waf=float(series["page_programs"][rows].sum()) / host,
        latency_us=float(latency / requests.sum()),
    )


def _of_migration(name: str) -> Any:
    return lambda summary: summary["policy"].get("migration", {}).get(name)


COLUMNS = (
    "capacities_written", "start_s", "end_s", "reads", "writes", "latency_mean_us", "host_page_programs",
    "page_programs",
)  # fmt: skip
"""Of the series, what figures of the second half are made of."""


class Evidence(study.Evidence[Point]):
    """The results of the grid, looked up by what claims ask."""

    FIGURES: ClassVar[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
        "waf_whole": lambda s: s["waf_units"],
        "copyback_fraction": _of_migration("copyback_fraction"),
        "max_error": _of_migration("max_error"),
        "quota_classes": _of_migration("quota_classes"),
        "die_idle": lambda s: s["utilisation"]["die"]["idle"],
        "channel_transfer": lambda s: s["utilisation"]["channel"]["transfer"],
        "programs": lambda s: s["flash"]["page_programs"],
        "leveled": lambda s: (
            s["flash"]["by_cause"]["wear"]["programs"] + s["flash"]["by_cause"]["wear"]["copybacks"]
        ),
    }

    SUMMARY = (
        "waf_units", "policy.migration", "utilisation.die.idle", "utilisation.channel.transfer", "flash.page_programs",
        "flash.by_cause.wear",
    )  # fmt: skip

    @classmethod
    def reduced(cls, point: Point, result: Result) -> Mapping[str, Mapping[str, Any]]:
        """The rows of the second half as one."""
        series = result.series
        volume, written = series["axis"] == "volume", series["capacities_written"]
        rows = volume & (written > round(float(written[volume].max()), 2) / 2)
        return {"series": study.joined(series, COLUMNS, [np.flatnonzero(rows)])}

    def late(self, point: Point) -> Late:
        """The figures of the second half; those of counters in flash with their own programs."""
        found = late(self.results[point])
        return found._replace(waf=found.waf * 128 / 127) if point.setting == COUNTERS else found

    def iops(self, point: Point) -> float:
        """Throughput, in requests per second."""
        return self.late(point).iops

    def gain(self, name: str, system: str, over: str, age: int, setting: str = "") -> float:
        """By how much a system's throughput is above another's, in %."""
        ours, theirs = (self.iops(self.point(name, one, age, setting)) for one in (system, over))
        return 100 * (ours / theirs - 1)

    def over_base(self, point: Point) -> float:
        """By how much a point's throughput is above that of the base under its reading, if that was run, in %."""
        own, settled = (Point(point.workload, "base", 0, setting) for setting in (point.setting, ""))
        return 100 * (self.iops(point) / self.iops(own if own in self.results else settled) - 1)

    def late_waf(self, point: Point) -> float:
        """The WAF of the second half."""
        return self.late(point).waf

    def waf(self, name: str, system: str, age: int, setting: str = "") -> float:
        """The WAF of a system ÷ that of the base."""
        return self.late(self.point(name, system, age, setting)).waf / self.late(Point(name, "base")).waf

    @staticmethod
    def point(name: str, system: str, age: int, setting: str = "") -> Point:
        """A point; the base has no age."""
        return Point(name, system, 0 if system == "base" else age, setting)

    def names(self, names: Sequence[str], *systems: str) -> list[str]:
        """Of the workloads, those that there are runs of."""
        return [name for name in names if any(Point(name, s) in self.results for s in systems or ("base",))]

    def row(self, point: Point) -> dict[str, Any]:
        """A run's figures, as JSON."""
        return {**super().row(point), **_known(self.late(point)._asdict())}

    def found_beside(self) -> dict[str, Any]:
        """How unrestricted copybacks ended."""
        return {"unrestricted": _known(self.beside["errors"])} if "errors" in self.beside else {}

    def words(self) -> list[str]:
        """What is no trace."""
        found = ["Workloads in capital letters are generated as they run."]
        if not set(CAPTURED_NAMES) & set(self.workloads):
            found.append(
                "No captures were found (oltp, ntrx, varmail, fileserver): their claims are not run."
            )
        return found


def _known(figures: Mapping[str, float]) -> dict[str, float | None]:
    """JSON has no NaN."""
    return {name: None if math.isnan(value) else value for name, value in figures.items()}
