"""The hosts of the rcFTL paper: its four applications, captured and generated, and Figure 7b's three intensities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ftlab_reproduce.study import Settings
from ftlab_reproduce.synthesis import EPOCH_100NS, write_msr
from ftlab_reproduce.workloads import Wanted

PAGE = 4096
QUICK = 1 / 8
"""Of the paper's chips."""


@dataclass(frozen=True, slots=True)
class Host:
    """An application of Table II on a device of its own."""

    paper: str
    """The paper's name for it."""
    waf: float
    """The baseline's, in the paper."""
    spare: float
    """Spare ÷ user capacity, by which the baseline comes near that on the small device, whose blocks have 16 pages."""
    sets: Settings | None = None
    """The generator; `None` for a capture."""
    ratio: float = 0.0
    """Of the capture's data."""
    full_spare: float = 0.0
    """The same on blocks of 128 pages. A block that holds more pages has more of them valid when it is collected."""


def _generated(reads: float, hot: float | None = None, writes: float = 0.0) -> Settings:
    place = (
        {"workload.generator": "uniform"}
        if hot is None
        else {"workload.generator.hot-cold.data": hot, "workload.generator.hot-cold.writes": writes}
    )
    return {**place, "workload.read_fraction": reads}


HOSTS: Mapping[str, Host] = {
    "oltp": Host("OLTP", 2.0, 0.067, ratio=1 / 8),
    "ntrx": Host("NTRX", 2.3, 0.115, ratio=1 / 8),
    "varmail": Host("Varmail", 2.7, 0.075, ratio=1 / 8),
    "fileserver": Host("Fileserver", 5.4, 0.03, ratio=1 / 24),
    "OLTP": Host("OLTP", 2.0, 0.41, _generated(0.7, 0.2, 0.88), full_spare=0.48),
    "NTRX": Host("NTRX", 2.3, 0.3, _generated(0.05, 0.2, 0.63), full_spare=0.35),
    "Varmail": Host("Varmail", 2.7, 0.3, _generated(0.4, 0.05, 0.67), full_spare=0.37),
    "Fileserver": Host("Fileserver", 5.4, 0.072, _generated(0.4), full_spare=0.103),
}
"""Captures, in small letters, and generators. How skewed these are is measured of the captures, but for Fileserver,
which the paper says has no significant locality. See docs/papers/rcftl.md.
"""

CAPTURED_NAMES = tuple(name for name, host in HOSTS.items() if host.sets is None)
GENERATED_NAMES = tuple(name for name in HOSTS if name not in CAPTURED_NAMES)

CAPTURED = tuple(
    Wanted(name, rf"{name}(\.csv)?", {}, is_paper=False, ratio=HOSTS[name].ratio) for name in CAPTURED_NAMES
)

CYCLE = 65_536
"""Requests of a burst and of the quiet time after it. Of the shortest burst nine tenths find no room that was free."""

QUIET_MS = 1.0
"""Between two requests of the quiet time: about a third of what the device takes."""

DRAIN_MS = 0.4
"""The quiet time begins when a burst has had so long for each of its requests, which is more than it takes."""


@dataclass(frozen=True, slots=True)
class Fio:
    """Single pages written at random; a part of them come in bursts, the others one by one."""

    burst: float
    cycle: int = CYCLE
    pages: int = 115_000
    """Of the address space; the device is the same at every scale."""
    requests: int = 7 * CYCLE

    def facts(self) -> dict[str, Any]:
        """All that determines the file but scale and seed."""
        return {**asdict(self), "quiet_ms": QUIET_MS, "drain_ms": DRAIN_MS}

    def make(self, ratio: float, seed: int, path: Path) -> None:
        """Writes the trace."""
        rng = np.random.Generator(np.random.PCG64(seed))
        burst = round(self.burst * self.cycle)
        quiet = burst * DRAIN_MS + np.arange(1, self.cycle - burst + 1) * QUIET_MS
        cycle = np.concatenate([np.zeros(burst), quiet])
        begins = np.arange(self.requests // self.cycle) * (quiet[-1] + QUIET_MS)
        ms = (begins[:, None] + cycle).ravel()
        times = EPOCH_100NS + np.rint(ms * 1e4).astype(np.int64)
        places = rng.integers(0, self.pages, ms.size) * PAGE
        write_msr(path, times, np.ones(ms.size, np.bool_), places, np.full(ms.size, PAGE, np.int64))


INTENSITIES: Mapping[str, float] = {"High": 0.7, "Mid": 0.5, "Low": 0.3}
"""The part of the requests that come without idle times."""

SHORT = "Low, short bursts"

FIO_MODELS = {
    **{name: Fio(part) for name, part in INTENSITIES.items()},
    SHORT: Fio(INTENSITIES["Low"], CYCLE // 4),
}

FIO = tuple(
    Wanted(name, "", {"write_fraction": 1.0, "write_kib": PAGE / 1024}, model, is_paper=name != SHORT)
    for name, model in FIO_MODELS.items()
)
