"""Sweeps: what a specification means, what the table holds, and that nothing that is finished is done twice."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import Ftlab, listening

import ftlab as package
from ftlab import ConfigError, InputError
from ftlab.api.runner import Tell
from ftlab.api.simulation import Job
from ftlab.cli import sweep_command
from ftlab.sweeps.spec import Spec

SHORT = {"requests": 300, "run.precondition": "none"}


def of_grid(grid: dict[str, Any], **more: Any) -> Spec:
    return Spec.of({"config": "tbm-small", "grid": grid, **more})


def test_a_grid_has_every_combination() -> None:
    spec = of_grid({"op": [0.07, "15%"], "ftl": {"victim": ["greedy", {"rga": {"d": 4}}]}, "seed": "1..3"})
    assert spec.factors == ("op", "ftl.victim", "seed") and spec.seed == "seed"
    assert len(spec.runs) == 12
    assert [run.label for run in spec.runs[:4]] == [
        "op=0.07 greedy seed=1", "op=0.07 greedy seed=2", "op=0.07 greedy seed=3", "op=0.07 rga(d=4) seed=1",
    ]  # fmt: skip
    assert spec.runs[-1].levels == {"op": 0.15, "ftl.victim": "rga(d=4)", "seed": 3}
    assert spec.runs[-1].job.sets == [
        'device.over_provisioning="15%"', 'ftl.victim={ "rga" = { "d" = 4 } }', "run.seed=3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1..5", [1, 2, 3, 4, 5]),
        ("8..32 step 8", [8, 16, 24, 32]),
        ("0.05..0.2 step 0.05", [0.05, 0.1, 0.15, 0.2]),
        ("7..7", [7]),
    ],
)
def test_ranges(text: str, numbers: list[float]) -> None:
    found = [run.levels["queue_depth"] for run in of_grid({"queue_depth": text}).runs]
    assert found == numbers and [type(number) for number in found] == [type(number) for number in numbers]


def test_levels_have_labels_of_ones_own_and_may_set_several_keys() -> None:
    small = {"label": "small", "set": {"device.blocks_per_plane": 64, "device": {"channels": 2}}}
    spec = of_grid(
        {"size": [small, {"label": "preset", "config": "tbm", "set": {}}],
         "victim": [{"label": "emptiest", "value": "greedy"}, "fifo"]},
        set={"run": {"executor": "count"}, "generator": "uniform"},
    )  # fmt: skip
    first, *_, last = spec.runs
    assert first.label == "small emptiest" and first.levels == {"size": "small", "victim": "emptiest"}
    assert first.job.sets == [
        'run.executor="count"', 'workload.generator="uniform"', "device.blocks_per_plane=64", "device.channels=2",
        'ftl.victim="greedy"',
    ]  # fmt: skip
    assert (last.label, last.job.source.text, first.job.source.text) == ("preset fifo", "tbm", "tbm-small")


def test_a_list_gives_runs_one_by_one_and_multiplies_with_the_grid() -> None:
    spec = Spec.of(
        {
            "config": {"a": "tbm-small", "b": "rcftl-small"},
            "repeats": 2,
            "list": [{"label": "mine", "victim": "fifo", "op": 0.1}, {"victim": "greedy"}],
        }
    )
    assert spec.factors == ("victim", "op", "config", "seed")
    assert [run.label for run in spec.runs[:2]] == ["mine a seed=1", "mine a seed=2"]
    assert spec.runs[-1].levels == {"victim": "greedy", "config": "b", "seed": 2}
    assert len(spec.runs) == 8


def test_labels_tell_runs_apart() -> None:
    words = {"size": ("a", "a b"), "queue": ("b c", "c")}
    levels = {name: [{"label": word, "set": {}} for word in given] for name, given in words.items()}
    labels = [run.label for run in of_grid(levels).runs]
    assert labels == ["a b c", "a c", "a b b c", "a b c (2)"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"grid": {"seed": "1..2"}}, "there is no configuration to sweep over"),
        ({"config": "tbm", "gird": {}}, "did you mean `grid`?"),
        ({"config": "tbm", "grid": {"victm": ["greedy"]}}, "did you mean `victim`?"),
        ({"config": "tbm", "grid": {"seed": []}}, "`seed` has no values"),
        ({"config": "tbm", "grid": {"seed": "5..1"}}, "the range `5..1` is empty"),
        ({"config": "tbm", "grid": {"seed": "1..999999999"}}, "expected at most 100,000"),
        ({"config": "tbm", "grid": {"seed": "1..1000", "queue_depth": "1..1000"}}, "1,000,000 runs"),
        ({"config": "tbm", "grid": {"seed": [1, 2]}, "repeats": 3}, "the grid has seeds of its own"),
        ({"config": "tbm", "grid": {"victim": [{"label": "", "value": "fifo"}]}}, "expected a text"),
        ({"config": "tbm", "grid": {"size": [{"set": {"seed": 1}}]}}, "has no label"),
        ({"config": "tbm", "set": {"workload": {"volme": "1x"}}}, "did you mean `workload.volume`?"),
        ({"config": "tbm", "list": {"victim": "fifo"}}, "expected tables, each `[[list]]`"),
        ({"config": "tbm", "list": [{"seed": 1}], "grid": {"seed": [1, 2]}}, "in the grid and in the list"),
        ({"config": [], "grid": {}}, "expected a preset or a file"),
        ({"config": "tbm", "repeats": 0}, "expected a whole number from 1 on"),
        ({"config": "tbm", "repeats": 1e9}, "expected a whole number from 1 on"),
        ({"config": "tbm", "repeats": 10**9}, "1,000,000,000 runs"),
        ({"config": "tbm", "repeats": 10**5, "grid": {"queue_depth": "1..99"}}, "9,900,000 runs"),
        ({"config": "tbm", "repeats": 10**5, "list": [{"op": 0.1}, {"op": 0.2}]}, "200,000 runs"),
        # A key is named twice, a choice and its parameter, or parameters of two choices.
        (
            {"config": "tbm", "grid": {"victim": ["fifo"], "ftl": {"victim": ["rga"]}}},
            "`ftl.victim` is given twice",
        ),
        ({"config": "tbm", "grid": {"victim": ["rga"], "ftl.victim.rga.d": [2, 4]}}, "make a choice twice"),
        (
            {"config": "tbm", "grid": {"ftl.victim.rga.d": [2], "ftl.victim.fifo.x": [4]}},
            "make a choice twice",
        ),
        (
            {
                "config": "tbm",
                "grid": {"victim": ["rga"], "size": [{"label": "x", "set": {"ftl.victim.rga.d": 2}}]},
            },
            "make a choice twice",
        ),
        (
            {"config": "tbm", "list": [{"victim": "rga"}], "grid": {"ftl.victim": ["fifo"]}},
            "is given twice, in `list`",
        ),
        ({"config": "tbm", "list": [{"run.seed": 7}], "repeats": 2}, "`run.seed` is given twice"),
        ({"config": "tbm", "list": [{"victim": "rga", "ftl.victim": "fifo"}]}, "`ftl.victim` is given twice"),
        (
            {"config": "tbm", "trace": "x", "grid": {"workload.trace": ["a", "b"]}},
            "`workload.trace` is given twice",
        ),
        (
            {"config": "tbm", "set": {"ftl.victim.rga.d": 4}, "grid": {"victim": ["greedy", "rga"]}},
            "make a choice",
        ),
        (
            {"config": "tbm", "set": {"victim": "fifo"}, "grid": {"ftl.victim.rga.d": [2, 4]}},
            "make a choice twice",
        ),
        (
            {
                "config": "tbm",
                "grid": {"victim": [{"label": "x", "value": "fifo", "set": {"ftl.victim": "rga"}}]},
            },
            "`ftl.victim` is given twice",
        ),
        # What is called alike would be averaged.
        (
            {"config": "tbm", "grid": {"victim": ["greedy", "greedy"]}},
            "`greedy` is there twice, as value 1 and 2",
        ),
        ({"config": "tbm", "grid": {"op": [0.07, "7%"]}}, "`0.07` is there twice"),
        ({"config": "tbm", "grid": {"seed": ["1..3", 2]}}, "`2` is there twice, as value 2 and 4"),
        ({"config": ["a/x.toml", "b/x.toml"]}, '`config = { "first" = "a/x.toml", "second" = "b/x.toml" }`'),
        (
            {"config": "tbm", "list": [{"op": 0.1, "label": "a"}, {"op": 0.1, "label": "b"}]},
            "same as list[1]",
        ),
        (
            {"config": ["tbm", "qlc"], "grid": {"size": [{"label": "x", "config": "tbm-small"}]}},
            "the configuration is named in `config` too",
        ),
        (
            {"config": "tbm", "grid": {"label": [{"label": "x", "set": {}}]}},
            "a factor cannot be called `label`",
        ),
    ],
)
def test_a_specification_that_is_none(spec: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        Spec.of(spec)
    assert said in str(error.value) and str(error.value).startswith("error: ")
    assert "expected" in str(error.value) or "every sweep has" in str(error.value)


def test_settings_that_go_together_are_accepted() -> None:
    grid = {"ftl.victim.rga.d": [2, 4], "op": [0.1, 0.2]}
    spec = of_grid(grid, set={"victim": "rga", "op": 0.3})
    assert [run.job.resolve()["ftl"]["victim"] for run in spec.runs[::2]] == [
        {"rga": {"d": 2}},
        {"rga": {"d": 4}},
    ]
    assert [run.job.resolve()["device"]["over_provisioning"] for run in spec.runs[:2]] == [0.1, 0.2]
    # Two parameters of one choice.
    of_grid({"ftl.write_buffer.fifo.size": ["1MiB", "2MiB"], "ftl.write_buffer.fifo.flush": ["free", "full"]})


def test_a_byte_order_mark_is_no_part_of_a_specification(tmp_path: Path) -> None:
    spec = tmp_path / "marked.toml"
    spec.write_bytes(b'\xef\xbb\xbfconfig = "tbm-small"\n[grid]\nseed = "1..3"\n')
    assert len(Spec.of(spec).runs) == 3


def test_the_examples_of_the_documentation_are_specifications(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf-8")
    first, second, third = (
        tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    )
    assert len(Spec.of(first).runs) == 12
    runs = Spec.of({"config": "tbm-small", **second}).runs
    assert runs[0].label == "as the paper emptiest small" and len(runs) == 8
    monkeypatch.chdir(tmp_path)
    (tmp_path / third["volumes"]).mkdir(parents=True)
    volume = {"volume": 3, "file": "3.csv.zst", "bytes_written": 1, "end_bytes": 5 << 20}
    listed = json.dumps({"schema": "ftlab.volumes/1", "volumes": [volume]})
    (tmp_path / third["volumes"] / "volumes.json").write_text(listed, encoding="utf-8")
    assert [run.label for run in Spec.of(third).runs] == [
        f"volume=3 {name}" for name in ("none", "host-gc", "dac")
    ]
    help_text = sweep_command.EXAMPLE.partition("\n\n")[2].partition("[[list]]")[0]
    assert len(Spec.of(tomllib.loads(help_text)).runs) == 30


@pytest.fixture
def spec(tiny: Path) -> dict[str, Any]:
    """Four runs of milliseconds, with a factor of numbers and one of names."""
    return {"config": str(tiny), "set": SHORT, "grid": {"op": [0.25, 1], "victim": ["greedy", "fifo"]}}


def kept_of(out: Path) -> dict[str, int]:
    return {
        place.parent.name: place.stat().st_mtime_ns for place in (out / "runs").glob("[!.]*/summary.json")
    }


def test_the_table_is_tidy_and_typed(spec: dict[str, Any], tmp_path: Path) -> None:
    made = package.sweep(spec, out=tmp_path / "out", jobs=2)
    table = pq.read_table(tmp_path / "out" / "runs.parquet")
    assert table.equals(made.table)
    types = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert (types["op"], types["victim"], types["host_writes"], types["waf"]) == (
        "double",
        "string",
        "int64",
        "double",
    )
    rows = table.to_pylist()
    assert [(row["op"], row["victim"]) for row in rows] == [
        (0.25, "greedy"), (0.25, "fifo"), (1.0, "greedy"), (1.0, "fifo"),
    ]  # fmt: skip
    assert {row["status"] for row in rows} == {"ok"} and {row["error"] for row in rows} == {None}
    assert len({row["hash"] for row in rows}) == 4 and rows[0]["engine"] == package.__version__
    alone = package.run(
        spec["config"], sets={**SHORT_KEYS, "device.over_provisioning": 1, "ftl.victim": "fifo"}
    ).summary
    assert rows[3]["host_latency_us_p99"] == alone["host"]["latency_us"]["p99"]
    assert rows[3]["flash_by_cause_host_programs"] == alone["flash"]["by_cause"]["host"]["programs"]
    frame = made.to_frame()
    assert list(frame.columns) == table.column_names and frame.loc[3, "victim"] == "fifo"


SHORT_KEYS = {"workload.requests": 300, "run.precondition": "none"}


def test_without_pandas_the_frame_says_what_to_do(
    spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = package.sweep(spec)
    assert made.directory is None and made.statuses == {"ok": 4}
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        made.to_frame()


def test_a_failed_run_is_a_row_with_its_error(spec: dict[str, Any], ftlab: Ftlab, tmp_path: Path) -> None:
    spec["grid"]["victim"] = ["greedy", "gredy"]
    made = package.sweep(spec, out=tmp_path / "out")
    assert made.statuses == {"ok": 2, "failed": 2}
    assert made.table.column("waf").null_count == 2
    assert "did you mean `greedy`?" in made.errors["op=0.25 gredy"]
    assert '--> the specification: ftl.victim = "gredy"' in made.errors["op=0.25 gredy"]
    spec["grid"]["victim"] = ["gredy", "greddy"]
    with pytest.raises(ConfigError, match="did you mean `greedy`"):
        package.sweep(spec, out=tmp_path / "none")
    file = tmp_path / "some.toml"
    file.write_text(
        f'config = "{spec["config"]}"\n[set]\nrequests = 10\n[grid]\nvictim = ["greedy", "gredy"]\n'
    )
    done = ftlab("sweep", file, "--out", tmp_path / "cli", code=1)
    assert "1 of 2 runs failed; the first is `gredy`" in done.stderr
    assert f'--> {file}: ftl.victim = "gredy"' in done.stderr and "--set" not in done.stderr
    assert "2 runs: 1 ok, 1 failed" in done.stdout


def test_a_trace_from_standard_input_is_refused(spec: dict[str, Any], tmp_path: Path) -> None:
    for where in ({"trace": "-"}, {"set": {"workload.trace": "-"}}):
        with pytest.raises(ConfigError, match="cannot read its trace from standard input"):
            package.sweep({**spec, **where}, out=tmp_path / "out")
    assert not kept_of(tmp_path / "out")


def test_what_is_kept_is_not_run_again(spec: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = package.sweep(spec, out=out)
    before = kept_of(out)
    spec["grid"]["op"] = [0.25, 1, 2]
    again = package.sweep(spec, out=out)
    after = kept_of(out)
    assert len(before) == 4 and len(after) == 6
    assert {name: after[name] for name in before} == before
    assert (
        again.table.slice(0, 4)
        .select(["label", "waf", "run_wall_s"])
        .equals(first.table.select(["label", "waf", "run_wall_s"]))
    )


def test_a_killed_sweep_goes_on_where_it_was(tiny: Path, ftlab: Ftlab, tmp_path: Path) -> None:
    out, file = tmp_path / "out", tmp_path / "long.toml"
    file.write_text(f'config = "{tiny}"\n[grid]\nrequests = [100, 200, 300, 300000000]\n', encoding="utf-8")
    command = [sys.executable, "-m", "ftlab", "sweep", str(file), "--out", str(out), "--jobs", "1"]
    process = subprocess.Popen(
        command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=listening
    )
    deadline = time.monotonic() + 100
    while len(list((out / "runs").glob("[!.]*/kept.json"))) < 3:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    before = kept_of(out)
    file.write_text(file.read_text(encoding="utf-8").replace("300000000", "400"), encoding="utf-8")
    done = ftlab("sweep", file, "--out", out, "--json")
    assert json.loads(done.stdout)["statuses"] == {"ok": 4}
    after = kept_of(out)
    assert len(after) == 4 and {name: after[name] for name in before} == before
    assert {place.name for place in out.iterdir()} == {"runs", "runs.parquet", "means.parquet"}, (
        "no aged state is left"
    )


def test_a_log_hears_a_line_a_minute(
    spec: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hour = iter([0.0, *[3600.0] * 1000])
    monkeypatch.setattr("ftlab.api.runner.MINUTE_S", 0.2)
    log = io.StringIO()
    with Tell(log, lambda: next(hour)) as tell:
        tell.note("preparing")
        time.sleep(0.3)
        tell.begin(10, 2, 8.0)
        for label, failed in (("a", False), ("b", True), ("c", False), ("d", False)):
            tell.running(label, 0.5, 1.0)
            tell.done(label, 1.0, failed=failed)
        tell._since = 0.0
        time.sleep(0.3)
    lines = log.getvalue().splitlines()
    assert lines[0] == "preparing"
    assert lines[-1] == "5 of 10 runs done, 1 failed, 4 left; 4 runs an hour, 60 min left"
    # What is over within the first minute has nothing to say, and a terminal has its own line.
    monkeypatch.setattr("ftlab.api.runner.MINUTE_S", 60.0)
    quiet = io.StringIO()
    with Tell(quiet) as tell:
        package.sweep(spec, out=tmp_path / "out", tell=tell)
    assert quiet.getvalue() == ""


def test_a_sweep_under_way_has_a_table(
    spec: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ftlab.sweeps.sweep.WRITE_S", 0.0)
    seen: list[dict[str, int]] = []

    class Watching(Tell):
        def done(self, label: str, weight: float, *, failed: bool = False) -> None:
            super().done(label, weight, failed=failed)
            if (file := tmp_path / "out" / "runs.parquet").exists():
                statuses = pq.read_table(file).column("status").to_pylist()
                seen.append({status: statuses.count(status) for status in statuses})

    package.sweep(spec, out=tmp_path / "out", jobs=1, tell=Watching())
    assert seen == [{"ok": 1, "missing": 3}, {"ok": 2, "missing": 2}, {"ok": 3, "missing": 1}]


def test_aged_states_are_shared_and_change_nothing(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[str] = []
    loaded: list[str] = []
    simulate = Job.simulate

    def watched(job: Job, progress: Any, **files: Any) -> Any:
        saved.extend(name for name in files if name == "save_state")
        loaded.extend(word for word in job.sets if "state" in word)
        return simulate(job, progress, **files)

    monkeypatch.setattr(Job, "simulate", watched)
    spec = {"config": str(tiny), "set": {"requests": 2000},
            "grid": {"queue_depth": [1, 4, 16], "seed": [1, 2], "read_fraction": [0, 0.5]}}  # fmt: skip
    made = package.sweep(spec, out=tmp_path / "out", jobs=3)
    assert made.statuses == {"ok": 12}
    assert (len(saved), len(loaded)) == (2, 10), "a state for each seed; depth and reads do not age a device"
    monkeypatch.undo()
    for row in made.table.to_pylist()[::5]:
        sets = {"workload.requests": 2000, "host.queue_depth": row["queue_depth"], "run.seed": row["seed"],
                "workload.read_fraction": row["read_fraction"]}  # fmt: skip
        alone = package.run(tiny, sets=sets).summary
        (kept,) = (tmp_path / "out" / "runs").glob(f"{row['hash'][:20]}/summary.json")
        shared = json.loads(kept.read_text(encoding="utf-8"))
        for summary in (alone, shared):
            summary.pop("run")
        assert shared == alone, "to the last digit, how it was aged included"


def test_what_ages_a_device_otherwise_is_not_shared(tiny: Path) -> None:
    from ftlab.api.aged_states import aging_of

    def aging(**sets: Any) -> str | None:
        return aging_of(
            package.resolve(tiny, sets={key.replace("__", "."): value for key, value in sets.items()})
        )

    base = aging()
    assert base is not None and base == aging(
        workload__requests=7, host__queue_depth=2, run__executor="count"
    )
    assert aging(device__timing__read="99us") == base, "ageing has no time"
    for other in ({"run__seed": 8}, {"ftl__victim": "fifo"}, {"workload__footprint": "50%"},
                  {"workload__generator": "sequential"}, {"device__over_provisioning": 0.5},
                  {"run__payload": "stamp"}, {"run__precondition": {"random": "1x"}}):  # fmt: skip
        assert aging(**other) != base, other
    random = {"run__precondition": {"random": "1x"}}
    assert aging(**random) == aging(**random, workload__generator="sequential"), "which writes where it likes"
    for none in (
        {"run__precondition": "none"},
        {"run__precondition": {"state": "file"}},
        {"ftl__mapping": "fast", "ftl__victim": "fifo"},
    ):
        assert aging(**none) is None, none


def test_shards_add_up(spec: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = package.sweep(spec, out=out, shard=(1, 3))
    assert first.statuses == {"ok": 2, "missing": 2}
    for i in (2, 3):
        package.sweep(spec, out=out, shard=(i, 3))
    assert {file.name for file in out.glob("*.parquet")} == {
        f"{name}-{i}-of-3.parquet" for name in ("runs", "means") for i in (1, 2, 3)
    }
    before = kept_of(out)
    assert package.sweep(spec, out=out).statuses == {"ok": 4}
    assert kept_of(out) == before and len(before) == 4, "the whole takes what the shards made"
    with pytest.raises(ConfigError, match="no shard 4 of 3"):
        package.sweep(spec, out=out, shard=(4, 3))


def test_means_are_over_seeds(spec: dict[str, Any]) -> None:
    made = package.sweep({**spec, "repeats": 3})
    wafs = [row["waf"] for row in made.table.to_pylist() if (row["op"], row["victim"]) == (1.0, "fifo")]
    mean = made.means.to_pylist()[3]
    assert (mean["op"], mean["victim"], mean["runs"]) == (1.0, "fifo", 3)
    assert "seed" not in mean
    assert mean["waf_mean"] == pytest.approx(statistics.fmean(wafs))
    assert mean["waf_std"] == pytest.approx(statistics.stdev(wafs))
    iops = [row["host_iops"] for row in made.table.to_pylist() if (row["op"], row["victim"]) == (1.0, "fifo")]
    assert len(set(iops)) == 3 and mean["host_iops_std"] == pytest.approx(statistics.stdev(iops))


def test_other_peoples_files_stay(spec: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "runs.parquet").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="was not written by ftlab"):
        package.sweep(spec, out=tmp_path)
    assert (tmp_path / "runs.parquet").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.toml"], "cannot be read: No such file"),
        (["SPEC", "--shard", "3/2"], "expected I/N with I from 1 to N"),
        (["SPEC", "--jobs", "0"], "expected at least 1"),
        (["SPEC", "--jobs", "2", "--scheduler", "tcp://127.0.0.1:1"], "do not go together"),
    ],
)
def test_bad_command_lines(words: list[str], said: str, ftlab: Ftlab, tmp_path: Path) -> None:
    (tmp_path / "SPEC").write_text('config = "tbm-small"\n', encoding="utf-8")
    assert said in ftlab("sweep", *words, code=2).stderr


def test_a_cluster_of_which_a_worker_dies(tiny: Path, tmp_path: Path) -> None:
    """A real scheduler with three workers in processes of their own, of which one is killed."""
    pytest.importorskip("distributed")
    address = tmp_path / "scheduler.json"
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}

    def start(*words: str | Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", *map(str, words)], env=environment, cwd=tmp_path,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    def wait_for(what: Any) -> None:
        deadline = time.monotonic() + 200
        while not what():
            assert time.monotonic() < deadline
            time.sleep(0.1)

    processes = [start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                       "--scheduler-file", address)]  # fmt: skip
    try:
        wait_for(address.exists)
        workers = [start("distributed.cli.dask_worker", "--scheduler-file", address, "--nthreads", "1", "--no-nanny",
                         "--no-dashboard", "--host", "127.0.0.1") for _ in range(3)]  # fmt: skip
        processes += workers
        scheduler = json.loads(address.read_text(encoding="utf-8"))["address"]
        out, file = tmp_path / "out", tmp_path / "many.toml"
        file.write_text(
            f'config = "{tiny}"\n[set]\nrequests = 400000\n[grid]\nseed = "1..12"\nvictim = ["greedy", "gredy"]\n',
            encoding="utf-8",
        )
        sweeping = subprocess.Popen(
            [sys.executable, "-m", "ftlab", "sweep", str(file), "--out", str(out), "--scheduler", scheduler, "--json"],
            env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        processes.append(sweeping)  # type: ignore[arg-type]
        wait_for(lambda: len(kept_of(out)) >= 2 or sweeping.poll() is not None)
        workers[0].kill()
        said, error = sweeping.communicate(timeout=200)
    finally:
        for process in processes:
            process.kill()
            process.wait(timeout=60)
    made = json.loads(said)
    assert made["statuses"] == {"ok": 12, "failed": 12}, error
    assert sweeping.returncode == 1 and "12 of 24 runs failed" in error
    seventh = next(row for row in made["runs"] if row["seed"] == 7 and row["status"] == "ok")
    alone = package.run(
        tiny, sets={"workload.requests": 400000, "run.seed": 7, "ftl.victim": "greedy"}
    ).summary
    assert seventh["host_latency_us_p99"] == alone["host"]["latency_us"]["p99"]
    assert len(kept_of(out)) == 12
