"""Traces made up to a table of figures.

A published table gives a trace's write ratio, mean sizes and mean time between arrivals. What it leaves open (how much
data, how unevenly it is used, how much of it in sequence, how bursty) is a model's parameter here, stated and seeded.
The same model, scale and seed give the same file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.results.output import scratch

KIB = 1024
PAGE = 8 * KIB
CHUNK = 64 * KIB
"""The grain of locality: a chunk is hot or cold as a whole, about the extent in which a file system places a file."""

LARGEST = 1024 * KIB
"""No request is larger; what the drivers of the time split at."""

EPOCH_100NS = 128_166_372_000_000_000
"""Where the times begin: the MSR format counts 100 ns since 1601, and a reader may look at it as a date."""

Integers = NDArray[np.int64]

PART = 1 << 22
"""Requests that are made text at once."""


@dataclass(frozen=True, slots=True)
class TraceModel:
    """A trace as a table gives it, and what the table leaves open."""

    name: str
    write_fraction: float
    read_kib: float
    write_kib: float
    inter_arrival_ms: float
    requests: int
    """Requests at full scale."""
    space_gib: float
    """The address space that the trace uses, at full scale. How much of it is written follows from all the rest."""
    zipf: float
    """Skew of the popularity of chunks; 0 is uniform."""
    sequential: float
    """Chance that a request goes on where the last of its kind ended."""
    lattice_kib: float
    """Sizes and places are multiples of this."""
    burst: float
    """Mean number of requests that arrive together; 1 is a Poisson process."""
    spread: float = 0.8
    """Standard deviation of the logarithm of sizes."""
    sources: str = ""
    """Where requests and locality come from."""

    def facts(self) -> dict[str, Any]:
        """All that determines the file but scale and seed."""
        facts = asdict(self)
        facts.pop("sources")
        return facts

    def make(self, ratio: float, seed: int, path: Path) -> None:
        """Writes the trace, `ratio` of its full footprint and length."""
        synthesise(self, ratio, seed, path)


def synthesise(model: TraceModel, ratio: float, seed: int, path: Path) -> None:
    """Writes the model's trace, `ratio` of its full footprint and length, in MSR format with zstd."""
    rng = np.random.Generator(np.random.PCG64(seed))
    count = max(2000, round(model.requests * ratio))
    writes = write_flags(rng, count, model.write_fraction)
    sizes = np.empty(count, np.int64)
    for kind, kib in ((True, model.write_kib), (False, model.read_kib)):
        mine = writes == kind
        sizes[mine] = request_sizes(
            rng, int(mine.sum()), kib * KIB, round(model.lattice_kib * KIB), model.spread
        )
    space = max(32, round(model.space_gib * ratio * 2**30 / CHUNK)) * CHUNK
    offsets = places(rng, model, writes, sizes, space)
    write_msr(path, arrivals(rng, count, model.inter_arrival_ms, model.burst), writes, offsets, sizes)


def write_flags(rng: np.random.Generator, count: int, fraction: float) -> NDArray[np.bool_]:
    """Exactly the fraction, in random order."""
    flags = np.zeros(count, np.bool_)
    flags[: round(count * fraction)] = True
    return rng.permutation(flags)


