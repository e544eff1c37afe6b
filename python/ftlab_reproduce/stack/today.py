"""Today's drive: what each mechanism is worth on it, and what those are worth that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ftlab.results import text
from ftlab.results.drawing import COLOURS
from ftlab_reproduce.panels import GREY, dress, sheet
from ftlab_reproduce.stack.axes import FULL, GAUGES, OWN, WORKLOADS, Case, Evidence
from ftlab_reproduce.stack.bases import (
    TODAY,
    TODAYS,
    TODAYS_OWN,
    Members,
    beside,
    protection_of,
    todays_name_of,
)
from ftlab_reproduce.stack.tables import change, marked, mean_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURES = ("iops", "life_percent_tib", "mean_us", "read_p999_us", "write_p999_us", "waf", "erases")
"""What the tables have of each drive."""

COMPARED = ("iops", "life_percent_tib", "mean_us", "read_p999_us", "write_p999_us")
"""What they have of it beside another."""

MEANS = (
    "Today's drive is the preset `client-tlc-small` as it stands, with twin blocks (TBM), paced GC and a frontier for",
    'moved pages (`host-gc`), but with flash pages mapped whole (`ftl.map_unit = "page"`). Its lower pages',
    "are safe by a supercap, by backups, or by GCMix. A supercap costs no",
    "flash operation, but does not help where a program fails. GCF and CF take the place of paced GC. `no TBM`,",
    "`no pacing` and `no host-gc` take away what the drive has. `papers' FTL` takes away all three: with backups it is",
    "the base of the papers, with the three it is TBM + GCF + GCMix on it.",
    "",
    "Half load is half of what the drive with a supercap serves with a full queue, for every drive. Half of its own is",
    "half of what that very drive serves. A gain is a factor by which a figure is better than the drive's beside it.",
    "Bold: clear, that is by more than 2 % and more than half the range of the repeats, on the same side in each;",
    "by more than 10 % where there is one repeat.",
)


def worth(evidence: Evidence) -> list[str]:
    """Every drive under every case: its figures, and how much better it is than the drive beside it."""
    cases = evidence.cases_of(TODAY)
    lines = [*MEANS, ""] if cases else []
    for case in cases:
        shown = [gauge for gauge in COMPARED if gauge != "iops" or case.load == FULL]
        head = [
            "drive",
            *(_head(gauge) for gauge in FIGURES),
            "beside",
            *(GAUGES[gauge].words for gauge in shown),
        ]
        rows = [
            [
                todays_name_of(members),
                *(mean_of(evidence.values(case, members, gauge)) for gauge in FIGURES),
                todays_name_of(beside(members)) if members else "",
                *(
                    marked(evidence.gains(case, members, gauge, beside(members))) if members else ""
                    for gauge in shown
                ),
            ]
            for members in evidence.of(case, TODAYS)
        ]
        lines += [*text.markdown_table(evidence.titled(case), head, rows), ""]
    return lines


def _head(gauge: str) -> str:
    found = GAUGES[gauge]
    return f"{found.words}{found.unit and ', '}{found.unit}"


def advice(evidence: Evidence) -> list[str]:
    """For each workload with a full queue, and each protection: the drive with the most IOPS, and the longest life."""
    return [_of_case(evidence, case) for case in evidence.cases_of(TODAY) if case.load == FULL]


def _of_case(evidence: Evidence, case: Case) -> str:
    lines = [f"{evidence.titled(case)}:"]
    for protection in dict.fromkeys(protection_of(members) for members in TODAYS):
        of_it = [m for m in evidence.of(case, TODAYS) if protection_of(m) == protection]
        for gauge in ("iops", "life_percent_tib"):
            best = max(of_it, key=lambda members: float(evidence.values(case, members, gauge).mean()))
            found = GAUGES[gauge]
            figure = f"{mean_of(evidence.values(case, best, gauge))} {found.unit}".strip()
            plain = of_it[0]
            factors = evidence.gains(case, best, gauge, plain)
            gain = "" if best == plain else f", better than {todays_name_of(plain)}: {change(factors)}"
            lines.append(f"  {protection}, {found.words}: {todays_name_of(best)}, {figure}{gain}")
    return "\n".join(lines)


SHOWN = (
    ("iops", FULL, "IOPS, full queue"),
    ("life_percent_tib", FULL, "life in TiB, full queue"),
    ("mean_us", OWN, "mean in us, half of its own"),
)
"""A row of the picture for each: a figure, and the load it is taken at."""

OF_PROTECTION = {"supercap": COLOURS[0], "backups": COLOURS[1], "GCMix": COLOURS[2]}


def bars(evidence: Evidence) -> Figure | None:
    """For each workload, some drives beside the drive with a supercap."""
    known = [name for name in WORKLOADS if Case(name, FULL, TODAY) in evidence.cases_of(TODAY)]
    drives = [m for m in TODAYS_OWN if all(evidence.of(Case(name, FULL, TODAY), [m]) for name in known)]
    if not known or () not in drives:
        return None
    rows = [
        row
        for row in SHOWN
        if all(evidence.of(Case(name, row[1], TODAY), drives) == drives for name in known)
    ]
    figure, panels = sheet(3.0 * len(known) + 1.6, 2.9 * len(rows) + 0.6, len(rows), len(known), sharey=True)
    for line, (gauge, load, words) in zip(panels, rows, strict=True):
        for panel, name in zip(line, known, strict=True):
            drives_of(panel, evidence, Case(name, load, TODAY), gauge, drives)
            dress(panel, f"{name}: {words}")
            panel.grid(visible=False)
    panels[0][0].invert_yaxis()
    figure.suptitle(
        "Figures beside those of today's drive as it stands, which is 1. "
        "Lower pages are safe by a supercap (blue), backups (orange) or GCMix (green)",
        fontsize=10,
    )
    return figure


def drives_of(panel: Axes, evidence: Evidence, case: Case, gauge: str, drives: list[Members]) -> None:
    """A bar for each drive: its figure ÷ that of the drive with a supercap, the figure at its end."""
    means = np.array([float(evidence.values(case, members, gauge).mean()) for members in drives])
    ratios = means / means[drives.index(())]
    colours = [OF_PROTECTION[protection_of(members)] for members in drives]
    top = max(1.0, float(ratios.max()))
    panel.barh(np.arange(len(drives)), ratios, color=colours)
    panel.axvline(1, color=GREY, linewidth=0.8, zorder=0)
    for place, ratio, value in zip(range(len(drives)), ratios.tolist(), means.tolist(), strict=True):
        label = panel.text(ratio + 0.03 * top, place, text.figure(value), ha="left", va="center", fontsize=8)
        label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5})
    panel.set_xlim(0, 1.4 * top)
    panel.set_yticks(np.arange(len(drives)), [todays_name_of(members) for members in drives], fontsize=8)
    panel.tick_params(axis="x", labelsize=8)
