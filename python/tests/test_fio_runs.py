"""Job files of fio as they are run: requests and their times, reports, the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TINY, Ftlab

import ftlab
from ftlab.base.quantities import in_bytes
from ftlab.fio import running
from ftlab.fio.jobfile import JobFile
from ftlab.fio.plan import plan

MIB = 1 << 20


@pytest.mark.parametrize(("words", "most"), [("", 1), ("loops=3\n", 3), ("loops=2\nrandrepeat=0\n", 2)])
def test_every_block_is_asked_for_once_in_a_pass(words: str, most: int, tiny: Path) -> None:
    text = f"[a]\nioengine=libaio\nrw=randrw\nrwmixread=70\nsize=8m\nbs=4k\niodepth=9\n{words}"
    result, _ = running.run(tiny, JobFile(text), sets=["run.per_request=true", "run.precondition=none"])
    rows = result.tables["requests"]
    counts = np.unique(rows["offset"], return_counts=True)[1]
    assert len(counts) == 8 * MIB // 4096 and (counts == most).all()
    assert np.mean(np.array(rows["kind"]) == "read") == pytest.approx(0.7, abs=0.05)
    assert not (np.diff(rows["offset"].astype(int)) == 4096).mean() > 0.05


def test_a_log_of_fio_is_replayed(tiny: Path, tmp_path: Path) -> None:
    log = tmp_path / "io.log"
    log.write_text(
        "fio version 3 iolog\n0 f add\n0 f open\n100 f write 0 4096\n900 f sync 0 0\n1500 f read 4096 8192\n",
        encoding="utf-8",
    )
    result, told = running.run(tiny, JobFile(f"[a]\nread_iolog={log}\n"))
    (tenant,) = result.summary["tenants"]
    assert (tenant["reads"], tenant["writes"], tenant["flushes"]) == (1, 1, 1)
    assert told["jobs"][0]["read"]["io_bytes"] == 8192
    (paced,) = plan(JobFile("[a]\nread_iolog=x\nreplay_no_stall=1\n"), 64 * MIB).config["tenant"]
    assert paced["replay"] == "closed"


def test_writes_of_a_job_take_the_identifiers_of_the_drive_in_turns(tiny: Path) -> None:
    job = JobFile("[a]\nrw=write\nbs=4k\nsize=1m\ndataplacement=fdp\n")
    sets = ["ftl.separation.fdp.handles=2", "run.precondition=none", "device.blocks_per_plane=64"]
    result, _ = running.run(tiny, job, sets=sets)
    first, second = result.summary["policy"]["separation"]["written_pages"]
    assert first == second > 0


JOBS = """
[global]
bs=4k
norandommap
runtime=100ms
time_based
[reader]
rw=randread
rate_iops=2000
rate_process=poisson
[writer]
rw=write
bs=64k
rate_iops=50
startdelay=20ms
[copies]
rw=randwrite
rate_iops=100
numjobs=2
offset=32m
offset_increment=16m
size=16m
"""


def test_jobs_beside_each_other_are_streams_of_their_own(tiny: Path) -> None:
    result, told = running.run(
        tiny, JobFile(JOBS), sets={"run.precondition.sequential": "1x", "run.per_request": True}
    )
    # Copies have the name of their job, as in fio.
    assert [each["jobname"] for each in told["jobs"]] == ["reader", "writer", "copies", "copies"]
    jobs = {each["jobname"]: each for each in told["jobs"]}
    tenants = {tenant["name"]: tenant for tenant in result.summary["tenants"]}
    assert [tenants[name]["writes"] for name in ("writer", "copies-0", "copies-1")] == [5, 10, 10]
    assert 150 < tenants["reader"]["reads"] < 250
    assert jobs["reader"]["read"]["total_ios"] == tenants["reader"]["reads"]
    assert jobs["reader"]["write"]["total_ios"] == 0
    assert jobs["writer"]["write"]["io_bytes"] == 5 * 65536
    assert jobs["writer"]["write"]["iops"] == pytest.approx(50, rel=0.3)
    total = result.summary["host"]["read_latency_us"]["mean"] * 1000
    assert jobs["reader"]["read"]["clat_ns"]["mean"] == pytest.approx(total)
    rows = result.tables["requests"]
    writes = np.array(rows["kind"]) == "write"
    # A writer of 64 KiB in order, 20 ms apart, 20 ms later.
    mine = writes & (rows["size"] == 65536)
    assert rows["arrival_ns"][mine].tolist() == [20_000_000 * i for i in range(1, 6)]
    assert (np.diff(rows["offset"][mine]) == 65536).all()
    places = rows["offset"][writes & (rows["size"] == 4096)] // MIB
    assert ((places >= 32) & (places < 48)).sum() == ((places >= 48) & (places < 64)).sum() == 10


def test_copies_are_one_report_where_they_are_a_group(tiny: Path) -> None:
    words = "[a]\nrw=randrw\nnorandommap\nnumber_ios=300\nnumjobs=3\n"
    _, apart = running.run(tiny, JobFile(words))
    _, group = running.run(tiny, JobFile(f"{words}group_reporting\n"))
    (one,) = group["jobs"]
    for kind in ("read", "write"):
        each = [job[kind] for job in apart["jobs"]]
        assert one[kind]["total_ios"] == sum(part["total_ios"] for part in each)
        mean = sum(part["clat_ns"]["mean"] * part["total_ios"] for part in each) / one[kind]["total_ios"]
        assert one[kind]["clat_ns"]["mean"] == pytest.approx(mean)
        assert one[kind]["clat_ns"]["max"] == max(part["clat_ns"]["max"] for part in each)
        assert one[kind]["clat_ns"]["N"] == one[kind]["total_ios"]
    assert one["read"]["total_ios"] + one["write"]["total_ios"] == 900


def test_a_job_is_held_back_by_its_depth_as_by_fio(tiny: Path) -> None:
    """A pace that the drive does not keep: one request at a time, each from when it was sent."""
    words = "[a]\nrw=randread\nnorandommap\nrate_iops=1000000\nruntime=50ms\ntime_based\n"
    _, told = running.run(tiny, JobFile(words), sets={"run.precondition.sequential": "1x"})
    read = told["jobs"][0]["read"]
    assert read["iops"] * read["clat_ns"]["mean"] == pytest.approx(1e9, rel=0.01)
    slow = words.replace("rate_iops=1000000", "rate_iops=1000")
    _, told = running.run(tiny, JobFile(slow), sets={"run.precondition.sequential": "1x"})
    assert told["jobs"][0]["read"]["total_ios"] == 50


def test_ramps_are_left_out(tiny: Path) -> None:
    """Of a job with a ramp is reported what is behind it."""
    words = "[a]\nioengine=libaio\niodepth=4\nrw=randread\nnorandommap\nruntime=20ms\nramp_time=10ms\ntime_based\n"
    result, told = running.run(tiny, JobFile(words), sets={"run.per_request": True})
    rows = result.tables["requests"]
    behind = rows["arrival_ns"] >= 10_000_000
    assert 0 < behind.sum() < len(behind) and rows["arrival_ns"].max() < 30_000_000
    read = told["jobs"][0]["read"]
    assert read["total_ios"] == behind.sum()
    assert read["clat_ns"]["max"] == rows["latency_ns"][behind].max()
    expected = np.quantile(rows["latency_ns"][behind], 0.99, method="inverted_cdf")
    assert read["clat_ns"]["percentile"]["99.000000"] == pytest.approx(int(expected), rel=1.1e-3)
    assert read["runtime"] == pytest.approx(20, abs=1)


def test_a_runtime_ends_a_job(tiny: Path) -> None:
    words = "[a]\nioengine=libaio\niodepth=4\nrw=randread\nnorandommap\nruntime=20ms\nnumber_ios=9000\n"
    result, told = running.run(tiny, JobFile(words))
    assert 0.019 < result.summary["host"]["simulated_s"] < 0.022
    assert told["jobs"][0]["read"]["total_ios"] == result.summary["host"]["reads"] > 100
    assert told["jobs"][0]["read"]["runtime"] in (19, 20, 21)


def test_the_report_tells_what_the_rows_are(tiny: Path) -> None:
    words = "[a]\nioengine=libaio\niodepth=4\nrw=randrw\nnorandommap\nnumber_ios=5000\n"
    for more in ("", "runtime=1000\n"):
        result, told = running.run(tiny, JobFile(words + more), sets=["run.per_request=true"])
        rows, job = result.tables["requests"], told["jobs"][0]
        for kind in ("read", "write"):
            ns, clat = rows["latency_ns"][np.array(rows["kind"]) == kind], job[kind]["clat_ns"]
            assert clat["N"] == len(ns) > 1000
            assert clat["mean"] == pytest.approx(ns.mean())
            assert clat["stddev"] == pytest.approx(ns.std(), rel=2e-3)
            for percent, found in clat["percentile"].items():
                expected = np.quantile(ns, float(percent) / 100, method="inverted_cdf")
                assert found == pytest.approx(int(expected), rel=1.1e-3)
        parts = ("latency_ns", "latency_us", "latency_ms")
        assert sum(sum(job[part].values()) for part in parts) == pytest.approx(100)


def rows_of(text: str, tiny: Path, *sets: str) -> tuple[Any, dict[str, Any]]:
    """The requests of a job file on a fresh drive, in the order in which they were sent, and its report."""
    result, told = running.run(
        tiny, JobFile(text), sets=["run.per_request=true", "run.precondition=none", *sets]
    )
    rows = result.tables["requests"]
    order = np.argsort(rows["arrival_ns"], kind="stable")
    return {key: np.asarray(rows[key])[order] for key in ("arrival_ns", "offset", "kind", "latency_ns")}, told


def test_each_loop_has_the_order_of_the_first(tiny: Path) -> None:
    rows, _ = rows_of("[job]\nrw=randwrite\nbs=4k\nsize=64k\nloops=2\n", tiny)
    assert rows["offset"][:16].tolist() == rows["offset"][16:].tolist()
    assert sorted(rows["offset"][:16]) == list(range(0, 65536, 4096))
    job = "[job]\nioengine=libaio\niodepth=8\nrw=randwrite\nbs=4k\nsize=100%\nloops=4\n"
    waf = {
        more: running.run(tiny, JobFile(job + more), sets={"run.precondition": "none"})[0].summary["waf"]
        for more in ("", "randrepeat=0\n")
    }
    # What is written in the order of the time before leaves whole blocks behind.
    assert waf[""] < 1.05 < 1.8 < waf["randrepeat=0\n"]


def test_bursts_are_apart(tiny: Path) -> None:
    text = "[r]\nioengine=libaio\niodepth=4\nsize=256k\nbs=4k\nrw=read\nthinktime=500ms\nthinktime_blocks=8\n"
    rows, _ = rows_of(text, tiny, "host.command_time=10us")
    sent = rows["arrival_ns"].reshape(8, 8)
    ended = (rows["arrival_ns"] + rows["latency_ns"]).reshape(8, 8)
    assert (sent[1:, 0] == ended[:-1].max(axis=1) + 500_000_000).all()
    assert (sent.max(axis=1) - sent.min(axis=1) < 1_000_000).all()


def test_a_measurement_begins_behind_its_fill(tiny: Path) -> None:
    text = "[global]\nioengine=libaio\niodepth=4\nsize=4m\nbs=4k\n[fill]\nrw=write\n"
    text += "[read]\nstonewall\nrw=randread\nramp_time=2ms\n"
    rows, told = rows_of(text, tiny)
    writes = rows["kind"] == "write"
    assert writes.sum() == (~writes).sum() == 1024
    first = rows["arrival_ns"][~writes].min()
    assert first >= (rows["arrival_ns"] + rows["latency_ns"])[writes].max()
    fill, read = told["jobs"]
    behind = rows["arrival_ns"][~writes] >= first + 2_000_000
    assert (fill["groupid"], read["groupid"]) == (0, 1)
    assert fill["write"]["total_ios"] == 1024 and read["read"]["total_ios"] == behind.sum() < 1024
    # They read what was written, and their times are their own.
    assert rows["latency_ns"][~writes].min() > 10_000
    last = (rows["arrival_ns"] + rows["latency_ns"])[~writes].max()
    assert read["read"]["runtime"] == (last - first - 2_000_000) // 1_000_000


def test_a_file_size_is_a_range(tiny: Path) -> None:
    rows, _ = rows_of("[job]\nioengine=libaio\nrw=randwrite\nbs=4k\nfilesize=1m\n", tiny)
    assert sorted(rows["offset"]) == list(range(0, MIB, 4096))


def test_the_first_that_is_done_ends_the_others(tiny: Path) -> None:
    text = "[global]\nioengine=libaio\nrw=write\nbs=4k\n[short]\nsize=40k\n[long]\nsize=32m\n"
    alone = {each["jobname"]: each["write"]["total_ios"] for each in rows_of(text, tiny)[1]["jobs"]}
    ended = {
        each["jobname"]: each["write"]["total_ios"] for each in rows_of(f"{text}exitall\n", tiny)[1]["jobs"]
    }
    assert alone == {"short": 10, "long": 8192}
    assert ended["short"] == 10 and 8 <= ended["long"] <= 12
    # A later stage runs all the same, unless all are ended.
    later = f"{text}exitall\n[later]\nstonewall\nsize=8k\n"
    assert [each["write"]["total_ios"] for each in rows_of(later, tiny)[1]["jobs"]][2] == 2
    never = later.replace("[short]\n", "[short]\nexit_what=all\n")
    _, told = rows_of(never, tiny)
    assert len(told["jobs"]) == 2 and any("never begin" in note for note in told["ftlab"]["notes"])


def test_a_job_ends_when_its_figures_are_steady(tiny: Path) -> None:
    job = "[a]\nrw=randread\nbs=4k\ntime_based\nruntime=9\nss=iops:10%\nss_ramp=1\n"
    slow = {"run.precondition": "none", "host.command_time": "1ms"}
    result, told = running.run(tiny, JobFile(job + "ss_dur=2\n"), sets=slow)
    (found,) = told["jobs"]
    assert found["steadystate"] == {"ss": "iops:10%", "duration": 2, "attained": 1}
    assert 3000 <= found["job_runtime"] < 3010 and 3.0 <= result.summary["tenants"][0]["steady_s"] < 3.01
    # Nothing is below no limit; and without a window fio does not look.
    _, told = running.run(tiny, JobFile((job + "ss_dur=2\n").replace("10%", "0")), sets=slow)
    assert told["jobs"][0]["steadystate"]["attained"] == 0 and 8990 <= told["jobs"][0]["job_runtime"] <= 9010
    left_out = plan(JobFile(job), 1 << 20)
    assert any("`steadystate` has no `steadystate_duration`" in note for note in left_out.notes)
    with pytest.raises(ftlab.InputError, match="cannot be `lat:1%`"):
        plan(JobFile((job + "ss_dur=2\n").replace("iops:10%", "lat:1%")), 1 << 20)


def test_places_are_filled_in_groups(tiny: Path) -> None:
    text = "[a]\nioengine=libaio\niodepth=8\niodepth_batch_complete_min=8\nrw=read\nbs=4k\nsize=256k\n"
    rows, _ = rows_of(text, tiny, "host.command_time=10us")
    assert (np.unique(rows["arrival_ns"], return_counts=True)[1] == 8).all()


def test_trims_and_flushes_are_in_the_report(tiny: Path) -> None:
    text = "[a]\nrw=randtrimwrite\nbs=8k\nsize=256k\nfsync=8\n"
    result, told = running.run(tiny, JobFile(text), sets={"run.precondition": "none"})
    trim, write = told["jobs"][0]["trim"], told["jobs"][0]["write"]
    assert (trim["total_ios"], trim["io_bytes"]) == (write["total_ios"], write["io_bytes"]) == (32, 256 << 10)
    assert trim["clat_ns"]["N"] == 32 and result.summary["tenants"][0]["flushes"] == 3


def test_a_job_file_as_a_configuration(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text(
        "[a]\nrw=randrw\nbssplit=4k/50:8k/50\nsize=1m\n[b]\nstonewall\nrw=randread\nsize=64k\n",
        encoding="utf-8",
    )
    ftlab("run", tiny, "--fio", job, "--write-config", tmp_path / "run.toml")
    written = json.loads(ftlab("run", tmp_path / "run.toml", "--json").stdout)
    run = json.loads(ftlab("run", tiny, "--fio", job, "--json").stdout)
    for each in (written, run):
        for key in ("timing", "name", "notes", "version", "process", "host_machine"):
            each.pop(key, None)
    assert written["tenants"] == run["tenants"] and written["waf"] == run["waf"]
    shown = ftlab("run", tiny, "--fio", job, "--write-config", "-").stdout
    assert 'job = "rw=randrw bs=4k/50:8k/50 size=1m' in shown and 'after = "a"' in shown
    assert "without `--fio`" in ftlab("run", tiny, "--write-config", "x", code=2).stderr
    assert "cannot be written" in ftlab("run", tiny, "--fio", job, "--write-config", tmp_path, code=2).stderr


@pytest.mark.parametrize(
    ("keys", "found", "expected"),
    [
        ('after = "c"', "names `c`, which is no tenant before it", "names of those before it"),
        ('after = "endless"', "`endless`, which has no end", "`requests`, `volume` or `duration`"),
        ('replay = "open"\nthink_after = 2', "no effect in an open loop", 'replay = "paced"'),
        ('generator = "uniform"', "not two of them", "only one of"),
        ('request_size = "4KiB"', "is not for jobs", "expected no `request_size`"),
        ('job = "rw=reed"', "`rw` cannot be `reed`", "such as `read`"),
        ('job = "rw=read size=1k"', "hold no request of 4096", "a larger `size`"),
    ],
)  # fmt: skip
def test_keys_of_jobs_are_checked(keys: str, found: str, expected: str, tmp_path: Path, ftlab: Ftlab) -> None:
    drive = TINY.partition("[workload]")[0].partition("[host]")[0]
    first = '[[tenant]]\nname = "a"\njob = "rw=read size=64k"\n[[tenant]]\nname = "endless"\ngenerator = "uniform"\n'
    path = tmp_path / "run.toml"
    own = "" if keys.startswith("job") else 'job = "rw=read"\n'
    path.write_text(f'{drive}{first}[[tenant]]\nname = "b"\n{own}{keys}\n', encoding="utf-8")
    told = ftlab("run", path, code=2).stderr
    assert found in told and expected in told


def test_a_job_by_time_needs_an_end(tmp_path: Path, ftlab: Ftlab) -> None:
    path = tmp_path / "run.toml"
    drive = TINY.partition("[workload]")[0]
    path.write_text(f'{drive}[workload]\njob = "rw=read time_based=1"\n', encoding="utf-8")
    assert "a job that goes by time needs an end" in ftlab("run", path, code=2).stderr
    path.write_text(f'{drive}[workload]\njob = "rw=rw time_based=1"\nrequests = 500\n', encoding="utf-8")
    host = json.loads(ftlab("run", path, "--json").stdout)["host"]
    assert host["reads"] + host["writes"] == 500


def test_drives_are_compared_under_a_job_file(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text(
        "[a]\nrw=randwrite\nsize=100%\nnorandommap\nioengine=libaio\niodepth=8\n[b]\n", encoding="utf-8"
    )
    shown = ftlab(
        "compare", tiny, "--fio", job, "--section", "a", "--vary", "device.over_provisioning=0.15,0.4", "--json"
    )  # fmt: skip
    runs = json.loads(shown.stdout)["runs"]
    # The job has all of each drive.
    for run in runs:
        host, device = run["summary"]["host"], run["summary"]["config"]["device"]
        assert host["bytes_written"] == in_bytes(device["user_capacity"])
    assert len({run["summary"]["host"]["bytes_written"] for run in runs}) == 2
    assert "without `--fio`" in ftlab("compare", tiny, tiny, "--section", "a", code=2).stderr
    # Of several jobs each is run alone too.
    job.write_text("[a]\nrw=read\nsize=64k\n[b]\nrw=read\nsize=64k\n", encoding="utf-8")
    labels = [
        run["label"] for run in json.loads(ftlab("compare", tiny, "--fio", job, "--json").stdout)["runs"]
    ]
    assert len(labels) == 3


def test_a_sweep_has_a_job_file(tiny: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text(
        "[a]\nrw=randwrite\nsize=100%\nnumber_ios=2000\nioengine=libaio\niodepth=8\n", encoding="utf-8"
    )
    spec = {
        "config": str(tiny), "fio": str(job), "set": {"run.precondition": "none"},
        "grid": {"device.over_provisioning": [0.2, 0.3]},
    }  # fmt: skip
    made = ftlab.sweep(spec, out=tmp_path / "out")
    assert (
        made.table["host_writes"].to_pylist() == [2000, 2000]
        if "host_writes" in made.table.column_names
        else made
    )
    with pytest.raises(ftlab.ConfigError, match="a job of a job file"):
        ftlab.sweep({"config": str(tiny), "section": "a"}, out=tmp_path / "out")


def test_the_command_line(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text(
        "[one]\nrw=randread\nnumber_ios=500\n[two]\nrw=write\nnumber_ios=100\nverify=0\n", encoding="utf-8"
    )
    told = json.loads(ftlab("run", tiny, "--fio", job, "--section", "one", "--output-format=json").stdout)
    assert told["jobs"][0]["read"]["total_ios"] == 500
    text = ftlab("run", tiny, "--fio", job, "--section", "two").stdout
    assert "in fio's names" in text and "write: IOPS=" in text and "99.99th" in text
    both = json.loads(ftlab("run", tiny, "--fio", job, "--output-format=json").stdout)
    assert [each["jobname"] for each in both["jobs"]] == ["one", "two"]
    assert "there is no job `three`" in ftlab("run", tiny, "--fio", job, "--section", "three", code=2).stderr
    assert "without `--fio`" in ftlab("run", tiny, "--section", "one", code=2).stderr
    assert "without `--fio`" in ftlab("run", tiny, "--output-format=json", code=2).stderr
    assert "expected one of them" in ftlab("run", tiny, "--fio", job, "--trace", "x", code=2).stderr
    assert "cannot be read" in ftlab("run", tiny, "--fio", "absent.fio", code=2).stderr
    assert (
        "both want stdout"
        in ftlab(
            "run", tiny, "--fio", job, "--section", "one", "--json", "--output-format", "json", code=2
        ).stderr
    )
    assert "cannot be `xml`" in ftlab("run", tiny, "--fio", job, "--output-format", "xml", code=2).stderr
    count = ftlab("run", tiny, "--fio", job, "--section", "one", "--set", "run.executor=count", code=2).stderr
    assert "needs time" in count


def test_a_drive_without_a_workload_is_a_drive(tmp_path: Path) -> None:
    drive = tmp_path / "drive.toml"
    drive.write_text(TINY.partition("[workload]")[0], encoding="utf-8")
    result, _ = running.run(
        drive, JobFile("[a]\nrw=write\nnumber_ios=10\n"), sets={"run.precondition": "none"}
    )
    assert result.summary["host"]["writes"] == 10
