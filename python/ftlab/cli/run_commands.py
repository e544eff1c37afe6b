"""The commands `ftlab run` and `ftlab compare`."""

from __future__ import annotations

import argparse
import math
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ftlab import _core
from ftlab._core import InputError, RunError
from ftlab.api.configs import Raw, Source, config_argument, defaults_taken
from ftlab.api.runner import Tell
from ftlab.api.simulation import DONE, FAILED, Job, Progress, compare, nanoseconds, resolve, run
from ftlab.api.until import END_OF_LIFE, STEADY
from ftlab.base import escape
from ftlab.base.hints import nearest, one_of
from ftlab.cli.live import Live
from ftlab.cli.usage import COLUMNS_HELP, Parser, at, check_jobs, plain, pointed, say
from ftlab.results import output, text
from ftlab.results.output import OutputError
from ftlab.results.tenants import active

if TYPE_CHECKING:
    from ftlab.fio.running import Prepared


ENDS = (STEADY, END_OF_LIFE)
"""The ends of runs besides that of their workload."""


def add_run(command: Parser) -> None:
    """Adds the arguments of `ftlab run`."""
    command.runs(_run)
    command.add_argument("config", metavar="CONFIG", help="a TOML file or the name of a preset")
    _add_common(command)
    command.add_argument(
        "--write-config", metavar="FILE",
        help="with --fio: write the run as a configuration to this file (`-`: stdout), and run nothing",
    )  # fmt: skip
    command.add_argument(
        "--output-format", type=plain, metavar="FORMAT", dest="form",
        help="with --fio: `normal`, or `json` for the object that fio prints, on stdout alone",
    )  # fmt: skip
    command.add_argument(
        "--timeline", metavar="FILE", help="record what channels, dies and planes did, for Perfetto"
    )
    command.add_argument(
        "--timeline-window",
        type=plain,
        metavar="FROM..TO",
        help="the simulated time to record, for example 0s..200ms",
    )
    command.add_argument(
        "--save-state", metavar="FILE", help="save the preconditioned device, for later runs"
    )
    command.add_argument(
        "--states", metavar="DIR",
        help="keep the preconditioned device in this directory, and begin from there whenever one would age just so",
    )  # fmt: skip
    command.add_argument(
        "--image", metavar="FILE",
        help="the file that holds the drive of the executor `device`; it is made where there is none, and is sparse",
    )  # fmt: skip


def add_compare(command: Parser) -> None:
    """Adds the arguments of `ftlab compare`."""
    command.runs(_compare)
    command.add_argument("configs", metavar="CONFIG", nargs="+", help="TOML files or names of presets")
    command.add_argument(
        "--vary", type=plain, action="append", default=[], metavar="KEY=A,B,...",
        help="run each configuration with each of these values, for example ftl.victim=greedy,rga,fifo; "
        "several --vary are combined",
    )  # fmt: skip
    command.add_argument(
        "--bound", action="store_true",
        help="run each with `ftl.separation=future` too, and say how far it is from that",
    )  # fmt: skip
    _add_common(command)
    command.add_argument(
        "--jobs", type=int, metavar="N", help="runs at once (default: as many as processors)"
    )


def add_until(command: Parser) -> None:
    """Adds the ends of runs."""
    command.add_argument(
        "--until", type=plain, metavar="END",
        help="`steady`: the workload ages the device first, a trace in rounds, until its WAF holds still; "
        "`end-of-life`: go on until so many blocks have failed that the device is read-only (`device.bad_blocks`), "
        "whatever end the workload has",
    )  # fmt: skip


def check_until(options: argparse.Namespace) -> None:
    """Refuses an end of runs that there is none of, and one with a job file.

    Raises:
        UsageError: it is refused.
    """
    if options.until is None:
        return
    if options.until not in ENDS:
        raise pointed(Parser.argv, at(options.until), f"no run ends with `{options.until}`", one_of(ENDS),
                      nearest(options.until, ENDS))  # fmt: skip
    if getattr(options, "fio", None) is not None:
        raise pointed(
            Parser.argv, at("--until"), "`--until` with `--fio`", "a job file says when its jobs end"
        )


