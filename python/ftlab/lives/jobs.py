"""Job files of fio as workloads of drives' lives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ftlab._core import InputError
from ftlab.api.configs import Source
from ftlab.api.simulation import Job
from ftlab.fio import running
from ftlab.fio.jobfile import JobFile

PLACES = ("generator", "request_size", "read_fraction", "footprint", "address_offset", "hint", "hint_parts")
"""Keys of a tenant that say where it writes, and how much at a time."""


def on(job: Job, file: JobFile, section: str | None) -> Job:
    """A drive under a job file. Jobs that write alike are one workload, which needs no time; others share the drive
    in time, as `ftlab run --fio` has it.

    Raises:
        ConfigError: the drive cannot be run.
        InputError: the job file asks for what is not carried out, or writes nothing.
    """
    made = running.on(replace(job, sets=[*job.sets, 'run.executor="timed"']), file, section)
    made = replace(made, sets=job.sets)
    config = json.loads(made.source.text)
    streams = config["tenant"] if "tenant" in config else [config["workload"]]
    writers = [stream for stream in streams if _writes(stream)]
    if not writers:
        raise InputError(
            "error: the jobs write nothing, so no drive wears by them\nhint: expected a job that writes"
        )
    kinds = {json.dumps([writer.get(key) for key in PLACES]) for writer in writers}
    if "tenant" not in config or len(kinds) > 1 or "generator" not in writers[0]:
        return made
    del config["tenant"]
    config["workload"] = {key: writers[0][key] for key in PLACES if key in writers[0]}
    config["workload"]["volume"] = "1x"
    return replace(made, source=Source("json", json.dumps(config)))


def _writes(stream: Mapping[str, Any]) -> bool:
    return bool(stream.get("read_fraction", 0) < 1)
