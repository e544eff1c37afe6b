"""The package from Python, with the engine behind it."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TINY

import ftlab
from ftlab import _core
from ftlab.api import runner
from ftlab.api.configs import Config, Raw, set_list
from ftlab.api.simulation import Job, nanoseconds
from ftlab.base.quantities import in_bytes

QUICK = {"workload.requests": 2000, "run.precondition": "none"}


def without_cost(result: ftlab.Result) -> dict[str, Any]:
    return {key: value for key, value in result.summary.items() if key != "run"}


def test_a_config_in_any_form_is_the_same_config(tiny: Path) -> None:
    import tomllib

    forms: list[Config] = [TINY, tiny, str(tiny), tomllib.loads(TINY)]
    results = [without_cost(ftlab.run(form, sets=QUICK)) for form in forms]
    assert all(result == results[0] for result in results)


def test_a_resolved_config_gives_the_same_run(tiny: Path) -> None:
    result = ftlab.run(tiny, sets=QUICK)
    assert without_cost(ftlab.run(result.summary["config"])) == without_cost(result)
    assert ftlab.resolve(tiny, sets=QUICK) == result.summary["config"]
    toml, _ = _core.resolve("file", str(tiny), set_list(QUICK))
    assert without_cost(ftlab.run(toml)) == without_cost(result)


def test_a_number_is_the_same_by_every_door(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    for share in random.random(700):
        wanted = float(share)
        toml = f'preset = "tbm-small"\n[workload]\nread_fraction = {wanted!r}\n'
        doors = [
            ftlab.resolve(toml),
            ftlab.resolve({"preset": "tbm-small", "workload": {"read_fraction": wanted}}),
            ftlab.resolve("tbm-small", sets={"workload.read_fraction": wanted}),
            ftlab.resolve("tbm-small", sets=[f"workload.read_fraction={wanted!r}"]),
        ]
        doors.append(ftlab.resolve(json.loads(json.dumps(doors[0]))))
        assert all(door == doors[0] and door["workload"]["read_fraction"] == wanted for door in doors)
    assert len({runner.hash_of(door) for door in doors}) == 1


def test_a_byte_order_mark_is_no_part_of_a_configuration(tmp_path: Path) -> None:
    marked = tmp_path / "marked.toml"
    marked.write_bytes(b'\xef\xbb\xbfpreset = "tbm-small"\n')
    assert ftlab.resolve(marked) == ftlab.resolve("tbm-small")
    assert ftlab.resolve('\ufeffpreset = "tbm-small"\n') == ftlab.resolve("tbm-small")


def test_a_comparison_ages_a_device_once(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = {depth: ftlab.run(tiny, sets={"host.queue_depth": depth}) for depth in (1, 4, 8)}
    saved: list[bool] = []
    simulate = Job.simulate

    def watched(job: Job, progress: Any, **files: Any) -> Any:
        saved.append("state" in json.dumps(job.sets) or "save_state" in files)
        return simulate(job, progress, **files)

    monkeypatch.setattr(Job, "simulate", watched)
    for out in (None, tmp_path / "out"):
        made = ftlab.compare(tiny, vary={"host.queue_depth": [1, 4, 8]}, out=out, plots=False)
        assert [without_cost(result) for result in made.results.values()] == [
            without_cost(result) for result in alone.values()
        ]
    assert saved == [True] * 6
    assert not [place for place in (tmp_path / "out").iterdir() if place.name.endswith(".staging")]


def test_a_directory_of_states_ages_a_device_once(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = tmp_path / "kept" / "states"
    begun: list[bool] = []
    simulate = Job.simulate

    def watched(job: Job, progress: Any, **files: Any) -> Any:
        begun.append("state" in json.dumps(job.sets))
        return simulate(job, progress, **files)

    monkeypatch.setattr(Job, "simulate", watched)
    for depth, from_state in ((4, False), (8, True), (8, True)):
        sets = {"host.queue_depth": depth}
        assert ftlab.run(tiny, sets=sets, states=states) == ftlab.run(tiny, sets=sets)
        assert begun == [from_state, False]
        begun.clear()
    ftlab.run(tiny, sets={"run.seed": 2}, states=states)
    assert begun == [False], "another seed ages another device"
    kept = sorted(path.name for path in states.iterdir())
    assert len(kept) == 4 and [name.rpartition(".")[2] for name in kept] == ["json", "state"] * 2

    damaged = next(states.glob("*.state"))
    for path in states.glob("*.state"):
        path.write_bytes(path.read_bytes()[:-9])
    begun.clear()
    for depth in (4, 4):
        assert ftlab.run(tiny, sets={"host.queue_depth": depth}, states=states) == ftlab.run(
            tiny, sets={"host.queue_depth": depth}
        )
    assert begun == [True, False, False, True, False], f"{damaged} is refused, and made anew"

    ftlab.run(tiny, sets={"run.precondition": "none"}, states=tmp_path / "none")
    assert not (tmp_path / "none").exists(), "what does not age has no state"
    with pytest.raises(ftlab.InputError, match="expected one place"):
        ftlab.run(tiny, states=states, save_state=tmp_path / "a.state")


class Failing:
    """Ends every run."""

    def choose(self, blocks: Sequence[Any], now: int) -> Any:
        raise ValueError("on purpose")


def test_what_fails_does_not_stop_the_others(tiny: Path, tmp_path: Path) -> None:
    vary = {"ftl.victim": ["greedy", Failing, "fifo"]}
    quick = {"run.executor": "count", "workload.requests": 300}
    heard: dict[str, str] = {}
    made = ftlab.compare(tiny, vary=vary, sets=quick, out=tmp_path / "out", plots=False,
                         progress=lambda label, now: heard.update({label: now.phase}))  # fmt: skip
    failed = "test_api:Failing"
    assert list(made.results) == ["greedy", "fifo"] and list(made.errors) == [failed]
    assert "on purpose" in made.errors[failed]
    assert heard == {"greedy": "done", failed: "failed", "fifo": "done"}
    again = ftlab.Comparison.load(tmp_path / "out")
    assert again.errors == made.errors and list(again.results) == list(made.results)
    assert "on purpose" in (tmp_path / "out" / "comparison.md").read_text(encoding="utf-8")
    # What is finished is kept until the rest is.
    assert (tmp_path / "out" / ".ftlab-runs").is_dir()
    ftlab.compare(
        tiny, vary={"ftl.victim": ["greedy", "fifo"]}, sets=quick, out=tmp_path / "out", plots=False
    )
    assert not (tmp_path / "out" / ".ftlab-runs").exists()
    with pytest.raises(ftlab.ConfigError, match="gredy"):
        ftlab.compare(tiny, vary={"ftl.victim": ["gredy", "fif"]})
    with pytest.raises(ftlab.RunError, match="on purpose"):
        ftlab.compare(tiny, vary={"ftl.victim": [Failing]}, sets=quick)


@pytest.mark.parametrize(
    ("vary", "sets", "said"),
    [
        ({"ftl.victim": ["rga"], "ftl.victim.rga.d": [2, 4]}, [], "make a choice twice"),
        ({"ftl.victim.rga.d": [2], "ftl.victim.fifo.x": [1]}, [], "make a choice twice"),
        ({"ftl.victim": ["rga", "fifo"]}, ["ftl.victim.rga.d=4"], "`ftl.victim.rga.d=4` is set for all runs"),
        ({"ftl.victim.rga.d": [2, 4]}, ["ftl.victim=fifo"], "`ftl.victim=fifo` is set for all runs"),
        ({"run.seed": range(10**9)}, [], "1,000,000,000 combinations"),
    ],
)
def test_what_would_give_columns_wrong_names_is_refused(
    tiny: Path, vary: dict[str, Any], sets: list[str], said: str
) -> None:
    with pytest.raises(ftlab.ConfigError, match=re.escape(said)):
        ftlab.compare(tiny, vary=vary, sets=sets)


def test_results_are_equal_if_what_they_say_is(tiny: Path, tmp_path: Path) -> None:
    first, again, other = (
        ftlab.run(tiny, sets={**QUICK, "run.seed": seed}, out=tmp_path / str(i), plots=False)
        for i, seed in enumerate((7, 7, 8))
    )
    assert first == again and first != other and first != "result"
    assert ftlab.Result.load(tmp_path / "0") == again
    worn = {**first.wear, "erases": first.wear["erases"] + 1}
    assert ftlab.Result(first.summary, {**first.tables, "wear": worn}) != first
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)
    assert repr(first).startswith("Result(waf=") and "\n" not in repr(first)
    assert "latency" in str(first) and "WAF" in str(first)


def test_a_comparison_is_a_frame_and_prints(tiny: Path) -> None:
    runs = {name: ftlab.resolve(tiny, sets={**QUICK, "ftl.victim": name}) for name in ("greedy", "fifo")}
    broken = {**runs["greedy"], "ftl": {"victim": "gredy"}}
    made = ftlab.compare({"greedy": runs["greedy"], "gredy": broken, "fifo": runs["fifo"]})
    table = made.arrow()
    assert table.column("label").to_pylist() == ["greedy", "fifo", "gredy"]
    assert table.column("error").to_pylist()[:2] == [None, None]
    wafs = [result.summary["waf"] for result in made.results.values()]
    assert table.column("waf").to_pylist() == [*wafs, None]
    if importlib.util.find_spec("pandas") is None:
        with pytest.raises(ftlab.InputError, match=r"`pip install pandas`; or use `arrow\(\)`"):
            made.to_frame()
    else:
        assert list(made.to_frame()["label"]) == ["greedy", "fifo", "gredy"]
    assert repr(made) == "Comparison(greedy, fifo, gredy: failed)"
    assert "why" in str(made) and "unknown victim policy `gredy`" in str(made)


def test_the_package_lists_what_it_offers() -> None:
    names = {name for name in dir(ftlab) if not name.startswith("__")}
    assert names == {*ftlab.__all__, "testing"} - {"__version__"}


def test_tables_agree_with_the_summary(tiny: Path) -> None:
    result = ftlab.run(tiny)
    host, flash = result.summary["host"], result.summary["flash"]
    for axis in ("volume", "time"):
        rows = result.series["axis"] == axis
        assert result.series["reads"][rows].sum() == host["reads"]
        assert result.series["page_programs"][rows].sum() == flash["page_programs"]
    for kind in ("read", "write"):
        rows = result.latency["kind"] == kind
        assert result.latency["count"][rows].sum() == host[f"{kind}s"]
        assert result.latency["cumulative_fraction"][rows][-1] == pytest.approx(1.0)
        assert result.latency["latency_us"][rows].max() == host[f"{kind}_latency_us"]["max"]
    assert result.wear["erases"].max() == result.summary["wear"]["erases"]["max"]
    dies = result.utilisation["resource"] == "die"
    assert result.utilisation["program"][dies].mean() == pytest.approx(
        result.summary["utilisation"]["die"]["program"]
    )
    assert result.utilisation["busy"].max() <= 1 + 1e-9
    assert set(result.tables) == {"series", "latency", "wear", "utilisation"}
    assert all(
        isinstance(column, np.ndarray) for table in result.tables.values() for column in table.values()
    )


def test_threads_end_when_a_signal_comes_while_they_are_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = ThreadPoolExecutor.submit
    begun: list[object] = []

    def submit(pool: ThreadPoolExecutor, *arguments: Any) -> object:
        begun.append(begin(pool, *arguments))
        raise KeyboardInterrupt

    def wait_for_the_end(_: int, go_on: Callable[[], None]) -> None:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            go_on()
            time.sleep(0.01)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    since = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        runner.in_threads(wait_for_the_end, [1, 2], 2)
    assert len(begun) == 1
    assert time.monotonic() - since < 10


def test_runs_in_threads_are_the_runs_alone(tiny: Path) -> None:
    seeds = [1, 2, 3, 4]
    alone = [without_cost(ftlab.run(tiny, sets={"run.seed": seed})) for seed in seeds]
    together = ftlab.compare(tiny, vary={"run.seed": seeds}, jobs=4)
    assert [without_cost(result) for result in together.results.values()] == alone
    assert list(together.results) == [f"seed={seed}" for seed in seeds]


def test_the_interpreter_is_released(tiny: Path) -> None:
    ticks = 0
    done = threading.Event()

    def work() -> None:
        ftlab.run(tiny, sets={"workload.requests": 1_000_000})
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.01)
    thread.join()
    assert ticks > 5


def test_progress_is_told_and_can_stop_a_run(tiny: Path) -> None:
    moments: list[ftlab.Progress] = []
    ftlab.run(tiny, sets={"workload.requests": 3_000_000}, progress=moments.append)
    assert {moment.phase for moment in moments} >= {"run"}
    running = [moment for moment in moments if moment.phase == "run"]
    assert [m.requests for m in running] == sorted(m.requests for m in running)
    assert all(m.fraction is None or 0 <= m.fraction <= 1 for m in moments)

    class Enough(Exception):
        pass

    def stop(_: ftlab.Progress) -> None:
        raise Enough

    with pytest.raises(Enough):
        ftlab.run(tiny, sets={"workload.requests": 4_000_000_000}, progress=stop)


def test_a_run_that_fails_half_way_does_not_stop_a_comparison(tiny: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    lines = [f"{128166372003061629 + i},h,0,Write,{i * 4096},4096,1" for i in range(50)]
    bad.write_text("\n".join([*lines, "not a line"]) + "\n", encoding="utf-8")
    made = ftlab.compare({"bad": ftlab.resolve(tiny, trace=bad), "good": ftlab.resolve(tiny, sets=QUICK)})
    assert "bad.csv:51" in made.errors["bad"] and list(made.results) == ["good"]
    bad.unlink()
    gone = {"gone": ftlab.resolve(tiny, trace=bad), "good": ftlab.resolve(tiny, sets=QUICK)}
    made = ftlab.compare(gone, out=tmp_path / "out", plots=False)
    assert "bad.csv" in made.errors["gone"] and list(made.results) == ["good"]


def test_values_that_nothing_can_have_are_refused_before_the_first_run(tiny: Path) -> None:
    heard: list[str] = []
    vary: dict[str, list[Any]] = {"ftl.victim": ["greedy", "gredy"], "device.blocks_per_plane": [2, 40, 60]}
    with pytest.raises(ftlab.ConfigError) as refused:
        ftlab.compare(tiny, vary=vary, sets=QUICK, progress=lambda label, now: heard.append(now.phase))
    said = str(refused.value)
    assert (
        "unknown victim policy `gredy`" in said and "blocks_per_plane" in said and "nothing was run" in said
    )
    assert set(heard) <= {"failed"}
    # One that only some of the configurations cannot have does not stop the others; nor does a missing file.
    made = ftlab.compare({"good": tiny, "bad": "no-such.toml"}, vary={"ftl.victim": ["greedy"]}, sets=QUICK)
    assert [*made.results, *made.errors] == ["good greedy", "bad greedy"]


def test_a_dictionary_of_sections_is_one_configuration(tiny: Path) -> None:
    whole = ftlab.resolve(tiny, sets=QUICK)
    made = ftlab.compare(whole)
    assert list(made.results) == ["config"]
    small = {
        "device": whole["device"],
        "workload": {"requests": 9, "generator": "uniform"},
        "run": whole["run"],
    }
    for config in ({"preset": "tbm-small", **small}, {**whole, **small}):
        (result,) = ftlab.compare(config).results.values()
        assert result.summary["host"]["writes"] == 9
    assert list(ftlab.compare({"one": whole, "device": whole}).results) == ["one", "device"]
    with pytest.raises(ftlab.ConfigError, match="worklod"):
        ftlab.compare({"preset": "tbm-small", "worklod": {"requests": 9}})


def test_a_configuration_is_read_from_json(tmp_path: Path, tiny: Path) -> None:
    """As a run that failed leaves one to be repeated."""
    whole = ftlab.resolve(tiny, sets=QUICK)
    (tmp_path / "kept.json").write_text(json.dumps(whole), encoding="utf-8")
    assert ftlab.resolve(tmp_path / "kept.json") == whole
    (tmp_path / "broken.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(ftlab.ConfigError, match="the config is no JSON object"):
        ftlab.resolve(tmp_path / "broken.json")


def test_a_capacity_is_rounded_to_whole_pages_with_a_note(tiny: Path) -> None:
    size = in_bytes(ftlab.resolve(tiny)["device"]["user_capacity"])
    result = ftlab.run(tiny, sets={**QUICK, "device.user_capacity": f"{size - 1000}B"})
    [note] = [note for note in result.summary["notes"] if "no whole number of pages" in note]
    assert str(size - 1000) in note and note in ftlab.compare([tiny], sets={
        **QUICK, "device.user_capacity": f"{size - 1000}B"}).notes  # fmt: skip
    assert in_bytes(result.summary["config"]["device"]["user_capacity"]) < size


def test_over_provisioning_on_top_of_a_capacity_without_blocks() -> None:
    """Blocks follow from both: the capacity stays what the file says."""
    load = 'workload.generator = "uniform"\nworkload.requests = 9\n'
    text = f'{load}device.user_capacity = "8GiB"\n'
    for op in (0.1, 0.3):
        device = ftlab.resolve(text, sets={"device.over_provisioning": op})["device"]
        assert in_bytes(device["user_capacity"]) == 8 << 30
        assert op <= device["over_provisioning"] < op + 0.02
    given = f'{load}device.over_provisioning = 0.3\ndevice.user_capacity = "4GiB"\n'
    device = ftlab.resolve(given, sets={"device.user_capacity": "8GiB"})["device"]
    assert in_bytes(device["user_capacity"]) == 8 << 30 and device["over_provisioning"] >= 0.3


def test_errors_are_of_their_kind(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(ftlab.ConfigError, match="did you mean `greedy`"):
        ftlab.run(tiny, sets={"ftl.victim": "gredy"})
    with pytest.raises(ftlab.ConfigError, match="did you mean `tbm-small`"):
        ftlab.run("tbm-smal")
    with pytest.raises(ftlab.InputError, match=r"missing\.csv"):
        ftlab.run(tiny, trace=tmp_path / "missing.csv")
    with pytest.raises(ftlab.ConfigError, match="no value of a configuration"):
        ftlab.run({"device": {"channels": object()}})
    with pytest.raises(ftlab.ConfigError, match="one string"):
        ftlab.run(tiny, sets="ftl.victim=rga")
    with pytest.raises(ftlab.ConfigError, match="nothing to compare"):
        ftlab.compare([])
    with pytest.raises(ftlab.ConfigError, match="list of values"):
        ftlab.compare(tiny, vary={"ftl.victim": "greedy"})
    for error in (ftlab.ConfigError, ftlab.InputError, ftlab.RunError):
        assert issubclass(error, ftlab.Error)


def test_settings_are_toml() -> None:
    sets = {"a": "x y", "b": 4, "c": 0.5, "d": True, "e": ["80us", "1ms"], "f": {"d": 4}, "g": Raw("8KiB")}
    assert set_list(sets) == [
        'a="x y"', "b=4", "c=0.5", "d=true", 'e=["80us", "1ms"]', 'f={ "d" = 4 }', "g=8KiB",
    ]  # fmt: skip


def test_labels_tell_runs_apart() -> None:
    quick = {**QUICK, "run.executor": "count"}
    twice = ftlab.compare([TINY, TINY], sets=quick)
    assert list(twice.results) == ["config", "config (2)"]
    grid = ftlab.compare(TINY, vary={"ftl.victim": ["greedy", "fifo"], "run.seed": [1, 2]}, sets=quick)
    assert list(grid.results) == [
        "greedy seed=1", "greedy seed=2", "fifo seed=1", "fifo seed=2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "ns"), [("0", 0), ("5ns", 5), ("1.5us", 1500), ("200ms", 200_000_000), ("2 s", 2 * 10**9)]
)
def test_times(text: str, ns: int) -> None:
    assert nanoseconds(text) == ns


def test_a_write_buffer_has_a_table_of_its_own(tiny: Path, tmp_path: Path) -> None:
    result = ftlab.run(tiny, sets={"ftl.write_buffer.fifo.size": "64KiB"})
    buffer, table = result.summary["policy"]["write_buffer"], result.tables["buffer"]
    assert buffer["capacity_pages"] == 16
    assert buffer["hits"] + buffer["evictions"] == result.summary["host"]["writes"]
    means = buffer["dirty_pages_by_channel"]["mean"]
    assert sum(means) == pytest.approx(buffer["fill_pages"]["mean"])
    lengths = table["end_s"] - table["start_s"]
    for channel, mean in enumerate(means):
        rows = table["channel"] == channel
        assert np.average(table["dirty_pages"][rows], weights=lengths[rows]) == pytest.approx(mean)
    series = result.series
    rows = series["axis"] == "time"
    lengths = series["end_s"][rows] - series["start_s"][rows]
    fill = np.average(series["buffer_pages"][rows], weights=lengths)
    assert fill == pytest.approx(buffer["fill_pages"]["mean"])
    result.save(tmp_path / "out", plots=False)
    again = ftlab.Result.load(tmp_path / "out")
    assert again.tables["buffer"]["dirty_pages"].tolist() == table["dirty_pages"].tolist()
    assert "buffer" not in ftlab.run(tiny).tables


@pytest.mark.parametrize("text", ["", "5", "ms", "-1s", "1.5ns", "1e3s", "1m", "99999999999s", "٣s"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ftlab.InputError, match="is no time"):
        nanoseconds(text)


def test_every_choice_of_the_registry_is_described() -> None:
    registry = ftlab.registry()
    keys = [seam["key"] for seam in registry["seams"]]
    assert {"mapping", "binding", "allocation", "victim", "scheduler"} <= set(keys)
    assert {"programming", "erase_suspend"} <= {feature["key"] for feature in registry["features"]}
    chosen = [*registry["features"], *registry["seams"]]
    for choices in [*(seam["choices"] for seam in chosen), registry["generators"]]:
        for choice in choices:
            assert choice["doc"]
            for param in choice["params"]:
                match param["kind"]:
                    case "flag":
                        assert param["default"] in (True, False)
                    case "word":
                        assert param["default"] == param["words"][0]
                    case kind:
                        assert kind in ("integer", "number", "size", "time")
                        assert param["min"] <= param["default"] <= param["max"]


def test_every_preset_resolves() -> None:
    for name in ftlab.presets():
        assert ftlab.resolve(name)["device"]["channels"] >= 1


def test_stubs_agree_with_the_module() -> None:
    stub = Path(ftlab.__file__).with_name("_core.pyi").read_text(encoding="utf-8")
    tree = ast.parse(stub)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert public == functions.keys() | classes
    for name, node in functions.items():
        signature = inspect.signature(getattr(_core, name))
        arguments = node.args
        assert [p.name for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY] == [
            a.arg for a in arguments.args
        ], name
        assert [p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY] == [
            a.arg for a in arguments.kwonlyargs
        ], name
        assert getattr(_core, name).__doc__, name
    assert re.fullmatch(r"\d+\.\d+\.\d+", _core.__version__)
