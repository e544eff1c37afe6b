"""Many runs: in threads, kept as soon as they are finished, and taken up again where they were interrupted.

Each result is kept under the hash of everything that determines it: the resolved configuration, the bytes of its trace
and of the state it starts from, and the engine. What is there already is not run again; what is there for another
engine or another trace is not taken for this one's.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, TypeVar

from ftlab import _core
from ftlab._core import InputError
from ftlab.api import own_policies
from ftlab.results.kept import Store
from ftlab.results.output import OutputDirectory
from ftlab.results.result import Result

if TYPE_CHECKING:
    from ftlab.api.simulation import Job, Progress

Item = TypeVar("Item")
Made = TypeVar("Made")


def key_of(job: Job) -> str:
    """The hash of what determines a run's result.

    Raises:
        ConfigError: the configuration cannot be used.
        InputError: the trace or state file cannot be read.
    """
    return hash_of(job.resolve(), None if job.table is None else job.table.path)


def hash_of(resolved: dict[str, Any], trace_file: str | None = None) -> str:
    """The hash of what determines the result of a resolved configuration; where its files lie is no part of that. The
    bytes of the trace are in `trace_file` where it has no name.

    Raises:
        InputError: the trace or state file cannot be read.
    """
    workload = {name: value for name, value in resolved["workload"].items() if name != "trace"}
    trace = trace_file or resolved["workload"].get("trace")
    facts: dict[str, Any] = {
        "config": {**resolved, "workload": workload},
        "trace": None if trace is None else file_digest(Path(trace)),
        "engine": engine_digest(),
    }
    if policies := [name for name in resolved["ftl"].values() if own_policies.names_own(name)]:
        facts["policies"] = [own_policies.digest(name) for name in policies]
    precondition = resolved["run"]["precondition"]
    if isinstance(precondition, dict) and "state" in precondition:
        facts["config"]["run"] = {**resolved["run"], "precondition": "state"}
        facts["state"] = file_digest(Path(precondition["state"]))
    return digest_of(facts)


def digest_of(facts: Any) -> str:
    """The hash of plain data."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """The hash of a file's bytes, remembered while its time and size stay.

    Raises:
        InputError: it cannot be read.
    """
    try:
        about = path.stat()
        return _digest(path, about.st_mtime_ns, about.st_size)
    except OSError as error:
        raise InputError(f"error: {path} cannot be read: {error.strerror}") from None


@cache
def _digest(path: Path, mtime_ns: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def engine_digest() -> str:
    """The compiled engine's hash: a result is as good as the engine that gave it, whatever its version says."""
    return file_digest(Path(_core.__file__))


def keep(store: Store, key: str, result: Result) -> None:
    """Keeps a result, without plots.

    Raises:
        InputError: it cannot be written.
    """
    store.keep(key, lambda place: OutputDirectory(place).write_result(result, plots=False))


class _Stopped(Exception):
    """Another thread failed, or the user asked to stop."""


def in_threads(
    work: Callable[[Item, Callable[[], None]], Made], items: Sequence[Item], at_once: int
) -> list[Made]:
    """The results of `work` by item, in threads; items are begun in their order. It calls its second argument now and
    then, which raises when another item failed or the user asked to stop.
    """
    stop = threading.Event()

    def go_on() -> None:
        if stop.is_set():
            raise _Stopped

    def one(item: Item) -> Made:
        go_on()
        return work(item, go_on)

    futures: list[Future[Made]] = []
    with ThreadPoolExecutor(max(1, min(at_once, len(items)))) as pool:
        try:
            futures.extend(pool.submit(one, item) for item in items)
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            # Also when Ctrl-C comes while items are begun. The engine notices within a tenth of a second.
            stop.set()
            for future in futures:
                future.cancel()
    _raise_first(futures)
    return [future.result() for future in futures]


def _raise_first(futures: Sequence[Future[Any]]) -> None:
    """Raises the first failure that is not the consequence of another."""
    for future in futures:
        if not future.cancelled() and (error := future.exception()) and not isinstance(error, _Stopped):
            raise error


def stopping(
    go_on: Callable[[], None], watch: Callable[[Progress], object] | None
) -> Callable[[Progress], object]:
    """A run's progress function that also hears whether to stop."""

    def tell(now: Progress) -> None:
        go_on()
        if watch is not None:
            watch(now)

    return tell


