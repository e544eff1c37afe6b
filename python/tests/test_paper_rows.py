"""Kept rows of the papers' runs: of today's settings, judged by today's rules, and with today's digits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evidence import digits, papers, report, runs, sentences
from ftlab_reproduce import claims
from ftlab_reproduce.command import PAPERS
from ftlab_reproduce.gcmix.axes import Point
from ftlab_reproduce.study import Study

NAMES = [name for name, study in PAPERS.items() if study.statements]
KEPT = [
    (name, scale) for name in NAMES for scale in ("quick", "paper")
    if (report.KEPT / f"{name}-{scale}.json").exists()
]  # fmt: skip
ROWS = [(name, scale) for name in NAMES for scale in ("quick", "paper") if runs.file_of(name, scale).exists()]


def kept(name: str, scale: str) -> dict[str, Any]:
    return dict(report.read(report.KEPT / f"{name}-{scale}.json").judged)


def test_rows_and_evidence_are_there() -> None:
    assert {name for name, _ in KEPT} == set(NAMES) and ROWS


@pytest.mark.parametrize(("name", "scale"), ROWS)
def test_rows_are_of_todays_settings(name: str, scale: str) -> None:
    assert runs.Rows.read(PAPERS[name], scale).stale() == [], (
        "a setting changed: `python -m evidence.runs` runs it again"
    )


@pytest.mark.parametrize(("name", "scale"), KEPT)
def test_evidence_is_of_todays_settings_and_rules(name: str, scale: str) -> None:
    study, before = PAPERS[name], kept(name, scale)
    for experiment, settings in before["settings"].items():
        assert settings == runs.settings_of_experiment(study, experiment, scale), experiment
    found = runs.judge(runs.Rows.read(study, scale), before)
    assert [claim.to_json() for claim in found] == before["claims"], (
        "`python -m evidence.runs --judge` judges again"
    )


def test_a_changed_setting_is_seen() -> None:
    study = PAPERS["gcmix"]

    def changed(**of: Any) -> Study:
        return replace(study, **of)

    point = Point("zipf 0.8", "P")
    now = runs.settings_of(study, point, "quick")
    other = changed(sets=lambda p, w, s: {**study.sets(p, w, s), "workload.request_size": "16KiB"})
    assert runs.settings_of(other, point, "quick") != now
    assert runs.settings_of(changed(preset=lambda _: "gcmix-px"), point, "quick") != now
    assert runs.settings_of(study, point._replace(workload="zipf 0.6"), "quick") != now
    rows = runs.Rows(other, "quick", {point.label: {"run": point.label, "settings": now}})
    assert rows.stale() == [point.label]


def test_a_row_is_added_behind_what_a_killed_process_left(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    runs.add(file, {"run": "a"})
    with file.open("a") as lines:
        lines.write('{"run": "b", "sett')
    runs.add(file, {"run": "c"})
    assert [json.loads(line)["run"] for line in file.read_text().splitlines()] == ["a", "c"]


def test_what_has_no_row_keeps_its_figure_while_settings_and_words_stay() -> None:
    study = PAPERS["gcmix"]
    statement = next(each for each in study.statements if each.id == "waf-dm-low")
    settings = {"fig8": runs.settings_of_experiment(study, "fig8", "quick")}
    old = replace(
        statement.judged(papers._NOTHING, {}), measured=17.0, note="zipf 0.0 17.0; reproduced by an old rule"
    )

    def verdict(of: dict[str, str], claim: claims.Claim) -> tuple[str, str]:
        found = runs.judge(runs.Rows(study, "quick"), {"settings": of, "claims": [claim.to_json()]})
        (again,) = (each for each in found if each.id == "waf-dm-low")
        return again.verdict, again.note

    assert verdict(settings, old) == ("reproduced", f"zipf 0.0 17.0; {statement.rule.text}")
    assert verdict({"fig8": "other"}, old)[0] == "not-run"
    assert verdict(settings, replace(old, claim="other words"))[0] == "not-run"


def test_three_runs_of_each_paper_have_their_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Away from the traces that may lie beside the project.
    monkeypatch.chdir(tmp_path)
    known = json.loads(digits.FILE.read_text(encoding="utf-8"))
    assert {paper: len(of) for paper, of in known.items()} == dict.fromkeys(NAMES, 3)
    for paper, of in known.items():
        assert digits.digits(paper, tmp_path / paper) == of, (
            f"{paper}: `python -m evidence.digits`, if it is meant"
        )


@pytest.mark.parametrize("paper", NAMES)
def test_every_sentence_has_claims_or_a_reason(paper: str) -> None:
    named = set()
    for line in sentences.LINES[paper]:
        assert bool(line.claims) != bool(line.because), line
        found = sentences.of(line, paper)
        assert len(found) >= len(line.claims), line
        named |= set(found)
    assert {statement.id for statement in PAPERS[paper].statements} == named


@pytest.mark.parametrize("paper", NAMES)
def test_every_miss_has_a_cause(paper: str) -> None:
    found, _ = papers.latest(report.ROOT / "docs")
    for claim in found[paper].claims:
        if claim.basis in claims.COUNTED and claim.verdict in ("direction", "not-reproduced"):
            assert sentences.cause_of(paper, claim.id) in sentences.CAUSES_IN_WORDS, claim.id


@pytest.mark.parametrize("paper", NAMES)
def test_a_page_has_two_thousand_words_at_most(paper: str) -> None:
    assert len((report.ROOT / f"docs/papers/{paper}.md").read_text(encoding="utf-8").split()) <= 2000
