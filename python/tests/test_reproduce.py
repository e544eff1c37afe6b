"""The reproduction of papers: rules of the verdicts, made traces, excerpts, and a whole one on a tiny device."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidence import pages, report
from ftlab import InputError, Result
from ftlab.cli.main import main
from ftlab_reproduce import claims, synthesis, workloads
from ftlab_reproduce import command as reproduce
from ftlab_reproduce.claims import Claim
from ftlab_reproduce.command import PAPERS, claims_of
from ftlab_reproduce.experiment import Grid, Run, Tell
from ftlab_reproduce.study import Study, grid
from ftlab_reproduce.tbm import STUDY, traces
from ftlab_reproduce.tbm import axes as tbm
from ftlab_reproduce.tbm.axes import Evidence, Point
from ftlab_reproduce.workloads import Library

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
        (claims.up_to(5), {3.8: "reproduced", 6.2: "reproduced", 8: "direction", 1: "not-reproduced"}),
        # A small figure has the noise for slack, and no tolerance reaches the other side of zero.
        (claims.up_to(1.8), {2.8: "reproduced", 1.1: "reproduced", 0.9: "not-reproduced", -1: "not-reproduced"}),
        (claims.up_to(-0.9), {-0.1: "reproduced", -1.9: "reproduced", -3: "direction", 0: "not-reproduced",
                              6.1: "not-reproduced"}),
        (claims.at_least(80, 10), {80: "reproduced", 79: "direction", 10: "direction", 9: "not-reproduced"}),
        (claims.at_most(2, 4), {-50: "reproduced", 2: "reproduced", 3: "direction", 4.1: "not-reproduced"}),
        # The ends that lie away from zero have the noise; what lies within it of zero is no gain and no loss.
        (claims.within(-10, -1), {-10: "reproduced", -10.04: "reproduced", -11: "reproduced", -1: "reproduced",
                                  -11.1: "direction", -0.5: "not-reproduced", 0: "not-reproduced",
                                  5: "not-reproduced"}),
        (claims.within(2, 10), {5: "reproduced", 11: "reproduced", 11.1: "direction", 1.5: "direction",
                                1: "not-reproduced", -1: "not-reproduced"}),
        (claims.within(0, 15), {-0.5: "reproduced", 16: "reproduced", 17: "direction", -2: "not-reproduced"}),
        # Of what is to be no worse, the wrong sign is no direction.
        (claims.at_least(-1), {-0.9: "reproduced", -1.1: "not-reproduced", -3.8: "not-reproduced"}),
        (claims.at_most(1), {0.9: "reproduced", 1.1: "not-reproduced"}),
        (claims.above(0), {0.087: "not-reproduced", 1: "not-reproduced", 1.1: "reproduced", -3: "not-reproduced"}),
        (claims.above(1, noise=0.01), {1.005: "not-reproduced", 1.02: "reproduced"}),
        # A number by itself is met or not.
        (claims.near(50, 10), {46: "reproduced", 54: "reproduced", 44: "not-reproduced", 56: "not-reproduced"}),
        (claims.around(20, 10), {10: "reproduced", 30: "reproduced", 9: "not-reproduced", 31: "not-reproduced"}),
        # A ratio has the direction of the change.
        (claims.times(2, 15), {1.71: "reproduced", 2.29: "reproduced", 1.1: "direction", 9: "direction",
                               1.005: "not-reproduced", 1: "not-reproduced", 0.5: "not-reproduced"}),
        (claims.times(0.5, 10), {0.54: "reproduced", 0.9: "direction", 1.1: "not-reproduced"}),
    ],
)  # fmt: skip
def test_rules_judge_as_they_say(rule: claims.Rule, verdicts: dict[float, str]) -> None:
    assert {value: rule(value) for value in verdicts} == verdicts
    assert rule(None) == "not-run"
    assert rule(math.nan) == "not-run"


def test_claims_have_the_schema() -> None:
    claim = Claim("a", "b", "below 2", math.nan, "%", "not-run", "w", "generated", "n")
    document = claims.document("tbm", "quick", [claim], 2.5)
    assert (document["schema"], document["cpu_s"]) == ("ftlab.claims/1", 2.5)
    assert list(document["claims"][0]) == [
        "id", "claim", "paper_value", "measured", "unit", "verdict", "workload", "workload_kind", "note",
        "basis",
    ]  # fmt: skip
    assert document["claims"][0]["measured"] is None
    json.dumps(document, allow_nan=False)
    assert Claim.of_json(document["claims"][0]) == dataclasses.replace(claim, measured=None)


def test_claims_are_counted_by_what_they_rest_on() -> None:
    def claim(verdict: claims.Verdict, basis: claims.Basis) -> Claim:
        return Claim("a", "b", None, 1.0, "%", verdict, "w", "generated", "n", basis)

    found = [claim("reproduced", "stated"), claim("reproduced", "stated"), claim("direction", "stated"),
             claim("reproduced", "corrected"), claim("reproduced", "construction"),
             claim("not-reproduced", "late")]  # fmt: skip
    assert claims.counted(found) == [
        "| claims | all | reproduced | direction | not-reproduced | not-run |",
        "|---|---:|---:|---:|---:|---:|",
        "| stated before the runs | 3 | 2 | 1 | 0 | 0 |",
        "| corrected to the paper's words | 1 | 1 | 0 | 0 | 0 |",
        "| by construction | 1 | 1 | 0 | 0 | 0 |",
        "| post hoc | 1 | 0 | 0 | 1 | 0 |",
    ]
    assert claims.table(found, 100).startswith(
        "stated before the runs: 2 of 3 claims reproduced, 1 in direction, 0 not reproduced, 0 not run\n"
    )
    assert "| direction | stated before the runs |" in claims.markdown(found)[4]


@pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.name)
def test_help_lists_the_ids_of_claims(paper: Study) -> None:
    ids = " ".join(claims_of(paper).split())
    assert all(f" {statement.id}" in ids for statement in paper.statements)


def test_only_takes_experiments_and_claims() -> None:
    of = {
        name: claims.experiments_for(name, STUDY.experiments, STUDY.statements)
        for name in ("bars", "c-bac-all", "c")
    }
    assert of == {"bars": ("bars",), "c-bac-all": ("bac",), "c": ()}


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


def test_a_trace_is_looked_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def looked_through(path: Path, form: str | None = None) -> dict[str, object]:
        read.append(path)
        return whole(path, form)

    whole = workloads.trace_info
    monkeypatch.setattr(workloads, "trace_info", looked_through)

    def get() -> workloads.Workload | None:
        return Library(tmp_path, 1 / 2000, None, []).get(traces.WORKLOADS[0])

    first = get()
    assert first is not None and get() == first and len(read) == 1
    # What was kept of it may be damaged, or the file another one by now.
    (note,) = tmp_path.glob("*.json")
    for damage in ("", "[]", "{"):
        note.write_text(damage)
        assert get() == first
    os.utime(first.path, ns=(1, 1))
    assert get() == first and len(read) == 5
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".json", ".zst"]


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


@pytest.mark.parametrize(
    ("lattice", "kib", "spread"), [(512, 3.8, 0.8), (4096, 833.0, 0.4), (8192, 8.4, 0.8), (8192, 40.9, 0.8)]
)
def test_sizes_lie_on_the_lattice_and_have_the_mean(lattice: int, kib: float, spread: float) -> None:
    rng = np.random.Generator(np.random.PCG64(7))
    sizes = synthesis.request_sizes(rng, 20_000, kib * 1024, lattice, spread)
    assert not (sizes % lattice).any()
    assert sizes.min() >= lattice and sizes.max() <= synthesis.LARGEST
    # What is counted in the search is what is made: sums are exact, so only a step of one size is between them.
    assert 0 <= kib * 1024 * sizes.size - sizes.sum() <= lattice


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
    assert (found.gc_count, found.gc_cost, found.gc_cost_per_block) == (5, 15 / 40, 1.5)
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


def test_figures_2_and_6_are_written_ten_times_and_worn_drives_twice() -> None:
    quick, paper = tbm.SCALES["quick"], tbm.SCALES["paper"]
    for point in STUDY.points(STUDY.experiments, "quick"):
        if point.worn:
            expected = (1.0, 1.0) if point.workload == "tpce" else (2.0, 2.0)
        elif point in STUDY.experiments["series"].points or (point.workload, point.setting) == ("prj-0", ""):
            expected = (10.0, 10.0) if point.allocation != "F2" else (4.0, 2.0)
        else:
            expected = (4.0, 2.0)
        assert (tbm.capacities(point, quick), tbm.capacities(point, paper)) == expected, point


@pytest.mark.parametrize("scale", tbm.SCALES)
def test_every_workload_is_run_in_every_way(scale: str) -> None:
    every = set(
        grid(
            Point,
            workload=traces.PAPER_NAMES,
            allocation=tbm.ALLOCATIONS,
            tbm=[False, True],
            bac=[False, True],
            setting=[tbm.FIGURE7],
        )
    )
    missing = every - set(STUDY.points(("bars", "bac"), scale))
    if scale == "quick":
        assert missing == {p for p in every if p.bac and p.tbm and p.workload in tbm.LONG_RUNNING}
    else:
        assert missing == {point for point in every if point.bac and (point.tbm or point.allocation != "D")}


def test_every_claim_is_judged_at_full_size() -> None:
    experiments = STUDY.default_experiments("paper")
    points = STUDY.points(experiments, "paper")
    results = dict.fromkeys(points, by_hand(100, 1000, 1, 1, 1))
    found = judged(results, *experiments)
    assert not [id for id, claim in found.items() if claim.verdict == "not-run"]
    assert len(points) <= 100, "two hours on two cores"
    asked = {"turns", "finer", "together"}
    assert set(STUDY.experiments) - set(experiments) == {"frontiers", "extra", *asked}
    assert set(STUDY.experiments) - set(STUDY.default_experiments("quick")) == asked
    assert len(STUDY.points(["extra"], "paper")) == 12, "asked for by name, they are run at this scale too"


def test_settings_reach_the_engine(trace: Path) -> None:
    made = workloads.Workload("exch", "generated", trace, workloads.trace_info(trace), {}, "")

    def resolved(setting: str, twin: bool, worn: bool = True) -> Any:
        point = Point("exch", "D", twin, worn=worn, setting=setting)
        saturated = {tbm.base_of(point): by_hand(5000, 1000, 1, 1, 1)}
        after = tbm.at_load(point, Evidence(saturated, {"exch": made}))
        return STUDY.run(point, made, TINY, after).job().resolve()

    plain, apart = resolved("", False)["ftl"], resolved("two frontiers", False)["ftl"]
    assert (plain["reclaim_unit"], plain["separation"]) == ("block", "none")
    assert (apart["reclaim_unit"], apart["separation"]) == ("block", "host-gc")
    assert resolved("no pad", True)["ftl"]["reclaim_unit"]["twin"]["pad"] is False
    letter = [resolved("to the letter", twin)["ftl"] for twin in (False, True)]
    assert [one["scheduler"]["paq"]["gc"] for one in letter] == ["non-preemptible"] * 2
    assert letter[0]["reclaim_unit"] == "block" and letter[1]["reclaim_unit"]["twin"]["lone"] == "single"
    assert resolved("8 requests", True)["host"]["queue_depth"] == 8
    assert resolved("50 MT/s", False)["device"]["timing"]["channel_rate"] == "50MT/s"
    queued = resolved("to the letter, 16 requests", True)
    assert (
        queued["host"]["queue_depth"] == 16 and queued["ftl"]["scheduler"]["paq"]["gc"] == "non-preemptible"
    )
    assert queued["ftl"]["reclaim_unit"]["twin"]["lone"] == "single"
    assert resolved("", True)["run"]["precondition"] == {"worn": "65MiB"}
    assert resolved("", True, worn=False)["run"]["precondition"] == "none"


def test_a_load_is_a_part_of_what_the_saturated_base_serves(trace: Path) -> None:
    made = workloads.Workload("exch", "generated", trace, workloads.trace_info(trace), {}, "")
    base = Point("exch", "D", tbm=False, setting=tbm.FIGURE7)
    evidence = Evidence({base: by_hand(5000, 1000, 1, 1, 1)}, {"exch": made})
    gap_s = made.info["inter_arrival_ms_mean"] / 1e3
    for twin in (False, True):
        point = base._replace(tbm=twin, setting=tbm.STATED_LOAD)
        assert list(tbm.waits_for(point)) == [base]
        scaled = gap_s * tbm.at_load(point, evidence)["host.time_scale"]
        assert 1 / scaled == pytest.approx(0.82 * evidence.at(base).iops)
    finer = base._replace(setting="at 86 % load")
    assert list(tbm.waits_for(finer)) == [base]
    scaled = gap_s * tbm.at_load(finer, evidence)["host.time_scale"]
    assert 1 / scaled == pytest.approx(0.86 * evidence.at(base).iops)
    assert tbm.waits_for(base) == [] and tbm.at_load(base, evidence) == {}


def test_experiments_on_what_misses_vary_one_thing_of_prj_0(tmp_path: Path) -> None:
    wanted = {one.name: one for one in traces.VARIANTS}
    library = Library(tmp_path, 1 / 512, None, [])
    plain, small, unlike = (
        library.get(one)
        for one in (
            next(w for w in traces.WORKLOADS if w.name == "prj-0"),
            wanted["prj-0, writes of 12 KiB"],
            wanted["prj-0, spread 1.6"],
        )
    )
    assert plain is not None and small is not None and unlike is not None
    assert small.info["write_kib_mean"] == pytest.approx(12, rel=0.02)
    assert unlike.info["write_kib_mean"] == pytest.approx(plain.info["write_kib_mean"], rel=0.02)
    sizes = [workloads.requests_of(w.path, None, w.path)[3] for w in (plain, unlike)]
    assert np.median(sizes[1]) < 0.6 * np.median(sizes[0])
    points = STUDY.points(["turns"], "quick")
    assert {p.workload for p in points} == {"prj-0", *traces.SIZED_NAMES, *traces.LONGER_NAMES.values()}
    at_full_size = {p.setting for p in STUDY.points(["turns"], "paper") if p.workload == "prj-0"}
    assert at_full_size == {"", "100 MT/s"}
    assert len(STUDY.points(["finer"], "paper")) == 9, "at full size too, with the saturated base"


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
            point = Point("exch", allocation, twin, setting=tbm.FIGURE7)
            results[point] = Result({}, {"series": series})
            results[point._replace(bac=True)] = Result({}, {"series": short_series})
    found = {claim.id: claim for claim in STUDY.judged(Evidence(results, {}), ("bac",))}
    assert found["c-bac-all"].measured == pytest.approx(1.0)
    assert (found["c-bac-all"].workload, found["c-bac-all"].verdict) == ("exch", "reproduced")
    assert found["c-bac"].verdict == "not-run"


def by_hand(
    iops: float, response: float, pristine: float, later: float, collections: float, moved: float = 1.0
) -> Result:
    """A run of ten capacities; its response time is half as long while the drive is pristine."""
    at = [0.3, 0.6, 6.0, 8.0, 10.0]
    n = len(at)
    share = [pristine, pristine, later, later, later]
    times = [response / 2] * 2 + [response] * 3
    waited = {"mean": {"parts_us": {"gc": 1.0, "erase": 2.0}}}
    return Result(
        {
            "host": {
                "simulated_s": 10.0, "bytes_written": 1e9, "reads": 1, "writes": 3, "latency_us": {"mean": response},
            },
            "latency_parts": {"read": None, "write": waited},
            "utilisation": {"die": {"erase": collections / 1000}},
            "flash": {"multiplane": {"erase_fraction": 100 / collections / 2}},
        },
        {"series": rows(
            capacities_written=at, start_s=range(n), end_s=range(1, n + 1), host_written_gb=[10 * a for a in at],
            reads=[0] * n, writes=[iops] * n, latency_mean_us=times,
            gc_invocations=[0, collections, collections, collections, collections],
            gc_moved_pages=[collections * moved] * n, erases=[100] * n, host_page_programs=[100] * n,
            host_page_reads=[1] * n, multiplane_program_fraction=share, multiplane_read_fraction=share,
        )},
    )  # fmt: skip


def judged(results: dict[Point, Result], *experiments: str) -> dict[str, Claim]:
    return {claim.id: claim for claim in STUDY.judged(Evidence(results, {}), experiments)}


def test_claims_of_the_bars_follow_from_hand_made_results() -> None:
    results = {}
    for wanted in traces.WORKLOADS:
        lucky = wanted.name == "exch"
        for allocation in tbm.ALLOCATIONS:
            base = Point(wanted.name, allocation, tbm=False, setting=tbm.FIGURE7)
            results[base] = by_hand(100, 1000, 1.0, 0.1, 100)
            results[base._replace(tbm=True)] = by_hand(
                165 if lucky else 95, 600 if lucky else 1050, 1.0, 0.96, 50, 2.1 if lucky else 1.0
            )
    for twin, response in ((False, 1000), (True, 830)):
        at_load = Point("exch", "F", twin, setting=tbm.STATED_LOAD)
        results[at_load] = by_hand(100, response, 1.0, 0.1, 100)
    found = judged(results, "bars", "load", "moving")
    assert found["b-d-iops"].workload == "exch"
    assert found["b-d-iops"].measured == pytest.approx(65)
    assert found["b-d-iops"].verdict == "reproduced"
    assert found["b-d-response"].measured == pytest.approx(40)
    assert found["b-d-response"].basis == "follows"
    assert found["b-f-response"].measured == pytest.approx(17)
    assert found["b-f-response"].basis == "late"
    assert found["b-f-always"].measured == pytest.approx(-5)
    assert found["b-d-prn-0"].measured == pytest.approx(-5)
    assert found["b-d-prn-0"].verdict == "not-reproduced"
    assert found["b-loss-fin1"].measured == pytest.approx(-5)
    assert found["b-loss-fin1"].verdict == "reproduced"
    assert found["b-loss-prn-1"].measured == pytest.approx(-5)
    assert found["d-gc-count"].measured == pytest.approx(-50)
    assert found["d-gc-count"].basis == "construction"
    # Six workloads move half as many pages, and exch 5 % more.
    assert found["d-gc-cost"].measured == pytest.approx(-50)
    assert "exch +5.0" in found["d-gc-cost"].note
    assert found["d-f2-base"].measured == 0
    assert found["c-bac-all"].verdict == "not-run" and found["c-bac-all"].measured is None


def test_where_no_page_moves_there_is_no_cost_of_collections() -> None:
    results = {
        Point(name, "D", twin, setting=tbm.FIGURE7): by_hand(100, 1000, 1, 1, 50 if twin else 100, moved)
        for name, moved in (("exch", 1.0), ("post", 1e-4)) for twin in (False, True)
    }  # fmt: skip
    assert judged(results, "moving")["d-gc-cost"].note.startswith("exch -50.0;")


def test_claims_of_the_series_follow_from_hand_made_results() -> None:
    def point(allocation: str, tbm: bool = False, bac: bool = False) -> Point:
        return Point("prj-0", allocation, tbm, bac, worn=False)

    least = Point(traces.LEAST_DATA, "D", tbm=False, worn=False)
    results = {
        point("F"): by_hand(100, 1100, 0.0, 0.0, 100),
        point("D"): by_hand(100, 1100, 1.0, 0.1, 100),
        point("D", tbm=True): by_hand(190, 580, 1.0, 0.96, 50),
        point("D", bac=True): by_hand(100, 1111, 0.995, 0.05, 100),
        least: by_hand(100, 1000, 1.0, 0.98, 100, moved=0),
        least._replace(bac=True): by_hand(100, 1000, 1.0, 0.1, 100, moved=0),
    }
    found = judged(results, "series", "data")
    assert found["a-writes-base"].measured == pytest.approx(90)
    assert found["a-writes-tbm"].measured == pytest.approx(4)
    assert found["a-d-ahead-later"].measured == pytest.approx(0)
    assert found["a-d-rises"].measured == found["a-f-rises"].measured == pytest.approx(100)
    assert found["a-d-rises-more"].verdict == "not-reproduced", "level is no rise"
    assert found["a-gc-begins"].measured == 0.6 and found["a-gc-begins"].verdict == "not-reproduced"
    assert found["a-tbm-response"].measured == pytest.approx(100 * (1 - 580 / 1100))
    assert found["a-first-fit"].measured == pytest.approx(0.5)
    assert found["a-effect-blocks"].measured == pytest.approx(90)
    assert found["a-effect-pages"].measured == pytest.approx(88)
    assert found["e-erases-base"].measured == pytest.approx(50)
    assert found["e-erases-tbm"].measured == pytest.approx(100)
    assert found["e-time"].measured == found["e-rate"].measured == pytest.approx(50)
    assert found["c-bac"].measured == pytest.approx(100 * (1 - 1100 / 1111))
    assert found["b-d-iops"].verdict == "not-run"


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


def test_runs_that_age_the_same_device_share_its_state(trace: Path, tmp_path: Path) -> None:
    sets = {**TINY.sets, "run.precondition.worn": "2x", "workload.rounds": 1}
    runs = [Run(f"depth {depth}", "tbm", {**sets, "host.queue_depth": depth}, trace) for depth in (1, 8)]
    shared = Grid(tmp_path / "runs").run(runs)
    for run in runs:
        alone, found = run.job().run(lambda _: None).summary, shared[run.label].summary
        assert {key: found[key] for key in ("config", "precondition", "host", "flash", "wear")} == {
            key: alone[key] for key in ("config", "precondition", "host", "flash", "wear")
        }
    assert not list((tmp_path / "runs").rglob("*.state"))


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
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["paper"], document["scale"]) == ("ftlab.claims/1", "tbm", "quick")
    measured = {claim["id"] for claim in document["claims"] if claim["verdict"] != "not-run"}
    assert measured == {statement.id for statement in STUDY.statements if statement.experiment == "series"}
    for figure in ("figure2", "figure6"):
        assert (out / f"{figure}.png").stat().st_size > 10_000
        assert (out / f"{figure}.svg").exists()
    runs = {file: file.stat().st_mtime_ns for file in (out / "runs").rglob("summary.json")}
    assert len(runs) == 8
    # The second time reads what is there, and says the same to people.
    assert main(arguments[:-1]) == 0
    text = capsys.readouterr().out
    assert "a-writes-base" in text and "prj-0     generated" in text
    assert {file: file.stat().st_mtime_ns for file in runs} == runs
    # What has been damaged meanwhile is run anew, and the claims are the same.
    (next(iter(runs)).parent / "series.parquet").unlink()
    assert main(arguments) == 0
    again = capsys.readouterr()
    assert json.loads(again.out)["claims"] == document["claims"]
    assert again.err.startswith("note: the kept run `") and "series.parquet is missing" in again.err


def test_all_papers_are_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(tbm.SCALES, "quick", TINY)
    monkeypatch.chdir(tmp_path)
    series = {"series": STUDY.experiments["series"]}
    statements = tuple(statement for statement in STUDY.statements if statement.experiment == "series")
    monkeypatch.setattr(
        reproduce, "PAPERS", {"tbm": dataclasses.replace(STUDY, experiments=series, statements=statements)}
    )
    assert main(["reproduce", "all", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["scale"]) == ("ftlab.reproductions/1", "quick")
    (paper,) = document["papers"]
    own = json.loads(Path("out/reproduce/tbm-quick/claims.json").read_text(encoding="utf-8"))
    assert {key: paper[key] for key in own} == own
    assert paper["cpu_s"] > 0
    assert json.loads(Path("out/reproduce/all-quick.json").read_text(encoding="utf-8")) == document
    assert main(["reproduce", "all"]) == 0
    said = capsys.readouterr().out
    page = Path("out/reproduce/all-quick.md").read_text(encoding="utf-8")
    for claim in own["claims"]:
        (line,) = [line for line in said.splitlines() if line.startswith(f"tbm    {claim['id']} ")]
        assert claim["verdict"] in line
        assert (f"tbm {claim['id']}" in said) is (claim["verdict"] not in ("reproduced", "not-run"))
        assert f"| {claim['id']}: {claim['claim']} |" in page


def test_papers_that_were_reproduced_one_by_one_are_put_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def written(name: str, paper: str, scale: str = "paper") -> str:
        claim = Claim(f"{paper}-1", "more is faster", 2, 2.1, "x", "reproduced", "w", "real", "", "late")
        other = Claim(f"{paper}-2", "less is slower", None, None, "%", "not-run", "w", "generated", "")
        document = claims.document(paper, scale, [claim, other], 90)
        Path(name).write_text(json.dumps(document), encoding="utf-8")
        return name

    files = [written("a.json", "gcf"), written("b.json", "tbm")]
    assert main(["reproduce", "all", "--out", "out", "--json", "--claims", *files]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["scale"]) == ("ftlab.reproductions/1", "paper")
    assert document["papers"] == [
        json.loads(Path(name).read_text(encoding="utf-8")) for name in ("b.json", "a.json")
    ]
    assert json.loads(Path("out/all-paper.json").read_text(encoding="utf-8")) == document
    table = Path("out/all-paper.md").read_text(encoding="utf-8")
    assert "| GC forwarding | 1 | 0 | 0 | 0 | 1 |  |  | 1 of 1 |  | 2 |" in table

    def refused(*arguments: str) -> str:
        assert main(["reproduce", *arguments]) == 2
        return capsys.readouterr().err

    assert "goes with `all`" in refused("tbm", "--claims", "a.json")
    assert "are both of gcf" in refused("all", "--claims", "a.json", written("c.json", "gcf"))
    two = refused("all", "--claims", "a.json", written("d.json", "ipr", "quick"))
    assert "two scales: paper (a.json) and quick (d.json)" in two
    Path("e.json").write_text('{"schema": "ftlab.claims/1", "paper": "gcf", "claims": [7]}', encoding="utf-8")
    assert "e.json is damaged, or an older version wrote it" in refused("all", "--claims", "e.json")
    assert "No such file" in refused("all", "--claims", "f.json")


def test_the_table_of_full_size_is_what_the_papers_files_give(tmp_path: Path) -> None:
    evidence = Path(__file__).parents[2] / "docs/evidence"
    files = [str(file) for file in evidence.glob("*-paper.json") if report.read(file).judged]
    assert main(["reproduce", "all", "--out", str(tmp_path), "--claims", *files]) == 0
    made = dict(pages.made(evidence.parent))["all-paper"]
    assert (tmp_path / "all-paper.md").read_text(encoding="utf-8") == made


@pytest.mark.parametrize(
    ("only", "picture", "words"),
    [
        ("frontiers", "frontiers",
         ["| prj-0 | pristine | F2, two frontiers | 4 |", "| exch | pristine | D+TBM, no pad | 4 |"]),
        ("load", "load", ["| at 82 % load |", "| exch | worn | F+TBM, at 82 % load | 2 |"]),
        ("loss", None, ["| fin1 x 8 (generated) |", "| fin1 x 8 | worn | D+TBM, to the letter | 2 |"]),
        ("full", None, ["| prj-0 (generated) |", "| prj-0 | full | D+TBM, from a full drive | 2 |"]),
        ("waits", None, ["| prn-0 (generated) | at their own pace |"]),
    ],
    ids=["frontiers", "load", "loss", "full", "waits"],
)  # fmt: skip
def test_experiments_beside_the_figures_on_a_tiny_device(
    only: str, picture: str | None, words: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setitem(tbm.SCALES, "quick", TINY)
    # Away from the traces that may lie beside the project.
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "tbm", "--only", only, "--out", str(tmp_path)]) == 0
    assert "claim" in capsys.readouterr().out
    if picture is not None:
        assert (tmp_path / f"{picture}.png").stat().st_size > 10_000
    table = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert table.startswith(f"# TBM, scale quick: {only}\n\n| claims | all |")
    assert all(one in table for one in words), table


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
        (["reproduce", "all", "--only", "series"], ["`--only` names an experiment of one paper", "`tbm`"]),
    ],
)
def test_wrong_command_lines_are_refused(
    arguments: list[str], words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert all(word in message for word in words), message
