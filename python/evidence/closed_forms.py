"""Runs the engine where a formula knows the answer, and writes down how far apart the two are.

``python -m evidence.closed_forms --out docs/evidence`` measures write amplification over a grid of victim
policies, spare factors and block sizes on one plane, compares it with :mod:`ftlab.theory.formulas`, and
keeps ``closed-forms.json``, of which the docs make a page and a picture; then latencies and bandwidths, in
``latency-bandwidth.json`` (:mod:`evidence.latency_bandwidth`). The exit code is 1 if anything is off by
more than its tolerance.
"""

import argparse
import functools
import math
import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidence import latency_bandwidth, report
from ftlab.cli.signals import exit_with
from ftlab.theory import formulas

PAGE_BYTES = 4096
"""Bytes of a page and of a request. Write amplification does not depend on it."""

FREE_BLOCKS = 2
"""Blocks held free, set in every configuration because theory has to take them out of the spare space."""

SPARE_FACTORS = (0.05, 0.07, 0.11, 0.15, 0.20, 0.28)
"""Spare / raw capacity of the plane, before the blocks held free are taken out."""

BLOCK_SIZES = (64, 128, 256)
"""Pages per block."""

TOLERANCE = 0.01
"""Largest difference from theory, as a fraction of theory, that counts as agreement."""


TITLE = "# Write amplification against closed forms"


@dataclass(frozen=True, slots=True)
class Policy:
    """A victim policy of the grid."""

    victim: str
    """Its name in the configuration."""
    d: int | None = None
    """Draws, for `rga`."""

    @property
    def label(self) -> str:
        """What tables and plots call it."""
        return self.victim if self.d is None else f"{self.victim} d={self.d}"

    @property
    def config(self) -> str | dict[str, Any]:
        """The value of `ftl.victim`."""
        return self.victim if self.d is None else {self.victim: {"d": self.d}}


POLICIES = (
    Policy("greedy"),
    *(Policy("rga", d) for d in (1, 2, 3, 5, 10, 100)),
    Policy("fifo"),
    Policy("random"),
)


@functools.cache
def _predicted(policy: Policy, utilisation: float, pages_per_block: int, parts: int) -> float:
    return formulas.predict(policy.victim, utilisation, pages_per_block, d=policy.d, parts=parts)


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the grid: a plane and a victim policy."""

    policy: Policy
    spare_factor: float
    pages_per_block: int
    """Map units of a block, where they are parts of a page."""
    blocks: int
    parts: int = 1
    """Map units of a flash page."""

    @property
    def user_pages(self) -> int:
        """Logical pages of the plane: whole flash pages."""
        pages = self.blocks * self.pages_per_block / self.parts
        return round((1.0 - self.spare_factor) * pages) * self.parts

    @property
    def utilisation(self) -> float:
        """Valid fraction of the closed blocks when a victim is chosen; see ``docs/theory.md``."""
        return formulas.effective_utilisation(
            user_pages=self.user_pages,
            blocks=self.blocks,
            pages_per_block=self.pages_per_block,
            free_blocks=FREE_BLOCKS,
        )

    @property
    def predicted(self) -> float:
        """WAF in theory."""
        return _predicted(self.policy, self.utilisation, self.pages_per_block, self.parts)

    def config(self, victims: int, seed: int) -> dict[str, Any]:
        """The run that measures this point over about `victims` collected blocks, after it has settled."""
        host_pages = math.ceil(victims * self.pages_per_block / self.predicted)
        return {
            "device": {
                "channels": 1,
                "chips_per_channel": 1,
                "dies_per_chip": 1,
                "planes_per_die": 1,
                "blocks_per_plane": self.blocks,
                "pages_per_block": self.pages_per_block // self.parts,
                "page_size": PAGE_BYTES * self.parts,
                "cell": "slc",
                "multiplane": "off",
                "user_capacity": self.user_pages * PAGE_BYTES,
            },
            "ftl": {
                "map_unit": "page" if self.parts == 1 else "4KiB",
                "victim": self.policy.config,
                "gc_schedule": {"threshold": {"free_blocks": FREE_BLOCKS}},
                "separation": "none",
                "wear_leveling": "none",
            },
            "host": {"replay": "closed", "queue_depth": 1},
            "workload": {
                "generator": "uniform",
                "request_size": PAGE_BYTES,
                "read_fraction": 0.0,
                "volume": host_pages * PAGE_BYTES,
            },
            "run": {"executor": "count", "seed": seed, "precondition": "steady"},
        }


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a run gave at a point."""

    point: Point
    waf: float
    """Pages programmed for any cause / pages programmed for the host."""
    capacities: float
    """Logical capacities written while measuring."""
    victims: int
    """Blocks collected while measuring."""

    @property
    def difference(self) -> float:
        """Measured less predicted, as a fraction of predicted."""
        return self.waf / self.point.predicted - 1.0

    @property
    def agrees(self) -> bool:
        """True if the difference is within the tolerance."""
        return abs(self.difference) <= TOLERANCE


