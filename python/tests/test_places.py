"""What a user has at the place of an output: never lost, and never mixed up with what is new."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Ftlab

import ftlab as package
from ftlab.api import simulation

FEW_PLOTS = ("--set", "run.executor=count", "--set", "workload.requests=2000")
"""Most of the time goes into plots, and without time there are fewer."""


def tree(directory: Path) -> dict[str, bytes]:
    """All files below a directory."""
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def test_files_and_links_of_the_user_stay(ftlab: Ftlab, tiny: Path, trace: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    commands: dict[str, Callable[[Path], object]] = {
        "aged.state": lambda path: ftlab("run", tiny, "--save-state", path),
        "converted.csv": lambda path: ftlab("trace", "convert", trace, path),
        "timeline.json": lambda path: ftlab("run", tiny, "--timeline", path),
    }
    for name, write in commands.items():
        (place / f"{name}.partial").write_text("mine", encoding="utf-8")
        target, link = place / f"target-{name}", place / name
        link.symlink_to(target.name)
        for _ in range(2):
            write(link)
            assert link.is_symlink()
            assert target.stat().st_size > 1000
        assert (place / f"{name}.partial").read_text(encoding="utf-8") == "mine"
        # By a link, so that no fault can take the device's place.
        null = place / f"null-{name}"
        null.symlink_to(os.devnull)
        write(null)
        assert null.is_symlink()
        assert stat.S_ISCHR(null.stat().st_mode)
    assert not [file for file in place.iterdir() if file.name.startswith(".ftlab-")]


def test_what_is_no_state_is_not_overwritten_by_one(
    ftlab: Ftlab, tiny: Path, trace: Path, tmp_path: Path
) -> None:
    before = trace.read_bytes()
    for option, kind in (("--save-state", "device state"), ("--timeline", "timeline")):
        done = ftlab("run", tiny, option, trace, code=2)
        assert (
            f"{trace} is there and is no {kind}, so it is not overwritten\nhint: name another" in done.stderr
        )
    assert trace.read_bytes() == before


def test_two_runs_may_save_one_state(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    state = tmp_path / "aged.state"
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "ftlab", "run", str(tiny), "--save-state", str(state), "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        )
        for _ in range(4)
    ]  # fmt: skip
    summaries = []
    for run in runs:
        stdout, stderr = run.communicate(timeout=120)
        assert (run.returncode, stderr) == (0, f"device state written to {state}\n")
        summaries.append(json.loads(stdout))
    loaded = json.loads(ftlab("run", tiny, "--json", "--set", f"run.precondition.state={state}").stdout)
    assert all(summary["waf"] == loaded["waf"] for summary in summaries)
    assert {file.name for file in tmp_path.iterdir()} == {tiny.name, state.name}


def test_an_earlier_comparison_does_not_remain(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    short = (*FEW_PLOTS, "--out")

    def compare(victims: str) -> None:
        ftlab("compare", tiny, "--vary", f"ftl.victim={victims}", *short, out)

    compare("greedy,fifo,random,rga")
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    (out / "random" / "notes.txt").write_text("mine", encoding="utf-8")
    # A run of the user's own, in what was a directory of the comparison; and one that never was.
    ftlab("run", tiny, *short, out / "rga")
    ftlab("run", tiny, *short, out / "own")
    kept = {name: data for name, data in tree(out).items() if name.startswith(("rga/", "own/"))}
    compare("greedy,cost-benefit")
    assert {path.name for path in out.iterdir() if path.is_dir()} == {
        "greedy", "cost-benefit", "random", "rga", "own",
    }  # fmt: skip
    assert tree(out / "random") == {"notes.txt": b"mine"}
    assert {name: data for name, data in tree(out).items() if name.startswith(("rga/", "own/"))} == kept
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"
    # A single run takes the place of a comparison, too.
    ftlab("run", tiny, *short, out)
    assert {path.name for path in out.iterdir() if path.is_dir()} == {"random", "rga", "own"}
    assert not (out / "comparison.md").exists()
    assert (out / "notes.txt").exists()


def test_a_comparison_that_does_not_end_leaves_no_directories(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(simulation, "_run_all", stop)
    with pytest.raises(KeyboardInterrupt):
        package.compare(tiny, vary={"ftl.victim": ["greedy", "fifo"]}, out=tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    # What is there is looked at beforehand all the same.
    (tmp_path / "out" / "fifo").mkdir()
    (tmp_path / "out" / "fifo" / "summary.json").write_text("mine", encoding="utf-8")
    with pytest.raises(package.InputError, match=r"was not written by ftlab"):
        package.compare(tiny, vary={"ftl.victim": ["greedy", "fifo"]}, out=tmp_path / "out")


def test_a_comparison_that_cannot_be_written_leaves_the_earlier_one(
    ftlab: Ftlab, tiny: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = ("compare", tiny, *FEW_PLOTS, "--out", out, "--vary")
    ftlab(*arguments, "ftl.victim=greedy,fifo")
    before = tree(out)
    done = limited(*arguments, "ftl.victim=greedy,random")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0].split() == ["greedy", "random"]
    assert "why\n" in done.stdout
    assert done.stderr.startswith(f"error: the results cannot be written to {out}: File too large\nhint: ")
    # Nothing is left of the runs that could not be kept, not even an empty directory.
    assert not (out / "random").exists()
    assert tree(out) == before


def limited(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A command whose files may have 4 KiB at most, in place of a full disk."""
    return subprocess.run(
        [sys.executable, "-m", "ftlab", *map(str, arguments)],
        capture_output=True, encoding="utf-8", timeout=120, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )  # fmt: skip


