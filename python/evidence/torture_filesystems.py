"""File systems over power cuts: what was fsynced is there, a mount replays the journal, the checker finds nothing."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from evidence import recorded, served
from evidence.served import Served, command


@dataclass(frozen=True)
class FileSystem:
    """A kind of file system, and what it is made and checked with."""

    name: str
    make: Sequence[str]
    check: Sequence[str]
    mebibytes: int
    """The drive under it: as small as it can be made."""
    keeps: Sequence[str]
    """Options of `make` that discard nothing, so that an aged drive stays full."""
    check_file: Sequence[str] = ()
    """Options of `check` for a file."""

    def missing(self) -> str | None:
        """The reason why it cannot be tried here."""
        return served.missing(self.make[0], self.check[0])

    def make_on(self, *words: object) -> None:
        """Makes one on a device.

        mkfs.btrfs looks at the files behind all loop devices. The file of another drive, which is cut just then, is
        not there; a later try does not find that drive any more.

        Raises:
            AssertionError: it cannot be made.
        """
        for _ in range(50):
            try:
                command(*self.make, *words)
                return
            except AssertionError as error:
                if "endpoint is not connected" not in str(error):
                    raise
            time.sleep(0.1)
        command(*self.make, *words)


KINDS = {
    kind.name: kind
    for kind in (
        FileSystem("ext4", ["mkfs.ext4", "-q", "-E", "lazy_itable_init=0"], ["fsck.ext4", "-fn"], 96,
                   ["-E", "lazy_itable_init=0,nodiscard"]),
        FileSystem("xfs", ["mkfs.xfs", "-q", "-f"], ["xfs_repair", "-n"], 320, ["-K"], ["-f"]),
        FileSystem("btrfs", ["mkfs.btrfs", "-q", "-f"], ["btrfs", "check", "--readonly"], 128, ["-K"]),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A change of a file, and the positions of a record between which it was made."""

    name: str
    begins: int
    ends: int
    digest: str | None
    """Of what was fsynced; without one it may be as before, or as begun, or gone."""


MAILS = 400
"""Changes of a load that is recorded."""


@dataclass
class Mail:
    """A load like that of a mail server: files are written, fsynced, replaced by a rename, and deleted."""

    chance: Random
    kept: dict[str, str] = field(default_factory=dict)
    """By name, the digest of what was fsynced."""
    changing: set[str] = field(default_factory=set)
    """Names of which something was begun since: they may be as before, or as begun, or gone."""
    written: int = 0
    clock: Callable[[], int] = int
    """The time by which changes are noted: 0 for ever, or the position in a record."""
    history: list[Change] = field(default_factory=list)

    def go_on(self, place: Path) -> None:
        """One operation.

        Raises:
            OSError: the power is gone.
        """
        name, begins = f"box-{self.chance.randrange(40)}", self.clock()
        self._change(place, name)
        self.history.append(Change(name, begins, self.clock(), self.kept.get(name)))

    def _change(self, place: Path, name: str) -> None:
        data = self.chance.randbytes(self.chance.choice([700, 4096, 20_000, 150_000]))
        self.written += len(data)
        if name in self.kept and self.chance.random() < 0.2:
            self.changing.add(name)
            del self.kept[name]
            (place / name).unlink()
            return
        loose = self.chance.random() < 0.3
        self.changing.add(name)
        self.kept.pop(name, None)
        _write(place / f"{name}.new", data, lasts=not loose)
        (place / f"{name}.new").replace(place / name)
        if not loose:
            _fsync_directory(place)
            self.kept[name] = hashlib.sha256(data).hexdigest()
            self.changing.discard(name)

    def kept_at(self, position: int) -> dict[str, str]:
        """By name, the digests of files that lasted at a position, and were not being changed."""
        kept: dict[str, str] = {}
        for change in self.history:
            if change.begins > position:
                break
            kept.pop(change.name, None)
            if change.digest is not None and change.ends <= position:
                kept[change.name] = change.digest
        return kept

    def check(self, place: Path) -> None:
        """Checks that fsynced files are there.

        Raises:
            AssertionError: it is not.
        """
        check_files(place, self.kept)
        self.changing.clear()


def check_files(place: Path, kept: Mapping[str, str]) -> None:
    """Checks files by their digests.

    Raises:
        AssertionError: one of them is another one.
    """
    for name, digest in kept.items():
        found = hashlib.sha256((place / name).read_bytes()).hexdigest()
        assert found == digest, f"{name} is not what was fsynced"


def _write(file: Path, data: bytes, *, lasts: bool) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        os.write(descriptor, data)
        if lasts:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _fsync_directory(place: Path) -> None:
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def torture(kind: FileSystem, place: Path, choices: str, cuts: int, seed: int) -> int:
    """Cuts the power so often; the bytes that were written.

    Raises:
        AssertionError: a promise is broken.
    """
    chance = Random(f"{kind.name} {seed}")
    served.make(place, choices, kind.mebibytes)
    server = Served(place)
    with served.attached(server) as device:
        kind.make_on(device)
    assert server.end() == 0, server.said
    mail = Mail(chance)
    for cut in range(cuts):
        # The first one after the load, so that there is something to lose.
        server = Served(place, *(served.any_cut(chance) if cut else []))
        # The power may go off while the journal is replayed.
        with (
            suppress(AssertionError, OSError),
            served.attached(server) as device,
            served.mounted(device, place / "mnt") as mnt,
        ):
            for _ in range(chance.randrange(20, 120)):
                mail.go_on(mnt)
        if server.process.poll() is None:
            server.kill()
        else:
            server.wait()
        try:
            _look(kind, place, mail)
        except AssertionError as error:
            raise AssertionError(f"{kind.name}, seed {seed}, cut {cut}: {error}") from error
    return mail.written


def _look(kind: FileSystem, place: Path, mail: Mail) -> None:
    server = Served(place)
    try:
        with served.attached(server) as device:
            with served.mounted(device, place / "mnt") as mnt:
                mail.check(mnt)
            command(*kind.check, device)
    except OSError as error:
        raise AssertionError(f"what should be readable is not: {error}") from error
    finally:
        code = server.end()
    assert code == 0, server.said


def torture_recorded(kind: FileSystem, place: Path, choices: str, wanted: recorded.Wanted) -> recorded.Cuts:
    """Records a load of mail once, and cuts the power while it is replayed.

    Raises:
        AssertionError: a promise is broken.
    """
    served.make(place, choices, kind.mebibytes)
    with recorded.Record.of(place) as (record, device):
        kind.make_on(*kind.keeps, device)
        mail = Mail(Random(f"{kind.name} {wanted.seed}"), clock=record.clock)
        record = replace(record, begins=record.clock())
        with served.mounted(device, place / "mnt", "-o", "discard") as mnt:
            for _ in range(MAILS):
                mail.go_on(mnt)

    def promised(position: int) -> tuple[tuple[str, str], ...]:
        return tuple(mail.kept_at(position).items())

    def look(kept: tuple[tuple[str, str], ...], content: Path) -> None:
        with recorded.mounted(content, place / "mnt") as mnt:
            check_files(mnt, dict(kept))
        command(*kind.check, *kind.check_file, content)

    return recorded.cut(record, wanted, promised, look)
