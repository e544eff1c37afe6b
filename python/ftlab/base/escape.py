"""Escapes of texts on their way out: one function for each border. Names of files, presets and runs come from users and
may hold anything; JSON has its own escapes.
"""

from __future__ import annotations

import codecs
import re
import sys
from typing import TextIO

LETTERS = {"µ": "u", "μ": "u", "×": "x", "÷": "/", "ω": "omega", "τ": "tau", "≥": ">=", "≤": "<=", "−": "-", "–": "-",
           "…": "...", "→": "->", "²": "2", "⁹": "9"}  # fmt: skip
"""The characters beyond ASCII that this package itself prints, for terminals that have nothing else."""


def terminal(text: str, keep: str = "") -> str:
    """The text without what a terminal acts on, and without what no encoding has, but for the characters in `keep`."""
    return "".join(
        letter if letter.isprintable() or letter in keep or letter == "\u00a0" else _named(letter)
        for letter in text
    )


def markdown(text: str) -> str:
    """The text as Markdown that shows it as it is, also in a cell of a table."""
    # An underscore inside a word marks nothing, and names are full of them.
    return re.sub(r"[\\`*\[\]<>|$~&#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\\g<0>", terminal(text))


def plot(text: str) -> str:
    """The text as a label of a plot: matplotlib reads formulas between dollars and hides labels that begin with `_`."""
    shown = terminal(text).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def speak(stream: TextIO) -> None:
    """Has a stream print what its encoding lacks as near as it can, instead of failing."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors=NEAREST)


def speak_json() -> None:
    """Has standard output speak UTF-8, which JSON is in whatever a terminal speaks."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="strict")


def _named(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def _nearest(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(LETTERS.get(letter) or _named(letter) for letter in letters), error.end


NEAREST = "ftlab-nearest"
codecs.register_error(NEAREST, _nearest)
