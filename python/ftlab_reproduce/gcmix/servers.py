"""The six server traces of the GCMix paper, made to its Table 3 and Figure 6.

A trace is single pages, as the table counts. Pages are asked for by Zipf's law; how many there are to choose from
follows from the table: as many as make the expected number of different ones that are touched the accessed area.
Other models of the same servers, which ask for runs of pages or go through all of them for a while, are in `MODELS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab_reproduce.synthesis import EPOCH_100NS, Integers, write_msr_parts
from ftlab_reproduce.workloads import Wanted

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
    run: int = 1
    """Pages that lie and are asked for together, and are equally popular; a request is one run."""
    sweep: float = 0.0
    """The part of the writes, in the middle of the trace, that goes through all runs in order of their addresses."""
    reads_zipf: float | None = None
    """Exponent of the popularity of what is read, where it is not that of what is written."""
    within_mib: float | None = None
    """Addresses are taken modulo this."""
    quiet: float | None = None
    """Of what is asked for in two seconds, the part that is asked for in the second one."""

    def facts(self) -> dict[str, Any]:
        """All that determines the file but scale and seed. What a server does not have is not named."""
        facts = {**asdict(self), "rate": RATE, "length": min(self.written_mib, self.longest_mib)}
        facts.pop("longest_mib")
        absent = {"run": 1, "sweep": 0.0, "reads_zipf": None, "within_mib": None, "quiet": None}
        return {key: value for key, value in facts.items() if key not in absent or value != absent[key]}

    def make(self, ratio: float, seed: int, path: Path) -> None:
        """Writes the trace, `ratio` of its areas and length."""
        write_msr_parts(path, self._parts(ratio, np.random.Generator(np.random.PCG64(seed))))

    def populations(self, ratio: float) -> tuple[int, int]:
        """Runs that writes and reads choose from, if area and accesses are so much smaller."""
        part = ratio / self.run
        if self.sweep * self.written_mib >= self.written_area_mib:
            # Going through all of them touches all of them.
            written = part * self.written_area_mib * PAGES_PER_MIB
        else:
            written = population(part * self.written_area_mib, part * self.written_mib, self.zipf)
        read = population(part * self.read_area_mib, part * self.read_mib, self._zipfs[1])
        return max(1, round(written)), max(1, round(read))

    @property
    def _zipfs(self) -> tuple[float, float]:
        return self.zipf, self.zipf if self.reads_zipf is None else self.reads_zipf

    def _parts(
        self, ratio: float, rng: np.random.Generator
    ) -> Iterator[tuple[Integers, NDArray[np.bool_], Integers, Integers]]:
        writes = round(min(self.written_mib, self.longest_mib) * PAGES_PER_MIB * ratio / self.run)
        share = self.written_mib / (self.written_mib + self.read_mib)
        count = round(writes / share)
        counts = self.populations(ratio)
        # Popular runs lie anywhere, and what is written often is read often.
        order = rng.permutation(max(counts)).astype(np.int32)
        chances = [_cumulative(runs, zipf) for runs, zipf in zip(counts, self._zipfs, strict=True)]
        gap = share * self.run / RATE * 1e7
        size_of_run = self.run * PAGE
        space = None if self.within_mib is None else round(self.within_mib * ratio * 2**20 / size_of_run)
        begin, end = (round(count * (0.5 + side * self.sweep / 2)) for side in (-1, 1))
        by_address, swept = np.sort(order[: counts[0]]), 0
        for first in range(0, count, PART):
            size = min(PART, count - first)
            flags = rng.random(size) < share
            runs = np.empty(size, np.int64)
            for kind, cumulative in zip((True, False), chances, strict=True):
                mine = flags == kind
                drawn = np.searchsorted(cumulative, rng.random(int(mine.sum())), side="right")
                runs[mine] = order[np.minimum(drawn, cumulative.size - 1)]
            at = first + np.arange(size)
            in_order = flags & (at >= begin) & (at < end)
            number = int(in_order.sum())
            runs[in_order] = by_address[(swept + np.arange(number)) % counts[0]]
            swept += number
            if space is not None:
                runs %= space
            ticks = (
                at * gap if self.quiet is None else _in_turns(np.asarray(at * gap, np.float64), self.quiet)
            )
            times = EPOCH_100NS + np.rint(ticks).astype(np.int64)
            yield times, flags, runs * size_of_run, np.full(size, size_of_run, np.int64)


def _in_turns(ticks: NDArray[np.float64], quiet: float) -> NDArray[np.float64]:
    """Even times made uneven: of every two seconds (2e7 ticks) the second one gets the part `quiet`."""
    pair, part = np.divmod(ticks / 2e7, 1.0)
    busy = 1.0 - quiet
    within = np.where(part < busy, 0.5 * part / busy, 0.5 + 0.5 * (part - busy) / quiet)
    return np.asarray((pair + within) * 2e7)


def _cumulative(pages: int, zipf: float) -> NDArray[np.float64]:
    cumulative = np.cumsum(np.arange(1, pages + 1, dtype=np.float64) ** -zipf)
    return np.asarray(cumulative / cumulative[-1])


@cache
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

BY_NAME = {server.name: server for server in SERVERS}

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
    kib = server.run * PAGE / 1024
    table = {"write_fraction": share, "read_kib": kib, "write_kib": kib}
    amounts = {"read_mib": server.read_mib, "written_mib": server.written_mib}
    made = replace(server, longest_mib=longest_mib)
    return Wanted(server.name, FILES[server.name], table, made, amounts=amounts)


USER_MIB = 24 * 1024
"""The user capacity of the paper's device."""


