"""Policies of a user's own, in Python."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import Ftlab

import ftlab
from ftlab import testing
from ftlab.api import runner
from ftlab.api.simulation import Job

DEVICE: dict[str, Any] = {
    "device": {
        "channels": 2,
        "chips_per_channel": 1,
        "dies_per_chip": 1,
        "planes_per_die": 2,
        "blocks_per_plane": 24,
        "pages_per_block": 16,
        "page_size": "4KiB",
        "over_provisioning": 0.4,
    },
    "ftl": {"allocation": "CWDP"},
    "workload": {
        "generator": {"hot-cold": {}},
        "request_size": "4KiB",
        "read_fraction": 0.2,
        "requests": 6000,
    },
    "run": {"precondition": {"random": "1x"}},
}

GREEDY = """\
class Greedy:
    def choose(self, blocks, now):
        return min(blocks, key=lambda block: block.valid)
"""


class Greedy:
    def choose(self, blocks: Sequence[Any], now: int) -> Any:
        return min(blocks, key=lambda block: block.valid)


class Fifo:
    """By notes alone, each of which it gets."""

    def __init__(self) -> None:
        self.order: dict[int, list[Any]] = {}

    def on_closed(self, block: Any, now: int) -> None:
        self.order.setdefault(block.plane, []).append(block)

    def on_returned(self, block: Any, now: int) -> None:
        self.order[block.plane].insert(0, block)

    def on_removed(self, block: Any) -> None:
        self.order[block.plane].remove(block)

    def choose(self, blocks: Sequence[Any], now: int) -> Any:
        return self.order[blocks[0].plane][0]


class Striped:
    """The order CWDP: two channels, two planes each."""

    def plane(self, page: int) -> int:
        return (0, 2, 1, 3)[page % 4]


def without_names(result: ftlab.Result) -> dict[str, Any]:
    """A summary without what the policies are called and what the machine took."""
    return {name: part for name, part in result.summary.items() if name not in ("config", "run")}


def run(policy: Any, key: str = "ftl.victim", /, **sets: Any) -> ftlab.Result:
    return ftlab.run(DEVICE, sets={key: policy, **sets})


@pytest.mark.parametrize("executor", ["count", "timed"])
@pytest.mark.parametrize(
    ("key", "own", "name"),
    [("ftl.victim", Greedy, "greedy"), ("ftl.victim", Fifo, "fifo"), ("ftl.allocation", Striped, "CWDP")],
)
def test_a_policy_in_python_is_the_same_as_that_of_the_engine(
    executor: str, key: str, own: Any, name: str
) -> None:
    both = [run(policy, key, **{"run.executor": executor}) for policy in (own, name)]
    assert without_names(both[0]) == without_names(both[1])
    assert both[0].summary["config"]["ftl"][key.partition(".")[2]] == f"test_own:{own.__name__}"


def test_collections_that_are_suspended_are_given_back() -> None:
    schedule = {
        "run.executor": "timed",
        "ftl.gc_schedule": "background",
        "host.queue_depth": 1,
        "host.replay": "closed",
    }
    both = [run(policy, **schedule) for policy in (Fifo, "fifo")]
    assert without_names(both[0]) == without_names(both[1])


def test_blocks_say_what_they_are() -> None:
    seen: list[tuple[Any, ...]] = []

    class Looks:
        def start(self, device: Any) -> None:
            assert (device.planes, device.blocks_per_plane, device.pages_per_block, device.seed) == (
                4,
                24,
                16,
                1,
            )
            self.known: dict[Any, int] = {}

        def choose(self, blocks: Sequence[Any], now: int) -> Any:
            assert len({block.plane for block in blocks}) == 1
            assert [block.changed_at for block in blocks] == sorted(block.changed_at for block in blocks)
            for block in blocks:
                assert block.valid + block.invalid == block.pages == 16
                assert block.filled_at <= block.changed_at <= now
                assert block.erases >= self.known.get(block, 0)
                self.known[block] = block.erases
            seen.append((now, max(block.erases for block in blocks)))
            assert re.fullmatch(
                r"<block \d+ of plane \d: \d+ of 16 pages valid, \d+ erases>", repr(blocks[0])
            )
            return max(blocks, key=lambda block: (block.invalid, -block.erases))

    result = run(Looks)
    assert seen[-1][1] > 5
    assert result.summary["wear"]["erases"]["max"] >= seen[-1][1]


def test_an_object_is_copied_for_each_device() -> None:
    class Counts:
        def __init__(self, first: int) -> None:
            self.calls = first

        def choose(self, blocks: Sequence[Any], now: int) -> Any:
            self.calls += 1
            assert self.calls < 10_000
            return blocks[0]

    given = Counts(7)
    compared = ftlab.compare([DEVICE], vary={"ftl.victim": [given, given, "greedy"]}, jobs=2)
    assert given.calls == 7
    labels = list(compared.results)
    assert len(labels) == 3 and "Counts(calls=7)" in labels[0]
    first, second, _ = compared.results.values()
    assert without_names(first) == without_names(second)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "return 1 / 0",
            "the policy `mine.py:Mine` raised ZeroDivisionError: division by zero in `choose`\n"
            " --> mine.py:3, in choose\n  |\n3 | return 1 / 0\n  |",
        ),
        # Otherwise the command would end with code 0 and without a word.
        (
            "raise SystemExit(0)",
            "the policy `mine.py:Mine` raised SystemExit: 0 in `choose`\n --> mine.py:3, in choose",
        ),
        ("return helper(blocks)", "raised KeyError: 'weight' in `choose`\n --> mine.py:5, in helper"),
        (
            "pass",
            "returned None from `choose`\n"
            "hint: expected one of the blocks in the list that it is given, of which there are",
        ),
        ("return 3", "returned the number 3 from `choose`"),
        ("return 'a'", "returned a str from `choose`"),
        (
            "self.last = getattr(self, 'last', blocks[0]); return self.last",
            r"returned block \d+ of plane \d from `choose`",
        ),
    ],
)
@pytest.mark.parametrize("executor", ["count", "timed"])
def test_a_policy_that_fails_ends_the_run_with_its_line(
    body: str, words: str, executor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    helper = "def helper(blocks):\n    return {}['weight']\n"
    Path("mine.py").write_text(f"class Mine:\n    def choose(self, blocks, now):\n        {body}\n{helper}")
    with pytest.raises(ftlab.RunError) as raised:
        run("mine.py:Mine", **{"run.executor": executor})
    assert re.search(words if "\\" in words else re.escape(words), str(raised.value)), raised.value
    assert body.startswith(("return 1", "raise", "return helper")) == (raised.value.__cause__ is not None)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no.py:Mine", "the file `no.py` of a policy of your own cannot be read: No such file or directory"),
        ("mine.py:Nine", "there is no `Nine` in `mine.py`"),
        ("mine.py:Bare", "`mine.py:Bare` is no victim policy: it has no method `choose`"),
        (
            "mine.py:Needy",
            "`mine.py:Needy` cannot be made without arguments: missing a required argument: 'weight'",
        ),
        (
            "broken.py:Mine",
            "`broken.py` cannot be loaded: SyntaxError: invalid syntax, in line 1: `class class`",
        ),
        (
            "raising.py:Mine",
            "`raising.py` cannot be loaded: ValueError: no, in line 2: `raise ValueError('no')`",
        ),
        ("leaving.py:Mine", "`leaving.py` cannot be loaded: SystemExit: 0, in line 2: `sys.exit(0)`"),
        ("mine.py:Needy(4, 5)", "`mine.py:Needy(4, 5)` cannot be made: too many positional arguments"),
        ("mine.py:Needy(size=4)", "expected the parameters of `mine.py:Needy(weight)`"),
        ("mine.py:Needy(weight=open('x'))", "the parameters `(weight=open('x'))` cannot be read"),
        ("mine.py:Needy(", "there is no `Needy(` in `mine.py`"),
        ("mine.py:lazy(4)", "`mine.py:lazy` is an object, and `mine.py:lazy(4)` gives it parameters"),
        ("nowhere.at.all:Mine", "there is no module `nowhere.at.all`"),
        ("mine.py", "a policy of your own is named with its class: `mine.py:CLASS`"),
    ],
)
def test_what_is_no_policy_is_refused_with_its_place(
    name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "class Mine:\n    def choose(self, blocks, now): return blocks[0]\nclass Bare: pass\n"
        "class Needy(Mine):\n    def __init__(self, weight): pass\n"
        "lazy = Mine()\n"
    )
    Path("broken.py").write_text("class class\n")
    Path("raising.py").write_text("\nraise ValueError('no')\n")
    Path("leaving.py").write_text("import sys\nsys.exit(0)\n")
    with pytest.raises(ftlab.ConfigError) as raised:
        run(name)
    assert words in str(raised.value)
    assert "--set ftl.victim=" in str(raised.value)


WINDOWED = """\
class Windowed:
    def __init__(self, w, most=True, name="x"):
        self.w = w

    def choose(self, blocks, now):
        return min(blocks[: self.w], key=lambda block: block.valid)
