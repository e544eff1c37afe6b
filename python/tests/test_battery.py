"""The battery in short, and that its oracle sees faults."""

from __future__ import annotations

import os
import re
from pathlib import Path
from random import Random

import pytest

import ftlab
from evidence import battery, battery_inputs, battery_oracle, report
from evidence.battery import Case
from evidence.battery_oracle import Fault, Kind, Scratch


def test_some_hundred_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = [kind.name for kind in battery_inputs.KINDS]
    arguments = [
        "--cases",
        "400",
        "--seed",
        "11",
        "--out",
        str(tmp_path),
        *(f"--kind={name}" for name in kinds),
    ]
    code = battery.main(arguments)
    assert code == 0, capsys.readouterr().out
    page = report.markdown(report.read(tmp_path / "battery.json"))
    assert re.search(r"\*\*\d+ cases, 0 faults\*\*; `--cases \d+ --seed 11`", page)
    assert all(f"| {name} |" in page for name in kinds)


def test_the_plan_has_every_kind_and_is_as_long_as_asked() -> None:
    cases = battery.planned(10_000)
    assert abs(len(cases) - 10_000) <= len(battery.KINDS)
    assert {case.kind for case in cases} == set(battery.KINDS)
    assert len(cases) == len(set(cases))
    assert all(kind.doc for kind in battery.KINDS.values())


def test_a_case_is_the_same_every_time(tmp_path: Path) -> None:
    seen = []
    for _ in range(2):
        scratch = Scratch(tmp_path, Random("3 texts:4"), tmp_path)
        battery_inputs.texts(scratch)
        seen.append((tmp_path / "config.toml").read_bytes())
    assert seen[0] == seen[1]


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    (tmp_path / "here").mkdir()
    return Scratch(tmp_path / "here", Random(1), tmp_path)


def test_files_that_change_or_stay_behind_are_seen(scratch: Scratch) -> None:
    mine = scratch.file("mine.txt", "mine")
    (scratch.output("out") / "deep").mkdir(parents=True)
    (scratch.path / "out" / "deep" / "summary.json").write_text("{}", encoding="utf-8")
    scratch.check()
    for name in ("else.txt", "out/deep/.ftlab-1234", "out.partial"):
        (scratch.path / name).write_text("", encoding="utf-8")
        with pytest.raises(Fault, match="left behind"):
            scratch.check()
        (scratch.path / name).unlink()
    mine.write_text("theirs", encoding="utf-8")
    with pytest.raises(Fault, match="changed or removed"):
        scratch.check()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("error: `x` is 5; expected a path", None),
        ("", "without a text"),
        ("error: `x` is bad", "what would be right"),
        ("error: bad; expected good", "where"),
        ("error: internal error: x", "fault of the program"),
        ("error: `x`; expected y" + " " * 30_000, "characters"),
    ],
)
def test_errors_have_to_say_where_and_what_would_be_right(text: str, fault: str | None) -> None:
    def fail() -> None:
        raise ftlab.ConfigError(text)

    if fault is None:
        assert battery_oracle.attempt(fail) == "ConfigError"
    else:
        with pytest.raises(Fault, match=fault):
            battery_oracle.attempt(fail)


@pytest.mark.parametrize(
    ("code", "out", "err", "fault"),
    [
        (0, "{}", "", None),
        (2, "", "error: `x`; expected y", None),
        (3, "", "error: `x`; expected y", "exit code 3"),
        (-11, "", "", "exit code -11"),
        (1, "", "Traceback (most recent call last)", "fault of the program"),
        (0, "\x1b[31m", "", "control character"),
        (2, "{}", "error: `x`; expected y", "in spite of an error"),
        (0, "{}", "x.py:1: UserWarning: y", "warning of a library"),
    ],
)
def test_ends_of_processes(code: int, out: str, err: str, fault: str | None) -> None:
    if fault is None:
        assert battery_oracle.outcome(code, out, err, wants_json=True) == f"exit {code}"
    else:
        with pytest.raises(Fault, match=fault):
            battery_oracle.outcome(code, out, err, wants_json=True)


def test_a_command_that_computes_for_long_is_stopped(
    monkeypatch: pytest.MonkeyPatch, scratch: Scratch
) -> None:
    monkeypatch.setattr(battery_oracle, "LONG_S", 0.3)
    file = scratch.file("tiny.toml", battery_inputs.TINY)
    assert battery_oracle.command(["run", str(file), "--set", "workload.requests=4000000000"]) == "stopped"


def test_any_other_exception_is_a_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(_: Scratch) -> str:
        raise OSError("from inside")

    monkeypatch.setitem(battery.KINDS, "broken", Kind("broken", "", 1, broken))
    before = Path.cwd()
    verdict = battery.judge(Case("broken", 0), 1, tmp_path)
    os.chdir(before)
    assert verdict.outcome == "fault" and "OSError: " in str(verdict.fault)
    page = battery.markdown([verdict], 1, 1)
    assert "**1 cases, 1 faults**" in page and "--seed 1 --case broken:0" in page


def test_the_death_of_a_worker_is_a_fault_and_the_next_case_has_another() -> None:
    worker = battery.Worker(1)
    case = Case("configurations", 0)
    assert worker.judge(case).fault is None
    assert worker.process is not None
    worker.process.kill()
    worker.process.wait()
    dead = worker.judge(case)
    alive = worker.judge(case)
    worker.close()
    assert dead.outcome == "fault" and "the process died (-9)" in str(dead.fault)
    assert alive.fault is None


def test_verdicts_are_kept_and_faults_are_judged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = []

    def judge(_: battery.Worker, case: Case) -> battery.Verdict:
        judged.append(case)
        return battery.Verdict(case.kind, case.number, "success", "bad" if case.number == 1 else None, 0.1)

    monkeypatch.setattr(battery.Worker, "judge", judge)
    cases = [Case("texts", number) for number in range(3)]
    file = tmp_path / "verdicts"
    first = battery.judge_all(cases, 1, 1, file)
    assert sorted(map(str, judged)) == ["texts:0", "texts:1", "texts:2"]
    judged.clear()
    assert battery.judge_all(cases, 1, 1, file) == first
    assert judged == [cases[1]]
    judged.clear()
    battery.judge_all(cases, 2, 1, file)
    assert len(judged) == 3
