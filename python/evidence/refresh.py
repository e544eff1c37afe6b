"""What refresh by age and errors costs in WAF, and what it saves in retries.

``python -m evidence.refresh OUT.png`` runs a small `client-tlc` for 90 days of simulated time under one `ftl.refresh`
after the other, draws the picture of ``docs/media.md`` and prints its tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlab.api.simulation import run
from ftlab.results import drawing
from ftlab.results.result import Result
from ftlab.results.text import duration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRESET = "client-tlc-small"

JOB: dict[str, Any] = {
    # Two dies of it: what a plane does is the same, and a run takes seconds.
    "device.channels": 2, "device.chips_per_channel": 1, "device.dies_per_chip": 1,
    "device.user_capacity": "3400MiB", "device.over_provisioning": 0.2071,
    "device.wear.pe_cycles": 500, "device.media.formula.age": "0ns",
    "run.precondition.sequential": "1x", "run.payload": "none", "run.executor": "timed",
    "run.latency_parts": True,
    # A request a minute for 90 days, half of them reads. Pages gather in the write buffer, so that none is padded.
    "ftl.write_buffer": {"fifo": {"size": "4MiB", "flush": "full"}},
    "workload.generator": "zipf", "workload.request_size": "16KiB", "workload.read_fraction": 0.5,
    "workload.interval": "60s", "workload.requests": 129_600, "workload.volume": "100x", "host.replay": "open",
}  # fmt: skip

AGES = (5, 7, 10, 14, 30, 60)
"""Days after which data move."""

PERIODS = (1, 3, 7, 14)
"""Days in which a patrol reads all pages."""

RETRIES = (0, 1, 2, 3)
"""Retries that a read may need."""

TICKS = (3, 5, 10, 20, 50)
"""WAF that the picture names."""

LEVELS = ("default", "last-good")
"""Which step of the retry table a read begins with."""


@dataclass(frozen=True, slots=True)
class Way:
    """A refresh, and its setting: days, or retries."""

    name: str
    label: str
    refresh: Any


@dataclass(frozen=True, slots=True)
class Point:
    """A refresh, and what it gave."""

    way: Way
    levels: str
    waf: float
    retry_us: float
    """Mean time of a read of the host that retries take."""
    retries: float
    """Retries of all reads, those of collections and patrols among them, for each read of the host."""
    read_us: tuple[float, float]
    """Mean and p99."""
    refreshes: int
    patrol_reads: float
    """For each read of the host."""

    @classmethod
    def of(cls, way: Way, levels: str, result: Result) -> Point:
        """The figures of a run."""
        summary = result.summary
        latency, done = summary["host"]["read_latency_us"], summary["policy"].get("refresh", {})
        reads = summary["host"]["reads"]
        return cls(
            way, levels, summary["waf"], summary["latency_parts"]["read"]["mean"]["parts_us"]["retry"],
            summary["flash"]["by_cause"]["retry"]["reads"] / reads, (latency["mean"], latency["p99"]),
            done.get("refreshes", 0), done.get("patrol_reads", 0) / reads,
        )  # fmt: skip


def ways() -> Iterator[Way]:
    """What is compared."""
    yield Way("none", "", "none")
    for days in AGES:
        yield Way("age", f"{days} days", {"age": {"age": f"{days}d"}})
    for retries in RETRIES:
        yield Way("errors", f"over {retries}", {"errors": {"retries": retries}})
    for days in PERIODS:
        yield Way("patrol", f"{days} days, over 1", {"patrol": {"period": f"{days}d", "retries": 1}})


def points() -> list[Point]:
    """All runs."""
    found = []
    for levels in LEVELS:
        for way in ways():
            sets = {**JOB, "device.media.formula.levels": levels, "ftl.refresh": way.refresh}
            found.append(Point.of(way, levels, run(PRESET, sets=sets)))
            print(levels, _row(found[-1]), file=sys.stderr, flush=True)
    return found


def table(found: Sequence[Point]) -> str:
    """The runs, in Markdown."""
    head = [
        "| `refresh` | | WAF | blocks moved | patrol reads | all retries | a read: in retries | mean | p99 |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    return "\n".join([*head, *map(_row, found)])


def _row(point: Point) -> str:
    times = " | ".join(map(duration, point.read_us))
    return (
        f"| `{point.way.name}` | {point.way.label} | {point.waf:.2f} | {point.refreshes:,} "
        f"| {point.patrol_reads:.1f} | {point.retries:.2f} | {point.retry_us:.1f} µs | {times} |"
    )


def figure(found: Sequence[Point]) -> Figure:
    """Time in retries over WAF, a panel for each way in which a read begins."""
    import matplotlib.pyplot as plt

    drawn, panels = plt.subplots(1, len(LEVELS), figsize=(8.5, 4), sharex=True, layout="constrained")
    for panel, levels in zip(panels, LEVELS, strict=True):
        of_panel = [point for point in found if point.levels == levels]
        for colour, name in zip(drawing.COLOURS, ("none", "age", "errors", "patrol"), strict=False):
            of_name = [point for point in of_panel if point.way.name == name]
            at = [point.waf for point in of_name], [point.retry_us for point in of_name]
            panel.plot(*at, "-o", color=colour, markersize=4, label=name)
            for point in of_name:
                label = point.way.label.partition(",")[0].replace(" days", "d").replace("over ", ">")
                panel.annotate(
                    label, (point.waf, point.retry_us), xytext=(4, 3), textcoords="offset points",
                    fontsize=7, color=colour,
                )  # fmt: skip
        panel.set(
            title=f"levels = {levels}",
            xlabel="WAF",
            ylabel="retries in a read of the host (µs)",
            xscale="log",
            ylim=(0, None),
        )
        panel.set_xticks(TICKS, map(str, TICKS))
        panel.set_xticks([], minor=True)
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
        panel.legend(frameon=False, fontsize=8)
    return drawn


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m evidence.refresh", description=__doc__.split("\n")[0])
    parser.add_argument("picture", type=Path, metavar="OUT.png")
    options = parser.parse_args()
    found = points()
    figure(found).savefig(options.picture, dpi=110, metadata={"Software": None})
    for levels in LEVELS:
        print(f"\n{levels}\n\n" + table([point for point in found if point.levels == levels]))


if __name__ == "__main__":
    main()
