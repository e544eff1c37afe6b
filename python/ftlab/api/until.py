"""Runs that end when the device does, and runs that begin in the steady state of their workload."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ftlab._core import InputError
from ftlab.results.smart import RATED_HAZARD

if TYPE_CHECKING:
    from ftlab.api.simulation import Job, Progress

END_OF_LIFE = "end-of-life"
"""The end of a run at the end of its device's life."""

STEADY = "steady"
"""A run that begins once the WAF of its workload holds still."""

FOR_EVER = {"workload.requests": 2**64 - 1, "workload.volume": "1000000x"}
"""Ends that no device lives to see."""

FOR_EVER_REPLAYED = {**FOR_EVER, "workload.rounds": 2**53 - 1}
"""Ends of a replayed trace that no device lives to see."""


def applied(job: Job, until: str | None) -> Job:
    """The run, as it is with such an end.

    Raises:
        ConfigError: its configuration cannot be used.
        InputError: there is no such end, or its device or workload has none.
    """
    return job if until is None else replace(job, sets=[*job.sets, *settings(until, job.resolve())])


def settings(until: str, resolved: Mapping[str, Any]) -> list[str]:
    """Settings with which a run of that configuration has such an end.

    Raises:
        InputError: there is no such end, or the device or its workload has none.
    """
    if until not in (END_OF_LIFE, STEADY):
        raise InputError(f"error: no run ends with `{until}`\nhint: expected `{STEADY}` or `{END_OF_LIFE}`")
    if "tenant" in resolved:
        raise InputError(f"error: `{until}` with tenants or a job file, which say themselves when they end")
    if until == STEADY:
        return ['run.precondition="workload"']
    if _name(resolved["device"]["bad_blocks"]) == "none":
        raise InputError(
            "error: no block of this device fails, so it has no end of life\nhint: set `device.bad_blocks` to "
            '"weibull", and `device.bad_blocks.weibull.life` to the P/E cycles that blocks live'
        )
    ends = FOR_EVER_REPLAYED if "trace" in resolved["workload"] else FOR_EVER
    return [f"{key}={value}" for key, value in ends.items()]


def heard(
    tell: Callable[[Progress], object], until: str | None, resolved: Mapping[str, Any]
) -> Callable[[Progress], object]:
    """A progress function of a run with such an end."""
    return by_erases(tell, resolved) if until == END_OF_LIFE else tell


def by_erases(
    tell: Callable[[Progress], object], resolved: Mapping[str, Any]
) -> Callable[[Progress], object]:
    """A progress function that is told how much of the device's life is over: of the erases that its blocks live, on
    average, how many there were. The end of the workload, which never comes, says nothing.
    """
    device = resolved["device"]
    blocks = math.prod(device[name] for name in PARTS)
    life = life_of(next(iter(device["bad_blocks"].values())))

    def told(now: Progress) -> object:
        lived = now.erases / (blocks * life) if now.phase == "run" else now.fraction
        return tell(now._replace(fraction=None if lived is None else min(lived, 0.99)))

    return told


def life_of(parameters: Mapping[str, Any]) -> float:
    """P/E cycles after which 63 % of the blocks have failed (`device.bad_blocks.weibull`)."""
    if rated := parameters.get("rated_cycles"):
        return float(rated * RATED_HAZARD ** (-1 / parameters["shape"]))
    return float(parameters["life"])


PARTS = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane")
"""Whose numbers together are that of the blocks."""


def _name(choice: str | Mapping[str, Any]) -> str:
    """The name of a choice, with parameters or without."""
    return choice if isinstance(choice, str) else next(iter(choice))
