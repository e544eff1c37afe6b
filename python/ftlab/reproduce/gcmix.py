"""GCMix: seven FTLs on Zipf and server workloads, from a device whose user space has been written once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ftlab.reproduce import claims as verdicts
from ftlab.reproduce.claims import Claim, Finding, Rule, Statement, Verdict
from ftlab.reproduce.experiment import Run
from ftlab.reproduce.gcmix_servers import CAPTURED, PAGE, RATE, SERVERS
from ftlab.reproduce.survival import EXPECTED, TROUBLES, Trial, Trouble
from ftlab.reproduce.workloads import Workload
from ftlab.result import Result

PAPER = "gcmix"

FTLS = ("PX", "P", "PM", "DX", "D", "DM", "DML")
"""Table 2; each is a preset of its own."""

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
class Scale:
    """How large the device is."""

    ratio: float
    """Of the paper's blocks, data and volume."""
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
USER_MIB = 24 * 1024
RAW_MIB = 32 * 1024

SCALES = {"quick": Scale(1 / 16), "paper": Scale(1.0, longest_mib=VOLUME_MIB)}

READINGS: Mapping[str, Mapping[str, Any]] = {
    "": {},
    "30 per second": {"workload.interval": "33333us"},
    "300 per second": {"workload.interval": "3333us"},
    "1000 per second": {"workload.interval": "1ms"},
    "Poisson": {"workload.poisson": True},
    "eight planes": {"device.channels": 4, "device.planes_per_die": 2},
    "age since filled": {"ftl.victim.cost-benefit.age": "filled"},
    "begins empty": {"run.precondition": "none"},
    "two update blocks": {"ftl.separation": "host-gc"},
    "10 times the rate": {},
    "serial": {
        "run.executor": "timed", "host.replay": "closed", "host.queue_depth": 1,
        "device.timing.channel_rate": "100GT/s",
    },
}  # fmt: skip
"""Departures from what was settled on, by name; `serial` is the device of Figures 12 and 13."""


class Point(NamedTuple):
    """Where in the grid a result is."""

    workload: str
    """A server, a captured trace, `zipf 0.8`, or `uniform 0.9`, of which the number is the utilisation."""
    ftl: str
    setting: str = ""
    """One of `READINGS`."""

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.ftl}{f', {self.setting}' if self.setting else ''} {self.workload}"


EXPERIMENTS = {
    "fig5": "the distribution of ω on Zipf workloads",
    "readings": "what ω, and WAF, depend on: rate, FTL, planes, filling, update blocks",
    "fig7": "the distribution of ω on server workloads and captured traces",
    "fig8": "WAF of the seven FTLs on Zipf workloads",
    "fig9": "WAF of the seven FTLs on server workloads and captured traces",
    "fig10": "erases of data and of backup blocks on the same",
    "fig11": "the part of the host's pages that is paired on the same",
    "fig12": "time to process writes on the same, on a serial device",
    "fig13": "time to process reads, from the same runs",
    "fig14": "WAF and erases by storage utilisation",
    "survival": "which protection survives which fault: a fault at every operation of many short lives",
}

MIXED = ("PM", "DM", "DML")
BARS = ("P", "PM", "D", "DM", "DML")
"""The FTLs of Figures 10, 12 and 13."""

SERVER_NAMES = tuple(server.name for server in SERVERS)
CAPTURED_NAMES = tuple(wanted.name for wanted in CAPTURED)
LOW_LOCALITY = tuple(name for name in SERVER_NAMES if name != "EXCHANGE")


def zipf(z: float) -> str:
    """The name of a Zipf workload."""
    return f"zipf {z:.1f}"


def uniform(utilisation: float) -> str:
    """The name of Figure 14's workload."""
    return f"uniform {utilisation:.1f}"


