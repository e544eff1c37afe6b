"""The Markdown that ftlab itself writes, as HTML: headings, tables, lists and fences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ftlab.reports.charts import table
from ftlab.reports.markup import Html, joined, tag


def rendered(page: str, level: int, without: str = "") -> Html:
    """A page as HTML, its second headings at `level`; the title and the section `without` are left out."""
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    return joined(
        [
            [tag(f"h{level}", _plain(name)), list(_blocks(rest, _plain(name)))]
            for name, _, rest in (section.partition("\n") for section in sections)
            if name != without
        ]
    )


def _blocks(content: str, name: str) -> Iterator[Html]:
    for block in re.findall(r"```.*?```|(?:(?!```).+\n?)+", content, flags=re.DOTALL | re.MULTILINE):
        for piece in [block] if block.startswith("```") else re.split(r"\n\s*\n", block):
            lines = [line for line in piece.splitlines() if line.strip()]
            if piece.startswith("```"):
                yield tag("pre", tag("code", piece.strip("`\n")), tabindex="0")
            elif lines and all(line.startswith("|") for line in lines) and len(lines) > 1:
                head, _, *rows = map(_cells, lines)
                yield table(head, rows, name, "figures")
            elif lines and lines[0].startswith("- "):
                items = re.split(r"^- ", "\n".join(lines), flags=re.MULTILINE)[1:]
                yield tag("ul", [tag("li", _plain(item)) for item in items])
            elif lines and not lines[0].startswith("!["):
                yield tag("p", _plain(" ".join(lines)).lstrip("# "))


def _cells(line: str) -> list[str]:
    return [_plain(cell.strip()) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _plain(words: str) -> str:
    """Without marks of emphasis, and what is escaped as it is."""
    return re.sub(r"\\(.)", r"\1", re.sub(r"(?<!\\)\*\*(.+?)(?<!\\)\*\*", r"\1", words)).strip()
