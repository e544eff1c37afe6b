"""The tables of the GCMix report, from a grid's results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ftlab.results import text
from ftlab_reproduce import survival
from ftlab_reproduce.claims import Claim
from ftlab_reproduce.gcmix import claims
from ftlab_reproduce.gcmix.axes import (
    EXPONENTS,
    FAST,
    FTLS,
    MEDIANS,
    OMEGA_AGE,
    OMEGA_FTL,
    SERVER_NAMES,
    SLC_BUFFER,
    TAU,
    TAUS,
    UTILISATIONS,
    Evidence,
    Point,
    below_threshold,
    uniform,
    way,
    zipf,
)
from ftlab_reproduce.gcmix.servers import modelled
from ftlab_reproduce.study import Table, tabled

ZS = [f"z = {z:.1f}" for z in EXPONENTS]


def percent(value: float) -> str:
    return text.ABSENT if value != value else f"{value:.1f} %"


def _omegas(evidence: Evidence, point: Point) -> list[str]:
    return [f"{evidence.figure(point, f'omega_{q}'):.4g}" for q in ("p10", "p50", "p90")]


@tabled(
    f"Figure 5: ω under {OMEGA_FTL}, {OMEGA_AGE}",
    ["z", "published median", "median", "apart", "10 %", "90 %"],
)
def figure5(evidence: Evidence) -> Iterator[list[str]]:
    for z, published in MEDIANS.items():
        point = Point(zipf(z), OMEGA_FTL, OMEGA_AGE)
        low, median, high = _omegas(evidence, point)
        apart = f"{100 * (evidence.figure(point, 'omega_p50') / published - 1):+.1f} %"
        yield [f"{z:.1f}", f"{published:g}", median, apart, low, high]


@tabled("Readings: medians of ω", ["FTL, reading", *ZS, "furthest"])
def readings_omega(evidence: Evidence) -> Iterator[list[str]]:
    yield ["*published*", *(f"{MEDIANS[z]:g}" for z in EXPONENTS), ""]
    for ftl, setting in evidence.ways():
        medians = [evidence.figure(Point(zipf(z), ftl, setting), "omega_p50") for z in EXPONENTS]
        apart = [100 * (median / MEDIANS[z] - 1) for z, median in zip(EXPONENTS, medians, strict=True)]
        cells = [f"{median:.4g} ({a:+.0f} %)" for median, a in zip(medians, apart, strict=True)]
        yield [way(ftl, setting), *cells, f"{max(apart, key=abs):+.0f} %"]


@tabled("Readings: WAF", ["FTL, reading", *ZS])
def readings_waf(evidence: Evidence) -> Iterator[list[str]]:
    filled = [(ftl, name) for name in ("", "begins empty", "two update blocks") for ftl in ("PX", "P")]
    planes = [(ftl, name) for ftl in ("D", "DM") for name in ("", "eight planes")]
    for ftl, setting in filled + planes:
        yield [way(ftl, setting), *(f"{evidence.waf(zipf(z), ftl, setting):.3f}" for z in EXPONENTS)]


@tabled("SLC-mode buffer blocks in place of LSB backups: WAF", ["FTL", *ZS])
def buffered(evidence: Evidence) -> Iterator[list[str]]:
    for ftl, words in (("P", "P, LSB backups"), (SLC_BUFFER, "P, SLC-mode buffer blocks")):
        yield [words, *(f"{evidence.waf(zipf(z), ftl):.3f}" for z in EXPONENTS)]


@tabled("Readings: the rate on EXCHANGE", ["FTL, reading", "ω 10 %", "median", "90 %", "WAF", "paired"])
def readings_rate(evidence: Evidence) -> Iterator[list[str]]:
    for point in (Point("EXCHANGE", ftl, setting) for ftl in ("D", "DML") for setting in ("", FAST)):
        if point in evidence.results:
            paired = percent(100 * evidence.figure(point, "paired_fraction"))
            waf = f"{evidence.figure(point, 'waf'):.3f}"
            yield [way(point.ftl, point.setting), *_omegas(evidence, point), waf, paired]


@tabled(f"Figure 7: ω under {OMEGA_FTL}", ["workload", "10 %", "median", "90 %", f"below τ = {TAU:g}"])
def figure7(evidence: Evidence) -> Iterator[list[str]]:
    for name in evidence.workloads:
        point = Point(name, OMEGA_FTL)
        below = percent(100 * below_threshold(evidence.results[point]))
        yield [evidence.named(name), *_omegas(evidence, point), below]


OF_SERVERS = frozenset({"fig7", "fig9", "fig10", "fig11", "fig12", "fig13"})
"""The figures whose claims are of the servers."""

SETTLED = "settled on"


def claims_by_model(models: Sequence[str]) -> Table:
    """What the claims of the servers would be under models of them."""

    @tabled(
        "Claims of the servers by model; bold: reproduced",
        ["claim", "paper", *(m or SETTLED for m in models)],
    )
    def rows(evidence: Evidence) -> Iterator[list[str]]:
        of = [evidence.under(model) for model in models]
        for statement in claims.statements():
            if statement.experiment in OF_SERVERS:
                found = [statement.judged(one, {}) for one in of]
                yield [statement.id, str(statement.paper_value), *map(_judged, found)]

    return rows


def _judged(claim: Claim) -> str:
    if claim.measured is None:
        return text.ABSENT
    figure = text.figure(claim.measured)
    return f"**{figure}**" if claim.verdict == "reproduced" else figure


def wafs_by_model(models: Sequence[str]) -> Table:
    """WAF of every server under models of it, and what backups add to it."""
    head = ["server", "model", *FTLS, "P above PX", "D above DX", "paired by PM", "DM", "DML", "median of ω"]

    @tabled("WAF by model, and what backups add to that of PX and DX", head)
    def rows(evidence: Evidence) -> Iterator[list[str]]:
        for name in SERVER_NAMES:
            for model in models:
                one = evidence.under(model)
                is_run = all(Point(name, ftl) in one.results for ftl in FTLS)
                if not is_run or (model and modelled(name, model) == name):
                    continue
                added = (f"{100 * (one.waf(name, f) / one.waf(name, f'{f}X') - 1):.1f} %" for f in ("P", "D"))
                paired = (percent(one.paired(name, ftl)) for ftl in ("PM", "DM", "DML"))
                omega = f"{one.figure(Point(name, OMEGA_FTL), 'omega_p50'):.3g}"
                wafs = (f"{one.waf(name, ftl):.3f}" for ftl in FTLS)
                yield [name, model or SETTLED, *wafs, *added, *paired, omega]

    return rows


def adaptive_by_model(models: Sequence[str]) -> Table:
    """What DML does on EXCHANGE under models of it."""

    @tabled("EXCHANGE: DML by model", ["model", "ω 10 %", "median", "90 %", "paired", "WAF: D", "DM", "DML"])
    def rows(evidence: Evidence) -> Iterator[list[str]]:
        for model in ("", *models):
            name = modelled("EXCHANGE", model)
            points = {ftl: Point(name, ftl) for ftl in ("D", "DM", "DML")}
            if (model and name == "EXCHANGE") or not set(points.values()) <= set(evidence.results):
                continue
            wafs = (f"{evidence.figure(point, 'waf'):.3f}" for point in points.values())
            paired = percent(100 * evidence.figure(points["DML"], "paired_fraction"))
            yield [model or SETTLED, *_omegas(evidence, points["DML"]), paired, *wafs]

    return rows


@tabled(
    "DML by its threshold: by how much its WAF is above the lower of DM's and D's",
    ["τ", *ZS, "pages paired, z = 0.8"],
)
def thresholds(evidence: Evidence) -> Iterator[list[str]]:
    for tau in sorted({TAU, *TAUS}):
        setting = "" if tau == TAU else f"τ = {tau:g}"
        cells = []
        for z in EXPONENTS:
            better = min(evidence.waf(zipf(z), ftl) for ftl in ("DM", "D"))
            cells.append(f"{100 * (evidence.waf(zipf(z), 'DML', setting) / better - 1):.1f} %")
        paired = 100 * evidence.figure(Point(zipf(0.8), "DML", setting), "paired_fraction")
        yield [f"{tau:g}", *cells, percent(paired)]


COMPARED = (("PX", "P"), ("PM", "P"), ("DX", "D"), ("DM", "D"), ("DML", "D"))


@tabled("Figure 8: WAF", ["z", *FTLS, *(f"{ftl} below {base}" for ftl, base in COMPARED)])
def figure8(evidence: Evidence) -> Iterator[list[str]]:
    for z in EXPONENTS:
        saved = [f"{evidence.saved(zipf(z), ftl, base):+.1f} %" for ftl, base in COMPARED]
        yield [f"{z:.1f}", *(f"{evidence.waf(zipf(z), ftl):.3f}" for ftl in FTLS), *saved]


@tabled(
    "Figure 14: storage utilisation",
    ["part of the raw space", "WAF: P", "DML", "data erases: P", "DML", "backup erases: P", "DML", "DML: paired"],
)  # fmt: skip
def figure14(evidence: Evidence) -> Iterator[list[str]]:
    figures = (("waf", 3), ("data_erases", 0), ("backup_erases", 0))
    for u in UTILISATIONS:
        cells = [
            f"{evidence.figure(Point(uniform(u), ftl), figure):,.{digits}f}"
            for figure, digits in figures for ftl in ("P", "DML")
        ]  # fmt: skip
        yield [f"{u:.1f}", *cells, percent(evidence.paired(uniform(u), "DML"))]


def lives(evidence: Evidence) -> list[str]:
    """Which protection survives which fault, and what a restart costs."""
    lines = ["## Survival: lives with a fault, by protection", "", survival.table(evidence.trials)]
    return [*lines, "", survival.restart_line(evidence.restart)]
