"""The reproduction of GCMix: its servers, its grid, its claims on hand-made results, and a whole one in little."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import LONG

import ftlab
from ftlab import Result
from ftlab.cli.main import main
from ftlab_reproduce import survival, workloads
from ftlab_reproduce.gcmix import STUDY
from ftlab_reproduce.gcmix import axes as gcmix
from ftlab_reproduce.gcmix import servers as gcmix_servers
from ftlab_reproduce.gcmix.axes import Evidence, Point, uniform, zipf
from ftlab_reproduce.gcmix.servers import MODELS, PAGE, SECOND, SERVERS, Server
from ftlab_reproduce.survival import EXPECTED, Trial
from ftlab_reproduce.workloads import Library

TINY = gcmix.Scale(1 / 64, longest_mib=24 * 1024)
"""512 MiB, of which 384 for the user: the smallest on which eight planes have room for their watermarks."""

BY_NAME = {server.name: server for server in SERVERS}

RATIO = 1 / 512
"""Of the servers that tests make."""


def made_by(
    model: str, name: str, path: Path, ratio: float = RATIO
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which requests of a server's trace under a model are writes, their offsets and sizes in pages."""
    file = path / "made.csv.zst"
    MODELS[model].of(BY_NAME[name]).make(ratio, 5, file)
    _, writes, offsets, sizes = workloads.requests_of(file, None, file)
    return writes, offsets / PAGE, sizes // PAGE


def writes_by_page(server: Server, ratio: float) -> np.ndarray:
    """Writes to each touched page, most first, in a whole pass of so small a part of the server."""
    pages = server.populations(ratio)[0]
    chances = np.arange(1, pages + 1, dtype=float) ** -server.zipf
    accesses = server.written_mib * 128 * ratio
    counts = np.random.default_rng(3).poisson(accesses * chances / chances.sum())
    return np.sort(counts[counts > 0])[::-1]


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_servers_have_the_accessed_area_of_table_3(server: Server) -> None:
    counts = writes_by_page(server, 1 / 200)
    per_page = server.written_mib / server.written_area_mib
    assert counts.mean() == pytest.approx(per_page, rel=0.03)
    assert server.populations(1 / 200)[0] >= server.written_area_mib * 128 / 200 - 1


@pytest.mark.parametrize(
    ("name", "part", "share"),
    [
        ("EXCHANGE", 0.10, 0.696),
        ("EXCHANGE", 0.181, 0.80),
        ("BEFS", 0.462, 0.80),
        ("BUILDSERVER", 0.40, 0.60),
    ],
)
def test_servers_are_as_skewed_as_figure_6(name: str, part: float, share: float) -> None:
    counts = writes_by_page(BY_NAME[name], 1 / 100)
    assert counts[: round(part * counts.size)].sum() / counts.sum() == pytest.approx(share, abs=0.035)


def test_a_made_server_trace_has_the_ratio_the_rate_and_single_pages(tmp_path: Path) -> None:
    for name in ("TPCE", "BEFS"):
        server = BY_NAME[name]
        made = Library(tmp_path, 1 / 4096, None, []).get(gcmix_servers.wanted(server))
        assert made is not None and made.kind == "generated"
        assert made.worst_deviation <= workloads.TOLERANCE
        written = server.written_mib / 4096 * 2**20
        assert made.info["bytes_written"] == pytest.approx(written, rel=0.02)
        assert gcmix.time_scale(made) == pytest.approx(1.0, rel=0.02)


def test_a_server_trace_is_cut_off_where_it_has_written_enough(tmp_path: Path) -> None:
    library = Library(tmp_path, 1 / 8192, None, [])
    whole, cut = (
        library.get(gcmix_servers.wanted(BY_NAME["EXCHANGE"], longest)) for longest in (math.inf, 131_072)
    )
    assert whole is not None and cut is not None and whole.path != cut.path
    assert cut.info["bytes_written"] == pytest.approx(131_072 / 8192 * 2**20, rel=0.02)
    assert gcmix.SCALES["paper"].longest_mib == 131_072 and math.isinf(gcmix.SCALES["quick"].longest_mib)


