"""Names may hold anything; each border lets through what it can show."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest
import samples
from conftest import TINY

import ftlab
from ftlab.base import escape
from ftlab.cli import live
from ftlab.cli.main import main
from ftlab.results import plot
from ftlab.results.comparison import Comparison


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain µ é 日本", "plain µ é 日本"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\udcff", r"\udcff"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("\x9b1m", r"\x9b1m"),
    ],
)
def test_a_terminal_gets_nothing_to_act_on(text: str, shown: str) -> None:
    assert escape.terminal(text) == shown
    assert escape.terminal("a\nb", keep="\n") == "a\nb"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rga d=4", "rga d=4"),
        ("free_blocks=4", "free_blocks=4"),
        ("a|b", r"a\|b"),
        ("*bold* `code` <b> [x](y) $z$", r"\*bold\* \`code\` \<b\> \[x\](y) \$z\$"),
        ("_x_", r"\_x\_"),
        ("a\nb", r"a\\nb"),
    ],
)
def test_markdown_shows_a_name_as_it_is(text: str, shown: str) -> None:
    # What the terminal would act on is spelled out first, and that has a backslash.
    assert escape.markdown(text) in (shown, shown.replace(r"\\n", r"\n"))


NAMES = ("\x1b[31m$x^2", "a|b", "_hidden", "<b>&", "$\\frac{1$", "\udcff", "a\nb", "[bold]x")


@pytest.mark.parametrize("name", NAMES)
def test_a_comparison_under_any_name(name: str) -> None:
    compared = Comparison({name: samples.result(), "plain": samples.result(seed=2)})
    page = compared.markdown()
    rows = [line.replace(r"\|", "") for line in page.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {4}
    for text in (page, compared.table(), compared.table(30)):
        assert all(letter.isprintable() or letter == "\n" for letter in text)


def test_plots_of_runs_under_any_name(tmp_path: Path) -> None:
    figures = plot.figures({name: samples.result() for name in NAMES})
    plot.save(figures, tmp_path)
    for file in tmp_path.glob("*.svg"):
        ElementTree.parse(file)
    legend = figures["latency"].legends[0]
    assert len(legend.get_texts()) == len(NAMES), "a label that begins with `_` has its entry too"


UTF8 = {"LC_ALL": "C.UTF-8"}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
QUICK = ("--set", "workload.requests=500", "--set", "run.precondition=none")


def run(
    *arguments: str | bytes, cwd: Path, code: int = 0, locale: Mapping[str, str] = UTF8
) -> subprocess.CompletedProcess[bytes]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "PYTHON"))}
    clean = {**kept, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-m", "ftlab", *arguments], cwd=cwd, env={**clean, **locale}, capture_output=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert b"Traceback" not in done.stderr and b"internal error" not in done.stderr, done.stderr
    assert done.returncode == code, (done.returncode, done.stderr)
    return done


def test_a_terminal_without_letters_gets_the_nearest(tiny: Path, tmp_path: Path) -> None:
    reads = [
        "run",
        str(tiny),
        "--set=host.queue_depth=1",
        "--set=workload.read_fraction=1.0",
        "--set=workload.requests=9",
    ]
    assert "µs" in run(*reads, cwd=tmp_path).stdout.decode("utf-8")
    for locale in (ASCII, {"PYTHONIOENCODING": "ascii"}):
        assert re.search(r"\d us ", run(*reads, cwd=tmp_path, locale=locale).stdout.decode("ascii"))
        text = run(*reads, "--json", cwd=tmp_path, locale=locale).stdout.decode("utf-8")
        assert json.loads(text)["host"]["reads"] == 9


@pytest.mark.parametrize(
    "name", [b"\xff\xfe.toml", "é.toml".encode(), b"\x1b[31m.toml", b"a\nb.toml", b"-n.toml"]
)
@pytest.mark.parametrize("locale", [{}, ASCII], ids=["utf-8", "ascii"])
def test_files_may_have_any_name(name: bytes, locale: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(name)).write_text(TINY, encoding="utf-8")
    done = run("run", *QUICK, b"--timeline=" + name + b".json", "--", name, cwd=tmp_path, locale=locale)
    assert b"\x1b" not in done.stdout + done.stderr
    assert (tmp_path / os.fsdecode(name + b".json")).exists()
    trace = os.fsdecode(name + b".csv")
    (tmp_path / trace).write_text("1,h,0,Write,4096,4096,1\n2,h,0,Read,0,512,1\n", encoding="utf-8")
    info = json.loads(
        run("trace", "info", "--json", "--", name + b".csv", cwd=tmp_path, locale=locale).stdout
    )
    assert info["requests"] == 2


def test_a_trace_whose_name_no_configuration_holds_is_refused(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.csv")).write_text("1,h,0,Write,4096,4096,1\n", encoding="utf-8")
    done = run("run", str(tiny), b"--trace=\xff.csv", cwd=tmp_path, code=2)
    assert b"is not UTF-8, and a configuration is text\nhint: rename the file" in done.stderr
    # A name that is UTF-8 does not depend on the locale.
    (tmp_path / "é.csv").write_text("1,h,0,Write,4096,4096,1\n", encoding="utf-8")
    done = run("run", str(tiny), "--trace=é.csv".encode(), "--json", cwd=tmp_path, locale=ASCII)
    assert json.loads(done.stdout)["config"]["workload"]["trace"] == "é.csv"


@pytest.mark.parametrize("option", ["--set", "--vary", "--format"])
def test_options_that_are_no_text_are_refused(option: str, tmp_path: Path, tiny: Path) -> None:
    command = {"--set": ["run"], "--vary": ["compare"], "--format": ["trace", "info"]}[option]
    done = run(*command, str(tiny), f"{option}=".encode() + b"a=\xff", cwd=tmp_path, code=2)
    assert b"is not UTF-8" in done.stderr and b"argument" in done.stderr


def test_json_of_a_name_that_is_no_text_is_json(tiny: Path, tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.toml")
    (tmp_path / name).write_text(TINY, encoding="utf-8")
    compared = ftlab.compare([tmp_path / name, tiny], sets={"workload.requests": 100}, out=tmp_path / "out")
    assert next(iter(compared.results)) == "\udcff"
    written = (tmp_path / "out" / "comparison.json").read_text(encoding="utf-8")
    assert json.loads(written)["runs"][0]["label"] == "\udcff"


def test_progress_of_an_odd_name_is_printable() -> None:
    assert live._escaped("\x1b[31m[bold]name") == r"\x1b[31m\[bold]name"


def test_how_many_requests_head_shows(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in ("18446744073709551616", "1000001", "9" * 5000):
        assert main(["trace", "head", str(trace), "-n", number]) == 2
        assert "expected" in capsys.readouterr().err
    assert main(["trace", "head", str(trace), "-n", "1000000"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3001
