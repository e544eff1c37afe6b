"""All papers in one table: `ftlab reproduce all`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ftlab._core import InputError
from ftlab.base import escape
from ftlab.results import output, text
from ftlab.results.result import read_object
from ftlab_reproduce import claims
from ftlab_reproduce.claims import BASES, VERDICTS, Basis, Claim, Verdict

NAME = "all"
"""What the command calls it."""

SCHEMA = "ftlab.reproductions/1"

APART: tuple[Basis, ...] = ("corrected", "construction", "late", "follows")
"""Bases that have a column of their own."""

HEAD = ("paper", "claims", *VERDICTS, *(BASES[basis] for basis in APART), "CPU min")


class Found(NamedTuple):
    """What was found of a paper."""

    title: str
    claims: Sequence[Claim]
    cpu_s: float
    """Of all its runs, also those that were there already."""


def document(scale: str, found: Mapping[str, Found]) -> dict[str, Any]:
    """The object `ftlab.reproductions/1`: a `ftlab.claims/1` for each paper."""
    papers = [claims.document(name, scale, paper.claims, paper.cpu_s) for name, paper in found.items()]
    return {"schema": SCHEMA, "scale": scale, "papers": papers}


def taken_from(files: Sequence[Path], titles: Mapping[str, str]) -> tuple[str, dict[str, Found]]:
    """The scale, and what was found of papers, from their `claims.json`; `titles` are those of all papers, in order.

    Raises:
        InputError: a file is none of a paper, two are of one paper, or they are of two scales.
    """
    found: dict[str, Found] = {}
    places: dict[str, Path] = {}
    scales: dict[str, Path] = {}
    for file in files:
        known = read_object(file, claims.SCHEMA, "list of claims", "ftlab reproduce --out")
        shown = escape.terminal(str(file))
        try:
            name, scale = str(known["paper"]), str(known["scale"])
            every = [Claim.of_json(row) for row in known["claims"]]
            paper = Found(titles[name], every, float(known["cpu_s"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"error: {shown} is damaged, or an older version wrote it: {escape.terminal(repr(error))}\n"
                "hint: `ftlab reproduce` writes it anew from the runs that are kept"
            ) from None
        if name in found:
            raise InputError(f"error: {shown} and {escape.terminal(str(places[name]))} are both of {name}")
        scales[scale] = file
        if len(scales) > 1:
            sides = " and ".join(f"{scale} ({escape.terminal(str(of))})" for scale, of in scales.items())
            raise InputError(f"error: the files are of two scales: {sides}; expected one")
        found[name], places[name] = paper, file
    return next(iter(scales)), {name: found[name] for name in titles if name in found}


def table(found: Mapping[str, Found], width: int) -> str:
    """For people: verdicts by paper, every claim in a line, and in words what did not reproduce as the paper says."""
    counts = [[name, *_counts(paper)] for name, paper in found.items()]
    rows = [
        [name, claim.id, "" if claim.paper_value is None else str(claim.paper_value), claims.number(claim.measured),
         claim.unit, claim.verdict, "" if claim.basis == "stated" else BASES[claim.basis]]
        for name, paper in found.items() for claim in paper.claims
    ]  # fmt: skip
    every = [["paper", "claim", "published", "measured", "unit", "verdict", "basis"], *rows]
    other = {
        f"{name} {claim.id}": f"{claim.verdict}: {claim.claim}. {claim.note}".strip()
        for name, paper in found.items() for claim in paper.claims
        if claim.verdict not in ("reproduced", "not-run")
    }  # fmt: skip
    parts = [
        text.columns([HEAD, *counts], align="<" + ">" * (len(HEAD) - 1)),
        text.columns(every, align="<<>><<<"),
    ]
    return "\n\n".join([*parts, *([text.listed(other, width)] if other else [])])


def report(scale: str, found: Mapping[str, Found]) -> str:
    """The same as a Markdown page."""
    lines = [
        f"# The papers' claims, scale {scale}", "",
        f"`ftlab reproduce all --scale {scale}`. Claims that hold by construction, whose reading was chosen after "
        "results had been seen, or whose figure follows from another claim's are counted apart. Corrected ones are "
        "counted with the others: what contradicted a sentence of the paper was mended, and how many of them are "
        "reproduced is said besides.", "",
        f"| {' | '.join(HEAD)} |", "|---|" + "---:|" * (len(HEAD) - 1),
        *(f"| {paper.title} | {' | '.join(_counts(paper))} |" for paper in found.values()),
    ]  # fmt: skip
    for paper in found.values():
        lines += ["", f"## {paper.title}", "", *claims.markdown(paper.claims)]
        why = [
            claim for claim in paper.claims if claim.verdict not in ("reproduced", "not-run") and claim.note
        ]
        lines += ["", *(f"- {claim.id}, {claim.verdict}: {claim.note}" for claim in why)]
    return "\n".join(lines) + "\n"


def one_count(found: Mapping[str, Found], scales: Mapping[str, str]) -> list[str]:
    """The one count of the claims of all papers, as the lines of a Markdown table; `scales` has the scale of each in
    words. Corrected claims count with those that were stated before, all others with none."""
    head = (
        "paper",
        "scale",
        "stated before",
        "corrected",
        "**counted**",
        "",
        "by construction",
        "post hoc",
        "follow",
    )
    every = [claim for paper in found.values() for claim in paper.claims]
    rows = [(paper.title, scales[name], paper.claims) for name, paper in found.items()] + [
        ("**all**", "", every)
    ]
    lines = [f"| {' | '.join(head)} |", "|---|---|" + "---:|" * (len(head) - 2)]
    for title, scale, known in rows:
        counted = claims.share(known, *claims.COUNTED)
        cells = (
            title, scale, claims.share(known, "stated"), claims.share(known, "corrected"), f"**{counted}**",
            _percent(counted), *(claims.share(known, basis) for basis in APART[1:]),
        )  # fmt: skip
        lines.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    return lines


def _percent(share: claims.Share) -> str:
    return f"{100 * share.reproduced / share.all:.0f} %" if share.all else ""


def _counts(paper: Found) -> list[str]:
    by_basis = claims.counts(paper.claims)
    none: Counter[Verdict] = Counter()
    stated = by_basis.get("stated", none) + by_basis.get("corrected", none)
    apart = [
        f"{by_basis[basis]['reproduced']} of {by_basis[basis].total()}" if basis in by_basis else ""
        for basis in APART
    ]
    verdicts = [str(stated.get(verdict, 0)) for verdict in VERDICTS]
    return [str(sum(stated.values())), *verdicts, *apart, text.count(round(paper.cpu_s / 60))]


class Report(output.OutputDirectory):
    """The directory of all reproductions, where the papers' own directories lie too."""

    def __init__(self, path: Path, scale: str) -> None:
        super().__init__(path, (f"all-{scale}.json", f"all-{scale}.md"))
        self.scale = scale

    def write(self, found: Mapping[str, Found]) -> None:
        """Writes the table of all claims."""
        with self._staged() as staging:
            made = output.json_text(document(self.scale, found))
            (staging / f"all-{self.scale}.json").write_text(made, encoding="utf-8")
            (staging / f"all-{self.scale}.md").write_text(report(self.scale, found), encoding="utf-8")
