"""The tables of the rcFTL report, from a grid's results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from statistics import mean
from typing import Any, TypeAlias

from ftlab.results import text
from ftlab_reproduce.rcftl.axes import (
    AGES,
    ALL_CHIPS,
    APART,
    COUNTERS,
    DRAM_MB_S,
    DRAMS,
    FEW_BLOCKS,
    FILLS,
    MONTHS,
    OLD,
    SYSTEMS,
    YOUNG,
    Evidence,
    Point,
)
from ftlab_reproduce.rcftl.claims import counts, errors, selector_gain
from ftlab_reproduce.rcftl.hosts import FIO_MODELS, GENERATED_NAMES, HOSTS
from ftlab_reproduce.study import Table, tabled

COMPARED = ("FastGC", "rcFTL")
STEPS = ("FastGC", "aware, by page", "worst, by block", "rcFTL-", "rcFTL")
SOME_AGES = {age: AGES[age] for age in (0, 2500, 4500)}


def _cell(form: str, measure: Callable[..., float], *of: Any) -> str:
    """A figure of something, or that there is none."""
    try:
        value = measure(*of)
    except KeyError:
        return text.ABSENT
    return text.ABSENT if math.isnan(value) else form.format(value)


@tabled("The base", ["workload", "requests/s", "WAF", "the paper's WAF", "dies idle", "channel transfers"])
def base(evidence: Evidence) -> Iterator[list[str]]:
    for name in evidence.names(list(HOSTS)):
        point = Point(name, "base")
        late = evidence.late(point)
        shares = [text.percent(evidence.figure(point, figure)) for figure in ("die_idle", "channel_transfer")]
        yield [evidence.named(name), text.count(late.iops), f"{late.waf:.2f}", f"{HOSTS[name].waf}", *shares]


Measure: TypeAlias = Callable[[Evidence, str, str, int], float]
"""A figure of a workload, a system and an age."""


def _by_age(title: str, form: str, measure: Measure) -> Table:
    @tabled(title, ["workload", "system", *AGES.values()])
    def rows(evidence: Evidence) -> Iterator[list[str]]:
        for name in evidence.names(list(HOSTS)):
            for system in COMPARED:
                cells = [_cell(form, measure, evidence, name, system, age) for age in AGES]
                yield [evidence.named(name), system, *cells]

    return rows


def _percent(figure: str) -> Measure:
    return lambda evidence, name, system, age: 100 * evidence.figure(Point(name, system, age), figure)


throughput = _by_age("Figure 6a: throughput over the base's, in %", "{:+.1f}",
                     lambda evidence, name, system, age: evidence.gain(name, system, "base", age))  # fmt: skip
copybacks = _by_age("Pages moved by copyback, in %", "{:.1f}", _percent("copyback_fraction"))
idle = _by_age("Dies idle, in %", "{:.1f}", _percent("die_idle"))


ORDERS = {
    "awareness first": (("aware, by page", "FastGC"), ("rcFTL-", "aware, by page"), ("rcFTL", "rcFTL-")),
    "quotas by block first": (
        ("worst, by block", "FastGC"),
        ("rcFTL-", "worst, by block"),
        ("rcFTL", "rcFTL-"),
    ),
}
STEP_NAMES = {
    "awareness first": ("awareness", "quotas by block", "selector"),
    "quotas by block first": ("quotas by block", "awareness", "selector"),
}


@tabled(
    "Figure 6b: what each step adds to throughput, in %",
    ["workload", "age", "order", "first", "second", "selector", "all"],
)
def steps(evidence: Evidence) -> Iterator[list[str]]:
    for age in (YOUNG, OLD):
        for order, pairs in ORDERS.items():
            columns = []
            for name in evidence.names(list(HOSTS), "rcFTL-"):
                gains = [evidence.gain(name, *pair, age) for pair in (*pairs, ("rcFTL", "FastGC"))]
                columns.append(gains)
                yield [evidence.named(name), AGES[age], order, *(f"{gain:+.1f}" for gain in gains)]
            yield ["*mean*", AGES[age], order, *(f"{mean(of):+.1f}" for of in zip(*columns, strict=True))]


@tabled("Figure 7a: WAF, the base = 1", ["workload", "system", *SOME_AGES.values()])
def wafs(evidence: Evidence) -> Iterator[list[str]]:
    for name in evidence.names(list(HOSTS)):
        for system, setting in (("FastGC", ""), ("FastGC", COUNTERS), ("rcFTL", "")):
            cells = [_cell("{:.3f}", evidence.waf, name, system, age, setting) for age in SOME_AGES]
            yield [evidence.named(name), ", ".join(filter(None, (system, setting))), *cells]


@tabled(
    "Figure 7b: rcFTL over rcFTL-, in %",
    ["workload", *SOME_AGES.values(), "copybacks of rcFTL- at 5K", "of rcFTL"],
)
def selector(evidence: Evidence) -> Iterator[list[str]]:
    for name in FIO_MODELS:
        cells = [f"{selector_gain(evidence, name, age):+.1f}" for age in SOME_AGES]
        shares = [
            text.percent(evidence.figure(Point(name, s, OLD), "copyback_fraction"))
            for s in ("rcFTL-", "rcFTL")
        ]
        yield [name, *cells, *shares]


@tabled(
    "The DRAM port: what the one constant explains",
    ["workload", "DRAM at full size", "fresh, FastGC over the base", "rcFTL over the base", "5K, rcFTL over FastGC",
     "base: dies idle"],
)  # fmt: skip
def dram(evidence: Evidence) -> Iterator[list[str]]:
    settings = {"": DRAM_MB_S, **DRAMS}
    for setting, mb_s in sorted(settings.items(), key=lambda item: -item[1]):
        columns = []
        for name in evidence.names(GENERATED_NAMES):
            gains = [
                evidence.gain(name, "FastGC", "base", YOUNG, setting),
                evidence.gain(name, "rcFTL", "base", YOUNG, setting),
                # At 5K FastGC's threshold is 0: it does what the base does.
                evidence.gain(name, "rcFTL", "base", OLD, setting),
            ]
            columns.append(gains)
            idle = text.percent(evidence.figure(Point(name, "base", 0, setting), "die_idle"))
            yield [name, f"{mb_s} MB/s", *(f"{gain:+.1f}" for gain in gains), idle]
        yield ["*mean*", f"{mb_s} MB/s", *(f"{mean(of):+.1f}" for of in zip(*columns, strict=True)), ""]


@tabled(
    "Readings: throughput over the base's under the same, in %",
    ["workload", "reading", "base: requests/s", "FastGC, fresh", "rcFTL, fresh", "rcFTL, 5K", "WAF: base",
     "rcFTL, fresh"],
)  # fmt: skip
def readings(evidence: Evidence) -> Iterator[list[str]]:
    runs = (("base", YOUNG), ("FastGC", YOUNG), ("rcFTL", YOUNG), ("rcFTL", OLD))
    for name in evidence.names(list(HOSTS)):
        for setting in ("", COUNTERS, APART, FEW_BLOCKS, ALL_CHIPS):
            points = [Point(name, system, age, setting) for system, age in runs]
            if not any(point in evidence.results for point in points):
                continue
            over = [_cell("{:+.1f}", evidence.over_base, point) for point in points[1:]]
            wafs = [_cell("{:.2f}", evidence.late_waf, point) for point in (points[0], points[2])]
            yield [
                evidence.named(name),
                setting or "settled on",
                _cell("{:,.0f}", evidence.iops, points[0]),
                *over,
                *wafs,
            ]


@tabled(
    "Both retentions of Table I, OLTP",
    ["age", "copybacks, 1 year", "3 months", "requests/s, 1 year", "3 months"],
)
def retentions(evidence: Evidence) -> Iterator[list[str]]:
    for age, words in SOME_AGES.items():
        points = [Point("OLTP", "rcFTL", age, setting) for setting in ("", MONTHS)]
        copied = [text.percent(evidence.figure(point, "copyback_fraction")) for point in points]
        yield [words, *copied, *(text.count(evidence.iops(point)) for point in points)]


@tabled(
    "From which fill of the write buffer on the selector chooses copybacks: its gain at 5K, Low",
    ["fill", "gain"],
)
def fills(evidence: Evidence) -> Iterator[list[str]]:
    for setting in ("", *FILLS):
        yield [setting or "selector at 50 %", f"{selector_gain(evidence, 'Low', OLD, setting):+.1f} %"]


@tabled("The greatest error of a page, of what ECC corrects", ["system", "runs", "greatest"])
def greatest_errors(evidence: Evidence) -> Iterator[list[str]]:
    for system in SYSTEMS:
        if found := errors(evidence, system):
            runs = sum(point.system == system for point in evidence.results)
            if system != "base":
                yield [system, str(runs), f"{max(found.values()):.3f}"]
    for age, written in evidence.beside.get("errors", {}).items():
        yield [f"copyback, OLTP, {age}", "1", f"uncorrectable after {written:.3f} user capacities"]


@tabled("Verdicts", ["claims", "reproduced", "direction", "not-reproduced", "not-run"])
def verdicts(evidence: Evidence) -> Iterator[list[str]]:
    for group, found in counts(evidence).items():
        yield [
            group,
            *(str(found[verdict]) for verdict in ("reproduced", "direction", "not-reproduced", "not-run")),
        ]
