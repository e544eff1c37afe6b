"""GC forwarding: four ways to run channels, from a device whose user space has been written once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ftlab.reproduce import claims as verdicts
from ftlab.reproduce.claims import Claim, Finding, Rule, Statement
from ftlab.reproduce.experiment import Run
from ftlab.reproduce.gcf_hosts import CAPTURED
from ftlab.reproduce.gcf_lanes import Lane
from ftlab.reproduce.workloads import Workload
from ftlab.result import Result

PAPER = "gcf"

SCHEMES: tuple[str, ...] = ("FI",)
"""Section 4.1; each is a preset of its own."""

MAPPINGS: tuple[str, ...] = ("FAST",)

WORKLOADS = ("Desktop", "Random", "Multimedia")

CAPTURED_NAMES = tuple(wanted.name for wanted in CAPTURED)

CHANNELS = (1, 2, 4, 8)


VOLUMES_GIB = {"Random": 16.0, "Desktop": 40.0, "Multimedia": 20.0}
"""Table 2: the user capacity is the volume."""

WRITTEN_GIB = 18.6
"""What Random writes (Table 2)."""

PAGES_PER_BLOCK = 128
PAGE = 4096


OP = 0.1
"""Spare ÷ user capacity. All of it is log under FAST; the block that a merge goes to comes on top."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How large the device is."""

    ratio: float
    """Of the paper's volumes and amounts written; and of N_s, which counts blocks. The write buffer stays."""


SCALES = {"quick": Scale(1 / 16), "paper": Scale(1.0)}


class Point(NamedTuple):
    """Where in the grid a result is."""

    workload: str
    scheme: str
    mapping: str = "FAST"
    channels: int = 8
    planes: int = 1
    buffer_kib: int = 32
    setting: str = ""
    """One of `READINGS`."""

    @property
    def label(self) -> str:
        """For people."""
        size = f"{self.buffer_kib} KiB" if self.buffer_kib < 1024 else f"{self.buffer_kib // 1024} MiB"
        planes = " x 2 planes" if self.planes == 2 else ""
        parts = (self.scheme, self.mapping, f"{self.channels} channels{planes}", size, self.setting)
        return f"{' '.join(filter(None, parts))} {self.workload}"


@dataclass(frozen=True, slots=True)
class Reading:
    """A departure from what was settled on."""

    words: str
    sets: Mapping[str, Any]
    """Settings of the whole run."""
    policies: Mapping[str, Any]
    """Parameters of policies, by name; those that a scheme's policies do not have say nothing about it."""


def _reading(words: str, sets: Mapping[str, Any] | None = None, **policies: Any) -> Reading:
    return Reading(words, sets or {}, policies)


FULL_LOG = {"run.precondition.random": "0.3x"}
"""Runs that begin with the log full."""

READINGS: Mapping[str, Reading] = {
    "": _reading(""),
    "long": _reading("begins with a full log", {**FULL_LOG, "workload.volume": "3200MiB"}),
    "short": _reading("begins with a full log", {**FULL_LOG, "workload.volume": "64MiB"}),
    "sector 63": _reading("the partition begins at sector 63", {"workload.address_offset": "31.5KiB"}),
    "merge": _reading("a broken sequential log block is merged at once", broken="merge"),
    "waste": _reading("a broken sequential log block is left as it is", broken="waste"),
    "if-spare": _reading("a first page opens a sequential log block only if one is free", start="if-spare"),
    "global order": _reading("pages leave the buffer in one order", order="global"),
    "begins empty": _reading("the device has not been written before", {"run.precondition": "none"}),
}

EXPERIMENTS = {
    "fig3": "dirty pages of the channels over time (FI, 8 channels, 8 MiB of buffer)",
    "fig8": "IOPS by the number of channels",
    "fig9": "channel time: host, GC and idle",
    "readings": "what IOPS depends on: broken log blocks, order and room of the buffer, trigger, preemption",
    "timelines": "what every channel does over the same time",
}