def test_without_room_for_the_results_they_are_still_printed(
    ftlab: Ftlab, tiny: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ftlab("run", tiny, *FEW_PLOTS, "--out", out)
    before = tree(out)
    done = limited("run", tiny, *FEW_PLOTS, "--out", out)
    assert done.returncode == 1
    assert "WAF" in done.stdout
    assert done.stderr.startswith(f"error: the results cannot be written to {out}: File too large\nhint: ")
    assert tree(out) == before
    done = limited("run", tiny, *FEW_PLOTS, "--json", "--out", out, "--save-state", tmp_path / "aged.state")
    assert done.returncode == 1
    assert json.loads(done.stdout)["waf"] > 1
    assert done.stderr.count("error: ") == 2
    assert (
        f"error: the device state {tmp_path / 'aged.state'} cannot be written: File too large" in done.stderr
    )
    assert not (tmp_path / "aged.state").exists()


def test_an_error_of_the_output_has_the_result(tiny: Path, tmp_path: Path) -> None:
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode), (
        "something took the place of this machine's /dev/full"
    )
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    with pytest.raises(
        package.OutputError, match=r"the timeline .* cannot be written: No space left"
    ) as raised:
        package.run(tiny, timeline=full)
    assert raised.value.result.summary["waf"] > 1
    assert isinstance(raised.value, package.RunError)


def test_a_full_stdout_is_no_fault_of_ftlab(tiny: Path) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ftlab", "run", str(tiny)],
            stdout=full, stderr=subprocess.PIPE, encoding="utf-8", timeout=60, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1,
        "error: the output cannot be written: No space left on device\n",
    )


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_streams_may_be_closed(tiny: Path, closed: str) -> None:
    number = {"stdout": 1, "stderr": 2}[closed]
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m ftlab run "$1" {number}>&-', sys.executable, str(tiny)],
        capture_output=True, encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr, "WAF" in done.stdout) == (0, "", closed == "stderr")


