"""Errors of the command line, as those of a configuration: where, what was found, what would be right."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from ftlab._core import ConfigError
from ftlab.base import escape
from ftlab.base.hints import nearest, one_of

COLUMNS_HELP = (
    "of a table in no known format: which column is what, such as time=2:us,op=3,offset=5,size=6, by number or by name"
    " in the first row"
)


class UsageError(ConfigError):
    """A command line that cannot be understood (exit code 2)."""


def pointed(
    argv: Sequence[str], at: int | None, message: str, expected: str = "", hint: str = ""
) -> UsageError:
    """An error that shows the command line and points at its argument `at`; `None`: behind the last."""
    words = ["ftlab", *(escape.terminal(shlex.quote(word)) for word in argv)]
    line = " ".join(words)
    place = len(words) if at is None else at + 1
    column = len(" ".join(words[:place])) + 1
    if len(line) > 160:
        # Long lines would wrap, and the mark would point nowhere.
        cut = max(0, column - 60)
        line, column = ("..." if cut else "") + line[cut:][:120], column - cut + (3 if cut else 0)
    mark = "^" * (1 if at is None else max(1, min(len(words[place]), 60)))
    text = [
        f"error: {escape.terminal(message)}",
        f" --> command line, argument {place}",
        "  |",
        f"  | {line}",
        f"  | {' ' * column}{mark} {escape.terminal(expected)}".rstrip(),
    ]
    if hint:
        text.append(f"hint: {escape.terminal(hint)}")
    return UsageError("\n".join(text))


def plain(word: str) -> str:
    """An argument that is text, whatever the locale took it for: for the option of an `argparse` parser.

    Raises:
        UsageError: it is not UTF-8.
    """
    try:
        return os.fsencode(word).decode("utf-8")
    except UnicodeError:
        raise pointed(
            Parser.argv, _index(Parser.argv, word), f"`{word}` is not UTF-8", "expected text in UTF-8"
        ) from None


def check_jobs(jobs: int | None) -> None:
    """Checks the value of `--jobs`.

    Raises:
        UsageError: it is below 1.
    """
    if jobs is not None and jobs < 1:
        raise pointed(Parser.argv, at(str(jobs)), f"`--jobs` is {jobs}", "expected at least 1")


EXTRAS = {"ftlab_reproduce": ("papers", "the studies of papers")}
"""Packages of commands that are distributions of their own: the extra that installs one, and what it has."""


class NotInstalledError(UsageError):
    """A command whose distribution is not installed."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are :class:`UsageError`.

    The parser of a command has its arguments once they are asked for (:meth:`filled`): a command line imports what its
    own command needs, and nothing of the others.
    """

    argv: Sequence[str] = ()
    """The whole command line, for the errors of this parser and of its commands."""

    source: str = ""
    """The function that adds the arguments, as `module:function`; empty: they are there."""

    def filled(self) -> Parser:
        """This parser, with its arguments.

        Raises:
            NotInstalledError: its distribution is missing.
        """
        if self.source:
            module, _, function = self.source.partition(":")
            try:
                add_arguments = getattr(import_module(module), function)
            except ModuleNotFoundError as error:
                if error.name not in EXTRAS:
                    raise
                extra, what = EXTRAS[error.name]
                raise NotInstalledError(
                    f"error: `{self.prog}` needs {what}: pip install 'ftlab[{extra}]'"
                ) from None
            self.source = ""
            add_arguments(self)
        return self

    def complete(self) -> Parser:
        """This parser, with its arguments, and those of all commands below it that are installed."""
        for action in self.filled()._actions:
            if isinstance(action, argparse._SubParsersAction):
                for command in action.choices.values():
                    with suppress(NotInstalledError):
                        command.complete()
        return self

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As that of argparse."""
        return super(Parser, self.filled()).parse_known_args(args, namespace)

    def runs(
        self, command: Callable[[argparse.Namespace], None], *, description: str = "", example: str = ""
    ) -> None:
        """Says what is run, and shown by `--help`.

        Args:
            command: what runs it.
            description: what it does, for its own help, where that says more than the list of commands.
            example: text behind its help, line by line as it is.
        """
        self.set_defaults(command=command)
        self.description = description or self.description
        if example:
            self.epilog, self.formatter_class = example, argparse.RawDescriptionHelpFormatter

    def error(self, message: str) -> NoReturn:
        """Raises what argparse found in the words of this module."""
        raise _translated(self, message)


