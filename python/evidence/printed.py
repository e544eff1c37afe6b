"""Runs the commands of pages and writes their printed blocks anew.

``python -m evidence.printed README.md docs/tail.md`` runs the commands of each page in its order, in a directory of
their own, and puts into each block of ``text`` below ``<!-- printed -->`` the lines they print now. A line of ``…``
stands for lines that are left out; the others are those of the old quotation, found again by their words. Read the
difference before it is committed: a sentence of the page may have become false.

A block of TOML or Python below a line that ends in a file's name and a colon, such as ``my_policy.py``, is that file.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

NOT_RUN = ("make ", "pip ")
"""Commands that install something."""

BLOCK = re.compile(r"(?P<above>[^\n]*)\n*^```(?P<kind>sh|toml|python|text)\n(?P<body>.*?)^```$", re.M | re.S)

LEFT_OUT = re.compile(r"^…\n", re.M)


def place(directory: Path) -> Path:
    """Puts the traces of the repository, its demo and the command into a directory."""
    for name in ("traces", "demo"):
        (directory / name).symlink_to(ROOT / name)
    (directory / "bin").mkdir()
    command = directory / "bin" / "ftlab"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ftlab "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return directory


def told(directory: Path, commands: str) -> str:
    """Returns what commands print on both streams.

    Raises:
        RuntimeError: A command failed; its text is what was printed.
    """
    path = os.pathsep.join((str(directory / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", commands],
        cwd=directory, env={**os.environ, "PATH": path, "COLUMNS": "110"}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", check=False, timeout=900,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode} of\n{commands}\n{done.stdout}")
    return done.stdout


def runs(commands: str) -> str:
    """Those of a block's commands that a test can run."""
    whole = commands.replace("\\\n", " ")
    return "\n".join(line for line in whole.splitlines() if not line.startswith(NOT_RUN))


def carried_out(text: str, directory: Path) -> Iterator[tuple[re.Match[str] | None, str]]:
    """Runs the commands of a page in `directory`, in its order.

    Yields each printed block with what the commands above it printed, and each block of commands as `None` with what
    it printed.
    """
    if found := re.search(r"^## The drive\n\n```toml\n(.*?)^```$", text, re.M | re.S):
        # A page that ends with the file that it is about.
        (directory / "drive.toml").write_text(found[1], encoding="utf-8")
    printed = ""
    for block in BLOCK.finditer(text):
        above, kind, body = block["above"], block["kind"], block["body"]
        if kind == "sh" and (commands := runs(body)):
            printed = told(directory, commands)
            yield None, printed
        elif kind in ("toml", "python") and (name := re.search(r"`([\w-]+\.(?:toml|py))`:$", above)):
            (directory / name[1]).write_text(body, encoding="utf-8")
        elif kind == "text" and above == "<!-- printed -->":
            yield block, printed
    for command in re.findall(r"^\| [^|]+ \| `(ftlab (?:init|explain|config) [^`]+)`", text, re.M):
        yield None, told(directory, command)


def missing(body: str, printed: str) -> str | None:
    """Returns the first part of a quotation that was not printed, in its order; `None` if all was."""
    at = 0
    lines = [line.rstrip() for line in printed.splitlines()]
    for part in LEFT_OUT.split(body):
        wanted = [line.rstrip() for line in part.splitlines()]
        found = next((i for i in range(at, len(lines)) if lines[i : i + len(wanted)] == wanted), None)
        if found is None:
            return part
        at = found + len(wanted)
    return None


def requoted(body: str, printed: str) -> str:
    """Returns a quotation with the lines that are printed now.

    Each part is as many lines as before, those whose words are most alike. Where it ended with a sentence it goes on to
    the end of that one.
    """
    if not LEFT_OUT.search(body):
        return "".join(f"{line.rstrip()}\n" for line in printed.splitlines()) or "\n"
    lines = [line.rstrip() for line in printed.splitlines()]
    shapes = [_shape(line) for line in lines]
    parts, at = [], 0
    for part in LEFT_OUT.split(body):
        wanted = [_shape(line) for line in part.splitlines()]
        if wanted:
            starts = range(at, max(at + 1, len(lines) - len(wanted) + 1))
            at = max(starts, key=lambda i: _alike(wanted, shapes[i : i + len(wanted)]))
            end = at + len(wanted)
            if part.rstrip().endswith("."):
                while end < len(lines) and lines[end] and not lines[end - 1].endswith("."):
                    end += 1
            part, at = "".join(f"{line}\n" for line in lines[at:end]), end
        parts.append(part)
    return "…\n".join(parts)


def refreshed(text: str, directory: Path) -> str:
    """Returns a page with its printed blocks anew."""
    made, at = [], 0
    for block, printed in carried_out(text, directory):
        if block is not None:
            body = (
                block["body"] if missing(block["body"], printed) is None else requoted(block["body"], printed)
            )
            made += [text[at : block.start("body")], body]
            at = block.end("body")
    return "".join([*made, text[at:]])


def _shape(line: str) -> str:
    """A line without its figures and their units, for these are what changes."""
    return " ".join(re.sub(r"(?<![\w.])[\d.,]+( [µnm]s| s\b| [kMGT]?i?B\b)?", "#", line).split())


def _alike(wanted: list[str], found: list[str]) -> float:
    return sum(
        difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()
        for a, b in zip(wanted, found, strict=False)
    )


def main() -> None:
    """Refreshes the pages that are named."""
    parser = argparse.ArgumentParser(
        description="Runs the commands of pages and writes their printed blocks anew."
    )
    parser.add_argument(
        "pages", nargs="+", type=Path, metavar="PAGE", help="such as README.md or docs/tail.md"
    )
    for page in parser.parse_args().pages:
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as directory:
            new = refreshed(text, place(Path(directory)))
        page.write_text(new, encoding="utf-8")
        print(f"{page}: {'written anew' if new != text else 'as it was'}")


if __name__ == "__main__":
    main()
