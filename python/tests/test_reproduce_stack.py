"""All five together: what is put in force, gains and interplay by hand, and the whole study on a tiny device."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ftlab import cli
from ftlab.reproduce.stack import STUDY
from ftlab.reproduce.stack import axes as stack
from ftlab.reproduce.stack.axes import MEMBERS, PAIRS, SCALES, SUBSETS, ZIPF, Evidence, Point, is_clear
from ftlab.reproduce.stack.tables import advice, interplays

TINY = stack.Scale(
    1 / 256,
    {**stack._device(64, 24, "96MiB"), "device.channels": 2, "device.page_size": "16KiB"},
    written=2.0,
)
"""192 MiB, of which half for the user."""


def evidence(figures: dict[tuple[str, ...], list[float]]) -> Evidence:
    """Made of IOPS and latencies, by members and repeat."""

    def result(iops: float) -> Any:
        latency = {"p999": 1e6 / iops}
        host = {"iops": iops, "read_latency_us": latency, "write_latency_us": latency, "bytes_written": 2**40}
        wear = {"erases": {"mean": 4.0}, "effective_erases": {"mean": 8.0}}
        summary = {"host": host, "waf": 2.0, "flash": {"block_erases": 400}, "wear": wear}
        return SimpleNamespace(summary=summary, wear={"erases": np.array([2.0] * 99 + [202.0])})

    return Evidence(
        {
            Point(ZIPF, members, seed): result(v)
            for members, vs in figures.items()
            for seed, v in enumerate(vs)
        },
        {},
    )


def test_every_subset_is_a_device_that_can_be_run() -> None:
    assert len(SUBSETS) == 17
    for scale in SCALES.values():
        for members in SUBSETS:
            run = STUDY.run(Point(ZIPF, members, 1), None, scale)
            run.job().resolve()
            assert (run.sets["ftl.reclaim_unit"] == "twin") is ("TBM" in members)


def test_gains_are_factors_and_what_a_pair_has_beyond_its_members_is_what_is_left() -> None:
    first, second = PAIRS[0]
    made = evidence({(): [100, 200], (first,): [150, 300], (second,): [120, 240], PAIRS[0]: [90, 180]})
    assert made.gains(ZIPF, (first,), "iops") == pytest.approx([1.5, 1.5])
    # A latency is better where it is lower.
    assert made.gains(ZIPF, (first,), "read_p999_us") == pytest.approx([1.5, 1.5])
    assert made.interplay(ZIPF, PAIRS[0], "iops") == pytest.approx([0.5, 0.5])
    assert is_clear(made.interplay(ZIPF, PAIRS[0], "iops"))


@pytest.mark.parametrize(
    ("factors", "clear"),
    [([1.1, 1.2], True), ([0.9, 0.8], True), ([1.01, 1.01], False), ([1.3, 0.99], False), ([1.05, 1.4], True),
     ([1.001, 1.4], True), ([1.0, 1.4], False)],
)  # fmt: skip
def test_what_is_clear(factors: list[float], clear: bool) -> None:
    assert is_clear(np.array(factors)) is clear


def test_lives_are_those_of_the_most_worn_blocks() -> None:
    made = evidence({(): [100.0]})
    # 400 erases, each worth two P/E cycles; the one block has 202 of 400 parts of the wear.
    worn = 400 * 2 * 202 / 400
    assert made.figure(Point(ZIPF, (), 0), "life_first_tib") == pytest.approx(stack.CYCLES / worn)
    assert made.figure(Point(ZIPF, (), 0), "life_percent_tib") == pytest.approx(stack.CYCLES / worn)


def test_words_name_what_helps_and_who_fights() -> None:
    figures = {members: [100.0, 102.0] for members in SUBSETS}
    figures[("TBM",)] = [150.0, 154.0]
    figures["TBM", "GCMix"] = [110.0, 111.0]
    (words,) = advice(evidence(figures))
    assert "IOPS: TBM, better by +50.5 ± 0.5 %" in words
    (fight,) = [line for line in words.splitlines() if "in each other's way" in line]
    assert "TBM + GCMix (IOPS -27.3 ± " in fight
    assert "| TBM + GCMix | **-2" in "\n".join(interplays(evidence(figures)))


def test_the_study_on_a_tiny_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SCALES, "quick", TINY)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["reproduce", "stack", "--only", "zipf", "--out", "out"]) == 0
    said = capsys.readouterr().out
    assert "Zipf (generated):" in said and "IOPS: " in said
    assert Path("out/together.png").stat().st_size > 10_000
    report = Path("out/report.md").read_text(encoding="utf-8")
    assert all(f"| {name} |" in report for name in (*MEMBERS, "all five", "TBM + rCPB"))
    rows = json.loads(Path("out/figures.json").read_text(encoding="utf-8"))["runs"]
    assert len(rows) == len(SUBSETS) * len(stack.SEEDS)
    signs = {"TBM": "multiplane", "GCMix": "paired"}
    base = [row for row in rows if not row["members"]]
    for member, sign in signs.items():
        alone = [row for row in rows if row["members"] == [member]]
        assert min(row[sign] or 0 for row in alone) > max(row[sign] or 0 for row in base), sign
    assert all(row["life_first_tib"] <= row["life_percent_tib"] for row in rows)
