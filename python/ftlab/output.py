"""Output directories: complete or untouched, and never at the cost of somebody else's files.

A directory is checked before the simulation starts. Everything is first written beside its place and then moved
into it; `.ftlab-files.json` lists which files in the directory are ftlab's, so that a later run may replace those,
and only those.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from ftlab._core import InputError
from ftlab.result import OPTIONAL_TABLES, TABLES, Result

MANIFEST = ".ftlab-files.json"
"""Which files in an output directory are ftlab's."""

RESULT_PLOTS = ("latency", "series", "wear", "utilisation")
"""The plots of one result."""

COMPARISON_PLOTS = ("latency", "series", "wear", "utilisation", "overview")
"""The plots of a comparison."""


def _plot_files(names: Iterable[str]) -> list[str]:
    return [f"{name}.{kind}" for name in names for kind in ("png", "svg")]


RESULT_FILES = (
    "summary.json",
    *(f"{name}.parquet" for name in (*TABLES, *OPTIONAL_TABLES)),
    *_plot_files(RESULT_PLOTS),
)
"""What a result may consist of. Plots of tables without rows are left out."""

COMPARISON_FILES = ("comparison.json", "comparison.md", *_plot_files(COMPARISON_PLOTS))
"""What a comparison may consist of, beside a directory per run."""


def json_text(value: Any) -> str:
    """One JSON object as every file and `--json` write it: indented, in the order of its keys."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # Bytes of a file name that are no UTF-8: what Python makes of them no encoding has.
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


class OutputDirectory:
    """A directory that results can be written to; making one creates and checks the directory.

    Raises:
        InputError: the directory cannot be made or written, or has a file under one of `files` that is not ftlab's.
    """

    def __init__(self, path: str | PathLike[str], files: Iterable[str] = RESULT_FILES) -> None:
        self.path = Path(path)
        self._check_writable()
        listed = self._listed()
        for name in files:
            place = self.path / name
            if (place.exists() or place.is_symlink()) and name not in listed:
                raise InputError(
                    f"error: {place} is there and was not written by ftlab, so it is not overwritten\n"
                    "hint: name another directory, or move that file away"
                )

    def _check_writable(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass
        except FileExistsError:
            raise InputError(
                f"error: cannot write to {self.path}: it is a file; expected a directory"
            ) from None
        except OSError as error:
            raise InputError(f"error: cannot write to {self.path}: {error.strerror}") from None

    def _listed(self) -> set[str]:
        try:
            manifest = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
            # Names only: whatever else stands there, nothing outside the directory is touched.
            return {name for name in map(str, manifest["files"]) if name == Path(name).name}
        except (OSError, ValueError, KeyError, TypeError):
            return set()

    def write_result(self, result: Result, *, plots: bool = True) -> list[Path]:
        """Writes one result; see :meth:`ftlab.Result.save`."""
        import pyarrow.parquet as pq

        with self._staged() as staging:
            (staging / "summary.json").write_text(json_text(result.summary), encoding="utf-8")
            for name in result.tables:
                pq.write_table(result.arrow(name), staging / f"{name}.parquet", compression="zstd")
            if plots:
                from ftlab import plot

                plot.save(plot.figures({"": result}), staging)
        return self._files()

    def write_comparison(
        self,
        comparison: Mapping[str, Any],
        markdown: str,
        results: Mapping[str, Result],
        *,
        plots: bool = True,
    ) -> list[Path]:
        """Writes the figures side by side; the single results go to directories of their own."""
        with self._staged() as staging:
            (staging / "comparison.json").write_text(json_text(comparison), encoding="utf-8")
            (staging / "comparison.md").write_text(markdown, encoding="utf-8")
            if plots:
                from ftlab import plot

                plot.save(plot.figures(results), staging)
        return self._files()

    def _files(self) -> list[Path]:
        return [self.path / name for name in sorted(self._listed())]

    @contextmanager
    def _staged(self) -> Iterator[Path]:
        """A directory beside the final places, whose files are moved there if all went well."""
        try:
            staging = Path(tempfile.mkdtemp(prefix=".ftlab-", dir=self.path))
        except OSError as error:
            raise InputError(f"error: cannot write to {self.path}: {error.strerror}") from None
        try:
            yield staging
            self._publish(staging)
        except OSError as error:
            raise InputError(f"error: cannot write to {self.path}: {error.strerror or error}") from None
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _publish(self, staging: Path) -> None:
        new = sorted(file.name for file in staging.iterdir())
        old = self._listed()
        # Listed before they are there: an interruption leaves files that the next run may replace.
        self._list(staging, old | set(new))
        for name in new:
            (staging / name).replace(self.path / name)
        # What an earlier run left and this one does not have would be read as part of this one.
        for name in old - set(new):
            (self.path / name).unlink(missing_ok=True)
        self._list(staging, set(new))

    def _list(self, staging: Path, names: set[str]) -> None:
        manifest = staging / MANIFEST
        manifest.write_text(json_text({"schema": "ftlab.files/1", "files": sorted(names)}), encoding="utf-8")
        manifest.replace(self.path / MANIFEST)


def writable_file(path: str | PathLike[str]) -> None:
    """Checks, before a simulation, that a file can be written at its end.

    Raises:
        InputError: it is a directory, or its directory is missing or not writable.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise InputError(f"error: cannot write {path}: it is a directory; expected a file name")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.exists():
            with path.open("ab"):
                pass
    except OSError as error:
        raise InputError(f"error: cannot write {path}: {error.strerror}") from None
