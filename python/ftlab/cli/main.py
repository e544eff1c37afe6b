"""The command `ftlab`: arguments in, text and exit codes out.

0: fine. 1: the run failed, or its output could not be written. 2: usage, configuration or input. 130: interrupted, or
128 and the number of another signal. With `--json` stdout holds exactly one JSON object; all else is on stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from io import UnsupportedOperation
from pathlib import Path
from typing import Any, TextIO

from ftlab import _core
from ftlab._core import ConfigError, InputError, RunError
from ftlab.api.configs import Raw, config_argument
from ftlab.api.simulation import compare, nanoseconds, run
from ftlab.base import escape
from ftlab.cli import config_commands, init, report_command, sweep_command, tail_command
from ftlab.cli.live import Live
from ftlab.cli.usage import Parser, add_command, check_jobs, nearest, one_of, plain, pointed
from ftlab.results import output, text
from ftlab.results.output import OutputError
from ftlab.traces import columnar, listing
from ftlab_reproduce import command as reproduce


def main(argv: Sequence[str]) -> int:
    """Runs a command line; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        escape.speak(stream)
    try:
        code = _main(argv)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever read the output has seen enough.
        _give_up(sys.stdout)
        return 141
    except KeyboardInterrupt as interrupt:
        _give_up(sys.stdout)
        _say("interrupted")
        return 128 + getattr(interrupt, "number", signal.SIGINT)
    except (ConfigError, InputError) as error:
        _say(str(error))
        return 2
    except RunError as error:
        _say(str(error))
        return 1
    except MemoryError:
        _say("error: not enough memory for this device\nhint: choose a smaller one, or fewer --jobs")
        return 1
    except OSError as error:
        # Of files the commands tell themselves; what is left is the output.
        _give_up(sys.stdout)
        _say(f"error: the output cannot be written: {error.strerror or error}")
        return 1
    except Exception as error:  # No traceback reaches a user.
        _say(
            f"error: internal error: {type(error).__name__}: {error}\n"
            "This is a fault of ftlab, not of the input; please report it with the line below.\n"
            f"replay: ftlab {shlex.join(argv)}  # ftlab {_core.__version__}"
        )
        if os.environ.get("FTLAB_TRACEBACK"):
            raise
        return 1


