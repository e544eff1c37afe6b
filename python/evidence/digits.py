"""Three cheap runs of each paper with their digits: ``docs/evidence/runs/digits.json``.

They are of devices that are smaller than any scale, and take a second together. A test makes them again and fails where
a digit differs: then the engine, a preset or a study gives other figures than those that the papers' evidence has.
``python -m evidence.digits`` writes them anew, once that is meant.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evidence import runs
from ftlab_reproduce.command import PAPERS
from ftlab_reproduce.experiment import Grid
from ftlab_reproduce.gcf.axes import Point as Forwarding
from ftlab_reproduce.gcmix.axes import Point as Mixing
from ftlab_reproduce.ipr.axes import Point as Disturb
from ftlab_reproduce.rcftl.axes import Point as Copyback
from ftlab_reproduce.study import Settings, Study
from ftlab_reproduce.tbm.axes import FIGURE7
from ftlab_reproduce.tbm.axes import Point as Twins
from ftlab_reproduce.workloads import Library

FILE = runs.KEPT / "digits.json"

TWINS = {
    "device.channels": 2, "device.chips_per_channel": 1, "device.blocks_per_plane": 64,
    "device.pages_per_block": 16, "device.user_capacity": "52MiB", "device.over_provisioning": 64 / 52 - 1,
}  # fmt: skip

POINTS: Mapping[str, Sequence[Any]] = {
    "tbm": [
        Twins("prj-0", "D", tbm=False, worn=False), Twins("prj-0", "D", tbm=True, worn=False),
        Twins("exch", "F2", tbm=True, setting=FIGURE7),
    ],
    "gcmix": [Mixing("zipf 0.8", ftl) for ftl in ("P", "PM", "DML")],
    "gcf": [Forwarding("Random", scheme) for scheme in ("FI", "GCF", "CF")],
    "rcftl": [Copyback("OLTP", system, 2500 * (system != "base")) for system in ("base", "FastGC", "rcFTL")],
    "ipr": [Disturb("SRC", system) for system in ("Baseline", "HotLD", "IPR")],
}  # fmt: skip
"""The runs, by paper: on made traces and generators alone, which are the same everywhere."""

SMALLER: Mapping[str, Mapping[str, Any]] = {
    "tbm": {"ratio": 1 / 4800, "sets": TWINS},
    "gcmix": {"ratio": 1 / 256},
    "gcf": {"ratio": 1 / 512},
    "rcftl": {},
    "ipr": {"user_blocks": 160, "reads": 12_000.0},
}
"""By study, fields of the quick scale that are smaller here."""

BESIDE: Mapping[str, Settings] = {
    "rcftl": {"device.blocks_per_plane": 160, "device.user_capacity": "56MiB", "workload.volume": "2x"},
    "ipr": {"device.wear.read_limit": [1000, 10_000]},
}
"""Settings besides."""


def study(paper: str) -> Study:
    """A paper on its smallest device."""
    of = PAPERS[paper]

    def sets(point: Any, workload: Any, scale: Any) -> Settings:
        return {**of.sets(point, workload, scale), **BESIDE.get(paper, {})}

    return replace(of, scales={"quick": replace(of.scales["quick"], **SMALLER[paper])}, sets=sets)


def digits(paper: str, place: Path) -> dict[str, Any]:
    """The figures of the three runs of a paper, by their labels; `place` takes traces and results."""
    of = study(paper)
    scale = of.scales["quick"]
    library = Library(place, scale.ratio, None, [])
    wanted = {each.name: each for each in of.traces(scale)}
    found = {}
    for point in POINTS[paper]:
        trace = library.get(wanted[point.workload]) if point.workload in wanted else None
        run = of.run(point, trace, scale)
        result = Grid(place / "runs").run([run], jobs=1)[run.label]
        found[point.label] = runs.figures_of(of, point, result)
    return found


def made(place: Path, tell: Callable[[str], object] = lambda _: None) -> dict[str, Any]:
    """The figures of all papers."""
    found = {}
    for paper in POINTS:
        tell(paper)
        found[paper] = digits(paper, place / paper)
    return found


def main() -> None:
    """Writes the digits anew."""
    with tempfile.TemporaryDirectory() as place:
        found = made(Path(place), print)
    lines = [
        f' "{paper}": {{\n'
        + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in of.items())
        + "\n }"
        for paper, of in found.items()
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
