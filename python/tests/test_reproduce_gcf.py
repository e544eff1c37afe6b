"""The reproduction of GC forwarding: hosts, grid, claims on hand-made results, and a whole one in little."""

from __future__ import annotations

import fnmatch
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import LONG

import ftlab
from ftlab import Result
from ftlab.cli.main import main
from ftlab_reproduce import workloads
from ftlab_reproduce.experiment import Tell
from ftlab_reproduce.gcf import STUDY
from ftlab_reproduce.gcf import axes as gcf
from ftlab_reproduce.gcf import claims as gcf_claims
from ftlab_reproduce.gcf import hosts as gcf_hosts
from ftlab_reproduce.gcf import lanes as gcf_lanes
from ftlab_reproduce.gcf import tables as gcf_tables
from ftlab_reproduce.gcf.axes import Evidence, Point
from ftlab_reproduce.gcf.hosts import CLUSTER, DESKTOP, LARGEST, MULTIMEDIA, SECTOR_63
from ftlab_reproduce.study import Scale
from ftlab_reproduce.workloads import Library, Wanted

RATIO = 1 / 128
TINY = Scale(RATIO)
"""128 MiB for Random: 32 logical blocks a channel."""


def writes_of(wanted: Wanted, directory: Path, ratio: float = RATIO) -> tuple[np.ndarray, np.ndarray]:
    made = Library(directory, ratio, None, []).get(wanted)
    assert made is not None
    _, writes, offsets, sizes = workloads.requests_of(made.path, None, directory / "x")
    assert writes.all()
    return offsets, sizes


@pytest.mark.parametrize("wanted", [DESKTOP, MULTIMEDIA], ids=lambda wanted: wanted.name)
@pytest.mark.parametrize("ratio", [1 / 16, 1 / 128])
def test_made_hosts_have_the_figures_of_table_2(wanted: Wanted, ratio: float, tmp_path: Path) -> None:
    made = Library(tmp_path, ratio, None, []).get(wanted)
    assert made is not None and made.kind == "generated"
    assert set(made.deviations) == {"write_fraction", "write_kib"} and made.worst_deviation < 0.005
    # The last file of a card may be a tenth of it.
    assert made.info["bytes_written"] / 2**20 == pytest.approx(
        wanted.amounts["written_mib"] * ratio, rel=0.11
    )
    assert made.info["highest_offset_bytes"] <= gcf.VOLUMES_GIB[wanted.name] * ratio * 2**30


def test_the_desktop_writes_clusters_from_sector_63_on(tmp_path: Path) -> None:
    offsets, sizes = writes_of(DESKTOP, tmp_path)
    assert set((offsets % CLUSTER).tolist()) == {SECTOR_63 % CLUSTER}
    assert sizes.max() == LARGEST and set((sizes % CLUSTER).tolist()) == {0}
    # Metadata: single clusters, of which the log is written in order, round and round.
    first = gcf_hosts.place(gcf_hosts.LOG_GIB, RATIO)
    place = (offsets - SECTOR_63) // CLUSTER - first
    log = place[
        (place >= 0) & (place < gcf_hosts.clusters(gcf_hosts.LOG_SPACE_GIB, RATIO)) & (sizes == CLUSTER)
    ]
    assert log.size > 0.1 * sizes.size
    assert set(np.unique(np.diff(log)).tolist()) == {
        1,
        1 - gcf_hosts.clusters(gcf_hosts.LOG_SPACE_GIB, RATIO),
    }


def test_the_card_is_filled_with_scattered_files_and_their_metadata(tmp_path: Path) -> None:
    offsets, sizes = writes_of(MULTIMEDIA, tmp_path)
    data = sizes > CLUSTER
    begins = offsets[1:] != offsets[:-1] + sizes[:-1]
    assert sizes.max() == LARGEST and ((offsets[sizes == LARGEST] - SECTOR_63) % (32 * 1024) == 0).all()
    assert 0.02 < 1 - data.mean() < 0.2, "metadata are few"
    assert 0.02 < begins[data[1:]].mean() < 0.5, "files lie in several pieces"


