"""Streams of jobs as a workload: one generator, or hosts that share the drive (tenants), each with its own loop."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ftlab.base.hints import nearest, one_of
from ftlab.fio.jobfile import JobFile, Section, Word
from ftlab.fio.streams import Reading, Stream

MOST_STREAMS = 256
"""As many tenants as a drive may have."""

MOST_DEPTH = 65_536
"""As many commands as it may have at once."""


LONGEST_LABEL = 255
"""Characters of a tenant's label at most."""

NO_DRIVES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/shm")
"""Devices that hold nothing."""


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
        section: the only job that is run, by the name of its section or by its own (`name=`); all if not given.
        handles: placement identifiers of the drive.

    Raises:
        InputError: a job asks for what is not carried out.
    """
    reading = Reading(file, capacity, handles)
    if file.is_global:
        reading.notes.append("the file has `[global]` words alone: they are one job")
    sections = _chosen(file, section)
    _one_drive(file, sections, reading)
    streams: list[Stream] = []
    stage = group = of_group = 0
    for number, each in enumerate(sections):
        if number and each.flag("stonewall"):
            stage += 1
        if of_group and (each.flag("stonewall") or each.flag("new_group")):
            group, of_group = group + 1, 0
        of_group += 1
        streams += [replace(copy, stage=stage, group=group) for copy in reading.streams(each)]
        if len(streams) > MOST_STREAMS:
            raise file.refusal(
                each.words.get("numjobs") or each.line,
                f"the jobs up to this one, with their copies, are {len(streams):,} streams",
                f"expected at most {MOST_STREAMS} in a run: some of the jobs at a time, each with `--section NAME`",
            )
    streams = _ended(file, sections, streams, reading)
    globals_ = {key.lstrip("?"): word.value or "1" for key, word in file.globals.items()}
    only = streams[0]
    if len(streams) == 1 and only.is_a_loop:
        config: dict[str, Any] = {
            "workload": only.source | only.hints,
            "host": {"replay": "closed", "queue_depth": only.depth},
        }
    else:
        depth = min(sum(stream.depth for stream in streams), MOST_DEPTH)
        config = {"tenant": [*_tenants(file, streams)], "host": {"queue_depth": depth}}
    return Plan(tuple(streams), config, reading.notes, globals_)


def _chosen(file: JobFile, name: str | None) -> list[Section]:
    if name is None:
        return file.sections
    # A job may say another name, which is that of its figures.
    found = [section for section in file.sections if section.name == name]
    found = found or [section for section in file.sections if section.job_name == name]
    names = [section.name for section in file.sections]
    if not found:
        raise file.refusal(
            file.sections[0].line, f"there is no job `{name}`", one_of(names[:20]), nearest(name, names)
        )
    return found


def _one_drive(file: JobFile, sections: Sequence[Section], reading: Reading) -> None:
    """Refuses jobs on several drives: a run has one."""
    seen: dict[str, tuple[Section, Word]] = {}
    for section in sections:
        if (word := section.words.get("filename")) is None:
            continue
        names = _names(word)
        if (common := file.globals.get("filename")) is not None and common.line.number < word.line.number:
            # As in fio: the files of `[global]` are those of a job too.
            names = [*dict.fromkeys([*_names(common), *names])]
        for name in names:
            seen.setdefault(name, (section, word))
        drives = [
            name for name in seen if name.startswith(("/dev/", "\\\\.\\", "${")) and name not in NO_DRIVES
        ]
        if len(names) > 1 or len(drives) > 1:
            one = drives[0] if len(drives) > 1 else names[0]
            other = drives[-1] if len(drives) > 1 else names[1]
            first = seen[one][0].name
            instead = (
                f"expected one; run each by itself: `--section {first}`, and `--section {section.name}`"
                if first != section.name
                else "expected one, and a job for each of them, run with `--section NAME`"
            )
            raise file.refusal(word, f"`{one}` and `{other}` are two drives, and a run has one", instead)
    if len(seen) > 1:
        files = ", ".join(f"`{name}`" for name in list(seen)[:4])
        reading.notes.append(
            f"{files}: files are not told apart; each job is on the drive at its `offset`, 0 where none is given"
        )


def _names(word: Word) -> list[str]:
    """The files that `filename` names."""
    return [name.replace("\\:", ":") for name in re.split(r"(?<!\\):", word.value or "")]


def _ended(
    file: JobFile, sections: Sequence[Section], streams: list[Stream], reading: Reading
) -> list[Stream]:
    """The streams that a job with `exitall` leaves; refuses what it would end and the drive's hosts cannot."""
    words = [(section, section.words["exitall"]) for section in sections if section.flag("exitall")]
    if not words:
        return streams
    groups: dict[int, set[int]] = {}
    for stream in streams:
        groups.setdefault(stream.stage, set()).add(stream.group)
    for stream in streams:
        what = stream.section.value("exit_what") or "group"
        if what not in ("group", "stonewall", "all"):
            raise file.refusal(stream.section.words["exit_what"], f"`exit_what` cannot be `{what}`",
                               one_of(["group", "stonewall", "all"]))  # fmt: skip
        if what == "group" and len(groups[stream.stage]) > 1:
            raise file.refusal(
                words[0][1], "`exitall` ends the jobs of a group, and jobs of several groups run at once",
                "expected `exit_what=stonewall`, which ends all that run, or no `new_group`",
            )  # fmt: skip
    last = min((s.stage for s in streams if s.section.value("exit_what") == "all"), default=streams[-1].stage)
    if last < streams[-1].stage:
        reading.notes.append("`exit_what=all`: the jobs behind the next `stonewall` never begin, as in fio")
    return [stream for stream in streams if stream.stage <= last]


