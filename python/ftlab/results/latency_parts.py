"""What a run says of the parts of its latencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ftlab.results.result import Result


@dataclass(frozen=True, slots=True)
class Part:
    """What a part of a latency went to."""

    label: str
    """In tables and legends."""
    words: str
    """What happened meanwhile, as a sentence."""
    keys: tuple[str, ...]
    """Settings that act on it."""


GC_KEYS = ("ftl.scheduler", "ftl.gc_schedule", "device.over_provisioning")

PARTS = {
    "service": Part(
        "own command", "its own command: cycles, array, transfer", ("device.timing",)
    ),
    "host_read": Part(
        "host reads", "its die read for other requests", ("ftl.allocation", "device.timing.read", "device.cache_read")
    ),
    "host_program": Part(
        "host programs", "its die programmed for other requests",
        ("ftl.scheduler", "device.program_suspend", "device.cache_program"),
    ),
    "gc": Part("GC", "its die moved pages for garbage collection", GC_KEYS),
    "gc_wait": Part("GC waits", "its die had no command, and its collection waited", GC_KEYS),
    "erase": Part(
        "erases", "its die erased a block",
        ("device.erase_suspend", "ftl.gc_schedule", "device.over_provisioning"),
    ),
    "suspend": Part(
        "suspends", "its die suspended a program or an erase",
        ("device.program_suspend", "device.erase_suspend"),
    ),
    "channel": Part("channel", "a command waited for the channel", ("device.timing.channel_rate", "device.channels")),
    "queue": Part("queue", "it waited for its turn, and its die had no command", ("ftl.scheduler",)),
    "admission": Part("admission", "it waited for a place in the device", ("host.queue_depth", "host.time_scale")),
    "controller": Part(
        "controller", "the controller dealt with its command", ("host.command_time", "host.command_interval")
    ),
    "link": Part("host link", "its data waited for the host's link, or passed it", ("host.link",)),
    "buffer": Part("write buffer", "it waited for room in the write buffer", ("ftl.write_buffer",)),
    "old_version": Part("old version", "the rest of its page was read first", ("device.page_size",)),
    "map": Part("map entry", "its map entry was read first", ("ftl.mapping",)),
    "mapping": Part("map pages", "its die had to do with pages of the map", ("ftl.mapping",)),
    "correction": Part(
        "ECC", "the page was corrected", ("device.timing.ecc_latency", "device.timing.ecc_bandwidth")
    ),
    "refresh": Part("refresh", "its die refreshed a block", ("ftl.read_disturb",)),
    "wear": Part("wear leveling", "its die moved pages for wear leveling", ("ftl.wear_leveling",)),
    "backup": Part("backups", "its die had to do with backups of pages", ("ftl.paired_page",)),
}  # fmt: skip
"""By name, in the order in which plots stack them."""

AT = ("mean", "p50", "p90", "p99", "p99.9", "p99.99")
"""Where there are parts."""

FRACTIONS = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}
"""Of the requests that are quicker."""

KINDS = ("read", "write")


@dataclass(frozen=True, slots=True)
class Around:
    """The requests of one kind around a percentile, or all of them."""

    kind: str
    at: str
    percentile_us: float
    """The percentile, or the mean."""
    requests: int
    """How many the parts are the mean of."""
    latency_us: float
    """What these took on average: all parts together."""
    parts_us: Mapping[str, float]
    examples: Sequence[Mapping[str, Any]]

    def largest(self) -> list[tuple[str, float]]:
        """The parts that took time, largest first."""
        found = [(name, us) for name, us in self.parts_us.items() if us > 0]
        return sorted(found, key=lambda part: -part[1])

    def share(self, names: Sequence[str]) -> float:
        """What these parts are of the latency."""
        return (
            sum(self.parts_us.get(name, 0.0) for name in names) / self.latency_us if self.latency_us else 0.0
        )


def around(result: Result, kind: str, at: str) -> Around | None:
    """The requests of that kind around a percentile; `None` without parts, or without such requests."""
    of_kind = (result.summary.get("latency_parts") or {}).get(kind)
    if of_kind is None:
        return None
    key = at.replace(".", "")
    found, latency = of_kind[key], result.summary["host"][f"{kind}_latency_us"][key]
    return Around(
        kind, at, latency, found["requests"], found["latency_us"], found["parts_us"], found["examples"]
    )
