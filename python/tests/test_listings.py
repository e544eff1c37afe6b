"""The listings of the documentation are of files that are compiled, and of code that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
INCLUDED = re.compile(r"```\{literalinclude\} (\S+)\n(.*?)```", re.S)


def excerpt(file: Path, options: dict[str, str]) -> list[str]:
    """The lines that `literalinclude` takes of a file."""
    lines = file.read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if options.get("start-at", "") in line)
    lines = lines[first:]
    if end := options.get("end-before"):
        lines = lines[: next(i for i, line in enumerate(lines) if end in line)]
    if end := options.get("end-at"):
        lines = lines[: next(i for i, line in enumerate(lines) if end in line) + 1]
    return lines


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_rust_is_included_from_what_is_compiled(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "```rust" not in text, "include the file that is compiled: ```{literalinclude}"
    for name, head in INCLUDED.findall(text):
        file = (page.parent / name).resolve()
        assert file.is_relative_to(ROOT) and file.is_file(), name
        options = dict(re.findall(r"^:([\w-]+): *\"?(.*?)\"?$", head, re.M))
        assert excerpt(file, options), f"nothing of {name}"
        if file.suffix == ".rs":
            # A file of a crate, which cargo compiles as it is a module of one.
            source = next(parent for parent in file.parents if parent.name in ("src", "tests"))
            assert (source.parent / "Cargo.toml").is_file()
            parent = file.parent if file.name != "mod.rs" else file.parent.parent
            modules = "".join(other.read_text(encoding="utf-8") for other in parent.glob("*.rs"))
            stem = file.stem if file.name != "mod.rs" else file.parent.name
            assert re.search(rf"\bmod {stem};", modules), f"{name} is no module"
