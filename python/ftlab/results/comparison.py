"""Several results side by side, and why they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlab._core import InputError, __version__
from ftlab.base import arguments, escape
from ftlab.base.said import first_line
from ftlab.results import output, text
from ftlab.results.bound import distances
from ftlab.results.figures import Figures, Tail
from ftlab.results.numbers import figures, frame_of, typed
from ftlab.results.overload import overload
from ftlab.results.reasons import lowest, reasons
from ftlab.results.result import Result, read_object
from ftlab.results.stall import stall
from ftlab.results.tenants import Slowdown, fairness, slowdowns
from ftlab.results.transient import too_short

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "ftlab.comparison/1"
"""The schema of the object that `compare --json` prints."""

FILE = "comparison.json"
"""That object in the directory of a comparison."""


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Results by label. The first is the reference that the others are measured against."""

    results: dict[str, Result]
    """The results, in the order of the configurations."""
    origins: dict[str, dict[str, Any]] = field(default_factory=dict)
    """How each came about: configuration, settings and trace."""
    errors: dict[str, str] = field(default_factory=dict)
    """Why the others have no result, by label: their configuration cannot be used, or the run failed."""

    @property
    def figures(self) -> dict[str, Figures]:
        """The figures that explain each run."""
        return {label: Figures.of(result) for label, result in self.results.items()}

    @property
    def reasons(self) -> dict[str, str]:
        """One line for each run that says why it came out as it did."""
        noted = [
            label
            for label, result in self.results.items()
            if overload(result) is not None or too_short(result) is not None or stall(result) is not None
        ]
        return reasons(self.figures, noted)

    @property
    def lowest(self) -> dict[str, str]:
        """Which run has the lowest p99.9 of reads, and of writes, and at which WAF; empty without a difference."""
        return lowest(self.figures)

    @property
    def slowdowns(self) -> list[Slowdown]:
        """The slowdowns of tenants of one device by each other, if it was run with all of them and with each alone."""
        return slowdowns(self.results.values())

    @property
    def distances(self) -> dict[str, float]:
        """By label how much more is programmed than by the bound of future knowledge, of 1; empty without a bound."""
        return distances(self.results)

    @property
    def notes(self) -> list[str]:
        """The differences that keep the runs from being comparable."""
        return _notes(self.results)

    @property
    def failures(self) -> dict[str, str]:
        """The errors in a line each."""
        return {label: first_line(error) for label, error in self.errors.items()}

    def to_json(self) -> dict[str, Any]:
        """The object `ftlab.comparison/1`: of each run label, origin, reason and whole summary; and what failed."""
        why = self.reasons
        return {
            "schema": SCHEMA,
            "ftlab_version": __version__,
            "notes": self.notes,
            **self._tenants_json(),
            **({"above_bound": found} if (found := self.distances) else {}),
            "lowest_p999": self.lowest,
            "runs": [
                {
                    "label": label,
                    **self.origins.get(label, {}),
                    "reason": why[label],
                    "summary": result.summary,
                }
                for label, result in self.results.items()
            ],
            "failed": [
                {"label": label, **self.origins.get(label, {}), "error": error}
                for label, error in self.errors.items()
            ],
        }

    def _tenants_json(self) -> dict[str, Any]:
        found = self.slowdowns
        if not found:
            return {}
        told = [
            {
                "tenant": slowdown.tenant,
                "slowdown": slowdown.factor,
                **{
                    f"{name}_{where}": pair[at]
                    for name, pair in (
                        ("mean_us", (slowdown.together_us, slowdown.alone_us)),
                        ("p999_us", slowdown.p999),
                        ("iops", slowdown.iops),
                    )
                    for at, where in enumerate(("together", "alone"))
                },
            }
            for slowdown in found
        ]
        return {"tenants": told, "fairness": fairness(found)}

    def tenants_table(self) -> str:
        """The slowdowns of tenants as text, and their fairness; empty where there are none."""
        if not (found := self.slowdowns):
            return ""
        rows = tenants_rows(found)
        return (
            text.columns([TENANTS_HEAD, *rows], align="<>")
            + f"\nfairness {fairness(found):.2f}: the largest slowdown / the smallest\n"
        )

    @classmethod
    def load(cls, directory: str | PathLike[str]) -> Comparison:
        """Reads what `ftlab compare --out` wrote.

        Raises:
            InputError: there is no comparison in the directory, or it cannot be read.
        """
        place = Path(arguments.file_name(directory, "directory"))
        found = read_object(place / FILE, SCHEMA, "comparison", "ftlab compare --out")
        runs, failed = (_by_label(place / FILE, found.get(key, [])) for key in ("runs", "failed"))
        names = output.run_directories(list(runs))
        results = {label: Result.load(place / name) for label, name in names.items()}
        origins = {
            label: {key: run.get(key) for key in ("config", "sets", "trace")}
            for label, run in {**runs, **failed}.items()
        }
        return cls(results, origins, {label: str(run.get("error")) for label, run in failed.items()})

    def _repr_html_(self) -> str:
        from ftlab.reports import notebook

        return notebook.of_comparison(self)

    def __repr__(self) -> str:
        return f"Comparison({', '.join([*self.results, *(f'{label}: failed' for label in self.errors)])})"

    def __str__(self) -> str:
        told = [self.table(), *self._and_tenants(), "\nwhy\n", text.listed(self.reasons, 100)]
        told += [f"note: {escape.terminal(note)}\n" for note in self.notes]
        return "".join([*told, "\nfailed\n", text.listed(self.failures, 100)] if self.errors else told)

    def _and_tenants(self) -> list[str]:
        table = self.tenants_table()
        return ["\n", table] if table else []

    def arrow(self) -> pa.Table:
        """A row for each configuration: its `label`, the `error` of one without a result, and every number of its
        summary, keys joined by underscores, as in the table of a sweep.
        """
        import pyarrow as pa

        labels = [*self.results, *self.errors]
        found = [figures(result.summary) for result in self.results.values()] + [{} for _ in self.errors]
        columns = {
            "label": pa.array(labels, pa.string()),
            "error": pa.array([self.errors.get(label) for label in labels], pa.string()),
        }
        for name in dict.fromkeys(name for row in found for name in row):
            columns[name] = typed([row.get(name) for row in found])
        return pa.table(columns)

    def to_frame(self) -> Any:
        """The table of :meth:`arrow` as a pandas data frame.

        Raises:
            InputError: pandas is not installed.
        """
        return frame_of(self.arrow(), "arrow()")

    def _rows(self) -> list[list[str]]:
        """Label and cells of every figure; the distance from the bound stands behind the WAF."""
        rows = figure_rows(list(self.figures.values()))
        if found := self.distances:
            shares = [found.get(label) for label in self.results]
            last = max((at for at, row in enumerate(rows) if row[0].startswith("WAF")), default=-1)
            rows[last + 1 : last + 1] = [row for row in [_share_row(ABOVE_BOUND, shares)] if row is not None]
        return rows

    def table(self, width: int = 100) -> str:
        """The figures side by side, in as many blocks of columns as `width` characters ask for."""
        rows = self._rows()
        head = ["", *map(escape.terminal, self.results)]
        first = max(len(row[0]) for row in rows)
        blocks = []
        start = 1
        while start < len(head):
            end, used = start, first
            while end < len(head):
                used += 2 + max(len(row[end]) for row in [head, *rows])
                if used > width and end > start:
                    break
                end += 1
            blocks.append(text.columns([[row[0], *row[start:end]] for row in [head, *rows]], align="<>"))
            start = end
        return "\n\n".join(blocks) + "\n"

    def _tenants_markdown(self) -> list[str]:
        if not (found := self.slowdowns):
            return []
        table = text.markdown_table("Tenants, among the others and alone", TENANTS_HEAD, tenants_rows(found))
        return [*table, "", f"Fairness {fairness(found):.2f}: the largest slowdown ÷ the smallest.", ""]

    def markdown(self) -> str:
        """The comparison as a page: table, reasons, plots."""
        rows = self._rows()
        first = next(iter(self.results.values())).summary["config"]
        lines = [
            "# Comparison",
            "",
            f"{text.device_line(first)}, {text.capacity(first)} for the user.",
            "",
            "| | " + " | ".join(map(escape.markdown, self.results)) + " |",
            "|---|" + "---:|" * len(self.results),
            *("| " + " | ".join(row) + " |" for row in rows),
            "",
            "## Why",
            "",
            *(
                f"- **{escape.markdown(label)}**: {escape.markdown(why)}"
                for label, why in self.reasons.items()
            ),
            *(f"- Lowest p99.9 of {kind}: {escape.markdown(told)}" for kind, told in self.lowest.items()),
            *(f"- Note: {escape.markdown(note)}" for note in self.notes),
            "",
            *self._tenants_markdown(),
            *(
                ["## Without a result", "", *map(_failed_line, self.failures.items()), ""]
                if self.errors
                else []
            ),
            "## Plots",
            "",
            "![Headline figures](overview.png)",
            "",
        ]
        if any(figures.mean_us is not None for figures in self.figures.values()):
            lines += ["![Latency distributions](latency.png)", "", "![Utilisation](utilisation.png)", ""]
        lines += ["![Figures over volume and time](series.png)", "", "![Wear](wear.png)", ""]
        return "\n".join(lines)


