"""The GCMix paper's runs, and what is told of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ftlab import text
from ftlab.reproduce import claims, gcmix, gcmix_servers, survival, workloads
from ftlab.reproduce.experiment import Grid, Tell
from ftlab.reproduce.gcmix import (
    BARS,
    EXPONENTS,
    FTLS,
    MEDIANS,
    MIXED,
    OMEGA_AGE,
    OMEGA_FTL,
    Evidence,
    Point,
    uniform,
    zipf,
)
from ftlab.reproduce.paper import Paper
from ftlab.reproduce.study import Outcome
from ftlab.reproduce.workloads import Library, Workload

PICTURES = (
    "fig5",
    "fig7",
    "fig8",
    "fig9",
    "fig10",
    "fig11",
    "fig12",
    "fig13",
    "fig14",
    "readings",
    "survival",
)


def reproduce(
    experiments: Sequence[str], scale: str, out: Path, own: Path | None, tell: Tell | None = None,
    jobs: int | None = None,
) -> Outcome:  # fmt: skip
    """Runs experiments and judges the claims."""
    evidence = gather(experiments, scale, out, own, tell, jobs)
    found = gcmix.judged(evidence, experiments)

    def pictures() -> Mapping[str, Any]:
        from ftlab.reproduce import gcmix_drawing

        return gcmix_drawing.figures(evidence, experiments)

    return Outcome(
        found,
        _told(evidence),
        report(scale, experiments, evidence, found),
        figures(evidence),
        pictures,
    )


def _told(evidence: Evidence) -> str:
    """What people are told before the claims."""
    known = list(evidence.workloads.values())
    parts = [workloads.table(known)] if known else []
    if any(point.workload not in evidence.workloads for point in evidence.results):
        parts.append("Zipf and uniform workloads are generated as they run.")
    if evidence.trials:
        parts.append(survival.plain_table(evidence.trials))
    if evidence.restart is not None:
        parts.append(survival.restart_line(evidence.restart))
    return "\n\n".join(parts)


def _survival(evidence: Evidence) -> list[str]:
    lines = ["## Survival: lives with a fault, by protection", "", survival.table(evidence.trials)]
    return [*lines, "", survival.restart_line(evidence.restart)] if evidence.restart is not None else lines


def gather(
    experiments: Sequence[str], scale: str, out: Path, own: Path | None, tell: Tell | None = None,
    jobs: int | None = None,
) -> Evidence:  # fmt: skip
    """Makes the workloads ready and runs what is not there yet."""
    size = gcmix.SCALES[scale]
    library = Library(out / "traces", size.ratio, own, gcmix_servers.shipped_places())
    points = dict.fromkeys(point for e in experiments for point in gcmix.points(e))
    needed = {point.workload for point in points}
    ready: dict[str, Workload] = {}
    servers = [gcmix_servers.wanted(server, size.longest_mib) for server in gcmix_servers.SERVERS]
    traces = [*servers, *gcmix_servers.CAPTURED]
    for wanted in traces:
        if wanted.name in needed:
            if tell is not None:
                tell.note(f"preparing {wanted.name}")
            if (workload := library.get(wanted)) is not None:
                ready[wanted.name] = workload
    absent = {wanted.name for wanted in traces} - set(ready)
    runs = {
        point: gcmix.run_of(point, ready.get(point.workload), size)
        for point in points
        if point.workload not in absent
    }
    results = Grid(out / "runs").run(list(runs.values()), tell, jobs)
    trials: list[survival.Trial] = []
    restart: dict[str, float] | None = None
    if "survival" in experiments:
        trials = survival.matrix(scale, jobs=jobs, tell=tell.note if tell is not None else None)
        restart = survival.restart(size.ratio)
    return Evidence({point: results[run.label] for point, run in runs.items()}, ready, trials, restart)


def figures(evidence: Evidence) -> dict[str, Any]:
    """The figures of every run."""
    rows = []
    for point, result in evidence.results.items():
        values = {name: of(result.summary) for name, of in gcmix.FIGURES.items()}
        cost = {key: result.summary["run"][key] for key in ("wall_s", "cpu_s")}
        rows.append({**point._asdict(), **values, **cost})
    trials = [asdict(trial) for trial in evidence.trials]
    survived = {"survival": trials, "restart": evidence.restart} if trials else {}
    return {"schema": "ftlab.reproduction/1", "paper": gcmix.PAPER, "runs": rows, **survived}


def report(scale: str, experiments: Sequence[str], evidence: Evidence, found: Sequence[claims.Claim]) -> str:
    """Workloads, claims and every figure as a Markdown page."""
    known = list(evidence.workloads.values())
    lines = [f"# GCMix, scale {scale}", ""]
    if known:
        lines += ["## Workloads", "", "```", workloads.table(known), "```", ""]
        lines += [f"- {workload.name}: {_origin(workload)}" for workload in known]
        lines.append("")
    lines += [
        "## Claims",
        "",
        *claims.markdown(
            found
            if len(experiments) == len(gcmix.EXPERIMENTS)
            else [c for c in found if c.verdict != "not-run"]
        ),
    ]
    for experiment in experiments:
        if experiment in TABLES:
            lines += ["", *TABLES[experiment](evidence)]
    return "\n".join(lines) + "\n"


def _origin(workload: Workload) -> str:
    if workload.kind == "generated":
        return "generated to the figures of Table 3"
    return f"{workload.origin}; its times are multiplied by {gcmix.time_scale(workload):g}"


def _omegas(evidence: Evidence) -> list[str]:
    rows = []
    for z in EXPONENTS:
        point = Point(zipf(z), OMEGA_FTL, OMEGA_AGE)
        low, median, high = (evidence.figure(point, f"omega_{q}") for q in ("p10", "p50", "p90"))
        apart = f"{100 * (median / MEDIANS[z] - 1):+.1f} %"
        rows.append([f"{z:.1f}", f"{MEDIANS[z]:g}", f"{median:.4g}", apart, f"{low:.4g}", f"{high:.4g}"])
    head = ["z", "published median", "median", "apart", "10 %", "90 %"]
    return text.markdown_table(f"Figure 5: ω under {OMEGA_FTL}, {OMEGA_AGE}", head, rows)


def ways(evidence: Evidence) -> list[tuple[str, str]]:
    """FTL and reading of which there is a run on every Zipf workload and an ω."""
    found = []
    for setting in gcmix.READINGS:
        for ftl in FTLS:
            chosen = [evidence.results.get(Point(zipf(z), ftl, setting)) for z in EXPONENTS]
            if all(result is not None and "locality" in result.tables for result in chosen):
                found.append((ftl, setting))
    return found


def _readings(evidence: Evidence) -> list[str]:
    rows = [["*published*", *(f"{MEDIANS[z]:g}" for z in EXPONENTS), ""]]
    for ftl, setting in ways(evidence):
        medians = [evidence.figure(Point(zipf(z), ftl, setting), "omega_p50") for z in EXPONENTS]
        apart = [100 * (median / MEDIANS[z] - 1) for z, median in zip(EXPONENTS, medians, strict=True)]
        cells = [f"{median:.4g} ({a:+.0f} %)" for median, a in zip(medians, apart, strict=True)]
        rows.append([", ".join(filter(None, (ftl, setting))), *cells, f"{max(apart, key=abs):+.0f} %"])
    head = ["FTL, reading", *(f"z = {z:.1f}" for z in EXPONENTS), "furthest"]
    lines = text.markdown_table("Readings: medians of ω", head, rows)
    wafs = []
    for setting in ("", "begins empty", "two update blocks"):
        for ftl in ("PX", "P"):
            values = [evidence.waf(zipf(z), ftl, setting) for z in EXPONENTS]
            wafs.append([", ".join(filter(None, (ftl, setting))), *(f"{value:.3f}" for value in values)])
    for ftl in ("D", "DM"):
        for setting in ("", "eight planes"):
            values = [evidence.waf(zipf(z), ftl, setting) for z in EXPONENTS]
            wafs.append([", ".join(filter(None, (ftl, setting))), *(f"{value:.3f}" for value in values)])
    lines += [
        "",
        *text.markdown_table("Readings: WAF", ["FTL, reading", *(f"z = {z:.1f}" for z in EXPONENTS)], wafs),
    ]
    fast = []
    for ftl in ("D", "DML"):
        for setting in ("", "10 times the rate"):
            point = Point("EXCHANGE", ftl, setting)
            if point in evidence.results:
                paired = 100 * evidence.figure(point, "paired_fraction")
                fast.append([
                    ", ".join(filter(None, (ftl, setting))),
                    *(f"{evidence.figure(point, f'omega_{q}'):.4g}" for q in ("p10", "p50", "p90")),
                    f"{evidence.figure(point, 'waf'):.3f}", _percent(paired),
                ])  # fmt: skip
    head = ["FTL, reading", "ω 10 %", "median", "90 %", "WAF", "paired"]
    return [*lines, "", *text.markdown_table("Readings: the rate on EXCHANGE", head, fast)]


def _percent(value: float) -> str:
    return text.ABSENT if value != value else f"{value:.1f} %"


def _names(evidence: Evidence) -> list[str]:
    return list(evidence.workloads)


def _server_omegas(evidence: Evidence) -> list[str]:
    rows = [
        [f"{name} ({evidence.workloads[name].kind})",
         *(f"{evidence.figure(Point(name, OMEGA_FTL), f'omega_{q}'):.4g}" for q in ("p10", "p50", "p90")),
         _percent(100 * gcmix.below_threshold(evidence.results[Point(name, OMEGA_FTL)]))]
        for name in _names(evidence)
    ]  # fmt: skip
    head = ["workload", "10 %", "median", "90 %", f"below τ = {gcmix.TAU:g}"]
    return text.markdown_table(f"Figure 7: ω under {OMEGA_FTL}", head, rows)


def _zipf_wafs(evidence: Evidence) -> list[str]:
    rows = []
    for z in EXPONENTS:
        saved = [
            f"{evidence.saved(zipf(z), ftl, base):+.1f} %"
            for ftl, base in (("PX", "P"), ("PM", "P"), ("DX", "D"), ("DM", "D"), ("DML", "D"))
        ]
        rows.append([f"{z:.1f}", *(f"{evidence.waf(zipf(z), ftl):.3f}" for ftl in FTLS), *saved])
    head = ["z", *FTLS, "PX below P", "PM below P", "DX below D", "DM below D", "DML below D"]
    return text.markdown_table("Figure 8: WAF", head, rows)


def _by_ftl(
    title: str, ftls: Sequence[str], cell: Callable[[Evidence, str, str], str]
) -> Callable[[Evidence], list[str]]:
    def lines(evidence: Evidence) -> list[str]:
        rows = [
            [f"{name} ({evidence.workloads[name].kind})", *(cell(evidence, name, ftl) for ftl in ftls)]
            for name in _names(evidence)
        ]
        return text.markdown_table(title, ["workload", *ftls], rows)

    return lines


def _waf_cell(evidence: Evidence, name: str, ftl: str) -> str:
    return f"{evidence.waf(name, ftl):.3f}"


def _erase_cell(evidence: Evidence, name: str, ftl: str) -> str:
    whole = evidence.figure(Point(name, "P"), "erases")
    data, backup = (
        gcmix.ratio(evidence.figure(Point(name, ftl), f"{key}_erases"), whole) for key in ("data", "backup")
    )
    return f"{data:.3f} + {backup:.3f}"


def _paired_cell(evidence: Evidence, name: str, ftl: str) -> str:
    return _percent(100 * evidence.figure(Point(name, ftl), "paired_fraction"))


def _time_cell(kind: str) -> Callable[[Evidence, str, str], str]:
    def cell(evidence: Evidence, name: str, ftl: str) -> str:
        ours, base = (evidence.figure(Point(name, f, "serial"), f"{kind}_ms") for f in (ftl, "P"))
        return f"{gcmix.ratio(ours, base):.3f} ({ours:.3g} ms)"

    return cell


def _utilisations(evidence: Evidence) -> list[str]:
    rows = []
    for u in gcmix.UTILISATIONS:
        cells = [
            f"{evidence.figure(Point(uniform(u), ftl), figure):,.{digits}f}"
            for figure, digits in (("waf", 3), ("data_erases", 0), ("backup_erases", 0)) for ftl in ("P", "DML")
        ]  # fmt: skip
        rows.append(
            [f"{u:.1f}", *cells, _percent(100 * evidence.figure(Point(uniform(u), "DML"), "paired_fraction"))]
        )
    head = [
        "part of the raw space",
        "WAF: P",
        "DML",
        "data erases: P",
        "DML",
        "backup erases: P",
        "DML",
        "DML: paired",
    ]
    return text.markdown_table("Figure 14: storage utilisation", head, rows)


TABLES: Mapping[str, Callable[[Evidence], list[str]]] = {
    "fig5": _omegas,
    "readings": _readings,
    "fig7": _server_omegas,
    "fig8": _zipf_wafs,
    "fig9": _by_ftl("Figure 9: WAF", FTLS, _waf_cell),
    "fig10": _by_ftl("Figure 10: erases, data + backup, all of P's = 1", BARS, _erase_cell),
    "fig11": _by_ftl("Figure 11: host pages paired", MIXED, _paired_cell),
    "fig12": _by_ftl("Figure 12: time of writes, P = 1 (mean of a request)", BARS, _time_cell("write")),
    "fig13": _by_ftl("Figure 13: time of reads, P = 1 (mean of a request)", BARS, _time_cell("read")),
    "fig14": _utilisations,
    "survival": _survival,
}

PAPER = Paper(gcmix.PAPER, tuple(gcmix.SCALES), gcmix.EXPERIMENTS, gcmix.STATEMENTS, PICTURES, reproduce)
