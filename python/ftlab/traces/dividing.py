"""A trace of many volumes, divided into a trace of each, in one pass and in bounded memory.

The engine reads the trace, in whatever format it is, and hands it on as lines of the format `msr`. Lines wait in memory
until there are enough of them; then those of the volumes with the most are packed and put behind their files. So one
file is open at a time, however many volumes there are.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ftlab import _core
from ftlab._core import InputError, RunError
from ftlab.base import escape
from ftlab.results import output

if TYPE_CHECKING:
    import pyarrow as pa

LIST = "volumes.json"
"""The list of volumes, beside their files."""

SCHEMA = "ftlab.volumes/1"

VOLUMES_MAX = 100_000
"""More than any collection has: a column that is none was taken for that of volumes."""

PIECE = 1 << 22
"""Bytes of lines that are looked at in one go."""

LEVEL = 3
"""Of zstd: its default."""

COLUMNS = ("time", "host", "disk", "type", "offset", "size", "response", "flags")
"""The columns of the format `msr` as the engine writes it."""


@dataclass(slots=True)
class Volume:
    """A volume of a trace."""

    volume: int
    """The trace's number for it."""
    file: str
    """Its file, in the directory of the list."""
    requests: int = 0
    """Reads, writes, flushes and discards."""
    reads: int = 0
    writes: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    end_bytes: int = 0
    """The end of the highest range that a request touches: the size that a device has at least."""


def divide(
    path: str, directory: str, memory: int, *, name: str, format: str | None, skip_bad: bool
) -> dict[str, Any]:
    """Divides a trace by volume, into a directory that appears when all is there; the list of volumes.

    Args:
        path: the trace, as the engine finds it.
        directory: where to: it is new, or empty.
        memory: bytes of lines that wait at most.
        name: the trace, as the user calls it.
        format: as the engine reads it; `None`: by content.
        skip_bad: whether lines that cannot be read are passed over.

    Raises:
        InputError: the trace cannot be read, or has more volumes than any collection.
        RunError: a file cannot be written.
    """
    place = Path(directory)
    try:
        with output.scratch(place.absolute().parent) as staging:
            made = staging / "volumes"
            made.mkdir()
            parts = Parts(made, memory)
            for piece in _lines(path, format, skip_bad):
                parts.take(piece)
            parts.put(0)
            volumes = [asdict(volume) for _, volume in sorted(parts.volumes.items())]
            found = {"schema": SCHEMA, "trace": name, "volumes": volumes}
            (made / LIST).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            made.replace(place)
    except OSError as error:
        raise RunError(
            f"error: {escape.terminal(directory)} cannot be written: {error.strerror or error}"
        ) from None
    return found


def _lines(path: str, format: str | None, skip_bad: bool) -> Iterator[bytes]:
    """The requests of a trace as lines of `msr`, in pieces that end with a line."""
    # The engine writes into one end of a pipe, by its name among the files of this process.
    reading, writing = os.pipe()
    failed: list[BaseException] = []

    def convert() -> None:
        try:
            _core.trace_convert(path, f"/proc/self/fd/{writing}", "msr", format=format, skip_bad=skip_bad)
        except BaseException as error:
            # It is raised where the lines are read.
            failed.append(error)
        finally:
            os.close(writing)

    thread = threading.Thread(target=convert, daemon=True)
    with open(reading, "rb", buffering=0) as lines:  # noqa: PTH123 - it is a number
        thread.start()
        rest = b""
        while piece := lines.read(PIECE):
            rest += piece
            if len(rest) >= PIECE:
                end = rest.rfind(b"\n") + 1
                yield rest[:end]
                rest = rest[end:]
        thread.join()
        if failed:
            raise failed[0]
        if rest:
            yield rest


class Parts:
    """Lines that wait, by volume, and what each volume has so far."""

    def __init__(self, directory: Path, memory: int) -> None:
        self.volumes: dict[int, Volume] = {}
        self._directory, self._memory = directory, memory
        self._waiting: dict[int, bytearray] = {}
        self._bytes = 0

    def take(self, piece: bytes) -> None:
        """Takes lines of any volumes.

        Raises:
            InputError: there are more volumes than any collection has.
        """
        table = _parsed(piece)
        disks, kinds, ends, sizes = _columns(table)
        # Lines of a volume stay in their order.
        order = np.argsort(disks, kind="stable")
        firsts = np.flatnonzero(np.diff(disks[order], prepend=disks[order[0]] - 1))
        lines = piece.splitlines(keepends=True)
        for of_one in np.split(order, firsts[1:]):
            volume = int(disks[of_one[0]])
            self._count(volume, kinds[of_one], ends[of_one], sizes[of_one])
            waiting = self._waiting.setdefault(volume, bytearray())
            before = len(waiting)
            waiting += b"".join([lines[i] for i in of_one.tolist()])
            self._bytes += len(waiting) - before
        if len(self.volumes) > VOLUMES_MAX:
            raise InputError(
                f"error: the trace has more than {VOLUMES_MAX:,} volumes\nhint: name its format (`--format`) or its "
                "columns (`--columns device=…`), if its column of volumes is another"
            )
        if self._bytes >= self._memory:
            # Those with half of the mean or more have half of all: what is packed in one go is not small.
            self.put(self._bytes // (2 * len(self._waiting)))

    def _count(self, number: int, kinds: Any, ends: Any, sizes: Any) -> None:
        volume = self.volumes.get(number)
        if volume is None:
            volume = self.volumes[number] = Volume(number, f"{number}.csv.zst")
        reads, writes = kinds == "Read", kinds == "Write"
        volume.requests += len(kinds)
        volume.reads += int(reads.sum())
        volume.writes += int(writes.sum())
        volume.bytes_read += int(sizes[reads].sum())
        volume.bytes_written += int(sizes[writes].sum())
        volume.end_bytes = max(volume.end_bytes, int(ends.max()))

    def put(self, least: int) -> None:
        """Puts the lines of all volumes that have so many bytes of them behind their files."""
        import pyarrow as pa

        codec = pa.Codec("zstd", compression_level=LEVEL)
        for volume in [volume for volume, lines in self._waiting.items() if len(lines) >= least]:
            # Their memory goes too: another volume may need it next.
            lines = self._waiting.pop(volume)
            self._bytes -= len(lines)
            with (self._directory / self.volumes[volume].file).open("ab") as file:
                file.write(codec.compress(bytes(lines), asbytes=True))


def _parsed(piece: bytes) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    return csv.read_csv(
        pa.BufferReader(piece),
        read_options=csv.ReadOptions(column_names=COLUMNS, use_threads=False),
        convert_options=csv.ConvertOptions(
            include_columns=["disk", "type", "offset", "size"],
            column_types={
                "disk": pa.int64(),
                "type": pa.string(),
                "offset": pa.uint64(),
                "size": pa.uint64(),
            },
        ),
    )


def _columns(table: pa.Table) -> tuple[Any, Any, Any, Any]:
    """By request: its volume, its kind, where it ends, and its bytes."""
    disks, offsets, sizes = (table.column(name).to_numpy() for name in ("disk", "offset", "size"))
    kinds = table.column("type").to_numpy().astype(np.str_)
    return disks, kinds, offsets + sizes, sizes
