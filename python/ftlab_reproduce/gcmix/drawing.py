"""The GCMix paper's figures, from a grid's results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ftlab.results.drawing import COLOURS
from ftlab_reproduce.charts import Bars
from ftlab_reproduce.gcmix.axes import (
    BARS,
    EXPONENTS,
    FTLS,
    MEDIANS,
    MIXED,
    OMEGA_AGE,
    OMEGA_FTL,
    TAU,
    UTILISATIONS,
    Evidence,
    Point,
    distribution,
    uniform,
    way,
    zipf,
)
from ftlab_reproduce.gcmix.tables import percent
from ftlab_reproduce.panels import GREY, dress, sheet
from ftlab_reproduce.survival import CELLS, PROTECTIONS, TROUBLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOUR = dict(zip(FTLS, COLOURS, strict=False))


def _threshold(panel: Axes) -> None:
    panel.axvline(TAU, color=GREY, linewidth=0.8, linestyle=":")
    panel.annotate("τ", (TAU, 0.02), xytext=(3, 0), textcoords="offset points", fontsize=9, color=GREY)


def _distributions(evidence: Evidence, named: Mapping[str, Point], title: str) -> tuple[Figure, Axes]:
    figure, ((panel,),) = sheet(8, 4.2)
    for i, (name, point) in enumerate(named.items()):
        omega, part = distribution(evidence.results[point])
        panel.step(omega, part, where="post", color=COLOURS[i], label=name, linewidth=1.6)
    panel.set_xscale("log")
    panel.set_xlim(1e-3, 1e4)
    panel.set_ylim(0, 1)
    panel.set_xlabel("ω, a sample per second")
    dress(panel, title)
    _threshold(panel)
    figure.legend(loc="outside right center", frameon=False)
    return figure, panel


def figure5(evidence: Evidence) -> Figure:
    named = {f"z = {z:.1f}": Point(zipf(z), OMEGA_FTL, OMEGA_AGE) for z in EXPONENTS}
    figure, panel = _distributions(
        evidence, named, "Part of the samples up to ω; crosses: the published medians"
    )
    for i, published in enumerate(MEDIANS.values()):
        panel.plot(published, 0.5, "x", color=COLOURS[i], markersize=9, markeredgewidth=2)
    return figure


def figure7(evidence: Evidence) -> Figure:
    named = {evidence.named(name): Point(name, OMEGA_FTL) for name in evidence.workloads}
    return _distributions(evidence, named, "Part of the samples up to ω")[0]


def readings(evidence: Evidence) -> Figure:
    figure, ((panel,),) = sheet(9, 4.2)
    for i, (ftl, setting) in enumerate(evidence.ways()):
        medians = [evidence.figure(Point(zipf(z), ftl, setting), "omega_p50") / MEDIANS[z] for z in EXPONENTS]
        settled = (ftl, setting) == (OMEGA_FTL, OMEGA_AGE)
        panel.plot(EXPONENTS, medians, "o-", color=COLOURS[i % len(COLOURS)], label=way(ftl, setting), markersize=4,
                   linewidth=2.6 if settled else 1.2)  # fmt: skip
    panel.axhspan(0.85, 1.15, color="#cccccc", alpha=0.5, linewidth=0)
    panel.set_yscale("log")
    panel.set_yticks([0.1, 0.2, 0.5, 1, 2, 4], ["0.1", "0.2", "0.5", "1", "2", "4"])
    panel.minorticks_off()
    panel.set_xlabel("z")
    dress(panel, "Median of ω, published = 1; grey: within 15 %")
    figure.legend(loc="outside right center", frameon=False)
    return figure


def figure8(evidence: Evidence) -> Figure:
    figure, (panels,) = sheet(10, 4, columns=2)
    groups = (("PX", "P", "PM"), ("DX", "D", "DM", "DML"))
    for panel, ftls, words in zip(panels, groups, ("locality-ignorant", "locality-aware"), strict=True):
        for ftl in ftls:
            wafs = [evidence.waf(zipf(z), ftl) for z in EXPONENTS]
            style = "--" if ftl == "DML" else "-"
            panel.plot(
                EXPONENTS, wafs, f"o{style}", color=COLOUR[ftl], label=ftl, markersize=4, linewidth=1.6
            )
        dress(panel, f"WAF, {words}")
        panel.set_xlabel("z")
        panel.legend(frameon=False)
    top = max(panel.get_ylim()[1] for panel in panels)
    for panel in panels:
        panel.set_ylim(1, top)
    return figure


def _time(kind: str) -> Callable[[Evidence, str, str], float]:
    return lambda evidence, name, ftl: evidence.time(name, ftl, kind)


def _time_cell(kind: str) -> Callable[[Evidence, str, str], str]:
    def cell(evidence: Evidence, name: str, ftl: str) -> str:
        ms = evidence.figure(Point(name, ftl, "serial"), f"{kind}_ms")
        return f"{evidence.time(name, ftl, kind):.3f} ({ms:.3g} ms)"

    return cell


FIGURE9 = Bars(title="Figure 9: WAF", words="WAF", value=Evidence.waf, series=FTLS, colours=COLOUR)
FIGURE10 = Bars(
    title="Figure 10: erases, data + backup, all of P's = 1",
    words="Erases, all of P's = 1; light: backup blocks",
    value=lambda evidence, name, ftl: evidence.erases(name, ftl, "data"),
    above=lambda evidence, name, ftl: evidence.erases(name, ftl, "backup"),
    series=BARS, colours=COLOUR, line=1.0,
)  # fmt: skip
FIGURE11 = Bars(
    title="Figure 11: host pages paired", words="Host pages paired (%)", value=Evidence.paired, series=MIXED,
    colours=COLOUR, form=percent,
)  # fmt: skip
FIGURE12 = Bars(
    title="Figure 12: time of writes, P = 1 (mean of a request)", words="Time to process writes, P = 1",
    value=_time("write"), cell=_time_cell("write"), series=BARS, colours=COLOUR, line=1.0,
)  # fmt: skip
# Reads differ by a few per cent.
FIGURE13 = Bars(
    title="Figure 13: time of reads, P = 1 (mean of a request)",
    words="Time to process reads, P = 1; the axis begins at 0.9",
    value=_time("read"), cell=_time_cell("read"), series=BARS, colours=COLOUR, line=1.0, limits=(0.9, 1.1),
)  # fmt: skip


def figure14(evidence: Evidence) -> Figure:
    figure, (panels,) = sheet(10, 4, columns=2)
    for ftl in ("P", "DML"):
        wafs = [evidence.waf(uniform(u), ftl) for u in UTILISATIONS]
        panels[0].plot(UTILISATIONS, wafs, "o-", color=COLOUR[ftl], label=ftl, markersize=4, linewidth=1.6)
    dress(panels[0], "WAF")
    panels[0].set_ylim(bottom=1)
    panels[0].legend(frameon=False)
    width = 0.04
    for i, ftl in enumerate(("P", "DML")):
        at = np.array(UTILISATIONS) + (i - 0.5) * width
        data, backup = (
            np.array([evidence.figure(Point(uniform(u), ftl), f"{key}_erases") for u in UTILISATIONS]) / 1e3
            for key in ("data", "backup")
        )
        panels[1].bar(at, data, width * 0.92, color=COLOUR[ftl], label=ftl)
        panels[1].bar(at, backup, width * 0.92, bottom=data, color=COLOUR[ftl], alpha=0.4)
    dress(panels[1], "Thousand erases; light: backup blocks")
    panels[1].legend(frameon=False)
    for panel in panels:
        panel.set_xlabel("part of the raw space that holds data")
    return figure


def lives(evidence: Evidence) -> Figure:
    """A square per protection, cell and fault: whether it survived, or in what part of the lives data were lost."""
    from matplotlib.patches import Rectangle

    by_case = {(t.protection, t.cell, t.trouble): t for t in evidence.trials}
    columns = [(cell, trouble) for cell in CELLS for trouble in TROUBLES]
    figure, ((panel,),) = sheet(11, 4.6)
    for row, protection in enumerate(PROTECTIONS):
        for column, (cell, trouble) in enumerate(columns):
            trial = by_case.get((protection, cell, trouble))
            if trial is None:
                colour, words = "#eeeeee", "-"
            elif trial.survives:
                colour, words = "#bfe3c8", "survives"
            else:
                colour, words = "#f2b8a8", f"{100 * trial.losing / trial.runs:.0f} % lose"
            panel.add_patch(Rectangle((column, row), 0.96, 0.92, color=colour))
            panel.text(column + 0.48, row + 0.46, words, ha="center", va="center", fontsize=7.5)
    panel.set_xlim(0, len(columns))
    panel.set_ylim(len(PROTECTIONS), 0)
    panel.set_yticks([row + 0.46 for row in range(len(PROTECTIONS))], list(PROTECTIONS))
    names = [TROUBLES[trouble].replace(" ", "\n", 1) for _, trouble in columns]
    panel.set_xticks([column + 0.48 for column in range(len(columns))], names, fontsize=7.5)
    for at, cell in enumerate(CELLS):
        panel.text((at + 0.5) * len(TROUBLES), -0.25, cell, ha="center", va="bottom", fontsize=9)
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    return figure
