"""The cause that makes latencies as long as they are: of all that requests waited for, the thing to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ftlab.base.quantities import in_bytes
from ftlab.results.latency_parts import PARTS, Around, around
from ftlab.results.overload import overload
from ftlab.results.result import Result
from ftlab.results.text import duration, percent

MOST = 0.8
"""Causes dominate that are together so much of a latency..."""

MANY = 3
"""... and at most so many of them."""

HOST_WORK = frozenset({"service", "host_read", "host_program", "channel", "queue", "controller", "link"})
"""The work of requests for themselves: others wait for it because there is much of it, or little room."""

IDLE = 0.5
"""If so many dies have nothing to do while requests wait for places or room, there are too few of these..."""

IDLE_WITH_FEWER = 0.25
"""... and if so many have, and there are fewer places, or less room for pages, than dies."""

SLOWER = 1.5
"""A die is slow whose own commands take so many times as long as those of the others."""

FEW = 5
"""Of fewer pages a die's mean time says nothing."""


@dataclass(frozen=True, slots=True)
class Culprit:
    """The thing to change."""

    name: str
    """`slow-die`, `busy-die`, `queue-depth`, `write-buffer`, `overload`, or the part that dominates."""
    words: str
    """The trouble with it, beyond what the parts say; may be empty."""
    settings: tuple[str, ...]
    """Keys that act on it."""
    die: int | None = None
    """Its number, where it is one die."""
    causes: tuple[str, ...] = field(default=())
    """The parts that dominate, whatever way they came."""


def dominating(found: Around) -> list[str]:
    """The causes that dominate, whatever way they came."""
    names: list[str] = []
    for name, _ in found.causes()[:MANY]:
        names.append(name)
        if found.share(names) >= MOST:
            break
    return names


def culprit(result: Result, found: Around) -> Culprit | None:
    """The thing to change about the latencies around a percentile; `None` where they took no time."""
    names = tuple(dominating(found))
    if not names or not found.latency_us:
        return None
    if (die := _one_die(result, found)) is not None:
        return Culprit(*die, causes=names)
    others = [name for name in names if name not in HOST_WORK]
    ways = way_shares(found)
    buffer, admission = ways["buffer"] + ways["admission buffer"], ways["admission"]
    settings = _settings(result, found, names)
    # A collection ends with an erase.
    first = "gc" if {"gc", "erase"} <= set(others) else (others or names)[0]
    cause = Culprit(first, "", settings, causes=names)
    load = ("host.time_scale", "workload.interval", "device.channels", "device.dies_per_chip")
    if buffer + admission < 0.5 or found.idle_dies is None:
        if not others and overload(result) is not None:
            words = "Requests came faster than the device served them: what waits for dies only grew."
            return Culprit("overload", words, load, causes=names)
        return cause
    idle = f"Meanwhile {percent(found.idle_dies, 0)} of the dies had nothing to do"
    name, key, places, what = _held(result, is_buffer=buffer >= admission)
    dies = result.summary["latency_parts"]["dies"]["count"]
    is_small = places is not None and (
        found.idle_dies >= IDLE_WITH_FEWER if places < dies else found.idle_dies >= IDLE and not others
    )
    if is_small:
        words = f"{idle}: {what} for {dies} dies."
        return Culprit(name, words, tuple(dict.fromkeys((key, *(settings if others else ())))), causes=names)
    if others:
        if found.idle_dies < IDLE or places is None:
            return cause
        return replace(cause, words=f"{idle}: more places would use them.", settings=(*settings, key))
    return Culprit(
        "overload", f"{idle}: requests come faster than the device serves them.", load, causes=names
    )


