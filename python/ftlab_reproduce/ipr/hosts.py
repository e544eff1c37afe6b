"""The workloads of the read-disturb paper: its Table II made to figures, and real traces.

The table gives a volume, the share of reads and what is read and written. What it leaves open is a field of `Volume`,
one value for all workloads of a kind; docs/papers/ipr.md says where it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ftlab_reproduce.synthesis import EPOCH_100NS, KIB, Integers, request_sizes, write_flags, write_msr
from ftlab_reproduce.workloads import Wanted

PAGE = 32 * KIB
BLOCK = 192 * PAGE
LATTICE = 4 * KIB
"""Places and sizes are multiples of this: the clusters of the file systems of the time."""

GAP_100NS = 10_000
"""Between two requests. The executor without time only sorts by it."""

WRITTEN_CHUNK = 1 << 20
"""Places that are written lie together in pieces of this size."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A row of Table II, and what the table leaves open."""

    name: str
    gigabytes: float
    reads: float
    """Of the requests."""
    read_gb: float
    written_gb: float
    hot_part: float = 0.06
    """Of the volume: a few small regions that most reads go to. More than shadow blocks take (2.9 % of the user space),
    less than blocks of low density take (12.5 %): the middle of these, as factors."""
    hot_reads: float = 0.9
    """Share of the reads that go there; the others go anywhere."""
    regions: int = 8
    written_part: float = 0.1
    """Of the volume: where writes go, in pieces that lie anywhere."""
    read_kib: float = 64.0
    """Mean size. That of writes follows from the table."""
    whole_pages: bool = False
    """Whether each read is cut to the page in which it begins, so that it counts once."""
    user_blocks: int | None = None
    """Blocks of flash that hold the volume; `None`: as many as it has."""

    @property
    def part(self) -> float:
        """The part of the volume, and of its traffic, that is made."""
        return 1.0 if self.user_blocks is None else self.user_blocks * BLOCK / (self.gigabytes * 1e9)

    @property
    def write_kib(self) -> float:
        """Mean size of writes: the table gives the share of reads by requests and by bytes."""
        writes = 1 - self.reads
        return self.read_kib * (self.written_gb / self.read_gb) * (self.reads / writes) if writes else 0.0

    def facts(self) -> dict[str, Any]:
        """All that determines the file but the seed."""
        return asdict(self)

    def make(self, ratio: float, seed: int, path: Path) -> None:
        """Writes the trace."""
        rng = np.random.Generator(np.random.PCG64(seed))
        count = round(self.read_gb * 1e9 * self.part / (self.read_kib * KIB * self.reads))
        writes = write_flags(rng, count, 1 - self.reads)
        sizes = np.empty(count, np.int64)
        for kind, kib in ((True, self.write_kib), (False, self.read_kib)):
            mine = writes == kind
            sizes[mine] = request_sizes(rng, int(mine.sum()), kib * KIB, LATTICE, 0.8)
        offsets = np.empty(count, np.int64)
        offsets[writes] = self._written(rng, sizes[writes])
        offsets[~writes] = self._read(rng, sizes[~writes])
        if self.whole_pages:
            offsets[~writes] -= offsets[~writes] % PAGE
            sizes[~writes] = PAGE
        times = EPOCH_100NS + GAP_100NS * np.arange(count, dtype=np.int64)
        write_msr(path, times, writes, offsets, sizes)

    @property
    def space(self) -> int:
        """Bytes of the volume, as it is made."""
        return round(self.gigabytes * 1e9 * self.part / BLOCK) * BLOCK

    def _read(self, rng: np.random.Generator, sizes: Integers) -> Integers:
        """Somewhere in one of the hot regions, or anywhere."""
        length = max(LATTICE, round(self.space * self.hot_part / self.regions / LATTICE) * LATTICE)
        starts = rng.choice(self.space // length, self.regions, replace=False) * length
        inside = lattice(rng, np.maximum(length - sizes, LATTICE))
        hot = starts[rng.integers(0, self.regions, sizes.size)] + inside
        anywhere = lattice(rng, self.space - sizes)
        chosen = np.where(rng.random(sizes.size) < self.hot_reads, hot, anywhere)
        return np.asarray(np.minimum(chosen, self.space - sizes), np.int64)

    def _written(self, rng: np.random.Generator, sizes: Integers) -> Integers:
        chunks = self.space // WRITTEN_CHUNK
        mine = rng.choice(chunks, max(1, round(chunks * self.written_part)), replace=False)
        inside = lattice(rng, np.full(sizes.size, WRITTEN_CHUNK))
        places = mine[rng.integers(0, mine.size, sizes.size)] * WRITTEN_CHUNK + inside
        return np.asarray(np.minimum(places, self.space - sizes), np.int64)


def lattice(rng: np.random.Generator, room: Integers) -> Integers:
    """A place below each size, on the lattice."""
    return np.asarray(np.floor(rng.random(room.size) * (room // LATTICE)), np.int64) * LATTICE


REGIONS = {f"hot {100 * part:g} %": part for part in (0.02, 0.03, 0.09, 0.15)}
"""The part of the volume that most reads go to, as an axis."""

SPREAD: dict[str, Any] = {"hot_part": 0.2, "hot_reads": 0.6}
"""Of the three workloads that the paper does not call concentrated."""

VOLUMES = (
    Volume("STG", 107, 0.81, 123, 28, **SPREAD),
    Volume("USR", 569, 0.82, 710, 93, **SPREAD),
    Volume("HM", 27, 0.94, 25, 1.4, **SPREAD),
    Volume("MDS", 509, 0.96, 140, 5.5),
    # "Highly concentrated on a very small set of low-density blocks."
    Volume("ADS", 101, 0.96, 88, 2.2, hot_part=0.005),
    Volume("PROJ", 236, 0.98, 354, 4.2),
    Volume("SRC", 182, 0.98, 56, 0.6),
    Volume("WEB", 182, 0.99, 454, 2.2),
    # "The amount of read-hot data was much larger than the IPR pool size", which is a fifth of the blocks.
    Volume("Websearch", 17, 1.0, 41, 0.0, hot_part=0.4, read_kib=15.1),
)
"""Table II."""

NAMES = tuple(volume.name for volume in VOLUMES)
MIXED = NAMES[:3]
"""Where collections for the host prevail in the paper."""
DOMINATED = NAMES[3:]
"""Where those for refreshes do."""

ONE_PAGE, EVEN, HALF = "a page a read", "even reads", "half concentrated"
VARIANTS: dict[str, dict[str, Any]] = {
    ONE_PAGE: {"whole_pages": True},
    **{name: {"hot_part": part} for name, part in REGIONS.items()},
    EVEN: {"hot_reads": 0.0},
    HALF: {"hot_reads": 0.5},
}
VARIED = ("MDS", "SRC")
REGIONAL = "SRC"
"""Of which the size of the hot regions is varied."""

BOUND = ("HM",)
"""Where reads use up the quota of low-density blocks. Added when the first runs had shown that regions of 2 % of a
volume do not use up 5 % of the blocks.
"""

ORIGINALS = {
    "Websearch": r"websearch[123]?(\.spc)?",
}
"""Where the name of a file is not the workload's, with a number or without."""

EXCERPTS = {
    # It reads a fiftieth of what Table II has read, from less than the IPR pool holds: it is not the paper's Websearch.
    "websearch1": (r"umass-websearch1-50k-flashsim(\.trace)?", 1 / 4),
    "hadoop": (r"hadoop-eternity9-sdb(\.blkparse)?", 1 / 16),
    "dtrs": (r"snia-msps-dtrs-300s(\.trace)?", 1 / 4),
    "oltp": (r"oltp(\.csv)?", 1.0),
}
"""Real traces beside the paper's, and the part of each at the quick scale."""

EXCERPT_NAMES = tuple(EXCERPTS)


def variant(name: str, kind: str) -> str:
    """The name of a workload that is made otherwise."""
    return f"{name}, {kind}"


def wanted(user_blocks: int | None) -> Sequence[Wanted]:
    """All workloads, on a device whose data take so many blocks; `None`: at full size."""
    found = []
    for row in VOLUMES:
        volume = replace(row, user_blocks=user_blocks)
        found.append(_of(volume, volume.name))
        if row.name in VARIED:
            found += [
                _of(replace(volume, **changed), variant(row.name, kind), is_paper=False)
                for kind, changed in VARIANTS.items()
                if kind not in REGIONS or row.name == REGIONAL
            ]
    found += [
        Wanted(name, files, {}, is_paper=False, ratio=part if user_blocks else 1.0)
        for name, (files, part) in EXCERPTS.items()
    ]
    return found


def _of(volume: Volume, name: str, is_paper: bool = True) -> Wanted:
    table = {"read_kib": PAGE / KIB if volume.whole_pages else volume.read_kib}
    if volume.reads < 1:
        table |= {"write_fraction": 1 - volume.reads, "write_kib": volume.write_kib}
    amounts = {"read_mib": volume.read_gb * 1e9 / 2**20}
    if volume.written_gb:
        amounts["written_mib"] = volume.written_gb * 1e9 / 2**20
    files = ORIGINALS.get(name, rf"(msr[-_])?{name.lower()}(_\d)?(\.csv)?") if is_paper else ""
    part = volume.part if volume.part < 1 else None
    return Wanted(name, files, table, volume, is_paper, ratio=part, amounts=amounts if is_paper else {})


def pages(info: Mapping[str, Any]) -> tuple[float, float]:
    """About how many pages a round reads and writes: a request that begins anywhere reaches into one more."""
    requests = info["requests"]
    writes = requests * (info["write_fraction_requests"] or 0.0)
    over = 1 - LATTICE / PAGE
    return info["bytes_read"] / PAGE + over * (requests - writes), info[
        "bytes_written"
    ] / PAGE + over * writes