def points(experiment: str) -> list[Point]:
    """The grid of an experiment."""
    match experiment:
        case "fig3":
            return [FIGURE3]
        case "fig8":
            return [Point(w, s, m, c) for m in MAPPINGS for w in WORKLOADS for s in SCHEMES for c in CHANNELS]
        case "fig9":
            names = (*WORKLOADS, *CAPTURED_NAMES)
            return [Point(name, s, m) for m in MAPPINGS for name in names for s in SCHEMES]
        case "readings":
            return [point for name in READING_NAMES for point in reading_points(name)]
        case "timelines":
            return []
        case _:
            raise AssertionError(experiment)


FIGURE3 = Point("Random", "FI", buffer_kib=8192, setting="long")
"""As many batches as the paper's figure has."""

LANES = tuple(Point("Random", scheme, setting="short") for scheme in SCHEMES if scheme != "SYNC")
"""Whose timelines are recorded."""

WINDOW_MS = (4000.0, 8000.0)
"""Of simulated time. A full merge of one logical block takes 139 ms."""

READING_NAMES = (
    "", "sector 63", "merge", "waste", "if-spare", "global order", "begins empty",
)  # fmt: skip


def reading_points(name: str) -> list[Point]:
    """On Random, and on Multimedia where log blocks are what is read."""
    workloads = WORKLOADS if name in ("", "merge", "waste", "if-spare") else ("Random",)
    return [Point(w, s, setting=name) for w in workloads for s in SCHEMES]


