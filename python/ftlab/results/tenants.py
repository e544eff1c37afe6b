"""Hosts that share a device: what each got, and what it would get alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ftlab.results.histogram import Latencies
from ftlab.results.result import Result

COLUMNS = ("tenant", "reads", "writes", "IOPS", "MB/s", "mean", "p99", "p99.9", "WAF")
"""The columns of the table of tenants."""


@dataclass(frozen=True, slots=True)
class Slowdown:
    """A tenant among others, against itself on the same device while the others are idle."""

    tenant: str
    """Its label, unlike the others'."""
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


def label(tenant: Mapping[str, Any]) -> str:
    """How tables call a tenant of a resolved configuration."""
    return str(tenant.get("label", tenant["name"]))


def listed(config: Mapping[str, Any]) -> list[str]:
    """The labels of all tenants in order, with how many follow each other under one: `writer (4)`."""
    found: list[tuple[str, int]] = []
    for each in map(label, config["tenant"]):
        if found and found[-1][0] == each:
            found[-1] = (each, found[-1][1] + 1)
        else:
            found.append((each, 1))
    return [each if times == 1 else f"{each} ({times})" for each, times in found]


def distinct(config: Mapping[str, Any]) -> dict[str, str]:
    """A label for each name of a tenant, unlike the others'; copies of a job are `job.0`, `job.1`, as fio's files."""
    tenants = config.get("tenant", ())
    times, seen, found = Counter(map(label, tenants)), Counter[str](), {}
    for tenant in tenants:
        own = label(tenant)
        found[tenant["name"]] = own if times[own] == 1 else f"{own}.{seen[own]}"
        seen[own] += 1
    return found if len(set(found.values())) == len(found) else {name: name for name in found}


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of a tenant, or of several that are joined."""

    label: str
    reads: int
    writes: int
    iops: float | None
    """Reads and writes a second."""
    mb_s: float | None
    """Megabytes (10^6) a second, read and written."""
    latency_us: Mapping[str, float]
    """`mean`, `p99` and `p999` of reads and writes, in µs."""
    waf: float | None


def rows(result: Result) -> list[Row]:
    """The rows of a table of tenants: one for each that is not joined to the one before it."""
    groups: list[list[int]] = []
    for number, tenant in enumerate(result.summary["config"].get("tenant", ())):
        if tenant.get("joined") and groups:
            groups[-1].append(number)
        else:
            groups.append([number])
    return [_one(result, group[0]) if len(group) == 1 else _joined(result, group) for group in groups]


def _one(result: Result, number: int) -> Row:
    own, found = result.summary["config"]["tenant"][number], result.summary["tenants"][number]
    return Row(
        label(own), found["reads"], found["writes"], found["iops"], found["throughput_mb_s"], found["latency_us"],
        found["waf"],
    )  # fmt: skip


def _joined(result: Result, group: Sequence[int]) -> Row:
    """Several tenants as one; percentiles are of the histograms."""
    config = [result.summary["config"]["tenant"][number] for number in group]
    each = [result.summary["tenants"][number] for number in group]
    reads, writes = (sum(one[kind] for one in each) for kind in ("reads", "writes"))
    seconds = max(one["simulated_s"] or 0.0 for one in each)
    moved = sum(one["bytes_read"] + one["bytes_written"] for one in each)
    table, parts = result.tables["tenant_latency"], []
    for number, one in zip(group, each, strict=True):
        mine = (table["tenant"] == number) & ((table["kind"] == "read") | (table["kind"] == "write"))
        if mine.any():
            mean = one["latency_us"]["mean"] * 1e3
            parts.append(Latencies(table["latency_us"][mine] * 1e3, table["count"][mine].astype(float), mean))
    latency = {"mean": 0.0, "p99": 0.0, "p999": 0.0}
    if parts:
        # Classes of reads and of writes are two lists.
        all_ = Latencies.together(parts)
        latency = {
            "mean": all_.mean_ns / 1e3,
            "p99": all_.percentile(99) / 1e3,
            "p999": all_.percentile(99.9) / 1e3,
        }
    # The figures of a ramp are not there, and what it placed is.
    has_waf = all(one["waf"] is not None for one in each) and all(one["ramp"] == "0ns" for one in config)
    placed, written = (
        sum((one["waf"] if by_waf and has_waf else 1.0) * one["bytes_written"] for one in each)
        for by_waf in (True, False)
    )
    return Row(
        label(config[0]), reads, writes, (reads + writes) / seconds if seconds else None,
        moved / 1e6 / seconds if seconds else None, latency, placed / written if has_waf and written else None,
    )  # fmt: skip


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
    found, named = [], distinct(whole.summary["config"])
    for name in active(whole.summary["config"]):
        both = of(whole, name), of(alone[name], name)
        means = [tenant["latency_us"]["mean"] for tenant in both]
        if not all(means):
            return []
        p999, iops = ((get(both[0]), get(both[1])) for get in (_p999, _iops))
        found.append(Slowdown(named[name], means[0], means[1], p999, iops))
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
