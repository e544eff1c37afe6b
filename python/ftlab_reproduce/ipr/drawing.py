"""The read-disturb paper's figures, from a grid's results."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ftlab.results.drawing import COLOURS
from ftlab_reproduce.ipr.axes import QUOTAS, SYSTEMS, TIMED, Evidence, Point, between
from ftlab_reproduce.ipr.claims import MEETS, WINDOW
from ftlab_reproduce.ipr.hosts import BOUND, EXCERPT_NAMES, NAMES, VARIED
from ftlab_reproduce.panels import GREY, dress, legend, sheet, side_by_side

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOUR = dict(zip(SYSTEMS, COLOURS, strict=False))
ALL = (*NAMES, *EXCERPT_NAMES)


def _labels(evidence: Evidence, names: list[str]) -> list[str]:
    return [f"{name}\n{evidence.kind(name)}" for name in names]


def figure2(evidence: Evidence) -> Figure:
    """Shares of collections for the host and for refreshes."""
    names = evidence.names(ALL, "Baseline")
    figure, ((panel,),) = sheet(11, 3.8)
    parts = np.array([100 * evidence.figure(Point(name, "Baseline"), "share") for name in names])
    panel.bar(range(len(names)), 100 - parts, 0.7, color=COLOURS[5], label="wGC")
    panel.bar(range(len(names)), parts, 0.7, bottom=100 - parts, color=COLOURS[0], label="rrGC")
    panel.axhline(50, color=GREY, linewidth=0.8)
    panel.set_xticks(range(len(names)), _labels(evidence, names), fontsize=8)
    dress(panel, "Erases of Baseline by cause (%)")
    legend(figure, panel)
    return figure


def erases(evidence: Evidence, names: list[str]) -> Figure:
    """Erases of every method, all of Baseline's = 1."""
    figure, ((panel,),) = sheet(12, 4.2)
    places, width = side_by_side(np.arange(len(names)), len(SYSTEMS), 0.84)
    for at, system in zip(places, SYSTEMS, strict=True):
        rrgc, wgc = ([evidence.over(name, system, key) for name in names] for key in ("rrgc", "wgc"))
        panel.bar(at, rrgc, width, color=COLOUR[system], label=system)
        panel.bar(at, wgc, width, bottom=rrgc, color=COLOUR[system], alpha=0.35)
    panel.axhline(1, color=GREY, linewidth=0.8)
    panel.set_ylim(bottom=0)
    panel.set_xticks(np.arange(len(names)), _labels(evidence, names), fontsize=8)
    dress(panel, "Erases, all of Baseline's = 1: for refreshes (rrGC); light: for the host (wGC)")
    legend(figure, panel)
    return figure


def figure9a(evidence: Evidence) -> Figure:
    """Where every method was run."""
    whole = [name for name in ALL if all(Point(name, system) in evidence.results for system in SYSTEMS)]
    return erases(evidence, whole)


def figure9b(evidence: Evidence) -> Figure | None:
    """How much low-density blocks had used at their erase."""
    names = [name for name in evidence.names(NAMES) if not np.isnan(evidence.used(name)).any()]
    if not names:
        return None
    figure, ((panel,),) = sheet(7.5, 4)
    for i, name in enumerate(names):
        used = evidence.used(name)
        # The last count, if there is one behind the twentieths, is of blocks that had used all.
        at = np.minimum(5.0 * np.arange(used.size + 1), 100)
        style = "-" if i < len(COLOURS) // 2 else "--"
        panel.plot(at, [0, *100 * used], style, color=COLOURS[i], label=evidence.named(name), linewidth=1.5)
    panel.set_xlabel("reads at the erase, % of 100,000")
    panel.set_ylim(0, 101)
    dress(panel, "Low-density blocks of IPR: cumulative share (%)")
    legend(figure, panel, 3)
    return figure


def figure10(evidence: Evidence) -> Figure | None:
    """Reads that met a refresh, by how long they took."""
    systems = [s for s in SYSTEMS if Point("Websearch", s, TIMED) in evidence.results]
    if not systems:
        return None
    edges = np.array([MEETS, *np.arange(50, 401, 50)])
    figure, ((panel,),) = sheet(10, 4)
    places, width = side_by_side(np.arange(edges.size), len(systems), 0.84)
    for at, system in zip(places, systems, strict=True):
        result = evidence.results[Point("Websearch", system, TIMED)]
        reads = [between(result, low, high) for low, high in zip(edges, [*edges[1:], np.inf], strict=True)]
        panel.bar(at, reads, width, color=COLOUR[system], label=system)
    inside = [i for i, low in enumerate(edges) if WINDOW[0] <= low < WINDOW[1]]
    panel.axvspan(inside[0] - 0.5, inside[-1] + 0.5, color=GREY, alpha=0.1)
    named = [f"{low:g}–{high:g}" for low, high in pairwise(edges)]
    panel.set_xticks(range(edges.size), [*named, f"{edges[-1]:g}–"], fontsize=8)
    panel.set_xlabel("response time (ms)")
    dress(panel, f"Reads of Websearch ({evidence.kind('Websearch')}) that met a refresh; grey: 250 to 350 ms")
    legend(figure, panel)
    return figure


def figure11(evidence: Evidence) -> Figure | None:
    """P/E cycles of every block, real and effective."""
    if (point := Point("Websearch", "IPR")) not in evidence.results:
        return None
    wear = evidence.results[point].wear
    figure, ((panel,),) = sheet(9, 3.6)
    at = np.arange(wear["erases"].size)
    panel.plot(at, wear["effective_erases"], ".", color="#aaaaaa", markersize=4, label="effective")
    panel.plot(at, wear["erases"], ".", color="#000000", markersize=2.5, label="real")
    panel.axvline(0.8 * at.size, color=GREY, linewidth=0.8)
    panel.set_ylim(bottom=0)
    panel.set_xlabel("block; right of the line: the pool")
    dress(panel, f"P/E cycles under IPR, Websearch ({evidence.kind('Websearch')})")
    legend(figure, panel)
    return figure


def quotas(evidence: Evidence) -> Figure:
    """Where the quota binds."""
    settings = sorted({"": 0.15, **QUOTAS}.items(), key=lambda item: item[1])
    names = [
        name for name in (*VARIED, *BOUND)
        if all(Point(name, s, setting) in evidence.results for s in ("HotLD", "IPR") for setting, _ in settings)
    ]  # fmt: skip
    figure, (panels,) = sheet(11, 3.6, columns=len(names))
    for panel, name in zip(panels, names, strict=True):
        base = evidence.figure(Point(name, "Baseline"), "rrgc")
        for system in ("HotLD", "IPR"):
            reads = [evidence.figure(Point(name, system, setting), "rrgc") / base for setting, _ in settings]
            quota = [100 * part for _, part in settings]
            panel.plot(quota, reads, "o-", color=COLOUR[system], label=system, markersize=4)
        panel.set_ylim(0, 1.1)
        panel.set_xlabel("quota of low-density blocks (%)")
        dress(panel, f"{evidence.named(name)}: rrGC, Baseline = 1")
    legend(figure, panels[0])
    return figure
