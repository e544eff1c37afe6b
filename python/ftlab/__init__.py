"""A laboratory for flash translation layers.

    >>> import ftlab
    >>> result = ftlab.run("tbm-small", sets={"workload.volume": "1x"})
    >>> result.summary["waf"]

:func:`run` simulates one configuration and :func:`compare` several; both give the figures of the summary object and
NumPy or Arrow tables. :func:`presets` are the built-in configurations and :func:`registry` is what can be chosen in
one. All simulation is in the compiled engine, which releases the interpreter.
"""

from ftlab._core import ConfigError, Error, InputError, RunError, __version__
from ftlab.comparison import Comparison
from ftlab.result import Result
from ftlab.simulation import Progress, compare, presets, registry, resolve, run

__all__ = [
    "Comparison",
    "ConfigError",
    "Error",
    "InputError",
    "Progress",
    "Result",
    "RunError",
    "__version__",
    "compare",
    "presets",
    "registry",
    "resolve",
    "run",
]
