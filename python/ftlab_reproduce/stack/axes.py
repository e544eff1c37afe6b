"""All five together: which mechanisms are in force, on which device, under which workload, and the figures of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ftlab.api import until
from ftlab.base.quantities import in_bytes
from ftlab_reproduce import study
from ftlab_reproduce.stack.bases import (
    APART,
    BASES,
    HEADLINE,
    LIVED,
    OF_OWN,
    PAIRS,
    PAPERS,
    TODAY,
    TODAYS,
    TODAYS_HALF,
    TODAYS_LIVED,
    TODAYS_OWN,
    Members,
    name_on,
)
from ftlab_reproduce.study import Settings
from ftlab_reproduce.workloads import Wanted, Workload

DEVICE: Settings = {
    "device.chips_per_channel": 1,
    "device.wear.pe_cycles": 1500,
    "run.precondition": "none",
    "run.precondition.random": "1x",
    "host.replay": "closed",
    "host.queue_depth": 32,
}
"""On top of either preset: 32 planes, halfway through their life."""

READS_OF_PAGE = 10_000 / 576
"""Reads that a block takes, for each page of it: ten thousand where it has 576; ten times as many at low density."""

CYCLES = 3000
"""P/E cycles that a block is good for."""

CAPTURED = ("oltp", "ntrx", "varmail", "fileserver")
ZIPF = "Zipf"
ZIPF_READS = 0.97
"""Of the requests of the workload that is generated, so that read disturb has something to do."""
WORKLOADS = (*CAPTURED, ZIPF)
SEEDS = (1, 2, 3)

FULL = ""
"""The queue is full at all times."""
HALF = "half load"
"""Requests arrive in an open loop, half as many as the base serves with a full queue. Bursts and gaps stay."""
OWN = "half of its own"
"""As half load, but half as many as the same drive serves with a full queue."""
LIFE = "to the end of its life"
"""The queue is full, and blocks fail, until the drive takes no more writes."""
LOADS = (FULL, HALF)
"""Those of the papers' base, every configuration."""
LESS = 0.5
"""Arrivals, of what is served with a full queue."""


CYCLES_PER_ERASE = 90
"""P/E cycles that an erase stands for in a life: a hundred erases of a block that lives for 9,000 cycles."""
LIVED_READS = 0.9
"""Of the requests of the generated workload in a life: with `ZIPF_READS` it is hours of reads."""

OF_LIFE: Settings = {
    "device.wear.pe_cycles": 0,
    "device.bad_blocks.weibull.factory": 0,
    "device.wear.cycles_per_erase": CYCLES_PER_ERASE,
    # A tenth of the erases of a life: the most that goes with so many cycles an erase.
    "ftl.wear_leveling.static.threshold": 10,
}
"""What a drive sets that is new and lives to its end. No block is bad from the factory: so few blocks are told apart
by the chance of where these lie."""


def wanted(_: study.Scale) -> Sequence[Wanted]:
    """The captured traces, whole at every scale."""
    return [Wanted(name, rf"{name}(-220k)?\.csv", {}, is_paper=False, whole=True) for name in CAPTURED]


class Case(NamedTuple):
    """Under what configurations are compared."""

    workload: str
    load: str = FULL
    base: str = PAPERS

    @property
    def label(self) -> str:
        """For people."""
        return ", ".join(part for part in (self.workload, self.base, self.load) if part)

    def point(self, members: Members, seed: int) -> Point:
        """One of its runs."""
        return Point(self.workload, members, seed, self.load, self.base)


class Point(NamedTuple):
    """Where in the grid a result is."""

    workload: str
    members: Members
    seed: int
    load: str = FULL
    base: str = PAPERS

    @property
    def case(self) -> Case:
        """What its results may be compared under."""
        return Case(self.workload, self.load, self.base)

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.case.label}, {name_on(self.base, self.members)}, seed {self.seed}"


def preset_of(point: Point) -> str:
    """The preset of a point's base."""
    return BASES[point.base].preset


def at_most(point: Point) -> Point:
    """The run with a full queue whose IOPS a load is half of: that of the base, or its own."""
    return point._replace(members=point.members if point.load == OWN else (), load=FULL)


def waits_for(point: Point) -> Sequence[Point]:
    """The runs that tell how much is half load."""
    return [] if point.load in (FULL, LIFE) else [at_most(point)]


def at_load(point: Point, evidence: Evidence) -> Settings:
    """The pace at which half of what the base, or the drive itself, serves arrives."""
    if point.load in (FULL, LIFE):
        return {}
    gap = 1 / (LESS * evidence.figure(at_most(point), "iops"))
    if (workload := evidence.workloads.get(point.workload)) is None:
        return {"host.replay": "open", "workload.interval": f"{1e9 * gap:.0f}ns", "workload.poisson": True}
    return {
        "host.replay": "open",
        "host.time_scale": gap / (float(workload.info["inter_arrival_ms_mean"]) / 1e3),
    }


