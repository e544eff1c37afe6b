"""The theory of a run: the write amplification of a configuration, where a formula holds for it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from ftlab.base.quantities import in_bytes
from ftlab.theory import formulas

PLAIN = {
    "mapping": "page",
    "reclaim_unit": "block",
    "reclaim_across": "none",
    "separation": "none",
    "paired_page": "none",
    "read_disturb": "ignore",
    "wear_leveling": "none",
    "write_buffer": "none",
}
"""The assumptions of the models about an FTL, beside its victim policy and its GC schedule."""


def unlike_theory(config: Mapping[str, Any]) -> str | None:
    """Why no formula holds for the write amplification of a resolved configuration; `None` if one does."""
    device, ftl, workload, run = (config[section] for section in ("device", "ftl", "workload", "run"))
    for key, wanted in PLAIN.items():
        if _named(ftl.get(key, wanted)) != wanted:
            return f"ftl.{key} is {_named(ftl[key])}, not {wanted}"
    if _named(ftl["gc_schedule"]) != "threshold":
        return f"ftl.gc_schedule is {_named(ftl['gc_schedule'])}, not threshold"
    if _named(ftl["victim"]) not in ("greedy", "rga", "fifo", "random"):
        return f"there is none for ftl.victim {_named(ftl['victim'])}"
    if workload.get("generator") != "uniform":
        return "the workload is not uniform"
    if _parts(config) < 1:
        return "a map unit is more than a page"
    if in_bytes(workload["request_size"]) * _parts(config) != in_bytes(device["page_size"]):
        return "requests are not as large as " + ("pages" if _parts(config) == 1 else "map units")
    if in_bytes(workload["footprint"]) != in_bytes(device["user_capacity"]):
        return "the workload does not cover the whole device"
    if _parts(config) > 1 and run["executor"] == "timed":
        return "flash pages that wait for units are filled up as time passes"
    if _named(run["precondition"]) != "steady":
        return "the run did not begin in the steady state"
    if _planes(device) > 1 and _named(ftl["binding"]) != "static":
        return "pages wander between planes (ftl.binding is dynamic)"
    return None


def predicted_waf(config: Mapping[str, Any], over_provisioning: float | None = None) -> float | None:
    """The write amplification that theory gives for a resolved configuration, or for one that differs from it in its
    over-provisioning (spare / user) only. `None` if no formula holds, or the spare space is too small for one.
    """
    if unlike_theory(config) is not None:
        return None
    device, ftl = config["device"], config["ftl"]
    parts = _parts(config)
    raw_pages = device["blocks_per_plane"] * device["pages_per_block"] * parts
    if over_provisioning is None:
        user_pages = (
            in_bytes(device["user_capacity"]) / in_bytes(device["page_size"]) * parts / _planes(device)
        )
    else:
        user_pages = raw_pages / (1 + over_provisioning)
    return _predicted(
        _named(ftl["victim"]), _parameter(ftl["victim"], "d"), user_pages, device["blocks_per_plane"],
        device["pages_per_block"] * parts, _parameter(ftl["gc_schedule"], "free_blocks") or 0, parts,
    )  # fmt: skip


@cache
def _predicted(
    victim: str,
    d: int | None,
    user_pages: float,
    blocks: int,
    pages_per_block: int,
    free_blocks: int,
    parts: int,
) -> float | None:
    try:
        rho = formulas.effective_utilisation(
            user_pages=round(user_pages),
            blocks=blocks,
            pages_per_block=pages_per_block,
            free_blocks=free_blocks,
        )
        return formulas.predict(victim, rho, pages_per_block, d=d, parts=parts)
    except ValueError:
        return None


def _planes(device: Mapping[str, Any]) -> int:
    planes: int = (
        device["channels"] * device["chips_per_channel"] * device["dies_per_chip"] * device["planes_per_die"]
    )
    return planes


def _parts(config: Mapping[str, Any]) -> int:
    """Map units of a flash page; 0 if a unit is more than one."""
    unit = _named(config["ftl"].get("map_unit", "page"))
    return 1 if unit == "page" else in_bytes(config["device"]["page_size"]) // in_bytes(unit)


def _named(choice: Any) -> str:
    """The name of a choice, with parameters or without."""
    return str(next(iter(choice))) if isinstance(choice, Mapping) else str(choice)


def _parameter(choice: Any, name: str) -> int | None:
    if not isinstance(choice, Mapping):
        return None
    inner = next(iter(choice.values()))
    return inner.get(name) if isinstance(inner, Mapping) else None
