"""Tables of the study of all five together, and what they say in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ftlab import text
from ftlab.reproduce.stack.axes import (
    ALONE,
    CYCLES,
    EVERY,
    GAUGES,
    MEMBERS,
    PAIRS,
    SUBSETS,
    Evidence,
    Members,
    is_clear,
    name_of,
    spread,
)

COMPARED = ("iops", "read_p999_us", "write_p999_us", "waf", "life_first_tib", "life_percent_tib")
"""What advice is about."""

COMPARED_WORDS = [GAUGES[gauge].words for gauge in COMPARED]


MEANS = (
    "A gain is a factor by which a figure is better than with none of the five: IOPS and lives with it ÷ without it,",
    "latencies and WAF without it ÷ with it; +100 % is twice as good.",
)


def change(factors: NDArray[np.float64]) -> str:
    """A factor as a change in per cent, with half the range of the repeats."""
    if not np.all(np.isfinite(factors)):
        return text.ABSENT
    mean = 100 * (float(factors.mean()) - 1)
    around = f" ± {100 * spread(factors):.1f}" if factors.size > 1 else ""
    return f"{mean:+.1f}{around} %"


def everything(evidence: Evidence) -> list[str]:
    """Every figure of every configuration, by workload."""
    heads = [f"{gauge.words}{gauge.unit and ', '}{gauge.unit}" for gauge in GAUGES.values()]
    return [
        *_by_workload(
            evidence,
            "figures, means of the repeats",
            ["in force", *heads],
            SUBSETS,
            lambda name, members: [_mean(evidence.values(name, members, gauge)) for gauge in GAUGES],
        ),
        f"Lives are extrapolated from the wear of the run to {CYCLES} P/E cycles of a block.",
    ]


def gains(evidence: Evidence) -> list[str]:
    """What each and all bring."""
    return [
        *MEANS,
        "",
        *_by_workload(
            evidence,
            "better by, with half the range of the repeats",
            ["switched on", *COMPARED_WORDS],
            (*ALONE, EVERY),
            lambda name, members: [change(evidence.gains(name, members, gauge)) for gauge in COMPARED],
        ),
    ]


def interplays(evidence: Evidence) -> list[str]:
    """What pairs bring beyond their members."""
    return [
        *_by_workload(
            evidence,
            "the gain of a pair ÷ the product of its members' gains",
            ["pair", *COMPARED_WORDS],
            PAIRS,
            lambda name, pair: [_marked(evidence.interplay(name, pair, gauge)) for gauge in COMPARED],
        ),
        "Bold: on the same side in every repeat, by more than 2 % and more than half the range of the repeats.",
    ]


def _by_workload(
    evidence: Evidence,
    title: str,
    head: Sequence[str],
    subsets: Sequence[Members],
    cells: Callable[[str, Members], list[str]],
) -> list[str]:
    """A table for each workload, with a row for each of some configurations."""
    lines: list[str] = []
    for name in evidence.names():
        rows = [[name_of(members), *cells(name, members)] for members in subsets]
        lines += [*text.markdown_table(f"{evidence.named(name)}: {title}", head, rows), ""]
    return lines


def _mean(values: NDArray[np.float64]) -> str:
    return text.figure(float(values.mean())) if np.all(np.isfinite(values)) else text.ABSENT


def _marked(factors: NDArray[np.float64]) -> str:
    words = change(factors)
    return f"**{words}**" if np.all(np.isfinite(factors)) and is_clear(factors) else words


def best(evidence: Evidence, name: str, gauge: str) -> Members:
    """The configuration with the greatest gain, of those that were run."""
    return max(SUBSETS, key=lambda members: _or_none(evidence.gains(name, members, gauge)))


def _or_none(factors: NDArray[np.float64]) -> float:
    return float(factors.mean()) if np.all(np.isfinite(factors)) else -np.inf


def advice(evidence: Evidence) -> list[str]:
    """What to switch on for which workload, with the margin, and where two fight."""
    return [_of_workload(evidence, name) for name in evidence.names()]


def _of_workload(evidence: Evidence, name: str) -> str:
    lines = [f"{evidence.named(name)}:"]
    for gauge in ("iops", "read_p999_us", "write_p999_us", "life_percent_tib"):
        members = best(evidence, name, gauge)
        factors = evidence.gains(name, members, gauge)
        words = GAUGES[gauge].words
        if not members or not is_clear(factors):
            lines.append(f"  {words}: nothing that was tried is clearly better than none")
            continue
        harm = [
            f"{GAUGES[other].words} {change(evidence.gains(name, members, other))}"
            for other in COMPARED
            if other != gauge
            and is_clear(of := evidence.gains(name, members, other))
            and float(of.mean()) < 1
        ]
        price = f"; worse: {', '.join(harm)}" if harm else ""
        lines.append(f"  {words}: {name_of(members)}, better by {change(factors)}{price}")
    lines += [f"  {line}" for line in fights(evidence, name)]
    return "\n".join(lines)


def fights(evidence: Evidence, name: str) -> Sequence[str]:
    """Pairs that give clearly less, or more, than their members."""
    found = []
    for sign, verb in ((-1, "in each other's way"), (1, "more than the sum")):
        pairs = [
            f"{name_of(pair)} ({GAUGES[gauge].words} {change(factors)})"
            for pair in PAIRS
            for gauge in ("iops", "read_p999_us", "life_percent_tib")
            if np.all(np.isfinite(factors := evidence.interplay(name, pair, gauge)))
            and is_clear(factors)
            and (float(factors.mean()) - 1) * sign > 0
        ]
        if pairs:
            found.append(f"{verb}: {', '.join(pairs)}")
    return found


def at_work(evidence: Evidence) -> list[str]:
    """What each mechanism did where all are in force."""
    signs = {
        "multiplane": "TBM",
        "copybacks": "rCPB",
        "forward": "CF",
        "reprograms": "IPR",
        "paired": "GCMix",
    }
    rows = [
        [evidence.named(name), *(_mean(evidence.values(name, EVERY, sign)) for sign in (*signs, "refreshes"))]
        for name in evidence.names()
    ]
    head = ["all five on", "programs of several planes", "copybacks", "collections ahead of need",
            "wordlines reprogrammed", "pages under host pages", "refreshes"]  # fmt: skip
    assert set(signs.values()) == set(MEMBERS)
    return text.markdown_table("What each did with all in force", head, rows)
