"""The progress of runs on stderr: a live line on a terminal, a line a minute elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import IO, Any

from ftlab.api.runner import MINUTE_S
from ftlab.api.simulation import DONE, FAILED, Progress
from ftlab.base import escape

Tell = Callable[[str, Progress], None]


class Live:
    """Shows a line for each run while the `with` block lasts. Where `stream` is not a terminal there is no such line;
    with `logs` it then gets a line a minute. What was reached is said when the user interrupts.
    """

    def __init__(self, stream: IO[str], *, logs: bool = False, every_s: float = MINUTE_S) -> None:
        self._stream = stream
        self._display = _Display(stream) if stream.isatty() else None
        self._log = _Log(stream, every_s) if logs and self._display is None else None

    def __enter__(self) -> Tell | None:
        if self._display is not None:
            self._display.progress.start()
            return self._display.tell
        if self._log is not None:
            self._log.start()
            return self._log.tell
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display is not None:
            self._display.progress.stop()
        if self._log is not None:
            self._log.stop()
        told = self._log or self._display
        if isinstance(error, KeyboardInterrupt) and told is not None:
            for line in told.reached():
                with suppress(OSError, ValueError):
                    self._stream.write(f"reached: {line}\n")
                    self._stream.flush()


class _Log:
    """A line a minute about one run, as the log of a batch system has it."""

    def __init__(self, stream: IO[str], every_s: float) -> None:
        self._stream, self._every_s = stream, every_s
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._run = _Run(None)
        self._now: Progress | None = None
        self._figures = ""

    def start(self) -> None:
        """Lines come from now on."""
        threading.Thread(target=self._tell_time, daemon=True).start()

    def stop(self) -> None:
        """No more lines."""
        self._over.set()

    def tell(self, _: str, now: Progress) -> None:
        """Notes how far the run is; from any thread."""
        with self._lock:
            self._now, self._figures = now, self._run.figures(now, time.monotonic())

    def reached(self) -> list[str]:
        """The run in a line, once it has begun."""
        with self._lock:
            if self._now is None:
                return []
            share = [] if self._now.fraction is None else [f"{100 * self._now.fraction:.0f} %"]
            return ["  ".join(filter(None, [self._now.phase, *share, self._figures]))]

    def _tell_time(self) -> None:
        while not self._over.wait(self._every_s):
            for line in self.reached():
                # Whoever listened is gone: that is no reason to stop.
                with suppress(OSError, ValueError):
                    self._stream.write(f"{line}\n")
                    self._stream.flush()


class _Display:
    def __init__(self, stream: IO[str]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        self.progress = Bars(
            TextColumn("{task.fields[label]}{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[figures]}", justify="left"),
            console=Console(file=stream, highlight=False),
            transient=True,
            refresh_per_second=10,
        )
        self._lock = threading.Lock()
        self._runs: dict[str, _Run] = {}
        self._told: dict[str, str] = {}

    def tell(self, label: str, now: Progress) -> None:
        """Shows how far a run is; from any thread."""
        with self._lock:
            run = self._runs.get(label)
            if run is None:
                head = f"{label}  " if label else ""
                task = self.progress.add_task("", total=1.0, label=_escaped(head), figures="")
                run = self._runs[label] = _Run(task)
            fields: dict[str, Any] = {"figures": run.figures(now, time.monotonic())}
            total = None if now.fraction is None else 1.0
            self.progress.update(
                run.task, description=now.phase, completed=now.fraction or 0.0, total=total, **fields
            )
            share = [] if now.fraction is None else [f"{100 * now.fraction:.0f} %"]
            self._told[label] = "  ".join(filter(None, [label, now.phase, *share, fields["figures"]]))

    def reached(self) -> list[str]:
        """A line for each run that has begun."""
        with self._lock:
            return [escape.terminal(line) for line in self._told.values()]


class _Run:
    """Where a phase of a run began, for rates and the time left."""

    def __init__(self, task: Any) -> None:
        self.task = task
        self._phase = ""
        self._since = 0.0
        self._requests = 0
        self._fraction = 0.0

    def figures(self, now: Progress, clock: float) -> str:
        """Simulated time, requests, rate, time left."""
        if now.phase != self._phase:
            self._phase, self._since = now.phase, clock
            self._requests, self._fraction = now.requests, now.fraction or 0.0
        if now.phase == FAILED:
            return FAILED
        if now.phase == DONE:
            return f"{now.simulated_s:8.2f} s simulated" if now.simulated_s > 0 else ""
        passed = clock - self._since
        parts = [f"{now.simulated_s:8.2f} s simulated"] if now.simulated_s > 0 else []
        if now.requests:
            parts.append(f"{now.requests:,} requests")
        elif now.bytes_written:
            parts.append(f"{now.bytes_written / 1e9:.1f} GB written")
        if passed > 0.5 and now.requests > self._requests:
            parts.append(f"{(now.requests - self._requests) / passed / 1e3:,.0f} k requests/s")
        if passed > 0.5 and now.fraction is not None and now.fraction > self._fraction:
            left = passed * (1 - now.fraction) / (now.fraction - self._fraction)
            parts.append(f"{_clock(left)} left")
        return "  ".join(parts)


def _clock(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{seconds:02d} min"
    return f"{minutes // 60}:{minutes % 60:02d} h" if minutes < 48 * 60 else f"{minutes / 1440:,.0f} days"


def _escaped(label: str) -> str:
    from rich.markup import escape as markup

    return markup(escape.terminal(label))
