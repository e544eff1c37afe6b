"""Quantities of a resolved configuration: numbers with units."""

from __future__ import annotations

import re
from decimal import Decimal


def quantity(text: str) -> str:
    """A quantity of the resolved config, such as `8KiB`, with a space before its unit."""
    return re.sub(r"(?<=\d)(?=[^\d.])", " ", text, count=1)


def in_bytes(text: str) -> int:
    """A size of the resolved config in bytes."""
    number, _, unit = quantity(text).partition(" ")
    return int(float(number) * 1024 ** ("B", "KiB", "MiB", "GiB", "TiB", "PiB").index(unit or "B"))


def in_us(text: str) -> float:
    """A time of the resolved config in microseconds."""
    number, _, unit = quantity(text).partition(" ")
    return float(number) * {"": 1.0, "ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}[unit]


DECIMAL = re.compile(r"(\d+(?:\.\d+)?) *([kMGTP])B")
"""A size in units of a thousand."""


def said_bytes(said: str) -> int:
    """Bytes of a size as a user writes it, in units of a thousand or of 1,024.

    Raises:
        ValueError: it is none.
    """
    if found := DECIMAL.fullmatch(said.strip()):
        return int(Decimal(found[1]) * 1000 ** (1 + "kMGTP".index(found[2])))
    return in_bytes(said.strip())
