"""Deterministic windows of a run, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ftlab.results import text


def described(summary: Mapping[str, Any]) -> str:
    """How long the windows were, how often the drive left them, and what reads took; empty where it promises none."""
    found = summary.get("windows")
    if found is None:
        return ""
    share = text.ABSENT if found["share"] is None else text.percent(found["share"])
    promised = summary["promises"]["predictable_latency"]["dtwin_writes_bytes"]
    lines = [
        f"deterministic windows: {text.count(found['begun'])}, {share} of the time; "
        f"{text.count(found['excursions'])} left early, {text.count(found['missed'])} missed",
        f"  at most {text.size(found['bytes_written_max'])} written in one; the stock is for {text.size(promised)}",
    ]
    rows = [["  reads sent", "", *text.PERCENTILES]]
    for place in ("inside", "outside"):
        latency = found[place]["read_latency_us"]
        if latency["mean"] is not None:
            cells = (text.duration(latency[key.replace(".", "")]) for key in text.PERCENTILES)
            rows.append([f"  {place}", text.count(found[place]["reads"]), *cells])
    return "\n".join([*lines, text.columns(rows, align="<>")] if len(rows) > 1 else lines)
