"""A request that stood still for very long, and the cure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ftlab.base.quantities import in_us
from ftlab.results.figures import Figures
from ftlab.results.overload import admission, overload
from ftlab.results.result import Result

LONG = 100
"""A request of more erase times than this did not wait for operations: a queue or whole collections held it up."""

QUEUED = 0.1
"""In a closed loop a mean of this part of the longest latency is that of the queue, which is always full."""

BUSY = 0.2
"""Dies that are idle for a smaller part of the time have as much to do as they can."""

FEW = 0.5
"""Dies of which fewer programs than this are by several planes do much of their work one plane after the other."""

FULL = 0.5
"""Victims with more valid pages than this cost more programs than the host's."""


@dataclass(frozen=True, slots=True)
class Stall:
    """The longest request of a run that took more than :data:`LONG` erase times."""

    kind: str
    """`read`, `write` or `FLUSH`."""
    longest_us: float
    """How long it took."""
    erases: float
    """Its time in erase times."""
    cause: str
    """The cause that held it up, as the configuration and the figures of the run say."""
    cure: str
    """Which setting would most likely shorten it."""


def stall(result: Result) -> Stall | None:
    """The stall of a run with time; `None` where no request took so long, or the whole device was overloaded."""
    config, host = result.summary["config"], result.summary["host"]
    if config["run"]["executor"] != "timed":
        return None
    erase_us = in_us(config["device"]["timing"]["erase"])
    longest = {kind: host[f"{kind}_latency_us"]["max"] or 0.0 for kind in ("read", "write", "flush")}
    kind = max(longest, key=longest.__getitem__)
    if longest[kind] <= LONG * erase_us or overload(result) is not None:
        return None
    cause, cure = _cause(result, kind, longest[kind])
    name = "FLUSH" if kind == "flush" else kind
    return Stall(name, longest[kind], longest[kind] / erase_us if erase_us else float("inf"), cause, cure)


def _cause(result: Result, kind: str, longest_us: float) -> tuple[str, str]:
    """The cause that held it up, and the setting that acts on that: the first that the figures speak for."""
    summary, figures = result.summary, Figures.of(result)
    ftl, host, gc = summary["config"]["ftl"], summary["config"]["host"], summary["gc"]
    is_open = host["replay"] == "open"
    if cause := _of_tenant(summary, kind):
        return cause
    if not is_open and summary["host"][f"{kind}_latency_us"]["mean"] > QUEUED * longest_us:
        return (f"a queue of {host['queue_depth']} that is always full", "a smaller `host.queue_depth`")
    if _name(ftl["mapping"]) == "fast":
        return "merges of hybrid mapping", '`ftl.mapping = "page"`'
    if kind == "read" and (missing := _missing(figures)):
        return "operations of its die that do not stop for reads", missing
    if is_open and figures.die_idle is not None and figures.die_idle < BUSY:
        busy = f"dies that were busy {100 * (1 - figures.die_idle):.0f} % of the time"
        if (
            (together := figures.multiplane_programs) is not None
            and together < FEW
            and _may_be_twin(summary["config"])
        ):
            return (
                f"{busy}, as {100 * together:.0f} % of the host's pages were programmed by several planes at once",
                '`ftl.reclaim_unit = "twin"`, whose blocks fill all planes of a die in step',
            )
        return busy, "less load (a larger `host.time_scale`)"
    if gc["foreground"] and figures.gc_schedule != "paced":
        return (
            "whole collections in its way",
            '`ftl.gc_schedule = "paced"`, which spreads them over the writes',
        )
    if is_open and host["queue_depth"] != "unlimited" and admission(result) is not None:
        return (
            f"the {host['queue_depth']} places of the device, all taken",
            '`host.queue_depth = "unlimited"`',
        )
    if figures.victim_valid is not None and figures.victim_valid > FULL and summary["waf"]:
        return (
            f"collections of blocks with {100 * figures.victim_valid:.0f} % valid pages (WAF {summary['waf']:.2f})",
            "more `device.over_provisioning`",
        )
    return "a queue in front of its die", "`run.latency_parts = true` and `ftlab explain-tail` say of what"


def _of_tenant(summary: dict[str, Any], kind: str) -> tuple[str, str] | None:
    """The tenant whose own queue held its requests up, if it is full nearly always."""
    latency = f"{kind}_latency_us"
    found = [tenant for tenant in summary.get("tenants", ()) if tenant.get(latency, {}).get("max")]
    if not found:
        return None
    slowest = max(found, key=lambda tenant: float(tenant[latency]["max"]))
    if slowest[latency]["mean"] <= QUEUED * slowest[latency]["max"]:
        return None
    is_open = any(
        tenant["name"] == slowest["name"] and tenant["replay"] == "open"
        for tenant in summary["config"]["tenant"]
    )
    return (
        f"the queue of tenant {slowest.get('label', slowest['name'])}, which sends more than it is served",
        f"a longer `interval` of it (`--set tenant.{slowest['name']}.interval=…`)" if is_open
        else f"a smaller `queue_depth` of it (`--set tenant.{slowest['name']}.queue_depth=…`)",
    )  # fmt: skip


def _name(choice: str | dict[str, Any]) -> str:
    return choice if isinstance(choice, str) else next(iter(choice))


def _may_be_twin(config: dict[str, Any]) -> bool:
    """True if planes of a die could work at once, and each has blocks of its own."""
    device = config["device"]
    return (
        device["planes_per_die"] > 1
        and device["multiplane"] != "off"
        and _name(config["ftl"]["reclaim_unit"]) == "block"
    )


def _missing(figures: Figures) -> str:
    """The settings that let reads go first, and are not there."""
    kinds = {"erases": "device.erase_suspend", "programs": "device.program_suspend"}
    missing = ['`ftl.scheduler = "paq"`'] if figures.scheduler == "fifo" else []
    missing += [f'`{key} = "reads"`' for kind, key in kinds.items() if kind not in figures.suspended]
    return ", ".join(missing)
