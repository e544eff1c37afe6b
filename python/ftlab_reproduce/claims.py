"""Claims and verdicts.

A rule is stated with every claim and never looks at the workload. There are three outcomes of a measured figure:
`reproduced`, `direction` (what the paper says happens does happen, but not by as much, or by more) and
`not-reproduced`. A number by itself has no direction: it is met or not. Neither has what is only to be no worse: the
other sign refutes it. A difference within :data:`NOISE` is none. A claim whose runs were left out is `not-run`.

A claim that cannot fail once the model is built, one whose reading was chosen after results had been seen, and one
whose figure follows from another claim's are marked (:data:`Basis`) and counted apart. A claim whose setting or measure
contradicted the paper's own words, and was mended, is marked as well; it counts with those that were stated before.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from ftlab.results import text
from ftlab.results.claims import SCHEMA as SCHEMA
from ftlab.results.claims import number as number

Verdict: TypeAlias = Literal["reproduced", "direction", "not-reproduced", "not-run"]
Kind: TypeAlias = Literal["original", "real", "generated"]

Basis: TypeAlias = Literal["stated", "corrected", "construction", "late", "follows"]
"""What a claim rests on."""

BASES: Mapping[Basis, str] = {
    "stated": "stated before the runs",
    "corrected": "corrected to the paper's words",
    "construction": "by construction",
    "late": "post hoc",
    "follows": "follows from another",
}
"""In words: the reading was written down before the runs that judge it; it contradicted a sentence of the paper, which
the paper's page quotes, and was mended; the model cannot do otherwise; the reading, the rule or the engine was chosen
after results had been seen; the figure follows from that of another claim, which counts."""

VERDICTS: tuple[Verdict, ...] = ("reproduced", "direction", "not-reproduced", "not-run")

NOISE = 1.0
"""Differences below this, in per cent, are none: other seeds of the victim choice move IOPS by as much."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How a figure becomes a verdict."""

    text: str
    """The rule in words, for people."""
    judge: Callable[[float], Verdict]
    """The rule itself."""

    def __call__(self, measured: float | None) -> Verdict:
        """The verdict; a figure that is not there was not run."""
        if measured is None or math.isnan(measured):
            return "not-run"
        return self.judge(measured)


def up_to(paper: float) -> Rule:
    """For a change of `paper` %, a gain or a loss: within a quarter of it, or the noise where that is more. It lies on
    the paper's side of zero, past the noise where the paper's own figure does."""
    slack = max(abs(paper) / 4, NOISE)
    sign = 1 if paper > 0 else -1
    least = NOISE if abs(paper) > NOISE else 0.0

    def judge(measured: float) -> Verdict:
        if sign * measured <= least:
            return "not-reproduced"
        return "reproduced" if abs(measured - paper) <= slack else "direction"

    side = "above" if sign > 0 else "below"
    return Rule(
        f"reproduced within {slack:.3g} points of {paper:g} %; direction {side} {sign * least:g} %", judge
    )


def at_least(reproduced: float, direction: float | None = None, unit: str = "%") -> Rule:
    """For a figure that is to be large. Without `direction` less than that is not reproduced: the figure is only to be
    no worse than another, or the difference would be within the noise."""

    def judge(measured: float) -> Verdict:
        if measured >= reproduced:
            return "reproduced"
        return "direction" if direction is not None and measured >= direction else "not-reproduced"

    return Rule(_worded(f"reproduced from {reproduced:g} {unit}", "from", direction, unit), judge)


def at_most(reproduced: float, direction: float | None = None, unit: str = "%") -> Rule:
    """For a figure that is to be small; without `direction` as in :func:`at_least`."""

    def judge(measured: float) -> Verdict:
        if measured <= reproduced:
            return "reproduced"
        return "direction" if direction is not None and measured <= direction else "not-reproduced"

    return Rule(_worded(f"reproduced up to {reproduced:g} {unit}", "up to", direction, unit), judge)


def _worded(words: str, side: str, direction: float | None, unit: str) -> str:
    return words.strip() if direction is None else f"{words}; direction {side} {direction:g} {unit}"


def near(paper: float, percent: float) -> Rule:
    """For a figure that is to be a given one: within so many per cent of it."""

    def judge(measured: float) -> Verdict:
        return "reproduced" if 100 * abs(measured / paper - 1) <= percent else "not-reproduced"

    return Rule(f"reproduced within {percent:g} % of {paper:g}", judge)


def times(paper: float, percent: float) -> Rule:
    """For how many times as much one thing is as another: within so many per cent; the direction is the change's."""

    def judge(measured: float) -> Verdict:
        if 100 * abs(measured / paper - 1) <= percent:
            return "reproduced"
        return "direction" if sign * (measured - 1) > NOISE / 100 else "not-reproduced"

    sign = 1 if paper > 1 else -1
    side = "above" if paper > 1 else "below"
    bound = 1 + sign * NOISE / 100
    return Rule(f"reproduced within {percent:g} % of {paper:g}; direction {side} {bound:g}", judge)


