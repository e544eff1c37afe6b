"""The evidence: its grid, its formulas, its pages, and that it would notice a difference."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

import ftlab
from evidence import closed_forms, latency_bandwidth, map_units
from evidence.closed_forms import Measurement, Point, Policy
from evidence.latency_bandwidth import STACK, TBM, Flash
from ftlab.theory import formulas

REPOSITORY = Path(__file__).parents[2]


def test_the_grid_covers_policies_spare_factors_and_block_sizes() -> None:
    points = closed_forms.grid(512)
    assert len(points) == len(set(points)) == 3 * 9 * 6
    assert {p.policy.d for p in points if p.policy.victim == "rga"} == {1, 2, 3, 5, 10, 100}
    assert {p.policy.victim for p in points} == {"greedy", "rga", "fifo", "random"}
    assert {p.spare_factor for p in points} >= {0.05, 0.28}
    assert {p.pages_per_block for p in points} == {64, 128, 256}


def test_a_point_accounts_for_the_blocks_held_free() -> None:
    point = Point(Policy("random"), 0.25, 64, 1024)
    # 768 blocks' worth of data in 1022 blocks.
    assert point.utilisation == pytest.approx(768 / 1022)
    assert point.predicted == pytest.approx(1 / (1 - 768 / 1022))


@pytest.mark.parametrize("policy", [Policy("greedy"), Policy("rga", 2), Policy("fifo"), Policy("random")])
def test_a_short_measurement_agrees(policy: Policy) -> None:
    measurement = closed_forms.measure(Point(policy, 0.20, 64, 1024), victims=30_000, seed=1)
    # A thirteenth of the victims of the evidence, on a quarter of the blocks.
    assert abs(measurement.difference) < 0.015
    assert measurement.victims == pytest.approx(30_000, rel=0.02)
    assert measurement.capacities > 2


@pytest.mark.parametrize("policy", [Policy("greedy"), Policy("rga", 2), Policy("random")])
def test_a_short_measurement_in_map_units_agrees(policy: Policy) -> None:
    """Blocks of 32 flash pages of 4 units: the dummies behind a victim's copies are worth some per cent of WAF."""
    point = Point(policy, 0.15, 128, 1024, parts=4)
    measurement = closed_forms.measure(point, victims=30_000, seed=1)
    assert abs(measurement.difference) < 0.01
    without = dataclasses.replace(point, parts=1)
    assert measurement.waf > 1.02 * without.predicted


def test_map_units_are_measured_over_all_numbers_of_a_page(tmp_path: Path) -> None:
    points = map_units.grid(512)
    assert len(points) == len(set(points)) == 4 * 5 * 3
    assert {(p.parts, p.pages_per_block) for p in points} == {(1, 128), (2, 256), (4, 512), (8, 1024)}
    measurements = [Measurement(p, 1.001 * p.predicted, 5.0, 200_000) for p in points]
    parts = map_units.measure_parts()
    assert all(part.agrees for part in parts)
    assert [part.ratio for part in parts] == pytest.approx([4, 4, 16, 2, 2], rel=1e-12)
    assert not dataclasses.replace(parts[0], waf=1.001 * parts[0].waf).agrees
    text = map_units.markdown(measurements, parts, seed=1)
    assert "**60 of 60 points within 0.5% of theory; the furthest is +0.10%**" in text
    worse = [dataclasses.replace(measurements[0], waf=points[0].predicted * 1.006), *measurements[1:]]
    assert "**59 of 60 points" in map_units.markdown(worse, parts, seed=1)


def test_a_device_that_is_a_little_wrong_does_not_agree() -> None:
    point = Point(Policy("greedy"), 0.10, 64, 1024)
    config = point.config(30_000, 1)
    config["ftl"]["victim"] = {"rga": {"d": 10}}
    waf = ftlab.run(config).summary["waf_units"]
    assert not Measurement(point, waf, capacities=3.0, victims=30_000).agrees


def test_pages_of_the_closed_forms(tmp_path: Path) -> None:
    points = [Point(p, s, b, 4096) for b in (64, 128) for p in closed_forms.POLICIES for s in (0.05, 0.28)]
    measurements = [Measurement(p, p.predicted * 1.001, 5.0, 400_000) for p in points]
    text = closed_forms.closed_forms_markdown(measurements, seed=1)
    assert "**36 of 36 points within 1% of theory; the furthest is +0.10%**" in text
    assert text.count("\n| rga d=100 |") == 3
    worse = [dataclasses.replace(measurements[0], waf=points[0].predicted * 1.02), *measurements[1:]]
    assert "**35 of 36 points" in closed_forms.closed_forms_markdown(worse, seed=1)
    assert "+2.00%**" in closed_forms.closed_forms_markdown(worse, seed=1)
    kept = json.loads(json.dumps(closed_forms.points(measurements, seed=1)))
    assert closed_forms.points(closed_forms.of_points(kept), seed=1) == kept
    closed_forms.plot_closed_forms(tmp_path / "points.png", measurements)
    assert (tmp_path / "points.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("flash", [TBM, STACK])
def test_the_times_are_those_of_the_preset(flash: Flash) -> None:
    workload = {"generator": "uniform", "volume": "1x"}
    ours = ftlab.resolve({**flash.config(), "workload": workload})["device"]
    preset = ftlab.resolve(flash.name)["device"]
    assert ours["timing"] == preset["timing"]
    assert (ours["page_size"], ours["cell"]) == (preset["page_size"], preset["cell"])
    assert flash.planes == preset["planes_per_die"]


def test_formulas_worked_out_by_hand() -> None:
    # 8 KiB at 200 MB/s is 40.96 µs.
    assert (TBM.bus_ns, TBM.dram_ns) == (40_960, 0)
    assert (TBM.read(0), TBM.read(1, 2)) == (75_000 + 40_960, 75_000 + 2 * 40_960)
    assert TBM.program(0, 2) == 1_600_000 + 2 * 40_960
    assert STACK.read(2) == 300 + 75_000 + 10_240
    assert STACK.program(1, 4) == 600_000 + 4 * (300 + 10_240)


@pytest.mark.parametrize("flash", [TBM, STACK])
def test_latencies_are_exact(flash: Flash) -> None:
    figures = latency_bandwidth.latencies(flash)
    assert len(figures) >= 8
    for figure in figures:
        assert figure.measured == figure.expected, figure.what


def test_a_wrong_figure_is_marked(tmp_path: Path) -> None:
    right = latency_bandwidth.Figure("a read", "tR", 100, 100, 0.0)
    wrong = dataclasses.replace(right, measured=101)
    assert right.agrees and not wrong.agrees
    text = latency_bandwidth.markdown([(TBM, [right, wrong], [])])
    assert "**1 of 2 figures agree.**" in text and "**101**" in text


def test_the_rust_test_has_the_figures_of_theory() -> None:
    """``closed_forms.rs`` carries predictions as constants."""
    source = (REPOSITORY / "crates/device/tests/closed_forms.rs").read_text()
    rows = re.findall(r'\((\d+), (\d+), (\d+), ([\d.]+), "([\w-]+)", (\d+), ([\d.]+)\)', source)
    assert len(rows) == 16
    for blocks, pages, free, spare, victim, d, waf in rows:
        size = int(blocks) * int(pages)
        utilisation = formulas.effective_utilisation(
            user_pages=round((1 - float(spare)) * size),
            blocks=int(blocks),
            pages_per_block=int(pages),
            free_blocks=int(free),
        )
        predicted = formulas.predict(victim, utilisation, int(pages), d=int(d) or None)
        assert float(waf) == pytest.approx(predicted, abs=6e-5)
