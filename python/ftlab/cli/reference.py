"""The page of the documentation about the commands: `python -m ftlab.cli.reference > docs/commands.md`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from ftlab.cli.main import parser

HEAD = """\
# Commands

<!-- `python -m ftlab.cli.reference > docs/commands.md` writes this page; a test compares. -->

Exit codes: 0 fine, 1 the run failed or its output could not be written, 2 usage, configuration or input, 130
interrupted. With `--json` stdout holds one JSON object and nothing else; all else is on stderr. A
trace may be `-`, standard input.
"""


def page() -> str:
    """The page as Markdown."""
    return "\n".join([HEAD, *_commands(parser().complete(), "ftlab")])


def _commands(above: argparse.ArgumentParser, path: str) -> Iterator[str]:
    for action in above._actions:
        if isinstance(action, argparse._SubParsersAction):
            docs = {choice.dest: choice.help for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield from _command(command, f"{path} {name}", docs.get(name) or "")
                yield from _commands(command, f"{path} {name}")


def _command(command: argparse.ArgumentParser, path: str, doc: str) -> Iterator[str]:
    actions = [
        action
        for action in command._actions
        if action.dest != "help" and not isinstance(action, argparse._SubParsersAction)
    ]
    given = [_positional(action) for action in actions if not action.option_strings]
    yield f"{'##' if path.count(' ') == 1 else '###'} `{' '.join([path, *given])}`\n"
    yield f"{doc[:1].upper()}{doc[1:]}.\n"
    if actions:
        yield "| argument | meaning |\n|---|---|"
        yield from (f"| `{_name(action)}` | {_escaped(action.help or '')} |" for action in actions)
        yield ""


def _positional(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest)
    return {"?": f"[{name}]", "+": f"{name}...", "*": f"[{name}...]"}.get(str(action.nargs), name)


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        return str(action.metavar or action.dest)
    takes = "" if action.nargs == 0 else f" {action.metavar or '|'.join(map(str, action.choices or ()))}"
    return (", ".join(action.option_strings) + takes).replace("|", "\\|")


def _escaped(text: str) -> str:
    return text.replace("%%", "%").replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
