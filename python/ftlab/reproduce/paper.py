"""What a paper's module gives to the command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ftlab.reproduce.claims import Statement
from ftlab.reproduce.experiment import Tell
from ftlab.reproduce.study import Outcome


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
    picture_names: Sequence[str]
    """The names of all pictures there may be."""
    reproduce: Reproduce
