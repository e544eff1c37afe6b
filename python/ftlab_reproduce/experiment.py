"""A grid of runs that can be interrupted and taken up again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ftlab.api import runner
from ftlab.api.aged_states import States
from ftlab.api.configs import Source, set_list
from ftlab.api.runner import Tell as Tell
from ftlab.api.runner import engine_digest as engine_digest
from ftlab.api.simulation import Job, Progress
from ftlab.results.kept import Store
from ftlab.results.output import scratch
from ftlab.results.result import Result


@dataclass(frozen=True, slots=True)
class Run:
    """One point of a grid."""

    label: str
    """What the progress line calls it; unique in a grid."""
    preset: str
    """The device."""
    sets: Mapping[str, Any]
    """Settings on top of the preset."""
    trace: Path | None = None
    """The trace to replay; without one, the generator that the settings name."""
    weight: float = 1.0
    """About how much work it is, beside the others."""

    def job(self) -> Job:
        """The run as the engine takes it."""
        return Job(
            self.label,
            Source.of(self.preset),
            set_list(self.sets),
            None if self.trace is None else str(self.trace),
        )

    def key(self) -> str:
        """The hash of what determines its result."""
        return runner.key_of(self.job())


class Grid:
    """Runs and their results, kept under `directory`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._store = Store(directory)

    def run(
        self, runs: Sequence[Run], tell: Tell | None = None, jobs: int | None = None
    ) -> dict[str, Result]:
        """The results by label. Runs that are already there are read; the rest run in parallel threads.

        Raises:
            ConfigError: a configuration cannot be used; found before any simulation starts.
            RunError: a run failed; the others are stopped, and what was finished is kept.
        """
        tell = tell or Tell()
        keys = {run.label: run.key() for run in runs}
        assert len(keys) == len(runs), "results are told apart by their labels"
        kept = {label: self._kept(label, key, tell) for label, key in keys.items()}
        results = {label: result for label, result in kept.items() if result is not None}
        # The longest first, so that no thread is left alone with one at the end.
        missing = sorted((run for run in runs if run.label not in results), key=lambda run: -run.weight)
        tell.begin(len(runs), len(results), sum(run.weight for run in missing))
        if self.directory.is_dir():
            # What a killed process left unfinished goes, whether anything is run or not.
            with scratch(self.directory):
                pass
        if missing:
            results |= self._run_all(missing, keys, tell, jobs or os.cpu_count() or 1)
        return {run.label: results[run.label] for run in runs}

    def _kept(self, label: str, key: str, tell: Tell) -> Result | None:
        return self._store.take(key, Result.load, lambda why: tell.warn(f"the kept run `{label}` in {why}"))

    def _run_all(
        self, runs: Sequence[Run], keys: Mapping[str, str], tell: Tell, at_once: int
    ) -> dict[str, Result]:
        """Runs them in threads; those that age the same device share its state."""
        jobs = [run.job() for run in runs]
        self.directory.mkdir(parents=True, exist_ok=True)

        def one(i: int, go_on: Callable[[], None]) -> Result:
            run = runs[i]

            def watch(now: Progress) -> None:
                tell.running(run.label, now.fraction or 0.0, run.weight)

            result = states.run(i, jobs[i], runner.stopping(go_on, watch), go_on)
            runner.keep(self._store, keys[run.label], result)
            tell.done(run.label, run.weight)
            return result

        with States(self.directory, [job.resolve() for job in jobs]) as states:
            # Who saves a state goes first, and who starts from one last.
            order = sorted(range(len(runs)), key=states.rank)
            made = runner.in_threads(one, order, at_once)
        return {runs[i].label: result for i, result in zip(order, made, strict=True)}
