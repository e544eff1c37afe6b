"""A paper as data: the axes of its grid, what they set, what it claims, and what is shown of the runs.

A :class:`Study` does what is the same for every paper: it makes the workloads ready, runs the grid, judges the claims,
and writes the report. What is a paper's own are data, and functions from evidence to a figure, a row or a picture.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from ftlab.api.runner import in_threads
from ftlab.results import text
from ftlab.results.result import Result
from ftlab_reproduce import claims, workloads
from ftlab_reproduce.claims import Claim, Kind, Statement
from ftlab_reproduce.experiment import Grid, Run, Tell
from ftlab_reproduce.workloads import Library, Wanted, Workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Settings: TypeAlias = Mapping[str, Any]
"""Settings on top of a preset, by key."""


class Point(Protocol):
    """Where in the grid a run is: a named tuple, whose fields are the axes."""

    @property
    def workload(self) -> str:
        """A trace of the study, or a name for what the settings generate."""

    @property
    def label(self) -> str:
        """For people; unique in the grid."""

    def _asdict(self) -> dict[str, Any]: ...


P = TypeVar("P", bound=Point)


def grid(point: Callable[..., P], **axes: Iterable[Any]) -> tuple[P, ...]:
    """A point for every combination of values; the last axis changes first."""
    return tuple(
        point(**dict(zip(axes, values, strict=True))) for values in itertools.product(*axes.values())
    )


def settled(*layers: Settings) -> dict[str, Any]:
    """Settings over each other. A key takes the place of itself, of what it is a part of, and of its parts: a choice
    that names a parameter (`ftl.reclaim_unit.twin.pad`) stands for the choice (`ftl.reclaim_unit`).
    """
    sets: dict[str, Any] = {}
    for layer in layers:
        for key in layer:
            for other in [o for o in sets if f"{o}.".startswith(f"{key}.") or f"{key}.".startswith(f"{o}.")]:
                del sets[other]
        sets |= layer
    return sets


@dataclass(frozen=True, slots=True)
class Scale:
    """How large the device is."""

    ratio: float
    """Of the paper's volumes; traces are cut down, and made, by it."""
    sets: Settings = field(default_factory=dict)
    """What makes the presets' device so large."""
    leaves_out: Callable[[Any], bool] = lambda _: False
    """Points that this scale has no time or no use for."""
    on_request: frozenset[str] = frozenset()
    """Experiments that this scale runs only when they are asked for by name. No claim rests on them."""


