"""The configurations that a user may give, and the form in which the engine reads it."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

from ftlab import _core
from ftlab._core import ConfigError
from ftlab.api import own_policies
from ftlab.base import arguments

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
    """The kind of `text`."""
    text: str
    """A path, a preset's name or a path, TOML, or JSON."""

    @classmethod
    def of(cls, config: Config) -> Source:
        """The source of a configuration.

        Raises:
            ConfigError: it is none, or a dictionary holds what a configuration cannot.
            InputError: it is no name of a file.
        """
        if isinstance(config, Mapping):
            return cls("json", _json(config))
        if isinstance(config, str) and ("\n" in config or "=" in config):
            return cls("text", arguments.text(config, "the configuration"))
        if not isinstance(config, str | PathLike):
            raise ConfigError(
                f"error: the configuration is {arguments.kind_of(config)}; expected a path, the name of a preset, "
                "TOML text or a dictionary"
            )
        name = arguments.file_name(config, "config")
        return cls("argument" if isinstance(config, str) else "file", name)

    @property
    def name(self) -> str:
        """Its name in tables and directories."""
        return Path(self.text).stem if self.kind in ("file", "argument") else "config"


SECTIONS = frozenset(("preset", "device", "ftl", "host", "workload", "tenant", "run"))
"""The keys of a configuration at its top."""


def is_configuration(tree: Mapping[str, Any]) -> bool:
    """True for a dictionary that is a configuration, and not one of configurations by label."""
    return bool(tree) and ("preset" in tree or SECTIONS.issuperset(tree))


def config_argument(word: str) -> str | Path:
    """A configuration as the command line has it: a preset or a file, never TOML text, even with a `=` in it."""
    return Path(word) if "=" in word or "\n" in word else word


DEPTH_MAX = 32
"""Dictionaries and lists inside each other; no key of a configuration is as deep."""


SHORT = {"op": "device.over_provisioning"}
"""Names of keys that are no part of them."""


def named(name: str, keys: Collection[str]) -> str | None:
    """The key that a name stands for: itself, or the one whose last part it is."""
    if name in SHORT:
        return SHORT[name]
    if name in keys:
        return name
    found = [key for key in keys if key.rpartition(".")[2] == name]
    return found[0] if len(found) == 1 else None


def set_list(sets: Sets) -> list[str]:
    """Settings as `key=value`, values as TOML."""
    if isinstance(sets, str):
        raise ConfigError("error: `sets` is one string; expected a list of `key=value`, or a dictionary")
    if isinstance(sets, Mapping):
        pairs = [(arguments.text(key, "a key of `sets`"), value) for key, value in sets.items()]
        sets = [f"{key}={_value(plain(value, f'`{key}`'), key)}" for key, value in pairs]
    return [arguments.text(word, "a setting of `sets`") for word in arguments.listed(sets, "`sets`")]


def defaults_taken(config: Config, sets: Sequence[str]) -> list[str]:
    """The changes of settings that name a choice of the FTL alone: its parameters, where the configuration has
    values of its own. Parameters of a choice that is named alone have their defaults.
    """
    source = Source.of(config)
    named = [(key.strip(), word) for word in sets for key, equals, value in (word.partition("="),)
             if equals and key.strip().count(".") == 1 and "{" not in value]  # fmt: skip
    notes = []
    for key, word in named:
        section, _, name = key.partition(".")
        if section != "ftl" or any(other.startswith(f"{key}.") for other in sets):
            continue
        try:
            before, after = (
                json.loads(_core.resolve(source.kind, source.text, [*given])[1])["ftl"].get(name)
                for given in ([], [word])
            )
        except ConfigError:
            # What is wrong with it is said where it is run.
            continue
        notes += [f"`{word}` takes {told}" for told in _lost(before, after)]
    return notes


def _lost(before: object, after: object) -> list[str]:
    """Parameters that two choices share, and of which the second has another value."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return []
    (old, had), (new, has) = next(iter(before.items())), next(iter(after.items()))
    if not isinstance(had, dict) or not isinstance(has, dict):
        return []
    return [
        f"the default of `{new}`, {name} = {has[name]}, in place of {had[name]}, which `{old}` has in the configuration"
        for name in has
        if name in had and had[name] != has[name]
    ]


def _json(tree: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(plain(tree, "the dictionary"), allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"error: the dictionary is no configuration: {error}\n"
            "hint: expected strings, numbers, booleans, lists and dictionaries with strings as keys"
        ) from None
    return arguments.text(text, "the dictionary")


def plain(value: object, where: str, depth: int = 0) -> Any:
    """A value of a configuration in Python's own types.

    Raises:
        ConfigError: it is none, or holds one that is none.
    """
    if depth > DEPTH_MAX:
        raise ConfigError(
            f"error: {where} is nested more than {DEPTH_MAX} levels deep; expected nothing deeper than the parameters "
            "of a choice, such as {'victim': {'rga': {'d': 4}}}"
        )
    if value is None or isinstance(value, bool | Raw):
        return value
    # Subclasses, such as enumerations and NumPy's scalars, print as something else.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        if value.bit_length() > 127:
            raise ConfigError(
                f"error: {where} holds a number of {value.bit_length()} bits; expected a smaller one"
            )
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, PathLike):
        return arguments.text(fspath(value), f"a path in {where}")
    if isinstance(value, Mapping):
        return {key: plain(inner, where, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner, where, depth + 1) for inner in value]
    if hasattr(value, "item"):
        with contextlib.suppress(TypeError, ValueError):
            # A NumPy scalar.
            return plain(value.item(), where, depth + 1)
    if own_policies.is_policy(value):
        return own_policies.name_of(value)
    raise ConfigError(
        f"error: {where} holds {arguments.kind_of(value)}, which is no value of a configuration; expected a string, "
        "number, boolean, list or dictionary"
    )


def _value(value: Any, key: str) -> str:
    """A plain value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(str(k))} = {_value(v, key)}' for k, v in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(_value(item, key) for item in value)}]"
    raise ConfigError(f"error: `{key}` is None; expected a string, number, boolean, list or dictionary")
