"""Volumes as an axis of a sweep: the list that `ftlab trace split` wrote, and how a figure is spread over them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlab._core import InputError, __version__
from ftlab.base import escape
from ftlab.results.numbers import typed

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

FACTOR = "volume"
"""The name of the axis."""

LIST = "volumes.json"
LIST_SCHEMA = "ftlab.volumes/1"
SCHEMA = "ftlab.sweep-volumes/1"

POINTS = (5, 25, 50, 75, 95)
"""The percentiles of volumes that a table has."""

STEP = 1 << 20
"""A device is so many bytes, or a multiple: whole pages, of any size that is common."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of a trace that was divided."""

    number: int
    trace: str
    """Its file."""
    written: int
    """Bytes that it writes."""
    capacity: int
    """Bytes of a device on which all of its requests lie."""


def listed(directory: str) -> list[Volume]:
    """The volumes that `ftlab trace split` wrote to a directory.

    Raises:
        InputError: there is no list, or it is none.
    """
    place = Path(directory) / LIST
    shown = escape.terminal(str(place))
    try:
        tree = json.loads(place.read_text(encoding="utf-8"))
        if tree["schema"] != LIST_SCHEMA:
            raise ValueError(tree["schema"])
        return [
            Volume(
                entry["volume"], str(Path(directory) / entry["file"]), entry["bytes_written"],
                max(1, -(-entry["end_bytes"] // STEP)) * STEP,
            )
            for entry in tree["volumes"]
        ]  # fmt: skip
    except OSError as error:
        raise InputError(
            f"error: {shown} cannot be read: {error.strerror}\n"
            "hint: expected a directory that `ftlab trace split TRACE DIR` wrote"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"error: {shown} is no list of volumes\nhint: `ftlab trace split TRACE DIR` writes one, to a new directory"
        ) from None


def distribution(runs: pa.Table, factors: Sequence[str], seed: str | None) -> pa.Table | None:
    """How WAF is spread over volumes: a row for each combination of the other factors; `None` without volumes.

    Of several seeds a volume has the mean. `waf_all` is that of all volumes together: bytes programmed ÷ bytes that
    hosts wrote. Volumes without a WAF, because a run failed or nothing was written, are counted and left out.
    """
    import numpy as np
    import pyarrow as pa

    if FACTOR not in factors:
        return None
    kept = [name for name in factors if name not in (FACTOR, seed)]
    groups = [(group, found, failed) for group, found, failed in _grouped(runs, kept)]
    columns: dict[str, Any] = {
        name: typed([group[i] for group, _, _ in groups]) for i, name in enumerate(kept)
    }
    columns["volumes"] = pa.array([len(found) for _, found, _ in groups], pa.int64())
    columns["left_out"] = pa.array([failed for _, _, failed in groups], pa.int64())
    wafs = [sorted(waf for waf, _ in found.values()) for _, found, _ in groups]
    columns["waf_all"] = pa.array([_of_all(list(found.values())) for _, found, _ in groups], pa.float64())
    columns["waf_mean"] = pa.array([math.fsum(w) / len(w) if w else None for w in wafs], pa.float64())
    for point in POINTS:
        columns[f"waf_p{point}"] = pa.array(
            [float(np.percentile(w, point)) if w else None for w in wafs], pa.float64()
        )
    for name, pick in (("lowest", min), ("highest", max)):
        columns[f"waf_{name}"] = pa.array([pick(w) if w else None for w in wafs], pa.float64())
    return pa.table(columns, metadata={"schema": SCHEMA, "ftlab_version": __version__})


def _grouped(
    runs: pa.Table, kept: Sequence[str]
) -> Iterator[tuple[tuple[Any, ...], dict[Any, tuple[float, float]], int]]:
    """By combination: of each volume its WAF and what was written, and how many volumes have none."""
    names = runs.column_names
    wanted = [*kept, FACTOR, *(name for name in ("waf", "host_bytes_written") if name in names)]
    groups: dict[tuple[Any, ...], dict[Any, list[tuple[float, float]]]] = {}
    for row in runs.select(wanted).to_pylist():
        group = groups.setdefault(tuple(row[name] for name in kept), {})
        found = group.setdefault(row[FACTOR], [])
        if row.get("waf") is not None and row["host_bytes_written"]:
            found.append((row["waf"], row["host_bytes_written"]))
    for key, volumes in groups.items():
        means = {
            volume: (
                math.fsum(waf for waf, _ in found) / len(found),
                math.fsum(written for _, written in found) / len(found),
            )
            for volume, found in volumes.items()
            if found
        }
        yield key, means, len(volumes) - len(means)


def _of_all(found: Sequence[tuple[float, float]]) -> float | None:
    written = math.fsum(written for _, written in found)
    return math.fsum(waf * written for waf, written in found) / written if written else None


def figure(table: pa.Table) -> Figure | None:
    """The spread as boxes side by side: half of the volumes in a box, nine in ten between the whiskers, a mark for all
    together. `None` where no volume has a WAF.
    """
    from matplotlib.figure import Figure

    from ftlab.results.drawing import FILE, colour, plain

    factors = table.column_names[: table.column_names.index("volumes")]
    rows = [row for row in table.to_pylist() if row["waf_all"] is not None]
    if not rows:
        return None
    labels = ["\n".join(str(row[name]) for name in factors) or "all" for row in rows]
    boxes = [
        {
            "label": escape.plot(label), "whislo": row["waf_p5"], "q1": row["waf_p25"], "med": row["waf_p50"],
            "q3": row["waf_p75"], "whishi": row["waf_p95"],
        }
        for label, row in zip(labels, rows, strict=True)
    ]  # fmt: skip
    drawn = Figure(figsize=(max(4.0, 1.2 + 0.9 * len(rows)), 3.6), layout="constrained")
    panel = drawn.add_subplot()
    plain(panel, FILE)
    made = panel.bxp(boxes, showfliers=False, patch_artist=True, medianprops={"color": "black"})
    for i, box in enumerate(made["boxes"]):
        box.set(facecolor=colour(i), alpha=0.45)
    places = range(1, len(rows) + 1)
    panel.plot(
        places,
        [row["waf_all"] for row in rows],
        "D",
        color="black",
        markersize=4,
        label="all volumes together",
    )
    panel.set_ylabel(f"WAF of {max(row['volumes'] for row in rows):,} volumes")
    panel.set_xlabel(", ".join(escape.plot(name) for name in factors))
    panel.legend(fontsize=FILE.size, frameon=False)
    return drawn
