"""Logs of real drives, as nvme-cli prints them in JSON, beside a simulated drive.

``nvme smart-log -o json`` has NVMe's SMART log, ``nvme ocp smart-add-log -o json`` the one of OCP. Numbers of 128 bits
are numbers, texts with commas, or two halves, `hi` and `lo`, whichever version printed them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ftlab._core import InputError
from ftlab.base import escape
from ftlab.results import smart, text
from ftlab.results.result import Result

WRITTEN, MEDIA, USED, ESTIMATE = (
    "data_units_written", "Physical media units written", "percent_used", "Endurance estimate",
)  # fmt: skip

HINT = "expected what `nvme smart-log -o json` or `nvme ocp smart-add-log -o json` prints"


def read(files: Sequence[str | PathLike[str]]) -> dict[str, int]:
    """The fields of real drives' logs, by their keys in the JSON of nvme-cli.

    Raises:
        InputError: a file cannot be read, or has no such log.
    """
    found: dict[str, int] = {}
    known = {field.key.lower(): field.key for field in smart.FIELDS}
    for file in files:
        name = escape.terminal(str(file))
        try:
            log = json.loads(Path(file).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"error: {name} cannot be read: {error.strerror}\nhint: {HINT}") from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"error: {name} is not JSON: {error}\nhint: {HINT}") from None
        of_file = {
            known[key.lower()]: value
            for key, said in _pairs(log)
            if key.lower() in known and (value := _number(said)) is not None
        }
        if not of_file:
            raise InputError(f"error: {name} has no field of a drive's log\nhint: {HINT}")
        found |= of_file
    return found


def _pairs(log: Any) -> list[tuple[str, Any]]:
    """The keys of an object, and of objects in it, with their values."""
    if not isinstance(log, Mapping):
        return []
    pairs = [(str(key), value) for key, value in log.items()]
    return pairs + [pair for _, value in pairs for pair in _pairs(value)]


def _number(said: Any) -> int | None:
    """A value of a log; `None` where it is no number."""
    if isinstance(said, Mapping):
        halves = [_number(said.get(half)) for half in ("hi", "lo")]
        if None in halves:
            return _number(said.get("value"))
        return (halves[0] or 0) << 64 | (halves[1] or 0)
    if isinstance(said, str):
        word = said.replace(",", "").strip().removesuffix("%")
        return int(word) if word.isdigit() else None
    return int(said) if isinstance(said, int | float) and not isinstance(said, bool) else None


def told(log: Mapping[str, int]) -> dict[str, float]:
    """Figures that follow from a log: `waf`, and `tbw_bytes`, which the host can write by the used part of the life."""
    written = log.get(WRITTEN, 0) * smart.DATA_UNIT
    found = {}
    if written and MEDIA in log:
        found["waf"] = log[MEDIA] / written
    if written and log.get(USED):
        found["tbw_bytes"] = written * 100 / log[USED]
    return found


def ours(result: Result) -> dict[str, float]:
    """These figures of a run."""
    found = {} if result.summary["waf"] is None else {"waf": float(result.summary["waf"])}
    rated = smart.rated_cycles(result.summary["config"]["device"])
    if found and rated is not None:
        found["tbw_bytes"] = rated * smart.raw_bytes(result.summary["config"]["device"]) / found["waf"]
    return found


def to_json(log: Mapping[str, int], result: Result | None) -> dict[str, Any]:
    """Both drives."""
    made: dict[str, Any] = {"drive": {"fields": dict(log), **told(log)}}
    if result is not None:
        values = {key: value for each in smart.values(result).values() for key, value in each.items()}
        made["simulated"] = {"fields": {key: values.get(key) for key in log}, **ours(result)}
    return made


def table(log: Mapping[str, int], result: Result | None) -> str:
    """The fields of a real drive, and those of a run beside them."""
    rows = [["log", "field", "drive", *(["simulated"] if result is not None else [])]]
    for field in smart.FIELDS:
        if field.key in log:
            beside = [] if result is None else [smart.shown(field.value(result.summary))]
            rows.append([field.log, field.name, text.count(log[field.key]), *beside])
    drive, simulated = told(log), {} if result is None else ours(result)
    for key, name, form in (("waf", "WAF", text.amplification), ("tbw_bytes", "TBW", text.size)):
        if key in drive or key in simulated:
            cells = [form(each[key]) if key in each else text.ABSENT for each in (drive, simulated)]
            rows.append(["", name, *(cells if result is not None else cells[:1])])
    return text.columns(rows, align="<<>") + "\n"