def within(low: float, high: float) -> Rule:
    """For a gain, in %, that lies in a range. Ends that lie away from zero have the noise; the direction is right on
    the range's side of zero, past the noise."""
    sign = 1 if high > 0 else -1
    least = low if low > 0 else low - NOISE
    most = high if high < 0 else high + NOISE

    def judge(measured: float) -> Verdict:
        if least <= measured <= most:
            return "reproduced"
        return "direction" if sign * measured > NOISE else "not-reproduced"

    side = "above" if sign > 0 else "below"
    return Rule(f"reproduced from {least:g} % to {most:g} %; direction {side} {sign * NOISE:g} %", judge)


RATIO_NOISE = NOISE / 100
"""The same of a ratio."""


def above(limit: float, noise: float = NOISE) -> Rule:
    """For a figure that is to be larger than a limit: by more than the noise, which is in the figure's unit."""
    return Rule(
        f"reproduced above {limit + noise:g}",
        lambda m: "reproduced" if m > limit + noise else "not-reproduced",
    )


def around(paper: float, points: float) -> Rule:
    """For a share in %: within so many points."""
    return Rule(
        f"reproduced within {points:g} points of {paper:g} %",
        lambda m: "reproduced" if abs(m - paper) <= points else "not-reproduced",
    )


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a paper and what became of it; a row of `ftlab.claims/1`."""

    id: str
    claim: str
    paper_value: float | str | None
    """The paper's figure; text where it gives a range or only a direction."""
    measured: float | None
    unit: str
    verdict: Verdict
    workload: str
    """The workload that decides: the greatest gain's, the worst case's."""
    workload_kind: Kind
    note: str
    basis: Basis = "stated"

    def to_json(self) -> dict[str, Any]:
        """The row as JSON."""
        measured = self.measured
        if measured is not None and math.isnan(measured):
            measured = None
        return {
            "id": self.id,
            "claim": self.claim,
            "paper_value": self.paper_value,
            "measured": measured,
            "unit": self.unit,
            "verdict": self.verdict,
            "workload": self.workload,
            "workload_kind": self.workload_kind,
            "note": self.note,
            "basis": self.basis,
        }

    @classmethod
    def of_json(cls, row: Mapping[str, Any]) -> Claim:
        """The claim of a row.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        claim = cls(**row)
        if claim.verdict not in VERDICTS or claim.basis not in BASES or claim.measured != claim.measured:
            raise ValueError(f"{claim.id}: {claim.verdict}, {claim.basis}")
        return claim


class Finding(NamedTuple):
    """What a claim's measurement gives."""

    measured: float
    workload: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim of a paper, how to measure it, and how to judge it."""

    id: str
    claim: str
    paper_value: float | str | None
    unit: str
    rule: Rule
    experiment: str
    measure: Callable[[Any], Finding]
    """From the paper's evidence; a `KeyError` says that something it needs was not run."""
    workload: str
    """Which to name if it was not run."""
    basis: Basis = "stated"
    reading: str = ""
    """The choice that carries much of the figure, where the paper leaves one open."""

    def judged(self, evidence: Any, kinds: Mapping[str, Kind]) -> Claim:
        """The claim with what was measured; workloads that `kinds` does not know are generated."""
        try:
            finding = self.measure(evidence)
            measured: float | None = finding.measured
        except KeyError:
            finding, measured = Finding(float("nan"), self.workload, "not run"), None
        reading = f"reading: {self.reading}" if self.reading else ""
        return Claim(
            self.id,
            self.claim,
            self.paper_value,
            measured,
            self.unit,
            self.rule(measured),
            finding.workload,
            kinds.get(finding.workload, "generated"),
            "; ".join(filter(None, (finding.note, self.rule.text, reading))),
            self.basis,
        )


Pick: TypeAlias = Callable[[Iterable[float]], float]
"""Which of several values decides, such as `max`."""

Values: TypeAlias = Callable[[Any], Mapping[str, float]]
"""Several values by name, from the paper's evidence."""


def decided(
    values: Mapping[str, float], pick: Pick, form: Callable[[float], str], workload: str = ""
) -> Finding:
    """One of several values, by workload or of one workload; all are noted. What is not defined decides nothing.

    Raises:
        KeyError: no value is defined.
    """
    known = {name: value for name, value in values.items() if not math.isnan(value)}
    if not known:
        raise KeyError(next(iter(values), "values"))
    chosen = pick(known.values())
    note = ", ".join(f"{name} {form(value)}" for name, value in known.items())
    if workload:
        return Finding(chosen, workload, note if len(known) > 1 else "")
    return Finding(chosen, next(name for name, value in known.items() if value == chosen), note)


