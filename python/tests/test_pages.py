"""The commands of the pages run as they are written, in the order of the page, and print what the page quotes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from evidence import printed

ROOT = Path(__file__).parents[2]

PAGES = (
    "README.md", "docs/index.md", "docs/tail.md", "docs/sweeps.md", "docs/results.md", "docs/adding-a-policy.md",
)  # fmt: skip
"""Each takes some seconds."""

LONG = ("docs/stack.md", "docs/tenants.md", "docs/ftl.md", "docs/time.md", "docs/media.md", "docs/life.md")
"""Those that take longer: `make evidence` runs them."""


@pytest.mark.parametrize("page", [*PAGES, *LONG])
def test_commands_of_a_page_run_and_print_what_it_quotes(page: str, tmp_path: Path) -> None:
    if page in LONG and not os.environ.get("FTLAB_LONG"):
        pytest.skip("FTLAB_LONG=1 runs it")
    text = (ROOT / page).read_text(encoding="utf-8")
    count = 0
    for block, told in printed.carried_out(text, printed.place(tmp_path)):
        if block is None:
            count += 1
        else:
            missing = printed.missing(block["body"], told)
            assert missing is None, (
                f"{page} quotes what was not printed (python -m evidence.printed {page}):\n{missing}\n--- but\n{told}"
            )
    assert count, "no command"


def test_a_page_is_refreshed_where_it_is_out_of_date(tmp_path: Path) -> None:
    page = (
        "```sh\n"
        "printf 'a run\\nWAF 2.5 in bytes\\nreads 7 us\\nThe cause is\\nGC. And\\n\\nend\\n'\n```\n\n<!-- printed -->\n"
        "```text\n…\nWAF 1.25 in bytes\n…\nThe cause is GC.\n…\n```\n\nText.\n\n<!-- printed -->\n```text\n{}```\n"
    )
    new = printed.refreshed(page.format("what was printed\nbefore\n"), printed.place(tmp_path))
    whole = "a run\nWAF 2.5 in bytes\nreads 7 us\nThe cause is\nGC. And\n\nend\n"
    assert new == page.format(whole).replace("WAF 1.25", "WAF 2.5").replace(
        "The cause is GC.", "The cause is\nGC. And"
    )
    (again := tmp_path / "again").mkdir()
    assert printed.refreshed(new, printed.place(again)) == new


def test_code_to_paste_is_a_file_that_is_compiled() -> None:
    page = (ROOT / "docs/adding-a-policy.md").read_text(encoding="utf-8")
    quoted_files = re.findall(r"^`(crates/\S+\.rs)`:\n\n```rust\n(.*?)^```$", page, re.M | re.S)
    assert [Path(name).name for name, _ in quoted_files] == ["blank.rs"] * 3
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]
    assert sum(page.read_text(encoding="utf-8").count("```rust") for page in pages) == 3, (
        "code that nobody compiles"
    )
    for name, code in quoted_files:
        assert (ROOT / name).read_text(encoding="utf-8") == code, f"{name} is not what the page has"
        assert "#[cfg(test)]\nmod blank;" in (ROOT / name).with_name("mod.rs").read_text(encoding="utf-8")
