"""Write amplification in bytes and in pages: what runs give, what is printed, and what older results are read as."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import samples

import ftlab
from ftlab import Comparison, Result
from ftlab.base.quantities import in_bytes
from ftlab.cli.main import main
from ftlab.reports import cards
from ftlab.results import pictures, text
from ftlab.sweeps import table

SMALL = {
    "device.channels": 2, "device.chips_per_channel": 1, "device.dies_per_chip": 2, "device.blocks_per_plane": 16,
    "device.pages_per_block": 32, "device.over_provisioning": 0.3, "run.executor": "count", "workload.volume": "2x",
}  # fmt: skip
"""Of `tbm-small`, whose pages have 8 KiB."""


def flat(words: str) -> str:
    return " ".join(words.split())


@pytest.fixture(scope="module")
def part() -> Result:
    """Writes of a quarter of a page."""
    return ftlab.run("tbm-small", sets={**SMALL, "workload.request_size": "2KiB"})


def test_a_run_has_both(part: Result) -> None:
    s = part.summary
    assert s["waf"] == s["flash"]["page_programs"] * 8192 / s["host"]["bytes_written"]
    assert s["waf"] == pytest.approx(4 * s["waf_units"], rel=1e-9)
    assert list(s).index("waf_units") == list(s).index("waf") + 1
    rows = np.isfinite(part.series["waf"])
    assert rows.sum() > 4
    assert part.series["waf"][rows] == pytest.approx(4 * part.series["waf_units"][rows], rel=1e-9)
    binned = pictures.rebin(part, "volume")
    assert binned is not None
    assert np.average(binned["waf"]) == pytest.approx(s["waf"], rel=0.02)


def test_the_waf_over_volume_counts_map_units() -> None:
    """A unit of 2 KiB is a quarter of a page."""
    units = {
        "ftl.map_unit": "2KiB",
        "ftl.migration": "off-chip",
        "device.multiplane": "off",
        "workload.request_size": "8KiB",
    }
    result = ftlab.run("tbm-small", sets={**SMALL, **units})
    binned = pictures.rebin(result, "volume")
    assert binned is not None
    assert np.average(binned["waf"]) == pytest.approx(result.summary["waf"], rel=0.05)


def test_both_are_printed_where_they_differ(part: Result) -> None:
    s = part.summary
    shown = flat(text.run_summary(part, "part"))
    assert (
        f"WAF {s['waf']:.3f} in bytes, {s['waf_units']:.3f} in pages {s['gc']['invocations']:,} garbage"
        in shown
    )
    assert (
        "writes have 2 KiB on average, and a page 8 KiB: pages are programmed whole for parts of them, so WAF is "
        f"{s['waf']:.2f} in bytes and {s['waf_units']:.2f} in pages; "
        "`--set workload.request_size=8KiB` writes whole ones"
    ) in shown
    card = next(card for card in cards.of_result(part) if card.label == "WAF")
    assert card.value == f"{s['waf']:.3f}"
    assert card.note == f"bytes programmed ÷ bytes written; {s['waf_units']:.3f} in pages"
    rows = [line.split() for line in Comparison({"a": part, "b": samples.result()}).table().splitlines()]
    assert ["WAF", f"{s['waf']:.3f}", "2.000"] in rows
    assert ["WAF", "in", "pages", f"{s['waf_units']:.3f}", "2.000"] in rows


def test_one_is_printed_where_they_are_the_same() -> None:
    result = samples.result()
    shown = flat(text.run_summary(result, "whole"))
    assert "WAF 2.000 in bytes, the same in pages 1,562 garbage collections" in shown
    assert "programmed whole" not in shown
    assert "in pages" not in Comparison({"a": result, "b": samples.result(waf=3)}).table()


def test_the_cure_that_is_named_is_one(part: Result) -> None:
    sets = {**SMALL, "workload.request_size": "2KiB", "workload.generator": "sequential"}
    bare = ftlab.run("tbm-small", sets=sets)
    assert any("(`--set ftl.write_buffer=lru`)" in note for note in text.notes(bare))
    cured = ftlab.run("tbm-small", sets={**sets, "ftl.write_buffer": "lru"})
    assert cured.summary["waf"] < 0.3 * bare.summary["waf"]
    assert not [note for note in text.notes(cured) if "programmed whole" in note]
    # Of random writes a buffer takes hardly any two together.
    whole = ftlab.run("tbm-small", sets={**SMALL, "workload.request_size": "8KiB"})
    assert whole.summary["waf"] < 0.3 * part.summary["waf"]
    assert not [note for note in text.notes(whole) if "programmed whole" in note]


def test_a_difference_in_bytes_alone_is_not_laid_on_victims() -> None:
    part, taken = samples.result(request=1024), samples.result(request=4096, iops=12_000)
    # A buffer takes four writes of 1 KiB together.
    taken.summary["host"]["writes"] *= 4
    why = Comparison({"part": part, "taken": taken}).reasons["taken"]
    assert "WAF 2.00 against 8.00, as more of a programmed page is the host's data" in why
    assert "valid pages" not in why
    # Of larger writes each takes as much work.
    large = Comparison({"small": part, "large": samples.result(request=4096, iops=12_000)}).reasons["large"]
    assert "nothing measured explains this difference" in large and "WAF" not in large


def older(directory: Path, result: Result) -> Path:
    """A result as it was written before `waf` counted bytes."""
    result.save(directory, plots=False)
    file = directory / "summary.json"
    summary: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    summary["waf"] = summary.pop("waf_units")
    summary["precondition"]["waf"] = summary["precondition"].pop("waf_units")
    file.write_text(json.dumps(summary), encoding="utf-8")
    series = pq.read_table(directory / "series.parquet")
    series = series.drop_columns(["waf"]).rename_columns(
        ["waf" if name == "waf_units" else name for name in series.column_names if name != "waf"]
    )
    pq.write_table(series, directory / "series.parquet")
    return directory


def test_an_older_result_is_read_with_both(
    part: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read = Result.load(older(tmp_path / "old", part))
    for name in ("waf", "waf_units"):
        assert read.summary[name] == pytest.approx(part.summary[name], rel=1e-12)
        both = np.isfinite(part.series[name])
        assert read.series[name][both] == pytest.approx(part.series[name][both], rel=1e-6)
    assert "waf" not in read.summary["precondition"]
    aged = text.aged(read)
    assert f"WAF in pages {part.summary['precondition']['waf_units']:.2f}" in aged
    assert main(["report", str(tmp_path / "old"), "--out", str(tmp_path / "page.html")]) == 0
    assert f"{part.summary['waf_units']:.3f} in pages" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_waf_of_an_older_sweep_is_in_pages(tmp_path: Path) -> None:
    for name, columns in (("runs", ["waf", "precondition_waf"]), ("means", ["waf_mean", "waf_std"])):
        told = ["label", "status", "error", "hash"] if name == "runs" else []
        old = pa.table({"run": [1], **{key: [""] for key in told}, **{column: [2.5] for column in columns}})
        schema = table.SCHEMA if name == "runs" else table.MEANS_SCHEMA
        pq.write_table(old.replace_schema_metadata({"schema": schema}), tmp_path / "t.parquet")
        read = table.read_table(tmp_path / "t.parquet")
        assert read.column_names == [
            "run",
            *told,
            *(column.replace("waf", "waf_units") for column in columns),
        ]


def test_a_sweep_has_a_column_for_each_where_they_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for sizes, heads in (("['8KiB', '16KiB']", 1), ("['2KiB', '8KiB']", 2)):
        spec = tmp_path / f"s{heads}.toml"
        fixed = "\n".join(f"{key} = {json.dumps(value)}" for key, value in SMALL.items())
        spec.write_text(
            f"config = 'tbm-small'\n[set]\n{fixed}\n[grid]\n'workload.request_size' = {sizes}\n",
            encoding="utf-8",
        )
        main(["sweep", str(spec), "--out", str(tmp_path / f"out{heads}")])
        head = next(line for line in capsys.readouterr().out.splitlines() if "WAF" in line)
        assert head.count("WAF") == heads
        assert ("WAF in pages" in head) == (heads == 2)


@pytest.mark.parametrize("preset", ftlab.presets())
def test_what_is_programmed_is_erased_in_the_end(preset: str) -> None:
    """In the steady state as many pages are programmed as the erased blocks have, in one unit for all of `flash`."""
    device = ftlab.resolve(preset)["device"]
    shape = {
        "channels": 1,
        "chips_per_channel": 2,
        "dies_per_chip": 1,
        "blocks_per_plane": 80,
        "pages_per_block": 24,
    }
    page, blocks = in_bytes(device["page_size"]), 2 * 80 * device["planes_per_die"]
    raw = blocks * 24 * page
    user = raw * 3 // 4 // 2**20 * 2**20
    sets: dict[str, object] = {f"device.{name}": value for name, value in shape.items()}
    sets |= {
        "device.user_capacity": f"{user}B", "device.over_provisioning": raw / user - 1, "run.executor": "count",
        "ftl.gc_schedule": {"threshold": {"free_blocks": 4}}, "ftl.paired_page": "none", "ftl.migration": "off-chip",
        "workload.footprint": f"{user}B", "workload.volume": f"{3 * user}B",
        "workload.generator": "uniform", "workload.request_size": "4KiB", "workload.read_fraction": 0.0,
        "run.precondition": {"random": f"{user}B"},
    }  # fmt: skip
    s = ftlab.run(preset, sets=sets).summary
    flash, by_cause = s["flash"], s["flash"]["by_cause"].values()
    assert flash["page_programs"] / (flash["block_erases"] * 24) == pytest.approx(1, abs=0.02)
    assert flash["page_programs"] == sum(cause["programs"] for cause in by_cause)
    assert s["waf"] == pytest.approx(flash["page_programs"] * page / s["host"]["bytes_written"], rel=1e-12)
