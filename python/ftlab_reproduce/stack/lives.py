"""Drives that are written until they take no more: how much the host had written by then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ftlab.results import text
from ftlab_reproduce.panels import dress, sheet
from ftlab_reproduce.stack.axes import CYCLES_PER_ERASE, LIFETIME, LIVED_READS, Case, Evidence
from ftlab_reproduce.stack.bases import (
    LIVED,
    PAPERS,
    TODAY,
    TODAYS_LIVED,
    Members,
    beside,
    name_on,
    protection_of,
)
from ftlab_reproduce.stack.tables import change, mean_of
from ftlab_reproduce.stack.today import drives_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEANS = (
    'Every drive is new, and blocks fail (`device.bad_blocks = "weibull"`, 9,000 cycles) until one more than a plane',
    "has to spare. Then the drive takes no more writes, and its lifetime is what the host had written. An erase stands",
    f"for {CYCLES_PER_ERASE} P/E cycles, and wear leveling lets blocks of a plane differ by ten erases. Traces are",
    f"replayed over and over; of the requests of Zipf {100 * LIVED_READS:.0f} % are reads. rCPB is left out, whose",
    "quotas go with the real erases of a block. Each drive lived once.",
)

FIGURES = {
    "lifetime_tib": f"{LIFETIME.words}, {LIFETIME.unit}",
    "drive_writes": "drive writes",
    "waf_first": "WAF in the first eighth",
    "waf_last": "in the last",
    "failed": "units that failed",
    "lost": "pages of the host lost",
}
"""Those of the table, with their heads."""


def _of_base(base: str) -> Sequence[Members]:
    return TODAYS_LIVED if base == TODAY else LIVED


def _beside(base: str, members: Members) -> Members:
    """The drive that another is compared with: on the papers' base, that with none of the five."""
    return beside(members) if base == TODAY else ()


def _cases(evidence: Evidence) -> list[Case]:
    return [case for base in (TODAY, PAPERS) for case in evidence.lived(base)]


def told(evidence: Evidence) -> list[str]:
    """Every life, and how much longer it is than that of the drive beside it."""
    cases = _cases(evidence)
    lines = [*MEANS, ""] if cases else []
    for case in cases:
        rows = []
        for members in evidence.of(case, _of_base(case.base)):
            than = _beside(case.base, members)
            rows.append(
                [
                    name_on(case.base, members),
                    *(mean_of(evidence.values(case, members, figure)) for figure in FIGURES),
                    name_on(case.base, than) if members else "",
                    change(evidence.gains(case, members, "lifetime_tib", than)) if members else "",
                ]
            )
        head = ["drive", *FIGURES.values(), "beside", "longer by"]
        title = evidence.titled(case) if case.base == TODAY else f"{evidence.titled(case)}, papers' base"
        lines += [*text.markdown_table(title, head, rows), ""]
    return lines


def advice(evidence: Evidence) -> list[str]:
    """For each workload: the drive that lives longest, beside the one that it is compared with."""
    return [_longest(evidence, case) for case in _cases(evidence)]


def _longest(evidence: Evidence, case: Case) -> str:
    base = "" if case.base == TODAY else ", papers' base"
    lines = [f"{evidence.titled(case)}{base}:"]
    every = evidence.of(case, _of_base(case.base))
    protections = dict.fromkeys(map(protection_of, every)) if case.base == TODAY else {"": None}
    for protection in protections:
        of_it = [m for m in every if case.base != TODAY or protection_of(m) == protection]
        best = max(of_it, key=lambda members: float(evidence.values(case, members, "lifetime_tib").mean()))
        plain = of_it[0]
        gain = (
            ""
            if best == plain
            else f", longer than {name_on(case.base, plain)}: "
            + change(evidence.gains(case, best, "lifetime_tib", plain))
        )
        figure = mean_of(evidence.values(case, best, "lifetime_tib"))
        lines.append(f"  {name_on(case.base, best)}, {LIFETIME.words}: {figure} {LIFETIME.unit}{gain}")
    return "\n".join(lines)


def bars(evidence: Evidence) -> Figure | None:
    """The lifetimes of today's drive, for each workload beside that of the drive with a supercap."""
    cases = evidence.lived(TODAY)
    drives = [m for m in TODAYS_LIVED if all(evidence.of(case, [m]) for case in cases)]
    if not cases or () not in drives:
        return None
    figure, (panels,) = sheet(3.0 * len(cases) + 1.6, 0.3 * len(drives) + 1.4, 1, len(cases), sharey=True)
    for panel, case in zip(panels, cases, strict=True):
        drives_of(panel, evidence, case, "lifetime_tib", drives)
        dress(panel, f"{case.workload}: lifetime in TiB")
        panel.grid(visible=False)
    panels[0].invert_yaxis()
    figure.suptitle(
        "Written until today's drive takes no more, beside the drive as it stands, which is 1. "
        "Lower pages are safe by a supercap (blue), backups (orange) or GCMix (green)",
        fontsize=10,
    )
    return figure
