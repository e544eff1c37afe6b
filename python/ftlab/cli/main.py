"""The command `ftlab`: arguments in, text and exit codes out.

0: fine. 1: the run failed, or its output could not be written. 2: usage, configuration or input. 130: interrupted, or
128 and the number of another signal. With `--json` stdout holds exactly one JSON object; all else is on stderr.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import UnsupportedOperation
from typing import TextIO

from ftlab import _core
from ftlab._core import ConfigError, InputError, RunError
from ftlab.base import escape
from ftlab.cli.usage import Parser, add_command, say

COMMANDS = (
    ("run", "run one simulation", "ftlab.cli.run_commands:add_run"),
    (
        "compare",
        "run the same workload over several configurations, side by side",
        "ftlab.cli.run_commands:add_compare",
    ),
    ("life", "say how long drives live under a workload", "ftlab.cli.life_command:add_arguments"),
    ("sweep", "run many configurations, into one table", "ftlab.cli.sweep_command:add_arguments"),
    ("trace", "what a trace holds", "ftlab.cli.trace_commands:add_actions"),
    ("presets", "list the built-in configurations, or print one", "ftlab.cli.config_commands:add_presets"),
    (
        "init",
        "write a configuration with comments, from a datasheet's numbers or from questions",
        "ftlab.cli.init:add_arguments",
    ),
    (
        "explain",
        "say what a key or a choice of the configuration means",
        "ftlab.cli.config_commands:add_explain",
    ),
    ("config", "check, show and compare configurations", "ftlab.cli.config_commands:add_config"),
    (
        "completion",
        "print a script that completes commands, options and keys",
        "ftlab.cli.config_commands:add_completion",
    ),
    ("explain-tail", "say what slow requests of a run waited for", "ftlab.cli.tail_command:add_arguments"),
    ("smart", "put a run in the names of drives' own logs", "ftlab.cli.smart_command:add_arguments"),
    ("serve", "serve a drive of real bytes as a block device", "ftlab.cli.serve_command:add_arguments"),
    (
        "hardware",
        "put figures of real drives beside simulated ones",
        "ftlab.cli.hardware_command:add_arguments",
    ),
    ("reproduce", "run a paper's experiments and judge its claims", "ftlab_reproduce.command:add_arguments"),
    ("report", "make one HTML page from results", "ftlab.cli.report_command:add_arguments"),
)
"""The commands: name, what it does, and the function that adds its arguments, which is imported with it only."""


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
        return _interrupted(interrupt)
    except (ConfigError, InputError) as error:
        say(str(error))
        return 2
    except RunError as error:
        say(str(error))
        return 1
    except MemoryError:
        say("error: not enough memory for this device\nhint: choose a smaller one, or fewer --jobs")
        return 1
    except OSError as error:
        # Of files the commands tell themselves; what is left is the output.
        _give_up(sys.stdout)
        say(f"error: the output cannot be written: {error.strerror or error}")
        return 1
    except Exception as error:  # No traceback reaches a user.
        if (meant := _interruption(error)) is not None:
            return _interrupted(meant)
        say(
            f"error: internal error: {type(error).__name__}: {error}\n"
            "This is a fault of ftlab, not of the input; please report it with the line below.\n"
            f"replay: ftlab {shlex.join(argv)}  # ftlab {_core.__version__}"
        )
        if os.environ.get("FTLAB_TRACEBACK"):
            raise
        return 1


def _interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """The interruption that an error came of: where a lock is just being taken, Python makes an error of one."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error


def _interrupted(interrupt: KeyboardInterrupt) -> int:
    """Says that the command was interrupted; its exit code."""
    _give_up(sys.stdout)
    say("interrupted")
    return 128 + getattr(interrupt, "number", signal.SIGINT)


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
    """The command line's grammar; the arguments of a command are there once it is chosen (:meth:`Parser.filled`)."""
    top = Parser(
        prog="ftlab",
        description="A laboratory for flash translation layers.",
        epilog="exit codes: 0 fine, 1 the run failed, 2 usage, configuration or input error",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"ftlab {_core.__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, title="commands")
    for name, line, source in COMMANDS:
        add_command(commands, name, line, source)
    return top
