"""The workloads of a paper: the originals where the user has them, otherwise real traces or made ones.

A workload always says which it is: `original` (the paper's own trace, whole: its figures are those of the paper's
table), `real` (recorded on a real system, but an excerpt or not the paper's own) or `generated`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ftlab import _core
from ftlab._core import InputError
from ftlab.api.runner import digest_of, engine_digest
from ftlab.results import text
from ftlab.results.output import json_text, scratch
from ftlab_reproduce.claims import Kind
from ftlab_reproduce.synthesis import write_msr

TOLERANCE = 0.02
"""How far a generated trace's figures may be from the table's."""

SEED = 2015
"""Of all generated traces."""

REGION = 16 << 20
"""An excerpt keeps or leaves out regions of this size, so that neighbours stay neighbours."""

SUFFIXES = ("", ".gz", ".zst", ".xz")


class Model(Protocol):
    """What makes a trace."""

    def facts(self) -> dict[str, Any]:
        """All that determines the file but scale and seed."""

    def make(self, ratio: float, seed: int, path: Path) -> None:
        """Writes the trace, in MSR format with zstd, for a device of `ratio` of the paper's size."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A workload that an experiment asks for."""

    name: str
    """The paper's name for it."""
    files: str
    """A regular expression for the names of the original's files, without suffixes of compression, in lower case."""
    table: Mapping[str, float]
    """The paper's figures, of those that `figures_of` knows."""
    model: Model | None = None
    """What to make if there is no file."""
    is_paper: bool = True
    """Whether it is one of the paper's own workloads; if not, it is an extra row."""
    format: str | None = None
    """The format of the file, where its content leaves it open."""
    whole: bool = False
    """Whether it is replayed whole at every scale, because it is short as it is."""
    ratio: float | None = None
    """The part of the file's data to take; `None`: the scale's."""
    amounts: Mapping[str, float] = field(default_factory=dict)
    """Figures of the paper that only the whole original has."""
    writes_only: bool = False
    """Whether a file's reads are left out, as by a paper that ignores them."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A trace that is ready to be replayed."""

    name: str
    kind: Kind
    path: Path
    info: Mapping[str, Any]
    """What `ftlab trace info` says of it."""
    deviations: Mapping[str, float]
    """Figure by figure, by how much it differs from the paper's table: 0.01 is 1 % above it."""
    origin: str
    """Where it comes from, in words."""
    is_paper: bool = True

    @property
    def worst_deviation(self) -> float:
        """The greatest of the deviations, without sign."""
        return max((abs(value) for value in self.deviations.values()), default=0.0)