def test_a_made_host_depends_on_model_scale_and_seed_alone(tmp_path: Path) -> None:
    for wanted in (DESKTOP, MULTIMEDIA):
        assert wanted.model is not None
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            wanted.model.make(RATIO, seed, tmp_path / name)
        first, same, other = ((tmp_path / name).read_bytes() for name in "abc")
        assert first == same != other


def test_reads_of_a_recorded_trace_are_left_out_and_its_places_packed(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    far = 40 << 30
    lines = [f"{10**17 + i},h,0,{kind},{offset},8192,1" for i, (kind, offset) in
             enumerate([("Read", 0), ("Write", far), ("Read", 4096), ("Write", 8192)])]  # fmt: skip
    (own / "cloudphysics-2h-vscsi.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = Library(tmp_path / "kept", 1.0, own, []).get(gcf_hosts.CAPTURED[0])
    assert found is not None and found.kind == "real" and "cloudphysics-2h-vscsi.csv" in found.origin
    _, writes, offsets, _ = workloads.requests_of(found.path, None, tmp_path / "x")
    assert writes.tolist() == [True, True]
    assert offsets.tolist() == [workloads.REGION, 8192]


def test_every_experiment_is_shown() -> None:
    for name, experiment in STUDY.experiments.items():
        assert experiment.tables and (experiment.pictures or name in gcf.ON_REQUEST)
    asked = set(gcf.ON_REQUEST)
    assert (
        asked
        == {"turns", "starts", "trigger"}
        == set(STUDY.experiments) - set(STUDY.default_experiments("quick"))
    )


def test_readings_that_are_tried_on_what_misses_change_the_runs_that_they_have() -> None:
    points = gcf.turn_points()
    of_random = [point for point in points if point.workload == "Random" and point.setting]
    assert {point.setting for point in of_random} == set(gcf.TURNS)
    for point in of_random[::5]:
        assert resolved(point, gcf.SCALES["quick"]) != resolved(
            point._replace(setting=""), gcf.SCALES["quick"]
        ), point.label
    assert set(gcf.crowded_points()) <= set(points) and len(gcf.crowded_points()) == 16
    assert not gcf.affects("always", Point("Random", "CF", "DFTL"))
    assert not gcf.affects("own frontier", Point("Random", "CF", "FAST"))
    assert not gcf.affects("N_s ÷ 4", Point("Random", "FI"))
    assert not gcf.affects("planes first", Point("Random", "FI"))
    chosen = resolved(Point("Random", "CF", "DFTL", 8, 2, 64, "N_s ÷ 4"), gcf.SCALES["paper"])
    assert chosen["ftl"]["gc_schedule"]["cycle-filling"]["spare_blocks"] == 25
    assert set(gcf.TURNED) <= {statement.id for statement in STUDY.statements}


def test_a_reading_stands_in_for_what_was_settled_on() -> None:
    settled, other = Point("Random", "FI"), Point("Random", "FI", setting="always")
    evidence = Evidence({settled: by_hand(100), other: by_hand(50), Point("Random", "CF"): by_hand(400)}, {})
    assert evidence.under("").iops("Random", "FI") == 100
    assert evidence.under("always").iops("Random", "FI") == 50
    assert evidence.under("always").iops("Random", "CF") == 400


def test_the_device_is_the_papers() -> None:
    for scheme in gcf.SCHEMES:
        preset = ftlab.resolve(f"gcf-{scheme.lower()}")
        run = resolved(Point("Random", scheme), gcf.SCALES["paper"])
        assert run == preset, "a preset is a point of the grid"
        assert run["device"]["blocks_per_plane"] == 4096 + 410 + 1
        assert run["workload"]["volume"] == "19046MiB"
        quick = resolved(Point("Random", scheme), gcf.SCALES["quick"])
        assert (quick["device"]["user_capacity"], quick["device"]["blocks_per_plane"]) == (
            "1GiB",
            256 + 26 + 1,
        )
        assert quick["ftl"]["write_buffer"]["fifo"]["size"] == "32KiB", "the buffer does not shrink"
    schedule = resolved(Point("Random", "CF"), gcf.SCALES["quick"])["ftl"]["gc_schedule"]["cycle-filling"]
    assert (schedule["spare_blocks"], schedule["preempt"]) == (12, "on"), "but N_s counts blocks"
    for scheme, name in (("GCF", "forwarding"), ("CF", "cycle-filling")):
        run = resolved(Point("Random", scheme, planes=2), gcf.SCALES["paper"])
        assert run["ftl"]["gc_schedule"][name]["spare_blocks"] == 100, (
            "200 of a channel, half of them in each plane"
        )


def test_a_map_in_flash_has_greedy_victims_and_a_cache_of_the_devices_size() -> None:
    for scheme in gcf.SCHEMES:
        run = resolved(Point("Random", scheme, "DFTL"), gcf.SCALES["quick"])
        assert run["ftl"]["mapping"] == {"dftl": {"cache": "64KiB"}} and run["ftl"]["victim"] == "greedy"
        assert run["device"]["blocks_per_plane"] == 256 + 26 + 5


def test_only_cycle_filling_addresses_planes_independently() -> None:
    kinds = {}
    for scheme in gcf.SCHEMES:
        run = resolved(Point("Random", scheme, planes=2, buffer_kib=64), gcf.SCALES["paper"])
        unit = run["ftl"]["reclaim_unit"]
        kinds[scheme] = (
            run["device"]["multiplane"],
            unit if isinstance(unit, str) else unit["superblock"]["over"],
        )
        assert run["device"]["blocks_per_plane"] == 2048 + 205 + 1
    assert kinds == {
        "SYNC": ("pac", "channels-and-planes"), "FI": ("pac", "planes"), "GCF": ("pac", "planes"),
        "CF": ("any", "block"),
    }  # fmt: skip


def resolved(point: Point, scale: Scale = TINY) -> dict[str, Any]:
    return STUDY.run(point, None, scale).job().resolve()


def test_every_reading_reaches_the_engine() -> None:
    settled = resolved(Point("Random", "FI"))["ftl"]["mapping"]["fast"]
    assert (settled["broken"], settled["start"], settled["gather"]) == ("fill", "bounded", "all")
    for name in gcf.READING_NAMES:
        found = [point for point in gcf.reading_points(name) if point.workload == "Random"]
        assert found
        for point in found:
            assert not name or resolved(point) != resolved(point._replace(setting="")), point.label
    assert {point.scheme for point in gcf.reading_points("empty")} == {"GCF"}
    assert {point.workload for point in gcf.reading_points("victim")} == {"Desktop", "Random"}
    settled_points = {
        point._replace(setting="") for name in gcf.MAP_READINGS for point in gcf.map_points(name, 2)
    }
    assert len(settled_points) == 4
    for name in gcf.MAP_READINGS[1:]:
        assert all(
            resolved(point) != resolved(point._replace(setting="")) for point in gcf.map_points(name, 2)
        )
    paces = {
        m: resolved(Point("Random", "CF", m))["ftl"]["gc_schedule"]["cycle-filling"]["pace"]
        for m in gcf.MAPPINGS
    }
    assert paces == {"FAST": "initiator", "DFTL": "kind"}
    for setting, begin in gcf.table3_settings("Random"):
        run = resolved(gcf.table3_point("CF", "Random", setting, begin))
        assert (run["ftl"]["mapping"]["fast"]["gather"] == "victim") == (setting == "victim")
        assert run["workload"]["address_offset"] == ("32256B" if begin == gcf.SECTOR_63 else "0B")


def test_the_map_is_from_a_quarter_of_the_cache_to_all_in_dram() -> None:
    maps = [resolved(Point("Random", "GCF", "DFTL", setting=name))["ftl"]["mapping"] for name in gcf.CACHES]
    assert maps == [{"dftl": {"cache": size}} for size in ("2KiB", "8KiB", "32KiB", "256KiB")]
    in_dram = resolved(Point("Random", "GCF", gcf.PAGE_MAP))
    assert (in_dram["ftl"]["mapping"], in_dram["ftl"]["victim"]) == ("page", "greedy")
    assert in_dram["device"]["user_capacity"] == "128MiB", "of whose pages each has eight bytes"


def test_made_traces_are_shifted_onto_whole_pages() -> None:
    for workload in gcf.PLACED:
        point = Point(workload, "FI")
        offsets = [gcf.offset_of(point._replace(begin=begin)) for begin in (gcf.SECTOR_63, gcf.WHOLE)]
        assert offsets == (["31.5KiB", "0B"] if workload == "Random" else ["0B", "512B"])
        assert gcf.turned(gcf.turned(point)) == point != gcf.turned(point)
    alone = Point("one channel", "FI")
    assert gcf.offset_of(alone) == "0B" and gcf.turned(alone) == alone
    assert (SECTOR_63 + 512) % CLUSTER == 0


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_a_preset_takes_other_channels_and_other_places_of_the_partition(channels: int) -> None:
    sets = {"device.channels": channels, "workload.address_offset": 0}
    for scheme in gcf.SCHEMES:
        device = ftlab.resolve(f"gcf-{scheme.lower()}", sets=sets)["device"]
        blocks = gcf.blocks_per_plane(16 << 30, channels, "FAST")
        assert device["blocks_per_plane"] == pytest.approx(blocks, rel=3e-4)
        assert ftlab.resolve(f"gcf-{scheme.lower()}", sets={"workload.address_offset": "31.5KiB"})


def test_a_crowded_desktop_differs_in_where_it_writes_alone(tmp_path: Path) -> None:
    (offsets, sizes), (crowded, same) = (writes_of(w, tmp_path) for w in (DESKTOP, gcf_hosts.CROWDED))
    assert (sizes == same).all()
    again = [np.unique(where // CLUSTER).size for where in (offsets, crowded)]
    assert again[1] < 0.9 * again[0]


def test_readings_that_were_chosen_late_name_claims_that_there_are() -> None:
    ids = [statement.id for statement in STUDY.statements]
    patterns = [pattern for patterns in gcf_claims.LATE.values() for pattern in patterns]
    of_the_trigger = gcf_claims.OF_THE_TRIGGER
    for pattern in (*patterns, *gcf_claims.BY_CONSTRUCTION, *gcf_claims.FOLLOWS, *of_the_trigger):
        assert any(fnmatch.fnmatchcase(name, pattern) for name in ids), pattern
    found = {statement.id: statement for statement in STUDY.statements}
    assert {each.basis for each in found.values()} == {"stated", "late", "construction", "follows"}
    assert found["f9-dftl-fi-desktop"].basis == "stated" and found["t3-cf-desktop"].basis == "late"
    assert found["f8-fast-advantage-random"].basis == "stated", "whatever opens a log block"
    for claim in ("f8-dftl-forwarding-random", "f10-dftl-gcf-random"):
        assert found[claim].reading == gcf_claims.TRIGGER


def test_claims_that_runs_of_gcf_decide_name_its_trigger() -> None:
    whole = {
        point: by_hand(100 + 10 * gcf.SCHEMES.index(point.scheme) + point.channels + point.buffer_kib / 1000)
        for point in STUDY.points(("fig8", "fig9", "fig10"), "quick")
    }
    without = Evidence({p: of for p, of in whole.items() if p.scheme != "GCF"}, {})
    for statement in STUDY.statements:
        if statement.judged(Evidence(whole, {}), {}).verdict != "not-run":
            needs = statement.judged(without, {}).verdict == "not-run"
            assert needs == gcf_claims.of_the_trigger(statement.id), statement.id


def test_every_claim_is_judged_at_both_places() -> None:
    settled = {point: by_hand() for point in STUDY.points(("table3",), "quick")}
    found = Evidence(settled, {})
    whole = gcf.table3_point("SYNC", "Random", begin=gcf.WHOLE)
    settled[whole] = by_hand(76.0)
    both = {pair.here.id: pair for pair in gcf_claims.judged_at_both(found)}
    assert all(name.startswith("t3-") for name in both)
    here, there = both["t3-sync-random"]
    assert (here.measured, there.measured) == (100.0, 76.0)
    assert (here.verdict == "reproduced", there.verdict) == (False, "reproduced")
    counts = gcf_claims.counted(pair.there for pair in both.values())
    late, follows = sum(counts["late"].values()), sum(counts["follows"].values())
    assert late > 0 and late + follows == len(both) and not counts["stated"]
    rows = [line for line in gcf_tables.both(found) if "t3-sync-random" in line]
    assert len(rows) == 1 and "100.0 IOPS" in rows[0] and "76.0 IOPS, reproduced" in rows[0]


def test_figure_2_is_what_the_requests_take() -> None:
    programs = {}
    for scheme in ("SYNC", "FI"):
        point = Point(gcf_hosts.SIX_WRITES.name, scheme, channels=4, buffer_kib=0)
        result = by_hand()
        by_cause = result.summary["flash"]["by_cause"]
        by_cause["host"]["programs"], by_cause["gc"]["programs"] = 12, 0
        by_cause["rmw"]["programs"] = 12 if scheme == "SYNC" else 0
        programs[point] = result
    found = {claim.id: claim for claim in STUDY.judged(Evidence(programs, {}), ("fig2",))}
    assert found["f2-traffic"].measured == 2 and found["f2-traffic"].verdict == "reproduced"


def test_channel_time_adds_up_the_operations() -> None:
    run = STUDY.run(Point("Random", "FI"), None, TINY)
    summary = ftlab.run(run.preset, sets=run.sets).summary
    parts = {part: gcf.channel_time(summary, part) for part in ("host", "gc", "idle")}
    assert sum(parts.values()) == pytest.approx(1)
    by_cause, whole = summary["flash"]["by_cause"], 8 * summary["host"]["simulated_s"] * 1e6
    took = {
        cause: 166 * by_cause[cause]["reads"] + 906 * by_cause[cause]["programs"] + 1500 * by_cause[cause]["erases"]
        for cause in ("host", "rmw", "gc")
    }  # fmt: skip
    # What is flushed after the last request is counted, but not timed.
    assert parts["host"] == pytest.approx((took["host"] + took["rmw"]) / whole, rel=0.01)
    assert parts["gc"] == pytest.approx(took["gc"] / whole, rel=0.01)


@pytest.mark.parametrize("scheme", ["SYNC", "FI"])
def test_updates_of_the_map_for_collections_are_gc(scheme: str) -> None:
    run = STUDY.run(Point("Random", scheme, "DFTL", 2), None, TINY)
    summary = ftlab.run(run.preset, sets=run.sets).summary
    assert summary["policy"]["mapping"]["gc_updates"] > 0 and summary["policy"]["mapping"]["fetches"] > 0
    parts = {part: gcf.channel_time(summary, part) for part in ("host", "gc", "idle")}
    assert sum(parts.values()) == pytest.approx(1)
    by_cause, whole = summary["flash"]["by_cause"], 2 * summary["host"]["simulated_s"] * 1e6
    lanes = 2 if scheme == "SYNC" else 1
    fetches, updates = (lanes * summary["policy"]["mapping"][name] for name in ("fetches", "write_backs"))
    assert fetches + updates < by_cause["mapping"]["reads"] and updates < by_cause["mapping"]["programs"]
    took = 166 * (fetches + updates) + 906 * updates
    for cause in ("host", "rmw"):
        took += 166 * by_cause[cause]["reads"] + 906 * by_cause[cause]["programs"]
    assert parts["host"] == pytest.approx(took / whole, rel=0.02)


def test_lanes_are_what_the_chips_did() -> None:
    def span(name: str, cause: str, tid: int, start: float, length: float) -> dict[str, Any]:
        return {"ph": "X", "name": name, "cat": cause, "pid": 1, "tid": tid, "ts": start, "dur": length}

    names = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "channel 0"}},
        *(
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": name}}
            for tid, name in ((5, "bus"), (6, "chip 0 die 0"), (7, "chip 0 die 0 plane 0"))
        ),
    ]
    spans = [
        span("data in", "host", 5, 0, 900), span("program", "host", 6, 500, 1500),
        span("program", "host", 7, 500, 1500), span("gc read", "gc", 6, 2000, 166),
        span("gc program", "gc", 6, 2166, 906), span("gc erase", "gc", 6, 4000, 9000),
    ]  # fmt: skip
    (lane,) = gcf_lanes.lanes_of({"traceEvents": [*names, *spans]}, (1.0, 6.0))
    assert list(lane.spans()) == [
        (0.0, 1.0, "host"),
        (1.0, pytest.approx(2.072), "gc"),
        (3.0, 5.0, "gc"),
    ]
    assert [(o.part, o.kind) for o in lane.operations] == [
        ("host", "program"), ("gc", "read"), ("gc", "program"), ("gc", "erase"),
    ]  # fmt: skip
    assert lane.share("host", 5.0) == pytest.approx(0.2)
    inside = lane.during(0.5, 1.0)
    assert inside.operations == [
        (0.0, 0.5, "host", "program"),
        (0.5, pytest.approx(0.666), "gc", "read"),
        (pytest.approx(0.666), 1.0, "gc", "program"),
    ]
    assert not lane.during(2.1, 0.9).operations, "ends and beginnings are not inside"


def test_the_moment_that_shows_most_is_where_idle_time_is_filled() -> None:
    def lanes(*channels: str) -> list[gcf_lanes.Lane]:
        """A letter is 10 ms: writes, maps, GC, or idle time; pages and copies take 5 ms."""
        parts = {"w": "host", "m": "map", "g": "gc"}
        return [
            gcf_lanes.Lane(i, [
                gcf_lanes.Operation(10.0 * at + half, 10.0 * at + half + 5, parts[letter], "program")
                for at, letter in enumerate(channel) if letter in parts for half in (0, 5)
            ])
            for i, channel in enumerate(channels)
        ]  # fmt: skip

    def found(dry: list[gcf_lanes.Lane], *filled: list[gcf_lanes.Lane]) -> float:
        return gcf_lanes.moment(dry, filled, 20.0, 80.0)

    assert found(lanes("w.w..w.."), lanes("wgwggwgg")) == 25.0, (
        "it writes and is idle for longest, all of it is filled"
    )
    assert found(lanes("w.w..w.."), lanes("wgw..wgg")) == 55.0, "idle time that is not filled does not show"
    assert found(lanes("w.w..w.."), lanes("wgwggwgg"), lanes("wgw..wgg")) == 55.0, "by neither of two"
    # At 25 ms both channels write and the second one runs dry; later it is idle for longer, but writes no more.
    assert found(lanes("wwwggggg", "wwww...."), lanes("wwwggggg", "wwwwgggg")) == 25.0
    assert found(lanes("....ww.."), lanes("wgwgwgwg")) == 25.0, "writes and idle time, 5 ms by 5 ms"
    assert found(lanes("mmmmmmmm"), lanes("mmmmmmmm")) == 0.0, "the first where all are alike"


def by_hand(iops: float = 100.0, host: float = 0.2, gc: float = 0.3) -> Result:
    """A result in which programs take all the time."""
    nothing = {"reads": 0, "programs": 0, "erases": 0, "copybacks": 0}
    by_cause = {cause: dict(nothing) for cause in ("host", "gc", "mapping", "rmw")}
    by_cause["host"]["programs"], by_cause["gc"]["programs"] = round(1000 * host), round(1000 * gc)
    summary: dict[str, Any] = {
        "host": {"write_iops": iops}, "waf_units": (host + gc) / host, "policy": {},
        "flash": {"by_cause": by_cause}, "gc": {"invocations": 5, "forward": 2, "preempted": 1},
        "utilisation": {"die": {"read": 0.0, "program": host + gc, "erase": 0.0, "idle": 1 - host - gc}},
        "run": {"wall_s": 1.0, "cpu_s": 1.0},
    }  # fmt: skip
    return Result(summary, {})


def test_claims_of_figures_8_and_9_follow_from_hand_made_results() -> None:
    results = {
        point: by_hand(50.0 + 10 * point.channels, 0.05, 0.2)
        for point in STUDY.points(("fig8", "fig9"), "quick")
    }  # fmt: skip
    results[Point("Random", "FI")] = by_hand(80, 0.01, 0.13)
    for scheme, iops, gc in (("GCF", 140, 0.4), ("CF", 200, 0.5)):
        results[Point("Desktop", scheme)] = by_hand(iops, 0.4, gc)
        results[Point("Random", scheme)] = by_hand(iops, 0.05, 0.9)
    found = {claim.id: claim for claim in STUDY.judged(Evidence(results, {}), ("fig8", "fig9"))}
    assert found["f8-fast-fi-desktop"].measured == pytest.approx(130 / 60)
    assert found["f8-fast-fi-desktop"].verdict == "direction"
    assert found["f8-fast-forwarding-desktop"].measured == pytest.approx(140 / 60)
    assert found["f8-fast-advantage-random"].measured == pytest.approx(75)
    assert found["f8-fast-advantage-random"].verdict == "reproduced"
    assert found["f9-fast-fi-desktop"].measured == pytest.approx(75)
    assert found["f9-fast-fi-random"].measured == pytest.approx(86)
    assert found["f9-fast-fi-random"].verdict == "reproduced"
    # The furthest from 20 %: CF's 10 and GCF's 20.
    assert found["f9-fast-idle-desktop"].measured == pytest.approx(10)
    # SYNC's 20 of 25 % is further from half than CF's 50 of 90.
    assert found["f9-fast-gc-desktop"].measured == pytest.approx(80)
    assert found["f9-fast-gc-random"].measured == pytest.approx(20)
    assert found["f8-multimedia-mapping"].measured == pytest.approx(1)
    assert found["f8-multimedia-mapping"].verdict == "not-reproduced"
    assert found["f9-dftl-gc-multimedia"].measured == pytest.approx(20)
    assert found["f3-dry"].verdict == "not-run"


def test_claims_of_figure_10_and_table_3_follow_from_hand_made_results() -> None:
    iops = {"SYNC": 50.0, "FI": 80.0, "GCF": 100.0, "CF": 160.0}
    results = {
        point: by_hand(iops[point.scheme] * (1 + point.buffer_kib / 32768 * (point.scheme == "FI")))
        for point in STUDY.points(("fig10",), "quick")
    }  # fmt: skip
    for (scheme, workload), published in gcf.TABLE3.items():
        model = gcf_hosts.CROWDED.name if workload == "Desktop" else workload
        results[gcf.table3_point(scheme, model)] = by_hand(1.2 * published if scheme == "CF" else published)
    found = {claim.id: claim for claim in STUDY.judged(Evidence(results, {}), ("fig10", "table3"))}
    assert found["f10-fast-cf-random"].measured == pytest.approx(0)
    assert found["f10-fast-cf-random"].verdict == "not-reproduced", "FI has caught up at 32 MiB"
    assert found["f10-fast-sync-random"].measured == pytest.approx(100 * (50 / 80.15625 - 1))
    assert found["f10-fast-gcf-random"].measured == pytest.approx(100 * (100 / 85 - 1))
    assert found["f10-fast-cf-random-32"].measured == pytest.approx(0)
    assert found["f10-fast-desktop-32"].verdict == "reproduced"
    assert (
        found["t3-sync-random"].verdict == "reproduced" and found["t3-cf-random"].verdict == "not-reproduced"
    )
    assert found["t3-ratio-desktop"].measured == pytest.approx(1.2 * 486 / 307)


def test_n_s_is_judged_by_the_erases_of_the_other_channels() -> None:
    def erased(first: int, other: int) -> Result:
        wear = {"channel": np.repeat(np.arange(8), 2), "erases": np.repeat([first, *[other] * 7], 2)}
        return Result(by_hand().summary, {"wear": wear})

    results = {point: erased(50, 3 if point.setting else 0) for point in gcf.PATHOLOGICAL}
    results[Point("one channel", "GCF")] = erased(50, 1)
    found = {claim.id: claim for claim in STUDY.judged(Evidence(results, {}), ("pathological",))}
    assert found["ns-protects"].measured == pytest.approx(100 / 3)
    assert found["ns-little-help"].measured == pytest.approx(0)


def test_claims_of_figure_3_follow_from_a_hand_made_buffer() -> None:
    pages = np.array([[2000.0, 0.0, 40], [1500.0, 500.0, 40], [0.0, 1700.0, 40], [100, 50, 40]])
    table = {
        "channel": np.tile(np.arange(3), 4),
        "dirty_pages": pages.ravel(),
        "evictions": np.repeat(np.arange(4) * 9, 3),
    }
    results = {gcf.FIGURE3: Result({}, {"buffer": table})}
    found = {claim.id: claim for claim in STUDY.judged(Evidence(results, {}), ("fig3",))}
    assert found["f3-held"].measured == pytest.approx(100 * 2000 / 2048)
    assert found["f3-dry"].measured == pytest.approx(50)
    assert found["f3-turns"].measured == 2 and found["f3-turns"].verdict == "reproduced"


RUN_AT_LENGTH = ("fig8", "fig9", "fig10", "readings", "turns", "planes", "timelines", "map")
"""Experiments whose runs are left to `make evidence`."""

LONGEST = (*RUN_AT_LENGTH, "starts", "trigger")
"""These, and experiments on request whose whole reproductions take longest."""


def test_what_is_run_at_length_is_shown_and_judged() -> None:
    """Tables, pictures and claims find what they read, in results that tell nothing but schemes apart."""
    by_scheme = {scheme: by_hand(100.0 + 10 * at) for at, scheme in enumerate(gcf.SCHEMES)}
    points = STUDY.points(STUDY.experiments, "quick")
    busy = [gcf_lanes.Lane(channel, [gcf_lanes.Operation(5, 9, "host", "program")]) for channel in range(8)]
    lanes = {point: busy for points_of_map in gcf.LANES.values() for point in points_of_map}
    made = Evidence({point: by_scheme[point.scheme] for point in points}, {}, {"timelines": lanes})
    found = STUDY.judged(made, RUN_AT_LENGTH)
    judged = {claim.id for claim in found if claim.verdict != "not-run"}
    assert judged == {statement.id for statement in STUDY.statements if statement.experiment in RUN_AT_LENGTH}
    parts = [STUDY.experiments[name] for name in RUN_AT_LENGTH]
    report = STUDY.report("quick", RUN_AT_LENGTH, made, found)
    assert report.count("\n## ") >= sum(len(part.tables) for part in parts)
    assert set(STUDY.drawn(made, RUN_AT_LENGTH)) == {name for part in parts for name in part.pictures}


@pytest.mark.parametrize(
    "only", [pytest.param(only, marks=LONG if only in LONGEST else ()) for only in STUDY.experiments]
)
def test_a_whole_reproduction_on_a_tiny_device(
    only: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(gcf.SCALES, "quick", TINY)
    # Away from the traces that may lie beside the project.
    monkeypatch.chdir(tmp_path)
    long = {**gcf.READINGS["long"].sets, "workload.volume": "160MiB"}
    monkeypatch.setitem(STUDY.axes["setting"], "long", long)
    out = tmp_path / "out"
    assert main(["reproduce", "gcf", "--only", only, "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["paper"], document["scale"]) == ("ftlab.claims/1", "gcf", "quick")
    measured = {claim["id"] for claim in document["claims"] if claim["verdict"] != "not-run"}
    expected = {statement.id for statement in STUDY.statements if statement.experiment == only}
    # So small a log may have no room for a collection that N_s would prevent.
    assert measured | {"ns-protects"} == expected | {"ns-protects"}
    for name in STUDY.experiments[only].pictures:
        assert (out / f"{name}.png").stat().st_size > 10_000
    assert (out / "report.md").read_text(encoding="utf-8").count("\n## ") >= 2


def test_timelines_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = STUDY.run(gcf.LANES["FAST"][0], None, TINY)
    lanes = gcf_lanes.record(run, (100.0, 300.0), tmp_path, Tell())
    assert [lane.channel for lane in lanes] == list(range(8))
    assert any(lane.operations for lane in lanes)
    monkeypatch.setattr(gcf_lanes, "simulate", None)
    assert gcf_lanes.record(run, (100.0, 300.0), tmp_path, Tell()) == lanes
