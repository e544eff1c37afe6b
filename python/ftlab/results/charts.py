"""Charts as data: what is drawn over what, in which words. :mod:`ftlab.results.drawing` draws them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Form = Callable[[float], str]

POINTS = 240
"""Points of a curve at most: more than one for two pixels of a telephone are not seen."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of a chart."""

    label: str
    form: Form
    """A value in words, with its unit."""
    tick: Form
    """A value beside the axis."""
    is_log: bool = False
    low: float | None = None
    high: float | None = None
    ticks: tuple[tuple[float, str], ...] = ()
    """In place of those that suit the range."""


@dataclass(frozen=True, slots=True)
class Line:
    """A series of a chart."""

    name: str
    series: int
    """Which of the looks it has; on a page, which button hides it."""
    x: Values
    y: Values
    step: str = ""
    """`post`: a value holds from its place on; `pre`: up to its place."""
    has_marks: bool = False
    is_theory: bool = False
    is_filled: bool = False
    spread: Values | None = None
    """Bars above and below."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over two axes, and the table behind them."""

    title: str
    x: Axis
    y: Axis
    lines: Sequence[Line]
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Stack:
    """Bars of parts that add up, beside each other."""

    title: str
    label: str
    """The name of a bar."""
    places: Sequence[str]
    parts: Mapping[str, Values]
    """Fractions, by name."""
    form: Form = field(default=lambda value: f"{100 * value:.1f} %")

    def used(self) -> list[str]:
        """The parts that can be seen somewhere."""
        return [name for name, values in self.parts.items() if np.nan_to_num(values).max(initial=0) >= 0.0005]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A picture of numbers: rows down, columns across."""

    title: str
    matrix: Values
    limits: NDArray[np.int64]
    """Where columns begin, and where the last one ends."""
    rows: Sequence[str]
    """The name of a row."""
    labels: tuple[str, str]
    """The axes: across, and down."""
    unit: str
    head: Sequence[str]
    cells: Sequence[Sequence[str]]
    """The table behind it."""


Drawable: TypeAlias = Chart | Stack | HeatMap


def thinned(line: Line) -> Line:
    """A line of few enough points; of a curve that only rises none is lost that could be seen."""
    if line.x.size <= POINTS:
        return line
    # Far apart along the curve, whichever of the two directions it goes in.
    with np.errstate(divide="ignore", invalid="ignore"):
        across = np.log(np.maximum(line.x, 1e-12)) if (line.x > 0).all() else line.x
        lengths = [np.cumsum(np.abs(np.diff(np.nan_to_num(v), prepend=v[0]))) for v in (across, line.y)]
    along = lengths[0] / (lengths[0][-1] or 1.0) + lengths[1] / (lengths[1][-1] or 1.0)
    kept = np.unique(np.searchsorted(along, np.linspace(0, along[-1], POINTS)).clip(max=line.x.size - 1))
    kept = np.union1d(kept, [0, line.x.size - 1])
    return replace(line, x=line.x[kept], y=line.y[kept], spread=None)
