"""What fio itself makes of job files, where it is installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ftlab import InputError
from ftlab.fio import options, running
from ftlab.fio.jobfile import JobFile
from ftlab.fio.plan import plan

MIB = 1 << 20


FIO = os.environ.get("FTLAB_FIO") or shutil.which("fio")


with_fio = pytest.mark.skipif(FIO is None, reason="fio is not installed (or name it in FTLAB_FIO)")


def fio(tmp_path: Path, text: str, *options: str) -> dict[str, Any]:
    """fio's object of a job file that does nothing but count (`ioengine=null`)."""
    assert FIO is not None
    job = tmp_path / "job.fio"
    job.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [FIO, "--output-format=json", *options, str(job)],
        cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return found


NULL = "[global]\nioengine=null\nsize=1m\n"


@with_fio
@pytest.mark.parametrize("h", [0.1, 0.3])
def test_pareto_is_as_skewed_as_that_of_fio(h: float, tmp_path: Path, tiny: Path) -> None:
    text = f"{NULL}[a]\nbs=4k\nsize=16m\nnumber_ios=20000\nio_size=1g\nrw=randwrite\nrandom_distribution=pareto:{h}\n"
    fio(tmp_path, f"{text}write_iolog={tmp_path}/io.log\n")
    log = (tmp_path / "io.log").read_text(encoding="utf-8")
    theirs = [int(line.split()[-2]) for line in log.splitlines() if " write " in line]
    result, _ = running.run(tiny, JobFile(text), sets=["run.per_request=true", "run.precondition=none"])
    shares = []
    for offsets in (theirs, result.tables["requests"]["offset"]):
        counts = np.sort(np.unique(offsets, return_counts=True)[1])[::-1]
        shares.append(counts[:40].sum() / counts.sum())
    # fio's hash lets some of the popular ones fall together.
    assert shares[1] == pytest.approx(shares[0], rel=0.1)


@with_fio
def test_zones_are_those_of_fio(tmp_path: Path, tiny: Path) -> None:
    text = (
        f"{NULL}[a]\nbs=4k\nsize=16m\nnumber_ios=20000\nio_size=1g\nrw=randwrite\nnorandommap\n"
        "random_distribution=zoned:70/10:10/30:15/20:5/40\n"
    )
    fio(tmp_path, f"{text}write_iolog={tmp_path}/io.log\n")
    log = (tmp_path / "io.log").read_text(encoding="utf-8")
    theirs = np.array([int(line.split()[-2]) for line in log.splitlines() if " write " in line])
    result, _ = running.run(tiny, JobFile(text), sets=["run.per_request=true", "run.precondition=none"])
    ours = np.asarray(result.tables["requests"]["offset"])
    for begin, end, share in ((0, 0.1, 0.7), (0.1, 0.4, 0.1), (0.4, 0.6, 0.15), (0.6, 1, 0.05)):
        for offsets in (theirs, ours):
            inside = (offsets >= begin * 16 * MIB) & (offsets < end * 16 * MIB)
            assert inside.mean() == pytest.approx(share, abs=0.015)


@with_fio
@pytest.mark.parametrize(
    "text", ["[a]\nBS=8k\n", "[a]\nrw=randrw\nrwmixread=101\n", "bs=4k\n[a]\n", "[a]\nrw=x\n"]
)
def test_what_fio_refuses_is_refused(text: str, tmp_path: Path) -> None:
    assert FIO is not None
    job = tmp_path / "job.fio"
    job.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [FIO, "--parse-only", str(job)], capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert done.stderr or done.returncode
    with pytest.raises(InputError):
        plan(JobFile(text), 64 * MIB)


@with_fio
def test_no_word_of_fio_is_unknown() -> None:
    assert FIO is not None
    done = subprocess.run(
        [FIO, "--cmdhelp=all"], capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    words = {line.split()[0].rstrip(":") for line in done.stdout.splitlines() if re.match(r"\w", line)}
    assert len(words) > 150
    assert not words - options.names().keys()


@with_fio
def test_the_keys_of_the_report_are_those_of_fio(tmp_path: Path, tiny: Path) -> None:
    text = f"{NULL}[a]\nrw=randrw\n"
    theirs = fio(tmp_path, text)
    _, ours = running.run(tiny, JobFile(text))
    assert theirs.keys() - ours.keys() == set()
    assert theirs["jobs"][0].keys() - ours["jobs"][0].keys() == set()
    for part in (
        "iodepth_level",
        "iodepth_submit",
        "iodepth_complete",
        "latency_ns",
        "latency_us",
        "latency_ms",
    ):
        assert list(theirs["jobs"][0][part]) == list(ours["jobs"][0][part])
    for kind in ("read", "write", "trim"):
        assert theirs["jobs"][0][kind].keys() <= ours["jobs"][0][kind].keys()
    assert theirs["jobs"][0]["read"]["clat_ns"].keys() == ours["jobs"][0]["read"]["clat_ns"].keys()
    assert (
        theirs["jobs"][0]["read"]["clat_ns"]["percentile"].keys()
        == ours["jobs"][0]["read"]["clat_ns"]["percentile"].keys()
    )
