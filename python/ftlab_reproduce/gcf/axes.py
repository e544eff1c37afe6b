"""GC forwarding: the axes of its grid, what they set, and the figures of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ftlab.results.result import Result
from ftlab_reproduce import study
from ftlab_reproduce.gcf import lanes
from ftlab_reproduce.gcf.hosts import CAPTURED, CROWDED, ONE_CHANNEL, SIX_WRITES
from ftlab_reproduce.gcf.lanes import Lane
from ftlab_reproduce.study import Scale, Settings
from ftlab_reproduce.workloads import Workload

SCHEMES = ("SYNC", "FI", "GCF", "CF")
"""Section 4.1; each is a preset of its own."""

MAPPINGS = ("FAST", "DFTL")

PAGE_MAP = "page map"
"""Beside them, a map that is all in DRAM."""

CACHE_KIB = 1024
"""DFTL's cached mapping table at full scale, 1/32 of the map of Random; the paper gives none."""

WHOLE, SECTOR_63 = "whole pages", "sector 63"
BEGINS = (WHOLE, SECTOR_63)
"""Where the partition begins: at a page of the flash, or where Windows made the first one, so that a cluster of 4 KiB
lies on two pages. The figures are judged by the first, Table 3, a replay onto a real drive, by the second; both are
run."""

WORKLOADS = ("Desktop", "Random", "Multimedia")

CAPTURED_NAMES = tuple(wanted.name for wanted in CAPTURED)

CHANNELS = (1, 2, 4, 8)

BUFFERS_KIB = (64, 2048, 8192, 32768)
"""Figure 10."""


def size_name(kib: int) -> str:
    """A buffer's size, for people."""
    return f"{kib} KiB" if kib < 1024 else f"{kib // 1024} MiB"


BUFFER_NAMES = tuple(map(size_name, BUFFERS_KIB))

VOLUMES_GIB = {
    "Random": 16.0, "Desktop": 40.0, "Multimedia": 20.0, CROWDED.name: 40.0, ONE_CHANNEL.name: 16.0,
    SIX_WRITES.name: 16.0,
}  # fmt: skip
"""Table 2: the user capacity is the volume."""

PLACED = (*WORKLOADS, CROWDED.name)
"""The workloads whose partition begins somewhere."""

WRITTEN_GIB = 18.6
"""What Random writes (Table 2)."""

PAGES_PER_BLOCK = 128
PAGE = 4096

SPARE_BLOCKS = 200
"""N_s at full scale: "the total number of spare blocks in each channel" (section 3.5); each plane has its part."""

NO_LIMIT = 16_000_000
"""Of spare blocks, where N_s is to have no effect."""

OP = 0.1
"""Spare ÷ user capacity. All of it is log under FAST; the block that a merge goes to comes on top."""

TABLE3 = {
    ("SYNC", "Random"): 76, ("SYNC", "Multimedia"): 121, ("SYNC", "Desktop"): 307,
    ("CF", "Random"): 194, ("CF", "Multimedia"): 211, ("CF", "Desktop"): 486,
}  # fmt: skip
"""The simulator's IOPS; SYNC is without a write buffer."""

TABLE3_SSD = {
    ("SYNC", "Random"): 71, ("SYNC", "Multimedia"): 112, ("SYNC", "Desktop"): 292,
    ("CF", "Random"): 182, ("CF", "Multimedia"): 204, ("CF", "Desktop"): 475,
}  # fmt: skip
"""The real drive's."""


ON_REQUEST = frozenset({"turns", "starts", "trigger"})
"""Experiments that no claim rests on."""

SCALES = {
    "quick": Scale(1 / 16, on_request=ON_REQUEST),
    "paper": Scale(1.0, on_request=ON_REQUEST),
}
"""Of the paper's volumes and amounts written; and of N_s, which counts blocks. The write buffer stays."""


