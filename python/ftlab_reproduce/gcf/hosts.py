"""The GC-forwarding paper's Desktop and Multimedia, made to its Table 2.

The table gives a volume, a file system, the mean size of a write and the amount written. What such a machine does to
its disk is modelled after its file system: an NTFS volume of Windows XP and a FAT memory card of Windows CE. Everything
the table leaves open is a field here; docs/papers/gcf.md says where it comes from. Only writes are made: the paper's
experiments ignore reads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab_reproduce.synthesis import EPOCH_100NS, KIB, Integers, write_msr
from ftlab_reproduce.workloads import Wanted

CLUSTER = 4 * KIB
"""NTFS clusters of Windows XP; also the grain of the made metadata writes."""

SECTOR_63 = 63 * 512
"""Where a PC of the time begins the first partition: each cluster of 4 KiB lies on two flash pages of 4 KiB."""

LARGEST = 64 * KIB
"""Windows drivers of the time split at this."""

GAP_100NS = 10_000
"""Between two requests; a batch replay does not look at times."""


@dataclass(frozen=True, slots=True)
class Activity:
    """A kind of file operations on the desktop."""

    name: str
    share: float
    """Of the operations."""
    median_kib: float
    spread: float
    """Of sizes, which are lognormal: the standard deviation of the logarithm."""
    begin_gib: float
    """Where its files lie, at full scale."""
    space_gib: float
    skew: float
    """Chunks of 64 KiB are chosen by rank, `u ** skew` of them, `u` uniform: 1 is uniform; 0 is one file behind the
    other, around. Popular chunks lie anywhere."""
    metadata: float
    """Updates of the file's MFT record an operation: an operation that has them is a change of a file's size."""


DESKTOP_ACTIVITIES = (
    Activity("web cache", 0.50, 8, 1.1, 6.0, 0.5, 1.0, 1.0),
    Activity("documents and object files", 0.25, 24, 1.2, 7.0, 2.0, 2.0, 1.0),
    Activity("registry and logs", 0.12, 6, 0.5, 5.5, 0.0625, 2.0, 0.0),
    Activity("page file", 0.10, 48, 0.8, 10.0, 1.5, 1.0, 0.0),
    Activity("installs, downloads, games", 0.03, 1024, 1.5, 14.0, 16.0, 0.0, 1.0),
)
"""Web surfing, word processing, program developing and gaming (section 4.1). The median of the last is what is fitted
to the table's mean size."""

MFT_GIB, MFT_SPACE_GIB = 3.0, 0.078125
"""The master file table begins at 3 GiB; 80 MiB are 80,000 files."""

ASIDE = 37
"""Clusters that everything lies behind a round place."""

LOG_GIB, LOG_SPACE_GIB = 2.9, 0.0625
"""$LogFile, 64 MiB, written round and round."""

BITMAP_GIB, BITMAP_SPACE_GIB = 2.85, 1.25 / 1024
"""A bit for each of 10 million clusters."""


