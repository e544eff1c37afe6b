"""What a user may give as a configuration, and the form in which the engine reads it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

from ftlab import _core
from ftlab._core import ConfigError

Config: TypeAlias = str | PathLike[str] | Mapping[str, Any]
"""A configuration: the path of a TOML file, the name of a preset, TOML text, or a nested dictionary.

A string with a line break or an `=` is TOML text; any other is a preset if there is one of that name, and a path if
there is none (`./tbm` is the file of that name).
"""

Sets: TypeAlias = Sequence[str] | Mapping[str, Any]
"""Settings that override the configuration: `["ftl.victim=rga"]` or `{"ftl.victim": "rga"}`."""


class Raw(str):
    """A value as the command line has it: TOML, or a word without quotes."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A configuration in the form that the engine reads."""

    kind: _core.Kind
    """What `text` is."""
    text: str
    """A path, a preset's name or a path, TOML, or JSON."""

    @classmethod
    def of(cls, config: Config) -> Source:
        """The source of a configuration.

        Raises:
            ConfigError: a dictionary holds what a configuration cannot.
        """
        if isinstance(config, Mapping):
            return cls("json", _json(config))
        text = fspath(config)
        if not isinstance(config, str):
            return cls("file", text)
        if "\n" in text or "=" in text:
            return cls("text", text)
        return cls("argument", text)

    @property
    def name(self) -> str:
        """What to call it in tables and directories."""
        return Path(self.text).stem if self.kind in ("file", "argument") else "config"


def set_list(sets: Sets) -> list[str]:
    """Settings as `key=value`, values as TOML."""
    if isinstance(sets, str):
        raise ConfigError("error: `sets` is one string; expected a list of `key=value`, or a dictionary")
    if isinstance(sets, Mapping):
        return [f"{key}={_value(value, key)}" for key, value in sets.items()]
    return list(sets)


def _json(tree: Mapping[str, Any]) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, PathLike):
            return fspath(value)
        if hasattr(value, "item"):
            # A NumPy scalar.
            return value.item()
        raise TypeError(f"a {type(value).__name__} is no value of a configuration")

    try:
        return json.dumps(dict(tree), default=plain, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"error: the dictionary is no configuration: {error}\n"
            "hint: expected strings, numbers, booleans, lists and dictionaries with strings as keys"
        ) from None


def _value(value: object, where: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, str | PathLike):
        return json.dumps(fspath(value), ensure_ascii=False)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{json.dumps(str(k))} = {_value(v, f'{where}.{k}')}" for k, v in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item, where) for item in value)}]"
    if hasattr(value, "item"):
        # A NumPy scalar.
        return _value(value.item(), where)
    raise ConfigError(
        f"error: `{where}` is a {type(value).__name__}; expected a string, number, boolean, list or dictionary"
    )
