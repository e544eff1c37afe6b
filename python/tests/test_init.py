"""`ftlab init`: a drive from a datasheet's numbers is one of today, whatever the numbers are."""

from __future__ import annotations

import os
import random
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ftlab as package
from ftlab.base.quantities import in_bytes
from ftlab.cli import init
from ftlab.results.overload import overload

Ftlab = Callable[..., Any]


def test_what_no_datasheet_says_is_that_of_the_preset() -> None:
    """Nothing drifts: every key that is not asked for has the preset's value, or is meant to differ."""
    own, preset = package.resolve(init.written({})), package.resolve(init.PRESET)
    load = {"replay", "queue_depth", "time_scale"}
    asked = {number.key.rpartition(".")[2] for number in init.NUMBERS} | {"blocks_per_plane", "timing"}
    for section, kept in (("device", asked), ("host", load), ("ftl", set())):
        for key in own[section].keys() - kept:
            assert own[section][key] == preset[section][key], f"{section}.{key}"
    times = {"read", "program", "erase", "channel_rate"}
    assert {k: v for k, v in own["device"]["timing"].items() if k not in times} == {
        k: v for k, v in preset["device"]["timing"].items() if k not in times
    }
    # What makes it one of today, by name: these the preset may not lose.
    assert own["device"]["program_suspend"] != "off" and own["device"]["erase_suspend"] != "off"
    assert "paced" in own["ftl"]["gc_schedule"] and "twin" in own["ftl"]["reclaim_unit"]
    assert own["host"]["link"] != "off" and own["ftl"]["scheduler"]["paq"]["max_wait"] == "5ms"


def test_every_line_has_a_word_to_it() -> None:
    lines = [line for line in init.written({}).splitlines() if " = " in line]
    assert len(lines) > 40 and all(re.search(r" # \S", line) for line in lines)


def _refused(toml: str) -> str | None:
    try:
        init.check(toml)
    except package.ConfigError as error:
        return str(error)
    return None


def test_any_datasheet_gives_a_device_that_can_be() -> None:
    """The buffer, the units and the blocks held free fit what they are on."""
    chosen = random.Random(1)
    for _ in range(150):
        cell = chosen.choice(("slc", "mlc", "tlc", "qlc"))
        bits = ("slc", "mlc", "tlc", "qlc").index(cell) + 1
        page = chosen.choice(("512B", "2KiB", "4KiB", "16KiB", "18KiB", "32KiB"))
        given = {
            "device.cell": cell,
            "device.channels": chosen.choice("128"),
            "device.chips_per_channel": chosen.choice("12"),
            "device.planes_per_die": chosen.choice("1234"),
            "device.pages_per_block": str(bits * chosen.choice((16, 32, 64))),
            "device.page_size": page,
            "device.user_capacity": chosen.choice(("18MiB", "9GiB", "72GiB")) if page == "18KiB"
            else chosen.choice(("64MiB", "1GiB", "16GiB", "64GB")),
            "device.over_provisioning": chosen.choice(("7%", "12%", "28%")),
        }  # fmt: skip
        toml = init.written(given)
        if (refused := _refused(toml)) is not None:
            # So few blocks that no policy would do.
            assert "fewer `--channels`" in refused or "none of the" in refused
            continue
        config = package.resolve(tomllib.loads(toml))
        assert ("twin" in config["ftl"]["reclaim_unit"]) == (given["device.planes_per_die"] != "1")
        size = in_bytes(config["ftl"]["write_buffer"]["fifo"]["size"])
        assert size <= max(in_bytes(page), in_bytes(config["device"]["user_capacity"]) / init.BUFFER_SHARE)
        assert config["device"]["over_provisioning"] >= float(given["device.over_provisioning"][:-1]) / 100
        few = init.spare_blocks(config) < init.FEW
        assert config["ftl"]["gc_schedule"]["paced"]["low"] == (1 if few else 2)


