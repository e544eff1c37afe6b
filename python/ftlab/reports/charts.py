"""Charts on a page: the drawing as markup whose colours are the page's, the table behind it, and what the page's script
says of a place in it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ftlab.reports.markup import Child, Html, data, tag
from ftlab.results import drawing
from ftlab.results.charts import Chart, Drawable, Form, HeatMap, Line, Stack, thinned
from ftlab.results.drawing import (
    BOTTOM,
    COLOURS,
    HEIGHT,
    TOP,
    VARIABLES,
    WIDTH,
    Drawn,
    mark_of,
    stand_in,
    whole,
)

DASHES = 4

MARKS = "●■◆▲▼✚"
"""The look of :data:`ftlab.results.drawing.MARKS`, as letters."""

ROWS = 20
"""Rows of the table behind a chart."""

STAND_INS = {stand_in(name): f"var(--{name})" for name in VARIABLES}

KEPT = frozenset(("x", "y", "d", "width", "height", "href", "transform"))
"""Attributes of an element that a page needs; colours and lines are in the style, and nothing is cut off."""

DROPPED = frozenset(("metadata", "style", "defs"))


def html(chart: Drawable) -> Html:
    """A chart as a figure."""
    drawn = drawing.svg(chart)
    if isinstance(chart, Chart):
        head, rows = (chart.head, chart.rows) if chart.head else table_of(chart)
        return _figure(
            chart.title, drawn, table(head, rows, chart.title), _of_lines(chart, drawn), note=chart.note
        )
    if isinstance(chart, Stack):
        head = [chart.label, *chart.parts]
        rows = [
            [place, *(chart.form(float(values[i])) for values in chart.parts.values())]
            for i, place in enumerate(chart.places)
        ]
        behind = table(head, rows, chart.title)
        return _figure(chart.title, drawn, behind, _of_bars(chart, drawn), below=swatches(chart.used()))
    return _figure(chart.title, drawn, table(chart.head, chart.cells, chart.title), _of_cells(chart, drawn))


def _figure(
    title: str, drawn: Drawn, behind: Html, hover: Any, note: str = "", below: Html | None = None
) -> Html:
    svg = tag(
        "svg", _markup(drawn.svg), tag("line", class_="cross", y1=TOP, y2=HEIGHT - BOTTOM, x1=-9, x2=-9),
        viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=f"{title}. The figures are in the table below.",
        tabindex="0",
    )  # fmt: skip
    return tag(
        "figure",
        tag("figcaption", title),
        svg,
        data(hover),
        below,
        tag("p", note, class_="note") if note else None,
        tag("details", tag("summary", "Table"), behind, class_="behind"),
        class_="chart",
    )


def _markup(svg: str) -> list[Html]:
    """The drawing without what a page has no use for. Names are none of it: another chart would have the same."""
    root = ElementTree.fromstring(svg)
    shapes = {
        f"#{path.attrib['id']}": path.attrib["d"] for path in root.iter() if {"id", "d"} <= path.attrib.keys()
    }
    return [found for child in root if (found := _element(child, shapes)) is not None]


def _element(element: ElementTree.Element, shapes: Mapping[str, str]) -> Html | None:
    name = element.tag.rpartition("}")[2]
    if name in DROPPED:
        return None
    content = Html("".join(found for child in element if (found := _element(child, shapes)) is not None))
    given = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
    series = re.fullmatch(rf"({drawing.SERIES}|{drawing.THEORY}):(\d+)", given.get("id", ""))
    if name == "g" and series is None and "transform" not in given:
        return content or None
    look = {key: value for key, value in given.items() if key in KEPT}
    if name == "use":
        # What is drawn at several places is written out at each.
        name, at = "path", (_rounded(look.pop("x", "0")), _rounded(look.pop("y", "0")))
        look |= {"d": shapes[look.pop("href")], "transform": f"translate({at[0]},{at[1]})"}
    if "d" in look:
        look["d"] = re.sub(r"\s*([A-Za-z])\s*", r"\1", _rounded(look["d"])).replace("\n", " ")
    look |= {key: _rounded(look[key]) for key in ("x", "y") if key in look}
    if name == "text":
        if "rotate(-0" in look.get("transform", ""):
            del look["transform"]
        if anchor := re.search(r"text-anchor: (\w+)", given.get("style", "")):
            look["text-anchor"] = anchor[1]
    elif given.get("style"):
        look["style"] = _style(given["style"])
    if name == "image":
        look["class"] = "pixels"
    if series is not None:
        look |= {"data-s": series[2], **({"class": "line theory"} if series[1] == drawing.THEORY else {})}
    words = element.text if name in ("text", "tspan") else None
    return tag(name, words, content, **{_keyword(key): value for key, value in look.items()})


def _rounded(words: str) -> str:
    """Places to a tenth of what a telephone shows as a pixel."""
    return re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), words)


def _keyword(name: str) -> str:
    return f"{name}_" if name == "class" else name.replace("-", "_")


def _style(style: str) -> str:
    """A style with the page's variables in place of what stood for them."""
    return (
        re.sub(r"#[0-9a-f]{6}", lambda found: STAND_INS.get(found[0], found[0]), style)
        .replace(": ", ":")
        .replace("; ", ";")
    )


