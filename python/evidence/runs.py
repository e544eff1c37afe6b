"""Finished runs of the papers as small rows of data: ``docs/evidence/runs/PAPER-SCALE.jsonl``.

``python -m evidence.runs ipr --scale paper`` makes the runs that claims of a paper need and that have no row, one
after the other, the cheapest first. A row is added as each run ends: an interruption loses one run, and the next call
goes on. In the end it judges the claims by the rows, and keeps the report as ``docs/evidence/ipr-paper.json``
(:mod:`evidence.report`). With ``--judge`` it runs nothing.

A line of the file is one JSON object:

- a run: its label in the grid (`run`), the hash of its settings (`settings`), the `commit` of the engine, and of its
  result the parts of the `summary` and the `tables` that claims and tables of the report ask for;
- a `trace`: how it is called, its kind, where it is from and what it holds;
- what an experiment found `beside` runs.

The hash of settings is of the preset, of what the study sets on top of it, and of what the trace is made from. It does
not depend on the engine, whose commit stands beside it. A row whose hash is no longer that of the study is not taken,
and a test fails until it is made anew.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from evidence import report
from ftlab.api.runner import digest_of
from ftlab.results.result import Result
from ftlab_reproduce import claims
from ftlab_reproduce.command import PAPERS
from ftlab_reproduce.experiment import Grid, Tell
from ftlab_reproduce.study import Evidence, Study, Work
from ftlab_reproduce.workloads import SEED, Library, Wanted, Workload

KEPT = report.KEPT / "runs"
"""Where rows are kept."""

DIGITS = 10
"""Significant digits of a number in a row."""

NOMINAL = {
    "highest_offset_bytes": 2.0**34, "bytes_read": 2.0**36, "bytes_written": 2.0**35, "requests": 2.0**21,
    "duration_s": 2.0**12, "inter_arrival_ms_mean": 2.0, "write_fraction_requests": 0.5, "footprint_mib": 2.0**12,
}  # fmt: skip
"""Facts of a trace in the hash of settings, which must not depend on the trace."""


@dataclass
class Rows:
    """The kept rows of one paper at one scale."""

    study: Study
    scale: str
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By the label of the run."""
    traces: dict[str, dict[str, Any]] = field(default_factory=dict)
    beside: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, study: Study, scale: str, directory: Path = KEPT) -> Rows:
        """The rows of a file; none if there is no file. Of two rows of one run the later one counts."""
        rows = cls(study, scale)
        place = file_of(study.name, scale, directory)
        for line in place.read_text(encoding="utf-8").splitlines() if place.exists() else ():
            row = json.loads(line)
            if "run" in row:
                rows.runs[row["run"]] = row
            elif "trace" in row:
                rows.traces[row["trace"]] = row
            else:
                rows.beside[row["beside"]] = row["found"]
        return rows

    def stale(self) -> list[str]:
        """The runs whose settings are no longer the study's."""
        now = {point.label: point for point in self.study.points(self.study.experiments, self.scale)}
        return [
            label for label, row in self.runs.items()
            if label not in now or settings_of(self.study, now[label], self.scale) != row["settings"]
        ]  # fmt: skip

    def missing(self, only: str | None = None) -> list[Any]:
        """The points that claims need, or those of one experiment, that have no row of today's settings; the cheapest
        first."""
        scale, stale = self.study.scales[self.scale], set(self.stale())
        needed = self.study.points([only] if only else experiments_of(self.study), self.scale)
        points = [point for point in needed if point.label not in self.runs or point.label in stale]
        return sorted(points, key=lambda p: (bool(self.study.waits_for(p)), self._weight(p, scale)))

    def _weight(self, point: Any, scale: Any) -> float:
        return self.study.weight(point, nominal(self.study, point.workload, self.scale), scale)

    def evidence(self) -> Evidence[Any]:
        """The results that are kept, as a study has them after its runs."""
        stale = set(self.stale())
        points = self.study.points(self.study.experiments, self.scale)
        results = {
            point: Result(row["summary"], {name: _table(table) for name, table in row["tables"].items()})
            for point in points if (row := self.runs.get(point.label)) and point.label not in stale
        }  # fmt: skip
        traces = {
            name: Workload(name, row["kind"], Path(), row["info"], row["deviations"], row["origin"], row["is_paper"])
            for name, row in self.traces.items()
        }  # fmt: skip
        order = [wanted.name for wanted in self.study.traces(self.study.scales[self.scale])]
        ready = {name: traces[name] for name in order if name in traces}
        return self.study.evidence(results, ready, self.beside)

    def commits(self) -> str:
        """The commits of the engines that gave the rows."""
        return ", ".join(dict.fromkeys(row["commit"] for row in self.runs.values()))

    def cpu_s(self) -> float:
        """CPU time of all runs."""
        return sum(float(row["summary"]["run"]["cpu_s"] or 0.0) for row in self.runs.values())