@dataclass(frozen=True, slots=True)
class Scale(study.Scale):
    """How large the device is, and how much is written to it."""

    written: float = 6.0
    """User capacities that a run on the papers' base writes, at least."""
    written_today: float = 6.0
    """The same on today's drive."""

    def volume(self, base: str) -> float:
        """User capacities that a run writes, at least."""
        return self.written if base == PAPERS else self.written_today


def _device(blocks: int, pages: int, user: str) -> Settings:
    """So many blocks in each plane. The reads that a block takes go with its pages."""
    full = round(READS_OF_PAGE * pages)
    return {
        **DEVICE,
        "device.blocks_per_plane": blocks,
        "device.pages_per_block": pages,
        "device.user_capacity": user,
        "device.wear.read_limit": [full, 10 * full],
    }


ON_REQUEST = frozenset({"today", "own", "lives"})
"""Experiments that full size runs only when they are asked for: hours more."""


def _not_at_full_size(point: Point) -> bool:
    """What the headlines do not need, and repeats, of which the quick scale has the spread: hours more."""
    headline = HEADLINE if point.base == PAPERS else TODAYS_OWN
    return point.members not in headline or point.seed != SEEDS[0]


SCALES = {
    "quick": Scale(
        1 / 4, _device(208, 48, "4GiB"), on_request=frozenset({"lives"}), written=3.0, written_today=2.0
    ),
    "paper": Scale(1.0, _device(208, 192, "16GiB"), _not_at_full_size, ON_REQUEST),
}
"""`paper`: a device as large as those that the traces were captured on.

Stated before the runs of today's drive, with the processor time of a run measured (2 to 7 s), but for a few of Zipf:
two capacities, one repeat, twenty-one drives with a full queue, ten at half of their own load and six at half of the
drive's. Two repeats and eight more drives were planned before these, and left out for want of time.
"""

TODAYS_SEEDS = (1,)


def todays_points() -> list[Point]:
    """The grid of today's drive."""
    full = [
        Point(name, members, seed, FULL, TODAY)
        for name in WORKLOADS
        for members in TODAYS
        for seed in TODAYS_SEEDS
    ]
    half = [
        Point(name, members, seed, load, TODAY)
        for name in WORKLOADS
        for load, those in ((HALF, TODAYS_HALF), (OWN, TODAYS_OWN))
        for members in those
        for seed in TODAYS_SEEDS
    ]
    return [*full, *half]


def own_points() -> list[Point]:
    """The papers' base with a full queue, and at half of each one's own rate."""
    return [
        Point(name, members, SEEDS[0], load)
        for name in WORKLOADS
        for load in (FULL, OWN)
        for members in OF_OWN
    ]


def lived_points() -> list[Point]:
    """Drives of both bases that are written until they take no more."""
    return [
        Point(name, members, SEEDS[0], LIFE, base)
        for base, lived in ((TODAY, TODAYS_LIVED), (PAPERS, LIVED))
        for name in WORKLOADS
        for members in lived
    ]


def user_bytes(scale: Scale) -> int:
    """Of the user space."""
    return in_bytes(str(scale.sets["device.user_capacity"]))


def rounds(workload: Workload, scale: Scale, base: str = PAPERS) -> int:
    """How often a trace is replayed."""
    return max(1, math.ceil(scale.volume(base) * user_bytes(scale) / float(workload.info["bytes_written"])))


def sets(point: Point, workload: Workload | None, scale: Scale) -> Settings:
    """What a point sets."""
    base = BASES[point.base]
    lives = point.load == LIFE
    chosen = study.settled(
        base.sets, *(base.changes[name] for name in point.members), OF_LIFE if lives else {}
    )
    chosen["run.seed"] = point.seed
    if workload is not None:
        return {
            **chosen,
            **(
                until.FOR_EVER_REPLAYED if lives else {"workload.rounds": rounds(workload, scale, point.base)}
            ),
        }
    return {
        **chosen,
        "workload.generator": "zipf",
        "workload.request_size": "16KiB",
        "workload.read_fraction": LIVED_READS if lives else ZIPF_READS,
        **(until.FOR_EVER if lives else {"workload.volume": f"{scale.volume(point.base) / 2:g}x"}),
    }


def weight(point: Point, workload: Workload | None, scale: Scale) -> float:
    """About how much work a run is: what it writes."""
    if point.load == LIFE:
        return 20 * user_bytes(scale)
    if workload is None:
        return 10 * scale.volume(point.base) * user_bytes(scale)
    return rounds(workload, scale, point.base) * float(workload.info["bytes_written"])


