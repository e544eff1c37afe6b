"""Results made by hand, with the columns that the engine gives."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from ftlab.results.result import Columns, Result

LONG = pytest.mark.skipif("FTLAB_LONG" not in os.environ, reason="takes long; FTLAB_LONG=1 runs it")
"""Of tests, and of parameters of tests, that `make evidence` runs."""

CAUSES = ("host", "gc", "mapping", "refresh", "backup", "wear", "rmw", "pad", "retry", "fold")
LATENCY_KEYS = ("mean", "p50", "p90", "p99", "p999", "p9999", "max")


def result(
    *,
    waf: float = 2.0,
    request: int = 4096,
    iops: float = 10_000.0,
    timed: bool = True,
    program_us: float = 300.0,
    seed: int = 1,
) -> Result:
    """A result of 4 channels, 8 dies, 16 planes of 40 blocks of 128 pages of 4 KiB. `waf` is in pages; writes have
    `request` bytes, of which each is programmed as a page.
    """
    rng = np.random.default_rng(seed)
    tables = {
        "series": _series(rng, waf, iops, timed, request),
        "latency": _latency(rng, iops, timed),
        "wear": _wear(rng, waf),
        "utilisation": _utilisation(rng, waf, timed),
    }
    return Result(_summary(waf, iops, timed, program_us, request), tables)


def _summary(waf: float, iops: float, timed: bool, program_us: float, request: int) -> dict[str, Any]:
    host_pages = 100_000
    gc_pages = int(host_pages * (waf - 1))
    scale = 32e6 / iops
    latencies = dict(
        zip(LATENCY_KEYS, (scale * f for f in (1.0, 0.7, 1.8, 4.0, 9.0, 14.0, 20.0)), strict=True)
    )
    nothing: dict[str, float | None] = dict.fromkeys(LATENCY_KEYS)
    program_share = program_us * (host_pages + gc_pages) / 8 / (150_000 / iops * 1e6)
    gc_share = 0.8 * (1 - 1 / waf)
    return {
        "schema": "ftlab.summary/1",
        "ftlab_version": "0.1.0",
        "seed": 1,
        "config": {
            "device": {
                "channels": 4,
                "chips_per_channel": 1,
                "dies_per_chip": 2,
                "planes_per_die": 2,
                "blocks_per_plane": 40,
                "pages_per_block": 128,
                "page_size": "4KiB",
                "user_capacity": "300MiB",
                "over_provisioning": 0.0667,
                "cell": "mlc",
                "timing": {"program": ["1600us", "1600us"], "erase": "5ms"},
            },
            "ftl": {
                "mapping": "page",
                "victim": {"rga": {"d": 4}},
                "separation": "none",
                "scheduler": "fifo",
            },
            "host": {"replay": "closed", "queue_depth": 32},
            "workload": {"generator": "uniform"},
            "run": {"executor": "timed" if timed else "count", "seed": 1},
        },
        "host": {
            "reads": 50_000,
            "writes": host_pages,
            "trims": 0,
            "flushes": 12,
            "bytes_read": 50_000 * 4096,
            "bytes_written": host_pages * request,
            "bytes_trimmed": 0,
            "unmapped_reads": 3,
            "failed_reads": 0,
            "simulated_s": 150_000 / iops if timed else None,
            "iops": iops if timed else None,
            "read_iops": iops / 3 if timed else None,
            "write_iops": iops * 2 / 3 if timed else None,
            "throughput_mb_s": iops * 4096 / 1e6 if timed else None,
            **{
                f"{name}latency_us": dict(latencies) if timed else dict(nothing)
                for name in ("", "read_", "write_")
            },
            "trim_latency_us": dict(nothing),
            "flush_latency_us": dict(nothing),
        },
        "flash": {
            "page_reads": 50_000 + gc_pages,
            "page_programs": host_pages + gc_pages,
            "block_erases": (host_pages + gc_pages) // 128,
            "copybacks": 0,
            "reprograms": 0,
            "first_passes": 0,
            "by_cause": {
                cause: {
                    "reads": {"host": 50_000, "gc": gc_pages}.get(cause, 0),
                    "programs": {"host": host_pages, "gc": gc_pages}.get(cause, 0),
                    "erases": (host_pages + gc_pages) // 128 if cause == "gc" else 0,
                    "copybacks": 0,
                }
                for cause in CAUSES
            },
            "multiplane": {"read_fraction": 0.1, "program_fraction": 0.3, "erase_fraction": 0.0},
            "suspends": {"programs": 0, "erases": 0, "overhead_s": 0.0},
            "cache_mode": {"reads": 0, "programs": 0},
            "retried": {"pages": 0, "soft": 0, "uncorrectable": 0, "lost": 0},
        },
        "waf": waf * 4096 / request,
        "waf_units": waf,
        "gc": {
            "invocations": (host_pages + gc_pages) // 128,
            "foreground": 5,
            "forward": 0,
            "preempted": 0,
            "moved_pages": gc_pages,
            "moved_per_victim": 128 * (1 - 1 / waf),
        },
        "utilisation": {
            "channel": {
                "host": 0.2,
                "gc": gc_share / 2,
                "idle": 0.8 - gc_share / 2,
                "transfer": 0.2 + gc_share / 2,
            }
            if timed
            else {"host": None, "gc": None, "idle": None, "transfer": None},
            "die": {"read": 0.1, "program": program_share, "erase": 0.05, "idle": 0.15}
            if timed
            else {"read": None, "program": None, "erase": None, "idle": None},
        },
        "wear": {
            "erases": {"min": 3, "mean": 11.5, "max": 31, "stddev": 2.25},
            "effective_erases": {"min": 3, "mean": 11.5, "max": 31, "stddev": 2.25},
            "moves": 0,
        },
        "policy": {},
        "run": {
            "wall_s": 1.5,
            "cpu_s": 1.4,
            "host_requests_per_s": 107_142.0,
            "flash_ops_per_s": 250_000.0,
            "peak_rss_mb": 80.0,
        },
        "precondition": {
            "kind": "steady",
            "settled": True,
            "waf": waf * 4096 / request,
            "waf_units": waf,
            "windows": 3,
            "written_bytes": 4 * (300 << 20),
        },
    }


def _series(rng: np.random.Generator, waf: float, iops: float, timed: bool, request: int) -> Columns:
    n = 400
    axis = np.array(["volume"] * n + ["time"] * (n if timed else 0))
    size = axis.size
    step = np.arange(size) % n
    host = np.full(size, 250, dtype=np.uint64)
    seconds = 150_000 / iops / n
    noise = rng.normal(1, 0.08, size)
    undefined = np.full(size, np.nan)
    return {
        "axis": axis,
        "start_s": step * seconds if timed else np.zeros(size),
        "end_s": (step + 1) * seconds if timed else np.zeros(size),
        "host_written_gb": (step + 1) * 250 * request / 1e9,
        "capacities_written": (step + 1) * 250 * request / (300 << 20),
        "reads": np.full(size, 125, dtype=np.uint64),
        "writes": host,
        "trims": np.zeros(size, dtype=np.uint64),
        "iops": iops * noise if timed else undefined,
        "throughput_mb_s": iops * noise * 4096 / 1e6 if timed else undefined,
        "latency_mean_us": 32e6 / iops / noise if timed else undefined,
        "waf": waf * noise * 4096 / request,
        "waf_units": waf * noise,
        "gc_invocations": np.round(250 * waf * noise / 128).astype(np.uint64),
        "page_programs": np.round(250 * waf * noise).astype(np.uint64),
        "host_page_programs": host,
    }


def _latency(rng: np.random.Generator, iops: float, timed: bool) -> Columns:
    parts: list[tuple[str, np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
    for kind, count, scale in (("read", 50_000, 0.4), ("write", 100_000, 1.2)):
        if timed:
            values = np.sort(rng.lognormal(np.log(scale * 24e6 / iops), 0.7, count))
            edges = np.unique(np.geomspace(values[0], values[-1], 600))
            counts = np.diff(np.searchsorted(values, edges, side="right"), prepend=0)
            counts[-1] += count - counts.sum()
            parts.append((kind, edges[counts > 0], counts[counts > 0]))
    names = [kind for kind, edges, _ in parts for _ in edges]
    return {
        "kind": np.array(names, dtype=np.str_),
        "latency_us": np.concatenate([edges for _, edges, _ in parts] or [np.empty(0)]),
        "count": np.concatenate([counts for *_, counts in parts] or [np.empty(0)]).astype(np.uint64),
        "cumulative_fraction": np.concatenate([np.cumsum(c) / c.sum() for *_, c in parts] or [np.empty(0)]),
    }


def _wear(rng: np.random.Generator, waf: float) -> Columns:
    blocks = np.arange(640, dtype=np.uint64)
    planes = blocks // 40
    return {
        "block": blocks,
        "channel": planes // 4,
        "chip": np.zeros(640, dtype=np.uint64),
        "die": planes // 2 % 2,
        "plane": planes % 2,
        "block_in_plane": blocks % 40,
        "erases": rng.poisson(8 * waf, 640).astype(np.uint64),
        "reads_since_erase": rng.poisson(40, 640).astype(np.uint64),
    }


def _utilisation(rng: np.random.Generator, waf: float, timed: bool) -> Columns:
    channels, dies = (4, 8) if timed else (0, 0)
    nan = np.nan
    columns: Columns = {
        "resource": np.array(["channel"] * channels + ["die"] * dies, dtype=np.str_),
        "index": np.concatenate([np.arange(channels), np.arange(dies)]).astype(np.uint64),
    }
    gc = 0.4 * (1 - 1 / waf)
    for cause in CAUSES:
        share = {"host": 0.2, "gc": gc}.get(cause, 0.0)
        columns[cause] = np.concatenate([share * rng.uniform(0.9, 1.1, channels), np.full(dies, nan)])
    for kind, share in (("read", 0.1), ("program", 0.7), ("erase", 0.05)):
        columns[kind] = np.concatenate([np.full(channels, nan), share * rng.uniform(0.9, 1.1, dies)])
    parts = np.array([columns[name] for name in (*CAUSES, "read", "program", "erase")])
    columns["busy"] = np.nansum(parts, axis=0) if parts.size else np.empty(0)
    columns["idle"] = 1 - columns["busy"]
    return columns
