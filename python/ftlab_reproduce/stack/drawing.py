"""The pictures of the study: what each adds in the presence of each other, and one step after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ftlab.results import text
from ftlab.results.drawing import COLOURS
from ftlab_reproduce.panels import GREY, dress, sheet
from ftlab_reproduce.stack.axes import (
    GAUGES,
    Case,
    Evidence,
    compared,
    is_clear,
)
from ftlab_reproduce.stack.bases import (
    ALONE,
    EVERY,
    MEMBERS,
    PAIRS,
    PAPERS,
    STEPS,
    THREE,
    name_of,
)
from ftlab_reproduce.stack.tables import MANY, change

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

SHOWN = ("read_p999_us", "life_percent_tib")
"""Behind the first figure that is compared."""

REACH = 0.4
"""As far as the axis of a bar goes at least, as a logarithm: a change of 1 % is not to look like one."""

LIMIT = 60.0
"""Per cent at which colours end."""


def together(evidence: Evidence) -> Figure | None:
    """For each case and figure: on the diagonal what each brings alone, above it what a pair brings, below it
    what the pair brings beyond its members. Only where every pair was run.
    """
    cases = [case for case in evidence.cases_of(PAPERS) if len(evidence.pairs(case)) == len(PAIRS)]
    if not cases:
        return None
    columns = 1 + len(SHOWN)
    figure, panels = sheet(4.8 * columns + 0.6, 4.1 * len(cases) + 0.7, len(cases), columns)
    for row, case in zip(panels, cases, strict=True):
        for panel, gauge in zip(row, (compared(case.load)[0], *SHOWN), strict=True):
            _matrix(panel, evidence, case, gauge)
    figure.suptitle(
        "Better by, in % (or as so many times: ×): alone (diagonal, framed), as a pair (above it), "
        "and what the pair has beyond its members (below, in italics; bold where clear)",
        fontsize=10,
    )
    return figure


def steps(evidence: Evidence) -> Figure | None:
    """For each case and figure: what each brings alone, and what some of them and all five bring together."""
    cases = evidence.cases_of(PAPERS)
    if not cases:
        return None
    figure, panels = sheet(12.5, 2.4 * len(cases) + 0.7, len(cases), 1 + len(SHOWN), sharey="row")
    for row, case in zip(panels, cases, strict=True):
        for panel, gauge in zip(row, (compared(case.load)[0], *SHOWN), strict=True):
            _bars(panel, evidence, case, gauge)
        row[0].invert_yaxis()
    figure.suptitle("Better by, in % (or as so many times: ×), on a logarithmic scale", fontsize=10)
    return figure


def _bars(panel: Axes, evidence: Evidence, case: Case, gauge: str) -> None:
    """A bar for each configuration, to the right where it is better than the base."""
    known = {members: evidence.gains(case, members, gauge) for members in evidence.of(case, STEPS)}
    means = np.array([float(factors.mean()) for factors in known.values()])
    far = np.log(np.where(np.isfinite(means), means, 1.0))
    places = np.arange(len(known))
    panel.barh(places, far, color=[COLOURS[0] if away > 0 else COLOURS[1] for away in far])
    panel.axvline(0, color=GREY, linewidth=0.8)
    low, high = min(float(far.min()), 0.0), max(float(far.max()), 0.0)
    reach = max(high - low, REACH)
    for place, away, factors in zip(places.tolist(), far.tolist(), known.values(), strict=True):
        right = away >= 0
        panel.text(
            away + (0.02 if right else -0.02) * reach, place, short(factors),
            ha="left" if right else "right", va="center", fontsize=8,
        )  # fmt: skip
    # Room for the figures.
    panel.set_xlim(low - 0.15 * reach, low + 1.15 * reach)
    panel.set_yticks(places, [name_of(members) for members in known], fontsize=8)
    panel.set_xticks([])
    dress(panel, f"{case.label}: {'life' if gauge.startswith('life_') else GAUGES[gauge].words}")
    panel.grid(visible=False)


def _matrix(panel: Axes, evidence: Evidence, case: Case, gauge: str) -> None:
    members = list(MEMBERS)
    values = np.full((len(members), len(members)), np.nan)
    for i, first in enumerate(members):
        for j, second in enumerate(members):
            pair = (first,) if i == j else tuple(m for m in members if m in (first, second))
            if pair not in (*ALONE, *PAIRS):
                continue
            below = i > j
            factors = evidence.interplay(case, pair, gauge) if below else evidence.gains(case, pair, gauge)
            if not np.all(np.isfinite(factors)):
                continue
            values[i, j] = 100 * (float(factors.mean()) - 1)
            strong = abs(values[i, j]) > 0.6 * LIMIT
            panel.text(
                j, i, short(factors), ha="center", va="center", fontsize=9,
                color="white" if strong else "black", style="italic" if below else "normal",
                weight="bold" if is_clear(factors) else "normal",
            )  # fmt: skip
        panel.add_patch(_frame(i))
    panel.imshow(values, cmap="RdBu", vmin=-LIMIT, vmax=LIMIT)
    panel.set_xticks(range(len(members)), members, fontsize=8)
    panel.set_yticks(range(len(members)), members, fontsize=8)
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    whole = "\n".join(
        f"{name_of(every)} {change(evidence.gains(case, every, gauge))}" for every in (THREE, *EVERY)
    )
    panel.set_title(f"{case.label}: {GAUGES[gauge].words}\n{whole}", fontsize=9, loc="left")


def short(factors: NDArray[np.float64]) -> str:
    """A factor in a cell: in per cent, or as so many times."""
    mean = float(factors.mean())
    if not np.isfinite(mean):
        return text.ABSENT
    return f"{mean:.0f}×" if mean > MANY else f"{100 * (mean - 1):+.0f}"


def _frame(at: int) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((at - 0.47, at - 0.47), 0.94, 0.94, fill=False, edgecolor="#444444", linewidth=1.2)
