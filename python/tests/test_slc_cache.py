"""The pseudo-SLC cache as a user sees it."""

from __future__ import annotations

import pytest
import samples

import ftlab
from ftlab.results import pictures, text

SMALL = {
    "device.blocks_per_plane": 40,
    "device.pages_per_block": 48,
    "device.user_capacity": "2800MiB",
    "device.over_provisioning": 0.3714,
}

CACHE = 0.28 / 3 * 40 * 48 * 128 * 16384 / 1e9
"""Gigabytes of the cache: 28 % of the blocks are lent, and hold a third of what they could."""


@pytest.fixture(scope="module")
def fill() -> ftlab.Result:
    return ftlab.run("client-tlc-slc-small", sets=SMALL)


def test_the_screen_says_what_the_cache_took(fill: ftlab.Result) -> None:
    cache = fill.summary["policy"]["slc_cache"]
    share = 100 * cache["written_pages"] / (cache["written_pages"] + cache["bypassed_pages"])
    assert cache["written_pages"] * 4096 / 1e9 == pytest.approx(CACHE, rel=0.05)
    folded = "0 were folded, 0 died"
    expected = f"the pseudo-SLC cache took {text.percent(share / 100)} of the pages; {folded}"
    shown = text.run_summary(fill, "client-tlc-slc-small")
    assert expected in shown and all(len(line) <= 80 for line in shown.splitlines())
    assert "pseudo-SLC" not in text.run_summary(samples.result(), "without")


def test_the_curve_over_the_volume_has_the_cliff(fill: ftlab.Result) -> None:
    binned = pictures.rebin(fill, "volume")
    assert binned is not None
    written, rate = binned["host_written_gb"], binned["throughput_mb_s"]
    end = written[rate > 0.75 * rate[0]].max()
    # What is in the buffer of 64 MiB by then, and an interval.
    assert 0 <= end - CACHE < 0.12
    assert rate[written > 1.2 * end].max() < 0.5 * rate[0]
