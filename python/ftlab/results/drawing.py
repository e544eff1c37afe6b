"""Charts drawn by matplotlib: into the panel of a figure for a file, or as SVG whose colours a page decides."""

from __future__ import annotations

import colorsys
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ftlab.base import escape
from ftlab.results.charts import Axis, Chart, Drawable, HeatMap, Line, Stack, Values, thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#666666", "#a6761d", "#1b1b1b",
)  # fmt: skip
"""For runs side by side; told apart with any kind of colour vision. More runs have colours between those of the hue
circle, and every ten runs another line style.
"""

STYLES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.4)), (0, (5, 1.6, 1, 1.6)))
MARKS = "osD^vP"

CAUSE_COLOURS = {
    "host": "#0072b2",
    "gc": "#d55e00",
    "mapping": "#009e73",
    "refresh": "#cc79a7",
    "backup": "#8c6bb1",
    "wear": "#e69f00",
    "rmw": "#56b4e9",
    "pad": "#a6761d",
    "retry": "#a50f15",
    "fold": "#ff9da7",
    "idle": "#e6e6e6",
}
KIND_COLOURS = {"read": "#cdb891", "program": "#8a6d3b", "erase": "#3b2f2f", "idle": "#e6e6e6"}
"""None of them stands for a cause, since dies by operation are drawn beside channels by cause."""

GOLDEN = (5**0.5 - 1) / 2
"""Steps of this part of a circle never come close to where they were."""


def colour(i: int) -> str:
    """The colour of the i-th run, in a file."""
    if i < len(COLOURS):
        return COLOURS[i]
    parts = colorsys.hls_to_rgb(i * GOLDEN % 1, (0.32, 0.45, 0.6)[i % 3], (0.75, 0.5)[i % 2])
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


@dataclass(frozen=True, slots=True)
class Ink:
    """The colours and sizes of a medium."""

    series: Sequence[str]
    """Colours by series; empty: those of :func:`colour`."""
    parts: Mapping[str, str]
    words: str
    grid: str
    axis: str
    paper: str
    size: float
    """Of words, in points."""
    width: float
    """Of lines, in points."""

    def of(self, series: int) -> str:
        """The colour of a series."""
        return self.series[series % len(self.series)] if self.series else colour(series)


FILE = Ink((), {**CAUSE_COLOURS, **KIND_COLOURS}, "0.0", "0.88", "0.5", "#ffffff", 8.5, 1.5)

VARIABLES = (
    *(f"s{i}" for i in range(len(COLOURS))), *dict.fromkeys((*CAUSE_COLOURS, *KIND_COLOURS)),
    "soft", "grid", "paper",
)  # fmt: skip
"""The colours of a page, in light, in dark and in print: its style sheet's `--s0` and so on."""


def stand_in(name: str) -> str:
    """A colour that stands for a variable of the page until the SVG is its own."""
    return f"#0bad{VARIABLES.index(name):02x}"


PAGE = Ink(
    tuple(stand_in(f"s{i}") for i in range(len(COLOURS))),
    {name: stand_in(name) for name in (*CAUSE_COLOURS, *KIND_COLOURS)},
    stand_in("soft"), stand_in("grid"), stand_in("soft"), stand_in("paper"), 11, 1.8,
)  # fmt: skip

WIDTH, HEIGHT = 360, 226
"""Of a chart on a page, which is as wide as a telephone, so that it need not shrink there."""

TOP, RIGHT, BOTTOM = 12, 12, 40
LETTER = 6.3
"""Width of a letter beside an axis."""

SERIES = "series"
THEORY = "theory"
"""The names of the parts of an SVG that belong to a series, with its number behind."""


class Drawn(NamedTuple):
    """A chart for a page."""

    svg: str
    places: list[tuple[list[int], list[int]]]
    """Where the points of its lines are, or the middles of its bars; across and down, in the units of the SVG."""
    box: tuple[float, float, float, float]
    """Left, top, width and height of what the axes enclose."""


