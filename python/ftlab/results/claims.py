"""Claims of papers and what became of them, as `ftlab reproduce` writes them: the object in `claims.json`."""

from __future__ import annotations

import math

from ftlab.results import text

SCHEMA = "ftlab.claims/1"
"""The schema of the object that `reproduce --json` prints and writes."""


def number(measured: float | None) -> str:
    """A measured figure: with one digit after the point, and more where it is small."""
    if measured is None or math.isnan(measured):
        return text.ABSENT
    return f"{measured:.3f}" if 0 < abs(measured) < 0.5 else f"{measured:.1f}"