def grid(blocks: int) -> list[Point]:
    """All points, by block size, policy and spare factor."""
    return [Point(p, s, b, blocks) for b in BLOCK_SIZES for p in POLICIES for s in SPARE_FACTORS]


def measure(point: Point, victims: int, seed: int) -> Measurement:
    """Runs one point."""
    import ftlab

    summary = ftlab.run(point.config(victims, seed)).summary
    return Measurement(
        point=point,
        waf=summary["waf_units"],
        capacities=summary["host"]["bytes_written"] / (point.user_pages * PAGE_BYTES),
        victims=summary["gc"]["invocations"],
    )


def measure_all(points: Sequence[Point], victims: int, seed: int, threads: int) -> list[Measurement]:
    """Runs all points, several at once; the engine releases the interpreter. The result is in their order."""
    done = 0

    def one(point: Point) -> Measurement:
        nonlocal done
        measurement = measure(point, victims, seed)
        done += 1
        if sys.stderr.isatty():
            print(f"\r{done} of {len(points)} points", end="", file=sys.stderr, flush=True)
        return measurement

    with ThreadPoolExecutor(threads) as pool:
        measurements = list(pool.map(one, points))
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return measurements


def worst(measurements: Iterable[Measurement]) -> Measurement:
    """The measurement that is furthest from theory."""
    return max(measurements, key=lambda m: abs(m.difference))


def closed_forms_markdown(measurements: Sequence[Measurement], seed: int) -> str:
    """The page of the evidence: a table of measured, predicted and difference for each block size."""
    blocks = measurements[0].point.blocks
    furthest = worst(measurements)
    agreeing = sum(m.agrees for m in measurements)
    lines = [
        TITLE,
        "",
        "Uniform random single-page writes on one plane of "
        f"{blocks} blocks, {FREE_BLOCKS} of them held free, executor `count`, seed {seed}. Preconditioned "
        "until WAF is steady, then measured over at least "
        f"{min(m.victims for m in measurements):,} collected blocks and "
        f"{min(m.capacities for m in measurements):.1f} logical capacities per point. Spare factor: spare / "
        "raw capacity of the plane; theory takes the blocks held free out of it. Formulas and sources: "
        "[Write amplification in theory](../theory.md).",
        "",
        f"**{agreeing} of {len(measurements)} points within {TOLERANCE:.0%} of theory; the furthest is "
        f"{furthest.difference:+.2%}** ({furthest.point.policy.label}, spare factor "
        f"{furthest.point.spare_factor:.2f}, {furthest.point.pages_per_block} pages per block).",
        "",
        "![Measured points on the curves of theory](closed-forms.png)",
        "",
        "| victim | largest difference |",
        "|---|--:|",
        *(
            f"| {label} | {worst(m for m in measurements if m.point.policy.label == label).difference:+.2%} |"
            for label in dict.fromkeys(m.point.policy.label for m in measurements)
        ),
        "",
        "`fifo` stands out a little because it settles slowly: blocks that were filled together are collected "
        "together, so write amplification swings around its mean for several capacities. Preconditioning can end "
        "within a swing; the difference is that of the beginning, and halves when a run is twice as long. "
        "`rga d=1` and `random` agree to the last digit: they draw the same blocks from the same stream "
        "of chance.",
        "",
        "Each cell: measured, predicted, difference.",
    ]
    for b in sorted({m.point.pages_per_block for m in measurements}):
        lines += [
            "",
            f"## {b} pages per block",
            "",
            *_table([m for m in measurements if m.point.pages_per_block == b]),
        ]
    return "\n".join(lines) + "\n"


def _table(measurements: Sequence[Measurement]) -> list[str]:
    factors = sorted({m.point.spare_factor for m in measurements})
    labels = list(dict.fromkeys(m.point.policy.label for m in measurements))
    cells = {(m.point.policy.label, m.point.spare_factor): _cell(m) for m in measurements}
    return [
        "| victim | " + " | ".join(f"{factor:.2f}" for factor in factors) + " |",
        "|---|" + "---|" * len(factors),
        *(
            f"| {label} | " + " | ".join(cells[label, factor] for factor in factors) + " |"
            for label in labels
        ),
    ]


def _cell(m: Measurement) -> str:
    text = f"{m.waf:.3f} {m.point.predicted:.3f} {m.difference:+.2%}"
    return text if m.agrees else f"**{text}**"


COLUMNS = ("victim", "d", "pages_per_block", "spare_factor", "waf", "victims", "logical_capacities")
"""Of the points that are kept."""


