"""Each of several tenants alone on the device that it shares."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ftlab.results import tenants
from ftlab.results.result import Result

if TYPE_CHECKING:
    from ftlab.api.simulation import Job

ENDS = ("requests", "volume", "duration", "trace")
"""Keys that end a tenant by themselves."""


def has_several(job: Job) -> bool:
    """True if a configuration has two or more tenants that send something."""
    return len(tenants.active(job.resolve())) > 1


def alone(job: Job, together: Result) -> list[Job]:
    """The runs of a configuration in which one of its tenants sends something, each.

    A tenant that goes on for as long as the others gets as many requests as it had beside them, in `together`.
    """
    config = together.summary["config"]
    names, named = tenants.active(config), tenants.distinct(config)
    written = {tenant["name"]: tenant for tenant in config["tenant"]}
    jobs = []
    for name in names:
        sets = [f"tenant.{other}.idle=true" for other in names if other != name]
        if not any(key in written[name] for key in ENDS):
            figures = tenants.of(together, name)
            requests = sum(figures[kind] for kind in ("reads", "writes", "trims", "flushes"))
            sets.append(f"tenant.{name}.requests={max(requests, 1)}")
        jobs.append(replace(job, label=f"{named[name]} alone", sets=[*job.sets, *sets]))
    return jobs
