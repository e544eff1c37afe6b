"""Progress where there is no terminal, and what is said at an interruption."""

from __future__ import annotations

import io
import time

import pytest

from ftlab.api import until
from ftlab.api.runner import Tell
from ftlab.api.simulation import Progress
from ftlab.cli.live import Live, _clock


def test_a_run_in_a_pipe_says_a_line_now_and_then() -> None:
    said = io.StringIO()
    with Live(said, logs=True, every_s=0.02) as tell:
        assert tell is not None
        time.sleep(0.05)
        assert said.getvalue() == "", "nothing is known yet"
        tell("", Progress("run", 1.5, 1200, 0, 0.25))
        time.sleep(0.1)
    lines = said.getvalue().splitlines()
    assert lines and set(lines) == {"run  25 %      1.50 s simulated  1,200 requests"}
    with Live(quiet := io.StringIO()) as tell:
        assert tell is None
    assert quiet.getvalue() == ""


def test_an_interruption_says_what_was_reached() -> None:
    said = io.StringIO()

    def one() -> None:
        with Live(said, logs=True) as tell:
            assert tell is not None
            tell("", Progress("run", 1.5, 1200, 0, 0.25))
            raise KeyboardInterrupt

    def several() -> None:
        with Tell(said) as grid:
            grid.begin(3, 0, 3.0)
            grid.done("a", 1.0)
            raise KeyboardInterrupt

    for interrupted in (one, several):
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    first, second = said.getvalue().splitlines()
    assert first == "reached: run  25 %      1.50 s simulated  1,200 requests"
    assert second.startswith("reached: 1 of 3 runs done, 0 failed, 2 left")


def test_rates_have_no_powers_of_ten() -> None:
    clock = iter([0.0, 0.0, 36.0, 36.0, 36.0]).__next__
    tell = Tell(io.StringIO(), clock=clock)
    tell.begin(2000, 0, 2000.0)
    for _ in range(10):
        tell.done("a", 1.0)
    assert "; 1,000 runs an hour" in tell.summary()


def test_a_life_is_as_far_as_its_blocks_are_worn() -> None:
    device = {"channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 2, "blocks_per_plane": 10,
              "bad_blocks": {"weibull": {"life": 100}}, "wear": {"pe_cycles": 3000}}  # fmt: skip
    heard: list[float | None] = []
    tell = until.by_erases(lambda now: heard.append(now.fraction), {"device": device})
    tell(Progress("precondition", 0.0, 0, 0, 0.5))
    tell(Progress("run", 1.0, 9, 9, 0.000001, erases=500))
    tell(Progress("run", 2.0, 9, 9, 0.000001, erases=99_999))
    assert heard == [0.5, 0.25, 0.99]
    assert [_clock(30), _clock(90), _clock(7200), _clock(3e7)] == ["30 s", "1:30 min", "2:00 h", "347 days"]
