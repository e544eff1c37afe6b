"""Sweeps: many configurations, one table. What is finished is kept at once, so that a sweep goes on wherever it was
interrupted, on this machine or on a cluster.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlab._core import ConfigError, Error, InputError, RunError
from ftlab.api import own_policies, runner
from ftlab.api import until as ends
from ftlab.api.aged_states import States
from ftlab.api.configs import Source
from ftlab.api.runner import Tell
from ftlab.api.simulation import Job, Progress, at_once
from ftlab.base import arguments
from ftlab.results import output, plot
from ftlab.results.kept import Store
from ftlab.results.numbers import frame_of
from ftlab.results.result import Result
from ftlab.sweeps import volumes
from ftlab.sweeps.spec import Planned, Spec
from ftlab.sweeps.table import Row, is_sweep_table, means, read_table, table

if TYPE_CHECKING:
    import pyarrow as pa

RUNS = "runs.parquet"
"""The tidy table: a row for each run."""

MEANS = "means.parquet"
"""Mean and spread over the seeds: a row for each combination of the other factors."""

VOLUMES = "volumes.parquet"
"""How WAF is spread over volumes, where they are a factor; `volumes.png` and `.svg` show it."""


WRITE_S = 20.0
"""How old the tables of a sweep under way may be, in seconds."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The result of a sweep."""

    table: pa.Table
    """A row for each run: its factors, `status` (`ok`, `failed`, or `missing` where another shard runs it), `error`,
    `hash`, `engine`, and every figure of the summary.
    """
    means: pa.Table
    """A row for each combination of the factors but the seed: how many runs, and of each figure the mean and
    the standard deviation.
    """
    factors: tuple[str, ...]
    """The names of the factors, which are columns of both tables."""
    directory: Path | None
    """Where it is kept."""
    volumes: pa.Table | None = None
    """How WAF is spread over volumes, where they are a factor: a row for each combination of the others."""

    @classmethod
    def load(cls, directory: str | PathLike[str]) -> Sweep:
        """Reads the tables that `ftlab sweep` wrote.

        Raises:
            InputError: there is no sweep in the directory, or it cannot be read.
        """
        place = Path(arguments.file_name(directory, "directory"))
        runs, averages = (read_table(place / name) for name in (RUNS, MEANS))
        names = runs.column_names
        factors = tuple(names[names.index("label") + 1 : names.index("status")])
        spread = read_table(place / VOLUMES) if (place / VOLUMES).exists() else None
        return cls(runs, averages, factors, place, spread)

    @property
    def statuses(self) -> dict[str, int]:
        """The numbers of runs that are `ok`, `failed` and `missing`."""
        return dict(Counter(self.table.column("status").to_pylist()))

    @property
    def errors(self) -> dict[str, str]:
        """The messages of failed runs, by label."""
        rows = zip(
            self.table.column("label").to_pylist(), self.table.column("error").to_pylist(), strict=True
        )
        return {label: error for label, error in rows if error is not None}

    def _repr_html_(self) -> str:
        from ftlab.reports import notebook

        return notebook.of_sweep(self)

    def to_frame(self) -> Any:
        """The table as a pandas data frame.

        Raises:
            InputError: pandas is not installed.
        """
        return frame_of(self.table, "table")


def sweep(
    spec: str | PathLike[str] | Mapping[str, Any],
    *,
    out: str | PathLike[str] | None = None,
    jobs: int | None = None,
    shard: tuple[int, int] | None = None,
    scheduler: str | None = None,
    until: str | None = None,
    tell: Tell | None = None,
) -> Sweep:
    """Runs every configuration of a sweep that is not kept yet, in threads or on a Dask cluster.

    Args:
        spec: the path of a TOML file, or its content as a dictionary; see the how-to page on sweeps.
        out: the directory in which runs are kept and the tables are written. By default that of the
            specification; without either nothing is kept.
        jobs: runs at once; by default as many as there are processors, and memory for.
        shard: `(i, n)`: only every n-th run, from the i-th on (i from 1 to n).
        scheduler: the address of a Dask scheduler, such as `tcp://host:8786`, whose workers do the runs.
        until: `"steady"` or `"end-of-life"`, of each run; see :func:`ftlab.run`.
        tell: where progress is told.

    Raises:
        ConfigError: the specification cannot be used, or none of its configurations.
        InputError: the specification, a trace or the directory cannot be read or written.
        RunError: there is no such scheduler, or its workers have another engine.
    """
    read = Spec.of(spec)
    part = None if shard is None else _shard(shard)
    if jobs is not None:
        arguments.count(jobs, "jobs")
    if jobs is not None and scheduler is not None:
        raise ConfigError(
            "error: `jobs` is of this machine, and `scheduler` has workers of its own; expected one of them"
        )
    with ExitStack() as stack:
        place = out if out is not None else read.out
        kept = Path(stack.enter_context(tempfile.TemporaryDirectory()) if place is None else
                    arguments.file_name(place, "out"))  # fmt: skip
        directory = Directory(kept, part)
        made = _Sweeping(read, directory, tell or Tell(), until).run(jobs, part, scheduler)
        return made if place is not None else replace(made, directory=None)


