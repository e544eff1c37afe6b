"""The command line: output, exit codes, and what it says of mistakes."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
import tomllib
from importlib.abc import MetaPathFinder
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import TINY, Ftlab, listening

import ftlab as package
from ftlab.cli.main import main
from ftlab_reproduce.command import PAPERS


def test_run_prints_a_summary(ftlab: Ftlab, tiny: Path) -> None:
    done = ftlab("run", tiny)
    assert done.stderr == "", "no progress without a terminal"
    for word in (
        "tiny\n",
        "2 channels x 1 chip x ",
        "4 KiB",
        "IOPS",
        "p99.99",
        "WAF ",
        "erases per block",
        "idle",
        "took ",
    ):
        assert word in done.stdout
    assert "\x1b" not in done.stdout
    assert all(line == line.rstrip() for line in done.stdout.splitlines())


def test_json_is_one_object_and_nothing_else(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    done = ftlab("run", tiny, "--json", "--no-plots", "--out", tmp_path / "out")
    summary = json.loads(done.stdout)
    assert summary["schema"] == "ftlab.summary/1"
    assert summary["host"]["reads"] + summary["host"]["writes"] == 20_000
    assert str(tmp_path / "out") in done.stderr
    failed = ftlab("run", tiny, "--json", "--set", "ftl.victim=gredy", code=2)
    assert failed.stdout == ""


def test_same_seed_same_summary(ftlab: Ftlab, tiny: Path) -> None:
    first, second = (json.loads(ftlab("run", tiny, "--json").stdout) for _ in range(2))
    other = json.loads(ftlab("run", tiny, "--json", "--set", "run.seed=8").stdout)
    for summary in (first, second, other):
        del summary["run"]
    assert first == second
    assert first["waf"] != other["waf"]


def test_out_holds_all_it_should(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    out.mkdir(parents=True)
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    ftlab("run", tiny, "--out", out)
    names = {file.name for file in out.iterdir()}
    plots = {
        f"{plot}.{kind}" for plot in ("latency", "series", "wear", "utilisation") for kind in ("png", "svg")
    }
    tables = {f"{table}.parquet" for table in ("latency", "series", "wear", "utilisation")}
    assert names == plots | tables | {"summary.json", ".ftlab-files.json", "notes.txt"}
    assert all((out / name).stat().st_size > 500 for name in plots)
    wear = pq.read_table(out / "wear.parquet")
    assert wear.num_rows == 2 * 2 * 2 * 40
    series = pq.read_table(out / "series.parquet").to_pydict()
    assert set(series["axis"]) == {"volume", "time"}
    done = ftlab("run", tiny, "--out", out, "--set", "run.executor=count")
    assert "p99" not in done.stdout, "without time there are no latencies"
    # The plots of the earlier run would pass for those of this one.
    assert not (out / "latency.png").exists()
    assert (out / "wear.png").exists()
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_out_keeps_what_is_not_ours(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "summary.json").write_text("mine", encoding="utf-8")
    done = ftlab("run", tiny, "--out", other, code=2)
    assert "summary.json" in done.stderr
    assert (other / "summary.json").read_text(encoding="utf-8") == "mine"
    assert [file.name for file in other.iterdir()] == ["summary.json"]


def test_out_is_checked_before_the_simulation(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    # A run of this length would take minutes.
    long = ("--set", "workload.requests=4000000000", "--out")
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    begun = time.monotonic()
    assert "is a file" in ftlab("run", tiny, *long, file, code=2).stderr
    assert "cannot write" in ftlab("run", tiny, *long, file / "below", code=2).stderr
    assert "cannot write" in ftlab("run", tiny, *long, "/proc/nowhere", code=2).stderr
    assert time.monotonic() - begun < 60


def test_timeline_and_state(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    timeline, state = tmp_path / "timeline.json", tmp_path / "aged.state"
    ftlab("run", tiny, "--timeline", timeline, "--timeline-window", "0s..20ms", "--save-state", state)
    events = json.loads(timeline.read_text(encoding="utf-8"))["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert spans
    assert all(event["ts"] <= 20_000 for event in spans)
    fresh = json.loads(ftlab("run", tiny, "--json").stdout)
    resumed = json.loads(ftlab("run", tiny, "--json", "--set", f"run.precondition.state={state}").stdout)
    assert fresh["waf"] == resumed["waf"]
    assert fresh["host"] == resumed["host"]


def test_compare_prints_table_and_reasons(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = ftlab("compare", tiny, "--vary", "ftl.victim=greedy,fifo", "--out", out)
    head = done.stdout.splitlines()[0].split()
    assert head == ["greedy", "fifo"]
    assert re.search(r"^  greedy +reference: WAF ", done.stdout, re.M)
    assert re.search(r"^  fifo .*than greedy", done.stdout, re.M)
    assert {"comparison.json", "comparison.md", "overview.png", "greedy", "fifo"} <= {
        file.name for file in out.iterdir()
    }
    assert (out / "fifo" / "summary.json").exists()


def test_compare_json(ftlab: Ftlab, tiny: Path) -> None:
    done = ftlab("compare", tiny, "tbm-small", "--set", "workload.requests=1000", "--set",
                 "run.precondition=none", "--json", "--jobs", "1")  # fmt: skip
    comparison = json.loads(done.stdout)
    assert comparison["schema"] == "ftlab.comparison/1"
    assert [run["label"] for run in comparison["runs"]] == ["tiny", "tbm-small"]
    assert all(run["reason"] and run["summary"]["waf"] for run in comparison["runs"])
    assert comparison["notes"]


def test_trace_commands(ftlab: Ftlab, trace: Path, tmp_path: Path) -> None:
    info = json.loads(ftlab("trace", "info", trace, "--json").stdout)
    assert (info["format"], info["requests"], info["reads"]) == ("msr", 3000, 1000)
    assert "reads" in ftlab("trace", "info", trace).stdout
    head = ftlab("trace", "head", trace, "-n", "4").stdout.splitlines()
    assert len(head) == 5
    assert len(json.loads(ftlab("trace", "head", trace, "--json").stdout)["requests"]) == 10
    converted = tmp_path / "converted.txt.zst"
    assert "3,000 requests" in ftlab("trace", "convert", trace, converted, "--to", "ssdsim").stdout
    again = json.loads(ftlab("trace", "info", converted, "--json").stdout)
    assert again["format"] == "ssdsim"
    for key in ("requests", "bytes_read", "bytes_written", "footprint_mib", "compression"):
        assert (again[key] == info[key]) == (key != "compression")


def test_info_says_which_device_a_trace_needs_and_how_much_of_it_overwrites(
    ftlab: Ftlab, trace: Path, tmp_path: Path
) -> None:
    told = ftlab("trace", "info", trace).stdout
    # 2000 pages, of which every write of the small trace takes one.
    capacity = re.search(r'device.user_capacity = "(\d+)KiB" or more', told)
    assert capacity is not None and int(capacity[1]) == 2000 * 4
    writes = [i * 7919 % 2000 for i in range(3000) if i % 3]
    share = 1 - len(set(writes)) / len(writes)
    assert f"{100 * share:.1f} % of the bytes written" in told
    exact = f"device.user_capacity={capacity[1]}KiB"
    fits = ftlab("run", "tbm-small", "--trace", trace, "--set", exact, "--set", "run.precondition=none",
                 "--set", "workload.out_of_range=reject")  # fmt: skip
    assert "past the end" not in fits.stdout


def test_a_table_is_read_by_its_columns(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    table = tmp_path / "io.csv"
    rows = "".join(f"{i * 100};{'w' if i % 2 else 'r'};{i % 64 * 8};8\n" for i in range(400))
    table.write_text(f"when;what;where;length\n{rows}", encoding="utf-8")
    columns = "time=when:us,op=what,offset=where:sector,size=length:sector"
    found = json.loads(ftlab("trace", "info", table, "--columns", columns, "--json").stdout)
    assert (found["reads"], found["writes"], found["bytes_written"]) == (200, 200, 200 * 4096)
    assert (found["highest_offset_bytes"], found["duration_s"]) == (64 * 4096, pytest.approx(399 * 1e-4))
    done = ftlab("run", tiny, "--trace", table, "--columns", columns, "--json")
    summary = json.loads(done.stdout)
    assert (summary["host"]["reads"], summary["host"]["writes"]) == (200, 200)
    assert summary["config"]["workload"]["trace_columns"] == columns
    ftlab("trace", "convert", table, "io.msr", "--columns", columns)
    assert json.loads(ftlab("trace", "info", "io.msr", "--json").stdout)["bytes_written"] == 200 * 4096
    for words, said in (
        (["trace", "head", table, "--columns", "time=when", "--format", "msr"], "do not go together"),
        (["trace", "head", table, "--columns", "op=what,offset=where"], "there is no column for `size`"),
        (
            ["run", tiny, "--trace", table, "--columns", "op=wat,offset=where,size=4"],
            "no column of the first row",
        ),
        (["run", tiny, "--columns", columns], "is for traces"),
    ):
        assert said in ftlab(*words, code=2).stderr


def test_run_replays_a_trace(ftlab: Ftlab, tiny: Path, trace: Path) -> None:
    summary = json.loads(ftlab("run", tiny, "--trace", trace, "--json").stdout)
    assert summary["host"]["reads"] == 1000
    assert summary["config"]["workload"]["trace"] == str(trace)


def test_run_tells_what_became_of_the_trace_and_fits_80_columns(
    ftlab: Ftlab, tiny: Path, trace: Path
) -> None:
    small = ("--set", "device.over_provisioning=12")
    wrapped = ftlab("run", tiny, "--trace", trace, *small).stdout
    assert "the trace's times do not count: host.replay is closed, not open" in wrapped
    assert "requests past the end of the device, wrapped to its beginning" in wrapped
    clamped = ftlab("run", tiny, "--trace", trace, *small, "--set", "workload.out_of_range=clamp").stdout
    assert "requests past the end of the device, dropped" in clamped
    quiet = ftlab("run", tiny, "--trace", trace, "--set", "host.replay=open").stdout
    assert "do not count" not in quiet and "past the end" not in quiet
    mechanisms = ("--set", "ftl.paired_page=gcmix", "--set", "ftl.write_buffer.fifo.size=64KiB")
    longest = ftlab("run", tiny, *mechanisms).stdout
    for text in (wrapped, clamped, quiet, longest):
        # A path is not broken.
        assert max(len(line) for line in text.splitlines() if str(trace) not in line) <= 80, text


def test_what_a_run_took_includes_its_ageing(ftlab: Ftlab, tiny: Path) -> None:
    few = ("--set", "workload.requests=1", "--set", "run.precondition.random=400x")
    cost = json.loads(ftlab("run", tiny, *few, "--json").stdout)["run"]
    assert cost["precondition_wall_s"] > 10 * cost["wall_s"]
    took = ftlab("run", tiny, *few).stdout.rpartition("took")[2]
    assert "s of it to precondition" in took
    assert float(took.split()[0]) > 0.01
    fresh = ("--set", "workload.requests=1", "--set", "run.precondition=none")
    assert "to precondition" not in ftlab("run", tiny, *fresh).stdout


def test_a_varied_key_is_called_by_its_option(ftlab: Ftlab, tiny: Path) -> None:
    done = ftlab("compare", tiny, "--vary", "ftl.victim=greedy,gredy", "--set", "run.seed=3", code=2)
    assert done.stdout == "" and "unknown victim policy `gredy`" in done.stderr
    assert "--vary ftl.victim=gredy" in done.stderr and "--set" not in done.stderr
    other = ftlab("compare", tiny, "--vary", "ftl.victim=greedy,fifo", "--set", "run.seed=x", code=2)
    assert "--set run.seed=x" in other.stderr


def test_presets(ftlab: Ftlab) -> None:
    listed = ftlab("presets").stdout
    names = [line.split()[0] for line in listed.splitlines() if line]
    assert {"tbm", "tbm-small", "client-tlc", "client-tlc-small"} <= set(names)
    # Drives first, then the devices of papers.
    assert names[0] == "drives" and names.index("client-qlc-small") < names.index("devices") < names.index(
        "tbm"
    )
    assert "[device]" in ftlab("presets", "tbm").stdout
    assert json.loads(ftlab("presets", "tbm", "--json").stdout)["toml"] == ftlab("presets", "tbm").stdout


def test_version_and_help(ftlab: Ftlab) -> None:
    assert ftlab("--version").stdout == f"ftlab {package.__version__}\n"
    for command in ([], ["run"], ["compare"], ["trace"], ["trace", "info"], ["presets"]):
        text = ftlab(*command, "--help").stdout
        assert text.startswith("usage: ftlab")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["a command is missing", "`run`"]),
        (["rnu", "tbm"], ["unknown command `rnu`", "argument 1", "did you mean `run`?"]),
        (["run"], ["CONFIG is missing", "argument 2"]),
        (["run", "tbm-smal"], ["tbm-smal", "did you mean `tbm-small`?"]),
        (["run", "no/such/file.toml"], ["no/such/file.toml", "no such"]),
        (["run", "."], ["directory"]),
        (["run", "tbm-small", "extra"], ["one argument too many: `extra`", "argument 3"]),
        (["run", "tbm-small", "--jsno"], ["unknown option `--jsno`", "argument 3", "did you mean `--json`?"]),
        (["run", "tbm-small", "--json=1"], ["`--json` takes no value"]),
        (["run", "tbm-small", "--set"], ["`--set` has no value", "KEY=VALUE"]),
        (["run", "tbm-small", "--set", "ftl.victim"], ["--set ftl.victim", "KEY=VALUE"]),
        (["run", "tbm-small", "--set", "ftl.victm=rga"], ["victm", "did you mean"]),
        (["run", "tbm-small", "--set", "ftl.victim=rg"], ["--set ftl.victim=rg", "`rga`"]),
        (["run", "tbm-small", "--set", "ftl.victim.rga.d=0"], ["--set ftl.victim.rga.d=0"]),
        (["run", "tbm-small", "--set", "device.page_size=8KB2"], ["--set device.page_size=8KB2"]),
        (["run", "tbm-small", "--trace", "missing.csv"], ["missing.csv"]),
        (["run", "tbm-small", "--timeline-window", "0s..1s"], ["`--timeline-window` without `--timeline`"]),
        (
            ["run", "tbm-small", "--timeline", "t", "--timeline-window", "5"],
            ["`5` is no window", "argument 6"],
        ),
        (["run", "tbm-small", "--timeline", "t", "--timeline-window", "2s..1s"], ["empty"]),
        (
            ["run", "tbm-small", "--timeline", "t", "--timeline-window", "0s..9parsec"],
            ["`9parsec` is no time"],
        ),
        (["run", "tbm-small", "--timeline", "no/dir/t.json"], ["cannot write no/dir/t.json"]),
        (["run", "tbm-small", "--save-state", "."], ["it is a directory"]),
        (["compare"], ["CONFIG is missing"]),
        (["compare", "tbm-small"], ["nothing to compare it with", "--vary"]),
        (
            ["compare", "tbm-small", "--vary", "ftl.victim"],
            ["`--vary ftl.victim` varies nothing", "argument 4"],
        ),
        (["compare", "tbm-small", "--vary", "ftl.victim=greedy,,fifo"], ["varies nothing"]),
        (
            ["compare", "tbm-small", "--vary", "ftl.victim=greedy", "--vary", "ftl.victim=fifo"],
            ["`ftl.victim` is varied twice", "argument 6"],
        ),
        (["compare", "tbm-small", "--vary", "ftl.victim=fif,gredy"], ["`fif`", "did you mean `fifo`?"]),
        (["compare", "tbm", "tbm-small", "--jobs", "0"], ["`--jobs` is 0", "at least 1"]),
        (["compare", "tbm", "tbm-small", "--jobs", "many"], ["`--jobs` cannot be `many`", "whole number"]),
        (["trace"], ["a command is missing", "`info`"]),
        (["trace", "inof", "x.csv"], ["unknown command `inof`", "did you mean `info`?"]),
        (["trace", "info"], ["FILE is missing"]),
        (["trace", "info", "missing.csv"], ["missing.csv"]),
        (["trace", "info", "tiny.toml"], ["tiny.toml", "known format"]),
        (["trace", "info", "tiny.toml", "--format", "mrs"], ["unknown trace format `mrs`", "`msr`"]),
        (["trace", "head", "tiny.toml", "-n", "0"], ["`-n` is 0", "at least 1"]),
        (["trace", "convert", "small.csv", "small.csv"], ["OUT is the trace itself"]),
        (["trace", "convert", "small.csv", "out.csv", "--to", "xls"], ["cannot write trace format `xls`"]),
        (["presets", "tmb"], ["unknown preset `tmb`", "argument 2", "did you mean `tbm`?"]),
    ],
)
def test_bad_command_lines(
    ftlab: Ftlab, tiny: Path, trace: Path, arguments: list[str], words: list[str]
) -> None:
    done = ftlab(*arguments, code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    for word in words:
        assert word in done.stderr, done.stderr


def test_the_mark_is_under_the_word(ftlab: Ftlab) -> None:
    lines = ftlab("run", "tbm small", "--jsno", "--out", "x", code=2).stderr.splitlines()
    line = next(line for line in lines if "ftlab run" in line)
    mark = next(line for line in lines if "^" in line)
    assert line[mark.index("^") : mark.rindex("^") + 1] == "--jsno"


def test_the_name_of_a_file_does_nothing_to_a_terminal(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    """Also in notes, which name runs that were too short."""
    strange = tmp_path / "a\x1b[31mred\x1b]0;title\x07.toml"
    strange.write_text(tiny.read_text(encoding="utf-8"), encoding="utf-8")
    quick = (
        "--set",
        "workload.requests=200",
        "--set",
        "run.executor=count",
        "--set",
        "run.precondition=none",
    )
    done = ftlab("compare", strange, tiny, *quick)
    assert "note: too short for a WAF: a\\x1b[31mred" in done.stdout
    assert not {"\x1b", "\x07"} & {*done.stdout, *done.stderr}


def test_ctrl_c_stops_a_run(tiny: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ftlab", "run", str(tiny), "--set", "workload.requests=4000000000",
         "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", preexec_fn=listening,
    )  # fmt: skip
    while not (tmp_path / "out").exists():
        time.sleep(0.05)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout) == (130, "")
    # What was reached is said, on a terminal or not.
    assert re.fullmatch(r"reached: run  \d+ %  .* requests.*\ninterrupted\n", stderr), stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_ctrl_c_stops_a_comparison(tiny: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ftlab", "compare", str(tiny), "--vary", "ftl.victim=greedy,fifo",
         "--set", "workload.requests=4000000000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", preexec_fn=listening,
    )  # fmt: skip
    time.sleep(4.0)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout) == (130, "")
    assert stderr.startswith("reached: 0 of 2 runs done") and stderr.endswith("\ninterrupted\n"), stderr


def test_an_interrupted_comparison_keeps_what_is_done(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    # One at a time: the first is finished when the second goes on and on.
    command = [sys.executable, "-m", "ftlab", "compare", str(tiny), "--jobs", "1", "--out", str(out), "--set",
               "run.precondition=none"]  # fmt: skip
    vary = ["--vary", "workload.requests=100,2000000000"]
    process = subprocess.Popen([*command, *vary], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, encoding="utf-8",
                               preexec_fn=listening)  # fmt: skip
    kept = out / ".ftlab-runs"
    deadline = time.monotonic() + 60
    while not list(kept.glob("[!.]*/kept.json")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in said
    (summary,) = kept.glob("[!.]*/summary.json")
    before = json.loads(summary.read_text(encoding="utf-8"))
    again = ftlab(*command[3:], "--vary", "workload.requests=100,200", "--no-plots")
    assert "written to" in again.stderr and "plots" not in again.stderr
    assert not kept.exists()
    assert not list(out.rglob("*.png")) and "Plots" not in (out / "comparison.md").read_text(encoding="utf-8")
    after = json.loads((out / "requests=100" / "summary.json").read_text(encoding="utf-8"))
    assert after == before, "the very run, down to its wall time"


def test_a_closed_pipe_is_quiet(tiny: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ftlab", "run", str(tiny)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait(timeout=60)
    process.stderr.close()


def test_progress_is_shown_on_a_terminal(tiny: Path) -> None:
    reader, writer = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ftlab", "run", str(tiny), "--json", "--set", "workload.requests=4000000"],
        stdout=subprocess.PIPE, stderr=writer, env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )  # fmt: skip
    os.close(writer)
    assert process.stdout is not None
    shown = b""
    try:
        while chunk := os.read(reader, 65536):
            shown += chunk
    except OSError:
        pass  # Linux reports the end of a terminal as an error.
    os.close(reader)
    output = process.stdout.read()
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert b"requests" in shown
    assert b"s simulated" in shown
    assert json.loads(output)["host"]["reads"] > 0


def test_a_comment_of_the_sample_is_no_key() -> None:
    assert "generator" in package.resolve(TINY)["workload"]


def test_help_for_a_paper_is_about_that_paper(ftlab: Ftlab) -> None:
    tbm, everything = (ftlab("reproduce", *paper, "--help").stdout for paper in (["tbm"], []))
    ids = [statement.id for statement in PAPERS["tbm"].statements]
    assert all(f"  {name} " in tbm for name in ids)
    # That for all papers is one screen, and says how to see those of one.
    assert len(everything.splitlines()) <= 24 and "reproduce PAPER --help" in everything
    others = [statement.id for statement in PAPERS["gcmix"].statements]
    assert not any(f" {name} " in tbm for name in others)


def test_without_the_papers_a_line_says_how_to_install_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Missing(MetaPathFinder):
        def find_spec(self, name: str, path: object, target: object = None) -> None:
            if name == "ftlab_reproduce":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    for module in [name for name in sys.modules if name.partition(".")[0] == "ftlab_reproduce"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    line = "error: `ftlab reproduce` needs the studies of papers: pip install 'ftlab[papers]'\n"
    for words in (["tbm"], ["--help"], ["all", "--scale", "paper"]):
        assert main(["reproduce", *words]) == 2
        assert capsys.readouterr().err == line
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "reproduce" in capsys.readouterr().out
    assert main(["completion", "bash"]) == 0
    assert "reproduce" in capsys.readouterr().out


def test_the_papers_are_of_this_version() -> None:
    papers = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert papers["version"] == package.__version__
    assert papers["dependencies"] == [f"ftlab=={package.__version__}"]


def test_parameters_that_a_named_choice_does_not_keep_are_told(ftlab: Ftlab, tiny: Path) -> None:
    with tiny.open("a", encoding="utf-8") as file:
        file.write('[ftl]\nwrite_buffer.fifo.size = "1MiB"\nvictim.rga.d = 4\n')
    few = ("--set", "workload.requests=100", "--set", "run.precondition=none")
    told = ftlab(
        "compare", tiny, *few, "--vary", "ftl.write_buffer=none,fifo,lru", "--set", "ftl.victim=greedy"
    ).stderr
    assert [line for line in told.splitlines() if line.startswith("note")] == [
        f"note: `ftl.write_buffer={name}` takes the default of `{name}`, size = 2MiB, in place of 1MiB, which "
        "`fifo` has in the configuration"
        for name in ("fifo", "lru")
    ]
    assert "note" not in ftlab("run", tiny, *few, "--set", "ftl.write_buffer.fifo.size=2MiB").stderr
    assert "d = 10, in place of 4" in ftlab("run", tiny, *few, "--set", "ftl.victim=rga").stderr
