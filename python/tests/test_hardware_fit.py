"""A preset fitted to a drive that fio measured: the jobs, their results, and constants that are recovered."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Ftlab

import ftlab
from ftlab import InputError
from ftlab.fio import running
from ftlab.fio.jobfile import JobFile
from ftlab.hardware import fit as fitting
from ftlab.hardware import fit_page, jobs, measured

SMALL: dict[str, Any] = {
    "device.channels": 2, "device.chips_per_channel": 1, "device.blocks_per_plane": 200, "device.pages_per_block": 48,
    "device.page_size": "4KiB", "device.user_capacity": "120MiB", "device.over_provisioning": 0.25,
    "device.timing.program": "120us", "device.timing.erase": "300us", "ftl.write_buffer.fifo.size": "1MiB",
}  # fmt: skip
"""The preset that the fit starts from: `enterprise-tlc` with two dies."""

TRUE: dict[str, Any] = {
    "host.command_time": "6300ns", "host.link": "200MB/s",
    "device.timing.read": ["40us", "52us", "71us"], "device.timing.program": "175us",
    "device.program_suspend.reads": {"step": "40us", "most": 1, "latency": "20us", "resume": "30us"},
    "device.user_capacity": "132MiB", "device.over_provisioning": 0.1364, "ftl.write_buffer.fifo.reads": "wait",
}  # fmt: skip
"""The constants of the drive that stands for a real one."""

AGED = 2.0

SECONDS = {"empty": 0.1, "filled": 0.2, "aged": 2.0}


def measure(place: Path, names: list[str]) -> None:
    """Runs jobs on the true drive, and writes what fio and nvme-cli would."""
    ages: dict[str, Any] = {"empty": "none", "filled": {"sequential": "1x"}, "aged": {"random": f"{AGED}x"}}
    jobs.write(place)
    for job in (job for job in jobs.JOBS if job.name in names):
        text = job.file.replace("filename=${DEV}\n", "").replace("${RATE}", "500")
        text = re.sub("runtime=.*", f"runtime={round(SECONDS[job.state] * 1e6)}us", text)
        sets = {**SMALL, **TRUE, "run.precondition": ages[job.state]}
        _, told = running.run("enterprise-tlc", JobFile(text), sets=sets)
        (place / f"{job.name}.json").write_text(json.dumps(told), encoding="utf-8")
        if job.state == "aged":
            host = told["jobs"][0]["write"]["io_bytes"]
            for when, written in (("before", 0), ("after", host)):
                counters(
                    place / f"{job.name}.{when}",
                    10**12 + written,
                    2 * 10**12 + written * told["ftlab"]["waf"],
                )
    capacity = 132 << 20
    (place / "capacity").write_text(f"{capacity}\n", encoding="utf-8")


def counters(name: Path, host: float, media: float) -> None:
    """The counters of a drive, as nvme-cli writes them."""
    Path(f"{name}.smart.json").write_text(
        json.dumps({"data_units_written": host / 512_000}), encoding="utf-8"
    )
    units = {"Physical media units written": {"hi": 0, "lo": int(media)}}
    Path(f"{name}.ocp.json").write_text(json.dumps(units), encoding="utf-8")


def in_ns(value: Any) -> float:
    return float(re.sub("[a-zA-Z/]", "", str(value)))


def test_constants_of_a_known_drive_are_recovered(tmp_path: Path) -> None:
    place = tmp_path / "drive"
    measure(place, ["write-1", "fill", "read-1", "read-16", "read-256", "read-128k", "random", "limit"])
    drive = measured.load(place)
    found = fitting.fit(drive, ftlab.resolve("enterprise-tlc", sets=SMALL), "small", seconds=0.1)
    values = {one.key: one.value for one in found.constants}
    assert in_ns(values["host.command_time"]) == pytest.approx(6300, rel=0.05)
    assert in_ns(values["host.link"]) == pytest.approx(200_000, rel=0.05)
    assert list(map(in_ns, values["device.timing.read"])) == pytest.approx([40_000, 52_000, 71_000], rel=0.05)
    assert max(map(in_ns, values["device.timing.program"])) == pytest.approx(175_000, rel=0.05)
    assert values["device.over_provisioning"] == pytest.approx(0.1364, rel=0.05)
    assert values["ftl.write_buffer.fifo.reads"] == "wait"
    assert found.classes[0] == "Reads wait behind writes at the limit."
    # What nothing tells of is named and keeps the preset's value.
    assert found.kept["device.program_suspend"].startswith("needs the jobs")
    assert "device.timing.erase" in found.kept and "device.timing.erase" not in found.sets
    met, of = found.counts("predicted")
    assert of >= 10 and met >= 0.8 * of
    # The drive can be run.
    toml = tmp_path / "my.toml"
    toml.write_text(fit_page.toml(replaced(found)), encoding="utf-8")
    assert ftlab.resolve(toml)["host"]["command_time"] == values["host.command_time"]


def replaced(found: fitting.Fit) -> fitting.Fit:
    """The fit as one of the preset that its drive was made of."""
    return fitting.Fit(
        "enterprise-tlc", found.constants, found.kept, found.classes, found.compared, found.sets
    )


def test_a_search_finds_what_the_errors_say_and_names_what_moves_nothing() -> None:
    """Errors of a made-up drive: steps of 220 us, a latency of 60 us, at most 2 suspends; a resume does not matter."""

    class Fitting:
        program = 800.0

    class Search(fitting._Search):
        def _measured(self, at: Any) -> float:
            if at is None:
                return 0.9
            away = [
                math.log(max(at[name], 1.0) / true) for name, true in (("step", 220.0), ("latency", 60.0))
            ]
            return math.sqrt(sum(each**2 for each in away) + (0.1 * (at["most"] - 2)) ** 2)

    best, errors = Search(Fitting(), []).best()  # type: ignore[arg-type]
    assert best is not None
    assert (best["step"], best["latency"]) == pytest.approx((220, 60), rel=0.05) and best["most"] == 2
    assert [errors.interval(name)[1] for name in ("step", "latency", "most", "resume")] == [
        False,
        False,
        False,
        True,
    ]
    assert errors.interval("most")[0] == "2 to 2"


def write_result(place: Path, name: str, **changed: Any) -> Path:
    """A result as fio writes it, of a job that ran on no drive."""
    spread = {"mean": 9000.0, "percentile": {"50.000000": 9000, "99.000000": 12000}}
    none = {"total_ios": 0}
    ran = {
        "total_ios": 50_000,
        "iops": 100_000.0,
        "bw_bytes": 409_600_000,
        "io_bytes": 204_800_000,
        "clat_ns": spread,
    }
    job = {
        "jobname": "writer",
        "error": 0,
        "job options": {"rw": "write"},
        "read": none,
        "write": ran,
    } | changed
    place.mkdir(exist_ok=True)
    path = place / f"{name}.json"
    path.write_text(
        "fio: a warning\n" + json.dumps({"fio version": "fio-3.33", "jobs": [job]}), encoding="utf-8"
    )
    return path


def test_results_are_read_behind_warnings_and_with_the_rate_that_a_job_had(tmp_path: Path) -> None:
    write_result(tmp_path, "write-1")
    write_result(tmp_path, "half", **{"job options": {"rw": "randwrite", "rate_iops": "777"}})
    (tmp_path / "capacity").write_text("960197124096\n", encoding="utf-8")
    drive = measured.load(tmp_path)
    assert drive.figure("write-1", "write p50") == 9.0 and drive.capacity == 960197124096
    assert drive.figure("write-1", "write p999") is None and drive.figure("read-1", "read p50") is None
    assert "rate_iops=777\n" in drive.ran["half"].text and "filename" not in drive.ran["half"].text
    counters(tmp_path / "half.before", 1e12, 3e12)
    counters(tmp_path / "half.after", 1.5e12, 4.2e12)
    assert measured.load(tmp_path).ran["half"].waf == pytest.approx(2.4)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("write-1.json", "no results\n", "it is no JSON: "),
        ("write-1.json", "[]", "it is no JSON object; expected what `fio --output-format=json` writes"),
        ("write-1.json", "{}", "it has no `jobs`"),
        ("write-1.json", '{"jobs": [{"jobname": "w", "error": 5}]}', "its job `w` ended with error 5"),
        ("write-1.json", '{"jobs": [{"jobname": "w", "write": {"total_ios": 1}}]}', "its figures cannot be read"),
        ("write-1.json", '{"jobs": [{"jobname": "w", "read": {"total_ios": 0}}]}', "it has no writes; expected"),
        ("capacity", "960 GB\n", "found `960 GB`; expected the drive's bytes"),
        ("random.after.ocp.json", "{}", "it has no `Physical media units written`"),
        ("random.after.smart.json", '{"data_units_written": "many"}', "`data_units_written` is 'many'"),
        ("random.after.ocp.json", '{"Physical media units written": {"hi": 9, "lo": 0}}', "the drive's counters say"),
    ],
)  # fmt: skip
def test_results_that_cannot_be_used_are_named(tmp_path: Path, name: str, text: str, told: str) -> None:
    write_result(tmp_path, "write-1")
    write_result(tmp_path, "random")
    counters(tmp_path / "random.before", 1e12, 3e12)
    counters(tmp_path / "random.after", 2e12, 5e12)
    assert measured.load(tmp_path).ran["random"].waf == pytest.approx(2.0)
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(told)) as caught:
        measured.load(tmp_path)
    assert name in str(caught.value)


def test_the_command_writes_jobs_and_says_what_is_wrong(
    tmp_path: Path, ftlab: Ftlab, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "drive"
    monkeypatch.setenv("DEV", "/dev/nvme0n1")
    monkeypatch.setenv("RATE", "500")
    told = ftlab("hardware", "fit", "--jobs", place).stderr
    assert "18 jobs of fio" in told and "all data on it are lost" in told
    for job in jobs.JOBS:
        made = running.prepare("enterprise-tlc", place / f"{job.name}.fio")
        # What a job says and the simulation does not do would make a figure of something else.
        assert not [note for note in made.plan.notes if "not looked at" not in note], job.name
    assert "is there already" in ftlab("hardware", "fit", "--jobs", place, code=2).stderr
    assert "has no results" in ftlab("hardware", "fit", place, "--preset", "enterprise-tlc", code=2).stderr
    assert "is no directory" in ftlab("hardware", "fit", tmp_path / "x", "--preset", "tbm", code=2).stderr
    assert "expected `--preset CONFIG`" in ftlab("hardware", "fit", place, code=2).stderr
    assert "expected DIR, or `--jobs DIR`" in ftlab("hardware", "fit", code=2).stderr
    assert (
        "`--jobs` and `--preset`"
        in ftlab("hardware", "fit", "--jobs", place, "--preset", "tbm", code=2).stderr
    )


def test_the_script_destroys_nothing_unless_it_is_told_to(tmp_path: Path) -> None:
    jobs.write(tmp_path)
    script = (tmp_path / jobs.SCRIPT).read_text(encoding="utf-8")
    before, _, behind = script.partition('if [ "$mode" = --read-only ]; then')
    only_reads, _, destroys = behind.partition("fi\n")
    assert "blkdiscard" not in before + only_reads and "blkdiscard" in destroys
    assert re.findall(r"(?m)^ *job (\S+) --readonly$", only_reads) == [
        job.name for job in jobs.JOBS if not job.writes
    ]
    assert re.findall(r'(?m)^job (\S+) ""$', destroys) == [job.name for job in jobs.JOBS]
    for words in ([], ["/dev/null"], ["--destroy", "/dev/null"], ["--wipe", "/dev/null"]):
        assert (
            subprocess.run(
                ["sh", tmp_path / jobs.SCRIPT, *words], capture_output=True, check=False
            ).returncode
            == 2
        )
    # The rate of a paced job is half of that of `random`, whatever comes before it in the object.
    write_result(tmp_path, "random", read={"total_ios": 0, "iops": 0.0})
    text = (tmp_path / "random.json").read_text(encoding="utf-8").replace(", ", ",\n").replace("{", "{\n")
    (tmp_path / "random.json").write_text(text, encoding="utf-8")
    found = subprocess.run(
        ["sh", "-c", f"{jobs.RATE}; echo $RATE"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert found.stdout == "50000\n"


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_results_of_fio_itself_are_read(tmp_path: Path) -> None:
    job = jobs.BY_NAME["beside-50"]
    disk, file = tmp_path / "disk", tmp_path / "beside-50.fio"
    disk.write_bytes(b"ftlab" * 400_000)
    text = job.file.replace("${DEV}", str(disk)).replace("direct=1", "direct=0").replace("libaio", "psync")
    file.write_text(text.replace("runtime=60", "runtime=300ms"), encoding="utf-8")
    result = tmp_path / "beside-50.json"
    subprocess.run(
        ["fio", "--output-format=json", f"--output={result}", file], check=True, capture_output=True
    )
    ran = measured.load(tmp_path).ran["beside-50"]
    assert ran.figures["read iops"] > 0 and ran.figures["write mb_s"] > 0 and ran.figures["read p50"] > 0
    assert "rate=50m" in ran.text