def _shard(shard: tuple[int, int]) -> tuple[int, int]:
    i, n = (arguments.count(number, "shard") for number in shard)
    if i > n:
        raise ConfigError(f"error: there is no shard {i} of {n}; expected 1 to {n}")
    return i, n


class Directory:
    """The directory of a sweep: kept runs, and the tables of what is finished.

    Several processes may work in one, each at its shard; so no list of its files is kept, and the tables say themselves
    that they are a sweep's.

    Raises:
        InputError: it cannot be written, or has a file under a table's name that is none.
    """

    def __init__(self, path: Path, shard: tuple[int, int] | None) -> None:
        # It makes the directory, and checks that it can be written.
        self.path = output.OutputDirectory(path, ()).path
        name = "" if shard is None else f"-{shard[0]}-of-{shard[1]}"
        self._runs, self._means, self._volumes = (
            path / f"{Path(file).stem}{name}.parquet" for file in (RUNS, MEANS, VOLUMES)
        )
        self.store = Store(path / "runs")
        for file in (self._runs, self._means, self._volumes):
            if os.path.lexists(file) and not is_sweep_table(file):
                raise InputError(
                    f"error: {file} is there and was not written by ftlab, so it is not overwritten\n"
                    "hint: name another directory, or move that file away"
                )

    def write(self, runs: pa.Table, averages: pa.Table, spread: pa.Table | None) -> None:
        """Writes the tables, each as a whole; of volumes also the picture.

        Raises:
            RunError: they cannot be written.
        """
        import pyarrow.parquet as pq

        try:
            with output.scratch(self.path) as staging:
                for place, content in ((self._runs, runs), (self._means, averages), (self._volumes, spread)):
                    if content is None:
                        continue
                    with (staging / place.name).open("wb") as file:
                        pq.write_table(content, file, compression="zstd")
                    (staging / place.name).replace(place)
                if spread is not None and (drawn := volumes.figure(spread)) is not None:
                    plot.save({self._volumes.stem: drawn}, staging)
                    for picture in (self._volumes.with_suffix(suffix) for suffix in (".png", ".svg")):
                        (staging / picture.name).replace(picture)
        except OSError as error:
            raise RunError(
                f"error: the tables cannot be written to {self.path}: {error.strerror or error}"
            ) from None


