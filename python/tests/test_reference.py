"""The pages of the documentation that describe what there is say all of it, and nothing else; their examples run."""

from __future__ import annotations

import doctest
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import samples

import ftlab
from ftlab.cli import model, reference
from ftlab.results import latency_parts

DOCS = Path(__file__).parents[2] / "docs"
CAUSES = "|".join(samples.CAUSES)
FIGURES = "|".join(samples.LATENCY_KEYS)
PARTS = "|".join(latency_parts.PARTS)
LEVELS = "|".join(at.replace(".", "") for at in latency_parts.AT)

PLACES = {
    "<cause>": f"({CAUSES})",
    "<figure>": f"({FIGURES})",
    "<part>": f"({PARTS})",
    "<level>": f"({LEVELS})",
    "<op>": "(read|write)",
    "<estimate>": "(waf|waf_units|erases)",
}
"""What stands for several names in a page."""

KINDS: tuple[dict[str, Any], ...] = (
    {"ftl.write_buffer": "lru", "ftl.allocation": "CWDP", "run.precondition": "steady"},
    {"ftl.write_buffer": "fifo", "ftl.allocation": "F"},
    {"ftl.mapping": "dftl", "ftl.separation.dac.regions": 2},
    {"ftl.mapping": "fast", "ftl.allocation": "CWDP", "ftl.victim": "fifo"},
    {"ftl.separation.sepbit.classes": 4, "ftl.gc_schedule.threshold.free_blocks": 4},
    {"ftl.separation.midas.groups": 4, "ftl.gc_schedule.threshold.free_blocks": 4},
    {"ftl.separation.fdp": {"handles": 2, "update_after": "1MiB"}, "ftl.reclaim_across": "dies"},
    {"ftl.paired_page": "gcmix"},
    {"ftl.migration": "rcpb"},
    {"ftl.migration": "fastgc"},
    {"ftl.read_disturb": "refresh", "device.wear.read_limit": "cell"},
    {"ftl.read_disturb": "redftl", "device.wear.read_limit": "cell"},
    {"ftl.read_disturb": "ipr", "device.wear.read_limit": "cell"},
    {"ftl.refresh": "patrol", "device.media": "formula"},
    {"run.executor": "count", "host.replay": "closed"},
    {"device.bad_blocks": "weibull", "ftl.allocation": "CWDP"},
    {"device.cell": "mlc", "ftl.allocation": "CWDP", "ftl.slc_cache": "static"},
    {"run.executor": "device", "host.replay": "closed"},
    {"host.replay": "open", "workload.read_fraction": 0.5},
    {
        "run.executor": "count", "run.sample": "1/2", "device.blocks_per_plane": 500, "device.pages_per_block": 16,
        "run.sample_run": "4KiB", "run.precondition": "none",
    },
    {"run.per_request": True},
    {
        "ftl.gc_schedule.windows.deterministic": "1us", "ftl.gc_schedule.windows.nondeterministic": "10us",
        "workload.read_fraction": 0.5,
    },
    {"run.latency_parts": True, "workload.read_fraction": 1.0},
    {
        "run.latency_parts": True, "host.replay": "open", "workload.interval": "1us", "ftl.allocation": "CWDP",
        "ftl.write_buffer.fifo.size": "16KiB",
    },
)  # fmt: skip
"""Configurations that between them have every mechanism with figures of its own."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[ftlab.Result]:
    from conftest import TINY, TRACE

    place = tmp_path_factory.mktemp("reference")
    config, trace = place / "tiny.toml", place / "io.csv"
    small = {"= 20_000": "= 1000", "= 0.25": "= 0.8", '"steady"': '"none"'}
    text = TINY
    for old, new in small.items():
        text = text.replace(old, new)
    config.write_text(text, encoding="utf-8")
    trace.write_text(TRACE, encoding="utf-8")
    table = {"time": [0, 1, 2], "op": ["W", "R", "W"], "offset": [0, 0, 4096], "size": [4096] * 3}
    found = [ftlab.run(config, sets=sets) for sets in KINDS]
    seen = ftlab.run(config, timeline=place / "timeline.json")
    tenant = 'namespace="50%", generator="uniform", requests=400'
    shared = ftlab.run(
        config,
        sets=[
            f'tenant=[{{name="one", {tenant}}}, {{name="two", {tenant}}}]', "run.latency_parts=true",
            "ftl.write_buffer.fifo.size=16KiB",
        ],
    )  # fmt: skip
    return [*found, seen, shared, ftlab.run(config, trace=trace), ftlab.run(config, trace=table)]


def described(section: str) -> set[str]:
    """The names in the first column of a page's tables."""
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def columns_described(section: str) -> set[str]:
    """The columns that a section describes; `<part>` stands for every part of a latency."""
    names = described(section)
    return {name.replace("<part>", part) for name in names for part in latency_parts.PARTS}


