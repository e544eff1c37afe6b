"""GCMix: the axes of its grid, what they set, and the figures of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ftlab.results.result import Result
from ftlab_reproduce import study, survival
from ftlab_reproduce.gcmix.servers import (
    CAPTURED,
    EXCHANGE_ONLY,
    PAGE,
    RATE,
    READS_ONLY,
    SERVERS,
    USER_MIB,
    modelled,
    server_of,
)
from ftlab_reproduce.study import Settings
from ftlab_reproduce.survival import Trial
from ftlab_reproduce.workloads import Workload

FTLS = ("PX", "P", "PM", "DX", "D", "DM", "DML")
"""Table 2; each is a preset of its own."""

SLC_BUFFER = "PS"
"""FTL-P with SLC-mode buffer blocks in place of LSB backups, as section 3 has them."""

SLC_BUFFERED: Settings = {"ftl.paired_page": "slc-buffer", "ftl.gc_schedule.threshold.free_blocks": 2}
"""A merge of a buffer block needs one free block besides."""

EXPONENTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

MEDIANS = dict(zip(EXPONENTS, (0.031, 0.037, 0.205, 1.861, 18.122, 210.391), strict=True))
"""The medians of ω that the text gives with Figure 5."""

TAU = 10.0

UTILISATIONS = tuple(k / 10 for k in range(1, 10))
"""Figure 14: parts of the raw space that hold data."""

OMEGA_FTL = "D"
"""The FTL whose ω is held against the published figures. The text says DM; see docs/papers/gcmix.md."""

OMEGA_AGE = "age since filled"
"""The reading of `READINGS` under which it is: what cost-benefit takes for a block's age."""


@dataclass(frozen=True, slots=True)
class Scale(study.Scale):
    """How large the device is, as a part of the paper's blocks, data and volume."""

    longest_mib: float = math.inf
    """Where server traces are cut off, as an amount at full scale."""

    @property
    def blocks(self) -> int:
        """Blocks of 1 MiB: 32 GiB at full size."""
        return round(32_768 * self.ratio)

    def mib(self, full: float) -> str:
        """A size that is so many MiB at full scale."""
        return f"{round(full * self.ratio)}MiB"


VOLUME_MIB = 128 * 1024
RAW_MIB = 32 * 1024

ON_REQUEST = frozenset({"servers", "models", "thresholds"})
"""Experiments that no claim rests on."""

SCALES = {
    "quick": Scale(1 / 16, on_request=ON_REQUEST),
    "paper": Scale(1.0, longest_mib=VOLUME_MIB, on_request=ON_REQUEST),
}

FAST = "10 times the rate"

TAUS = (5, 20, 30, 50, 100, 200)
"""Thresholds of ω beside the paper's."""

READINGS: Mapping[str, Settings] = {
    "": {},
    "30 per second": {"workload.interval": "33333us"},
    "300 per second": {"workload.interval": "3333us"},
    "1000 per second": {"workload.interval": "1ms"},
    "Poisson": {"workload.poisson": True},
    "eight planes": {"device.channels": 4, "device.planes_per_die": 2},
    OMEGA_AGE: {"ftl.victim.cost-benefit.age": "filled"},
    "begins empty": {"run.precondition": "none"},
    "two update blocks": {"ftl.separation": "host-gc"},
    FAST: {},
    **{f"τ = {tau}": {"ftl.paired_page.gcmix-adaptive.tau": float(tau)} for tau in TAUS},
    "serial": {
        "run.executor": "timed", "host.replay": "closed", "host.queue_depth": 1,
        "device.timing.channel_rate": "100GT/s",
    },
}  # fmt: skip
"""Departures from what was settled on, by name; `serial` is the device of Figures 12 and 13."""


class Point(NamedTuple):
    """Where in the grid a result is."""

    workload: str
    """A server, one under a model (`EXCHANGE, runs`), a captured trace, `zipf 0.8`, or `uniform 0.9`, of which the
    number is the utilisation."""
    ftl: str
    setting: str = ""
    """One of `READINGS`."""

    @property
    def label(self) -> str:
        """For people."""
        return f"{way(self.ftl, self.setting)} {self.workload}"


MIXED = ("PM", "DM", "DML")
BARS = ("P", "PM", "D", "DM", "DML")
"""The FTLs of Figures 10, 12 and 13."""

SERVER_NAMES = tuple(server.name for server in SERVERS)
CAPTURED_NAMES = tuple(wanted.name for wanted in CAPTURED)
TRACES = (*SERVER_NAMES, *CAPTURED_NAMES)
LOW_LOCALITY = tuple(name for name in SERVER_NAMES if name != "EXCHANGE")


def zipf(z: float) -> str:
    """The name of a Zipf workload."""
    return f"zipf {z:.1f}"


def uniform(utilisation: float) -> str:
    """The name of Figure 14's workload."""
    return f"uniform {utilisation:.1f}"


