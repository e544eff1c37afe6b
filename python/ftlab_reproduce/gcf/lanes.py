"""What every channel does over the same time under each scheme, from timelines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ftlab.api.simulation import run as simulate
from ftlab.results.kept import Store
from ftlab.results.output import scratch
from ftlab_reproduce.experiment import Run, Tell

CLASSES = {"host": "host", "rmw": "host", "mapping": "map"}
"""What an operation is for, by its cause; all others are GC."""

OPERATIONS = "operations.json"
"""The file of a kept timeline."""

PARTS = ("host", "map", "gc")

STEP_MS = 5.0
"""Between the moments that are looked at."""

SEEN_MS = 2.0
"""The time that a channel must spend on a class for that to be seen in a moment: two pages."""


class Operation(NamedTuple):
    """Of a chip, in ms of the window."""

    start: float
    end: float
    part: str
    """One of `PARTS`."""
    kind: str
    """`read`, `program` or `erase`."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A channel's busy time."""

    channel: int
    operations: Sequence[Operation]
    """In the order of time."""

    def spans(self) -> Iterator[tuple[float, float, str]]:
        """From, to, and class, without a gap between operations of one class."""
        return joined([(start, end, part) for start, end, part, _ in self.operations])

    def share(self, part: str, length_ms: float) -> float:
        """The part of the window that the lane spends on a class."""
        return sum(end - start for start, end, what, _ in self.operations if what == part) / length_ms

    def during(self, start_ms: float, length_ms: float) -> Lane:
        """A shorter window of it."""
        inside = [
            Operation(max(start - start_ms, 0.0), min(end - start_ms, length_ms), part, kind)
            for start, end, part, kind in self.operations
            if start < start_ms + length_ms and end > start_ms
        ]
        return Lane(self.channel, inside)


def record(run: Run, window_ms: tuple[float, float], directory: Path, tell: Tell) -> list[Lane]:
    """The lanes of a run in a window of simulated time; kept in `directory`."""
    store = Store(directory)
    facts = {"run": run.key(), "window_ms": window_ms, "of": "operations"}
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    kept = store.take(key, _load, lambda why: tell.warn(f"the kept timeline of `{run.label}` in {why}"))
    if kept is not None:
        return kept
    tell.note(f"recording {run.label}")
    return store.keep(key, lambda place: _saved(_recorded(run, window_ms, place), place))


def _saved(lanes: list[Lane], place: Path) -> list[Lane]:
    kept = [{"channel": lane.channel, "operations": lane.operations} for lane in lanes]
    (place / OPERATIONS).write_text(json.dumps(kept), encoding="utf-8")
    return lanes


def _load(place: Path) -> list[Lane]:
    kept = json.loads((place / OPERATIONS).read_text(encoding="utf-8"))
    return [Lane(lane["channel"], [Operation(*o) for o in lane["operations"]]) for lane in kept]


def _recorded(run: Run, window_ms: tuple[float, float], directory: Path) -> list[Lane]:
    with scratch(directory) as beside:
        file = beside / "timeline.json"
        trace = None if run.trace is None else str(run.trace)
        simulate(
            run.preset, sets=run.sets, trace=trace, timeline=file,
            timeline_window=(f"{window_ms[0]:g}ms", f"{window_ms[1]:g}ms"),
        )  # fmt: skip
        return lanes_of(json.loads(file.read_text(encoding="utf-8")), window_ms)


def lanes_of(timeline: Mapping[str, Any], window_ms: tuple[float, float]) -> list[Lane]:
    """The lanes of a timeline. A channel has one chip, and its operations include their transfers."""
    events = timeline["traceEvents"]
    names = {e["tid"]: e["args"]["name"].split() for e in events if e["name"] == "thread_name"}
    dies = {tid for tid, words in names.items() if "die" in words and "plane" not in words}
    busy: dict[int, list[Operation]] = {e["pid"]: [] for e in events if e["name"] == "process_name"}
    for e in events:
        if e["ph"] == "X" and e["tid"] in dies:
            start, end = e["ts"] / 1e3, (e["ts"] + e["dur"]) / 1e3
            # An operation of another cause than the host's is named after it: `gc read`.
            kind = e["name"].split()[-1]
            busy[e["pid"]].append(Operation(start, end, CLASSES.get(e["cat"], "gc"), kind))
    first, last = window_ms
    return [Lane(i, sorted(busy[pid])).during(first, last - first) for i, pid in enumerate(sorted(busy))]


def joined(spans: Sequence[tuple[float, float, str]]) -> Iterator[tuple[float, float, str]]:
    """Spans of one class that follow each other without a gap worth seeing, as one."""
    current: tuple[float, float, str] | None = None
    for start, end, what in spans:
        if end <= start:
            continue
        if current is not None and current[2] == what and start - current[1] < 1e-2:
            current = (current[0], end, what)
            continue
        if current is not None:
            yield current
        current = (start, end, what)
    if current is not None:
        yield current


def moment(dry: Sequence[Lane], filled: Sequence[Sequence[Lane]], length_ms: float, whole_ms: float) -> float:
    """Where the window of a length begins that shows most of how idle time is filled: `dry` idles most beyond the
    others, most of its channels write, and most channels of the others write and collect. Each counts alike, from 0
    to 1; of equal ones it is the first.
    """
    steps = round(length_ms / STEP_MS)

    def by_window(lanes: Sequence[Lane]) -> Mapping[str, NDArray[np.float64]]:
        """By class, channel and window, the time spent."""
        return {
            part: _sliding(np.array([_by_step(lane, part, whole_ms) for lane in lanes]), steps)
            for part in PARTS
        }

    def idle(busy: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        share: NDArray[np.float64] = np.mean(sum(busy.values()), axis=0) / length_ms
        return 1 - share

    of_dry = by_window(dry)
    score = idle(of_dry) + (of_dry["host"] > SEEN_MS).mean(axis=0)
    for lanes in filled:
        busy = by_window(lanes)
        score += ((busy["host"] > SEEN_MS) & (busy["gc"] > SEEN_MS)).mean(axis=0) - idle(busy)
    # A difference in the last digits decides nothing.
    return float(np.argmax(np.round(score, 9))) * STEP_MS


def _by_step(lane: Lane, part: str, whole_ms: float) -> NDArray[np.float64]:
    """The time that a lane spends on a class in each step of a window."""
    chosen = [(start, end) for start, end, what, _ in lane.operations if what == part]
    bounds = np.arange(0.0, whole_ms + STEP_MS / 2, STEP_MS)
    # The busy time until each bound: linear while an operation lasts.
    times = np.array([0.0, *(at for span in chosen for at in span), whole_ms])
    spent = np.cumsum([0.0, *(took for start, end in chosen for took in (0.0, end - start)), 0.0])
    in_steps: NDArray[np.float64] = np.diff(np.interp(bounds, times, spent))
    return in_steps


def _sliding(by_step: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Sums over so many steps, from every step on."""
    until = np.cumsum(np.pad(by_step, ((0, 0), (1, 0))), axis=1)
    sums: NDArray[np.float64] = until[:, steps:] - until[:, :-steps]
    return sums
