"""Samples of a device, put together: what they say of the whole, and how well they know it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

ESTIMATES: Mapping[str, tuple[str, ...]] = {
    "waf": ("waf",),
    "waf_units": ("waf_units",),
    "erases": ("wear", "erases", "mean"),
}
"""The figures that samples know of the whole, and where a summary has them."""


def together(summaries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The summary of the first sample with the WAF of all, and `sample`; as it is where no samples were asked for."""
    summary = summaries[0]
    config = summary["config"]
    if "sample" not in config["run"]:
        return summary
    one_in = int(config["run"]["sample"].partition("/")[2])
    found = {name: estimate(summaries, path, one_in) for name, path in ESTIMATES.items()}
    return summary | {
        "waf": found["waf"]["mean"],
        "waf_units": found["waf_units"]["mean"],
        "sample": {
            "part": 1 / one_in,
            "hashes": len(summaries),
            "blocks": math.prod(config["device"][name] for name in COUNTS) // one_in,
            **found,
            "wall_s": sum(one["run"]["wall_s"] for one in summaries),
        },
    }


COUNTS = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane")


def estimate(
    summaries: Sequence[Mapping[str, Any]], path: Sequence[str], one_in: int
) -> dict[str, float | None]:
    """A figure of the whole: its mean over samples, its standard error, and the lowest and highest of a sample.

    A sample counts by the bytes that its host wrote, so that samples of all places give what the whole would. The error
    is that of a ratio estimator, with the correction for samples that are a large part of the whole (Cochran, Sampling
    Techniques, 1977, chapters 2 and 6). Of one sample it is not known.
    """
    known = []
    for summary in summaries:
        value: Any = summary
        for key in path:
            value = value[key]
        if value is not None and summary["host"]["bytes_written"]:
            known.append((float(value), float(summary["host"]["bytes_written"])))
    if not known:
        return dict.fromkeys(("mean", "error", "lowest", "highest"))
    weights = math.fsum(weight for _, weight in known)
    mean = math.fsum(value * weight for value, weight in known) / weights
    error = None
    if (count := len(known)) > 1:
        squares = math.fsum(((value - mean) * weight) ** 2 for value, weight in known)
        error = math.sqrt(max(0.0, 1 - count / one_in) * count / (count - 1) * squares) / weights
    values = [value for value, _ in known]
    return {"mean": mean, "error": error, "lowest": min(values), "highest": max(values)}
