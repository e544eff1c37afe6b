"""The rows: what was measured of which drive, and how near is near enough."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeAlias

from ftlab._core import ConfigError
from ftlab.base.hints import nearest

Kind: TypeAlias = Literal["predicted", "fitted", "hindsight"]

QUICK_RUNTIME, QUICK_REQUESTS = 8, 100_000
"""Seconds and requests of a job at the quick scale, where a row says nothing else."""

SCHEMA = "ftlab.hardware/1"
"""The schema of the object of a check."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a drive."""

    name: str
    value: float
    unit: str = ""
    of: str = ""
    """The measured figure that it is compared with; of another row, as `17 | read p50`."""
    over: str = ""
    """The figure that this one is divided by."""
    within: float | None = None
    """As far from it as this fraction of it is near enough."""
    factor: float | None = None
    """Up to this many times as much, or as little, is near enough."""
    at_most: float | None = None
    """Any figure up to this one is near enough, whatever the drive's is."""

    def is_met(self, measured: float) -> bool:
        """True for a measured figure that is near enough."""
        if self.at_most is not None:
            return measured <= self.at_most
        if self.factor is not None:
            return self.value / self.factor <= measured <= self.value * self.factor
        assert self.within is not None
        return abs(measured - self.value) <= self.within * self.value

    @property
    def tolerance(self) -> str:
        """How near is near enough, in words."""
        if self.at_most is not None:
            return f"at most {self.at_most:g}"
        if self.factor is not None:
            return f"× or ÷ {self.factor:g}"
        assert self.within is not None
        return "exactly" if self.within < 1e-6 else f"± {100 * self.within:g} %"


@dataclass(frozen=True, slots=True)
class Row:
    """A job of a drive, and its figures."""

    id: str
    family: str
    drive: str
    job: str
    """The job in words."""
    source: str
    figures: Sequence[Figure]
    preset: str = ""
    """The drive that stands for it; empty where nothing can."""
    needs: str = ""
    """Mechanisms that the row needs and that are not built; empty: it can be run."""
    assumes: str = ""
    """Assumptions that the source does not decide."""
    fitted: bool = False
    """True if constants of the preset were taken from it."""
    fio: str = ""
    """The job file; where it is empty, `sets` has the workload."""
    hindsight: str = ""
    """The choice that was made after figures of other rows were seen; empty: none."""
    sets: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the quick scale."""
    quick_runtime: int = QUICK_RUNTIME
    """Seconds of a job that ends with the time, at the quick scale."""
    quick_requests: int = QUICK_REQUESTS
    """Requests of a job that has a number of them, at the quick scale, at most."""
    full: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the full scale."""

    @property
    def kind(self) -> Kind:
        """The weight of its figures as proof of the model."""
        return "hindsight" if self.hindsight else "fitted" if self.fitted else "predicted"

    @property
    def runs(self) -> bool:
        """True for a row that is measured itself; others have no run, or take figures of other rows."""
        return bool(self.preset and not self.needs and (self.fio or self.sets))

    @property
    def source_of_drive(self) -> str:
        """The preset, or the text of the drive of this package that has its name."""
        file = resources.files(__package__).joinpath(f"{self.preset}.toml")
        return file.read_text(encoding="utf-8") if "/" not in self.preset and file.is_file() else self.preset

    def others(self) -> set[str]:
        """The rows whose figures it is made of."""
        if self.needs:
            return set()
        named = {row_of(name)[0] for each in self.figures for name in (each.of, each.over) if NAMED in name}
        return named - {self.id}


NAMED = " | "
"""The separator between a row and a figure of it."""


def row_of(name: str) -> tuple[str, str]:
    """The row of a figure, and the figure's own name: `17 | read p50`."""
    row, _, figure = name.partition(NAMED)
    return row, figure


@cache
def rows() -> tuple[Row, ...]:
    """All rows, in order."""
    data = tomllib.loads(resources.files(__package__).joinpath("rows.toml").read_text(encoding="utf-8"))
    whole: dict[str, dict[str, Any]] = {}
    for each in data["row"]:
        other = whole.get(each.pop("like", ""), {})
        sets = {"sets": {**other.get("sets", {}), **each.pop("sets", {})}}
        whole[each["id"]] = {**other, **each, **sets}
    made = []
    for each in whole.values():
        figures = tuple(Figure(**figure) for figure in each.pop("figures"))
        quick = {**data["quick"].get(each.get("preset", ""), {}), **each.pop("quick", {})}
        made.append(Row(**{**each, "source": data["source"][each["source"]]}, figures=figures, quick=quick))
    return tuple(made)


def chosen(names: Sequence[str]) -> tuple[Row, ...]:
    """The rows that are named, by id, by its beginning, or by family; all where none is.

    Raises:
        ConfigError: a name is that of no row.
    """
    found: dict[str, Row] = {}
    for name in names:
        told = [
            row
            for row in rows()
            if row.family == name or row.id == name or row.id.startswith((f"{name} ", f"{name}:"))
        ]
        if not told:
            words = sorted({row.id for row in rows()} | {row.family for row in rows()})
            hint = nearest(name, words)
            raise ConfigError(
                f"error: there is no row `{name}`; expected an id such as `17`, or one of the families "
                + ", ".join(f"`{family}`" for family in dict.fromkeys(row.family for row in rows()))
                + (f"\nhint: {hint}" if hint else "")
            )
        found.update((row.id, row) for row in told)
    return tuple(row for row in rows() if row.id in found) if names else rows()