class Point(NamedTuple):
    """Where in the grid a result is."""

    workload: str
    scheme: str
    mapping: str = "FAST"
    channels: int = 8
    planes: int = 1
    buffer_kib: int = 32
    """0: none."""
    setting: str = ""
    """One of `READINGS`."""
    begin: str = WHOLE
    """One of `BEGINS`."""

    @property
    def label(self) -> str:
        """For people."""
        planes = " x 2 planes" if self.planes == 2 else ""
        parts = (
            self.scheme,
            self.mapping,
            f"{self.channels} channels{planes}",
            size_name(self.buffer_kib),
            self.setting,
            self.begin if self.begin != WHOLE else "",
        )
        return f"{' '.join(filter(None, parts))} {self.workload}"


@dataclass(frozen=True, slots=True)
class Reading:
    """A departure from what was settled on."""

    words: str
    sets: Settings
    """Settings of the whole run."""
    policies: Settings
    """Parameters of policies, by name; those that a scheme's policies do not have say nothing about it."""


def _reading(words: str, sets: Mapping[str, Any] | None = None, **policies: Any) -> Reading:
    return Reading(words, sets or {}, policies)


FULL_LOG = {"run.precondition.random": "0.3x"}
"""Runs that begin with the log full."""

READINGS: Mapping[str, Reading] = {
    "": _reading(""),
    "long": _reading(
        "begins with a full log; a first page always opens a sequential log block",
        {**FULL_LOG, "workload.volume": "3200MiB"},
        start="always",
    ),
    "short": _reading("begins with a full log", {**FULL_LOG, "workload.volume": "64MiB"}),
    "merge": _reading("a broken sequential log block is merged at once", broken="merge", start="if-spare"),
    "waste": _reading("a broken sequential log block is left as it is", broken="waste", start="if-spare"),
    "always": _reading("a first page always opens a sequential log block", start="always"),
    "if spare": _reading("a first page opens one while a log block is free", start="if-spare"),
    "bounded 2": _reading("a first page opens one unless two have room", reused_blocks=2),
    "bounded 8": _reading("a first page opens one unless eight have room", reused_blocks=8),
    "victim": _reading("a merge leaves pages in other log blocks", gather="victim", start="if-spare"),
    "global order": _reading("pages leave the buffer in one order", order="global"),
    "transferred": _reading("room in the buffer is free when a page is in the chip", release="transferred"),
    "begins empty": _reading("the device has not been written before", {"run.precondition": "none"}),
    "empty": _reading("GCF collects whenever a channel is out of buffered pages", trigger="empty"),
    "no preemption": _reading("forward collections are not suspended", preempt="off"),
    "no limit": _reading("N_s has no effect", spare_blocks=NO_LIMIT),
    "in step": _reading("followers count the steps of the initiator", pace="initiator"),
    "own pace": _reading("followers do not keep step", pace="own"),
    "own frontier": _reading("copies have a frontier of their own", {"ftl.separation": "host-gc"}),
    "N_s ÷ 4": _reading("a quarter of N_s", spare_times=1 / 4),
    "N_s ÷ 16": _reading("a sixteenth of N_s", spare_times=1 / 16),
    "planes first": _reading(
        "neighbouring pages lie on the two planes of a chip", {"ftl.allocation": "PCWD"}
    ),
    "planes first, own pace": _reading(
        "the same, and followers do not keep step", {"ftl.allocation": "PCWD"}, pace="own"
    ),
    "cache ÷ 4": _reading("a quarter of the cache", cache_times=1 / 4),
    "cache × 4": _reading("four times the cache", cache_times=4),
    "all cached": _reading("all entries cached", cache_times=32),
}

FORWARDING = ("GCF", "CF")


FIGURE3 = Point("Random", "FI", buffer_kib=8192, setting="long")
"""As many batches as the paper's figure has, under the reading that gives such long congestion."""

LANES = {
    mapping: tuple(
        Point("Random", scheme, mapping, setting="short") for scheme in SCHEMES if scheme != "SYNC"
    )
    for mapping in MAPPINGS
}
"""Whose timelines are recorded, FI first."""

WINDOW_MS = (2000.0, 6000.0)
"""Of simulated time. A full merge of one logical block takes 139 ms."""

MOMENT_MS = 100.0
"""Of that window, what is drawn operation by operation."""

