"""The counts of the papers' pages, from the claims that the studies judged.

``python -m evidence.papers`` writes every block between ``<!-- counts: ... -->`` and ``<!-- end -->`` of
``docs/papers.md`` and ``docs/papers/*.md`` anew, and ``docs/evidence/all-paper.md`` as well. A block names `all`, or
the claims of one paper at one scale or several: ``tbm-paper`` is ``docs/evidence/tbm-paper-claims.json``. A file that
`ftlab reproduce` wrote as ``claims.json`` goes there under that name.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ftlab.results.result import read_object
from ftlab_reproduce import claims, everything
from ftlab_reproduce.claims import Claim
from ftlab_reproduce.command import PAPERS

ROOT = Path(__file__).parents[2]
"""Of the repository."""

BLOCK = re.compile(r"(?P<head><!-- counts: (?P<of>[^>]+) -->\n).*?(?P<end><!-- end -->)", re.S)

SCALES = {"paper": "full size", "quick": "quick"}
"""A scale in the words of the pages."""

HEAD = ("claims", "scale", "all", "reproduced", "direction", "not reproduced", "not run")


def titles() -> dict[str, str]:
    """The papers that claim something, by name."""
    return {name: paper.title for name, paper in PAPERS.items() if paper.statements}


def full_size(docs: Path) -> tuple[str, dict[str, everything.Found]]:
    """The scale's name, and what was found of all papers at full size."""
    return everything.taken_from(sorted((docs / "evidence").glob("*-paper-claims.json")), titles())


def judged(file: Path) -> tuple[str, list[Claim]]:
    """The scale of a list of claims, and the claims.

    Raises:
        InputError: there is no such list.
    """
    known = read_object(file, claims.SCHEMA, "list of claims", "ftlab reproduce --out")
    return known["scale"], [Claim.of_json(row) for row in known["claims"]]


def by_basis(docs: Path, names: Sequence[str]) -> Iterator[str]:
    """The verdicts of one paper by what its claims rest on, and by scale, as the lines of a Markdown table."""
    yield f"| {' | '.join(HEAD)} |"
    yield "|---|---|" + "---:|" * (len(HEAD) - 2)
    known = [judged(docs / "evidence" / f"{name}-claims.json") for name in names]
    for basis, words in claims.BASES.items():
        for scale, every in known:
            if found := claims.counts(every).get(basis):
                cells = (
                    words,
                    SCALES[scale],
                    found.total(),
                    *(found[verdict] for verdict in claims.VERDICTS),
                )
                yield f"| {' | '.join(str(cell) for cell in cells)} |"


def counted(text: str, docs: Path) -> str:
    """A page with its blocks of counts written anew.

    Raises:
        InputError: a block names claims that are not there.
    """

    def block(match: re.Match[str]) -> str:
        names = [name.strip() for name in match["of"].split(",")]
        lines = everything.one_count(full_size(docs)[1]) if names == ["all"] else by_basis(docs, names)
        return "\n".join([match["head"], *lines, "", match["end"]])

    return BLOCK.sub(block, text)


def pages(docs: Path) -> Iterator[tuple[Path, str]]:
    """The pages that have counts, each with the text that it is to have."""
    for page in (docs / "papers.md", *sorted((docs / "papers").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        if BLOCK.search(text):
            yield page, counted(text, docs)
    yield docs / "evidence" / "all-paper.md", everything.report(*full_size(docs))


def main(arguments: Sequence[str]) -> None:
    """Writes the pages whose counts have changed, and names them."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.papers", description="The counts of the papers' pages"
    )
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="the directory of the pages")
    docs = parser.parse_args(arguments).docs
    for page, text in pages(docs):
        if page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
            print(f"written: {page}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