def _unfolded(server: Server) -> Server:
    """As many pages to write to as the device has, and areas and amounts smaller by as much, where pages differ."""
    if server.zipf < 0.5:
        return server
    part = USER_MIB * PAGES_PER_MIB / server.populations(1.0)[0]
    names = ("read_mib", "written_mib", "read_area_mib", "written_area_mib")
    return replace(server, **{name: part * getattr(server, name) for name in names})


NEVER = "(?!)"
"""Matches no file: a model stands for itself, not for an original."""


@dataclass(frozen=True, slots=True)
class Model:
    """Another model of the same servers."""

    words: str
    servers: tuple[str, ...]
    """Those that it changes; the others stay as they were settled on. To make a server of it may take a while."""
    of: Callable[[Server], Server]
    """What it makes of a server."""


def _changed(words: str, **by_name: Mapping[str, Any]) -> Model:
    return Model(words, tuple(by_name), lambda server: replace(server, **by_name.get(server.name, {})))


def _for_three(words: str, **changes: Any) -> Model:
    """The same change of the servers that are not TPC's, which are the longest, and which BUILDSERVER is like."""
    return _changed(words, BEFS=changes, BUILDSERVER=changes, EXCHANGE=changes)


def _together(server: Server) -> Server:
    changes: Mapping[str, Mapping[str, Any]] = {
        "EXCHANGE": {"quiet": 2 / (2 * RATE)}, "BEFS": {"run": 40}, "BUILDSERVER": {"run": 32}
    }  # fmt: skip
    base = _unfolded(server) if server.name == "EXCHANGE" else server
    return replace(base, **changes.get(server.name, {}))


TOGETHER = "together"
"""What turns claims one by one, put together."""
SECOND = "runs"
"""The model that was stated before its runs (docs/papers/gcmix.md, *A second model of the servers*)."""

MODELS = {
    # 15.9 KB a write (TBM's Table 1); maintenance from 1 to 5 o'clock of every day, Exchange's default; the exponent is
    # the one that is as far from the one of Figure 6's figures as from the other. Of a build server's writes of the
    # same collection (DTRS, 300 s) those that follow each other make 167 KiB.
    SECOND: _changed(
        "Exchange in runs of two pages, a sixth of its writes through all pages; BEFS and the build server in 21",
        EXCHANGE={"run": 2, "sweep": 1 / 6, "zipf": 1.04, "reads_zipf": 0.9},
        BEFS={"run": 21},
        BUILDSERVER={"run": 21},
    ),
    **{f"runs of {n}": _for_three(f"runs of {n} pages", run=n) for n in (32, 64, 128)},
    "touching 3 in 4": _for_three("addresses modulo 3/4 of the user space", within_mib=0.75 * USER_MIB),
    "touching half": _for_three("addresses modulo half of the user space", within_mib=0.5 * USER_MIB),
    "unfolded": Model(
        "EXCHANGE and BEFS with as many pages to write to as the device has", ("BEFS", "EXCHANGE"), _unfolded
    ),
    **{
        f"maintenance of {hours} hours": _changed(
            f"the second model with {hours} hours of maintenance, and the exponent that follows from Figure 6",
            EXCHANGE={"run": 2, "sweep": hours / 24, "zipf": zipf, "reads_zipf": 0.9},
        )
        for hours, zipf in ((2, 0.96), (5, 1.10))
    },
    **{
        f"quiet seconds, {n}": _changed(
            f"every other second has {n} of 200 writes", EXCHANGE={"quiet": n / (2 * RATE)}
        )
        for n in (1, 2, 5, 20)
    },
    TOGETHER: Model(
        "fitted: EXCHANGE unfolded and with quiet seconds, BEFS in runs of 40 pages, the build server in 32",
        ("BEFS", "BUILDSERVER", "EXCHANGE"),
        _together,
    ),
    "even reads": _for_three("every page is read as often", reads_zipf=0.0),
}
"""Other models of the servers, by name."""

SWEPT = tuple(name for name in MODELS if name != SECOND)
"""In each of these one thing is varied."""

EXCHANGE_ONLY = tuple(name for name in SWEPT if "quiet" in name or "maintenance" in name)
"""Of these, those on which only what DML does on EXCHANGE is of interest."""
READS_ONLY = ("even reads",)
"""And those that change nothing but what is read."""


def modelled(server: str, model: str) -> str:
    """The name of a server under a model; `""` is the one that was settled on."""
    return f"{server}, {model}" if model and server in MODELS[model].servers else server


def server_of(workload: str) -> str:
    """The server of a workload's name."""
    return workload.partition(", ")[0]


def other(server: Server, model: str, longest_mib: float = math.inf) -> Wanted:
    """The server's workload under a model: a row of its own, in no claim."""
    made = wanted(MODELS[model].of(server), longest_mib)
    return replace(made, name=modelled(server.name, model), files=NEVER, is_paper=False)


CAPTURED = tuple(
    Wanted(name, rf"{name}(-220k)?(\.csv)?", {}, is_paper=False, whole=True)
    for name in ("oltp", "ntrx", "varmail", "fileserver")
)
"""Traces captured of real applications on ext4: rows of their own, in no claim. They are short, so every scale replays
them whole, in rounds. The beginning of `varmail` comes with ftlab.
"""