def file_of(paper: str, scale: str, directory: Path = KEPT) -> Path:
    """The file of a paper's rows at a scale."""
    return directory / f"{paper}-{scale}.jsonl"


def experiments_of(study: Study) -> tuple[str, ...]:
    """The experiments that claims rest on, in the order of the study."""
    asked = {statement.experiment for statement in study.statements}
    return tuple(name for name in study.experiments if name in asked)


@cache
def traces_of(paper: str, scale: str) -> Mapping[str, Wanted]:
    """The traces of a paper at a scale, by name."""
    study = PAPERS[paper]
    return {wanted.name: wanted for wanted in study.traces(study.scales[scale])}


def nominal(study: Study, name: str, scale: str) -> Workload | None:
    """A stand-in for a trace where only settings are asked for; `None` for a workload that is generated as it runs."""
    wanted = traces_of(study.name, scale).get(name)
    return (
        None
        if wanted is None
        else Workload(name, "generated", Path("trace"), NOMINAL, {}, "", wanted.is_paper)
    )


def settings_of(study: Study, point: Any, scale_name: str) -> str:
    """The hash of all that a study decides of a run: the preset, what is set on top, what the trace is made from."""
    scale = study.scales[scale_name]
    run = study.run(point, nominal(study, point.workload, scale_name), scale)
    facts = {
        # Some settings follow from the results of other runs: the point says which they are.
        "point": point._asdict(), "preset": preset(run.preset),
        "sets": {key: str(value) for key, value in run.sets.items()},
    }  # fmt: skip
    if (wanted := traces_of(study.name, scale_name).get(point.workload)) is not None:
        facts["trace"] = {
            "files": wanted.files, "ratio": wanted.ratio or scale.ratio, "whole": wanted.whole, "seed": SEED,
            "writes only": wanted.writes_only, "model": facts_of(study.name, wanted.name, scale_name),
        }  # fmt: skip
    return digest_of(facts)[:12]


@cache
def facts_of(paper: str, name: str, scale: str) -> Mapping[str, Any] | None:
    """The facts that a trace is made from; `None` for a captured one."""
    model = traces_of(paper, scale)[name].model
    return None if model is None else model.facts()


@cache
def preset(name: str) -> Mapping[str, Any]:
    """The values of a preset, without comments."""
    return tomllib.loads((report.ROOT / "presets" / f"{name}.toml").read_text(encoding="utf-8"))


def row_of(study: Study, scale: str, point: Any, result: Result) -> dict[str, Any]:
    """The row that is kept of a run."""
    figures = figures_of(study, point, result)
    cost = _short(part_of(result.summary, ("run.cpu_s", "run.wall_s")))
    return {
        "run": point.label,
        "settings": settings_of(study, point, scale),
        "commit": report.commit()[:10],
        "summary": {**figures["summary"], **cost},
        "tables": figures["tables"],
    }


def figures_of(study: Study, point: Any, result: Result) -> dict[str, Any]:
    """The figures of a run that claims and tables ask for, but for what the run cost."""
    return {
        "summary": _short(part_of(result.summary, study.evidence.SUMMARY)),
        "tables": {
            name: {key: _short(np.asarray(column).tolist()) for key, column in table.items()}
            for name, table in study.evidence.reduced(point, result).items()
        },
    }


