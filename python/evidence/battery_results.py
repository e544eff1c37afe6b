"""Cases about what runs say and leave: what they count, results that are loaded, kept runs that are taken up again."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ftlab
from evidence.battery_inputs import CAPACITY, SEAMS, TINY, mutated, run, trace_text
from evidence.battery_oracle import Fault, Run, Scratch, attempt, kinds
from ftlab import _core
from ftlab_reproduce.experiment import Grid, Tell
from ftlab_reproduce.experiment import Run as KeptRun


def results(s: Scratch) -> str:
    """Results that were saved, with a file damaged, and loaded."""
    place = s.shared / "result"
    if not (place / "summary.json").exists():
        ftlab.run(TINY).save(place, plots=False)
    name = s.one(sorted(file.name for file in place.iterdir()))
    for file in place.iterdir():
        content = file.read_bytes()
        s.file(f"result/{file.name}", mutated(content, s.random) if file.name == name else content)
    if s.chance(0.2):
        gone = s.path / "result" / name
        gone.unlink()
        del s.theirs[gone]
    return attempt(lambda: ftlab.Result.load(s.path / "result"))


KEPT = tuple(
    KeptRun(victim, TINY, {"ftl.victim": victim, "run.executor": "count", "workload.requests": 100})
    for victim in ("greedy", "fifo", "random")
)
"""Runs of a grid, each another one's neighbour."""


def kept(s: Scratch) -> str:
    """Kept runs of a reproduction, damaged, cut, exchanged: made anew, with a word about it, and set aside"""
    good = s.shared / "kept"
    if not good.exists():
        Grid(good).run(KEPT, jobs=1)
    expected = Grid(good).run(KEPT, jobs=1)
    place = s.output("runs")
    shutil.copytree(good, place)
    what, directories = _damage(s, place)
    before = {file: file.read_bytes() for name in directories for file in name.rglob("*") if file.is_file()}
    said = io.StringIO()
    results = Grid(place).run(KEPT, Tell(said), jobs=1)
    for label, result in expected.items():
        # The rest of a summary says how long the run took.
        if any(results[label].summary[part] != result.summary[part] for part in ("config", "host", "waf")):
            raise Fault(f"{what}: the run `{label}` has another result")
    for directory in directories:
        if f"{directory} is not taken: " not in said.getvalue():
            raise Fault(f"{what}: nothing is said of {directory.name}: {said.getvalue()!r}")
        aside = directory.with_name(f"{directory.name}.set-aside")
        for file, content in before.items():
            if directory in file.parents and (aside / file.relative_to(directory)).read_bytes() != content:
                raise Fault(f"{what}: {file.name} is not set aside as it was")
    said.truncate(0)
    said.seek(0)
    Grid(place).run(KEPT, Tell(said), jobs=1)
    if said.getvalue():
        raise Fault(f"{what}: what was made anew is not taken: {said.getvalue()}")
    return what


def _damage(s: Scratch, place: Path) -> tuple[str, list[Path]]:
    """What was done to the runs of a grid, and the directories that are not what they were."""
    one, other = s.random.sample(sorted(place.iterdir()), 2)
    file = s.one(sorted(one.iterdir()))
    match s.random.randrange(5):
        case 0:
            content = file.read_bytes()
            changed = content
            while changed == content:
                changed = mutated(content, s.random)
            file.write_bytes(changed)
            if file.name == "kept.json" and _same_json(content, changed):
                return "changed in vain", []
            return "changed", [one]
        case 1:
            file.unlink()
            return "missing", [one]
        case 2:
            # Hidden files are not read, and may lie there.
            shutil.copy(file, one / s.one(("locality.parquet", f"{file.name}.old".lstrip("."), "x")))
            return "more than there was", [one]
        case 3:
            shutil.rmtree(one)
            shutil.copytree(other, one)
            return "another run's", [one]
        case _:
            beside = place / "beside"
            one.rename(beside)
            other.rename(one)
            beside.rename(other)
            return "exchanged", [one, other]


def _same_json(one: bytes, other: bytes) -> bool:
    try:
        return bool(json.loads(one) == json.loads(other))
    except (ValueError, RecursionError):
        return False


READ = ("lines", "bad_lines", "zero_length", "postfua_dropped", "stray_times", "backwards_times")
"""What the reader of a trace counts."""


