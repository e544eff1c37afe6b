"""The parts of the model: `ftlab explain model`, the tables of the documentation, and the list of the README.

`python -m ftlab.cli.model README.md docs/*.md` writes them anew, between `<!-- modelled … -->` and
`<!-- end of modelled -->`.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ftlab.api.keys import scopes

BLOCK = re.compile(r"(<!-- modelled ?(?P<area>\w*) -->\n)(?P<table>.*?)(<!-- end of modelled -->)", re.DOTALL)
"""A table in a page; without an area it is the summary, a list."""

SHORT = 1
"""Sentences that a line of the summary has of the behaviour that is left out."""


def by_area() -> dict[str, list[dict[str, Any]]]:
    """The parts of each area; the first is about the area as a whole."""
    found: dict[str, list[dict[str, Any]]] = {}
    for scope in scopes():
        found.setdefault(scope["area"], []).append(scope)
    return found


def left_out(key: str) -> list[str]:
    """The behaviour that the parts of a key leave out: sentences, in the order of the parts."""
    return [sentence for scope in scopes() if key in scope["keys"] for sentence in scope["not_modelled"]]


def told(width: int) -> str:
    """All parts, for a terminal of that width."""
    return "\n".join(_told(width))


def _told(width: int) -> Iterator[str]:
    for area, parts in by_area().items():
        yield area
        for part in parts:
            yield f"  {part['name']}{': ' if part['keys'] else ''}{', '.join(part['keys'])}"
            for mark, sentences in (("+", [part["modelled"]]), ("-", part["not_modelled"])):
                for sentence in sentences:
                    yield textwrap.fill(
                        sentence,
                        width,
                        initial_indent=f"    {mark} ",
                        subsequent_indent=" " * 6,
                        break_on_hyphens=False,
                    )
        yield ""
    yield "+ is modelled, - is not\n"


def table(area: str) -> str:
    """The table of an area in Markdown; without an area, the summary of all."""
    if not area:
        return "".join(_summary(name, parts) for name, parts in by_area().items())
    rows = [f"| {p['name']} | {p['modelled']} | {' '.join(p['not_modelled'])} |" for p in by_area()[area]]
    return "\n".join(["| | modelled | not modelled |", "|---|---|---|", *rows, ""])


def _summary(area: str, parts: list[dict[str, Any]]) -> str:
    names = ", ".join(part["name"][0].lower() + part["name"][1:] for part in parts[1:])
    limits = " ".join(parts[0]["not_modelled"][:SHORT])
    return f"- [{parts[0]['name']}](docs/{area}.md): {names}. *Limit:* {limits}\n"


def printed(page: str) -> str:
    """A page with its tables as the program prints them."""
    return BLOCK.sub(lambda block: f"{block[1]}{table(block['area'])}{block[4]}", page)


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(printed(path.read_text(encoding="utf-8")), encoding="utf-8")
