"""The paper's model of copybacks as the engine has it: Table I, Figures 1 and 2, and what quotas take of memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import ftlab
from ftlab.results import text
from ftlab.results.drawing import COLOURS
from ftlab_reproduce.panels import dress, sheet
from ftlab_reproduce.rcftl.axes import AGES
from ftlab_reproduce.study import tabled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RETENTIONS = {"1y": "1 year", "3m": "3 months"}
QUALITIES = ("best", "median", "worst")
BANDS = ["0K-0.4K", "0.4K-1K", "1K-2K", "2K-3K", "3K-4K", "4K-5K"]


@cache
def thresholds(retention: str) -> Mapping[str, list[int]]:
    """Table I as the engine has it, by quality. Of a preset that leaves it to the retention."""
    wear: dict[str, Any] = ftlab.resolve("tbm-small", sets={"device.wear.retention": retention})["device"][
        "wear"
    ]
    return {quality: wear[f"copyback_{quality}"] for quality in QUALITIES}


@tabled("Table I: copyback thresholds", ["retention", "block", *BANDS])
def table1(_: Any) -> Iterator[list[str]]:
    for retention, words in RETENTIONS.items():
        for quality, row in thresholds(retention).items():
            yield [words, quality, *map(str, row)]


def quota_bytes(capacity: float, unit: float, q_init: float) -> float:
    """Memory for a quota of 0 to `q_init` for each unit of a capacity, packed to the bit."""
    return capacity / unit * math.ceil(math.log2(q_init + 1)) / 8


EXAMPLE = {"capacity": 16e12, "unit": 4000, "q_init": 30}
"""The paper's, of 2.5 GB."""


@tabled("Memory of quotas", ["scheme", "bits each", "128 GB", "16 TB"])
def memory(_: Any) -> Iterator[list[str]]:
    page, block = 16 * 1024, 128 * 16 * 1024
    for words, unit, q_init in (
        ("FastGC, a count of up to 3 by page of 16 KiB", page, 3),
        ("quota by page of 16 KiB, Q_init 60", page, 60),
        ("quota by page of 4 KB, Q_init 30 (the paper's example)", 4000, 30),
        ("quota by page of 4 KB, Q_init 60", 4000, 60),
        ("quota by block of 2 MiB, Q_init 60", block, 60),
    ):
        sizes = [text.size(quota_bytes(capacity, unit, q_init)) for capacity in (128e9, 16e12)]
        yield [words, str(math.ceil(math.log2(q_init + 1))), *sizes]


def figure1(_: Any) -> Figure:
    """Thresholds by P/E cycles."""
    figure, (panels,) = sheet(10, 3.6, columns=2, sharey=True)
    for panel, (retention, words) in zip(panels, RETENTIONS.items(), strict=True):
        for i, (quality, row) in enumerate(thresholds(retention).items()):
            # Side by side where two rows are equal.
            levels = np.array([row[0], *row]) - 0.05 * (i - 1)
            panel.step([0, 0.4, 1, 2, 3, 4, 5], levels, color=COLOURS[i], label=quality, linewidth=1.8)
        dress(panel, f"Copybacks in a row, retention {words}")
        panel.set_xlabel("P/E cycles (thousands)")
        panel.set_ylim(-0.2, 6.5)
    panels[0].legend(frameon=False)
    return figure


def _qualities(count: int = 100_000) -> NDArray[np.float64]:
    """Qualities of `device.wear.quality = "tail"`, from 0, the best, to 1."""
    rng = np.random.Generator(np.random.PCG64(1))
    return np.asarray(rng.random((count, 3)).mean(axis=1) ** 2)


def errors_added(retention: str, band: int, quality: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a copyback adds to the errors of a page, of what ECC corrects; infinite where none is allowed."""
    best, median, worst = (thresholds(retention)[name][band] for name in QUALITIES)
    allowed = np.interp(quality, [0, 0.25, 1], [best, median, worst])
    with np.errstate(divide="ignore"):
        return np.asarray(1 / allowed)


def figure2(_: Any) -> Figure:
    """What a copyback adds by age, how errors add up, and thresholds by age."""
    figure, (panels,) = sheet(12, 3.8, columns=3)
    spread, growth, bars = panels
    quality = _qualities()
    spread.boxplot(
        [errors_added("3m", band, quality) for band in range(6)], showfliers=False, whis=(0.5, 99.5)
    )
    spread.set_xticks(range(1, 7), list(AGES.values()))
    spread.set_xlabel("P/E cycles (bands up to; 0K: 0.4K)")
    dress(spread, 'a) Errors that a copyback adds (ECC limit = 1),\nquality "tail", 3 months')
    # The worst of fresh blocks is as good as the best at 3K: dashes over a line.
    for style, name, at in (("-", "best", 0.0), ("--", "worst", 1.0)):
        for i, (band, age) in enumerate(((0, "0K"), (3, "3K"))):
            step = float(errors_added("3m", band, np.array([at]))[0])
            growth.plot(
                range(8), step * np.arange(8), style, color=COLOURS[i], label=f"{name}, {age}", linewidth=2
            )
    growth.axhline(1, color="#444444", linewidth=0.8)
    growth.set_ylim(0, 2)
    growth.set_xlabel("copybacks in a row")
    growth.legend(frameon=False, fontsize=8)
    dress(growth, "b) Errors of a page (ECC limit = 1),\n3 months")
    for i, (name, row) in enumerate(thresholds("1y").items()):
        bars.bar(np.arange(6) + 0.27 * (i - 1), row, 0.25, color=COLOURS[i], label=name)
    bars.set_xticks(range(6), list(AGES.values()))
    bars.set_xlabel("P/E cycles (bands up to; 0K: 0.4K)")
    bars.legend(frameon=False, fontsize=8)
    dress(bars, "c) Thresholds, 1 year")
    return figure
