"""Tables of the study of all five together, and what they say in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ftlab.results import text
from ftlab_reproduce.stack.axes import (
    CYCLES,
    GAUGES,
    ONCE,
    OWN,
    Case,
    Evidence,
    compared,
    is_clear,
    spread,
)
from ftlab_reproduce.stack.bases import (
    APART,
    EVERY,
    MEMBERS,
    PAPERS,
    SUBSETS,
    Members,
    name_of,
)

MEANS = (
    "A gain is a factor by which a figure is better than with none of the five: IOPS and lives with it ÷ without it,",
    "latencies and WAF without it ÷ with it; +100 % is twice as good. The queue is full; at half load requests arrive",
    "in an open loop, half as many as the base serves with a full queue, with the bursts and gaps of the workload.",
)

OWN_MEANS = (
    "At half of its own, half as many requests arrive as the very same configuration serves with a full queue. So a",
    "configuration that serves more has more to do there.",
)


MANY = 3.0
"""A factor above which nobody reads per cent."""


def change(factors: NDArray[np.float64]) -> str:
    """A factor as a change in per cent, or as so many times, with half the range of the repeats."""
    if not np.all(np.isfinite(factors)):
        return text.ABSENT
    if float(factors.mean()) > MANY:
        around = f" ± {spread(factors):.1f}" if factors.size > 1 else ""
        return f"{factors.mean():.1f}{around} times"
    mean = 100 * (float(factors.mean()) - 1)
    around = f" ± {100 * spread(factors):.1f}" if factors.size > 1 else ""
    return f"{mean:+.1f}{around} %"


def everything(evidence: Evidence) -> list[str]:
    """Every figure of every configuration, by case."""
    heads = [f"{gauge.words}{gauge.unit and ', '}{gauge.unit}" for gauge in GAUGES.values()]
    tables = _by_case(
        evidence,
        "figures, means of the repeats",
        "in force",
        lambda _: heads,
        lambda case: evidence.of(case, SUBSETS),
        lambda case, members: [mean_of(evidence.values(case, members, gauge)) for gauge in GAUGES],
    )
    extrapolated = [
        f"Lives are extrapolated from the wear of the run to {CYCLES} P/E cycles of a block, as if wear leveling kept",
        f"blocks within {APART} erases of the mean of their plane and cost nothing.",
    ]
    return [*tables, *extrapolated] if tables else []


def gains(evidence: Evidence) -> list[str]:
    """What each and all bring."""
    cases = evidence.cases_of(PAPERS)
    if not cases:
        return []
    once = (
        f"Everything was run once, and a change is taken for clear from {100 * ONCE:.0f} % on.",
        "Repeats, and what is not here, were run at the quick scale.",
    )
    return [
        *MEANS,
        *(OWN_MEANS if any(case.load == OWN for case in cases) else ()),
        *(() if _is_repeated(evidence) else once),
        "",
        *_by_case(
            evidence,
            "better by, with half the range of the repeats" if _is_repeated(evidence) else "better by",
            "switched on",
            _compared_words,
            lambda case: _without_members(evidence, case),
            lambda case, members: [
                change(evidence.gains(case, members, gauge)) for gauge in compared(case.load)
            ],
        ),
    ]


def _without_members(evidence: Evidence, case: Case) -> list[Members]:
    """All but pairs; of these, those of which not each member was run alone: the next table has the others."""
    later = set(evidence.pairs(case))
    return [members for members in evidence.of(case, SUBSETS) if members and members not in later]


def interplays(evidence: Evidence) -> list[str]:
    """What pairs bring beyond their members."""
    tables = _by_case(
        evidence,
        "the gain of a pair ÷ the product of its members' gains",
        "pair",
        _compared_words,
        evidence.pairs,
        lambda case, pair: [marked(evidence.interplay(case, pair, gauge)) for gauge in compared(case.load)],
    )
    repeated = "Bold: on the same side in every repeat, by more than 2 % and more than half the range of the repeats."
    bold = repeated if _is_repeated(evidence) else f"Bold: by more than {100 * ONCE:.0f} %."
    return [*tables, bold] if tables else []


def _is_repeated(evidence: Evidence) -> bool:
    """Whether every case was run with more than one seed."""
    return all(len(evidence.seeds(case)) > 1 for case in evidence.cases_of(PAPERS))


def _compared_words(case: Case) -> list[str]:
    return [GAUGES[gauge].words for gauge in compared(case.load)]


def _by_case(
    evidence: Evidence,
    title: str,
    first: str,
    heads: Callable[[Case], Sequence[str]],
    subsets: Callable[[Case], Sequence[Members]],
    cells: Callable[[Case, Members], list[str]],
) -> list[str]:
    """A table for each case, with a row for each of some configurations."""
    lines: list[str] = []
    for case in evidence.cases_of(PAPERS):
        rows = [[name_of(members), *cells(case, members)] for members in subsets(case)]
        head = [first, *heads(case)]
        if rows:
            lines += [*text.markdown_table(f"{evidence.titled(case)}: {title}", head, rows), ""]
    return lines


def mean_of(values: NDArray[np.float64]) -> str:
    """The mean of the repeats, for people."""
    return text.figure(float(values.mean())) if np.all(np.isfinite(values)) else text.ABSENT


def marked(factors: NDArray[np.float64]) -> str:
    """A change, bold where it is clear."""
    words = change(factors)
    return f"**{words}**" if np.all(np.isfinite(factors)) and is_clear(factors) else words


def best(evidence: Evidence, case: Case, gauge: str) -> Members:
    """The configuration with the greatest gain, of those that were run."""
    return max(evidence.of(case, SUBSETS), key=lambda members: _or_none(evidence.gains(case, members, gauge)))


def _or_none(factors: NDArray[np.float64]) -> float:
    return float(factors.mean()) if np.all(np.isfinite(factors)) else -np.inf


def advice(evidence: Evidence) -> list[str]:
    """What to switch on for which workload, with the margin, and where two fight."""
    return [_of_workload(evidence, case) for case in evidence.cases_of(PAPERS)]


def _of_workload(evidence: Evidence, case: Case) -> str:
    lines = [f"{evidence.titled(case)}:"]
    for gauge in (compared(case.load)[0], "read_p999_us", "write_p999_us", "life_percent_tib"):
        members = best(evidence, case, gauge)
        factors = evidence.gains(case, members, gauge)
        words = GAUGES[gauge].words
        if not members or not is_clear(factors):
            lines.append(f"  {words}: nothing that was tried is clearly better than none")
            continue
        harm = [
            f"{GAUGES[other].words} {change(evidence.gains(case, members, other))}"
            for other in compared(case.load)
            if other != gauge
            and is_clear(of := evidence.gains(case, members, other))
            and float(of.mean()) < 1
        ]
        price = f"; worse: {', '.join(harm)}" if harm else ""
        lines.append(f"  {words}: {name_of(members)}, better: {change(factors)}{price}")
    lines += [f"  {line}" for line in fights(evidence, case)]
    return "\n".join(lines)


def fights(evidence: Evidence, case: Case) -> Sequence[str]:
    """Pairs that give clearly less, or more, than their members: by 5 % and more, the strongest first."""
    found = []
    for sign, verb in ((-1, "in each other's way"), (1, "more than both together")):
        for gauge in (compared(case.load)[0], "read_p999_us", "life_percent_tib"):
            of_pairs = {pair: evidence.interplay(case, pair, gauge) for pair in evidence.pairs(case)}
            clear = {
                pair: factors
                for pair, factors in of_pairs.items()
                if np.all(np.isfinite(factors))
                and is_clear(factors, 0.05)
                and (float(factors.mean()) - 1) * sign > 0
            }
            strongest = sorted(clear, key=lambda pair: -sign * float(clear[pair].mean()))
            if strongest:
                words = ", ".join(f"{name_of(pair)} {change(clear[pair])}" for pair in strongest)
                found.append(f"{verb}, {GAUGES[gauge].words}: {words}")
    return found


def at_work(evidence: Evidence) -> list[str]:
    """What each mechanism did where all are in force."""
    signs = {
        "TBM": "multiplane",
        "rCPB": "copybacks",
        "GCF": "forward",
        "CF": "forward",
        "IPR": "reprograms",
        "GCMix": "paired",
    }
    shown = (*dict.fromkeys(signs.values()), "refreshes")
    assert signs.keys() == MEMBERS.keys()
    rows = [
        [
            evidence.titled(case),
            name_of(every),
            *(mean_of(evidence.values(case, every, sign)) for sign in shown),
        ]
        for case in evidence.cases_of(PAPERS)
        for every in evidence.of(case, EVERY)
    ]
    head = ["all five on", "with", "programs of several planes", "copybacks", "collections ahead of need",
            "wordlines reprogrammed", "pages under host pages", "refreshes"]  # fmt: skip
    return text.markdown_table("What each did with all in force", head, rows) if rows else []