def _add_common(command: Parser) -> None:
    command.add_argument(
        "--set", type=plain, action="append", default=[], metavar="KEY=VALUE", dest="sets",
        help="override a setting, for example ftl.victim=rga or ftl.victim.rga.d=4; may be repeated",
    )  # fmt: skip
    command.add_argument(
        "--trace",
        metavar="FILE",
        help="replay this trace in place of the configured workload; `-` is standard input",
    )
    command.add_argument("--columns", type=plain, metavar="COLUMNS", help=f"with --trace: {COLUMNS_HELP}")
    command.add_argument(
        "--fio",
        metavar="JOBFILE",
        help="carry out a job file of fio in place of the configured workload; `run` reports in fio's names too",
    )
    command.add_argument(
        "--section", type=plain, metavar="NAME", help="with --fio: the only job of the file to run"
    )
    add_until(command)
    command.add_argument(
        "--out", metavar="DIR", help="write summary, tables (Parquet) and plots to this directory"
    )
    command.add_argument(
        "--no-plots", action="store_false", dest="plots", help="write no plots to the directory of `--out`"
    )
    command.add_argument("--json", action="store_true", help="one JSON object on stdout, all else on stderr")


def _run(options: argparse.Namespace) -> None:
    window = None if options.timeline_window is None else _window(options.timeline_window)
    if window is not None and options.timeline is None:
        raise pointed(Parser.argv, at("--timeline-window"), "`--timeline-window` without `--timeline`",
                      "expected `--timeline FILE` as well")  # fmt: skip
    _tell_defaults([config_argument(options.config)], options.sets)
    check_until(options)
    if options.states is not None and options.save_state is not None:
        raise pointed(
            Parser.argv,
            at("--states"),
            "`--states` and `--save-state`",
            "expected one place for the aged device",
        )
    jobs = _jobs(options)
    if options.write_config is not None:
        _write_config(options, jobs)
        return
    unwritten: OutputError | None = None
    try:
        with Live(sys.stderr, logs=True) as tell:
            result = run(
                config_argument(options.config) if jobs is None else jobs.config,
                sets=options.sets,
                until=options.until,
                trace=options.trace,
                columns=options.columns,
                out=options.out,
                plots=options.plots,
                timeline=options.timeline,
                timeline_window=window,
                save_state=options.save_state,
                states=options.states,
                image=options.image,
                progress=None if tell is None else (lambda now: tell("", now)),
            )
    except OutputError as error:
        result, unwritten = error.result, error
    if options.form == "json":
        assert jobs is not None
        sys.stdout.write(output.json_text(_fio_report().to_json(jobs.plan, result)))
    elif options.json:
        sys.stdout.write(output.json_text({**result.summary, "notes": text.notes(result)}))
    else:
        sys.stdout.write(text.run_summary(result, _title(options.config)))
        if jobs is not None:
            sys.stdout.write("\nin fio's names\n" + _fio_report().text(jobs.plan, result))
    _tell_files(options, unwritten)


def _jobs(options: argparse.Namespace) -> Prepared | None:
    """The job file of the command line, read for its drive; `None` where there is none.

    Raises:
        UsageError: an option of job files is there without one, or one of traces with it.
    """
    _check_fio(options)
    if options.fio is None:
        return None
    if options.form not in (None, "normal", "json"):
        raise pointed(
            Parser.argv, at(options.form), f"`--output-format` cannot be `{options.form}`",
            "expected `normal` or `json`",
        )  # fmt: skip
    if options.form == "json" and options.json:
        raise pointed(
            Parser.argv,
            at("--json"),
            "`--json` and `--output-format json` both want stdout",
            "expected one of them",
        )
    from ftlab.fio import running

    return running.prepare(
        config_argument(options.config), options.fio, section=options.section, sets=options.sets
    )