def blocks_per_plane(user_bytes: int, planes: int) -> int:
    """Blocks of each of so many planes: the data, `OP` more, and one."""
    logical = -(-user_bytes // (PAGE * PAGES_PER_BLOCK * planes))
    return logical + max(3, round(OP * logical)) + 1


def run_of(point: Point, workload: Workload | None, scale: Scale) -> Run:
    """A point as a run of the engine."""
    ratio = SCALES["quick"].ratio if point.workload in CAPTURED_NAMES else scale.ratio
    user_mib = round(VOLUMES_GIB.get(point.workload, VOLUMES_GIB["Desktop"]) * ratio * 1024)
    reading = READINGS[point.setting]
    sets: dict[str, Any] = {
        "device.channels": point.channels,
        "device.planes_per_die": point.planes,
        "device.blocks_per_plane": blocks_per_plane(user_mib << 20, point.channels * point.planes),
        "device.user_capacity": f"{user_mib}MiB",
        **_policies(point, ratio, reading.policies),
    }
    written = WRITTEN_GIB * ratio
    if workload is None:
        sets["workload.volume"] = f"{round(written * 1024)}MiB"
    elif workload.is_paper:
        sets["workload.rounds"] = 1
        written = workload.info["bytes_written"] / 2**30
    else:
        written = 2.0 * user_mib / 1024
        sets["workload.volume"] = f"{2 * user_mib}MiB"
    cost = {"Random": 4.0}.get(point.workload, 1.0)
    return Run(
        label=point.label,
        preset=f"gcf-{point.scheme.lower()}",
        sets={**sets, **reading.sets},
        trace=None if workload is None else workload.path,
        weight=written * cost,
    )


def _policies(point: Point, ratio: float, changed: Mapping[str, Any]) -> dict[str, Any]:
    """The policies of a point with all their parameters: one that is set replaces the preset's as a whole."""
    chosen: dict[str, dict[str, Any]] = {
        "ftl.mapping.fast": {"log_blocks": 0, "broken": "fill", "start": "always"},
        "ftl.write_buffer.fifo": {"size": f"{point.buffer_kib}KiB", "order": "channel"},
        "ftl.gc_schedule.threshold": {"free_blocks": 1},
    }
    sets: dict[str, Any] = {}
    for choice, parameters in chosen.items():
        for key, value in parameters.items():
            sets[f"{choice}.{key}"] = changed.get(key, value)
    return sets


class Evidence:
    """The results of a grid, looked up by what claims ask."""

    def __init__(
        self,
        results: Mapping[Point, Result],
        workloads: Mapping[str, Workload],
        lanes: Mapping[Point, Sequence[Lane]] | None = None,
    ) -> None:
        self.results = results
        self.workloads = workloads
        self.lanes = lanes or {}
        """What the channels did over the same time, by scheme."""

    def figure(self, point: Point, name: str) -> float:
        """One of `FIGURES`.

        Raises:
            KeyError: the point was not run.
        """
        return FIGURES[name](self.results[point].summary)

    def iops(self, workload: str, scheme: str, *place: Any, **places: Any) -> float:
        """Write requests per second."""
        return self.figure(Point(workload, scheme, *place, **places), "iops")

    def time(self, workload: str, scheme: str, mapping: str, part: str) -> float:
        """A part of channel time, in %, at 8 channels and 32 KiB."""
        return 100 * self.figure(Point(workload, scheme, mapping), part)


HOST_CAUSES = ("host", "rmw", "mapping")
"""What counts as writing host data: with the reads of read-modify-writes and the pages of the map."""


def channel_time(summary: Mapping[str, Any], part: str) -> float:
    """A part of the channels' time. Times of operations include their transfers, so a channel is busy while its
    chip is. Operations of one kind take the same time whatever causes them, so that the chip's time is shared out
    by their numbers.
    """
    die, by_cause = summary["utilisation"]["die"], summary["flash"]["by_cause"]
    if part == "idle":
        return float(die["idle"])
    total = 0.0
    for kind in ("read", "program", "erase"):
        counts = {cause: ops[f"{kind}s"] for cause, ops in by_cause.items()}
        chosen = sum(n for cause, n in counts.items() if (cause in HOST_CAUSES) is (part == "host"))
        total += die[kind] * chosen / max(1, sum(counts.values()))
    return total


FIGURES: Mapping[str, Callable[[Mapping[str, Any]], float]] = {
    "iops": lambda s: float(s["host"]["write_iops"]),
    "host": lambda s: channel_time(s, "host"),
    "gc": lambda s: channel_time(s, "gc"),
    "idle": lambda s: channel_time(s, "idle"),
    "waf": lambda s: float(s["waf"]),
    "gc_programs": lambda s: float(s["flash"]["by_cause"]["gc"]["programs"]),
    "host_programs": lambda s: float(s["flash"]["by_cause"]["host"]["programs"]),
    "rmw_reads": lambda s: float(s["flash"]["by_cause"]["rmw"]["reads"]),
    "collections": lambda s: float(s["gc"]["invocations"]),
    "forward": lambda s: float(s["gc"]["forward"]),
    "preempted": lambda s: float(s["gc"]["preempted"]),
}
"""The figures of a run, from its summary; host, GC and idle are fractions of channel time."""


def dirty_pages(result: Result) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Pages flushed by the end of each interval, and by interval and channel the mean number of dirty pages."""
    table = result.tables["buffer"]
    channels = int(table["channel"].max()) + 1
    pages = np.asarray(table["dirty_pages"], float).reshape(-1, channels)
    return np.asarray(table["evictions"], float).reshape(-1, channels)[:, 0], pages


def judged(evidence: Evidence, experiments: Sequence[str]) -> list[Claim]:
    """Every claim with what was measured; those of other experiments are not run, whatever their runs may share."""
    nothing = Evidence({}, evidence.workloads)
    kinds = {name: workload.kind for name, workload in evidence.workloads.items()}
    return [
        statement.judged(evidence if statement.experiment in experiments else nothing, kinds)
        for statement in STATEMENTS
    ]


def _decided(values: Mapping[str, float], pick: Callable[[Iterable[float]], float], workload: str) -> Finding:
    """One of the values; all are noted."""
    chosen = pick(values.values())
    words = ", ".join(f"{name} {verdicts.number(value)}" for name, value in values.items())
    return Finding(chosen, workload, words if len(values) > 1 else "")


Values = Callable[[Evidence], dict[str, float]]


def _statement(
    name: str, claim: str, paper: float | str, unit: str, rule: Rule, experiment: str, workload: str, values: Values,
    pick: Callable[[Iterable[float]], float] = min,
) -> Statement:  # fmt: skip
    """A claim of which one of several values decides."""
    return Statement(
        name, claim, paper, unit, rule, experiment, lambda e: _decided(values(e), pick, workload), workload
    )


def _ratio(workload: str, schemes: Sequence[str], mapping: str) -> Values:
    """IOPS of 8 channels ÷ those of one."""
    return lambda e: {
        s: e.iops(workload, s, mapping, CHANNELS[-1]) / e.iops(workload, s, mapping, CHANNELS[0]) for s in schemes
    }  # fmt: skip


def _share(workload: str, schemes: Sequence[str], mapping: str, part: str) -> Values:
    return lambda e: {s: e.time(workload, s, mapping, part) for s in schemes}


def _statements() -> Iterator[Statement]:
    yield from _figure3()
    for mapping in MAPPINGS:
        yield from _figure8(mapping)
        yield from _figure9(mapping)


def _figure3() -> Iterator[Statement]:
    def pages(evidence: Evidence) -> NDArray[np.float64]:
        return dirty_pages(evidence.results[FIGURE3])[1]

    def held(evidence: Evidence) -> dict[str, float]:
        return {"": 100 * float(pages(evidence).max()) / (FIGURE3.buffer_kib // 4)}

    def dry(evidence: Evidence) -> dict[str, float]:
        return {"": 100 * float((pages(evidence) < 1).any(axis=1).mean())}

    def turns(evidence: Evidence) -> dict[str, float]:
        found = pages(evidence)
        fullest = set(found.argmax(axis=1).tolist())
        starved = set(np.flatnonzero((found < 1).any(axis=0)).tolist())
        return {"": float(len(fullest & starved))}

    yield _statement(
        "f3-held", "A channel that collects accumulates dirty pages: the largest part of the buffer that one holds",
        "fills up the buffer", "%", verdicts.at_least(40, 25), "fig3", "Random", held,
    )  # fmt: skip
    yield _statement(
        "f3-dry", "Others run out of pages meanwhile: the part of the time in which some channel has none",
        "some", "%", verdicts.at_least(50, 10), "fig3", "Random", dry,
    )  # fmt: skip
    yield _statement(
        "f3-turns", "Channels switch roles: channels that were at one time the fullest and at another dry",
        2, "channels", verdicts.at_least(2, 1, "channels"), "fig3", "Random", turns,
    )  # fmt: skip


def _figure8(m: str) -> Iterator[Statement]:
    key = m.lower()

    def statement(
        name: str, claim: str, paper: float | str, unit: str, rule: Rule, workload: str, values: Values,
        pick: Callable[[Iterable[float]], float] = min,
    ) -> Statement:  # fmt: skip
        return _statement(
            f"f8-{key}-{name}", f"{m}: {claim}", paper, unit, rule, "fig8", workload, values, pick
        )

    yield statement(
        "fi-desktop", "FI gains little from channels on Desktop: IOPS of 8 ÷ of 1", "not significantly", "x",
        verdicts.at_most(2, 3, "x"), "Desktop", _ratio("Desktop", ("FI",), m),
    )  # fmt: skip
    yield statement(
        "multimedia", "FI gains from channels on Multimedia: IOPS of 8 ÷ of 1 at least", "benefit", "x",
        verdicts.at_least(2, 1.1, "x"), "Multimedia", _ratio("Multimedia", SCHEMES, m),
    )  # fmt: skip


def _figure9(m: str) -> Iterator[Statement]:
    key = m.lower()

    def statement(
        name: str, claim: str, paper: float | str, rule: Rule, workload: str, values: Values,
        pick: Callable[[Iterable[float]], float] = min,
    ) -> Statement:  # fmt: skip
        return _statement(
            f"f9-{key}-{name}", f"{m}: {claim}", paper, "%", rule, "fig9", workload, values, pick
        )

    for workload, paper in (("Desktop", 70.0), ("Random", 80.0)):
        yield statement(
            f"fi-{workload.lower()}", f"FI's channels idle on {workload}: part of the time", paper,
            verdicts.around(paper, 10, 20), workload, _share(workload, ("FI",), m, "idle"),
        )  # fmt: skip
    yield statement(
        "fi-multimedia", "FI's channels idle on Multimedia: part of the time", 25, verdicts.around(25, 10, 20),
        "Multimedia", _share("Multimedia", ("FI",), m, "idle"),
    )  # fmt: skip


STATEMENTS = tuple(_statements())
