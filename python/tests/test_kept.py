"""Kept runs and timelines: taken only if they are whole and what they are taken for."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from test_reproduce import TINY

from ftlab import InputError, Result
from ftlab.results.kept import Store
from ftlab_reproduce.experiment import Grid, Run, Tell
from ftlab_reproduce.gcf import lanes as gcf_lanes

SETS = {**TINY.sets, "run.precondition": "none", "workload.rounds": 1}


@pytest.fixture
def runs(trace: Path) -> list[Run]:
    return [Run(a, "tbm", {**SETS, "ftl.allocation": a}, trace) for a in ("F", "D")]


def place_of(directory: Path, run: Run) -> Path:
    (place,) = (place for place in directory.iterdir() if run.key().startswith(place.name))
    return place


def changed(place: Path) -> None:
    file = place / "summary.json"
    file.write_text(file.read_text(encoding="utf-8").replace('"waf": ', '"waf": 9'), encoding="utf-8")


def cut(place: Path) -> None:
    file = place / "series.parquet"
    file.write_bytes(file.read_bytes()[:-100])


def without_seal(place: Path) -> None:
    (place / "kept.json").unlink()


def with_a_broken_seal(place: Path) -> None:
    (place / "kept.json").write_text("[1, ", encoding="utf-8")


def with_a_seal_of_another_shape(place: Path) -> None:
    (place / "kept.json").write_text('{"schema": "ftlab.kept/1", "is": "", "files": 3}', encoding="utf-8")


def with_a_seal_too_deep(place: Path) -> None:
    (place / "kept.json").write_text("[" * 100_000, encoding="utf-8")


def with_a_seal_of_numbers(place: Path) -> None:
    (place / "kept.json").write_text(
        '{"schema": "ftlab.kept/1", "is": "", "files": [[1, 2]]}', encoding="utf-8"
    )


def with_a_seal_of_a_file_that_cannot_be(place: Path) -> None:
    seal = json.loads((place / "kept.json").read_text(encoding="utf-8"))
    seal["files"]["\0"] = ""
    (place / "kept.json").write_text(json.dumps(seal), encoding="utf-8")


def with_a_directory_for_a_table(place: Path) -> None:
    (place / "wear.parquet").unlink()
    (place / "wear.parquet").mkdir()


def missing(name: str) -> Callable[[Path], None]:
    return lambda place: (place / name).unlink()


def with_a_table_of_another(place: Path) -> None:
    shutil.copy(place / "wear.parquet", place / "locality.parquet")


def a_file(place: Path) -> None:
    shutil.rmtree(place)
    place.write_text("mine", encoding="utf-8")


def test_what_a_killed_process_left_goes(tmp_path: Path, runs: list[Run]) -> None:
    grid = Grid(tmp_path / "runs")
    grid.run(runs[:1])
    left = tmp_path / "runs" / ".ftlab-0123456789abcdef.staging"
    for done in (runs[:1], runs):
        # Also where nothing is left to run.
        left.mkdir()
        (left / ".owner").write_text("", encoding="utf-8")
        (left / "run").mkdir()
        grid.run(done)
        assert not left.exists()
    assert not [place for place in (tmp_path / "runs").iterdir() if place.name.startswith(".")]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (missing("series.parquet"), "series.parquet is missing"),
        (missing("summary.json"), "summary.json is missing"),
        (missing("wear.parquet"), "wear.parquet is missing"),
        (cut, "series.parquet has been changed"),
        (changed, "summary.json has been changed"),
        (with_a_table_of_another, "locality.parquet does not belong to it"),
        (without_seal, "kept.json is missing"),
        (with_a_broken_seal, "kept.json cannot be read"),
        (with_a_seal_of_another_shape, "kept.json cannot be read"),
        (with_a_seal_too_deep, "kept.json cannot be read"),
        (with_a_seal_of_numbers, "kept.json cannot be read"),
        (with_a_seal_of_a_file_that_cannot_be, "kept.json cannot be read"),
        (with_a_directory_for_a_table, "wear.parquet cannot be read: Is a directory"),
        (a_file, "it is a file"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else value.__name__,
)
def test_a_damaged_run_is_run_anew(
    damage: Callable[[Path], None], words: str, runs: list[Run], tmp_path: Path
) -> None:
    grid = Grid(tmp_path / "runs")
    first = grid.run(runs)
    place, other = (place_of(grid.directory, run) for run in runs)
    damage(place)
    untouched = (other / "summary.json").stat().st_mtime_ns
    said = io.StringIO()
    again = grid.run(runs, Tell(said))
    assert [again[key].summary["waf"] for key in "FD"] == [first[key].summary["waf"] for key in "FD"]
    assert words in said.getvalue() and str(place) in said.getvalue() and "`F`" in said.getvalue()
    assert said.getvalue().count("\n") == 1 and "set aside" in said.getvalue()
    assert (other / "summary.json").stat().st_mtime_ns == untouched
    # What is there now is whole, and what was there is not lost.
    said.truncate(0)
    grid.run(runs, Tell(said))
    assert said.getvalue() == ""
    assert place.with_name(f"{place.name}.set-aside").exists()


def test_another_runs_result_is_not_taken(runs: list[Run], tmp_path: Path) -> None:
    grid = Grid(tmp_path / "runs")
    first = grid.run(runs)
    ours, other = (place_of(grid.directory, run) for run in runs)
    shutil.rmtree(ours)
    shutil.copytree(other, ours)
    said = io.StringIO()
    again = grid.run(runs, Tell(said))
    assert "it is the result of another run" in said.getvalue()
    assert again["F"].summary["config"] == first["F"].summary["config"]
    assert again["F"].summary["config"] != again["D"].summary["config"]
    aside = Result.load(ours.with_name(f"{ours.name}.set-aside"))
    assert aside.summary == first["D"].summary


def test_what_is_set_aside_twice_is_there_twice(runs: list[Run], tmp_path: Path) -> None:
    grid = Grid(tmp_path / "runs")
    for words in ("one", "two"):
        grid.run(runs)
        place = place_of(grid.directory, runs[0])
        (place / "summary.json").write_text(words, encoding="utf-8")
    grid.run(runs)
    found = [
        (place.name, (place / "summary.json").read_text()) for place in grid.directory.glob("*.set-aside*")
    ]
    assert sorted(found) == [(f"{place.name}.set-aside", "one"), (f"{place.name}.set-aside-2", "two")]


def test_what_another_process_kept_meanwhile_stays(tmp_path: Path) -> None:
    store, key = Store(tmp_path), "ab" * 32
    store.keep(key, lambda place: (place / "figures").write_text("1"))
    first = (tmp_path / key[:20] / "figures").stat().st_mtime_ns
    assert store.keep(key, lambda place: (place / "figures").write_text("1")) == 1
    assert [place.name for place in tmp_path.iterdir()] == [key[:20]]
    assert (tmp_path / key[:20] / "figures").stat().st_mtime_ns == first


def test_a_run_that_fails_leaves_what_is_there(
    runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = Grid(tmp_path / "runs")
    grid.run(runs)
    place = place_of(grid.directory, runs[0])
    changed(place)
    before = (place / "summary.json").read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("failed")

    monkeypatch.setattr("ftlab.api.simulation.Job.run", fail)
    with pytest.raises(RuntimeError, match="failed"):
        grid.run(runs)
    assert (place / "summary.json").read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "another"])
def test_a_damaged_timeline_is_recorded_anew(damage: str, runs: list[Run], tmp_path: Path) -> None:
    directory = tmp_path / "timelines"
    windows = [(0.0, 20.0), (20.0, 60.0)]
    first, other = (gcf_lanes.record(runs[0], window, directory, Tell()) for window in windows)
    assert first != other and any(lane.operations for lane in first)
    places = sorted(directory.iterdir(), key=lambda place: place.stat().st_mtime_ns)
    files = [next(file for file in place.iterdir() if file.name != "kept.json") for place in places]
    if damage == "cut":
        files[0].write_bytes(files[0].read_bytes()[:-10])
    else:
        shutil.rmtree(places[0])
        shutil.copytree(places[1], places[0])
    said = io.StringIO()
    assert gcf_lanes.record(runs[0], windows[0], directory, Tell(said)) == first
    assert said.getvalue().count("\n") == 1
    assert gcf_lanes.record(runs[0], windows[1], directory, Tell(said)) == other
    assert said.getvalue().count("\n") == 1


def test_a_seal_says_what_is_sealed(runs: list[Run], tmp_path: Path) -> None:
    grid = Grid(tmp_path / "runs")
    grid.run(runs[:1])
    place = place_of(grid.directory, runs[0])
    seal = json.loads((place / "kept.json").read_text(encoding="utf-8"))
    assert seal["schema"] == "ftlab.kept/1" and seal["is"] == runs[0].key()
    assert set(seal["files"]) == {file.name for file in place.iterdir()} - {"kept.json"}


def test_what_belongs_to_the_user_may_lie_beside_unseen(runs: list[Run], tmp_path: Path) -> None:
    grid = Grid(tmp_path / "runs")
    grid.run(runs)
    (place_of(grid.directory, runs[0]) / ".DS_Store").write_text("a file manager's", encoding="utf-8")
    said = io.StringIO()
    grid.run(runs, Tell(said))
    assert said.getvalue() == ""


def test_a_full_disk_is_an_error_for_people(
    runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("ftlab.results.kept._seal", full)
    with pytest.raises(InputError, match=r"cannot write to .*: No space left on device"):
        Grid(tmp_path / "runs").run(runs)
    assert not list((tmp_path / "runs").iterdir())
