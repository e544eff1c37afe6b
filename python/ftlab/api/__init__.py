"""Running simulations from Python: configurations, runs, comparisons."""
