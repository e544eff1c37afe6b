"""The engine, compiled. Everything here is plumbing for the package; use `ftlab.run` and its neighbours."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

__version__: str

Kind: TypeAlias = Literal["argument", "file", "text", "json"]

class Error(Exception):
    """What ftlab raises; its text is for the user."""

class ConfigError(Error):
    """A configuration that cannot be used (exit code 2)."""

class InputError(Error):
    """A trace, state file or output that cannot be used (exit code 2)."""

class RunError(Error):
    """A run that failed (exit code 1)."""

def run(
    kind: Kind,
    source: str,
    sets: Sequence[str],
    trace: str | None = None,
    *,
    timeline: str | PathLike[str] | None = None,
    timeline_window_ns: tuple[int, int] | None = None,
    save_state: str | PathLike[str] | None = None,
    image: str | PathLike[str] | None = None,
    progress: Callable[[str, float, int, int, float | None], object] | None = None,
    sample: int = 0,
) -> tuple[str, dict[str, dict[str, Any]], list[str]]:
    """Runs one simulation, or of a configuration that asks for samples the one of this number.

    Returns the summary as JSON text, the tables as columns, and why which of the files could not be written.
    """

class Server:
    """An NBD server over the drive of an image."""

    uri: str
    warning: str | None
    def __init__(
        self,
        kind: Kind,
        source: str,
        sets: Sequence[str],
        image: str | PathLike[str],
        *,
        socket: str | PathLike[str] | None = None,
        tcp: str | None = None,
        read_only: bool = False,
        aged: bool = False,
        cut_at: str | None = None,
        log_writes: str | PathLike[str] | None = None,
        pace: bool = False,
    ) -> None: ...
    def wait(self, seconds: float) -> str | None:
        """Waits for at most so many seconds; why the server ended by itself, if it did."""

    def lines(self) -> list[str]:
        """Lines on clients since the last call."""

    def status(self) -> str:
        """What clients did, and figures of the drive and of its restart, as JSON text."""

    def stop(self) -> None:
        """Ends in good order: what was acknowledged is in the image."""

class Replay:
    """A drive, and a load on it that was recorded with `--log-writes`."""

    position: int
    """Position in the log of the request that comes next."""
    flushes: int
    """Flushes of the load from here on."""
    def __init__(
        self,
        kind: Kind,
        source: str,
        sets: Sequence[str],
        image: str | PathLike[str],
        log: str | PathLike[str],
    ) -> None: ...
    def go_to(self, position: int) -> int:
        """Goes on to a position with the power on; the operations of the flash."""

    def cut(self, at: int, *, during: bool, second: int | None, whole: bool) -> str | None:
        """Goes on until a power cut, and restarts; what was found, as JSON text, or nothing at the end of the load."""

    def cut_at_flush(self, flushes: int, *, second: int | None, whole: bool) -> str | None:
        """Goes on until so many flushes are acknowledged, the power goes off, and it restarts; what was found, as
        `cut` tells it."""

    def export(self, path: str | PathLike[str]) -> None:
        """Writes what the drive holds to a file."""

def survival(
    kind: Kind,
    source: str,
    sets: Sequence[str],
    trouble: Literal["program-failure", "reprogram-failure", "power-cut", "second-cut", "failed-recovery"],
    *,
    seeds: int,
    stride: int,
    progress: Callable[[str, float, int, int, float | None], object] | None = None,
) -> str:
    """Puts a fault at every `stride`-th operation of `seeds` short lives; the tally as JSON text."""

def restart_cost(kind: Kind, source: str, sets: Sequence[str]) -> str:
    """Ages a device, cuts its power and restarts it; what that costs as JSON text."""

def resolve(kind: Kind, source: str, sets: Sequence[str], trace: str | None = None) -> tuple[str, str]:
    """The resolved configuration as TOML and as JSON text."""

def memory_needed(kind: Kind, source: str, sets: Sequence[str], trace: str | None = None) -> int:
    """Bytes of memory that a run needs, about; refused if there are not as many."""

def memory_room() -> tuple[int, str] | None:
    """Bytes of memory that this process can still take, and what limits it, where the system says so."""

class Block:
    """A reclaim unit as a victim policy in Python sees it: there is one object for it all the time."""

    @property
    def number(self) -> int:
        """Its number, among all of the device."""

    @property
    def plane(self) -> int:
        """The plane that it is of; with twin blocks the die."""

    @property
    def pages(self) -> int:
        """Pages that it has."""

    @property
    def valid(self) -> int:
        """Its valid pages."""

    @property
    def invalid(self) -> int:
        """Its invalid pages."""

    @property
    def erases(self) -> int:
        """How often it was erased, as of the latest choice on its plane."""

    @property
    def filled_at(self) -> int:
        """When its last page was programmed, in pages that the host has written to the plane."""

    @property
    def changed_at(self) -> int:
        """When it changed last: was filled, or lost a page."""

class Device:
    """What a policy in Python is told of the device at its start."""

    @property
    def planes(self) -> int:
        """Planes; with twin blocks dies."""

    @property
    def blocks_per_plane(self) -> int:
        """Blocks of each plane."""

    @property
    def pages_per_block(self) -> int:
        """Pages of each block."""

    @property
    def seed(self) -> int:
        """The seed of the run."""

def conform_victim(name: str, policy: Any, lives: int) -> int:
    """Puts a victim policy through lives of units at random; how many steps that were."""

def presets() -> list[tuple[str, str, str, bool]]:
    """Name, one line, and TOML text of every preset, and whether it is the device of a paper."""

def registry() -> str:
    """Seams, choices and generators with their parameters, as JSON text."""

def scopes() -> str:
    """Of every part of the simulator, the behaviour that is modelled and that is not, as JSON text."""

def reference() -> str:
    """Every key with what it takes, its default and its meaning, as JSON text."""

def trace_info(path: str | PathLike[str], *, format: str | None = None, skip_bad: bool = False) -> str:
    """What a trace holds, as JSON text."""

def trace_head(
    path: str | PathLike[str], requests: int, *, format: str | None = None, skip_bad: bool = False
) -> list[str]:
    """The first requests of a trace, as pieces of JSON text: an array each."""

def trace_convert(
    path: str | PathLike[str],
    to: str | PathLike[str],
    target: str,
    *,
    format: str | None = None,
    skip_bad: bool = False,
) -> str:
    """Rewrites a trace in another format; what was written, as JSON text."""

def trace_formats() -> str:
    """The formats that are read and those that can be written, as JSON text."""

class Staging:
    """A directory for what is not finished; what killed processes left beside it is cleared away."""

    def __init__(self, parent: str | PathLike[str]) -> None: ...
    @property
    def path(self) -> Path:
        """Where it is."""

    def close(self) -> None:
        """Removes it."""

def check_writable(path: str | PathLike[str]) -> None:
    """Whether a file can be written there, as an `OSError` if not; leaves nothing behind."""

def remedy(errno: int) -> str:
    """What would help against a system's error in writing."""

def discard_unfinished() -> None:
    """Removes what this process has not finished, when it is about to end without further ado."""
