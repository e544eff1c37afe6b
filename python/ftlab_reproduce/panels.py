"""What the papers' pictures have in common: sheets of panels, their dress, legends, bars side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = "#444444"
"""Of lines that mark a value."""


def sheet(
    width: float, height: float, rows: int = 1, columns: int = 1, **share: Any
) -> tuple[Figure, list[list[Axes]]]:
    """A figure of so many inches and its panels; `share` is for axes in common, as matplotlib has it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, [list(row) for row in figure.subplots(rows, columns, squeeze=False, **share)]


def dress(panel: Axes, words: str) -> None:
    """A title and a grid, and no box."""
    panel.set_title(words, fontsize=10, loc="left")
    panel.grid(alpha=0.25)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def legend(figure: Figure, panel: Axes, columns: int | None = None) -> None:
    """The legend of one panel below all, in a row if nothing is said."""
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns or len(labels), frameon=False)


def side_by_side(
    places: NDArray[Any], series: int, whole: float = 0.8
) -> tuple[list[NDArray[np.float64]], float]:
    """Where the bars of each series stand, so that those of one place stand together; and how wide they are."""
    width = whole / series
    return [places + (i - (series - 1) / 2) * width for i in range(series)], 0.92 * width
