"""The six server traces of the GCMix paper, made to its Table 3 and Figure 6.

A trace is single pages, as the table counts. Pages are asked for by Zipf's law; how many there are to choose from
follows from the table: as many as make the expected number of different ones that are touched the accessed area.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.reproduce.synthesis import EPOCH_100NS, Integers, write_msr_parts
from ftlab.reproduce.workloads import Wanted

PAGE = 8192
PAGES_PER_MIB = 2**20 // PAGE

RATE = 100.0
"""Pages that the host writes per second (docs/papers/gcmix.md, *The rate*)."""

PART = 1 << 21
"""Requests made at a time."""


@dataclass(frozen=True, slots=True)
class Server:
    """A row of Table 3, in MiB, and the skew."""

    name: str
    read_mib: float
    written_mib: float
    read_area_mib: float
    written_area_mib: float
    zipf: float
    """Exponent of the popularity of pages."""
    from_figure: bool
    """Whether the exponent follows from what the text says of Figure 6; if not, it is an estimate."""
    longest_mib: float = math.inf
    """Of a trace that writes more, only so much is made."""

    def facts(self) -> dict[str, Any]:
        """All that determines the file but scale and seed."""
        facts = {**asdict(self), "rate": RATE, "length": min(self.written_mib, self.longest_mib)}
        facts.pop("longest_mib")
        return facts

    def make(self, ratio: float, seed: int, path: Path) -> None:
        """Writes the trace, `ratio` of its areas and length."""
        write_msr_parts(path, self._parts(ratio, np.random.Generator(np.random.PCG64(seed))))

    def populations(self, ratio: float) -> tuple[int, int]:
        """Pages that writes and reads choose from, if area and accesses are so much smaller."""
        amounts = ((self.written_area_mib, self.written_mib), (self.read_area_mib, self.read_mib))
        written, read = (
            max(1, round(population(ratio * area, ratio * accessed, self.zipf))) for area, accessed in amounts
        )
        return written, read

    def _parts(
        self, ratio: float, rng: np.random.Generator
    ) -> Iterator[tuple[Integers, NDArray[np.bool_], Integers, Integers]]:
        writes = round(min(self.written_mib, self.longest_mib) * PAGES_PER_MIB * ratio)
        share = self.written_mib / (self.written_mib + self.read_mib)
        count = round(writes / share)
        counts = self.populations(ratio)
        # Popular pages lie anywhere, and what is written often is read often.
        order = rng.permutation(max(counts)).astype(np.int32)
        chances = [_cumulative(pages, self.zipf) for pages in counts]
        gap = share / RATE * 1e7
        for first in range(0, count, PART):
            size = min(PART, count - first)
            flags = rng.random(size) < share
            pages = np.empty(size, np.int64)
            for kind, cumulative in zip((True, False), chances, strict=True):
                mine = flags == kind
                drawn = np.searchsorted(cumulative, rng.random(int(mine.sum())), side="right")
                pages[mine] = order[np.minimum(drawn, cumulative.size - 1)]
            times = EPOCH_100NS + np.rint((first + np.arange(size)) * gap).astype(np.int64)
            yield times, flags, pages * PAGE, np.full(size, PAGE, np.int64)


def _cumulative(pages: int, zipf: float) -> NDArray[np.float64]:
    cumulative = np.cumsum(np.arange(1, pages + 1, dtype=np.float64) ** -zipf)
    return np.asarray(cumulative / cumulative[-1])


def population(area_mib: float, accessed_mib: float, zipf: float) -> float:
    """How many pages to choose from, so that so many accesses touch the area."""
    area, accesses = area_mib * PAGES_PER_MIB, accessed_mib * PAGES_PER_MIB
    low, high = area, 100 * area
    for _ in range(50):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if touched(middle, accesses, zipf) < area else (low, middle)
    return low


def touched(pages: float, accesses: float, zipf: float) -> float:
    """The expected number of different pages that independent accesses go to."""
    edges = np.unique(np.rint(np.geomspace(1, pages + 1, 20_000)))
    widths = np.diff(edges)
    chances = (edges[:-1] + (widths - 1) / 2) ** -zipf
    chances /= float((chances * widths).sum())
    return float((widths * -np.expm1(-accesses * chances)).sum())


SERVERS = (
    Server("BEFS", 218_382, 126_922, 48_930, 33_042, 0.67, True),
    Server("BUILDSERVER", 178_366, 193_250, 75_794, 129_031, 0.0, True),
    Server("EXCHANGE", 511_936, 725_898, 152_337, 66_810, 0.9, True),
    Server("TPCC2007", 1_428_669, 785_372, 93_987, 127_844, 0.3, False),
    Server("TPCC2008", 1_668_556, 1_195_560, 72_771, 180_509, 0.3, False),
    Server("TPCE", 1_591_175, 237_157, 156_459, 87_983, 0.3, False),
)
"""Table 3. Of EXCHANGE 10 % of the pages get 69.6 % of the writes and 18.1 % get 80 %; of BEFS 46.2 % get 80 %; of
BUILDSERVER 40 % get 60 %, which at 1.49 writes a page is what no skew at all gives.
"""

FILES = {
    "BEFS": r".*befs.*",
    "BUILDSERVER": r".*(build[-_]?server|24hour_rtm_build|24\.hour\.buildserver).*",
    "EXCHANGE": r".*exchange.*",
    "TPCC2007": r".*tpcc.*2007.*",
    "TPCC2008": r".*tpcc.*2008.*",
    "TPCE": r".*tpc[-_]?e.*",
}
"""Names of the originals' files."""


def wanted(server: Server, longest_mib: float = math.inf) -> Wanted:
    """The server's workload, cut off where it has written so much."""
    share = server.written_mib / (server.written_mib + server.read_mib)
    table = {"write_fraction": share, "read_kib": PAGE / 1024, "write_kib": PAGE / 1024}
    amounts = {"read_mib": server.read_mib, "written_mib": server.written_mib}
    made = replace(server, longest_mib=longest_mib)
    return Wanted(server.name, FILES[server.name], table, made, amounts=amounts)


CAPTURED = tuple(
    Wanted(name, rf"{name}(-220k)?(\.csv)?", {}, is_paper=False, whole=True)
    for name in ("oltp", "ntrx", "varmail", "fileserver")
)
"""Traces captured of real applications on ext4: rows of their own, in no claim. They are short, so every scale replays
them whole, in rounds. The beginning of `varmail` comes with ftlab.
"""
