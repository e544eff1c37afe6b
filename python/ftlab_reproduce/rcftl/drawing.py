"""The rcFTL paper's figures, from a grid's results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ftlab.results.drawing import COLOURS
from ftlab_reproduce.panels import GREY, dress, legend, sheet, side_by_side
from ftlab_reproduce.rcftl.axes import AGES, COUNTERS, DRAM_MB_S, DRAMS, OLD, YOUNG, Evidence
from ftlab_reproduce.rcftl.claims import selector_gain
from ftlab_reproduce.rcftl.hosts import CAPTURED_NAMES, GENERATED_NAMES, HOSTS, INTENSITIES
from ftlab_reproduce.rcftl.tables import ORDERS, SOME_AGES, STEP_NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _rows(evidence: Evidence) -> list[list[str]]:
    """Captures, if there are any, over generators."""
    return [row for names in (CAPTURED_NAMES, GENERATED_NAMES) if (row := evidence.names(names))]


def _grouped(
    panel: Axes, places: Sequence[str], series: Sequence[str], value: Callable[[str, str], float]
) -> None:
    """Bars of each series side by side at every place."""
    at, width = side_by_side(np.arange(len(places)), len(series))
    for i, (name, where) in enumerate(zip(series, at, strict=True)):
        panel.bar(where, [value(place, name) for place in places], width, color=COLOURS[i], label=name)
    panel.set_xticks(range(len(places)), list(places))


def _by_age(
    evidence: Evidence, series: Sequence[str], ages: dict[int, str], words: str, limits: tuple[float, float],
    value: Callable[[str, str, int], float],
) -> Figure:  # fmt: skip
    """A panel for each workload: bars of each series at every age, the base = 1."""
    rows = _rows(evidence)
    figure, drawn = sheet(12, 2.7 * len(rows) + 0.6, len(rows), max(map(len, rows)), sharey=True)
    numbers = {words: age for age, words in ages.items()}
    for row, names in zip(drawn, rows, strict=True):
        for panel, name in zip(row, names, strict=True):
            _grouped(panel, list(numbers), series, lambda age, one, n=name: value(n, one, numbers[age]))  # type: ignore[misc]
            panel.axhline(1, color=GREY, linewidth=0.8)
            dress(panel, evidence.named(name))
        row[0].set_ylabel(words)
    drawn[0][0].set_ylim(*limits)
    legend(figure, drawn[0][0])
    return figure


def figure6a(evidence: Evidence) -> Figure:
    def value(name: str, system: str, age: int) -> float:
        return 1 + evidence.gain(name, system, "base", age) / 100

    most = max(value(name, "rcFTL", age) for row in _rows(evidence) for name in row for age in AGES)
    return _by_age(evidence, ("FastGC", "rcFTL"), AGES, "throughput, base = 1", (0.8, 1.05 * most), value)


def _added(
    evidence: Evidence, pair_of: Mapping[str, tuple[str, str]], age: int, name: str, step: str
) -> float:
    system, over = pair_of[step]
    return evidence.gain(name, system, over, age)


def figure6b(evidence: Evidence) -> Figure | None:
    names = evidence.names(list(HOSTS), "rcFTL-")
    if not names:
        return None
    figure, drawn = sheet(12, 6.4, 2, 2, sharey=True)
    order_of = ("awareness", "quotas by block", "selector")
    for row, age in zip(drawn, (YOUNG, OLD), strict=True):
        for panel, (order, pairs) in zip(row, ORDERS.items(), strict=True):
            pair_of = dict(zip(STEP_NAMES[order], pairs, strict=True))
            _grouped(panel, names, order_of, partial(_added, evidence, pair_of, age))
            panel.axhline(0, color=GREY, linewidth=0.8)
            dress(panel, f"{AGES[age]}, {order}: what each step adds (%)")
            panel.tick_params(axis="x", labelsize=8)
    legend(figure, drawn[0][0])
    return figure


def figure7a(evidence: Evidence) -> Figure:
    series = {
        "by page, FastGC": ("FastGC", ""),
        "by page, counters in flash": ("FastGC", COUNTERS),
        "by block, rcFTL": ("rcFTL", ""),
    }

    def value(name: str, one: str, age: int) -> float:
        system, setting = series[one]
        return evidence.waf(name, system, age, setting)

    every = [
        value(n, one, age) for row in _rows(evidence) for n in row for one in series for age in SOME_AGES
    ]
    limits = (0.95 * min(every), 1.02 * max(every))
    return _by_age(evidence, list(series), SOME_AGES, "WAF, base = 1", limits, value)


def figure7b(evidence: Evidence) -> Figure:
    figure, ((panel,),) = sheet(7, 3.6)
    numbers = {words: age for age, words in SOME_AGES.items()}
    _grouped(
        panel, list(numbers), list(INTENSITIES), lambda age, name: selector_gain(evidence, name, numbers[age])
    )
    panel.axhline(0, color=GREY, linewidth=0.8)
    panel.set_xlabel("P/E cycles (bands up to; 0K: 0.4K)")
    dress(panel, "rcFTL over rcFTL- (%)")
    legend(figure, panel)
    return figure


def dram(evidence: Evidence) -> Figure:
    figure, (panels,) = sheet(11, 3.8, columns=2, sharey=True)
    settings = dict(sorted({"": DRAM_MB_S, **DRAMS}.items(), key=lambda item: -item[1]))
    for panel, (age, words) in zip(
        panels, ((YOUNG, "fresh: rcFTL over the base (%)"), (OLD, "5K: rcFTL over FastGC (%)")), strict=True
    ):
        for i, name in enumerate(evidence.names(GENERATED_NAMES)):
            gains = [evidence.gain(name, "rcFTL", "base", age, setting) for setting in settings]
            panel.plot(range(len(gains)), gains, "o-", color=COLOURS[i], label=name)
        panel.axhline(43 if age == YOUNG else 25, color=GREY, linewidth=0.8, linestyle=":")
        panel.set_xticks(range(len(settings)), [str(mb_s) for mb_s in settings.values()])
        panel.set_xlabel("DRAM port (MB/s at full size)")
        dress(panel, words)
    panels[0].annotate("the paper's mean", (0, 43), xytext=(0, 3), textcoords="offset points", fontsize=8)
    panels[1].annotate("the paper's", (0, 25), xytext=(0, 3), textcoords="offset points", fontsize=8)
    legend(figure, panels[0])
    return figure
