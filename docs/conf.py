"""Sphinx: `make docs`."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

from ftlab import __version__

HERE = Path(__file__).parent
# What makes the pages of the evidence is no part of the package.
sys.path.insert(0, str(HERE.parent / "python"))

from evidence import pages, papers  # noqa: E402

project = "ftlab"
author = "the ftlab authors"
copyright = "2026, the ftlab authors"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"ftlab {release}"
html_show_sphinx = False

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
napoleon_numpy_docstring = False
python_use_unqualified_type_names = True
# Links to files outside docs/ are for readers of the repository.
suppress_warnings = ["myst.xref_missing"]


def _hide(_: Sphinx, name: str, source: list[str]) -> None:
    """The pages of the evidence are in no list of contents: `evidence/index.md` and pages that cite them lead there."""
    if name.startswith("evidence/"):
        source[0] = f"---\norphan: true\n---\n{source[0]}"


def _show(_: Sphinx, name: str, source: list[str]) -> None:
    """Tables of claims are made from the data."""
    if name.startswith("papers/"):
        source[0] = papers.shown(source[0], HERE)


def setup(app: Sphinx) -> None:
    """Called by Sphinx, before it looks for pages."""
    pages.write(HERE)
    app.connect("source-read", _hide)
    app.connect("source-read", _show)
