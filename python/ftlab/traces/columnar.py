"""Traces that the engine does not read itself: Parquet, columns in memory, standard input.

Each becomes a file without a name, which is gone with the process, whatever ends it. Tables become lines of text in the
columns that the engine reads; a line is a row, so that its errors name the row.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ftlab._core import ConfigError, InputError, RunError
from ftlab.base import arguments
from ftlab.base.hints import nearest

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

STDIN = "-"
"""The trace that stands for standard input."""

PARQUET = b"PAR1"
"""The beginning of a Parquet file."""

PARTS = ("time", "op", "offset", "size", "device", "hint")

NAMES: dict[str, tuple[str, ...]] = {
    "time": ("time", "timestamp", "ts", "t", "when", "arrival", "arrival_time"),
    "op": ("op", "operation", "type", "kind", "rw", "io_type", "opcode", "is_write", "write", "is_read"),
    "offset": ("offset", "address", "addr", "byte_offset", "lba", "lbn", "sector", "block", "page"),
    "size": ("size", "length", "len", "bytes", "nbytes", "request_size", "sectors", "nsectors", "blocks", "pages"),
    "device": ("device", "device_id", "volume", "volume_id", "disk", "disk_id", "lun"),
    "hint": ("hint", "write_hint", "lifetime", "placement", "placement_id", "plid", "stream", "stream_id"),
}  # fmt: skip
"""Names of columns that are taken for a part where nobody says which is which, the better ones first."""

UNITS = {
    **dict.fromkeys(("lba", "lbn", "sector", "sectors", "nsectors"), "sector"),
    **dict.fromkeys(("block", "blocks", "page", "pages"), "4KiB"),
    **dict.fromkeys(("is_write", "write"), "r0w1"),
    "is_read": "r1w0",
}
"""The units of such names."""

WORDS = ("r", "read", "w", "write", "d", "discard", "trim", "unmap")
"""Operations that may be those of all requests."""

TIMES = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, "100ns": 100}


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Given:
    """A trace in a file without a name, which is closed with this object."""

    file: IO[bytes]
    name: str
    """Its name for the user."""
    format: str | None = None
    """The form that it had before it became columns; `None`: it is as it came."""
    columns: str | None = None
    """Which of its columns was taken for what."""
    guessed: bool = False
    """True where the names of the columns said so, and no user."""
    engine: str | None = None
    """The columns as the engine reads them."""

    def __post_init__(self) -> None:
        weakref.finalize(self, self.file.close)

    @property
    def path(self) -> str:
        """Where this process finds it."""
        return f"/proc/self/fd/{self.file.fileno()}"

    @contextmanager
    def renaming(self) -> Iterator[None]:
        """Errors of the engine speak of the trace by its name."""
        try:
            yield
        except (ConfigError, InputError, RunError) as error:
            raise type(error)(str(error).replace(self.path, self.name)) from None

    def described(self, summary: dict[str, Any]) -> None:
        """Writes into a summary what the trace is, in place of the file without a name."""
        workload = summary["config"]["workload"]
        workload["trace"] = self.name
        if self.columns is not None:
            workload["trace_columns"] = self.columns
            summary["workload"] |= {"format": self.format, "columns_guessed": self.guessed}


def of_argument(trace: object, columns: str | None = None) -> Given | None:
    """The value in place of a file's name: standard input or a table; `None` where it is a file's name.

    Raises:
        InputError: it is none of them.
    """
    if isinstance(trace, str | os.PathLike):
        return _stdin(columns) if os.fspath(trace) == STDIN else None
    table = _table(trace)
    return _spooled(table.to_batches(), table.schema, f"<{table.num_rows:,} rows>", "table", columns)


def of_file(name: str, columns: str | None = None) -> Given | None:
    """A file that the engine cannot read itself, as columns; `None` where it can, or where there is none.

    Raises:
        InputError: it is damaged, or has no such columns.
    """
    path = Path(name)
    try:
        # Nothing is read from a pipe here: it could not be put back.
        if not path.is_file():
            return None
        with path.open("rb") as file:
            if file.read(len(PARQUET)) != PARQUET:
                return None
        about = path.stat()
    except (OSError, ValueError):
        # The engine says what is the matter.
        return None
    with _ONE:
        return _of_parquet(name, about.st_mtime_ns, about.st_size, columns)


_ONE = threading.Lock()


@lru_cache(maxsize=4)
def _of_parquet(name: str, mtime_ns: int, size: int, columns: str | None) -> Given:
    with Path(name).open("rb") as file:
        return _from_parquet(file, name, columns)


def _stdin(columns: str | None) -> Given:
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(
            "error: standard input is a terminal; expected a trace there, such as "
            "`zcat trace.gz | ftlab run CONFIG --trace -`"
        )
    with _spool() as spool:
        # Not `copyfileobj` of one gigantic read: Ctrl-C is heard between two pieces.
        while piece := sys.stdin.buffer.read(1 << 20):
            spool.write(piece)
        spool.flush()
        spool.seek(0)
        is_parquet = spool.read(len(PARQUET)) == PARQUET
        name = "standard input"
        return _from_parquet(spool, name, columns) if is_parquet else Given(_kept(spool), name)


@contextmanager
def _spool() -> Iterator[IO[bytes]]:
    """A file without a name, which is closed behind; what is to stay of it is :func:`_kept`."""
    try:
        with tempfile.TemporaryFile(prefix="ftlab-trace-") as file:
            yield file
    except OSError as error:
        raise InputError(
            f"error: the trace cannot be kept in {tempfile.gettempdir()}: {error.strerror or error}\n"
            "hint: set `TMPDIR` to a directory with more room"
        ) from None


def _kept(file: IO[bytes]) -> IO[bytes]:
    """A second handle of a file."""
    file.flush()
    return os.fdopen(os.dup(file.fileno()), "rb")


def _from_parquet(file: IO[bytes], name: str, columns: str | None) -> Given:
    import pyarrow.parquet as pq

    def sound(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with _undamaged(name):
            yield from batches

    with _undamaged(name):
        parquet = pq.ParquetFile(file)
        plan = _plan(parquet.schema_arrow, name, columns)
        batches = parquet.iter_batches(columns=list(dict.fromkeys(plan.names)))
    return _written(sound(batches), plan, name, "parquet")


@contextmanager
def _undamaged(name: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"error: {name}: the Parquet file is damaged or cut short: {first}") from None


def _table(data: object) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    try:
        if isinstance(data, np.ndarray):
            if data.dtype.names:
                return pa.table({field: np.ascontiguousarray(data[field]) for field in data.dtype.names})
            if data.ndim == 2:
                return pa.table({str(i + 1): np.ascontiguousarray(data[:, i]) for i in range(data.shape[1])})
        elif isinstance(data, Mapping):
            return pa.table({str(key): values for key, values in data.items()})
        elif isinstance(data, pa.Table) or hasattr(data, "__arrow_c_stream__") or hasattr(data, "iloc"):
            return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"error: the columns of `trace` are no table: {error}") from None
    raise InputError(
        f"error: `trace` is {arguments.kind_of(data)}; expected a path, a structured NumPy array, one of two "
        "dimensions with `columns`, a data frame, or a dictionary of columns"
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which column is what."""

    parts: tuple[str, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]
    """As the engine calls them; empty: its default."""
    guessed: bool
    every: str | None = None
    """The operation of all requests, where no column says it."""

    @property
    def told(self) -> str:
        return self.every_and(_columns(zip(self.parts, self.names, self.units, strict=True)))

    def every_and(self, columns: str) -> str:
        """Columns with the operation that is none."""
        return columns if self.every is None else f"op={self.every},{columns}"


