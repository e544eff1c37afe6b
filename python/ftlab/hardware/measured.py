"""A measured drive: what fio and nvme-cli wrote of it, read and checked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ftlab._core import InputError
from ftlab.hardware.jobs import CAPACITY, JOBS, SCRIPT, Job

KINDS = ("read", "write")

SHOWN = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
"""Percentiles that are compared."""

ENOUGH = 10_000
"""Requests of which a 99.9th percentile is told."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A job that was run, on the drive or on its simulation."""

    job: Job
    text: str
    """Its job file, without the drive's name and with the rate that it had."""
    figures: Mapping[str, float]
    """Rates in requests a second and MB/s, latencies in microseconds: `read iops`, `write p99`."""
    percentiles: Mapping[str, Mapping[float, float]]
    """All percentiles of reads and writes that fio wrote, in microseconds."""
    written: int
    """Bytes."""
    waf: float | None = None
    """By the drive's counters."""


@dataclass(frozen=True, slots=True)
class Drive:
    """All that was measured of a drive."""

    ran: Mapping[str, Ran]
    """By the name of the job."""
    capacity: int | None
    """Bytes."""

    def figure(self, job: str, name: str) -> float | None:
        """A figure; `None` where the job was not run or does not have it."""
        return self.ran[job].figures.get(name) if job in self.ran else None


def load(directory: Path) -> Drive:
    """Reads a directory in which the script ran.

    Raises:
        InputError: it has no results, or one that cannot be used.
    """
    if not directory.is_dir():
        raise InputError(
            f"error: {directory} is no directory\nhint: `ftlab hardware fit --jobs {directory}` writes the jobs there; "
            f"then `{SCRIPT}` measures a drive"
        )
    ran = {}
    for job in JOBS:
        if (path := directory / f"{job.name}.json").exists():
            own = directory / f"{job.name}.fio"
            text = _read(own) if own.exists() else job.file
            ran[job.name] = read(job, _fio(path), str(path), text, _waf(directory, job))
    if not ran:
        raise InputError(
            f"error: {directory} has no results; expected files such as {JOBS[0].name}.json\n"
            f"hint: `sh {directory / SCRIPT}` measures a drive"
        )
    return Drive(ran, _capacity(directory, ran))


def read(job: Job, told: Mapping[str, Any], path: str, text: str = "", waf: float | None = None) -> Ran:
    """A job from the object that fio printed, and its job file.

    Raises:
        InputError: it is not of such a job, or the job failed.
    """
    jobs = told.get("jobs")
    if not isinstance(jobs, list) or not jobs or not all(isinstance(each, dict) for each in jobs):
        raise _refused(path, "it has no `jobs`", "what `fio --output-format=json` writes")
    if failed := next((each for each in jobs if each.get("error")), None):
        raise _refused(
            path,
            f"its job `{failed.get('jobname')}` ended with error {failed['error']}",
            "a job that came to its end",
        )
    figures: dict[str, float] = {}
    percentiles: dict[str, dict[float, float]] = {}
    written = 0
    try:
        for kind in KINDS:
            each = [one[kind] for one in jobs if one.get(kind, {}).get("total_ios")]
            if not each:
                continue
            requests = sum(one["total_ios"] for one in each)
            figures[f"{kind} iops"] = float(sum(one["iops"] for one in each))
            figures[f"{kind} mb_s"] = sum(one["bw_bytes"] for one in each) / 1e6
            mean = sum(one["clat_ns"]["mean"] * one["total_ios"] for one in each) / requests
            figures[f"{kind} mean"] = mean / 1e3
            if kind == "write":
                written = int(sum(one["io_bytes"] for one in each))
            if len(each) == 1:
                of = {float(at): ns / 1e3 for at, ns in each[0]["clat_ns"].get("percentile", {}).items()}
                percentiles[kind] = of
                figures |= {
                    f"{kind} {name}": of[at] for name, at in SHOWN.items()
                    if at in of and (name != "p999" or requests >= ENOUGH)
                }  # fmt: skip
        rate = next(
            (one["job options"]["rate_iops"] for one in jobs if "rate_iops" in one.get("job options", {})), ""
        )
        # A rate that fio wrote down by the name of its variable is what came of it.
        rate = rate if str(rate).isdigit() else f"{figures.get('write iops', 0):.0f}"
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _refused(
            path, f"its figures cannot be read ({type(error).__name__}: {error})",
            "`iops`, `bw_bytes`, `io_bytes` and `clat_ns` of reads and writes, as fio 3 writes them",
        ) from None  # fmt: skip
    wanted = {kind for kind in KINDS if re.search(rf"(?m)^rw=(rand)?({kind}|rw)$", job.text)}
    if missing := wanted - {name.split()[0] for name in figures}:
        raise _refused(path, f"it has no {' and no '.join(sorted(missing))}s", f"the job of {job.name}.fio")
    text = re.sub(r"(?m)^filename=.*\n", "", text).replace("${RATE}", str(rate))
    return Ran(job, text, figures, percentiles, written, waf)