def points(experiment: str) -> list[Point]:
    """The grid of an experiment."""
    traces = (*SERVER_NAMES, *CAPTURED_NAMES)
    match experiment:
        case "fig5":
            return [Point(zipf(z), OMEGA_FTL, OMEGA_AGE) for z in EXPONENTS]
        case "readings":
            of_omega = [("DM", ""), ("DML", ""), ("DX", ""), ("DM", "eight planes"), ("D", "eight planes")]
            of_omega += [
                ("D", name) for name in ("30 per second", "300 per second", "1000 per second", "Poisson")
            ]
            of_waf = [(f, "begins empty") for f in ("P", "PX")] + [
                (f, "two update blocks") for f in ("P", "PX")
            ]
            of_age = [("D", OMEGA_AGE), ("DM", OMEGA_AGE)]
            ways = [("D", ""), ("P", ""), ("PX", ""), *of_age, *of_omega, *of_waf]
            fast = [Point("EXCHANGE", ftl, "10 times the rate") for ftl in ("D", "DML")]
            return [Point(zipf(z), ftl, setting) for ftl, setting in ways for z in EXPONENTS] + fast
        case "fig7":
            return [Point(name, OMEGA_FTL) for name in traces]
        case "fig8":
            return [Point(zipf(z), ftl) for ftl in FTLS for z in EXPONENTS]
        case "fig9":
            return [Point(name, ftl) for name in traces for ftl in FTLS]
        case "fig10":
            return [Point(name, ftl) for name in traces for ftl in BARS]
        case "fig11":
            return [Point(name, ftl) for name in traces for ftl in MIXED]
        case "fig12" | "fig13":
            return [Point(name, ftl, "serial") for name in traces for ftl in BARS]
        case "survival":
            return []
        case "fig14":
            return [Point(uniform(u), ftl) for u in UTILISATIONS for ftl in ("P", "DML")]
        case _:
            raise AssertionError(experiment)


def run_of(point: Point, workload: Workload | None, scale: Scale) -> Run:
    """A point as a run of the engine: one plane of all blocks, so that its watermarks and its update blocks are the
    device's, as the paper has them."""
    setting = READINGS[point.setting]
    kind, _, number = point.workload.partition(" ")
    planes = setting.get("device.channels", 1) * setting.get("device.planes_per_die", 1)
    sets: dict[str, Any] = {
        "device.channels": 1,
        "device.planes_per_die": 1,
        "device.blocks_per_plane": scale.blocks // planes,
        "device.user_capacity": scale.mib(USER_MIB),
    }
    if kind in SERVER_NAMES:
        sets["workload.rounds"] = 1
    else:
        sets["workload.volume"] = scale.mib(VOLUME_MIB)
    weight = 1.0
    if workload is not None:
        faster = 10 if point.setting == "10 times the rate" else 1
        sets["host.time_scale"] = time_scale(workload) / faster
        read, written = (workload.info[f"bytes_{kind}"] / 2**20 for kind in ("read", "written"))
        rounds = 1.0 if workload.is_paper else VOLUME_MIB * scale.ratio / max(1.0, written)
        weight = rounds * (written + 0.3 * read) / (VOLUME_MIB * scale.ratio)
    elif kind == "zipf":
        sets["workload.generator.zipf.z"] = float(number)
        sets["workload.interval"] = f"{1e3 / RATE:g}ms"
    else:
        sets["workload.generator"] = "uniform"
        sets["workload.interval"] = f"{1e3 / RATE:g}ms"
        sets["device.user_capacity"] = scale.mib(RAW_MIB * float(number))
        weight = 1 / (1.05 - float(number))
    if point.setting == "serial":
        sets.pop("host.time_scale", None)
    return Run(
        label=point.label,
        preset=f"gcmix-{point.ftl.lower()}",
        sets={**sets, **setting},
        trace=None if workload is None else workload.path,
        weight=weight * scale.ratio,
    )


def time_scale(workload: Workload) -> float:
    """What a trace's times are multiplied by, so that the host writes `RATE` pages per second."""
    pages = workload.info["bytes_written"] / PAGE
    return float(f"{pages / workload.info['duration_s'] / RATE:.4g}")


