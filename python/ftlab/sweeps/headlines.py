"""The headline figures of a sweep by factors, as text: a row for each combination."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ftlab.results import text
from ftlab.sweeps import volumes
from ftlab.sweeps.sweep import Sweep

COLUMNS = (("WAF", "waf"), ("WAF in pages", "waf_units"), ("IOPS", "host_iops"),
           ("mean latency", "host_latency_us_mean"), ("p99 latency", "host_latency_us_p99"),
           ("lifetime", "end_of_life_lifetime_bytes"))  # fmt: skip
"""The figures that are shown of a run, and their columns."""


def figure_rows(made: Sweep) -> tuple[list[str], list[list[str]]]:
    """The headline figures by factors: what the columns are, and a row for each combination."""
    rows = made.means.to_pylist()
    names = [name for name in made.factors if name in made.means.column_names]
    shown = [
        (title, key) for title, key in COLUMNS if any(row.get(f"{key}_mean") is not None for row in rows)
    ]
    if all(_figure("waf_units", row) == _figure("waf", row) for row in rows):
        shown = [(title, key) for title, key in shown if key != "waf_units"]
    several = any(row["runs"] > 1 for row in rows)
    head = [*names, *(["runs"] if several else []), *(title for title, _ in shown)]
    cells = [
        [*(_word(row[name]) for name in names), *([str(row["runs"])] if several else []),
         *(_figure(key, row) for _, key in shown)]
        for row in rows
    ]  # fmt: skip
    return head, cells


def spread_rows(made: Sweep) -> tuple[list[str], list[list[str]]]:
    """How WAF is spread over volumes: what the columns are, and a row for each combination of the other factors."""
    assert made.volumes is not None
    names = made.volumes.column_names
    factors = names[: names.index("volumes")]
    head = [*factors, "volumes", "WAF of all", *(f"p{point}" for point in volumes.POINTS), "left out"]
    keys = ["waf_all", *(f"waf_p{point}" for point in volumes.POINTS)]
    rows = [
        [*(_word(row[name]) for name in factors), text.count(row["volumes"]),
         *(text.amplification(row[key]) for key in keys), text.count(row["left_out"])]
        for row in made.volumes.to_pylist()
    ]  # fmt: skip
    return head, rows


def _word(value: Any) -> str:
    return text.ABSENT if value is None else str(value)


def _figure(key: str, row: dict[str, Any]) -> str:
    mean, std = row.get(f"{key}_mean"), row.get(f"{key}_std")
    if mean is None:
        return text.ABSENT
    form = _FORMS.get(key, text.duration)
    return form(mean) if std is None else f"{form(mean)} ± {form(std)}"


_FORMS: dict[str, Callable[[float], str]] = {
    "waf": text.amplification,
    "waf_units": text.amplification,
    "host_iops": text.count,
    "end_of_life_lifetime_bytes": text.size,
}