def _fio(path: Path) -> dict[str, Any]:
    """The object of a file that fio wrote; it may have warnings before it."""
    text = _read(path)
    begin = re.search(r"(?m)^\{", text)
    return _object(path, text[begin.start() :] if begin else text, "what `fio --output-format=json` writes")


def _waf(directory: Path, job: Job) -> float | None:
    """Media bytes over host bytes by the counters before and after a job; `None` where there are none."""
    found: list[float] = []
    for when in ("before", "after"):
        smart, ocp = (directory / f"{job.name}.{when}.{kind}.json" for kind in ("smart", "ocp"))
        if not smart.exists() or not ocp.exists():
            return None
        found += [_units(smart), _media(ocp)]
    host, media = found[2] - found[0], found[3] - found[1]
    if host <= 0:
        return None
    waf = media / host
    if not 0.1 < waf < 1000:
        raise _refused(
            str(directory / f"{job.name}.after.ocp.json"),
            f"the drive's counters say that {host:.4g} bytes of the host were {media:.4g} bytes of flash",
            "counters of before and after the same job",
        )
    return waf


def _units(path: Path) -> float:
    """Bytes that the host wrote, of NVMe's SMART log: thousands of 512 bytes."""
    told = _object(path, _read(path), "what `nvme smart-log -o json` writes")
    return _number(path, told.get("data_units_written"), "`data_units_written`") * 512_000


def _media(path: Path) -> float:
    """Bytes that flash took, of the log page of the Open Compute Project."""
    told = _object(path, _read(path), "what `nvme ocp smart-add-log -o json` writes")
    names = {re.sub(r"[^a-z]", "", key.lower()): value for key, value in told.items()}
    value = names.get("physicalmediaunitswritten")
    if isinstance(value, dict):
        high, low = (_number(path, value.get(part), f"`{part}`") for part in ("hi", "lo"))
        return high * 2.0**64 + low
    return _number(path, value, "`Physical media units written`")


def _number(path: Path, value: object, name: str) -> float:
    try:
        return float(str(value).replace(",", ""))
    except ValueError:
        raise _refused(str(path), f"{name} is {value!r}" if value is not None else f"it has no {name}",
                       "a number") from None  # fmt: skip


def _capacity(directory: Path, ran: Mapping[str, Ran]) -> int | None:
    path = directory / CAPACITY
    if path.exists():
        text = _read(path).strip()
        if not re.fullmatch(r"[1-9][0-9]{5,17}", text):
            raise _refused(
                str(path), f"found `{text[:40]}`", "the drive's bytes, as `blockdev --getsize64` prints them"
            )
        return int(text)
    return ran["fill"].written if "fill" in ran else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"error: {path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise _refused(str(path), "it is no text", "what the script wrote") from None


def _object(path: Path, text: str, expected: str) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refused(str(path), f"it is no JSON: {error}", expected) from None
    if not isinstance(told, dict):
        raise _refused(str(path), "it is no JSON object", expected)
    return told


def _refused(path: str, found: str, expected: str) -> InputError:
    return InputError(f"error: {path}: {found}; expected {expected}")
