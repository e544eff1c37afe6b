"""The commands of the pages run as they are written, in the order of the page, and print what the page quotes.

A block of TOML or Python below a line with a file's name is that file. A block of `text` below `<!-- printed -->` is
what the block of commands before it printed; a line of `…` stands for any lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PAGES = (
    "docs/start.md", "docs/tutorial-tail.md", "docs/tutorial-policy.md", "docs/how-to.md",
)  # fmt: skip
"""Each takes some seconds."""

LONG = ("docs/tail.md", "docs/tutorial-sweep.md", "README.md")
"""Those that take a minute or two: `make evidence` runs them."""

NOT_RUN = ("make ", "pip ", "ftlab compare tbm-small --vary ftl.victim=mine")
"""Commands that install something, or that need what the reader is yet to write."""

BLOCK = re.compile(r"(?P<above>[^\n]*)\n*^```(?P<kind>sh|toml|python|text)\n(?P<body>.*?)^```$", re.M | re.S)


@pytest.fixture
def shell(tmp_path: Path) -> Path:
    """A directory with the traces of the repository and the command."""
    for name in ("traces", "demo"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "ftlab"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ftlab "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return tmp_path


def told(place: Path, commands: str) -> str:
    """What commands print, on both streams; each is to succeed."""
    path = os.pathsep.join((str(place / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", commands],
        cwd=place, env={**os.environ, "PATH": path, "COLUMNS": "110"}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, f"{commands}\n{done.stdout}"
    return done.stdout


def runs(commands: str) -> str:
    """Those of a block's commands that a test can run."""
    whole = commands.replace("\\\n", " ")
    return "\n".join(line for line in whole.splitlines() if not line.startswith(NOT_RUN))


def quoted(body: str, printed: str) -> str | None:
    """What of a quotation was not printed, in its order; `None` if all was."""
    at = 0
    lines = [line.rstrip() for line in printed.splitlines()]
    for part in re.split(r"^…\n", body, flags=re.M):
        wanted = [line.rstrip() for line in part.splitlines()]
        found = next((i for i in range(at, len(lines)) if lines[i : i + len(wanted)] == wanted), None)
        if found is None:
            return part
        at = found + len(wanted)
    return None


@pytest.mark.parametrize("page", [*PAGES, *LONG])
def test_commands_of_a_page_run_and_print_what_it_quotes(page: str, shell: Path) -> None:
    if page in LONG and not os.environ.get("FTLAB_LONG"):
        pytest.skip("a minute or more; FTLAB_LONG=1 runs it")
    text = (ROOT / page).read_text(encoding="utf-8")
    if page == "README.md":
        # It is read in the repository, and its first commands are those of the Makefile.
        text = text.replace("make demo\n", "demo/run.sh\n")
    if found := re.search(r"^## The drive\n\n```toml\n(.*?)^```$", text, re.M | re.S):
        # A page that ends with the file that it is about.
        (shell / "drive.toml").write_text(found[1], encoding="utf-8")
    printed, count = "", 0
    for block in BLOCK.finditer(text):
        above, kind, body = block["above"], block["kind"], block["body"]
        if kind == "sh" and (commands := runs(body)):
            printed, count = told(shell, commands), count + 1
        elif kind in ("toml", "python") and (name := re.search(r"`([\w-]+\.(?:toml|py))`:$", above)):
            (shell / name[1]).write_text(body, encoding="utf-8")
        elif kind == "text" and above == "<!-- printed -->":
            missing = quoted(body, printed)
            assert missing is None, f"{page} quotes what was not printed:\n{missing}\n--- but\n{printed}"
    for command in re.findall(r"^\| [^|]+ \| `(ftlab (?:init|explain|config) [^`]+)`", text, re.M):
        told(shell, command)
        count += 1
    assert count, "no command"