def leaves(tree: dict[str, Any], above: str = "") -> Iterator[str]:
    for name, value in tree.items():
        path = f"{above}{name}"
        if isinstance(value, dict) and path != "config":
            yield from leaves(value, f"{path}.")
        elif path in ("tenants", "latency_parts.tenants"):
            for item in value:
                yield from leaves(item, f"{path}.")
        else:
            yield path


def test_every_field_of_a_summary_is_described_and_every_described_one_is_there(
    results: list[ftlab.Result],
) -> None:
    summary = (DOCS / "results.md").read_text(encoding="utf-8").partition("\n## Parquet")[0]
    names = described(summary)
    patterns = {
        name: re.compile(
            functools.reduce(lambda text, item: text.replace(*item), PLACES.items(), re.escape(name)) + "$"
        )
        for name in names
    }
    found = {field for result in results for field in leaves(result.summary)}
    unsaid = sorted(
        field for field in found if not any(pattern.match(field) for pattern in patterns.values())
    )
    assert not unsaid
    absent = sorted(
        name for name, pattern in patterns.items() if not any(pattern.match(field) for field in found)
    )
    assert not absent


def test_every_column_of_a_table_is_described_and_every_described_one_is_there(
    results: list[ftlab.Result],
) -> None:
    tables = (DOCS / "results.md").read_text(encoding="utf-8").partition("\n## Parquet")[2]
    sections = re.findall(r"\n### `(\w+)\.parquet`\n(.*?)(?=\n### |\Z)", tables, re.DOTALL)
    found: dict[str, set[str]] = {}
    for result in results:
        for name, columns in result.tables.items():
            found.setdefault(name, set()).update(columns)
    assert {name: columns_described(section) for name, section in sections} == found


def test_the_page_of_the_commands_is_that_of_the_parser() -> None:
    expected = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert reference.page() == expected, "write it anew: python -m ftlab.cli.reference > docs/commands.md"


def test_the_tables_of_the_model_are_those_of_its_parts() -> None:
    pages = [DOCS.parent / "README.md", *DOCS.glob("*.md")]
    found = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert model.printed(text) == text, f"write it anew: python -m ftlab.cli.model {page.name}"
        found += [block["area"] for block in model.BLOCK.finditer(text)]
    assert sorted(found) == sorted(["", *model.by_area()])


def test_every_trace_format_is_described() -> None:
    import json

    from ftlab import _core

    text = (DOCS / "traces.md").read_text(encoding="utf-8")
    assert all(f"| `{form['name']}` |" in text for form in json.loads(_core.trace_formats())["read"])


PAGES = [str(path.relative_to(DOCS)) for path in DOCS.glob("**/*.md") if path.parent.name != "evidence"]
"""Those that are written by hand."""


@pytest.mark.parametrize("page", sorted(PAGES))
def test_examples_of_the_documentation_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    if ">>> " not in text:
        return
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(re.sub(r"^```.*$", "", text, flags=re.M), {}, page, page, 0)
    told: list[str] = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.DocTestRunner(optionflags=flags).run(test, out=told.append).failed == 0, "".join(told)
