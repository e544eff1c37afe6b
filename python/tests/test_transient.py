"""Runs that are too short for a write amplification say so, and those that are not do not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import samples

import ftlab
from ftlab import Comparison, Result
from ftlab.cli.main import main
from ftlab.results import text
from ftlab.results.transient import DRIFT, too_short

SMALL = {
    "device.channels": 2, "device.chips_per_channel": 1, "device.blocks_per_plane": 64,
    "device.over_provisioning": 0.25, "run.executor": "count",
}  # fmt: skip
"""Of `tbm-small`: 512 blocks of 2 MiB, aged by one user capacity of uniform writes."""


def ran(**sets: Any) -> Result:
    return ftlab.run("tbm-small", sets=SMALL | {key.replace("__", "."): value for key, value in sets.items()})


def note_of(result: Result) -> str:
    told = [note for note in text.notes(result) if note.startswith("too short for a WAF: ")]
    assert len(told) == 1, told
    assert result.summary["notes"].count(told[0]) == 1
    return told[0]


def given(note: str) -> dict[str, str]:
    """The settings that a note advises."""
    found = re.search(r"\(`((?:--set \S+ ?)+)`\)", note)
    assert found is not None, note
    return dict(word.split("=") for word in found[1].removeprefix("--set ").split(" --set "))


@pytest.mark.parametrize(
    ("sets", "why"),
    [
        ({"run__precondition": "none"}, "no block was erased; "),
        ({"run__precondition": {"sequential": "1x"}, "workload__volume": "0.1x"}, "no block was erased; "),
        ({"run__precondition": "none", "workload__volume": "2x"}, "it was 1.00 in the first half of what was "),
        ({"workload__volume": "0.02x"}, "only 24 blocks were erased; "),
        ({"workload__generator": {"zipf": {"z": 0.9}}, "workload__volume": "0.1x"}, "26 % of the flash was written"),
    ],
)  # fmt: skip
def test_a_transient_is_told_with_what_would_be_enough(sets: dict[str, Any], why: str) -> None:
    result = ran(**sets)
    note = note_of(result)
    assert note.startswith(f"too short for a WAF: {why}"), note
    assert "write at least" in note
    more = ran(**sets | {key.replace(".", "__"): value for key, value in given(note).items()})
    assert more.summary["host"]["bytes_written"] > 1.5 * result.summary["host"]["bytes_written"]
    # Whatever it still lacks is not what it lacked.
    assert not [told for told in text.notes(more) if why in told]


def test_a_run_in_the_steady_state_is_not_too_short() -> None:
    for sets in (
        {"workload__volume": "0.1x"},
        {"workload__volume": "0.1x", "run__precondition": "steady"},
        {
            "workload__volume": "0.1x",
            "run__precondition": "steady",
            "workload__generator": {"zipf": {"z": 0.9}},
        },
        {"workload__volume": "0.1x", "workload__request_size": "4KiB"},
        {"workload__volume": "0.1x", "ftl__write_buffer": "lru"},
        {"workload__read_fraction": 1.0, "workload__requests": 100, "workload__volume": "1x"},
    ):
        result = ran(**sets)
        assert too_short(result) is None, sets
        assert "notes" in result.summary


def test_the_steady_state_that_a_note_advises_is_one() -> None:
    sets: dict[str, Any] = {"workload__generator": {"zipf": {"z": 0.9}}, "workload__volume": "0.1x"}
    assert note_of(ran(**sets)).endswith("or begin in the steady state (`--set run.precondition=steady`)")
    assert too_short(ran(**sets, run__precondition="steady")) is None


def test_an_end_in_requests_is_raised_in_requests(tmp_path: Path) -> None:
    note = note_of(ran(workload__requests=1000))
    assert given(note) == {"workload.requests": "8334"}
    trace = tmp_path / "t.csv"
    trace.write_text(
        "".join(f"{i * 10000},h,0,Write,{i % 50 * 8192},8192,0\n" for i in range(200)), encoding="utf-8"
    )
    result = ftlab.run("tbm-small", trace=trace, sets=SMALL)
    assert list(given(note_of(result))) == ["workload.volume"]


def test_the_halves_that_are_compared_are_halves_of_what_was_written() -> None:
    result = samples.result()
    assert too_short(result) is None
    series = result.series
    series["page_programs"] = series["host_page_programs"] * 2
    late = (series["axis"] == "volume") & (series["host_written_gb"] > series["host_written_gb"].max() / 2)
    series["page_programs"][late] += 20
    assert too_short(result) is None
    series["page_programs"][late] += 100
    found = too_short(result)
    assert found is not None
    assert found.why == "it was 2.00 in the first half of what was written and 2.48 in the second"
    assert abs(2.48 / 2.24 - 1) > DRIFT > abs(2.08 / 2.04 - 1)


def test_everybody_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    short = [*sets, "--set", "workload.volume=0.02x"]
    assert main(["run", "tbm-small", *short, "--json", "--out", str(tmp_path / "run")]) == 0
    told = json.loads(capsys.readouterr().out)["notes"]
    assert len(told) == 1 and told[0].startswith("too short for a WAF: only 24 blocks were erased")
    assert json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))["notes"] == told
    assert main(["run", "tbm-small", *short]) == 0
    assert " ".join(told[0].split()) in " ".join(capsys.readouterr().out.split())
    assert main(["compare", "tbm-small", *short, "--vary", "ftl.victim=greedy,fifo", "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any(
        re.match(r"too short for a WAF: greedy, only \d+ blocks were erased; fifo, only", note)
        for note in notes
    )
    assert main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "page.html")]) == 0
    assert "too short for a WAF: only 24 blocks" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_shared_state_leaves_the_notes_of_the_run_itself(tmp_path: Path) -> None:
    spec = {
        "config": "tbm-small", "set": {**SMALL, "workload.volume": "0.1x", "run.precondition": "steady"},
        "grid": {"ftl.scheduler": ["fifo", "paq"]},
    }  # fmt: skip
    ftlab.sweep(spec, out=tmp_path / "out", jobs=1)
    kept = [
        json.loads(file.read_text(encoding="utf-8"))
        for file in (tmp_path / "out" / "runs").glob("*/summary.json")
    ]
    assert len(kept) == 2
    assert all(summary["notes"] == [] for summary in kept)


def test_runs_of_a_comparison_share_the_cure_of_the_one_that_needs_most() -> None:
    runs = {name: samples.result() for name in ("a", "b", "c")}
    for name, erases in (("a", 50), ("b", 10)):
        runs[name].summary["flash"]["block_erases"] = erases
    [note] = [note for note in Comparison(runs).notes if note.startswith("too short")]
    assert note.startswith(
        "too short for a WAF: a, only 50 blocks were erased; b, only 10 blocks were erased; write at"
    )
    assert note.count("--set workload.volume=14x") == 1
