"""The words of errors, cut to what a line takes."""

from __future__ import annotations


def first_line(error: object) -> str:
    """The first line of an error, without the word `error`."""
    return str(error).partition("\n")[0].removeprefix("error: ")
