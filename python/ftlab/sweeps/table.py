"""The tidy table of a sweep: a row for each run, a column for each factor and figure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlab._core import InputError, __version__
from ftlab.base import escape
from ftlab.results.numbers import figures, typed
from ftlab.sweeps import volumes
from ftlab.sweeps.spec import Planned

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "ftlab.sweep/1"
MEANS_SCHEMA = "ftlab.sweep-means/1"

SCHEMAS = (SCHEMA, MEANS_SCHEMA, volumes.SCHEMA)


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of a run."""

    planned: Planned
    status: str
    """`ok`, `failed` or `missing`."""
    key: str | None = None
    """The hash of what determines its result."""
    summary: Mapping[str, Any] | None = None
    error: str | None = None


def table(rows: Sequence[Row], factors: Sequence[str]) -> pa.Table:
    """A row for each run."""
    import pyarrow as pa

    found = [{} if row.summary is None else figures(row.summary) for row in rows]
    columns = {
        "run": pa.array([row.planned.index + 1 for row in rows], pa.int64()),
        "label": pa.array([row.planned.label for row in rows], pa.string()),
        **{name: typed([row.planned.levels.get(name) for row in rows]) for name in factors},
        "status": pa.array([row.status for row in rows], pa.string()),
        "error": pa.array([row.error for row in rows], pa.string()),
        "hash": pa.array([row.key for row in rows], pa.string()),
        "engine": pa.array([__version__] * len(rows), pa.string()),
    }
    for name in dict.fromkeys(name for row in found for name in row):
        columns[name if name not in columns else f"{name}_"] = typed([row.get(name) for row in found])
    return pa.table(columns, metadata={"schema": SCHEMA, "ftlab_version": __version__})


def means(rows: Sequence[Row], factors: Sequence[str], seed: str | None) -> pa.Table:
    """A row for each combination of the factors but the seed, over the runs that are `ok`."""
    import pyarrow as pa

    kept = [name for name in factors if name != seed]
    groups: dict[tuple[Any, ...], list[dict[str, float | None]]] = {}
    for row in rows:
        if row.summary is not None:
            group = tuple(row.planned.levels.get(name) for name in kept)
            groups.setdefault(group, []).append(figures(row.summary))
    columns = {name: typed([group[i] for group in groups]) for i, name in enumerate(kept)}
    columns["runs"] = pa.array([len(runs) for runs in groups.values()], pa.int64())
    names = dict.fromkeys(name for runs in groups.values() for run in runs for name in run)
    for name in names:
        values = [[v for run in runs if (v := run.get(name)) is not None] for runs in groups.values()]
        columns[f"{name}_mean"] = pa.array([statistics.fmean(v) if v else None for v in values], pa.float64())
        columns[f"{name}_std"] = pa.array(
            [statistics.stdev(v) if len(v) > 1 else None for v in values], pa.float64()
        )
    return pa.table(columns, metadata={"schema": MEANS_SCHEMA, "ftlab_version": __version__})


def is_sweep_table(file: Path) -> bool:
    """True for a file that is a table of a sweep."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with file.open("rb") as stream:
            metadata = pq.read_schema(stream).metadata or {}
    except (OSError, ValueError, pa.ArrowException):
        return False
    schema: bytes = metadata.get(b"schema", b"")
    return schema.startswith(b"ftlab.sweep")


def read_table(file: Path) -> pa.Table:
    """A table of a sweep.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # A file that is open: in a name such as `s3:x` Arrow sees another kind of storage.
        with file.open("rb") as stream:
            found = pq.ParquetFile(stream).read(use_threads=False)
    except FileNotFoundError:
        raise InputError(
            f"error: no sweep in {file.parent}: {file.name} is missing\n"
            "hint: expected a directory that `ftlab sweep` wrote"
        ) from None
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = escape.terminal(str(error).partition("\n")[0])
        raise InputError(f"error: {file} cannot be read: {reason}\nhint: the sweep writes it anew") from None
    schema = (found.schema.metadata or {}).get(b"schema", b"").decode(errors="replace")
    if schema == SCHEMA and not {"label", "status", "error", "hash"} <= {*found.column_names}:
        raise InputError(f"error: {file} lacks columns of a sweep\nhint: the sweep writes it anew")
    if schema not in SCHEMAS:
        raise InputError(
            f"error: {file} is not a table of a sweep that this version of ftlab reads: its schema is "
            f"`{escape.terminal(schema)}`; expected `{SCHEMA}` or `{MEANS_SCHEMA}`"
        )
    return found if schema == volumes.SCHEMA else _of_now(found)


def _of_now(found: pa.Table) -> pa.Table:
    """The table of a sweep from before `waf` counted bytes: what it calls so is `waf_units`."""
    names = found.column_names
    if any(name.startswith("waf_units") for name in names):
        return found
    old = {"waf": "waf_units", "waf_mean": "waf_units_mean", "waf_std": "waf_units_std"}
    old |= {f"precondition_{name}": f"precondition_{new}" for name, new in old.items()}
    return found.rename_columns([old.get(name, name) for name in names])
