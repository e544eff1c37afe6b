"""Samples of a device: what they say of the whole, what is refused, and that they come near."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Ftlab

import ftlab
from ftlab.results.sampling import estimate

WHOLE: dict[str, Any] = {
    "device.channels": 4, "device.chips_per_channel": 2, "device.dies_per_chip": 1, "device.planes_per_die": 1,
    "device.blocks_per_plane": 1200, "device.pages_per_block": 16, "device.page_size": "4KiB", "device.cell": "slc",
    "device.multiplane": "off", "device.over_provisioning": 0.15, "run.executor": "count",
}  # fmt: skip
"""A device of 9,600 blocks, of which a quarter is large enough."""

SAMPLED: dict[str, Any] = {"run.sample": "1/4", "run.sample_hashes": 2}


def summary(waf: float | None, written: int) -> dict[str, Any]:
    return {"waf": waf, "host": {"bytes_written": written}}


def test_samples_count_by_what_was_written() -> None:
    found = estimate([summary(2.0, 300), summary(4.0, 100)], ("waf",), 64)
    # sqrt(62/64 * 2 * (150² + 150²)) / 400
    assert found == {"mean": 2.5, "error": pytest.approx(0.7381882382), "lowest": 2.0, "highest": 4.0}


def test_all_samples_leave_no_error_and_one_leaves_it_open() -> None:
    both = [summary(2.0, 300), summary(4.0, 100)]
    assert estimate(both, ("waf",), 2)["error"] == 0
    assert estimate(both[:1], ("waf",), 2)["error"] is None
    assert estimate([summary(None, 0)], ("waf",), 2) == dict.fromkeys(("mean", "error", "lowest", "highest"))


def run(**sets: Any) -> dict[str, Any]:
    return ftlab.run(
        "tbm-small", sets={**WHOLE, **{key.replace("__", "."): value for key, value in sets.items()}}
    ).summary


@pytest.mark.parametrize(
    "workload",
    [
        {"workload.generator": "uniform"},
        {"workload.generator": {"zipf": {"z": 1.0}}},
        {"workload.generator": {"hot-cold": {"data": 0.2, "writes": 0.8}}, "ftl.victim": "cost-benefit"},
        {
            "workload.generator": "uniform",
            "ftl.separation": "dac",
            "ftl.gc_schedule.threshold.free_blocks": 5,
        },
    ],
)
def test_a_sample_of_a_generator_has_the_waf_of_the_whole(workload: dict[str, Any]) -> None:
    # Ageing that ends by itself may end a window sooner in one of them, and erases count it.
    sets = {**workload, "run.precondition": {"random": "4x"}, "workload.volume": "3x"}
    whole, sampled = run(**sets), run(**sets, **SAMPLED)
    assert whole["waf"] > 1.5
    # Blocks are few here; docs/evidence/sampling.json has devices as they are.
    assert sampled["waf"] == pytest.approx(whole["waf"], rel=0.03)
    assert sampled["sample"]["waf"]["mean"] == sampled["waf"]
    assert sampled["sample"]["blocks"] == 2400
    assert sampled["host"]["bytes_written"] == pytest.approx(whole["host"]["bytes_written"] / 4, rel=0.01)
    assert sampled["sample"]["erases"]["mean"] == pytest.approx(whole["wear"]["erases"]["mean"], rel=0.03)
    assert not [note for note in sampled["notes"] if "too short" in note]


def requests(number: int) -> dict[str, Any]:
    """Files of 16 pages, written as wholes, of which a part is written anew far more often."""
    rng = np.random.default_rng(5)
    files = np.where(rng.random(number) < 0.8, rng.integers(0, 1600, number), rng.integers(0, 8000, number))
    return {
        "time": np.arange(number), "op": np.full(number, "W"), "offset": files * 65536,
        "size": np.full(number, 65536),
    }  # fmt: skip


def test_samples_of_a_trace_have_the_waf_of_the_whole_and_together_are_all_of_it() -> None:
    trace = requests(40_000)
    device = {key: value for key, value in WHOLE.items() if key != "device.over_provisioning"}
    sets = {**device, "device.user_capacity": "512MiB", "run.precondition.sequential": "1x"}
    whole = ftlab.run("tbm-small", trace=trace, sets=sets).summary
    assert whole["waf"] > 1.2
    shares = [
        ftlab.run(
            "tbm-small", trace=trace, sets={**sets, "run.sample": "1/4", "run.sample_hashes": hashes}
        ).summary
        for hashes in (1, 4)
    ]
    assert shares[1]["waf"] == pytest.approx(whole["waf"], rel=0.03)
    assert shares[1]["sample"]["waf"]["error"] == 0
    # The first sample is the first whatever number there is of them.
    assert {**shares[0]["host"]} == {**shares[1]["host"]}
    one, several = (share["sample"]["waf"] for share in shares)
    assert one["error"] is None
    assert several["lowest"] <= one["mean"] <= several["highest"]


def test_the_same_samples_twice() -> None:
    sets = {"workload.generator": "uniform", "run.precondition": "steady", "workload.volume": "1x", **SAMPLED}
    first, second = (run(**sets) for _ in range(2))
    for found in (first, second):
        del found["run"], found["sample"]["wall_s"]
    assert first == second


def test_a_result_says_what_it_is_a_sample_of(ftlab: Ftlab, tmp_path: Path) -> None:
    sets = [f"{key}={json.dumps(value)}" for key, value in {**WHOLE, **SAMPLED}.items()]
    options = [
        word for each in [*sets, "workload.volume=2x", "run.precondition=none"] for word in ("--set", each)
    ]
    told = ftlab("run", "tbm-small", *options).stdout
    assert "2 of 4 samples of 2,400 blocks each" in told
    assert "±" in told
    made = json.loads(ftlab("run", "tbm-small", *options, "--json").stdout)
    assert made["config"]["run"]["sample"] == "1/4"
    assert made["config"]["device"]["channels"] == 4
    assert math.isclose(made["sample"]["part"], 0.25)


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        ({"run.sample": "1/8"}, ["a 1/8 of 9600 blocks is 1200", "2000 or more", '"1/4"']),
        (
            {"run.sample": "1/7", "device.blocks_per_plane": 2500},
            ["cannot be divided into 7", '"1/5"', '"1/8"'],
        ),
        ({"run.executor": "timed"}, ["times say nothing of the whole", '"count"']),
        ({"ftl.mapping": "fast", "ftl.allocation": "CWDP", "ftl.victim": "fifo"}, ["hybrid mapping"]),
        ({"run.precondition.state": "aged.state"}, ["state of a whole device"]),
        ({"run.sample_hashes": 5}, ["only 4 samples"]),
        ({"run.sample_run": "2KiB"}, ["whole number of pages", "4KiB"]),
        ({"run.sample": "a 64th"}, ["no part of a device", '"1/2"']),
    ],
)
def test_what_a_sample_cannot_show_is_refused(sets: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ftlab.ConfigError) as refused:
        run(**{"workload.volume": "1x", **SAMPLED, **sets})
    for word in words:
        assert word in str(refused.value)


def test_the_state_of_a_sample_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ftlab.ConfigError, match="not that of the device"):
        ftlab.run(
            "tbm-small", sets={**WHOLE, **SAMPLED, "workload.volume": "1x"}, save_state=tmp_path / "a.state"
        )


def test_a_sweep_over_samples_shares_no_state(tmp_path: Path) -> None:
    spec = {
        "config": "tbm-small",
        "set": {
            **WHOLE,
            **SAMPLED,
            "run.precondition": "steady",
            "workload.generator": "uniform",
            "workload.volume": "1x",
        },
        "grid": {"read_fraction": [0.0, 0.5]},
    }
    made = ftlab.sweep(spec, out=tmp_path / "out")
    assert made.statuses == {"ok": 2}
    assert all(error is not None for error in made.table.column("sample_waf_error").to_pylist())
