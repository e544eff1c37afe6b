"""The write amplification of a drive in the steady state of a workload, with an interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ftlab._core import ConfigError, InputError
from ftlab.api.configs import set_list
from ftlab.api.until import FOR_EVER, FOR_EVER_REPLAYED, PARTS
from ftlab.base.quantities import in_bytes
from ftlab.lives import arithmetic
from ftlab.lives.end import Blocks, blocks_of
from ftlab.results import sampling
from ftlab.results.result import Result
from ftlab.results.transient import too_short

if TYPE_CHECKING:
    from ftlab.api.simulation import Job, Progress

CAPACITIES = 0.5
"""User capacities that are written once the drive is in its steady state."""

BLOCKS = 2000
"""Blocks that are written in all samples together, at least."""

BATCHES = 20
"""Parts of that, whose WAF are the batches of the interval."""

SETTLED = 0.01
"""How far the quarters of ageing may differ when it ends; the interval has it besides the spread of batches."""

SAMPLED = 0.01
"""How far a sample is from the whole drive at most (docs/sweeps.md, samples of a device)."""

SAMPLE_BLOCKS = 2000
"""Blocks that a sample has at least (`run.sample`)."""

PAYS = {"generator": 4, "trace": 8}
"""A sample is taken where it is one part in so many or a smaller one: of a trace every request is read for it."""

HASHES = 2
"""Samples of a drive."""

AGES = "run.precondition"

REQUESTS = 200_000
"""Requests of a generator whose latencies are told."""

PERCENTILES = ("p50", "p99", "p999")
"""The percentiles that are told."""


@dataclass(frozen=True, slots=True)
class Steady:
    """A drive in its steady state."""

    waf: float
    """Write amplification in bytes."""
    error: float
    """Half of its 95 % interval."""
    share: float
    """Part of the blocks that the wear falls on, 0..1."""
    capacities: float
    """User capacities that were written until the figures were taken."""
    result: Result
    """The run, or of several samples the first."""
    lives: Blocks | None = None
    """How its blocks fail; `None`: none does."""
    note: str = ""
    """The reason why the figure is not that of the steady state; empty: it is."""

    @property
    def low(self) -> float:
        """The lower end of the interval: less than 1 it cannot be, unless pages are dropped before they are written."""
        return max(self.waf - self.error, min(1.0, self.waf))

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.waf + self.error


def prepared(job: Job) -> Job:
    """The run that gives a drive's steady state: without time and in samples where that can be.

    Raises:
        ConfigError: the drive cannot be run.
    """
    resolved = _new(job).resolve()
    if "tenant" in resolved:
        # Who writes how much follows from time, and they say themselves when they end.
        return job
    asked = {**_aged(job), **_for_ever(resolved), "workload.volume": _volume(resolved["device"], 1)}
    timeless = _with(job, {**asked, "run.executor": "count"})
    try:
        whole = timeless.resolve()
    except ConfigError:
        timed = _with(job, {**asked, "run.executor": "timed"})
        timed.resolve()
        return timed
    if "sample" in whole["run"]:
        return timeless
    source = "trace" if "trace" in whole["workload"] else "generator"
    for one_in in parts(whole["device"]):
        if one_in < PAYS[source]:
            break
        volume = _volume(whole["device"], one_in / HASHES)
        sample = {"run.sample": f"1/{one_in}", "run.sample_hashes": HASHES, "workload.volume": volume}
        try:
            _with(timeless, sample).resolve()
        except ConfigError:
            continue
        return _with(timeless, sample)
    return timeless


def timed(job: Job) -> Job:
    """The run that gives the latencies of a drive in its steady state: of one round of a trace, or of requests of a
    generator.

    Raises:
        ConfigError: the drive cannot be run.
    """
    resolved = _new(job).resolve()
    if "tenant" in resolved:
        return job
    of_trace = "trace" in resolved["workload"]
    end = {"workload.rounds": 1} if of_trace else {"workload.requests": REQUESTS}
    return _with(job, {**_aged(job), **_for_ever(resolved), **end, "run.executor": "timed"})


def _with(job: Job, sets: Mapping[str, Any]) -> Job:
    return replace(job, sets=[*job.sets, *set_list(sets)])


def _new(job: Job) -> Job:
    return _with(job, {AGES: "none", "run.executor": "timed"})


def _aged(job: Job) -> dict[str, Any]:
    """The ageing by the workload, unless the user has another."""
    is_said = any(word.partition("=")[0].strip().startswith(AGES) for word in job.sets)
    return {} if is_said else {AGES: "workload"}


def _for_ever(resolved: Mapping[str, Any]) -> Mapping[str, Any]:
    return FOR_EVER_REPLAYED if "trace" in resolved["workload"] else FOR_EVER


def latencies(summary: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """Percentiles of reads and of writes, in microseconds, of a run."""
    host = summary["host"]
    return {
        kind: {name: host[f"{kind}_latency_us"][name] for name in PERCENTILES} for kind in ("read", "write")
    }


def _volume(device: Mapping[str, Any], one_in: float) -> str:
    """The volume that is written in the steady state, where one block in `one_in` is simulated."""
    return f"{max(CAPACITIES, BLOCKS * one_in / _blocks(device)):.4f}x"


def _blocks(device: Mapping[str, Any]) -> int:
    return math.prod(device[name] for name in PARTS)


def parts(device: Mapping[str, Any]) -> list[int]:
    """The parts that a device can be divided into, as one in so many, the smallest first."""
    counts = [device[name] for name in ("chips_per_channel", "dies_per_chip", "channels", "blocks_per_plane")]
    found = []
    for one_in in range(_blocks(device) // SAMPLE_BLOCKS, 1, -1):
        left = one_in
        for count in counts:
            left //= math.gcd(left, count)
        if left == 1:
            found.append(one_in)
    return found


def measured(job: Job, progress: Callable[[Progress], object] | None) -> Steady:
    """Runs what :func:`prepared` gave.

    Raises:
        RunError: the run failed.
        InputError: the workload writes nothing.
    """
    each, _ = job.samples(progress)
    found = [batches(one) for one in each]
    weights = [weight for _, written in found for weight in written]
    values = [value for wafs, _ in found for value in wafs]
    if not weights:
        raise InputError(
            "error: the workload writes nothing, so no drive wears by it\nhint: expected a workload with writes"
        )
    summary = sampling.together([one.summary for one in each])
    waf = float(summary["waf"])
    is_sampled = "sample" in summary
    error = arithmetic.half_width(values, weights) + waf * (SETTLED + (SAMPLED if is_sampled else 0.0))
    device = summary["config"]["device"]
    has_leveling = summary["config"]["ftl"].get("wear_leveling", "none") != "none"
    share = 1.0 if has_leveling else arithmetic.share_that_wears(each[0].wear["erases"].tolist())
    short = too_short(each[0])
    aged = summary["precondition"].get("written_bytes") or 0
    part = summary["sample"]["part"] if is_sampled else 1.0
    capacities = (aged + summary["host"]["bytes_written"]) / part / in_bytes(device["user_capacity"])
    lives = blocks_of(summary, 1 + int(each[0].wear["block_in_plane"].max()))
    return Steady(waf, error, share, capacities, each[0], lives, "" if short is None else str(short))


def batches(result: Result) -> tuple[list[float], list[float]]:
    """The WAF of parts of a run, and the bytes that the host wrote in each."""
    import numpy as np

    series = result.series
    rows = series["axis"] == "volume"
    written = np.diff(series["host_written_gb"][rows], prepend=0.0)
    waf = np.nan_to_num(series["waf"][rows].astype(float))
    wafs, weights = [], []
    for part in np.array_split(np.arange(written.size), min(BATCHES, max(1, written.size))):
        weight = float(written[part].sum())
        if weight > 0:
            wafs.append(float((waf[part] * written[part]).sum() / weight))
            weights.append(weight)
    return wafs, weights