def test_what_is_converted_to_stdout_is_a_trace_and_nothing_else(process: Ftlab, trace: Path) -> None:
    done = process("trace", "convert", trace, "/dev/stdout")
    assert len(done.stdout.splitlines()) == 3000
    assert "3,000 requests as msr" in done.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 192 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mount.returncode != 0:
        pytest.skip("a small disk can be mounted by root only; limits on file size stand in for it elsewhere")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_and_one_that_becomes_read_only(tiny: Path, small_disk: Path) -> None:
    def run(*arguments: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "ftlab", "run", str(tiny), *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip

    out = small_disk / "out"
    full = run("--out", out)
    stdout, stderr = full.communicate(timeout=60)
    assert (full.returncode, "WAF" in stdout) == (1, True)
    assert "No space left on device\nhint: free some space on that disk" in stderr
    assert list(out.iterdir()) == []
    late = run("--out", small_disk / "late", "--set", "workload.requests=3000000")
    while not (small_disk / "late").exists():
        assert late.poll() is None
    time.sleep(0.5)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    stdout, stderr = late.communicate(timeout=120)
    assert (late.returncode, "WAF" in stdout) == (1, True)
    assert "Read-only file system\nhint: that disk is mounted read-only" in stderr


def test_warnings_of_the_libraries_do_not_reach_the_user(tiny: Path, tmp_path: Path) -> None:
    # Matplotlib has no such letters.
    names = [tmp_path / f"{letters}.toml" for letters in ("漢字", "仮名")]
    for name in names:
        name.write_bytes(tiny.read_bytes())

    def stderr(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, capture_output=True, encoding="utf-8",
            timeout=300, check=False,
        )  # fmt: skip
        return done.stderr

    command = ["-m", "ftlab", "compare", *map(str, names), *FEW_PLOTS, "--out", "out"]
    assert stderr(*command) == "written to out: comparison.md, tables and plots\n"
    # What would have been heard of such letters, and where there is no place for its cache.
    warns = (
        "import logging, ftlab.__main__ as command; command._hush(); "
        "logging.getLogger('matplotlib.font_manager').warning('no place for the cache'); "
        "from matplotlib.figure import Figure; figure = Figure(); figure.text(0, 0, '漢字'); figure.savefig('f.png')"
    )
    assert stderr("-c", warns) == ""
    heard = stderr("-W", "default", "-c", warns)
    assert heard.startswith("no place for the cache\n")
    assert "Glyph" in heard


def test_only_files_are_replaced(ftlab: Ftlab, tiny: Path, tmp_path: Path) -> None:
    ftlab("run", tiny, *FEW_PLOTS, "--no-plots", "--out", tmp_path / "first")
    ftlab("report", tmp_path / "first", "--out", tmp_path / "page.html")
    commands: dict[str, Callable[[Path, int], subprocess.CompletedProcess[str]]] = {
        "init": lambda path, code: ftlab("init", path, "--force", "--planes", "2", code=code),
        "report": lambda path, code: ftlab("report", tmp_path / "first", "--out", path, code=code),
    }
    for name, write in commands.items():
        place = tmp_path / f"places of {name}"
        place.mkdir()
        os.mkfifo(place / "pipe")
        (place / "null").symlink_to(os.devnull)
        (place / "directory").mkdir()
        (place / "stdout").symlink_to("/proc/self/fd/1")
        (place / "loop").symlink_to("loop")
        for kind in ("pipe", "null", "directory", "stdout", "loop"):
            before = (place / kind).lstat()
            said = write(place / kind, 2).stderr
            assert "expected a file name" in said, said
            after = (place / kind).lstat()
            assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
        # A link stays, whether its file is there or not.
        (place / "file").write_bytes((tmp_path / "page.html").read_bytes())
        (place / "link").symlink_to("file")
        (place / "new").symlink_to("made")
        for link, target in (("link", "file"), ("new", "made")):
            write(place / link, 0)
            assert (place / link).is_symlink() and not (place / target).is_symlink()
            assert (place / target).stat().st_size > 500
        assert (place / "file").read_bytes() != (tmp_path / "page.html").read_bytes() or name == "report"


def test_what_has_come_in_the_place_of_a_file_of_ours_is_not_replaced(
    ftlab: Ftlab, tiny: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ftlab("run", tiny, *FEW_PLOTS, "--no-plots", "--out", out)
    mine = tmp_path / "mine.json"
    (out / "summary.json").rename(mine)
    (out / "summary.json").symlink_to(mine)
    before = mine.read_bytes()
    said = ftlab("run", tiny, *FEW_PLOTS, "--set", "run.seed=2", "--out", out, code=2).stderr
    assert "was not written by ftlab" in said
    assert (out / "summary.json").is_symlink() and mine.read_bytes() == before
    (out / "summary.json").unlink()
    os.mkfifo(out / "summary.json")
    assert "not written by ftlab" in ftlab("run", tiny, *FEW_PLOTS, "--out", out, code=2).stderr
