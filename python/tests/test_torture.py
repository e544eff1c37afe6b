"""Power cuts under file systems and databases, a few; `make torture` tries many."""

from __future__ import annotations

import argparse
import re
import shutil
import struct
from collections.abc import Callable, Hashable
from pathlib import Path
from random import Random

import pytest

from evidence import (
    recorded,
    report,
    served,
    torture,
    torture_databases,
    torture_filesystems,
    torture_fio,
    torture_rocksdb,
)
from evidence.recorded import Wanted
from evidence.served import Served, command
from evidence.torture_filesystems import KINDS, Change, Mail

needs_ext4 = pytest.mark.skipif(KINDS["ext4"].missing() is not None, reason=str(KINDS["ext4"].missing()))


def test_fio_misses_what_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := torture_fio.missing():
        pytest.skip(reason)
    monkeypatch.setattr(torture_fio, "WRITES", 600)
    # As if all had been flushed from the beginning on.
    monkeypatch.setattr(torture_fio, "_flushed", lambda log: ([0], [600]))
    with pytest.raises(AssertionError, match="bad magic header"):
        torture_fio.torture_recorded(tmp_path, served.CHOICES["volatile"], Wanted("fio", 5))


def test_rows_that_are_not_measured_anew_stay_on_the_page(tmp_path: Path) -> None:
    def page(recorded: list[torture.Tally], live: list[torture.Tally], *flushed: torture.Tally) -> str:
        torture.Page([], argparse.Namespace(out=tmp_path), recorded, list(flushed), live, []).write()
        return report.markdown(report.read(tmp_path / "torture.json"))

    def tally(oracle: str, drive: str, cuts: int, done: str) -> torture.Tally:
        return torture.Tally(oracle, drive, cuts, done, 1.0, None)

    page([tally("btrfs", "volatile", 1, "1 | 1")], [tally("ext4", "protected", 2, "9 bytes")])
    page([tally("ext4", "volatile", 3, "1 | 1")], [], tally("btrfs", "volatile", 6, "1 | 1"))
    text = page([tally("btrfs", "volatile", 4, "2 | 2")], [tally("xfs", "protected", 5, "9 bytes")])
    rows = [
        line.split(" | ")[:3] for line in text.splitlines() if line.startswith("| ") and "who" not in line
    ]
    assert rows == [
        ["| ext4", "volatile", "3"],
        ["| btrfs", "volatile", "4"],
        ["| btrfs", "volatile", "6"],
        ["| ext4", "protected", "2"],
        ["| xfs", "protected", "5"],
    ]


@pytest.mark.parametrize("oracle", torture.ORACLES, ids=lambda oracle: str(oracle.name))
def test_a_few_cuts_lose_nothing(oracle: torture.Oracle) -> None:
    if reason := oracle.missing():
        pytest.skip(reason)
    cuts = 3 if oracle.name in ("ext4", "SQLite") else 2
    tally = torture.tried(oracle, "volatile", cuts, 1)
    assert tally.problem is None, tally
    assert re.fullmatch(r"[1-9][\d,]* (bytes|transactions|batches|writes)", tally.done), tally


