"""The parts of a run's latencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ftlab.results.result import Result
from ftlab.results.tenants import distinct


@dataclass(frozen=True, slots=True)
class Part:
    """The cause of a part of a latency."""

    label: str
    """In tables and legends."""
    words: str
    """The events meanwhile, as a sentence."""
    held: str
    """The waits of others that held a place in the device or room in the write buffer."""
    keys: tuple[str, ...]
    """Settings that act on it."""


GC_KEYS = ("ftl.gc_schedule", "ftl.scheduler", "device.over_provisioning")

PARTS = {
    "service": Part(
        "own command", "its own command: cycles, array, transfer", "their own commands", ("device.timing",)
    ),
    "host_read": Part(
        "host reads", "its die read for other requests", "reads of the host",
        ("ftl.allocation", "device.timing.read", "device.cache_read"),
    ),
    "host_program": Part(
        "host programs", "its die programmed for other requests", "programs of the host",
        ("ftl.scheduler", "device.program_suspend", "device.cache_program"),
    ),
    "other_tenant": Part(
        "other tenants", "its die read or programmed for another tenant", "other tenants",
        ("host.queue_depth", "host.arbitration", "device.program_suspend"),
    ),
    "gc": Part("GC", "its die moved pages for garbage collection", "garbage collection", GC_KEYS),
    "gc_wait": Part(
        "GC waits", "its die had no command, and its collection waited", "collections that waited", GC_KEYS
    ),
    "erase": Part(
        "erases", "its die erased a block", "erases",
        ("device.erase_suspend", "ftl.gc_schedule", "device.over_provisioning"),
    ),
    "suspend": Part(
        "suspends", "its die suspended a program or an erase", "suspends",
        ("device.program_suspend", "device.erase_suspend"),
    ),
    "retry": Part(
        "read retries", "its die read pages again that could not be corrected", "read retries",
        ("device.media", "device.wear.pe_cycles"),
    ),
    "fold": Part("folding", "its die moved pages out of the pseudo-SLC cache", "folding", ("ftl.slc_cache",)),
    "channel": Part(
        "channel", "a command waited for the channel", "the channel",
        ("device.timing.channel_rate", "device.channels"),
    ),
    "queue": Part("queue", "it waited for its turn, and its die had no command", "their turn", ("ftl.scheduler",)),
    "admission": Part(
        "admission", "it waited for a place in the device", "trims and flushes",
        ("host.queue_depth", "host.time_scale"),
    ),
    "controller": Part(
        "controller", "the controller dealt with its command", "the controller",
        ("host.command_time", "host.command_interval"),
    ),
    "link": Part(
        "host link", "its data waited for the host's link, or passed it", "the host's link", ("host.link",)
    ),
    "buffer": Part(
        "write buffer", "it waited for room in the write buffer", "room in the write buffer", ("ftl.write_buffer",)
    ),
    "old_version": Part(
        "old version", "the rest of its page was read first", "old versions of pages", ("device.page_size",)
    ),
    "map": Part("map entry", "its map entry was read first", "map entries", ("ftl.mapping",)),
    "mapping": Part("map pages", "its die had to do with pages of the map", "pages of the map", ("ftl.mapping",)),
    "correction": Part(
        "ECC", "the page was corrected", "error correction",
        ("device.timing.ecc_latency", "device.timing.ecc_bandwidth"),
    ),
    "refresh": Part("refresh", "its die refreshed a block", "refreshes", ("ftl.read_disturb",)),
    "wear": Part(
        "wear leveling", "its die moved pages for wear leveling", "wear leveling", ("ftl.wear_leveling",)
    ),
    "backup": Part(
        "backups", "its die had to do with backups of pages", "backups of pages", ("ftl.paired_page",)
    ),
}  # fmt: skip
"""By name, in the order in which plots stack them."""

AT = ("mean", "p50", "p90", "p99", "p99.9", "p99.99")
"""Where there are parts."""

FRACTIONS = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}
"""Of the requests that are quicker."""

KINDS = ("read", "write")


WAYS = ("", "admission", "buffer", "admission buffer")
"""By what a request waited: itself; for a place in the device, or for room in the write buffer, which others held that
waited; for a place whose holders waited for room."""

_LABELS = {
    "": "",
    "admission": "admission > ",
    "buffer": "buffer > ",
    "admission buffer": "admission > buffer > ",
}

_HELD = {
    "admission": "places held by",
    "buffer": "room held by",
    "admission buffer": "by",
}


@dataclass(frozen=True, slots=True)
class Share:
    """Time of a latency: for what cause, and by which way it came to the request."""

    way: str
    """One of `WAYS`."""
    part: str
    """The cause: one of `PARTS`."""
    us: float

    @property
    def label(self) -> str:
        """In tables."""
        return _LABELS[self.way] + PARTS[self.part].label

    @property
    def words(self) -> str:
        """The events meanwhile."""
        part = PARTS[self.part]
        return f"{_HELD[self.way]} {part.held}" if self.way else part.words


@dataclass(frozen=True, slots=True)
class Around:
    """The requests of one kind around a percentile, or all of them."""

    kind: str
    at: str
    percentile_us: float
    """The percentile, or the mean."""
    requests: int
    """The number of requests that the parts are the mean of."""
    latency_us: float
    """The mean of these: all parts together."""
    parts_us: Mapping[str, float]
    admission_us: Mapping[str, float]
    """The part `admission`, by what the holders of places waited for; parts of no time are absent."""
    buffer_us: Mapping[str, float]
    """The parts `buffer`, of `parts_us` and of `admission_us`, by what the buffered pages waited for; likewise."""
    idle_dies: float | None
    """The share of dies that had nothing to do while they waited for a place or for room; `None`: they did not."""
    dies: Sequence[Mapping[str, Any]]
    """The dies that they waited for most, with the time in microseconds (`us`), and with what each did for the host."""
    examples: Sequence[Mapping[str, Any]]
    tenant: str | None = None
    """The tenant whose requests they are, if they are those of one."""
    neighbours: Sequence[Mapping[str, Any]] = ()
    """The other tenants that they waited for most, with the time in microseconds (`us`), longest first."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """How sentences call each tenant."""

    def largest(self) -> list[tuple[str, float]]:
        """The parts that took time, largest first."""
        found = [(name, us) for name, us in self.parts_us.items() if us > 0]
        return sorted(found, key=lambda part: -part[1])

    def shares(self) -> list[Share]:
        """The latency by causes, and by the ways that they came; largest first."""
        return shares(self.parts_us, self.admission_us, self.buffer_us)

    def causes(self) -> list[tuple[str, float]]:
        """The causes that took time, whatever way they came; largest first."""
        found: dict[str, float] = {}
        for share in self.shares():
            found[share.part] = found.get(share.part, 0.0) + share.us
        return sorted(found.items(), key=lambda cause: -cause[1])

    def share(self, names: Sequence[str]) -> float:
        """The share of these causes in the latency."""
        if not self.latency_us:
            return 0.0
        return sum(us for name, us in self.causes() if name in names) / self.latency_us


def shares(
    parts_us: Mapping[str, float], admission_us: Mapping[str, float], buffer_us: Mapping[str, float]
) -> list[Share]:
    """A latency by causes, and by the ways that they came; largest first."""
    divided = {name for name, parts in (("admission", admission_us), ("buffer", buffer_us)) if parts}
    found = [Share("", name, us) for name, us in parts_us.items() if us > 0 and name not in divided]
    found += [Share("admission", name, us) for name, us in admission_us.items() if name != "buffer"]
    own, of_holders = parts_us.get("buffer", 0.0), admission_us.get("buffer", 0.0)
    if whole := own + of_holders:
        for way, part in (("buffer", own / whole), ("admission buffer", of_holders / whole)):
            found += [Share(way, name, us * part) for name, us in buffer_us.items() if part > 0]
    return sorted(found, key=lambda share: -share.us)


def tenant_names(result: Result) -> list[str]:
    """The names of the hosts whose latencies were split apart; empty with one host."""
    return [each["name"] for each in (result.summary.get("latency_parts") or {}).get("tenants", ())]


def around(result: Result, kind: str, at: str, tenant: str | None = None) -> Around | None:
    """The requests of that kind around a percentile, of all or of one tenant.

    `None` without parts, or without such requests.
    """
    split, figures = result.summary.get("latency_parts") or {}, result.summary["host"]
    if tenant is not None:
        split = next(each for each in split["tenants"] if each["name"] == tenant)
        figures = next(each for each in result.summary["tenants"] if each["name"] == tenant)
    of_kind = split.get(kind)
    if of_kind is None:
        return None
    key = at.replace(".", "")
    found, latency = of_kind[key], figures[f"{kind}_latency_us"][key]
    return Around(
        kind, at, latency, found["requests"], found["latency_us"], found["parts_us"],
        # Results of older versions do not divide these.
        found.get("admission_us", {}), found.get("buffer_us", {}), found.get("idle_dies"), found.get("dies", []),
        found["examples"], tenant, found.get("neighbours", ()), distinct(result.summary["config"]),
    )  # fmt: skip