ABOVE_BOUND = "above the bound (%)"
"""The row of the distances from the bound."""

TENANTS_HEAD = ("tenant", "slowdown", "mean", "alone", "p99.9", "alone", "IOPS", "alone")
"""The columns of the table of slowdowns: among the others, and alone."""


def tenants_rows(found: Sequence[Slowdown]) -> list[list[str]]:
    """A row for each tenant."""
    return [
        [
            slowdown.tenant, f"{slowdown.factor:.2f}x", text.duration(slowdown.together_us),
            text.duration(slowdown.alone_us), *map(text.duration, slowdown.p999), *map(text.count, slowdown.iops),
        ]
        for slowdown in found
    ]  # fmt: skip


def _failed_line(failed: tuple[str, str]) -> str:
    label, why = failed
    return f"- **{escape.markdown(label)}**: {escape.markdown(why)}"


def _by_label(file: Path, runs: Any) -> dict[str, dict[str, Any]]:
    """Runs in the file of a comparison by label."""
    try:
        return {str(run["label"]): dict(run) for run in runs}
    except (KeyError, TypeError, ValueError):
        raise InputError(
            f"error: {escape.terminal(str(file))} has no list of runs\nhint: run the comparison again to write it anew"
        ) from None


def figure_rows(runs: list[Figures]) -> list[list[str]]:
    """Label and cells of every figure that at least one run has."""
    rows = [
        _row("IOPS", text.count, [run.iops for run in runs]),
        _row("throughput (MB/s)", text.figure, [run.throughput_mb_s for run in runs]),
        *_tail_rows("read", [run.read_us for run in runs]),
        *_tail_rows("write", [run.write_us for run in runs]),
        *_waf_rows(runs),
        _row("GC victims per GB written", text.figure, [run.gc_per_gb for run in runs]),
        _share_row("valid pages in a victim (%)", [run.victim_valid for run in runs]),
        _share_row("die time for GC (%)", [run.gc_share for run in runs]),
        _share_row("die time idle (%)", [run.die_idle for run in runs]),
        _row("die time per page programmed", text.duration, [run.program_us for run in runs]),
        _plane_row("host programs, multi-plane (%)", [run.multiplane_programs for run in runs], runs),
        _plane_row("host reads, multi-plane (%)", [run.multiplane_reads for run in runs], runs),
        _row("block erases", text.count, [run.erases for run in runs]),
        _row("erases per block, std. dev.", text.figure, [run.wear_stddev for run in runs]),
        _row("lifetime, bytes written", text.size, [run.lifetime_bytes for run in runs]),
    ]
    return [row for row in rows if row is not None]