def test_a_made_server_trace_depends_on_model_scale_and_seed_alone(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        BY_NAME["BEFS"].make(1 / 16_384, seed, tmp_path / name)
    first, same, other = ((tmp_path / name).read_bytes() for name in "abc")
    assert first == same != other


def test_a_recorded_server_trace_is_judged_by_its_amounts(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    BY_NAME["BEFS"].make(1 / 4096, 5, own / "BEFS.csv.zst")
    whole = Library(tmp_path / "kept", 1.0, own, []).get(gcmix_servers.wanted(BY_NAME["BEFS"]))
    assert whole is not None and whole.kind == "real"
    assert whole.deviations["written_mib"] == pytest.approx(1 / 4096 - 1, abs=1e-4)


@pytest.mark.parametrize(
    ("file", "name"),
    [("Exchange-Server.csv.gz", "EXCHANGE"), ("MSN-BEFS.trace", "BEFS"), ("BuildServer.csv", "BUILDSERVER"),
     ("tpcc-2007.csv.zst", "TPCC2007"), ("TPCC.2008.trace", "TPCC2008"), ("tpc-e.csv", "TPCE")],
)  # fmt: skip
def test_originals_are_recognised_by_name(file: str, name: str) -> None:
    found = [
        key for key, pattern in gcmix_servers.FILES.items() if workloads.recognised([Path(file)], pattern)
    ]
    assert found == [name]


def test_the_whole_capture_comes_before_its_beginning(tmp_path: Path) -> None:
    wanted = {w.name: w for w in gcmix_servers.CAPTURED}
    for name in ("varmail.csv.zst", "varmail-220k.csv.zst"):
        assert workloads.recognised([tmp_path / name], wanted["varmail"].files) is not None
    assert workloads.recognised([tmp_path / "varmail2.csv"], wanted["varmail"].files) is None
    assert STUDY.places[0].name == "captured"


@pytest.mark.parametrize("name", ["EXCHANGE", "BEFS", "BUILDSERVER"])
def test_the_second_model_has_the_area_of_table_3_and_the_skew_of_figure_6(name: str, tmp_path: Path) -> None:
    server = MODELS[SECOND].of(BY_NAME[name])
    ratio = min(1 / 32, RATIO * server.run)
    writes, offsets, sizes = made_by(SECOND, name, tmp_path, ratio)
    assert np.all(sizes == server.run) and np.all(offsets % server.run == 0)
    starts, counts = np.unique(offsets[writes], return_counts=True)
    assert starts.size * server.run == pytest.approx(server.written_area_mib * 128 * ratio, rel=0.03)
    assert counts.mean() == pytest.approx(server.written_mib / server.written_area_mib, rel=0.03)
    part, share = {"EXCHANGE": (0.10, 0.696), "BEFS": (0.462, 0.80), "BUILDSERVER": (0.40, 0.60)}[name]
    most = np.sort(counts)[::-1][: round(part * counts.size)]
    assert most.sum() / counts.sum() == pytest.approx(share, abs=0.035)


def test_hours_of_maintenance_go_through_all_pages_in_order(tmp_path: Path) -> None:
    writes, offsets, _ = made_by(SECOND, "EXCHANGE", tmp_path)
    steps = np.diff(offsets[writes])
    sixth = steps.size // 6
    middle = steps[5 * steps.size // 12 + 50 :][: sixth - 100]
    # Once around is one step back.
    assert (middle > 0).mean() > 0.999 and np.median(middle) < 100
    before = steps[: 5 * steps.size // 12 - 50]
    assert 0.4 < (before > 0).mean() < 0.6
    assert not np.any(made_by("even reads", "EXCHANGE", tmp_path)[1] < 0)


def test_what_a_model_varies_reaches_the_trace(tmp_path: Path) -> None:
    _, offsets, sizes = made_by("runs of 32", "BUILDSERVER", tmp_path)
    assert np.all(sizes == 32) and np.all(offsets % 32 == 0)
    space = gcmix_servers.USER_MIB * 128 * RATIO
    for model, part in (("touching half", 0.5), ("touching 3 in 4", 0.75)):
        _, offsets, _ = made_by(model, "BUILDSERVER", tmp_path)
        assert 0.99 * part * space < offsets.max() < part * space
    skewed, even = (
        np.sort(np.unique(offsets[~writes], return_counts=True)[1])[::-1]
        for writes, offsets, _ in (made_by(model, "EXCHANGE", tmp_path) for model in (SECOND, "even reads"))
    )
    assert skewed[: skewed.size // 10].sum() / skewed.sum() > 2 * even[: even.size // 10].sum() / even.sum()
    unfolded = MODELS["unfolded"].of(BY_NAME["EXCHANGE"])
    assert unfolded.populations(1.0)[0] == pytest.approx(gcmix_servers.USER_MIB * 128, rel=0.02)
    assert unfolded.written_mib / unfolded.written_area_mib == pytest.approx(10.87, rel=0.01)
    assert MODELS["unfolded"].of(BY_NAME["TPCE"]) == BY_NAME["TPCE"]


def test_a_model_names_the_servers_that_it_changes() -> None:
    for name, model in MODELS.items():
        changed = {server.name for server in SERVERS if model.of(server) != server}
        assert set(model.servers) == changed, name


def test_every_other_second_is_quiet(tmp_path: Path) -> None:
    file = tmp_path / "made.csv.zst"
    MODELS["quiet seconds, 5"].of(BY_NAME["EXCHANGE"]).make(1 / 8192, 5, file)
    times, writes, _, _ = workloads.requests_of(file, None, file)
    assert np.all(np.diff(times) >= 0)
    seconds = np.bincount((times[writes] - times[0]) // 10_000_000)[:-2]
    assert seconds[::2].mean() == pytest.approx(195, rel=0.05) and seconds[1::2].mean() == pytest.approx(
        5, rel=0.2
    )
    assert gcmix.varied("quiet seconds, 5") == [
        Point("EXCHANGE, quiet seconds, 5", f) for f in ("D", "DM", "DML")
    ]
    assert {p.setting for p in gcmix.varied("even reads")} == {"serial"}


def test_settled_servers_are_named_as_before_there_were_models() -> None:
    facts = BY_NAME["EXCHANGE"].facts()
    assert set(facts) == {
        "name", "read_mib", "written_mib", "read_area_mib", "written_area_mib", "zipf", "from_figure", "rate", "length",
    }  # fmt: skip
    assert {"run", "sweep", "reads_zipf"} < set(MODELS[SECOND].of(BY_NAME["EXCHANGE"]).facts())


def test_claims_of_servers_are_judged_under_a_model_of_them() -> None:
    results = {
        Point(name, ftl): by_hand({"PX": 2.0, "P": 2.5}[ftl])
        for name in gcmix.SERVER_NAMES for ftl in ("PX", "P")
    }  # fmt: skip
    results |= {Point("EXCHANGE, runs", "PX"): by_hand(1.5), Point("EXCHANGE, runs", "P"): by_hand(2.0)}
    evidence = Evidence(results, {})
    assert evidence.under("").waf("EXCHANGE", "P") == 2.5
    assert evidence.under(SECOND).waf("EXCHANGE", "P") == 2.0
    assert evidence.under(SECOND).waf("TPCE", "P") == 2.5, "the model leaves it as it is"
    with pytest.raises(KeyError):
        evidence.under(SECOND).waf("BEFS", "P")
    points = gcmix.under(SECOND)
    assert {p.workload for p in points} >= {"EXCHANGE, runs", "TPCE"} and Point(
        "BEFS, runs", "DM", "serial"
    ) in points
    assert "BEFS, runs" in {wanted.name for wanted in STUDY.traces(gcmix.SCALES["quick"])}
    assert STUDY.sets(Point("BEFS, runs", "P"), None, gcmix.SCALES["quick"])["workload.rounds"] == 1


def test_every_experiment_has_claims_and_is_shown_or_runs_on_request() -> None:
    assert {statement.experiment for statement in STUDY.statements} == set(
        STUDY.experiments
    ) - gcmix.ON_REQUEST
    for name, experiment in STUDY.experiments.items():
        assert experiment.tables and (experiment.pictures or name in (*gcmix.ON_REQUEST, "slc"))
    assert not gcmix.ON_REQUEST & set(STUDY.default_experiments("quick"))


def test_readings_that_were_chosen_in_view_of_results_are_counted_apart() -> None:
    late = {statement.id for statement in STUDY.statements if statement.basis == "late"}
    assert late == {*(f"omega-{z:.1f}" for z in (0, 0.2, 0.4, 0.6, 0.8, 1)), "omega-below"}


def test_every_ftl_meets_every_exponent_at_the_papers_volume() -> None:
    points = STUDY.points(["fig8"], "quick")
    assert {(p.workload, p.ftl) for p in points} == {
        (zipf(z), f) for z in gcmix.EXPONENTS for f in gcmix.FTLS
    }
    resolved = STUDY.run(Point(zipf(0.4), "DML"), None, gcmix.SCALES["paper"]).job().resolve()
    device, run = resolved["device"], resolved["run"]
    assert (device["channels"], device["planes_per_die"], device["blocks_per_plane"]) == (1, 1, 32_768)
    assert (device["user_capacity"], resolved["workload"]["volume"]) == ("24GiB", "128GiB")
    assert (run["executor"], run["precondition"]) == ("count", {"sequential": "24GiB"})
    assert resolved["workload"]["interval"] == "10ms"
    assert resolved["ftl"]["paired_page"]["gcmix-adaptive"]["tau"] == 10


def test_readings_reach_the_engine() -> None:
    resolved = {
        setting: STUDY.run(Point(zipf(0.4), "P", setting), None, gcmix.SCALES["quick"]).job().resolve()
        for setting in gcmix.READINGS if setting not in ("serial", "10 times the rate") and "τ" not in setting
    }  # fmt: skip
    assert resolved["30 per second"]["workload"]["interval"] == "33333us"
    assert resolved["Poisson"]["workload"]["poisson"] is True
    assert resolved["two update blocks"]["ftl"]["separation"] == "host-gc"
    assert resolved["begins empty"]["run"]["precondition"] == "none"
    planes = resolved["eight planes"]["device"]
    assert planes["channels"] * planes["planes_per_die"] * planes["blocks_per_plane"] == 2048
    adaptive = STUDY.run(Point(zipf(0.4), "DML", "τ = 30"), None, gcmix.SCALES["quick"]).job().resolve()
    assert adaptive["ftl"]["paired_page"] == {
        "gcmix-adaptive": {"low": 1, "high": 10, "hold": True, "tau": 30}
    }
    half = STUDY.run(Point(uniform(0.5), "P"), None, gcmix.SCALES["paper"]).job().resolve()
    assert half["device"]["user_capacity"] == "16GiB"


def test_traces_are_replayed_at_the_rate(tmp_path: Path) -> None:
    made = Library(tmp_path, 1 / 16_384, None, []).get(gcmix_servers.wanted(BY_NAME["EXCHANGE"]))
    assert made is not None
    slow, fast = (
        STUDY.run(Point("EXCHANGE", "DML", setting), made, TINY).job().resolve()["host"]["time_scale"]
        for setting in ("", "10 times the rate")
    )
    assert slow == pytest.approx(10 * fast)
    serial = STUDY.run(Point("EXCHANGE", "DML", "serial"), made, TINY).job().resolve()
    assert (serial["run"]["executor"], serial["host"]["replay"], serial["host"]["queue_depth"]) == (
        "timed",
        "closed",
        1,
    )


def test_a_serial_device_adds_up_the_operations_of_table_1() -> None:
    sets = {**STUDY.run(Point(zipf(0.8), "PX", "serial"), None, TINY).sets, "workload.read_fraction": 0.5}
    for ftl in ("gcmix-p", "gcmix-pm"):
        summary = ftlab.run(ftl, sets=sets).summary
        host = summary["host"]
        total = sum(host[f"{kind}s"] * host[f"{kind}_latency_us"]["mean"] for kind in ("read", "write"))
        assert total / 1e6 == pytest.approx(host["simulated_s"], rel=1e-6)
        # No read waits: it takes an LSB page's time or an MSB page's.
        assert host["read_latency_us"]["p50"] > 79 and host["read_latency_us"]["max"] < 121


def test_the_distribution_of_locality_is_a_table(tmp_path: Path) -> None:
    sets = STUDY.run(Point(zipf(0.6), "D"), None, TINY).sets
    result = ftlab.run("gcmix-d", sets=sets, out=tmp_path / "d")
    omega, part = gcmix.distribution(result)
    assert np.all(np.diff(omega) > 0) and part[-1] == 1
    median = result.summary["policy"]["separation"]["omega_p50"]
    assert omega[np.searchsorted(part, 0.5)] == pytest.approx(median, rel=1e-3)
    assert result.locality["samples"].sum() == result.summary["policy"]["separation"]["omega_samples"]
    loaded = Result.load(tmp_path / "d")
    assert loaded.locality["omega"].tolist() == result.locality["omega"].tolist()
    plain = ftlab.run("gcmix-p", sets=STUDY.run(Point(zipf(0.6), "P"), None, TINY).sets, out=tmp_path / "d")
    assert "locality" not in plain.tables
    assert not (tmp_path / "d" / "locality.parquet").exists()
    with pytest.raises(KeyError):
        _ = plain.locality


def by_hand(
    waf: float = 2.0, omega: float = 1.0, paired: float | None = None, data: int = 70, backup: int = 30,
    write: float = 1000.0, read: float = 100.0,
) -> Result:  # fmt: skip
    erases = {"host": 0, "gc": data, "backup": backup}
    summary: dict[str, Any] = {
        "waf_units": waf,
        "policy": {"separation": {"omega_p10": omega / 2, "omega_p50": omega, "omega_p90": 2 * omega}},
        "flash": {"block_erases": data + backup, "by_cause": {c: {"erases": n} for c, n in erases.items()}},
        "host": {"write_latency_us": {"mean": write}, "read_latency_us": {"mean": read}},
    }
    if paired is not None:
        summary["policy"]["paired_page"] = {"paired_fraction": paired}
    # Six in ten samples are at ω, the others far above.
    locality = {"omega": np.array([omega, 1000 * omega]), "samples": np.array([6, 4])}
    return Result(summary, {"locality": locality})


def test_claims_follow_from_hand_made_results() -> None:
    wafs = {"PX": 2.0, "P": 2.5, "PM": 2.05, "DX": 1.9, "D": 2.5, "DM": 2.1, "DML": 2.12}
    results = {Point(zipf(z), ftl): by_hand(waf) for z in gcmix.EXPONENTS for ftl, waf in wafs.items()}
    results[Point(zipf(1.0), "DM")] = by_hand(2.6)
    results[Point(zipf(1.0), "DML")] = by_hand(2.7)
    for z, published in gcmix.MEDIANS.items():
        results[Point(zipf(z), "D", gcmix.OMEGA_AGE)] = by_hand(
            2.5, omega=1.1 * published if z else 3 * published
        )
    found = {claim.id: claim for claim in STUDY.judged(Evidence(results, {}), ("fig5", "fig8"))}
    assert found["omega-0.0"].verdict == "not-reproduced"
    assert found["omega-0.6"].measured == pytest.approx(2.0471)
    assert found["omega-0.6"].verdict == "reproduced"
    assert found["waf-px"].measured == pytest.approx(20) and found["waf-px"].verdict == "reproduced"
    assert found["waf-dx"].measured == pytest.approx(24)
    assert found["waf-dm-low"].measured == pytest.approx(16)
    assert found["waf-dm-0.8"].verdict == "not-reproduced"
    assert found["waf-dm-1.0"].measured == pytest.approx(-4) and found["waf-dm-1.0"].verdict == "reproduced"
    assert found["waf-dml"].measured == pytest.approx(8) and found["waf-dml"].workload == zipf(1.0)
    assert found["omega-dm"].verdict == found["read-most"].verdict == "not-run"


def test_server_claims_follow_from_hand_made_results() -> None:
    results = {}
    for name in gcmix.SERVER_NAMES:
        hot = name == "EXCHANGE"
        for ftl in gcmix.FTLS:
            mixed = ftl in gcmix.MIXED
            omega = {"EXCHANGE": 30.0, "BEFS": 4.0}.get(name, 0.5)
            results[Point(name, ftl)] = by_hand(
                waf=3.0 - 0.5 * ftl.endswith("X") - 0.3 * mixed, omega=omega,
                paired=(0.3 if hot and ftl == "DML" else 0.9) if mixed else None, backup=2 if mixed else 30,
            )  # fmt: skip
            results[Point(name, ftl, "serial")] = by_hand(
                write=900 if mixed else 1000, read=102 if mixed else 100
            )
    experiments = ("fig7", "fig9", "fig10", "fig11", "fig12", "fig13")
    found = {claim.id: claim for claim in STUDY.judged(Evidence(results, {}), experiments)}
    assert found["omega-order"].measured == pytest.approx(7.5)
    assert found["omega-below"].measured == pytest.approx(60) and found["omega-below"].verdict == "direction"
    assert found["backup-p-least"].measured == pytest.approx(100 * 0.5 / 2.5)
    assert found["erases-backup-most"].measured == pytest.approx(30)
    assert found["erases-mixed"].measured == pytest.approx(100 * 2 / 30)
    assert found["paired-dml-exchange"].verdict == "reproduced"
    assert found["paired-pm-least"].measured == pytest.approx(90)
    assert found["write-pm"].measured == pytest.approx(10) and found["write-pm"].verdict == "reproduced"
    assert found["write-dm-exchange"].verdict == "not-reproduced"
    assert (
        found["read-pm-mean"].measured == pytest.approx(2) and found["read-pm-mean"].verdict == "reproduced"
    )
    assert not math.isnan(found["read-most"].measured or math.nan)


RUN_AT_LENGTH = ("fig8", "fig14", "readings", "fig9", "fig12")
"""Experiments whose runs are left to `make evidence`."""


def test_what_is_run_at_length_is_shown_and_judged() -> None:
    """Tables, pictures and claims find what they read in results that are all one."""
    results = dict.fromkeys(STUDY.points(RUN_AT_LENGTH, "quick"), by_hand(paired=0.5))
    made = Evidence(results, {})
    found = STUDY.judged(made, RUN_AT_LENGTH)
    judged = {claim.id for claim in found if claim.verdict != "not-run"}
    assert judged == {statement.id for statement in STUDY.statements if statement.experiment in RUN_AT_LENGTH}
    parts = [STUDY.experiments[name] for name in RUN_AT_LENGTH]
    report = STUDY.report("quick", RUN_AT_LENGTH, made, found)
    assert report.count("\n## ") >= sum(len(part.tables) for part in parts)
    assert set(STUDY.drawn(made, RUN_AT_LENGTH)) >= {name for part in parts for name in part.pictures}


@pytest.mark.parametrize("only", ["fig5", *(pytest.param(only, marks=LONG) for only in RUN_AT_LENGTH)])
def test_a_whole_reproduction_on_a_tiny_device(
    only: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(gcmix.SCALES, "quick", TINY)
    # Away from the traces that may lie beside the project.
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    assert main(["reproduce", "gcmix", "--only", only, "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["paper"], document["scale"]) == ("ftlab.claims/1", "gcmix", "quick")
    measured = {claim["id"] for claim in document["claims"] if claim["verdict"] != "not-run"}
    assert measured == {statement.id for statement in STUDY.statements if statement.experiment == only}
    assert (out / f"{only}.png").stat().st_size > 10_000
    page = (out / "report.md").read_text(encoding="utf-8")
    assert page.count("\n## ") >= 2


def test_generators_alone_still_have_an_answer_for_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(gcmix.SCALES, "quick", TINY)
    assert main(["reproduce", "gcmix", "--only", "omega-0.4", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "omega-0.4" in text and "generated as they run" in text


def test_survival_is_tried_beside_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def trials(scale: str, **_: Any) -> list[Trial]:
        assert scale == "quick"
        first = {"seed": 3, "at": 1234, "during": True, "lpn": 7, "promised": 9, "found": 0}
        return [Trial(protection, "MLC shadow", trouble, 100, 0 if survives else 12, 90, 5, None if survives else first)
                for (protection, trouble), survives in EXPECTED.items()]  # fmt: skip

    cost = {
        "pages_read": 1e3,
        "restart_s": 1.5,
        "spare_bytes_per_page": 16,
        "spare_share": 0.03,
        "wall_s": 0.2,
    }
    monkeypatch.setattr(survival, "matrix", trials)
    monkeypatch.setattr(survival, "restart", lambda ratio: cost)
    assert main(["reproduce", "gcmix", "--only", "survival", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert (
        "loses in 12 of 100" in text and "reads 1,000 spare areas" in text and "s-supercap-power-cut" in text
    )
    claims = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))["claims"]
    assert {claim["verdict"] for claim in claims if claim["id"].startswith("s-")} == {"reproduced"}
    assert {claim["verdict"] for claim in claims if not claim["id"].startswith("s-")} == {"not-run"}
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "## Survival: lives with a fault, by protection" in page and "reads 1,000 spare areas" in page
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert figures["restart"] == cost and len(figures["survival"]) == len(EXPECTED)
    assert (tmp_path / "survival.png").stat().st_size > 10_000
