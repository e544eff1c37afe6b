"""A page in a real browser: nothing on the console, charts that are drawn and answer, nothing wider than the window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import samples
from browser import Browser, binary
from test_report import comparison, reproduction, sweep

import ftlab

pytestmark = pytest.mark.skipif(
    binary() is None, reason="there is no Chromium to draw the page; `apt install chromium` brings one"
)

__all__ = ["sweep"]

WIDTHS = {"telephone": 360, "tablet": 800, "screen": 1440}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, sweep: Path) -> Path:
    """A page of everything there is, with a long name without a place to break it."""
    place = tmp_path_factory.mktemp("report")
    samples.result().save(place / ("w" * 120), plots=False)
    places = [
        place / ("w" * 120), comparison(place / "cmp", ("greedy", "x" * 90)), sweep, reproduction(place / "tbm"),
    ]  # fmt: skip
    return ftlab.report(places, place / "page.html")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests."""
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


def test_the_browser_notices_what_a_page_is_not_to_do(browser: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text('<img src="http://localhost:9/x.png"><script>nothing.there()</script>', encoding="utf-8")
    browser.open(bad, 800)
    assert any("fetches http://localhost:9/x.png" in trouble for trouble in browser.troubles)
    assert any("nothing is not defined" in trouble for trouble in browser.troubles)
    browser.troubles.clear()


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_nothing_is_wider_than_the_window_and_charts_are_drawn(
    browser: Browser, page: Path, width: int
) -> None:
    browser.open(page, width, dark=width < 600)
    # Also where the reader opens everything.
    browser.value("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert browser.value("document.documentElement.scrollWidth") <= width
    charts = browser.value(
        "[...document.querySelectorAll('.chart svg[role=img]')].map((svg) => [svg.getBoundingClientRect().width,"
        " Math.max(...[...svg.querySelectorAll('path, image')].map((drawn) => drawn.getBoundingClientRect().width))])"
    )
    assert len(charts) > 30
    assert all(across > 200 and drawn > 0.4 * across for across, drawn in charts), charts
    words = browser.value(
        "[...document.querySelectorAll('.chart svg text')].map((t) => t.getBoundingClientRect().height)"
    )
    assert min(words) >= 10
    assert browser.troubles == []


def test_charts_answer_to_the_pointer_and_to_keys(browser: Browser, page: Path) -> None:
    browser.open(page, 1200)
    shown = (
        "(() => { const tip = document.getElementById('tip'); return tip.hidden ? '' : tip.innerText; })()"
    )
    browser.value("document.querySelector('.group .chart svg').focus()")
    browser.key("ArrowRight")
    first = browser.value(shown)
    browser.key("ArrowRight")
    second = browser.value(shown)
    assert "reads" in first
    assert "%" in first
    assert first != second
    browser.key("Escape")
    assert browser.value(shown) == ""
    browser.value("document.querySelector('.pixels').closest('svg').focus()")
    browser.key("ArrowRight")
    assert "channel 0 chip 0 die 0 plane 0" in browser.value(shown)
    assert "erases" in browser.value(shown)
    browser.value(
        "document.querySelectorAll('.chart svg[role=img]')[2].scrollIntoView({behavior: 'instant'})"
    )
    box = browser.value(
        "(({x, y, width, height}) => [x, y, width, height])("
        "document.querySelectorAll('.chart svg[role=img]')[2].getBoundingClientRect())"
    )
    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + box[2] / 2, y=box[1] + box[3] / 2)
    assert "Throughput (MB/s): " in browser.value(shown)
    assert browser.troubles == []


def test_a_legend_hides_series(browser: Browser, page: Path) -> None:
    browser.open(page, 1200)
    state = (
        "(() => { const group = document.querySelector('.group .legend').closest('.group');"
        " return [group.querySelector('button').getAttribute('aria-pressed'),"
        " [...group.querySelectorAll('svg [data-s=\"0\"]')].map((each) => getComputedStyle(each).display)]; })()"
    )
    pressed, displayed = browser.value(state)
    assert pressed == "true"
    assert "none" not in displayed
    browser.value("document.querySelector('.legend button').focus()")
    browser.key("Enter")
    pressed, displayed = browser.value(state)
    assert pressed == "false"
    assert set(displayed) == {"none"}
    assert browser.troubles == []


def test_colours_follow_the_system_and_the_button(browser: Browser, page: Path) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    browser.open(page, 800)
    light = browser.value(paper)
    browser.open(page, 800, dark=True)
    dark = browser.value(paper)
    assert light == "rgb(255, 255, 255)"
    assert dark != light
    # System, dark, light.
    for expected in (dark, light, dark):
        browser.value("document.getElementById('theme').click()")
        assert browser.value(paper) == expected
    browser.open(page, 800, dark=True, media="print")
    assert browser.value(paper) == light


def test_the_first_stop_of_the_keyboard_skips_to_the_results(browser: Browser, page: Path) -> None:
    browser.open(page, 800)
    browser.key("Tab")
    assert browser.value("document.activeElement.textContent") == "Skip to the results"
    assert browser.value("document.activeElement.getBoundingClientRect().top") >= 0
    browser.key("Enter")
    assert browser.value("document.activeElement.id") == "results"
