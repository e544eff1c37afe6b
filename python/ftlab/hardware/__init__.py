"""Figures of real drives beside what the simulator gives for the same jobs."""
