"""The law by which a job of random requests picks its addresses (`random_distribution`)."""

from __future__ import annotations

from typing import Any

from ftlab.fio.jobfile import JobFile, Line, Section, Word
from ftlab.fio.quantities import size
from ftlab.fio.sizes import by_kind, short, three

MOST_ZONES = 4
"""Zones that the generator `zoned` has."""

LIMITS = {"zipf": (1.1, 0.0, 4.0), "pareto": (0.2, 0.001, 0.999)}
"""The parameter of a law: its default, the least and the most."""

NAMES = {"zipf": "z", "pareto": "h"}
"""Its name in the generator."""

Zones = list[tuple[int, int]]
"""Of each zone its per cent of the requests, and per cent or bytes of the range."""


def law(file: JobFile, section: Section, bytes_: int, base: int) -> tuple[dict[str, Any] | str | None, str]:
    """The law of a job over a range of bytes: as a generator, where there is one, and as a word of a job.

    Args:
        base: bytes of a kB (`kb_base`).

    Raises:
        InputError: there is no such law, or it has no such parameter.
    """
    word = section.words.get("random_distribution")
    named = "random" if word is None else (word.value or "")
    kind, colon, number = named.partition(":")
    if kind == "random" and not colon:
        return ("uniform" if section.flag("norandommap") else "shuffled"), ""
    at = word or section.line
    if kind in ("zoned", "zoned_abs") and colon:
        return _zoned(file, at, kind, number, bytes_, base)
    if kind not in LIMITS:
        raise file.refusal(
            at,
            f"`random_distribution` cannot be `{named}`",
            "expected `random`, `zipf:…`, `pareto:…`, `zoned:REQUESTS/SIZE:…` or `zoned_abs:…`",
        )
    default, least, most = LIMITS[kind]
    number, _, centre = number.partition(":")
    try:
        value = float(number) if number else default
    except ValueError:
        value = -1.0
    if not least <= value <= most or (kind == "zipf" and value == 0) or centre:
        shown = f"{number}:{centre}" if centre else number
        raise file.refusal(
            at,
            f"`random_distribution={kind}` cannot have `{shown}`",
            "expected no centre: popular places lie anywhere"
            if centre
            else f"expected a number from {least or 'above 0'} to {most}",
        )
    return {kind: {NAMES[kind]: value}}, f"{kind}:{value:g}"


def _zoned(
    file: JobFile, at: Word | Line, kind: str, text: str, bytes_: int, base: int
) -> tuple[dict[str, Any] | None, str]:
    """Zones one behind the other, of each its per cent of the requests, and of the range or its bytes."""
    is_absolute = kind == "zoned_abs"
    found: list[Zones | None] = []
    for part in by_kind(text, "") or ("?",):
        zones = [tuple(zone.split("/")) for zone in part.split(":")] if part else []
        read = [_zone(zone, is_absolute, base) for zone in zones]
        if None in read:
            raise file.refusal(
                at,
                f"`random_distribution={kind}` cannot have `{part}`",
                "expected per cent of the requests and of the range, or bytes of it, by zone: `60/10:30/20:10/70`",
            )
        found.append(_filled([zone for zone in read if zone is not None]) if read else None)
    for zones_ in filter(None, found):
        for which, of in enumerate(("requests",) if is_absolute else ("requests", "range")):
            if (whole := sum(zone[which] for zone in zones_)) != 100:
                raise file.refusal(
                    at,
                    f"zones have {whole} % of the {of}",
                    "expected 100 % of the requests and of the range",
                )
    word = three([_word(zones_, is_absolute, bytes_) for zones_ in found])
    first = found[0]
    if is_absolute or first is None or any(each != first for each in found) or len(first) > MOST_ZONES:
        return None, f"zoned:{word}"
    shares = [*first, *[(0, 0)] * (MOST_ZONES - len(first))]
    named = {
        f"{key}{number}": zone[which]
        for number, zone in enumerate(shares, start=1)
        for which, key in enumerate(("requests", "size"))
    }
    return {"zoned": named}, f"zoned:{word}"


def _zone(zone: tuple[str, ...], is_absolute: bool, base: int) -> tuple[int, int] | None:
    """Per cent of the requests, and per cent or bytes; -1 where it is what is left."""
    if len(zone) != 2 or not zone[0].strip().isdecimal():
        return None
    text = zone[1].strip()
    place = -1 if not text and not is_absolute else size(text, base)
    return None if place is None else (int(zone[0][:6]), place)


def _word(zones: Zones | None, is_absolute: bool, bytes_: int) -> str:
    if zones is None:
        return "random"
    found, first, sum_ = [], 0, 0
    for percent, place in zones:
        sum_ += place
        end = min(sum_ if is_absolute else bytes_ * sum_ // 100, bytes_)
        found.append(f"{percent}/{short(first)}-{short(end)}")
        first = end
    return ":".join(found)


def _filled(zones: Zones) -> Zones:
    """Zones of which one may have what the others leave of the range, as fio has it."""
    left = 100 - sum(place for _, place in zones if place >= 0)
    missing = sum(place < 0 for _, place in zones)
    return [(percent, place if place >= 0 else max(0, left) // missing) for percent, place in zones]
