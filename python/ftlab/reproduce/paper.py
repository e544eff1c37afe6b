"""What a paper's module gives to the command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ftlab.reproduce.claims import Claim, Statement
from ftlab.reproduce.experiment import Tell

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found."""

    claims: list[Claim]
    tables: str
    """What people are told before the claims."""
    report: str
    """Everything as a Markdown page."""
    figures: dict[str, Any]
    """The figures of every run, as JSON."""
    pictures: Callable[[], Mapping[str, Figure]]
    """Draws them, by name."""


class Reproduce(Protocol):
    """Makes workloads ready, runs what is not there yet, and judges."""

    def __call__(
        self, experiments: Sequence[str], scale: str, out: Path, own: Path | None, tell: Tell | None = None,
        jobs: int | None = None,
    ) -> Outcome: ...  # fmt: skip


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose experiments can be run."""

    name: str
    scales: Sequence[str]
    experiments: Mapping[str, str]
    """What each runs, by the name that `--only` takes."""
    statements: Sequence[Statement]
    pictures: Sequence[str]
    """The names of all pictures there may be."""
    reproduce: Reproduce
