"""The plots of a sweep: figures over a factor that is a number, a line for each combination of the others."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ftlab.api.configs import SHORT
from ftlab.api.keys import told
from ftlab.reports.sources import Swept
from ftlab.results import text
from ftlab.results.charts import Axis, Chart, Form, Line
from ftlab.results.pictures import short_duration
from ftlab.theory.prediction import predicted_waf, unlike_theory

Row = dict[str, Any]

FIGURES: tuple[tuple[str, str, Form, Form, float], ...] = (
    ("waf", "WAF", text.amplification, lambda v: f"{v:,g}", 1.0),
    ("host_iops", "Rate (IOPS)", text.count, lambda v: f"{v:,.0f}", 0.0),
    ("host_latency_us_mean", "Mean latency", text.duration, short_duration, 0.0),
    ("host_latency_us_p99", "p99 latency", text.duration, short_duration, 0.0),
    ("wear_erases_stddev", "Erases per block, standard deviation", text.figure, lambda v: f"{v:,g}", 0.0),
)
"""The drawings of a sweep: column, title, words, ticks, and where the height begins."""

AXES_MAX = 3
"""Factors that are drawn along."""

SERIES_MAX = 40
"""Lines of a chart; more are not told apart."""

CURVE = 33
"""Points of a line of theory."""


@dataclass(frozen=True, slots=True)
class Plots:
    """The charts over one factor."""

    factor: str
    names: list[str]
    """Of the series."""
    charts: list[Chart]
    notes: list[str]


def plots(source: Swept) -> list[Plots]:
    """Charts over every factor that is a number; over the first factor if none is."""
    rows = [row for row in source.sweep.table.to_pylist() if row["status"] == "ok"]
    seed = seed_of(source)
    varied = [
        name for name in source.sweep.factors if name != seed and len({_key(row[name]) for row in rows}) > 1
    ]
    along = [name for name in varied if all(_is_number(row[name]) for row in rows)] or varied[:1]
    return [
        _over(name, [other for other in varied if other != name], rows, source) for name in along[:AXES_MAX]
    ]


def seed_of(source: Swept) -> str | None:
    """The factor over which means are taken."""
    known = source.sweep.means.column_names
    return next((name for name in source.sweep.factors if name not in known), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _key(value: Any) -> str:
    return repr(value)


def label_of(row: Row, factors: Sequence[str]) -> str:
    """The name of a run by factors."""
    words = [
        told(row[name]) if isinstance(row[name], str) else f"{name}={told(row[name])}" for name in factors
    ]
    return ", ".join(words)


def _over(factor: str, others: Sequence[str], rows: Sequence[Row], source: Swept) -> Plots:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(label_of(row, others), []).append(row)
    shown = dict(list(groups.items())[:SERIES_MAX])
    places, axis = _axis(factor, rows)
    charts, notes = [], []
    for column, title, form, tick, low in FIGURES:
        lines = [
            _line(label, i, group, factor, places, column) for i, (label, group) in enumerate(shown.items())
        ]
        if not any(np.isfinite(line.y).any() for line in lines):
            continue
        extra: list[Line] = []
        note = ""
        if column == "waf" and factor in ("op", SHORT["op"]):
            extra, note = _theory(shown, factor, source)
        several = any(line.spread is not None and line.spread.max() > 0 for line in lines)
        # Where one series is far above the others, all of them are to be seen.
        y = Axis("", form, tick, is_log=_is_wide(lines, low), low=None if _is_wide(lines, low) else low)
        spread = "Points are means over the seeds, bars their standard deviation. " if several else ""
        charts.append(Chart(title, axis, y, [*lines, *extra], note=f"{spread}{note}".strip()))
    if len(groups) > len(shown):
        notes.append(f"The charts have the first {len(shown)} of {len(groups)} series; the table has all.")
    return Plots(factor, list(shown), charts, notes)


def _is_wide(lines: Sequence[Line], low: float) -> bool:
    values = np.concatenate([line.y for line in lines])
    values = values[np.isfinite(values)]
    return bool(values.size and values.min() > 0 and values.max() / values.min() > (5 if low else 50))


def _axis(factor: str, rows: Sequence[Row]) -> tuple[Callable[[Any], float], Axis]:
    """Where the levels of a factor are drawn, and their axis."""
    levels = list(dict.fromkeys(row[factor] for row in rows))
    if not all(_is_number(level) for level in levels):
        ticks = tuple((float(i), told(level)) for i, level in enumerate(levels))
        return levels.index, Axis(
            factor, lambda v: told(levels[round(v)]), str, low=-0.5, high=len(levels) - 0.5, ticks=ticks
        )
    low, high = min(levels), max(levels)
    is_share = factor in ("op", SHORT["op"]) or (factor.endswith("fraction") and high <= 1)
    words: Form = (lambda v: text.percent(v).replace(".0 %", " %")) if is_share else (lambda v: f"{v:g}")
    name = "over-provisioning (spare / user)" if factor in ("op", SHORT["op"]) else factor
    ticks = tuple((float(level), words(level)) for level in sorted(levels)) if len(levels) <= 9 else ()
    return float, Axis(name, words, words, is_log=low > 0 and high / low >= 16, ticks=ticks)


def _line(
    label: str, series: int, rows: Sequence[Row], factor: str, place: Callable[[Any], float], column: str
) -> Line:
    at: dict[float, list[float]] = {}
    for row in rows:
        value = row.get(column)
        if value is not None:
            at.setdefault(place(row[factor]), []).append(float(value))
    places = sorted(at)
    return Line(
        label, series, np.array(places, dtype=np.float64),
        np.array([statistics.fmean(at[x]) for x in places], dtype=np.float64), has_marks=True,
        spread=np.array([statistics.stdev(at[x]) if len(at[x]) > 1 else 0.0 for x in places], dtype=np.float64),
    )  # fmt: skip


def _theory(groups: dict[str, list[Row]], factor: str, source: Swept) -> tuple[list[Line], str]:
    """The lines of theory, and what a reader has to know of them."""
    lines = []
    without: dict[str, list[str]] = {}
    for i, (label, rows) in enumerate(groups.items()):
        config = next((source.configs[row["hash"]] for row in rows if row["hash"] in source.configs), None)
        if config is None:
            continue
        if (reason := unlike_theory(config)) is not None:
            without.setdefault(reason, []).append(label or "the runs")
            continue
        levels = [row[factor] for row in rows]
        x = np.linspace(min(levels), max(levels), CURVE)
        y = np.array([predicted_waf(config, float(op)) or math.nan for op in x])
        lines.append(Line(f"{label} in theory".strip(), i, x, y, is_theory=True))
    parts = ["Dashed lines: theory. "] if lines else []
    parts += [f"No theory for {', '.join(labels)}: {reason}." for reason, labels in without.items()]
    return lines, "".join(parts)
