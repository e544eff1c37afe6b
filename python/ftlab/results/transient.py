"""Runs that were too short to have a write amplification of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ftlab.base.quantities import in_bytes
from ftlab.results.result import Result

VICTIMS = 100
"""Fewer erased blocks than this are chance: a hundred leave about 2 % of it in a WAF of 10."""

DRIFT = 0.1
"""The WAF of the second half of what was written may differ by this fraction from that of the whole."""


@dataclass(frozen=True, slots=True)
class TooShort:
    """The lack that keeps the WAF of a run from being that of its device and workload."""

    why: str
    """The thing of which there was too little, with its figures."""
    cure: str
    """How much to write at least, and the setting that does."""
    times: float
    """The amount that has to be written ÷ the amount that was."""

    def __str__(self) -> str:
        return f"too short for a WAF: {self.why}; {self.cure}"


def too_short(result: Result) -> TooShort | None:
    """The lack for which a run has no WAF; `None` where there is none, or the host wrote nothing.

    The state of GC's victims is the work of the writes since these blocks were erased. So the WAF is the workload's
    own only when the blocks were written anew under it, whether while it ran or while the device was aged with
    the same writes; when there were victims enough; and when it no longer changes.
    """
    s = result.summary
    device, flash, written = s["config"]["device"], s["flash"], s["host"]["bytes_written"]
    if not written or not s["waf_units"]:
        return None
    raw, user = (_part(s) * size for size in (_raw_bytes(device), in_bytes(device["user_capacity"])))
    programmed = flash["page_programs"] * in_bytes(device["page_size"])
    erases = flash["block_erases"]
    capacities = written / user
    turned = programmed / raw
    needs = [VICTIMS / erases * capacities if erases else 0.0]
    why = ""
    if not erases:
        why = "no block was erased"
        needs.append((2 if _begins_empty(s) else 1) * raw / user)
    elif turned + _turned_before(s, raw, user) < 1:
        why = f"{_share(turned)} of the flash was written anew, and what GC found in the rest was there before the run"
        needs.append(capacities / turned)
    elif erases < VICTIMS:
        why = f"only {erases} blocks were erased"
    elif (halves := _halves(result)) is not None:
        first, second = halves
        why = f"it was {first:.2f} in the first half of what was written and {second:.2f} in the second"
        # As if what came first stayed what it was and the rest were as the second half.
        needs.append(max(2.0, abs(1 - first / second) / (2 * DRIFT)) * capacities)
    if not why:
        return None
    times = max(needs) / capacities
    return TooShort(why, _cure(s, times, begins_empty=not erases), times)


def _part(summary: dict[str, Any]) -> float:
    """How much of the device was simulated: what was written is of that part."""
    return float((summary.get("sample") or {}).get("part", 1))


def _raw_bytes(device: dict[str, Any]) -> int:
    counts = (
        "channels",
        "chips_per_channel",
        "dies_per_chip",
        "planes_per_die",
        "blocks_per_plane",
        "pages_per_block",
    )
    pages: int = math.prod(device[name] for name in counts)
    return pages * in_bytes(device["page_size"])


def _begins_empty(summary: dict[str, Any]) -> bool:
    return (summary.get("precondition") or {}).get("kind", "none") in ("none", "worn")


def _turned_before(summary: dict[str, Any], raw: float, user: float) -> float:
    """How often ageing wrote the flash anew with the writes that the run has too."""
    aged, workload = summary.get("precondition") or {}, summary["config"]["workload"]
    if aged.get("kind") == "workload":
        return math.inf if aged.get("settled") else 0.0
    if "generator" not in workload:
        return 0.0
    if aged.get("kind") == "steady":
        return math.inf if aged.get("settled") else 0.0
    if aged.get("kind") != "random" or workload["generator"] != "uniform":
        return 0.0
    if in_bytes(workload.get("footprint", "0B")) * _part(summary) < user:
        return 0.0
    # Ageing writes whole pages, so that both kinds of WAF are the same. Its fill in order is no such write.
    return float((aged["written_bytes"] - user) * (aged.get("waf_units") or 0.0) / raw)


def _halves(result: Result) -> tuple[float, float] | None:
    """The WAF in pages of the first and the second half of what was written, if it changed."""
    import numpy as np

    series = result.tables.get("series")
    if series is None:
        return None
    rows = series["axis"] == "volume"
    written = series["host_written_gb"][rows]
    if written.size < 2:
        return None
    middle = int(np.searchsorted(written, written[-1] / 2)) + 1
    every, host = (series[name][rows].astype(float) for name in ("page_programs", "host_page_programs"))
    if not (host[:middle].sum() and host[middle:].sum()):
        return None
    first, second = (every[part].sum() / host[part].sum() for part in (slice(0, middle), slice(middle, None)))
    whole = every.sum() / host.sum()
    return (float(first), float(second)) if abs(second / whole - 1) > DRIFT else None


def _cure(summary: dict[str, Any], times: float, *, begins_empty: bool) -> str:
    """The settings with which a run writes so many times as much."""
    workload = summary["config"]["workload"]
    written = summary["host"]["bytes_written"] / _part(summary)
    capacities = written / in_bytes(summary["config"]["device"]["user_capacity"])
    up = _up(times * capacities)
    least = f"{up:.0f}x" if up >= 100 else f"{up:g}x"
    ends = [name for name in ("requests", "rounds") if workload.get(name)]
    settings = [f"workload.{name}={math.ceil(workload[name] * times)}" for name in ends]
    if not ends or in_bytes(workload.get("volume", "1024PiB")) < times * written:
        settings.append(f"workload.volume={least}")
    given = " ".join(f"--set {setting}" for setting in settings)
    if summary["config"].get("tenant"):
        own = "larger `requests` or `volume` of its tenants"
        return f"write at least {least.removesuffix('x')} x the user capacity ({own})"
    text = f"write at least {least.removesuffix('x')} x the user capacity (`{given}`)"
    aged = (summary.get("precondition") or {}).get("kind")
    if not begins_empty and aged not in ("steady", "workload"):
        steady = "steady" if "generator" in workload else "workload"
        text += f", or begin in the steady state (`--set run.precondition={steady}`)"
    return text


def _up(value: float) -> float:
    """Rounded up to two digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(round(value / unit, 6)) * unit


def _share(fraction: float) -> str:
    return f"{100 * fraction:.2g} %"
