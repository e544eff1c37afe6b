"""The reproduction of the read-disturb paper: workloads, grid, claims on hand-made results, a whole one in little."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ftlab
from ftlab import Result
from ftlab.cli.main import main
from ftlab_reproduce import Claim, workloads
from ftlab_reproduce.command import PAPERS
from ftlab_reproduce.ipr import CONCERNED, STUDY, axes, claims, hosts, tables
from ftlab_reproduce.ipr.axes import READINGS, SCALES, SYSTEMS, TIMED, Evidence, Point
from ftlab_reproduce.ipr.hosts import BLOCK, NAMES, PAGE, VOLUMES, Volume, wanted
from ftlab_reproduce.workloads import Library, Workload

TINY = Volume("SRC", 182, 0.98, 56, 0.6, user_blocks=64)


def made(tmp_path: Path, volume: Volume) -> tuple[Any, Any, Any]:
    path = tmp_path / "made.csv.zst"
    volume.make(1.0, 1, path)
    _, writes, offsets, sizes = workloads.requests_of(path, None, tmp_path / "x")
    return writes, offsets, sizes


def test_made_traces_have_the_tables_figures(tmp_path: Path) -> None:
    for name in ("HM", "SRC"):
        volume = next(row for row in VOLUMES if row.name == name)
        volume = replace(volume, user_blocks=64)
        writes, offsets, sizes = made(tmp_path, volume)
        assert writes.mean() == pytest.approx(1 - volume.reads, abs=0.001)
        read, written = sizes[~writes].sum(), sizes[writes].sum()
        assert read == pytest.approx(volume.read_gb * 1e9 * volume.part, rel=0.01)
        assert read / written == pytest.approx(volume.read_gb / volume.written_gb, rel=0.05)
        assert (offsets + sizes).max() <= 64 * BLOCK and not (offsets % 4096).any()


def test_reads_are_concentrated_as_stated(tmp_path: Path) -> None:
    for volume, hot in (
        (TINY, 0.9),
        (replace(TINY, hot_reads=0.5), 0.5),
        (replace(TINY, hot_reads=0.0), 0.0),
    ):
        writes, offsets, _ = made(tmp_path, volume)
        region = round(64 * BLOCK * TINY.hot_part / 8 / 4096) * 4096
        reads = np.sort(np.bincount(offsets[~writes] // region))
        expected = hot + (1 - hot) * TINY.hot_part
        assert reads[-8:].sum() / reads.sum() == pytest.approx(expected, abs=0.06)
    writes, offsets, _ = made(tmp_path, TINY)
    chunks = np.unique(offsets[writes] // (1 << 20))
    assert chunks.size <= 0.1 * 64 * BLOCK / (1 << 20) + 1


def test_a_read_cut_to_a_page_counts_once(tmp_path: Path) -> None:
    writes, offsets, sizes = made(tmp_path, replace(TINY, whole_pages=True))
    assert set(sizes[~writes].tolist()) == {PAGE} and not (offsets[~writes] % PAGE).any()
    assert set(sizes[writes].tolist()) != {PAGE}


def test_sizes_of_writes_follow_from_the_table() -> None:
    by_name = {row.name: row for row in VOLUMES}
    assert by_name["MDS"].write_kib == pytest.approx(60.3, abs=0.1)
    assert by_name["WEB"].write_kib == pytest.approx(30.7, abs=0.1)
    assert by_name["Websearch"].write_kib == 0
    assert tuple(by_name) == NAMES == (*hosts.MIXED, *hosts.DOMINATED)


def test_originals_are_known_by_name(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    lines = [f"{10**17 + i},h,0,{'Read' if i % 20 else 'Write'},{i * 65536},65536,1" for i in range(4000)]
    (own / "mds_1.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = {w.name: w for w in wanted(64)}
    library = Library(tmp_path / "kept", 1 / 32, own, [])
    taken = library.get(found["MDS"])
    assert taken is not None and taken.kind == "real" and taken.origin.startswith("excerpt of mds_1.csv")
    other = library.get(found["SRC"])
    assert other is not None and other.kind == "generated" and other.worst_deviation < 0.02
    assert library.get(found["hadoop"]) is None


def trace(blocks: int = 64, read: float = 1e9, written: float = 1e6) -> Workload:
    info = {"highest_offset_bytes": blocks * BLOCK - 4096, "bytes_read": read, "bytes_written": written,
            "requests": 1000, "write_fraction_requests": 0.02}  # fmt: skip
    return Workload("SRC", "generated", Path("x"), info, {}, "model")


def resolved(point: Point, scale: str = "quick") -> dict[str, Any]:
    run = STUDY.run(point, trace(640 if scale == "quick" else 20_480), SCALES[scale])
    return replace(run, trace=Path("x")).job().resolve()


def test_at_full_size_the_device_is_the_presets() -> None:
    run, preset = resolved(Point("SRC", "IPR", TIMED), "paper"), ftlab.resolve("ipr")
    for key in ("channels", "chips_per_channel", "pages_per_block", "page_size", "cell", "timing", "wear"):
        assert run["device"][key] == preset["device"][key]
    assert {**run["ftl"], "read_disturb": None} == {**preset["ftl"], "read_disturb": None}


def test_a_fifth_of_the_raw_space_is_spare() -> None:
    device = resolved(Point("SRC", "IPR"))["device"]
    assert device["blocks_per_plane"] == 800 and device["user_capacity"] == "3840MiB"
    assert resolved(Point("SRC", "IPR", axes.SPARE))["device"]["blocks_per_plane"] == 768
    timed = resolved(Point("SRC", "IPR", TIMED))["device"]
    assert (timed["channels"], timed["chips_per_channel"], timed["blocks_per_plane"]) == (1, 2, 400)


def test_every_method_and_reading_reaches_the_engine() -> None:
    methods = [resolved(Point("SRC", system))["ftl"]["read_disturb"] for system in SYSTEMS]
    assert all(one not in methods[:i] for i, one in enumerate(methods))
    plain = {system: resolved(Point("SRC", system)) for system in SYSTEMS}
    for setting, systems in {**CONCERNED, **dict.fromkeys(axes.QUOTAS, ("HotLD", "IPR"))}.items():
        for system in systems:
            assert resolved(Point("SRC", system, setting)) != plain[system], (setting, system)


def test_a_run_ends_by_reads_or_by_what_is_written() -> None:
    quick = SCALES["quick"]
    read, written = hosts.pages(trace().info)
    assert read == pytest.approx(1e9 / PAGE + 0.875 * 980) and written == pytest.approx(1e6 / PAGE + 17.5)
    assert axes.rounds(Point("SRC", "IPR"), trace(), quick) == round(600_000 * 64 / read)
    busy = trace(written=1e9)
    assert axes.rounds(Point("SRC", "IPR"), busy, quick) == round(160 * 64 * 192 / hosts.pages(busy.info)[1])


def by_hand(
    wgc: int, rrgc: int, used: Sequence[int] = (), ms: Sequence[float] = (0.1,), late: float = 0.0, **own: Any
) -> Result:
    """A result whose refreshes come evenly; `late`: that part of them in its last tenth."""
    even = np.full(10, (1 - late) * rrgc / 10)
    even[-1] += late * rrgc
    series = {"axis": np.array(["time"] * 10), "end_s": np.arange(1.0, 11.0), "refresh_erases": even,
              "erases": even + wgc / 10}  # fmt: skip
    disturb = {
        "refreshes": rrgc, "reuse": 5.0, "ipr_rate": 0.8, "skipped": 0.05, "max_reads_of_limit": 0.99, "monitored": 3,
        "read_hot_blocks": 7, "evicted": 2, "used_reads": list(used),
    }  # fmt: skip
    by_cause = {"gc": {"erases": wgc}, "refresh": {"erases": rrgc}, "wear": {"erases": 3}}
    summary = {
        "flash": {"by_cause": by_cause, "block_erases": wgc + rrgc, "page_reads": 1e7 * 1.0, "page_programs": 1},
        "policy": {"read_disturb": {**disturb, **own}}, "run": {"wall_s": 1.0, "cpu_s": 1.0},
        "workload": {"rounds": 3}, "host": {"read_latency_us": {"mean": 1e3 * float(np.mean(ms))}},
    }  # fmt: skip
    latency = {"kind": np.array(["read"] * len(ms) + ["write"]), "latency_us": np.array([*ms, 300.0]) * 1e3,
               "count": np.ones(len(ms) + 1)}  # fmt: skip
    wear = {"block_in_plane": np.arange(10), "erases": np.full(10, 10), "effective_erases": np.full(10, 11.0)}
    summary["wear"] = {"effective_erases": {"mean": 11.0, "stddev": 0.0}}
    return Result(summary, {"series": series, "latency": latency, "wear": wear})


def judged(results: dict[Point, Result]) -> dict[str, Claim]:
    found = STUDY.judged(Evidence(results, {}), tuple(STUDY.experiments))
    return {claim.id: claim for claim in found}


def test_claims_on_erases_follow_from_hand_made_results() -> None:
    of = {"Baseline": 60, "RedFTL": 58, "RL": 50, "HotLD": 30, "IPR": 9}
    results = {}
    for point in STUDY.points(("fig9a",), "quick"):
        rrgc = of[point.system] * (10 if point.workload in hosts.DOMINATED else 1)
        results[point] = by_hand(400 if point.system != "IPR" else 410, rrgc)
    results[Point("SRC", "IPR")] = by_hand(400, 90)
    results[Point("ADS", "HotLD")] = by_hand(400, 94)
    found = judged(results)
    assert found["f2-five"].measured == 6 and found["f2-five"].verdict == "not-reproduced"
    assert found["f2-six"].measured == pytest.approx(60 - 100 * 60 / 460)
    assert found["f9a-src"].measured == pytest.approx(85) and found["f9a-src"].verdict == "reproduced"
    assert found["f9a-src-total"].measured == pytest.approx(51)
    assert found["f9a-ipr"].measured == pytest.approx(100 * (1 - 90 / 300)), "HotLD is one of the others"
    assert found["f9a-hotld"].measured == pytest.approx(35)
    assert found["f9a-ads"].measured == pytest.approx(100 * (94 / 90 - 1))
    assert found["f9a-redftl"].measured == pytest.approx(100 * 2 / 60)
    assert found["f9a-rl"].measured == pytest.approx(100 * (1 - 500 / 580))
    assert found["f9a-rl"].verdict == "reproduced"
    assert found["f9a-wgc"].measured == pytest.approx(100 * 10 / 460)
    assert found["rate-mds"].verdict == "not-reproduced" and found["rate-src"].verdict == "reproduced"
    assert found["rate-least"].measured == 0.8
    assert found["skipped"].measured == pytest.approx(5) and found["skipped"].verdict == "reproduced"
    assert found["skipped-websearch"].verdict == "not-reproduced"
    assert found["by-construction-reuse"].verdict == "reproduced"
    assert found["by-construction-limit"].measured == 0.99
    assert found["f11-even"].measured == 0
    assert found["f10-window"].verdict == "not-run"


def test_a_moderate_reduction_is_neither_none_nor_most() -> None:
    def found(mds: int, adss: int) -> Claim:
        results = {point: by_hand(400, 600) for point in STUDY.points(("fig9a",), "quick")}
        results |= {Point(name, "RL"): by_hand(400, 400) for name in hosts.DOMINATED}
        results |= {Point("MDS", "RL"): by_hand(400, mds), Point("ADS", "RL"): by_hand(400, adss)}
        return judged(results)["f9a-rl"]

    assert (found(300, 420).workload, found(300, 420).verdict) == ("MDS", "reproduced")
    assert (found(150, 420).measured, found(150, 420).verdict) == (75, "direction")
    assert (found(150, 610).workload, found(150, 610).verdict) == ("ADS", "not-reproduced")


def test_full_size_runs_what_claims_need_and_no_more() -> None:
    chosen = STUDY.default_experiments("paper")
    points = STUDY.points(chosen, "paper")
    results = {point: by_hand(100, 90, [0] * 19 + [50], ms=[60.0, 300.0]) for point in points}
    evidence = Evidence(results, {}, {"closed": 1_376_256})
    assert [claim.id for claim in STUDY.judged(evidence, chosen) if claim.verdict == "not-run"] == []
    assert len(points) == 44
    for without in (Point("MDS", "RL"), Point("STG", "IPR")):
        less = Evidence({p: of for p, of in results.items() if p != without}, {}, evidence.beside)
        assert any(claim.verdict == "not-run" for claim in STUDY.judged(less, chosen)), without


def test_a_method_worse_than_baseline_is_seen() -> None:
    results = {point: by_hand(100, 100) for point in STUDY.points(("fig9a",), "quick")}
    results[Point("WEB", "IPR")] = by_hand(100, 120, max_reads_of_limit=1.01)
    results[Point("WEB", "HotLD")] = by_hand(100, 130)
    found = judged(results)
    assert found["f9a-ipr"].measured == pytest.approx(-20)
    assert (found["f9a-ipr"].verdict, found["f9a-ipr"].workload) == ("not-reproduced", "WEB")
    assert found["f9a-hotld"].measured == pytest.approx(-30)
    assert found["by-construction-limit"].verdict == "not-reproduced"


def test_used_reads_are_cumulative_by_twentieths() -> None:
    counts = [0] * 16 + [10, 3, 0, 87]
    results = {
        Point("SRC", "IPR"): by_hand(1, 1, counts),
        Point("ADS", "IPR"): by_hand(1, 1, [0] * 19 + [50]),
    }
    found = judged(results)
    assert found["f9b-src"].measured == pytest.approx(13) and found["f9b-src"].verdict == "reproduced"
    assert found["f9b-ads"].measured == 100
    assert judged({Point("SRC", "IPR"): by_hand(1, 1, [0] * 20)})["f9b-src"].verdict == "not-run"


def test_response_times_are_judged_by_the_window() -> None:
    of = {
        "Baseline": [300.0] * 50 + [60.0] * 25 + [0.1] * 25,
        "IPR": [300.0] * 24 + [0.1] * 76,
        "RedFTL": [60.0] * 50 + [0.1] * 50,
    }
    results = {Point("Websearch", s, TIMED): by_hand(0, 9, ms=ms) for s, ms in of.items()}
    found = judged(results)
    assert found["f10-window"].measured == pytest.approx(52) and found["f10-window"].verdict == "reproduced"
    assert found["f10-mean"].measured == pytest.approx(100 * (1 - 72.076 / 165.025), abs=0.1)
    assert found["f10-redftl"].measured == 100
    assert found["f10-redftl-below"].measured == pytest.approx(100)


def test_a_run_settles_by_the_stated_rule() -> None:
    assert axes.moved(by_hand(100, 100)) == pytest.approx(0)
    late = by_hand(100, 100, late=0.5)
    # After 6 of 10 parts 30 of 90 erases were for refreshes, at the end 100 of 200.
    assert axes.moved(late) == pytest.approx(1 / 2 - 1 / 3)
    assert np.isnan(axes.moved(by_hand(0, 0)))
    lines = tables.unsettled(Evidence({Point("SRC", "IPR"): late, Point("MDS", "IPR"): by_hand(1, 1)}, {}))
    assert sum(line.startswith("| IPR") for line in lines) == 1


def test_closed_forms() -> None:
    assert claims.dram(128 * 2**30) == 1_376_256
    known = STUDY.judged(Evidence({}, {}, {"closed": 1_376_256}), tuple(STUDY.experiments))
    memory = next(claim for claim in known if claim.id == "by-construction-memory")
    assert memory.measured == pytest.approx(1376.256) and memory.verdict == "reproduced"
    results = {Point(axes.READ_ONLY, "Baseline"): by_hand(0, 10, refreshes=998)}
    refreshes = judged(results)["by-construction-refreshes"]
    assert refreshes.measured == pytest.approx(0.2) and refreshes.verdict == "reproduced"
    results = {Point(axes.READ_ONLY, "Baseline"): by_hand(0, 10, refreshes=900)}
    assert judged(results)["by-construction-refreshes"].verdict == "not-reproduced"


def test_claims_are_counted_apart() -> None:
    bases = Counter(statement.basis for statement in STUDY.statements)
    assert bases == {"stated": 21, "corrected": 3, "construction": 6, "late": 4}
    assert {statement.experiment for statement in STUDY.statements} <= set(STUDY.experiments)
    assert set(READINGS) >= set(CONCERNED)


def test_a_whole_reproduction_on_a_tiny_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = replace(
        SCALES["quick"],
        user_blocks=440,
        planes=1,
        reads=1_200.0,
        timed_reads=400.0,
        written=2.0,
        on_request=frozenset(),
    )
    tiny = replace(STUDY, scales={"quick": small}, sets=_with_low_limits)
    monkeypatch.setattr(axes, "CLOSED_GENERATIONS", 2)
    monkeypatch.setitem(PAPERS, "ipr", tiny)
    # Away from the traces that may lie beside the project.
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    assert main(["reproduce", "ipr", "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["paper"], document["scale"]) == ("ipr", "quick")
    measured = {claim["id"] for claim in document["claims"] if claim["verdict"] != "not-run"}
    expected = {statement.id for statement in STUDY.statements}
    # Real traces are not there, and where so little is read hardly a block of low density is erased.
    assert expected - measured <= {"real-ipr", "f9b-src", "f9b-ads"}
    for name in ("fig2", "fig9a", "fig10", "fig11", "quota"):
        assert (out / f"{name}.png").stat().st_size > 10_000
    report = (out / "report.md").read_text(encoding="utf-8")
    titles = (
        "Figure 2",
        "Figure 9a",
        "Figure 9b",
        "Figure 10",
        "Figure 11",
        "The quota",
        "Readings",
        "Closed forms",
    )
    assert all(f"\n## {title}" in report for title in titles)


def test_runs_that_carry_no_claim_may_be_missing_from_pictures(tmp_path: Path) -> None:
    few = replace(
        SCALES["paper"],
        ratio=1 / 32,
        user_blocks=440,
        planes=1,
        reads=1_200.0,
        timed_reads=400.0,
        written=2.0,
    )
    tiny = replace(STUDY, scales={"paper": few}, sets=_with_low_limits, places=())
    found = tiny.reproduce(["fig9a", "quota"], "paper", tmp_path / "out", None)
    assert set(found.pictures()) == {"fig9a", "quota"}


def _with_low_limits(point: Point, workload: Workload | None, scale: Any) -> dict[str, Any]:
    """Blocks that take few reads, so that much happens in little time."""
    return {**axes.sets(point, workload, scale), "device.wear.read_limit": [1000, 10_000]}
