"""The picture of the study: what each adds in the presence of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ftlab.reproduce.panels import sheet
from ftlab.reproduce.stack.axes import EVERY, GAUGES, MEMBERS, Evidence, is_clear
from ftlab.reproduce.stack.tables import change

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

SHOWN = ("iops", "read_p999_us", "life_percent_tib")

LIMIT = 60.0
"""Per cent at which colours end."""


def together(evidence: Evidence) -> Figure | None:
    """For each workload and figure: on the diagonal what each brings alone, above it what a pair brings, below it
    what the pair brings beyond its members.
    """
    names = evidence.names()
    if not names:
        return None
    figure, panels = sheet(4.2 * len(SHOWN) + 0.6, 3.7 * len(names) + 0.7, len(names), len(SHOWN))
    for row, name in zip(panels, names, strict=True):
        for panel, gauge in zip(row, SHOWN, strict=True):
            _matrix(panel, evidence, name, gauge)
    figure.suptitle(
        "Better by, in %: alone (diagonal, framed), as a pair (above it), "
        "and what the pair has beyond its members (below, in italics; bold where clear)",
        fontsize=10,
    )
    return figure


def _matrix(panel: Axes, evidence: Evidence, name: str, gauge: str) -> None:
    members = list(MEMBERS)
    values = np.full((len(members), len(members)), np.nan)
    for i, first in enumerate(members):
        for j, second in enumerate(members):
            pair = (first,) if i == j else tuple(m for m in members if m in (first, second))
            below = i > j
            factors = evidence.interplay(name, pair, gauge) if below else evidence.gains(name, pair, gauge)
            if not np.all(np.isfinite(factors)):
                continue
            values[i, j] = 100 * (float(factors.mean()) - 1)
            strong = abs(values[i, j]) > 0.6 * LIMIT
            panel.text(
                j, i, f"{values[i, j]:+.0f}", ha="center", va="center", fontsize=9,
                color="white" if strong else "black", style="italic" if below else "normal",
                weight="bold" if is_clear(factors) else "normal",
            )  # fmt: skip
        panel.add_patch(_frame(i))
    panel.imshow(values, cmap="RdBu", vmin=-LIMIT, vmax=LIMIT)
    panel.set_xticks(range(len(members)), members, fontsize=8)
    panel.set_yticks(range(len(members)), members, fontsize=8)
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    whole = change(evidence.gains(name, EVERY, gauge))
    panel.set_title(f"{name}: {GAUGES[gauge].words}\nall five {whole}", fontsize=9, loc="left")


def _frame(at: int) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((at - 0.47, at - 0.47), 0.94, 0.94, fill=False, edgecolor="#444444", linewidth=1.2)
