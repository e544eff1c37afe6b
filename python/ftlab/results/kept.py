"""Earlier runs that are kept: directories that say what they are, and that are taken up only if that holds.

Beside a directory's files lies `kept.json` with the hash of what determines them and a hash of each. A directory that
is damaged, or holds something else, is not taken. It is not deleted either: when what belongs there has been made anew,
the old directory is renamed.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ftlab._core import InputError
from ftlab.base.said import first_line
from ftlab.results.output import scratch

SEAL = "kept.json"
SCHEMA = "ftlab.kept/1"

T = TypeVar("T")


class Store:
    """Kept directories by the key of what they hold: a hash, as hexadecimal digits."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def take(self, key: str, load: Callable[[Path], T], refuse: Callable[[str], object]) -> T | None:
        """The directory kept under a key; `None` if there is none, or none that may be taken: `refuse` is told why."""
        place = self._place(key)
        if not os.path.lexists(place):
            return None
        try:
            _check(place, key)
            return load(place)
        except (_Refused, InputError, OSError) as error:
            refuse(
                f"{place} is not taken: {first_line(error)}; it is made anew, and what is there is set aside"
            )
            return None

    def keep(self, key: str, write: Callable[[Path], T]) -> T:
        """Keeps the files that `write` writes to a directory, and gives back what it gives. They are written beside
        their place and moved there, so that an interruption leaves nothing under the key's name.

        Raises:
            InputError: the files cannot be written.
        """
        place = self._place(key)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            # What a killed process left there goes too.
            with scratch(self.directory) as staging:
                beside = staging / "run"
                beside.mkdir()
                written = write(beside)
                _seal(beside, key)
                _move(beside, place, key)
        except OSError as error:
            raise InputError(f"error: cannot write to {place}: {error.strerror or error}") from None
        return written

    def _place(self, key: str) -> Path:
        return self.directory / key[:20]


def _move(beside: Path, place: Path, key: str) -> None:
    """The directory in the place is renamed, unless it is the same, which another process may have kept meanwhile."""
    if os.path.lexists(place) and not _holds(place, key):
        place.rename(_aside(place))
    try:
        beside.replace(place)
    except OSError:
        if not _holds(place, key):
            raise


def _holds(place: Path, key: str) -> bool:
    try:
        _check(place, key)
    except (_Refused, OSError):
        return False
    return True


class _Refused(Exception):
    """Why a directory is not taken."""


def _check(place: Path, key: str) -> None:
    if not place.is_dir():
        raise _Refused("it is a file; expected a directory")
    schema, what, files = _read_seal(place)
    if schema != SCHEMA:
        raise _Refused(f"the schema of {SEAL} is `{schema}`; expected `{SCHEMA}`")
    if what != key:
        raise _Refused("it is the result of another run")
    # A table that is not in every result would be read with the others.
    if added := {file.name for file in place.iterdir() if file.name[0] != "."} - {SEAL, *files}:
        raise _Refused(f"{min(added)} does not belong to it")
    for name, expected in files.items():
        try:
            found = _hash(place / name)
        except FileNotFoundError:
            raise _Refused(f"{name} is missing") from None
        except OSError as error:
            raise _Refused(f"{name} cannot be read: {error.strerror}") from None
        except ValueError:
            # No file can have such a name.
            raise _Refused(f"{SEAL} cannot be read") from None
        if found != expected:
            raise _Refused(f"{name} has been changed")


def _read_seal(place: Path) -> tuple[str, str, dict[str, str]]:
    try:
        if not stat.S_ISREG((place / SEAL).lstat().st_mode):
            raise _Refused(f"{SEAL} is no file")
        seal = json.loads((place / SEAL).read_text(encoding="utf-8"))
        schema, what, files = seal["schema"], seal["is"], dict(seal["files"])
        if not all(isinstance(word, str) for word in (*files, *files.values())):
            raise _Refused(f"{SEAL} cannot be read")
    except FileNotFoundError:
        raise _Refused(f"{SEAL} is missing, which says what it is") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _Refused(f"{SEAL} cannot be read") from None
    return schema, what, files


def _seal(place: Path, key: str) -> None:
    files = {file.name: _hash(file) for file in sorted(place.iterdir())}
    seal = {"schema": SCHEMA, "is": key, "files": files}
    (place / SEAL).write_text(json.dumps(seal, indent=2) + "\n", encoding="utf-8")


def _hash(file: Path) -> str:
    if stat.S_ISFIFO(file.stat().st_mode):
        # Nothing might ever come from it.
        raise OSError(errno.EINVAL, "it is a pipe")
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _aside(place: Path) -> Path:
    """A name beside it that is free."""
    names = (f"{place.name}.set-aside{f'-{i}' if i > 1 else ''}" for i in itertools.count(1))
    return next(free for name in names if not os.path.lexists(free := place.with_name(name)))