def _of_lines(chart: Chart, drawn: Drawn) -> list[dict[str, Any]]:
    """The lines as the script shows them: the places of points, and their words."""
    found = []
    lines = [thinned(line) for line in chart.lines if not line.is_theory]
    for line, (across, down) in zip(lines, drawn.places, strict=True):
        known = [i for i in range(line.x.size) if math.isfinite(line.x[i]) and math.isfinite(line.y[i])]
        found.append(
            {
                "s": line.series,
                "n": line.name or chart.title,
                "x": [across[i] for i in known],
                "y": [down[i] for i in known],
                "at": [chart.x.form(float(line.x[i])) for i in known],
                "is": [chart.y.form(float(line.y[i])) for i in known],
            }
        )
    return found


def _of_bars(chart: Stack, drawn: Drawn) -> list[dict[str, Any]]:
    return [
        {"s": -1, "n": name, "x": across, "y": down, "is": [chart.form(float(v)) for v in chart.parts[name]],
         "at": [f"{chart.label} {place}" for place in chart.places]}
        for name, (across, down) in zip(chart.used(), drawn.places, strict=True)
    ]  # fmt: skip


def _of_cells(chart: HeatMap, drawn: Drawn) -> dict[str, Any]:
    return {
        "cells": [[whole(value, chart.unit) for value in row] for row in chart.matrix.tolist()],
        "rows": chart.rows,
        "columns": [_from_to(first, last - 1) for first, last in itertools.pairwise(chart.limits.tolist())],
        "box": list(drawn.box),
    }


def _from_to(first: int, last: int) -> str:
    return f"block {first}" if first == last else f"blocks {first} to {last}"


def look(series: int) -> str:
    """The classes of a series, for what stands beside charts."""
    return f"s{series % len(COLOURS)} d{series // len(COLOURS) % DASHES}"


def table_of(chart: Chart) -> tuple[list[str], list[list[str]]]:
    """A chart in a few rows: the values of every series at places of the first one."""
    lines = [line for line in chart.lines if np.isfinite(line.y).any()]
    if not lines:
        return [chart.x.label], []
    longest = max(lines, key=lambda line: float(np.nanmax(line.x)))
    picked = longest.x[np.unique(np.linspace(0, longest.x.size - 1, ROWS).astype(int))]
    rows = [
        [chart.x.form(float(x)), *(_value_at(line, float(x), chart.y.form) for line in lines)] for x in picked
    ]
    return [chart.x.label, *(line.name or chart.title for line in lines)], rows


def _value_at(line: Line, x: float, form: Form) -> str:
    at = int(np.searchsorted(line.x, x))
    if at >= line.x.size or not math.isfinite(line.y[at]):
        return "-"
    return form(float(line.y[at]))


def table(head: Sequence[str], rows: Sequence[Sequence[Child]], caption: str, class_: str = "") -> Html:
    """A table that scrolls by itself where it is too wide."""
    words = [
        column > 0 and any(_is_word(row[column]) for row in rows if column < len(row))
        for column in range(len(head))
    ]
    # Numbers stand below each other, words begin below each other.
    looks = ["t" if is_word else None for is_word in words]
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption, class_="hidden"),
            tag("thead", tag("tr", [
                tag("th", cell, scope="col", class_=look) for cell, look in zip(head, looks, strict=True)
            ])),
            tag("tbody", [
                tag("tr", tag("th", row[0], scope="row"),
                    [tag("td", cell, class_=look) for cell, look in zip(row[1:], looks[1:], strict=False)])
                for row in rows
            ]),
        ),
        class_=f"wide {class_}".strip(), tabindex="0", role="region", aria_label=caption,
    )  # fmt: skip


def _is_word(cell: Child) -> bool:
    return isinstance(cell, str) and cell[:1].isalpha()


def swatches(names: Sequence[str]) -> Html:
    """The legend of the colours of parts."""
    entries = [tag("li", tag("i", class_=f"swatch p-{name}", aria_hidden="true"), name) for name in names]
    return tag("ul", entries, class_="swatches")


def _mark(series: int) -> Html:
    """The mark of a series, as a letter."""
    return tag("text", MARKS[mark_of(series)], x=13, y=11, text_anchor="middle", class_="mark")


def legend(names: Sequence[str], *, has_marks: bool = False) -> Html:
    """Buttons that name the series of the charts beside them, and hide them."""
    return tag(
        "div",
        [
            tag(
                "button",
                tag(
                    "svg",
                    tag("path", d="M1,7H25", class_="line"),
                    _mark(i) if has_marks or i >= len(COLOURS) else None,
                    viewBox="0 0 26 14", class_=look(i), aria_hidden="true",
                ),
                name,
                type="button", aria_pressed="true", data_s=str(i),
            )
            for i, name in enumerate(names)
        ],
        class_="legend", role="group", aria_label="Series: press to hide or show",
    )  # fmt: skip