def under(model: str, ftls: Sequence[str] = FTLS, serial: Sequence[str] = BARS) -> list[Point]:
    """All that the claims of the servers are measured by, of the servers as a model has them."""
    names = [modelled(name, model) for name in SERVER_NAMES]
    return [
        *(Point(name, ftl) for name in names for ftl in ftls),
        *(Point(name, ftl, "serial") for name in names for ftl in serial),
    ]


def varied(model: str) -> list[Point]:
    """What is run of a model that varies one thing: what that can change."""
    if model in EXCHANGE_ONLY:
        return [Point(modelled("EXCHANGE", model), ftl) for ftl in ("D", "DM", "DML")]
    return under(model, () if model in READS_ONLY else FTLS)


def way(ftl: str, setting: str) -> str:
    """An FTL and a reading in words."""
    return ", ".join(filter(None, (ftl, setting)))


ZIPFS = tuple(map(zipf, EXPONENTS))
UNIFORMS = tuple(map(uniform, UTILISATIONS))

WAYS = (
    ("D", ""), ("P", ""), ("PX", ""), ("D", OMEGA_AGE), ("DM", OMEGA_AGE),
    ("DM", ""), ("DML", ""), ("DX", ""), ("DM", "eight planes"), ("D", "eight planes"),
    *(("D", name) for name in ("30 per second", "300 per second", "1000 per second", "Poisson")),
    *((ftl, name) for name in ("begins empty", "two update blocks") for ftl in ("P", "PX")),
)  # fmt: skip
"""FTL and reading of the runs that show what ω and WAF depend on."""


def sets(point: Point, workload: Workload | None, scale: Scale) -> Settings:
    """What a point sets, beside its reading: one plane of all blocks, so that its watermarks and its update blocks are
    the device's, as the paper has them."""
    reading = READINGS[point.setting]
    kind, number = split(point)
    planes = reading.get("device.channels", 1) * reading.get("device.planes_per_die", 1)
    found: dict[str, Any] = {
        "device.channels": 1,
        "device.planes_per_die": 1,
        "device.blocks_per_plane": scale.blocks // planes,
        "device.user_capacity": scale.mib(RAW_MIB * number if kind == "uniform" else USER_MIB),
    }
    if kind in SERVER_NAMES:
        found["workload.rounds"] = 1
    else:
        found["workload.volume"] = scale.mib(VOLUME_MIB)
    if workload is None:
        found |= (
            {"workload.generator.zipf.z": number} if kind == "zipf" else {"workload.generator": "uniform"}
        )
        if point.setting != "serial":
            found["workload.interval"] = f"{1e3 / RATE:g}ms"
    elif point.setting != "serial":
        found["host.time_scale"] = time_scale(workload) / (10 if point.setting == FAST else 1)
    return found


def weight(point: Point, workload: Workload | None, scale: Scale) -> float:
    """About how much work a run is."""
    kind, number = split(point)
    if workload is None:
        return (1.0 if kind == "zipf" else 1 / (1.05 - number)) * scale.ratio
    read, written = (workload.info[f"bytes_{kind}"] / 2**20 for kind in ("read", "written"))
    rounds = 1.0 if kind in SERVER_NAMES else VOLUME_MIB * scale.ratio / max(1.0, written)
    return float(rounds * (written + 0.3 * read) / VOLUME_MIB)


def split(point: Point) -> tuple[str, float]:
    """The kind of a point's workload and its number; a trace is a kind of its own and has none."""
    if (server := server_of(point.workload)) in SERVER_NAMES:
        return server, math.nan
    kind, _, number = point.workload.partition(" ")
    return kind, float(number or "nan")


def time_scale(workload: Workload) -> float:
    """What a trace's times are multiplied by, so that the host writes `RATE` pages per second."""
    pages = workload.info["bytes_written"] / PAGE
    return float(f"{pages / workload.info['duration_s'] / RATE:.4g}")


def ratio(above: float, below: float) -> float:
    """NaN where there is nothing to compare with."""
    return above / below if below else math.nan


def _erases(summary: Mapping[str, Any], backup: bool) -> int:
    by_cause = summary["flash"]["by_cause"]
    return int(sum(ops["erases"] for cause, ops in by_cause.items() if (cause == "backup") is backup))


def _milliseconds(kind: str) -> Callable[[Mapping[str, Any]], float | None]:
    def of(summary: Mapping[str, Any]) -> float | None:
        mean = summary["host"][f"{kind}_latency_us"]["mean"]
        return None if mean is None else float(mean) / 1e3

    return of


