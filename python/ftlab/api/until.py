"""Runs that end when the device does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ftlab._core import InputError

END_OF_LIFE = "end-of-life"
"""The end of a run at the end of its device's life."""

FOR_EVER = {"workload.requests": 2**64 - 1, "workload.volume": "1000000x"}
"""Ends that no device lives to see."""

FOR_EVER_REPLAYED = {**FOR_EVER, "workload.rounds": 2**53 - 1}
"""The same where a trace is replayed."""


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


def _name(choice: str | Mapping[str, Any]) -> str:
    """The name of a choice, with parameters or without."""
    return choice if isinstance(choice, str) else next(iter(choice))
