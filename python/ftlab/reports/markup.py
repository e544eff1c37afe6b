"""HTML and SVG as values: whatever is no markup yet is escaped on its way in, so that no name from a file can break a
page.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from typing import Any, TypeAlias, Union

from ftlab.base import escape

VOID = frozenset(("br", "input", "link", "meta"))
"""Elements that have no end."""


class Html(str):
    """Text that is markup."""

    __slots__ = ()


Child: TypeAlias = Union[Html, str, "Iterable[Child]", None]
"""The values that may stand in an element; `None` is nothing."""

Attribute: TypeAlias = str | float | bool | None
"""A value of an attribute; `True` is an attribute without one, `None` and `False` are none at all."""


def tag(element: str, *children: Child, **attributes: Attribute) -> Html:
    """An element. An underscore in the name of an attribute is a hyphen, one at its end is none (`class_`)."""
    words = "".join(
        _attribute(name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items()
    )
    if element in VOID:
        return Html(f"<{element}{words}>")
    return Html(f"<{element}{words}>{joined(children)}</{element}>")


def joined(children: Child) -> Html:
    """Several pieces behind each other."""
    if children is None:
        return Html("")
    if isinstance(children, Html):
        return children
    if isinstance(children, str):
        return Html(html.escape(escape.terminal(children, keep="\n"), quote=False))
    return Html("".join(map(joined, children)))


def prose(text: str) -> Html:
    """A sentence: what stands between backticks as code, and no number parted from its unit."""
    tied = re.sub(r"(?<=\d) (?=(?:%|[nµm]?s|[kMGTP]i?B|IOPS)(?!\w))", "\u00a0", text)
    parts = re.split(r"`([^`]*)`", tied)
    return joined([tag("code", part) if i % 2 else part for i, part in enumerate(parts)])


def data(value: Any) -> Html:
    """JSON for scripts of the page."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return tag("script", Html(text.replace("<", "\\u003c")), type="application/json")


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    shown = f"{value:.6g}" if isinstance(value, float) else escape.terminal(str(value), keep="\n")
    return f' {name}="{html.escape(shown)}"'