def _row(label: str, form: Callable[[Any], str], values: list[Any]) -> list[str] | None:
    if all(value is None for value in values):
        return None
    return [label, *(text.ABSENT if value is None else form(value) for value in values)]


def _waf_rows(runs: list[Figures]) -> list[list[str] | None]:
    """Bytes for bytes, and pages for pages where that is another figure."""
    in_bytes = _row("WAF", text.amplification, [run.waf for run in runs])
    in_pages = _row("WAF in pages", text.amplification, [run.waf_units for run in runs])
    if in_bytes is not None and in_pages is not None and in_bytes[1:] == in_pages[1:]:
        return [in_bytes]
    return [in_bytes, in_pages]


def _tail_rows(kind: str, tails: list[Tail]) -> list[list[str] | None]:
    return [
        _row(f"{kind} latency, mean", text.duration, [tail.mean for tail in tails]),
        _row(f"{kind} latency, p50", text.duration, [tail.p50 for tail in tails]),
        _row(f"{kind} latency, p99", text.duration, [tail.p99 for tail in tails]),
        _row(f"{kind} latency, p99.9", text.duration, [tail.p999 for tail in tails]),
        _row(f"{kind} latency, p99.99", text.duration, [tail.p9999 for tail in tails]),
    ]


def _plane_row(label: str, values: list[float | None], runs: list[Figures]) -> list[str] | None:
    """Also where it is 0: that planes could work at once, and did not, is what is to be seen."""
    if all(run.planes == 1 for run in runs):
        return None
    return _row(label, lambda value: f"{100 * value:.1f}", values)


