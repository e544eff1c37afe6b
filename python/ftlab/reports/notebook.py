"""Results in notebooks: the cards and the tables of the page, without its charts. It takes the notebook's own
colours, light or dark.
"""

from __future__ import annotations

from ftlab.reports import cards, sections
from ftlab.reports.markup import Child, prose, tag
from ftlab.reports.page import asset
from ftlab.results import reasons
from ftlab.results.comparison import Comparison
from ftlab.results.figures import Figures
from ftlab.results.result import Result
from ftlab.sweeps.sweep import Sweep


def of_result(result: Result) -> str:
    """A run."""
    lead = f"{reasons.alone(Figures.of(result))}."
    return _framed(tag("p", prose(lead)), cards.html(cards.of_result(result)))


def of_comparison(comparison: Comparison) -> str:
    """Runs side by side."""
    return _framed(sections.why(comparison), sections.side_by_side(comparison))


def of_sweep(sweep: Sweep) -> str:
    """A sweep."""
    return _framed(cards.html(cards.of_sweep(sweep)), list(sections.means(sweep)))


def _framed(*children: Child) -> str:
    return str(tag("div", tag("style", asset("notebook.css")), children, class_="ftlab"))