def _check_fio(options: argparse.Namespace) -> None:
    """Refuses options of job files without one, and one beside a trace."""
    if options.fio is None:
        for option in ("--section", "--output-format", "--write-config"):
            if any(word.partition("=")[0] == option for word in Parser.argv):
                raise pointed(
                    Parser.argv, at(option), f"`{option}` without `--fio`", "expected `--fio JOBFILE` as well"
                )
    elif options.trace is not None or options.columns is not None:
        raise pointed(Parser.argv, at("--fio"), "`--fio` and a trace", "expected one of them")


def _write_config(options: argparse.Namespace, jobs: Prepared | None) -> None:
    """Writes the run of a job file as a configuration."""
    assert jobs is not None
    source = Source.of(jobs.config)
    toml = _core.resolve(source.kind, source.text, options.sets)[0]
    for note in jobs.plan.notes:
        say(f"note: {note}")
    if options.write_config == "-":
        sys.stdout.write(toml)
        return
    try:
        Path(options.write_config).write_text(toml, encoding="utf-8")
    except OSError as error:
        raise InputError(f"error: {options.write_config} cannot be written: {error.strerror}") from None
    say(f"written to {options.write_config}: `ftlab run {options.write_config}` is the same run")


def _fio_report() -> ModuleType:
    """The report in fio's names, which only runs of job files import."""
    from ftlab.fio import report

    return report


def _compare(options: argparse.Namespace) -> None:
    check_jobs(options.jobs)
    check_until(options)
    vary: dict[str, list[Raw]] = {}
    for word in options.vary:
        key, values = _varied(word)
        if key in vary:
            raise pointed(
                Parser.argv, at(word), f"`{key}` is varied twice", f"expected `--vary {key}=A,B` once"
            )
        vary[key] = values
    _check_fio(options)
    configs = [config_argument(config) for config in options.configs]
    tenants = _tenants(configs[0], options) if len(configs) == 1 and not vary else 0
    if len(configs) == 1 and not vary and tenants < 2 and not options.bound:
        raise pointed(Parser.argv, None, "one configuration and nothing to compare it with",
                      "expected a second CONFIG, `--vary KEY=A,B` or `--bound`")  # fmt: skip
    _tell_defaults(
        configs, [*options.sets, *(f"{key}={value}" for key, values in vary.items() for value in values)]
    )
    unwritten: OutputError | None = None
    try:
        with Live(sys.stderr) as live, Tell(None if live else sys.stderr) as tell:
            runs = len(configs) * math.prod(map(len, vary.values())) + tenants
            tell.begin(runs, 0, runs)
            comparison = compare(
                configs, vary=vary, sets=options.sets, trace=options.trace, columns=options.columns,
                change=_change(options), bound=options.bound, until=options.until, out=options.out, plots=options.plots,
                jobs=options.jobs, progress=live or heard(tell),
            )  # fmt: skip
    except KeyboardInterrupt:
        if options.out is not None:
            say(f"what is finished is kept in {options.out}; the same command goes on from there")
        raise
    except OutputError as error:
        comparison, unwritten = error.result, error
    if options.json:
        sys.stdout.write(output.json_text(comparison.to_json()))
    else:
        width = shutil.get_terminal_size((110, 24)).columns
        sys.stdout.write(comparison.table(width))
        if table := comparison.tenants_table():
            sys.stdout.write("\n" + table)
        sys.stdout.write("\nwhy\n" + text.listed(comparison.reasons, width))
        if lowest := comparison.lowest:
            sys.stdout.write("\nlowest p99.9\n" + text.listed(lowest, width))
        for note in comparison.notes:
            sys.stdout.write(f"note: {escape.terminal(note)}\n")
        if comparison.errors:
            sys.stdout.write("\nfailed\n" + text.listed(comparison.failures, width))
    _tell_files(options, unwritten)
    if comparison.errors:
        label, why = next(iter(comparison.errors.items()))
        raise RunError(
            f"error: {len(comparison.errors)} of {len(comparison.results) + len(comparison.errors)} runs failed; "
            f"the first is `{label}`:\n{why}"
        )


