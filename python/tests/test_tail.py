"""The parts of latencies: in the results, in the printed summary, as a picture, and explained."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import TINY, Ftlab
from matplotlib.patches import Rectangle

import ftlab as lab
from ftlab.results import latency_parts, plot, tail, text


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> lab.Result:
    config = tmp_path_factory.mktemp("tail") / "tiny.toml"
    config.write_text(TINY.replace("= 20_000", "= 4000"), encoding="utf-8")
    return lab.run(config, sets={"run.per_request": True})


def test_rows_of_requests_add_up(result: lab.Result) -> None:
    requests = result.tables["requests"]
    host = result.summary["host"]
    assert requests["latency_ns"].size == host["reads"] + host["writes"] == 4000
    parts = sum(requests[f"{name}_ns"] for name in latency_parts.PARTS)
    assert np.array_equal(parts, requests["latency_ns"])
    for kind in ("read", "write"):
        mean = requests["latency_ns"][requests["kind"] == kind].mean() / 1e3
        assert mean == pytest.approx(host[f"{kind}_latency_us"]["mean"])


def test_the_parts_of_each_percentile_are_those_of_requests_near_it(result: lab.Result) -> None:
    requests = result.tables["requests"]
    for kind in latency_parts.KINDS:
        rows = requests["kind"] == kind
        for at in latency_parts.AT:
            found = latency_parts.around(result, kind, at)
            assert found is not None
            assert set(found.parts_us) == set(latency_parts.PARTS)
            assert sum(found.parts_us.values()) == pytest.approx(found.latency_us)
            if at == "mean":
                erase = requests["erase_ns"][rows].mean() / 1e3
                assert found.parts_us["erase"] == pytest.approx(erase)
            else:
                assert found.latency_us == pytest.approx(found.percentile_us, rel=0.2)
                assert 1 <= len(found.examples) <= 3
            for example in found.examples:
                same = rows & (requests["arrival_ns"] == round(example["arrival_s"] * 1e9))
                assert round(example["latency_us"] * 1e3) in requests["latency_ns"][same]


def test_the_summary_names_the_largest_parts(result: lab.Result) -> None:
    block = text.run_summary(result, "tiny").partition("what latencies went to\n")[2].partition("\n\n")[0]
    lines = block.splitlines()
    assert [line.split()[0] for line in (lines[0], lines[5])] == ["read", "write"]
    assert all(len(line) <= 80 for line in lines)
    found = latency_parts.around(result, "read", "p99.9")
    assert found is not None
    name, us = found.largest()[0]
    assert f"{latency_parts.PARTS[name].label} {100 * us / found.latency_us:.0f} %" in lines[3]


def test_the_picture_has_a_bar_for_each_percentile(result: lab.Result) -> None:
    figure = plot.latency_parts({"": result})
    assert figure is not None
    assert [axes.get_xticklabels()[4].get_text() for axes in figure.axes] == ["p99.9", "p99.9"]
    bars = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    top = sum(bar.get_height() for bar in bars) / len(latency_parts.AT)
    assert top == pytest.approx(100, abs=0.5)
    assert plot.latency_parts({"": lab.Result({**result.summary, "latency_parts": {}}, {})}) is None


def test_an_explanation_names_causes_an_example_and_its_place(result: lab.Result) -> None:
    found = tail.chosen(result, "out", "read", "p99.9")
    said = tail.explanation(result, found)
    assert said.startswith("reads at p99.9: ") and "At p50, where a read takes" in " ".join(said.split())
    assert "Settings that act on" in " ".join(said.split()) and "--timeline-window " in said
    assert max(map(len, said.splitlines())) <= 80
    example = found.examples[0]
    window = said.rpartition("--timeline-window ")[2].strip()
    start, end = (float(time.removesuffix("ms")) for time in window.split(".."))
    assert (
        start <= example["arrival_s"] * 1e3
        and end >= example["arrival_s"] * 1e3 + example["latency_us"] / 1e3
    )


def test_an_example_is_found_in_the_timeline_of_its_run(tmp_path: Path, tiny: Path) -> None:
    sets = {"run.latency_parts": True, "workload.requests": 4000}
    shown = tmp_path / "tail.json"
    result = lab.run(tiny, sets=sets, timeline=shown, timeline_window=("1s", "4s"))
    assert result.summary["run"]["timeline"] == {"file": str(shown), "from_s": 1.0, "to_s": 4.0}
    found = tail.chosen(result, "out", "read", "p50")
    assert 1.0 <= found.examples[0]["arrival_s"] < 4.0
    said = " ".join(tail.explanation(result, found).split())
    assert f"Timeline: open {shown} at https://ui.perfetto.dev" in said and "--timeline-window" not in said
    # The track of the timeline has the name that is said.
    die = found.examples[0]["die"]
    assert f"(channel {die // 2}, chip 0 die {die % 2})." in said
    assert f'"name":"chip 0 die {die % 2}"' in shown.read_text(encoding="utf-8")


def test_the_command(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    few = ("--set", "workload.requests=500", "--no-plots", "--out")
    ftlab("run", tiny, "--set", "run.latency_parts=true", *few, "with")
    ftlab("run", tiny, *few, "without")
    assert (tmp_path / "with" / "latency_parts.parquet").exists()
    told = json.loads(ftlab("explain-tail", "with", "--at", "p99", "--writes", "--json").stdout)
    assert (told["schema"], told["kind"], told["at"]) == ("ftlab.tail/1", "write", "p99")
    assert sum(told["parts_us"].values()) == pytest.approx(told["latency_us"])
    assert ftlab("explain-tail", "with", "--at", "mean").stdout.startswith("reads, mean of all ")
    assert "only" in ftlab("explain-tail", "with").stdout.lower(), "p99.9 of 150 reads is one read"
    refused = ftlab("explain-tail", "without", code=2).stderr
    assert "`--set run.latency_parts=true`" in refused
    assert "expected one of `mean`" in ftlab("explain-tail", "with", "--at", "p95", code=2).stderr
    assert "no result in" in ftlab("explain-tail", "nowhere", code=2).stderr