class Library:
    """Finds, makes and keeps traces under `directory`."""

    def __init__(self, directory: Path, ratio: float, own: Path | None, shipped: Sequence[Path]) -> None:
        self.directory = directory
        self.ratio = ratio
        """Of the full device; traces are cut down, and made, by the same ratio."""
        self._own = files_in(own) if own is not None else []
        self._shipped = [file for place in shipped if place.is_dir() for file in files_in(place)]

    def get(self, wanted: Wanted) -> Workload | None:
        """The workload, or `None` if there is neither a file nor a model.

        Raises:
            InputError: a trace cannot be read, or a made one does not have the figures it is made for.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        for files in (self._own, self._shipped):
            if (file := recognised(files, wanted.files)) is not None:
                return self._recorded(wanted, file)
        return None if wanted.model is None else self._made(wanted, wanted.model)

    def _recorded(self, wanted: Wanted, file: Path) -> Workload:
        name = file.name
        if wanted.writes_only:
            # What is replayed whole at every scale has to fit the smallest device.
            file = self._writes(file, wanted.format, pack=wanted.whole)
            wanted = replace(wanted, format=None)
        info = self._info(file, wanted.format)
        # A paper's amounts are of the whole, and say more of a recorded trace than what a made one is made to have.
        known = wanted.amounts or wanted.table
        apart = deviations(info, known)
        # Times between arrivals depend on what a paper counts as the duration; all else identifies.
        same = all(abs(apart[key]) <= TOLERANCE for key in known if key != "inter_arrival_ms")
        origin = f"{name}, {text.count(info['requests'])} requests"
        ratio = self.ratio if wanted.ratio is None else wanted.ratio
        if wanted.whole or (self.ratio >= 1 and wanted.ratio is None):
            path = file if wanted.format is None else self._converted(file, wanted.format)
            kind: Kind = "original" if wanted.is_paper and same else "real"
            return Workload(wanted.name, kind, path, info, apart, origin, wanted.is_paper)
        path = self._kept(wanted.name, {"file": _stamp(file), "ratio": ratio, "region": REGION})
        if not path.exists():
            excerpt(file, wanted.format, ratio, path)
        info = self._info(path)
        apart = deviations(info, wanted.table) if not wanted.amounts else {}
        origin = f"excerpt of {name}, {text.count(info['requests'])} requests"
        return Workload(wanted.name, "real", path, info, apart, origin, wanted.is_paper)

    def _made(self, wanted: Wanted, model: Model) -> Workload:
        path = self._kept(wanted.name, {"model": model.facts(), "ratio": self.ratio, "seed": SEED})
        if not path.exists():
            model.make(self.ratio, SEED, path)
        info = self._info(path)
        made = Workload(
            wanted.name, "generated", path, info, deviations(info, wanted.table), "model", wanted.is_paper
        )
        if made.worst_deviation > TOLERANCE:
            raise InputError(
                f"error: the trace made for `{wanted.name}` is {100 * made.worst_deviation:.1f} % away from its table; "
                f"expected at most {100 * TOLERANCE:g} %\nhint: it is {path}; remove it, and it is made again"
            )
        return made

    def _writes(self, file: Path, form: str | None, pack: bool) -> Path:
        facts = {"file": _stamp(file), "format": form, "only": "writes", "packed": REGION if pack else 0}
        path = self._kept(file.name.split(".")[0], facts)
        if not path.exists():
            times, writes, offsets, sizes = requests_of(file, form, path)
            places = packed(offsets[writes], sizes[writes]) if pack else offsets[writes]
            write_msr(path, times[writes], writes[writes], places, sizes[writes])
        return path

    def _converted(self, file: Path, form: str) -> Path:
        path = self._kept(file.name.split(".")[0], {"file": _stamp(file), "format": form})
        if not path.exists():
            _core.trace_convert(file, path, "msr", format=form)
        return path

    def _info(self, file: Path, form: str | None = None) -> dict[str, Any]:
        """What a trace holds. It is kept too, since a long trace takes a minute to read."""
        facts = {"file": [str(file.resolve()), *_stamp(file)], "format": form, "engine": engine_digest()}
        note = self.directory / f"{file.name.split('.')[0]}-{digest_of(facts)[:12]}.json"
        with suppress(OSError, ValueError):
            if isinstance(kept := json.loads(note.read_bytes()), dict):
                return kept
        info = trace_info(file, form)
        with suppress(OSError), scratch(self.directory) as directory:
            whole = directory / note.name
            whole.write_text(json_text(info), encoding="utf-8")
            whole.replace(note)
        return info

    def _kept(self, name: str, facts: Mapping[str, Any]) -> Path:
        """A file's place: named by what it is made from, so that a change of a model makes a new file."""
        return self.directory / f"{name}-{digest_of(facts)[:12]}.csv.zst"


def files_in(place: Path) -> list[Path]:
    """The files of a directory, in order.

    Raises:
        InputError: it cannot be listed.
    """
    try:
        return sorted(file for file in place.iterdir() if file.is_file())
    except OSError as error:
        raise InputError(
            f"error: cannot list {place}: {error.strerror}; expected a directory of traces"
        ) from None


def recognised(files: Iterable[Path], pattern: str) -> Path | None:
    """The first file whose name, without compression's suffix, matches."""
    for file in files:
        name = file.name.lower()
        stem = next(name.removesuffix(s) for s in SUFFIXES[::-1] if name.endswith(s))
        if re.fullmatch(pattern, stem):
            return file
    return None


def trace_info(path: Path, form: str | None = None) -> dict[str, Any]:
    """What a trace holds, as `ftlab trace info` says it."""
    found: dict[str, Any] = json.loads(_core.trace_info(path, format=form))
    return found


def figures_of(info: Mapping[str, Any]) -> dict[str, float]:
    """The figures that a paper's table has."""
    return {
        "write_fraction": info["write_fraction_requests"],
        "read_kib": info["read_kib_mean"],
        "write_kib": info["write_kib_mean"],
        "inter_arrival_ms": info["inter_arrival_ms_mean"],
        "read_mib": info["bytes_read"] / 2**20,
        "written_mib": info["bytes_written"] / 2**20,
    }


def deviations(info: Mapping[str, Any], table: Mapping[str, float]) -> dict[str, float]:
    """By how much a trace's figures differ from the table's. Write ratios are printed in whole per cent, so half
    of one is no deviation.
    """
    found = figures_of(info)
    apart = {}
    for key, value in table.items():
        measured = found[key] or 0.0
        if key == "write_fraction" and abs(measured - value) <= 0.005:
            measured = value
        apart[key] = measured / value - 1
    return apart


