"""Job files of fio, run on a simulated drive."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from typing import Any

from ftlab._core import ConfigError
from ftlab.api import simulation
from ftlab.api.configs import Config, Sets, Source
from ftlab.base.quantities import in_bytes
from ftlab.fio import report
from ftlab.fio.jobfile import JobFile
from ftlab.fio.plan import Plan, plan
from ftlab.results.result import Result

ANY_WORKLOAD = ['workload.generator="uniform"', "workload.requests=1"]
"""A workload in place of the configuration's own: a drive without one is a drive all the same."""

SAID_BY_JOBS = ("workload.", "tenant.", "host.replay", "host.queue_depth", "host.time_scale")
"""Keys that a job file says; settings of them come on top of it."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job file and a drive, as :func:`ftlab.run` takes them."""

    config: dict[str, Any]
    """The drive's configuration with the requests of the job file."""
    plan: Plan
    """The jobs as streams."""


def prepare(
    config: Config, job_file: str | os.PathLike[str] | JobFile, *, section: str | None = None, sets: Sets = ()
) -> Prepared:
    """The run of a job file on a drive.

    Args:
        config: the drive; its workload is not looked at.
        job_file: the path of a job file, or one that was read.
        section: the name of the only job to run.
        sets: settings that override the configuration, and what the job file says.

    Raises:
        ConfigError: the configuration cannot be used.
        InputError: the job file cannot be read, or asks for what is not carried out.
    """
    file = job_file if isinstance(job_file, JobFile) else JobFile.load(job_file)
    return _prepared(simulation.Job.of(config, sets, None), file, section)


def on(job: simulation.Job, file: JobFile, section: str | None = None) -> simulation.Job:
    """A run of a comparison or a sweep, with the requests of a job file in place of its own.

    Raises:
        ConfigError: the configuration cannot be used.
        InputError: the job file asks for what is not carried out.
    """
    made = _prepared(job, file, section)
    return replace(job, source=Source("json", json.dumps(made.config)))


def _prepared(job: simulation.Job, file: JobFile, section: str | None) -> Prepared:
    own = [word for word in job.sets if not word.startswith(SAID_BY_JOBS)]
    drive = replace(job, sets=[*own, *ANY_WORKLOAD]).resolve()
    if drive["run"]["executor"] != "timed":
        raise ConfigError(
            "error: a job file needs time, and `run.executor` is `count`\nhint: `--set run.executor=timed`"
        )
    separation = drive["ftl"]["separation"]
    handles = separation["fdp"]["handles"] if "fdp" in separation else 1
    found = plan(file, in_bytes(drive["device"]["user_capacity"]), section=section, handles=handles)
    host = {key: drive["host"][key] for key in ("link", "command_time", "command_interval")}
    tree = {key: value for key, value in drive.items() if key not in ("workload", "tenant")}
    return Prepared(tree | found.config | {"host": host | found.config["host"]}, found)


def run(
    config: Config, job_file: str | os.PathLike[str] | JobFile, *, section: str | None = None, sets: Sets = ()
) -> tuple[Result, dict[str, Any]]:
    """Runs a job file of fio on a drive.

    Args:
        config: the drive; its workload is not looked at.
        job_file: the path of a job file, or one that was read.
        section: the name of the only job to run.
        sets: settings that override the configuration, and what the job file says.

    Returns:
        The result, and the object that `fio --output-format=json` would print.

    Raises:
        ConfigError: the configuration cannot be used.
        InputError: the job file cannot be read, or asks for what is not carried out.
        RunError: the run failed.
    """
    made = prepare(config, job_file, section=section, sets=sets)
    result = simulation.run(made.config, sets=sets)
    return result, report.to_json(made.plan, result)