def _share_row(label: str, values: list[float | None]) -> list[str] | None:
    if not any(values):
        return None
    return _row(label, lambda value: f"{100 * value:.1f}", values)


def _notes(results: Mapping[str, Result]) -> list[str]:
    first, *others = (result.summary["config"] for result in results.values())
    notes = []
    if any(other["workload"] != first["workload"] or other["host"] != first["host"] for other in others):
        notes.append("the runs differ in [workload] or [host], not only in the device and its policies")
    if any(other["device"]["user_capacity"] != first["device"]["user_capacity"] for other in others):
        notes.append("the devices differ in user capacity")
    if flooded := [label for label, result in results.items() if overload(result) is not None]:
        notes.append(
            f"overloaded: {', '.join(flooded)}; requests came faster than they were served, so latencies tell "
            "how long the run was"
        )
    rounded = [note for result in results.values() for note in result.summary.get("rounded", ())]
    notes += dict.fromkeys(rounded)
    notes += _stalls(results)
    short = {label: found for label, result in results.items() if (found := too_short(result)) is not None}
    if short:
        notes.append(
            "too short for a WAF: " + "; ".join(f"{label}, {found.why}" for label, found in short.items())
        )
        # Of one workload for all runs, what helps the one that needs most helps all.
        most = max(short.values(), key=lambda found: found.times)
        notes[-1] += f"; {most.cure}"
    if any(other["run"]["executor"] != first["run"]["executor"] for other in others):
        notes.append("the runs differ in executor: `count` has no rates and latencies")
    return notes


def _stalls(results: Mapping[str, Result]) -> list[str]:
    """A note for each cause of very long requests, with the longest of them."""
    found = {label: stood for label, result in results.items() if (stood := stall(result)) is not None}
    by_cure: dict[str, list[str]] = {}
    for label, stood in found.items():
        by_cure.setdefault(stood.cure, []).append(label)
    notes = []
    for cure, labels in by_cure.items():
        worst = max((found[label] for label in labels), key=lambda stood: stood.erases)
        notes.append(f"{', '.join(labels)}: {text.stalled(worst)}: {worst.cause}. Cure: {cure}")
    return notes
