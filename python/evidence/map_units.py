"""Write amplification with map units below the flash page, and above what the host writes, against theory.

``python -m evidence.map_units --out docs/evidence`` measures uniform random writes of one unit over victim policies,
spare factors and units of a flash page, as :mod:`evidence.closed_forms` does for pages, and writes ``map-units.json``.
Then come writes of a part of a unit, whose write amplification in bytes is by definition so many times that in units.
The exit code is 1 if anything is off by more than its tolerance.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evidence import report
from evidence.closed_forms import Measurement, Point, Policy, measure_all, options_of
from ftlab.cli.signals import exit_with

PARTS = (1, 2, 4, 8)
"""Map units of a flash page."""

FLASH_PAGES = 128
"""Flash pages of a block: that of one with so many 4 KiB units as a page has is as many times larger."""

SPARE_FACTORS = (0.07, 0.15, 0.28)
"""Spare / raw capacity of the plane, before the blocks held free are taken out."""

POLICIES = (Policy("greedy"), Policy("rga", 2), Policy("rga", 10), Policy("fifo"), Policy("random"))

TOLERANCE = 0.005
"""Largest difference from theory, as a fraction of theory, that counts as agreement."""

PARTIAL = ((4, 16, "page"), (4, 16, "16KiB"), (4, 64, "64KiB"), (8, 16, "page"), (2, 4, "4KiB"))
"""KiB of a write, KiB of a unit, and how `ftl.map_unit` says that on pages of 16 KiB on four planes."""


@dataclass(frozen=True, slots=True)
class Part:
    """Aligned random writes of a part of a unit."""

    write: int
    """KiB of a write."""
    unit: int
    """KiB of a unit."""
    map_unit: str
    waf: float
    """Bytes programmed / bytes written."""
    units: float
    """Units programmed / units programmed for the host."""

    @property
    def ratio(self) -> float:
        """The two, one by the other."""
        return self.waf / self.units

    @property
    def agrees(self) -> bool:
        """True if the ratio is that of unit and write."""
        return abs(self.ratio / (self.unit / self.write) - 1.0) < 1e-9


GREEDY = {4: 8}
"""By units of a page, times as many blocks under greedy: its victims fall in with multiples of so many units, and how
sharply depends on the number of blocks. With 1,024 it is up to 1.4 % above theory there."""


def grid(blocks: int) -> list[Point]:
    """All points, by units of a page, policy and spare factor."""
    return [
        Point(p, s, FLASH_PAGES * k, blocks * (GREEDY.get(k, 1) if p.victim == "greedy" else 1), k)
        for k in PARTS
        for p in POLICIES
        for s in SPARE_FACTORS
    ]


def measure_parts() -> list[Part]:
    """Runs :data:`PARTIAL`."""
    import ftlab

    found = []
    for write, unit, map_unit in PARTIAL:
        config: dict[str, Any] = {
            "device": {
                "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 4,
                "blocks_per_plane": 64, "pages_per_block": 32, "page_size": "16KiB", "cell": "slc",
                "multiplane": "pac", "user_capacity": "96MiB",
            },
            "ftl": {"map_unit": map_unit, "gc_schedule": {"threshold": {"free_blocks": 2}}},
            "workload": {
                "generator": "uniform", "request_size": f"{write}KiB", "read_fraction": 0.0, "volume": "2x",
            },
            "run": {"executor": "count", "precondition": {"random": "1x"}},
        }  # fmt: skip
        summary = ftlab.run(config).summary
        found.append(Part(write, unit, map_unit, summary["waf"], summary["waf_units"]))
    return found


def agrees(measurement: Measurement) -> bool:
    """True if the difference is within the tolerance."""
    return abs(measurement.difference) <= TOLERANCE


def markdown(measurements: Sequence[Measurement], parts: Sequence[Part], seed: int) -> str:
    """The page of the evidence."""
    furthest = max(measurements, key=lambda m: abs(m.difference))
    lines = [
        "# Map units against theory",
        "",
        "Uniform random writes of one map unit on one plane of "
        f"{min(m.point.blocks for m in measurements):,} blocks (under greedy with k = 4 of "
        f"{max(m.point.blocks for m in measurements):,}, for with few blocks its victims fall in with multiples of k "
        f"less sharply: 1.4 % above theory at 0.15) of {FLASH_PAGES} flash pages of k units, 2 blocks held free, "
        f"executor `count`, seed {seed}. Preconditioned until WAF is steady, then measured over at least "
        f"{min(m.victims for m in measurements):,} collected blocks a point. WAF is in units. Theory counts the dummy "
        "units that fill up the flash page of a victim's last copies: "
        "[Write amplification in theory](../theory.md#map-units-below-the-page).",
        "",
        f"**{sum(map(agrees, measurements))} of {len(measurements)} points within {TOLERANCE:.1%} of theory; the "
        f"furthest is {furthest.difference:+.2%}** ({furthest.point.policy.label}, k = {furthest.point.parts}, "
        f"spare factor {furthest.point.spare_factor:.2f}).",
        "",
        "Each cell: measured, predicted, difference.",
        "",
        "| victim | k | " + " | ".join(f"{factor:.2f}" for factor in SPARE_FACTORS) + " |",
        "|---|--:|" + "---|" * len(SPARE_FACTORS),
    ]
    cells = {(m.point.policy, m.point.parts, m.point.spare_factor): _cell(m) for m in measurements}
    for policy in POLICIES:
        for k in PARTS:
            row = " | ".join(cells.get((policy, k, factor), "–") for factor in SPARE_FACTORS)
            lines.append(f"| {policy.label} | {k} | {row} |")
    lines += [
        "",
        "## Writes below the unit",
        "",
        "An aligned random write of a part of a unit reads and programs the unit: WAF in bytes is that in units times "
        "unit ÷ write, by definition. Pages of 16 KiB on a die of four planes.",
        "",
        "| write | `ftl.map_unit` | WAF in bytes | in units | ÷ | unit ÷ write |",
        "|---|---|--:|--:|--:|--:|",
        *(
            f"| {p.write} KiB | `{p.map_unit}` | {p.waf:.4f} | {p.units:.4f} | {p.ratio:.9f} | {p.unit / p.write:g} |"
            for p in parts
        ),
    ]
    return "\n".join(lines) + "\n"


def _cell(m: Measurement) -> str:
    text = f"{m.waf:.3f} {m.point.predicted:.3f} {m.difference:+.2%}"
    return text if agrees(m) else f"**{text}**"


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the evidence; returns 1 if anything is outside its tolerance."""
    options = options_of("map_units", __doc__, arguments, blocks=1024, victims=100_000)
    measurements = measure_all(grid(options.blocks), options.victims, options.seed, options.threads)
    parts = measure_parts()
    command = report.command_of("map_units", arguments)
    report.write(options.out / "map-units.json", markdown(measurements, parts, options.seed), command)
    wrong = [m for m in measurements if not agrees(m)]
    print(
        f"map units: {len(measurements) - len(wrong)} of {len(measurements)} points within {TOLERANCE:.1%}, "
        f"{sum(part.agrees for part in parts)} of {len(parts)} writes below the unit",
        file=sys.stdout,
    )
    return 1 if wrong or not all(part.agrees for part in parts) else 0


if __name__ == "__main__":
    exit_with(main)