class Evidence:
    """The results of a grid, looked up by what claims ask."""

    def __init__(
        self,
        results: Mapping[Point, Result],
        workloads: Mapping[str, Workload],
        trials: Sequence[Trial] = (),
        restart: Mapping[str, float] | None = None,
    ) -> None:
        self.results = results
        self.workloads = workloads
        self.trials = trials
        self.restart = restart

    def figure(self, point: Point, name: str) -> float:
        """One of `FIGURES`; NaN where it is not defined.

        Raises:
            KeyError: the point was not run.
        """
        value = FIGURES[name](self.results[point].summary)
        return math.nan if value is None else float(value)

    def waf(self, workload: str, ftl: str, setting: str = "") -> float:
        """The WAF of a point."""
        return self.figure(Point(workload, ftl, setting), "waf")

    def saved(self, workload: str, ftl: str, base: str, figure: str = "waf", setting: str = "") -> float:
        """By how much a figure of `ftl` is below that of `base`, in % of the latter."""
        ours, theirs = (self.figure(Point(workload, f, setting), figure) for f in (ftl, base))
        return 100 * (1 - ratio(ours, theirs))


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
    "waf": lambda s: s["waf"],
    "omega_p10": lambda s: s["policy"].get("dac.omega_p10"),
    "omega_p50": lambda s: s["policy"].get("dac.omega_p50"),
    "omega_p90": lambda s: s["policy"].get("dac.omega_p90"),
    "paired_fraction": lambda s: s["policy"].get("gcmix.paired_fraction"),
    "data_erases": lambda s: _erases(s, backup=False),
    "backup_erases": lambda s: _erases(s, backup=True),
    "erases": lambda s: s["flash"]["block_erases"],
    "write_ms": _milliseconds("write"),
    "read_ms": _milliseconds("read"),
}
"""The figures of a run, from its summary; a mean time is of a request, and on the serial device the total is that times
the requests, which are the same for every FTL."""


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


def judged(evidence: Evidence, experiments: Sequence[str]) -> list[Claim]:
    """Every claim with what was measured; those of other experiments are not run, whatever their runs may share."""
    nothing = Evidence({}, evidence.workloads)
    kinds = {name: workload.kind for name, workload in evidence.workloads.items()}
    return [
        statement.judged(evidence if statement.experiment in experiments else nothing, kinds)
        for statement in STATEMENTS
    ]


Change = Callable[[Evidence, str], float]


def _of(
    names: Sequence[str], change: Change, pick: Callable[[Iterable[float]], float], digits: int = 1
) -> Callable[[Evidence], Finding]:
    """A figure of every workload, of which one decides."""

    def measure(evidence: Evidence) -> Finding:
        return _decided({name: change(evidence, name) for name in names}, pick, digits)

    return measure


def _decided(values: Mapping[str, float], pick: Callable[[Iterable[float]], float], digits: int) -> Finding:
    """One of the values by workload, or by workload and FTL; the others are noted."""
    known = {name: value for name, value in values.items() if not math.isnan(value)}
    if not known:
        raise KeyError(next(iter(values)))
    chosen = pick(known.values())
    decides = next(name for name, value in known.items() if value == chosen)
    return Finding(
        chosen,
        decides if decides.startswith(("zipf", "uniform")) else decides.split()[0],
        ", ".join(f"{name} {value:.{digits}f}" for name, value in known.items()),
    )


def _saved(ftl: str, base: str, figure: str = "waf", setting: str = "") -> Change:
    return lambda evidence, name: evidence.saved(name, ftl, base, figure, setting)


def _all(change: Change) -> Callable[[Evidence], Finding]:
    """The change over all servers: one less the geometric mean of the ratios."""

    def measure(evidence: Evidence) -> Finding:
        ratios = {name: 1 - change(evidence, name) / 100 for name in SERVER_NAMES}
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        note = ", ".join(f"{name} {100 * (1 - ratio):+.1f}" for name, ratio in ratios.items())
        return Finding(100 * (1 - mean), "all servers", note)

    return measure


ZIPFS = tuple(map(zipf, EXPONENTS))
AT_LOW, AT_HIGH = ZIPFS[:3], ZIPFS[4:]


