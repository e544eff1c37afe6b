"""The picture of lives: years over spare, a line for each drive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ftlab.base import escape
from ftlab.lives.life import Row, year
from ftlab.results import plot, text
from ftlab.results.charts import Axis, Chart, Line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ftlab.lives.life import Life


def over_spare(life: Life) -> Figure | None:
    """Years at the workload's rate, or without one TBW, over spare ÷ user capacity, with 95 % intervals."""
    drives: dict[str, list[Row]] = {}
    for row in life.rows:
        if row.steady is not None:
            drives.setdefault(row.case.drive, []).append(row)
    lines = []
    for number, (name, rows) in enumerate(drives.items()):
        rows = sorted(rows, key=lambda row: row.case.spare)
        ends = np.array([[_height(life, row, waf) for waf in _ends(row)] for row in rows])
        lines.append(
            Line(
                escape.plot(name), number, np.array([100 * row.case.spare for row in rows]), ends[:, 0],
                has_marks=True, spread=(ends[:, 2] - ends[:, 1]) / 2,
            )
        )  # fmt: skip
    is_in_years = life.load.per_day is not None
    if is_in_years:
        reach = (
            np.array([line.x.min() for line in lines]).min(),
            np.array([line.x.max() for line in lines]).max(),
        )
        lines.append(
            Line(
                f"{life.warranty:g} years",
                len(lines),
                np.array(reach),
                np.full(2, life.warranty),
                is_theory=True,
            )
        )
    title = "Bytes written until worn out"
    if life.load.per_day is not None:
        title = f"Years at {text.size(life.load.per_day)} a day (dashed: {life.warranty:g})"
    height = Axis("years" if is_in_years else "TB written", year, lambda value: f"{value:g}", low=0.0)
    across = Axis(
        "spare ÷ user capacity (%)", lambda value: f"{value:g} %", lambda value: f"{value:g}", low=0.0
    )
    return plot.sheet([[Chart(title, across, height, lines)]], height=3.6, width=7.0)


def _ends(row: Row) -> tuple[float, float, float]:
    assert row.steady is not None
    return row.steady.waf, row.steady.high, row.steady.low


def _height(life: Life, row: Row, waf: float) -> float:
    years = life.years(row, waf)
    return row.tbw(waf) / 1e12 if years is None else years
