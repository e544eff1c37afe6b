"""The bound of each of several runs: the same run whose separation knows the future."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ftlab._core import ConfigError
from ftlab.results import bound

if TYPE_CHECKING:
    from ftlab.api.simulation import Job


def bounds(jobs: list[Job]) -> list[Job]:
    """The runs that jobs lack for each to have its bound: one for all that differ in their separation alone."""
    families: dict[str, Job] = {}
    known = set()
    for job in jobs:
        # What cannot be used is told by the run itself.
        with suppress(ConfigError):
            config = job.resolve()
            if bound.is_bound(config):
                known.add(bound.family(config))
            else:
                families.setdefault(bound.family(config), job)
    missing = [job for family, job in families.items() if family not in known]
    label = "bound" if len(missing) == 1 else "{} bound"
    return [
        replace(job, label=label.format(job.label), sets=[*_without(job.sets), bound.SETTING])
        for job in missing
    ]


def _without(sets: list[str]) -> list[str]:
    """Settings but for those of a separation."""
    return [setting for setting in sets if not setting.startswith(("ftl.separation=", "ftl.separation."))]