def request_sizes(rng: np.random.Generator, count: int, mean: float, lattice: int, spread: float) -> Integers:
    """Lognormal sizes, rounded up to the lattice, whose mean is the given one.

    The rounding moves the mean, so the scale is found by bisection over the same random numbers.
    """
    draws = np.exp(spread * rng.standard_normal(count))
    ranked = np.sort(draws)
    # A size is one step of the lattice, and another for each of these that it is above.
    steps = np.arange(1, LARGEST // lattice, dtype=np.float64) * lattice

    def total(scale: float) -> int:
        above = count - np.searchsorted(ranked, steps / scale, side="right")
        return (count + int(above.sum())) * lattice

    low, high = 1.0, float(LARGEST)
    for _ in range(50):
        middle = (low * high) ** 0.5
        if count and total(middle) / count < mean:
            low = middle
        else:
            high = middle
    sizes = np.ceil(np.clip(draws * low, 1, LARGEST) / lattice)
    return np.asarray(sizes, np.int64) * lattice


def places(
    rng: np.random.Generator, model: TraceModel, writes: NDArray[np.bool_], sizes: Integers, space: int
) -> Integers:
    """Where requests begin: a write in a chunk chosen by popularity, a read where some write of the trace begins, and
    either of them, by chance, where the last of its kind ended.
    """
    follows = rng.random(sizes.size) < model.sequential
    written = chained(scattered(rng, model, int(writes.sum()), space), sizes[writes], follows[writes])
    # What nobody writes a drive that began empty does not hold, and reading it would cost nothing.
    chosen = rng.integers(0, max(1, written.size), int((~writes).sum()))
    starts = np.empty(sizes.size, np.int64)
    starts[writes] = written
    starts[~writes] = chained(written[chosen], sizes[~writes], follows[~writes]) if written.size else 0
    # What would pass the end begins early enough to end there.
    return np.asarray(np.where(starts % space + sizes > space, space - sizes, starts % space), np.int64)


def scattered(rng: np.random.Generator, model: TraceModel, count: int, space: int) -> Integers:
    """Places by popularity; popular chunks lie anywhere, not side by side."""
    lattice = round(model.lattice_kib * KIB)
    chunks = space // CHUNK
    cumulative = np.cumsum(np.arange(1, chunks + 1, dtype=np.float64) ** -model.zipf)
    ranks = np.searchsorted(cumulative, rng.random(count) * cumulative[-1], side="right")
    order = rng.permutation(chunks)
    starts = order[np.minimum(ranks, chunks - 1)] * CHUNK
    return np.asarray(starts + rng.integers(0, CHUNK // lattice, count) * lattice, np.int64)


def chained(starts: Integers, sizes: Integers, follows: NDArray[np.bool_]) -> Integers:
    """Each request that follows begins where the one before it ends."""
    if not starts.size:
        return starts
    heads = np.maximum.accumulate(np.where(follows, 0, np.arange(starts.size)))
    before = np.cumsum(sizes) - sizes
    return np.asarray(starts[heads] + before - before[heads], np.int64)


def arrivals(rng: np.random.Generator, count: int, mean_ms: float, burst: float) -> Integers:
    """Times in 100 ns: bursts, inside which gaps are a twentieth of the mean, at exponential distances."""
    inside = 0.05
    outside = burst - (burst - 1) * inside
    gaps = rng.exponential(1.0, count) * np.where(rng.random(count) < 1 / burst, outside, inside)
    gaps[0] = 0
    times = np.cumsum(gaps) * (mean_ms * 1e4 * (count - 1) / gaps.sum())
    return np.asarray(np.rint(times), np.int64) + EPOCH_100NS


def write_msr(
    path: Path, times: Integers, writes: NDArray[np.bool_], offsets: Integers, sizes: Integers
) -> None:
    """Writes requests as `timestamp,host,disk,type,offset,size,response`, packed with zstd."""
    parts = (slice(at, at + PART) for at in range(0, times.size, PART))
    write_msr_parts(path, ((times[part], writes[part], offsets[part], sizes[part]) for part in parts))


def write_msr_parts(
    path: Path, parts: Iterable[tuple[Integers, NDArray[np.bool_], Integers, Integers]]
) -> None:
    """The same for a trace that comes in parts."""
    import pyarrow as pa
    from pyarrow import csv

    names = ("time", "host", "disk", "type", "offset", "size", "response")
    schema = pa.schema([(name, pa.string() if name in ("host", "type") else pa.int64()) for name in names])
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    with scratch(path.parent) as directory:
        beside = directory / path.name
        with (
            beside.open("wb") as file,
            pa.CompressedOutputStream(file, "zstd") as out,
            csv.CSVWriter(out, schema, write_options=options) as writer,
        ):
            for times, writes, offsets, sizes in parts:
                none = np.zeros(times.size, np.int64)
                host, kinds = np.full(times.size, "trace"), np.where(writes, "Write", "Read")
                writer.write(pa.table([times, host, none, kinds, offsets, sizes, none], schema=schema))
        beside.replace(path)
