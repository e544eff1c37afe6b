"""The papers' experiments: what each claims, beside what this engine measures.

A paper is one module (`tbm`) that knows its device, its workloads and its claims. The rest is shared: `claims` has the
rules by which a measured figure is judged, `experiment` the resumable grid of runs, `synthesis` and `workloads` the
traces, `drawing` the figures, `cli` the command.
"""

from ftlab.reproduce.claims import SCHEMA, Claim

__all__ = ["SCHEMA", "Claim"]
