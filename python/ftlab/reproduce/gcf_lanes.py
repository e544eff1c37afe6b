"""What every channel does over the same time under each scheme, from timelines."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ftlab.reproduce.experiment import Run
from ftlab.simulation import run as simulate


@dataclass(frozen=True, slots=True)
class Lane:
    """A channel's busy time: spans without a gap between operations of one class."""

    channel: int
    spans: Sequence[tuple[float, float, str]]
    """From and to, in ms of the window, and `host` or `gc`."""

    def share(self, part: str, length_ms: float) -> float:
        """The part of the window that the lane spends on a class."""
        return sum(end - start for start, end, what in self.spans if what == part) / length_ms


def record(run: Run, window_ms: tuple[float, float], directory: Path) -> list[Lane]:
    """The lanes of a run in a window of simulated time; kept in `directory`."""
    place = directory / f"{run.key()}-{window_ms[0]:g}-{window_ms[1]:g}.json"
    if place.exists():
        kept = json.loads(place.read_text(encoding="utf-8"))
        return [Lane(lane["channel"], [tuple(span) for span in lane["spans"]]) for lane in kept]
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory) as beside:
        file = Path(beside) / "timeline.json"
        trace = None if run.trace is None else str(run.trace)
        simulate(
            run.preset, sets=run.sets, trace=trace, timeline=file,
            timeline_window=(f"{window_ms[0]:g}ms", f"{window_ms[1]:g}ms"),
        )  # fmt: skip
        lanes = lanes_of(json.loads(file.read_text(encoding="utf-8")), window_ms)
    place.write_text(
        json.dumps([{"channel": lane.channel, "spans": lane.spans} for lane in lanes]), encoding="utf-8"
    )
    return lanes


def lanes_of(timeline: Mapping[str, Any], window_ms: tuple[float, float]) -> list[Lane]:
    """The lanes of a timeline. A channel has one chip, and its operations include their transfers."""
    events = timeline["traceEvents"]
    names = {e["tid"]: e["args"]["name"].split() for e in events if e["name"] == "thread_name"}
    dies = {tid for tid, words in names.items() if "die" in words and "plane" not in words}
    busy: dict[int, list[tuple[float, float, str]]] = {
        e["pid"]: [] for e in events if e["name"] == "process_name"
    }
    for e in events:
        if e["ph"] == "X" and e["tid"] in dies:
            start, end = e["ts"] / 1e3, (e["ts"] + e["dur"]) / 1e3
            what = "host" if e["cat"] in ("host", "rmw", "mapping") else "gc"
            busy[e["pid"]].append((max(start, window_ms[0]), min(end, window_ms[1]), what))
    return [
        Lane(i, [(a - window_ms[0], b - window_ms[0], what) for a, b, what in joined(sorted(busy[pid]))])
        for i, pid in enumerate(sorted(busy))
    ]


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