class Evidence(Generic[P]):
    """The results of a grid, looked up by what claims ask."""

    FIGURES: ClassVar[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {}
    """The figures of a run, from its summary."""

    SUMMARY: ClassVar[Sequence[str]] = ()
    """The parts of a summary that claims and tables ask for, as dotted names: what is kept of a finished run."""

    @classmethod
    def reduced(cls, point: Any, result: Result) -> Mapping[str, Mapping[str, Any]]:
        """The tables that claims and tables of the report ask for, as small as they can be without another figure."""
        return {}

    def __init__(
        self,
        results: Mapping[P, Result],
        workloads: Mapping[str, Workload],
        beside: Mapping[str, Any] | None = None,
    ) -> None:
        self.results = results
        self.workloads = workloads
        """The traces that were ready, in the order of the study."""
        self.beside = beside or {}
        """What experiments found besides runs, by the experiment's name."""

    def figure(self, point: P, name: str) -> float:
        """One of `FIGURES`; NaN where it is not defined.

        Raises:
            KeyError: the point was not run.
        """
        value = self.FIGURES[name](self.results[point].summary)
        return math.nan if value is None else float(value)

    def kind(self, workload: str) -> Kind:
        """What a workload is; what is no trace is generated as it runs."""
        known = self.workloads.get(workload)
        return "generated" if known is None else known.kind

    def named(self, workload: str) -> str:
        """A workload with its kind, for people."""
        return f"{workload} ({self.kind(workload)})"

    def row(self, point: P) -> dict[str, Any]:
        """A run's figures, as JSON."""
        summary = self.results[point].summary
        figures = {name: of(summary) for name, of in self.FIGURES.items()}
        return {**point._asdict(), **figures, **{key: summary["run"][key] for key in ("wall_s", "cpu_s")}}

    def found_beside(self) -> dict[str, Any]:
        """What was found besides runs, as JSON."""
        return {}

    def words(self) -> list[str]:
        """What people are told besides the table of traces."""
        return []


LASTS = ("end_s", "capacities_written", "host_written_gb")
"""Columns of a series that say where a row ends."""

MEANS = {
    "latency_mean_us": ("reads", "writes"), "multiplane_program_fraction": ("host_page_programs",),
    "multiplane_read_fraction": ("host_page_reads",),
}  # fmt: skip
"""Columns that are means, and the columns of what they are a mean of; all others count."""


def joined(series: Mapping[str, Any], columns: Sequence[str], parts: Sequence[Any]) -> dict[str, list[float]]:
    """A series with one row for the rows of each part, of which the same sums and means follow."""
    found: dict[str, list[float]] = {column: [] for column in columns}
    for rows in parts:
        for column in columns:
            values = np.asarray(series[column], float)[rows]
            if column in LASTS:
                value = values[-1]
            elif column == "start_s":
                value = values[0]
            elif column in MEANS:
                weights = np.sum([np.asarray(series[of], float)[rows] for of in MEANS[column]], axis=0)
                known = ~np.isnan(values) & (weights > 0)
                value = (values * weights)[known].sum() / weights[known].sum() if known.any() else math.nan
            else:
                value = values.sum()
            found[column].append(float(value))
    axis: dict[str, list[Any]] = {"axis": ["volume"] * len(parts)}
    return axis | found


class Work(NamedTuple):
    """What an experiment may use for what it does besides runs."""

    study: Study
    scale: str
    out: Path
    tell: Tell
    jobs: int | None

    def run(self, point: Any) -> Run:
        """A point that needs no trace, as a run of the engine."""
        return self.study.run(point, None, self.study.scales[self.scale])


Table: TypeAlias = Callable[[Any], list[str]]
"""Lines of the report, from the evidence."""

Picture: TypeAlias = "Callable[[Any], Figure | None]"
"""A figure, from the evidence; `None` where there is nothing to draw."""


def tabled(title: str, head: Sequence[str]) -> Callable[[Callable[[Any], Iterable[Sequence[str]]]], Table]:
    """Makes the rows that a function gives a section of the report."""

    def made(rows: Callable[[Any], Iterable[Sequence[str]]]) -> Table:
        return lambda evidence: text.markdown_table(title, head, list(rows(evidence)))

    return made


@dataclass(frozen=True, slots=True)
class Experiment:
    """A part of a study that can be run alone."""

    words: str
    """What is run, for people."""
    points: Sequence[Any] = ()
    """Its runs; experiments may share some."""
    tables: Sequence[Table] = ()
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    beside: Callable[[Work], Any] | None = None
    """What it does besides runs."""


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
    cpu_s: float
    """Of all runs, also of those that were there already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A paper whose experiments can be run and whose claims can be judged."""

    name: str
    """What the command calls it."""
    title: str
    scales: Mapping[str, Scale]
    experiments: Mapping[str, Experiment]
    """By the name that `--only` takes."""
    statements: Sequence[Statement]
    """Its claims, in the order of the report."""
    preset: Callable[[Any], str]
    """The preset that a point's settings are on top of."""
    sets: Callable[[Any, Any, Any], Settings] = lambda *_: {}
    """What depends on more than one axis, on the workload or on the scale: of a point, its trace and its scale."""
    waits_for: Callable[[Any], Sequence[Any]] = lambda _: ()
    """Points whose results decide what a point sets; they are run before it."""
    sets_after: Callable[[Any, Any], Settings] = lambda *_: {}
    """What a point sets besides because of the results that it waited for: of the point and the evidence so far."""
    axes: Mapping[str, Mapping[Any, Settings]] = field(default_factory=dict)
    """What the values of an axis set, on top of `sets`; a later axis overrides an earlier one."""
    weight: Callable[[Any, Any, Any], float] = lambda *_: 1.0
    """About how much work a run is, beside the others."""
    traces: Callable[[Any], Sequence[Wanted]] = lambda _: ()
    """The traces that points name, at a scale; all other workloads are generated as they run."""
    places: Sequence[Path] = ()
    """Where real traces may lie beside the project; the first that has one counts."""
    origin: Callable[[Workload], str] = lambda workload: workload.origin
    """Where a trace comes from, for the report."""
    evidence: type[Evidence[Any]] = Evidence
    tables: Sequence[Table] = ()
    """Tables of all runs, behind those of the experiments."""
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    """Pictures that are drawn whenever there are results for them, whichever experiment they come from."""
    measured: Callable[[Claim], str] = claims.measured
    """A claim's figure in the report."""
    lists_all: bool = False
    """Whether the report lists claims of experiments that were left out, also where one was asked for."""

    @property
    def picture_names(self) -> list[str]:
        """The names of all pictures there may be."""
        own = [name for experiment in self.experiments.values() for name in experiment.pictures]
        return [*own, *self.pictures]

    def default_experiments(self, scale: str) -> tuple[str, ...]:
        """The experiments that are run at a scale when none is asked for."""
        return tuple(name for name in self.experiments if name not in self.scales[scale].on_request)

    def points(self, experiments: Iterable[str], scale: str) -> list[Any]:
        """The grid of experiments at a scale, each point once."""
        leaves_out = self.scales[scale].leaves_out
        asked = (point for name in experiments for point in self.experiments[name].points)
        everything = (every for point in asked for every in (*self.waits_for(point), point))
        return [point for point in dict.fromkeys(everything) if not leaves_out(point)]

    def run(self, point: Any, workload: Workload | None, scale: Scale, after: Settings | None = None) -> Run:
        """A point as a run of the engine; `after` is what it sets after the results that it waited for."""
        of_axes = (values[getattr(point, axis)] for axis, values in self.axes.items())
        return Run(
            label=point.label,
            preset=self.preset(point),
            sets=settled(scale.sets, self.sets(point, workload, scale), *of_axes, after or {}),
            trace=None if workload is None else workload.path,
            weight=self.weight(point, workload, scale),
        )

    def reproduce(
        self, experiments: Sequence[str], scale: str, out: Path, own: Path | None, tell: Tell | None = None,
        jobs: int | None = None,
    ) -> Outcome:  # fmt: skip
        """Makes workloads ready, runs what is not there yet, and judges.

        Raises:
            ConfigError: a configuration cannot be used.
            InputError: a trace or the output directory cannot be used.
            RunError: a run failed.
        """
        evidence = self.gather(experiments, Work(self, scale, out, tell or Tell(), jobs), own)
        found = self.judged(evidence, experiments)
        return Outcome(
            found,
            "\n\n".join([*_table_of(evidence), *evidence.words()]),
            self.report(scale, experiments, evidence, found),
            self.figures(evidence),
            lambda: self.drawn(evidence, experiments),
            sum(float(result.summary["run"]["cpu_s"] or 0.0) for result in evidence.results.values()),
        )

    def gather(self, experiments: Sequence[str], work: Work, own: Path | None) -> Evidence[Any]:
        """Makes the workloads ready and runs what is not there yet."""
        scale = self.scales[work.scale]
        points = self.points(experiments, work.scale)
        traces = [wanted for wanted in self.traces(scale) if wanted.name in {p.workload for p in points}]
        library = Library(work.out / "traces", scale.ratio, own, self.places)
        ready = _ready(library, traces, work)
        absent = {wanted.name for wanted in traces} - set(ready)
        points = [point for point in points if point.workload not in absent]
        kept = Grid(work.out / "runs")
        results: dict[Any, Result] = {}
        for waits in (False, True):
            so_far = self.evidence(results, ready)
            runs = {
                point: self.run(point, ready.get(point.workload), scale, self.sets_after(point, so_far))
                for point in points if bool(self.waits_for(point)) is waits
            }  # fmt: skip
            if runs:
                made = kept.run(list(runs.values()), work.tell, work.jobs)
                results |= {point: made[run.label] for point, run in runs.items()}
        results = {point: results[point] for point in points}
        of_experiments = {name: self.experiments[name].beside for name in experiments}
        beside = {name: do(work) for name, do in of_experiments.items() if do is not None}
        return self.evidence(results, ready, beside)

    def judged(self, evidence: Evidence[Any], experiments: Sequence[str]) -> list[Claim]:
        """Every claim with what was measured; those of other experiments are not run, whatever their runs share."""
        nothing = self.evidence({}, evidence.workloads)
        kinds = {name: workload.kind for name, workload in evidence.workloads.items()}
        return [
            statement.judged(evidence if statement.experiment in experiments else nothing, kinds)
            for statement in self.statements
        ]

    def figures(self, evidence: Evidence[Any]) -> dict[str, Any]:
        """The figures of every run, as JSON."""
        rows = [evidence.row(point) for point in evidence.results]
        return {
            "schema": "ftlab.reproduction/1", "paper": self.name, "runs": rows, **evidence.found_beside(),
        }  # fmt: skip

    def report(
        self, scale: str, experiments: Sequence[str], evidence: Evidence[Any], found: Sequence[Claim]
    ) -> str:
        """Workloads, claims and every figure as a Markdown page."""
        whole = self.lists_all or set(experiments) >= set(self.default_experiments(scale))
        listed = [claim for claim in found if whole or claim.verdict != "not-run"]
        is_default = tuple(experiments) == self.default_experiments(scale)
        # Pages of the same paper are told apart by their titles.
        asked = "" if is_default else f": {', '.join(experiments)}"
        lines = [f"# {self.title}, scale {scale}{asked}", ""]
        if is_default and tuple(experiments) != tuple(self.experiments):
            left = ", ".join(name for name in self.experiments if name not in experiments)
            lines += [f"Run at this scale only when `--only` asks for them: {left}.", ""]
        if listed:
            lines += [*claims.counted(listed), ""]
        for traces in _table_of(evidence):
            lines += ["## Workloads", "", "```", traces, "```", ""]
            lines += [f"- {name}: {self.origin(workload)}" for name, workload in evidence.workloads.items()]
            lines.append("")
        if listed:
            lines += ["## Claims", "", *claims.markdown(listed, self.measured)]
        for table in (
            *(table for name in experiments for table in self.experiments[name].tables),
            *self.tables,
        ):
            lines += ["", *table(evidence)]
        return "\n".join(lines) + "\n"

    def drawn(self, evidence: Evidence[Any], experiments: Sequence[str]) -> dict[str, Figure]:
        """The pictures of experiments, by name."""
        pictures = dict(self.pictures)
        for name in experiments:
            pictures |= self.experiments[name].pictures
        made = {name: draw(evidence) for name, draw in pictures.items()}
        return {name: figure for name, figure in made.items() if figure is not None}


def _ready(library: Library, traces: Sequence[Wanted], work: Work) -> dict[str, Workload]:
    """Makes traces ready, side by side as runs are; the longest to make first."""

    def one(wanted: Wanted, _: Callable[[], None]) -> Workload | None:
        work.tell.note(f"preparing {wanted.name}")
        return library.get(wanted)

    order = sorted(traces, key=lambda wanted: -getattr(wanted.model, "requests", 0))
    made = in_threads(one, order, work.jobs or os.cpu_count() or 1)
    found = {wanted.name: workload for wanted, workload in zip(order, made, strict=True)}
    return {wanted.name: workload for wanted in traces if (workload := found[wanted.name]) is not None}


def _table_of(evidence: Evidence[Any]) -> list[str]:
    """The table of the traces, if there are any."""
    known = list(evidence.workloads.values())
    return [workloads.table(known)] if known else []
