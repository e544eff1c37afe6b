"""Devices whose blocks fail: runs until their end, their lifetime, and drives' own names for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ftlab
from ftlab.cli.main import main
from ftlab.reports import cards
from ftlab.results import smart, text
from ftlab.results.comparison import figure_rows
from ftlab.results.result import Result

DOCS = Path(__file__).parents[2] / "docs"

DRIVE = """
[device]
channels = 1
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 2
blocks_per_plane = 40
pages_per_block = 32
page_size = "4KiB"
cell = "slc"
over_provisioning = 0.5
bad_blocks.weibull = { factory = 0.0, life = 30.0, shape = 8.0 }
timing = { read = "50us", program = "200us", erase = "2ms", channel_rate = "400MT/s" }

[ftl]
allocation = "CWDP"

[workload]
generator = "uniform"
request_size = "4KiB"
read_fraction = 0
requests = 100

[run]
executor = "count"
"""


def ended(**sets: object) -> Result:
    return ftlab.run(
        DRIVE, sets={key.replace("__", "."): value for key, value in sets.items()}, until="end-of-life"
    )


def test_a_run_goes_on_until_the_end_whatever_its_workload_says() -> None:
    summary = ended().summary
    end, host = summary["end_of_life"], summary["host"]
    assert end["reached"] and summary["policy"]["bad_blocks"]["read_only"] == 1
    assert end["lifetime_bytes"] == host["bytes_written"] > 100 * 4096
    # All blocks fail within a few cycles of 30: by then they took what the host wrote and what was moved for it.
    blocks, pages = 80, 32
    cycles = summary["waf"] * end["lifetime_bytes"] / (blocks * pages * 4096)
    assert 15 < cycles < 33
    assert not ftlab.run(DRIVE).summary["end_of_life"]["reached"]


def test_lifetime_follows_the_lives_of_blocks() -> None:
    # Twice the cycles are twice the bytes, where WAF is the same.
    once, twice = (ended(device__bad_blocks__weibull__life=life).summary for life in (30, 60))
    ratio = twice["end_of_life"]["lifetime_bytes"] / once["end_of_life"]["lifetime_bytes"]
    assert ratio == pytest.approx(2, rel=0.1)


def test_a_life_in_steps_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "drive.toml"
    file.write_text(DRIVE, encoding="utf-8")
    sets = ["device.bad_blocks.weibull.life=1000", "device.wear.cycles_per_erase=10"]
    told = []
    for age in ("none", "steady"):
        command = ["run", str(file), "--until", "end-of-life", "--json", "--out", str(tmp_path / age)]
        for each in (*sets, f"run.precondition={age}"):
            command += ["--set", each]
        assert main(command) == 0
        summary = json.loads(capsys.readouterr().out)
        assert "of the run" in smart.table(Result(summary))
        assert summary["end_of_life"]["lifetime_bytes"] == 10 * summary["host"]["bytes_written"]
        told.append(text.run_summary(Result(summary), "drive"))
    assert all("each erase stood for 10 P/E cycles" in shown for shown in told)
    assert "the life began before its WAF was steady" in told[0] and "was steady" not in told[1]


def test_a_report_has_the_lifetime() -> None:
    told = {card.key: card for card in cards.of_result(ended())}
    lifetime = told["end_of_life.lifetime_bytes"]
    assert lifetime.label == "Lifetime" and lifetime.raw and "drive writes" in lifetime.note
    assert told["policy.bad_blocks.spare"].raw == 0
    before = {card.key: card for card in cards.of_result(ftlab.run(DRIVE))}
    assert "end_of_life.lifetime_bytes" not in before and before["policy.bad_blocks.spare"].raw == 1


def test_a_device_without_an_end_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "drive.toml"
    file.write_text(DRIVE, encoding="utf-8")
    assert main(["run", str(file), "--set", "device.bad_blocks=none", "--until", "end-of-life"]) == 2
    assert "no block of this device fails" in capsys.readouterr().err
    assert main(["run", str(file), "--until", "tomorrow"]) == 2
    assert "expected `end-of-life`" in capsys.readouterr().err


def test_the_end_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, out = tmp_path / "drive.toml", tmp_path / "out"
    file.write_text(DRIVE, encoding="utf-8")
    assert main(["run", str(file), "--until", "end-of-life", "--out", str(out), "--no-plots"]) == 0
    told = capsys.readouterr().out
    assert "end of life after " in told and "it came early" not in told
    assert main(["run", str(file)]) == 0
    assert "can fail in the plane that has fewest to spare" in capsys.readouterr().out

    assert main(["smart", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len([field for field in smart.FIELDS if field.log not in (smart.FDP, smart.PLM)]) + 1
    assert main(["smart", str(out), "--json"]) == 0
    logs = json.loads(capsys.readouterr().out)
    summary = Result.load(out).summary
    assert logs["SMART"]["critical_warning"] == 8
    assert summary["policy"]["bad_blocks"]["exhausted"] == 0, "an end comes when nothing is spare any more"
    assert logs["SMART"]["available_spare"] == 0
    assert logs["SMART"]["media_errors"] == summary["host"]["failed_reads"]
    assert logs["C0h"]["Endurance estimate"] == summary["end_of_life"]["lifetime_bytes"]
    programs = summary["flash"]["page_programs"]
    assert logs["C0h"]["Physical media units written"] == programs * 4096
    assert logs["C0h"]["Max User data erase counts"] == summary["wear"]["erases"]["max"]


def test_lifetimes_are_compared() -> None:
    comparison = ftlab.compare(
        {"drive": DRIVE},
        sets={"workload.requests": 10_000_000},
        vary={"device.over_provisioning": [0.5, 1.0]},
    )
    rows = {row[0]: row[1:] for row in figure_rows(list(comparison.figures.values()))}
    assert len(rows["lifetime, bytes written"]) == 2


def test_the_table_of_names_is_that_of_the_command() -> None:
    assert smart.page() in (DOCS / "results.md").read_text(encoding="utf-8"), "write it anew: smart.page()"
