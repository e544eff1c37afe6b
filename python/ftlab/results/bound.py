"""How far runs are from the bound of future knowledge: from the same run whose separation knows when pages die."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ftlab.results.result import Result

SETTING = "ftl.separation=future"
"""The setting that makes a run a bound."""


def is_bound(config: Mapping[str, Any]) -> bool:
    """True if the separation of a resolved configuration knows the future."""
    chosen = config["ftl"].get("separation", "none")
    return chosen == "future" or (isinstance(chosen, dict) and "future" in chosen)


def family(config: Mapping[str, Any]) -> str:
    """A resolved configuration but for its separation, as text: runs with the same one have the same bound."""
    others = {key: value for key, value in config["ftl"].items() if key != "separation"}
    return json.dumps({**config, "ftl": others}, sort_keys=True)


def distances(results: Mapping[str, Result]) -> dict[str, float]:
    """By label how much more is programmed than by the bound: WAF in pages ÷ that of the bound, less 1.

    Empty where no bound is among the runs; without the runs that have none.
    """
    configs = {label: result.summary["config"] for label, result in results.items()}
    waf = {label: result.summary["waf_units"] for label, result in results.items()}
    bounds = {family(config): waf[label] for label, config in configs.items() if is_bound(config)}
    return {
        label: waf[label] / bounds[family(config)] - 1.0
        for label, config in configs.items()
        if bounds.get(family(config)) and waf[label] is not None
    }
