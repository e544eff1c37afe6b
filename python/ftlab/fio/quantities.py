"""Numbers of job files: sizes, times, percentages and arithmetic, as fio reads them."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable
from dataclasses import dataclass

_NUMBER = r"(0[xX][0-9a-fA-F]+|[0-9]+)"

_POWERS = {"": 0, "b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}

_TIMES = {
    "d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "": 1_000_000, "ms": 1000, "msec": 1000,
    "us": 1, "usec": 1,
}  # fmt: skip
"""Microseconds of each unit; without one a time is in seconds."""

MOST = 1 << 62
"""No size is larger."""


@dataclass(frozen=True, slots=True)
class Part:
    """A size as a share of the drive."""

    percent: float
    """The share, in per cent."""

    def of(self, size: int) -> int:
        """So many bytes of `size`."""
        return int(size * self.percent / 100)


def size(text: str, kb_base: int = 1024) -> int | None:
    """Bytes: `4k`, `1MiB`, `0x1000`, `(4k*8)`; `None` where it is no size.

    In fio `k`, `kb` and `ki` are 1024 and `KiB` is 1000, the other way round than in the standards, for its older job
    files; `kb_base=1000` turns it round.
    """
    text = text.strip()
    if text.startswith("("):
        return _whole(calculated(text, lambda part: _size(part, kb_base)))
    return _size(text, kb_base)


def _size(text: str, kb_base: int) -> int | None:
    found = re.fullmatch(_NUMBER + r"([a-zA-Z]*)", text)
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
    whole = number * int(base ** _POWERS[unit])
    return whole if whole <= MOST else None


def share(text: str) -> Part | None:
    """A percentage: `50%`."""
    found = re.fullmatch(r"([0-9]{1,6})%", text.strip())
    return Part(float(found[1])) if found else None


def microseconds(text: str) -> int | None:
    """A time, in seconds where it has no unit; `None` where it is none."""
    text = text.strip()
    if text.startswith("("):
        return _whole(calculated(text, _microseconds))
    return _microseconds(text)


def _microseconds(text: str) -> int | None:
    found = re.fullmatch(r"([0-9]{1,18})([a-zA-Z]*)", text)
    if not found or found[2].lower() not in _TIMES:
        return None
    return int(found[1]) * _TIMES[found[2].lower()]


def _whole(number: float | None) -> int | None:
    return None if number is None or not 0 <= number <= MOST else int(number)


_OPERATORS: tuple[dict[str, Callable[[float, float], float]], ...] = (
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": operator.truediv, "%": operator.mod},
)


def calculated(text: str, value: Callable[[str], int | None]) -> float | None:
    """The value of an expression of numbers with units, `+ - * / %` and parentheses; `None` where it is none.

    Args:
        text: the expression.
        value: what a number with its unit is.
    """
    words = re.findall(r"\d+\.\d+|\w+|\S", text)
    if len(words) > 200:
        return None
    at = 0

    def chain(level: int) -> float:
        nonlocal at
        if level == len(_OPERATORS):
            return single()
        found = chain(level + 1)
        while at < len(words) and words[at] in _OPERATORS[level]:
            sign = words[at]
            at += 1
            found = _OPERATORS[level][sign](found, chain(level + 1))
        return found

    def single() -> float:
        nonlocal at
        word = words[at]
        at += 1
        if word == "(":
            found = chain(0)
            if words[at] != ")":
                raise ValueError(word)
            at += 1
            return found
        number = value(word)
        return float(word) if number is None else number

    try:
        found = chain(0)
    except (ValueError, IndexError, ArithmeticError, RecursionError):
        return None
    return found if at == len(words) and abs(found) <= MOST else None


def keywords() -> dict[str, int]:
    """The values of fio's `$pagesize`, `$mb_memory` and `$ncpus`: those of this machine."""
    page = os.sysconf("SC_PAGE_SIZE")
    return {
        "$pagesize": page,
        "$mb_memory": page * os.sysconf("SC_PHYS_PAGES") >> 20,
        "$ncpus": os.cpu_count() or 1,
    }


def replaced(text: str) -> str:
    """A value with fio's keywords in it, and what it comes to where they stand in a calculation."""
    found = text
    for word, number in keywords().items():
        found = found.replace(word, str(number))
    if found == text or not re.search("[-+*/]", found):
        return found
    number_ = calculated(found, lambda part: int(part) if part.isdecimal() else None)
    return found if number_ is None else str(int(number_))