def add_command(commands: Any, name: str, line: str, source: str = "") -> Parser:
    """Adds a command to the command line's grammar.

    Args:
        commands: the commands that it joins.
        name: its name.
        line: what it does, for a list of commands.
        source: the function that adds its arguments, as `module:function`.
    """
    added: Parser = commands.add_parser(
        name, help=line, description=f"{line[0].upper()}{line[1:]}.", allow_abbrev=False
    )
    added.source = source
    return added


def say(message: str) -> None:
    """Tells the user something that is no result: on stderr, behind what stdout has so far."""
    sys.stdout.flush()
    try:
        print(escape.terminal(message, keep="\n"), file=sys.stderr, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def at(word: str) -> int | None:
    """Where on the command line a word is, or the value of an option."""
    for i, candidate in enumerate(Parser.argv):
        if candidate == word or candidate.endswith(f"={word}"):
            return i
    return None


def _translated(parser: Parser, message: str) -> UsageError:
    argv = Parser.argv
    names = [name for action in parser._actions for name in action.option_strings]
    if found := re.match(r"unrecognized arguments: (.*)", message, re.DOTALL):
        return _unrecognised(argv, found[1], _names_in_force(parser, argv))
    if found := re.match(r"argument (.+?): invalid choice: '(.*?)' \(choose from (.*)\)", message):
        choices = re.findall(r"[\w.-]+", found[3])
        what = "command" if found[1] in ("COMMAND", "ACTION") else f"{found[1]}"
        return pointed(argv, _index(argv, found[2]), f"unknown {what} `{found[2]}`", one_of(choices),
                       nearest(found[2], choices))  # fmt: skip
    if found := re.match(r"argument (.+?): expected (?:one|at least one) argument", message):
        option = found[1].split("/")[0]
        return pointed(
            argv, _index(argv, option), f"`{option}` has no value", f"expected {_metavar(parser, option)}"
        )
    if found := re.match(r"argument (.+?): invalid (?:\w+) value: '(.*)'", message, re.DOTALL):
        option = found[1].split("/")[0]
        return pointed(
            argv,
            _index(argv, found[2]),
            f"`{option}` cannot be `{_short(found[2])}`",
            "expected a whole number",
        )
    if found := re.match(r"argument (.+?): ignored explicit argument '(.*)'", message):
        return pointed(
            argv,
            _index(argv, found[1]),
            f"`{found[1]}` takes no value, found `{_short(found[2])}`",
            "expected it alone",
        )
    if found := re.match(r"argument (.+?): not allowed with argument (.+)", message):
        return pointed(argv, _index(argv, found[1]), f"`{found[1]}` cannot be used with `{found[2]}`", "")
    if found := re.match(r"the following arguments are required: (.*)", message):
        missing = found[1].split(",")[0]
        expected = one_of(_commands(parser)) if missing in ("COMMAND", "ACTION") else f"expected {missing}"
        return pointed(
            argv, None, f"{'a command' if missing in ('COMMAND', 'ACTION') else missing} is missing", expected
        )
    return pointed(argv, None, message, f"the options are {', '.join(names)}")


def _unrecognised(argv: Sequence[str], rest: str, names: Sequence[str]) -> UsageError:
    """An option that does not exist, or one argument too many."""
    word = next((word for word in argv if rest == word or rest.startswith(f"{word} ")), rest.split(" ")[0])
    if not word.startswith("-"):
        return pointed(
            argv, _index(argv, word), f"one argument too many: `{word}`", "expected no further argument"
        )
    option = word.split("=")[0]
    return pointed(
        argv, _index(argv, word), f"unknown option `{option}`", one_of(names), nearest(option, names)
    )


def _names_in_force(parser: Parser, argv: Sequence[str]) -> list[str]:
    """Options of the innermost command on the command line."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for i, word in enumerate(argv):
                if word in action.choices:
                    return _names_in_force(action.choices[word].filled(), argv[i + 1 :])
    return [name for action in parser._actions for name in action.option_strings if name.startswith("--")]


def _short(word: str) -> str:
    return word if len(word) <= 60 else f"{word[:60]}…"


def _commands(parser: Parser) -> list[str]:
    return [
        name
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name in action.choices
    ]


def _metavar(parser: Parser, option: str) -> str:
    for action in parser._actions:
        if option in action.option_strings:
            return str(action.metavar or action.dest)
    return "a value"


def _index(argv: Sequence[str], word: str) -> int | None:
    for i, candidate in enumerate(argv):
        if candidate == word or candidate.startswith(f"{word}="):
            return i
    return None