@pytest.mark.parametrize("oracle", torture.ORACLES, ids=lambda oracle: str(oracle.name))
def test_cuts_in_a_record_lose_nothing(oracle: torture.Oracle, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := oracle.missing():
        pytest.skip(reason)
    monkeypatch.setattr(torture_databases, "BENCH_S", 2)
    monkeypatch.setattr(torture_databases, "TRANSFERS", 20)
    monkeypatch.setattr(torture_fio, "WRITES", 600)
    monkeypatch.setattr(torture_filesystems, "MAILS", 40)
    monkeypatch.setattr(torture_rocksdb, "BATCHES", 80)
    cuts = 2 if oracle.name == "PostgreSQL" else 8
    tally = torture.replayed(oracle, "protected", Wanted(oracle.name, cuts))
    assert tally.problem is None, tally
    operations, laps, second, behind, contents = (
        int(word.replace(",", "")) for word in tally.done.split(" | ")
    )
    assert tally.cuts == cuts and operations > 100 and laps >= 1, tally
    assert second <= cuts and behind <= cuts and 1 <= contents <= cuts, tally


@needs_ext4
def test_power_goes_off_after_flushes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torture_filesystems, "MAILS", 20)
    ext4 = next(oracle for oracle in torture.ORACLES if oracle.name == "ext4")
    tally = torture.replayed(ext4, "volatile", Wanted("flushes", 12, at_flushes=True))
    assert tally.problem is None and tally.cuts in range(7, 13), tally
    second, contents = (int(word) for word in tally.done.split(" | "))
    assert second <= tally.cuts and contents > 5, tally
    # What was fsynced later cannot be there.
    kept_at = Mail.kept_at
    monkeypatch.setattr(Mail, "kept_at", lambda mail, position: kept_at(mail, 2**62))
    with pytest.raises(AssertionError, match="after a flush, one of"):
        torture_filesystems.torture_recorded(
            KINDS["ext4"], tmp_path, served.CHOICES["volatile"], Wanted("flushes", 12, at_flushes=True)
        )


@pytest.mark.parametrize(
    ("name", "lost"), [("ext4", "No such file"), ("RocksDB", "batches were synced, and 0 are there")]
)
def test_a_record_without_its_flushes_loses_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, lost: str
) -> None:
    """A drive that takes no flush holds what it may of a record without flushes, and who wrote it finds it out."""
    (oracle,) = (oracle for oracle in torture.ORACLES if oracle.name == name)
    if reason := oracle.missing():
        pytest.skip(reason)
    cut = recorded.cut

    def forgetful(
        record: recorded.Record,
        wanted: Wanted,
        promised: Callable[[int], Hashable],
        look: Callable[[Hashable, Path], None],
    ) -> recorded.Cuts:
        log = bytearray((tmp_path / "log").read_bytes())
        (entries,) = struct.unpack_from("<Q", log, 16)
        at = 512
        for _ in range(entries):
            _, sectors, flags = struct.unpack_from("<3Q", log, at)
            if flags == 1 and at >= record.begins:
                struct.pack_into("<Q", log, at + 16, 0)
            at += 512 * (1 + (0 if flags == 4 else sectors))
        (tmp_path / "log").write_bytes(log)
        return cut(record, wanted, promised, look)

    monkeypatch.setattr(recorded, "cut", forgetful)
    monkeypatch.setattr(torture_filesystems, "MAILS", 60)
    monkeypatch.setattr(torture_rocksdb, "BATCHES", 150)
    with pytest.raises(AssertionError, match=f"lap 1, .*{lost}"):
        oracle.replay(tmp_path, served.CHOICES["volatile"], Wanted("without flushes", 100))


def test_what_is_kept_follows_from_the_position() -> None:
    mail = Mail(Random(1))
    mail.history = [Change("a", 0, 10, "x"), Change("b", 10, 20, "y"), Change("a", 30, 40, None)]
    assert mail.kept_at(5) == {}
    assert mail.kept_at(10) == {"a": "x"}
    assert mail.kept_at(29) == {"a": "x", "b": "y"}
    assert mail.kept_at(30) == {"b": "y"}


@needs_ext4
def test_a_lost_file_is_found(tmp_path: Path) -> None:
    """An image that goes back to what it was is what a drive that forgets is like."""
    served.make(tmp_path, served.CHOICES["volatile"], KINDS["ext4"].mebibytes)
    server = Served(tmp_path)
    with served.attached(server) as device:
        command(*KINDS["ext4"].make, device)
    assert server.end() == 0
    shutil.copy(tmp_path / "disk", tmp_path / "before")
    server = Served(tmp_path)
    mail = Mail(Random(3))
    with served.attached(server) as device, served.mounted(device, tmp_path / "mnt") as mnt:
        for _ in range(30):
            mail.go_on(mnt)
    assert server.end() == 0
    torture_filesystems._look(KINDS["ext4"], tmp_path, mail)
    shutil.copy(tmp_path / "before", tmp_path / "disk")
    with pytest.raises(AssertionError, match="what should be readable is not"):
        torture_filesystems._look(KINDS["ext4"], tmp_path, mail)