def _rate(runs: float) -> str:
    """Runs an hour, without powers of ten."""
    return f"{runs:,.0f}" if runs >= 10 else f"{runs:.2g}"


CLEAR = "\r\x1b[K"
"""Empties the line that a terminal's cursor is in."""


MINUTE_S = 60.0
"""Time between two lines where there is no terminal."""


class Tell:
    """The progress of a grid: one line that changes on a terminal; elsewhere, as in the log of a batch system, a line a
    minute. Without a stream nothing is said at all.
    """

    def __init__(self, stream: IO[str] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream if stream is not None else io.StringIO()
        self._show = self._stream.isatty()
        self._logs = stream is not None and not self._show
        self._over = threading.Event()
        self._clock = clock
        self._lock = threading.Lock()
        self._at: dict[str, tuple[float, float]] = {}
        self._runs = self._finished = self._failed = self._there = 0
        self._doing = ""
        self._work = self._worked = 0.0
        self._since = self._drawn = clock()

    def __enter__(self) -> Tell:
        if self._logs:
            threading.Thread(target=self._log, daemon=True).start()
        return self

    def _log(self) -> None:
        """A line a minute, from the first one on: what is over sooner says nothing."""
        while not self._over.wait(MINUTE_S):
            with self._lock:
                if self._runs and self._finished == self._runs and not self._doing:
                    # What is left, such as plots, is no run.
                    continue
                line = self.summary()
                # Whoever listened is gone: that is no reason to stop.
                with suppress(OSError, ValueError):
                    self._stream.write(f"{line}\n")
                    self._stream.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        with suppress(OSError, ValueError):
            if self._show:
                self._stream.write(CLEAR)
            if isinstance(error, KeyboardInterrupt) and (self._finished or self._at):
                self._stream.write(f"reached: {self.summary()}\n")
            self._stream.flush()

    def note(self, message: str) -> None:
        """Says what is being prepared."""
        self._doing = message
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
            self._there, self._failed, self._doing = finished, 0, ""
            self._since = self._clock()

    def running(self, label: str, fraction: float, weight: float) -> None:
        """How far a run is; from any thread."""
        with self._lock:
            self._at[label] = (fraction, weight)
            if self._show and self._clock() - self._drawn > 0.2:
                self._draw(self.line())

    def done(self, label: str, weight: float, *, failed: bool = False) -> None:
        """A run is finished and kept, or has failed."""
        with self._lock:
            self._at.pop(label, None)
            self._finished += 1
            self._failed += failed
            self._worked += weight
            if self._show:
                self._draw(self.line())

    def line(self) -> str:
        """Runs finished, runs under way, time left."""
        parts = [f"{self._finished}/{self._runs} runs"]
        parts += [f"{label} {100 * fraction:.0f} %" for label, (fraction, _) in sorted(self._at.items())]
        if left := self._left():
            parts.append(left)
        return "   ".join(parts)

    def summary(self) -> str:
        """Runs done, failed and left, at which rate, and the time left."""
        if self._runs == 0 or (self._finished == self._runs and self._doing):
            return self._doing or "preparing"
        line = (
            f"{self._finished - self._failed} of {self._runs} runs done, {self._failed} failed, "
            f"{self._runs - self._finished} left"
        )
        made, hours = self._finished - self._there, (self._clock() - self._since) / 3600
        rate = [f"{_rate(made / hours)} runs an hour"] if made and hours > 0 else []
        told = [*rate, *filter(None, [self._left()])]
        return "; ".join([line, ", ".join(told)] if told else [line])

    def _left(self) -> str:
        """The time left, where it can be told."""
        worked = self._worked + sum(fraction * weight for fraction, weight in self._at.values())
        passed = self._clock() - self._since
        if passed <= 2 or worked <= 0 or worked >= self._work:
            return ""
        left = passed * (self._work - worked) / worked
        if left > 5400:
            return f"{left / 3600:.1f} h left"
        return f"{left / 60:.0f} min left" if left > 90 else f"{left:.0f} s left"

    def _draw(self, line: str) -> None:
        self._drawn = self._clock()
        width = max(20, shutil.get_terminal_size((110, 24)).columns - 1)
        self._stream.write(f"{CLEAR}{line[:width]}")
        self._stream.flush()