def points(measurements: Sequence[Measurement], seed: int) -> dict[str, Any]:
    """The measurements as a part of a report: a row for each point."""
    rows = [
        [m.point.policy.victim, m.point.policy.d, m.point.pages_per_block, m.point.spare_factor, round(m.waf, 6),
         m.victims, round(m.capacities, 2)]
        for m in measurements
    ]  # fmt: skip
    blocks = measurements[0].point.blocks
    return {"name": "points", "blocks": blocks, "seed": seed, "columns": list(COLUMNS), "rows": rows}


def of_points(part: Any) -> list[Measurement]:
    """The measurements of such a part."""
    return [
        Measurement(Point(Policy(victim, d), spare, pages, part["blocks"]), waf, capacities, victims)
        for victim, d, pages, spare, waf, victims, capacities in part["rows"]
    ]


def plot_closed_forms(path: Path, measurements: Sequence[Measurement]) -> None:
    """A column per block size: theory as curves with measured points on them, and below their difference."""
    from matplotlib.figure import Figure

    sizes = sorted({m.point.pages_per_block for m in measurements})
    figure = Figure(figsize=(4.2 * len(sizes), 6.6), layout="constrained")
    panels = figure.subplots(2, len(sizes), sharex=True, sharey="row", squeeze=False, height_ratios=[2, 1])
    for (upper, lower), b in zip(panels.T, sizes, strict=True):
        here = [m for m in measurements if m.point.pages_per_block == b]
        for i, label in enumerate(dict.fromkeys(m.point.policy.label for m in here)):
            _plot_policy(upper, lower, [m for m in here if m.point.policy.label == label], f"C{i}")
        upper.set(title=f"{b} pages per block", yscale="log")
        upper.set_yticks([2, 3, 4, 5, 7, 10, 15, 20], labels=["2", "3", "4", "5", "7", "10", "15", "20"])
        upper.minorticks_off()
        lower.axhspan(-100 * TOLERANCE, 100 * TOLERANCE, color="0.93")
        lower.set_xlabel("spare factor (spare / raw)")
        for panel in (upper, lower):
            panel.grid(alpha=0.3)
    panels[0, 0].set_ylabel("write amplification\n(lines: theory, points: measured)")
    panels[1, 0].set_ylabel("difference (%)")
    panels[0, -1].legend(fontsize="small")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _plot_policy(upper: Any, lower: Any, measurements: Sequence[Measurement], colour: str) -> None:
    first = measurements[0].point
    measured_at = [m.point.spare_factor for m in measurements]
    low, high = min(measured_at), max(measured_at)
    factors = [low + (high - low) * i / 15 for i in range(16)]
    curve = [Point(first.policy, s, first.pages_per_block, first.blocks).predicted for s in factors]
    # `random` is the same curve as `rga d=1`; a dashed line lets both be seen.
    style = "--" if first.policy.victim == "random" else "-"
    upper.plot(factors, curve, style, color=colour, linewidth=1, label=first.policy.label)
    upper.plot(measured_at, [m.waf for m in measurements], "o", color=colour, markersize=4)
    lower.plot(measured_at, [100 * m.difference for m in measurements], "o", color=colour, markersize=4)


def options_of(
    program: str, told: str | None, arguments: Sequence[str] | None, *, blocks: int, victims: int
) -> argparse.Namespace:
    """The options of a program that measures points: where to write, and these defaults of how much is measured."""
    parser = argparse.ArgumentParser(prog=f"python -m evidence.{program}", description=told)
    parser.add_argument(
        "--out", type=Path, default=Path("docs/evidence"), help="where to write (%(default)s)"
    )
    parser.add_argument("--blocks", type=int, default=blocks, help="blocks of the plane (%(default)s)")
    parser.add_argument(
        "--victims", type=int, default=victims, help="blocks collected per point (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="runs at once (%(default)s)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the evidence; returns 1 if anything is outside its tolerance."""
    options = options_of("closed_forms", __doc__, arguments, blocks=4096, victims=400_000)
    command = report.command_of("closed_forms", arguments)
    measurements = measure_all(grid(options.blocks), options.victims, options.seed, options.threads)
    kept = points(measurements, options.seed)
    report.write(options.out / "closed-forms.json", TITLE, command, points=kept)
    outside = [m for m in measurements if not m.agrees]
    furthest = worst(measurements)
    print(
        f"closed forms: {len(measurements) - len(outside)} of {len(measurements)} points "
        f"within {TOLERANCE:.0%}"
    )
    print(f"furthest: {furthest.difference:+.2%} at {furthest.point.policy.label}, {furthest.point}")
    figures = latency_bandwidth.latency_bandwidth(options.out, command)
    wrong = [figure for figure in figures if not figure.agrees]
    print(f"latency and bandwidth: {len(figures) - len(wrong)} of {len(figures)} figures agree")
    for figure in wrong:
        print(f"{figure.what}: {figure.measured}, by formula {figure.expected}")
    return 1 if outside or wrong else 0


if __name__ == "__main__":
    exit_with(main)
