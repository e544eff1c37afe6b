"""The script that records traces: what it refuses, and that it records what was sent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ftlab.cli.main import main

CAN_RECORD = (
    os.name == "posix" and os.geteuid() == 0 and Path("/dev/loop-control").exists() and shutil.which("fio")
)


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["trace", "capture", "--print"]) == 0
    file = tmp_path / "capture.sh"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    return file


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[str]:
    """A loop device of 16 MiB."""
    image = tmp_path / "disk.img"
    image.write_bytes(bytes(1 << 24))
    made = subprocess.run(["losetup", "-f", "--show", image], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip("no loop device")
    yield made.stdout.strip()
    subprocess.run(["losetup", "-d", made.stdout.strip()], check=True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no device; expected: sh capture.sh DEVICE"),
        (["/dev/null"], "is no block device"),
        (["/dev/null", "0"], "SECONDS is `0`; expected a whole number from 1 on"),
        (["/dev/null", "60", "many"], "REQUESTS is `many`"),
    ],
)
def test_what_cannot_be_recorded_is_refused(script: Path, arguments: list[str], words: str) -> None:
    done = subprocess.run(["sh", script, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and words in done.stderr


@pytest.mark.skipif(not CAN_RECORD, reason="block events are for root, and fio makes them")
def test_a_job_that_was_recorded_has_the_requests_that_were_sent(
    script: Path, loop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = subprocess.Popen(
        ["sh", script, loop, "60"], cwd=tmp_path, env={**os.environ, "TOOL": "tracefs"}, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert recording.stderr is not None
    line = recording.stderr.readline()
    if "none of" in line:
        pytest.skip("no tracefs")
    instance = next(Path("/sys/kernel/tracing/instances").glob(f"ftlab-{recording.pid}"))
    while (instance / "events/block/block_rq_requeue/enable").read_text() != "1\n":
        pass
    job = ["--rw=randwrite", "--bs=4k", "--size=256k", "--direct=1", "--ioengine=psync", "--output=/dev/null"]
    subprocess.run(
        ["fio", "--name=j", f"--filename={loop}", "--write_iolog=sent", *job], cwd=tmp_path, check=True
    )
    subprocess.run(["blkdiscard", "-o", "8M", "-l", "1M", loop], check=True)
    # As Ctrl-C does.
    os.killpg(recording.pid, 2)
    told = recording.communicate(timeout=60)[1]
    (file,) = tmp_path.glob("capture-loop*.txt*")
    assert "processor time" in told and not instance.exists()
    assert main(["trace", "head", str(file), "-n", "1000", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["requests"]
    writes = [(each["offset"], each["size"]) for each in found if each["kind"] == "write"]
    sent = [line.split() for line in (tmp_path / "sent").read_text().splitlines()]
    assert writes == [(int(words[-2]), int(words[-1])) for words in sent if "write" in words]
    assert len(writes) == 64
    assert [each["size"] for each in found if each["kind"] == "discard"] == [1 << 20]


def test_a_trace_says_how_much_of_a_day_it_covers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trace.csv"
    file.write_text("time,op,offset,size\n0,W,0,4096\n864,W,4096,4096\n", encoding="utf-8")
    command = ["trace", "info", str(file), "--columns", "time=1,op=2,offset=3,size=4"]
    assert main(command) == 0
    assert "covers 1.00 % of a day; a day at its mean rate has 819 kB of writes" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["day_fraction"] == 0.01 and found["bytes_written_per_day"] == 819_200
