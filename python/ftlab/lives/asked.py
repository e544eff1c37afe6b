"""The question: which drives, at which spare, under which workload, rated how."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from ftlab import _core
from ftlab._core import ConfigError, InputError
from ftlab.api.configs import Config, Raw, Sets, set_list
from ftlab.api.simulation import Job, Trace, plan
from ftlab.base.quantities import in_bytes, said_bytes
from ftlab.base.said import first_line
from ftlab.lives import steady
from ftlab.results import text
from ftlab.results.smart import rated_cycles, raw_bytes
from ftlab.traces import columnar

T = TypeVar("T")

SPARES = (0.07, 0.12, 0.28)
"""Spares that are tried besides a drive's own: of most drives, and of two kinds for many writes."""

SPARE_MAX = 10.0
"""The most spare ÷ user capacity that is looked at."""

WARRANTY = 5.0
"""Years for which drive writes a day are told."""

ALIKE = 0.005
"""Spares that differ less are the same."""


@dataclass(frozen=True, slots=True)
class Case:
    """A drive with a spare."""

    label: str
    drive: str
    """The name of the drive, whatever its spare."""
    job: Job
    """Its run in the steady state; of one that is refused, none that can be run."""
    under: Job
    """The drive under the workload."""
    raw: int
    """Bytes of its blocks."""
    user: int
    """Bytes for the user."""
    rated_pe: float
    rated_dwpd: float | None
    price: float | None
    is_own: bool
    """The spare is the drive's own."""
    is_offered: bool
    """It may be taken; others only say what another spare would do."""
    refused: str = ""
    """Why it cannot be run, in a line."""

    @property
    def spare(self) -> float:
        """Spare ÷ user capacity."""
        return self.raw / self.user - 1


@dataclass(frozen=True, slots=True)
class Load:
    """A workload as it is known before it is run."""

    name: str
    per_day: float | None
    """Bytes that the host writes a day."""
    covers_s: float | None = None
    """Seconds of the trace that a day is made of; `None`: the rate was given, or there is none."""


def each(values: float | Sequence[float] | None, drives: int, what: str) -> list[float | None]:
    """A number for each drive: one for all of them, or as many.

    Raises:
        ConfigError: there are too few or too many.
    """
    if values is None or isinstance(values, int | float):
        return [values] * drives
    if len(values) == 1:
        return [values[0]] * drives
    if len(values) != drives:
        several = "drives" if drives > 1 else "drive"
        raise ConfigError(
            f"error: `{what}` has {len(values)} values for {drives} {several}; expected one for all, or one for each"
        )
    return list(values)


def bounded(value: float | None, what: str, least: float, expected: str) -> float | None:
    """A number that is not too small.

    Raises:
        ConfigError: it is, or is none.
    """
    if value is not None and not (math.isfinite(value) and value >= least):
        raise ConfigError(f"error: `{what}` is {value:g}; expected {expected}")
    return value


def per_day(said: str | float | None, user: int) -> float | None:
    """Bytes a day: a size, or user capacities such as `0.5x`.

    Raises:
        ConfigError: it is neither, or zero.
    """
    if said is None:
        return None
    expected = "expected what the host writes a day, such as `1.2TB`, or in user capacities `0.5x`"
    try:
        word = str(said).strip()
        found = float(word[:-1]) * user if word.endswith("x") else float(said_bytes(word))
    except ValueError:
        raise ConfigError(f"error: `{said}` is no amount of writes; {expected}") from None
    if not math.isfinite(found) or found <= 0:
        raise ConfigError(f"error: at `{said}` a day no drive wears out; {expected}")
    return found


def spares(said: Sequence[float] | None) -> tuple[float, ...]:
    """The spares that are asked of each drive.

    Raises:
        ConfigError: one is no spare.
    """
    for spare in said or ():
        if not 0 < spare <= SPARE_MAX:
            raise ConfigError(
                f"error: a spare of {spare:g} is {100 * spare:g} % of the user capacity; expected a part such as 0.07"
            )
    return SPARES if said is None else tuple(said)


def cases(
    jobs: Sequence[Job],
    *,
    rated_pe: float | Sequence[float] | None,
    rated_dwpd: float | Sequence[float] | None,
    prices: float | Sequence[float] | None,
    asked: Sequence[float] | None,
    reaches: int,
    change: Callable[[Job], Job],
) -> list[Case]:
    """The drives with their own spare, and with each that is asked.

    Args:
        jobs: the drives under the workload.
        rated_pe: P/E cycles of the datasheets; `None`: those of the configurations.
        rated_dwpd: drive writes a day of the datasheets.
        prices: what the drives cost.
        asked: spare ÷ user capacity; `None`: those of :data:`SPARES`, to compare with.
        reaches: the end of the highest address of the workload, in bytes.
        change: what each drive goes through first.

    Raises:
        ConfigError: a drive cannot be run, or is not rated.
        InputError: a drive is smaller than the workload.
    """
    found = []
    rated = each(rated_pe, len(jobs), "--rated-pe")
    dwpd, price = each(rated_dwpd, len(jobs), "--rated-dwpd"), each(prices, len(jobs), "--price")
    for job, pe, drive_writes, costs in zip(jobs, rated, dwpd, price, strict=True):
        bounded(pe, "--rated-pe", 1, "the P/E cycles of the datasheet, 1 or more, such as `3000`")
        bounded(drive_writes, "--rated-dwpd", 1e-6, "the drive writes a day of the datasheet, such as `1`")
        bounded(costs, "--price", 0, "what the drive costs, such as `199`")
        under = change(job)
        own = steady.prepared(under)
        resolved = own.resolve()
        device = resolved["device"]
        cycles = pe if pe is not None else rated_cycles(device)
        if cycles is None:
            raise ConfigError(
                f"error: the P/E cycles of `{job.label}` are not known; expected `--rated-pe`, as its "
                "datasheet has it: some 3000 for TLC, 1000 for QLC"
            )
        raw, user = raw_bytes(device), in_bytes(device["user_capacity"])
        _check_reach(job.label, reaches, user)
        first = Case(job.label, job.label, own, under, raw, user, cycles, drive_writes, costs, True, True)
        found.append(first)
        for spare in spares(asked):
            if abs(spare - first.spare) < ALIKE:
                continue
            found.append(_with_spare(first, job, spare, reaches, change, is_offered=asked is not None))
    return found


