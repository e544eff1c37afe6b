"""The command `ftlab`, also as `python -m ftlab`."""

import logging
import os
import sys
import warnings

from ftlab.cli.signals import exit_with


def entry_point() -> None:
    """Runs the command line and exits."""
    _open_streams()
    _hush()
    exit_with(_command)


def _command() -> int:
    # Here, since it takes a moment, in which Ctrl-C may come.
    from ftlab.cli.main import main

    return main(sys.argv[1:])


def _open_streams() -> None:
    """Opens streams to write to in place of those that the shell closed (`2>&-`)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


def _hush() -> None:
    """Warnings of the libraries for plots and tables are for programmers: with `python -W` they are heard."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
        logging.getLogger("matplotlib").addHandler(logging.NullHandler())


if __name__ == "__main__":
    entry_point()
