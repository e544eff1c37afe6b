"""Streams of jobs as a workload: one generator, or, where all are paced, one table of requests."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ftlab.base.hints import nearest, one_of
from ftlab.fio.jobfile import JobFile, Section
from ftlab.fio.quantities import size
from ftlab.fio.streams import Reading, Stream

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_ROWS = 50_000_000
"""Requests of jobs beside each other at most: their times are listed before the run."""

TABLE_COLUMNS = "time=time:ns,op=op,offset=offset:B,size=size:B"


@dataclass(frozen=True, slots=True)
class Plan:
    """A job file, as a run of a drive carries it out."""

    streams: tuple[Stream, ...]
    """The streams that are reported."""
    workload: dict[str, Any]
    """`[workload]` of the run; empty where requests are listed."""
    host: dict[str, Any]
    """`[host]` of the run, as far as jobs say it."""
    needs_rows: bool
    """Whether a row for each request is needed for the report."""
    notes: list[str]
    """The things that a user of fio may not expect."""
    table: dict[str, Any] | None = None
    """The listed requests."""
    owners: tuple[Any, Any] | None = None
    """Of the listed requests: arrivals in nanoseconds, ascending, and the stream of each."""
    globals: dict[str, str] = field(default_factory=dict)
    """Words of the `[global]` sections."""


def plan(file: JobFile, capacity: int, *, section: str | None = None, seed: int = 1) -> Plan:
    """The plan for a job file.

    Args:
        file: the job file.
        capacity: bytes of the drive.
        section: the name of the only job that is run; all if not given.
        seed: the seed of listed requests.

    Raises:
        InputError: a job asks for what is not carried out.
    """
    reading = Reading(file, capacity)
    sections = _chosen(file, section)
    for later in sections[1:]:
        if later.flag("stonewall"):
            raise file.refusal(
                later.words["stonewall"],
                f"`[{later.name}]` waits for the jobs before it, and a run is of jobs that begin together",
                f"expected `--section {later.name}`, which runs it alone on a drive of its own",
            )
    streams = [reading.stream(each) for each in sections]
    globals_ = {key: word.value or "1" for key, word in file.globals.items()}
    if len(streams) == 1 and (one := _one(file, streams[0], reading.notes)) is not None:
        return replace(_alone(file, one, reading.notes, seed), globals=globals_)
    copies = [copy for stream in streams for copy in _copies(file, stream, capacity)]
    for stream in copies:
        _may_be_listed(file, stream)
    return replace(_listed(file, copies, reading.notes, seed), globals=globals_)


def _chosen(file: JobFile, name: str | None) -> list[Section]:
    if name is None:
        return file.sections
    found = [section for section in file.sections if section.name == name]
    names = [section.name for section in file.sections]
    if not found:
        raise file.refusal(
            file.sections[0].line, f"there is no job `{name}`", one_of(names), nearest(name, names)
        )
    return found


def _one(file: JobFile, stream: Stream, notes: list[str]) -> Stream | None:
    """The copies of a job as one stream; `None` where they are to be listed."""
    increment = stream.section.words.get("offset_increment")
    if stream.copies == 1 or (stream.interval_ns is not None):
        return stream if stream.copies == 1 else None
    if increment is not None and increment.value != "0":
        raise file.refusal(
            increment,
            f"{stream.copies} copies with ranges of their own, each as fast as it can",
            "expected copies that are paced (`rate_iops`), or one range",
        )
    if not stream.is_random:
        at = stream.section.words["numjobs"]
        raise file.refusal(
            at,
            f"{stream.copies} copies that each go through the range in order",
            "expected copies that are paced (`rate_iops`), random ones, or one",
            "sequences beside each other, each as fast as it can, need tenants, which are not built",
        )
    if stream.generator == "shuffled":
        notes.append(
            f"[{stream.name}]: {stream.copies} copies ask for each block once in one pass after the other, where "
            "those of fio each make a pass at the same time; with `norandommap` they are the same"
        )
    requests = None if stream.requests is None else stream.requests * stream.copies
    return replace(stream, depth=stream.depth * stream.copies, requests=requests)


def _alone(file: JobFile, stream: Stream, notes: list[str], seed: int) -> Plan:
    """One stream: a generator, or a list where there is none for it."""
    if stream.delay_us:
        notes.append(
            f"[{stream.name}]: `startdelay` of the only job changes nothing: the drive rests meanwhile"
        )
        stream = replace(stream, delay_us=0)
    is_listed = stream.generator == "shuffled" or "pareto" in stream.generator
    has_generator = "zipf" in stream.generator
    if stream.interval_ns is None:
        if stream.requests is None:
            raise file.refusal(
                stream.section.words["time_based"],
                f"`[{stream.name}]` ends with the time and has no pace, and a run ends with a number of requests",
                "expected `number_ios` in place of it, or a pace (`rate_iops`)",
            )
        if stream.end_ns is not None:
            notes.append(
                f"[{stream.name}]: the requests behind `runtime` are simulated too, and are not in fio's figures"
            )
        return _listed_in_turn(file, stream, notes, seed) if is_listed else _generated(stream, notes)
    if is_listed or (stream.poisson and stream.end_ns is not None and not has_generator):
        _may_be_listed(file, stream)
        listed = _listed(file, [stream], notes, seed)
        return replace(listed, host={"replay": "open", "queue_depth": stream.depth})
    return _generated(stream, notes)


def _generated(stream: Stream, notes: list[str]) -> Plan:
    """One stream as a generator."""
    workload: dict[str, Any] = {
        "generator": stream.generator,
        "request_size": f"{stream.bs}B",
        "read_fraction": stream.read_fraction,
        "footprint": f"{stream.footprint}B",
        "requests": stream.requests if stream.interval_ns is None else _rows(stream),
    }
    if stream.offset:
        workload |= {"address_offset": f"{stream.offset}B", "out_of_range": "reject"}
    host: dict[str, Any] = {"replay": "closed", "queue_depth": stream.depth}
    if stream.interval_ns is not None:
        host["replay"] = "open"
        workload |= {"interval": f"{round(stream.interval_ns)}ns", "poisson": stream.poisson}
    ends_before = stream.interval_ns is None and stream.end_ns is not None
    return Plan((stream,), workload, host, bool(stream.ramp_us) or ends_before, notes)


def _listed_in_turn(file: JobFile, stream: Stream, notes: list[str], seed: int) -> Plan:
    """One stream without a pace, its requests listed in order."""
    import numpy as np

    assert stream.requests is not None
    _refuse_long(file, stream, stream.requests, MOST_ROWS)
    chance = _chance(stream, 0, seed)
    reads = chance.random(stream.requests) < stream.read_fraction
    table = {
        "time": np.zeros(stream.requests, dtype=np.int64),
        "op": np.where(reads, "R", "W"),
        "offset": _offsets(stream, chance, stream.requests),
        "size": np.full(stream.requests, stream.bs),
    }
    host = {"replay": "closed", "queue_depth": stream.depth}
    return Plan((stream,), {}, host, bool(stream.ramp_us) or stream.end_ns is not None, notes, table)


def _copies(file: JobFile, stream: Stream, capacity: int) -> list[Stream]:
    """The copies of a job, each a stream."""
    word = stream.section.words.get("offset_increment")
    step = 0
    if word is not None:
        found = size(word.value or "")
        if found is None or found % 512:
            raise file.refusal(
                word, f"`offset_increment` cannot be `{word.value}`", "expected a multiple of 512 bytes"
            )
        step = found
        if stream.offset + (stream.copies - 1) * step + stream.footprint > capacity:
            raise file.refusal(word, f"the last of {stream.copies} copies goes past the end of the drive",
                        f"expected less: the drive has {capacity:,} bytes, a copy {stream.footprint:,}")  # fmt: skip
    return [
        replace(
            stream,
            name=stream.name if stream.copies == 1 else f"{stream.name}.{i}",
            copies=1,
            offset=stream.offset + i * step,
        )
        for i in range(stream.copies)
    ]


def _may_be_listed(file: JobFile, stream: Stream) -> None:
    """Refuses what can only be had of a single job.

    Raises:
        InputError: the stream has no pace, or cannot be listed.
    """
    if stream.interval_ns is None:
        raise file.refusal(
            stream.section.line,
            f"`[{stream.name}]` sends its next request when one is done, beside other jobs",
            "expected a pace for each (`rate_iops` or `rate`), or one job: `--section NAME`",
            "several such loops beside each other need tenants, which are not built",
        )
    if isinstance(stream.generator, dict) and "zipf" in stream.generator:
        raise file.refusal(
            stream.section.words["random_distribution"],
            "`zipf` of a job beside others",
            "expected `pareto` or `random`, or one job: `--section NAME`",
        )
    if 0 < stream.read_fraction < 1:
        raise file.refusal(
            stream.section.line,
            f"`[{stream.name}]` reads and writes, beside other jobs",
            "expected a job that reads and one that writes",
        )


def _listed(file: JobFile, streams: Sequence[Stream], notes: list[str], seed: int) -> Plan:
    """Paced streams, in order of time."""
    import numpy as np

    for stream in streams:
        _refuse_long(file, stream, _rows(stream), MOST_ROWS // len(streams))
    parts = [_requests(stream, number, seed) for number, stream in enumerate(streams)]
    times = np.concatenate([times for times, _ in parts])
    owners = np.concatenate([np.full(len(times), i) for i, (times, _) in enumerate(parts)])
    offsets = np.concatenate([offsets for _, offsets in parts])
    order = np.lexsort((owners, times))
    times, owners, offsets = times[order], owners[order], offsets[order]
    # A nanosecond later where two come at once: a row of the results is told by its time.
    place = np.arange(len(times))
    times = np.maximum.accumulate(times - place) + place
    times -= times[0]
    sizes = np.array([stream.bs for stream in streams])[owners]
    ops = np.array(["R" if stream.read_fraction else "W" for stream in streams])[owners]
    table = {"time": times, "op": ops, "offset": offsets, "size": sizes}
    host = {"replay": "open", "queue_depth": "unlimited"}
    return Plan(tuple(streams), {}, host, True, notes, table, (times.astype(np.uint64), owners))


def _refuse_long(file: JobFile, stream: Stream, rows: int, most: int) -> None:
    """Refuses a list that is too long.

    Raises:
        InputError: it is.
    """
    if rows > most:
        raise file.refusal(
            stream.section.line,
            f"`[{stream.name}]` sends {rows:,} requests, which have to be listed before the run",
            f"expected at most {most:,}: set `number_ios`, `io_size` or `norandommap`",
        )


def _rows(stream: Stream) -> int:
    """How many requests a paced stream sends, about."""
    assert stream.interval_ns is not None
    by_time = None if stream.end_ns is None else math.ceil(stream.end_ns / stream.interval_ns)
    return max(1, min(each for each in (by_time, stream.requests) if each is not None))


def _chance(stream: Stream, number: int, seed: int) -> np.random.Generator:
    """Random numbers of a stream's own, by its name."""
    import numpy as np

    return np.random.Generator(np.random.PCG64([seed, zlib.crc32(stream.name.encode()), number]))