def _statements() -> Iterator[Statement]:
    yield from _omega_statements()
    yield from _waf_statements()
    yield from _server_statements()
    yield from _time_statements()
    yield from _utilisation_statements()


def _median(z: float, ftl: str) -> Callable[[Evidence], Finding]:
    def measure(evidence: Evidence) -> Finding:
        point = Point(zipf(z), ftl, OMEGA_AGE)
        found = evidence.figure(point, "omega_p50")
        low, high = (evidence.figure(point, key) for key in ("omega_p10", "omega_p90"))
        apart = 100 * (found / MEDIANS[z] - 1)
        return Finding(found, zipf(z), f"{apart:+.1f} %; 10 % to 90 %: {low:.3g} to {high:.3g}")

    return measure


def _worst_median(ftl: str) -> Callable[[Evidence], Finding]:
    def apart(evidence: Evidence, name: str) -> float:
        z = float(name.split()[1])
        return 100 * (evidence.figure(Point(name, ftl), "omega_p50") / MEDIANS[z] - 1)

    return _of(ZIPFS, apart, lambda values: max(values, key=abs))


def _omega_statements() -> Iterator[Statement]:
    for z, published in MEDIANS.items():
        yield Statement(
            f"omega-{z:.1f}", f"The median of ω at z = {z:.1f} (unmixed placement, {RATE:g} writes per second, "
            "a block's age since it was filled)",
            published, "", verdicts.near(published, 15, 100), "fig5", _median(z, OMEGA_FTL), zipf(z),
        )  # fmt: skip
    yield Statement(
        "omega-dm", "These medians are those of FTL-DM, as the text says: the one furthest from its published value",
        0, "%", _around_zero(15, 100), "readings", _worst_median("DM"), zipf(1.0),
    )  # fmt: skip

    def order(evidence: Evidence) -> Finding:
        of = {name: evidence.figure(Point(name, OMEGA_FTL), "omega_p50") for name in SERVER_NAMES}
        others = max(value for name, value in of.items() if name not in ("EXCHANGE", "BEFS"))
        least = min(of["EXCHANGE"] / of["BEFS"], of["BEFS"] / others)
        return Finding(least, "EXCHANGE", ", ".join(f"{name} {value:.3g}" for name, value in of.items()))

    yield Statement(
        "omega-order", "On the servers ω is largest on EXCHANGE, then on BEFS: the least ratio of a median to the next",
        "above 1", "", verdicts.above(1.0), "fig7", order, "EXCHANGE",
    )  # fmt: skip

    def below(evidence: Evidence) -> Finding:
        of = {name: 100 * below_threshold(evidence.results[Point(name, OMEGA_FTL)]) for name in LOW_LOCALITY}
        worst = min(of, key=lambda name: of[name])
        return Finding(of[worst], worst, ", ".join(f"{name} {value:.1f}" for name, value in of.items()))

    yield Statement(
        "omega-below", f"On all servers but EXCHANGE ω mostly stays below τ = {TAU:g}: the least part of the samples",
        "mostly", "%", verdicts.at_least(75, 50), "fig7", below, "BEFS",
    )  # fmt: skip


def _around_zero(reproduced: float, direction: float) -> Rule:
    def judge(measured: float) -> verdicts.Verdict:
        if abs(measured) <= reproduced:
            return "reproduced"
        return "direction" if abs(measured) <= direction else "not-reproduced"

    return Rule(f"reproduced up to {reproduced:g} either way; direction up to {direction:g}", judge)


def _excess(evidence: Evidence, name: str) -> float:
    """By how much DML's WAF is above the lower of DM's and D's, in %."""
    better = min(evidence.waf(name, "DM"), evidence.waf(name, "D"))
    return 100 * (evidence.waf(name, "DML") / better - 1)