def _held(result: Result, *, is_buffer: bool) -> tuple[str, str, int | None, str]:
    """The resource that was held: its name if there is too little of it, its key, how much there is, in words."""
    config = result.summary["config"]
    if not is_buffer:
        depth = config["host"].get("queue_depth")
        places = depth if isinstance(depth, int) else None
        return (
            "queue-depth",
            "host.queue_depth",
            places,
            f"the device takes only {_counted(places, 'request')} at once",
        )
    chosen = config["ftl"].get("write_buffer")
    parameters = next(iter(chosen.values())) if isinstance(chosen, Mapping) else {}
    size = parameters.get("size")
    places = None if size is None else in_bytes(str(size)) // in_bytes(str(config["device"]["page_size"]))
    return (
        "write-buffer",
        "ftl.write_buffer",
        places,
        f"the write buffer holds only {_counted(places, 'page')}",
    )


def _counted(number: int | None, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def way_shares(found: Around) -> dict[str, float]:
    """By way, what came by it as a share of the latency."""
    ways = {"": 0.0, "admission": 0.0, "buffer": 0.0, "admission buffer": 0.0}
    for share in found.shares():
        # Where older results do not divide a wait, that is the way and the cause.
        way = share.way or (share.part if share.part in ways else "")
        ways[way] += share.us / found.latency_us
    return ways


def place(result: Result, die: int | None) -> str:
    """The track of a die, as the timeline calls it; empty where dies do the same in step."""
    device = result.summary["config"]["device"]
    if die is None or "superblock" in str(result.summary["config"]["ftl"].get("reclaim_unit")):
        return ""
    chip, die_of_chip = divmod(die, device["dies_per_chip"])
    channel, chip = divmod(chip, device["chips_per_channel"])
    return f"channel {channel}, chip {chip} die {die_of_chip}"


def _settings(result: Result, found: Around, names: Sequence[str]) -> tuple[str, ...]:
    names = sorted(names, key=lambda name: name in HOST_WORK)
    keys = [key for name in names for key in PARTS[name].keys]
    if "gc" in names and found.kind == "write":
        # No scheduler lets a write go before a collection that it needs.
        keys = [key for key in keys if key != "ftl.scheduler"]
    elif "gc" in names and result.summary["config"]["device"].get("program_suspend") == "off":
        keys.append("device.program_suspend")
    if "other_tenant" in names and found.neighbours:
        keys.insert(0, f"tenant.{found.neighbours[0]['name']}.queue_depth")
    return tuple(dict.fromkeys(keys))


def _one_die(result: Result, found: Around) -> tuple[str, str, tuple[str, ...], int] | None:
    """The die that most of a latency was for, and not only in some episode: name, words, settings, number."""
    all_dies: Mapping[str, Any] = result.summary["latency_parts"].get("dies") or {}
    count, mean = all_dies.get("count", 0), around(result, found.kind, "mean", found.tenant)
    if count < 2 or not found.dies or mean is None or not mean.latency_us:
        return None
    fair, die = 1 / count, found.dies[0]
    share = die["us"] / found.latency_us
    always = sum(other["us"] for other in mean.dies if other["die"] == die["die"]) / mean.latency_us
    # Of two dies one has half, which is nothing strange.
    if share < max(0.5, min(3 * fair, (1 + fair) / 2)) or always < min(2 * fair, (1 + fair) / 2):
        return None
    where = place(result, die["die"])
    head = f"{percent(share, 0)} of it was for one die of {count}{f' ({where})' if where else ''}"
    times = (("programs", "program_us"), ("reads", "read_us"))
    for pages, time in times if found.kind == "write" else times[::-1]:
        rest = all_dies[pages] - die[pages]
        if min(rest, die[pages]) < FEW:
            continue
        others = (all_dies[pages] * all_dies[time] - die[pages] * die[time]) / rest
        if die[time] >= SLOWER * others:
            words = f"{head}: its {pages} took {duration(die[time])}, those of the others {duration(others)}."
            return "slow-die", words, ("device.slow_die", "ftl.allocation"), die["die"]
    part = max(die[pages] / all_dies[pages] if all_dies[pages] else 0.0 for pages, _ in times)
    if part < 2 * fair:
        return None
    words = f"{head}: it had {percent(part, 0)} of the load."
    return "busy-die", words, ("ftl.allocation",), die["die"]
