"""Latencies as a histogram, whose classes are .1 % wide: of one kind of request, or of several together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latencies in nanoseconds, ascending, and how many requests had each."""

    ns: NDArray[np.float64]
    counts: NDArray[np.float64]
    mean_ns: float
    """The mean, which classes do not know exactly."""

    @property
    def requests(self) -> int:
        """How many there are."""
        return int(self.counts.sum())

    def percentile(self, percent: float) -> int:
        """The latency that so many per cent of the requests had at most."""
        reached = self.counts.cumsum()
        at = int(reached.searchsorted(percent / 100 * reached[-1] * (1 - 1e-12)))
        return round(float(self.ns[min(at, len(self.ns) - 1)]))

    def deviation(self) -> float:
        """The standard deviation."""
        squares = float((self.counts * (self.ns - self.mean_ns) ** 2).sum())
        return math.sqrt(squares / self.requests)

    @classmethod
    def together(cls, parts: Sequence[Latencies]) -> Latencies:
        """The latencies of several histograms together; at least one."""
        import numpy as np

        ns, place = np.unique(np.concatenate([part.ns for part in parts]), return_inverse=True)
        counts = np.bincount(place, weights=np.concatenate([part.counts for part in parts]))
        mean = sum(part.mean_ns * part.requests for part in parts) / counts.sum()
        return cls(ns, counts.astype(float), float(mean))
