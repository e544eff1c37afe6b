"""Charts as SVG. A chart is as wide as a telephone, so that it need not shrink there; wide screens have several beside
each other. Colours are classes, which the page's style gives a value for light, dark and print.
"""

from __future__ import annotations

import base64
import itertools
import math
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.reports.markup import Child, Html, data, joined, tag

Values = NDArray[np.float64]
Form = Callable[[float], str]

WIDTH, HEIGHT = 360, 226
TOP, RIGHT, BOTTOM = 12, 12, 40
LETTER = 6.3
"""Width of a letter of a tick."""

COLOURS = 10
"""Classes of colours for series; more series have another line and marks as well."""

DASHES = 4
MARKS = 6

POINTS = 240
"""Points of a curve at most: more than one for two of its pixels are not seen."""

ROWS = 20
"""Rows of the table behind a chart."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of a chart."""

    label: str
    form: Form
    """A value in words, with its unit."""
    tick: Form
    """A value beside the axis."""
    is_log: bool = False
    low: float | None = None
    high: float | None = None
    ticks: tuple[tuple[float, str], ...] = ()
    """In place of those that suit the range."""


@dataclass(frozen=True, slots=True)
class Line:
    """A series of a chart."""

    name: str
    series: int
    """Which of the page's looks it has, and which button hides it."""
    x: Values
    y: Values
    step: str = ""
    """`post`: a value holds from its place on; `pre`: up to its place."""
    has_marks: bool = False
    is_theory: bool = False
    is_filled: bool = False
    spread: Values | None = None
    """Bars above and below."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over two axes, and the table behind them."""

    title: str
    x: Axis
    y: Axis
    lines: Sequence[Line]
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    note: str = ""

    def html(self) -> Html:
        """The chart as a figure."""
        lines = [thinned(line) for line in self.lines]
        # A mark on the axis would hide what is written there.
        beside = 0.04 if any(line.has_marks for line in lines) else 0.0
        x, y = (
            _spans(self.x, [line.x for line in lines], beside),
            _spans(self.y, _heights(lines), margin=0.04),
        )
        frame = Frame.of(x, y)
        drawn = [_drawn(line, frame) for line in lines]
        hover = [
            _hover(line, line.name or self.title, frame, self.x.form, self.y.form)
            for line in lines
            if not line.is_theory
        ]
        head, rows = (self.head, self.rows) if self.head else table_of(self)
        return figure(self.title, [frame.grid(), drawn], table(head, rows, self.title), hover, self.note)