READING_NAMES = (
    "", "merge", "waste", "always", "if spare", "bounded 2", "bounded 8", "victim", "global order", "transferred",
    "begins empty", "empty", "no preemption", "no limit",
)  # fmt: skip
"""Those of FAST, or of both mappings, which are tried under FAST."""

MAP_READINGS = ("", "in step", "own pace", "own frontier")
"""Those of DFTL."""

TURNS = (
    "always", "if spare", "global order", "transferred", "own pace", "own frontier", "all cached", "N_s ÷ 4",
    "N_s ÷ 16", "planes first", "planes first, own pace",
)  # fmt: skip
"""The readings that are tried, one at a time, on the claims that do not hold."""

TURNED = (
    "f8-fast-fi-desktop", "f8-dftl-sync-random", "f8-trend-random", "f9-fast-idle-desktop", "f9-dftl-idle-desktop",
    "f9-dftl-gc-desktop", "f9-dftl-side-effect", "f10-fast-sync-desktop", "f10-fast-desktop-small",
    "f10-dftl-cf-desktop", "f10-dftl-sync-desktop", "f10-dftl-gcf-random", "f10-mapping", "planes-fast", "planes-dftl",
)  # fmt: skip
"""The claims that do not hold, of those that Desktop, Random and cycle filling on two planes decide."""

CACHES = ("cache ÷ 4", "", "cache × 4", "all cached")


def table3_settings(workload: str) -> tuple[tuple[str, str], ...]:
    """The readings under which Table 3 is run, and where the partition begins."""
    settings = (("", SECTOR_63), ("", WHOLE), ("always", SECTOR_63), ("if spare", SECTOR_63))
    return (*settings, *((("victim", begin) for begin in BEGINS) if workload == "Random" else ()))


TABLE3_WORKLOADS = (*WORKLOADS, CROWDED.name)


def published(scheme: str, workload: str) -> int:
    """Table 3's IOPS in simulation; both models of Desktop stand for its Windows."""
    return TABLE3[scheme, "Desktop" if workload == CROWDED.name else workload]


def reading_points(name: str) -> list[Point]:
    """On Random, and on all where log blocks are what is read."""
    reading = READINGS[name]
    of_forwarding = {"trigger": ("GCF",), "preempt": FORWARDING, "spare_blocks": FORWARDING}
    schemes = next((of_forwarding[key] for key in reading.policies if key in of_forwarding), SCHEMES)
    return [Point(w, s, setting=name) for w in READ_ON.get(name, ("Random",)) for s in schemes]


READ_ON = {
    **dict.fromkeys(("", "merge", "waste", "always", "if spare", "bounded 2", "bounded 8"), WORKLOADS),
    "victim": ("Desktop", "Random"),
}
"""Where a reading is tried on more than Random."""


def map_points(name: str, planes: int) -> list[Point]:
    """A reading of DFTL on Random: on chips of one plane, and in Figure 10's device with 64 KiB."""
    schemes = ("CF",) if "pace" in READINGS[name].policies else SCHEMES
    return [Point("Random", s, "DFTL", 8, planes, 64 if planes == 2 else 32, name) for s in schemes]


def cache_points() -> list[Point]:
    """The sizes of DFTL's cache, and the map in DRAM."""
    kinds = [*(("DFTL", name) for name in CACHES), (PAGE_MAP, "")]
    return [Point("Random", s, m, c, setting=name) for m, name in kinds for s in SCHEMES for c in (1, 8)]


def affects(name: str, point: Point) -> bool:
    """Whether a reading can change a run."""
    reading = READINGS[name]
    policies = set(reading.policies)
    if policies & {"broken", "start", "reused_blocks", "gather"}:
        return point.mapping == "FAST"
    if "cache_times" in policies or "ftl.separation" in reading.sets:
        return point.mapping == "DFTL"
    if "ftl.allocation" in reading.sets and point.planes == 1:
        return False
    of = {"pace": ("CF",), "trigger": ("GCF",)} | dict.fromkeys(
        ("preempt", "spare_blocks", "spare_times"), FORWARDING
    )
    return all(point.scheme in of.get(policy, SCHEMES) for policy in policies)


