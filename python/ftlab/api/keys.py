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
    """What a column holds of a value: `rga(d=4)` of a choice with parameters."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping) and len(value) == 1:
        (name, inner), = value.items()  # fmt: skip
        if isinstance(inner, Mapping):
            return f"{name}({', '.join(f'{key}={shown_as(part)}' for key, part in inner.items())})"
        return f"{name}({shown_as(inner)})"
    return json.dumps(value, default=str, ensure_ascii=False)
