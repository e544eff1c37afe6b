"""The check as text: a table for a terminal, a page in Markdown, and the directory that holds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ftlab.hardware.check import KINDS, WORDS, Check, Judged
from ftlab.hardware.rows import QUICK_REQUESTS, QUICK_RUNTIME
from ftlab.results import output, text

PICTURES = ("beside", "depth", "writes", "waf")
"""The names of the pictures."""

FAMILIES = {
    "write amplification": "Write amplification",
    "filling": "Filling",
    "skew": "Skew",
    "cold data": "Cold data",
    "reads beside writes": "Reads beside writes",
    "beside random writes": "Beside random writes",
    "reads by depth": "Reads by depth",
    "under collections": "Under collections",
    "writes by depth": "Writes by depth",
    "zones": "Zones",
    "pseudo-SLC": "Pseudo-SLC",
    "classes": "Figures of classes",
}
"""The headings of families, in order."""


def shown(value: float | None, unit: str) -> str:
    """A figure with its unit."""
    if value is None:
        return text.ABSENT
    digits = text.count(value) if abs(value) >= 1000 else text.figure(value)
    return f"{digits} {unit.replace('us', 'µs')}".strip()


def told(judged: Judged) -> str:
    """The verdict on a figure, in words."""
    words = WORDS[judged.verdict]
    if judged.verdict == "not built":
        return f"needs {judged.why}"
    if judged.verdict == "failed":
        return f"{words}: {judged.why.splitlines()[0]}"
    kind = judged.row.kind
    return words if kind == "predicted" else f"{words} ({'fitted' if kind == 'fitted' else 'in hindsight'})"


def table(check: Check) -> str:
    """Every figure in a line, by family."""
    lines: list[str] = []
    for family, heading in FAMILIES.items():
        each = [judged for judged in check.judged if judged.row.family == family]
        if not each:
            continue
        lines += ["", heading.lower()]
        last = ""
        rows = []
        for judged in each:
            first = judged.row.id if judged.row.id != last else ""
            last = judged.row.id
            ratio = "" if judged.ratio is None else f"× {judged.ratio:.2f}"
            rows.append(
                (first, judged.figure.name, shown(judged.figure.value, judged.figure.unit),
                 shown(judged.measured, judged.figure.unit), ratio, judged.figure.tolerance, told(judged))
            )  # fmt: skip
        rows.insert(0, ("row", "figure", "drive", "ours", "", "tolerance", ""))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
        for row in rows:
            cells = [cell.ljust(width) if i < 2 else cell.rjust(width) for i, (cell, width) in
                     enumerate(zip(row, widths, strict=False))]  # fmt: skip
            lines.append(("  " + "  ".join([*cells, row[-1]])).rstrip())
    return "\n".join([*lines, "", *summed(check)]).lstrip("\n") + "\n"


def summed(check: Check) -> list[str]:
    """The numbers of figures that are met, in sentences."""
    counts = check.counts()
    lines = []
    for kind, words in KINDS.items():
        found = counts[kind]
        judged = found["met"] + found["missed"]
        if judged:
            lines.append(
                f"{words}, {found['met']} of {judged} are met ({text.percent(found['met'] / judged, 0)})"
            )
    unbuilt, failed = (
        sum(found[verdict] for found in counts.values()) for verdict in ("not built", "failed")
    )
    if unbuilt:
        lines.append(f"{unbuilt} need what is not built")
    if failed:
        lines.append(f"{failed} could not be run")
    return lines


def markdown(check: Check, *, pictures: Sequence[str] = ()) -> str:
    """The page of a check."""
    only = (
        "whole drives and the jobs' own times"
        if check.scale == "full"
        else f"drives with fewer blocks, {QUICK_RUNTIME} seconds or {QUICK_REQUESTS:,} requests of most jobs"
    )
    lines = [
        f"# Drives beside their simulation, {check.scale} scale",
        "",
        f"Written by `ftlab hardware check --scale {check.scale}`: {only}. "
        + " ".join(f"{line[0].upper()}{line[1:]}." for line in summed(check)),
        "",
    ]
    for family, heading in FAMILIES.items():
        each = [judged for judged in check.judged if judged.row.family == family]
        if each:
            lines += [*text.markdown_table(heading, HEAD, list(_cells(each))), ""]
            lines += _about(each)
    for name in pictures:
        lines += [f"![{name.replace('-', ' ')}]({name}.svg)", ""]
    return "\n".join(lines).rstrip() + "\n"


HEAD = ("row", "figure", "drive", "ours", "ours ÷ drive", "tolerance", "")


def _cells(each: Sequence[Judged]) -> Iterator[list[str]]:
    for judged in each:
        unit = judged.figure.unit
        ratio = text.ABSENT if judged.ratio is None else f"{judged.ratio:.2f}"
        yield [
            judged.row.id, judged.figure.name, shown(judged.figure.value, unit), shown(judged.measured, unit), ratio,
            judged.figure.tolerance, told(judged),
        ]  # fmt: skip


def _about(each: Sequence[Judged]) -> list[str]:
    """The rows' jobs, drives and sources, in a list."""
    lines = []
    for row in {judged.row.id: judged.row for judged in each}.values():
        assumed = f" Assumed: {row.assumes}." if row.assumes else ""
        assumed += f" In hindsight: {row.hindsight}." if row.hindsight else ""
        on = f" On `{row.preset}`." if row.preset else ""
        lines.append(f"- **{row.id}**: {row.drive}; {row.job}.{on}{assumed} ({row.source})")
    return [*lines, ""]


class CheckDirectory(output.OutputDirectory):
    """A directory for a check.

    Raises:
        InputError: it cannot be written, or has a file of such a name that is not ftlab's.
    """

    def __init__(self, path: str) -> None:
        pictures = (f"{name}.{kind}" for name in PICTURES for kind in ("png", "svg"))
        super().__init__(path, ("hardware.json", "hardware.md", *pictures))

    def write(self, check: Check) -> None:
        """Writes the check, its page and its pictures.

        Raises:
            RunError: they cannot be written.
        """
        from ftlab.hardware import plots
        from ftlab.results import plot

        drawn = plots.figures(check)
        with self._staged() as staging:
            (staging / "hardware.json").write_text(output.json_text(check.to_json()), encoding="utf-8")
            (staging / "hardware.md").write_text(markdown(check, pictures=list(drawn)), encoding="utf-8")
            plot.save(drawn, staging)
