"""Figures derived from a result that say why a run came out as it did."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ftlab.base.quantities import in_bytes
from ftlab.results.overload import Overload, overload
from ftlab.results.result import Result
from ftlab.results.transient import TooShort, too_short


def _units_of_page(config: Mapping[str, Any]) -> float:
    """Map units of a flash page, in which moved pages are counted; 1 where a unit is a page, or several."""
    chosen = config["ftl"].get("map_unit", "page")
    name: str = chosen if isinstance(chosen, str) else next(iter(chosen))
    return 1.0 if name == "page" else max(1.0, in_bytes(config["device"]["page_size"]) / in_bytes(name))


@dataclass(frozen=True, slots=True)
class Tail:
    """Latencies of one kind of request, in µs; `None` where there was none, or no time."""

    mean: float | None
    p50: float | None
    p99: float | None
    p999: float | None
    p9999: float | None

    @classmethod
    def of(cls, latency: dict[str, float | None]) -> Tail:
        """The tail that a latency object of the summary has."""
        return cls(*(latency[key] for key in ("mean", "p50", "p99", "p999", "p9999")))


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures that explain a run. Fractions are 0..1; `None` where a figure is not defined."""

    iops: float | None
    throughput_mb_s: float | None
    mean_us: float | None
    p99_us: float | None
    p999_us: float | None
    p9999_us: float | None
    read_us: Tail
    write_us: Tail
    waf: float | None
    """Bytes programmed for any cause ÷ bytes that the host wrote."""
    waf_units: float | None
    """Pages programmed for any cause ÷ pages programmed for the host."""
    requests: int
    """Reads and writes."""
    programs_per_write: float | None
    """Pages programmed for any cause ÷ writes of the host."""
    gc_per_gb: float | None
    """Victims per 10^9 bytes written by the host."""
    victim_valid: float | None
    """Valid pages in a victim ÷ pages of a block, on average."""
    gc_share: float | None
    """Die time spent on GC ÷ all die time. Each kind of operation is taken to last as long for GC as for the host."""
    program_us: float | None
    """Die time per page programmed, for any cause. Shorter than the array's time where planes work at once."""
    multiplane_programs: float | None
    """Host pages programmed by commands over several planes ÷ host pages programmed."""
    multiplane_reads: float | None
    """Host pages read by commands over several planes ÷ host pages read."""
    die_idle: float | None
    """Die time without an operation ÷ all die time."""
    die_imbalance: float | None
    """Busy time of the busiest die ÷ mean busy time, less 1."""
    channel_idle: float | None
    erases: int
    wear_stddev: float | None
    wear_max: int | None
    lifetime_bytes: int | None
    """Bytes that the host had written when the device came to the end of its life; `None`: it did not."""
    array: tuple[str, ...]
    """Cells and times of the flash chips, to tell whether two runs had the same."""
    gc_schedule: str
    """When garbage collection runs, by its name."""
    gc_forward: float | None
    """Victims collected ahead of need ÷ victims."""
    foreground_per_gb: float | None
    """Victims per 10^9 bytes written that were collected when a write needed the room."""
    preempted: int
    """How often requests went before a collection that had begun."""
    scheduler: str
    """In which order commands go, by its name."""
    max_wait: str | None
    """How long reads go before other work; `None`: there is no bound."""
    suspended: tuple[str, ...]
    """Kinds of operations that the chips suspend for reads: `programs`, `erases`."""
    suspends: dict[str, int]
    """By kind, how often they did."""
    suspend_share: float | None
    """Die time in which an operation was being suspended or resumed ÷ all die time."""
    programming: str
    """The way in which pages are programmed, one by one or a wordline at a time, by its name."""
    wordline_pages: int
    """Pages of a wordline."""
    filled: float
    """Pages programmed to fill up wordlines that nobody completed ÷ pages programmed."""
    reads_interrupt_gc: bool
    """Reads are served between two steps of a collection that the host waits for."""
    buffer: str
    """The write buffer, by its name; `none`."""
    buffer_size: str | None
    """Its size."""
    power_loss: str | None
    """Its fate when the power goes off: `volatile` or `protected`."""
    flush_us: float | None
    """How long a FLUSH took, on average."""
    programs_per_page: float | None
    """Pages programmed for the host ÷ pages that it wrote. Below 1 where a buffer took writes of a page together."""
    planes: int
    """Planes of a die."""
    overload: Overload | None
    """Requests came faster than they were served; `None`: they did not."""
    too_short: TooShort | None
    """The lack for which a run has no WAF of its own; `None`: there is none."""
    open_loop: bool
    """Requests come at their own times, so that latency rather than rate tells runs apart."""

    @classmethod
    def of(cls, result: Result) -> Figures:
        """The figures of a result."""
        s = result.summary
        host, flash, gc, ftl = s["host"], s["flash"], s["gc"], s["config"]["ftl"]
        latency = host["latency_us"]
        moved = gc["moved_per_victim"]
        pages = s["config"]["device"]["pages_per_block"] * _units_of_page(s["config"])
        return cls(
            iops=host["iops"],
            throughput_mb_s=host["throughput_mb_s"],
            mean_us=latency["mean"],
            p99_us=latency["p99"],
            p999_us=latency["p999"],
            p9999_us=latency["p9999"],
            read_us=Tail.of(host["read_latency_us"]),
            write_us=Tail.of(host["write_latency_us"]),
            waf=s["waf"],
            waf_units=s["waf_units"],
            requests=host["reads"] + host["writes"],
            programs_per_write=flash["page_programs"] / host["writes"] if host["writes"] else None,
            gc_per_gb=gc["invocations"] * 1e9 / host["bytes_written"] if host["bytes_written"] else None,
            victim_valid=None if moved is None else moved / pages,
            gc_share=_gc_share(result),
            program_us=_program_us(result),
            multiplane_programs=flash["multiplane"]["program_fraction"],
            multiplane_reads=flash["multiplane"]["read_fraction"],
            die_idle=s["utilisation"]["die"]["idle"],
            die_imbalance=_die_imbalance(result),
            channel_idle=s["utilisation"]["channel"]["idle"],
            erases=flash["block_erases"],
            wear_stddev=s["wear"]["erases"]["stddev"],
            wear_max=s["wear"]["erases"]["max"],
            lifetime_bytes=s.get("end_of_life", {}).get("lifetime_bytes"),
            array=tuple(
                str(part) for part in (s["config"]["device"]["cell"], s["config"]["device"]["timing"])
            ),
            gc_schedule=_chosen(ftl.get("gc_schedule", "")),
            gc_forward=gc["forward"] / gc["invocations"] if gc["invocations"] else None,
            foreground_per_gb=gc["foreground"] * 1e9 / host["bytes_written"]
            if host["bytes_written"]
            else None,
            preempted=gc["preempted"],
            scheduler=_chosen(ftl.get("scheduler", "")),
            max_wait=_bound(ftl.get("scheduler", "")),
            suspended=_suspended(s["config"]["device"]),
            suspends={kind: flash["suspends"][kind] or 0 for kind in ("programs", "erases")},
            suspend_share=_suspend_share(s),
            programming=_chosen(s["config"]["device"].get("programming", "page")),
            wordline_pages=BITS[s["config"]["device"]["cell"]],
            filled=_filled(s),
            reads_interrupt_gc=_parameter(ftl.get("scheduler", ""), "gc") != "non-preemptible",
            buffer=_chosen(ftl.get("write_buffer", "none")),
            buffer_size=_parameter(ftl.get("write_buffer", "none"), "size"),
            power_loss=_parameter(ftl.get("write_buffer", "none"), "power_loss"),
            flush_us=host["flush_latency_us"]["mean"],
            programs_per_page=_programs_per_page(s),
            planes=s["config"]["device"]["planes_per_die"],
            overload=overload(result),
            too_short=too_short(result),
            open_loop=s["config"]["host"]["replay"] == "open",
        )