@dataclass(frozen=True, slots=True)
class Desktop:
    """Windows XP on NTFS, in daily use."""

    volume_gib: float = 40.0
    written_gib: float = 81.2
    write_kib: float = 23.0
    pace: float = 0.05
    """A request of an operation comes so many operations after the one before: large ones overlap with others."""
    logged: float = 1.0
    """Writes to $LogFile for each change of metadata."""
    bitmap: float = 0.3
    """Writes to the bitmap of clusters for each change of a file."""
    begin: int = SECTOR_63
    """Where the partition begins, in bytes."""
    crowding: float = 1.0
    """How large the places are that are written again and again, beside the estimate."""

    def facts(self) -> dict[str, Any]:
        """All that determines the file but scale and seed."""
        return {
            **asdict(self),
            "aside": ASIDE,
            "activities": [asdict(activity) for activity in DESKTOP_ACTIVITIES],
        }

    def space_of(self, activity: Activity) -> float:
        """GiB at full scale that the files of an activity lie in. One file behind the other is not written again."""
        return activity.space_gib * (self.crowding if activity.skew else 1.0)

    def make(self, ratio: float, seed: int, path: Path) -> None:
        """Writes the trace, `ratio` of the volume and of the amount written."""
        rng = np.random.Generator(np.random.PCG64(seed))
        offsets, sizes = self._requests(rng, ratio)
        write(path, offsets, sizes)

    def _requests(self, rng: np.random.Generator, ratio: float) -> tuple[Integers, Integers]:
        total = self.written_gib * ratio * 2**30
        # More operations than can be needed: even without the large ones an operation has 24 KiB.
        count = round(total / (24 * KIB)) + 1000
        shares = np.cumsum([activity.share for activity in DESKTOP_ACTIVITIES])
        kinds = np.searchsorted(shares / shares[-1], rng.random(count), side="right")
        draws, places = rng.standard_normal(count), rng.random(count)
        chances = rng.random(count)
        medians, spreads, metadata = (
            np.array([getattr(activity, key) for activity in DESKTOP_ACTIVITIES])[kinds]
            for key in ("median_kib", "spread", "metadata")
        )
        updates = metadata > 0
        extra = updates * (1 + self.logged) + (updates & (chances < self.bitmap))
        fitted = kinds == len(DESKTOP_ACTIVITIES) - 1

        def of(scale: float) -> tuple[Integers, int]:
            """Bytes of each operation's file, and how many operations write the amount."""
            kib = np.minimum(np.exp(draws * spreads) * medians * np.where(fitted, scale, 1.0), 64 * 1024)
            data = np.ceil(kib * KIB / CLUSTER).astype(np.int64) * CLUSTER
            written = np.cumsum(data + extra * CLUSTER)
            return data, int(np.searchsorted(written, total)) + 1

        low, high = 1 / 64, 64.0
        for _ in range(30):
            middle = math.sqrt(low * high)
            data, used = of(middle)
            requests = float((-(-data[:used] // LARGEST) + extra[:used]).sum())
            mean = float((data[:used] + extra[:used] * CLUSTER).sum()) / requests
            low, high = (middle, high) if mean < self.write_kib * KIB else (low, middle)
        data, used = of(low)
        return self._placed(
            rng, ratio, kinds[:used], data[:used], places[:used], chances[:used] < self.bitmap
        )

    def _placed(
        self, rng: np.random.Generator, ratio: float, kinds: Integers, data: Integers, places: NDArray[np.float64],
        maps: NDArray[np.bool_],
    ) -> tuple[Integers, Integers]:  # fmt: skip
        starts = np.empty(kinds.size, np.int64)
        records = np.full(kinds.size, -1, np.int64)
        mft = clusters(MFT_SPACE_GIB, ratio)
        for kind, activity in enumerate(DESKTOP_ACTIVITIES):
            mine = kinds == kind
            space, needed = clusters(self.space_of(activity), ratio), data[mine] // CLUSTER
            if activity.skew:
                first = np.floor(places[mine] ** activity.skew * np.maximum(1, space - needed)).astype(
                    np.int64
                )
            else:
                first = (np.cumsum(needed) - needed) % space
            starts[mine] = place(activity.begin_gib, ratio) + first
            if activity.metadata:
                # The record of a file stays: what lies in one place has one. Each kind has its part of the table.
                part = mft // len(DESKTOP_ACTIVITIES)
                records[mine] = kind * part + (first * 7919) % part
        pieces = -(-data // LARGEST)
        operation = np.repeat(np.arange(kinds.size), pieces)
        piece = np.arange(operation.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        offsets = starts[operation] * CLUSTER + piece * LARGEST
        sizes = np.minimum(LARGEST, data[operation] - piece * LARGEST)
        times = operation + piece * self.pace
        changed = np.flatnonzero(records >= 0)
        # Write-ahead: the log comes first, the record and the bitmap when the file is written.
        log = np.repeat(changed, round(self.logged))
        done = changed + pieces[changed] * self.pace
        mapped = changed[maps[changed]]
        around = (place(LOG_GIB, ratio) + np.arange(log.size) % clusters(LOG_SPACE_GIB, ratio)) * CLUSTER
        groups = [
            (times, offsets, sizes),
            (log - 0.001, around, None),
            (done, (place(MFT_GIB, ratio) + records[changed]) * CLUSTER, None),
            (
                mapped + pieces[mapped] * self.pace + 0.001,
                (place(BITMAP_GIB, ratio) + starts[mapped] * clusters(BITMAP_SPACE_GIB, ratio)
                 // clusters(self.volume_gib, ratio)) * CLUSTER,
                None,
            ),
        ]  # fmt: skip
        when = np.concatenate([group[0] for group in groups])
        where = np.concatenate([group[1] for group in groups])
        many = np.concatenate(
            [np.full(group[0].size, CLUSTER) if group[2] is None else group[2] for group in groups]
        )
        order = np.argsort(when, kind="stable")
        end = clusters(self.volume_gib, ratio) * CLUSTER
        return self.begin + np.minimum(where, end - CLUSTER - many)[order], many[order]


def place(gib: float, ratio: float) -> int:
    """Where something lies that begins about there: not at a round place, as little on a disk does."""
    return clusters(gib, ratio) + ASIDE


def clusters(gib: float, ratio: float) -> int:
    """A size at full scale, in clusters at this one; at least one."""
    return max(1, round(gib * ratio * 2**30 / CLUSTER))


def scattered(places: NDArray[np.float64], skew: float, space: int) -> Integers:
    """Clusters of a space by the popularity of chunks; in its chunk a cluster is as likely as any."""
    chunk = LARGEST // CLUSTER
    chunks = max(1, space // chunk)
    ranks = np.floor(places**skew * chunks).astype(np.int64)
    # A multiplication by a prime puts ranks side by side far apart.
    inside = np.floor(places * 7919 * chunks).astype(np.int64) % chunk
    return np.asarray(ranks * 7919 % chunks * chunk + inside, np.int64)


def write(path: Path, offsets: Integers, sizes: Integers) -> None:
    """Writes a trace that only writes."""
    times = EPOCH_100NS + GAP_100NS * np.arange(sizes.size, dtype=np.int64)
    write_msr(
        path, times, np.ones(sizes.size, np.bool_), np.asarray(offsets, np.int64), np.asarray(sizes, np.int64)
    )


@dataclass(frozen=True, slots=True)
class Card:
    """Windows CE copying songs and videos to a FAT card and deleting them."""

    volume_gib: float = 20.0
    written_gib: float = 19.8
    write_kib: float = 60.0
    cluster_kib: int = 32
    """What the SD association's formatter takes for SDHC. It would also begin the partition at a multiple of 4 MiB."""
    song_mib: float = 5.0
    video_mib: float = 100.0
    videos: float = 0.1
    """Of the files."""
    spread: float = 0.6
    """Standard deviation of the logarithm of a file's size."""
    full: float = 0.85
    """Of the card, when the trace begins and from then on."""
    turnovers: float = 2.0
    """Volumes written before the trace begins, so that free space is scattered as on a card in use."""
    begin: int = SECTOR_63
    """Where the partition begins, in bytes."""

    def facts(self) -> dict[str, Any]:
        """All that determines the file but scale and seed."""
        return asdict(self)

    def make(self, ratio: float, seed: int, path: Path) -> None:
        """Writes the trace, `ratio` of the volume and of the amount written."""
        rng = np.random.Generator(np.random.PCG64(seed))
        writing = list(self._copies(rng, ratio))
        write(path, *self._requests(writing, ratio))

    def _copies(self, rng: np.random.Generator, ratio: float) -> Iterator[tuple[Integers, int, int]]:
        """Copied files: their clusters in order, their bytes, and how many files were deleted before to make room."""
        cluster = self.cluster_kib * KIB
        total = round(self.volume_gib * ratio * 2**30 / cluster)
        used = np.zeros(total, np.bool_)
        files: list[Integers] = []
        hint, taken = 0, 0
        before, after = self.turnovers * self.volume_gib * ratio * 2**30, self.written_gib * ratio * 2**30
        written = 0.0
        while written < before + after:
            median = (self.video_mib if rng.random() < self.videos else self.song_mib) * 2**20
            # A file takes at most a tenth of the card, which matters on small ones only.
            size = min(round(median * math.exp(self.spread * rng.standard_normal())), total * cluster // 10)
            size = max(size // 512, 1) * 512
            needed = -(-size // cluster)
            deleted = 0
            while files and taken + needed > self.full * total:
                gone = files.pop(int(rng.integers(len(files))))
                used[gone] = False
                taken -= gone.size
                deleted += 1
            # FAT looks for free clusters behind the one it found last.
            free = np.flatnonzero(~used)
            at = int(np.searchsorted(free, hint))
            mine = np.concatenate([free[at : at + needed], free[: max(0, at + needed - free.size)]])
            used[mine] = True
            taken += mine.size
            hint = int(mine[-1]) + 1
            files.append(mine)
            if written >= before:
                yield mine, size, deleted
            written += size

    def _requests(self, copies: list[tuple[Integers, int, int]], ratio: float) -> tuple[Integers, Integers]:
        """Data in requests of up to 64 KiB, and both FATs and the directory when the cache of the file system is
        flushed: at the end of a file, when one is deleted, and every so many requests, which fits the mean size.
        """
        pieces = [list(self._pieces(mine, size)) for mine, size, _ in copies]
        counts = np.array([len(piece) for piece in pieces])
        data = sum(size for _, size, _ in copies)
        deletes = sum(deleted for *_, deleted in copies)

        def mean(every: int) -> float:
            flushes = int((1 + (counts - 1) // every).sum()) + deletes
            return (data + 3 * CLUSTER * flushes) / (int(counts.sum()) + 3 * flushes)

        every = min(range(1, 400), key=lambda n: abs(mean(n) - self.write_kib * KIB))
        fats = [CLUSTER, CLUSTER + -(-int(self.volume_gib * ratio * 2**30) // (self.cluster_kib * KIB)
                                                     * 4 // CLUSTER + 1) * CLUSTER]  # fmt: skip
        start = -(-(2 * fats[1] - fats[0]) // LARGEST) * LARGEST
        offsets: list[int] = []
        sizes: list[int] = []

        def flush(cluster: int, directory: int) -> None:
            # A FAT has four bytes a cluster; the directory is one of 16 at the front of the data.
            for place in (
                *(fat + cluster * 4 // CLUSTER * CLUSTER for fat in fats),
                start + directory % 16 * CLUSTER,
            ):
                offsets.append(place)
                sizes.append(CLUSTER)

        end = round(self.volume_gib * ratio * 2**30) - LARGEST
        for i, ((mine, _, deleted), mine_pieces) in enumerate(zip(copies, pieces, strict=True)):
            for k in range(deleted):
                flush(int(mine[0]) + 1024 * k, i)
            for j, (place, size) in enumerate(mine_pieces):
                if j and j % every == 0:
                    flush(place // (self.cluster_kib * KIB), i)
                offsets.append(min(start + LARGEST + place, end - size))
                sizes.append(size)
            flush(int(mine[-1]), i)
        return self.begin + np.array(offsets, np.int64), np.array(sizes, np.int64)

    def _pieces(self, mine: Integers, size: int) -> Iterator[tuple[int, int]]:
        """The requests of a file: runs of clusters, of up to 64 KiB each."""
        cluster = self.cluster_kib * KIB
        cuts = np.flatnonzero(np.diff(mine) != 1) + 1
        left = size
        for run in np.split(mine, cuts):
            bytes_left = min(left, run.size * cluster)
            left -= bytes_left
            for at in range(0, bytes_left, LARGEST):
                yield int(run[0]) * cluster + at, min(LARGEST, bytes_left - at)


DESKTOP = Wanted(
    "Desktop", r".*(desktop|win(dows)?[-_]?xp|pc[-_]?ntfs).*", {"write_fraction": 1.0, "write_kib": 23.0}, Desktop(),
    amounts={"written_mib": 81.2 * 1024}, writes_only=True,
)  # fmt: skip
MULTIMEDIA = Wanted(
    "Multimedia", r".*(multimedia|win(dows)?[-_]?ce|sdhc).*", {"write_fraction": 1.0, "write_kib": 60.0}, Card(),
    amounts={"written_mib": 19.8 * 1024}, writes_only=True,
)  # fmt: skip

CAPTURED = (
    Wanted(
        "cloudphysics", r"cloudphysics-2h-vscsi(\.csv)?", {}, is_paper=False, whole=True, writes_only=True
    ),
    Wanted("nexus5", r"nexus5-installing(\.txt)?", {}, is_paper=False, whole=True, writes_only=True),
)
"""Real writes that come nearest: a virtual machine's (35 KiB a write) beside Desktop, and a phone's that
installs applications (93 KiB) beside Multimedia. Rows of their own, in no claim.
"""


@dataclass(frozen=True, slots=True)
class OneChannel:
    """Single pages, nearly all of which a static binding sends to the first of eight channels."""

    volume_gib: float = 16.0
    written_gib: float = 4.0
    share: float = 0.9
    """Of the writes that go to the first channel; the others go anywhere."""
    channels: int = 8

    def facts(self) -> dict[str, Any]:
        """All that determines the file but scale and seed."""
        return asdict(self)

    def make(self, ratio: float, seed: int, path: Path) -> None:
        """Writes the trace, `ratio` of the volume and of the amount written."""
        rng = np.random.Generator(np.random.PCG64(seed))
        pages, count = (round(gib * ratio * 2**30 / CLUSTER) for gib in (self.volume_gib, self.written_gib))
        anywhere = rng.integers(0, pages, count)
        first = rng.integers(0, pages // self.channels, count) * self.channels
        offsets = np.where(rng.random(count) < self.share, first, anywhere) * CLUSTER
        write(path, offsets, np.full(count, CLUSTER, np.int64))


CROWDED = Wanted(
    "Desktop, crowded", "", {"write_fraction": 1.0, "write_kib": 23.0}, Desktop(crowding=0.25),
    amounts={"written_mib": 81.2 * 1024}, writes_only=True,
)  # fmt: skip
"""A fit to Table 3, for Table 3 alone: its Windows rows leave less time for GC than the model of Desktop takes."""


@dataclass(frozen=True, slots=True)
class SixWrites:
    """Six writes of twelve pages in all, each to a superpage of four channels that no other one is to (Figure 2)."""

    pages: tuple[int, ...] = (1, 3, 2, 2, 3, 1)
    channels: int = 4

    def facts(self) -> dict[str, Any]:
        """All that determines the file but scale and seed."""
        return asdict(self)

    def make(self, ratio: float, seed: int, path: Path) -> None:
        """Writes the trace, which is the same at every scale and for every seed."""
        superpages = 7 * np.arange(len(self.pages), dtype=np.int64)
        write(path, superpages * self.channels * CLUSTER, np.array(self.pages, np.int64) * CLUSTER)


SIX_WRITES = Wanted("six writes", "", {"write_fraction": 1.0, "write_kib": 8.0}, SixWrites())
"""Section 2.2 gives six requests that modify twelve pages, and the pages that are written for them."""

ONE_CHANNEL = Wanted("one channel", "", {"write_fraction": 1.0, "write_kib": 4.0}, OneChannel())
"""The pathological pattern of section 3.5."""
