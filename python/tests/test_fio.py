"""Job files of fio: what is read of them, what becomes of their words, and what is refused and how."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ftlab
from ftlab import InputError
from ftlab.fio import options, quantities, running, sizes
from ftlab.fio.jobfile import JobFile
from ftlab.fio.plan import Plan, plan

MIB = 1 << 20


CAPACITY = 64 * MIB


def workload(text: str, section: str | None = None) -> dict[str, Any]:
    """The requests of the only job of a file."""
    found: dict[str, Any] = planned(text, section=section).config["workload"]
    return found


def planned(text: str, capacity: int = CAPACITY, section: str | None = None) -> Plan:
    return plan(JobFile(text), capacity, section=section)


PAGE = Path(__file__).parents[2] / "docs" / "fio.md"


def test_the_page_has_the_fates_of_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `")]
    named = {word.partition("=")[0] for row in rows for word in re.findall(r"`([a-z_0-9=]+)`", row)}
    fates = {name: options.table()[name].fate for name in named}
    assert {name for name, fate in fates.items() if fate != options.CARRIED_OUT} == {"direct", "buffered"}
    # All that is carried out is named somewhere, but for other ways to say it.
    absent = {name for name, option in options.table().items() if option.fate == options.CARRIED_OUT} - {
        *re.findall(r"[a-z_]+", page)
    }
    assert absent == {
        "bs_unaligned", "bs_is_seq_rand", "fill_device", "end_syncfs", "do_verify", "verify_backlog_batch",
        "percentile_list", "fdp",
    }  # fmt: skip
    refused = page.partition("## What is refused")[2].partition("\n## ")[0]
    for name in re.findall(r"`([a-z_]+)`", refused):
        assert name not in options.table() or options.table()[name].fate in (
            options.REFUSED,
            options.CARRIED_OUT,
        )


def job(text: str, section: str | None = None) -> str:
    """The words of the only stream of a file, where it is a job in words of fio."""
    (tenant,) = planned(text, section=section).config["tenant"]
    found: str = tenant["job"]
    return found


def test_every_option_has_a_fate_with_what_belongs_to_it() -> None:
    names: list[str] = []
    for name, option in options.table().items():
        names += [name, *option.others]
        assert option.fate in (options.CARRIED_OUT, options.NO_MATTER, options.REFUSED)
        assert option.meaning and bool(option.instead) == (option.fate == options.REFUSED), name
        assert not option.idle or option.fate == options.REFUSED
    assert len(names) == len(set(names)) and len(options.table()) > 300


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [("4096", 4096), ("64k", 65536), ("64KB", 65536), ("64Ki", 65536), ("64KiB", 64000), ("1m", MIB),
     ("0x1000", 4096), ("512b", 512), ("2G", 2 << 30), ("1.5m", None), ("64 k", None), ("", None), ("k", None),
     ("1x", None), ("-1", None), ("1kk", None), ("0x", None), ("٤k", None), ("(4k*2+1k)", 9216),
     ("((1m-4k)/2)", 522240),
     ("(1/0)", None), ("(1", None), ("()", None), ("(" * 999, None)],
)  # fmt: skip
def test_sizes(text: str, bytes_: int | None) -> None:
    assert quantities.size(text) == bytes_


def test_sizes_the_other_way_round() -> None:
    assert (quantities.size("64k", 1000), quantities.size("64KiB", 1000)) == (64000, 65536)


@pytest.mark.parametrize(
    ("text", "us"),
    [("30", 30_000_000), ("500ms", 500_000), ("2m", 120_000_000), ("1h", 3_600_000_000), ("7us", 7), ("1.5", None),
     ("1 s", None), ("s", None)],
)  # fmt: skip
def test_times(text: str, us: int | None) -> None:
    assert quantities.microseconds(text) == us


def test_a_job_is_a_workload() -> None:
    found = planned(
        """
        ; everything that is common
        [global]
        ioengine=libaio
        direct=1
        bs=8k           # fio's k is 1024
        [mix]
        rw=randrw
        rwmixread=70
        iodepth=16
        numjobs=2
        offset=25%
        size=16m
        norandommap
        loops=3
        randrepeat=0
        runtime=10
        """
    )
    assert found.config["host"] == {"queue_depth": 32}
    tenant = {
        "generator": "uniform", "request_size": "8192B", "read_fraction": 0.7, "footprint": f"{16 * MIB}B",
        "address_offset": f"{16 * MIB}B", "out_of_range": "reject", "requests": 3 * 16 * MIB // 8192,
        "queue_depth": 16, "replay": "closed", "duration": "10000000us",
    }  # fmt: skip
    assert found.config["tenant"] == [{"name": f"mix-{copy}", "label": "mix", **tenant} for copy in (0, 1)]


def test_a_part_of_the_drive_begins_where_a_request_can() -> None:
    found = workload("[a]\nrw=write\nbs=1m\noffset=33%\nsize=20%\n")
    assert found["address_offset"] == f"{22 * MIB}B" and CAPACITY * 33 // 100 == 22_145_925


def test_what_is_global_holds_for_the_jobs_behind_it() -> None:
    text = "[global]\nbs=8k\n[a]\nrw=write\n[global]\nbs=16k\n[b]\nrw=write\n"
    sizes = [workload(text, section=name)["request_size"] for name in "ab"]
    assert sizes == ["8192B", "16384B"]


def test_defaults_are_those_of_fio() -> None:
    found = planned("[a]\n").config
    assert found == {
        "workload": {
            "generator": "sequential", "request_size": "4096B", "read_fraction": 1.0, "footprint": f"{CAPACITY}B",
            "requests": CAPACITY // 4096,
        },
        "host": {"replay": "closed", "queue_depth": 1},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "generator"),
    [
        ("rw=randread\nnorandommap", "uniform"),
        ("rw=randread", "shuffled"),
        ("rw=randread\nnorandommap=0", "shuffled"),
        ("rw=randread\nrandom_distribution=pareto", {"pareto": {"h": 0.2}}),
        ("rw=randwrite\nrandom_distribution=zipf:1.2", {"zipf": {"z": 1.2}}),
        ("rw=randwrite\nrandom_distribution=zipf:2.2", {"zipf": {"z": 2.2}}),
        (
            "rw=randwrite\nrandom_distribution=zoned:80/20:20/80",
            {
                "zoned": {
                    "requests1": 80,
                    "size1": 20,
                    "requests2": 20,
                    "size2": 80,
                    "requests3": 0,
                    "size3": 0,
                    "requests4": 0,
                    "size4": 0,
                }
            },
        ),
        ("rw=write\nrandom_distribution=zipf:1.2", "sequential"),
    ],
)
def test_patterns(words: str, generator: Any) -> None:
    assert workload(f"[a]\n{words}\n")["generator"] == generator


def test_synchronous_engines_have_no_depth() -> None:
    quiet = planned("[a]\nioengine=libaio\niodepth=8\n")
    assert (quiet.config["host"]["queue_depth"], quiet.notes[1:]) == (8, [])
    loud = planned("[a]\niodepth=8\n")
    assert loud.config["host"]["queue_depth"] == 1
    assert "`psync`" in loud.notes[0] and "not 8" in loud.notes[0]
    named = planned("[a]\nioengine=aio\niodepth=8\n")
    assert named.config["host"]["queue_depth"] == 8


def test_a_paced_job_has_times_and_a_depth() -> None:
    (found,) = planned(
        "[a]\nioengine=libaio\nrw=write\nbs=128k\niodepth=4\nrate=128m\nruntime=2\ntime_based\n"
    ).config["tenant"]
    assert (found["replay"], found["queue_depth"], found["interval"]) == (
        "paced",
        4,
        f"{round(1e9 / 1024)}ns",
    )
    assert found["duration"] == "2000000us" and "requests" not in found
    # One for writes alone.
    (one,) = planned("[a]\nrw=write\nrate=,1m\n").config["tenant"]
    assert one["interval"] == f"{round(1e9 / 256)}ns"
    assert planned("[a]\nrw=read\nrate=,1m\n").config["host"]["replay"] == "closed"


def test_a_mix_is_paced_by_kind() -> None:
    (found,) = planned("[a]\nrw=randrw\nrate_iops=1000,250\nruntime=1\n").config["tenant"]
    assert found["replay"] == "paced" and "rate_iops=1000,250,0" in found["job"].split()
    (found,) = planned("[a]\nrw=randrw\nrate=2m,\nrate_process=poisson\n").config["tenant"]
    assert "rate=2m,0,0" in found["job"] and "rate_process=poisson" in found["job"]


def test_pauses_come_after_bursts() -> None:
    pause = "[a]\nioengine=libaio\nthinktime=500ms\n"
    (found,) = planned(f"{pause}thinktime_blocks=8\niodepth=4\n").config["tenant"]
    assert (found["think"], found["think_after"]) == ("500000us", 8)
    assert "think_after" not in planned(pause).config["tenant"][0]
    assert planned(f"{pause}iodepth=4\n").config["tenant"][0]["think_after"] == 1


@pytest.mark.parametrize(
    ("words", "refill"),
    [("", None), ("iodepth_low=4", 12), ("iodepth_batch_complete_min=8", 8), ("iodepth_low=16", None),
     ("iodepth_low=12\niodepth_batch_complete=6", 6), ("iodepth_batch=16", None)],
)  # fmt: skip
def test_places_are_filled_again_when_enough_are_free(words: str, refill: int | None) -> None:
    (found,) = planned(f"[a]\nioengine=libaio\niodepth=16\nruntime=1\n{words}\n").config["tenant"]
    assert found.get("refill") == refill


def test_times_of_a_job() -> None:
    (found,) = planned("[a]\nthinktime=500\nramp_time=2\nruntime=3\nstartdelay=1500ms\n").config["tenant"]
    assert [found[key] for key in ("think", "ramp", "duration", "start")] == [
        "500us", "2000000us", "5000000us", "1500000us",
    ]  # fmt: skip
    assert "think" not in planned("[a]\nthinktime=0\nramp_time=2\n").config["tenant"][0]


REFUSALS = {
    "bs=4k\n[a]\n": ("`bs=4k` is in no section", 1),
    "[a\nrw=read\n": ("`[a` begins no section", 1),
    "[global]\n": ("there is no job", 2),
    "[a]\nrwx=read\n": ("unknown word `rwx`", 2),
    "[a]\nBS=4k\n": ("unknown word `BS`", 2),
    "[a]\nrw\n": ("`rw` has no value", 2),
    "[a]\nrw=raed\n": ("`rw` cannot be `raed`", 2),
    "[a]\nrw=randread:0\n": ("has `0` behind it", 2),
    "[a]\nrw=randread:-8\n": ("has `-8` behind it", 2),
    "[a]\nverify_only\n": ("what an earlier run wrote", 2),
    "[a]\nrw=write\nfsync=often\n": ("`fsync` cannot be `often`", 3),
    "[a]\nthinktime=soon\n": ("`thinktime` cannot be `soon`", 2),
    "[a]\nrw=write\nthinktime=10\nthinktime_blocks=0\n": ("`thinktime_blocks` cannot be `0`", 4),
    "[a]\nthinktime_iotime=4\n": ("not after a time", 2),
    "[a]\nnumjobs=257\n": ("are 257 streams", 2),
    "[a]\nlatency_target=1ms\n": ("the depth is not changed", 2),
    "[a]\nwait_for=b\n[b]\n": ("is no job before this one", 2),
    "[a]\nzonemode=zbd\n": ("zones", 2),
    "[a]\nbssplit=4k/x\n": ("`bssplit` cannot be `4k/x`", 2),
    "[a]\nbsrange=8k-4k\n": ("`bsrange` cannot be `8k-4k`", 2),
    "[a]\nbs=4k,8k,16k,32k\n": ("`bs` cannot be", 2),
    "[a]\npercentage_random=101\n": ("`percentage_random` cannot be", 2),
    "[a]\nrw=randread\nba=100\n": ("`ba` cannot be", 3),
    "[a]\nrw_sequencer=any\n": ("`rw_sequencer` cannot be", 2),
    "[a]\nrw=write\nsync=maybe\n": ("`sync` cannot be", 3),
    "[a]\nfilesize=1m-2m\n": ("`filesize` cannot be", 2),
    "[a]\nfilesize=1m\noffset=2m\n": ("`filesize` ends before", 2),
    "[a]\nnrfiles=4\nfile_service_type=zipf\n": ("`file_service_type` cannot be", 3),
    "[a]\nnrfiles=4\nopenfiles=2\n": ("less than `nrfiles`", 3),
    "[a]\nexitall\n[b]\nnew_group\n": ("jobs of several groups run at once", 2),
    "[a]\nexitall\nexit_what=none\n": ("`exit_what` cannot be `none`", 3),
    "[a]\nfilename=/dev/sda:/dev/sdb\n": ("are two drives", 2),
    "[global]\nfilename=/dev/sda\n[a]\nfilename=/dev/sdb\n": ("are two drives", 4),
    "[a]\nioengine=net\nport=8\n": ("no reads and writes of a block device", 2),
    "[a]\nbs=1000\n": ("1,000 bytes", 2),
    "[a]\nbs=4g\n": ("4,294,967,296 bytes", 2),
    "[a]\nbs=0\n": ("`bs` is 0 bytes", 2),
    "[a]\nbs=4.5k\n": ("`bs` cannot be `4.5k`", 2),
    "[a]\noffset=64m\n": ("`offset` is 67,108,864 bytes", 2),
    "[a]\nsize=2k\n": ("hold no request", 2),
    "[a]\noffset=101%\n": ("`offset` cannot be", 2),
    "[a]\nnumjobs=0\n": ("`numjobs` cannot be `0`", 2),
    "[a]\nrwmixread=101\nrw=randrw\n": ("`rwmixread` cannot be `101`", 2),
    "[a]\nruntime=soon\n": ("`runtime` cannot be `soon`", 2),
    "[a]\nrw=randread\nrandom_distribution=normal:10\n": ("cannot be `normal:10`", 3),
    "[a]\nrw=randread\nrandom_distribution=zipf:0\n": ("cannot have `0`", 3),
    "[a]\nrw=randread\nrandom_distribution=zipf:nan\n": ("cannot have `nan`", 3),
    "[a]\nrw=randrw\nrate=1m\nrate_iops=1\n": ("`rate` and `rate_iops` of one job", 4),
    "[a]\nioengine=net\n": ("no reads and writes of a block device", 2),
    "[a]\npercentile_list=0:50\n": ("`percentile_list` cannot be", 2),
    "[a]\nkb_base=7\n": ("`kb_base` cannot be", 2),
    "[a]\nrate_process=odd\n": ("`rate_process` cannot be", 2),
    "[a]\ninclude\n": ("`include` names no file", 2),
    "[a]\ninclude no such.fio\n": ("`include` cannot be followed", 2),
    "[a]\ndataplacement=fdp\nplids=0,x\n": ("`x` is no placement identifier", 3),
    "[a]\ndataplacement=fdp\nplids=0,,1\n": ("`` is no placement identifier", 3),
    "[a]\nfdp=1\nfdp_pli=4-2\n": ("`4-2` is no placement identifier", 3),
    "[a]\nfdp=1\nplids=0-65536\n": ("`0-65536` is no placement identifier", 3),
    "[a]\nfdp=1\nplids=0-128\n": ("`plids` has 129 placement identifiers", 3),
    "[a]\ndataplacement=streams\n": ("does not say which streams", 2),
    "[a]\nplid_select=scheme\n": ("no file of ranges is read", 2),
    "[a]\nplid_select=round-robin\n": ("`plid_select` cannot be `round-robin`", 2),
    "[a]\ndp_scheme=x\n": ("no file of ranges is read", 2),
    "[a]\nrw=${FTLAB_NO_SUCH_VARIABLE}\n": ("the environment has no variable", 2),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSALS)
def test_what_is_refused_says_where_what_and_what_would_be_right(text: str) -> None:
    message, line = REFUSALS[text]
    with pytest.raises(InputError) as caught:
        planned(text)
    told = str(caught.value)
    assert message in told.splitlines()[0]
    assert f"job file:{line}:1" in told
    assert re.search(r"\^+ \S", told), told


def test_every_refused_option_is_refused_with_its_reason() -> None:
    for name, option in options.table().items():
        text = "[a]\nioengine=libaio\n" + f"{name}=something\n"
        if option.fate == options.NO_MATTER:
            assert option.meaning in "".join(planned(text).notes) or name in ("direct", "buffered"), name
        if option.fate != options.REFUSED:
            continue
        with pytest.raises(InputError) as caught:
            planned(text)
        assert option.meaning in str(caught.value) and option.instead in str(caught.value)
        for value in option.idle:
            planned(f"[a]\n{name}={value}\n")


def test_words_of_other_jobs_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[global]\nrw=randread\n[default]\n[override]\nrw=${FTLAB_RW}\n[odd]\nzonemode=zbd\n[new]\nnonesuch=1\n"
    assert workload(text, section="default")["read_fraction"] == 1
    monkeypatch.setenv("FTLAB_RW", "randwrite")
    assert workload(text, section="override")["read_fraction"] == 0
    for name in ("odd", "new"):
        with pytest.raises(InputError):
            planned(text, section=name)


def test_words_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "job.fio").write_text("[a]\nrw=write\ninclude more.fio\n[b]\n", encoding="utf-8")
    (tmp_path / "sub" / "more.fio").write_text("bs=8k\ninclude less.fio\n", encoding="utf-8")
    (tmp_path / "sub" / "less.fio").write_text("size=1m", encoding="utf-8")
    file = JobFile.load(tmp_path / "sub" / "job.fio")
    found = plan(file, CAPACITY, section="a").config["workload"]
    assert (found["request_size"], found["footprint"]) == ("8192B", f"{MIB}B")
    (tmp_path / "sub" / "less.fio").write_text("include more.fio", encoding="utf-8")
    with pytest.raises(InputError, match="include each other"):
        JobFile.load(tmp_path / "sub" / "job.fio")
    (tmp_path / "sub" / "less.fio").write_text("[c]", encoding="utf-8")
    with pytest.raises(InputError, match="has no sections") as caught:
        JobFile.load(tmp_path / "sub" / "job.fio")
    assert "less.fio:1:1" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "parts"),
    [("4k/10:64k/50:32k/40", "4k/10:32k/40:64k/50"), ("4k", "4k"), ("4k/50", "4k"), ("4k:8k", "4k/50:8k/50"),
     ("4k/60:8k/60", "4k/60:8k/40"), ("4k/:8k/:16k/50", "4k/25:8k/25:16k/50"), ("64k/100:1024k/0", "64k"),
     ("20k-28k/40:4k/60", "20k/40:4k/60"), ("4k/5.:8k/95", "4k/5:8k/95"), ("", None), ("4k/x", None), ("x/4", None)],
)  # fmt: skip
def test_splits(text: str, parts: str | None) -> None:
    found = sizes.split(text, 1024)
    assert (None if found is None else found.text) == parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [("1", ("1", "1", "1")), ("1,2", ("1", "2", "2")), ("1,", ("1", "0", "0")), (",2", ("0", "2", "2")),
     (",2,", ("0", "2", "0")), ("1,2,3", ("1", "2", "3")), ("1,2,3,4", None)],
)  # fmt: skip
def test_values_by_kind(text: str, parts: tuple[str, str, str] | None) -> None:
    assert sizes.by_kind(text, "0") == parts


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("rw=randwrite\nloops=2", "rw=randwrite bs=4k size=64m loops=2 ioengine=psync"),
        ("rw=rw\nsize=1m\nioengine=libaio", "rw=rw bs=4k size=1m rwmixread=50"),
        ("rw=trim\nbs=2g\nsize=8g", None),
        ("rw=randtrimwrite\nsize=1m\nbs=4k,8k", "rw=randtrimwrite bs=4k,8k,8k size=1m ioengine=psync"),
        ("rw=randread\nsize=1t\nioengine=libaio", "rw=randread bs=4k size=1t range=64m"),
        ("rw=write\nfsync=8\nfdatasync=4\nfsync_on_close=1\nsync=dsync",
         "rw=write bs=4k size=64m ioengine=psync fsync=8 fdatasync=4 end_fsync=1 sync=1"),
        ("rw=randread\npercentage_random=0,25", "rw=randread bs=4k size=64m ioengine=psync percentage_random=0,25,25"),
        ("rw=randread\nrandom_distribution=zoned_abs:60/1m:40/3m\nsize=4m",
         "rw=randread bs=4k size=4m ioengine=psync random_distribution=zoned:60/0-1m:40/1m-4m"),
        ("rw=randread\nrandom_distribution=zoned:60/50:40/50\nsize=8m\nnrfiles=2",
         "rw=randread bs=4k size=8m files=2 ioengine=psync random_distribution=zoned:60/0-2m:40/2m-4m"),
        ("rw=read:12k\nsize=1m", "rw=read:12k bs=4k size=1m ioengine=psync"),
        ("rw=randwrite\nverify=md5\nverify_backlog=32\nioengine=libaio",
         "rw=randwrite bs=4k size=64m verify=1 verify_backlog=32"),
    ],
)  # fmt: skip
def test_jobs_that_are_no_generator(words: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(InputError, match="hold no request"):
            job(f"[a]\n{words}\n")
    else:
        assert job(f"[a]\n{words}\n") == expected


def test_files_count_for_nothing_beside_a_filename() -> None:
    found = planned("[a]\nnrfiles=4\nfilename=x\nioengine=libcufile\n")
    assert found.config["workload"]["generator"] == "sequential"
    assert any("`nrfiles` counts for nothing" in note for note in found.notes)


def test_jobs_wait_for_each_other() -> None:
    text = "[fill]\nrw=write\n[a]\nstonewall\nnumjobs=2\n[b]\nwait_for=a\nname=other\n[c]\nstonewall\n"
    after = {tenant["name"]: tenant.get("after") for tenant in planned(text).config["tenant"]}
    assert after == {
        "fill": None,
        "a-0": "fill",
        "a-1": "fill",
        "other": "fill a-0 a-1",
        "c": "a-0 a-1 other",
    }


def test_two_drives_are_two_runs() -> None:
    text = "[global]\nsize=64m\n[a]\nfilename=/dev/nvme0n1\n[b]\nfilename=/dev/nvme1n1\n"
    with pytest.raises(InputError, match="are two drives") as caught:
        planned(text)
    assert "`--section a`, and `--section b`" in str(caught.value)
    assert planned(text, section="a").streams
    files = planned("[a]\nfilename=/srv/x\n[b]\nfilename=/srv/y\n")
    assert any("`/srv/x`, `/srv/y`" in note for note in files.notes)
    assert planned("[a]\nfilename=${FTLAB_NO_SUCH_VARIABLE}\n").streams


def test_fuzz() -> None:
    """Whatever is written, there is a plan, or an error that points at a line."""
    chance = np.random.default_rng(40)
    words = sorted(options.names())
    taken = [name for name, option in options.table().items() if option.fate == options.CARRIED_OUT]
    values = ["", "0", "1", "4k", "-1", "1e9", "50%", "randread", "randrw", "zipf:1.1", "x:y:z", ",", "1,2,3,4",
              "9" * 40, "${HOME}", "\x00", "é", "64m", "10", "0x7fffffffffffffff", "libaio", "linear", "[a]",
              "="]  # fmt: skip
    plans = unplaced = 0
    for _ in range(3000):
        lines = []
        for _ in range(chance.integers(0, 9)):
            kind = chance.integers(0, 12)
            if kind == 0:
                lines.append("[" + str(chance.choice(["a", "b", "global", "", "]", "x y"])) + "]")
            elif kind == 1:
                lines.append("".join(map(chr, chance.integers(32, 300, 6))))
            else:
                word = str(chance.choice(words if kind < 4 else taken))
                lines.append(f"{word}={chance.choice(values)}" if chance.random() < 0.9 else word)
        text = "[a]\n" * int(chance.random() < 0.8) + "\n".join(lines)
        try:
            found = planned(text)
        except InputError as error:
            unplaced += re.search(r"--> job file:\d+:\d+\n", str(error)) is None
        else:
            plans += 1
            assert found.streams
            for each in found.config.get("tenant", [found.config.get("workload")]):
                assert "request_size" not in each or 512 <= int(each["request_size"][:-1]) <= CAPACITY
    assert plans > 100 and not unplaced


def test_every_plan_is_a_configuration(tiny: Path) -> None:
    """Plans of words that are taken can be run: the engine refuses none of them."""
    chance, others = np.random.default_rng(41), 0
    for _ in range(300):
        words = {
            "rw": str(
                chance.choice(
                    ["read", "write", "randread", "randwrite", "randrw", "rw", "trim", "randtrimwrite"]
                )
            ),
            "bs": str(chance.choice(["512", "4k", "12k", "128k", "1m"])),
            "iodepth": str(chance.integers(1, 300)),
            "ioengine": "libaio",
        }
        options = {
            "rwmixread": str(chance.integers(0, 101)), "size": str(chance.choice(["1m", "37%", "100%"])),
            "offset": str(chance.choice(["0", "512", "10m", "50%"])), "norandommap": "1", "loops": "3",
            "runtime": "20ms", "ramp_time": "5ms",
            "random_distribution": str(chance.choice(["zipf", "pareto:0.3", "zoned:60/10:30/20:10/70"])),
            "rate_process": "poisson", "startdelay": "1ms", "time_based": "1", "numjobs": "3",
            "thinktime": "1ms", "thinktime_blocks": "7", "iodepth_low": "2", "fsync": "5", "percentage_random": "40",
            "bssplit": "4k/30:16k/70", "verify": "md5", "sync": "1", "stonewall": "1", "exitall": "1", "io_size": "3m",
        }  # fmt: skip
        words |= {key: value for key, value in options.items() if chance.random() < 0.4}
        if chance.random() < 0.3:
            words["rate_iops"] = str(chance.integers(1, 1_000_000))
        text = "[a]\n" + "".join(f"{key}={value}\n" for key, value in words.items())
        if chance.random() < 0.3:
            text += "[a]\nrw=write\nthinktime=3ms\n"
        try:
            made = running.prepare(tiny, JobFile(text))
        except InputError as error:
            others += not re.search("hold no request", str(error))
            continue
        ftlab.resolve(made.config)
    assert not others


@pytest.mark.parametrize(
    ("words", "hint", "select"),
    [
        ("dataplacement=fdp\nplids=2", 2, None),
        ("dataplacement=fdp\nplids=2,0,1", [0, 1, 2], "round-robin"),
        ("dataplacement=streams\nplids=1, 3-4\nplid_select=random", [1, 3, 4], "random"),
        ("fdp=1\nfdp_pli=1,1,0\nfdp_pli_select=roundrobin", [0, 1, 1], "round-robin"),
        ("fdp=1", [0, 1, 2, 3], "round-robin"),
        ("dataplacement=none\nplids=1,2", None, None),
        ("plids=1,2", None, None),
    ],
)
def test_identifiers_are_taken_as_fio_takes_them(words: str, hint: Any, select: str | None) -> None:
    file = JobFile(f"[a]\nrw=write\n{words}\n")
    found = plan(file, CAPACITY, handles=4).config["workload"]
    assert (found.get("hint"), found.get("hint_select")) == (hint, select)
