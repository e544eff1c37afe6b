"""The hints of errors: a text that would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def one_of(names: Iterable[str]) -> str:
    """`expected one of …`."""
    return "expected one of " + ", ".join(f"`{name}`" for name in names)


def nearest(word: str, names: Iterable[str], cutoff: float = 0.5) -> str:
    """`did you mean …?`, if a name is at least as like it as `cutoff`, 0..1."""
    found = difflib.get_close_matches(word, list(names), n=1, cutoff=cutoff)
    return f"did you mean `{found[0]}`?" if found else ""