def crowded_points() -> list[Point]:
    """Figure 10 under FAST with the Desktop that was fitted to Table 3."""
    return [Point(CROWDED.name, s, "FAST", 8, 2, kib) for s in SCHEMES for kib in BUFFERS_KIB]


def turn_points() -> list[Point]:
    """What the claims of `TURNED` are measured by, as settled on and under the readings of `TURNS`."""
    buffers = {"Desktop": BUFFERS_KIB, "Random": (*BUFFERS_KIB[:2], BUFFERS_KIB[-1])}
    settled = [
        *(Point(w, s, m, c) for m in MAPPINGS for w in buffers for s in SCHEMES for c in (1, 8)),
        *(Point(w, s, m, 8, 2, kib) for m in MAPPINGS for w in buffers for s in SCHEMES for kib in buffers[w]),
        *(Point(w, "CF", m, c, planes) for m in MAPPINGS for w in WORKLOADS for c, planes in ((4, 2), (8, 1))),
    ]  # fmt: skip
    tried = (p._replace(setting=name) for name in TURNS for p in settled if affects(name, p))
    return [*settled, *tried, *crowded_points()]


STARTS = ("always", "if spare")
"""When a first page opens a log block under FAST, beside what was settled on."""


def start_points() -> list[Point]:
    """Points of the claims under FAST, on Desktop and Random, for each rule that opens a log block."""
    settled = [
        point for point in claim_points()
        if point.mapping == "FAST" and point.workload != "Multimedia"
    ]  # fmt: skip
    return [*settled, *(p._replace(setting=name) for name in STARTS for p in settled)]


def trigger_points() -> list[Point]:
    """Points of the claims, and GCF's runs where a channel collects whenever it is out of pages."""
    settled = claim_points()
    return [*settled, *(p._replace(setting="empty") for p in settled if p.scheme == "GCF")]


def claim_points() -> list[Point]:
    """The runs of Figures 8 to 10 that claims are measured by, as settled on."""
    return [
        *(Point(w, s, m, c) for m in MAPPINGS for w in WORKLOADS for s in SCHEMES for c in (1, 8)),
        *(
            Point(w, s, m, 8, 2, kib)
            for m in MAPPINGS
            for w in WORKLOADS
            for s in SCHEMES
            for kib in BUFFERS_KIB
        ),
    ]


def plane_points() -> list[Point]:
    """Cycle filling on four channels of two planes, and on eight of one (section 3.5)."""
    shapes = ((4, 2), (8, 1))
    return [
        Point(w, "CF", m, channels, planes, begin=begin)
        for m in MAPPINGS for w in WORKLOADS for channels, planes in shapes for begin in BEGINS
    ]  # fmt: skip


PATHOLOGICAL = tuple(
    Point(ONE_CHANNEL.name, scheme, setting=name)
    for scheme, name in (("FI", ""), *((s, name) for s in FORWARDING for name in ("", "no limit")))
)
"""One channel gets nearly all writes: without forwarding, and with it under N_s and without limit."""


def settled_on(setting: str) -> str:
    """A reading in words."""
    return READINGS[setting].words or "settled on"


def offset_of(point: Point) -> str:
    """What is added to addresses. Made traces begin at sector 63; another sector, and clusters lie on whole pages."""
    if point.workload == "Random":
        return "31.5KiB" if point.begin == SECTOR_63 else "0B"
    return "512B" if point.workload in PLACED and point.begin == WHOLE else "0B"


def turned(point: Point) -> Point:
    """The same with the partition at the other place."""
    if point.workload not in PLACED:
        return point
    return point._replace(begin=SECTOR_63 if point.begin == WHOLE else WHOLE)


def table3_point(scheme: str, workload: str, setting: str = "", begin: str = SECTOR_63) -> Point:
    """SYNC without a write buffer, CF with 32 KiB."""
    return Point(workload, scheme, "FAST", 4, 1, 0 if scheme == "SYNC" else 32, setting, begin)