def _waf_statements() -> Iterator[Statement]:
    def statement(
        name: str, claim: str, paper: float | str, rule: Rule, measure: Callable[[Evidence], Finding]
    ) -> Statement:
        return Statement(f"waf-{name}", claim, paper, "%", rule, "fig8", measure, zipf(0))

    yield statement("px", "PX's WAF is below P's: by how much at most", 19.7, verdicts.up_to(19.7),
                    _of(ZIPFS, _saved("PX", "P"), max))  # fmt: skip
    yield statement("dx", "DX's WAF is below D's: by how much at most", 26.7, verdicts.up_to(26.7),
                    _of(ZIPFS, _saved("DX", "D"), max))  # fmt: skip
    yield statement("pm-low", "PM's WAF is below P's at low locality: by how much at most", 17.0,
                    verdicts.up_to(17.0), _of(AT_LOW, _saved("PM", "P"), max))  # fmt: skip
    yield statement("pm-high", "PM's WAF is below P's at high locality (z = 0.8 and 1): by how much at most", 8.09,
                    verdicts.up_to(8.09), _of(AT_HIGH, _saved("PM", "P"), max))  # fmt: skip
    yield statement("pm-always", "PM's WAF is below P's at every z: by how much at least", "above 0",
                    verdicts.at_least(verdicts.NOISE, 0), _of(ZIPFS, _saved("PM", "P"), min))  # fmt: skip
    yield statement("dm-low", "DM's WAF is below D's at low locality: by how much at most", 17.5,
                    verdicts.up_to(17.5), _of(AT_LOW, _saved("DM", "D"), max))  # fmt: skip
    yield statement("dm-0.8", "At z = 0.8 the benefit of GCMix is almost offset: DM's WAF below D's", "near 0",
                    _around_zero(4, 8), _of(ZIPFS[4:5], _saved("DM", "D"), max))  # fmt: skip
    yield statement("dm-1.0", "At z = 1 DM's WAF is above D's: DM's WAF below D's", "below 0",
                    verdicts.at_most(-verdicts.NOISE, 0), _of(ZIPFS[5:], _saved("DM", "D"), max))  # fmt: skip
    yield statement("dml", "DML follows the better of DM and D: by how much its WAF is above that at most", "near 0",
                    verdicts.at_most(2, 5), _of(ZIPFS, _excess, max))  # fmt: skip


def _server_statements() -> Iterator[Statement]:
    def statement(
        name: str, claim: str, paper: float | str, rule: Rule, measure: Callable[[Evidence], Finding], fig: str = "fig9"
    ) -> Statement:  # fmt: skip
        return Statement(name, claim, paper, "%", rule, fig, measure, "EXCHANGE")

    for ftl, least, greatest in (("P", 21.1, 28.1), ("D", 23.7, 34.5)):
        for word, paper, pick in (("least", least, min), ("most", greatest, max)):
            yield statement(
                f"backup-{ftl.lower()}-{word}", f"The part of {ftl}'s WAF that is backup, at {word} over the servers",
                paper, verdicts.near(paper, 25, 50), _of(SERVER_NAMES, _saved(f"{ftl}X", ftl), pick),
            )  # fmt: skip
    yield statement("d-p", "D's WAF is below P's on EXCHANGE", 33.2, verdicts.up_to(33.2),
                    _of(["EXCHANGE"], _saved("D", "P"), max))  # fmt: skip
    for ftl, base in (("PM", "P"), ("DM", "D")):
        yield statement(
            f"server-{ftl.lower()}", f"{ftl}'s WAF is below {base}'s on servers but EXCHANGE: by how much at most",
            16.7, verdicts.up_to(16.7), _of(LOW_LOCALITY, _saved(ftl, base), max),
        )  # fmt: skip
    yield statement("exchange-dm", "On EXCHANGE DM's WAF is above D's: DM's WAF below D's", "below 0",
                    verdicts.at_most(-verdicts.NOISE, 0), _of(["EXCHANGE"], _saved("DM", "D"), max))  # fmt: skip
    yield statement("exchange-dml", "On EXCHANGE DML's WAF is comparable to D's: the difference", "near 0",
                    _around_zero(2, 5), _of(["EXCHANGE"], _saved("DML", "D"), max))  # fmt: skip
    for word, paper, pick in (("least", 29.8, min), ("most", 41.0, max)):
        yield statement(f"erases-backup-{word}", f"Of P's and D's erases, the part of backup blocks, at {word}",
                        paper, verdicts.near(paper, 25, 50), _backup_share(pick), "fig10")  # fmt: skip
    yield statement("erases-mixed", "GCMix almost eliminates erases of backup blocks: of those of P and D what is "
                    "left to PM and DM at most", "near 0", verdicts.at_most(20, 50), _backups_left, "fig10",
                    )  # fmt: skip
    for ftl, low, high in (("PM", 80.3, 98.3), ("DM", 80.3, 98.7)):
        for word, paper, pick in (("least", low, min), ("most", high, max)):
            yield statement(f"paired-{ftl.lower()}-{word}", f"Host pages that {ftl} pairs, at {word} over the servers",
                            paper, verdicts.around(paper, 5, 15), _of(SERVER_NAMES, _paired(ftl), pick), "fig11",
                            )  # fmt: skip
    yield statement("paired-dml-least", "Host pages that DML pairs on servers but EXCHANGE, at least", 80.4,
                    verdicts.around(80.4, 5, 15), _of(LOW_LOCALITY, _paired("DML"), min), "fig11")  # fmt: skip
    yield statement("paired-dml-exchange", "Host pages that DML pairs on EXCHANGE", 33.6, verdicts.around(33.6, 8, 30),
                    _of(["EXCHANGE"], _paired("DML"), max), "fig11")  # fmt: skip