def svg(chart: Drawable) -> Drawn:
    """A chart as SVG, whose colours are those of :data:`PAGE`."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72), dpi=72)
    FigureCanvasSVG(figure)
    figure.patch.set_visible(False)
    bottom = BOTTOM + 26 if isinstance(chart, HeatMap) else BOTTOM
    panel = figure.add_axes((0, bottom / HEIGHT, 1, 1 - (TOP + bottom) / HEIGHT))
    panel.patch.set_visible(False)
    plain(panel, PAGE)
    draw(panel, chart, PAGE)
    left = 12 + LETTER * max((len(word) for word in _words_left(panel)), default=1)
    left += 14 if panel.get_ylabel() else 0
    panel.set_position(
        (left / WIDTH, bottom / HEIGHT, 1 - (left + RIGHT) / WIDTH, 1 - (TOP + bottom) / HEIGHT)
    )
    if isinstance(chart, HeatMap):
        _scale(figure, chart, left)
    else:
        _space(panel)
    content = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "ftlab"}):
        figure.savefig(content, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    box = (left, TOP, WIDTH - RIGHT - left, HEIGHT - TOP - bottom)
    return Drawn(content.getvalue(), [_places(panel, x, y) for x, y in _points(chart)], box)


def _points(chart: Drawable) -> list[tuple[Values, Values]]:
    if isinstance(chart, Chart):
        lines = [thinned(line) for line in chart.lines if not line.is_theory]
        return [(line.x, line.y) for line in lines]
    if isinstance(chart, Stack):
        middle: Values = np.arange(len(chart.places), dtype=np.float64) + 0.5
        return [(middle, middle * 0 + 1) for _ in chart.used()]
    return []


def _places(panel: Axes, x: Values, y: Values) -> tuple[list[int], list[int]]:
    at = panel.transData.transform(np.column_stack([x, y])) if x.size else np.empty((0, 2))
    # A point that is not defined, such as the latency of an interval without requests, is where nobody points.
    at = np.where(np.isfinite(at), at, NOWHERE)
    return [round(float(v)) for v in at[:, 0]], [round(HEIGHT - float(v)) for v in at[:, 1]]


NOWHERE = -10_000.0
"""A coordinate far outside of a chart."""


def plain(panel: Axes, ink: Ink) -> None:
    """A panel without a frame: lines behind it, and one below."""
    panel.grid(color=ink.grid, linewidth=0.8 if ink is PAGE else 0.7)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    panel.spines["left"].set_visible(ink is not PAGE)
    for side in ("left", "bottom"):
        panel.spines[side].set_color(ink.axis)
        panel.spines[side].set_linewidth(0.8)
    panel.tick_params(which="both", color=ink.axis, labelcolor=ink.words, labelsize=ink.size, width=0.8)
    for label in (panel.xaxis.label, panel.yaxis.label):
        label.set(fontsize=ink.size + (0 if ink is PAGE else 1), color=ink.words)
    if ink is PAGE:
        panel.grid(False, axis="x")
        panel.tick_params(axis="y", length=0, pad=6)


def draw(panel: Axes, chart: Drawable, ink: Ink) -> None:
    """Draws a chart into a panel."""
    if isinstance(chart, Chart):
        _draw_lines(panel, chart, ink)
    elif isinstance(chart, Stack):
        _draw_stack(panel, chart, ink)
    else:
        from matplotlib.ticker import MaxNLocator

        panel.imshow(
            chart.matrix, aspect="auto", interpolation="nearest", cmap="viridis",
            extent=(0, int(chart.limits[-1]), len(chart.matrix), 0),
        )  # fmt: skip
        panel.set(xlabel=chart.labels[0], ylabel=chart.labels[1])
        panel.grid(False)
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_locator(MaxNLocator(6, integer=True))
        panel.spines[:].set_visible(False)


def _draw_lines(panel: Axes, chart: Chart, ink: Ink) -> None:
    lines = [thinned(line) for line in chart.lines]
    # A mark on the axis would hide what is written there.
    beside = 0.04 if any(line.has_marks for line in lines) else 0.0
    _span(panel.xaxis, chart.x, [line.x for line in lines], beside)
    _span(panel.yaxis, chart.y, _heights(lines), 0.04)
    lowest, highest = _edges(panel)
    for line in lines:
        name = f"{THEORY if line.is_theory else SERIES}:{line.series}"
        look: dict[str, Any] = {"color": ink.of(line.series), "linewidth": ink.width, "gid": name}
        look["linestyle"] = STYLES[line.series // len(COLOURS) % len(STYLES)]
        if line.is_theory:
            look |= {"linestyle": "--", "linewidth": 0.75 * ink.width, "alpha": 0.85}
        else:
            look["label"] = escape.plot(line.name)
        if line.step:
            look["drawstyle"] = f"steps-{line.step}"
        if marked := _marked(line):
            look |= {"marker": MARKS[mark_of(line.series)], "markevery": marked,
                     "markersize": 6, "markeredgecolor": ink.paper, "markeredgewidth": 0.8}  # fmt: skip
        if line.is_filled:
            panel.fill_between(
                line.x, line.y, step="post", color=look["color"], alpha=0.18, linewidth=0, gid=name
            )
        if line.spread is not None and line.spread.any():
            low, high = (np.clip(line.y + sign * line.spread, lowest, highest) for sign in (-1, 1))
            panel.vlines(line.x, low, high, color=look["color"], linewidth=1.2, gid=name)
        panel.plot(line.x, np.clip(line.y, lowest, highest), **look)


def _edges(panel: Axes) -> tuple[float, float]:
    """The least and the greatest value that a panel has room for; a line ends there, and is cut off by nothing else."""
    at = panel.transData.inverted().transform(panel.transAxes.transform([(0, -0.02), (0, 1.02)]))
    return float(at[0, 1]), float(at[1, 1])


def mark_of(series: int) -> int:
    """Which of :data:`MARKS` a series has: with colour and line style it is another for each of 120 series."""
    return (series + series // len(COLOURS)) % len(MARKS)


def _marked(line: Line) -> list[int]:
    """Which points have a mark: all that were measured, or a few where colours alone do not do."""
    known = np.flatnonzero(np.isfinite(line.y))
    if line.is_theory or known.size == 0 or not (line.has_marks or line.series >= len(COLOURS)):
        return []
    if line.has_marks:
        return [int(i) for i in known]
    shift = known.size * (line.series % 7) // 40
    return [int(i) for i in known[np.unique(np.linspace(shift, known.size - 1, 5).astype(int))]]


def _heights(lines: Sequence[Line]) -> list[Values]:
    """Everything that has to fit the height of a chart."""
    spreads = [line.y + sign * line.spread for line in lines if line.spread is not None for sign in (-1, 1)]
    return [*(line.y for line in lines), *spreads]


def _span(axis: Any, wanted: Axis, values: Sequence[Values], margin: float) -> None:
    """Sets the limits, the scale and the ticks of an axis."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, LogLocator, MaxNLocator, NullLocator

    low, high = _ends(wanted, values, margin)
    name = axis.axis_name
    getattr(axis.axes, f"set_{name}scale")("log" if wanted.is_log else "linear")
    getattr(axis.axes, f"set_{name}lim")(low, high)
    if wanted.ticks:
        ticks = [(value, word) for value, word in wanted.ticks if low <= value <= high]
    else:
        few = wanted.is_log and math.log10(high / low) < 2.2
        fit = MaxNLocator(5, steps=(1, 2, 5, 10))
        locator = LogLocator(10, subs=(1, 2, 5) if few else (1,), numticks=8) if wanted.is_log else fit
        slack = (low * 0.999, high * 1.001) if wanted.is_log else (low - 1e-9, high + 1e-9 * abs(high))
        at = [value for value in map(float, locator.tick_values(low, high)) if slack[0] <= value <= slack[1]]
        # Where an axis does not begin at zero, it says so.
        if wanted.low and not wanted.is_log and at and at[0] - low > (high - low) / 12:
            at.insert(0, low)
        ticks = [(value, wanted.tick(round(value, 12))) for value in at]
    axis.set_major_locator(FixedLocator([value for value, _ in ticks]))
    axis.set_major_formatter(FixedFormatter([escape.plot(word) for _, word in ticks]))
    axis.set_minor_locator(NullLocator())
    axis.set_label_text(escape.plot(wanted.label))


