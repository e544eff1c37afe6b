"""Output directories: complete or untouched, and never at the cost of somebody else's files.

A directory is checked before the simulation starts. Everything is first written beside its place and then moved
into it; `.ftlab-files.json` lists which files in the directory, and which directories of a comparison's runs, are
ftlab's, so that a later run may replace those, and only those.
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from ftlab import _core
from ftlab._core import InputError, RunError
from ftlab.results.result import OPTIONAL_TABLES, TABLES, Result

MANIFEST = ".ftlab-files.json"
"""Which files in an output directory are ftlab's."""

OWNER = ".owner"
"""The engine's own file in a staging directory."""

KEPT = ".ftlab-runs"
"""In the directory of a comparison that is not finished: its runs that are."""

PART = "part_of_comparison"
"""In the manifest of a run's directory: the comparison in the directory above wrote it."""

RESULT_PLOTS = ("latency", "latency-parts", "series", "wear", "utilisation")
"""The plots of one result."""

COMPARISON_PLOTS = ("latency", "latency-parts", "series", "wear", "utilisation", "overview")
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


class OutputError(RunError):
    """A simulation that is over, and of whose output not all could be written, on a full disk for example (exit code
    1).
    """

    def __init__(self, problems: Sequence[str], result: Any) -> None:
        super().__init__("\n".join(problems))
        self.result = result
        """The :class:`Result` or :class:`Comparison`: nothing of it is lost."""


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
            _core.Staging(self.path).close()
        except FileExistsError:
            raise InputError(
                f"error: cannot write to {self.path}: it is a file; expected a directory"
            ) from None
        except OSError as error:
            raise InputError(f"error: cannot write to {self.path}: {_reason(error)}") from None

    def _listed(self, kind: str = "files") -> set[str]:
        """What is ftlab's here, by its manifest."""
        return _names(_manifest(self.path), kind)

    def write_result(self, result: Result, *, plots: bool = True) -> list[Path]:
        """Writes one result; see :meth:`ftlab.Result.save`."""
        with self._staged() as staging:
            _write_result(result, staging, plots=plots)
        return self._files()

    def write_comparison(
        self,
        comparison: Mapping[str, Any],
        markdown: str,
        results: Mapping[str, Result],
        directories: Mapping[str, str],
        *,
        plots: bool = True,
    ) -> list[Path]:
        """Writes the figures side by side, and each result to the directory of its label. Directories of an earlier
        comparison that are none of this one's go.
        """
        with self._staged() as staging:
            for label, name in directories.items():
                (staging / name).mkdir()
                _write_result(results[label], staging / name, plots=plots)
            (staging / "comparison.json").write_text(json_text(comparison), encoding="utf-8")
            (staging / "comparison.md").write_text(
                markdown if plots else markdown.partition("## Plots")[0], encoding="utf-8"
            )
            if plots:
                from ftlab.results import plot

                plot.save(plot.figures(results), staging)
        shutil.rmtree(self.path / KEPT, ignore_errors=True)
        return self._files()

    def _files(self) -> list[Path]:
        return [self.path / name for name in sorted(self._listed())]

    @contextmanager
    def _staged(self) -> Iterator[Path]:
        """A directory beside the final places, whose files are moved there if all went well.

        Raises:
            RunError: they cannot be written, or not be moved.
        """
        try:
            with scratch(self.path) as staging:
                yield staging
                self._publish(staging)
        except OSError as error:
            raise RunError(f"error: the results cannot be written to {self.path}: {_reason(error)}") from None

    def _publish(self, staging: Path, *, part: bool = False) -> None:
        new = {file.name: file.is_dir() for file in staging.iterdir() if file.name != OWNER}
        files = {name for name, is_directory in new.items() if not is_directory}
        directories = new.keys() - files
        old, old_directories = self._listed(), self._listed("directories")
        # Listed before they are there: an interruption leaves files that the next run may replace.
        self._list(staging, old | files, old_directories | directories, part=part)
        for name in sorted(directories):
            (self.path / name).mkdir(exist_ok=True)
            OutputDirectory(self.path / name)._publish(staging / name, part=True)
        for name in sorted(files):
            (staging / name).replace(self.path / name)
        # What an earlier run left and this one does not have would be read as part of this one.
        for name in old - files:
            (self.path / name).unlink(missing_ok=True)
        for name in old_directories - directories:
            self._clear(name)
        self._list(staging, files, directories, part=part)

    def _list(self, staging: Path, files: set[str], directories: set[str], *, part: bool) -> None:
        manifest = staging / MANIFEST
        about: dict[str, Any] = {"schema": "ftlab.files/1", "files": sorted(files)}
        if directories:
            about["directories"] = sorted(directories)
        if part:
            about[PART] = True
        manifest.write_text(json_text(about), encoding="utf-8")
        manifest.replace(self.path / MANIFEST)

    def _clear(self, name: str) -> None:
        """Removes a run of an earlier comparison: its files, and the directory if nothing else is in it.

        A result that somebody wrote there since then is no part of a comparison, and stays.
        """
        place = self.path / name
        manifest = _manifest(place)
        if place.is_symlink() or manifest.get(PART) is not True:
            return
        for file in (*_names(manifest, "files"), MANIFEST):
            (place / file).unlink(missing_ok=True)
        with suppress(OSError):
            place.rmdir()


def run_directories(labels: Sequence[str]) -> dict[str, str]:
    """The names of the directories of a comparison's runs, by label."""
    each: dict[str, str] = {}
    names: set[str] = set()
    for label in labels:
        stem = name = re.sub(r"[^A-Za-z0-9._=+-]+", "-", label).strip(".-")[:80] or "run"
        for i in itertools.count(2):
            if name not in names:
                break
            name = f"{stem}-{i}"
        names.add(name)
        each[label] = name
    return each


def _manifest(directory: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _names(manifest: Mapping[str, Any], kind: str) -> set[str]:
    """Names only: whatever else stands there, nothing outside the directory is touched."""
    listed = manifest.get(kind)
    names = map(str, listed) if isinstance(listed, list) else ()
    return {name for name in names if name == Path(name).name}


@contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """A directory in `parent` for what is not finished, which is gone afterwards; also, in time, if the process dies.

    Raises:
        OSError: it cannot be made.
    """
    staging = _core.Staging(parent)
    try:
        yield Path(staging.path)
    finally:
        staging.close()


def _write_result(result: Result, directory: Path, *, plots: bool) -> None:
    import pyarrow.parquet as pq

    (directory / "summary.json").write_text(json_text(result.summary), encoding="utf-8")
    for name in result.tables:
        # A file that is open: in a name such as `s3:x` Arrow sees another kind of storage.
        with (directory / f"{name}.parquet").open("wb") as file:
            pq.write_table(result.arrow(name), file, compression="zstd")
    if plots:
        from ftlab.results import plot

        plot.save(plot.figures({"": result}), directory)


def check_writable(path: str | PathLike[str]) -> None:
    """Checks, before a simulation, that a file can be written at its end.

    Raises:
        InputError: it is a directory or a disk, or its directory is missing or not writable.
    """
    try:
        _core.check_writable(path)
    except IsADirectoryError:
        raise InputError(f"error: cannot write {path}: it is a directory; expected a file name") from None
    except OSError as error:
        raise InputError(f"error: cannot write {path}: {_reason(error)}") from None


def _reason(error: OSError) -> str:
    """What the system said, and what would help."""
    if error.errno is None:
        return str(error)
    return f"{error.strerror}\nhint: {_core.remedy(error.errno)}"
