"""All five together: what is put in force, gains and interplay by hand, and the whole study on a tiny device."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from samples import LONG

from ftlab.cli.main import main
from ftlab_reproduce.experiment import Tell
from ftlab_reproduce.stack import STUDY
from ftlab_reproduce.stack import axes as stack
from ftlab_reproduce.stack import today as todays
from ftlab_reproduce.stack.axes import FULL, HALF, LIFE, OWN, SCALES, ZIPF, Case, Evidence, Point, is_clear
from ftlab_reproduce.stack.bases import (
    BASES,
    HEADLINE,
    MEMBERS,
    OF_OWN,
    PAIRS,
    PAPERS,
    PAPERS_FTL,
    PAPERS_THREE,
    SUBSETS,
    THREE,
    TODAY,
    TODAYS,
    TODAYS_EVERY,
    TODAYS_HALF,
    TODAYS_LIVED,
    TODAYS_OWN,
    TODAYS_THREE,
    beside,
    name_of,
    todays_name_of,
)
from ftlab_reproduce.stack.tables import advice, change, interplays
from ftlab_reproduce.study import Experiment, Work

TINY = stack.Scale(
    1 / 256,
    {**stack._device(64, 24, "96MiB"), "device.channels": 2, "device.page_size": "16KiB"},
    written=2.0,
    written_today=2.0,
)
"""192 MiB, of which half for the user."""

CASE = Case(ZIPF)

EVEN = np.full(200, 2.0)
PLACES = {
    **{name: np.zeros(200, np.uint64) for name in ("channel", "chip", "die")},
    "plane": np.repeat([0, 1], 100),
}
"""200 blocks in two planes."""

LATENCIES = ("latency_us", "read_latency_us", "write_latency_us")


def evidence(
    figures: dict[tuple[str, ...], list[float]], base: str = PAPERS, loads: tuple[str, ...] = (FULL,)
) -> Evidence:
    """Made of IOPS and latencies, by members and repeat."""

    def result(iops: float) -> Any:
        latency = {"mean": 1e5 / iops, "p999": 1e6 / iops}
        host = {"iops": iops, **dict.fromkeys(LATENCIES, latency), "bytes_written": 2**40}
        wear = {"erases": {"mean": 4.0}, "effective_erases": {"mean": 8.0}}
        flash = {
            "block_erases": 400,
            "copybacks": 0,
            "reprograms": 0,
            "multiplane": {"program_fraction": 0.5},
        }
        rest = {"gc": {"forward": 0}, "policy": {}}
        summary = {"host": host, "waf_units": 2.0, "flash": flash, "wear": wear, **rest}
        return SimpleNamespace(summary=summary, wear={"erases": EVEN, **PLACES})

    return Evidence(
        {
            Point(ZIPF, members, seed, load, base): result(v)
            for load in loads
            for members, vs in figures.items()
            for seed, v in enumerate(vs)
        },
        {},
    )


def test_every_subset_is_a_device_that_can_be_run() -> None:
    # Nothing, six alone, 14 of the 15 pairs, three, and all five with either way of collecting ahead.
    assert len(SUBSETS) == 1 + 6 + 14 + 1 + 2
    assert not {("GCF", "CF"), tuple(MEMBERS)} & set(SUBSETS)
    for scale in SCALES.values():
        for members in SUBSETS:
            run = STUDY.run(Point(ZIPF, members, 1), None, scale)
            run.job().resolve()
            assert (run.sets["ftl.reclaim_unit"] == "twin") is ("TBM" in members)
            assert run.preset == "stack"


def resolved(members: tuple[str, ...], base: str = TODAY) -> dict[str, Any]:
    """The FTL of a drive, as the engine resolves it."""
    run = STUDY.run(Point(ZIPF, members, 1, FULL, base), None, SCALES["quick"])
    found: dict[str, Any] = run.job().resolve()["ftl"]
    return found


def test_todays_drive_is_the_preset_but_for_what_the_device_asks_for() -> None:
    import ftlab

    preset = ftlab.resolve("client-tlc-small")["ftl"]
    mine = resolved(())
    assert {key for key in preset if preset[key] != mine[key]} == {
        "map_unit",
        "paired_page",
        "read_disturb",
        "write_buffer",
    }
    assert mine["map_unit"] == "page"
    (buffer,) = preset["write_buffer"].values()
    assert mine["write_buffer"] == {"fifo": {**buffer, "size": "16MiB"}}
    for scale in SCALES.values():
        for members in TODAYS:
            run = STUDY.run(Point(ZIPF, members, 1, FULL, TODAY), None, scale)
            run.job().resolve()
            assert run.preset == "client-tlc-small"


def test_what_is_changed_on_todays_drive_is_in_force() -> None:
    plain = resolved(())
    for name, sets in BASES[TODAY].changes.items():
        changed = resolved((name,))
        (choice,) = {key.split(".")[1] for key in sets}
        assert {key for key in plain if plain[key] != changed[key]} == {choice}, name
    # With all that it has taken away it is the papers' base, but for the buffer and the scheduler.
    papers = resolved((), PAPERS)
    kept = resolved(PAPERS_FTL)
    assert {key for key in papers if papers[key] != kept[key]} == {"write_buffer", "scheduler"}
    three = resolved(PAPERS_THREE), resolved(THREE, PAPERS)
    # Twin blocks of today's drive leave the other dies of a chip alone; this one has one die a chip.
    differ = {key for key in papers if three[0][key] != three[1][key]}
    assert differ == {"write_buffer", "scheduler", "reclaim_unit"}


def test_a_drive_of_today_is_compared_with_the_same_protection() -> None:
    assert beside(("GCF",)) == () == beside(("no TBM",)) == beside(("backups",))
    assert beside(("backups", "GCF")) == beside(PAPERS_FTL) == beside(("GCMix",)) == ("backups",)
    assert beside(TODAYS_THREE) == beside(TODAYS_EVERY) == beside(PAPERS_THREE) == ("GCMix",)
    names = [todays_name_of(members) for members in TODAYS]
    assert len(set(names)) == len(TODAYS)
    assert names[0] == "supercap" and "GCMix + GCF" in names and "backups + no TBM" in names
    assert {"all five, GCF", "papers' FTL, backups", "papers' FTL, the three"} < set(names)


def test_the_report_of_todays_drive_has_figures_and_gains() -> None:
    figures = {members: [100.0 + i, 102.0 + i] for i, members in enumerate(TODAYS)}
    figures[("backups",)] = [50.0, 50.0]
    figures[("GCMix",)] = [60.0, 60.0]
    made = evidence(figures, TODAY)
    assert made.cases() == [Case(ZIPF, FULL, TODAY)] == made.cases_of(TODAY) and not made.cases_of(PAPERS)
    lines = STUDY.report("quick", ["today"], made, []).splitlines()
    (backups,) = [line for line in lines if line.startswith("| backups | ")]
    # 50 IOPS in place of 100 and 102, and 60 in place of 50.
    assert "| 50.0 | " in backups and "| supercap | **-50.5 ± 0.5 %** | " in backups
    (mix,) = [line for line in lines if line.startswith("| GCMix | ")]
    assert "| backups | **+20.0 ± 0.0 %** | " in mix
    assert sum(line.startswith("| ") for line in lines) == len(TODAYS) + 1
    # What belongs to the papers' base alone is not there.
    assert "none of the five" not in "\n".join(lines) and advice(made) == []
    assert set(STUDY.drawn(made, ["today"])) == {"today"}
    (words,) = todays.advice(made)
    assert f"GCMix, IOPS: {todays_name_of(PAPERS_THREE)}, " in words
    assert "backups, IOPS: papers' FTL, backups, " in words


def test_half_of_its_own_is_half_of_what_the_same_drive_serves() -> None:
    made = evidence({(): [100.0], ("GCF",): [250.0]}, TODAY)
    for load, members, interval in (
        (HALF, (), "20000000ns"), (HALF, ("GCF",), "20000000ns"), (OWN, (), "20000000ns"), (OWN, ("GCF",), "8000000ns"),
    ):  # fmt: skip
        point = Point(ZIPF, members, 0, load, TODAY)
        own = members if load == OWN else ()
        assert STUDY.waits_for(point) == [Point(ZIPF, own, 0, FULL, TODAY)]
        assert STUDY.sets_after(point, made)["workload.interval"] == interval
    assert {point.base for point in STUDY.points(["today"], "quick")} == {TODAY}
    own_points = STUDY.points(["own"], "quick")
    assert {(point.base, point.load) for point in own_points} == {(PAPERS, FULL), (PAPERS, OWN)}
    assert {point.members for point in own_points} == set(OF_OWN)
    report = STUDY.report("quick", ["own"], evidence({m: [90.0] for m in OF_OWN}, PAPERS, (FULL, OWN)), [])
    assert "At half of its own, half as many" in report
    assert "| none | 90.0 | " in report.split(f"## {ZIPF} (generated), half of its own: figures")[1]


def test_gains_are_factors_and_what_a_pair_has_beyond_its_members_is_what_is_left() -> None:
    first, second = PAIRS[0]
    made = evidence({(): [100, 200], (first,): [150, 300], (second,): [120, 240], PAIRS[0]: [90, 180]})
    assert made.gains(CASE, (first,), "iops") == pytest.approx([1.5, 1.5])
    # A latency is better where it is lower.
    assert made.gains(CASE, (first,), "read_p999_us") == pytest.approx([1.5, 1.5])
    assert made.interplay(CASE, PAIRS[0], "iops") == pytest.approx([0.5, 0.5])
    assert is_clear(made.interplay(CASE, PAIRS[0], "iops"))


@pytest.mark.parametrize(
    ("factors", "clear"),
    [([1.1, 1.2], True), ([0.9, 0.8], True), ([1.01, 1.01], False), ([1.3, 0.99], False), ([1.05, 1.4], True),
     ([1.001, 1.4], True), ([1.0, 1.4], False), ([1.08], False), ([1.12], True), ([0.88], True)],
)  # fmt: skip
def test_what_is_clear(factors: list[float], clear: bool) -> None:
    assert is_clear(np.array(factors)) is clear


@pytest.mark.parametrize(
    ("erases", "first", "percent"),
    [
        # 400 erases, each worth two P/E cycles, of 200 blocks: each wears by 4 in a run.
        (EVEN, 3000 / 4, 3000 / 4),
        # One that wears by 4.04 in place of 4 stays ahead of the others; one in a hundred is the second of 200.
        (np.array([2.0] * 199 + [2.02]), 3000 / (800 / 400.02 * 2.02), 3000 / (800 / 400.02 * 2.0)),
        # By more than 50 of 3,000 none leads for long, and all of its plane wear as their mean does.
        (np.array([2.0] * 199 + [202.0]), 2950 / (800 / 600 * 4), 3050 / (800 / 600 * 4)),
    ],
)
def test_lives_are_those_of_the_most_worn_blocks(
    erases: NDArray[np.float64], first: float, percent: float
) -> None:
    made = evidence({(): [100.0]})
    made.results[Point(ZIPF, (), 0)].wear["erases"] = erases
    assert made.figure(Point(ZIPF, (), 0), "life_first_tib") == pytest.approx(first)
    assert made.figure(Point(ZIPF, (), 0), "life_percent_tib") == pytest.approx(percent)


def test_words_name_what_helps_and_who_fights() -> None:
    figures = {members: [100.0, 102.0] for members in SUBSETS}
    figures[("TBM",)] = [150.0, 154.0]
    figures["TBM", "GCMix"] = [110.0, 111.0]
    (words,) = advice(evidence(figures))
    assert "IOPS: TBM, better: +50.5 ± 0.5 %" in words
    fight, *_ = [line for line in words.splitlines() if "in each other's way" in line]
    assert fight.startswith("  in each other's way, IOPS: TBM + rCPB -33.5 ± ")
    assert "TBM + GCMix -27.3 ± " in fight
    assert "| TBM + GCMix | **-2" in "\n".join(interplays(evidence(figures)))


def test_half_load_is_half_of_what_the_base_serves(tmp_path: Path) -> None:
    made = evidence({(): [100.0, 250.0]})
    for seed, interval in enumerate(("20000000ns", "8000000ns")):
        point = Point(ZIPF, ("TBM",), seed, HALF)
        assert STUDY.waits_for(point) == [Point(ZIPF, (), seed)]
        after = STUDY.sets_after(point, made)
        assert after == {"host.replay": "open", "workload.interval": interval, "workload.poisson": True}
        run = STUDY.run(point, None, TINY, after)
        run.job().resolve()
        assert "closed" not in run.sets.values()
    # Twelve seconds for ten requests become twenty: at 0.5 a second.
    trace = SimpleNamespace(info={"inter_arrival_ms_mean": 1200.0})
    paced = Evidence(made.results, {ZIPF: trace})  # type: ignore[dict-item]
    made_of_trace = STUDY.sets_after(Point(ZIPF, ("TBM",), 0, HALF), paced)
    assert made_of_trace == {"host.replay": "open", "host.time_scale": pytest.approx(0.02 / 1.2)}
    # The base with a full queue, which was waited for, is no case of its own.
    assert made.cases() == []
    few = Experiment("", [Point(ZIPF, (member,), 1, HALF) for member in ("TBM", "CF")])
    study = replace(STUDY, experiments={"few": few}, scales={"tiny": TINY})
    found = study.gather(["few"], Work(study, "tiny", tmp_path, Tell(), None), None)
    assert isinstance(found, Evidence)
    assert found.cases() == [Case(ZIPF, HALF)]
    (full,) = found.values(CASE, (), "iops")
    for member in ("TBM", "CF"):
        assert found.values(Case(ZIPF, HALF), (member,), "iops") == pytest.approx([full / 2], rel=0.05)


def test_full_size_is_run_for_the_headline_alone() -> None:
    assert set(STUDY.experiments) - set(STUDY.default_experiments("paper")) == {"today", "own", "lives"}
    todays_own = STUDY.points(["today"], "paper")
    assert {(point.members, point.seed) for point in todays_own} == {(members, 1) for members in TODAYS_OWN}
    assert set(TODAYS_HALF) < set(TODAYS_OWN) < set(TODAYS)
    points = STUDY.points(STUDY.default_experiments("paper"), "paper")
    assert {point.workload for point in points} == set(stack.WORKLOADS)
    for case in (Case(name, load) for name in stack.WORKLOADS for load in stack.LOADS):
        assert [point.members for point in points if point.case == case] == list(HEADLINE)
    assert {point.seed for point in points} == {1}
    assert set(HEADLINE) < set(SUBSETS) and THREE in HEADLINE and ("TBM", "GCMix") in HEADLINE
    assert len(STUDY.points(["zipf"], "quick")) == len(SUBSETS) * len(stack.SEEDS) * len(stack.LOADS)


def test_the_report_and_the_pictures_have_what_was_run() -> None:
    whole = {members: [100.0 + i, 101.0 + i] for i, members in enumerate(SUBSETS)}
    for members in whole:
        assert f"| {name_of(members)} |" in STUDY.report("quick", ["zipf"], evidence(whole), [])
    assert set(STUDY.drawn(evidence(whole), ["zipf"])) == {"together", "steps"}
    together = [members for members in HEADLINE if members not in (("TBM",), ("GCMix",))]
    few = evidence({members: [100.0 + 20 * i] for i, members in enumerate(together)})
    report = STUDY.report("paper", ["zipf"], few, [])
    assert all(f"| {name_of(members)} |" in report for members in together)
    assert "| TBM + rCPB |" not in report and "| IPR + GCMix |" not in report
    assert "Everything was run once, and a change is taken for clear from 10 % on." in report
    assert "was run once" not in STUDY.report("quick", ["zipf"], evidence(whole), [])
    # Neither member of the pair was run alone: it is compared with the base, and pairs have no table and no picture.
    assert few.pairs(CASE) == []
    assert (
        "| TBM + GCMix | +40.0 % |" in report and "the gain of a pair" not in report and "Bold" not in report
    )
    assert set(STUDY.drawn(few, ["zipf"])) == {"steps"}
    (words,) = advice(few)
    assert "IPR + GCMix" not in words and "IOPS: all five, CF, better: +100.0 %" in words
    # With them it is compared with what they bring.
    more = evidence(
        {members: [100.0 + 20 * i] for i, members in enumerate([*together, ("TBM",), ("GCMix",)])}
    )
    assert more.pairs(CASE) == [("TBM", "GCMix")]
    assert "| TBM + GCMix | **-73.5 %** |" in STUDY.report("paper", ["zipf"], more, [])


def test_what_is_many_times_better_is_said_so() -> None:
    assert change(np.array([1.5, 1.7])) == "+60.0 ± 10.0 %"
    assert change(np.array([24.0, 26.0])) == "25.0 ± 1.0 times"


def test_the_study_on_a_tiny_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SCALES, "quick", TINY)
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "stack", "--only", "zipf", "--out", "out"]) == 0
    said = capsys.readouterr().out
    assert "Zipf (generated):" in said and "IOPS: " in said
    assert Path("out/together.png").stat().st_size > 10_000
    report = Path("out/report.md").read_text(encoding="utf-8")
    assert all(f"| {name} |" in report for name in (*MEMBERS, "all five, GCF", "all five, CF", "TBM + rCPB"))
    rows = json.loads(Path("out/figures.json").read_text(encoding="utf-8"))["runs"]
    assert len(rows) == len(SUBSETS) * len(stack.SEEDS) * len(stack.LOADS)
    signs = {"TBM": "multiplane", "GCMix": "paired"}
    base = [row for row in rows if not row["members"]]
    for member, sign in signs.items():
        alone = [row for row in rows if row["members"] == [member]]
        assert min(row[sign] or 0 for row in alone) > max(row[sign] or 0 for row in base), sign
    assert all(row["life_first_tib"] <= row["life_percent_tib"] for row in rows)


def test_lives_are_shown_beside_the_life_that_they_are_compared_with() -> None:
    end = {"reached": True, "lifetime_drive_writes": 3.0, "waf_by_eighth": [2.0] * 8}
    lives = {members: [100.0] for members in TODAYS_LIVED}
    made = evidence(lives, TODAY, (LIFE,))
    for point, result in made.results.items():
        longer = 2 if point.members == ("GCMix",) else 1
        result.summary["end_of_life"] = {**end, "lifetime_bytes": longer * 2**41}
        result.summary["policy"]["bad_blocks"] = {"grown_units": 7, "lost_pages": 0}
    report = STUDY.report("quick", ["lives"], made, [])
    (mix,) = [line for line in report.splitlines() if line.startswith("| GCMix | ")]
    assert mix == "| GCMix | 4.00 | 3.00 | 2.00 | 2.00 | 7.00 | 0 | backups | +100.0 % |"
    assert "  GCMix, written until the drive takes no more: 4.00 TiB" in "\n".join(made.words())
    assert set(STUDY.drawn(made, ["lives"])) == {"lives"}


@LONG
def test_lives_go_on_until_the_drive_takes_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Blocks live for a tenth of what others do.
    short = {**TINY.sets, "device.bad_blocks.weibull.life": 900}
    monkeypatch.setitem(SCALES, "quick", replace(TINY, sets=short))
    monkeypatch.setitem(stack.OF_LIFE, "device.wear.cycles_per_erase", 9)
    few = [
        Point(ZIPF, members, 1, LIFE, base)
        for base, members in ((TODAY, ()), (TODAY, ("backups",)), (PAPERS, ()), (PAPERS, ("GCMix",)))
    ]
    monkeypatch.setitem(STUDY.experiments, "lives", replace(STUDY.experiments["lives"], points=few))
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "stack", "--only", "lives", "--out", "out"]) == 0
    said = capsys.readouterr().out
    assert "  supercap, written until the drive takes no more: " in said
    assert "  GCMix, written until the drive takes no more: " in said
    report = Path("out/report.md").read_text(encoding="utf-8")
    assert "| supercap | " in report and "| backups | " in report and "extrapolated" not in report
    rows = json.loads(Path("out/figures.json").read_text(encoding="utf-8"))["runs"]
    lives = {(row["base"], *row["members"]): row for row in rows}
    for row in lives.values():
        # All that the flash can take: 192 MiB, or somewhat more than its 900 cycles of each block, over the WAF.
        assert 0 < row["lifetime_tib"] * 2**20 < 1.3 * 900 * 192 / row["waf_first"]
        assert row["failed"] > 0 and "life_first_tib" not in row
    assert lives[TODAY,]["lifetime_tib"] > 1.05 * lives[TODAY, "backups"]["lifetime_tib"]
    assert lives[PAPERS, "GCMix"]["lifetime_tib"] > 1.05 * lives[PAPERS,]["lifetime_tib"]