def _paired(ftl: str) -> Change:
    return lambda evidence, name: 100 * evidence.figure(Point(name, ftl), "paired_fraction")


def _backup_share(pick: Callable[[Iterable[float]], float]) -> Callable[[Evidence], Finding]:
    def measure(evidence: Evidence) -> Finding:
        shares = {}
        for name in SERVER_NAMES:
            for ftl in ("P", "D"):
                backup, whole = (
                    evidence.figure(Point(name, ftl), key) for key in ("backup_erases", "erases")
                )
                shares[f"{name} {ftl}"] = 100 * ratio(backup, whole)
        return _decided(shares, pick, 1)

    return measure


def _backups_left(evidence: Evidence) -> Finding:
    left = {}
    for name in SERVER_NAMES:
        for ftl, base in (("PM", "P"), ("DM", "D")):
            ours, theirs = (evidence.figure(Point(name, f), "backup_erases") for f in (ftl, base))
            left[f"{name} {ftl}"] = 100 * ratio(ours, theirs)
    return _decided(left, max, 1)


def _time_statements() -> Iterator[Statement]:
    def saved(ftl: str, base: str, kind: str) -> Change:
        return _saved(ftl, base, f"{kind}_ms", "serial")

    def rise(ftl: str, base: str) -> Change:
        return lambda evidence, name: -saved(ftl, base, "read")(evidence, name)

    def statement(
        name: str, claim: str, paper: float | str, rule: Rule, measure: Callable[[Evidence], Finding],
        fig: str = "fig12",
    ) -> Statement:  # fmt: skip
        return Statement(name, claim, paper, "%", rule, fig, measure, "all servers")

    yield statement("write-pm", "PM's write time is below P's: by how much at most", 10.5, verdicts.up_to(10.5),
                    _of(SERVER_NAMES, saved("PM", "P", "write"), max))  # fmt: skip
    yield statement("write-pm-mean", "PM's write time is below P's: the mean over the servers", 8.4,
                    verdicts.up_to(8.4), _all(saved("PM", "P", "write")))  # fmt: skip
    yield statement("write-dm-mean", "DM's write time is 0.9 % above D's: the mean of what is saved", -0.9,
                    verdicts.around(-0.9, 3, 8), _all(saved("DM", "D", "write")))  # fmt: skip
    yield statement("write-dml-mean", "DML's write time is below D's: the mean over the servers", 2.71,
                    verdicts.up_to(2.71), _all(saved("DML", "D", "write")))  # fmt: skip
    yield statement("write-dm-exchange", "DM's write time is above D's on EXCHANGE: what is saved", "below 0",
                    verdicts.at_most(-verdicts.NOISE, 0), _of(["EXCHANGE"], saved("DM", "D", "write"), max)
                    )  # fmt: skip
    for ftl, base, paper in (("PM", "P", 1.8), ("DM", "D", 1.8), ("DML", "D", 1.7)):
        yield statement(f"read-{ftl.lower()}-mean", f"{ftl}'s read time is above {base}'s: the mean over the servers",
                        paper, verdicts.up_to(paper), _all_rise(rise(ftl, base)), "fig13")  # fmt: skip
    yield statement("read-most", "GCMix lengthens read time by at most", 3.6, verdicts.up_to(3.6),
                    _of(SERVER_NAMES, rise("PM", "P"), max), "fig13")  # fmt: skip


