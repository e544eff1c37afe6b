"""The end of a drive's life, where blocks fail by their cycles: what the host writes until a plane has none to spare.

Of n reclaim units of a plane each has failed after p cycles with the chance F(p) of the Weibull distribution, or was
bad from the factory. The drive is read-only when more have failed than can be spared in any plane; the median of that
is told. Until then a cycle of the units that are left is one of fewer bytes, and the WAF grows as spare shrinks: W - 1
is taken to go by 1 ÷ spare, as that of greedy collection does under uniform writes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ftlab.api.until import life_of

STEPS = 2000
"""Steps in which a life is added up."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a drive that fail."""

    life: float
    """P/E cycles after which 63 % of the blocks have failed."""
    shape: float
    factory: float
    """Share that is bad from the factory."""
    of_plane: int
    """Reclaim units of a plane, or of what has its free space together."""
    planes: int
    parts: int
    """Blocks of a reclaim unit, which is retired with the first of them."""
    spare_units: int
    """Units of a plane that can be retired."""

    def failed(self, cycles: float) -> float:
        """Share of the units that have failed, or were bad."""
        return 1 - ((1 - self.factory) * math.exp(-((cycles / self.life) ** self.shape))) ** self.parts

    def ended(self, cycles: float) -> float:
        """Chance that the drive is read-only by then."""
        of_plane = beyond(self.of_plane, self.spare_units, self.failed(cycles))
        return -math.expm1(self.planes * math.log1p(-of_plane)) if of_plane < 1 else 1.0

    def cycles(self) -> float:
        """Median of the cycles at the end."""
        low, high = 0.0, self.life
        while self.ended(high) < 0.5:
            high *= 2
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.ended(middle) < 0.5 else (low, middle)
        return low

    def written(self, raw: int, user: int, waf: float, share: float = 1.0) -> float:
        """Bytes that the host can write until the end.

        Args:
            raw: bytes of all blocks.
            user: bytes for the user.
            waf: write amplification while hardly a block has failed.
            share: part of the blocks that the wear falls on, 0..1.
        """
        step = self.cycles() / STEPS
        spare = raw * (1 - self.failed(0)) / user - 1
        total = 0.0
        for at in range(STEPS):
            live = 1 - self.failed((at + 0.5) * step)
            left = max(raw * live / user - 1, 1e-3)
            total += live / (1 + (waf - 1) * spare / left)
        return total * step * raw * share


def beyond(count: int, most: int, chance: float) -> float:
    """Chance that more than `most` of `count` happen, each with the same chance (binomial)."""
    if not 0 < chance < 1:
        return float(chance >= 1)
    logs = math.log(chance), math.log1p(-chance)
    choose = (
        math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in range(most + 1)
    )
    fewer = math.fsum(math.exp(each + k * logs[0] + (count - k) * logs[1]) for k, each in enumerate(choose))
    return min(1.0, max(0.0, 1 - fewer))


def blocks_of(summary: Mapping[str, Any], blocks_of_plane: int) -> Blocks | None:
    """The blocks of a drive that was run; `None` where no block fails.

    Args:
        summary: of the run.
        blocks_of_plane: blocks of a plane that were run, of a sample fewer than the drive has.
    """
    device = summary["config"]["device"]
    model = device["bad_blocks"]
    bad = summary["policy"].get("bad_blocks")
    if not isinstance(model, Mapping) or bad is None or not bad["spare"]:
        return None
    parameters = model["weibull"]
    unit = summary["config"]["ftl"]["reclaim_unit"]
    over = unit["superblock"]["over"] if isinstance(unit, Mapping) and "superblock" in unit else ""
    is_twin = "twin" in unit
    parts = (device["channels"] if "channels" in over else 1) * (
        device["planes_per_die"] if is_twin or "planes" in over else 1
    )
    planes = math.prod(
        device[name] for name in ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")
    )
    spare_units = bad["spare_units_least"] / bad["spare"] * device["blocks_per_plane"] / blocks_of_plane
    return Blocks(
        life_of(parameters), parameters["shape"], parameters["factory"], device["blocks_per_plane"], planes // parts,
        parts, round(spare_units),
    )  # fmt: skip
