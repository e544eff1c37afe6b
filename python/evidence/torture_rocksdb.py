"""RocksDB over power cuts: no batch that was synced is lost, none is there in part, and `ldb` reads the same.

A batch moves money between accounts, and follows from its number. So the whole database follows from the number of its
newest batch. Memtables are as small as they can be: many are flushed and compacted while the load runs.

The package `rocksdict` writes it, and brings a RocksDB of its own. `ldb` may be of another version, as Debian's is. It
then knows the logs and the tables, but not every word of the file of options, and so it has to do without.
"""

from __future__ import annotations

import importlib.util
import struct
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, cast

from evidence import recorded, served, torture_databases
from evidence.served import Served, command
from evidence.torture_databases import ACCOUNTS
from evidence.torture_filesystems import KINDS

if TYPE_CHECKING:
    from rocksdict import Rdict

BATCHES = 1200
"""Batches that are recorded."""

LOOSE = 3
"""Of eight batches so many, one after the other, are written without sync."""

RECEIPTS = 50
"""Each batch leaves one, and deletes that of so many batches ago."""

NEWEST = b"newest"
"""The key under which each batch puts its number."""


def missing() -> str | None:
    """The reason why it cannot be tried here."""
    if importlib.util.find_spec("rocksdict") is None:
        return "needs rocksdict"
    return KINDS["ext4"].missing() or served.missing("ldb")


class Bank:
    """The entries of the database after its first batches."""

    def __init__(self, number: int = 0) -> None:
        self.number = 0
        self.entries: dict[bytes, bytes] = {}
        for _ in range(number):
            self.go_on()

    def go_on(self) -> dict[bytes, bytes | None]:
        """Does the next batch; what it puts and, as `None`, what it deletes."""
        self.number += 1
        changes = self._opening() if self.number == 1 else self._transfer()
        changes[NEWEST] = b"%d" % self.number
        for key, value in changes.items():
            if value is None:
                del self.entries[key]
            else:
                self.entries[key] = value
        return changes

    def _opening(self) -> dict[bytes, bytes | None]:
        return {_account(number): struct.pack("<q300x", 0) for number in range(ACCOUNTS)}

    def _transfer(self) -> dict[bytes, bytes | None]:
        chance = Random(self.number)
        amount, (giver, taker) = chance.randrange(1000), chance.sample(range(ACCOUNTS), 2)
        changes: dict[bytes, bytes | None] = {_receipt(self.number): chance.randbytes(300)}
        for account, change in ((_account(giver), -amount), (_account(taker), amount)):
            (balance,) = struct.unpack_from("<q", self.entries[account])
            changes[account] = struct.pack("<q300s", balance + change, chance.randbytes(300))
        if _receipt(self.number - RECEIPTS) in self.entries:
            changes[_receipt(self.number - RECEIPTS)] = None
        return changes


def _account(number: int) -> bytes:
    return b"account %03d" % number


def _receipt(number: int) -> bytes:
    return b"receipt %06d" % number


@contextmanager
def _opened(place: Path) -> Iterator[Rdict]:
    """The database of a directory, its log replayed.

    Raises:
        AssertionError: RocksDB refuses something.
    """
    import rocksdict

    tables = rocksdict.BlockBasedOptions()
    tables.set_format_version(5)
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(tables)
    options.set_compression_type(rocksdict.DBCompressionType.none())
    options.set_paranoid_checks(True)
    # No memtable can be smaller.
    options.set_write_buffer_size(64 * 1024)
    options.set_target_file_size_base(64 * 1024)
    options.set_max_bytes_for_level_base(256 * 1024)
    options.set_level_zero_file_num_compaction_trigger(2)
    options.set_keep_log_file_num(2)
    try:
        with closing(rocksdict.Rdict(str(place / "bank"), options)) as database:
            yield database
    except Exception as error:
        # `rocksdict` has no class of its own for what RocksDB refuses.
        if type(error) is not Exception:
            raise
        raise AssertionError(f"RocksDB: {error}") from error


