"""Subjects of reports, and their reading from directories. A directory that is none of it is refused in a sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ftlab._core import InputError
from ftlab.base import escape
from ftlab.hardware.rows import SCHEMA
from ftlab.results import claims, output
from ftlab.results.comparison import FILE, Comparison
from ftlab.results.kept import SEAL
from ftlab.results.result import Result, read_object
from ftlab.sweeps.sweep import RUNS, Sweep


@dataclass(frozen=True, slots=True)
class Run:
    """One run."""

    name: str
    result: Result
    place: Path | None = None
    hash: str | None = None
    """Of everything that determines it, where it is kept under one."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs side by side: a comparison, or loose runs of one report."""

    name: str
    comparison: Comparison
    place: Path | None = None


@dataclass(frozen=True, slots=True)
class Swept:
    """A sweep."""

    name: str
    sweep: Sweep
    place: Path | None = None
    configs: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """The resolved configurations of its runs, by hash."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Claims of a paper and what became of them."""

    name: str
    document: dict[str, Any]
    """The object `ftlab.claims/1`."""
    place: Path | None = None
    report: str = ""
    """Workloads and figures as Markdown."""
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    """SVG by name."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Figures of real drives beside simulated ones."""

    name: str
    document: dict[str, Any]
    """The object `ftlab.hardware/1`."""
    place: Path | None = None
    report: str = ""
    """Every figure as Markdown."""
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    """SVG by name."""


Source: TypeAlias = Run | Runs | Swept | Reproduction | Checked


def read(place: Path) -> Source:
    """The content of a directory.

    Raises:
        InputError: it is no result, is not finished, or cannot be read.
    """
    name = place.name or place.resolve().name or str(place)
    if not place.is_dir():
        raise _no_directory(place)
    if (place / FILE).exists():
        return Runs(name, Comparison.load(place), place)
    if (place / "claims.json").exists():
        return _reproduction(name, place)
    if (place / "hardware.json").exists():
        document = read_object(
            place / "hardware.json", SCHEMA, "check of hardware", "ftlab hardware check --out"
        )
        return Checked(name, document, place, *_beside(place, "hardware.md"))
    if (place / RUNS).exists():
        sweep = Sweep.load(place)
        return Swept(name, sweep, place, _configs(sweep, place))
    if (place / "summary.json").exists():
        return Run(name, Result.load(place), place, _seal(place))
    raise _unfinished(place)


WRITERS = "expected a directory that `ftlab run`, `compare`, `sweep`, `reproduce` or `hardware check` wrote"


def _no_directory(place: Path) -> InputError:
    shown = escape.terminal(str(place))
    if not place.exists():
        return InputError(f"error: {shown} is not there; {WRITERS}")
    if _is_result(place.parent):
        return InputError(
            f"error: {shown} is a file; expected the directory it is in, {escape.terminal(str(place.parent))}"
        )
    return InputError(f"error: {shown} is a file; {WRITERS}")


RESULTS = ("summary.json", FILE, "claims.json", "hardware.json", RUNS)
"""The file that says what a directory is."""


def _is_result(place: Path) -> bool:
    return any((place / name).exists() for name in RESULTS)


def _unfinished(place: Path) -> InputError:
    """Why a directory is no result, as far as one can tell."""
    shown = escape.terminal(str(place))
    inner = sorted(each for each in place.iterdir() if each.is_dir() and _is_result(each))
    if (place / output.KEPT).is_dir():
        why = "holds a comparison that is not finished; the same `ftlab compare` goes on from there"
    elif shards := list(place.glob("runs-*-of-*.parquet")):
        why = (
            f"holds {len(shards)} of the parts of a sweep, and not the table of all; the same `ftlab sweep` without "
            "`--shard` puts them together"
        )
    elif (place / "runs").is_dir() or (place / "traces").is_dir():
        why = "holds what is not finished; the command that wrote it goes on from there"
    elif inner:
        some = " ".join(escape.terminal(str(each)) for each in inner[:3])
        why = f"is no result itself; expected the results in it: {some}{' …' if len(inner) > 3 else ''}"
    elif not any(place.iterdir()):
        why = f"is empty, as a run that is not finished leaves it; {WRITERS}"
    else:
        why = f"holds no result; {WRITERS}"
    return InputError(f"error: {shown} {why}")


def _seal(place: Path) -> str | None:
    """The hash that a run is kept under."""
    try:
        found = json.loads((place / SEAL).read_text(encoding="utf-8"))["is"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return str(found)


def _configs(sweep: Sweep, place: Path) -> dict[str, dict[str, Any]]:
    """The configurations of the runs that are kept; the table does without those that are not."""
    found = {}
    for key in sweep.table.column("hash").to_pylist():
        try:
            kept = place / "runs" / str(key)[:20] / "summary.json"
            config = json.loads(kept.read_text(encoding="utf-8"))["config"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        if isinstance(config, dict):
            found[key] = config
    return found


def _reproduction(name: str, place: Path) -> Reproduction:
    document = read_object(place / "claims.json", claims.SCHEMA, "list of claims", "ftlab reproduce --out")
    return Reproduction(name, document, place, *_beside(place, "report.md"))


def _beside(place: Path, name: str) -> tuple[str, dict[str, bytes]]:
    """A page in Markdown, and the pictures of a directory."""
    try:
        report = (place / name).read_text(encoding="utf-8") if (place / name).exists() else ""
        return report, {file.stem: file.read_bytes() for file in sorted(place.glob("*.svg"))}
    except (OSError, ValueError) as error:
        raise InputError(f"error: {escape.terminal(str(place))} cannot be read: {error}") from None


def of_objects(sources: Sequence[tuple[str | None, object]]) -> list[Source]:
    """Sources of a report: directories, and results that Python has.

    Raises:
        InputError: something is neither, or a directory cannot be read.
    """
    found: list[Source] = []
    for i, (label, given) in enumerate(sources):
        match given:
            case Result():
                found.append(Run(label or f"run {i + 1}", given))
            case Comparison():
                found.append(Runs(label or "comparison", given))
            case Sweep():
                where = given.directory
                name = label or (where.name if where is not None else "sweep")
                found.append(Swept(name, given, where, {} if where is None else _configs(given, where)))
            case _:
                from ftlab.base import arguments

                source = read(Path(arguments.file_name(given, "a source of the report")))
                found.append(source if label is None else _named(source, label))
    return found


def _named(source: Source, name: str) -> Source:
    from dataclasses import replace

    return replace(source, name=name)


def gathered(sources: Sequence[Source]) -> list[Source]:
    """Loose runs are put side by side, where the first of them stood."""
    loose = [source for source in sources if isinstance(source, Run)]
    if len(loose) < 2:
        return list(sources)
    results: dict[str, Result] = {}
    for run in loose:
        results[_free(run, results)] = run.result
    together = Runs("runs", Comparison(results))
    return [
        together if source is loose[0] else source
        for source in sources
        if not isinstance(source, Run) or source is loose[0]
    ]


def _free(run: Run, taken: Mapping[str, Result]) -> str:
    """A name that tells a run from the others: that of its directory, with those above it where it has to be."""
    name = run.name
    if name in taken and run.place is not None:
        name = str(run.place)
    stem, i = name, 2
    while name in taken:
        name, i = f"{stem} ({i})", i + 1
    return name
