"""Runs that end when the device does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ftlab._core import InputError

if TYPE_CHECKING:
    from ftlab.api.simulation import Progress

END_OF_LIFE = "end-of-life"
"""The end of a run at the end of its device's life."""

FOR_EVER = {"workload.requests": 2**64 - 1, "workload.volume": "1000000x"}
"""Ends that no device lives to see."""

FOR_EVER_REPLAYED = {**FOR_EVER, "workload.rounds": 2**53 - 1}
"""Ends of a replayed trace that no device lives to see."""


def settings(until: str, resolved: Mapping[str, Any]) -> list[str]:
    """Settings with which a run of that configuration goes on until its device comes to its end.

    Raises:
        InputError: there is no such end, or no block of the device fails.
    """
    if until != END_OF_LIFE:
        raise InputError(f"error: no run ends with `{until}`\nhint: expected `{END_OF_LIFE}`")
    if _name(resolved["device"]["bad_blocks"]) == "none":
        raise InputError(
            "error: no block of this device fails, so it has no end of life\nhint: set `device.bad_blocks` to "
            '"weibull", and `device.bad_blocks.weibull.life` to the P/E cycles that blocks live'
        )
    ends = FOR_EVER_REPLAYED if "trace" in resolved["workload"] else FOR_EVER
    return [f"{key}={value}" for key, value in ends.items()]


def by_erases(
    tell: Callable[[Progress], object], resolved: Mapping[str, Any]
) -> Callable[[Progress], object]:
    """A progress function that is told how much of the device's life is over: of the erases that its blocks live, on
    average, how many there were. The end of the workload, which never comes, says nothing.
    """
    device = resolved["device"]
    blocks = math.prod(device[name] for name in PARTS)
    model = device["bad_blocks"]
    parameters = next(iter(model.values())) if isinstance(model, Mapping) else {}
    life = parameters.get("life") or device["wear"]["pe_cycles"]

    def told(now: Progress) -> object:
        lived = now.erases / (blocks * life) if now.phase == "run" else now.fraction
        return tell(now._replace(fraction=None if lived is None else min(lived, 0.99)))

    return told


PARTS = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane")
"""Whose numbers together are that of the blocks."""


def _name(choice: str | Mapping[str, Any]) -> str:
    """The name of a choice, with parameters or without."""
    return choice if isinstance(choice, str) else next(iter(choice))