def _tenants(file: JobFile, streams: Sequence[Stream]) -> Iterable[dict[str, Any]]:
    """A tenant for each stream."""
    names: list[str] = []
    several = {(stream.section.name, stream.section.line.number) for stream in streams if stream.copy}
    ends = any(stream.section.flag("exitall") for stream in streams)
    for stream in streams:
        name = re.sub("[^A-Za-z0-9_-]+", "-", stream.name).strip("-")[:34] or "job"
        if (stream.section.name, stream.section.line.number) in several:
            name += f"-{stream.copy}"
        if name in names:
            name = f"{name}-{len(names)}"
        tenant: dict[str, Any] = {"name": name}
        if (label := "".join(filter(str.isprintable, stream.name))[:LONGEST_LABEL]) != name:
            tenant["label"] = label or name
        if is_joined(stream, streams[len(names) - 1] if names else None):
            tenant["joined"] = True
        tenant |= {**stream.source, **stream.hints, "queue_depth": stream.depth}
        tenant |= {"replay": "paced" if stream.is_paced else "closed", **stream.pause}
        if "joined" not in tenant:
            # The jobs of a group are judged together, by the words of the first.
            tenant |= stream.steady
        times = {"start": stream.delay_us, "ramp": stream.ramp_us, "duration": stream.end_us}
        tenant |= {key: f"{us}us" for key, us in times.items() if us}
        if after := [
            *dict.fromkeys([*_before(stream, streams, names), *_waited_for(file, stream, streams, names)])
        ]:
            tenant["after"] = " ".join(after)
        if ends:
            tenant["ends_others"] = True
        names.append(name)
        yield tenant


def is_joined(stream: Stream, before: Stream | None) -> bool:
    """True for a stream that is reported with the one before it.

    As in fio: a job that is reported by group is added to what is there of its group.
    """
    return before is not None and stream.section.flag("group_reporting") and before.group == stream.group


def _before(stream: Stream, streams: Sequence[Stream], names: Sequence[str]) -> list[str]:
    """The tenants of the stage before."""
    return [name for name, other in zip(names, streams, strict=False) if other.stage == stream.stage - 1]


def _waited_for(file: JobFile, stream: Stream, streams: Sequence[Stream], names: Sequence[str]) -> list[str]:
    """The tenants of the job that `wait_for` names."""
    if (word := stream.section.words.get("wait_for")) is None:
        return []
    before = [
        (name, other)
        for name, other in zip(names, streams, strict=False)
        if other.section.line != stream.section.line
    ]
    found = [name for name, other in before if other.name == word.value]
    if not found:
        known = [*dict.fromkeys(other.name for _, other in before)]
        expected = one_of(known) if known else "expected a job before this one"
        raise file.refusal(word, f"`wait_for={word.value}` is no job before this one", expected,
                           nearest(word.value or "", known))  # fmt: skip
    return found
