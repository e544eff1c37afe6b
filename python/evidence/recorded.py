"""A load that is recorded once, and replayed on a drive whose power goes off again and again.

The record is the stream of requests that a file system sent, with its flushes: what ``ftlab serve --log-writes``
leaves. It is replayed inside this process, on a copy of the drive in memory, and cut at any operation of the flash.
After each cut the drive restarts, all that the load writes is compared with what may be there, and the drive's content
is looked at as a file. Then the drive goes on. So one record gives as many cuts as it has operations.

The file system that wrote it does not see the cut, so it does not act on it: that is for the cuts of a live load
(:mod:`evidence.torture_filesystems`).
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeVar

from evidence import served
from evidence.served import Served, command
from ftlab import _core
from ftlab.api.configs import Source
from ftlab.cli.usage import say

Promised = TypeVar("Promised", bound=Hashable)

GAPS = (1, 4, 50)
"""From a restart to the next cut there are fewer operations of the flash than one of these or than a `STRETCH`, drawn
at random: the cut comes with the first one, within a few, or further on."""

STRETCH = 20
"""One of so many parts of the load. With cuts that are all nearer it might never get beyond a large request."""

TELL_EVERY_S = 120.0
"""Between two lines on how far it is."""

WHOLE_EVERY = 50
"""After every so many cuts the whole drive is compared, and not only what the load writes."""


@dataclass(frozen=True)
class Record:
    """The record of a load, on a drive that was aged."""

    place: Path
    begins: int
    """The position in the log from which on the power may go off: what lies before has made the file system."""

    @classmethod
    @contextmanager
    def of(cls, place: Path) -> Iterator[tuple[Record, str]]:
        """Records what is done to the block device that it gives; the position is set by :meth:`begin`."""
        shutil.copy(place / "disk", place / "aged")
        server = Served(place, "--log-writes", str(place / "log"))
        with served.attached(server) as device:
            yield cls(place, 0), device
        assert server.end() == 0, server.said

    def clock(self) -> int:
        """The position now: all that was acknowledged lies before it."""
        return (self.place / "log").stat().st_size

    def replays(self) -> _core.Replay:
        """The load from its beginning, on the aged drive."""
        source = Source.of(self.place / "drive.toml")
        return _core.Replay(source.kind, source.text, [], self.place / "aged", self.place / "log")


@dataclass(frozen=True)
class Wanted:
    """The cuts that are asked for."""

    name: str
    cuts: int
    seed: int = 1
    seconds: float = math.inf
    """It ends after so many with what there is."""
    gaps: tuple[int, ...] | None = None
    """One of them, drawn at random, is more than the operations of the flash from a restart to the next cut; without
    any, one of `GAPS` or a `STRETCH`."""
    at_flushes: bool = False
    """The power goes off as soon as a flush is acknowledged: after each, or after one of so many that `cuts` are
    enough."""


@dataclass
class Cuts:
    """The cuts in a record, and what they found."""

    cuts: int = 0
    second: int = 0
    """In restarts."""
    behind: int = 0
    """Cuts that took writes along that were not flushed."""
    laps: int = 0
    operations: int = 0
    """Of the flash, in one lap without cuts."""
    contents: int = 0
    """What was looked at: after many a cut the drive holds what it held after another one."""


def cut(
    record: Record,
    wanted: Wanted,
    promised: Callable[[int], Promised],
    look: Callable[[Promised, Path], None],
) -> Cuts:
    """Cuts as often as wanted. `promised` says what has to be there if all before a position was acknowledged, and
    `look` looks whether it is, in the content as a file. The same content is looked at once for each promise.

    Raises:
        AssertionError: a promise is broken.
    """
    done, began = Cuts(), time.monotonic()
    told = began
    seen: set[tuple[int, Promised]] = set()
    with tempfile.TemporaryDirectory(prefix="cut-", dir=_memory()) as scratch:
        content = Path(scratch) / "content"
        cuts = _at_flushes if wanted.at_flushes else _at_operations
        for replay, where, text in cuts(record, wanted, done):
            found = json.loads(text)
            done.cuts += 1
            done.second += found["second"]
            done.behind += found["behind"] > 0
            where = f"lap {done.laps}, cut {done.cuts}, {where}"
            assert found["problem"] is None, f"{where}: {found['problem']}"
            key = found["content"], promised(found["position"])
            if key not in seen:
                seen.add(key)
                replay.export(content)
                done.contents += 1
                try:
                    look(key[1], content)
                except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
                    shutil.copy(content, record.place / "content")
                    raise AssertionError(f"{where}, position {found['position']}: {error}") from error
            now = time.monotonic()
            if done.cuts >= wanted.cuts or now > began + wanted.seconds:
                break
            if now > told + TELL_EVERY_S:
                told, passed = now, now - began
                left = min(passed / done.cuts * (wanted.cuts - done.cuts), wanted.seconds - passed)
                say(f"{wanted.name}: {done.cuts:,} of {wanted.cuts:,} cuts, {left / 60:,.0f} minutes to go")
    assert done.cuts > 0, "the record has nothing to cut"
    return done


Found = tuple[_core.Replay, str, str]
"""A drive after a cut, where that was in words, and what was found."""


def _at_operations(record: Record, wanted: Wanted, done: Cuts) -> Iterator[Found]:
    """Cuts at operations of the flash drawn at random, lap after lap."""
    chance = Random(f"{wanted.name} {wanted.seed}")
    replay = record.replays()
    replay.go_to(record.begins)
    done.operations = replay.go_to(2**62)
    gaps = wanted.gaps or (*GAPS, max(1, done.operations // STRETCH))
    while True:
        replay = record.replays()
        replay.go_to(record.begins)
        done.laps += 1
        while True:
            at, during = chance.randrange(chance.choice(gaps)), chance.random() < 0.5
            second = _second(chance)
            text = replay.cut(at, during=during, second=second, whole=done.cuts % WHOLE_EVERY == 0)
            if text is None:
                break
            yield replay, f"{'during' if during else 'before'} operation {at}", text


def _at_flushes(record: Record, wanted: Wanted, done: Cuts) -> Iterator[Found]:
    """Cuts after flushes, in one lap."""
    chance, replay = Random(f"{wanted.name} {wanted.seed}"), record.replays()
    replay.go_to(record.begins)
    done.laps = 1
    step = max(1, -(-replay.flushes // wanted.cuts))
    while text := replay.cut_at_flush(step, second=_second(chance), whole=done.cuts % WHOLE_EVERY == 0):
        yield replay, f"after a flush, one of {step}", text


def _second(chance: Random) -> int | None:
    """The operation of the restart at which the power goes off once more, in a fifth of all cuts."""
    return chance.randrange(30) if chance.random() < 0.2 else None


def _memory() -> str | None:
    """A place in memory, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@contextmanager
def mounted(content: Path, where: Path) -> Iterator[Path]:
    """The file system of a file."""
    where.mkdir(exist_ok=True)
    command("mount", "-o", "loop", content, where)
    try:
        yield where
    finally:
        served.let_go(where)
