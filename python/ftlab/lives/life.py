"""Drives beside each other: what they take until they wear out, and which one to take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlab._core import ConfigError, Error, InputError, RunError, __version__
from ftlab.api import runner
from ftlab.api.configs import Config, Sets
from ftlab.api.simulation import DONE, FAILED, Job, Progress, Trace, at_once
from ftlab.base import arguments, escape
from ftlab.base.said import first_line
from ftlab.lives import arithmetic
from ftlab.lives.asked import WARRANTY, Case, Load, bounded, cases, jobs_of, load_of
from ftlab.lives.steady import Steady, latencies, measured, timed
from ftlab.results import output, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA = "ftlab.life/1"
"""The schema of the object that `ftlab life --json` prints."""

FILES = ("life.json", "life.md", "life.png", "life.svg")
"""The files of a directory."""


@dataclass(frozen=True, slots=True)
class Row:
    """A drive with a spare, and how long it lives."""

    case: Case
    steady: Steady | None
    """`None` where it could not be run."""
    why: str = ""
    """Why it could not."""
    latency_us: Mapping[str, Mapping[str, float | None]] | None = None
    """Percentiles of reads and of writes in the steady state, where they were asked for."""

    def p999(self, kind: str) -> float | None:
        """The p99.9 of `read` or `write` in microseconds, where it is known."""
        return None if self.latency_us is None else self.latency_us[kind]["p999"]

    def tbw(self, waf: float) -> float:
        """Bytes that the host can write at a write amplification until the rated cycles are over."""
        assert self.steady is not None
        return arithmetic.written(self.case.rated_pe, self.case.raw, waf, self.steady.share)

    @property
    def end(self) -> float | None:
        """Bytes that the host can write until the drive is read-only; `None` where no block of it fails."""
        if self.steady is None or self.steady.lives is None:
            return None
        return self.steady.lives.written(self.case.raw, self.case.user, self.steady.waf, self.steady.share)


@dataclass(frozen=True, slots=True, repr=False)
class Life:
    """Drives under a workload, each with its own spare and with others."""

    rows: list[Row]
    load: Load
    warranty: float
    """Years for which drive writes a day are told, and that a drive is to live."""

    def years(self, row: Row, waf: float) -> float | None:
        """Years that a drive lives at the rate of the workload; `None` where there is no rate."""
        return None if self.load.per_day is None else arithmetic.years(row.tbw(waf), self.load.per_day)

    @property
    def offered(self) -> list[Row]:
        """Drives that were run and may be taken: by price, or without prices by flash and spare, the least first."""
        rows = [row for row in self.rows if row.case.is_offered and row.steady is not None]
        has_prices = all(row.case.price is not None for row in rows)
        return sorted(
            rows, key=lambda row: ((row.case.price or 0.0) if has_prices else row.case.raw, row.case.spare)
        )

    @property
    def taken(self) -> Row | None:
        """The first of those offered that lives as long as it is to, at the low end of its interval; else the one that
        lives longest.
        """
        offered = self.offered
        if self.load.per_day is not None:
            for row in offered:
                if (self.years(row, _steady(row).high) or 0.0) >= self.warranty:
                    return row
        return max(offered, key=lambda row: row.tbw(_steady(row).waf), default=None)

    @property
    def sentence(self) -> str:
        """The answer, in a sentence; empty where no drive could be run."""
        row = self.taken
        if row is None:
            return ""
        steady, label = _steady(row), row.case.label
        before = self.offered[: self.offered.index(row)]
        if self.load.per_day is None:
            least, most = (text.size(row.tbw(waf)) for waf in (steady.high, steady.low))
            told = f"{label} takes {text.size(row.tbw(steady.waf))} of writes ({least} to {most})"
            others = [f"{each.case.label} {text.size(each.tbw(_steady(each).waf))}" for each in before[-1:]]
            return told + (f", {others[0]}" if others else "")
        years, low, high = (self.years(row, waf) or 0.0 for waf in (steady.waf, steady.high, steady.low))
        told = f"Take {label}: it lives {year(years)} years at {text.size(self.load.per_day)} a day"
        told += f" ({year(low)} to {year(high)})"
        if before:
            kind = "cheaper" if self._has_prices() else "smaller"
            other = before[-1]
            told += f"; the next {kind}, {other.case.label}, lives {year(self.years(other, _steady(other).waf) or 0.0)}"
        if low < self.warranty:
            told = f"None of these lives {self.warranty:g} years. " + told
        return told

    def _has_prices(self) -> bool:
        return all(row.case.price is not None for row in self.offered)

    @property
    def notes(self) -> list[str]:
        """Notes on the figures, for the reader."""
        notes = []
        covers = self.load.covers_s
        if covers is not None and self.load.per_day is not None:
            part = text.figure(100 * covers / 86_400, 2)
            notes.append(
                f"{self.load.name} covers {text.duration(covers * 1e6)}, {part} % of a day: "
                f"{text.size(self.load.per_day)} a day is its mean rate, for all of the day (`--per-day` says another)"
            )
        elif self.load.per_day is None:
            notes.append("the workload has no rate; `--per-day 1.2TB` gives years")
        for row in self.rows:
            if row.steady is None:
                notes.append(f"{row.case.label}: {row.why}")
            elif row.steady.note:
                notes.append(f"{row.case.label}: {row.steady.note}")
            if row.steady is not None and row.steady.share < UNEVEN:
                notes.append(
                    f"{row.case.label} has no wear leveling, and {text.percent(row.steady.share, 0)} of its blocks wear"
                )
        return notes

    def table(self) -> str:
        """A line for each drive and spare."""
        head, rows = self.cells()
        return text.columns([head, *rows], align="<>")

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Names of the columns, and a row of cells for each drive and spare."""
        has_rating = any(row.case.rated_dwpd is not None for row in self.rows)
        has_price = any(row.case.price is not None for row in self.rows)
        has_share = any(row.steady is not None and row.steady.share < UNEVEN for row in self.rows)
        has_end = any(row.end is not None for row in self.rows)
        head = ["drive", "P/E", "raw", "for the user", "spare", "WAF", ""]
        head += [*(["wears"] if has_share else []), "TBW", *(["read-only"] if has_end else [])]
        head += [f"DWPD, {self.warranty:g} years"]
        head += [*(["rated"] if has_rating else []), *(["years", ""] if self.load.per_day else [])]
        kinds = [kind for kind in ("read", "write") if any(row.p999(kind) for row in self.rows)]
        head += [f"{kind} p99.9" for kind in kinds]
        head += ["price"] if has_price else []
        made = []
        for row in self.rows:
            case, steady = row.case, row.steady
            cells = [
                case.label if case.is_own else f"  {case.label.removeprefix(case.drive).removeprefix(', ')}",
                text.count(case.rated_pe), text.size(case.raw), text.size(case.user), text.percent(case.spare),
            ]  # fmt: skip
            if steady is None:
                made.append([*cells, text.ABSENT, "", *[text.ABSENT] * (len(head) - len(cells) - 2)])
                continue
            tbw = row.tbw(steady.waf)
            cells += [text.amplification(steady.waf), f"± {text.figure(steady.error, 2)}"]
            cells += [text.percent(steady.share, 0)] if has_share else []
            cells += [text.size(tbw)]
            cells += [text.ABSENT if row.end is None else text.size(row.end)] if has_end else []
            cells += [text.figure(arithmetic.drive_writes(tbw, case.user, self.warranty))]
            cells += (
                [text.ABSENT if case.rated_dwpd is None else f"{case.rated_dwpd:g}"] if has_rating else []
            )
            if self.load.per_day:
                years = [self.years(row, waf) or 0.0 for waf in (steady.waf, steady.high, steady.low)]
                cells += [year(years[0]), f"{year(years[1])} to {year(years[2])}"]
            cells += [text.duration(row.p999(kind)) for kind in kinds]
            cells += [text.ABSENT if case.price is None else f"{case.price:,g}"] if has_price else []
            made.append(cells)
        return head, made

    def to_json(self) -> dict[str, Any]:
        """The object `ftlab.life/1`."""
        return {
            "schema": SCHEMA,
            "ftlab_version": __version__,
            "sentence": self.sentence,
            "notes": self.notes,
            "workload": {
                "name": self.load.name, "bytes_per_day": self.load.per_day, "trace_covers_s": self.load.covers_s,
            },
            "warranty_years": self.warranty,
            "drives": [self._row_json(row) for row in self.rows],
        }  # fmt: skip

    def _row_json(self, row: Row) -> dict[str, Any]:
        case, steady = row.case, row.steady
        found: dict[str, Any] = {
            "label": case.label, "drive": case.drive, "is_own_spare": case.is_own, "is_offered": case.is_offered,
            "rated_pe": case.rated_pe, "rated_dwpd": case.rated_dwpd, "price": case.price,
            "raw_bytes": case.raw, "user_bytes": case.user, "spare": case.spare,
        }  # fmt: skip
        if steady is None:
            return found | {"error": row.why}
        tbw = row.tbw(steady.waf)
        return found | {
            "waf": steady.waf, "waf_low": steady.low, "waf_high": steady.high, "share_that_wears": steady.share,
            "tbw_bytes": tbw, "tbw_bytes_low": row.tbw(steady.high), "tbw_bytes_high": row.tbw(steady.low),
            "read_only_bytes": row.end, "drive_writes_per_day": arithmetic.drive_writes(tbw, case.user, self.warranty),
            "years": self.years(row, steady.waf), "years_low": self.years(row, steady.high),
            "years_high": self.years(row, steady.low),
            "latency_us": row.latency_us, "capacities_written": steady.capacities,
            "config": steady.result.summary["config"],
        }  # fmt: skip

    def markdown(self, *, has_picture: bool) -> str:
        """The answer as a page."""
        head, rows = self.cells()
        lines = (
            ["# Lives of drives", "", f"{escape.markdown(self.sentence)}.", ""]
            if self.sentence
            else ["# Lives of drives", ""]
        )
        cells = [[escape.markdown(cell.strip()) for cell in row] for row in rows]
        lines += text.markdown_table(
            f"Under {escape.markdown(self.load.name)}", [name or " " for name in head], cells
        )
        lines += ["", *(f"- {escape.markdown(note)}" for note in self.notes)]
        lines += ["", "![Years over spare](life.svg)"] if has_picture else []
        return "\n".join(lines).rstrip() + "\n"

    def figure(self) -> Figure | None:
        """The picture: years, or without a rate bytes, over spare; a line for each drive, with its intervals."""
        from ftlab.lives import picture

        return picture.over_spare(self)

    def save(self, directory: str | PathLike[str], *, plots: bool = True) -> None:
        """Writes `life.json`, `life.md` and the picture into a directory.

        Raises:
            InputError: it cannot be written, or has a file of such a name that is not ftlab's.
            RunError: the files cannot be written.
        """
        LifeDirectory(arguments.file_name(directory, "directory")).write(self, plots=plots)

    def __str__(self) -> str:
        notes = "".join(f"note: {escape.terminal(note)}\n" for note in self.notes)
        sentence = f"\n{escape.terminal(self.sentence)}\n" if self.sentence else ""
        return f"{self.table()}\n{sentence}{notes}"

    def __repr__(self) -> str:
        return f"Life({', '.join(row.case.label for row in self.rows)})"


