"""WAF of a flash cache on a drive with placement by hints, and without: the table of `docs/placement.md`.

    python -m evidence.placement [--across] [--spare FRACTION]

A flash cache of CacheLib's layout writes small objects in buckets of 4 KiB at random, in a part of its addresses, and
large ones as a log around the rest, with as many bytes. Each has a hint of its own.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import ftlab

DRIVE = (
    "device.channels=2", "device.chips_per_channel=2", "run.executor=count",
    "ftl.write_buffer.fifo.size=5MiB",
    "run.precondition=none",
)  # fmt: skip
"""A twelfth of `enterprise-tlc-small`, without time."""

RAW, SPARE = 8208 << 20, 0.1875
"""Its bytes, and what is spare of them, ÷ what the user has."""

BUCKET, REGION = 4 << 10, 256 << 10

LAYOUTS = ((0.5, 0.04), (1.0, 0.04), (1.0, 0.2), (1.0, 0.4))
"""How much of the drive the cache uses, and how much of that the small objects."""

PASSES = 6
"""How often the log goes around."""


def requests(capacity: int, used: float, small: float, seed: int = 1) -> dict[str, Any]:
    """The writes of a cache, as columns of a trace: small objects carry the hint 1, the log 2."""
    random = np.random.default_rng(seed)
    buckets = int(capacity * used * small) // REGION * (REGION // BUCKET)
    regions = (int(capacity * used) - buckets * BUCKET) // REGION
    logged = regions * PASSES
    each = REGION // BUCKET
    offset = np.empty((logged, each + 1), dtype=np.int64)
    offset[:, 0] = buckets * BUCKET + np.arange(logged) % regions * REGION
    offset[:, 1:] = random.integers(0, buckets, (logged, each)) * BUCKET
    size = np.full(offset.shape, BUCKET, dtype=np.int64)
    hint = np.ones(offset.shape, dtype=np.int64)
    size[:, 0], hint[:, 0] = REGION, 2
    op = np.ones(offset.size, dtype=np.int64)
    return {"op": op, "offset": offset.ravel(), "size": size.ravel(), "hint": hint.ravel()}


COLUMNS = "op=op:r0w1,offset=offset,size=size,hint=hint"


def waf(trace: dict[str, Any], separation: str, drive: list[str]) -> float:
    """WAF in the second half of what the cache writes, on a drive of such settings."""
    half = len(trace["op"]) // 2
    total = []
    for part in ({key: values[:half] for key, values in trace.items()}, trace):
        summary = ftlab.run(
            "enterprise-tlc-small",
            sets=[*DRIVE, *drive, f"ftl.separation={separation}"],
            trace=part,
            columns=COLUMNS,
        ).summary
        written = summary["host"]["bytes_written"]
        total.append((written, summary["waf"] * written))
    (written, programmed), (all_written, all_programmed) = total
    return float((all_programmed - programmed) / (all_written - written))


SEPARATIONS = {
    "without hints": "host-gc",
    "fdp, initially isolated": '{fdp.handles = 3, fdp.isolation = "initial"}',
    "fdp, persistently isolated": '{fdp.handles = 3, fdp.isolation = "persistent"}',
    "streams": "{streams.streams = 2}",
}


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description="WAF of a flash cache with placement by hints, and without")
    parser.add_argument("--across", action="store_true", help="reclaim units across dies")
    parser.add_argument("--spare", type=float, default=SPARE, help="spare space ÷ user capacity")
    options = parser.parse_args()
    capacity = int(RAW / (1 + options.spare)) >> 20 << 20
    across = "dies" if options.across else "none"
    drive = [
        f"ftl.reclaim_across={across}",
        f"device.user_capacity={capacity}B",
        f"device.over_provisioning={RAW / capacity - 1:.4f}",
    ]
    print(f"| cache uses | small objects | {' | '.join(SEPARATIONS)} |")
    print(f"|---|---|{'---:|' * len(SEPARATIONS)}")
    for used, small in LAYOUTS:
        trace = requests(capacity, used, small)
        found = [waf(trace, separation, drive) for separation in SEPARATIONS.values()]
        print(f"| {used:.0%} | {small:.0%} | {' | '.join(f'{value:.3f}' for value in found)} |", flush=True)


if __name__ == "__main__":
    main()
