"""The reproduction of papers: rules of the verdicts, made traces, excerpts, and a whole one on a tiny device."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ftlab import InputError, Result, cli
from ftlab.reproduce import claims, synthesis, workloads
from ftlab.reproduce.claims import Claim
from ftlab.reproduce.cli import PAPERS, claim_ids
from ftlab.reproduce.experiment import Grid, Run, Tell
from ftlab.reproduce.study import Study
from ftlab.reproduce.tbm import STUDY, traces
from ftlab.reproduce.tbm import axes as tbm
from ftlab.reproduce.tbm.axes import Evidence, Point
from ftlab.reproduce.workloads import Library

TINY = tbm.Scale(
    1 / 4800,
    {
        "device.channels": 2, "device.chips_per_channel": 1, "device.blocks_per_plane": 64,
        "device.pages_per_block": 16, "device.user_capacity": "52MiB", "device.over_provisioning": 64 / 52 - 1,
    },
)  # fmt: skip
"""64 MiB, of which 52 for the user."""


@pytest.mark.parametrize(
    ("rule", "verdicts"),
    [
        (claims.up_to(68), {68: "reproduced", 51: "reproduced", 85: "reproduced", 50: "direction", 90: "direction",
                            1.1: "direction", 1: "not-reproduced", -60: "not-reproduced"}),
        (claims.up_to(5), {2: "reproduced", 8: "reproduced", 8.1: "direction", 0.5: "not-reproduced"}),
        (claims.at_least(80, 10), {80: "reproduced", 79: "direction", 10: "direction", 9: "not-reproduced"}),
        (claims.at_most(2, 4), {-50: "reproduced", 2: "reproduced", 3: "direction", 4.1: "not-reproduced"}),
        (claims.within(-10, -1), {-10: "reproduced", -1: "reproduced", -11: "direction", -0.5: "direction",
                                  0: "not-reproduced", 5: "not-reproduced"}),
        (claims.within(1, 10), {5: "reproduced", 11: "direction", -1: "not-reproduced"}),
        # A number by itself is met or not.
        (claims.near(50, 10), {46: "reproduced", 54: "reproduced", 44: "not-reproduced", 56: "not-reproduced"}),
        (claims.around(20, 10), {10: "reproduced", 30: "reproduced", 9: "not-reproduced", 31: "not-reproduced"}),
        # A ratio has the direction of the change.
        (claims.times(2, 15), {1.71: "reproduced", 2.29: "reproduced", 1.1: "direction", 9: "direction",
                               1: "not-reproduced", 0.5: "not-reproduced"}),
        (claims.times(0.5, 10), {0.54: "reproduced", 0.9: "direction", 1.1: "not-reproduced"}),
    ],
)  # fmt: skip
def test_rules_judge_as_they_say(rule: claims.Rule, verdicts: dict[float, str]) -> None:
    assert {value: rule(value) for value in verdicts} == verdicts
    assert rule(None) == "not-run"
    assert rule(math.nan) == "not-run"


def test_claims_have_the_schema() -> None:
    claim = Claim("a", "b", "below 2", math.nan, "%", "not-run", "w", "generated", "n")
    document = claims.document("tbm", "quick", [claim])
    assert document["schema"] == "ftlab.claims/1"
    assert list(document["claims"][0]) == [
        "id", "claim", "paper_value", "measured", "unit", "verdict", "workload", "workload_kind", "note",
        "basis",
    ]  # fmt: skip
    assert document["claims"][0]["measured"] is None
    json.dumps(document, allow_nan=False)


def test_claims_are_counted_by_what_they_rest_on() -> None:
    def claim(verdict: claims.Verdict, basis: claims.Basis) -> Claim:
        return Claim("a", "b", None, 1.0, "%", verdict, "w", "generated", "n", basis)

    found = [claim("reproduced", "stated"), claim("reproduced", "stated"), claim("direction", "stated"),
             claim("reproduced", "construction"), claim("not-reproduced", "late")]  # fmt: skip
    assert claims.counted(found) == [
        "| claims | all | reproduced | direction | not-reproduced | not-run |",
        "|---|---:|---:|---:|---:|---:|",
        "| stated before the runs | 3 | 2 | 1 | 0 | 0 |",
        "| by construction | 1 | 1 | 0 | 0 | 0 |",
        "| reading chosen late | 1 | 0 | 0 | 1 | 0 |",
    ]
    assert claims.table(found, 100).startswith(
        "stated before the runs: 2 of 3 claims reproduced, 1 in direction, 0 not reproduced, 0 not run\n"
    )
    assert "| direction | stated before the runs |" in claims.markdown(found)[4]


@pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.name)
def test_help_lists_the_ids_of_claims(paper: Study) -> None:
    ids = " ".join(claim_ids().split())
    assert all(f" {statement.id}" in ids for statement in paper.statements)


def test_only_takes_experiments_and_claims() -> None:
    of = {
        name: claims.experiments_for(name, STUDY.experiments, STUDY.statements)
        for name in ("bars", "c-bac", "c")
    }
    assert of == {"bars": ("bars",), "c-bac": ("bac",), "c": None}


@pytest.mark.parametrize("wanted", traces.WORKLOADS, ids=lambda wanted: wanted.name)
def test_made_traces_have_the_figures_of_the_table(wanted: workloads.Wanted, tmp_path: Path) -> None:
    made = Library(tmp_path, 1 / 500, None, []).get(wanted)
    assert made is not None and made.kind == "generated"
    assert set(made.deviations) == {"write_fraction", "read_kib", "write_kib", "inter_arrival_ms"}
    assert made.worst_deviation <= workloads.TOLERANCE
    assert isinstance(wanted.model, synthesis.TraceModel)
    assert (
        made.info["highest_offset_bytes"] <= math.ceil(wanted.model.space_gib / 500 * 2**30 / 65536) * 65536
    )


def test_a_made_trace_depends_on_model_scale_and_seed_alone(tmp_path: Path) -> None:
    model = traces.WORKLOADS[4].model
    assert isinstance(model, synthesis.TraceModel)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        synthesis.synthesise(model, 1 / 2000, seed, tmp_path / name)
    first, same, other = ((tmp_path / name).read_bytes() for name in "abc")
    assert first == same != other


def test_made_reads_go_to_data_that_the_trace_writes(tmp_path: Path) -> None:
    made = Library(tmp_path, 1 / 500, None, []).get(traces.WORKLOADS[0])
    assert made is not None
    _, writes, offsets, sizes = workloads.requests_of(made.path, None, tmp_path / "x")
    page = 8192
    written = set((offsets[writes] // page).tolist())
    reads = (offsets[~writes] // page).tolist()
    assert sizes.min() == page
    assert sum(read in written for read in reads) > 0.95 * len(reads)


def test_sequential_requests_begin_where_the_last_ended() -> None:
    starts = np.array([100, 7, 7, 500, 7])
    sizes = np.array([10, 20, 30, 40, 50])
    follows = np.array([False, True, True, False, True])
    assert synthesis.chained(starts, sizes, follows).tolist() == [100, 110, 130, 500, 540]


def test_a_trace_that_misses_its_table_is_refused(tmp_path: Path) -> None:
    wanted = traces.WORKLOADS[0]
    wrong = workloads.Wanted(wanted.name, wanted.files, {**wanted.table, "write_kib": 9.0}, wanted.model)
    with pytest.raises(InputError, match=r"6\.\d % away from its table"):
        Library(tmp_path, 1 / 5000, None, []).get(wrong)


@pytest.mark.parametrize(
    ("file", "name"),
    [("prn_0.csv.gz", "prn-0"), ("prj_0.csv", "prj-0"), ("proj_0.csv.zst", "prj-0"), ("Financial1.spc", "fin1"),
     ("MSR-prn_1.csv.xz", "prn-1"), ("postmark-msr-ssdmodel.trace.zst", "post"), ("tpce-1.csv", "tpce"),
     ("Exchange.csv.gz", "exch")],
)  # fmt: skip
def test_originals_are_recognised_by_name(file: str, name: str) -> None:
    found = [wanted.name for wanted in traces.WORKLOADS if workloads.recognised([Path(file)], wanted.files)]
    assert found == [name]


def original(directory: Path, wanted: workloads.Wanted, ratio: float, file: str) -> Path:
    """A file that stands in for an original trace."""
    assert isinstance(wanted.model, synthesis.TraceModel)
    directory.mkdir()
    synthesis.synthesise(wanted.model, ratio, 99, directory / file)
    return directory


def test_an_original_is_taken_whole_at_full_scale_and_in_part_below(tmp_path: Path) -> None:
    wanted = traces.WORKLOADS[5]
    own = original(tmp_path / "own", wanted, 1 / 40, "prj_0.csv.zst")
    whole = Library(tmp_path / "1", 1.0, own, []).get(wanted)
    assert whole is not None and whole.kind == "original" and whole.path.parent == own
    part = Library(tmp_path / "2", 1 / 8, own, []).get(wanted)
    assert part is not None and part.kind == "real"
    assert part.info["requests"] == pytest.approx(whole.info["requests"] / 8, rel=0.5)
    assert part.info["footprint_mib"] == pytest.approx(whole.info["footprint_mib"] / 8, rel=0.5)
    assert part.info["inter_arrival_ms_mean"] == pytest.approx(whole.info["inter_arrival_ms_mean"], rel=1e-3)
    assert part.info["highest_offset_bytes"] < whole.info["highest_offset_bytes"] / 4


def test_what_does_not_have_the_papers_figures_is_not_the_original(tmp_path: Path) -> None:
    prj, prn = traces.WORKLOADS[5], traces.WORKLOADS[1]
    own = original(tmp_path / "own", prn, 1 / 2000, "prj_0.csv.zst")
    found = Library(tmp_path / "1", 1.0, own, []).get(prj)
    assert found is not None and found.kind == "real"
    assert found.deviations["write_kib"] == pytest.approx(9.7 / 40.9 - 1, abs=0.01)


def test_excerpts_keep_neighbours_and_close_gaps() -> None:
    region = workloads.REGION
    offsets = np.array([5 * region, 5 * region + 8192, 90 * region + 512, 7 * region - 512])
    sizes = np.array([4096, 4096, 512, 1024])
    # Regions 5, 6, 7 (the last request reaches into it) and 90 become 0 to 3.
    assert workloads.packed(offsets, sizes).tolist() == [0, 8192, 3 * region + 512, 2 * region - 512]


def test_a_ratio_of_its_own_takes_a_trace_whole(tmp_path: Path) -> None:
    wanted = traces.WORKLOADS[5]
    own = original(tmp_path / "own", wanted, 1 / 400, "prj_0.csv.zst")
    whole = workloads.Wanted("all of it", wanted.files, wanted.table, is_paper=False, ratio=1.0)
    library = Library(tmp_path / "kept", 1 / 8, own, [])
    part, every = library.get(wanted), library.get(whole)
    assert part is not None and every is not None
    info = workloads.trace_info(own / "prj_0.csv.zst")
    assert every.info["requests"] == info["requests"] > part.info["requests"]
    assert every.info["footprint_mib"] == pytest.approx(info["footprint_mib"], rel=1e-3)
    assert every.kind == "real"


def rows(**columns: Sequence[float]) -> dict[str, np.ndarray]:
    count = len(next(iter(columns.values())))
    table = {key: np.asarray(values, float) for key, values in columns.items()}
    return {"axis": np.array(["volume"] * count), **table}


def test_a_window_weighs_its_rows() -> None:
    series = rows(
        capacities_written=[5.0, 7.5, 10.0], start_s=[0, 10, 20], end_s=[10, 20, 50], host_written_gb=[50, 75, 100],
        reads=[0, 10, 0], writes=[1, 10, 20], latency_mean_us=[9, 100, 400], gc_invocations=[7, 4, 1],
        gc_moved_pages=[1, 10, 5], erases=[9, 8, 2], host_page_programs=[1, 30, 10], host_page_reads=[0, 5, 0],
        multiplane_program_fraction=[1, 0.5, 0.1], multiplane_read_fraction=[math.nan, 0.2, math.nan],
    )  # fmt: skip
    found = tbm.window(Result({}, {"series": series}))
    assert found.iops == pytest.approx(40 / 40)
    assert found.response_us == pytest.approx((20 * 100 + 20 * 400) / 40)
    assert (found.gc_count, found.gc_cost, found.gc_cost_per_block) == (5, 3, 1.5)
    assert found.gc_per_gb == pytest.approx(5 / 50)
    assert found.multiplane_writes == pytest.approx((30 * 0.5 + 10 * 0.1) / 40)
    assert found.multiplane_reads == pytest.approx(0.2)


def test_the_long_term_is_the_second_half_of_what_a_run_wrote() -> None:
    for written in (10.0, 2.0):
        at = [0.2 * written, 0.6 * written, written]
        columns = {key: [1, 1, 1] for key in ("start_s", "end_s", "reads", "writes", "gc_invocations",
                   "gc_moved_pages", "erases", "host_page_programs", "host_page_reads")}  # fmt: skip
        series = rows(capacities_written=at, host_written_gb=at, latency_mean_us=[1, 3, 5],
                      multiplane_program_fraction=[1, 1, 1], multiplane_read_fraction=[1, 1, 1],
                      **columns)  # fmt: skip
        result = Result({}, {"series": series})
        assert tbm.long_term(result) == (written / 2, written)
        assert tbm.window(result).response_us == 4


def test_short_runs_are_those_beside_the_main_ones() -> None:
    quick, paper = tbm.SCALES["quick"], tbm.SCALES["paper"]
    points = STUDY.points(STUDY.experiments, "quick")
    assert {tbm.capacities(point, paper) for point in points} == {10}
    for point in points:
        main = point.replay == "closed" and not point.bac and not point.setting
        if (main or point.workload == "prj-0") and point.workload in PAPER_NAMES and not point.setting:
            assert tbm.capacities(point, quick) == 10
        else:
            few = (*tbm.LONG_RUNNING, "fin1 excerpt", "dtrs excerpt")
            assert tbm.capacities(point, quick) == (2 if point.workload in few else 4)


PAPER_NAMES = [wanted.name for wanted in traces.WORKLOADS]


@pytest.mark.parametrize("scale", tbm.SCALES)
def test_every_workload_is_run_in_every_way(scale: str) -> None:
    ways = {(p.workload, p.allocation, p.tbm, p.bac, p.replay) for p in STUDY.points(("bars", "bac"), scale)}
    missing = set()
    for name in PAPER_NAMES:
        for allocation in tbm.ALLOCATIONS:
            for twin in (False, True):
                closed = {(name, allocation, twin, bac, "closed") for bac in (False, True)}
                missing |= closed - ways
                assert (name, allocation, twin, False, "open") in ways
    left_out = tbm.LONG_RUNNING if scale == "quick" else ()
    assert missing == {(n, a, True, True, "closed") for n in left_out for a in tbm.ALLOCATIONS}


def test_settings_reach_the_engine(trace: Path) -> None:
    made = workloads.Workload("exch", "generated", trace, workloads.trace_info(trace), {}, "")
    resolved = {}
    for setting in tbm.SETTINGS:
        replay = "open" if setting in tbm.PACES else "closed"
        point = Point("exch", "D", setting == "no pad", False, replay, setting)
        resolved[setting] = STUDY.run(point, made, TINY).job().resolve()
    plain, apart = resolved[""]["ftl"], resolved["two frontiers"]["ftl"]
    assert (plain["reclaim_unit"], plain["separation"]) == ("block", "none")
    assert (apart["reclaim_unit"], apart["separation"]) == ("block", "host-gc")
    assert resolved["no pad"]["ftl"]["reclaim_unit"]["twin"]["pad"] is False
    assert resolved["10 times the pace"]["host"]["time_scale"] == 0.1


def test_pac_and_bac_are_compared_over_the_same_volume() -> None:
    long, short = by_hand(100, 1000, 1, 1, 1), by_hand(100, 1000, 1, 1, 1)
    series = dict(long.series)
    # The long run is slower beyond the three capacities that the short one wrote.
    series["latency_mean_us"] = np.array([1000.0, 1000.0, 1010.0, 1010.0, 5000.0])
    series["capacities_written"] = np.array([0.3, 1.4, 2.0, 3.0, 10.0])
    short_series = {**dict(short.series), "capacities_written": np.array([0.3, 1.0, 1.6, 2.0, 3.0])}
    results = {}
    for allocation in tbm.ALLOCATIONS:
        for twin in (False, True):
            results[Point("exch", allocation, twin, False, "closed")] = Result({}, {"series": series})
            results[Point("exch", allocation, twin, True, "closed")] = Result({}, {"series": short_series})
    found = {claim.id: claim for claim in STUDY.judged(Evidence(results, {}), ("bac",))}
    assert found["c-bac-all"].measured == pytest.approx(1.0)
    assert (found["c-bac-all"].workload, found["c-bac-all"].verdict) == ("exch", "reproduced")
    assert found["c-bac"].verdict == "not-run"


def by_hand(iops: float, response: float, pristine: float, later: float, collections: float) -> Result:
    at = [0.3, 0.6, 6.0, 8.0, 10.0]
    n = len(at)
    share = [pristine, pristine, later, later, later]
    return Result({}, {"series": rows(
        capacities_written=at, start_s=range(n), end_s=range(1, n + 1), host_written_gb=[10 * a for a in at],
        reads=[0] * n, writes=[iops] * n, latency_mean_us=[response] * n, gc_invocations=[collections] * n,
        gc_moved_pages=[collections] * n, erases=[100] * n, host_page_programs=[1] * n, host_page_reads=[1] * n,
        multiplane_program_fraction=share, multiplane_read_fraction=share,
    )})  # fmt: skip


def test_claims_follow_from_hand_made_results() -> None:
    results = {}
    for wanted in traces.WORKLOADS:
        lucky = wanted.name == "exch"
        for allocation in tbm.ALLOCATIONS:
            base = by_hand(100, 1000, 1.0, 0.1, 100)
            gained = by_hand(165 if lucky else 95, 600 if lucky else 1050, 1.0, 0.96, 50)
            results[Point(wanted.name, allocation, False, False, "closed")] = base
            results[Point(wanted.name, allocation, True, False, "closed")] = gained
    found = {claim.id: claim for claim in STUDY.judged(Evidence(results, {}), ("bars", "series"))}
    assert found["a-writes-base-closed"].measured == pytest.approx(90)
    assert found["a-writes-base-closed"].verdict == "reproduced"
    assert found["a-writes-tbm-closed"].measured == pytest.approx(4)
    assert found["b-d-iops-closed"].workload == "exch"
    assert found["b-d-iops-closed"].measured == pytest.approx(65)
    assert found["b-d-iops-closed"].verdict == "reproduced"
    assert found["b-d-response-closed"].measured == pytest.approx(40)
    assert found["b-f-never-slower-closed"].measured == pytest.approx(-5)
    assert found["b-d-loss-fin1-closed"].verdict == "reproduced"
    assert found["d-gc-count-closed"].measured == pytest.approx(-50)
    assert found["d-gc-cost-closed"].measured == pytest.approx(-50)
    assert found["d-f2-base-closed"].measured == 0
    assert found["c-bac"].verdict == "not-run" and found["c-bac"].measured is None
    assert found["b-d-response-open"].verdict == "not-run"


def test_a_grid_takes_up_what_is_there(trace: Path, tmp_path: Path) -> None:
    sets = {**TINY.sets, "run.precondition": "none", "workload.rounds": 1}
    runs = [Run(a, "tbm", {**sets, "ftl.allocation": a}, trace) for a in ("F", "D")]
    grid = Grid(tmp_path / "runs")
    first = grid.run(runs)
    times = {file: file.stat().st_mtime_ns for file in (tmp_path / "runs").rglob("summary.json")}
    assert len(times) == 2
    again = grid.run([*runs, Run("F2", "tbm", {**sets, "ftl.allocation": "F2"}, trace)])
    assert {file: file.stat().st_mtime_ns for file in times} == times
    assert [again[key].summary["host"] for key in "FD"] == [first[key].summary["host"] for key in "FD"]
    assert list(again) == ["F", "D", "F2"]


def test_a_changed_trace_is_run_again(trace: Path) -> None:
    run = Run("F", "tbm", TINY.sets, trace)
    before = run.key()
    trace.write_text(trace.read_text(encoding="utf-8").replace("Read", "Write"), encoding="utf-8")
    assert run.key() != before


def test_progress_shows_runs_and_time_left() -> None:
    now = [0.0]
    tell = Tell(io.StringIO(), lambda: now[0])
    tell.begin(3, 1, 2.0)
    tell.running("D prj-0", 0.25, 1.0)
    now[0] = 10.0
    assert tell.line() == "1/3 runs   D prj-0 25 %   70 s left"
    tell.done("D prj-0", 1.0)
    assert tell.line() == "2/3 runs   10 s left"


def test_a_whole_reproduction_on_a_tiny_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(tbm.SCALES, "quick", TINY)
    # Away from the traces that may lie beside the project.
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    arguments = ["reproduce", "tbm", "--only", "series", "--out", str(out), "--json"]
    assert cli.main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["paper"], document["scale"]) == ("ftlab.claims/1", "tbm", "quick")
    measured = {claim["id"] for claim in document["claims"] if claim["verdict"] != "not-run"}
    assert measured == {statement.id for statement in STUDY.statements if statement.experiment == "series"}
    for replay in tbm.REPLAYS:
        for figure in ("figure2", "figure6"):
            assert (out / f"{figure}-{replay}.png").stat().st_size > 10_000
            assert (out / f"{figure}-{replay}.svg").exists()
    runs = {file: file.stat().st_mtime_ns for file in (out / "runs").rglob("summary.json")}
    assert len(runs) == 24
    # The second time reads what is there, and says the same to people.
    assert cli.main(arguments[:-1]) == 0
    text = capsys.readouterr().out
    assert "a-writes-base-closed" in text and "prj-0     generated" in text
    assert {file: file.stat().st_mtime_ns for file in runs} == runs
    # What has been damaged meanwhile is run anew, and the claims are the same.
    (next(iter(runs)).parent / "series.parquet").unlink()
    assert cli.main(arguments) == 0
    again = capsys.readouterr()
    assert json.loads(again.out) == document
    assert again.err.startswith("note: the kept run `") and "series.parquet is missing" in again.err


def test_one_frontier_beside_two_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(tbm.SCALES, "quick", TINY)
    # Away from the traces that may lie beside the project.
    monkeypatch.chdir(tmp_path)
    assert cli.main(["reproduce", "tbm", "--only", "frontiers", "--out", str(tmp_path)]) == 0
    assert "claim" in capsys.readouterr().out
    assert (tmp_path / "frontiers-closed.png").stat().st_size > 10_000
    table = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert (
        "| prj-0 | closed | F2, two frontiers | 10 |" in table
        and "| exch | closed | D+TBM, no pad | 10 |" in table
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["reproduce", "tbm", "--only", "serie"],
            ["neither an experiment nor a claim", "did you mean `series`?"],
        ),
        (["reproduce", "tmb"], ["tmb", "`tbm`"]),
        (["reproduce", "tbm", "--scale", "huge"], ["huge", "`quick`"]),
        (["reproduce", "tbm", "--only", "series", "--traces", "nowhere"], ["cannot list nowhere"]),
    ],
)
def test_wrong_command_lines_are_refused(
    arguments: list[str], words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 2
    message = capsys.readouterr().err
    assert all(word in message for word in words), message