def _all_rise(change: Change) -> Callable[[Evidence], Finding]:
    def measure(evidence: Evidence) -> Finding:
        found = _all(lambda e, name: -change(e, name))(evidence)
        values = {name: change(evidence, name) for name in SERVER_NAMES}
        return Finding(-found.measured, found.workload, ", ".join(f"{n} {v:+.1f}" for n, v in values.items()))

    return measure


def _utilisation_statements() -> Iterator[Statement]:
    names = tuple(map(uniform, UTILISATIONS))

    def statement(
        name: str, claim: str, paper: float | str, rule: Rule, measure: Callable[[Evidence], Finding]
    ) -> Statement:
        return Statement(f"utilisation-{name}", claim, paper, "%", rule, "fig14", measure, uniform(0.7))

    def backups(evidence: Evidence) -> Finding:
        of = {name: evidence.figure(Point(name, "P"), "backup_erases") for name in names}
        spread = 100 * (max(of.values()) / min(of.values()) - 1)
        return Finding(spread, names[-1], ", ".join(f"{name} {value:.0f}" for name, value in of.items()))

    yield statement("low", "At low utilisation (0.1) DML's WAF follows P's: the difference", "near 0",
                    _around_zero(2, 5), _of(names[:1], _saved("DML", "P"), max))  # fmt: skip
    yield statement("high", "At high utilisation (from 0.6) DML's WAF is below P's: by how much at least", "above 0",
                    verdicts.at_least(5, verdicts.NOISE), _of(names[5:], _saved("DML", "P"), min))  # fmt: skip
    yield statement("backup", "P erases as many backup blocks at every utilisation: the spread", "near 0",
                    verdicts.at_most(5, 15), backups)  # fmt: skip


def _promises() -> Iterator[Statement]:
    """What sections 3 and 4 argue of every protection and fault."""
    for (protection, trouble), survives in EXPECTED.items():
        words = f"{protection}: acknowledged data {'survive' if survives else 'are lost by'} a {TROUBLES[trouble]}"
        if trouble == "second-cut":
            words = (
                f"{protection}: acknowledged data {'survive' if survives else 'are lost by'} two power cuts"
            )
        yield Statement(
            f"s-{protection.lower().replace(' ', '-')}-{trouble}", words, "survives" if survives else "loses",
            "% of lives lose", _promise(survives), "survival", _losing(protection, trouble), "lives of a small device",
        )  # fmt: skip


def _promise(survives: bool) -> Rule:
    """A single lost page breaks a promise to survive; without one, some life has to lose data."""

    def judge(losing: float) -> Verdict:
        return "reproduced" if (losing == 0) == survives else "not-reproduced"

    return Rule("no life may lose data" if survives else "some life has to lose data", judge)


def _losing(protection: str, trouble: Trouble) -> Callable[[Evidence], Finding]:
    def measure(evidence: Evidence) -> Finding:
        chosen = [t for t in evidence.trials if (t.protection, t.trouble) == (protection, trouble)]
        if not chosen:
            raise KeyError(protection)
        runs, losing = sum(t.runs for t in chosen), sum(t.losing for t in chosen)
        cells = ", ".join(f"{t.cell} {t.losing:,} of {t.runs:,}" for t in chosen)
        return Finding(100 * losing / runs, "lives of a small device", cells)

    return measure


STATEMENTS = (*_statements(), *_promises())
