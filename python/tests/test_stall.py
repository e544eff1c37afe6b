"""A run of which a request stood still says so, and what it names cures it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ftlab as package
from ftlab.cli import init
from ftlab.results.stall import stall
from ftlab.results.text import notes

OPEN = {
    "host.replay": "open", "workload.poisson": True, "workload.read_fraction": 0.5,
}  # fmt: skip
BURSTS = {
    **OPEN, "workload.interval": "200us", "workload.idle_every": 4000, "workload.idle_for": "12s",
    "workload.volume": "0.2x",
}  # fmt: skip
UNBUFFERED = {**BURSTS, "ftl.write_buffer": "none"}
WAVES = {
    **OPEN, "workload.read_fraction": 0.0, "workload.interval": "200us", "workload.idle_every": 2000,
    "workload.idle_for": "1700ms", "workload.volume": "0.3x",
}  # fmt: skip
READS = {**OPEN, "workload.interval": "60us", "workload.read_fraction": 0.97, "workload.volume": "0.05x",
         "ftl.write_buffer": "none"}  # fmt: skip
NO_SUSPEND = {"device.program_suspend": "off", "device.erase_suspend": "off"}

BROKEN: dict[str, tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], str]] = {
    "threshold": (
        "28%", UNBUFFERED, {"ftl.gc_schedule": "threshold"},
        {"ftl.gc_schedule": "paced"}, "whole collections in its way. Cure: `ftl.gc_schedule",
    ),
    "no suspends": (
        "15%", READS, {"ftl.scheduler": "fifo", **NO_SUSPEND},
        {"ftl.scheduler": "paq", "device.program_suspend": "reads", "device.erase_suspend": "reads"},
        '`ftl.scheduler = "paq"`, `device.erase_suspend = "reads"`, `device.program_suspend = "reads"`',
    ),
    "planes": (
        "28%", WAVES, {"ftl.reclaim_unit": "block"},
        {"ftl.reclaim_unit": "twin"}, "`ftl.reclaim_unit = \"twin\"`",
    ),
    "load": ("15%", READS, {"workload.interval": "53us"}, {"host.time_scale": 1.5}, "less load"),
    "spare": (
        "9%", BURSTS, {"workload.volume": "0.4x"}, {"device.over_provisioning": "28%"}, "`device.over_provisioning`",
    ),
    "depth": (
        "15%", {"workload.volume": "0.1x"}, {"host.queue_depth": 4096}, {"host.queue_depth": 64},
        "a queue of 4096 that is always full",
    ),
}  # fmt: skip


def drive(spare: str) -> dict[str, Any]:
    """A small drive that maps flash pages, for which the loads were chosen."""
    made = tomllib.loads(
        init.written({
            "device.channels": "2", "device.chips_per_channel": "1", "device.pages_per_block": "192",
            "device.user_capacity": "2GiB", "device.over_provisioning": spare,
        })
    )  # fmt: skip
    made["ftl"]["map_unit"] = "page"
    return made


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_named_cures_it(name: str) -> None:
    spare, load, fault, cure, words = BROKEN[name]
    broken = package.run(drive(spare), sets={**load, **fault})
    (said,) = [note for note in notes(broken) if note.startswith("the longest")]
    stood = stall(broken)
    assert words in said and stood is not None and stood.erases > 100
    assert f"as long as {stood.erases:,.0f} erases" in said
    spare = cure.pop("device.over_provisioning", spare)
    cured = package.run(drive(spare), sets={**load, **fault, **cure})
    assert not [note for note in notes(cured) if note.startswith(("the longest", "overloaded"))]


def test_an_overloaded_run_is_told_once() -> None:
    flooded = package.run(drive("15%"), sets={**READS, "workload.interval": "20us"})
    told = [note for note in notes(flooded) if note.startswith(("the longest", "overloaded"))]
    assert len(told) == 1 and told[0].startswith("overloaded")


def test_comparison_report_and_json_say_it(ftlab: Callable[..., Any], tmp_path: Path) -> None:
    ftlab(
        "init", "drive.toml", "--channels", "2", "--chips", "1", "--pages-per-block", "192", "--capacity", "2GiB",
        "--op", "28%",
    )  # fmt: skip
    load = [word for key, value in {**UNBUFFERED, "ftl.map_unit": "page"}.items()
            for word in ("--set", f"{key}={str(value).lower()}")]  # fmt: skip
    said = ftlab(
        "compare",
        "drive.toml",
        *load,
        "--vary",
        "ftl.gc_schedule=paced,threshold",
        "--out",
        "both",
    ).stdout
    (note,) = [line for line in said.splitlines() if "the longest write" in line]
    assert note.startswith("note: threshold: the longest write took") and '"paced"' in note
    assert "the longest write" in (tmp_path / "both/comparison.md").read_text(encoding="utf-8")
    (kept,) = json.loads((tmp_path / "both/comparison.json").read_text(encoding="utf-8"))["notes"]
    assert f"note: {kept}" == note
    ftlab("report", "both", "--out", "page.html")
    assert "the longest write" in (tmp_path / "page.html").read_text(encoding="utf-8")
    one = ftlab("run", "drive.toml", *load, "--set", "ftl.gc_schedule=threshold", "--json").stdout
    assert any("the longest write" in note for note in json.loads(one)["notes"])