def _go_on(database: Rdict, bank: Bank) -> bool:
    """Writes the next batch; whether it is on the drive then, with all before it."""
    import rocksdict

    batch, how = rocksdict.WriteBatch(raw_mode=True), rocksdict.WriteOptions()
    for key, value in bank.go_on().items():
        if value is None:
            batch.delete(key)
        else:
            batch.put(key, value)
    how.sync = bank.number % 8 >= LOOSE
    database.write(batch, how)
    return how.sync


def check(place: Path, synced: int) -> int:
    """The newest batch of the database in a directory, after a power cut.

    Raises:
        AssertionError: a batch that was synced is not there, or one is there in part.
    """
    # It only reads, and replays the log in memory.
    others = {}
    for line in _ldb(place, "scan", "--hex").splitlines():
        key, value = (bytes.fromhex(word.removeprefix("0x")) for word in line.split(" : "))
        others[key] = value
    with _opened(place) as database:
        found = dict(cast("Iterator[tuple[bytes, bytes]]", database.items()))
    newest = int(found.get(NEWEST, b"0"))
    # Of the next ones, those up to one with sync may have been under way.
    assert synced <= newest <= synced + LOOSE + 1, f"{synced} batches were synced, and {newest} are there"
    _compare(found, Bank(newest).entries, f"in RocksDB after batch {newest}")
    _compare(others, found, "in ldb and RocksDB")
    said = _ldb(place, "checkconsistency")
    assert said == "OK\n", said
    return newest


def _ldb(place: Path, *words: str) -> str:
    return command("ldb", f"--db={place / 'bank'}", "--try_load_options=false", *words)


def _compare(found: dict[bytes, bytes], wanted: dict[bytes, bytes], where: str) -> None:
    others = sorted(key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key))
    assert not others, f"{len(others)} entries differ {where}, the first of them `{others[0].decode()}`"


def torture(place: Path, choices: str, cuts: int, seed: int) -> int:
    """Cuts the power so often under batches; the batches that were synced.

    Raises:
        AssertionError: a promise is broken.
    """
    chance, synced = Random(f"rocksdb {seed}"), 0

    def load(mnt: Path, _: int, server: Served) -> None:
        nonlocal synced
        with _opened(mnt) as database:
            bank = Bank(synced)
            for _ in range(chance.randrange(100, 600)):
                if _go_on(database, bank):
                    synced = bank.number
            if server.process.poll() is None:
                # Not reached yet: the power goes off now.
                server.kill()

    def look(mnt: Path, _: int) -> None:
        nonlocal synced
        synced = check(mnt, synced)

    torture_databases.cut_live(f"RocksDB, seed {seed}", place, choices, cuts, chance, load, look)
    return synced


def torture_recorded(place: Path, choices: str, wanted: recorded.Wanted) -> recorded.Cuts:
    """Records batches once, and cuts the power while they are replayed.

    Raises:
        AssertionError: a promise is broken.
    """
    ext4, bank = KINDS["ext4"], Bank()
    synced: list[tuple[int, int]] = [(0, 0)]
    served.make(place, choices, ext4.mebibytes)
    with recorded.Record.of(place) as (record, device):
        command(*ext4.make, *ext4.keeps, device)
        with served.mounted(device, place / "mnt") as mnt, _opened(mnt) as database:
            record = replace(record, begins=record.clock())
            for _ in range(BATCHES):
                if _go_on(database, bank):
                    synced.append((record.clock(), bank.number))

    def promised(position: int) -> int:
        return synced[bisect_right(synced, (position, bank.number)) - 1][1]

    def look(synced: int, content: Path) -> None:
        with recorded.mounted(content, place / "mnt") as mnt:
            check(mnt, synced)
        command(*ext4.check, content)

    return recorded.cut(record, wanted, promised, look)