def _with_spare(
    own: Case, job: Job, spare: float, reaches: int, change: Callable[[Job], Job], *, is_offered: bool
) -> Case:
    """A drive with another spare of the same flash."""
    label = f"{own.drive}, {100 * spare:.4g} % spare"
    sets = [*job.sets, *set_list({"device.over_provisioning": spare})]
    changed = replace(job, label=label, sets=sets)
    made = replace(own, label=label, is_own=False, is_offered=is_offered, user=int(own.raw / (1 + spare)))
    try:
        under = change(changed)
        run = steady.prepared(under)
        user = in_bytes(run.resolve()["device"]["user_capacity"])
        _check_reach(label, reaches, user)
    except (ConfigError, InputError) as error:
        return replace(made, refused=first_line(error))
    return replace(made, job=run, under=under, user=user)


def _check_reach(label: str, reaches: int, user: int) -> None:
    if reaches > user:
        raise InputError(
            f"error: `{label}` has {text.size(user)} for the user, and the trace reaches to {text.size(reaches)}; "
            f"expected a drive with {text.size(reaches)} or more for the user"
        )


def load_of(
    trace: Trace | None, columns: str | None, resolved: Mapping[str, Any], said: str | float | None, user: int
) -> tuple[Load, int]:
    """The workload's writes a day, and the end of its highest address.

    Raises:
        ConfigError: the rate that was given is none.
        InputError: the trace cannot be read, or has no writes.
    """
    given = per_day(said, user)
    workload = resolved["workload"]
    name = trace if trace is not None else workload.get("trace")
    if name is None:
        if workload.get("read_fraction", 0) == 1:
            raise InputError(
                "error: the workload has reads only, so no drive wears by it; expected one with writes"
            )
        return Load(str(_name(workload.get("generator", "jobs"))), given or _of_generator(resolved)), 0
    info = trace_info(name, columns or workload.get("trace_columns"))
    if not info["bytes_written"]:
        raise InputError(
            f"error: {info['path']} has no writes, so no drive wears by it\nhint: expected a trace with writes; "
            f"`ftlab trace info` shows what it holds"
        )
    duration = float(info["duration_s"])
    if given is None and duration > 0:
        rate = info["bytes_written"] / duration * 86_400
        return Load(Path(info["path"]).name, rate, duration), int(info["highest_offset_bytes"])
    return Load(Path(info["path"]).name, given), int(info["highest_offset_bytes"])


def trace_info(trace: Trace, columns: str | None) -> dict[str, Any]:
    """The facts of a trace, as `ftlab trace info` has them.

    Raises:
        InputError: it cannot be read.
    """
    with columnar.for_engine(trace, None, columns) as (path, form, table):
        info: dict[str, Any] = json.loads(_core.trace_info(path, format=form, skip_bad=False))
        return info if table is None else info | {"path": table.name}


def _name(choice: str | Mapping[str, Any]) -> str:
    return choice if isinstance(choice, str) else next(iter(choice))


def _of_generator(resolved: Mapping[str, Any]) -> float | None:
    """Bytes that a generator writes a day, where it has times of its own."""
    from ftlab.base.quantities import in_us

    workload = resolved["workload"]
    interval = in_us(workload.get("interval", "0ns"))
    if "tenant" in resolved or resolved["host"]["replay"] != "open" or not interval:
        return None
    size = in_bytes(workload["request_size"]) * (1 - workload["read_fraction"])
    pause = (
        in_us(workload.get("idle_for", "0ns")) / workload["idle_every"] if workload.get("idle_every") else 0.0
    )
    return float(size / (interval + pause) * 86_400e6) or None


def jobs_of(
    configs: str | PathLike[str] | Sequence[Config] | Mapping[str, Config],
    workload: str | None,
    sets: Sets,
    trace: Trace | None,
    columns: str | None,
) -> list[Job]:
    """The drives under the workload.

    Raises:
        ConfigError: there is none, or a setting is none.
    """
    said = set_list(sets)
    if workload is not None:
        if trace is not None:
            raise ConfigError("error: a workload and a trace are both given; expected one of them")
        said = [*said, *set_list({"workload.generator": Raw(workload)})]
    return plan(configs, sets=said, trace=trace, columns=columns)
