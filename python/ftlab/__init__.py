"""A laboratory for flash translation layers.

    >>> import ftlab
    >>> result = ftlab.run("tbm-small", sets={"workload.volume": "1x"})
    >>> result.summary["waf"]

:func:`run` simulates one configuration and :func:`compare` several; both give the figures of the summary object and
NumPy or Arrow tables. :func:`sweep` runs as many as a specification has, and gives one table. :func:`life` says how
long drives live. :func:`presets` are the built-in configurations and :func:`registry` is what can be chosen in one.
:func:`report` makes a page of results. All simulation is in the compiled engine, which releases the interpreter.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ftlab._core import ConfigError, Error, InputError, RunError, __version__

if TYPE_CHECKING:
    from ftlab.api.simulation import Progress, compare, presets, registry, resolve, run
    from ftlab.lives.life import Life, life
    from ftlab.reports import report
    from ftlab.results.comparison import Comparison
    from ftlab.results.figures import Figures
    from ftlab.results.output import OutputError
    from ftlab.results.result import Result
    from ftlab.sweeps.sweep import Sweep, sweep

__all__ = [
    "Comparison",
    "ConfigError",
    "Error",
    "Figures",
    "InputError",
    "Life",
    "OutputError",
    "Progress",
    "Result",
    "RunError",
    "Sweep",
    "__version__",
    "compare",
    "life",
    "presets",
    "registry",
    "report",
    "resolve",
    "run",
    "sweep",
]

_FROM = {
    "Comparison": "results.comparison",
    "Figures": "results.figures",
    "OutputError": "results.output",
    "report": "reports",
    "Result": "results.result",
    **dict.fromkeys(("Life", "life"), "lives.life"),
    **dict.fromkeys(("Sweep", "sweep"), "sweeps.sweep"),
    **dict.fromkeys(("Progress", "compare", "presets", "registry", "resolve", "run"), "api.simulation"),
}


def __getattr__(name: str) -> Any:
    """Modules that take long to import are imported on demand, so that the command line can begin at once."""
    if name not in _FROM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"ftlab.{_FROM[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__doc__", "__file__", "__path__", "testing"})
