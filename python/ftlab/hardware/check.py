"""The check: every figure of every row, met or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ftlab._core import Error, __version__
from ftlab.hardware.rows import NAMED, SCHEMA, Figure, Kind, Row, row_of, rows
from ftlab.hardware.runs import Measured, Scale, measure

Verdict: TypeAlias = Literal["met", "missed", "not built", "failed"]

WORDS: Mapping[Verdict, str] = {
    "met": "met", "missed": "not met", "not built": "needs what is not built", "failed": "could not be run",
}  # fmt: skip


KINDS: Mapping[Kind, str] = {
    "predicted": "of figures that nothing was taken from",
    "fitted": "of fitted figures",
    "hindsight": "of figures with what was chosen in hindsight",
}
"""Figures by what they say of the model, in words."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure of a drive beside ours."""

    row: Row
    figure: Figure
    measured: float | None
    verdict: Verdict
    why: str = ""
    """Why there is no figure of ours."""

    @property
    def ratio(self) -> float | None:
        """Ours as a multiple of the drive's."""
        return None if self.measured is None else self.measured / self.figure.value

    def to_json(self) -> dict[str, Any]:
        """For the object of the check."""
        return {
            "name": self.figure.name,
            "unit": self.figure.unit,
            "drive": self.figure.value,
            "ours": self.measured,
            "tolerance": self.figure.tolerance,
            "verdict": self.verdict,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Check:
    """All that was checked."""

    scale: Scale
    judged: Sequence[Judged]
    measured: Mapping[str, Measured]
    """The runs, by row."""

    def counts(self) -> dict[str, dict[Verdict, int]]:
        """The number of figures of each verdict, by what they say of the model."""
        found: dict[str, dict[Verdict, int]] = {}
        for kind in KINDS:
            each = [judged for judged in self.judged if judged.row.kind == kind]
            found[kind] = {verdict: sum(one.verdict == verdict for one in each) for verdict in WORDS}
        return found

    def to_json(self) -> dict[str, Any]:
        """The object of the check."""
        by_row: dict[str, dict[str, Any]] = {}
        for judged in self.judged:
            row = judged.row
            about = {
                "family": row.family, "drive": row.drive, "job": row.job, "source": row.source, "preset": row.preset,
                "needs": row.needs, "assumes": row.assumes, "fitted": row.fitted, "hindsight": row.hindsight,
                "figures": [],
            }  # fmt: skip
            by_row.setdefault(row.id, about)["figures"].append(judged.to_json())
        for name, measured in self.measured.items():
            if name in by_row:
                by_row[name]["measured"] = dict(measured.figures)
        return {
            "schema": SCHEMA,
            "ftlab_version": __version__,
            "scale": self.scale,
            "counts": self.counts(),
            "rows": by_row,
        }


def check(
    asked: Sequence[Row], scale: Scale = "quick", tell: Callable[[str], object] = lambda _: None
) -> Check:
    """Runs rows and judges them; a row that fails does not stop the others.

    Args:
        asked: the rows; those whose figures they are made of are run too.
        scale: `full` has whole drives and the jobs' own times.
        tell: called with what is run now.
    """
    names = {row.id for row in asked} | {other for row in asked for other in row.others()}
    measured: dict[str, Measured] = {}
    failures: dict[str, str] = {}
    for row in rows():
        if row.id not in names or not row.runs:
            continue
        tell(f"row {row.id}: {row.job}")
        try:
            measured[row.id] = measure(row, scale)
        except Error as error:
            failures[row.id] = str(error)
    judged = [_judged(row, figure, measured, failures) for row in asked for figure in row.figures]
    return Check(scale, judged, measured)


def _judged(
    row: Row, figure: Figure, measured: Mapping[str, Measured], failures: Mapping[str, str]
) -> Judged:
    if row.needs:
        return Judged(row, figure, None, "not built", row.needs)
    of, over = ((_found(name, row, measured) if name else None) for name in (figure.of, figure.over))
    if of is None or (figure.over and over is None):
        why = next((failures[name] for name in (row.id, *sorted(row.others())) if name in failures), "")
        return Judged(row, figure, None, "failed", why or f"the run has no figure `{figure.of}`")
    value = of if over is None else of / over
    return Judged(row, figure, value, "met" if figure.is_met(value) else "missed")


def _found(name: str, row: Row, measured: Mapping[str, Measured]) -> float | None:
    """A measured figure, of the row itself or of the one whose id stands before it."""
    of, name = row_of(name) if NAMED in name else (row.id, name)
    return measured[of].figures.get(name) if of in measured else None
