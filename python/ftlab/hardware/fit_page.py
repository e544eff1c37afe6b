"""A fitted drive as text, as an object, and as a configuration."""

from __future__ import annotations

import json
from typing import Any

from ftlab._core import __version__
from ftlab.hardware.fit import Fit
from ftlab.hardware.page import shown
from ftlab.results import text

SCHEMA = "ftlab.hardware.fit/1"
"""The schema of the object of a fit."""

HALVES = {
    "fitted": "fitted: constants were taken from these jobs",
    "predicted": "predicted: from these none was",
}


def table(fit: Fit) -> str:
    """The fit as text: how good it is, the drive's class, its constants, and each figure beside the drive's."""
    lines = [*summed(fit), *fit.classes, "", "constants"]
    rows = [("key", "value", "interval", "from")]
    rows += [(one.key, told(one.value), one.interval, one.source) for one in fit.constants]
    lines += text.columns(rows, indent="  ").splitlines()
    lines += ["", f"kept from `{fit.preset}`, since no measurement identifies them"]
    lines += text.columns([(key, why) for key, why in fit.kept.items()], indent="  ").splitlines()
    for use, heading in HALVES.items():
        each = [one for one in fit.compared if one.job.use == use]
        if not each:
            continue
        lines += ["", heading]
        beside = [("job", "figure", "drive", "simulated", "", "")]
        last = ""
        for one in each:
            ratio = f"× {one.ours / one.figure.value:.2f}"
            verdict = "met" if one.is_met else f"not met ({one.figure.tolerance})"
            first = one.job.name if one.job.name != last else ""
            beside.append(
                (first, one.figure.name, shown(one.figure.value, one.figure.unit),
                 shown(one.ours, one.figure.unit), ratio, verdict)
            )  # fmt: skip
            last = one.job.name
        lines += text.columns(beside, align="<<>><<", indent="  ").splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def summed(fit: Fit) -> list[str]:
    """The numbers of figures that are met, in sentences."""
    lines = []
    for use, words in (
        ("predicted", "predicted figures"),
        ("fitted", "figures of jobs that constants were taken from"),
    ):
        met, of = fit.counts(use)
        if of:
            lines.append(f"{met} of {of} {words} are met ({text.percent(met / of, 0)}).")
    return lines


def to_json(fit: Fit) -> dict[str, Any]:
    """For the object of the fit."""
    return {
        "schema": SCHEMA,
        "ftlab_version": __version__,
        "preset": fit.preset,
        "counts": {use: dict(zip(("met", "of"), fit.counts(use), strict=True)) for use in HALVES},
        "class": list(fit.classes),
        "constants": {
            one.key: {"value": one.value, "interval": one.interval, "from": one.source} for one in fit.constants
        },
        "kept": dict(fit.kept),
        "figures": [
            {
                "job": one.job.name, "use": one.job.use, "name": one.figure.name, "unit": one.figure.unit,
                "drive": one.figure.value, "ours": one.ours, "tolerance": one.figure.tolerance, "met": one.is_met,
            }
            for one in fit.compared
        ],
        "sets": dict(fit.sets),
    }  # fmt: skip


def toml(fit: Fit, whole: str | None = None) -> str:
    """The configuration of the drive.

    Args:
        whole: all keys as TOML, where the fit began from a file; without them the text is on top of a preset.
    """
    sources = {
        one.key: f"{one.source}{f' ({one.interval})' if one.interval else ''}" for one in fit.constants
    }
    head = [f"A drive fitted by `ftlab hardware fit` on top of `{fit.preset}`.", *summed(fit), *fit.classes]
    if whole is not None:
        head += [f"{key}: {source}" for key, source in sources.items()]
        return "".join(f"# {line}\n" for line in head) + "\n" + whole
    lines = [*(f"# {line}" for line in head), "", f"preset = {_toml(fit.preset)}", ""]
    for key, value in fit.sets.items():
        lines += [f"# {sources[key]}"] if key in sources else []
        lines.append(f"{key} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def told(value: Any) -> str:
    """A constant as text."""
    if isinstance(value, list):
        return ", ".join(map(told, value if len(set(value)) > 1 else value[:1]))
    if isinstance(value, str) and value.endswith("ns") and value[:-2].isdigit() and int(value[:-2]) >= 1000:
        return f"{int(value[:-2]) / 1000:g}us"
    if isinstance(value, str) and value.endswith("kB/s"):
        return f"{int(value[:-4]) / 1000:g}MB/s"
    return f"{value:g}" if isinstance(value, float) else str(value)
