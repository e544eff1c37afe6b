"""The command `ftlab`: its grammar, its commands, and what a terminal is told."""