def figure(
    title: str, drawing: Child, behind: Html, hover: Any, note: str = "", below: Html | None = None
) -> Html:
    """A drawing with its title, the table behind it, and what the page's script shows of a place in it."""
    svg = tag(
        "svg", drawing, tag("line", class_="cross", y1=TOP, y2=HEIGHT - BOTTOM, x1=-9, x2=-9),
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


@dataclass(frozen=True, slots=True)
class Span:
    """An axis with its ends."""

    axis: Axis
    low: float
    high: float

    def at(self, value: float) -> float:
        """Where a value is, 0..1."""
        if self.axis.is_log:
            return math.log(max(value, 1e-12) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Values beside the axis, and their words."""
        if self.axis.ticks:
            return [(value, word) for value, word in self.axis.ticks if self.low <= value <= self.high]
        values = _decades(self.low, self.high) if self.axis.is_log else _round_steps(self.low, self.high)
        # Where an axis does not begin at zero, it says so.
        if (
            self.axis.low
            and not self.axis.is_log
            and values
            and values[0] - self.low > (self.high - self.low) / 12
        ):
            values.insert(0, self.low)
        return [(value, self.axis.tick(value)) for value in values]


@dataclass(frozen=True, slots=True)
class Frame:
    """The room for the lines."""

    x: Span
    y: Span
    left: float

    @classmethod
    def of(cls, x: Span, y: Span) -> Frame:
        """A frame with room for the words on its left."""
        widest = max((len(word) for _, word in y.ticks()), default=1)
        return cls(x, y, 12 + LETTER * widest)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """A point in the drawing."""
        return (
            self.left + self.x.at(x) * (WIDTH - RIGHT - self.left),
            HEIGHT - BOTTOM - min(max(self.y.at(y), -0.02), 1.02) * (HEIGHT - TOP - BOTTOM),
        )

    def grid(self) -> Html:
        """Axes, ticks and the lines behind the chart."""
        bottom = HEIGHT - BOTTOM
        parts = []
        for value, word in self.y.ticks():
            _, at = self.place(self.x.low, value)
            parts.append(tag("line", x1=self.left, x2=WIDTH - RIGHT, y1=_px(at), y2=_px(at), class_="grid"))
            parts.append(tag("text", word, x=_px(self.left - 6), y=_px(at + 4), text_anchor="end"))
        for at, word, anchor in _spaced(self):
            parts.append(tag("line", x1=_px(at), x2=_px(at), y1=bottom, y2=bottom + 4, class_="tick"))
            parts.append(tag("text", word, x=_px(at), y=bottom + 17, text_anchor=anchor))
        parts.append(tag("line", x1=self.left, x2=WIDTH - RIGHT, y1=bottom, y2=bottom, class_="axis"))
        label = tag("text", self.x.axis.label, x=_px((self.left + WIDTH - RIGHT) / 2), y=HEIGHT - 5,
                    text_anchor="middle", class_="label")  # fmt: skip
        return joined([parts, label])


def _spaced(frame: Frame) -> list[tuple[float, str, str]]:
    """The ticks below the chart that have room beside each other: place, word, and how it is set there."""
    placed: list[tuple[float, str, str]] = []
    end = -math.inf
    for value, word in frame.x.ticks():
        at, _ = frame.place(value, frame.y.low)
        half = LETTER * len(word) / 2
        left, anchor = (WIDTH - 2 * half, "end") if at + half > WIDTH else (at - half, "middle")
        if left > end:
            placed.append((min(at, WIDTH - RIGHT), word, anchor))
            end = left + 2 * half + 6
    return placed


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _heights(lines: Sequence[Line]) -> list[Values]:
    """Everything that has to fit the height of a chart."""
    spreads = [line.y + sign * line.spread for line in lines if line.spread is not None for sign in (-1, 1)]
    return [*(line.y for line in lines), *spreads]


def _spans(axis: Axis, values: Sequence[Values], margin: float = 0.0) -> Span:
    every = np.concatenate([*values, np.empty(0)])
    every = every[np.isfinite(every) & (every > 0 if axis.is_log else True)]
    low = axis.low if axis.low is not None else float(every.min(initial=math.inf))
    high = axis.high if axis.high is not None else float(every.max(initial=-math.inf))
    if not math.isfinite(low) or not math.isfinite(high) or low > high:
        low, high = (1.0, 10.0) if axis.is_log else (0.0, 1.0)
    if axis.is_log:
        wider = (high / low) ** margin if high > low else 1.5
        return Span(
            axis, low / (wider if axis.low is None else 1), high * (wider if axis.high is None else 1)
        )
    room = (high - low or abs(high) or 1.0) * (margin if high > low else 0.5)
    low, high = low - (room if axis.low is None else 0), high + (room if axis.high is None else 0)
    return Span(axis, low, high if high > low else low + 1)


def _round_steps(low: float, high: float) -> list[float]:
    """About five round numbers."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float) -> list[float]:
    decades = math.log10(high / low)
    parts = (1, 2, 5) if decades < 2.2 else (1,)
    every = max(1, round(decades / 6))
    first = math.floor(math.log10(low))
    values = [part * 10.0**i for i in range(first, math.ceil(math.log10(high)) + 1, every) for part in parts]
    return [value for value in values if low * 0.999 <= value <= high * 1.001]


def thinned(line: Line) -> Line:
    """A line of few enough points; of a curve that only rises none is lost that could be seen."""
    if line.x.size <= POINTS:
        return line
    # Far apart along the curve, whichever of the two directions it goes in.
    with np.errstate(divide="ignore", invalid="ignore"):
        across = np.log(np.maximum(line.x, 1e-12)) if (line.x > 0).all() else line.x
        lengths = [np.cumsum(np.abs(np.diff(np.nan_to_num(v), prepend=v[0]))) for v in (across, line.y)]
    along = lengths[0] / (lengths[0][-1] or 1.0) + lengths[1] / (lengths[1][-1] or 1.0)
    kept = np.unique(np.searchsorted(along, np.linspace(0, along[-1], POINTS)).clip(max=line.x.size - 1))
    kept = np.union1d(kept, [0, line.x.size - 1])
    return replace(line, x=line.x[kept], y=line.y[kept], spread=None)


def look(series: int) -> str:
    """The classes of a series."""
    return f"s{series % COLOURS} d{series // COLOURS % DASHES}"


def _drawn(line: Line, frame: Frame) -> Html:
    if line.is_theory:
        return tag(
            "path",
            d=_path(line, frame),
            class_=f"line theory s{line.series % COLOURS}",
            data_s=str(line.series),
        )
    path = _path(line, frame)
    parts = (
        [tag("path", d=f"{path}V{HEIGHT - BOTTOM}H{_px(frame.left)}z", class_="area")]
        if line.is_filled
        else []
    )
    parts.append(tag("path", d=path, class_="line"))
    for i in _marked(line):
        at, high = frame.place(line.x[i], line.y[i])
        if line.spread is not None and line.spread[i] > 0:
            ends = [frame.place(line.x[i], line.y[i] + sign * line.spread[i])[1] for sign in (-1, 1)]
            parts.append(
                tag("line", x1=_px(at), x2=_px(at), y1=_px(ends[0]), y2=_px(ends[1]), class_="spread")
            )
        parts.append(mark(line.series, at, high))
    return tag("g", parts, class_=look(line.series), data_s=str(line.series))


def _marked(line: Line) -> Sequence[int]:
    """Which points have a mark: all that were measured, or a few where colours alone do not do."""
    known = np.flatnonzero(np.isfinite(line.y))
    if line.has_marks:
        return [int(i) for i in known]
    if line.series < COLOURS or known.size == 0:
        return []
    shift = known.size * (line.series % 7) // 40
    return [int(i) for i in known[np.unique(np.linspace(shift, known.size - 1, 5).astype(int))]]


def mark(series: int, x: float, y: float) -> Html:
    """The mark of a series."""
    r = 3.6
    shapes = (
        f"M{_px(x - r)},{_px(y)}a{r},{r} 0 1 0 {2 * r},0a{r},{r} 0 1 0 {-2 * r},0z",
        f"M{_px(x - 3.2)},{_px(y - 3.2)}h6.4v6.4h-6.4z",
        f"M{_px(x)},{_px(y - 4.4)}l4.4,4.4l-4.4,4.4l-4.4,-4.4z",
        f"M{_px(x)},{_px(y - 4.2)}l4.2,7.4h-8.4z",
        f"M{_px(x)},{_px(y + 4.2)}l4.2,-7.4h-8.4z",
        f"M{_px(x - 1.3)},{_px(y - 4)}h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z",
    )
    return tag("path", d=shapes[(series + series // COLOURS) % MARKS], class_="mark")


def _path(line: Line, frame: Frame) -> str:
    """The points; where a value is not defined there is a gap."""
    words: list[str] = []
    before: tuple[float, float] | None = None
    for x, y in zip(line.x, line.y, strict=True):
        if not (math.isfinite(x) and math.isfinite(y)):
            before = None
            continue
        px, py = frame.place(x, y)
        if before is None:
            words.append(f"M{_px(px)},{_px(py)}")
        elif line.step == "post":
            words.append(f"H{_px(px)}V{_px(py)}")
        elif line.step == "pre":
            words.append(f"V{_px(py)}H{_px(px)}")
        else:
            words.append(f"L{_px(px)},{_px(py)}")
        before = (px, py)
    return "".join(words)


def _hover(line: Line, name: str, frame: Frame, x_form: Form, y_form: Form) -> dict[str, Any]:
    """What the script shows: where points are, and what they say."""
    known = [i for i in range(line.x.size) if math.isfinite(line.x[i]) and math.isfinite(line.y[i])]
    places = [frame.place(line.x[i], line.y[i]) for i in known]
    return {
        "s": line.series,
        "n": name,
        "x": [round(x) for x, _ in places],
        "y": [round(y) for _, y in places],
        "at": [x_form(float(line.x[i])) for i in known],
        "is": [y_form(float(line.y[i])) for i in known],
    }


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


@dataclass(frozen=True, slots=True)
class Stack:
    """Bars of parts that add up, beside each other."""

    title: str
    label: str
    """What a bar is."""
    places: Sequence[str]
    parts: Mapping[str, Values]
    """Fractions, by the name that is also a class."""
    form: Form = field(default=lambda value: f"{100 * value:.1f} %")

    def html(self) -> Html:
        """The chart as a figure."""
        span = Span(Axis("", self.form, lambda v: f"{100 * v:.0f} %"), 0.0, 1.0)
        count = len(self.places)
        across = Axis(
            self.label, str, str, ticks=tuple((i + 0.5, word) for i, word in enumerate(self.places))
        )
        frame = Frame.of(Span(across, 0.0, float(count)), span)
        gap = 0.0 if count > 40 else 0.1
        drawn = []
        base = np.zeros(count)
        for name, values in self.parts.items():
            pieces = []
            for i, value in enumerate(np.nan_to_num(values)):
                if value > 0:
                    (left, low), (right, high) = (
                        frame.place(i + gap, base[i]), frame.place(i + 1 - gap, base[i] + value)
                    )  # fmt: skip
                    pieces.append(f"M{_px(left)},{_px(low)}V{_px(high)}H{_px(right)}V{_px(low)}z")
            base += np.nan_to_num(values)
            if pieces:
                drawn.append(tag("path", d="".join(pieces), class_=f"part p-{name}"))
        middle = [round(frame.place(i + 0.5, 0)[0]) for i in range(count)]
        hover = [
            {"s": -1, "n": name, "x": middle, "y": [TOP] * count, "is": [self.form(float(v)) for v in values],
             "at": [f"{self.label} {place}" for place in self.places]}
            for name, values in self.parts.items() if np.nan_to_num(values).max(initial=0) >= 0.0005
        ]  # fmt: skip
        head = [self.label, *self.parts]
        rows = [
            [place, *(self.form(float(values[i])) for values in self.parts.values())]
            for i, place in enumerate(self.places)
        ]
        used = [name for name, values in self.parts.items() if np.nan_to_num(values).max(initial=0) >= 0.0005]
        behind = table(head, rows, self.title)
        return figure(self.title, [frame.grid(), drawn], behind, hover, below=swatches(used))


def swatches(names: Sequence[str]) -> Html:
    """What the colours of parts mean."""
    entries = [tag("li", tag("i", class_=f"swatch p-{name}", aria_hidden="true"), name) for name in names]
    return tag("ul", entries, class_="swatches")


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
                    mark(i, 13, 7) if has_marks or i >= COLOURS else None,
                    viewBox="0 0 26 14", class_=look(i), aria_hidden="true",
                ),
                name,
                type="button", aria_pressed="true", data_s=str(i),
            )
            for i, name in enumerate(names)
        ],
        class_="legend", role="group", aria_label="Series: press to hide or show",
    )  # fmt: skip


VIRIDIS = np.array(
    [(68, 1, 84), (72, 40, 120), (62, 74, 137), (49, 104, 142), (38, 130, 142), (31, 158, 137), (53, 183, 121),
     (110, 206, 88), (181, 222, 43), (253, 231, 37)],
    dtype=np.float64,
)  # fmt: skip
"""Matplotlib's map of colours, which is even for all kinds of colour vision."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A picture of numbers: rows down, columns across."""

    title: str
    matrix: Values
    limits: NDArray[np.int64]
    """Where columns begin, and where the last one ends."""
    rows: Sequence[str]
    """What a row is called."""
    labels: tuple[str, str]
    """What is across, and what is down."""
    unit: str

    def html(self, behind: Html) -> Html:
        """The picture as a figure."""
        left, height = 44, HEIGHT - TOP - BOTTOM - 26
        width = WIDTH - RIGHT - left
        words = self._words(left, width, height)
        scale = np.linspace(self.matrix.min(), self.matrix.max(), 64).reshape(1, -1)
        hover = {
            "cells": [[_whole(value, self.unit) for value in row] for row in self.matrix.tolist()],
            "rows": self.rows,
            "columns": [
                _from_to(first, last - 1) for first, last in itertools.pairwise(self.limits.tolist())
            ],
            "box": [left, TOP, width, height],
        }
        drawing = [
            _image(self.matrix, left, TOP, width, height),
            _image(scale, left + 60, HEIGHT - 16, width - 120, 9),
            words,
        ]
        return figure(self.title, drawing, behind, hover)

    def _words(self, left: int, width: int, height: int) -> list[Html]:
        bottom, middle = TOP + height, TOP + height / 2
        number = Axis("", str, lambda v: f"{v:.0f}")
        across, down = Span(number, 0.0, float(self.limits[-1])), Span(number, 0.0, float(len(self.rows)))
        words = [
            tag("text", word, x=_px(left + across.at(value) * width), y=bottom + 15, text_anchor="middle")
            for value, word in across.ticks() if value == int(value)
        ]  # fmt: skip
        words += [
            tag("text", word, x=left - 6, y=_px(TOP + down.at(value) * height + 4), text_anchor="end")
            for value, word in down.ticks() if value == int(value)
        ]  # fmt: skip
        low, high = (_whole(float(value)) for value in (self.matrix.min(), self.matrix.max()))
        turned = f"rotate(-90 11 {_px(middle)})"
        return [
            *words,
            tag("text", self.labels[0], x=_px(left + width / 2), y=bottom + 30, text_anchor="middle"),
            tag("text", self.labels[1], x=11, y=_px(middle), text_anchor="middle", transform=turned),
            tag("text", low, x=left + 54, y=HEIGHT - 8, text_anchor="end"),
            tag("text", f"{high} {self.unit}", x=left + width - 54, y=HEIGHT - 8),
        ]


def _from_to(first: int, last: int) -> str:
    return f"block {first}" if first == last else f"blocks {first} to {last}"


def _image(matrix: Values, x: int, y: int, width: int, height: int) -> Html:
    content = base64.b64encode(_png(matrix)).decode()
    return tag(
        "image", href=f"data:image/png;base64,{content}", x=x, y=y, width=width, height=height,
        preserveAspectRatio="none", class_="pixels",
    )  # fmt: skip


def _whole(value: float, unit: str = "") -> str:
    return f"{value:,.0f} {unit}".strip() if value == int(value) else f"{value:,.1f} {unit}".strip()


def _png(matrix: Values) -> bytes:
    """A picture of a pixel for each number."""
    low, high = float(matrix.min()), float(matrix.max())
    at = (matrix - low) / ((high - low) or 1.0) * (len(VIRIDIS) - 1)
    base = np.minimum(at.astype(int), len(VIRIDIS) - 2)
    part = (at - base)[..., None]
    pixels = np.round(VIRIDIS[base] * (1 - part) + VIRIDIS[base + 1] * part).astype(np.uint8)
    rows, columns = matrix.shape
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(raw, 9))
        + chunk(b"IEND", b"")
    )
