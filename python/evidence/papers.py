"""The counts and the claims of the papers' pages, from what the studies judged.

``python -m evidence.papers`` writes the counts of ``docs/papers.md`` and ``docs/papers/*.md`` anew, each from its head
to ``<!-- end -->``:

- ``<!-- counts: all -->``: the one count of all papers, of full size where that was run with today's settings, and of
  the quick scale else;
- ``<!-- counts: tbm-paper, tbm-quick -->``: verdicts of one paper by what the claims rest on, for each scale;
- ``<!-- counts: said tbm -->``: the sentence that a paper's page begins with;
- ``<!-- counts: causes -->``: why counted claims are not reproduced (:data:`evidence.sentences.CAUSES`).

Tables are made when the docs are built (:func:`shown`), in place of a line:

- ``<!-- claims: tbm-paper, tbm-quick -->``: the claims with their figures. The first scale's verdict is a column,
  another's stands beside its figure where it differs;
- ``<!-- claims but construction: gcmix-paper -->``: the same without those that hold by construction;
- ``<!-- rules: ipr -->``: the claims with their rules, what they count as, and the reading that carries them;
- ``<!-- sentences: ipr -->``: all that the paper says, with the claims that judge it (:mod:`evidence.sentences`).

``tbm-paper`` is ``docs/evidence/tbm-paper.json`` (:mod:`evidence.report`).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evidence import report, sentences
from ftlab.results.result import read_object
from ftlab_reproduce import claims, everything
from ftlab_reproduce.claims import Basis, Claim
from ftlab_reproduce.command import PAPERS

ROOT = Path(__file__).parents[2]
"""Of the repository."""

BLOCK = re.compile(r"(?P<head><!-- counts: (?P<of>[^>]+) -->\n).*?(?P<end><!-- end -->)", re.S)

TABLE = re.compile(
    r"^<!-- (?P<kind>claims|claims but construction|rules|sentences): (?P<of>[^>]+) -->$", re.M
)

SCALES = {"paper": "full size", "quick": "quick"}
"""A scale in the words of the pages."""

BASIS: Mapping[Basis, str] = {"corrected": "corrected"}
"""What a claim rests on, where a table has no room for :data:`ftlab_reproduce.claims.BASES`."""

HEAD = ("claims", "scale", "all", "reproduced", "direction", "not reproduced", "not run")


def titles() -> dict[str, str]:
    """The papers that claim something, by name."""
    return {name: paper.title for name, paper in PAPERS.items() if paper.statements}


def full_size(docs: Path) -> tuple[str, dict[str, everything.Found]]:
    """The scale's name, and what was found of all papers at full size."""
    every = sorted((docs / "evidence").glob("*-paper.json"))
    return everything.taken_from([file for file in every if report.read(file).judged], titles())


def latest(docs: Path) -> tuple[dict[str, everything.Found], dict[str, str]]:
    """The findings of all papers, and by paper the scale of its counted claims in words.

    A claim is of full size where it was run so, else of the quick scale.
    """
    found: dict[str, everything.Found] = {}
    scales: dict[str, str] = {}
    for name, title in titles().items():
        kept = {scale: docs / "evidence" / f"{name}-{scale}.json" for scale in SCALES}
        known = {
            scale: {claim.id: claim for claim in judged(file)[1] if claim.verdict != "not-run"}
            for scale, file in kept.items() if file.exists()
        }  # fmt: skip
        every, of = [], Counter[str]()
        for statement in PAPERS[name].statements:
            scale = next((scale for scale in SCALES if statement.id in known.get(scale, {})), None)
            every.append(statement.judged(_NOTHING, {}) if scale is None else known[scale][statement.id])
            if scale is not None and every[-1].basis in claims.COUNTED:
                of[SCALES[scale]] += 1
        found[name] = everything.Found(title, every, 0.0)
        scales[name] = (
            " and ".join(f"{count} {words}" for words, count in of.items()) if len(of) > 1 else "".join(of)
        )
    return found, scales


class _Nothing:
    """Evidence without a run."""

    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)


_NOTHING = _Nothing()


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
    known = [judged(docs / "evidence" / f"{name}.json") for name in names]
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


def said_first(docs: Path, name: str) -> str:
    """How many of a paper's counted claims are reproduced, in a sentence."""
    found, scales = latest(docs)
    every = [claim for claim in found[name].claims if claim.basis in claims.COUNTED]
    of: Counter[str] = Counter(claim.verdict for claim in every)
    besides = [
        f"{of[verdict]} {words}"
        for verdict, words in (
            ("direction", "in direction only"), ("not-reproduced", "not reproduced"), ("not-run", "not run")
        ) if of[verdict]
    ]  # fmt: skip
    tail = f" ({', '.join(besides)})" if besides else ""
    return f"**{of['reproduced']} of {len(every)} claims** are reproduced{tail}. Scale: {scales[name]}."


