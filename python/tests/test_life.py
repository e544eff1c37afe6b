"""`ftlab life`: the arithmetic, the steady state, which drive is taken, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ftlab
from ftlab.cli.main import main
from ftlab.lives import arithmetic, end
from ftlab.lives.asked import Case, Load
from ftlab.lives.life import Life, Row, life
from ftlab.lives.steady import Steady, parts, prepared
from ftlab.theory.formulas import greedy

DRIVE = """
[device]
channels = 2
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 100
pages_per_block = 32
page_size = "4KiB"
cell = "slc"
over_provisioning = 0.28
timing = { read = "50us", program = "200us", erase = "2ms", channel_rate = "400MT/s" }

[ftl]
allocation = "CWDP"

[workload]
generator = "uniform"
request_size = "4KiB"
read_fraction = 0
requests = 100
"""

RAW = 2 * 100 * 32 * 4096


def trace(writes: int = 2000) -> dict[str, Any]:
    """Random writes and reads of 4 KiB over 16 MiB in 100 s."""
    rng = np.random.default_rng(3)
    return {
        "time": np.linspace(0, 100, 2 * writes), "op": np.tile(["W", "R"], writes),
        "offset": rng.integers(0, 4096, 2 * writes) * 4096, "size": np.full(2 * writes, 4096),
    }  # fmt: skip


def test_the_arithmetic_is_that_by_hand() -> None:
    # 3,000 cycles of 1 TB at a WAF of 2 are 1.5 PB; at 1 TB a day that is 1,500 days.
    tbw = arithmetic.written(3000, 10**12, 2.0)
    assert tbw == 1.5e15
    assert arithmetic.years(tbw, 1e12) == 1500 / 365
    assert arithmetic.drive_writes(tbw, 800 * 10**9, 5) == 1.5e15 / 8e11 / 1825
    assert arithmetic.written(3000, 10**12, 2.0, 0.25) == 1.5e15 / 4


def test_the_blocks_that_wear_are_told_from_their_erases() -> None:
    # A quarter of the blocks has all erases: c² = 3.
    assert arithmetic.share_that_wears([0] * 300 + [4000] * 100) == pytest.approx(0.25, rel=1e-3)
    even = np.random.default_rng(1).poisson(20, 4000).tolist()
    assert arithmetic.share_that_wears(even) == pytest.approx(1, abs=0.01)
    assert arithmetic.share_that_wears([0, 0]) == 1


def test_the_interval_is_that_of_batch_means() -> None:
    # Standard deviation 1 of 4 batches: t of 3 degrees ÷ 2.
    assert arithmetic.half_width([1, 3, 1, 3], [1] * 4) == pytest.approx(3.182 * np.sqrt(4 / 3) / 2)
    assert arithmetic.half_width([2.0], [1.0]) == float("inf")


def test_a_drive_lives_as_long_as_its_rating_says() -> None:
    found = life(DRIVE, rated_pe=3000, per_day="1GB", spares=[0.5], years=1)
    own, other = found.rows
    drive = found.to_json()["drives"][0]
    assert drive["raw_bytes"] == RAW
    assert drive["tbw_bytes"] == 3000 * RAW * drive["share_that_wears"] / drive["waf"]
    assert drive["years"] == drive["tbw_bytes"] / 1e9 / 365
    assert drive["years_low"] < drive["years"] < drive["years_high"]
    # Greedy under uniform writes; the blocks that are open or free are no spare.
    assert drive["waf"] == pytest.approx(greedy(1 / (1 + own.case.spare), 32), rel=0.1)
    assert other.steady is not None and other.steady.waf < drive["waf"]
    assert other.case.spare == pytest.approx(0.5, abs=0.02)


def test_a_device_is_aged_by_its_own_trace() -> None:
    sets = {"run.precondition": "workload", "run.executor": "count", "workload.rounds": 1}
    aged = ftlab.run(DRIVE, trace=trace(), sets=sets).summary["precondition"]
    assert aged["kind"] == "workload" and aged["settled"] and aged["waf"] > 1.2
    # As long a run of the trace behind a fill ends at that WAF.
    long = {**sets, "run.precondition": {"sequential": "1x"}, "workload.rounds": 60}
    series = ftlab.run(DRIVE, trace=trace(), sets=long).series
    later = series["waf"][series["axis"] == "volume"][-40:]
    assert aged["waf"] == pytest.approx(np.nanmean(later), rel=0.05)
    reads = {**trace(), "op": np.full(4000, "R")}
    with pytest.raises(ftlab.InputError, match="the writes of the workload, and it has none"):
        ftlab.run(DRIVE, trace=reads, sets=sets)


def test_tenants_do_not_age_a_device() -> None:
    config = (
        DRIVE.partition("[workload]")[0] + '[[tenant]]\nname = "a"\ngenerator = "uniform"\nrequests = 10\n'
    )
    with pytest.raises(ftlab.ConfigError, match="the requests of tenants and of jobs have no order"):
        ftlab.run(config, sets={"run.precondition": "workload"})


def test_runs_begin_in_the_steady_state(tmp_path: Path) -> None:
    made = ftlab.compare(
        {"drive": DRIVE}, vary={"device.over_provisioning": [0.28, 0.5]}, trace=trace(),
        sets={"run.executor": "count", "workload.rounds": 5}, until="steady",
    )  # fmt: skip
    assert all(each.summary["precondition"]["settled"] for each in made.results.values())
    assert not [
        note for each in made.results.values() for note in each.summary["notes"] if "too short" in note
    ]
    spec = {
        "config": {"drive": DRIVE},
        "set": {"run.executor": "count"},
        "grid": {"victim": ["greedy", "fifo"]},
    }
    table = ftlab.sweep(spec, until="steady").table
    assert table.column("precondition_settled").to_pylist() == [True, True]
    model = {"device.bad_blocks.weibull": {"factory": 0, "life": 20, "shape": 8}, "run.executor": "count"}
    ended = ftlab.sweep({**spec, "set": model}, until="end-of-life").table
    assert all(life > 0 for life in ended.column("end_of_life_lifetime_bytes").to_pylist())
    with pytest.raises(ftlab.InputError, match="no block of this device fails"):
        ftlab.compare({"a": DRIVE, "b": DRIVE}, until="end-of-life")


def test_a_trace_is_repeated_and_gives_the_rate() -> None:
    found = life(DRIVE, rated_pe=1000, trace=trace(), spares=[])
    (row,) = found.rows
    assert row.steady is not None and row.steady.result.summary["precondition"]["settled"]
    assert found.load.per_day == pytest.approx(2000 * 4096 / 100 * 86_400)
    assert row.steady.result.summary["workload"]["rounds"] > 1
    assert "covers" in found.notes[0] and "a day" in found.notes[0]


def test_the_end_of_life_is_that_of_a_run_to_the_end() -> None:
    blocks = {"device.bad_blocks.weibull": {"factory": 0.0, "rated_cycles": 120, "shape": 8}}
    ended = ftlab.run(DRIVE, sets={**blocks, "run.executor": "count"}, until="end-of-life").summary
    (row,) = life(DRIVE, sets=blocks, spares=[]).rows
    assert row.case.rated_pe == 120
    assert row.end == pytest.approx(ended["end_of_life"]["lifetime_bytes"], rel=0.05)


def test_a_life_by_its_rating_is_the_life_that_is_derived() -> None:
    sets = {"run.executor": "count", "device.wear.cycles_per_erase": 2}
    lifetimes = [
        ftlab.run(DRIVE, sets={**sets, "device.bad_blocks.weibull": model}, until="end-of-life").summary[
            "end_of_life"
        ]
        for model in ({"rated_cycles": 100, "shape": 6}, {"life": 300, "shape": 6})
    ]
    assert lifetimes[0] == lifetimes[1] and lifetimes[0]["reached"]


def test_units_fail_as_the_binomial_says() -> None:
    assert end.beyond(3, 1, 0.5) == pytest.approx(0.5)
    assert end.beyond(10, 10, 0.9) == 0
    blocks = end.Blocks(3000, 6, 0.0, 1, 1, 1, 0)
    # One block without spare ends at the median of its own life.
    assert blocks.cycles() == pytest.approx(3000 * np.log(2) ** (1 / 6))


def row(name: str, waf: float, price: float | None = None, *, raw: int = 10**12, spare: float = 0.25) -> Row:
    case = Case(name, name, None, None, raw, int(raw / (1 + spare)), 3000, None, price, True, True)  # type: ignore[arg-type]
    return Row(case, Steady(waf, 0.05 * waf, 1.0, 3.0, None))  # type: ignore[arg-type]


def test_the_cheapest_that_lives_long_enough_is_taken() -> None:
    load = Load("mail", 1e12)
    rows = [row("long", 0.75, 400), row("short", 3.0, 100), row("enough", 1.5, 200)]
    found = Life(rows, load, 5.0)
    # 3,000 TB ÷ 1.5 ÷ 365 days: 5.5 years.
    assert found.sentence == (
        "Take enough: it lives 5.5 years at 1 TB a day (5.2 to 5.8); the next cheaper, short, lives 2.7"
    )
    assert Life(rows[1:2], load, 5.0).sentence.startswith("None of these lives 5 years. Take short")
    # Without prices, less flash and less spare come first.
    rows = [row("large", 1.4, raw=2 * 10**12), row("small", 1.4)]
    assert Life(rows, load, 5.0).taken is rows[1]
    told = Life(rows[:1], Load("mail", None), 5.0).sentence
    assert told == "large takes 4,286 TB of writes (4,082 TB to 4,511 TB)"


def test_samples_are_parts_that_can_be_divided() -> None:
    device = ftlab.resolve("enterprise-tlc")["device"]
    assert parts(device)[0] == 168
    job = ftlab.api.simulation.Job.of("enterprise-tlc", [], None)
    assert prepared(job).resolve()["run"]["sample"] == "1/168"


def test_jobs_that_write_alike_are_one_workload(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.fio"
    jobs.write_text(
        "[global]\nbs=4k\nsize=100%\nnorandommap\n[w]\nrw=randwrite\nnumjobs=4\n[r]\nrw=randread\n",
        encoding="utf-8",
    )
    (row,) = life(DRIVE, rated_pe=3000, fio=jobs, spares=[]).rows
    (same,) = life(DRIVE, rated_pe=3000, spares=[]).rows
    assert row.steady is not None and same.steady is not None
    assert row.steady.result.summary["config"]["run"]["executor"] == "count"
    assert row.steady.waf == pytest.approx(same.steady.waf, rel=0.05)
    (only,) = life(DRIVE, rated_pe=3000, fio=jobs, section="w", spares=[]).rows
    assert only.steady is not None and only.steady.waf == row.steady.waf
    with pytest.raises(ftlab.InputError, match="the jobs write nothing"):
        life(DRIVE, rated_pe=3000, fio=jobs, section="r", spares=[])


def test_latencies_are_of_the_steady_state() -> None:
    found = life(DRIVE, rated_pe=3000, trace=trace(), spares=[], latency=True)
    # A read takes its array time at least, and p99.9 is no less than the median.
    told = found.to_json()["drives"][0]["latency_us"]
    assert 50 < told["read"]["p50"] <= told["read"]["p999"] and told["write"]["p99"] > 200
    assert "read p99.9" in found.table()


@pytest.fixture
def drive(tmp_path: Path) -> str:
    file = tmp_path / "drive.toml"
    file.write_text(DRIVE, encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rated-pe", "0.5"], ["`--rated-pe` is 0.5", "1 or more"]),
        (["--rated-pe", "3000", "--per-day", "0"], ["no drive wears out", "1.2TB"]),
        (["--rated-pe", "3000", "--per-day", "much"], ["`much` is no amount", "0.5x"]),
        (["--rated-pe", "3000", "--spare", "7"], ["`7` is no spare", "`7%`"]),
        (["--rated-pe", "3000,1000"], ["2 values for 1 drive", "one for each"]),
        (["--rated-pe", "3000", "--years", "0"], ["`--years` is 0", "warranty"]),
        ([], ["P/E cycles of", "expected `--rated-pe`"]),
        (["--rated-pe", "3000", "--workload", "uniform", "--trace", "x"], ["`--workload` and a trace"]),
        (["--rated-pe", "3000", "--section", "x"], ["`--section` without `--fio`"]),
        (["--rated-pe", "3000", "--set", "workload.read_fraction=1"], ["reads only", "one with writes"]),
    ],
)
def test_what_cannot_be_is_refused(
    options: list[str], words: list[str], drive: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["life", drive, *options]) == 2
    told = capsys.readouterr().err
    for word in words:
        assert word in told


def test_a_trace_without_writes_or_past_the_drive_is_refused(
    drive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reads, far = tmp_path / "reads.csv", tmp_path / "far.csv"
    reads.write_text("time,op,offset,size\n0,R,0,4096\n1,R,4096,4096\n", encoding="utf-8")
    far.write_text("time,op,offset,size\n0,W,0,4096\n1,W,1099511627776,4096\n", encoding="utf-8")
    columns = ["--columns", "time=1,op=2,offset=3,size=4"]
    for file, words in ((reads, "has no writes"), (far, "expected a drive with 1.10 TB or more")):
        assert main(["life", drive, "--trace", str(file), *columns, "--rated-pe", "3000"]) == 2
        assert words in capsys.readouterr().err


def test_the_answer_is_written(drive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    command = [
        "life",
        drive,
        "--rated-pe",
        "3000",
        "--per-day",
        "0.5x",
        "--spare",
        "1%,40%",
        "--out",
        str(out),
    ]
    assert main([*command, "--rated-dwpd", "1", "--price", "99"]) == 0
    told = capsys.readouterr().out
    assert "40 % spare" in told and "rated" in told and "price" in told
    assert "too little spare" in told, "a spare that cannot be is a row with its reason"
    assert (out / "life.png").read_bytes()[:4] == b"\x89PNG"
    kept = json.loads((out / "life.json").read_text(encoding="utf-8"))
    assert [each["is_own_spare"] for each in kept["drives"]] == [True, False, False]
    assert "error" in kept["drives"][1] and kept["drives"][2]["waf"] > 1
    assert kept["sentence"].split(":")[0] in (out / "life.md").read_text(encoding="utf-8").replace("\\", "")
