"""Aged states that several runs share: one run ages the device and saves it, the others start from there. They are the
runs of one command, or all that a user has keep states in one directory.

A run from a saved state gives the very figures of the run that ages the device itself; only where the time went
differs. So sharing saves time and changes nothing that they tell.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ftlab._core import InputError
from ftlab.api import own_policies, runner
from ftlab.api.configs import set_list
from ftlab.results import text
from ftlab.results.output import check_writable, json_text, scratch
from ftlab.results.result import Result

if TYPE_CHECKING:
    from ftlab.api.simulation import Job, Progress

UNSAVED = ("fast",)
"""Mappings whose state cannot be saved; that of a sample cannot either."""


ENDS = ("trace", "requests", "rounds", "volume")
"""Keys of a workload that do not say what it writes: where its trace lies, and its end."""


def aging_of(resolved: dict[str, Any]) -> str | None:
    """The hash of what determines how a run's device ages; `None` where there is nothing to share."""
    run, workload = resolved["run"], resolved["workload"]
    precondition = run["precondition"]
    mapping = resolved["ftl"]["mapping"]
    if precondition == "none" or (isinstance(precondition, dict) and "state" in precondition):
        return None
    if "sample" in run or (mapping if isinstance(mapping, str) else next(iter(mapping))) in UNSAVED:
        return None
    facts = {
        # Without time, none of the device's times has a say.
        "device": {name: value for name, value in resolved["device"].items() if name != "timing"},
        "ftl": resolved["ftl"],
        "run": {name: run[name] for name in ("seed", "payload", "precondition")},
    }
    if precondition == "steady":
        # `steady` writes where the generator does; which of its requests are reads, and when, it does not ask.
        ages = ("generator", "request_size", "footprint", "address_offset", "out_of_range")
        facts["workload"] = {name: workload.get(name) for name in ages if "generator" in workload}
    if precondition == "workload":
        trace = workload.get("trace")
        if trace is not None and not Path(trace).is_file():
            # A table in memory has a name that says nothing of it.
            return None
        facts["workload"] = {name: value for name, value in workload.items() if name not in ENDS}
        facts["host"] = resolved["host"]
        facts["trace"] = None if trace is None else runner.file_digest(Path(trace))
    return runner.digest_of(facts)


def run_kept(
    job: Job, directory: Path, progress: Callable[[Progress], object] | None, **files: Any
) -> tuple[Result, list[str]]:
    """Runs a job from the aged state that the directory has for it; where it has none, the device is aged, and its
    state kept there. The result, and why which of the files could not be written.

    Raises:
        InputError: there can be no such directory.
    """
    resolved = job.resolve()
    aging = aging_of(resolved)
    if aging is None:
        return job.simulate(progress, **files)
    code = [own_policies.digest(name) for name in resolved["ftl"].values() if own_policies.names_own(name)]
    state = directory / f"{runner.digest_of([aging, runner.engine_digest(), code])[:20]}.state"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"error: cannot keep states in {directory}: {error.strerror}") from None
    aged = _read(state.with_suffix(".json"))
    if aged is not None and state.exists():
        try:
            result, problems = _from_state(job, state).simulate(progress, **files)
        except InputError as error:
            # Whoever damaged it: it is made anew.
            if str(state) not in str(error):
                raise
        else:
            return _as_if_aged(result, resolved["run"]["precondition"], aged["precondition"]), problems
    check_writable(state)
    result, problems = job.simulate(progress, save_state=str(state), **files)
    with suppress(OSError), scratch(directory) as place:
        # Behind the state: what is half kept is not taken.
        (place / "aged").write_text(
            json_text({"precondition": result.summary["precondition"]}), encoding="utf-8"
        )
        (place / "aged").replace(state.with_suffix(".json"))
    return result, problems


def _read(file: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "precondition" in found else None


def _from_state(job: Job, state: Path) -> Job:
    return replace(job, sets=[*job.sets, *set_list({"run.precondition": {"state": str(state)}})])


def _as_if_aged(result: Result, precondition: Any, report: Any) -> Result:
    """The result with the configuration that was asked for, in place of the file that stood in for it."""
    summary = json.loads(json.dumps(result.summary))
    summary["config"]["run"]["precondition"] = precondition
    summary["precondition"] = report
    found = Result(summary, result.tables)
    summary["notes"] = text.notes(found)
    return found


class States:
    """The states of several runs, in a directory in `parent` that is there only while the block lasts."""

    def __init__(self, parent: Path, resolved: Sequence[dict[str, Any]]) -> None:
        self._parent = parent
        self._stack = ExitStack()
        self._aging = [aging_of(config) for config in resolved]
        self._precondition = [config["run"]["precondition"] for config in resolved]
        self._first: dict[str, int] = {}
        self._shared: dict[str, _State] = {}
        for i, aging in enumerate(self._aging):
            if aging is not None and self._first.setdefault(aging, i) != i:
                self._shared.setdefault(aging, _State(f"{aging[:20]}.state"))

    def __enter__(self) -> States:
        if self._shared:
            directory = self._stack.enter_context(scratch(self._parent))
            for state in self._shared.values():
                state.file = directory / state.file
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def rank(self, i: int) -> int:
        """0 for a run that saves a state, 1 for one that shares none, 2 for one that starts from another's."""
        if self._state(i) is None:
            return 1
        return 0 if self._saves(i) else 2

    def run(self, i: int, job: Job, watch: Callable[[Progress], object], go_on: Callable[[], None]) -> Result:
        """Runs the i-th job, from its state if that is shared."""
        state = self._state(i)
        if state is None:
            return job.run(watch)
        if self._saves(i):
            try:
                result, problems = job.simulate(watch, save_state=str(state.file))
                if not problems:
                    state.report = result.summary["precondition"]
                return result
            finally:
                state.known.set()
        while not state.known.wait(0.1):
            go_on()
        if state.report is None:
            return job.run(watch)
        return _as_if_aged(_from_state(job, state.file).run(watch), self._precondition[i], state.report)

    def _state(self, i: int) -> _State | None:
        return self._shared.get(self._aging[i] or "")

    def _saves(self, i: int) -> bool:
        return self._first[self._aging[i] or ""] == i


class _State:
    def __init__(self, name: str) -> None:
        self.file = Path(name)
        self.known = threading.Event()
        """True once it is decided that there is a state, or none."""
        self.report: Any = None
        """How the device was aged, if it was."""
