"""The pages of the evidence, made from the reports when the docs are built.

``python -m evidence.pages`` writes ``docs/evidence/*.md`` and a picture from ``docs/evidence/*.json``: a page for each
report, ``index.md`` with a list of them, and ``all-paper.md`` with every claim at full size. Git ignores them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evidence import closed_forms, papers, report
from evidence.report import ROOT, Report
from ftlab_reproduce import everything

ALL = "all-paper"
"""The page of every claim."""

DRAWN = "closed-forms.png"


def reports(docs: Path) -> dict[str, Report]:
    """The reports by name."""
    return {file.stem: report.read(file) for file in sorted((docs / "evidence").glob("*.json"))}


def made(docs: Path) -> Iterator[tuple[str, str]]:
    """The pages by name."""
    known = reports(docs)
    for name, one in known.items():
        yield name, report.markdown(in_words(one))
    yield ALL, everything.report(*papers.full_size(docs))
    yield "index", index(known)


def in_words(one: Report) -> Report:
    """A report whose points are tables and text."""
    for part in one.parts:
        if not isinstance(part, str) and "name" in part:
            page = closed_forms.closed_forms_markdown(closed_forms.of_points(part), part["seed"])
            return replace(one, parts=report.of_markdown(page)[1])
    return one


def index(known: Mapping[str, Report]) -> str:
    """The list of the reports."""
    told = "Reports of commands: those of the engine, and the papers as `ftlab reproduce` found them."
    lines = ["# Evidence", "", told]
    for papers_too in (False, True):
        lines += ["", "| report | command | date |", "|---|---|---|"]
        lines += [
            f"| [{one.title}]({name}.md) | `{one.command}` | {one.date} |"
            for name, one in known.items()
            if ("ftlab reproduce " in one.command) is papers_too
        ]
    return "\n".join([*lines, "", f"[Every claim at full size]({ALL}.md) is in one list.", ""])


def write(docs: Path) -> None:
    """Writes the pages and the picture that are not as they are to be, and takes away pages without a report."""
    here = docs / "evidence"
    pages = {here / f"{name}.md": text for name, text in made(docs)}
    for page in here.glob("*.md"):
        if page not in pages:
            page.unlink()
    for page, text in pages.items():
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
    data, picture = here / "closed-forms.json", here / DRAWN
    if not picture.exists() or picture.stat().st_mtime < data.stat().st_mtime:
        closed_forms.plot_closed_forms(picture, closed_forms.of_points(report.read(data).parts[0]))


def main(arguments: Sequence[str]) -> None:
    """Writes the pages."""
    parser = argparse.ArgumentParser(prog="python -m evidence.pages", description=__doc__.split("\n")[0])
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="the directory of the docs")
    write(parser.parse_args(arguments).docs)


if __name__ == "__main__":
    main(sys.argv[1:])
