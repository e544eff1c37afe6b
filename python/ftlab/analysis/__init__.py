"""Turns results into figures to judge them by; starts no simulation of its own, `evidence` apart."""
