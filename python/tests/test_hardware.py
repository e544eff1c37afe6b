"""Real drives beside their simulation: the rows, how they are judged, and what a check says."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TINY, Ftlab

import ftlab
from ftlab import ConfigError, RunError
from ftlab.fio import running
from ftlab.fio.jobfile import JobFile
from ftlab.hardware import check as checking
from ftlab.hardware import page, plots, runs
from ftlab.hardware.rows import Figure, Row, chosen, rows

FITTED = {"17", "23 QD 1", "23 QD 256"}
"""The rows of the fitted drive, but for row 28, that constants were taken from (docs/hardware.md)."""


def test_rows_are_whole() -> None:
    ids = [row.id for row in rows()]
    assert len(ids) == len(set(ids)) > 40
    assert {row.family for row in rows()} == set(page.FAMILIES)
    divisors = {name for row in rows() for name in row.others()}
    for row in rows():
        assert (row.figures or row.id in divisors) and row.job and re.match("[MP] |by definition", row.source)
        assert bool(row.needs) != bool(row.runs or row.others()), row.id
        for figure in row.figures:
            assert sum(each is not None for each in (figure.within, figure.factor, figure.at_most)) == 1
            assert row.needs or figure.of, (row.id, figure.name)
            assert figure.tolerance
    mine = {row.id for row in rows() if row.preset == "enterprise-tlc-960" and row.fitted}
    assert {name for name in mine if not name.startswith("28")} == FITTED


@pytest.mark.parametrize("scale", ["quick", "full"])
def test_every_row_can_be_run(scale: str) -> None:
    for row in (row for row in rows() if row.runs):
        sets = {**row.sets, **(row.quick if scale == "quick" else row.full)}
        if not row.fio:
            ftlab.resolve(row.source_of_drive, sets=sets)
            continue
        job = row.fio if scale == "full" else runs.shortened(row)
        made = running.prepare(row.source_of_drive, JobFile(job), sets=sets)
        # What a job says and the check does not do would make a figure of something else.
        assert not [note for note in made.plan.notes if "not looked at" not in note], row.id
        ftlab.resolve(made.config)


@pytest.mark.parametrize(
    ("figure", "met", "missed"),
    [
        (Figure("WAF", 2.0, within=0.1), (1.81, 2.0, 2.19), (1.79, 2.21, -2.0)),
        (Figure("p99", 300.0, factor=1.5), (201.0, 449.0), (199.0, 451.0)),
        (Figure("ratio", 1.16, at_most=1.5), (0.5, 1.5), (1.51,)),
        (Figure("ratio", 4.0, within=1e-9), (4.0,), (4.0001,)),
    ],
)
def test_tolerances(figure: Figure, met: tuple[float, ...], missed: tuple[float, ...]) -> None:
    assert all(map(figure.is_met, met)) and not any(map(figure.is_met, missed))


def test_rows_are_named_by_id_beginning_or_family() -> None:
    assert [row.id for row in chosen(["17"])] == ["17", "17 refit"]
    depths = [f"23 QD {depth}" for depth in (1, 16, 64, 256)]
    assert [row.id for row in chosen(["23"])] == [*depths, *(f"{name} refit" for name in depths)]
    assert {row.id for row in chosen(["zones", "17"])} == {"17", "17 refit", "25", "30", "31"}
    assert chosen([]) == rows()
    with pytest.raises(ConfigError, match="did you mean `zones`"):
        chosen(["zone"])


def fake(figures: dict[str, float]) -> runs.Measured:
    return runs.Measured(figures)


def test_a_row_is_judged_by_its_run_or_by_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {
        "17": {"read p50": 70.0, "read p999": 90.0, "read iops": 13000.0, "read p95": 80.0, "read p99": 80.0,
               "read p9999": 90.0},
        "20": {"read p50": 75.0}, "22": {"read p50": 300.0, "read p999": 800.0, "read p9999": 1000.0, "program": 800.0},
    }  # fmt: skip
    ran = []

    def measure(row: Row, scale: str) -> runs.Measured:
        ran.append(row.id)
        return fake(found[row.id])

    monkeypatch.setattr(checking, "measure", measure)
    done = checking.check(chosen(["17-22"])[:1])
    # Those whose figures it is made of are run for it.
    assert ran == ["17", "20", "22"]
    assert [judged.verdict for judged in done.judged] == ["met", "missed", "met", "met"]
    assert [judged.measured for judged in done.judged] == [75 / 70, 300 / 70, 800 / 90, 1000 / 800]
    text = page.table(done)
    assert "of figures that nothing was taken from, 3 of 4 are met (75 %)" in text


def test_a_row_that_fails_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(row: Row, scale: str) -> runs.Measured:
        if row.id == "15":
            raise RunError("error: it fails\nfor a reason")
        return fake({"waf ratio": 4.0})

    monkeypatch.setattr(checking, "measure", measure)
    done = checking.check(chosen(["15", "16", "30"]))
    assert [judged.verdict for judged in done.judged] == ["failed", "met", *["not built"] * 4]
    text = page.table(done)
    assert "could not be run: error: it fails" in text and "needs zones" in text
    assert "4 need what is not built" in text and "1 could not be run" in text
    told = done.to_json()
    assert told["counts"]["predicted"] == {"met": 1, "missed": 0, "not built": 4, "failed": 1}
    assert told["rows"]["15"]["figures"][0]["why"].startswith("error: it fails")


def test_a_row_like_another_has_the_rest_from_there() -> None:
    row, other = chosen(["20"])[0], chosen(["17"])[0]
    assert (row.family, row.sets, row.quick) == (other.family, other.sets, other.quick)
    assert row.quick["device.blocks_per_plane"] == 114
    assert other.fitted and not row.fitted and row.fio != other.fio


def test_what_was_chosen_in_hindsight_is_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, fitted = chosen(["15"])[0], chosen(["23 QD 1"])[0]
    later = replace(plain, id="15 later", hindsight="a constant")
    monkeypatch.setattr(checking, "measure", lambda row, scale: fake({"waf": 1.0, "read iops": 1.0}))
    monkeypatch.setattr(checking, "rows", lambda: (plain, later, fitted))
    done = checking.check([plain, later, fitted])
    counts = done.counts()
    assert [counts[kind]["met"] for kind in ("predicted", "fitted", "hindsight")] == [1, 0, 1]
    text = page.table(done)
    assert "with what was chosen in hindsight, 1 of 1 are met" in text and "met (in hindsight)" in text
    assert "In hindsight: a constant." in page.markdown(done)
    assert done.to_json()["rows"]["15 later"]["hindsight"] == "a constant"


def test_waf_over_volume(tmp_path: Path) -> None:
    """The WAF of a part of a run is that of the pages programmed in it."""
    drive = tmp_path / "drive.toml"
    drive.write_text(
        TINY.replace("requests = 20_000", 'volume = "40x"')
        .replace("= 0.3", "= 0.0")
        .replace('"steady"', '"none"')
    )
    result = ftlab.run(drive, sets={"run.executor": "count"})
    spans = ["waf 0..4", "waf 30..40"]
    found = runs.figures(result, spans)
    first, last = found.figures["waf 0..4"], found.figures["waf 30..40"]
    assert 1 <= first < last
    short = ftlab.run(drive, sets={"run.executor": "count", "workload.volume": "4x"})
    assert first == pytest.approx(short.summary["waf"], rel=0.01)
    # What a run did not come to has no WAF.
    assert "waf 30..40" not in runs.figures(short, spans).figures
    assert runs.Span.of("waf 1.5..3") == runs.Span(1.5, 3) and runs.Span.of("waf") is None


def test_phases_of_a_fill() -> None:
    """Where a drive slows down is found to the interval, also where collections come in bursts."""
    written = np.arange(1.0, 201.0)
    rates = np.where(written <= 40, 8.0, np.where(written <= 150, 3.0, 2.0))
    spent = 1 / rates
    # Behind 150 it stops now and then, for as long as makes its mean rate 2.
    spent[150:] = 1 / 3
    spent[152::5] += 5 * (1 / 2 - 1 / 3)
    first, second, third = runs.phases(written, np.cumsum(spent), 3)
    assert first.end == 40 and first.rate == pytest.approx(8, rel=0.01)
    assert abs(second.end - 150) <= 3 and second.rate == pytest.approx(3, rel=0.02)
    assert third.end == 200 and third.rate == pytest.approx(2, rel=0.05)
    # Two phases are not three.
    assert runs.phases(written, np.cumsum(1 / np.where(written <= 40, 8.0, 3.0)), 3) == []
    assert runs.phases(written[:10], np.cumsum(spent[:10]), 3) == []


def test_the_phases_and_the_rate_after_a_pause_are_those_of_a_run() -> None:
    names = ["phase 1 of 2 ends", "rate after the pause"]
    small = {
        "device.blocks_per_plane": 57,
        "device.user_capacity": "14000MiB",
        "device.over_provisioning": 0.1726,
    }
    fill = runs.figures(
        ftlab.run("client-tlc-slc-small", sets={**small, "workload.volume": "0.3x"}), names[:1]
    )
    # 28 % of the blocks are lent, and hold a third.
    assert fill.figures["phase 1 of 2 ends"] == pytest.approx(0.28 / 3, rel=0.05)
    assert fill.figures["phase 1 of 2 gb_s"] > 2 * fill.figures["phase 2 of 2 gb_s"]
    assert fill.fill is not None and len(fill.fill[0]) <= runs.CURVE
    job = chosen(["33"])[0].fio.replace("startdelay=13", "startdelay=3")
    made = running.prepare("client-tlc-slc-small", JobFile(job), sets=small)
    rested = runs.figures(ftlab.run(made.config), names)
    assert rested.figures["rate after the pause"] == pytest.approx(1, rel=0.05)
    made = running.prepare(
        "client-tlc-slc-small", JobFile(job), sets={**small, "ftl.slc_cache.dynamic.fold": "need"}
    )
    assert runs.figures(ftlab.run(made.config), names).figures["rate after the pause"] < 0.6


def test_the_command_line(ftlab: Ftlab, tmp_path: Path) -> None:
    told = json.loads(ftlab("hardware", "check", "--only", "16", "--only", "30", "--json").stdout)
    assert (told["schema"], told["scale"]) == ("ftlab.hardware/1", "quick")
    assert list(told["rows"]) == ["16", "30"]
    (figure,) = told["rows"]["16"]["figures"]
    assert (figure["verdict"], figure["ours"]) == ("met", pytest.approx(4.0))
    assert told["rows"]["30"]["figures"][0]["why"] == "zones"
    done = ftlab("hardware", "check", "--only", "zones", "--out", "out")
    assert "12 need what is not built" in done.stdout
    assert "Zones" in (tmp_path / "out" / "hardware.md").read_text(encoding="utf-8")
    ftlab("report", "out", "--out", "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Real drives beside simulated ones" in html and "ZN540" in html
    assert "there is no row `99`" in ftlab("hardware", "check", "--only", "99", code=2).stderr
    assert "did you mean `full`" in ftlab("hardware", "check", "--scale", "ful", code=2).stderr


def test_pictures_have_both_curves() -> None:
    measured = {
        name: fake({f"read {each}": 100.0 * i for each in ("p50", "p95", "p99", "p999", "p9999")})
        for i, name in enumerate(("17", "18", "20", "22"), 1)
    }
    done = checking.Check("quick", [], {**measured, "1": runs.Measured({}, ([0.5, 1.0], [1.0, 2.0]))})
    drawn: dict[str, Any] = plots.figures(done)
    assert set(drawn) == {"beside", "waf"}
    panel = drawn["beside"].axes[3]
    lines = {line.get_label(): line.get_ydata().tolist() for line in panel.lines}
    assert lines == {"drive": [84, 243, 432, 750], "simulated": [100, 200, 300, 400]}
    later = {f"{name} refit": fake({"read p999": 500.0}) for name in ("18", "20", "22")}
    with_more: dict[str, Any] = plots.figures(checking.Check("quick", [], {**measured, **later}))
    lines = {line.get_label(): line.get_ydata().tolist() for line in with_more["beside"].axes[3].lines}
    assert lines["in hindsight"] == [500, 500, 500]
    assert plots.figures(checking.Check("quick", [], {})) == {}
