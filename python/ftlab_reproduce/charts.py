"""Figures of papers as data: a value for every series and place, shown as a table and as a picture."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ftlab.results import text
from ftlab.results.drawing import COLOURS
from ftlab_reproduce.panels import GREY, dress, legend, sheet, side_by_side

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A value along an axis by series, with panels side by side for all else that varies."""

    title: str
    """Of the table."""
    value: Callable[[Any, Any, str, Any], float]
    """From the evidence, a panel, a series and a place; a `KeyError` says that it was not run."""
    panels: Sequence[Sequence[Any]]
    """Rows of what the panels show, in terms of the paper."""
    named: Callable[[Any, Any], str]
    """From the evidence and a panel, what it is called."""
    series: Sequence[str]
    along: Mapping[str, Any]
    """The places on the axis, by name."""
    head: tuple[str, str]
    """What panels and series are, over the table's columns."""
    columns: Sequence[str] = ()
    """The table's names of the places; the axis' if none are given."""
    axis: str
    unit: str
    form: Callable[[float], str] = text.figure
    """A value in the table."""
    colours: Mapping[str, str] = field(default_factory=dict)
    """By series."""
    marks: Sequence[str] = "osDv^P"
    """Of the series."""

    def table(self, evidence: Any) -> list[str]:
        """A row for every panel and series, a column for every place."""
        every = itertools.product(itertools.chain.from_iterable(self.panels), self.series)
        rows = [
            [self.named(evidence, panel), name, *(self._cell(evidence, panel, name, at) for at in self.along.values())]
            for panel, name in every
        ]  # fmt: skip
        return text.markdown_table(self.title, [*self.head, *(self.columns or self.along)], rows)

    def _cell(self, evidence: Any, panel: Any, name: str, at: Any) -> str:
        try:
            return self.form(self.value(evidence, panel, name, at))
        except KeyError:
            return text.ABSENT

    def picture(self, evidence: Any) -> Figure:
        """The panels, with one legend for all."""
        rows, columns = len(self.panels), len(self.panels[0])
        figure, drawn = sheet(10, 3.2 * rows, rows, columns)
        for row, shown in zip(drawn, self.panels, strict=True):
            for panel, what in zip(row, shown, strict=True):
                self._draw(panel, evidence, what)
                dress(panel, self.named(evidence, what))
            row[0].set_ylabel(self.unit)
        for panel in drawn[-1]:
            panel.set_xlabel(self.axis)
        legend(figure, drawn[0][0])
        return figure

    def _draw(self, panel: Axes, evidence: Any, what: Any) -> None:
        places = range(len(self.along))
        for name, colour, mark in zip(
            self.series, _colours(self.series, self.colours), itertools.cycle(self.marks), strict=False
        ):
            values = [self.value(evidence, what, name, at) for at in self.along.values()]
            panel.plot(places, values, f"{mark}-", color=colour, label=name, markersize=5, linewidth=1.6)
        panel.set_xticks(places, list(self.along))
        panel.set_ylim(bottom=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """A value by trace and series: a row of the table, and a group of bars, for every trace that is there."""

    title: str
    """Of the table."""
    words: str
    """Over the picture."""
    value: Callable[[Any, str, str], float]
    """From the evidence, a trace's name and a series."""
    above: Callable[[Any, str, str], float] | None = None
    """A second value, which is stacked on the first."""
    series: Sequence[str]
    cell: Callable[[Any, str, str], str] | None = None
    """What the table says; the values in their form if nothing else is given."""
    form: Callable[[float], str] = "{:.3f}".format
    colours: Mapping[str, str] = field(default_factory=dict)
    """By series."""
    line: float | None = None
    """A value that is marked."""
    limits: tuple[float, float] | None = None
    """Of the picture's axis."""

    def table(self, evidence: Any) -> list[str]:
        """A row for every trace, a column for every series."""
        cell = self.cell or self._cell
        rows = [
            [evidence.named(trace), *(cell(evidence, trace, name) for name in self.series)]
            for trace in evidence.workloads
        ]
        return text.markdown_table(self.title, ["workload", *self.series], rows)

    def _cell(self, evidence: Any, trace: str, name: str) -> str:
        parts = [self.value] if self.above is None else [self.value, self.above]
        return " + ".join(self.form(part(evidence, trace, name)) for part in parts)

    def picture(self, evidence: Any) -> Figure:
        """The groups of bars side by side."""
        figure, ((panel,),) = sheet(11, 4.2)
        traces = list(evidence.workloads)
        places, width = side_by_side(np.arange(len(traces)), len(self.series), 0.84)
        for at, name, colour in zip(places, self.series, _colours(self.series, self.colours), strict=True):
            low = [self.value(evidence, trace, name) for trace in traces]
            panel.bar(at, low, width, color=colour, label=name)
            if self.above is not None:
                high = [self.above(evidence, trace, name) for trace in traces]
                panel.bar(at, high, width, bottom=low, color=colour, alpha=0.4)
        if self.line is not None:
            panel.axhline(self.line, color=GREY, linewidth=0.8)
        if self.limits is not None:
            panel.set_ylim(*self.limits)
        names = [f"{trace}\n{evidence.kind(trace)}" for trace in traces]
        panel.set_xticks(np.arange(len(traces)), names, fontsize=8)
        dress(panel, self.words)
        legend(figure, panel)
        return figure


def _colours(series: Sequence[str], chosen: Mapping[str, str]) -> list[str]:
    """A colour for each series: its own, or one of those that can be told apart."""
    return [chosen.get(name, COLOURS[i % len(COLOURS)]) for i, name in enumerate(series)]
