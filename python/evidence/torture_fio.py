"""fio over power cuts: what it wrote before a flush has its checksums."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from bisect import bisect_right
from dataclasses import replace
from pathlib import Path
from random import Random

from evidence import recorded, served
from evidence.served import Served, command

MEBIBYTES = 96
"""The drive under it."""

WRITES = 6000
"""Writes of 4 KiB at random that are recorded; no block is written twice."""

FLUSH, DISCARD, SECTOR = 1, 4, 512


def missing() -> str | None:
    """The reason why it cannot be tried here."""
    if shutil.which("fio") is None:
        return "needs fio"
    if subprocess.run(["fio", "--enghelp=nbd"], capture_output=True, check=False).returncode != 0:
        return "needs fio with its engine `nbd`"
    return served.missing()


def _job(seed: int, writes: int, *options: str) -> list[str]:
    """A job of fio, whose order of blocks follows from the seed."""
    return [
        "fio", "--name=x", "--rw=randwrite", "--bs=4k", f"--size={MEBIBYTES}m", "--verify=crc32c", "--iodepth=1",
        "--verify_state_save=0", f"--randseed={seed}", f"--number_ios={writes}", *options,
    ]  # fmt: skip


def _over(place: Path) -> list[str]:
    return ["--ioengine=nbd", f"--uri=nbd+unix:///?socket={place / 'disk.sock'}"]


def torture(place: Path, choices: str, cuts: int, seed: int) -> int:
    """Cuts the power so often; the writes that were flushed.

    Raises:
        AssertionError: a promise is broken.
    """
    chance, flushed = Random(f"fio {seed}"), 0
    served.make(place, choices, MEBIBYTES)
    for cut in range(cuts):
        server = Served(place, *served.any_cut(chance))
        job = _job(seed + cut, WRITES, "--fsync=1", "--do_verify=0", "--output-format=json")
        done = subprocess.run(
            [*job, *_over(place)], capture_output=True, encoding="utf-8", check=False, timeout=300
        )
        server.kill() if server.process.poll() is None else server.wait()
        writes = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["write"]["total_ios"]
        # The last one may not have come to its flush, and the one before may be the last that was answered.
        known = max(0, writes - 2)
        server = Served(place)
        try:
            if known > 0:
                command(*_job(seed + cut, known, "--verify_only"), *_over(place))
        except AssertionError as error:
            raise AssertionError(f"fio, seed {seed}, cut {cut}: {error}") from error
        finally:
            code = server.end()
        assert code == 0, server.said
        flushed += known
    return flushed


def _flushed(log: Path) -> tuple[list[int], list[int]]:
    """Positions in a log of writes behind each flush, and the writes of 4 KiB before it."""
    positions, counts, written = [0], [0], 0
    with log.open("rb") as file:
        file.seek(SECTOR)
        while head := file.read(SECTOR):
            _, sectors, flags, _ = struct.unpack_from("<4Q", head)
            if flags & FLUSH:
                positions.append(file.tell())
                counts.append(written)
            elif not flags & DISCARD:
                written += sectors * SECTOR // 4096
                file.seek(sectors * SECTOR, 1)
    return positions, counts


def torture_recorded(place: Path, choices: str, wanted: recorded.Wanted) -> recorded.Cuts:
    """Records a job once, with a flush after every eighth write, and cuts the power while it is replayed.

    Raises:
        AssertionError: a promise is broken.
    """
    served.make(place, choices, MEBIBYTES)
    with recorded.Record.of(place) as (record, _):
        record = replace(record, begins=record.clock())
        command(*_job(wanted.seed, WRITES, "--fsync=8", "--do_verify=0"), *_over(place))
    positions, counts = _flushed(place / "log")

    def promised(position: int) -> int:
        return counts[bisect_right(positions, position) - 1]

    def look(writes: int, content: Path) -> None:
        if writes > 0:
            command(*_job(wanted.seed, writes, "--verify_only"), "--ioengine=psync", f"--filename={content}")

    return recorded.cut(record, wanted, promised, look)
