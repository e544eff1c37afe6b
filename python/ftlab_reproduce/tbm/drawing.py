"""The TBM paper's figures, from a grid's results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ftlab.results.drawing import COLOURS
from ftlab_reproduce.panels import GREY, legend, sheet, side_by_side
from ftlab_reproduce.tbm.axes import (
    ALLOCATIONS,
    FIGURE7,
    FRONTIER_WORKLOADS,
    LOAD_WORKLOAD,
    LOADS,
    STATED_LOAD,
    TWO_FRONTIERS,
    Evidence,
    Point,
    long_term,
    window,
)
from ftlab_reproduce.tbm.claims import gain
from ftlab_reproduce.tbm.traces import EXTRA_NAMES, PAPER_NAMES, SERIES_WORKLOAD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEP = 0.1
"""Capacities to a point of a curve."""

PANELS = (
    ("response_us", 1e-3, "mean response time (ms)"),
    ("gc_per_gb", 1.0, "collections per GB written"),
    ("multiplane_writes", 100.0, "multi-plane writes (%)"),
    ("multiplane_reads", 100.0, "multi-plane reads (%)"),
)

BARS = (
    ("iops", "IOPS"),
    ("response_us", "mean response time"),
    ("gc_cost", "GC cost (pages moved per page of the host)"),
    ("gc_count", "GC count"),
)


def series(tbm: bool) -> Callable[[Evidence], Figure | None]:
    """Four figures over the volume written, as the paper's Figures 2 and 6."""

    def draw(evidence: Evidence) -> Figure | None:
        chosen = {
            point.config: result
            for point, result in evidence.results.items()
            if (point.workload, point.tbm, point.worn, point.setting) == (SERIES_WORKLOAD, tbm, False, "")
        }
        # Other experiments have some of these points too, but without BAC: those are not the paper's figures.
        if not any("BAC" in config for config in chosen):
            return None
        figure, panels = sheet(10, 6.4, 2, 2, sharex=True)
        every = [panel for row in panels for panel in row]
        for config, result in chosen.items():
            # The last request goes a little past the volume: what is left of a step then tells nothing.
            steps = np.arange(0, long_term(result)[1] - STEP / 2, STEP)
            windows = [window(result, (at, at + STEP)) for at in steps]
            colour = COLOURS[ALLOCATIONS.index(config.partition("+")[0])]
            style = ":" if "BAC" in config else "-"
            for panel, (key, scale, _) in zip(every, PANELS, strict=True):
                values = [scale * getattr(one, key) for one in windows]
                panel.plot(steps + STEP / 2, values, style, color=colour, label=config, linewidth=1.6)
        for panel, (_, _, words) in zip(every, PANELS, strict=True):
            _dress(panel, words)
            panel.set_ylim(0, 1.08 * panel.get_ylim()[1])
        for panel in panels[1]:
            panel.set_xlabel("written (user capacities)")
            panel.set_ylim(0, 105)
            panel.set_xlim(0, 10)
        figure.suptitle(
            f"{SERIES_WORKLOAD}, {'with' if tbm else 'without'} TBM, from a pristine drive, closed loop"
        )
        legend(figure, every[0])
        return figure

    return draw


def frontiers(evidence: Evidence) -> Figure | None:
    """Multi-plane writes over the volume, with the copies on the host's frontier, on one of their own, and with TBM."""
    if not any(point.setting == TWO_FRONTIERS for point in evidence.results):
        return None
    shown = (("D", "-"), ("F2", "--"))
    ways = (
        (False, "", "base, one frontier"),
        (False, TWO_FRONTIERS, "base, two frontiers"),
        (True, "", "TBM"),
    )
    figure, (panels,) = sheet(10, 3.9, 1, len(FRONTIER_WORKLOADS), sharey=True)
    for panel, name in zip(panels, FRONTIER_WORKLOADS, strict=True):
        chosen = {
            (allocation, setting, tbm): evidence.results[Point(name, allocation, tbm, False, False, setting)]
            for allocation, _ in shown for tbm, setting, _ in ways
        }  # fmt: skip
        end = min(long_term(result)[1] for result in chosen.values())
        steps = np.arange(0, end - STEP / 2, STEP)
        for i, (tbm, setting, words) in enumerate(ways):
            for allocation, style in shown:
                result = chosen[allocation, setting, tbm]
                values = [100 * window(result, (at, at + STEP)).multiplane_writes for at in steps]
                panel.plot(
                    steps + STEP / 2,
                    values,
                    style,
                    color=COLOURS[i],
                    label=f"{allocation}, {words}",
                    linewidth=1.6,
                )
        _dress(panel, f"{name}: multi-plane writes (%)")
        panel.set_ylim(0, 105)
        panel.set_xlim(0, end)
        panel.set_xlabel("written (user capacities)")
    legend(figure, panels[0], len(ways))
    return figure


