"""The check as pictures: a panel for each percentile over the write rate, and the WAF over what was written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ftlab.hardware.check import Check
from ftlab.hardware.rows import rows
from ftlab.results.drawing import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LATER = "refit"
"""Behind the ids of rows that are run with what was chosen in hindsight."""

BESIDE = {"17": 0, "18": 10, "20": 262, "22": 1049}
"""The write rates of rows, MB/s."""

DEPTHS = {"23 QD 1": 1, "23 QD 16": 16, "23 QD 64": 64, "23 QD 256": 256}

WRITES = {"28 4k QD 1": 1, "28 4k QD 4": 4, "28 4k QD 32": 32}


def figures(check: Check) -> dict[str, Figure]:
    """The pictures that there are figures for, by name."""
    made = {
        "beside": _beside(check),
        "depth": _depth(check),
        "writes": _writes(check),
        "waf": _waf(check),
        "fills": _fills(check),
    }
    return {name: figure for name, figure in made.items() if figure is not None}


def _drives(row: str) -> dict[str, float]:
    """The figures that were measured of the drive, by the name of ours."""
    return {figure.of: figure.value for each in rows() if each.id == row for figure in each.figures}


def _points(check: Check, along: Mapping[str, int], name: str) -> list[tuple[int, float, float]]:
    """Places, the drive's figures and ours."""
    return [
        (place, _drives(row)[name], check.measured[row].figures[name])
        for row, place in along.items()
        if row in check.measured and name in _drives(row) and name in check.measured[row].figures
    ]


def _sheet(panels: int) -> tuple[Figure, list[Axes]]:
    """Panels in rows of three at most."""
    from matplotlib.figure import Figure

    columns, lines = min(panels, 3), -(-panels // 3)
    figure = Figure(figsize=(3.1 * columns, 3.1 * lines), layout="constrained")
    made = list(figure.subplots(lines, columns, squeeze=False).flat)
    for panel in made[panels:]:
        panel.remove()
    return figure, made[:panels]


def _pair(panel: Axes, check: Check, along: Mapping[str, int], name: str, words: str) -> bool:
    """Both curves, and a third of what was chosen in hindsight."""
    found = _points(check, along, name)
    if len(found) < 2:
        return False
    places, drive, ours = zip(*found, strict=True)
    panel.plot(places, drive, "o-", color=COLOURS[0], label="drive")
    panel.plot(places, ours, "s--", color=COLOURS[1], label="simulated")
    later = {f"{row} {LATER}": place for row, place in along.items()}
    if more := _points(check, later, name):
        panel.plot(
            [each[0] for each in more],
            [each[2] for each in more],
            "^:",
            color=COLOURS[2],
            label="in hindsight",
        )
    panel.set_title(words, fontsize=10, loc="left")
    panel.set_ylim(bottom=0)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
    return True


def _panels(check: Check, along: Mapping[str, int], shown: Mapping[str, str], axis: str) -> Figure | None:
    figure, panels = _sheet(len(shown))
    drawn = [_pair(panel, check, along, *each) for panel, each in zip(panels, shown.items(), strict=True)]
    if not any(drawn):
        return None
    for panel in panels:
        panel.set_xlabel(axis)
    panels[0].legend(frameon=False)
    return figure


def _beside(check: Check) -> Figure | None:
    levels = {"p50": "median", "p95": "95th", "p99": "99th", "p999": "99.9th", "p9999": "99.99th"}
    shown = {f"read {level}": f"{words} of reads, µs" for level, words in levels.items()}
    return _panels(check, BESIDE, shown, "written, MB/s")


def _depth(check: Check) -> Figure | None:
    shown = {"read iops": "reads a second", "read mean": "mean, µs", "read p999": "99.9th, µs"}
    return _by_depth(_panels(check, DEPTHS, shown, "queue depth"))


def _writes(check: Check) -> Figure | None:
    return _by_depth(_panels(check, WRITES, {"write iops": "writes of 4 KiB a second"}, "queue depth"))


def _by_depth(figure: Figure | None) -> Figure | None:
    for panel in figure.axes if figure else ():
        panel.set_xscale("log", base=2)
        panel.xaxis.set_major_formatter("{x:.0f}")
        panel.yaxis.set_major_formatter("{x:,.0f}")
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


def _fills(check: Check) -> Figure | None:
    """The rate of each fill over what was written, and the drive's phases: dotted, if nobody says how far."""
    found = {name: made.fill for name, made in check.measured.items() if made.fill and name.startswith("32")}
    if not found:
        return None
    figure, panels = _sheet(len(found))
    for panel, (name, (written, rate)) in zip(panels, found.items(), strict=True):
        panel.plot(written, rate, color=COLOURS[1], label="simulated")
        drive = {
            (int(told[1]), told[2]): value
            for of, value in {**_drives(name), **_drives(f"{name} end")}.items()
            if (told := re.search(r"phase (\d) of \d (\S+)", of))
        }
        begin = 0.0
        for number in sorted({number for number, what in drive if what == "gb_s"}):
            is_known = (number, "ends") in drive
            end = drive.get((number, "ends"), written[-1])
            panel.hlines(
                drive[number, "gb_s"],
                begin,
                end,
                color=COLOURS[0],
                linewidth=3 if is_known else 2,
                linestyle="-" if is_known else ":",
                label="drive" if number == 1 else "",
            )
            begin = end if (number, "ends") in drive else begin
        row = next(each for each in rows() if each.id == name)
        panel.set_title(f"{name}: {row.drive}", fontsize=9, loc="left")
        panel.set_xlabel("written, of the raw space")
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("GB/s")
    panels[0].legend(frameon=False)
    return figure
