"""The GC-forwarding paper's runs, and what is told of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ftlab import text
from ftlab.reproduce import claims, gcf, gcf_claims, gcf_hosts, gcf_lanes, workloads
from ftlab.reproduce.experiment import Grid, Tell
from ftlab.reproduce.gcf import (
    BUFFERS_KIB,
    CHANNELS,
    MAPPINGS,
    READINGS,
    SCHEMES,
    TABLE3,
    TABLE3_SSD,
    WORKLOADS,
    Evidence,
    Point,
)
from ftlab.reproduce.paper import Outcome, Paper
from ftlab.reproduce.workloads import Library, Workload

WANTED = (gcf_hosts.DESKTOP, gcf_hosts.MULTIMEDIA, *gcf_hosts.CAPTURED, gcf_hosts.ONE_CHANNEL)

PICTURES = ("fig3", "fig8", "fig9", "fig10", "table3", "readings", "pathological", "timelines", "moments")


def reproduce(
    experiments: Sequence[str], scale: str, out: Path, own: Path | None, tell: Tell | None = None,
    jobs: int | None = None,
) -> Outcome:  # fmt: skip
    """Runs experiments and judges the claims."""
    evidence = gather(experiments, scale, out, own, tell, jobs)
    found = gcf_claims.judged(evidence, experiments)

    def pictures() -> Mapping[str, Any]:
        from ftlab.reproduce import gcf_drawing

        return gcf_drawing.figures(evidence, experiments)

    return Outcome(
        found, told(evidence), report(scale, experiments, evidence, found), figures(evidence), pictures
    )


def told(evidence: Evidence) -> str:
    """What people are told before the claims."""
    known = list(evidence.workloads.values())
    parts = [workloads.table(known)] if known else []
    if any(point.workload == "Random" for point in evidence.results) or evidence.lanes:
        parts.append("Random is generated as it runs.")
    return "\n\n".join(parts)


def gather(
    experiments: Sequence[str], scale: str, out: Path, own: Path | None, tell: Tell | None = None,
    jobs: int | None = None,
) -> Evidence:  # fmt: skip
    """Makes the workloads ready and runs what is not there yet."""
    size = gcf.SCALES[scale]
    library = Library(out / "traces", size.ratio, own, gcf_hosts.shipped_places())
    points = dict.fromkeys(point for e in experiments for point in gcf.points(e))
    needed = {point.workload for point in points}
    ready: dict[str, Workload] = {}
    for wanted in WANTED:
        if wanted.name in needed:
            if tell is not None:
                tell.note(f"preparing {wanted.name}")
            if (workload := library.get(wanted)) is not None:
                ready[wanted.name] = workload
    absent = {wanted.name for wanted in WANTED} - set(ready)
    runs = {
        point: gcf.run_of(point, ready.get(point.workload), size)
        for point in points
        if point.workload not in absent
    }
    results = Grid(out / "runs").run(list(runs.values()), tell, jobs)
    lanes: dict[Point, list[gcf_lanes.Lane]] = {}
    if "timelines" in experiments:
        for point in (point for points in gcf.LANES.values() for point in points):
            if tell is not None:
                tell.note(f"recording {point.label}")
            lanes[point] = gcf_lanes.record(
                gcf.run_of(point, None, size), gcf.WINDOW_MS, out / "timelines", tell
            )
    return Evidence({point: results[run.label] for point, run in runs.items()}, ready, lanes)


def figures(evidence: Evidence) -> dict[str, Any]:
    """The figures of every run."""
    rows = []
    for point, result in evidence.results.items():
        values = {name: of(result.summary) for name, of in gcf.FIGURES.items()}
        cost = {key: result.summary["run"][key] for key in ("wall_s", "cpu_s")}
        policy = result.summary["policy"]
        rows.append({**point._asdict(), **values, "policy": policy, **cost})
    lanes = [
        {**point._asdict(), "from_ms": start, "length_ms": length,
         "channels": [{part: lane.share(part, length) for part in gcf_lanes.PARTS} for lane in found]}
        for point, start, length, found in _windows(evidence)
    ]  # fmt: skip
    return {"schema": "ftlab.reproduction/1", "paper": gcf.PAPER, "runs": rows, "timelines": lanes}


def _windows(evidence: Evidence) -> list[tuple[Point, float, float, Sequence[gcf_lanes.Lane]]]:
    """What is drawn of timelines: of which run, from when on and how long in ms of simulated time, and the lanes."""
    if not evidence.lanes:
        return []
    first, last = gcf.WINDOW_MS
    drawn = [(point, first, last - first, found) for point, found in evidence.lanes.items()]
    for mapping in gcf.LANES:
        start, moments = evidence.moment(mapping)
        drawn += [(point, first + start, gcf.MOMENT_MS, found) for point, found in moments.items()]
    return drawn


def report(scale: str, experiments: Sequence[str], evidence: Evidence, found: Sequence[claims.Claim]) -> str:
    """Workloads, claims and every figure as a Markdown page."""
    known = list(evidence.workloads.values())
    lines = [f"# GC forwarding, scale {scale}", ""]
    if known:
        lines += ["## Workloads", "", "```", workloads.table(known), "```", ""]
        lines += [f"- {workload.name}: {_origin(workload)}" for workload in known]
        lines.append("")
    whole = len(experiments) == len(gcf.EXPERIMENTS)
    judged = [claim for claim in found if whole or claim.verdict != "not-run"]
    lines += ["## Claims", "", *claims.markdown(judged)]
    for experiment in experiments:
        lines += ["", *TABLES[experiment](evidence)]
    return "\n".join(lines) + "\n"


def _origin(workload: Workload) -> str:
    if workload.name == gcf_hosts.ONE_CHANNEL.name:
        return "generated; nine writes in ten go to the first of eight channels"
    if workload.kind == "generated":
        return "generated to the figures of Table 2"
    return f"writes of {workload.origin}"


def _kind(evidence: Evidence, name: str) -> str:
    workload = evidence.workloads.get(name)
    return f"{name} ({'generated' if workload is None else workload.kind})"


def _iops(evidence: Evidence, point: Point) -> str:
    return text.figure(evidence.figure(point, "iops")) if point in evidence.results else text.ABSENT


def _percent(evidence: Evidence, point: Point, part: str) -> str:
    return f"{100 * evidence.figure(point, part):.1f} %" if point in evidence.results else text.ABSENT


def _figure3(evidence: Evidence) -> list[str]:
    flushed, pages = gcf.dirty_pages(evidence.results[gcf.FIGURE3])
    rows = [
        [str(i), f"{column.mean():.0f}", f"{column.max():.0f}", f"{100 * (column < 1).mean():.1f} %"]
        for i, column in enumerate(pages.T)
    ]
    lines = text.markdown_table(
        "Figure 3: dirty pages by channel, FI, 2,048 pages of buffer", ["channel", "mean", "largest", "dry"], rows
    )  # fmt: skip
    return [*lines, "", f"{text.count(flushed[-1])} pages were flushed in {len(pages)} intervals."]


def _figure8(evidence: Evidence) -> list[str]:
    rows = [
        [f"{m}, {_kind(evidence, w)}", s, *(_iops(evidence, Point(w, s, m, c)) for c in CHANNELS)]
        for m in MAPPINGS for w in WORKLOADS for s in SCHEMES
    ]  # fmt: skip
    head = ["mapping, workload", "channels are", *(f"{c} channel{'s' * (c > 1)}" for c in CHANNELS)]
    return text.markdown_table("Figure 8: IOPS by channels, 32 KiB of buffer", head, rows)


def _figure9(evidence: Evidence) -> list[str]:
    names = [*WORKLOADS, *(name for name in gcf.CAPTURED_NAMES if name in evidence.workloads)]
    rows = []
    for m in MAPPINGS:
        for name in names:
            for s in SCHEMES:
                point = Point(name, s, m)
                cells = [_percent(evidence, point, part) for part in ("host", "gc", "idle")]
                waf = f"{evidence.figure(point, 'waf'):.2f}"
                forward = f"{evidence.figure(point, 'forward'):,.0f} of {evidence.figure(point, 'collections'):,.0f}"
                rows.append(
                    [f"{m}, {_kind(evidence, name)}", s, *cells, _iops(evidence, point), waf, forward]
                )
    head = ["mapping, workload", "channels are", "host", "GC", "idle", "IOPS", "WAF", "forward collections"]
    return text.markdown_table("Figure 9: channel time, 8 channels, 32 KiB of buffer", head, rows)


def _figure10(evidence: Evidence) -> list[str]:
    rows = [
        [
            f"{m}, {_kind(evidence, w)}",
            s,
            *(_iops(evidence, Point(w, s, m, 8, 2, size)) for size in BUFFERS_KIB),
        ]
        for m in MAPPINGS
        for w in WORKLOADS
        for s in SCHEMES
    ]
    sizes = [f"{size} KiB" if size < 1024 else f"{size // 1024} MiB" for size in BUFFERS_KIB]
    return text.markdown_table(
        "Figure 10: IOPS by buffer, 8 channels x 2 planes", ["mapping, workload", "channels are", *sizes], rows
    )  # fmt: skip


def _table3(evidence: Evidence) -> list[str]:
    rows = []
    for (scheme, workload), published in TABLE3.items():
        for setting in gcf.table3_settings(workload):
            point = gcf.table3_point(scheme, workload, setting)
            if point not in evidence.results:
                continue
            found = evidence.figure(point, "iops")
            rows.append([
                f"{scheme}, {point.buffer_kib} KiB, {_kind(evidence, workload)}",
                READINGS[setting].words or "settled on", str(published), str(TABLE3_SSD[scheme, workload]),
                text.figure(found), f"{100 * (found / published - 1):+.0f} %",
            ])  # fmt: skip
    head = ["scheme, buffer, workload", "reading", "published", "real SSD", "IOPS", "apart"]
    return text.markdown_table("Table 3: four channels, FAST", head, rows)


def _readings(evidence: Evidence) -> list[str]:
    rows = []
    for name in gcf.READING_NAMES:
        for workload in dict.fromkeys(point.workload for point in gcf.reading_points(name)):
            cells = []
            for scheme in SCHEMES:
                point = Point(workload, scheme, setting=name)
                idle = _percent(evidence, point, "idle")
                cells.append(
                    f"{_iops(evidence, point)} (idle {idle})" if point in evidence.results else text.ABSENT
                )
            rows.append([f"{READINGS[name].words or 'settled on'}: {_kind(evidence, workload)}", *cells])
    return text.markdown_table(
        "Readings: IOPS, 8 channels, FAST, 32 KiB of buffer", ["reading", *SCHEMES], rows
    )


def _pathological(evidence: Evidence) -> list[str]:
    rows = []
    for point in gcf.points("pathological"):
        erases = gcf.erases_by_channel(evidence.results[point])
        rows.append([
            ", ".join(filter(None, (point.scheme, READINGS[point.setting].words))), _iops(evidence, point),
            f"{erases[0]:,.0f}", f"{erases[1:].sum():,.0f}", f"{evidence.figure(point, 'waf'):.2f}",
        ])  # fmt: skip
    head = ["scheme", "IOPS", "erases of the first channel", "of the seven others", "WAF"]
    return text.markdown_table("N_s: nine writes in ten go to one channel", head, rows)


def _timelines(evidence: Evidence) -> list[str]:
    rows = []
    for point, start, length, lanes in _windows(evidence):
        shares = [float(np.mean([lane.share(part, length) for lane in lanes])) for part in gcf_lanes.PARTS]
        cells = [f"{100 * x:.1f} %" for x in (*shares, 1 - sum(shares))]
        rows.append([f"{point.scheme}, {point.mapping}", f"{start:,.0f}", f"{length:,.0f}", *cells])
    head = ["scheme, mapping", "from (ms)", "length (ms)", "host", "map", "GC", "idle"]
    return text.markdown_table("Timelines of Random, 8 channels", head, rows)


TABLES: Mapping[str, Callable[[Evidence], list[str]]] = {
    "fig3": _figure3,
    "fig8": _figure8,
    "fig9": _figure9,
    "fig10": _figure10,
    "table3": _table3,
    "readings": _readings,
    "pathological": _pathological,
    "timelines": _timelines,
}

PAPER = Paper(gcf.PAPER, tuple(gcf.SCALES), gcf.EXPERIMENTS, gcf_claims.STATEMENTS, PICTURES, reproduce)
