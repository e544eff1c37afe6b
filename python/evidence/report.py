"""What a run has measured, as data: the reports in ``docs/evidence``, from which the docs make pages.

``python -m evidence.report NAME=SOURCE ... -- COMMAND`` runs a command that reports in Markdown, and keeps the report
as ``docs/evidence/NAME.json``. `SOURCE` is a file that the command writes, or an environment variable that tells it
which file to write. A ``claims.json`` beside the file is kept with it.

A report is one JSON object: `schema`, `title`, the `commit` of the tree (with `+` where files of it had changed), the
`date`, the `command`, and `parts` in order: a text is a paragraph, and an object has one of

- `section`: the title of a section;
- `columns` and `rows`: a table of texts; `right` has the places of columns that are numbers. A table with a `name` is
  not shown as it is: a module of its own makes text and pictures of it (:mod:`evidence.pages`);
- `list`: the items of a list;
- `verbatim`: lines as they are;
- `claims`: a table of the report's claims, `counts` or `all`.

With claims it is the object ``ftlab.claims/1`` of `ftlab reproduce` with these keys besides.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ftlab_reproduce import claims
from ftlab_reproduce.claims import Claim

ROOT = Path(__file__).parents[2]
"""Of the repository."""

KEPT = ROOT / "docs/evidence"
"""Where reports are kept."""

SCHEMA = "ftlab.report/1"
"""Of a report without claims."""

Part: TypeAlias = str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """A report, and where it is from."""

    title: str
    commit: str
    date: str
    """As 2026-11-26."""
    command: str
    parts: Sequence[Part]
    judged: Mapping[str, Any] = field(default_factory=dict)
    """The object `ftlab.claims/1`, if it judges claims."""

    @property
    def claims(self) -> list[Claim]:
        """Its claims."""
        return [Claim.of_json(row) for row in self.judged.get("claims", ())]


def read(file: Path) -> Report:
    """A report that is kept.

    Raises:
        ValueError: the file has none.
    """
    known = json.loads(file.read_text(encoding="utf-8"))
    if known.get("schema") not in (SCHEMA, claims.SCHEMA):
        raise ValueError(f"{file} is no report: its schema is {known.get('schema')!r}; expected {SCHEMA!r}")
    head = {key: known.pop(key) for key in ("title", "commit", "date", "command", "parts")}
    return Report(**head, judged=known if "claims" in known else {})


def text_of(report: Report) -> str:
    """The file of a report: a line for each part, row and claim."""
    known = {"schema": SCHEMA} | {key: value for key, value in report.judged.items() if key != "claims"}
    known |= {key: getattr(report, key) for key in ("title", "commit", "date", "command")}
    lines = [f"{_json(key)}: {_json(value)}" for key, value in known.items()]
    if report.judged:
        lines.append(f'"claims": [\n{_rows(report.judged["claims"])}\n]')
    lines.append('"parts": [\n' + ",\n".join(map(_part, report.parts)) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _part(part: Part) -> str:
    if isinstance(part, str) or "rows" not in part:
        return _json(part)
    head = ", ".join(f"{_json(key)}: {_json(value)}" for key, value in part.items() if key != "rows")
    return f'{{{head}, "rows": [\n{_rows(part["rows"])}\n]}}'


def _rows(rows: Sequence[Any]) -> str:
    return ",\n".join(map(_json, rows))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def of_markdown(page: str, judged: Mapping[str, Any] | None = None) -> tuple[str, list[Part]]:
    """The title and the parts of a page that a command wrote; tables of claims are left to the claims themselves.

    Raises:
        ValueError: a report could not say all that the page says.
    """
    head, _, body = page.partition("\n")
    report = Report(head.removeprefix("# "), "", "", "", list(_parts(body, bool(judged))), judged or {})
    made, wanted = _words(markdown(report, at_head=False)), _words(page)
    for one, other in zip(made, [*wanted, ""], strict=False):
        if one != other:
            raise ValueError(f"the report cannot be kept: it would have `{one}` where the page has `{other}`")
    if len(made) != len(wanted):
        raise ValueError(f"the report cannot be kept: the page goes on with `{wanted[len(made)]}`")
    return report.title, list(report.parts)


def _words(page: str) -> list[str]:
    """A page without what only a reader of Markdown sees: how lines are broken, and columns aligned."""
    return re.sub(r"^\|[-:| ]+\|$", "", page, flags=re.M).split()


def _parts(body: str, judged: bool) -> Iterator[Part]:
    block: list[str] = []
    verbatim = False
    for line in [*body.split("\n"), ""]:
        alone = line.startswith("## ")
        if block and not verbatim and (not line or alone):
            yield _of_block(block, judged)
            block = []
        if line == "```":
            verbatim = not verbatim
        if line or verbatim:
            block.append(line)
        if alone and not verbatim:
            yield _of_block(block, judged)
            block = []


def _of_block(lines: Sequence[str], judged: bool) -> Part:
    """A part from lines without an empty one between them, but where they are verbatim."""
    if lines[0] == "```":
        return {"verbatim": lines[1:-1]}
    if lines[0].startswith("## "):
        return {"section": lines[0].removeprefix("## ")}
    if lines[0].startswith("- "):
        items = re.split(r"^- ", "\n".join(lines), flags=re.M)[1:]
        return {"list": [" ".join(item.split()) for item in items]}
    if not lines[0].startswith("|"):
        if re.match(r"#|> |\* |\d+\. ", lines[0]):
            raise ValueError(
                f"the report cannot say `{lines[0]}`: expected a paragraph, a table, a list or `## `"
            )
        return " ".join(lines)
    head, rule, *rows = map(_cells, lines)
    if judged and head == ["claims", "all", *claims.VERDICTS]:
        return {"claims": "counts"}
    if judged and head == ["claim", "paper", "measured", "verdict", "basis", "workload", "kind"]:
        return {"claims": "all"}
    right = [i for i, cell in enumerate(rule) if cell.endswith(":")]
    return {"columns": head, **({"right": right} if right else {}), "rows": rows}


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))]


def markdown(report: Report, *, at_head: bool = True) -> str:
    """The page of a report; `at_head` says from which command, tree and day it is."""
    lines = [f"# {report.title}", ""]
    if at_head:
        lines += [f"`{report.command}`, {report.date}, commit {report.commit[:10]}.", ""]
    for part in report.parts:
        lines += [*_lines(part, report), ""]
    return "\n".join(lines)


def _lines(part: Part, report: Report) -> list[str]:
    """A part as lines of Markdown."""
    if isinstance(part, str):
        return [part]
    match part:
        case {"section": title}:
            return [f"## {title}"]
        case {"list": items}:
            return [f"- {item}" for item in items]
        case {"verbatim": lines}:
            return ["```", *lines, "```"]
        case {"claims": "counts"}:
            return claims.counted(report.claims)
        case {"claims": "all"}:
            from ftlab_reproduce.command import PAPERS

            return claims.markdown(report.claims, PAPERS[report.judged["paper"]].measured)
        case {"name": _}:
            return []
        case {"columns": head, "rows": rows}:
            right = part.get("right", ())
            rule = ["---:" if i in right else "---" for i in range(len(head))]
            return [
                f"| {' | '.join(head)} |",
                f"|{'|'.join(rule)}|",
                *(f"| {' | '.join(row)} |" for row in rows),
            ]
    raise ValueError(f"not a part of a report: {part!r}")


def write(
    file: Path, page: str, command: str, judged: Mapping[str, Any] | None = None, points: Part | None = None
) -> None:
    """Keeps a page that a command wrote, as of now; of the claims those that the page lists. `points` are a last part.

    Raises:
        ValueError: a report could not say all that the page says.
    """
    if judged:
        listed = set(re.findall(r"^\| ([\w.-]+): ", page, re.M))
        judged = {**judged, "claims": [row for row in judged["claims"] if row["id"] in listed]}
        if not judged["claims"]:
            judged = None
    title, parts = of_markdown(page, judged)
    file.parent.mkdir(parents=True, exist_ok=True)
    parts += [] if points is None else [points]
    made = Report(title, commit(), time.strftime("%Y-%m-%d"), command, parts, judged or {})
    file.write_text(text_of(made), encoding="utf-8")


def commit() -> str:
    """The commit of the tree, with `+` where files of it have changed; `unknown` outside a repository."""
    said = [
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        for words in (("rev-parse", "HEAD"), ("diff", "--quiet", "HEAD"))
    ]
    return "unknown" if said[0].returncode else said[0].stdout.strip() + "+" * bool(said[1].returncode)


def command_of(module: str, arguments: Sequence[str] | None) -> str:
    """The command of a module of evidence, as it was called."""
    return shlex.join(
        ["python", "-m", f"evidence.{module}", *(sys.argv[1:] if arguments is None else arguments)]
    )


def main(arguments: Sequence[str]) -> int:
    """Runs the command and keeps its reports; returns its exit code, and keeps nothing where it failed."""
    parser = argparse.ArgumentParser(prog="python -m evidence.report", description=__doc__.split("\n")[0])
    parser.add_argument(
        "reports", nargs="+", metavar="NAME=SOURCE", help="a name, and the file or the variable"
    )
    parser.add_argument("--out", type=Path, default=KEPT, help="where reports are kept (%(default)s)")
    at = list(arguments).index("--") if "--" in arguments else len(arguments)
    options, command = parser.parse_args(arguments[:at]), arguments[at + 1 :]
    if not command:
        parser.error("no command behind `--`")
    if unclear := [words for words in options.reports if "=" not in words]:
        parser.error(f"{unclear[0]} has no source: expected NAME=SOURCE")
    with tempfile.TemporaryDirectory() as place:
        known: dict[str, str] = dict(words.split("=", 1) for words in options.reports)
        # A name of capitals is a variable's.
        named = {
            source: str(Path(place) / f"{name}.md") for name, source in known.items() if source.isupper()
        }
        if code := subprocess.run(command, env={**os.environ, **named}, check=False).returncode:
            return code
        for name, source in known.items():
            file = Path(named.get(source, source))
            page, beside = file.read_text(encoding="utf-8"), file.with_name("claims.json")
            judged = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else None
            # Where the program lies is no part of what was measured.
            said = shlex.join([Path(command[0]).name, *command[1:]])
            write(options.out / f"{name}.json", page, said, judged)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
