"""What a case of the battery works with, and the oracle: which outcomes are allowed (:mod:`evidence.battery`)."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeVar

import ftlab
from ftlab.cli.main import main

LONG_S = 5.0
"""A valid run that computes for longer is stopped; that it was stopped is an outcome."""

REMEDY = re.compile(
    r"expected|hint:|did you mean|can be|can have|\buse\b|\bset\b|\bsave\b|\bname\b|needs?\b|at most|at least|nearest",
)
"""What an error says of what would be right."""

SYSTEM = tuple(os.strerror(number) for number in (2, 5, 13, 17, 20, 21, 27, 28, 30, 36, 40, 22))
"""Reasons of the operating system that say by themselves what would be right."""

PLACE = re.compile(r"-->|`|/|^error: .+: |the (dictionary|configuration|state file|timeline) ", re.DOTALL)
"""What an error says of where."""

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal would act on."""

Value = TypeVar("Value")


class Fault(Exception):
    """A case that was not taken as it should be."""


class Enough(KeyboardInterrupt):
    """A valid run went on for long enough."""


@dataclass(slots=True)
class Scratch:
    """Where a case works: a directory, chance, the user's files, and what may appear beside them."""

    path: Path
    random: Random
    shared: Path
    """A directory for what is made once for all cases of a worker."""
    theirs: dict[Path, bytes] = field(default_factory=dict)
    """The user's files, which have to stay as they are."""
    outputs: set[Path] = field(default_factory=set)
    """What may be there afterwards."""

    def file(self, name: str, content: bytes | str) -> Path:
        """A file of the user's."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(content)
        self.theirs[path] = content
        return path

    def output(self, name: str) -> Path:
        """A file or directory that the case may write."""
        self.outputs.add(self.path / name)
        return self.path / name

    def one(self, values: Sequence[Value]) -> Value:
        """One of some values."""
        return self.random.choice(values)

    def chance(self, probability: float) -> bool:
        """Whether something so probable happens."""
        return self.random.random() < probability

    def check(self) -> None:
        """That the user's files are as they were, and nothing was left behind.

        Raises:
            Fault: otherwise.
        """
        for path, content in self.theirs.items():
            if not path.is_file() or path.read_bytes() != content:
                raise Fault(f"the user's file {path.name!r} was changed or removed")
        allowed = {path.resolve() for path in self.outputs} | {path.resolve() for path in self.theirs}
        for file in self.path.rglob("*"):
            mine = file.resolve() in allowed or any(parent.resolve() in allowed for parent in file.parents)
            staged = (".ftlab-" in file.name and file.name != ".ftlab-files.json") or "partial" in file.name
            if staged or (not mine and not file.is_dir()):
                raise Fault(f"{file.relative_to(self.path)} was left behind")


Run = Callable[[Scratch], str]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of case."""

    name: str
    doc: str
    share: float
    """How many of a hundred cases are of this kind."""
    run: Run
    """Runs a case; returns its outcome."""


def kinds(shares: Mapping[Run, float]) -> tuple[Kind, ...]:
    """The kinds of case that functions run; what they say of themselves is what the tally says."""
    return tuple(
        Kind(run.__name__, (run.__doc__ or "").strip().rstrip("."), share, run)
        for run, share in shares.items()
    )


def attempt(call: Callable[[], object]) -> str:
    """The outcome of a call: success, or the error of ftlab that it raised.

    Raises:
        Fault: the error's text is not as it should be.
    """
    with time_limit() as limit:
        try:
            call()
        except ftlab.Error as error:
            check_message(str(error))
            return type(error).__name__
        except BaseException:
            # Libraries may make something else of what stops them.
            if not limit.is_over:
                raise
    return "stopped" if limit.is_over else "success"


def command(arguments: Sequence[str]) -> str:
    """The outcome of a command line, in this process.

    Raises:
        Fault: exit code or output are not as they should be.
    """
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), time_limit() as limit:
        try:
            code = main(list(arguments))
        except SystemExit as error:
            # `--help` and `--version`.
            code = int(error.code or 0)
    if limit.is_over:
        return "stopped"
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return outcome(code, out.getvalue(), err.getvalue(), "--json" in options)


def outcome(code: int, out: str, err: str, wants_json: bool) -> str:
    """The outcome of a command that ended so.

    Raises:
        Fault: that is not as it should be.
    """
    if "Traceback" in err or "internal error" in err:
        raise Fault(f"a fault of the program: {err[-600:]}")
    if "Warning: " in err:
        raise Fault(f"a warning of a library reaches the user: {err[:300]}")
    if code not in (0, 1, 2):
        raise Fault(f"exit code {code}: {err[-300:]}")
    if found := CONTROL.search(out + err):
        raise Fault(f"the control character {found[0]!r} reaches the terminal")
    if code != 0:
        check_message(err)
        if wants_json and out:
            raise Fault("an object on stdout in spite of an error")
    elif wants_json and out and not out.startswith("usage:"):
        json.loads(out)
    return f"exit {code}"


def check_message(text: str) -> None:
    """That an error says where and what would be right.

    Raises:
        Fault: otherwise.
    """
    if "internal error" in text or "panicked" in text:
        raise Fault(f"a fault of the program: {text[-600:]}")
    if not text.strip():
        raise Fault("an error without a text")
    if len(text) > 20_000:
        raise Fault(f"an error of {len(text)} characters")
    says = REMEDY.search(text) or any(reason in text for reason in SYSTEM)
    if not says:
        raise Fault(f"an error that does not say what would be right: {text[:400]}")
    if not PLACE.search(text):
        raise Fault(f"an error that does not say where: {text[:400]}")


@dataclass(slots=True)
class Limit:
    """A limit of time."""

    is_over: bool = False


@contextlib.contextmanager
def time_limit() -> Iterator[Limit]:
    """Stops what computes for longer than :data:`LONG_S`, as Ctrl-C does."""
    limit = Limit()

    def stop(*_: object) -> None:
        limit.is_over = True
        raise Enough

    # Time of the processor: what other processes take is no reason to stop.
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONG_S, 6 * LONG_S)
    try:
        with contextlib.suppress(Enough):
            yield limit
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