FIGURES: Mapping[str, Callable[[Mapping[str, Any]], float | None]] = {
    "waf": lambda s: s["waf_units"],
    "omega_p10": lambda s: s["policy"].get("separation", {}).get("omega_p10"),
    "omega_p50": lambda s: s["policy"].get("separation", {}).get("omega_p50"),
    "omega_p90": lambda s: s["policy"].get("separation", {}).get("omega_p90"),
    "paired_fraction": lambda s: s["policy"].get("paired_page", {}).get("paired_fraction"),
    "data_erases": lambda s: _erases(s, backup=False),
    "backup_erases": lambda s: _erases(s, backup=True),
    "erases": lambda s: s["flash"]["block_erases"],
    "write_ms": _milliseconds("write"),
    "read_ms": _milliseconds("read"),
}
"""The figures of a run, from its summary; a mean time is of a request, and on the serial device the total is that times
the requests, which are the same for every FTL."""


class Evidence(study.Evidence[Point]):
    """The results of the grid, looked up by what claims ask."""

    FIGURES = FIGURES
    SUMMARY = (
        "waf_units", "policy.separation", "policy.paired_page", "flash.by_cause", "flash.block_erases",
        "host.write_latency_us.mean", "host.read_latency_us.mean",
    )  # fmt: skip

    @classmethod
    def reduced(cls, point: Point, result: Result) -> Mapping[str, Mapping[str, Any]]:
        """The distribution of ω, where Figures 5 and 7 have it."""
        is_shown = point.ftl == OMEGA_FTL and (point.setting == OMEGA_AGE or point.workload in TRACES)
        if not is_shown or "locality" not in result.tables:
            return {}
        return {"locality": {key: result.locality[key] for key in ("omega", "samples")}}

    @property
    def trials(self) -> Sequence[Trial]:
        """Which protection survived which fault."""
        known = self.beside["survival"][0] if self.beside else []
        return [trial if isinstance(trial, Trial) else Trial(**trial) for trial in known]

    @property
    def restart(self) -> Mapping[str, float]:
        """What a restart costs, where there are trials."""
        cost: Mapping[str, float] = self.beside["survival"][1]
        return cost

    def waf(self, workload: str, ftl: str, setting: str = "") -> float:
        """The WAF of a point."""
        return self.figure(Point(workload, ftl, setting), "waf")

    def saved(self, workload: str, ftl: str, base: str, figure: str = "waf", setting: str = "") -> float:
        """By how much a figure of `ftl` is below that of `base`, in % of the latter."""
        ours, theirs = (self.figure(Point(workload, f, setting), figure) for f in (ftl, base))
        return 100 * (1 - ratio(ours, theirs))

    def paired(self, workload: str, ftl: str) -> float:
        """The host's pages that are paired, in %."""
        return 100 * self.figure(Point(workload, ftl), "paired_fraction")

    def erases(self, workload: str, ftl: str, part: str) -> float:
        """Erases of `data` or `backup` blocks ÷ all of P's."""
        ours, theirs = (
            self.figure(Point(workload, ftl), f"{part}_erases"),
            self.figure(Point(workload, "P"), "erases"),
        )
        return ratio(ours, theirs)

    def time(self, workload: str, ftl: str, kind: str) -> float:
        """The time of writes or reads on the serial device ÷ that of P."""
        ours, theirs = (self.figure(Point(workload, f, "serial"), f"{kind}_ms") for f in (ftl, "P"))
        return ratio(ours, theirs)

    def under(self, model: str) -> Evidence:
        """The same with the servers as a model has them, in place of those that it changes."""
        results = {}
        for point, result in self.results.items():
            server = server_of(point.workload)
            if server not in SERVER_NAMES:
                results[point] = result
            elif point.workload == modelled(server, model):
                results[point._replace(workload=server)] = result
        return Evidence(results, self.workloads, self.beside)

    def ways(self) -> list[tuple[str, str]]:
        """FTL and reading of which there is a run on every Zipf workload and an ω."""
        found = []
        for setting in READINGS:
            for ftl in FTLS:
                chosen = [self.results.get(Point(name, ftl, setting)) for name in ZIPFS]
                if all(result is not None and "locality" in result.tables for result in chosen):
                    found.append((ftl, setting))
        return found

    def found_beside(self) -> dict[str, Any]:
        """The trials and what a restart costs."""
        if not self.trials:
            return {}
        return {"survival": [asdict(trial) for trial in self.trials], "restart": self.restart}

    def words(self) -> list[str]:
        """What is no trace, and which protection survives which fault."""
        is_generated = any(point.workload not in self.workloads for point in self.results)
        parts = ["Zipf and uniform workloads are generated as they run."] if is_generated else []
        if self.trials:
            parts += [survival.plain_table(self.trials), survival.restart_line(self.restart)]
        return parts


def distribution(result: Result) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The cumulative distribution of ω: values, and the part of the samples up to each."""
    table = result.locality
    samples = np.cumsum(table["samples"]).astype(float)
    return np.asarray(table["omega"], float), samples / samples[-1] if samples.size else samples


def below_threshold(result: Result) -> float:
    """The part of the samples of ω that are below τ."""
    omega, part = distribution(result)
    count = int(np.searchsorted(omega, TAU))
    return float(part[count - 1]) if count else 0.0
