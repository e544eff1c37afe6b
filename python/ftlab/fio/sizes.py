"""Values of fio's options that have a part for each kind of request: sizes, shares, paces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ftlab.fio.quantities import size

READ, WRITE, TRIM = 0, 1, 2
KINDS = ("read", "write", "trim")


def by_kind(text: str, default: str) -> tuple[str, str, str] | None:
    """The parts for reads, writes and trims of `A`, `A,B` or `A,B,C`; `None` where there are more.

    As in fio the last of them is that of the kinds behind it, unless a comma ends it.
    """
    parts = [part.strip() or default for part in text.split(",")]
    if len(parts) > 3:
        return None
    return (parts[0], parts[min(1, len(parts) - 1)], parts[-1])


def short(number: int) -> str:
    """A whole number with a unit of 1024, where it has one: `64k`."""
    for unit, power in (("t", 40), ("g", 30), ("m", 20), ("k", 10)):
        if number and number % (1 << power) == 0:
            return f"{number >> power}{unit}"
    return str(number)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the requests of one kind."""

    parts: tuple[tuple[int, int], ...]
    """Bytes, and per cent of the requests; of a range its ends."""
    is_range: bool = False

    @property
    def least(self) -> int:
        """Bytes of the smallest."""
        return min(part for part, _ in self.parts)

    @property
    def most(self) -> int:
        """Bytes of the largest."""
        return max(part for part, _ in self.parts)

    @property
    def text(self) -> str:
        """As `job` has it."""
        if self.least == self.most:
            return short(self.least)
        if self.is_range:
            return f"{short(self.least)}-{short(self.most)}"
        return ":".join(f"{short(part)}/{percent}" for part, percent in self.parts)


def one(number: int) -> Sizes:
    """Requests of one size."""
    return Sizes(((number, 100),))


def fixed(text: str, base: int) -> Sizes | None:
    """The size of `bs=4k`."""
    found = size(text, base)
    return None if not found else one(found)


def ranged(text: str, base: int) -> Sizes | None:
    """The sizes of `bsrange=4k-64k`."""
    for sign in "-:":
        least, found, most = text.partition(sign)
        if found:
            ends = size(least, base), size(most, base)
            if not ends[0] or not ends[1] or ends[0] > ends[1]:
                return None
            return Sizes(((ends[0], 0), (ends[1], 0)), is_range=True)
    return fixed(text, base)


def split(text: str, base: int) -> Sizes | None:
    """The sizes of `bssplit=4k/10:64k/50:32k/40`.

    Shares that are missing are what is left, in equal parts. As in fio smaller shares come first, what is above 100 per
    cent is never reached, and the last one takes what is left; of `20k-28k` the first number counts.
    """
    shares: list[tuple[int, int | None]] = []
    for part in text.split(":"):
        if not part.strip():
            continue
        bytes_, _, percent = (each.strip() for each in part.partition("/"))
        number, unit = bytes_.partition("-")[0], bytes_[len(bytes_.rstrip("kKmMgGbBiI")) :]
        found = size(number if not number.isdecimal() or "-" not in bytes_ else number + unit, base)
        digits = percent.partition(".")[0]
        if not found or not (percent == "" or digits.isdecimal()):
            return None
        shares.append((found, min(int(digits[:6]), 100) if percent else None))
    if not shares:
        return None
    given = sum(share or 0 for _, share in shares)
    missing = [share for _, share in shares].count(None)
    if given > 100 and missing > 1:
        return None
    each = max(0, 100 - given) // missing if missing else 0
    ordered = sorted(((part, each if share is None else share) for part, share in shares), key=lambda s: s[1])
    return Sizes(_whole(ordered))


def _whole(shares: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Shares of 100 per cent in all."""
    left, found = 100, []
    for part, share in shares:
        taken = min(share, left)
        left -= taken
        if taken:
            found.append((part, taken))
    part, share = found[-1] if found else (shares[-1][0], 0)
    return (*found[:-1], (part, share + left))


def three(parts: list[str]) -> str:
    """Parts of three kinds, or one where they are all the same."""
    return parts[0] if len(set(parts)) == 1 else ",".join(parts)