def _requests(stream: Stream, number: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Times in nanoseconds and offsets of a paced stream."""
    import numpy as np

    assert stream.interval_ns is not None
    chance = _chance(stream, number, seed)
    rows = _rows(stream)
    if stream.poisson:
        # More than there will be, where time ends it.
        drawn = rows if stream.end_ns is None else rows + 10 * math.isqrt(rows) + 10
        gaps = chance.exponential(stream.interval_ns, drawn)
        times = np.concatenate([[0.0], np.cumsum(gaps[:-1])])
    else:
        times = np.arange(rows) * stream.interval_ns
    if stream.end_ns is not None:
        times = times[times < stream.end_ns]
    times = times[: stream.requests]
    return (times + stream.delay_us * 1000).astype(np.int64), _offsets(stream, chance, len(times))


def _offsets(stream: Stream, chance: np.random.Generator, rows: int) -> NDArray[np.int64]:
    """Where so many requests of a stream go."""
    import numpy as np

    slots = stream.footprint // stream.bs
    if stream.generator == "sequential":
        places = np.arange(rows) % slots
    elif stream.generator == "uniform":
        places = chance.integers(0, slots, rows)
    elif stream.generator == "shuffled":
        places = _shuffled(chance, slots, rows)
    else:
        # As in `lib/zipf.c` of fio; scattered by a step that reaches each of them once.
        assert isinstance(stream.generator, dict)
        h = stream.generator["pareto"]["h"]
        ranks = (slots * chance.random(rows) ** (np.log(h) / np.log(1 - h))).astype(np.int64)
        step = next(step for step in range(0x9E3779B1, 1 << 33, 2) if np.gcd(step, slots) == 1)
        places = (np.minimum(ranks, slots - 1) * (step % slots)) % slots
    return (places * stream.bs + stream.offset).astype(np.int64)


def _shuffled(chance: np.random.Generator, slots: int, rows: int) -> NDArray[np.int64]:
    """Every slot once in random order, again and again; of a pass that is not finished only what is asked for."""
    import numpy as np

    found = []
    while rows > 0:
        if rows * 16 < slots:
            # Few of many: drawn until they differ.
            seen: dict[int, None] = {}
            while len(seen) < rows:
                seen.update(dict.fromkeys(chance.integers(0, slots, rows - len(seen)).tolist()))
            found.append(np.array(list(seen), dtype=np.int64))
            break
        found.append(chance.permutation(slots)[:rows])
        rows -= min(rows, slots)
    return np.concatenate(found)