def _columns(parts: Iterable[tuple[str, str, str]]) -> str:
    return ",".join(f"{part}={place}{f':{unit}' if unit else ''}" for part, place, unit in parts)


def _plan(schema: pa.Schema, name: str, columns: str | None) -> _Plan:
    found = _guess(schema, name) if columns is None else _asked(schema, name, columns)
    every = found.pop("op")[1] if "op" in found and found["op"][0] == EVERY else None
    for part in ("op", "offset", "size"):
        if part not in found and not (part == "op" and every is not None):
            guess = (
                "none of the columns has a name that tells; say which with" if columns is None else "expected"
            )
            alone = " (`op=W`: all are writes)" if part == "op" else ""
            raise InputError(
                f"error: {name}: there is no column for `{part}`: {guess} `--columns`, such as "
                f"`time=ts:us,op=rw,offset=lba:sector,size=bytes`{alone}\n"
                f"hint: the columns are {_listed(schema.names)}"
            )
    parts = tuple(part for part in PARTS if part in found)
    return _Plan(
        parts,
        tuple(found[part][0] for part in parts),
        tuple(found[part][1] for part in parts),
        columns is None,
        every,
    )


EVERY = ""
"""In place of a column's name: the operation is that of all requests."""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _guess(schema: pa.Schema, name: str) -> dict[str, tuple[str, str]]:
    """Parts by the names of columns, with units where names or types say them."""
    found: dict[str, tuple[str, str]] = {}
    words = {
        column: re.fullmatch(r"(.+?)(?:_(s|ms|us|ns|bytes))?", column.lower()) for column in schema.names
    }
    for part, known in NAMES.items():
        for word in known:
            matches = [
                (column, match[2] or "")
                for column, match in words.items()
                if match and (match[0] == word or (match[1] == word and match[2]))
            ]
            if not matches:
                continue
            if len(matches) > 1:
                raise InputError(
                    f"error: {name}: {_listed(column for column, _ in matches)} may all be the `{part}`; say which "
                    f"with `--columns {part}={matches[0][0]},…`"
                )
            column, unit = matches[0]
            found[part] = (column, unit if part == "time" else UNITS.get(word, ""))
            break
    return found


