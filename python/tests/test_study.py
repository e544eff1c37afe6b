"""The parts of a study, and the example of docs/adding-a-policy.md, which is a whole one."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ftlab.cli.main import main
from ftlab_reproduce import command as reproduce
from ftlab_reproduce.study import Evidence, Experiment, Study, grid, settled
from ftlab_reproduce.tbm.axes import Point

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-policy.md"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Study:
    """The study that the page builds."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (code,) = (block for block in blocks if "STUDY = Study(" in block)
    names: dict[str, Any] = {}
    exec(code, names)
    study: Study = names["STUDY"]
    monkeypatch.setitem(reproduce.PAPERS, study.name, study)
    return study


def test_the_example_of_the_page_is_a_whole_study(
    example: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "victims", "--out", str(tmp_path), "--json"]) == 0
    found = {claim["id"]: claim for claim in json.loads(capsys.readouterr().out)["claims"]}
    assert {key: claim["verdict"] for key, claim in found.items()} == dict.fromkeys(
        ("waf-uniform", "waf-skewed", "waf-full"), "reproduced"
    )
    assert "zipf 0.6" in found["waf-skewed"]["note"] and "zipf 0.9" in found["waf-skewed"]["note"]
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert report.startswith("# Victims, scale quick\n\n| claims | all |")
    assert "| workload | victims | z = 0.0 | z = 0.6 | z = 0.9 |" in report
    assert report.count("\n| Zipf's law |") == 2
    assert (tmp_path / "skew.png").stat().st_size > 10_000
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert len(figures["runs"]) == 8 and {row["setting"] for row in figures["runs"]} == {"", "begins full"}


def test_one_experiment_leaves_the_claims_of_others_out(
    example: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "victims", "--only", "readings", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "waf-full" in text and "waf-uniform" not in text
    assert "waf-uniform" not in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert not (tmp_path / "skew.png").exists()
    assert main(["reproduce", "victims", "--only", "waf-skewed", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "skew.png").exists()


@pytest.mark.parametrize("study", reproduce.PAPERS.values(), ids=lambda study: study.name)
@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_points_of_every_paper_have_labels_of_their_own(study: Study, scale: str) -> None:
    points = study.points(study.experiments, scale)
    assert len({point.label for point in points}) == len(set(points)) == len(points)
    for axis, values in study.axes.items():
        assert {getattr(point, axis) for point in points} <= set(values)


@pytest.mark.parametrize("study", reproduce.PAPERS.values(), ids=lambda study: study.name)
def test_claims_of_every_paper_lead_to_an_experiment(study: Study) -> None:
    ids = [statement.id for statement in study.statements]
    assert len(set(ids)) == len(ids)
    assert not set(ids) & set(study.experiments)
    for statement in study.statements:
        for scale in study.scales:
            assert reproduce.experiments_of(study, statement.id, scale) == (statement.experiment,)
            assert statement.experiment in study.default_experiments(scale)


def test_a_scale_runs_some_experiments_only_when_they_are_asked_for(example: Study) -> None:
    one, two = (Experiment("", [Point(name, "F", tbm=False)]) for name in "ab")
    large = replace(example.scales["quick"], on_request=frozenset({"two"}))
    study = replace(
        example, scales={"quick": example.scales["quick"], "large": large},
        experiments={"one": one, "two": two}, statements=(), lists_all=False,
    )  # fmt: skip
    assert reproduce.experiments_of(study, None, "quick") == ("one", "two")
    assert reproduce.experiments_of(study, None, "large") == ("one",)
    assert reproduce.experiments_of(study, "two", "large") == ("two",)
    nothing = study.evidence({}, {})
    told = "Run at this scale only when `--only` asks for them: two."
    assert told in study.report("large", ["one"], nothing, [])
    assert told not in study.report("large", ["two"], nothing, [])
    assert told not in study.report("quick", ["one"], nothing, [])


@pytest.mark.parametrize("study", reproduce.PAPERS.values(), ids=lambda study: study.name)
def test_a_claim_whose_runs_are_missing_is_not_run(study: Study) -> None:
    found = study.judged(study.evidence({}, {}), tuple(study.experiments))
    assert all(claim.verdict == "not-run" for claim in found)
    assert len(found) == len(study.statements)
    assert all(claim.measured is None and claim.workload for claim in found)


def test_the_last_axis_of_a_grid_changes_first() -> None:
    points = grid(Point, worn=[False], workload="ab", allocation=["F"], tbm=[False, True], bac=[False])
    assert [(point.workload, point.tbm) for point in points] == [
        ("a", False), ("a", True), ("b", False), ("b", True),
    ]  # fmt: skip


def test_settings_take_the_place_of_what_they_are_a_part_of() -> None:
    base = {"ftl.reclaim_unit": "twin", "ftl.victim": "rga", "device.channels": 4}
    assert settled(base, {"ftl.reclaim_unit.twin.pad": False}) == {
        "ftl.reclaim_unit.twin.pad": False, "ftl.victim": "rga", "device.channels": 4,
    }  # fmt: skip
    assert settled({"ftl.victim.rga.d": 4, "ftl.victims": 1}, {"ftl.victim": "greedy"}) == {
        "ftl.victim": "greedy", "ftl.victims": 1,
    }  # fmt: skip
    assert settled(base, {"ftl.victim": "fifo"})["ftl.victim"] == "fifo"


def test_a_scale_leaves_points_out_and_shared_ones_are_run_once(example: Study) -> None:
    def experiment(*names: str) -> Experiment:
        return Experiment("", [Point(name, "F", tbm=False) for name in names])

    quick = replace(example.scales["quick"], leaves_out=lambda point: point.workload == "c")
    study = replace(
        example,
        scales={"quick": quick},
        experiments={"one": experiment("a", "b", "c"), "two": experiment("b", "d")},
    )
    assert [point.workload for point in study.points(["one", "two"], "quick")] == ["a", "b", "d"]
    assert [point.workload for point in study.points(["two"], "quick")] == ["b", "d"]


def test_what_a_point_waits_for_is_run_with_it(example: Study) -> None:
    first, second = (Point("a", "F", tbm=False, setting=setting) for setting in ("", "later"))
    study = replace(
        example,
        experiments={"one": Experiment("", [second])},
        waits_for=lambda point: [first] if point == second else [],
    )
    assert study.points(["one"], study.scales.__iter__().__next__()) == [first, second]


def test_a_picture_without_results_is_not_drawn(example: Study) -> None:
    study = replace(example, pictures={"nothing": lambda _: None})
    assert "nothing" in study.picture_names
    assert study.drawn(Evidence({}, {}), []) == {}