def _give_up(stream: TextIO) -> None:
    """Leaves what was not written yet unwritten: Python would try once more, and complain, at exit."""
    # A stream of whoever calls this from Python has no file behind it, and nothing to complain.
    with suppress(UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _main(argv: Sequence[str]) -> int:
    Parser.argv = argv
    options = parser().parse_args(argv)
    if getattr(options, "json", False):
        escape.speak_json()
    command: Callable[[argparse.Namespace], None] = options.command
    command(options)
    return 0


def parser() -> Parser:
    """The command line's grammar."""
    top = Parser(
        prog="ftlab",
        description="A laboratory for flash translation layers.",
        epilog="exit codes: 0 fine, 1 the run failed, 2 usage, configuration or input error",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"ftlab {_core.__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, title="commands")
    _add_run(commands)
    _add_compare(commands)
    sweep_command.add_parser(commands)
    _add_trace(commands)
    _add_presets(commands)
    init.add_parser(commands)
    config_commands.add_parsers(commands)
    tail_command.add_parser(commands)
    reproduce.add_parser(commands)
    report_command.add_parser(commands)
    return top


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
        "--out", metavar="DIR", help="write summary, tables (Parquet) and plots to this directory"
    )
    command.add_argument(
        "--no-plots", action="store_false", dest="plots", help="write no plots to the directory of `--out`"
    )
    command.add_argument("--json", action="store_true", help="one JSON object on stdout, all else on stderr")


def _add_run(commands: Any) -> None:
    command = add_command(commands, "run", "run one simulation", _run)
    command.add_argument("config", metavar="CONFIG", help="a TOML file or the name of a preset")
    _add_common(command)
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


def _add_compare(commands: Any) -> None:
    command = add_command(
        commands, "compare", "run the same workload over several configurations, side by side", _compare
    )
    command.add_argument("configs", metavar="CONFIG", nargs="+", help="TOML files or names of presets")
    command.add_argument(
        "--vary", type=plain, action="append", default=[], metavar="KEY=A,B,...",
        help="run each configuration with each of these values, for example ftl.victim=greedy,rga,fifo; "
        "several --vary are combined",
    )  # fmt: skip
    _add_common(command)
    command.add_argument(
        "--jobs", type=int, metavar="N", help="runs at once (default: as many as processors)"
    )


def _add_trace(commands: Any) -> None:
    formats = json.loads(_core.trace_formats())
    command = commands.add_parser(
        "trace", help="what a trace holds", description="What a trace holds.", allow_abbrev=False
    )
    actions = command.add_subparsers(metavar="ACTION", required=True, title="actions")
    info = add_command(actions, "info", "read a whole trace and show what it holds", _trace_info)
    head = add_command(actions, "head", "show the first requests of a trace", _trace_head)
    convert = add_command(actions, "convert", "write a trace in another format", _trace_convert)
    for action in (info, head, convert):
        action.add_argument(
            "file",
            metavar="FILE",
            help="the trace, plain or compressed, or `-` for standard input; its format is detected",
        )
        action.add_argument(
            "--format", type=plain, metavar="NAME", help=f"in place of detection: {_names(formats['read'])}"
        )
        action.add_argument("--columns", type=plain, metavar="COLUMNS", help=COLUMNS_HELP)
        action.add_argument(
            "--skip-bad", action="store_true", help="count lines that cannot be read and go on"
        )
        action.add_argument("--json", action="store_true", help="one JSON object on stdout")
    head.add_argument("-n", "--requests", type=int, default=10, metavar="N", help="how many (default 10)")
    convert.add_argument("out", metavar="OUT", help="the file to write; .gz, .zst and .xz are compressed")
    convert.add_argument(
        "--to", type=plain, metavar="NAME", default="msr", help=f"{_names(formats['written'])} (default msr)"
    )


def _add_presets(commands: Any) -> None:
    command = add_command(commands, "presets", "list the built-in configurations, or print one", _presets)
    command.add_argument("name", type=plain, metavar="NAME", nargs="?", help="the preset to print as TOML")
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")


COLUMNS_HELP = (
    "of a table in no known format: which column is what, such as time=2:us,op=3,offset=5,size=6, by number or by name"
    " in the first row"
)

HEAD_MAX = 1_000_000
"""Requests that `head` shows at most: they are in memory until they are printed."""


def _names(formats: Sequence[dict[str, str]]) -> str:
    return ", ".join(entry["name"] for entry in formats)


def _run(options: argparse.Namespace) -> None:
    window = None if options.timeline_window is None else _window(options.timeline_window)
    if window is not None and options.timeline is None:
        raise pointed(Parser.argv, _at("--timeline-window"), "`--timeline-window` without `--timeline`",
                      "expected `--timeline FILE` as well")  # fmt: skip
    unwritten: OutputError | None = None
    try:
        with Live(sys.stderr) as tell:
            result = run(
                config_argument(options.config),
                sets=options.sets,
                trace=options.trace,
                columns=options.columns,
                out=options.out,
                plots=options.plots,
                timeline=options.timeline,
                timeline_window=window,
                save_state=options.save_state,
                progress=None if tell is None else (lambda now: tell("", now)),
            )
    except OutputError as error:
        result, unwritten = error.result, error
    if options.json:
        sys.stdout.write(output.json_text(result.summary))
    else:
        sys.stdout.write(text.run_summary(result, _title(options.config)))
    _tell_files(options, unwritten)


def _compare(options: argparse.Namespace) -> None:
    check_jobs(options.jobs)
    vary = dict(_varied(word) for word in options.vary)
    configs = [config_argument(config) for config in options.configs]
    if len(configs) == 1 and not vary:
        raise pointed(Parser.argv, None, "one configuration and nothing to compare it with",
                      "expected a second CONFIG, or `--vary KEY=A,B`")  # fmt: skip
    unwritten: OutputError | None = None
    try:
        with Live(sys.stderr) as tell:
            comparison = compare(
                configs, vary=vary, sets=options.sets, trace=options.trace, columns=options.columns, out=options.out,
                plots=options.plots, jobs=options.jobs, progress=tell,
            )  # fmt: skip
    except KeyboardInterrupt:
        if options.out is not None:
            _say(f"what is finished is kept in {options.out}; the same command goes on from there")
        raise
    except OutputError as error:
        comparison, unwritten = error.result, error
    if options.json:
        sys.stdout.write(output.json_text(comparison.to_json()))
    else:
        width = shutil.get_terminal_size((110, 24)).columns
        sys.stdout.write(comparison.table(width))
        sys.stdout.write("\nwhy\n" + text.listed(comparison.reasons, width))
        if lowest := comparison.lowest:
            sys.stdout.write("\nlowest p99.9\n" + text.listed(lowest, width))
        for note in comparison.notes:
            sys.stdout.write(f"note: {note}\n")
    _tell_files(options, unwritten)


def _trace_info(options: argparse.Namespace) -> None:
    with _trace_file(options) as (path, form, table):
        found = json.loads(_core.trace_info(path, format=form, skip_bad=options.skip_bad))
        if table is not None:
            found |= {"path": table.name, "columns": table.columns, "columns_guessed": table.guessed}
            found["format"] = table.format or found["format"]
    sys.stdout.write(output.json_text(found) if options.json else listing.info_text(found))


def _trace_head(options: argparse.Namespace) -> None:
    if not 1 <= options.requests <= HEAD_MAX:
        raise pointed(Parser.argv, _at(str(options.requests)), f"`-n` is {options.requests}",
                      f"expected at least 1 and at most {HEAD_MAX:,}",
                      "`ftlab trace convert` writes a whole trace")  # fmt: skip
    with _trace_file(options) as (path, form, _):
        pieces = _core.trace_head(path, options.requests, format=form, skip_bad=options.skip_bad)
    found = [record for piece in pieces for record in json.loads(piece)]
    if options.json:
        sys.stdout.write(output.json_text({"path": options.file, "requests": found}))
    else:
        sys.stdout.write(listing.head_text(found))


def _trace_convert(options: argparse.Namespace) -> None:
    output.check_writable(options.out)
    if (
        Path(options.out).exists()
        and Path(options.file).exists()
        and Path(options.out).samefile(options.file)
    ):
        raise pointed(Parser.argv, _at(options.out), "OUT is the trace itself", "expected another file")
    with _trace_file(options) as (path, form, _):
        done = json.loads(
            _core.trace_convert(path, options.out, options.to, format=form, skip_bad=options.skip_bad)
        )
    # What was written to stdout is a trace, and to be nothing else.
    report = sys.stderr if _is_stdout(options.out) else sys.stdout
    if options.json:
        report.write(output.json_text({"path": options.out, "format": options.to, **done}))
        return
    left_out = (
        f"; {text.count(done['left_out'])} left out, which {options.to} cannot express"
        if done["left_out"]
        else ""
    )
    report.write(
        f"{escape.terminal(options.out)}: {text.count(done['requests'])} requests as {options.to}{left_out}\n"
    )


def _trace_file(
    options: argparse.Namespace,
) -> AbstractContextManager[tuple[str, str | None, columnar.Given | None]]:
    """The trace that is asked for, as the engine finds and reads it."""
    if options.columns is not None and options.format is not None:
        raise pointed(Parser.argv, _at(options.columns), "`--columns` and `--format` do not go together",
                      "expected only one of them")  # fmt: skip
    return columnar.for_engine(options.file, options.format, options.columns)


def _is_stdout(path: str) -> bool:
    try:
        return os.path.samestat(Path(path).stat(), os.fstat(sys.stdout.fileno()))
    except OSError:
        return False


def _presets(options: argparse.Namespace) -> None:
    known = {name: (line, toml) for name, line, toml in _core.presets()}
    if options.name is None:
        if options.json:
            sys.stdout.write(
                output.json_text({"presets": [{"name": n, "doc": d} for n, (d, _) in known.items()]})
            )
        else:
            sys.stdout.write(text.columns([[name, line] for name, (line, _) in known.items()]) + "\n")
        return
    if options.name not in known:
        raise pointed(Parser.argv, _at(options.name), f"unknown preset `{options.name}`", one_of(known),
                      nearest(options.name, known))  # fmt: skip
    toml = known[options.name][1]
    sys.stdout.write(output.json_text({"name": options.name, "toml": toml}) if options.json else toml)


def _varied(word: str) -> tuple[str, list[Raw]]:
    """`key=a,b` as a key and its values; commas in brackets or quotes do not separate."""
    key, equals, rest = word.partition("=")
    values = [value.strip() for value in _split(rest)]
    if not equals or not key.strip() or not all(values):
        raise pointed(Parser.argv, _at(word), f"`--vary {word}` varies nothing", "expected KEY=A,B,...")
    return key.strip(), [Raw(value) for value in values]


def _split(text: str) -> list[str]:
    parts, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _window(word: str) -> tuple[str, str]:
    start, dots, end = word.partition("..")
    if not dots or not start or not end:
        raise pointed(
            Parser.argv, _at(word), f"`{word}` is no window of time", "expected FROM..TO, such as 0s..200ms"
        )
    try:
        backwards = nanoseconds(start) >= nanoseconds(end)
    except InputError as error:
        message = str(error).removeprefix("error: ").partition(";")[0]
        raise pointed(Parser.argv, _at(word), message, "expected FROM..TO, such as 0s..200ms") from None
    if backwards:
        raise pointed(
            Parser.argv, _at(word), f"the window `{word}` is empty", "expected a start before its end"
        )
    return start, end


def _at(word: str) -> int | None:
    """Where on the command line a word is."""
    for i, candidate in enumerate(Parser.argv):
        if candidate == word or candidate.endswith(f"={word}"):
            return i
    return None


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
        _say(f"written to {options.out}: {report.name}, tables{' and plots' if options.plots else ''}")
    if getattr(options, "timeline", None) is not None:
        _say(f"timeline written to {options.timeline}; open it at https://ui.perfetto.dev")
    if getattr(options, "save_state", None) is not None:
        _say(f"device state written to {options.save_state}")


def _say(message: str) -> None:
    sys.stdout.flush()
    try:
        print(escape.terminal(message, keep="\n"), file=sys.stderr, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
