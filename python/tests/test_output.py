"""Output directories: complete, atomic, and never at the cost of other files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import samples

import ftlab as package
from ftlab import InputError, Result, RunError
from ftlab.results.output import COMPARISON_FILES, KEPT, MANIFEST, OutputDirectory, run_directories


def test_a_result_survives_saving_and_loading(tmp_path: Path) -> None:
    result = samples.result()
    written = result.save(tmp_path, plots=False)
    assert {path.name for path in written} == {"summary.json", *(f"{name}.parquet" for name in result.tables)}
    loaded = Result.load(tmp_path)
    assert loaded.summary == result.summary
    assert loaded.tables.keys() == result.tables.keys()
    for name, table in result.tables.items():
        assert list(loaded.tables[name]) == list(table)
        for key, values in table.items():
            assert loaded.tables[name][key].dtype.kind == values.dtype.kind, (name, key)
            np.testing.assert_array_equal(loaded.tables[name][key], values)


def test_tables_without_rows_survive_too(tmp_path: Path) -> None:
    result = samples.result(timed=False)
    result.save(tmp_path)
    loaded = Result.load(tmp_path)
    assert loaded.latency["latency_us"].size == 0
    assert loaded.latency["kind"].dtype.kind == "U"
    assert np.isnan(loaded.series["throughput_mb_s"]).all()


def test_undefined_is_null_in_arrow() -> None:
    table = samples.result().arrow("utilisation")
    assert table.column("read").null_count == 4
    assert table.schema.metadata[b"schema"] == b"ftlab.utilisation/1"


def test_a_failure_while_writing_leaves_the_directory_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples.result(waf=2.0).save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    directory = OutputDirectory(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ftlab.results.plot.save", fail)
    with pytest.raises(RunError, match="No space left on device\nhint: free some space on that disk"):
        directory.write_result(samples.result(waf=3.0))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_interrupted_move_can_be_repeated(tmp_path: Path) -> None:
    samples.result().save(tmp_path, plots=False)
    manifest = json.loads((tmp_path / MANIFEST).read_text(encoding="utf-8"))
    # As if the process had died after the first move of a run with plots.
    manifest["files"] += ["wear.png", "wear.svg"]
    (tmp_path / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    (tmp_path / "wear.png").write_bytes(b"")
    samples.result().save(tmp_path, plots=False)
    assert not (tmp_path / "wear.png").exists()


def test_a_manifest_names_nothing_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine", encoding="utf-8")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "own").mkdir()
    (inside / "own" / "summary.json").write_text("mine", encoding="utf-8")
    (tmp_path / MANIFEST).write_text(
        '{"files": ["outside.txt"], "part_of_comparison": true}', encoding="utf-8"
    )
    for manifest in ('{"files": ["../outside.txt"]}', '{"files": [], "directories": [".."]}'):
        (inside / MANIFEST).write_text(manifest, encoding="utf-8")
        with pytest.raises(InputError, match="cannot be read"):
            samples.result().save(inside, plots=False)
        assert outside.exists()


@pytest.mark.parametrize(
    "manifest",
    [
        "", "[]", "null", "3", "{", "[" * 100_000, '{"files": ' + "[" * 100_000, "{}", '{"files": 5}',
        '{"files": {"a": 1}}',
        '{"files": [null]}', '{"files": [["a"]]}', '{"files": ["a\\u0000b"]}', '{"files": ["\\ud800"]}',
        '{"files": [".."]}',
        '{"files": ["."]}', '{"files": [""]}', '{"files": ["/etc/passwd"]}',
        '{"files": [], "directories": 7}', "\udcff",
    ],
)  # fmt: skip
def test_a_strange_manifest_is_named_and_nothing_is_touched(tmp_path: Path, manifest: str) -> None:
    samples.result().save(tmp_path, plots=False)
    before = (tmp_path / "summary.json").read_bytes()
    (tmp_path / MANIFEST).write_bytes(manifest.encode(errors="surrogateescape"))
    with pytest.raises(InputError) as error:
        samples.result(waf=9.0).save(tmp_path, plots=False)
    assert f"{MANIFEST} cannot be read" in str(error.value) and "hint: " in str(error.value)
    assert (tmp_path / "summary.json").read_bytes() == before


def test_what_is_no_manifest_is_named(tmp_path: Path) -> None:
    for make in (Path.mkdir, os.mkfifo, lambda place: place.symlink_to("nowhere")):
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        place.mkdir()
        make(place / MANIFEST)
        with pytest.raises(InputError, match="cannot be read: it is no file"):
            samples.result().save(place, plots=False)


@pytest.mark.parametrize("label", [*COMPARISON_FILES, MANIFEST, KEPT, "summary.json", "a/b", "..", "runs"])
def test_a_label_is_no_name_of_an_output(label: str) -> None:
    names = run_directories([label, f"{label} ", "a b"])
    assert len(set(names.values())) == len(names)
    assert not {*names.values()} & {*COMPARISON_FILES, MANIFEST, KEPT, ".", ".."}
    assert all("/" not in name for name in names.values())


def test_a_run_may_be_called_like_an_output(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sets = {"run.executor": "count", "workload.requests": 300}
    configs = {"comparison.md": tiny, "overview.png": tiny, "plain": tiny}
    made = package.compare(configs, sets=sets, out=out)
    assert (out / "comparison.md").is_file() and (out / "overview.png").is_file()
    assert (
        package.Comparison.load(out).results["comparison.md"].summary == made.results["comparison.md"].summary
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no result in"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is not a summary"),
        ('{"schema": "ftlab.summary/9"}', "its schema is `ftlab.summary/9`"),
        ('{"schema": "ftlab.summary/1"}', "series.parquet cannot be read"),
    ],
)
def test_loading_what_is_no_result(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "summary.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        Result.load(tmp_path)


def test_loading_a_table_with_a_damaged_name(tmp_path: Path) -> None:
    samples.result().save(tmp_path, plots=False)
    file = tmp_path / "series.parquet"
    name = next(iter(samples.result().tables["series"])).encode()
    damaged = file.read_bytes().replace(name, b"\xe8" * len(name))
    file.write_bytes(damaged)
    with pytest.raises(InputError, match=r"series.parquet cannot be read"):
        Result.load(tmp_path)


def test_the_same_result_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        samples.result().save(tmp_path / name)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name


@pytest.mark.parametrize("name", ["s3:x", "c:x", "http:x", "file:x", "gs:x", "d=4"])
def test_any_name_is_the_name_of_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = samples.result()
    result.save(name, plots=False)
    assert {path.name for path in (tmp_path / name).iterdir()} == {
        "summary.json", MANIFEST, *(f"{table}.parquet" for table in result.tables)
    }  # fmt: skip
    loaded = Result.load(name)
    assert {table: list(columns) for table, columns in loaded.tables.items()} == {
        table: list(columns) for table, columns in result.tables.items()
    }
