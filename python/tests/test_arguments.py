"""Values of wrong types and impossible values, handed to the package: errors of ftlab with words."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TINY

import ftlab
from ftlab.api.configs import set_list

QUICK = {"workload.requests": 200, "run.precondition": "none"}


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


CYCLE: dict[str, Any] = {}
CYCLE["device"] = CYCLE


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (5, "the configuration is an int; expected a path"),
        (None, "the configuration is None"),
        (b"tbm", "is a bytes"),
        ("", "`config` is empty"),
        ("a\0b", "`config` has a NUL character"),
        ("a\udcff = 1\n", "is not text in UTF-8"),
        ({"device": {"channels": "\ud800"}}, "is not text in UTF-8"),
        ({"device": deep(100_000)}, "nested more than 32 levels deep"),
        ({"device": CYCLE}, "nested more than 32 levels deep"),
        ({"device": [[[[[[deep(200)]]]]]]}, "nested more than 32 levels deep"),
        ({"device": {"channels": 1 << 20_000}}, "a number of 20001 bits"),
        ({"device": {"channels": float("nan")}}, "no configuration"),
        ({("a", "b"): 1}, "no configuration"),
        ({"device": {"channels": np.arange(3)}}, "a ndarray, which is no value of a configuration"),
        ("a = " + "[" * 5000, "nested too deeply"),
        (".".join(["a"] * 5000) + " = 1", "nested too deeply"),
    ],
)
def test_what_is_no_configuration(config: Any, words: str) -> None:
    with pytest.raises((ftlab.ConfigError, ftlab.InputError), match=words.replace("[", r"\[")):
        ftlab.resolve(config)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sets": 5}, "`sets` is an int; expected a list of values"),
        ({"sets": [5]}, "a setting of `sets` is an int; expected a string"),
        ({"sets": {5: 1}}, "a key of `sets` is an int"),
        ({"sets": {"run.seed": None}}, "`run.seed` is None"),
        ({"sets": {"run.seed": object()}}, "`run.seed` holds an object"),
        ({"sets": {"run.seed": deep(100_000)}}, "nested more than 32 levels"),
        ({"sets": ["run.seed=\udcff"]}, "is not text in UTF-8"),
        ({"sets": [".".join(["a"] * 100_000) + "=1"]}, "100000 names are too many"),
        ({"trace": 5}, "`trace` is an int; expected a path"),
        ({"trace": "a\0b"}, "`trace` has a NUL character"),
        ({"out": 5}, "`out` is an int"),
        ({"out": ""}, "`out` is empty"),
        ({"out": "x" * 5000}, "File name too long"),
        ({"timeline": 5}, "`timeline` is an int"),
        ({"timeline": "x" * 5000}, "File name too long"),
        ({"save_state": b"x"}, "`save_state` is a bytes"),
        ({"timeline_window": "0s..1s"}, "no pair of times"),
        ({"timeline_window": (1, 2)}, "is an int; expected a string"),
        ({"progress": 5}, "`progress` is an int; expected a function"),
    ],
)
def test_what_a_run_does_not_take(options: dict[str, Any], words: str) -> None:
    with pytest.raises((ftlab.ConfigError, ftlab.InputError), match=words):
        ftlab.run(TINY, **{"sets": QUICK, **options})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"vary": 5}, "`vary` is an int; expected a dictionary"),
        ({"vary": [("run.seed", 1)]}, "`vary` is a list"),
        ({"vary": {"run.seed": 5}}, "`run.seed` of `vary` is an int; expected a list of values"),
        ({"vary": {"run.seed": None}}, "`run.seed` of `vary` is None"),
        ({"vary": {"run.seed": {"a": 1}}}, "`run.seed` of `vary` is a dict"),
        ({"vary": {"run.seed": np.array(3)}}, "`run.seed` of `vary` is a ndarray"),
        ({"vary": {"run.seed": []}}, "varies over nothing"),
        ({"vary": {5: [1]}}, "a key of `vary` is an int"),
        ({"vary": {"run.seed": [object()]}}, "holds an object"),
        ({"vary": {f"x{i}": list(range(1000)) for i in range(3)}}, "1,000,000,000 combinations"),
        ({"jobs": 0}, "`jobs` is 0; expected at least 1"),
        ({"jobs": "2"}, "`jobs` is a str; expected a whole number"),
        ({"jobs": True}, "`jobs` is a bool"),
        ({"configs": 5}, "`configs` is an int"),
        ({"configs": {5: TINY}}, "a label of `configs` is an int"),
        ({"configs": [None]}, "the configuration is None"),
    ],
)
def test_what_a_comparison_does_not_take(options: dict[str, Any], words: str) -> None:
    configs = options.pop("configs", TINY)
    with pytest.raises((ftlab.ConfigError, ftlab.InputError), match=words):
        ftlab.compare(configs, sets=QUICK, **options)


def test_lists_of_any_kind_are_varied_over() -> None:
    for values in (np.arange(1, 3), range(1, 3), (1, 2), iter([1, 2])):
        labels = list(ftlab.compare(TINY, vary={"run.seed": values}, sets=QUICK, jobs=1).results)  # type: ignore[dict-item]
        assert labels == ["seed=1", "seed=2"]


def test_values_that_print_as_something_else() -> None:
    class Victim(StrEnum):
        GREEDY = "greedy"

    sets = {"a": np.float64(0.5), "b": Victim.GREEDY, "c": np.int64(4), "d": np.bool_(True), "e": Path("x")}
    assert set_list(sets) == ["a=0.5", 'b="greedy"', "c=4", "d=true", 'e="x"']
    assert (
        ftlab.resolve(TINY, sets={"workload.read_fraction": np.float64(0.25)})["workload"]["read_fraction"]
        == 0.25
    )


@pytest.mark.parametrize("place", [5, None, "", "a\0b", b"x"])
def test_places_of_results(place: Any) -> None:
    with pytest.raises(ftlab.InputError, match="`directory`"):
        ftlab.Result.load(place)
    with pytest.raises(ftlab.InputError, match="`directory`"):
        ftlab.Result({}).save(place)
