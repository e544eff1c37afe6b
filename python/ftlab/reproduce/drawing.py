"""The TBM paper's figures, from a grid's results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ftlab.plot import COLOURS
from ftlab.reproduce.tbm import (
    ALLOCATIONS,
    FRONTIER_WORKLOADS,
    REPLAYS,
    SERIES_WORKLOAD,
    TWO_FRONTIERS,
    VARIANTS,
    Evidence,
    Point,
    long_term,
    window,
)
from ftlab.result import Result

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
    ("gc_cost", "GC cost (pages moved per collection)"),
    ("gc_count", "GC count"),
)


def figures(evidence: Evidence) -> dict[str, Figure]:
    """All figures for which there are results, by name."""
    made = {}
    for replay in REPLAYS:
        for name, tbm in (("figure2", False), ("figure6", True)):
            chosen = {
                point.config: result
                for point, result in evidence.results.items()
                if point[0] == SERIES_WORKLOAD
                and (point.tbm, point.replay, point.setting) == (tbm, replay, "")
            }
            # The bars alone have these points too, but without BAC: those are not the paper's figures.
            if any("BAC" in config for config in chosen):
                made[f"{name}-{replay}"] = series(chosen, _series_title(tbm, replay))
        variants = {wanted.name for wanted in VARIANTS}
        for name, chosen_names in (
            ("figure7", [w.name for w in evidence.workloads.values() if w.is_paper]),
            ("data", [w.name for w in evidence.workloads.values() if w.name in variants | {SERIES_WORKLOAD}]),
            (
                "extra",
                [w.name for w in evidence.workloads.values() if not w.is_paper and w.name not in variants],
            ),
        ):
            names = [workload for workload in chosen_names if _has_bars(evidence, workload, replay)]
            if name == "data" and not variants & set(names):
                continue
            if names:
                made[f"{name}-{replay}"] = bars(evidence, names, replay)
    if any(point.setting == TWO_FRONTIERS for point in evidence.results):
        made["frontiers-closed"] = frontiers(evidence)
    return made


def _series_title(tbm: bool, replay: str) -> str:
    return f"{SERIES_WORKLOAD}, {'with' if tbm else 'without'} TBM, {replay} loop"


def _has_bars(evidence: Evidence, name: str, replay: str) -> bool:
    return all(
        Point(name, a, tbm, False, replay) in evidence.results for a in ALLOCATIONS for tbm in (False, True)
    )


def series(results: Mapping[str, Result], title: str) -> Figure:
    """Four figures over the volume written, as the paper's Figures 2 and 6."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6.4), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True)
    steps = np.arange(0, 10, STEP)
    for config, result in results.items():
        windows = [window(result, (at, at + STEP)) for at in steps]
        colour = COLOURS[ALLOCATIONS.index(config.partition("+")[0])]
        style = ":" if "BAC" in config else "-"
        for panel, (key, scale, _) in zip(panels.flat, PANELS, strict=True):
            values = [scale * getattr(one, key) for one in windows]
            panel.plot(steps + STEP / 2, values, style, color=colour, label=config, linewidth=1.6)
    for panel, (_, _, words) in zip(panels.flat, PANELS, strict=True):
        _dress(panel, words)
        panel.set_ylim(0, 1.08 * panel.get_ylim()[1])
    for panel in panels[1]:
        panel.set_xlabel("written (user capacities)")
        panel.set_ylim(0, 105)
        panel.set_xlim(0, 10)
    figure.suptitle(title)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def frontiers(evidence: Evidence) -> Figure:
    """Multi-plane writes over the volume, with the copies on the host's frontier, on one of their own, and with TBM."""
    from matplotlib.figure import Figure

    shown = (("D", "-"), ("F2", "--"))
    ways = (
        (False, "", "base, one frontier"),
        (False, TWO_FRONTIERS, "base, two frontiers"),
        (True, "", "TBM"),
    )
    figure = Figure(figsize=(10, 3.9), layout="constrained")
    panels = figure.subplots(1, len(FRONTIER_WORKLOADS), sharey=True)
    for panel, name in zip(panels, FRONTIER_WORKLOADS, strict=True):
        chosen = {
            (allocation, setting, tbm): evidence.results[Point(name, allocation, tbm, False, "closed", setting)]
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
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(ways), frameon=False)
    return figure


def _dress(panel: Axes, words: str) -> None:
    panel.set_title(words, fontsize=10, loc="left")
    panel.set_ylim(bottom=0)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


def bars(evidence: Evidence, names: Sequence[str], replay: str) -> Figure:
    """What TBM changes on every workload, each normalised to its base, as the paper's Figure 7."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7.2), layout="constrained")
    panels = figure.subplots(4, 1, sharex=True)
    width = 0.8 / len(ALLOCATIONS)
    for panel, (key, words) in zip(panels, BARS, strict=True):
        top, absent = 1.0, np.ones(len(names), bool)
        for i, allocation in enumerate(ALLOCATIONS):
            pairs = [
                [getattr(evidence.at(Point(n, allocation, tbm, False, replay)), key) for tbm in (False, True)]
                for n in names
            ]
            heights = [after / before if before else float("nan") for before, after in pairs]
            places = np.arange(len(names)) + (i - 1) * width
            drawn = panel.bar(places, heights, width * 0.92, color=COLOURS[i], label=f"{allocation}+TBM")
            panel.bar_label(drawn, fmt=_bar_label, fontsize=7, padding=1)
            top = max(top, *(height for height in heights if not np.isnan(height)), 0)
            absent &= np.isnan(heights)
        for place in np.flatnonzero(absent):
            panel.text(place, 0.5, "no page moved", ha="center", va="center", fontsize=7, color="#666666")
        panel.axhline(1, color="#444444", linewidth=0.8)
        _dress(panel, f"{words}, base = 1")
        panel.set_ylim(0, 1.25 * top)
    panels[-1].set_xticks(np.arange(len(names)), names)
    figure.suptitle(f"Long-term figures with TBM, {replay} loop")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _bar_label(height: float) -> str:
    return "" if np.isnan(height) else f"{height:.2f}"