def test_a_spare_that_is_not_given_leaves_room_beside_what_gc_holds() -> None:
    for capacity, channels, spare, blocks in (
        ("2TiB", "8", 0.072, 128),
        ("96GiB", "8", 0.094, 8),
        ("1GiB", "1", 0.28, 2),
    ):
        given = {"device.user_capacity": capacity, "device.channels": channels}
        config = init.check(init.written(given))
        assert spare <= config["device"]["over_provisioning"] and init.spare_blocks(config) >= blocks


def test_hardly_a_block_to_spare_is_said(ftlab: Ftlab) -> None:
    assert (
        "note: of 69 blocks of a plane 5 are spare"
        in ftlab("init", "a.toml", *WHOLE.split(), "--op", "7%").stdout
    )
    assert "note" not in ftlab("init", "b.toml", "--capacity", "512GiB").stdout


def test_a_small_one_runs() -> None:
    for cell, planes, block, page, capacity in (
        ("mlc", "1", "32", "2KiB", "64MiB"),
        ("qlc", "2", "64", "4KiB", "64MiB"),
        ("slc", "4", "16", "16KiB", "96MiB"),
    ):
        toml = init.written({
            "device.channels": "1", "device.chips_per_channel": "1", "device.planes_per_die": planes,
            "device.cell": cell, "device.pages_per_block": block, "device.page_size": page,
            "device.user_capacity": capacity,
        })  # fmt: skip
        assert package.run(tomllib.loads(toml)).summary["host"]["iops"] > 0


# The datasheet of a drive; the test takes a quarter of its dies and of its flash.
DATASHEET = "--planes 4 --t-read 45us --t-program 600us --t-erase 4ms --rate 1600MT/s"
WHOLE = f"--channels 8 --chips 4 {DATASHEET} --capacity 96GiB"
QUARTER = f"--channels 4 --chips 2 {DATASHEET} --capacity 24GiB"


def tpcb(transactions: int, rate: float, footprint: int) -> Iterator[str]:
    """A load like TPC-B: each transaction reads a page of accounts, at times two, writes and flushes a log record,
    and a page that an earlier one changed is written.
    """
    chance = random.Random(1)
    pages = footprint // 8192
    now, log = 0.0, 0
    for _ in range(transactions):
        now += chance.expovariate(rate)
        at = int(now * 1e7)
        for _ in range(1 + (chance.random() < 0.5)):
            yield f"{at},tpcb,0,Read,{chance.randrange(pages) * 8192},8192,0"
        yield f"{at + 2000},tpcb,0,Write,{footprint + log % 2**28},8192,0"
        yield f"{at + 2001},tpcb,0,Flush,0,0,0"
        yield f"{at + 2500},tpcb,0,Write,{chance.randrange(pages) * 8192},8192,0"
        log += 8192


@pytest.mark.parametrize("size", ["quarter", "whole"])
def test_a_datasheet_and_a_database_without_tuning(ftlab: Ftlab, tmp_path: Path, size: str) -> None:
    """`init` and `run` alone give reads a p99.9 below 1 ms, at a WAF that is stated."""
    if size == "whole" and not os.environ.get("FTLAB_LONG"):
        pytest.skip("half a minute; FTLAB_LONG=1 runs it")
    words, parts = (WHOLE, 4) if size == "whole" else (QUARTER, 1)
    lines = sorted(
        tpcb(30_000 * parts, 500 * parts, 6 * parts * 2**30), key=lambda line: int(line.partition(",")[0])
    )
    (tmp_path / "tpcb.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ftlab("init", "drive.toml", *words.split(), "--trace", "tpcb.csv")
    said = ftlab("run", "drive.toml", "--out", "out").stdout
    result = package.Result.load(tmp_path / "out")
    assert overload(result) is None and "overloaded" not in said
    assert result.summary["host"]["read_latency_us"]["p999"] < 1000
    assert f"WAF {result.summary['waf']:.3f}" in said