def _tenants(config: str | Path, options: argparse.Namespace) -> int:
    """Hosts that share the device, each of which is run alone too."""
    if options.fio is None:
        return len(active(resolve(config, sets=options.sets)))
    from ftlab.fio import running

    made = running.prepare(config, options.fio, section=options.section, sets=options.sets)
    return len(active(made.config))


def _change(options: argparse.Namespace) -> Callable[[Job], Job] | None:
    """The job file of the command line, as a change of each run; `None` where there is none."""
    if options.fio is None:
        return None
    from ftlab.fio import running
    from ftlab.fio.jobfile import JobFile

    file = JobFile.load(options.fio)
    return lambda job: running.on(job, file, options.section)


def heard(tell: Tell) -> Callable[[str, Progress], None]:
    """Tells how far the runs of a comparison are where that is no terminal."""

    def heard(label: str, now: Progress) -> None:
        if now.phase == FAILED:
            tell.warn(
                f"`{escape.terminal(label)}` has no result; the others go on, and why is told at the end"
            )
        if now.phase in (DONE, FAILED):
            tell.done(label, 1.0, failed=now.phase == FAILED)
        else:
            tell.running(label, now.fraction or 0.0, 1.0)

    return heard


def _tell_defaults(configs: Sequence[str | Path], sets: Sequence[str]) -> None:
    """Says which parameters of the configuration a choice that is named alone does not have."""
    for config in configs:
        if Path(config).exists() and not Path(config).is_file():
            # A pipe is read once, by the run.
            continue
        for note in defaults_taken(config, sets):
            say(f"note: {note}")


def _varied(word: str) -> tuple[str, list[Raw]]:
    """`key=a,b` as a key and its values; commas in brackets or quotes do not separate."""
    key, equals, rest = word.partition("=")
    values = [value.strip() for value in _split(rest)]
    if not equals or not key.strip() or not all(values):
        raise pointed(Parser.argv, at(word), f"`--vary {word}` varies nothing", "expected KEY=A,B,...")
    return key.strip(), [Raw(value) for value in values]


def _split(text: str) -> list[str]:
    parts, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "[{(") - (letter in "]})")
        if letter == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _window(word: str) -> tuple[str, str]:
    start, dots, end = word.partition("..")
    if not dots or not start or not end:
        raise pointed(
            Parser.argv, at(word), f"`{word}` is no window of time", "expected FROM..TO, such as 0s..200ms"
        )
    try:
        backwards = nanoseconds(start) >= nanoseconds(end)
    except InputError as error:
        message = str(error).removeprefix("error: ").partition(";")[0]
        raise pointed(Parser.argv, at(word), message, "expected FROM..TO, such as 0s..200ms") from None
    if backwards:
        raise pointed(
            Parser.argv, at(word), f"the window `{word}` is empty", "expected a start before its end"
        )
    return start, end


def _title(config: str) -> str:
    return Path(config).stem if config.endswith(".toml") else config


def _tell_files(options: argparse.Namespace, unwritten: OutputError | None) -> None:
    """Where the output lies; on stderr, since it is no result.

    Raises:
        OutputError: not all of it could be written, as was caught before the result was printed.
    """
    if unwritten is not None:
        raise unwritten
    if options.out is not None:
        report = Path(options.out) / ("comparison.md" if hasattr(options, "configs") else "summary.json")
        say(f"written to {options.out}: {report.name}, tables{' and plots' if options.plots else ''}")
    if getattr(options, "timeline", None) is not None:
        say(f"timeline written to {options.timeline}; open it at https://ui.perfetto.dev")
    if getattr(options, "save_state", None) is not None:
        say(f"device state written to {options.save_state}")
