"""The papers' experiments: what each claims, beside what this engine measures. The distribution `ftlab-papers`.

A paper is a folder (`tbm`) with its axes, its claims, its tables and its pictures, put together as a `Study`. The rest
is shared: `study` does what is the same for every paper, `claims` has the rules by which a measured figure is judged,
`experiment` the grid of runs, `kept` what is kept of them, `synthesis` and `workloads` the traces, `charts` figures
that are a table and a picture, `panels` what pictures have in common, `cli` the command.
"""

from ftlab_reproduce.claims import SCHEMA, Claim

__all__ = ["SCHEMA", "Claim"]
