"""Numbers of job files: sizes, times, percentages, as fio reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = r"(0[xX][0-9a-fA-F]+|[0-9]+)"

_POWERS = {"": 0, "b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}

_TIMES = {
    "d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "": 1_000_000, "ms": 1000, "msec": 1000,
    "us": 1, "usec": 1,
}  # fmt: skip
"""Microseconds of each unit; without one a time is in seconds."""


@dataclass(frozen=True, slots=True)
class Part:
    """A size as a share of the drive."""

    percent: float
    """The share, in per cent."""

    def of(self, size: int) -> int:
        """So many bytes of `size`."""
        return int(size * self.percent / 100)


def size(text: str, kb_base: int = 1024) -> int | None:
    """Bytes: `4k`, `1MiB`, `0x1000`; `None` where it is no size.

    In fio `k`, `kb` and `ki` are 1024 and `KiB` is 1000, the other way round than in the standards, for its older job
    files; `kb_base=1000` turns it round.
    """
    found = re.fullmatch(_NUMBER + r"([a-zA-Z]*)", text.strip())
    if not found:
        return None
    unit, base = found[2].lower(), kb_base
    if len(unit) == 3 and unit.endswith("ib"):
        unit, base = unit[0], 1000 if kb_base == 1024 else 1024
    elif len(unit) == 2 and unit[1] in "bi":
        unit = unit[0]
    if unit not in _POWERS:
        return None
    number = int(found[1], 16 if found[1][:2].lower() == "0x" else 10)
    return number * int(base ** _POWERS[unit])


def share(text: str) -> Part | None:
    """A percentage: `50%`."""
    found = re.fullmatch(r"([0-9]+)%", text.strip())
    return Part(float(found[1])) if found else None


def microseconds(text: str) -> int | None:
    """A time, in seconds where it has no unit; `None` where it is none."""
    found = re.fullmatch(r"([0-9]+)([a-zA-Z]*)", text.strip())
    if not found or found[2].lower() not in _TIMES:
        return None
    return int(found[1]) * _TIMES[found[2].lower()]
