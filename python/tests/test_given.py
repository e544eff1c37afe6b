"""Traces that are no text: Parquet, columns in memory, standard input, oracleGeneral."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import TINY, TRACE, Ftlab

import ftlab as package

ROWS = 400


def frame() -> pd.DataFrame:
    rows = np.arange(ROWS)
    return pd.DataFrame(
        {
            "note": ["x"] * ROWS,
            "ts_us": rows * 100,
            "op": np.where(rows % 2, "W", "R"),
            "lba": rows % 64 * 8,
            "bytes": np.full(ROWS, 4096),
        }
    )


def words(told: str) -> str:
    """Without the breaks of lines."""
    return " ".join(told.split())


def figures(summary: dict[str, Any]) -> dict[str, Any]:
    """What the simulation gave, without what the run took or how the trace was called."""
    kept = {key: summary[key] for key in ("host", "flash", "waf", "gc", "wear")}
    return json.loads(json.dumps(kept))  # type: ignore[no-any-return]


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "io.parquet"
    frame().to_parquet(path)
    return path


def test_every_form_of_a_table_is_the_same_trace(tiny: Path, parquet: Path, tmp_path: Path) -> None:
    table = frame()
    csv = tmp_path / "io.csv"
    table.to_csv(csv, index=False)
    named = "time=ts_us:us,op=op,offset=lba:sector,size=bytes"
    sets = {"host.replay": "open"}
    expected = figures(package.run(tiny, sets=sets, trace=csv, columns=named).summary)
    assert expected["host"]["reads"] == expected["host"]["writes"] == ROWS // 2
    structured = np.zeros(ROWS, dtype=[("time", "f8"), ("is_write", "?"), ("offset", "u8"), ("size", "i4")])
    structured["time"], structured["is_write"] = table["ts_us"] * 1e-6, table["op"] == "W"
    structured["offset"], structured["size"] = table["lba"] * 512, table["bytes"]
    plain = np.column_stack([table["ts_us"], table["op"] == "W", table["lba"], table["bytes"]])
    times = table.assign(ts_us=pd.to_datetime(table["ts_us"], unit="us"))
    forms: list[tuple[Any, str | None]] = [
        (parquet, None), (parquet, named), (table, None), (structured, None), (times, None),
        (plain, "time=1:us,op=2:r0w1,offset=3:sector,size=4"),
        (pa.Table.from_pandas(table), None), (dict(table.items()), None),
    ]  # fmt: skip
    for trace, columns in forms:
        summary = package.run(tiny, sets=sets, trace=trace, columns=columns).summary
        assert figures(summary) == expected, type(trace)
    assert summary["config"]["workload"]["trace"] == f"<{ROWS} rows>"
    assert summary["workload"]["format"] == "table" and summary["workload"]["columns_guessed"]


def test_one_operation_for_all_rows(tiny: Path) -> None:
    table = frame().drop(columns="op")
    columns = "time=ts_us:us,op=W,offset=lba:sector,size=bytes"
    summary = package.run(tiny, trace=table, columns=columns).summary
    assert (summary["host"]["reads"], summary["host"]["writes"]) == (0, ROWS)
    assert summary["config"]["workload"]["trace_columns"].startswith("op=W,time=ts_us:us")
    with pytest.raises(package.InputError, match=r"no column for `op`.*`op=W`: all are writes"):
        package.run(tiny, trace=table, columns=columns.replace("op=W,", ""))


def test_a_unit_of_time_that_cannot_be_is_said(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    """Microseconds that were taken for nanoseconds."""
    trace = tmp_path / "io.csv"
    rows = "".join(f"{i * 100},W,{i % 50 * 4096},4096\n" for i in range(3000))
    trace.write_text(rows, encoding="utf-8")
    for unit, is_said in (("ns", True), ("us", False)):
        columns = f"time=1:{unit},op=2,offset=3,size=4"
        told = words(ftlab("trace", "info", trace, "--columns", columns).stdout)
        assert ("the unit of its times can hardly be right" in told) is is_said
        found = json.loads(ftlab("trace", "info", trace, "--columns", columns, "--json").stdout)
        assert found["unit_doubtful"] is is_said
        notes = package.run(tiny, sets={"host.replay": "open"}, trace=trace, columns=columns).summary["notes"]
        assert any("the unit of its times can hardly be right" in note for note in notes) is is_said


def test_a_parquet_file_may_stand_in_a_configuration_and_in_a_comparison(
    ftlab: Ftlab, tiny: Path, parquet: Path
) -> None:
    text = TINY.replace("[workload]", f'[workload]\ntrace = "{parquet}"')
    for key in ("generator", "request_size", "read_fraction", "requests"):
        text = "\n".join(line for line in text.splitlines() if not line.startswith(key))
    tiny.write_text(text, encoding="utf-8")
    ftlab("config", "check", tiny)
    told = words(ftlab("run", tiny, "--set", "workload.rounds=3").stdout)
    assert "columns time=ts_us:us, op=op, offset=lba:sector, size=bytes, by their names" in told
    compared = ftlab("compare", tiny, "--vary", "ftl.victim=greedy,fifo", "--json")
    runs = json.loads(compared.stdout)["runs"]
    assert [run["summary"]["workload"]["format"] for run in runs] == ["parquet", "parquet"]
    assert runs[0]["summary"]["config"]["workload"]["trace"] == str(parquet)


def test_info_head_and_convert_read_parquet(ftlab: Ftlab, parquet: Path) -> None:
    found = json.loads(ftlab("trace", "info", parquet, "--json").stdout)
    assert (found["format"], found["reads"], found["path"]) == ("parquet", ROWS // 2, str(parquet))
    assert found["columns"] == "time=ts_us:us,op=op,offset=lba:sector,size=bytes"
    assert "columns" in ftlab("trace", "info", parquet).stdout
    assert "4,096" in ftlab("trace", "head", parquet, "-n", "2").stdout
    ftlab("trace", "convert", parquet, "io.msr")
    again = json.loads(ftlab("trace", "info", "io.msr", "--json").stdout)
    assert again["bytes_written"] == found["bytes_written"]


@pytest.mark.parametrize(
    ("change", "columns", "said"),
    [
        ({"lba": [-5] * ROWS}, None, "io.parquet:1: bad columns line: offset is not a whole number, found `0,R,-5,"),
        ({"lba": [0.5] * ROWS}, None, "rows from 1: the column `lba` cannot be the offset: a value is not whole"),
        ({"bytes": [None] * ROWS}, None, "the column `bytes` has 400 empty cells"),
        ({"op": [1] * ROWS}, None, "`op=COLUMN:r0w1`"),
        ({"op": ["W"] * (ROWS - 1) + ["X"]}, None, f"io.parquet:{ROWS}: bad columns line: op is none"),
        ({}, "op=op,offset=lbaa,size=bytes", "there is no column `lbaa`, which is to be the `offset`"),
        ({}, "op=op,offset=lbaa,size=bytes", "did you mean `lba`?"),
        ({}, "op=op,offset=lba", "there is no column for `size`"),
        ({}, "wat=op", "is none of `time=COLUMN`"),
        ({}, "op=op,offset=lba:miles,size=bytes", "`miles`"),
    ],
)  # fmt: skip
def test_what_is_no_trace_is_refused_with_words(
    ftlab: Ftlab, parquet: Path, change: dict[str, Any], columns: str | None, said: str
) -> None:
    frame().assign(**change).to_parquet(parquet)
    options = [] if columns is None else ["--columns", columns]
    error = ftlab("trace", "info", "io.parquet", *options, code=2).stderr
    assert said in error and "/proc/self" not in error


def test_a_damaged_parquet_file_and_names_that_say_nothing_are_refused(ftlab: Ftlab, parquet: Path) -> None:
    parquet.write_bytes(parquet.read_bytes()[:-40])
    assert "damaged or cut short" in ftlab("trace", "info", parquet, code=2).stderr
    frame().rename(columns={"lba": "x"}).to_parquet(parquet)
    error = ftlab("trace", "info", parquet, code=2).stderr
    assert "there is no column for `offset`" in error and "`note`, `ts_us`, `op`, `x`, `bytes`" in error
    frame().assign(lba_bytes=0).to_parquet(parquet)
    assert "`lba`, `lba_bytes` may all be the `offset`" in ftlab("trace", "info", parquet, code=2).stderr
    frame().iloc[:0].to_parquet(parquet)
    assert "no rows" in ftlab("trace", "info", parquet, code=2).stderr


def test_what_is_no_table_is_refused(tiny: Path) -> None:
    for trace, said in (
        (np.arange(5), "`trace` is a ndarray"),
        (7, "`trace` is an int"),
        ({"time": [1], "op": ["R", "W"]}, "are no table"),
        (np.zeros((3, 4)), "no column for `op`"),
    ):
        with pytest.raises(package.InputError, match=said):
            package.run(tiny, trace=trace)


def piped(cwd: Path, content: bytes, *words: str | Path, code: int = 0) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-W", "error", "-m", "ftlab", *map(str, words)]
    done = subprocess.run(command, cwd=cwd, input=content, capture_output=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr.decode()
    return done


def test_standard_input_is_a_trace(tiny: Path, trace: Path, parquet: Path, tmp_path: Path) -> None:
    sets = {"workload.rounds": 2}
    expected = figures(package.run(tiny, trace=trace, sets=sets).summary)
    summary = json.loads(
        piped(
            tmp_path, TRACE.encode(), "run", tiny, "--trace", "-", "--set", "workload.rounds=2", "--json"
        ).stdout
    )
    assert figures(summary) == expected
    assert (
        summary["config"]["workload"]["trace"] == "standard input" and summary["workload"]["format"] == "msr"
    )
    compared = piped(tmp_path, TRACE.encode(), "compare", tiny, "--trace", "-", "--vary", "ftl.victim=greedy,fifo",
                     "--out", "o", "--no-plots", "--json")  # fmt: skip
    assert len(json.loads(compared.stdout)["runs"]) == 2
    assert b"standard input: msr" in piped(tmp_path, TRACE.encode(), "trace", "info", "-").stdout
    assert b"parquet" in piped(tmp_path, parquet.read_bytes(), "trace", "info", "-").stdout
    assert (
        b"standard input: the file is empty"
        in piped(tmp_path, b"", "run", tiny, "--trace", "-", code=2).stderr
    )
    bad = piped(tmp_path, TRACE.encode() + b"\nx,y\n", "run", tiny, "--trace", "-", code=2).stderr
    assert b"standard input:3001: bad msr line" in bad


def test_oracle_general_is_read_and_a_run_says_that_all_are_reads(
    ftlab: Ftlab, tiny: Path, tmp_path: Path
) -> None:
    path = tmp_path / "w.oracleGeneral.bin"
    path.write_bytes(b"".join(struct.pack("<IQIq", i // 50, i % 64 * 8, 4096, -1) for i in range(200)))
    told = words(ftlab("run", tiny, "--trace", path).stdout)
    assert "oracle-general" in told and "it has no operations: all are reads" in told
    writes = json.loads(ftlab("run", tiny, "--trace", path, "--columns", "op=W", "--json").stdout)
    assert writes["host"]["writes"] == 200
    cut = tmp_path / "cut.bin"
    cut.write_bytes(path.read_bytes()[:-1])
    error = ftlab("run", tiny, "--trace", cut, code=2).stderr
    assert "cut.bin:200: bad oracle-general record: the last record is cut short" in error
