"""`python -m ftlab` is the command `ftlab`."""

from ftlab.cli import entry_point

entry_point()
