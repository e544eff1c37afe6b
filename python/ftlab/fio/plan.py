"""Streams of jobs as a workload: one generator, or hosts that share the drive (tenants), each with its own loop."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ftlab.base.hints import nearest, one_of
from ftlab.fio.jobfile import JobFile, Section
from ftlab.fio.quantities import size
from ftlab.fio.streams import Reading, Stream

MOST_STREAMS = 256
"""As many tenants as a drive may have."""

MOST_DEPTH = 65_536
"""As many commands as it may have at once."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A job file, as a run of a drive carries it out."""

    streams: tuple[Stream, ...]
    """The streams that are reported."""
    config: dict[str, Any]
    """The tables of the configuration that the jobs give: `workload` or `tenant`, and `host`."""
    notes: list[str]
    """The things that a user of fio may not expect."""
    globals: dict[str, str] = field(default_factory=dict)
    """Words of the `[global]` sections."""

    @property
    def are_tenants(self) -> bool:
        """True for streams that are tenants, in their order."""
        return "tenant" in self.config


def plan(file: JobFile, capacity: int, *, section: str | None = None, handles: int = 1) -> Plan:
    """The plan for a job file.

    Args:
        file: the job file.
        capacity: bytes of the drive.
        section: the name of the only job that is run; all if not given.
        handles: placement identifiers of the drive.

    Raises:
        InputError: a job asks for what is not carried out.
    """
    reading = Reading(file, capacity, handles)
    sections = _chosen(file, section)
    for later in sections[1:]:
        if later.flag("stonewall"):
            raise file.refusal(
                later.words["stonewall"],
                f"`[{later.name}]` waits for the jobs before it, and a run is of jobs that begin together",
                f"expected `--section {later.name}`, which runs it alone on a drive of its own",
            )
    streams = [copy for each in sections for copy in _copies(file, reading.stream(each), capacity)]
    if len(streams) > MOST_STREAMS:
        raise file.refusal(
            sections[-1].words.get("numjobs") or sections[-1].line,
            f"the jobs and their copies are {len(streams):,} streams",
            f"expected at most {MOST_STREAMS}; one job with a larger `iodepth` may do",
        )
    globals_ = {key: word.value or "1" for key, word in file.globals.items()}
    only = streams[0]
    if len(streams) == 1 and only.is_a_loop:
        config: dict[str, Any] = {
            "workload": _workload(only),
            "host": {"replay": "closed", "queue_depth": only.depth},
        }
    else:
        depth = min(sum(stream.depth for stream in streams), MOST_DEPTH)
        config = {"tenant": [*_tenants(streams)], "host": {"queue_depth": depth}}
    return Plan(tuple(streams), config, reading.notes, globals_)


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


def _workload(stream: Stream) -> dict[str, Any]:
    """The requests of a stream, as `[workload]` or a tenant has them."""
    workload: dict[str, Any] = {
        "generator": stream.generator,
        "request_size": f"{stream.bs}B",
        "read_fraction": stream.read_fraction,
        "footprint": f"{stream.footprint}B",
    }
    if stream.requests is not None:
        workload["requests"] = stream.requests
    if stream.offset:
        workload |= {"address_offset": f"{stream.offset}B", "out_of_range": "reject"}
    if len(stream.hints) > 1:
        workload |= {"hint": list(stream.hints), "hint_select": stream.hint_select}
    elif stream.hints[0]:
        workload["hint"] = stream.hints[0]
    return workload


def _tenants(streams: Iterable[Stream]) -> Iterable[dict[str, Any]]:
    """A tenant for each stream."""
    names: set[str] = set()
    for number, stream in enumerate(streams):
        name = re.sub("[^A-Za-z0-9_-]", "-", stream.name)[:40]
        if name in names:
            name = f"{name[:34]}-{number}"
        names.add(name)
        tenant = {"name": name, **_workload(stream), "queue_depth": stream.depth, "replay": "closed"}
        if stream.interval_ns is not None:
            pace = {"interval": f"{round(stream.interval_ns)}ns", "poisson": stream.poisson}
            tenant |= {"replay": "paced", **pace}
        times = {
            "think": stream.think_us, "start": stream.delay_us, "ramp": stream.ramp_us, "duration": stream.end_us,
        }  # fmt: skip
        yield tenant | {key: f"{us}us" for key, us in times.items() if us}


def _copies(file: JobFile, stream: Stream, capacity: int) -> Sequence[Stream]:
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