def by_cause(docs: Path) -> Iterator[str]:
    """The counted claims that are not reproduced by cause and paper, and those that were not run."""
    found, _ = latest(docs)
    yield f"| cause | {' | '.join(paper.title for paper in found.values())} | all |"
    yield "|---|" + "---:|" * (len(found) + 1)
    missed = {
        name: [
            claim for claim in paper.claims if claim.basis in claims.COUNTED and claim.verdict != "reproduced"
        ]
        for name, paper in found.items()
    }
    for cause, words in sentences.CAUSES_IN_WORDS.items():
        of = [
            sum(c.verdict != "not-run" and sentences.cause_of(name, c.id) == cause for c in every)
            for name, every in missed.items()
        ]
        yield f"| {words} | {' | '.join(map(str, of))} | {sum(of)} |"
    of = [sum(c.verdict == "not-run" for c in every) for every in missed.values()]
    yield f"| not run with today's settings | {' | '.join(map(str, of))} | {sum(of)} |"


def by_claim(docs: Path, names: Sequence[str], *, construction: bool) -> Iterator[str]:
    """The claims of one paper with their figures by scale, as the lines of a Markdown table."""
    known = [judged(docs / "evidence" / f"{name}.json") for name in names]
    scales = [SCALES[scale] for scale, _ in known]
    others = [{claim.id: claim for claim in every} for _, every in known[1:]]
    head = ("claim", "paper", *scales, "verdict" if len(scales) == 1 else f"verdict, {scales[0]}", "workload")
    yield f"| {' | '.join(head)} |"
    yield "|---|---:|" + "---:|" * len(scales) + "---|---|"
    for claim in known[0][1]:
        if claim.basis == "construction" and not construction:
            continue
        figures = [claims.measured(claim)]
        for other in others:
            each = other.get(claim.id)
            differs = each is not None and each.verdict != claim.verdict
            figures.append(
                "" if each is None else claims.measured(each) + (f", {said(each)}" if differs else "")
            )
        basis = "" if claim.basis == "stated" else f" ({BASIS.get(claim.basis, claims.BASES[claim.basis])})"
        paper = "" if claim.paper_value is None else claim.paper_value
        yield (
            f"| `{claim.id}`: {claim.claim} | {paper} | {' | '.join(figures)} | {said(claim)}{basis} "
            f"| {claim.workload} ({claim.workload_kind}) |"
        )


def said(claim: Claim) -> str:
    """A verdict as pages have it; what is not reproduced is bold."""
    return "**not reproduced**" if claim.verdict == "not-reproduced" else claim.verdict.replace("-", " ")


def by_rule(name: str) -> Iterator[str]:
    """The claims of one paper with their rules, as the lines of a Markdown table."""
    yield "| claim | paper | rule | counted as | reading that carries it |"
    yield "|---|---:|---|---|---|"
    for each in PAPERS[name].statements:
        paper = "" if each.paper_value is None else str(each.paper_value)
        paper += f" {each.unit}" if isinstance(each.paper_value, int | float) and each.unit else ""
        basis = claims.BASES[each.basis]
        yield f"| `{each.id}`: {each.claim} | {paper} | {each.rule.text} | {basis} | {each.reading} |"


def counted(text: str, docs: Path) -> str:
    """A page with its counts written anew.

    Raises:
        InputError: they name claims that are not there.
    """

    def block(match: re.Match[str]) -> str:
        names = _names(match)
        if names == ["all"]:
            lines: Iterable[str] = everything.one_count(*latest(docs))
        elif names == ["causes"]:
            lines = by_cause(docs)
        elif names[0].startswith("said "):
            lines = [said_first(docs, names[0].removeprefix("said "))]
        else:
            lines = by_basis(docs, names)
        return "\n".join([match["head"], *lines, "", match["end"]])

    return BLOCK.sub(block, text)


def shown(text: str, docs: Path) -> str:
    """A page as the docs show it: with the tables that it asks for.

    Raises:
        InputError: a table names claims that are not there.
    """

    def table(match: re.Match[str]) -> str:
        names = _names(match)
        if match["kind"] == "sentences":
            return "\n".join(sentences.table(*names))
        if match["kind"] == "rules":
            return "\n".join(by_rule(*names))
        return "\n".join(by_claim(docs, names, construction=match["kind"] == "claims"))

    return TABLE.sub(table, text)


def _names(match: re.Match[str]) -> list[str]:
    return [name.strip() for name in match["of"].split(",")]


def pages(docs: Path) -> Iterator[tuple[Path, str]]:
    """The pages that have counts, each with the text that it is to have."""
    for page in (docs / "papers.md", *sorted((docs / "papers").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        if BLOCK.search(text):
            yield page, counted(text, docs)


def main(arguments: Sequence[str]) -> None:
    """Writes the pages of which something has changed, and names them."""
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