def erases_of_blocks(summary: Mapping[str, Any], wear: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each block wore in the measured part, in P/E cycles: shared out as its wear since the beginning."""
    whole = float(wear.sum())
    return (
        wear * (float(summary["flash"]["block_erases"]) / whole * _wear_of_an_erase(summary))
        if whole
        else wear
    )


def _wear_of_an_erase(summary: Mapping[str, Any]) -> float:
    """P/E cycles of an erase: more where blocks are reprogrammed."""
    real, effective = (float(summary["wear"][key]["mean"]) for key in ("erases", "effective_erases"))
    return effective / real if real else 1.0


@dataclass(frozen=True, slots=True)
class Gauge:
    """A figure by which configurations are compared."""

    words: str
    unit: str
    is_better_high: bool


GAUGES: Mapping[str, Gauge] = {
    "iops": Gauge("IOPS", "", True),
    "mean_us": Gauge("mean latency", "us", False),
    "read_p999_us": Gauge("p99.9 read latency", "us", False),
    "write_p999_us": Gauge("p99.9 write latency", "us", False),
    "waf": Gauge("WAF", "", False),
    "erases": Gauge("block erases", "", False),
    "life_first_tib": Gauge("written until the first block is worn out", "TiB", True),
    "life_percent_tib": Gauge("written until 1 % of the blocks are worn out", "TiB", True),
}
LIFETIME = Gauge("written until the drive takes no more", "TiB", True)
"""`lifetime_tib`, of drives that were run to their end; the lives of `GAUGES` are extrapolated."""

COMPARED = ("read_p999_us", "write_p999_us", "waf", "life_first_tib", "life_percent_tib")


def compared(load: str) -> Sequence[str]:
    """What configurations are compared by. IOPS say nothing where requests arrive at a pace of their own."""
    return ("iops" if load == FULL else "mean_us", *COMPARED)


def _lives(result: Any) -> dict[str, float]:
    """Host bytes, in TiB, until the first block and until one in a hundred has used up its P/E cycles.

    A run is far too short for wear leveling, which begins when blocks of a plane are `APART` erases apart. So a block
    wears as it did in the run, but never more than that away from the mean of its plane. What wear leveling costs by
    itself is left out: it moves a block at most once in so many erases.
    """
    summary = result.summary
    own = result.wear.get("effective_erases", result.wear["erases"])
    worn = erases_of_blocks(summary, np.asarray(own, float))
    places = np.stack([result.wear[name] for name in ("channel", "chip", "die", "plane")])
    _, plane = np.unique(places, axis=1, return_inverse=True)
    plane = plane.ravel()
    means = (np.bincount(plane, worn) / np.bincount(plane))[plane]
    with np.errstate(divide="ignore"):
        runs = np.clip(CYCLES / worn, (CYCLES - APART) / means, (CYCLES + APART) / means)
    tib = float(summary["host"]["bytes_written"]) / 2**40
    first, percent = float(runs.min()), float(np.quantile(runs, 0.01, method="lower"))
    return {
        "life_first_tib": tib * first if math.isfinite(first) else math.nan,
        "life_percent_tib": tib * percent if math.isfinite(percent) else math.nan,
    }


def _at_end(summary: Mapping[str, Any], name: str, unit: float = 1) -> float | None:
    """A figure of a life; nothing where the drive did not come to its end."""
    value = summary.get("end_of_life", {}).get(name)
    return None if value is None else float(value) / unit


def _in_eighth(summary: Mapping[str, Any], which: int) -> float | None:
    """The WAF in an eighth of a life."""
    end = summary.get("end_of_life", {})
    return float(end["waf_by_eighth"][which]) if end.get("reached") else None


class Evidence(study.Evidence[Point]):
    """The results of the grid, looked up by members."""

    FIGURES: ClassVar[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
        "iops": lambda s: s["host"]["iops"],
        "mean_us": lambda s: s["host"]["latency_us"]["mean"],
        "read_p999_us": lambda s: s["host"]["read_latency_us"]["p999"],
        "write_p999_us": lambda s: s["host"]["write_latency_us"]["p999"],
        "waf": lambda s: s["waf_units"],
        "erases": lambda s: s["flash"]["block_erases"],
        "copybacks": lambda s: s["flash"]["copybacks"],
        "forward": lambda s: s["gc"]["forward"],
        "refreshes": lambda s: s["policy"].get("read_disturb", {}).get("refreshes"),
        "reprograms": lambda s: s["flash"]["reprograms"],
        "paired": lambda s: s["policy"].get("paired_page", {}).get("paired_pages"),
        "multiplane": lambda s: s["flash"]["multiplane"]["program_fraction"],
        "lifetime_tib": lambda s: _at_end(s, "lifetime_bytes", 2**40),
        "drive_writes": lambda s: _at_end(s, "lifetime_drive_writes"),
        "waf_first": lambda s: _in_eighth(s, 0),
        "waf_last": lambda s: _in_eighth(s, -1),
        "failed": lambda s: s["policy"].get("bad_blocks", {}).get("grown_units"),
        "lost": lambda s: s["policy"].get("bad_blocks", {}).get("lost_pages"),
    }

    def figure(self, point: Point, name: str) -> float:
        """A figure of a run; lives are computed from its blocks."""
        if name.startswith("life_"):
            return _lives(self.results[point])[name]
        return super().figure(point, name)

    def row(self, point: Point) -> dict[str, Any]:
        """A run's figures, as JSON. Lives are extrapolated for those that did not come to their end."""
        lives = {
            key: None if math.isnan(value) else value
            for key, value in ({} if point.load == LIFE else _lives(self.results[point])).items()
        }
        return {**super().row(point), "members": list(point.members), **lives}

    def cases(self) -> list[Case]:
        """What there are runs under, beside lives and those of the base that others waited for."""
        known = {point.case for point in self.results if point.members}
        every = (Case(name, load, base) for base in BASES for name in WORKLOADS for load in (FULL, HALF, OWN))
        return [case for case in every if case in known]

    def cases_of(self, base: str) -> list[Case]:
        """The cases of one base."""
        return [case for case in self.cases() if case.base == base]

    def lived(self, base: str) -> list[Case]:
        """The cases under which drives of a base were run to their end."""
        every = (Case(name, LIFE, base) for name in WORKLOADS)
        return [case for case in every if any(point.case == case for point in self.results)]

    def titled(self, case: Case) -> str:
        """A case with its workload's kind, for people."""
        return ", ".join(part for part in (self.named(case.workload), case.base, case.load) if part)

    def seeds(self, case: Case) -> list[int]:
        """The repeats of a case."""
        return sorted({point.seed for point in self.results if point.case == case})

    def has(self, case: Case, *subsets: Members) -> bool:
        """Whether configurations, and the base that they are compared with, were run under a case."""
        seeds = self.seeds(case)
        every = (case.point(members, seed) for members in ((), *subsets) for seed in seeds)
        return bool(seeds) and all(point in self.results for point in every)

    def of(self, case: Case, subsets: Sequence[Members]) -> list[Members]:
        """Those of some configurations that were run under a case."""
        return [members for members in subsets if self.has(case, members)]

    def pairs(self, case: Case) -> list[Members]:
        """Pairs that were run under a case as well as each of their members."""
        pairs = PAIRS if case.base == PAPERS else ()
        return [pair for pair in pairs if self.has(case, pair, *((member,) for member in pair))]

    def values(self, case: Case, members: Members, gauge: str) -> NDArray[np.float64]:
        """A figure of each repeat."""
        return np.array([self.figure(case.point(members, seed), gauge) for seed in self.seeds(case)])

    def gains(self, case: Case, members: Members, gauge: str, than: Members = ()) -> NDArray[np.float64]:
        """By which factor a figure is better than that of the base as it is, or with `than`, for each repeat."""
        mine, base = self.values(case, members, gauge), self.values(case, than, gauge)
        with np.errstate(divide="ignore", invalid="ignore"):
            return mine / base if GAUGES.get(gauge, LIFETIME).is_better_high else base / mine

    def interplay(self, case: Case, pair: Members, gauge: str) -> NDArray[np.float64]:
        """The gain of a pair ÷ the product of its members' gains, for each repeat: above 1 they help each other."""
        alone = math.prod(self.gains(case, (member,), gauge) for member in pair)
        return np.asarray(self.gains(case, pair, gauge) / alone)

    def words(self) -> list[str]:
        """What to switch on."""
        from ftlab_reproduce.stack import lives, tables, today

        return [*tables.advice(self), *today.advice(self), *lives.advice(self)]


def spread(values: NDArray[np.float64]) -> float:
    """Half the range of repeats."""
    return float(values.max() - values.min()) / 2 if values.size > 1 else 0.0


ONCE = 0.1
"""How far from 1 a factor has to be to be clear where there is one repeat."""


def is_clear(factors: NDArray[np.float64], least: float = 0.02) -> bool:
    """Whether factors are on the same side of 1 in all repeats, on average by more than `least` and their spread."""
    away = factors - 1
    least = least if factors.size > 1 else max(least, ONCE)
    mean = abs(float(away.mean()))
    same_side = bool(np.all(away > 0) or np.all(away < 0))
    return same_side and mean > least and mean > spread(factors)


PLACES = (Path("../shared/traces/captured"), Path("traces"))
"""Where the captured traces may lie beside the project; the excerpt in it stands for one of them."""