def counts(s: Scratch) -> str:
    """A mutated trace in `trace info` and in a replay: both take it or neither, and their counts agree"""
    file = s.file("trace.csv", trace_text(s))
    name = s.one((None, None, None, "msr", "spc", "ssdsim"))
    skip_bad = s.chance(0.7)
    sets = {
        "workload.skip_bad": skip_bad,
        "workload.out_of_range": s.one(("wrap", "clamp")),
        "run.executor": "count",
        "host.replay": "batch",
        **({} if name is None else {"workload.trace_format": name}),
    }
    found: dict[str, Any] = {}
    told = attempt(lambda: found.update(json.loads(_core.trace_info(file, format=name, skip_bad=skip_bad))))
    replayed: dict[str, Any] = {}
    ran = attempt(lambda: replayed.update(run(TINY, sets=sets, trace=file).summary))
    if told != "success" and ran == "success":
        raise Fault(f"`info` refuses what a run takes ({told})")
    if ran != "success":
        # A run has a device: it may refuse what `info` can tell.
        return ran
    read, host = replayed["workload"], replayed["host"]
    requests = host["reads"] + host["writes"] + host["trims"] + host["flushes"]
    pairs = {
        "requests": (found["requests"] + read["split"] - read["dropped_past_end"], requests),
        **{key: (found[key], read[key]) for key in READ},
    }
    for key, (info, run_) in pairs.items():
        if info != run_:
            raise Fault(f"{key}: {info} by `info`, {run_} by the run")
    return "success"


def _requests(s: Scratch, count: int) -> tuple[str, dict[str, int]]:
    """Lines of a trace inside the device, and what they add up to."""
    totals = dict.fromkeys(("reads", "writes", "discards", "flushes", "bytes_read", "bytes_written"), 0)
    lines = []
    for i in range(count):
        action = s.random.choices(("Read", "Write", "Discard", "Flush"), (3, 5, 0.5, 0.3))[0]
        size = 0 if action == "Flush" else 512 * s.random.randrange(1, 65)
        offset = 0 if action == "Flush" else 512 * s.random.randrange((CAPACITY - size) // 512)
        totals[{"Read": "reads", "Write": "writes", "Discard": "discards", "Flush": "flushes"}[action]] += 1
        if action in ("Read", "Write"):
            totals["bytes_read" if action == "Read" else "bytes_written"] += size
        lines.append(f"{10**15 + i * s.random.randrange(1, 50_000)},h,0,{action},{offset},{size},1,-")
    return "\n".join(lines) + "\n", totals


def _names(seam: str) -> list[str]:
    return [choice["name"] for choice in SEAMS[seam]]


POLICIES: dict[str, Sequence[Any]] = {
    "ftl.victim": (*_names("victim"), {"rga": {"d": 3}}),
    "ftl.allocation": _names("allocation"),
    "ftl.block_allocation": _names("block_allocation"),
    "ftl.write_buffer": ("none", {"fifo": {"size": "64KiB"}}, {"lru": {"size": "128KiB"}}),
    "ftl.scheduler": _names("scheduler"),
    "ftl.wear_leveling": _names("wear_leveling"),
    "host.replay": ("open", "closed", "batch"),
    "run.payload": ("none", "stamp"),
    "run.checks": ("fast", "full"),
}
"""What small valid runs vary."""


def valid(s: Scratch) -> str:
    """A valid trace on a small device under random policies: its requests arrive, in both executors and in `info`."""
    text, totals = _requests(s, s.random.randrange(1, 400))
    file = s.file("trace.csv", text)
    info = json.loads(_core.trace_info(file))
    sets = {key: s.one(values) for key, values in POLICIES.items() if s.chance(0.5)}
    summaries = [
        ftlab.run(TINY, trace=file, sets={**sets, "run.executor": executor}).summary
        for executor in ("count", "timed")
    ]
    for summary in summaries:
        host = {**summary["host"], "discards": summary["host"]["trims"]}
        for key, expected in totals.items():
            if not host[key] == info[key] == expected:
                raise Fault(f"{key}: {expected} in the trace, {info[key]} in `info`, {host[key]} in the run")
    return "success"


SHARES: dict[Run, float] = {results: 1.5, kept: 1, counts: 3, valid: 2.5}
"""How many of a hundred cases are of each kind."""

KINDS = kinds(SHARES)