def _asked(schema: pa.Schema, name: str, columns: str) -> dict[str, tuple[str, str]]:
    """Parts as the user names them: by name, or by number from 1."""
    found = {}
    for word in columns.split(","):
        part, equals, place = (text.strip() for text in word.partition("="))
        if part not in PARTS or not equals:
            raise InputError(
                f"error: {name}: the columns `{columns}` cannot be read: `{word.strip()}` is none of "
                f"{_listed(f'{known}=COLUMN' for known in PARTS)}"
            )
        # A name with a colon in it is there as it is, or it is a name and a unit.
        column, unit = (place, "") if place in schema.names else place.rpartition(":")[::2]
        if not column:
            column, unit = place, ""
        same = [known for known in schema.names if known.lower() == column.lower()]
        exact = column if column in schema.names else same[0] if same else None
        if exact is None and column.isdigit() and 1 <= int(column) <= len(schema.names):
            exact = schema.names[int(column) - 1]
        if exact is None and part == "op" and place.lower() in WORDS:
            found[part] = (EVERY, place)
            continue
        if exact is None:
            hint = nearest(column, schema.names) or f"the columns are {_listed(schema.names)}"
            raise InputError(
                f"error: {name}: there is no column `{column}`, which is to be the `{part}`\nhint: {hint}"
            )
        found[part] = (exact, unit)
    return found


def _spooled(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, name: str, form: str, columns: str | None
) -> Given:
    return _written(batches, _plan(schema, name, columns), name, form)


def _written(batches: Iterable[pa.RecordBatch], plan: _Plan, name: str, form: str) -> Given:
    """The columns as lines of text."""
    from pyarrow import csv, table

    units, row = plan.units, 0
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    with _spool() as spool:
        for batch in batches:
            made = [
                _part(part, batch.column(column), unit, f"{name}, rows from {row + 1}: the column `{column}`")
                for part, column, unit in zip(plan.parts, plan.names, plan.units, strict=True)
            ]
            units = tuple(unit for _, unit in made)
            csv.write_csv(table([values for values, _ in made], names=list(plan.parts)), spool, options)
            row += batch.num_rows
        if row == 0:
            raise InputError(f"error: {name}: no rows; expected a trace with at least one request")
        places = (str(i + 1) for i in range(len(plan.parts)))
        engine = plan.every_and(_columns(zip(plan.parts, places, units, strict=True)))
        return Given(_kept(spool), name, form, plan.told, plan.guessed, engine)


def _part(part: str, values: pa.Array, unit: str, where: str) -> tuple[pa.Array, str]:
    """A column as the engine reads it, and in which unit."""
    import pyarrow as pa

    if values.null_count:
        raise InputError(f"error: {where} has {values.null_count} empty cells; expected a value in every row")
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _part(part, values.dictionary_decode(), unit, where)
    if pa.types.is_boolean(kind) and part == "op":
        return values.cast(pa.int8()), unit or "r0w1"
    if part == "op" and pa.types.is_integer(kind) and not unit:
        raise InputError(
            f"error: {where} has numbers; expected `op=COLUMN:r0w1` or `op=COLUMN:r1w0`, which say what is a write"
        )
    try:
        if part == "time" and (pa.types.is_timestamp(kind) or pa.types.is_duration(kind)):
            fine = pa.timestamp("ns", kind.tz) if pa.types.is_timestamp(kind) else pa.duration("ns")
            return values.cast(fine).cast(pa.int64()), "ns"
        if pa.types.is_floating(kind):
            return _whole(part, values.to_numpy(zero_copy_only=False), unit)
        if pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return values, unit
    except (pa.ArrowException, ValueError) as error:
        raise InputError(f"error: {where} cannot be the {part}: {error}") from None
    raise InputError(f"error: {where} holds `{kind}`; expected numbers{' or words' if part == 'op' else ''}")


def _whole(part: str, values: np.ndarray[Any, Any], unit: str) -> tuple[pa.Array, str]:
    """Numbers with a point: times in nanoseconds, others as they are if they are whole."""
    import numpy as np
    import pyarrow as pa

    if not np.isfinite(values).all():
        raise ValueError("a value is not a number")
    if part == "time":
        if (factor := TIMES.get(unit or "s")) is None:
            raise ValueError(f"`{unit}` is none of {_listed(TIMES)}")
        values, unit = np.rint(values.astype(np.longdouble) * factor), "ns"
    if (np.abs(values) >= 2.0**63).any():
        raise ValueError("a value is beyond 64 bits")
    whole = values.astype(np.int64)
    if part != "time" and (whole != values).any():
        raise ValueError("a value is not whole")
    return pa.array(whole), unit


@contextmanager
def for_engine(
    name: str, format: str | None, columns: str | None
) -> Iterator[tuple[str, str | None, Given | None]]:
    """Path and format by which the commands about traces find one."""
    given = of_argument(name, columns) or of_file(name, columns)
    if given is None:
        yield name, format if columns is None else f"columns:{columns}", None
        return
    with given.renaming():
        if given.engine is not None:
            format = f"columns:{given.engine}"
        elif columns is not None:
            format = f"columns:{columns}"
        yield given.path, format, given
