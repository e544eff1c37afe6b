"""The floors of the Python package: what may import what, and what a command line imports at its start."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

FLOORS = (
    "base",
    "results",
    "traces",
    "api",
    "fio",
    "theory",
    "hardware",
    "lives",
    "sweeps",
    "reports",
    "cli",
)
"""Of `ftlab`, from below: a floor imports itself and those before it (docs/architecture.md)."""

ENTRANCES = {"__main__": FLOORS, "__init__": FLOORS, "testing": FLOORS[: FLOORS.index("api") + 1]}
"""Modules beside the floors, and the floors that they import."""

SHOWN_IN_NOTEBOOKS = {"results.result", "results.comparison", "sweeps.sweep"}
"""These import `reports.notebook` where a notebook asks them for HTML, and only there."""


def imports(package: str) -> Iterator[tuple[str, str, bool]]:
    """Which module of a package imports which, and whether at its own import."""
    for file in sorted((ROOT / package).rglob("*.py")):
        importer = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            at_once = node in tree.body
            if isinstance(node, ast.Import):
                yield from ((importer, name.name, at_once) for name in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{importer} has a relative import"
                yield from ((importer, f"{node.module}.{name.name}", at_once) for name in node.names)


def floor_of(module: str) -> str:
    """The floor of a module of `ftlab`; empty for its names in `__init__` and the extension module."""
    parts = module.split(".")
    return parts[1] if parts[0] == "ftlab" and len(parts) > 1 and parts[1] in FLOORS else ""


def test_every_module_is_on_a_floor() -> None:
    found = {entry.stem for entry in (ROOT / "ftlab").iterdir() if entry.suffix == ".py" or entry.is_dir()}
    assert found - {"__pycache__"} == {*FLOORS, *ENTRANCES}


def test_imports_go_down() -> None:
    upwards = set()
    for importer, imported, at_once in imports("ftlab"):
        mine, other = floor_of(importer), floor_of(imported)
        allowed = FLOORS[: FLOORS.index(mine) + 1] if mine else ENTRANCES[importer.split(".")[1]]
        if other and other not in allowed:
            upwards.add((importer.removeprefix("ftlab."), imported, at_once))
    assert upwards == {(importer, "ftlab.reports.notebook", False) for importer in SHOWN_IN_NOTEBOOKS}


def test_papers_and_evidence_are_above_the_package() -> None:
    tops = {imported.split(".")[0] for _, imported, _ in imports("ftlab")}
    assert "ftlab" in tops and not tops & {"ftlab_reproduce", "evidence"}
    tops = {imported.split(".")[0] for _, imported, _ in imports("ftlab_reproduce")}
    assert "ftlab" in tops and "evidence" not in tops
    # What is drawn and told of a paper is its own; of the command line it has the grammar.
    floors = {(floor_of(imported), imported) for _, imported, _ in imports("ftlab_reproduce")}
    assert {floor for floor, _ in floors} & {"reports"} == set()
    assert {name.rpartition(".")[0] for floor, name in floors if floor == "cli"} == {"ftlab.cli.usage"}


START = """
import sys
from ftlab.__main__ import entry_point
sys.argv = ["ftlab", *sys.argv[1:]]
try:
    entry_point()
finally:
    print(*sys.modules, file=sys.stderr)
"""

SLOW = {"numpy", "pyarrow", "matplotlib", "rich", "ftlab_reproduce"}
"""Each takes as long to import as everything else of a command."""


def imported_by(*arguments: str) -> set[str]:
    """The modules that a command line has imported when it is done."""
    done = subprocess.run(
        [sys.executable, "-c", START, *arguments], capture_output=True, encoding="utf-8", check=True
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_what_prints_one_text_imports_next_to_nothing(option: str) -> None:
    modules = imported_by(option)
    assert not modules & SLOW
    ours = {name for name in modules if name.startswith("ftlab.")}
    assert {floor_of(name) for name in ours} <= {"", "base", "cli"}, ours


@pytest.mark.parametrize(
    "arguments", [("run", "--help"), ("presets",), ("explain", "ftl.victim"), ("config", "show", "tbm-small")]
)
def test_what_runs_nothing_needs_no_arrays(arguments: tuple[str, ...]) -> None:
    assert not imported_by(*arguments) & SLOW


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_run_imports_what_it_prints(tiny: Path, options: tuple[str, ...]) -> None:
    modules = imported_by("run", str(tiny), "--set", "workload.requests=10", *options)
    assert not modules & {*SLOW, "ftlab.results.comparison"}