HELD = {"FAST": 1, "DFTL": 5, PAGE_MAP: 1}
"""Blocks of a plane that no data are ever in: where a merge goes to; what is held free, and a frontier of
translation pages; what is held free. They come on top, since a small device would lose much of its spare space to them.
"""


def blocks_per_plane(user_bytes: int, planes: int, mapping: str) -> int:
    """Blocks of each of so many planes: the data, `OP` more, and what is held."""
    logical = -(-user_bytes // (PAGE * PAGES_PER_BLOCK * planes))
    return logical + max(3, round(OP * logical)) + HELD[mapping]


def sets(point: Point, workload: Workload | None, scale: Scale) -> Settings:
    """What a point and its trace set; readings come on top."""
    user_mib = _user_mib(point, scale)
    found: dict[str, Any] = {
        "device.channels": point.channels,
        "device.planes_per_die": point.planes,
        "device.blocks_per_plane": blocks_per_plane(
            user_mib << 20, point.channels * point.planes, point.mapping
        ),
        "device.user_capacity": f"{user_mib}MiB",
        "workload.address_offset": offset_of(point),
        **_policies(point, _ratio(point, scale), READINGS[point.setting].policies),
    }
    if workload is not None and workload.is_paper:
        found["workload.rounds"] = 1
    else:
        found["workload.volume"] = f"{round(_written_gib(point, workload, scale) * 1024)}MiB"
    return found


def weight(point: Point, workload: Workload | None, scale: Scale) -> float:
    """About how much work a run is."""
    cost = {"Random": 4.0}.get(point.workload, 1.0) * (point.channels if point.scheme == "SYNC" else 1)
    return _written_gib(point, workload, scale) * cost


def _ratio(point: Point, scale: Scale) -> float:
    """Captured traces are short, so that every scale has the same device for them."""
    return SCALES["quick"].ratio if point.workload in CAPTURED_NAMES else scale.ratio


def _user_mib(point: Point, scale: Scale) -> int:
    volume = VOLUMES_GIB.get(point.workload, VOLUMES_GIB["Desktop"])
    return round(volume * _ratio(point, scale) * 1024)


def _written_gib(point: Point, workload: Workload | None, scale: Scale) -> float:
    if workload is None:
        return WRITTEN_GIB * _ratio(point, scale)
    written: int = workload.info["bytes_written"]
    return written / 2**30 if workload.is_paper else 2.0 * _user_mib(point, scale) / 1024


def _policies(point: Point, ratio: float, changed: Mapping[str, Any]) -> dict[str, Any]:
    """The policies of a point with all their parameters."""
    spare = max(1, round(SPARE_BLOCKS * ratio * float(changed.get("spare_times", 1)) / point.planes))
    chosen: dict[str, dict[str, Any]] = {}
    if point.mapping == "FAST":
        chosen["ftl.mapping.fast"] = {
            "log_blocks": 0, "broken": "fill", "start": "bounded", "reused_blocks": 4, "gather": "all"
        }  # fmt: skip
    elif point.mapping == "DFTL":
        kib = CACHE_KIB * ratio * float(changed.get("cache_times", 1))
        chosen["ftl.mapping.dftl"] = {"cache": f"{max(1, round(kib))}KiB"}
    if point.buffer_kib:
        size = f"{point.buffer_kib}KiB"
        chosen["ftl.write_buffer.fifo"] = {"size": size, "order": "channel", "release": "programmed"}
    schedule: dict[str, Any] = {"free_blocks": 1}
    if point.scheme in FORWARDING:
        schedule |= {"spare_blocks": spare, "preempt": "on"}
    if point.scheme == "CF":
        schedule |= {"pace": "initiator" if point.mapping == "FAST" else "kind"}
    if point.scheme == "GCF":
        schedule |= {"trigger": "congestion", "scope": "channel"}
    chosen[f"ftl.gc_schedule.{SCHEDULES[point.scheme]}"] = schedule
    sets = {
        f"{choice}.{key}": changed.get(key, value)
        for choice, parameters in chosen.items() for key, value in parameters.items()
    }  # fmt: skip
    if not point.buffer_kib:
        sets["ftl.write_buffer"] = "none"
    if point.mapping != "FAST":
        sets["ftl.victim"] = "greedy"
    if point.mapping == PAGE_MAP:
        sets["ftl.mapping"] = "page"
    if (over := IN_STEP.get((point.scheme, point.planes))) is not None:
        sets["ftl.reclaim_unit.superblock.over"] = over
    return sets


IN_STEP = {
    ("SYNC", 1): "channels",
    ("SYNC", 2): "channels-and-planes",
    ("FI", 2): "planes",
    ("GCF", 2): "planes",
}
"""What does the same thing at the same time, by scheme and planes. CF alone addresses planes independently."""

SCHEDULES = {"SYNC": "threshold", "FI": "threshold", "GCF": "forwarding", "CF": "cycle-filling"}


def channel_time(summary: Mapping[str, Any], part: str) -> float:
    """A part of the channels' time. Times of operations include their transfers, so a channel is busy while its
    chip is. Operations of one kind take the same time whatever causes them, so that the chip's time is shared out
    by their numbers.

    Host time is that of writing host data, with the reads of read-modify-writes and what the host's pages take of a
    map in flash. Updates of the map for pages that collections moved, and collections of its pages, are GC.
    """
    die, by_cause = summary["utilisation"]["die"], summary["flash"]["by_cause"]
    if part == "idle":
        return float(die["idle"])
    of_map = map_for_host(summary)
    total = 0.0
    for kind in ("read", "program", "erase"):
        every = sum(ops[f"{kind}s"] for ops in by_cause.values())
        host = by_cause["host"][f"{kind}s"] + by_cause["rmw"][f"{kind}s"] + of_map.get(kind, 0)
        total += die[kind] * (host if part == "host" else every - host) / max(1, every)
    return total


def map_for_host(summary: Mapping[str, Any]) -> dict[str, int]:
    """Operations on pages of a map in flash that the host's pages take: fetches, which are reads, and updates for
    entries that are evicted or were trimmed, each a read and a program. They are of all pages that are in step.
    """
    policy = summary.get("policy", {})
    if "fetches" not in policy.get("mapping", {}):
        return {}
    config = summary["config"]
    of_map = policy["mapping"]
    updates = of_map["write_backs"] + of_map["trim_updates"]
    over = config["ftl"]["reclaim_unit"]
    over = over["superblock"]["over"] if isinstance(over, dict) and "superblock" in over else ""
    lanes = (config["device"]["channels"] if "channels" in over else 1) * (
        config["device"]["planes_per_die"] if "planes" in over else 1
    )
    return {"read": lanes * (of_map["fetches"] + updates), "program": lanes * updates}


FIGURES: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "iops": lambda s: float(s["host"]["write_iops"]),
    "host": lambda s: channel_time(s, "host"),
    "gc": lambda s: channel_time(s, "gc"),
    "idle": lambda s: channel_time(s, "idle"),
    "waf": lambda s: float(s["waf_units"]),
    "programs": lambda s: float(sum(ops["programs"] for ops in s["flash"]["by_cause"].values())),
    "gc_programs": lambda s: float(s["flash"]["by_cause"]["gc"]["programs"]),
    "host_programs": lambda s: float(s["flash"]["by_cause"]["host"]["programs"]),
    "rmw_reads": lambda s: float(s["flash"]["by_cause"]["rmw"]["reads"]),
    "collections": lambda s: float(s["gc"]["invocations"]),
    "forward": lambda s: float(s["gc"]["forward"]),
    "preempted": lambda s: float(s["gc"]["preempted"]),
    "policy": lambda s: s["policy"],
}
"""The figures of a run, from its summary; host, GC and idle are fractions of channel time. The figures of the policies
are for whoever reads the file.
"""


