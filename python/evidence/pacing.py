"""The tail as a function of pacing, with its price in WAF.

``python -m evidence.pacing TRACE OUT.png`` replays a trace (that of ``docs/tail.md`` is
``traces/varmail-220k.csv.zst``) against `client-tlc-small` under one GC schedule after the other, with and without
suspends for reads, draws the picture of that page and prints its table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlab.api.simulation import run
from ftlab.results import drawing
from ftlab.results.result import Result
from ftlab.results.text import duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PRESET = "client-tlc-small"

JOB: dict[str, Any] = {
    "host.replay": "open", "workload.rounds": 6,
    # Of the 57 blocks of a plane some 12 are spare, not 7: there is room to hold several of them free.
    "device.user_capacity": "50GiB",
    # As the preset was when the page was written.
    "ftl.map_unit": "page",
}  # fmt: skip

LOWS = (1, 2, 3, 4, 6, 8)
"""Blocks above `free_blocks` at which paced collections begin."""

SUSPENDS: Mapping[str, dict[str, Any]] = {
    "suspends off": {"device.program_suspend": "off", "device.erase_suspend": "off"},
    "suspends on": {},
}
"""Whether programs and erases stop for reads, as the preset has it."""

FREE_BLOCKS = 1
"""As the preset has it."""


@dataclass(frozen=True, slots=True)
class Point:
    """A schedule, and what it gave."""

    schedule: str
    low: int | None
    """Of `paced`."""
    suspends: str
    read_us: tuple[float, float]
    """p99 and p99.9."""
    write_us: tuple[float, float]
    waf: float

    @classmethod
    def of(cls, schedule: str, low: int | None, suspends: str, result: Result) -> Point:
        """The figures of a run."""
        read, write = (result.summary["host"][f"{kind}_latency_us"] for kind in ("read", "write"))
        return cls(
            schedule, low, suspends, (read["p99"], read["p999"]), (write["p99"], write["p999"]),
            result.summary["waf_units"],
        )  # fmt: skip


def points(trace: Path) -> list[Point]:
    """All runs."""
    schedules = [("threshold", None), *(("paced", low) for low in LOWS), ("background", None)]
    found = []
    for suspends, chips in SUSPENDS.items():
        for schedule, low in schedules:
            parameters = {"free_blocks": FREE_BLOCKS} | ({"low": low} if low else {})
            sets = {**JOB, **chips, "ftl.gc_schedule": {schedule: parameters}}
            found.append(Point.of(schedule, low, suspends, run(PRESET, trace=trace, sets=sets)))
            print(_row(found[-1]), file=sys.stderr, flush=True)
    return found


def table(found: Sequence[Point]) -> str:
    """The runs, in Markdown."""
    head = [
        "| suspends | schedule | p99 read | p99.9 read | p99 write | p99.9 write | WAF in pages |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    return "\n".join([*head, *map(_row, found)])


def _row(point: Point) -> str:
    schedule = f"`{point.schedule}`" + (f", `low = {point.low}`" if point.low else "")
    times = " | ".join(duration(us) for us in (*point.read_us, *point.write_us))
    return f"| {point.suspends.split()[1]} | {schedule} | {times} | {point.waf:.2f} |"


def figure(found: Sequence[Point]) -> Figure:
    """Tails of reads and writes, and WAF, over the blocks at which pacing begins; the other schedules beside it."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogFormatter

    drawn, panels = plt.subplots(
        3, 1, figsize=(8.5, 8.5), sharex=True, layout="constrained", height_ratios=[3, 3, 2]
    )
    places = {"threshold": 0.0, "background": max(LOWS) + 1.0}
    for panel, kind, unit, size in zip(panels, ("read", "write"), ("µs", "ms"), (1, 1e3), strict=False):
        for at, name in ((1, "p99.9"), (0, "p99")):
            of = {point: getattr(point, f"{kind}_us")[at] / size for point in found}
            _curves(panel, of, places, name, drawing.COLOURS[1 - at])
        panel.set(yscale="log", ylabel=f"{kind} latency ({unit})")
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter(LogFormatter())
    _curves(panels[2], {point: point.waf for point in found}, places, "WAF in pages", drawing.COLOURS[2])
    panels[2].set(ylabel="WAF", ylim=(1, None))
    ticks = {0.0: "threshold", **{float(low): str(low) for low in LOWS}, places["background"]: "background"}
    panels[2].set_xticks(list(ticks), list(ticks.values()))
    panels[2].set_xlabel("schedule; for paced GC the blocks above free_blocks at which it begins (low)")
    for panel in panels:
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    for panel, place in zip(panels, ((0.3, 0.62), "best", "best"), strict=True):
        panel.legend(frameon=False, fontsize=8, ncols=2, loc=place)
    return drawn


def _curves(
    panel: Axes, values: Mapping[Point, float], places: Mapping[str, float], name: str, colour: str
) -> None:
    for suspends, style in zip(SUSPENDS, ("-o", "--s"), strict=True):
        of = {point: value for point, value in values.items() if point.suspends == suspends}
        paced = {point.low: value for point, value in of.items() if point.low}
        look: dict[str, Any] = {
            "color": colour,
            "markersize": 5,
            "markerfacecolor": colour if style == "-o" else "white",
        }
        panel.plot(list(paced), list(paced.values()), style, label=f"{name}, {suspends}", **look)
        others = [(places[point.schedule], value) for point, value in of.items() if not point.low]
        panel.plot(*zip(*others, strict=True), style[-1], **look)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m evidence.pacing", description=__doc__.split("\n")[0])
    parser.add_argument("trace", type=Path, metavar="TRACE")
    parser.add_argument("picture", type=Path, metavar="OUT.png")
    options = parser.parse_args()
    found = points(options.trace)
    figure(found).savefig(options.picture, dpi=110, metadata={"Software": None})
    print(table(found))


if __name__ == "__main__":
    main()
