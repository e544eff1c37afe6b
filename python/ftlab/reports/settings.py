"""The configuration of runs: what differs, what was set, and how to run them again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ftlab import _core
from ftlab._core import Error
from ftlab.api import runner
from ftlab.api.keys import flat, told

Flat = dict[str, Any]


def flattened(config: Mapping[str, Any]) -> Flat:
    """A resolved configuration by key."""
    return dict(flat(config))


@cache
def _presets() -> dict[str, Flat]:
    """The built-in configurations by name, those aside that this place cannot resolve; last, the plain defaults."""
    found = {}
    for name, toml in [*((name, toml) for name, _, toml, _ in _core.presets()), ("", "")]:
        try:
            found[name] = flattened(json.loads(_core.resolve("text", toml, [])[1]))
        except Error:
            continue
    return found


def nearest_preset(config: Mapping[str, Any]) -> tuple[str, Flat]:
    """The built-in configuration that differs in the fewest keys, and its values; the name of the defaults is empty."""
    mine = flattened(config)
    known = _presets()
    if not known:
        return "", {}
    name = min(known, key=lambda each: len(different([mine, known[each]])))
    return name, known[name]


def different(configs: Sequence[Flat]) -> list[str]:
    """The keys in which configurations differ."""
    keys = dict.fromkeys(key for config in configs for key in config)
    return [key for key in keys if any(config.get(key) != configs[0].get(key) for config in configs[1:])]


def rows(configs: Sequence[Flat], keys: Sequence[str]) -> list[list[str]]:
    """A row for each key: its value in every configuration."""
    return [[key, *(told(config.get(key)) for config in configs)] for key in keys]


def toml(config: Mapping[str, Any]) -> str | None:
    """A resolved configuration as a file that gives it again; `None` of a configuration that this version refuses."""
    try:
        return _core.resolve("json", json.dumps(config), [])[0]
    except Error:
        return None


def command(origin: Mapping[str, Any]) -> str | None:
    """The command line of a run, where its configuration has a name."""
    if not origin.get("config"):
        return None
    words = ["ftlab", "run", str(origin["config"])]
    for setting in origin.get("sets") or ():
        words += ["--set", str(setting)]
    if origin.get("trace"):
        words += ["--trace", str(origin["trace"])]
    return shlex.join(words)


def config_hash(config: Mapping[str, Any]) -> str:
    """The hash of a resolved configuration: the same configuration has the same."""
    return runner.digest_of(config)[:20]
