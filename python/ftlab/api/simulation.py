"""Running simulations: one, or several beside each other."""

from __future__ import annotations

import functools
import itertools
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ftlab import _core
from ftlab._core import ConfigError, Error, InputError, RunError
from ftlab.api import bound as bound_of
from ftlab.api import runner, tenants
from ftlab.api import until as ends
from ftlab.api.aged_states import States, run_kept
from ftlab.api.configs import Config, Sets, Source, is_configuration, plain, set_list
from ftlab.api.keys import exclude_each_other, loses
from ftlab.base import arguments
from ftlab.results import output, sampling, text
from ftlab.results.kept import Store
from ftlab.results.result import Result, Tables
from ftlab.traces import columnar

if TYPE_CHECKING:
    from ftlab.results.comparison import Comparison

PathText: TypeAlias = str | PathLike[str]

Trace: TypeAlias = Any
"""A trace: the path of a file, `"-"` for standard input, a structured NumPy array, one of two dimensions (with
`columns`), a data frame of pandas or another library that speaks Arrow, or a dictionary of columns."""


DONE = "done"
"""The phase of a run of a comparison that is over."""


FAILED = "failed"
"""The phase of a run of a comparison that has failed, or cannot be run."""


class Progress(NamedTuple):
    """How far a run has come."""

    phase: str
    """`precondition`, `run`, or, in a comparison, `done` or `failed`."""
    simulated_s: float
    """Simulated time, in seconds."""
    requests: int
    """Requests completed in this phase."""
    bytes_written: int
    """Bytes written by the host in this phase."""
    fraction: float | None
    """How much of the phase is done, 0..1, where its end is known."""
    erases: int = 0
    """Blocks erased in this phase."""


