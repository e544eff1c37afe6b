"""Overload: requests that came faster than the device served them, and their waits for a place in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlab.results.result import Result

if TYPE_CHECKING:
    import numpy as np

WAITED = 0.05
"""A device is overloaded if in the last quarter of a run a request has waited this share of the time that passed..."""

GROWN = 1.5
"""... and so many times what one waited in the second quarter: the queue still grew."""


@dataclass(frozen=True, slots=True)
class Overload:
    """A queue that grew until the end of the run."""

    early_us: float
    """Mean latency in the second quarter of the simulated time."""
    late_us: float
    """Mean latency in the last quarter."""
    served: float
    """About what share of the requests that came in a time was served in it."""


def overload(result: Result) -> Overload | None:
    """The overload of a run in an open loop; `None` where there was none, or the loop was closed.

    Of requests that come at a rate λ and are served at a lower rate µ, one that completes at the time t has waited
    t · (1 - µ / λ). A device that keeps up has latencies that do not depend on how long the run was.
    """
    if (
        result.summary["config"]["host"]["replay"] != "open"
        or (series := result.tables.get("series")) is None
    ):
        return None
    import numpy as np

    rows = series["axis"] == "time"
    latency = series["latency_mean_us"][rows]
    requests = (series["reads"] + series["writes"])[rows].astype(float)
    requests[np.isnan(latency)] = 0
    end = series["end_s"][rows]
    if end.size < 8 or not requests.any():
        return None
    middle = (end + series["start_s"][rows]) / 2 / end[-1]

    def mean(of: np.ndarray, start: float, stop: float) -> float | None:
        part = (middle >= start) & (middle < stop) & (requests > 0)
        return float(np.average(of[part], weights=requests[part])) if part.any() else None

    early, late = mean(latency, 0.25, 0.5), mean(latency, 0.75, 1.0)
    passed = mean(middle * end[-1] * 1e6, 0.75, 1.0)
    if early is None or late is None or passed is None:
        return None
    if late < WAITED * passed or late < GROWN * early:
        return None
    return Overload(early, late, max(0.0, 1 - late / passed))


TENTH = 0.1
"""The share of a tail from which the wait for a place in the device is said."""


@dataclass(frozen=True, slots=True)
class Admission:
    """A tail of an open loop, and what of it was the wait for a place in the device."""

    kind: str
    """`read` or `write`."""
    at: str
    """The percentile: `p99` or `p99.9`."""
    fraction: float
    """Of the latency there, 0..1."""


def admission(result: Result) -> Admission | None:
    """The tail that is most a wait for a place in the device; `None` where that is a tenth of none, or no open loop.

    The shares come from `host.admission` of the summary, which every run in an open loop has.
    """
    found = result.summary["host"].get("admission")
    if found is None:
        return None
    tails = [
        Admission(kind, at, found[f"{kind}_fraction"][key] or 0.0)
        for kind in ("read", "write")
        for at, key in (("p99", "p99"), ("p99.9", "p999"))
    ]
    worst = max(tails, key=lambda tail: tail.fraction)
    return worst if worst.fraction > TENTH else None
