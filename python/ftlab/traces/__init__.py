"""Traces that the engine does not read itself, and what traces hold as text."""
