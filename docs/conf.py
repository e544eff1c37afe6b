"""Sphinx: `make docs`."""

from sphinx.application import Sphinx

from ftlab import __version__

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
    """What commands wrote is in no list of contents: `evidence.md` and the pages that cite it lead there."""
    if name.startswith("evidence/"):
        source[0] = f"---\norphan: true\n---\n{source[0]}"


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _hide)
