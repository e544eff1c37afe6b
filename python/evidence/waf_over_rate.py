"""Write amplification over the rate of writes, at light load and at full.

``python -m evidence.waf_over_rate docs/images/waf-over-rate.png`` writes 4 KiB at random to a part of each drive preset
with map units, from one write a second to a hundred thousand, and with one request outstanding. It draws the picture of
``docs/time.md``, and writes its data beside it.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlab.api.simulation import run
from ftlab.results import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRIVES = {
    "client-tlc-small": "client, TLC",
    "qlc-small": "enterprise, QLC",
    "enterprise-tlc-small": "enterprise, TLC",
}
"""Presets, and what the picture calls them."""

BLOCKS, PAGES, USER = 228, 24, 0.84
"""Blocks of a plane of the part, pages of 16 KiB of a block, and about the share of them that is the user's."""

BUFFERS = ("64MiB", "1MiB")
"""Write buffers: that of the whole drive, and one of about the same share of the user capacity."""

RATES = (1, 10, 100, 1_000, 10_000, 30_000, 100_000)
"""Writes a second."""


def part(preset: str, buffer: str) -> dict[str, Any]:
    """Four dies of a drive with short blocks, and a write buffer of that size."""
    planes = 4 * (2 if preset.startswith("enterprise") else 4)
    raw = planes * BLOCKS * PAGES * 16 / 1024
    user = f"{int(raw * USER)}MiB"
    return {
        "device.channels": 2,
        "device.chips_per_channel": 2,
        "device.blocks_per_plane": BLOCKS,
        "device.pages_per_block": PAGES,
        "device.user_capacity": user,
        "device.over_provisioning": raw / int(raw * USER) - 1,
        "workload.footprint": user,
        "ftl.write_buffer.fifo.size": buffer,
        "ftl.write_buffer.fifo.flush": "free",
        "ftl.write_buffer.fifo.power_loss": "volatile" if preset.startswith("client") else "protected",
        "workload.volume": "1x",
    }


def measure() -> dict[str, Any]:
    """By drive and buffer: the WAF at each rate, and with 1 and 32 requests outstanding, of which 70 % are reads."""
    found: dict[str, Any] = {preset: {} for preset in DRIVES}
    for preset, buffer in itertools.product(DRIVES, BUFFERS):
        device = part(preset, buffer)
        open_loop = {**device, "host.replay": "open"}
        rates = {rate: {**open_loop, "workload.interval": f"{10**9 // rate}ns"} for rate in RATES}
        depths = {
            depth: {**device, "host.queue_depth": depth, "workload.read_fraction": 0.7} for depth in (1, 32)
        }
        found[preset][buffer] = {
            "writes_per_second": {
                rate: run(preset, sets=sets).summary["waf"] for rate, sets in rates.items()
            },
            "queue_depth": {depth: run(preset, sets=sets).summary["waf"] for depth, sets in depths.items()},
        }
    return found


def figure(found: dict[str, Any]) -> Figure:
    """WAF over the rate; at the right the two closed loops."""
    import matplotlib.pyplot as plt

    drawn, panel = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    right = (5e5, 1.5e6)
    drawings = zip(drawing.COLOURS, DRIVES.items(), strict=False)
    for (colour, (preset, name)), (buffer, style) in itertools.product(
        drawings, zip(BUFFERS, ("--o", "-o"), strict=True)
    ):
        of, label = found[preset][buffer], f"{name}, buffer of {buffer.replace('M', ' M')}"
        panel.plot(
            [*of["writes_per_second"]], [*of["writes_per_second"].values()], style, color=colour, label=label
        )
        panel.plot(
            right,
            [*of["queue_depth"].values()],
            style.replace("o", "s"),
            color=colour,
            markerfacecolor="white",
        )
    panel.set(
        xscale="log",
        ylim=(0, 5),
        xlabel="writes of 4 KiB a second; 70 % reads at depth 1, 32",
        ylabel="WAF",
    )
    panel.set_xticks(
        [*(float(10**power) for power in range(6)), *right],
        [*(f"{10**power:,}" for power in range(6)), "1", "32"],
    )
    panel.minorticks_off()
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, loc="lower left")
    return drawn


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.waf_over_rate", description=__doc__.split("\n")[0]
    )
    parser.add_argument("picture", type=Path, metavar="OUT.png")
    options = parser.parse_args()
    found = measure()
    figure(found).savefig(options.picture, dpi=110, metadata={"Software": None})
    options.picture.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
