"""The arithmetic of a drive's life, which a buyer can do by hand.

TBW = rated P/E cycles × raw bytes × share of blocks that wear ÷ WAF; years = TBW ÷ bytes a day ÷ 365; drive writes a
day = TBW ÷ user capacity ÷ (365 × years of warranty) (JESD218 has the terms).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

DAYS = 365
"""Days of a year."""


def written(rated_pe: float, raw: int, waf: float, share: float = 1.0) -> float:
    """Bytes that the host can write until blocks have had their rated cycles (TBW).

    Args:
        rated_pe: P/E cycles of the datasheet.
        raw: bytes of all blocks.
        waf: write amplification in bytes.
        share: part of the blocks that the wear falls on, 0..1; 1 with wear leveling.
    """
    return rated_pe * raw * share / waf


def drive_writes(tbw: float, user: int, years: float) -> float:
    """User capacities a day that wear the drive out in so many years (DWPD)."""
    return tbw / user / (DAYS * years)


def years(tbw: float, per_day: float) -> float:
    """Years at so many bytes of the host a day."""
    return tbw / per_day / DAYS


def share_that_wears(erases: Sequence[int]) -> float:
    """Part of the blocks that the wear falls on, 0..1, from the erases of each block.

    It is 1 ÷ (1 + c²), with c the coefficient of variation: of blocks of which a part has all erases alike it is that
    part. What chance adds to the variance, at most the mean of a Poisson number, is taken off first.
    """
    count, total = len(erases), sum(erases)
    if not total:
        return 1.0
    mean = total / count
    variance = math.fsum((each - mean) ** 2 for each in erases) / count
    return 1 / (1 + max(0.0, variance - mean) / mean**2)


STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
           2.120, 2.110, 2.101, 2.093, 2.086)  # fmt: skip
"""Student's t for 95 % on both sides, by degrees of freedom from 1 on."""


def half_width(values: Sequence[float], weights: Sequence[float]) -> float:
    """Half of the 95 % interval of a weighted mean of batches (batch means; Law, Simulation Modeling and Analysis).

    One batch says nothing of its error: the result is infinite.
    """
    count = len(values)
    if count < 2:
        return math.inf
    total = math.fsum(weights)
    mean = math.fsum(value * weight for value, weight in zip(values, weights, strict=True)) / total
    squares = math.fsum(((value - mean) * weight) ** 2 for value, weight in zip(values, weights, strict=True))
    student = STUDENT[min(count - 1, len(STUDENT)) - 1] if count - 1 <= len(STUDENT) else 1.96
    return student * math.sqrt(count / (count - 1) * squares) / total
