"""The database of RocksDB that is looked at after power cuts, without a drive; `test_torture.py` cuts the power."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence import torture_rocksdb

pytestmark = pytest.mark.skipif(torture_rocksdb.missing() is not None, reason=str(torture_rocksdb.missing()))


def test_rocksdb_flushes_and_compacts_within_its_load(tmp_path: Path) -> None:
    bank = torture_rocksdb.Bank()
    with torture_rocksdb._opened(tmp_path) as database:
        synced = [torture_rocksdb._go_on(database, bank) for _ in range(300)]
        levels = {file["level"] for file in database.live_files()}
    assert any(level > 0 for level in levels), levels
    assert 0.5 < sum(synced) / len(synced) < 0.75
    assert torture_rocksdb.check(tmp_path, 300) == 300


def _rocksdb(place: Path, batches: int) -> torture_rocksdb.Bank:
    """A database after its first batches, and what has to be there."""
    bank = torture_rocksdb.Bank()
    with torture_rocksdb._opened(place) as database:
        for _ in range(batches):
            torture_rocksdb._go_on(database, bank)
    return bank


def test_rocksdb_misses_what_it_synced(tmp_path: Path) -> None:
    _rocksdb(tmp_path, 20)
    with pytest.raises(AssertionError, match="21 batches were synced, and 20 are there"):
        torture_rocksdb.check(tmp_path, 21)
    with pytest.raises(AssertionError, match="15 batches were synced, and 20 are there"):
        torture_rocksdb.check(tmp_path, 15)


def test_half_a_batch_of_rocksdb_is_found(tmp_path: Path) -> None:
    changes = _rocksdb(tmp_path, 20).go_on()
    taker = next(key for key in reversed(changes) if key.startswith(b"account"))
    with torture_rocksdb._opened(tmp_path) as database:
        for key in changes.keys() - {taker}:
            database[key] = changes[key]
    with pytest.raises(AssertionError, match=f"1 entries differ .* batch 21, .* `{taker.decode()}`"):
        torture_rocksdb.check(tmp_path, 20)


def test_a_table_of_rocksdb_that_is_not_there_is_found(tmp_path: Path) -> None:
    _rocksdb(tmp_path, 1)
    next((tmp_path / "bank").glob("*.sst")).unlink()
    with pytest.raises(AssertionError, match=r"ldb.*No such file"):
        torture_rocksdb.check(tmp_path, 1)