class _Sweeping:
    """A sweep under way."""

    def __init__(self, spec: Spec, directory: Directory, tell: Tell, until: str | None) -> None:
        self._spec, self._directory, self._tell, self._until = spec, directory, tell, until
        self._rows: dict[int, Row] = {}
        self._writing = threading.Lock()
        self._written = time.monotonic()

    def run(self, jobs: int | None, shard: tuple[int, int] | None, scheduler: str | None) -> Sweep:
        runs = self._resolved()
        mine = [run for run in runs if shard is None or run.planned.index % shard[1] == shard[0] - 1]
        missing = [run for run in mine if not self._take(run)]
        self._tell.begin(len(mine), len(mine) - len(missing), float(len(missing)))
        if missing and scheduler is not None:
            _check_portable(missing)
            from ftlab.sweeps.cluster import run_on

            run_on(scheduler, missing, self._finished, self._tell)
        elif missing:
            self._run_here(missing, jobs)
        return self._write()

    def _resolved(self) -> list[Resolved]:
        """The runs whose configurations can be used; the others are failed runs."""
        found = []
        errors = []
        for planned in self._spec.runs:
            try:
                found.append(Resolved.of(replace(planned, job=ends.applied(planned.job, self._until))))
            except Error as error:
                errors.append(error)
                self._rows[planned.index] = Row(planned, "failed", error=str(error))
        if not found:
            raise errors[0]
        return found

    def _take(self, run: Resolved) -> bool:
        """True if a run is kept: it is taken from there."""
        summary = self._directory.store.take(
            run.key, _summary_of, lambda why: self._tell.warn(f"the kept run `{run.planned.label}` in {why}")
        )
        if summary is not None:
            self._rows[run.planned.index] = Row(run.planned, "ok", run.key, summary)
        return summary is not None

    def _run_here(self, runs: Sequence[Resolved], jobs: int | None) -> None:
        runs = [run for run in runs if self._fits(run)]
        if not runs:
            return
        states = States(self._directory.path, [run.resolved for run in runs])
        # Who saves a state goes first; who waits for one comes last, and so never waits for a run that has not begun.
        order = sorted(range(len(runs)), key=states.rank)
        threads = at_once([run.planned.job for run in runs], jobs)

        def one(i: int, go_on: Callable[[], None]) -> None:
            run = runs[i]

            def watch(now: Progress) -> None:
                self._tell.running(run.planned.label, now.fraction or 0.0, 1.0)

            try:
                heard = ends.heard(watch, self._until, run.resolved)
                result = states.run(i, run.planned.job, runner.stopping(go_on, heard), go_on)
            except (RunError, InputError) as error:
                self._finished(run, error)
            else:
                self._finished(run, result)

        with states:
            runner.in_threads(one, order, threads)

    def _fits(self, run: Resolved) -> bool:
        """True if there is memory for a run."""
        try:
            run.planned.job.memory()
        except ConfigError as error:
            self._finished(run, error)
            return False
        return True

    def _finished(self, run: Resolved, made: Result | Error) -> None:
        """Keeps what a run gave."""
        if isinstance(made, Result):
            runner.keep(self._directory.store, run.key, made)
            row = Row(run.planned, "ok", run.key, made.summary)
        else:
            row = Row(run.planned, "failed", run.key, error=str(made))
        self._rows[run.planned.index] = row
        self._tell.done(run.planned.label, 1.0, failed=not isinstance(made, Result))
        # Who looks at a sweep under way, or interrupts it, finds a table.
        if time.monotonic() - self._written > WRITE_S and self._writing.acquire(blocking=False):
            try:
                self._write()
            finally:
                self._written = time.monotonic()
                self._writing.release()

    def _write(self) -> Sweep:
        rows = [self._rows.get(planned.index) or Row(planned, "missing") for planned in self._spec.runs]
        factors = self._spec.factors
        runs, averages = table(rows, factors), means(rows, factors, self._spec.seed)
        spread = volumes.distribution(runs, factors, self._spec.seed)
        self._directory.write(runs, averages, spread)
        return Sweep(runs, averages, factors, self._directory.path, spread)


def _check_portable(runs: Sequence[Resolved]) -> None:
    """Refuses what the workers of a cluster do not have.

    Raises:
        ConfigError: a run has a policy of the user's own_policies.
    """
    for run in runs:
        for key, name in run.resolved["ftl"].items():
            if own_policies.names_own(name):
                raise ConfigError(
                    f"error: `ftl.{key}` is `{name}`, and the workers of a cluster do not have that code\n"
                    "hint: run the sweep without `--scheduler`; `--shard I/N` divides it over machines"
                )


def _summary_of(place: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((place / "summary.json").read_text(encoding="utf-8"))
    return summary


@dataclass(frozen=True, slots=True)
class Resolved:
    """A run whose configuration can be used."""

    planned: Planned
    resolved: dict[str, Any]
    """The configuration with every default filled in."""
    key: str
    """The hash of what determines its result."""

    @classmethod
    def of(cls, planned: Planned) -> Resolved:
        """Resolves a run.

        Raises:
            ConfigError: its configuration cannot be used.
            InputError: its trace or state cannot be read.
        """
        resolved = planned.job.resolve()
        if resolved["workload"].get("trace") == "-":
            raise ConfigError(
                "error: a sweep cannot read its trace from standard input: its runs are many, and known by the bytes "
                "of their trace\nhint: write the trace to a file, and name that"
            )
        return cls(planned, resolved, runner.hash_of(resolved))

    def portable(self) -> Job:
        """The run for another machine: no part of it is relative to a directory of this one."""
        config = json.loads(json.dumps(self.resolved))
        if "trace" in config["workload"]:
            config["workload"]["trace"] = absolute(config["workload"]["trace"])
        precondition = config["run"]["precondition"]
        if isinstance(precondition, dict) and "state" in precondition:
            precondition["state"] = absolute(precondition["state"])
        return Job(self.planned.label, Source("json", json.dumps(config)), [], None)


def absolute(file: str) -> str:
    """A file's name from the root on; links stay what they are."""
    return str(Path.cwd() / file)