def _ends(axis: Axis, values: Sequence[Values], margin: float) -> tuple[float, float]:
    every = np.concatenate([*values, np.empty(0)])
    every = every[np.isfinite(every) & (every > 0 if axis.is_log else True)]
    low = axis.low if axis.low is not None else float(every.min(initial=math.inf))
    high = axis.high if axis.high is not None else float(every.max(initial=-math.inf))
    if not math.isfinite(low) or not math.isfinite(high) or low > high:
        low, high = (1.0, 10.0) if axis.is_log else (0.0, 1.0)
    if axis.is_log:
        wider = (high / low) ** margin if high > low else 1.5
        return low / (wider if axis.low is None else 1), high * (wider if axis.high is None else 1)
    room = (high - low or abs(high) or 1.0) * (margin if high > low else 0.5)
    low, high = low - (room if axis.low is None else 0), high + (room if axis.high is None else 0)
    return low, high if high > low else low + 1


def _draw_stack(panel: Axes, chart: Stack, ink: Ink) -> None:
    """A path for each part, however many bars there are."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    count = len(chart.places)
    gap = 0.0 if count > 40 else 0.1
    base = np.zeros(count)
    used = chart.used()
    for name, values in chart.parts.items():
        shares = np.nan_to_num(values)
        bars = [
            Path(
                [(i + gap, low), (i + gap, low + share), (i + 1 - gap, low + share), (i + 1 - gap, low), (0, 0)],
                closed=True,
            )
            for i, (low, share) in enumerate(zip(base, shares, strict=True)) if share > 0
        ]  # fmt: skip
        base += shares
        if bars:
            label = name if name in used else None
            panel.add_patch(
                PathPatch(Path.make_compound_path(*bars), color=ink.parts[name], linewidth=0, label=label)
            )
    ticks = tuple((i + 0.5, word) for i, word in enumerate(chart.places))
    _span(panel.xaxis, Axis(chart.label, str, str, low=0.0, high=float(count), ticks=ticks), [], 0.0)
    _span(panel.yaxis, Axis("", chart.form, lambda v: f"{100 * v:.0f} %", low=0.0, high=1.0), [], 0.0)
    panel.grid(False, axis="x")
    if ink is FILE:
        _space(panel)


def _words_left(panel: Axes) -> list[str]:
    return [label.get_text() for label in panel.get_yticklabels()]


def _space(panel: Axes) -> None:
    """Leaves out words below a panel that have no room beside those before them."""
    places = [float(place) for place in panel.get_xticks()]
    words = [label.get_text() for label in panel.get_xticklabels()]
    figure = panel.get_figure(root=True)
    size = 1.0 if figure is None else figure.dpi / 72
    end = -math.inf
    for i, (place, word) in enumerate(zip(places, words, strict=True)):
        at = float(panel.transData.transform((place, panel.get_ylim()[0]))[0])
        half = LETTER * size * len(word) / 2
        words[i] = word if at - half > end else ""
        end = at + half + 6 * size if words[i] else end
    panel.set_xticks(places, words)
    if words and end > panel.get_window_extent().x1 + (RIGHT + 6) * size:
        # The last one would be cut off at the edge.
        panel.get_xticklabels()[-1].set_horizontalalignment("right")


def _scale(figure: Figure, chart: HeatMap, left: float) -> None:
    """The colours of a heat map below it, with what they stand for."""
    width = WIDTH - RIGHT - left - 120
    scale = figure.add_axes(((left + 60) / WIDTH, 7 / HEIGHT, width / WIDTH, 9 / HEIGHT))
    scale.imshow(np.linspace(0, 1, 64).reshape(1, -1), aspect="auto", interpolation="nearest", cmap="viridis")
    scale.set_axis_off()
    low, high = (whole(float(value)) for value in (chart.matrix.min(), chart.matrix.max()))
    for x, word, side in ((left + 54, low, "right"), (WIDTH - RIGHT - 54, f"{high} {chart.unit}", "left")):
        figure.text(x / WIDTH, 8 / HEIGHT, word, ha=side, va="bottom", fontsize=PAGE.size, color=PAGE.words)


def whole(value: float, unit: str = "") -> str:
    """A number, with a digit after the point where it has any."""
    return f"{value:,.0f} {unit}".strip() if value == int(value) else f"{value:,.1f} {unit}".strip()
