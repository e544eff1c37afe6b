"""Reports of the evidence: data in the repository, pages when the docs are built."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from evidence import closed_forms, pages, report
from ftlab_reproduce import claims
from ftlab_reproduce.claims import Claim

DOCS = Path(__file__).parents[2] / "docs"

PAGE = """\
# A title

A paragraph
of two lines.
## A section

- one
- two,
  and more

```
verbatim   and

spaced
```

| a | b \\| c |
|---|---:|
| x | 1.50 |
| *y* |  |

The end.
"""

JUDGED = claims.document(
    "gcf", "paper",
    [
        Claim("first", "words", 2, 1.0, "%", "reproduced", "made", "generated", "", "stated"),
        Claim("second", "words", None, None, "%", "not-run", "made", "generated", "", "late"),
    ],
    60.0,
)  # fmt: skip


def test_a_report_holds_all_that_a_page_says(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    report.write(file, PAGE, "python -m something")
    kept = report.read(file)
    assert kept.parts == [
        "A paragraph of two lines.",
        {"section": "A section"},
        {"list": ["one", "two, and more"]},
        {"verbatim": ["verbatim   and", "", "spaced"]},
        {"columns": ["a", "b \\| c"], "right": [1], "rows": [["x", "1.50"], ["*y*", ""]]},
        "The end.",
    ]
    assert (kept.title, kept.command) == ("A title", "python -m something")
    assert len(kept.commit.rstrip("+")) == 40 and len(kept.date) == 10
    page = report.markdown(kept)
    assert f"`python -m something`, {kept.date}, commit {kept.commit[:10]}." in page
    assert report.of_markdown(report.markdown(kept, at_head=False)) == (kept.title, kept.parts)


@pytest.mark.parametrize(
    "words", ["### A heading below a section", "> a quotation", "1. the first", "| a |\n|---|\nnot a row"]
)
def test_what_a_report_cannot_say_is_an_error(words: str) -> None:
    with pytest.raises(ValueError, match="the report cannot"):
        report.of_markdown(f"{PAGE}\n{words}\n")


def test_tables_of_claims_are_made_of_the_claims(tmp_path: Path) -> None:
    every = [Claim.of_json(row) for row in JUDGED["claims"]]
    page = "\n".join(["# Claims", "", *claims.counted(every), "", *claims.markdown(every), ""])
    report.write(tmp_path / "a.json", page, "ftlab reproduce tbm", JUDGED)
    kept = report.read(tmp_path / "a.json")
    assert kept.parts == [{"claims": "counts"}, {"claims": "all"}] and kept.claims == every
    assert report.markdown(kept, at_head=False) == page
    # Of an experiment alone there are the claims that it judges.
    some = "\n".join(["# Claims", "", *claims.counted(every[:1]), "", *claims.markdown(every[:1]), ""])
    report.write(tmp_path / "b.json", some, "ftlab reproduce tbm --only x", JUDGED)
    assert report.read(tmp_path / "b.json").claims == every[:1]


def test_a_command_is_run_and_its_reports_are_kept(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made/claims.json").write_text(json.dumps(JUDGED), encoding="utf-8")
    program = (
        "import os, pathlib;"
        "pathlib.Path(os.environ['PAGE']).write_text('# One\\n');"
        f"pathlib.Path({str(tmp_path / 'made/report.md')!r}).write_text('# Two\\n')"
    )
    command = [sys.executable, "-c", program]
    named = ["one=PAGE", f"two={tmp_path}/made/report.md", "--out", str(tmp_path)]
    assert report.main([*named, "--", *command]) == 0
    assert report.read(tmp_path / "one.json").title == "One"
    assert report.read(tmp_path / "two.json").command == shlex.join([Path(sys.executable).name, *command[1:]])
    assert report.main(["three=PAGE", "--out", str(tmp_path), "--", sys.executable, "-c", "exit(3)"]) == 3
    assert not (tmp_path / "three.json").exists()


def test_the_pages_of_the_evidence_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = tmp_path / "docs"
    shutil.copytree(DOCS / "evidence", docs / "evidence", ignore=shutil.ignore_patterns("*.md", "*.png"))
    (docs / "evidence/old.md").write_text("# Nobody makes it\n", encoding="utf-8")
    monkeypatch.setattr(
        closed_forms, "plot_closed_forms", lambda path, points: path.write_text(str(len(points)))
    )
    pages.write(docs)
    made = {page.stem: page.read_text(encoding="utf-8") for page in (docs / "evidence").glob("*.md")}
    known = pages.reports(docs)
    assert set(made) == {*known, "index", "all-paper"}
    titles = [text.partition("\n")[0] for text in made.values()]
    assert len(set(titles)) == len(titles) > 20
    assert all(f"]({name}.md)" in made["index"] for name in known)
    assert (docs / "evidence" / pages.DRAWN).read_text() == "162"
    assert "**162 of 162 points within 1% of theory" in made["closed-forms"]


def test_every_report_says_where_it_is_from() -> None:
    for name, one in pages.reports(DOCS).items():
        assert len(one.commit) >= 40 and one.date.startswith("20") and one.command, name
