"""Power cuts under file systems and databases, a few; `make torture` tries many."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from random import Random

import pytest

from evidence import served, torture, torture_filesystems
from evidence.served import Served, command
from evidence.torture_filesystems import KINDS, Mail


@pytest.mark.parametrize("oracle", torture.ORACLES, ids=lambda oracle: str(oracle.name))
def test_a_few_cuts_lose_nothing(oracle: torture.Oracle) -> None:
    if reason := oracle.missing():
        pytest.skip(reason)
    cuts = 3 if oracle.name in ("ext4", "SQLite") else 2
    tally = torture.tried(oracle, "volatile", cuts, 1)
    assert tally.problem is None, tally
    assert re.fullmatch(r"[1-9][\d,]* (bytes|transactions)", tally.done), tally


@pytest.mark.skipif(KINDS["ext4"].missing() is not None, reason=str(KINDS["ext4"].missing()))
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
