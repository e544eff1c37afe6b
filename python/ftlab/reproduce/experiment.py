"""A grid of runs that can be interrupted and taken up again.

Each run's result is kept under the hash of everything that determines it: the resolved configuration, the bytes of its
trace, and the engine. What is there already is not run again; what is there for another engine or another trace is not
taken for this one's.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ftlab import _core
from ftlab.configs import Source, set_list
from ftlab.output import OutputDirectory
from ftlab.reproduce.kept import Store
from ftlab.result import Result
from ftlab.simulation import Job, Progress


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
        resolved = self.job().resolve()
        resolved["workload"].pop("trace", None)
        trace = None if self.trace is None else file_digest(self.trace)
        facts = {"config": resolved, "trace": trace, "engine": engine_digest()}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """The hash of a file's bytes, remembered while its time and size stay."""
    about = path.stat()
    return _digest(path, about.st_mtime_ns, about.st_size)


@cache
def _digest(path: Path, mtime_ns: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def engine_digest() -> str:
    """The compiled engine's hash: a result is as good as the engine that gave it, whatever its version says."""
    return file_digest(Path(_core.__file__))


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
        if missing:
            results |= _in_threads(missing, keys, self._store, tell, jobs or os.cpu_count() or 1)
        return {run.label: results[run.label] for run in runs}

    def _kept(self, label: str, key: str, tell: Tell) -> Result | None:
        return self._store.take(key, Result.load, lambda why: tell.warn(f"the kept run `{label}` in {why}"))


class _Stopped(Exception):
    """Another run failed, or the user asked to stop."""


def _in_threads(
    runs: Sequence[Run], keys: Mapping[str, str], store: Store, tell: Tell, jobs: int
) -> dict[str, Result]:
    stop = threading.Event()

    def one(run: Run) -> Result:
        def watch(now: Progress) -> None:
            if stop.is_set():
                raise _Stopped
            tell.running(run.label, now.fraction or 0.0, run.weight)

        if stop.is_set():
            raise _Stopped
        result = run.job().run(watch)
        store.keep(keys[run.label], lambda place: OutputDirectory(place).write_result(result, plots=False))
        tell.done(run.label, run.weight)
        return result

    with ThreadPoolExecutor(min(jobs, len(runs))) as pool:
        futures = [pool.submit(one, run) for run in runs]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            # Also when Ctrl-C interrupts the wait. A run in progress notices within a tenth of a second.
            stop.set()
            for future in futures:
                future.cancel()
    _raise_first(futures)
    return {run.label: future.result() for run, future in zip(runs, futures, strict=True)}


def _raise_first(futures: Sequence[Future[Result]]) -> None:
    for future in futures:
        if not future.cancelled() and (error := future.exception()) and not isinstance(error, _Stopped):
            raise error


CLEAR = "\r\x1b[K"
"""Empties the line that a terminal's cursor is in."""


class Tell:
    """The progress of a grid: one line on a terminal, nothing elsewhere. Without a stream nothing is said at all."""

    def __init__(self, stream: IO[str] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream if stream is not None else io.StringIO()
        self._show = self._stream.isatty()
        self._clock = clock
        self._lock = threading.Lock()
        self._at: dict[str, tuple[float, float]] = {}
        self._runs = self._finished = 0
        self._work = self._worked = 0.0
        self._since = self._drawn = clock()

    def __enter__(self) -> Tell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._show:
            self._stream.write(CLEAR)
            self._stream.flush()

    def note(self, message: str) -> None:
        """Says what is being prepared."""
        if self._show:
            self._draw(message)

    def warn(self, message: str) -> None:
        """Says what stays to be read, on a terminal or not."""
        with self._lock:
            self._stream.write(f"{CLEAR if self._show else ''}note: {message}\n")
            self._stream.flush()

    def begin(self, runs: int, finished: int, work: float) -> None:
        """A grid starts, of which some runs were there already."""
        with self._lock:
            self._runs, self._finished, self._work, self._worked = runs, finished, work, 0.0
            self._since = self._clock()

    def running(self, label: str, fraction: float, weight: float) -> None:
        """How far a run is; from any thread."""
        with self._lock:
            self._at[label] = (fraction, weight)
            if self._show and self._clock() - self._drawn > 0.2:
                self._draw(self.line())

    def done(self, label: str, weight: float) -> None:
        """A run is finished and kept."""
        with self._lock:
            self._at.pop(label, None)
            self._finished += 1
            self._worked += weight
            if self._show:
                self._draw(self.line())

    def line(self) -> str:
        """Runs finished, runs under way, time left."""
        parts = [f"{self._finished}/{self._runs} runs"]
        parts += [f"{label} {100 * fraction:.0f} %" for label, (fraction, _) in sorted(self._at.items())]
        worked = self._worked + sum(fraction * weight for fraction, weight in self._at.values())
        passed = self._clock() - self._since
        if passed > 2 and worked > 0:
            left = passed * (self._work - worked) / worked
            parts.append(f"{left / 60:.0f} min left" if left > 90 else f"{left:.0f} s left")
        return "   ".join(parts)

    def _draw(self, line: str) -> None:
        self._drawn = self._clock()
        width = max(20, shutil.get_terminal_size((110, 24)).columns - 1)
        self._stream.write(f"{CLEAR}{line[:width]}")
        self._stream.flush()
