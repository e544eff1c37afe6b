"""Arguments of callers, checked where they come in: a mistake is an error of ftlab with words, not one from inside."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, TypeVar

from ftlab._core import ConfigError, InputError

T = TypeVar("T")


def kind_of(value: object) -> str:
    """The kind of a value, for messages: `an int`, `a list`, `None`."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def file_name(value: object, what: str) -> str:
    """The name of a file or directory.

    Raises:
        InputError: it is none.
    """
    if not isinstance(value, str | PathLike):
        raise InputError(f"error: `{what}` is {kind_of(value)}; expected a path")
    name = os.fsdecode(value)
    if "\0" in name:
        raise InputError(f"error: `{what}` has a NUL character in it; expected the name of a file")
    if not name:
        raise InputError(f"error: `{what}` is empty; expected the name of a file")
    try:
        os.fsencode(name)
    except UnicodeEncodeError as error:
        raise InputError(
            f"error: `{what}` cannot be the name of a file: {error.reason}\n"
            f"hint: names are in {error.encoding} here; set `LC_ALL=C.UTF-8`, or use another name"
        ) from None
    return name


def text(value: object, what: str) -> str:
    """A text, which has to be one in UTF-8 as well.

    Raises:
        ConfigError: it is none.
    """
    if not isinstance(value, str):
        raise ConfigError(f"error: {what} is {kind_of(value)}; expected a string")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ConfigError(
            f"error: {what} is not text in UTF-8; expected a string without surrogates"
        ) from None
    return value


def trace_name(value: object) -> str:
    """The name of a trace that goes into a configuration, which is text.

    Raises:
        InputError: it is no name, or none that text can hold.
    """
    name = file_name(value, "trace")
    try:
        return os.fsencode(name).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(
            f"error: the trace's name {name!r} is not UTF-8, and a configuration is text\n"
            "hint: rename the file, or make a link to it with another name"
        ) from None


def listed(values: object, what: str) -> list[Any]:
    """The values of anything but a string that has some.

    Raises:
        ConfigError: it has none.
    """
    try:
        if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping):
            return list(values)
    except TypeError:
        pass  # A NumPy array of no dimension looks as if it had values.
    raise ConfigError(f"error: {what} is {kind_of(values)}; expected a list of values")


def function(value: Callable[..., T] | None, what: str) -> Callable[..., T] | None:
    """A function, or none.

    Raises:
        ConfigError: it cannot be called.
    """
    if value is not None and not callable(value):
        raise ConfigError(f"error: `{what}` is {kind_of(value)}; expected a function")
    return value


def count(value: object, what: str) -> int:
    """A whole number from 1 on.

    Raises:
        ConfigError: it is none.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError(f"error: `{what}` is {kind_of(value)}; expected a whole number")
    if value < 1:
        raise ConfigError(f"error: `{what}` is {value}; expected at least 1")
    return value