"""


def test_a_class_takes_parameters(ftlab: Ftlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(WINDOWED)
    first, four = (run(f"mine.py:Windowed({given})").summary["waf"] for given in ("1", "w=4, name='a:b(c)'"))
    assert first != four == run(f"{tmp_path}/mine.py:Windowed(4)").summary["waf"]
    assert run("mine.py:Windowed(w=1000000)").summary["waf"] == run(Greedy).summary["waf"]
    keys = {runner.key_of(Job.of(DEVICE, {"ftl.victim": f"mine.py:Windowed({w})"}, None)) for w in (1, 2, 2)}
    assert len(keys) == 2
    device = tmp_path / "device.toml"
    device.write_text(
        'preset = "tbm-small"\nrun.executor = "count"\nworkload.requests = 100\nrun.precondition = "none"\n'
    )
    made = ftlab(
        "compare", device, "--vary", "ftl.victim=mine.py:Windowed(w=4,most=True),mine.py:Windowed(2),greedy"
    )
    assert "mine.py:Windowed(w=4,most=True)" in made.stdout and "mine.py:Windowed(2)" in made.stdout


def test_a_file_that_changes_is_loaded_anew(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(GREEDY)
    name = f"{file}:Greedy"
    first = run(name)
    key = runner.hash_of(first.summary["config"])
    file.write_text(GREEDY.replace("min(", "max("))
    assert run(name).summary["waf"] > first.summary["waf"]
    assert runner.hash_of(first.summary["config"]) != key
    assert without_names(ftlab.run(first.summary["config"])) == without_names(run(name))


def test_an_allocation_is_refused_where_a_plane_cannot_hold_its_pages() -> None:
    class First:
        def plane(self, page: int) -> int:
            return 0 if page % 2 else page % 4

    class Beyond:
        def plane(self, page: int) -> int:
            return page % 5

    class Fails:
        def plane(self, page: int) -> int:
            return [0][page]

    for policy, words in (
        (First, "gives plane 0"),
        (Beyond, "gives page 4 the plane 4"),
        (Fails, "raised IndexError: list index out of range, in line"),
    ):
        with pytest.raises(ftlab.ConfigError, match=words):
            run(policy, "ftl.allocation")
    with pytest.raises(ftlab.ConfigError, match="`dftl` needs an order"):
        run(Striped, "ftl.allocation", **{"ftl.mapping": "dftl"})


def test_states_are_for_a_victim_policy_of_ones_own_as_for_any(tmp_path: Path) -> None:
    state = tmp_path / "aged.state"
    ftlab.run(DEVICE, sets={"ftl.victim": Greedy}, save_state=state)
    again = {"run.precondition": {"state": str(state)}}
    assert without_names(run(Greedy, **again)) == without_names(run("greedy", **again))


def test_a_sweep_keeps_the_runs_of_a_policy_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(GREEDY)
    Path("drive.toml").write_text("", encoding="utf-8")
    spec = {"config": "tbm-small", "out": "kept", "grid": {"victim": ["greedy", "mine.py:Greedy"]},
            "set": {"device.blocks_per_plane": 24, "device.pages_per_block": 32, "device.over_provisioning": 0.4,
                    "workload.volume": "0.2x",
                    "run.precondition": "none", "run.executor": "count"}}  # fmt: skip
    made = ftlab.sweep(spec)
    assert made.statuses == {"ok": 2}
    waf = made.table.column("waf").to_pylist()
    assert waf[0] == waf[1]
    kept = sorted(Path("kept/runs").iterdir())
    ftlab.sweep(spec)
    assert sorted(Path("kept/runs").iterdir()) == kept
    with pytest.raises(ftlab.ConfigError, match="the workers of a cluster do not have that code"):
        ftlab.sweep({**spec, "out": "other"}, scheduler="tcp://127.0.0.1:1")


def test_the_command_line_takes_a_file_and_exits_as_it_should(
    ftlab: Ftlab, tmp_path: Path, tiny: Path
) -> None:
    (tmp_path / "mine.py").write_text(
        GREEDY + "\n\nclass Bad:\n    def choose(self, blocks, now):\n        return 1 / 0\n"
    )
    small = ["--set", "workload.requests=3000", "--set", "run.precondition=none"]
    assert "WAF" in ftlab("compare", tiny, "--vary", "ftl.victim=greedy,mine.py:Greedy", *small).stdout
    failed = ftlab("run", tiny, "--set", "ftl.victim=mine.py:Bad", code=1)
    assert "mine.py:8, in choose" in failed.stderr and "Traceback" not in failed.stderr
    assert "there is no `Gready`" in ftlab("run", tiny, "--set", "ftl.victim=mine.py:Gready", code=2).stderr


class Forgets(Greedy):
    """Goes on offering what it chose once."""

    def __init__(self) -> None:
        self.chosen: dict[int, Any] = {}

    def choose(self, blocks: Sequence[Any], now: int) -> Any:
        return self.chosen.setdefault(blocks[0].plane, super().choose(blocks, now))


class Random:
    def choose(self, blocks: Sequence[Any], now: int) -> Any:
        return random.choice(blocks)


class Tired(Greedy):
    def choose(self, blocks: Sequence[Any], now: int) -> Any:
        return super().choose(blocks, now) if len(blocks) > 3 else None


def test_a_policy_that_keeps_its_word_passes_and_broken_ones_do_not() -> None:
    said: list[str] = []
    testing.check_policy(Greedy, say=said.append)
    assert said[0].startswith("units at random: 15,000 steps in 5 lives") and said[-1].endswith(
        "keeps its word"
    )
    for broken, words in (
        (Forgets, "returned block"),
        (Tired, "returned None"),
        (Random, "gives other results each time"),
    ):
        with pytest.raises(ftlab.RunError, match=words):
            testing.check_policy(broken, say=said.append)
    with pytest.raises(ftlab.ConfigError, match="is no policy"):
        testing.check_policy(3)


def test_an_allocation_is_checked_too() -> None:
    class Blocks:
        """Runs of eight pages on each plane."""

        def start(self, device: Any) -> None:
            self.planes: int = device.planes

        def plane(self, page: int) -> int:
            return page // 8 % self.planes

    said: list[str] = []
    testing.check_policy(Blocks, say=said.append)
    assert said[-1].endswith("keeps its word")
