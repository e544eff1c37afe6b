"""Output directories: complete or untouched, and never at the cost of somebody else's files.

A directory is checked before the simulation starts. Everything is first written beside its place and then moved
into it; `.ftlab-files.json` lists which files in the directory, and which directories of a comparison's runs, are
ftlab's, so that a later run may replace those, and only those.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import stat
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
"""The parts that a result may consist of. Plots of tables without rows are left out."""

COMPARISON_FILES = ("comparison.json", "comparison.md", *_plot_files(COMPARISON_PLOTS))
"""The parts that a comparison may consist of, beside a directory per run."""


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
            # What ftlab wrote is a file; a link or a pipe has come in its place.
            if os.path.lexists(place) and (name not in listed or not is_file(place)):
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
        """The files that are ftlab's here, by its manifest."""
        return set(_manifest(self.path).get(kind, []))

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
        *,
        plots: bool = True,
        keeps: bool = False,
    ) -> list[Path]:
        """Writes the figures side by side, and each result to the directory of its label. Directories of an earlier
        comparison that are none of this one's go; so do the runs that were kept until now, unless it still needs them.
        """
        with self._staged() as staging:
            for label, name in run_directories(list(results)).items():
                (staging / name).mkdir()
                _write_result(results[label], staging / name, plots=plots)
            (staging / "comparison.json").write_text(json_text(comparison), encoding="utf-8")
            (staging / "comparison.md").write_text(
                markdown if plots else markdown.partition("## Plots")[0], encoding="utf-8"
            )
            if plots:
                from ftlab.results import plot

                plot.save(plot.figures(results), staging)
        if not keeps:
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
            if is_file(self.path / name):
                (self.path / name).unlink()
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
        if place.is_symlink():
            return
        try:
            manifest = _manifest(place)
        except InputError:
            # Whoever changed it may keep what is there.
            return
        if manifest.get(PART) is not True:
            return
        for file in (*manifest["files"], MANIFEST):
            if is_file(place / file):
                (place / file).unlink()
        with suppress(OSError):
            place.rmdir()


def run_directories(labels: Sequence[str]) -> dict[str, str]:
    """The names of the directories of a comparison's runs, by label."""
    each: dict[str, str] = {}
    # Beside them lie the comparison's own files, and maybe those of an earlier run.
    names = {*COMPARISON_FILES, *RESULT_FILES}
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
    """The manifest of ftlab's files there: nothing where there is no manifest.

    Raises:
        InputError: it is none of ftlab's, or was changed.
    """
    place = directory / MANIFEST
    if not os.path.lexists(place):
        return {}
    if not is_file(place):
        raise _strange(place, "it is no file")
    try:
        manifest = json.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise _strange(place, error.strerror or str(error)) from None
    except (ValueError, RecursionError):
        raise _strange(place, "it is not JSON") from None
    if not isinstance(manifest, dict) or "files" not in manifest:
        raise _strange(place, "it has no list of files")
    for kind in ("files", "directories"):
        names = manifest.get(kind, [])
        if not isinstance(names, list) or not all(map(_is_name, names)):
            raise _strange(place, f"`{kind}` is no list of names in this directory")
    return manifest


def _is_name(name: object) -> bool:
    """True for a name and nothing more: whatever a manifest says, nothing outside its directory is touched."""
    if not isinstance(name, str) or name in ("", ".", "..") or {"/", "\0"} & set(name):
        return False
    try:
        return bool(os.fsencode(name))
    except UnicodeEncodeError:
        return False


def _strange(place: Path, why: str) -> InputError:
    return InputError(
        f"error: {place} cannot be read: {why}; it says which files there are ftlab's, and may be replaced\n"
        "hint: name another directory; or remove that file, and move away what ftlab wrote there"
    )


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


def is_file(place: Path) -> bool:
    """True if a file has that name itself: no link to one, which belongs to whoever made it, and nothing that waits."""
    try:
        return stat.S_ISREG(place.lstat().st_mode)
    except (OSError, ValueError):
        return False


def replaced(path: Path) -> Path:
    """The file that a name stands for and that is to be replaced as a whole: a link is followed, and stays.

    Raises:
        InputError: something else has the name, such as a pipe or a device.
    """
    try:
        place = path
        for _ in range(LINKS_MAX):
            if Path(os.path.realpath(place.parent)).is_relative_to("/proc") and os.path.lexists(place):
                # `/dev/stdout` and its like: a file that somebody has open.
                raise _no_file(path, "it is what a process has open")
            if not place.is_symlink():
                break
            place = place.parent / place.readlink()
        else:
            raise _no_file(path, "its links lead nowhere")
        mode = place.lstat().st_mode
    except FileNotFoundError:
        return place
    except OSError as error:
        raise InputError(f"error: cannot write {path}: {_reason(error)}") from None
    if not stat.S_ISREG(mode):
        raise _no_file(path, f"it is a {KINDS.get(stat.S_IFMT(mode), 'device')}")
    return place


LINKS_MAX = 40
"""Links behind links that are followed; the system's own limit."""

KINDS = {stat.S_IFDIR: "directory", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket", stat.S_IFBLK: "disk"}
"""Values that are no file."""


def _no_file(path: Path, what: str) -> InputError:
    return InputError(f"error: cannot write {path}: {what}; expected a file name")


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
    """The system's message, and the remedy."""
    if error.errno is None:
        return str(error)
    return f"{error.strerror}\nhint: {_core.remedy(error.errno)}"
