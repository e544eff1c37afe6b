"""The papers' pages count what the evidence holds."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from evidence import papers, report
from ftlab._core import InputError
from ftlab_reproduce import claims, everything
from ftlab_reproduce.claims import Basis, Claim, Verdict
from ftlab_reproduce.command import PAPERS

DOCS = Path(__file__).parents[2] / "docs"

AGAIN = "`python -m evidence.papers` writes it anew"


def test_counts_of_the_pages_are_those_of_the_evidence() -> None:
    found = dict(papers.pages(DOCS))
    assert {page.name for page in found} >= {"papers.md", "tbm.md"}
    for page, text in found.items():
        assert page.read_text(encoding="utf-8") == text, f"{page}: {AGAIN}"


@pytest.mark.parametrize("name", papers.titles())
def test_a_page_begins_with_the_count_of_its_paper(name: str) -> None:
    every = papers.latest(DOCS)[0][name].claims
    share = claims.share(every, *claims.COUNTED)
    text = (DOCS / f"papers/{name}.md").read_text(encoding="utf-8")
    assert f"**{share.reproduced} of {share.all} claims**" in text[:400]


def test_full_size_counts_before_the_quick_scale(tmp_path: Path) -> None:
    ids = [statement.id for statement in PAPERS["tbm"].statements]
    first, second, third = (replace(claim("stated", "reproduced"), id=name) for name in ids[:3])
    written(tmp_path, "tbm-paper", first, replace(second, verdict="not-run", measured=None))
    written(tmp_path, "tbm-quick", replace(first, measured=9.0), replace(second, verdict="direction"), third)
    found, scales = papers.latest(tmp_path)
    of = {claim.id: claim for claim in found["tbm"].claims}
    assert (of[ids[0]].measured, of[ids[1]].verdict, of[ids[2]].verdict) == (1.0, "direction", "reproduced")
    assert of[ids[3]].verdict == "not-run" and len(of) == len(ids)
    assert scales["tbm"] == "1 full size and 2 quick"


def claim(basis: Basis, verdict: Verdict) -> Claim:
    return Claim("id", "words", None, 1.0, "%", verdict, "made", "generated", "", basis)


def test_construction_and_post_hoc_readings_are_counted_apart() -> None:
    first = [
        claim("stated", "reproduced"), claim("stated", "direction"), claim("corrected", "reproduced"),
        claim("construction", "reproduced"), claim("late", "reproduced"),
    ]  # fmt: skip
    second = [
        claim("stated", "not-reproduced"),
        claim("construction", "not-run"),
        claim("late", "direction"),
        claim("follows", "reproduced"),
    ]
    found = {"a": everything.Found("A", first, 60.0), "b": everything.Found("B", second, 60.0)}
    scales = {"a": "full size", "b": "quick"}
    assert everything.one_count(found, scales)[2:] == [
        "| A | full size | 1 of 2 | 1 of 1 | **2 of 3** | 67 % | 1 of 1 | 1 of 1 |  |",
        "| B | quick | 0 of 1 |  | **0 of 1** | 0 % | 0 of 1 (1 not run) | 0 of 1 | 1 of 1 |",
        "| **all** |  | 1 of 3 | 1 of 1 | **2 of 4** | 50 % | 1 of 2 (1 not run) | 1 of 2 | 1 of 1 |",
    ]


def written(docs: Path, name: str, *every: Claim) -> None:
    known = claims.document("tbm", name.rpartition("-")[2], every, 60.0)
    (docs / "evidence").mkdir(exist_ok=True)
    text = report.text_of(report.Report("TBM", "0", "2026-01-02", "ftlab reproduce tbm", [], known))
    (docs / "evidence" / f"{name}.json").write_text(text, encoding="utf-8")


def test_a_table_of_claims_has_the_figures_of_every_scale(tmp_path: Path) -> None:
    first = replace(claim("stated", "reproduced"), id="first")
    made = replace(claim("construction", "reproduced"), id="made")
    written(
        tmp_path, "tbm-paper", first, replace(claim("late", "direction"), id="second", paper_value=2.0), made
    )
    written(tmp_path, "tbm-quick", replace(first, measured=3.0, verdict="not-reproduced"))
    text = papers.shown("<!-- claims but construction: tbm-paper, tbm-quick -->\n", tmp_path)
    assert text.splitlines()[2:] == [
        "| `first`: words |  | 1.0 % | 3.0 %, **not reproduced** | reproduced | made (generated) |",
        "| `second`: words | 2.0 | 1.0 % |  | direction (post hoc) | made (generated) |",
    ]
    assert "`made`" in papers.shown("<!-- claims: tbm-paper -->", tmp_path)


def test_tables_of_claims_and_rules_are_on_the_pages() -> None:
    for page in sorted((DOCS / "papers").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        tables = [m["kind"] for m in papers.TABLE.finditer(text) if m["kind"] != "sentences"]
        assert "| where | what it says | judged by |" in papers.shown(text, DOCS)
        made = papers.shown(text, DOCS)
        assert not papers.TABLE.search(made) and made.count("| claim | paper |") >= len(tables) >= 1, (
            page.name
        )
    assert any("| 5 workloads | reproduced within 1 % of 5 | stated" in row for row in papers.by_rule("ipr"))


def test_the_command_mends_a_count_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    docs = shutil.copytree(DOCS, tmp_path / "docs")
    page = docs / "papers.md"
    right = page.read_text(encoding="utf-8")
    wrong = re.sub(r"\| \*\*\d+ of", "| **1000 of", right)
    assert wrong != right
    page.write_text(wrong, encoding="utf-8")
    papers.main(["--docs", str(docs)])
    assert page.read_text(encoding="utf-8") == right
    assert capsys.readouterr().err == f"written: {page}\n"


def test_a_block_that_names_no_claims_is_an_error() -> None:
    with pytest.raises(InputError, match=r"nobody-paper\.json"):
        papers.counted("<!-- counts: nobody-paper -->\n<!-- end -->", DOCS)