def run(
    config: Config,
    *,
    sets: Sets = (),
    trace: Trace | None = None,
    columns: str | None = None,
    out: PathText | None = None,
    plots: bool = True,
    timeline: PathText | None = None,
    timeline_window: tuple[str, str] | None = None,
    save_state: PathText | None = None,
    states: PathText | None = None,
    image: PathText | None = None,
    until: str | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Result:
    """Runs one simulation. The interpreter is released meanwhile, so several run in parallel threads.

    Args:
        config: a path, the name of a preset, TOML text, or a nested dictionary; see :data:`ftlab.api.configs.Config`.
        sets: settings that override the configuration, as `--set` does.
        trace: a trace to replay, in place of the configuration's workload source: a file, `"-"` for standard input,
            or a table, such as a data frame or a structured NumPy array; see :data:`ftlab.api.simulation.Trace`.
        columns: which column of a table is what, such as `"time=ts:us,op=rw,offset=lba:sector,size=bytes"`; for a table
            in memory or in Parquet the columns' names tell if this does not.
        out: a directory for the summary, tables and plots; see :meth:`Result.save`.
        plots: whether there are plots in `out`.
        timeline: a file for what channels, dies and planes did, which the Perfetto UI opens.
        timeline_window: the simulated time to record, for example `("0s", "200ms")`; all of the run if not given.
        save_state: a file for the device's state after preconditioning, which
            `run.precondition.state = "file"` starts from. Of the files that are there, only states and timelines are
            overwritten.
        states: a directory in which the states of aged devices are kept: a run whose device ages as that of an earlier
            one did begins where ageing ended, with the very figures. A state takes some six bytes for each map unit.
        image: the file that holds the drive (`run.executor = "device"`), which is made where there is none; without it
            the bytes lie in memory.
        until: `"end-of-life"` has the run go on until the device is read-only because of blocks that failed
            (`device.bad_blocks`), whatever end its workload has; a trace is replayed over and over. `"steady"` has the
            workload age the device first, a trace in rounds, until its WAF holds still; then the run is measured.
        progress: called about ten times a second; an exception that it raises stops the run.

    Raises:
        ConfigError: the configuration cannot be used.
        InputError: a trace, state file, output directory or file cannot be used.
        RunError: the run failed.
        OutputError: the run is over, but not all of its output could be written; the error has the result.
    """
    job = ends.applied(Job.of(config, sets, trace, columns), until)
    tell = arguments.function(progress, "progress")
    if until is not None and tell is not None:
        tell = ends.heard(tell, until, job.resolve())
    window = _window(timeline_window)
    files = {
        what: None if file is None else arguments.file_name(file, what)
        for what, file in {"timeline": timeline, "save_state": save_state}.items()
    }
    directory = None if out is None else output.OutputDirectory(arguments.file_name(out, "out"))
    for file in files.values():
        if file is not None:
            output.check_writable(file)
    if image is not None:
        files["image"] = arguments.file_name(image, "image")
    if states is None:
        result, problems = job.simulate(tell, timeline_window_ns=window, **files)
    elif save_state is not None:
        raise InputError(
            "error: `save_state` and `states` are both given; expected one place for the aged device"
        )
    else:
        del files["save_state"]
        place = Path(arguments.file_name(states, "states"))
        result, problems = run_kept(job, place, tell, timeline_window_ns=window, **files)
    try:
        if directory is not None:
            directory.write_result(result, plots=plots)
    except RunError as error:
        problems.append(str(error))
    if problems:
        raise output.OutputError(problems, result)
    return result


def compare(
    configs: PathText | Sequence[Config] | Mapping[str, Config],
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    sets: Sets = (),
    trace: Trace | None = None,
    columns: str | None = None,
    bound: bool = False,
    change: Callable[[Job], Job] | None = None,
    until: str | None = None,
    out: PathText | None = None,
    plots: bool = True,
    jobs: int | None = None,
    progress: Callable[[str, Progress], object] | None = None,
) -> Comparison:
    """Runs several configurations, side by side in threads, and compares them with the first.

    Of a single one with tenants, each of them is run alone too: `slowdowns` of the comparison says what they lose by
    each other.

    A configuration that cannot be used, or whose run fails, does not stop the others: `errors` of the comparison says
    why. Runs that differ only in what does not age a device share the aged device, which changes no figure.

    Args:
        configs: configurations, or configurations by label; a single string or path is one configuration, and so is a
            dictionary whose keys are those of a configuration, such as `preset` and `workload`.
        vary: for every key a list of values; each configuration is run with each combination of them.
        sets: settings for all runs.
        trace: a trace for all runs, as :func:`run` takes it.
        columns: which column of its table is what.
        bound: whether each configuration is run with `ftl.separation=future` too, and told how far it is from that.
        change: a function that each run goes through first, such as :func:`ftlab.fio.running.on`.
        until: `"steady"` or `"end-of-life"`, of each run; see :func:`run`.
        out: a directory for the comparison, with a directory for each run in it. Runs that are finished are kept there
            until the comparison is: after an interruption the same call takes them up.
        plots: whether the comparison and its runs have plots in `out`.
        jobs: runs at once; by default as many as there are processors, and memory for.
        progress: called with the label of a run, from the run's thread.

    Raises:
        ConfigError: none of the configurations can be used.
        InputError: a trace or state file of all of them, or the output directory, cannot be used.
        RunError: no run came to its end.
        OutputError: the runs are over, but their output could not be written; the error has the comparison.
    """
    from ftlab.results.comparison import Comparison

    tell = arguments.function(progress, "progress")
    everything = plan(configs, vary=vary, sets=sets, trace=trace, columns=columns)
    if change is not None:
        everything = [change(job) for job in everything]
    if bound:
        everything += bound_of.bounds(everything)
    usable, errors = _usable(everything, tell, until)
    _check_values(vary or {}, everything, errors)
    heard = _heard(tell, until, usable)
    is_of_tenants = len(everything) == len(usable) == 1 and tenants.has_several(everything[0])
    threads = at_once(list(usable.values()), jobs)
    writer = _writer(None if out is None else arguments.file_name(out, "out"), everything)
    store = None if writer is None else Store(writer.path / output.KEPT)
    with ExitStack() as stack:
        place = (
            writer.path
            if writer is not None
            else Path(stack.enter_context(TemporaryDirectory(prefix="ftlab-")))
        )
        results = _run_all(list(usable.values()), threads, heard, store, place)
        if is_of_tenants and isinstance(together := results[everything[0].label], Result):
            others = tenants.alone(everything[0], together)
            everything += others
            results |= _run_all(others, at_once(others, jobs), tell, store, place)
    # In the order of the configurations, with what could not even begin.
    made = {job.label: results.get(job.label) or errors[job.label] for job in everything}
    comparison = Comparison(
        {label: result for label, result in made.items() if isinstance(result, Result)},
        {job.label: job.origin for job in everything},
        {label: str(error) for label, error in made.items() if isinstance(error, Error)},
    )
    if not comparison.results:
        raise _worst(list(made.values()))
    if writer is not None:
        try:
            writer.write_comparison(
                comparison.to_json(), comparison.markdown(), comparison.results, plots=plots,
                # What failed may be mended, and the others need not be run again for that.
                keeps=bool(comparison.errors),
            )  # fmt: skip
        except RunError as error:
            # Not if a run is kept in it.
            with suppress(OSError):
                (writer.path / output.KEPT).rmdir()
            raise output.OutputError([str(error)], comparison) from None
    return comparison


def presets() -> dict[str, str]:
    """The built-in configurations by name: the whole of each as TOML text, with the comments of those it builds on."""
    return {name: text for name, _, text, _ in _core.presets()}


def resolve(config: Config, *, sets: Sets = (), trace: Trace | None = None) -> dict[str, Any]:
    """The configuration with every default filled in, as the summary has it.

    Raises:
        ConfigError: the configuration cannot be used.
    """
    return Job.of(config, sets, trace).resolve()


def registry() -> dict[str, Any]:
    """All choices: features of the chips, seams and workload generators, with their parameters and ranges."""
    found: dict[str, Any] = json.loads(_core.registry())
    return found


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a comparison."""

    label: str
    """Its name in tables and plots."""
    source: Source
    """Its configuration."""
    sets: list[str]
    """Settings on top."""
    trace: str | None
    """A trace in place of the configuration's workload source."""
    written: Mapping[str, str] = field(default_factory=dict)
    """How the user wrote settings, by key, where it was not `--set KEY=`."""
    table: columnar.Given | None = None
    """The trace where it is no file."""

    @classmethod
    def of(cls, config: Config, sets: Sets, trace: Trace | None, columns: str | None = None) -> Job:
        """The run of one configuration.

        Raises:
            ConfigError: something given is no configuration or no setting.
            InputError: something given is no name of a file.
        """
        source = Source.of(config)
        settings = _with_columns(set_list(sets), columns)
        name, table = _trace(trace, settings)
        return cls(source.name, source, settings, name, table=table)

    @property
    def origin(self) -> dict[str, Any]:
        """How to repeat it."""
        config = self.source.text if self.source.kind in ("argument", "file") else None
        return {"config": config, "sets": self.sets, "trace": self.trace}

    def resolve(self) -> dict[str, Any]:
        """The configuration with every default filled in."""
        with self._naming_options():
            _, text = _core.resolve(self.source.kind, self.source.text, self.sets, self.trace)
        resolved: dict[str, Any] = json.loads(text)
        return resolved

    def memory(self) -> int:
        """Bytes of memory that it needs, about.

        Raises:
            ConfigError: the configuration cannot be used, or there is not as much memory.
        """
        with self._naming_options():
            return _core.memory_needed(self.source.kind, self.source.text, self.sets, self.trace)

    @contextmanager
    def _naming_options(self) -> Iterator[None]:
        """The engine knows settings only; a user who wrote `--vary` or a file is to find that in the message."""
        try:
            yield
        except ConfigError as error:
            message = str(error)
            for key, written in self.written.items():
                message = message.replace(f"--set {key}=", written)
            raise ConfigError(message) from None

    def run(self, progress: Callable[[Progress], object] | None) -> Result:
        """Runs it on this thread."""
        result, _ = self.simulate(progress)
        return result

    def simulate(
        self, progress: Callable[[Progress], object] | None, **files: Any
    ) -> tuple[Result, list[str]]:
        """Runs it on this thread; the result, and why which of the files could not be written."""
        each, unwritten = self.samples(progress, **files)
        summary = sampling.together([one.summary for one in each])
        result = Result(summary, each[0].tables)
        summary["notes"] = text.notes(result)
        return result, [f"error: {problem}" for problem in unwritten]

    def samples(
        self, progress: Callable[[Progress], object] | None, **files: Any
    ) -> tuple[list[Result], list[str]]:
        """Runs its samples one after the other, or the whole where it asks for none; the result of each, and why which
        of the files could not be written.
        """
        tell = None if progress is None else (lambda *now: progress(Progress(*now)))
        trace = self._given()
        path, sets = self.trace, self.sets
        with self._naming_options(), nullcontext() if trace is None else trace.renaming():
            if trace is not None:
                path = trace.path
                sets = sets if trace.engine is None else [*sets, COLUMNS_SET + json.dumps(trace.engine)]

            def sample(number: int) -> Any:
                return _core.run(
                    self.source.kind, self.source.text, sets, path, progress=tell, sample=number, **files
                )

            told, tables, unwritten = sample(0)
            each = [Result(json.loads(told), Tables(tables))]
            for number in range(1, each[0].summary["config"]["run"].get("sample_hashes", 1)):
                told, tables, _ = sample(number)
                each.append(Result(json.loads(told), Tables(tables)))
        if trace is not None:
            for one in each:
                trace.described(one.summary)
        return each, unwritten

    def _given(self) -> columnar.Given | None:
        """The stand-in that the engine is handed for a trace that it cannot read itself."""
        if self.table is not None:
            return self.table
        place = Path(self.source.text) if self.source.kind in ("file", "argument") else None
        if place is not None and place.exists() and not place.is_file():
            # A pipe is read once, by the engine.
            return None
        workload = self.resolve()["workload"]
        if "trace" not in workload:
            return None
        return columnar.of_file(workload["trace"], workload.get("trace_columns"))


def plan(
    configs: PathText | Sequence[Config] | Mapping[str, Config],
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    sets: Sets = (),
    trace: Trace | None = None,
    columns: str | None = None,
) -> list[Job]:
    """The runs of a comparison, with labels that tell them apart.

    Raises:
        ConfigError: there is nothing to compare, or a key has no values to vary over.
    """
    if isinstance(configs, str | PathLike) or (isinstance(configs, Mapping) and is_configuration(configs)):
        configs = [configs]
    named: Iterable[tuple[str | None, Config]] = (
        [(arguments.text(label, "a label of `configs`"), config) for label, config in configs.items()]
        if isinstance(configs, Mapping)
        else [(None, config) for config in arguments.listed(configs, "`configs`")]
    )
    base = _with_columns(set_list(sets), columns)
    variants = _variants({} if vary is None else vary, base)
    name, table = _trace(trace, base)
    found = [(called, Source.of(config)) for called, config in named]
    if not found:
        raise ConfigError(
            "error: nothing to compare: `configs` is empty; expected at least one configuration"
        )
    jobs = []
    for called, source in found:
        for words, extra in variants:
            parts = [] if len(found) == 1 and words else [called or source.name]
            label = " ".join([*parts, *words])
            written = {key: f"--vary {key}=" for key in vary or ()}
            jobs.append(Job(label, source, base + extra, name, written, table))
    return _told_apart(jobs)


def _trace(trace: Trace | None, sets: Sequence[str]) -> tuple[str | None, columnar.Given | None]:
    """A trace's name in a configuration, and its content where no file has that name."""
    if trace is None:
        return None, None
    table = columnar.of_argument(trace, _columns_of(sets))
    return (arguments.trace_name(trace), None) if table is None else (table.name, table)


COLUMNS_SET = "workload.trace_columns="


def _with_columns(sets: list[str], columns: str | None) -> list[str]:
    return sets if columns is None else [*sets, COLUMNS_SET + json.dumps(columns)]


def _columns_of(sets: Sequence[str]) -> str | None:
    """The settings about columns."""
    said = [word.removeprefix(COLUMNS_SET) for word in sets if word.startswith(COLUMNS_SET)]
    return None if not said else said[-1].strip('"')


COMBINATIONS_MAX = 100_000
"""Runs of a comparison at most; the settings of many more would fill the memory before the first begins."""


def _check_keys(vary: Sequence[str], sets: Sequence[str]) -> None:
    """Refuses keys of which only one would have a say: the columns would be called after what does not hold."""
    choice = "expected the choice with its parameters as one value: `ftl.victim=greedy,{ rga = { d = 4 } }`"
    for one, other in itertools.combinations(vary, 2):
        if exclude_each_other(one, other):
            raise ConfigError(f"error: `vary` has `{one}` and `{other}`, which make a choice twice; {choice}")
    for word in sets:
        key, _, value = word.partition("=")
        if lost := [later for later in vary if loses(key.strip(), value, later)]:
            raise ConfigError(
                f"error: `vary` has `{lost[0]}`, and `{word}` is set for all runs; only one has a say; {choice}"
            )


def _variants(vary: Mapping[str, Sequence[Any]], sets: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """The combinations: words for the label, and settings."""
    if not isinstance(vary, Mapping):
        raise ConfigError(
            f"error: `vary` is {arguments.kind_of(vary)}; expected a dictionary of lists of values by key"
        )
    # Before any is made of them: a range may have more than the memory holds.
    count = math.prod(
        max(1, len(choices)) for choices in vary.values() if isinstance(choices, range | list | tuple)
    )
    if count > COMBINATIONS_MAX:
        raise ConfigError(
            f"error: `vary` has {count:,} combinations of values; expected at most {COMBINATIONS_MAX:,}"
        )
    axes = []
    # A word such as `greedy` says itself what it is; a number needs its key.
    spoken = {}
    for key, choices in vary.items():
        key = arguments.text(key, "a key of `vary`")
        values = [plain(value, f"`{key}`") for value in arguments.listed(choices, f"`{key}` of `vary`")]
        if not values:
            raise ConfigError(f"error: `{key}` varies over nothing; expected a list of values")
        axes.append([(key, value) for value in values])
        spoken[key] = all(isinstance(value, str) and value[:1].isalpha() for value in values)
    _check_keys(list(spoken), sets)
    if math.prod(map(len, axes)) > COMBINATIONS_MAX:
        raise ConfigError(
            f"error: `vary` has {math.prod(map(len, axes)):,} combinations of values; expected at most "
            f"{COMBINATIONS_MAX:,}"
        )
    combinations = []
    for combination in itertools.product(*axes):
        words = [
            str(value) if spoken[key] else f"{key.rpartition('.')[2]}={_plain(value)}"
            for key, value in combination
        ]
        settings = set_list(dict(combination))
        combinations.append((words, settings))
    return combinations


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _told_apart(jobs: list[Job]) -> list[Job]:
    """Numbers after labels that occur more than once."""
    seen: dict[str, int] = {}
    taken = {job.label for job in jobs}
    result = []
    for job in jobs:
        label = job.label
        while label in seen:
            seen[job.label] += 1
            label = f"{job.label} ({seen[job.label]})"
            if label in taken:
                continue
        seen.setdefault(label, 1)
        result.append(replace(job, label=label))
    return result


def at_once(jobs: Sequence[Job], wanted: int | None) -> int:
    """The number of runs that go on at once: as many as there is memory for, unless the caller wants a number.

    Raises:
        ConfigError: there is no memory for one of them, or for as many as are wanted.
    """
    most = os.cpu_count() or 1 if wanted is None else arguments.count(wanted, "jobs")
    most = min(most, len(jobs))
    needs = sorted((job.memory() for job in jobs), reverse=True)
    room = _core.memory_room()
    if room is None:
        return most
    there, limit = room
    fitting = sum(total <= there for total in itertools.accumulate(needs[:most]))
    if fitting < most and wanted is not None:
        needed = text.size(sum(needs[:most]))
        raise ConfigError(
            f"error: `jobs` is {wanted}, and {most} runs at once need {needed} of memory, where there are "
            f"{text.size(there)}\nhint: expected at most {max(1, fitting)}; limited by {limit}"
        )
    return max(1, fitting)


def _writer(out: PathText | None, jobs: Sequence[Job]) -> output.OutputDirectory | None:
    """The directory of a comparison."""
    if out is None:
        return None
    whole = output.OutputDirectory(out, output.COMPARISON_FILES)
    for name in output.run_directories([job.label for job in jobs]).values():
        # Made when there is something to write.
        if os.path.lexists(whole.path / name):
            output.OutputDirectory(whole.path / name)
    return whole


def _usable(
    jobs: Sequence[Job], progress: Callable[[str, Progress], object] | None, until: str | None = None
) -> tuple[dict[str, Job], dict[str, Error]]:
    """The runs that can begin, with their end, and why the others cannot, by label.

    Raises:
        ConfigError: none can.
        InputError: none can.
    """
    usable: dict[str, Job] = {}
    errors: dict[str, Error] = {}
    for job in jobs:
        try:
            job = ends.applied(job, until)
            job.memory()
            usable[job.label] = job
        except (ConfigError, InputError) as error:
            errors[job.label] = error
    if not usable:
        raise next(iter(errors.values()))
    if progress is not None:
        for label in errors:
            progress(label, Progress(FAILED, 0.0, 0, 0, 1.0))
    return usable, errors


def _heard(
    tell: Callable[[str, Progress], object] | None, until: str | None, jobs: Mapping[str, Job]
) -> Callable[[str, Progress], object] | None:
    """The progress function of runs with such an end."""
    if tell is None or until != ends.END_OF_LIFE:
        return tell
    of_life = {
        label: ends.by_erases(functools.partial(tell, label), job.resolve()) for label, job in jobs.items()
    }
    return lambda label, now: of_life[label](now)


def _check_values(
    vary: Mapping[str, Sequence[Any]], jobs: Sequence[Job], errors: Mapping[str, Error]
) -> None:
    """Refuses values that none of the configurations can have, before the first run: they are mistakes, not drives.

    Raises:
        ConfigError: there is such a value.
    """
    wrong: dict[str, Error] = {}
    for key, values in vary.items():
        for value in values:
            setting = set_list({key: value})[0]
            having = [job for job in jobs if setting in job.sets]
            if having and all(job.label in errors for job in having):
                wrong.setdefault(str(errors[having[0].label]), errors[having[0].label])
    if wrong:
        first, *others = wrong.values()
        told = "".join(f"\n{other}" for other in others)
        raise ConfigError(f"{first}{told}\nhint: nothing was run; leave out what cannot be, or mend it")


def _worst(errors: Sequence[object]) -> Error:
    """The error of a comparison without a result: of a failed run, or else of a configuration that cannot be used."""
    found = [error for error in errors if isinstance(error, Error)]
    return next((error for error in found if isinstance(error, RunError)), found[0])


def _run_all(
    jobs: Sequence[Job],
    threads: int,
    progress: Callable[[str, Progress], object] | None,
    store: Store | None,
    place: Path,
) -> dict[str, Result | Error]:
    """The results by label, or why there is none. With a store, runs that are kept are read, and each one is kept when
    it is finished. Aged states lie in `place` meanwhile.
    """
    resolved = [job.resolve() for job in jobs]
    keys = ["" if store is None else _key(job) for job in jobs]
    # A kept run that is damaged is nobody's but ours: it is made again.
    kept = [
        None if store is None or not key else store.take(key, Result.load, lambda _: None) for key in keys
    ]
    missing = [i for i, result in enumerate(kept) if result is None]
    states = States(place, [resolved[i] for i in missing])

    def tell(label: str, now: Progress) -> None:
        if progress is not None:
            progress(label, now)

    def one(n: int, go_on: Callable[[], None]) -> Result | Error:
        i = missing[n]
        job = jobs[i]
        try:
            result = states.run(n, job, runner.stopping(go_on, lambda now: tell(job.label, now)), go_on)
        except (RunError, InputError, ConfigError) as error:
            tell(job.label, Progress(FAILED, 0.0, 0, 0, 1.0))
            return error
        if store is not None and keys[i]:
            # Without room for it the run is not lost: it is printed, and the end says what cannot be written.
            with suppress(InputError, RunError):
                runner.keep(store, keys[i], result)
        tell(job.label, _done(result))
        return result

    for job, result in zip(jobs, kept, strict=True):
        if result is not None:
            tell(job.label, _done(result))
    # Who saves a state goes first; who waits for one comes last, and so never waits for a run that has not begun.
    order = sorted(range(len(missing)), key=states.rank)
    with states:
        made = runner.in_threads(one, order, threads)
    found = {jobs[i].label: result for i, result in enumerate(kept) if result is not None}
    return {**found, **{jobs[missing[n]].label: result for n, result in zip(order, made, strict=True)}}


def _key(job: Job) -> str:
    """The key under which a result is kept; none where a file of it cannot be read, which the run itself will say."""
    try:
        return runner.key_of(job)
    except InputError:
        return ""


def _done(result: Result) -> Progress:
    host = result.summary["host"]
    requests = host["reads"] + host["writes"] + host["trims"] + host["flushes"]
    return Progress(DONE, host["simulated_s"] or 0.0, requests, host["bytes_written"], 1.0)


def _window(window: tuple[str, str] | None) -> tuple[int, int] | None:
    if window is None:
        return None
    if not isinstance(window, tuple | list) or len(window) != 2:
        raise InputError(
            'error: `timeline_window` is no pair of times; expected, for example, `("0s", "200ms")`'
        )
    start, end = (nanoseconds(arguments.text(time, "a time of `timeline_window`")) for time in window)
    if start >= end:
        raise InputError(
            f"error: the window {window[0]}..{window[1]} is empty; expected a start before its end"
        )
    return start, end


def nanoseconds(text: str) -> int:
    """A time such as `1.5ms` in nanoseconds.

    Raises:
        InputError: it is none, or not a whole number of nanoseconds below 2^64.
    """
    found = re.fullmatch(r" *([0-9]{1,20}(?:\.[0-9]{1,9})?) *(ns|us|µs|ms|s) *", text)
    value = (
        Decimal(found[1]) * TIME_UNITS[found[2]] if found else Decimal(0 if text.strip() == "0" else "NaN")
    )
    if value.is_nan() or value != int(value) or value >= 1 << 64:
        raise InputError(f"error: `{text}` is no time; expected a time such as `200ms`, in ns, us, ms or s")
    return int(value)


TIME_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
