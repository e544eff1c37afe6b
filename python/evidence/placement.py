"""WAF of a flash cache on a drive with placement by hints, and without: a table of `docs/separation.md`.

    python -m evidence.placement [--alone]

A flash cache of CacheLib's layout writes small objects in buckets of 4 KiB at random, in a part of its addresses, and
large ones as a log around the rest. Each has a hint of its own.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import ftlab

RAW, USER = 8208 << 20, 6912 << 20

DRIVE = (
    "device.channels=2", "device.chips_per_channel=2", "device.blocks_per_plane=912", "device.pages_per_block=72",
    f"device.user_capacity={USER}B", f"device.over_provisioning={RAW / USER - 1:.4f}", "run.executor=count",
    "ftl.write_buffer.fifo.size=5MiB", "run.precondition=none",
)  # fmt: skip
"""A twelfth of `enterprise-tlc-small`, without time, with some thousand reclaim units across dies."""

BUCKET, REGION = 4 << 10, 256 << 10

SMALL = 0.75
"""The part of the bytes that small objects make."""

LAYOUTS = ((0.5, 0.04, 6.0), (1.0, 0.04, 10.0), (1.0, 0.2, 4.25), (1.0, 0.4, 5.75))
"""How much of the drive the cache uses, how much of that the small objects, and capacities written."""


def requests(used: float, small: float, volume: float, seed: int = 1) -> dict[str, Any]:
    """The writes of a cache, as columns of a trace: small objects carry the hint 1, the log 2."""
    random = np.random.default_rng(seed)
    buckets = int(USER * used * small) // REGION * (REGION // BUCKET)
    regions = (int(USER * used) - buckets * BUCKET) // REGION
    each = round(SMALL / (1 - SMALL) * REGION / BUCKET)
    logged = int(volume * USER / (REGION + each * BUCKET))
    offset = np.empty((logged, each + 1), dtype=np.int64)
    offset[:, 0] = buckets * BUCKET + np.arange(logged) % regions * REGION
    offset[:, 1:] = random.integers(0, buckets, (logged, each)) * BUCKET
    size = np.full(offset.shape, BUCKET, dtype=np.int64)
    hint = np.ones(offset.shape, dtype=np.int64)
    size[:, 0], hint[:, 0] = REGION, 2
    op = np.ones(offset.size, dtype=np.int64)
    return {"op": op, "offset": offset.ravel(), "size": size.ravel(), "hint": hint.ravel()}


COLUMNS = "op=op:r0w1,offset=offset,size=size,hint=hint"


def waf(trace: dict[str, Any], separation: str, across: str) -> float:
    """WAF in the last quarter of what the cache writes."""
    total = []
    for requests in (len(trace["op"]) * 3 // 4, len(trace["op"])):
        summary = ftlab.run(
            "enterprise-tlc-small",
            sets=[*DRIVE, f"ftl.reclaim_across={across}", f"ftl.separation={separation}"],
            trace={key: values[:requests] for key, values in trace.items()},
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
    parser.add_argument("--alone", action="store_true", help="dies collect for themselves")
    across = "none" if parser.parse_args().alone else "dies"
    print(f"| cache uses | small objects | {' | '.join(SEPARATIONS)} |")
    print(f"|---|---|{'---:|' * len(SEPARATIONS)}")
    for used, small, volume in LAYOUTS:
        trace = requests(used, small, volume)
        found = [waf(trace, separation, across) for separation in SEPARATIONS.values()]
        print(f"| {used:.0%} | {small:.0%} | {' | '.join(f'{value:.2f}' for value in found)} |", flush=True)


if __name__ == "__main__":
    main()
