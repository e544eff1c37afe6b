"""Reports: one HTML page from runs, comparisons, sweeps and reproductions, with nothing outside it.

Directories in, a page out; no simulation is started, and nothing is read that the directories do not have. The page
holds its style, its script and its pictures, so that it can be sent and kept.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ftlab._core import InputError, RunError
from ftlab.base import arguments, escape
from ftlab.reports import page, sources
from ftlab.results import output

if TYPE_CHECKING:
    from ftlab.results.comparison import Comparison
    from ftlab.results.result import Result
    from ftlab.sweeps.sweep import Sweep


Reported: TypeAlias = "str | PathLike[str] | Result | Comparison | Sweep"
"""The subject of a report: a directory that ftlab wrote, or a result that Python has."""


def report(results: Reported | Sequence[Reported] | Mapping[str, Reported], out: str | PathLike[str]) -> Path:
    """Writes one self-contained HTML page of any mix of results.

    Args:
        results: directories of runs, comparisons, sweeps and reproductions, or results that Python has; by name, if
            they are to be called something else than their directories. Several runs are put side by side.
        out: the file to write. A page that ftlab wrote is replaced, any other file is not.

    Returns:
        The file.

    Raises:
        InputError: something is no result, is not finished or cannot be read, or the file is not to be overwritten.
        RunError: the page cannot be written.
    """
    place = check_place(Path(arguments.file_name(out, "out")))
    content = page.html(sources.gathered(sources.of_objects(_labelled(results))))
    try:
        with output.scratch(place.parent) as staging:
            (staging / place.name).write_text(content, encoding="utf-8")
            (staging / place.name).replace(place)
    except OSError as error:
        raise RunError(f"error: the page cannot be written to {place}: {error.strerror or error}") from None
    return Path(out)


def _labelled(
    results: Reported | Sequence[Reported] | Mapping[str, Reported],
) -> list[tuple[str | None, object]]:
    if isinstance(results, Mapping):
        found: list[tuple[str | None, object]] = [
            (arguments.text(label, "a name of `results`"), given) for label, given in results.items()
        ]
    elif isinstance(results, list | tuple):
        found = [(None, given) for given in results]
    else:
        found = [(None, results)]
    if not found:
        raise InputError("error: `results` is empty; expected at least one result")
    return found


def check_place(place: Path) -> Path:
    """Where a page of that name is written: a link is followed, and stays.

    Raises:
        InputError: it cannot be written there, or a file is there that is no page of ftlab.
    """
    place = output.replaced(place)
    output.check_writable(place)
    if os.path.lexists(place) and not page.is_page(place):
        raise InputError(
            f"error: {escape.terminal(str(place))} is there and was not written by `ftlab report`, so it is not "
            "overwritten\n"
            "hint: name another file, or move that file away"
        )
    return place


__all__ = ["Reported", "check_place", "report"]
