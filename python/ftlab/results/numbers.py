"""The numbers of summaries as columns of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ftlab._core import InputError

if TYPE_CHECKING:
    import pyarrow as pa

SECTIONS = (
    "host", "flash", "waf", "waf_units", "gc", "utilisation", "wear", "policy", "precondition", "workload", "run",
    "latency_parts", "sample", "end_of_life",
)  # fmt: skip
"""The parts of a summary that hold figures."""


def figures(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Every number of a summary; names are its keys joined by underscores."""
    found: dict[str, float | None] = {}
    for section in SECTIONS:
        if section in summary:
            found.update(_numbers(section, summary[section]))
    return found


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float | None]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers(f"{name}_{key}", inner)
    elif value is None or isinstance(value, int | float):
        yield name, value


def typed(values: Sequence[Any]) -> pa.Array:
    """Values of one factor or figure in the narrowest type that holds them all."""
    import pyarrow as pa

    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return pa.array(values, pa.bool_())
    if any(isinstance(value, bool | str) for value in known):
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    if known and all(isinstance(value, int) for value in known):
        fits = all(-(1 << 63) <= value < 1 << 63 for value in known)
        return pa.array(values, pa.int64() if fits else pa.uint64())
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def frame_of(table: pa.Table, other: str) -> Any:
    """A table as a pandas data frame; `other` is how to get at it without pandas.

    Raises:
        InputError: pandas is not installed.
    """
    try:
        return table.to_pandas()
    except ModuleNotFoundError:
        raise InputError(
            "error: pandas is not installed, which a data frame is of\n"
            f"hint: `pip install pandas`; or use `{other}`, which is an Arrow table"
        ) from None