@dataclass(frozen=True, slots=True)
class About:
    """What claims about one thing have in common; calling it makes a statement."""

    experiment: str
    workload: str = ""
    """Which to name if it was not run."""
    unit: str = "%"
    id: str = "{}"
    """The claims' ids, with a place for each one's own part."""
    claim: str = "{}"
    """The claims' words, likewise."""
    basis: Basis = "stated"
    reading: str = ""

    def __call__(
        self, name: str, claim: str, paper: float | str | None, rule: Rule, measure: Callable[[Any], Finding],
        **other: Any,
    ) -> Statement:  # fmt: skip
        """A claim with a measurement of its own; `other` is what it has for itself."""
        here = replace(self, **other)
        return Statement(
            here.id.format(name), here.claim.format(claim), paper, here.unit, rule, here.experiment, measure,
            here.workload, here.basis, here.reading,
        )  # fmt: skip

    def of(
        self, name: str, claim: str, paper: float | str | None, rule: Rule, workload: str, values: Values,
        pick: Pick = min, **other: Any,
    ) -> Statement:  # fmt: skip
        """A claim of which one of several values of a workload decides."""

        def measure(evidence: Any) -> Finding:
            return decided(values(evidence), pick, number, workload)

        return self(name, claim, paper, rule, measure, workload=workload, **other)


def experiments_for(
    only: str, experiments: Iterable[str], statements: Iterable[Statement]
) -> tuple[str, ...]:
    """Which experiments an `--only` asks for: one of them, or the one behind a claim; none if it is neither."""
    if only in experiments:
        return (only,)
    return tuple({statement.experiment for statement in statements if statement.id == only})


def document(paper: str, scale: str, claims: Sequence[Claim], cpu_s: float) -> dict[str, Any]:
    """The object `ftlab.claims/1`; `cpu_s` is the CPU time of all runs, also of those that were there already."""
    rows = [claim.to_json() for claim in claims]
    return {"schema": SCHEMA, "paper": paper, "scale": scale, "cpu_s": cpu_s, "claims": rows}


def counts(claims: Iterable[Claim]) -> dict[Basis, Counter[Verdict]]:
    """Verdicts by what the claims rest on; bases without claims are left out."""
    found: dict[Basis, Counter[Verdict]] = {basis: Counter() for basis in BASES}
    for claim in claims:
        found[claim.basis][claim.verdict] += 1
    return {basis: verdicts for basis, verdicts in found.items() if verdicts}


class Share(NamedTuple):
    """How many of some claims are reproduced."""

    reproduced: int
    all: int
    """With those that were not run."""
    not_run: int = 0

    def __str__(self) -> str:
        """For people; empty where there are no claims."""
        missing = f" ({self.not_run} not run)" if self.not_run else ""
        return f"{self.reproduced} of {self.all}{missing}" if self.all else ""


COUNTED: tuple[Basis, ...] = ("stated", "corrected")
"""What the claims of *the* count rest on: the paper's words, read before the runs or corrected to them."""


def share(claims: Iterable[Claim], *bases: Basis) -> Share:
    """How many of the claims that rest on one of `bases` are reproduced."""
    verdicts = Counter(claim.verdict for claim in claims if claim.basis in bases)
    return Share(verdicts["reproduced"], verdicts.total(), verdicts["not-run"])


def counted(claims: Iterable[Claim]) -> list[str]:
    """How many claims hold, as the lines of a Markdown table."""
    rows = [
        f"| {BASES[basis]} | {found.total()} | {' | '.join(str(found[verdict]) for verdict in VERDICTS)} |"
        for basis, found in counts(claims).items()
    ]
    return [f"| claims | all | {' | '.join(VERDICTS)} |", "|---|" + "---:|" * (1 + len(VERDICTS)), *rows]


def tally(claims: Iterable[Claim]) -> str:
    """The same in a line for each, for people."""
    return "\n".join(
        f"{BASES[basis]}: {found['reproduced']} of {found.total()} claims reproduced, {found['direction']} in "
        f"direction, {found['not-reproduced']} not reproduced, {found['not-run']} not run"
        for basis, found in counts(claims).items()
    )


def measured(claim: Claim) -> str:
    """A claim's figure with its unit."""
    return f"{number(claim.measured)} {claim.unit}".strip()


def markdown(claims: Sequence[Claim], figure: Callable[[Claim], str] = measured) -> list[str]:
    """The claims as the lines of a Markdown table."""
    lines = [
        "| claim | paper | measured | verdict | basis | workload | kind |",
        "|---|---:|---:|---|---|---|---|",
    ]
    for claim in claims:
        paper = "" if claim.paper_value is None else claim.paper_value
        lines.append(
            f"| {claim.id}: {claim.claim} | {paper} | {figure(claim)} | {claim.verdict} | {BASES[claim.basis]} "
            f"| {claim.workload} | {claim.workload_kind} |"
        )
    return lines


def table(claims: Sequence[Claim], width: int) -> str:
    """The claims for people: a line of figures each, and the claim in words below it."""
    head = ["claim", "paper", "measured", "unit", "verdict", "workload", "kind"]
    rows = [
        [
            claim.id,
            "" if claim.paper_value is None else str(claim.paper_value),
            number(claim.measured),
            claim.unit,
            claim.verdict,
            claim.workload,
            claim.workload_kind,
        ]
        for claim in claims
    ]
    marks = {claim.id: "" if claim.basis == "stated" else f" ({BASES[claim.basis]})" for claim in claims}
    words = {claim.id: f"{claim.claim}. {claim.note}{marks[claim.id]}".strip() for claim in claims}
    figures = text.columns([head, *rows], align="<>><<<<")
    return "\n\n".join([tally(claims), figures, text.listed(words, width)])