def _chosen(choice: str | dict[str, Any]) -> str:
    """The name of a choice of the resolved config."""
    return choice if isinstance(choice, str) else next(iter(choice))


def _parameter(choice: str | dict[str, Any], name: str) -> str | None:
    """A parameter of a choice of the resolved config."""
    if isinstance(choice, str):
        return None
    parameters = next(iter(choice.values()))
    return str(parameters[name]) if isinstance(parameters, dict) and name in parameters else None


def _bound(scheduler: str | dict[str, Any]) -> str | None:
    bound = _parameter(scheduler, "max_wait")
    return None if bound in (None, "0ns") else bound


BITS = {"slc": 1, "mlc": 2, "tlc": 3, "qlc": 4}
"""Pages of a wordline, by cell."""


def _suspended(device: dict[str, Any]) -> tuple[str, ...]:
    kinds = {"programs": "program_suspend", "erases": "erase_suspend"}
    return tuple(kind for kind, key in kinds.items() if _chosen(device.get(key, "off")) != "off")


def _suspend_share(summary: dict[str, Any]) -> float | None:
    overhead, simulated = summary["flash"]["suspends"]["overhead_s"], summary["host"]["simulated_s"]
    return overhead / _dies(summary) / simulated if overhead is not None and simulated else None


def _dies(summary: dict[str, Any]) -> int:
    device = summary["config"]["device"]
    dies: int = device["channels"] * device["chips_per_channel"] * device["dies_per_chip"]
    return dies


def _programs_per_page(summary: dict[str, Any]) -> float | None:
    written = summary["host"]["bytes_written"]
    page = in_bytes(summary["config"]["device"]["page_size"])
    programs: int = summary["flash"]["by_cause"]["host"]["programs"]
    return programs * page / written if written else None


def _filled(summary: dict[str, Any]) -> float:
    flash = summary["flash"]
    if not flash["page_programs"]:
        return 0.0
    share: float = flash["by_cause"]["pad"]["programs"] / flash["page_programs"]
    return share


def _gc_share(result: Result) -> float | None:
    flash, die = result.summary["flash"], result.summary["utilisation"]["die"]
    if die["idle"] is None:
        return None
    totals = {"read": "page_reads", "program": "page_programs", "erase": "block_erases"}
    share: float = sum(
        die[kind] * flash["by_cause"]["gc"][f"{kind}s"] / flash[total]
        for kind, total in totals.items()
        if flash[total]
    )
    return share


def _program_us(result: Result) -> float | None:
    summary = result.summary
    pages, share = summary["flash"]["page_programs"], summary["utilisation"]["die"]["program"]
    if share is None or not pages:
        return None
    time_us: float = share * _dies(summary) * summary["host"]["simulated_s"] * 1e6 / pages
    return time_us


def _die_imbalance(result: Result) -> float | None:
    if "utilisation" not in result.tables:
        return None
    resources, shares = (result.column("utilisation", key) for key in ("resource", "busy"))
    busy = [share for resource, share in zip(resources, shares, strict=True) if resource == "die"]
    # Without time no share is defined.
    mean = math.fsum(busy) / len(busy) if busy else math.nan
    return max(busy) / mean - 1 if mean > 0 else None
