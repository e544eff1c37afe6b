"""How long drives live under a workload: write amplification of the steady state, and what follows from it."""
