"""Hosts that share a device: what each got, and what it would get alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ftlab.results.result import Result

COLUMNS = ("tenant", "reads", "writes", "IOPS", "MB/s", "mean", "p99", "p99.9", "WAF")
"""The columns of the table of tenants."""


@dataclass(frozen=True, slots=True)
class Slowdown:
    """A tenant among others, against itself on the same device while the others are idle."""

    tenant: str
    """Its name."""
    together_us: float
    """Mean latency of its reads and writes among the others."""
    alone_us: float
    """Mean latency of its reads and writes while the others send nothing."""
    p999: tuple[float, float]
    """99.9th percentiles of both, in µs."""
    iops: tuple[float, float]
    """Rates of both."""

    @property
    def factor(self) -> float:
        """The slowdown: mean latency among the others ÷ alone."""
        return self.together_us / self.alone_us


def active(config: Mapping[str, Any]) -> list[str]:
    """The names of the tenants of a resolved configuration that send something."""
    return [tenant["name"] for tenant in config.get("tenant", ()) if not tenant.get("idle")]


def slowdowns(results: Iterable[Result]) -> list[Slowdown]:
    """The slowdowns of tenants by each other, if there is a run of several, and one of each alone; empty otherwise."""
    whole: Result | None = None
    alone: dict[str, Result] = {}
    for result in results:
        names = active(result.summary["config"])
        if len(names) == 1:
            alone.setdefault(names[0], result)
        elif len(names) > 1 and whole is None:
            whole = result
    if whole is None or not set(active(whole.summary["config"])) <= set(alone):
        return []
    found = []
    for name in active(whole.summary["config"]):
        both = of(whole, name), of(alone[name], name)
        means = [tenant["latency_us"]["mean"] for tenant in both]
        if not all(means):
            return []
        p999, iops = ((get(both[0]), get(both[1])) for get in (_p999, _iops))
        found.append(Slowdown(name, means[0], means[1], p999, iops))
    return found


def of(result: Result, name: str) -> dict[str, Any]:
    """The figures of a tenant."""
    found: dict[str, Any] = next(tenant for tenant in result.summary["tenants"] if tenant["name"] == name)
    return found


def fairness(found: Sequence[Slowdown]) -> float:
    """The largest slowdown ÷ the smallest: 1 where all lose the same."""
    factors = [slowdown.factor for slowdown in found]
    return max(factors) / min(factors)


def _p999(tenant: Mapping[str, Any]) -> float:
    return float(tenant["latency_us"]["p999"])


def _iops(tenant: Mapping[str, Any]) -> float:
    return float(tenant["iops"])