def part_of(summary: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Parts of a summary by dotted names; what a run does not have is left out."""
    found: dict[str, Any] = {}
    for name in names:
        value: Any = summary
        for key in name.split("."):
            value = value.get(key, _ABSENT) if isinstance(value, Mapping) else _ABSENT
        if value is _ABSENT:
            continue
        place, (*above, last) = found, name.split(".")
        for key in above:
            place = place.setdefault(key, {})
        place[last] = value
    return found


_ABSENT = object()


def _short(value: Any) -> Any:
    """A value with numbers of few digits, and without NaN, which JSON lacks."""
    if isinstance(value, Mapping):
        return {key: _short(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_short(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value


def _table(table: Mapping[str, Sequence[Any]]) -> dict[str, np.ndarray]:
    """Columns of a row as a result has them."""
    return {
        key: np.array([math.nan if value is None else value for value in column])
        for key, column in table.items()
    }


def _found(value: Any) -> Any:
    """The finding of an experiment beside runs, as JSON has it."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return {str(key): _found(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_found(each) for each in value]
    return value


def add(file: Path, row: Mapping[str, Any]) -> None:
    """Adds a row; what a killed process left of a line before is dropped."""
    file.parent.mkdir(parents=True, exist_ok=True)
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    if text and not text.endswith("\n"):
        file.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n")
        lines.flush()
        os.fsync(lines.fileno())


def make(
    study: Study, scale: str, out: Path, own: Path | None, tell: Tell, only: str | None = None,
    limit: float = math.inf,
) -> Rows:  # fmt: skip
    """Makes the runs that have no row, one after the other, and what is found beside them; begins none after `limit`
    seconds."""
    file, ends = file_of(study.name, scale), time.monotonic() + limit
    rows = Rows.read(study, scale)
    of_scale = study.scales[scale]
    library = Library(out / "traces", of_scale.ratio, own, study.places)
    wanted: dict[str, Wanted] = {each.name: each for each in study.traces(of_scale)}
    ready: dict[str, Workload | None] = {}
    grid = Grid(out / "runs")
    missing = rows.missing(only)
    for i, point in enumerate(missing):
        if time.monotonic() > ends:
            return rows
        name = point.workload
        if name in wanted and name not in ready:
            tell.note(f"preparing {name}")
            ready[name] = library.get(wanted[name])
            if (trace := ready[name]) is not None:
                row = {
                    "trace": name, "kind": trace.kind, "origin": trace.origin, "is_paper": trace.is_paper,
                    "info": _short(dict(trace.info)), "deviations": _short(dict(trace.deviations)),
                }  # fmt: skip
                if rows.traces.get(name) != row:
                    add(file, row)
                    rows.traces[name] = row
        if name in wanted and ready[name] is None:
            continue
        so_far = rows.evidence() if study.waits_for(point) else None
        after = {} if so_far is None else study.sets_after(point, so_far)
        run = study.run(point, ready.get(name), of_scale, after)
        tell.note(f"{i + 1} of {len(missing)}: {point.label}")
        result = grid.run([run], tell, 1)[run.label]
        rows.runs[point.label] = row_of(study, scale, point, result)
        add(file, rows.runs[point.label])
    for name in [only] if only else experiments_of(study):
        beside = study.experiments[name].beside
        if beside is not None and name not in rows.beside:
            rows.beside[name] = _found(beside(Work(study, scale, out, tell, 1)))
            add(file, {"beside": name, "found": rows.beside[name]})
    return rows


def judge(rows: Rows, before: Mapping[str, Any]) -> list[claims.Claim]:
    """The claims of a paper by its rows. What has no rows keeps its figure of `before`, the object `ftlab.claims/1`
    that is kept, if its settings are those of today, and is judged by the rules of today; all else is `not-run`."""
    known = {row["id"]: row for row in before.get("claims", ())}
    experiments = {statement.id: statement for statement in rows.study.statements}
    of_today = {
        name for name, settings in before.get("settings", {}).items()
        if name in rows.study.experiments and settings == settings_of_experiment(rows.study, name, rows.scale)
    }  # fmt: skip
    found = []
    for claim in rows.study.judged(rows.evidence(), experiments_of(rows.study)):
        statement, old = experiments[claim.id], known.get(claim.id)
        # Other words are another measure.
        is_kept = statement.experiment in of_today and claim.verdict == "not-run"
        if old is not None and is_kept and old["claim"] == claim.claim:
            found.append(carried(statement, claims.Claim.of_json(old)))
        else:
            found.append(claim)
    return found


def carried(statement: claims.Statement, before: claims.Claim) -> claims.Claim:
    """A claim with the figure that it had, judged by today's rule."""
    end = statement.rule.text if statement.rule.text in before.note else "reproduced "
    note = before.note.partition(end)[0].rstrip("; ")
    finding = claims.Finding(math.nan if before.measured is None else before.measured, before.workload, note)
    again = replace(statement, measure=lambda _: finding)
    return replace(again.judged(None, {}), workload_kind=before.workload_kind)


def kept(rows: Rows, found: Sequence[claims.Claim]) -> report.Report:
    """The report of a paper whose runs all have rows."""
    study, evidence = rows.study, rows.evidence()
    whole = experiments_of(study)
    page = study.report(rows.scale, whole, evidence, found)
    judged = claims.document(study.name, rows.scale, found, rows.cpu_s())
    title, parts = report.of_markdown(page, judged)
    title = f"{study.title}, scale {rows.scale}"
    command = f"python -m evidence.runs {study.name} --scale {rows.scale}"
    judged["settings"] = {name: settings_of_experiment(study, name, rows.scale) for name in whole}
    return report.Report(title, rows.commits(), time.strftime("%Y-%m-%d"), command, parts, judged)


def absent(rows: Rows) -> set[str]:
    """The traces that were not found, and that nothing is made for."""
    every = traces_of(rows.study.name, rows.scale)
    return {name for name, wanted in every.items() if wanted.model is None} - set(rows.traces)


def settings_of_experiment(study: Study, name: str, scale: str) -> str:
    """The hash of the settings of all runs of an experiment."""
    points = study.points([name], scale)
    return digest_of({point.label: settings_of(study, point, scale) for point in points})[:12]


def main(arguments: Sequence[str] | None = None) -> None:
    """Makes what is missing, and keeps the report."""
    names = [name for name, study in PAPERS.items() if study.statements]
    parser = argparse.ArgumentParser(prog="python -m evidence.runs", description=__doc__.split("\n")[0])
    parser.add_argument("paper", choices=names)
    parser.add_argument("--scale", choices=("quick", "paper"), default="quick", help="(%(default)s)")
    parser.add_argument("--traces", type=Path, metavar="DIR", help="the original traces")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="traces and whole results (out/reproduce/PAPER-SCALE)"
    )
    parser.add_argument("--only", metavar="EXPERIMENT", help="the runs of one experiment")
    parser.add_argument(
        "--hours", type=float, default=math.inf, help="begins no further run after so many hours"
    )
    parser.add_argument("--judge", action="store_true", help="runs nothing")
    options = parser.parse_args(arguments)
    study = PAPERS[options.paper]
    if options.judge:
        rows = Rows.read(study, options.scale)
    else:
        out = options.out or Path(f"out/reproduce/{study.name}-{options.scale}")
        with Tell(sys.stderr) as tell:
            rows = make(study, options.scale, out, options.traces, tell, options.only, 3600 * options.hours)
    left = [point for point in rows.missing() if point.workload not in absent(rows)]
    place = report.KEPT / f"{study.name}-{options.scale}.json"
    before = report.read(place) if place.exists() else None
    found = judge(rows, {} if before is None else before.judged)
    print(claims.tally(found))
    if left and before is not None:
        print(f"{len(left)} runs have no row: tables are as they were", file=sys.stderr)
        judged = {**before.judged, "claims": [claim.to_json() for claim in found]}
        place.write_text(report.text_of(replace(before, judged=judged)), encoding="utf-8")
    elif not left:
        place.write_text(report.text_of(kept(rows, found)), encoding="utf-8")


if __name__ == "__main__":
    main()
