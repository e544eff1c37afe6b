"""Runs on a Dask cluster. Dask is optional; nothing here is imported before a scheduler is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ftlab._core import Error, InputError, RunError
from ftlab.api import runner
from ftlab.api.simulation import Job
from ftlab.results.result import Result

if TYPE_CHECKING:
    from ftlab.api.runner import Tell
    from ftlab.sweeps.sweep import Resolved

CONNECT_S = 30
"""How long the scheduler has to answer."""

RETRIES = 10
"""How often a run is begun again whose worker died."""


def run_on(
    scheduler: str,
    runs: Sequence[Resolved],
    finished: Callable[[Resolved, Result | Error], None],
    tell: Tell,
) -> None:
    """Does runs on the workers of a scheduler. Results are handed over as they come; workers may come and go.

    Raises:
        InputError: Dask is not installed.
        RunError: the scheduler does not answer, or its workers have another engine.
    """
    try:
        from distributed import Client, KilledWorker, as_completed
    except ModuleNotFoundError:
        raise InputError(
            "error: Dask is not installed, which `--scheduler` needs\nhint: `pip install 'ftlab[cluster]'`"
        ) from None
    try:
        client = Client(scheduler, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise RunError(f"error: there is no Dask scheduler at {scheduler}: {error}") from None
    engine = runner.engine_digest()
    with client, client.as_current():

        def submitted(run: Resolved, attempt: int) -> Any:
            key = f"ftlab-{run.key}-{attempt}"
            return client.submit(work, run.portable(), engine, key=key, retries=RETRIES, pure=False)

        under_way = {submitted(run, 0): (run, 0) for run in runs}
        arriving = as_completed(list(under_way))
        for future in arriving:
            run, attempt = under_way.pop(future)
            try:
                finished(run, future.result())
            except KilledWorker:
                # Not the run's fault, as far as anyone can tell; but something that kills every worker has to end.
                if attempt == RETRIES:
                    finished(run, RunError(f"error: the workers died {RETRIES} times over this run"))
                    continue
                again = submitted(run, attempt + 1)
                under_way[again] = (run, attempt + 1)
                arriving.add(again)
            except OtherEngine as error:
                raise RunError(str(error)) from None
            except (RunError, InputError) as error:
                finished(run, error)
    tell.note("")


class OtherEngine(Exception):
    """A worker would give the results of another engine."""


def work(job: Job, engine: str) -> Result:
    """Runs a job on a worker."""
    found = runner.engine_digest()
    if found != engine:
        raise OtherEngine(
            "error: a worker has another engine than this machine, and would give other results\n"
            "hint: install the same build of ftlab everywhere"
        )
    return job.run(None)
