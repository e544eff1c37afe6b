"""The result of a simulation: the summary object and the tables behind it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ftlab._core import InputError, __version__
from ftlab.base import arguments, escape
from ftlab.base.quantities import in_bytes

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

Columns: TypeAlias = "dict[str, NDArray[Any]]"
"""A table: columns of equal length by name."""

TABLES = ("series", "latency", "wear", "utilisation")
"""The tables of every result, each a Parquet file of the same name in an output directory."""

OPTIONAL_TABLES = ("tenant_latency", "windows", "buffer", "locality", "latency_parts", "requests")
"""The tables of some results: with tenants, the latencies of each; with deterministic windows, each of them; with a
write buffer in time, its dirty pages by channel; with data clustering (`separation = "dac"`), the distribution of the
workload's locality ω; with `run.latency_parts`, the parts of latencies by class; with `run.per_request`, every read
and write.
"""

SCHEMA = "ftlab.summary/1"
"""The schema of the summary object."""


class Tables(Mapping[str, Columns]):
    """Tables whose columns become arrays when a table is asked for: a short run ends before NumPy would be imported."""

    def __init__(self, values: Mapping[str, Mapping[str, Any]]) -> None:
        self._values = values
        """Of each column a memory view of 64-bit words, or a list of names."""
        self._arrays: dict[str, Columns] = {}

    def __getitem__(self, name: str) -> Columns:
        if name not in self._arrays:
            self._arrays[name] = {key: _array(values) for key, values in self._values[name].items()}
        return self._arrays[name]

    def column(self, name: str, key: str) -> list[Any]:
        """A column as a list, for which no array is made."""
        values = self._values[name][key]
        return values if isinstance(values, list) else values.tolist()

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __reduce__(self) -> tuple[Any, ...]:
        # Memory views cannot be pickled.
        return dict, (dict(self),)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Result:
    """One simulation's figures.

    Two results are equal if all that follows from config, seed and version is: the summary without `run`, which says
    what the run cost, and the tables.

    Units end the names; fractions are 0..1; a figure that is not defined (a latency under the executor `count`,
    the WAF of a run that wrote nothing) is `None` in the summary and NaN in a table. MB and GB are 10^6 and 10^9
    bytes.
    """

    summary: dict[str, Any]
    """The summary object `ftlab.summary/1`. Everything in it but `run` depends on config, seed and version only."""
    tables: Mapping[str, Columns] = field(default_factory=dict)
    """The tables by name."""

    @property
    def series(self) -> Columns:
        """The figures over time, at most 1000 rows an axis.

        `axis` says what a row is an interval of: `volume` (bytes written by the host) or `time` (simulated). Per
        row: `start_s`, `end_s`, `host_written_gb` and `capacities_written` (both from the start of the measurement
        to the end of the row), requests, `iops`, `throughput_mb_s`, latencies in µs, `waf` (bytes for bytes) and
        `waf_units` (pages for pages), GC rates (`gc_per_s` of simulated time, `gc_per_gb` written), flash operations,
        multi-plane fractions, and busy fractions of channels and dies.
        """
        return self.tables["series"]

    @property
    def latency(self) -> Columns:
        """The latency histograms: `kind` (`all` is reads and writes), `latency_us` (upper bound of the class),
        `count`, and `cumulative_fraction` of the requests of that kind up to it. Resolution 0.1 %.
        """
        return self.tables["latency"]

    @property
    def wear(self) -> Columns:
        """A row per block: where it is, and its `erases` since the device was made, preconditioning included."""
        return self.tables["wear"]

    @property
    def utilisation(self) -> Columns:
        """A row per channel (fractions of time by cause) and per die (by kind of operation)."""
        return self.tables["utilisation"]

    @property
    def locality(self) -> Columns:
        """The distribution of the workload's locality ω, a sample per simulated second (GCMix section 4.4): `omega`,
        ascending, and `samples`, how many had that value. Only with `separation = "dac"`.

        Raises:
            KeyError: the run had no data clustering.
        """
        return self.tables["locality"]

    def column(self, name: str, key: str) -> list[Any]:
        """A column of the table `name` as a list.

        Raises:
            KeyError: there is no such table.
        """
        if isinstance(self.tables, Tables):
            return self.tables.column(name, key)
        column: list[Any] = self.tables[name][key].tolist()
        return column

    def arrow(self, name: str) -> pa.Table:
        """The table `name` as an Arrow table; what is not defined is null.

        Raises:
            KeyError: there is no such table.
        """
        import pyarrow as pa

        columns = self.tables[name]
        metadata = {"schema": f"ftlab.{name}/1", "ftlab_version": str(self.summary.get("ftlab_version"))}
        return pa.table({key: _arrow_column(values) for key, values in columns.items()}, metadata=metadata)

    def save(self, directory: str | PathLike[str], *, plots: bool = True) -> list[Path]:
        """Writes `summary.json`, a Parquet file per table and the plots (PNG and SVG) into `directory`, which is
        made if it is not there. Files in it that ftlab did not write are left alone.

        Returns:
            The files written.

        Raises:
            InputError: the directory cannot be written, or a file of that name is there that is not ftlab's.
            RunError: the files cannot be written, on a full disk for example; the directory is as it was.
        """
        from ftlab.results.output import OutputDirectory

        return OutputDirectory(arguments.file_name(directory, "directory")).write_result(self, plots=plots)

    @classmethod
    def load(cls, directory: str | PathLike[str]) -> Result:
        """Reads what :meth:`save` or `ftlab run --out` wrote.

        Raises:
            InputError: there is no result in the directory, or it cannot be read.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        directory = Path(arguments.file_name(directory, "directory"))
        summary = read_object(directory / "summary.json", SCHEMA, "summary", "ftlab run --out")
        tables = {}
        for name in (*TABLES, *OPTIONAL_TABLES):
            file = directory / f"{name}.parquet"
            if name in OPTIONAL_TABLES and not file.exists():
                continue
            try:
                # A file that is open: names such as `s3:x` or `d=4` mean something to Arrow. No threads, which might
                # still want something of Python when that ends.
                with file.open("rb") as table:
                    tables[name] = _from_arrow(pq.ParquetFile(table).read(use_threads=False))
            except (OSError, ValueError, pa.ArrowException) as error:
                raise _damaged(file, f"cannot be read: {error}") from None
        return cls(*_of_now(summary, tables))

    def _repr_html_(self) -> str:
        from ftlab.reports import notebook

        return notebook.of_result(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        told = [{key: value for key, value in each.summary.items() if key != "run"} for each in (self, other)]
        return told[0] == told[1] and _same_tables(self.tables, other.tables)

    # What may be changed has no hash.
    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        from ftlab.results import text

        return text.run_summary(self, "result")

    def __repr__(self) -> str:
        host = self.summary.get("host", {})
        return (
            f"Result(waf={self.summary.get('waf')}, iops={host.get('iops')}, "
            f"requests={host.get('reads', 0) + host.get('writes', 0)})"
        )


def _array(values: memoryview | list[str]) -> NDArray[Any]:
    import numpy as np

    if isinstance(values, list):
        # Without rows, nothing else says that they are names.
        return np.array(values, dtype=np.str_)
    return np.frombuffer(values, dtype=np.uint64 if values.format == "Q" else np.float64)


def _of_now(summary: dict[str, Any], tables: dict[str, Columns]) -> tuple[dict[str, Any], dict[str, Columns]]:
    """A result from before `waf` counted bytes: what it calls so is `waf_units`, and `waf` is made of its counts."""
    if "waf_units" in summary or "waf" not in summary:
        return summary, tables
    import numpy as np

    page = in_bytes(summary["config"]["device"]["page_size"])
    written = summary["host"]["bytes_written"]
    waf = summary["flash"]["page_programs"] * page / written if written else None
    aged = summary.get("precondition")
    if aged and "waf" in aged:
        # How many bytes were written in its last part is not kept.
        aged = {"waf_units" if key == "waf" else key: value for key, value in aged.items()}
        summary = {**summary, "precondition": aged}
    summary = _beside(summary, "waf", {"waf": waf, "waf_units": summary["waf"]})
    series = tables["series"]
    per_row = np.full(series["waf"].shape, np.nan)
    for axis in np.unique(series["axis"]):
        rows = series["axis"] == axis
        bytes_ = np.diff(series["host_written_gb"][rows], prepend=0.0) * 1e9
        with np.errstate(divide="ignore", invalid="ignore"):
            per_row[rows] = np.where(bytes_ > 0.5, series["page_programs"][rows] * page / bytes_, np.nan)
    return summary, {**tables, "series": _beside(series, "waf", {"waf": per_row, "waf_units": series["waf"]})}


def _beside(of: Mapping[str, Any], key: str, new: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping in its order, with other entries in the place of one key."""
    items = ((new.items() if name == key else [(name, value)]) for name, value in of.items())
    return dict(itertools.chain.from_iterable(items))


def read_object(path: Path, schema: str, what: str, writer: str) -> dict[str, Any]:
    """The JSON object in a file that `writer` wrote.

    Raises:
        InputError: there is none, it cannot be read, or its schema is another one.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"error: no result in {path.parent}: {path}: {error.strerror}\n"
            f"hint: expected a directory that `{writer}` wrote"
        ) from None
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"is not JSON: {error}") from None
    said = str(found.get("schema") if isinstance(found, dict) else type(found).__name__)
    if said != schema:
        newer = said.rpartition("/")[0] == schema.rpartition("/")[0]
        raise InputError(
            f"error: {path} is not a {what}{' that this version of ftlab reads' if newer else ''}: its schema is "
            f"`{escape.terminal(said)}`; expected `{schema}`"
            + (
                f"\nhint: read it with the version that wrote it; this is ftlab {__version__}"
                if newer
                else ""
            )
        )
    return dict(found)


def _same_tables(one: Mapping[str, Columns], other: Mapping[str, Columns]) -> bool:
    import numpy as np

    return one.keys() == other.keys() and all(
        columns.keys() == other[name].keys()
        and all(
            np.array_equal(values, other[name][key], equal_nan=values.dtype.kind == "f")
            for key, values in columns.items()
        )
        for name, columns in one.items()
    )


def _damaged(file: Path, what: str) -> InputError:
    return InputError(
        f"error: {escape.terminal(str(file))} {escape.terminal(what)}\nhint: run the simulation again to write it anew"
    )


def _arrow_column(values: NDArray[Any]) -> pa.Array:
    import pyarrow as pa

    if values.dtype.kind == "U":
        return pa.array(values.tolist(), type=pa.string()).dictionary_encode()
    # `from_pandas`: NaN is null.
    return pa.array(values, from_pandas=True)


def _from_arrow(table: pa.Table) -> Columns:
    import numpy as np

    columns: Columns = {}
    for name in table.column_names:
        values = table.column(name).to_numpy()
        columns[name] = values.astype(np.str_) if values.dtype.kind == "O" else values
    return columns