UNEVEN = 0.995
"""Below this part of the blocks, wear is uneven."""


def _steady(row: Row) -> Steady:
    assert row.steady is not None
    return row.steady


def year(years: float) -> str:
    """Years with a digit behind the point, and with two digits below one."""
    return f"{years:,.1f}" if years >= 1 else text.figure(years, 2)


class LifeDirectory(output.OutputDirectory):
    """A directory for an answer.

    Raises:
        InputError: it cannot be written, or has a file of such a name that is not ftlab's.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(path, FILES)

    def write(self, life: Life, *, plots: bool) -> None:
        """Writes the answer, its page and its picture.

        Raises:
            RunError: they cannot be written.
        """
        drawn = life.figure() if plots else None
        with self._staged() as staging:
            (staging / "life.json").write_text(output.json_text(life.to_json()), encoding="utf-8")
            (staging / "life.md").write_text(life.markdown(has_picture=drawn is not None), encoding="utf-8")
            if drawn is not None:
                from ftlab.results import plot

                plot.save({"life": drawn}, staging)


def life(
    configs: str | PathLike[str] | Sequence[Config] | Mapping[str, Config],
    *,
    rated_pe: float | Sequence[float] | None = None,
    workload: str | None = None,
    trace: Trace | None = None,
    columns: str | None = None,
    fio: str | PathLike[str] | None = None,
    section: str | None = None,
    latency: bool = False,
    per_day: str | float | None = None,
    spares: Sequence[float] | None = None,
    years: float = WARRANTY,
    rated_dwpd: float | Sequence[float] | None = None,
    prices: float | Sequence[float] | None = None,
    sets: Sets = (),
    jobs: int | None = None,
    progress: Callable[[str, Progress], object] | None = None,
) -> Life:
    """How long drives live under a workload: the WAF of the steady state, bytes until the rated cycles are over, years.

    A drive is filled in order, then the workload goes on (a trace in rounds) until its WAF holds still. What is told is
    of half a user capacity written after that, without time and in samples of large drives.

    Args:
        configs: drives, as :func:`ftlab.compare` takes them.
        rated_pe: P/E cycles of the datasheet, one for all drives or one for each.
        workload: a generator in place of the configured workload, such as `"zipf"`.
        trace: a trace in place of it; see :data:`ftlab.api.simulation.Trace`.
        columns: which column of a table is what.
        fio: a job file of fio in place of it.
        section: the only job of the file.
        latency: whether the percentiles of the steady state are told too, which takes a run of the whole drive.
        per_day: what the host writes a day: `"1.2TB"`, bytes, or user capacities of the first drive, `"0.5x"`. By
            default the mean rate of the trace.
        spares: spare ÷ user capacity that each drive is run with besides its own, and that may be taken; by default
            0.07, 0.12 and 0.28, to compare with.
        years: for how long drive writes a day are told, and a drive is to live.
        rated_dwpd: drive writes a day of the datasheet, one for all drives or one for each.
        prices: what the drives cost, one for all or one for each.
        sets: settings for all drives.
        jobs: runs at once.
        progress: called with the label of a run, from the run's thread.

    Raises:
        ConfigError: a drive or a number cannot be used.
        InputError: the trace cannot be read, has no writes, or reaches past the end of a drive.
        RunError: no run came to its end.
    """
    tell = arguments.function(progress, "progress")
    bounded(years, "--years", 0.1, "years of warranty, such as `5`")
    drives = jobs_of(configs, workload, sets, trace, columns)
    from ftlab.base.quantities import in_bytes

    change = _changed(fio, section, trace, workload)
    first = change(drives[0]).resolve()
    load, reaches = load_of(trace, columns, first, per_day, in_bytes(first["device"]["user_capacity"]))
    if fio is not None:
        load = replace(load, name=Path(fio).name)
    found = cases(
        drives, rated_pe=rated_pe, rated_dwpd=rated_dwpd, prices=prices, asked=spares, reaches=reaches, change=change
    )  # fmt: skip
    rows, errors = _run([case for case in found if not case.refused], jobs, tell, latency=latency)
    rows |= {case.label: Row(case, None, case.refused) for case in found if case.refused}
    if not any(row.steady for row in rows.values()):
        raise errors[0]
    return Life([rows[case.label] for case in found], load, years)


def _changed(
    fio: str | PathLike[str] | None, section: str | None, trace: Trace | None, workload: str | None
) -> Callable[[Job], Job]:
    """A change of each drive's job: it gets the requests of the job file, if there is one."""
    if fio is None:
        return lambda job: job
    if trace is not None or workload is not None:
        raise ConfigError("error: a job file and another workload are both given; expected one of them")
    from ftlab.fio.jobfile import JobFile
    from ftlab.lives.jobs import on

    file = JobFile.load(fio)
    return lambda job: on(job, file, section)


def _run(
    found: Sequence[Case], jobs: int | None, tell: Callable[[str, Progress], object] | None, *, latency: bool
) -> tuple[dict[str, Row], list[Error]]:
    """The steady state of each, or why there is none, by label; and what failed."""
    errors: list[Error] = []

    def one(case: Case, go_on: Callable[[], None]) -> Row:
        def watch(now: Progress) -> None:
            if tell is not None:
                tell(case.label, now)

        heard = runner.stopping(go_on, watch)
        try:
            steady = measured(case.job, heard)
            told = latencies(timed(case.under).run(heard).summary) if latency else None
        except (RunError, InputError, ConfigError) as error:
            watch(Progress(FAILED, 0.0, 0, 0, 1.0))
            errors.append(error)
            return Row(case, None, first_line(error))
        watch(Progress(DONE, 0.0, 0, 0, 1.0))
        return Row(case, steady, latency_us=told)

    threads = at_once([timed(case.under) if latency else case.job for case in found], jobs)
    rows = runner.in_threads(one, found, threads)
    return dict(zip((case.label for case in found), rows, strict=True)), errors
