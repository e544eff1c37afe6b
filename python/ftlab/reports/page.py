"""The page: its head, its contents, its sections."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from ftlab._core import InputError, __version__
from ftlab.base import escape
from ftlab.reports import sections
from ftlab.reports.markup import Html, joined, tag
from ftlab.reports.sources import Source

GENERATOR = "ftlab report"
"""The mark in the head of a page."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""A page fetches nothing, and a browser sees to it."""

WORDS = (
    "MB and GB are 10⁶ and 10⁹ bytes; WAF is bytes programmed for any cause ÷ bytes that the host wrote; "
    "over-provisioning (OP) is spare ÷ user capacity."
)
"""The notes for a reader of the figures."""


@cache
def asset(name: str) -> Html:
    """A file beside this one, as it stands."""
    return Html((files("ftlab.reports") / name).read_text(encoding="utf-8"))


def is_page(place: Path) -> bool:
    """True for a file that is a page of this module's."""
    try:
        with place.open("rb") as file:
            return f'content="{GENERATOR}'.encode() in file.read(2000)
    except OSError:
        return False


def html(sources: Sequence[Source]) -> str:
    """The page of several sources.

    Raises:
        InputError: a source does not hold what one of its kind holds.
    """
    made = [(sections.title(source), _body(source)) for source in sources]
    name = made[0][0] if len(made) == 1 else f"{len(made)} results"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="generator", content=f"{GENERATOR} {__version__}"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{name} · ftlab"),
        tag("style", asset("page.css")),
    )
    contents = tag(
        "nav",
        tag("h2", "On this page", class_="hidden"),
        tag("ol", [tag("li", tag("a", title, href=f"#part-{i}")) for i, (title, _) in enumerate(made, 1)]),
        aria_label="On this page",
    )
    body = tag(
        "body",
        tag("a", "Skip to the results", href="#results", class_="skip"),
        tag(
            "header",
            tag("h1", made[0][0] if len(made) == 1 else "Results"),
            tag("button", "Colours: system", type="button", id="theme"),
            contents if len(made) > 1 else None,
            class_="top",
        ),
        tag("main", [_section(i, title, body, len(made)) for i, (title, body) in enumerate(made, 1)], id="results",
            tabindex="-1"),
        tag("footer", tag("p", f"Written by ftlab {__version__}. {WORDS}")),
        tag("div", id="tip", role="status", aria_live="polite", hidden=True),
        tag("script", asset("page.js")),
    )  # fmt: skip
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _section(i: int, title: str, body: Html, count: int) -> Html:
    # The page's own title says it where there is only one.
    heading = tag("h2", title, id=f"part-{i}", class_="hidden" if count == 1 else None)
    return tag("section", joined([heading, body]), aria_labelledby=f"part-{i}")


def _body(source: Source) -> Html:
    try:
        return sections.body(source)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        where = escape.terminal(str(source.place or source.name))
        what = f"{type(error).__name__}: {error}"
        raise InputError(
            f"error: {where} is damaged: something in it is not as ftlab writes it ({escape.terminal(what)})\n"
            "hint: run it again to write it anew"
        ) from error
