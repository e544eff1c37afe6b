"""Sphinx: `make docs`."""

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