def paper_workloads(evidence: Evidence) -> list[str]:
    """Those of Figure 7."""
    return [name for name in evidence.workloads if name in PAPER_NAMES]


def extra_workloads(evidence: Evidence) -> list[str]:
    """Real traces that are not the paper's."""
    return [name for name in evidence.workloads if name in EXTRA_NAMES]


def bars(workloads: Callable[[Evidence], Sequence[str]]) -> Callable[[Evidence], Figure | None]:
    """What TBM changes on every workload, each normalised to its base, as the paper's Figure 7."""

    def draw(evidence: Evidence) -> Figure | None:
        names = [name for name in workloads(evidence) if _has_bars(evidence, name)]
        if not names:
            return None
        figure, panels = sheet(10, 7.2, 4, sharex=True)
        for (panel,), (key, words) in zip(panels, BARS, strict=True):
            _draw_bars(panel, evidence, names, key)
            _dress(panel, f"{words}, base = 1")
        panels[-1][0].set_xticks(np.arange(len(names)), names)
        figure.suptitle("Long-term figures with TBM, from a worn drive, closed loop")
        legend(figure, panels[0][0])
        return figure

    return draw


def _has_bars(evidence: Evidence, name: str) -> bool:
    return all(
        Point(name, a, tbm, setting=FIGURE7) in evidence.results for a in ALLOCATIONS for tbm in (False, True)
    )


def _draw_bars(panel: Axes, evidence: Evidence, names: Sequence[str], key: str) -> None:
    top, absent = 1.0, np.ones(len(names), bool)
    places, width = side_by_side(np.arange(len(names)), len(ALLOCATIONS))
    for i, (at, allocation) in enumerate(zip(places, ALLOCATIONS, strict=True)):
        pairs = [
            [getattr(evidence.at(Point(n, allocation, tbm, setting=FIGURE7)), key) for tbm in (False, True)]
            for n in names
        ]
        heights = [after / before if before else float("nan") for before, after in pairs]
        drawn = panel.bar(at, heights, width, color=COLOURS[i], label=f"{allocation}+TBM")
        # On a bar near 1 the label would lie on the line of the base.
        on_white = {"facecolor": "white", "edgecolor": "none", "pad": 0.3}
        labels = panel.bar_label(drawn, fmt=_bar_label, fontsize=7, padding=1)
        for label in labels:
            label.set(bbox=on_white, zorder=3)
        top = max(top, *(height for height in heights if not np.isnan(height)), 0)
        absent &= np.isnan(heights)
    for place in np.flatnonzero(absent):
        panel.text(float(place), 0.5, "no page moved", ha="center", va="center", fontsize=7, color="#666666")
    panel.axhline(1, color=GREY, linewidth=0.8)
    panel.set_ylim(0, 1.25 * top)


PUBLISHED = {"F": 17.0, "D": 42.0, "F2": 40.0}
"""The greatest cuts of the response time, in %."""


def loads(evidence: Evidence) -> Figure | None:
    """Response times over the load, and what TBM saves of them, with what the paper reports."""
    points = [
        Point(LOAD_WORKLOAD, a, tbm, setting=s) for a in ALLOCATIONS for tbm in (False, True) for s in LOADS
    ]
    if not all(point in evidence.results for point in points):
        return None
    figure, ((times, cuts),) = sheet(10, 3.9, 1, 2)
    at = [100 * load for load in LOADS.values()]
    for colour, allocation in zip(COLOURS, ALLOCATIONS, strict=False):
        for tbm, style in ((False, "-"), (True, "--")):
            found = [
                evidence.at(Point(LOAD_WORKLOAD, allocation, tbm, setting=s)).response_us / 1e3 for s in LOADS
            ]
            times.plot(
                at, found, style, color=colour, label=f"{allocation}{'+TBM' if tbm else ''}", linewidth=1.6
            )
        saved = [gain("response_us", allocation, evidence, LOAD_WORKLOAD, setting) for setting in LOADS]
        cuts.plot(at, saved, "o-", color=colour, linewidth=1.6, markersize=4)
        cuts.axhline(PUBLISHED[allocation], color=colour, linewidth=0.8, linestyle=":")
    cuts.axvline(100 * LOADS[STATED_LOAD], color=GREY, linewidth=0.8)
    times.set_yscale("log")
    _dress(times, "mean response time (ms)", from_zero=False)
    _dress(cuts, "cut of the response time by TBM (%); dotted: the paper's")
    for panel in (times, cuts):
        panel.set_xlabel("requests, % of what the saturated base serves")
    figure.suptitle(f"{LOAD_WORKLOAD} in an open loop, from a worn drive")
    legend(figure, times)
    return figure


def _bar_label(height: float) -> str:
    return "" if np.isnan(height) else f"{height:.2f}"


def _dress(panel: Axes, words: str, from_zero: bool = True) -> None:
    panel.set_title(words, fontsize=10, loc="left")
    if from_zero:
        panel.set_ylim(bottom=0)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
