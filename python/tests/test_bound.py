"""The bound of future knowledge in a comparison."""

from __future__ import annotations

from typing import Any

import pytest

import ftlab
from ftlab import ConfigError

SKEWED: dict[str, Any] = {
    "device": {
        "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1,
        "blocks_per_plane": 96, "pages_per_block": 32, "page_size": "8KiB", "cell": "slc", "over_provisioning": 0.4,
    },
    "ftl": {"victim": "greedy", "gc_schedule": {"threshold": {"free_blocks": 6}}},
    "workload": {"generator": {"zipf": {"z": 0.99}}, "request_size": "8KiB", "volume": "12x"},
    "run": {"executor": "count", "precondition": {"sequential": "1x"}},
}  # fmt: skip


def test_each_run_is_told_how_far_it_is_from_the_bound() -> None:
    comparison = ftlab.compare([SKEWED], vary={"ftl.separation": ["none", "sepbit"]}, bound=True)
    assert not comparison.errors
    none, sepbit, bound = comparison.results
    assert bound == "bound"
    waf = {label: result.summary["waf_units"] for label, result in comparison.results.items()}
    found = comparison.distances
    assert waf[bound] < waf[sepbit] < waf[none]
    assert found == {label: pytest.approx(waf[label] / waf[bound] - 1) for label in waf}
    assert comparison.to_json()["above_bound"] == found
    rows = [line for line in comparison.table().splitlines() if line.startswith("above the bound (%)")]
    assert [float(cell) for cell in rows[0].split()[-3:]] == [
        pytest.approx(100 * found[label], abs=0.05) for label in (none, sepbit, bound)
    ]


def test_a_bound_that_is_compared_is_one() -> None:
    comparison = ftlab.compare([SKEWED], vary={"ftl.separation": ["sepbit", "future"]})
    assert set(comparison.distances) == set(comparison.results)
    without = ftlab.compare([SKEWED], vary={"ftl.separation": ["none", "sepbit"]})
    assert without.distances == {} and "above the bound" not in without.table()
    # Of another device there is none.
    apart = ftlab.compare(
        [SKEWED, {**SKEWED, "run": {**SKEWED["run"], "seed": 2}}], vary={"ftl.separation": ["none"]}
    )
    assert apart.distances == {}


def test_runs_of_other_devices_have_bounds_of_their_own() -> None:
    comparison = ftlab.compare(
        {"a": SKEWED, "b": {**SKEWED, "run": {**SKEWED["run"], "seed": 2}}}, bound=True
    )
    assert list(comparison.results) == ["a", "b", "a bound", "b bound"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (
            {"ftl": {"write_buffer": {"fifo": {"size": "1MiB"}}}},
            "a write buffer takes several writes of a page together",
        ),
        ({"run": {"executor": "device"}}, "a host writes to a drive of real bytes as it likes"),
    ],
)
def test_an_unknown_future_is_refused(changed: dict[str, Any], why: str) -> None:
    config = {key: {**SKEWED.get(key, {}), **changed.get(key, {})} for key in {*SKEWED, *changed}}
    config["ftl"]["separation"] = "future"
    with pytest.raises(ConfigError, match=why):
        ftlab.run(config)