class Evidence(study.Evidence[Point]):
    """The results of the grid, looked up by what claims ask."""

    FIGURES = FIGURES
    SUMMARY = (
        "host.write_iops", "utilisation.die", "flash.by_cause", "waf_units", "gc", "policy",
        "config.ftl.reclaim_unit", "config.device.channels", "config.device.planes_per_die",
    )  # fmt: skip

    @classmethod
    def reduced(cls, point: Point, result: Result) -> Mapping[str, Mapping[str, Any]]:
        """Dirty pages for Figure 3; erases of channels where one gets nearly all writes."""
        if point in (FIGURE3, turned(FIGURE3)):
            return {
                "buffer": {
                    key: result.tables["buffer"][key] for key in ("channel", "dirty_pages", "evictions")
                }
            }
        if point in PATHOLOGICAL:
            erases = erases_by_channel(result)
            return {"wear": {"channel": np.arange(erases.size), "erases": erases}}
        return {}

    @property
    def lanes(self) -> Mapping[Point, Sequence[Lane]]:
        """What the channels did over the same time, by scheme."""
        found: Mapping[Point, Sequence[Lane]] = self.beside.get("timelines", {})
        return found

    def traced(self) -> list[str]:
        """The workloads of Figure 9: the paper's, and the captured traces that are there."""
        return [*WORKLOADS, *(name for name in CAPTURED_NAMES if name in self.workloads)]

    def iops(self, workload: str, scheme: str, *place: Any, **places: Any) -> float:
        """Write requests per second."""
        return self.figure(Point(workload, scheme, *place, **places), "iops")

    def under(self, name: str) -> Evidence:
        """The same with a reading in place of what was settled on, where it was tried."""
        found = {p._replace(setting=""): result for p, result in self.results.items() if p.setting == name}
        return Evidence({**self.results, **found}, self.workloads, self.beside)

    def turned(self) -> Evidence:
        """The same with every partition at the other place: what is asked of the one is answered by the other."""
        results = {turned(point): result for point, result in self.results.items()}
        return Evidence(results, self.workloads, self.beside)

    def time(self, workload: str, scheme: str, mapping: str, part: str) -> float:
        """A part of channel time, in %, at 8 channels and 32 KiB."""
        return 100 * self.figure(Point(workload, scheme, mapping), part)

    def moment(self, mapping: str) -> tuple[float, dict[Point, list[Lane]]]:
        """The tenth of a second that shows most, as ms of the window, and the lanes in it."""
        points = LANES[mapping]
        fi, *others = (self.lanes[point] for point in points)
        start = lanes.moment(fi, others, MOMENT_MS, WINDOW_MS[1] - WINDOW_MS[0])
        return start, {
            point: [lane.during(start, MOMENT_MS) for lane in self.lanes[point]] for point in points
        }

    def windows(self) -> Iterator[tuple[Point, float, float, Sequence[Lane]]]:
        """What is drawn of timelines: of which run, from when on and how long (ms of simulated time), and the lanes."""
        first, last = WINDOW_MS
        for point, found in self.lanes.items():
            yield point, first, last - first, found
        for mapping in LANES if self.lanes else ():
            start, moments = self.moment(mapping)
            for point, of_moment in moments.items():
                yield point, first + start, MOMENT_MS, of_moment

    def found_beside(self) -> dict[str, Any]:
        """The channels' shares of the timelines."""
        return {"timelines": [
            {**point._asdict(), "from_ms": start, "length_ms": length,
             "channels": [{part: lane.share(part, length) for part in lanes.PARTS} for lane in found]}
            for point, start, length, found in self.windows()
        ]}  # fmt: skip

    def words(self) -> list[str]:
        """What is no trace."""
        is_random = any(point.workload == "Random" for point in self.results)
        return ["Random is generated as it runs."] if is_random or self.lanes else []


def dirty_pages(result: Result) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Pages flushed by the end of each interval, and by interval and channel the mean number of dirty pages."""
    table = result.tables["buffer"]
    channels = int(table["channel"].max()) + 1
    pages = np.asarray(table["dirty_pages"], float).reshape(-1, channels)
    return np.asarray(table["evictions"], float).reshape(-1, channels)[:, 0], pages


def erases_by_channel(result: Result) -> NDArray[np.float64]:
    """Erases of every channel since the device was made; filling it erases nothing."""
    return np.bincount(result.wear["channel"].astype(int), weights=result.wear["erases"]).astype(float)
