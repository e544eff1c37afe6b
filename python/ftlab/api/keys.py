"""The keys of a configuration, and their values as tables show them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ftlab import _core
from ftlab.results import text


@cache
def reference() -> dict[str, Any]:
    """Every section, key and choice, with its words, type and default, as `docs/config.md` has them."""
    found: dict[str, Any] = json.loads(_core.reference())
    return found


@cache
def scopes() -> list[dict[str, Any]]:
    """The parts of the simulator by area: ``area``, ``name``, ``keys``, ``modelled`` and the list ``not_modelled``."""
    found: list[dict[str, Any]] = json.loads(_core.scopes())
    return found


def known() -> dict[str, dict[str, Any]]:
    """The keys by name."""
    return {key["key"]: key for key in reference()["keys"]}


def flat(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Keys and values; a choice with its parameters is one value."""
    for name, value in tree.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping) and path not in known():
            yield from flat(value, f"{path}.")
        else:
            yield path, value


def told(value: Any) -> str:
    """A value of a configuration as tables show it."""
    return text.ABSENT if value is None else str(shown_as(value))


def shown_as(value: Any) -> Any:
    """The text of a value in a column: `rga(d=4)` of a choice with parameters."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping) and len(value) == 1:
        (name, inner), = value.items()  # fmt: skip
        if isinstance(inner, Mapping):
            return f"{name}({', '.join(f'{key}={shown_as(part)}' for key, part in inner.items())})"
        return f"{name}({shown_as(inner)})"
    return json.dumps(value, default=str, ensure_ascii=False)


@cache
def _choice(key: str) -> tuple[str, str]:
    """The key that a setting belongs to, and a parameter's choice: `ftl.victim` and `rga` of `ftl.victim.rga.d`."""
    above = max((name for name in known() if key.startswith(f"{name}.")), key=len, default=key)
    return above, key[len(above) + 1 :].partition(".")[0]


def exclude_each_other(one: str, other: str) -> bool:
    """True if of two settings only the later has a say: of one key, or of a choice and a parameter of another."""
    (key, choice), (key_of_other, choice_of_other) = _choice(one), _choice(other)
    return key == key_of_other and (not choice or not choice_of_other or choice != choice_of_other)


def loses(setting: str, value: Any, later: str) -> bool:
    """True if a setting for all runs has no say in those that make a choice of their own: a parameter where the choice
    itself differs from run to run, or a choice where a parameter of another does.
    """
    if setting == later or not exclude_each_other(setting, later):
        return False
    made = next(iter(value), "") if isinstance(value, Mapping) else str(value).strip(' "')
    return bool(_choice(setting)[1]) or made != _choice(later)[1]