def _stamp(file: Path) -> list[Any]:
    about = file.stat()
    return [file.name, about.st_size, about.st_mtime_ns]


Integers = NDArray[np.int64]


def excerpt(file: Path, form: str | None, ratio: float, path: Path) -> None:
    """Writes the part of a trace that goes to `ratio` of its data, packed into as small an address space.

    A device that is smaller by the ratio has the same share of it in use then, each place is rewritten as often as in
    the whole, and the time between arrivals stays the trace's own. The beginning of a trace would not do: Postmark's,
    for one, only writes.
    """
    times, writes, offsets, sizes = requests_of(file, form, path)
    keep = sampled(writes, offsets, sizes, round(1 / ratio))
    gap_kept = (times[-1] - times[0]) / max(1, times.size - 1) * max(1, keep.size - 1)
    spread = max(1, int(times[keep[-1]] - times[keep[0]]))
    times = times[0] + np.asarray(np.rint((times[keep] - times[keep[0]]) * (gap_kept / spread)), np.int64)
    write_msr(path, times, writes[keep], packed(offsets[keep], sizes[keep]), sizes[keep])


def sampled(writes: NDArray[np.bool_], offsets: Integers, sizes: Integers, every: int) -> Integers:
    """The requests that begin in every so many of the regions in use.

    Of the choices of a first region, the one whose write ratio and mean sizes are the nearest to those of the whole.
    """
    _, ranks = np.unique(offsets // REGION, return_inverse=True)
    whole = _figures(writes, sizes)

    def distance(first: int) -> float:
        mine = ranks % every == first
        return float(np.abs(np.log(_figures(writes[mine], sizes[mine]) / whole)).sum())

    choices = range(min(every, int(ranks.max()) + 1))
    return np.flatnonzero(ranks % every == min(choices, key=distance))


def _figures(writes: NDArray[np.bool_], sizes: Integers) -> NDArray[np.float64]:
    """Write ratio and mean sizes, a little above zero where there is nothing, so that they have logarithms."""
    means = [sizes[writes == kind].mean() if np.any(writes == kind) else 1.0 for kind in (True, False)]
    return np.array([writes.mean() + 1e-6, *means])


def requests_of(
    file: Path, form: str | None, beside: Path
) -> tuple[Integers, NDArray[np.bool_], Integers, Integers]:
    """All reads and writes of a trace, as columns: times in 100 ns, which are writes, offsets and sizes in bytes."""
    from pyarrow import csv

    with scratch(beside.parent) as directory:
        plain = directory / "plain.csv"
        _core.trace_convert(file, plain, "msr", format=form)
        names = ["time", "host", "disk", "type", "offset", "size", "response", "flags"]
        table = csv.read_csv(
            plain,
            read_options=csv.ReadOptions(column_names=names),
            convert_options=csv.ConvertOptions(include_columns=["time", "type", "offset", "size"]),
        )
    kinds = np.array(table["type"].to_pylist())
    chosen = (kinds == "Write") | (kinds == "Read")
    numbers = [np.asarray(table[key].to_numpy(), np.int64)[chosen] for key in ("time", "offset", "size")]
    return numbers[0], kinds[chosen] == "Write", numbers[1], numbers[2]


def packed(offsets: Integers, sizes: Integers) -> Integers:
    """Offsets with the regions that no request touches taken out."""
    first, last = offsets // REGION, (offsets + sizes - 1) // REGION
    spans = last - first
    used = np.unique(np.concatenate([first[spans >= k] + k for k in range(int(spans.max()) + 1)]))
    return np.searchsorted(used, first) * REGION + offsets % REGION


def table(workloads: Sequence[Workload]) -> str:
    """What the workloads are, beside the paper's table."""
    head = ["workload", "kind", "requests", "writes", "read KiB", "write KiB", "inter-arrival ms", "data MiB",
            "off the table by"]  # fmt: skip
    rows = [head]
    for workload in workloads:
        found = figures_of(workload.info)
        rows.append(
            [
                workload.name,
                workload.kind,
                text.count(workload.info["requests"]),
                text.percent(found["write_fraction"], 0),
                text.figure(found["read_kib"]),
                text.figure(found["write_kib"]),
                text.figure(found["inter_arrival_ms"]),
                text.count(workload.info["footprint_mib"]),
                f"{100 * workload.worst_deviation:.1f} %" if workload.deviations else "",
            ]
        )
    return text.columns(rows, align="<<>")
