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
    assert "expected one of `steady`, `end-of-life`" in capsys.readouterr().err


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
    assert logs["SMART"]["avail_spare"] == 0
    assert logs["SMART"]["media_errors"] == summary["host"]["failed_reads"]
    rated = 30 / 729 ** (1 / 8)
    assert logs["C0h"]["Endurance estimate"] == round(rated * 80 * 32 * 4096)
    used = 100 * summary["wear"]["effective_erases"]["mean"] / rated
    assert logs["SMART"]["percent_used"] == int(used) > 100
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


def test_the_log_of_a_real_drive_stands_beside_a_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ftlab.run(DRIVE, out=tmp_path / "out", plots=False)
    files = {
        # As nvme-cli 2 prints them: texts with commas, halves of 128 bits, objects in objects.
        "smart.json": {"critical_warning": {"value": 0}, "percent_used": 4, "data_units_written": "2,000"},
        "ocp.json": {
            "log": {"Physical media units written": {"hi": 0, "lo": 2_560_000_000}, "Percent free blocks": 3}
        },
    }
    options = ["--json"]
    for name, log in files.items():
        (tmp_path / name).write_text(json.dumps(log), encoding="utf-8")
        options += ["--read", str(tmp_path / name)]
    assert main(["smart", str(tmp_path / "out"), *options]) == 0
    made = json.loads(capsys.readouterr().out)
    # 2,560 MB ÷ 2,000 × 512,000 bytes; 4 % of the life are 1.024 GB.
    assert made["drive"]["waf"] == 2.5 and made["drive"]["tbw_bytes"] == 25.6e9
    assert made["simulated"]["fields"]["percent_used"] == 0 and made["simulated"]["waf"] >= 1
    assert main(["smart", *options[1:]]) == 0
    told = capsys.readouterr().out
    assert "WAF" in told and "25.6 GB" in told and "simulated" not in told


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("no json", "is not JSON"),
        ('{"model": 3}', "no field of a drive's log"),
        ("[]", "no field"),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_log_is_refused(
    content: str | None, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "log.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    assert main(["smart", "--read", str(file)]) == 2
    told = capsys.readouterr().err
    assert words in told and "nvme smart-log -o json" in told
    assert main(["smart"]) == 2
    assert "`--read FILE`" in capsys.readouterr().err
