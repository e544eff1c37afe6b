"""Small job files through fio 3.33 and through ftlab: as many requests, of the same kinds, sizes and places.

What fio made of them is in `fio_logs.json`, which `python -m evidence.fio_logs` writes where fio is installed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ftlab.fio import running
from ftlab.fio.jobfile import JobFile

DRIVE = 64 << 20
"""Bytes of the drive, here and there."""

ORDER, PLACES, COUNTS, NEAR = "order", "places", "counts", "near"
"""What is compared: the requests in order; without it; how many of each kind and their bytes; these within a sixth."""

CASES: dict[str, tuple[str, str]] = {
    "read": (ORDER, "rw=read\nsize=1m"),
    "write": (ORDER, "rw=write\nbs=16k\nsize=1m"),
    "trim": (COUNTS, "rw=trim\nbs=64k\nsize=4m\nioengine=null"),
    "readwrite": (COUNTS, "readwrite=write\nblocksize=8k\nsize=512k"),
    "the rest of the drive": (COUNTS, "rw=write\nbs=1m\noffset=40m"),
    "size 0": (COUNTS, "rw=write\nbs=1m\nsize=0"),
    "all of the drive": (COUNTS, "rw=read\nbs=1m\nsize=100%"),
    "a part": (ORDER, "rw=read\nbs=64k\nsize=10%"),
    "a part that is no whole request": (ORDER, "rw=read\nbs=48k\nsize=7%"),
    "a part from a part on": (ORDER, "rw=write\nbs=1m\noffset=33%\nsize=20%"),
    "a part behind an aligned offset": (ORDER, "rw=write\nbs=4k\noffset=33%\noffset_align=64k\nsize=1m"),
    "an offset": (ORDER, "rw=read\noffset=512k\nsize=256k"),
    "an offset of a sector": (ORDER, "rw=read\noffset=512\nbs=4k\nsize=256k"),
    "a size that is no whole request": (ORDER, "rw=write\nbs=4k\nsize=1023k"),
    "random, no whole request": (PLACES, "rw=randwrite\nbs=4k\nsize=1023k"),
    "without a map, no whole request": (COUNTS, "rw=randwrite\nbs=4k\nsize=1023k\nnorandommap"),
    "filesize": (PLACES, "rw=randwrite\nfilesize=1m\nfilename=smaller\nioengine=null"),
    "filesize and size": (COUNTS, "rw=randwrite\nfilesize=1m\nsize=64k\nfilename=smaller\nioengine=null"),
    "random reads": (PLACES, "rw=randread\nsize=1m"),
    "random writes": (PLACES, "rw=randwrite\nsize=1m\nbs=8k"),
    "random trims": (COUNTS, "rw=randtrim\nbs=16k\nsize=1m\nioengine=null"),
    "trims and writes": (ORDER, "rw=trimwrite\nsize=256k\nioengine=null"),
    "random trims and writes": (PLACES, "rw=randtrimwrite\nsize=256k\nioengine=null"),
    "random without a map": (COUNTS, "rw=randread\nsize=1m\nnorandommap"),
    "loops": (ORDER, "rw=write\nsize=128k\nloops=3"),
    "random loops": (PLACES, "rw=randwrite\nsize=64k\nloops=2"),
    "random loops that differ": (PLACES, "rw=randwrite\nsize=64k\nloops=3\nrandrepeat=0"),
    "loops without a map": (COUNTS, "rw=randwrite\nsize=256k\nloops=3\nnorandommap"),
    "loops with a queue": (PLACES, "rw=randwrite\nsize=64k\nloops=3\nioengine=libaio\niodepth=4"),
    "loops without a map, with a queue": (
        COUNTS, "rw=randwrite\nsize=256k\nloops=3\nnorandommap\nioengine=libaio\niodepth=4",
    ),
    "fewer bytes": (ORDER, "rw=write\nsize=1m\nio_size=96k"),
    "fewer bytes at random": (COUNTS, "rw=randread\nsize=1m\nio_size=96k"),
    "more bytes": (ORDER, "rw=write\nsize=64k\nio_size=160k"),
    "more bytes to read": (ORDER, "rw=read\nsize=64k\nio_size=160k"),
    "more bytes at random": (COUNTS, "rw=randwrite\nsize=64k\nio_size=160k\nnorandommap"),
    "more bytes at random, by a map": (COUNTS, "rw=randread\nsize=64k\nio_size=160k"),
    "bytes that are no whole request": (ORDER, "rw=read\nsize=1m\nio_size=10k"),
    "bytes of per cent": (ORDER, "rw=read\nsize=1m\nio_size=50%"),
    "a number": (ORDER, "rw=read\nsize=1m\nnumber_ios=7"),
    "a number and loops": (ORDER, "rw=read\nsize=64k\nnumber_ios=5\nloops=3"),
    "a number beyond the size": (ORDER, "rw=write\nsize=32k\nnumber_ios=100"),
    "sizes of reads and writes": (ORDER, "rw=write\nbs=16k,4k\nsize=256k"),
    "sizes of reads alone": (ORDER, "rw=write\nbs=16k,\nsize=256k"),
    "sizes of writes alone": (ORDER, "rw=write\nbs=,16k\nsize=256k"),
    "hexadecimal": (ORDER, "rw=read\nbs=0x2000\nsize=0x20000"),
    "keywords": (ORDER, "rw=read\nbs=$pagesize\nsize=16*$pagesize"),
    "a stride": (ORDER, "rw=read:8k\nsize=256k"),
    "a stride of writes": (ORDER, "rw=write:12k\nbs=4k\nsize=256k\nio_size=64k"),
    "backwards": (ORDER, "rw=read:-8k\nsize=256k\nnumber_ios=20"),
    "runs": (COUNTS, "rw=randread:8\nsize=32m\nnumber_ios=100\nnorandommap"),
    "runs of one place": (COUNTS, "rw=randread:4\nrw_sequencer=identical\nsize=1m\nnorandommap"),
    "half random": (COUNTS, "rw=randread\npercentage_random=50\nsize=1m\nnorandommap"),
    "none random": (ORDER, "rw=randwrite\npercentage_random=0\nsize=256k\nnorandommap"),
    "aligned otherwise": (COUNTS, "rw=randread\nbs=8k\nba=4k\nsize=1m"),
    "mixed": (NEAR, "rw=rw\nsize=8m"),
    "mixed at random": (NEAR, "rw=randrw\nrwmixread=70\nsize=8m"),
    "mixed by writes": (NEAR, "rw=randrw\nrwmixwrite=80\nsize=8m"),
    "mixed, but reads": (ORDER, "rw=rw\nrwmixread=100\nsize=256k"),
    "mixed, but writes": (PLACES, "rw=randrw\nrwmixread=0\nsize=256k"),
    "mixed in two sizes": (NEAR, "rw=randrw\nbs=4k,16k\nsize=16m\nnorandommap"),
    "split": (NEAR, "rw=write\nbssplit=4k/20:16k/80\nsize=8m"),
    "split by kinds": (NEAR, "rw=randrw\nbssplit=4k/100,8k/50:32k/50\nsize=16m\nnorandommap"),
    "split without shares": (NEAR, "rw=read\nbssplit=4k/:8k/:16k/50\nsize=8m"),
    "a range of sizes": (NEAR, "rw=read\nbsrange=4k-32k\nsize=16m"),
    "split by a map": (NEAR, "rw=randwrite\nbssplit=4k/50:8k/50\nsize=8m"),
    "flushes": (ORDER, "rw=write\nsize=64k\nfsync=3"),
    "data flushes": (ORDER, "rw=write\nsize=64k\nfdatasync=4"),
    "a flush at the end": (ORDER, "rw=write\nsize=64k\nend_fsync=1"),
    "read back": (ORDER, "rw=write\nsize=64k\nverify=crc32c"),
    "read back at random": (PLACES, "rw=randwrite\nsize=64k\nverify=meta"),
    "not read back": (ORDER, "rw=write\nsize=64k\nverify=crc32c\ndo_verify=0"),
    "read back at times": (ORDER, "rw=write\nsize=64k\nverify=crc32c\nverify_backlog=4"),
    "copies": (PLACES, "rw=write\nsize=64k\nnumjobs=3\noffset_increment=1m\nthread"),
    "stages": (PLACES, "rw=write\nsize=64k\n[next]\nstonewall\nrw=read\nsize=128k\noffset=1m"),
    "by a law": (COUNTS, "rw=randwrite\nrandom_distribution=zipf:1.1\nsize=1m"),
    "by zones": (COUNTS, "rw=randwrite\nrandom_distribution=zoned:50/5:30/15:20/\nsize=1m"),
    "by zones of bytes": (COUNTS, "rw=randread\nrandom_distribution=zoned_abs:60/256k:40/768k\nsize=1m"),
    "files": (ORDER, "rw=write\nsize=64k\nnrfiles=4"),
    "files one behind the other": (ORDER, "rw=write\nsize=64k\nnrfiles=4\nfile_service_type=sequential"),
    "files in turns of three": (ORDER, "rw=write\nsize=64k\nnrfiles=4\nfile_service_type=roundrobin:3"),
    "files in any order": (PLACES, "rw=write\nsize=64k\nnrfiles=4\nfile_service_type=random"),
    "files at random": (PLACES, "rw=randwrite\nsize=64k\nnrfiles=4"),
    "files with flushes": (ORDER, "rw=write\nsize=64k\nnrfiles=4\nfsync=3"),
    "files with flushes at the end": (ORDER, "rw=write\nsize=64k\nnrfiles=4\nend_fsync=1"),
    "files read again": (ORDER, "rw=read\nsize=64k\nnrfiles=4\nio_size=128k"),
    "files in loops": (ORDER, "rw=write\nsize=64k\nnrfiles=4\nloops=2"),
    "files of a size": (ORDER, "rw=write\nnrfiles=4\nfilesize=8k"),
    "files that are no whole request": (COUNTS, "rw=write\nsize=100k\nnrfiles=3"),
    "a thousand": (ORDER, "kb_base=1000\nrw=read\nbs=4096\nsize=64kib"),
}  # fmt: skip
"""What is compared, and the words of the job."""

Log = Sequence[tuple[str, int, int]]
"""Requests in order: kind (`read`, `write`, `trim`, `sync`), first byte and bytes."""


def text(words: str, filename: str) -> str:
    """The job file."""
    # fio takes the names of `[global]` and of a job together.
    named = "" if "filename=" in words or "nrfiles=" in words else f"filename={filename}\n"
    return f"[global]\nioengine=psync\n{named}[job]\n{words}\n"


def digest(log: Iterable[tuple[str, int, int]]) -> int:
    """A checksum of requests."""
    return zlib.crc32("\n".join(f"{kind} {offset} {size}" for kind, offset, size in log).encode())


def told(log: Log) -> dict[str, Any]:
    """The figures that are kept of a log."""
    data = [request for request in log if request[0] != "sync"]
    kinds = {kind: [size for each, _, size in data if each == kind] for kind in ("read", "write", "trim")}
    seen = [request for request in data if request[0] != "trim"]
    return {
        "kinds": {kind: [len(sizes), sum(sizes)] for kind, sizes in kinds.items() if sizes},
        "flushes": sum(kind == "sync" for kind, _, _ in log),
        "order": digest(seen),
        "places": digest(sorted(seen)),
        "end": max((offset + size for _, offset, size in seen), default=0),
    }


def ours(words: str, tiny: Path) -> dict[str, Any]:
    """What ftlab makes of a job: its reads and writes in order, and its counts."""
    sets = ["run.per_request=true", "run.precondition=none"]
    result, _ = running.run(tiny, JobFile(text(words, "drive")), sets=sets)
    rows = result.tables["requests"]
    log = [*zip(map(str, rows["kind"]), map(int, rows["offset"]), map(int, rows["size"]), strict=True)]
    found = told(log)
    tenants = result.summary.get("tenants") or [result.summary["host"]]
    if trims := sum(tenant.get("trims", 0) for tenant in tenants):
        found["kinds"]["trim"] = [trims, sum(tenant["bytes_trimmed"] for tenant in tenants)]
    found["flushes"] = sum(tenant.get("flushes", 0) for tenant in tenants)
    return found


LOGS: dict[str, Any] = json.loads(Path(__file__).with_name("fio_logs.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_requests_are_those_of_fio(name: str, tiny: Path) -> None:
    level, words = CASES[name]
    theirs, found = LOGS[name], ours(words, tiny)
    assert found["kinds"].keys() == theirs["kinds"].keys()
    for kind, (count, bytes_) in theirs["kinds"].items():
        if level == NEAR:
            assert found["kinds"][kind] == [pytest.approx(count, rel=0.16), pytest.approx(bytes_, rel=0.16)]
        else:
            assert found["kinds"][kind] == [count, bytes_]
    if level != NEAR:
        assert found["flushes"] == theirs["flushes"]
    if level in (ORDER, PLACES):
        assert found["places"] == theirs["places"]
    if level == ORDER:
        assert found["order"] == theirs["order"]
    assert found["end"] <= DRIVE


def test_a_log_of_every_case_is_kept() -> None:
    assert LOGS.keys() == CASES.keys() and len(CASES) >= 60
