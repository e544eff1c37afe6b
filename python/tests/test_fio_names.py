"""Names of jobs and of their copies: those of fio, in every table."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from conftest import TINY, Ftlab

import ftlab
from ftlab.fio import running
from ftlab.fio.jobfile import JobFile
from ftlab.fio.plan import plan
from ftlab.results import tenants

JOBS = """
[global]
ioengine=libaio
iodepth=4
bs=4k
number_ios=400
[fill it]
rw=write
size=4m
[job2]
name=r.w
rw=randrw
offset=8m
size=4m
numjobs=2
[copies]
rw=randwrite
numjobs=3
offset=16m
offset_increment=4m
size=4m
group_reporting
new_group
"""


LABELS = ["fill it", "r.w", "r.w", "copies", "copies", "copies"]


def test_tables_have_the_names_of_fio(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "jobs.fio").write_text(JOBS, encoding="utf-8")
    sets = ["--set", "run.latency_parts=true", "--no-plots", "--out", "out"]
    shown = ftlab("run", tiny, "--fio", "jobs.fio", *sets).stdout
    theirs = re.findall(r"^(.+): \(groupid=", shown, re.MULTILINE)
    table = shown.partition("\ntenant ")[2].partition("\n\n")[0].splitlines()[1:]
    # A group is one row, here as there.
    assert [re.split("  +", row)[1] for row in table] == theirs == ["fill it", "r.w", "r.w", "copies"]
    assert "6 tenants: fill it, r.w (2), copies (3)" in " ".join(shown.split())
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert [tenant["label"] for tenant in summary["tenants"]] == LABELS
    assert len({tenant["name"] for tenant in summary["tenants"]}) == len(LABELS)
    ftlab("report", "out", "--out", "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "fill it, r.w (2), copies (3)" in page and "Reads of r.w.0 at" in page and ">r-w-0" not in page
    # Where one copy is meant, its number stands behind the name.
    told = ftlab("explain-tail", "out", "--tenant", "r.w.1", "--at", "p99").stdout
    assert told.startswith("reads of r.w.1 at p99")
    assert ftlab("explain-tail", "out", "--tenant", "r-w-1", "--at", "p99").stdout == told
    assert "`fill it`" in ftlab("explain-tail", "out", "--tenant", "r.w", code=2).stderr


def test_a_row_of_a_group_is_that_of_fio(tiny: Path) -> None:
    result, told = running.run(tiny, JobFile(JOBS))
    row, write = tenants.rows(result)[-1], told["jobs"][-1]["write"]
    assert (row.label, row.writes, row.reads) == ("copies", 1200, 0)
    assert row.iops == pytest.approx(write["iops"]) and row.mb_s == pytest.approx(write["iops"] * 4096 / 1e6)
    assert row.latency_us["mean"] * 1e3 == pytest.approx(write["clat_ns"]["mean"])
    for name, percent in (("p99", "99.000000"), ("p999", "99.900000")):
        assert row.latency_us[name] * 1e3 == pytest.approx(write["clat_ns"]["percentile"][percent], abs=1)


def test_copies_are_compared_by_the_names_of_fio(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    text = "[fill it]\nrw=write\nsize=64k\n[job2]\nname=r.w\nrw=randrw\nsize=64k\nnumjobs=2\n"
    (tmp_path / "jobs.fio").write_text(text, encoding="utf-8")
    told = json.loads(ftlab("compare", tiny, "--fio", "jobs.fio", "--json").stdout)
    names = ["fill it", "r.w.0", "r.w.1"]
    assert [run["label"] for run in told["runs"]][1:] == [f"{name} alone" for name in names]
    assert [tenant["tenant"] for tenant in told["tenants"]] == names


def test_a_job_has_a_waf_where_it_writes_alone(tiny: Path) -> None:
    text = "[global]\nioengine=libaio\niodepth=4\nrw=randwrite\nbs=4k\nsize=24m\nio_size=96m\nnorandommap\n"
    apart = f"{text}[a]\n[b]\noffset=24m\nrandom_distribution=zipf:1.2\n[reader]\nrw=randread\n"
    sets = {"run.precondition": "none"}
    summary = running.run(tiny, JobFile(apart), sets=sets)[0].summary
    own = [tenant["waf"] for tenant in summary["tenants"]]
    assert own[2] is None
    # What is placed is of one of them.
    placed = sum(
        waf * tenant["bytes_written"] for waf, tenant in zip(own, summary["tenants"], strict=False) if waf
    )
    assert placed / summary["host"]["bytes_written"] == pytest.approx(summary["waf"], rel=0.01)
    over = apart.replace("offset=24m", "offset=16m")
    assert [
        tenant["waf"] for tenant in running.run(tiny, JobFile(over), sets=sets)[0].summary["tenants"]
    ] == [None] * 3


def test_a_job_is_chosen_by_its_section_or_its_name() -> None:
    for name in ("job2", "r.w"):
        found = plan(JobFile(JOBS), 64 << 20, section=name)
        assert [stream.name for stream in found.streams] == ["r.w", "r.w"]
    both = "[a]\nrw=write\n[b]\nname=a\nrw=read\n"
    assert len(plan(JobFile(both), 64 << 20, section="a").streams) == 1
    with pytest.raises(ftlab.InputError, match="no job `r_w`"):
        plan(JobFile(JOBS), 64 << 20, section="r_w")


@pytest.mark.parametrize(
    ("keys", "found"),
    [('label = "a\\tb"', "its label cannot be used"), ("joined = true", "of the first tenant"),
     (f'label = "{"x" * 256}"', "at most 255 characters")],
)  # fmt: skip
def test_labels_are_checked(keys: str, found: str) -> None:
    drive = f'{TINY.partition("[workload]")[0].partition("[host]")[0]}[[tenant]]\nname = "a"\njob = "rw=read"\n{keys}\n'
    with pytest.raises(ftlab.ConfigError, match=found):
        ftlab.resolve(tomllib.loads(drive))
