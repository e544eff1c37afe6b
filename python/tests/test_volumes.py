"""Traces of many volumes: divided in one pass, swept over, and how WAF is spread over them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import Ftlab

import ftlab

CONFIG = """\
# A device that is as large as its volume.
[device]
channels = 1
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
pages_per_block = 8
page_size = "4KiB"
cell = "slc"
multiplane = "off"

[run]
executor = "count"
precondition.sequential = "1x"
"""

SIZES = (256, 512, 1024)
"""Pages of the volumes."""


def alibaba(path: Path, requests: int = 20_000) -> Path:
    """A trace of volumes that write single pages, the first without an order and the others more and more to a few."""
    rng = np.random.default_rng(1)
    volume = rng.integers(0, len(SIZES), requests)
    size = np.array(SIZES)[volume]
    page = (rng.random(requests) ** (1 + 2 * volume) * size).astype(int)
    lines = (
        f"{v},W,{p * 4096},4096,{1_577_808_000_000_000 + i}"
        for i, (v, p) in enumerate(zip(volume, page, strict=True))
    )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def divided(ftlab: Ftlab, tmp_path: Path) -> Path:
    trace = alibaba(tmp_path / "all.csv")
    told = ftlab("trace", "split", trace, "volumes", "--memory", "1MiB").stdout
    assert "volumes   3" in told
    return tmp_path / "volumes"


def test_a_volume_has_what_the_trace_has_of_it(ftlab: Ftlab, divided: Path, tmp_path: Path) -> None:
    made = json.loads((divided / "volumes.json").read_text(encoding="utf-8"))
    assert made["trace"] == str(tmp_path / "all.csv")
    assert sum(volume["requests"] for volume in made["volumes"]) == 20_000
    for volume, pages in zip(made["volumes"], SIZES, strict=True):
        info = json.loads(ftlab("trace", "info", divided / volume["file"], "--json").stdout)
        assert info["bytes_written"] == volume["bytes_written"]
        assert info["highest_offset_bytes"] == volume["end_bytes"] <= pages * 4096


def test_split_goes_into_a_new_directory_only(ftlab: Ftlab, divided: Path, tmp_path: Path) -> None:
    refused = ftlab("trace", "split", tmp_path / "all.csv", divided, code=2).stderr
    assert "is there already" in refused
    refused = ftlab("trace", "split", tmp_path / "all.csv", "other", "--memory", "12", code=2).stderr
    assert "1MiB" in refused
    assert not (tmp_path / "other").exists()


def spec(divided: Path, tmp_path: Path) -> dict[str, object]:
    config = tmp_path / "device.toml"
    config.write_text(CONFIG, encoding="utf-8")
    return {
        "config": str(config),
        "volumes": str(divided),
        "set": {"op": 1.0},
        "grid": {"separation": ["none", "host-gc"], "seed": [1, 2]},
    }


def test_a_sweep_over_volumes_says_how_waf_is_spread(divided: Path, tmp_path: Path) -> None:
    made = ftlab.sweep(spec(divided, tmp_path), out=tmp_path / "out")
    assert made.statuses == {"ok": 12}
    assert made.factors == ("volume", "separation", "seed")
    assert made.volumes is not None
    rows = {row["separation"]: row for row in made.volumes.to_pylist()}
    assert set(rows) == {"none", "host-gc"}
    for name, row in rows.items():
        runs = [run for run in made.table.to_pylist() if run["separation"] == name]
        by_volume = [np.mean([run["waf"] for run in runs if run["volume"] == volume]) for volume in range(3)]
        assert row["volumes"] == 3
        assert row["left_out"] == 0
        assert row["waf_p50"] == pytest.approx(sorted(by_volume)[1])
        assert row["waf_lowest"] == pytest.approx(min(by_volume))
        written = sum(run["host_bytes_written"] for run in runs)
        assert row["waf_all"] == pytest.approx(
            sum(run["waf"] * run["host_bytes_written"] for run in runs) / written
        )
    assert (tmp_path / "out/volumes.png").stat().st_size > 5000
    again = ftlab.Sweep.load(tmp_path / "out")
    assert again.volumes is not None
    kept = pq.read_table(tmp_path / "out/volumes.parquet")
    assert again.volumes.to_pylist() == made.volumes.to_pylist() == kept.to_pylist()
    # Devices are as large as their volumes, in whole MiB.
    summaries = [
        json.loads(file.read_text("utf-8")) for file in (tmp_path / "out/runs").glob("**/summary.json")
    ]
    assert {one["config"]["device"]["user_capacity"] for one in summaries} == {"1MiB", "2MiB", "4MiB"}


def test_volumes_are_taken_up_again_and_those_that_write_little_left_out(
    ftlab: Ftlab, divided: Path, tmp_path: Path
) -> None:
    (tmp_path / "device.toml").write_text(CONFIG, encoding="utf-8")
    text = 'config = "device.toml"\nvolumes = { from = "volumes", written = "1MiB" }\nset.op = 1.0\n'
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    told = ftlab("sweep", "s.toml").stdout
    assert "3 runs: 3 ok" in told
    assert "WAF of all" in told
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "out/s/runs").glob("**/summary.json")}
    assert ftlab("sweep", "s.toml").stdout == told
    assert before == {
        file: file.stat().st_mtime_ns for file in (tmp_path / "out/s/runs").glob("**/summary.json")
    }
    (tmp_path / "s.toml").write_text(text.replace("1MiB", "1GiB"), encoding="utf-8")
    assert "none of 3 volumes writes as much" in ftlab("sweep", "s.toml", code=2).stderr


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("missing", ["missing/volumes.json", "ftlab trace split"]),
        (3, ["cannot be `3`", "a directory"]),
        ({"from": "volumes", "least": 1}, ["a directory"]),
        ({"from": "volumes", "written": "much"}, ["a size"]),
    ],
)
def test_what_are_no_volumes_is_refused(given: object, words: list[str]) -> None:
    with pytest.raises(ftlab.Error) as refused:
        ftlab.sweep({"config": "tbm-small", "volumes": given})
    for word in words:
        assert word in str(refused.value)


def test_a_trace_and_volumes_are_one_too_many(divided: Path, tmp_path: Path) -> None:
    with pytest.raises(ftlab.ConfigError, match="given twice"):
        ftlab.sweep({**spec(divided, tmp_path), "trace": "all.csv"})
