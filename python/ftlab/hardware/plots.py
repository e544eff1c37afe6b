"""The check as pictures: a panel for each percentile over the write rate, and the WAF over what was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ftlab.hardware.check import Check
from ftlab.hardware.rows import rows
from ftlab.results.drawing import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BESIDE = {"17": 0, "18": 10, "20": 262, "22": 1049}
"""The write rates of rows, MB/s."""

DEPTHS = {"23 QD 1": 1, "23 QD 16": 16, "23 QD 64": 64, "23 QD 256": 256}


def figures(check: Check) -> dict[str, Figure]:
    """The pictures that there are figures for, by name."""
    made = {"beside": _beside(check), "depth": _depth(check), "waf": _waf(check)}
    return {name: figure for name, figure in made.items() if figure is not None}


def _points(check: Check, along: Mapping[str, int], name: str) -> tuple[list[int], list[float], list[float]]:
    """Places, the drive's figures and ours."""
    drives = {row.id: {figure.of: figure.value for figure in row.figures} for row in rows()}
    found = [
        (place, drives[row][name], check.measured[row].figures[name])
        for row, place in along.items()
        if row in check.measured and name in drives[row] and name in check.measured[row].figures
    ]
    return [each[0] for each in found], [each[1] for each in found], [each[2] for each in found]


def _sheet(columns: int) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * columns, 3.2), layout="constrained")
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def _pair(panel: Axes, check: Check, along: Mapping[str, int], name: str, words: str) -> bool:
    places, drive, ours = _points(check, along, name)
    if len(places) < 2:
        return False
    panel.plot(places, drive, "o-", color=COLOURS[0], label="drive")
    panel.plot(places, ours, "s--", color=COLOURS[1], label="simulated")
    panel.set_title(words, fontsize=10, loc="left")
    panel.set_yscale("log")
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
    return True


def _beside(check: Check) -> Figure | None:
    shown = {"read p50": "median", "read p99": "99th", "read p999": "99.9th", "read p9999": "99.99th"}
    figure, panels = _sheet(len(shown))
    drawn = [_pair(panel, check, BESIDE, *each) for panel, each in zip(panels, shown.items(), strict=True)]
    if not any(drawn):
        return None
    for panel in panels:
        panel.set_xlabel("written, MB/s")
    panels[0].set_ylabel("latency of reads, µs")
    panels[0].legend(frameon=False)
    return figure


def _depth(check: Check) -> Figure | None:
    shown = {"read iops": "IOPS", "read mean": "mean, µs", "read p999": "99.9th, µs"}
    figure, panels = _sheet(len(shown))
    drawn = [_pair(panel, check, DEPTHS, *each) for panel, each in zip(panels, shown.items(), strict=True)]
    if not any(drawn):
        return None
    for panel in panels:
        panel.set_xscale("log", base=2)
        panel.set_xlabel("queue depth")
    panels[0].legend(frameon=False)
    return figure


def _waf(check: Check) -> Figure | None:
    measured = check.measured.get("1")
    if measured is None or measured.waf is None:
        return None
    figure, (panel,) = _sheet(1)
    panel.plot(*measured.waf, color=COLOURS[1], label="simulated")
    for begin, end, value in ((0, 4, 1.83), (30, 40, 2.04)):
        panel.hlines(value, begin, end, color=COLOURS[0], linewidth=3, label="drive" if begin == 0 else "")
    panel.set_xlabel("written, user capacities")
    panel.set_ylabel("WAF")
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False)
    return figure
