"""GCMix: seven FTLs on Zipf and server workloads, from a device whose user space has been written once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ftlab_reproduce import survival
from ftlab_reproduce.gcmix import claims, drawing, tables
from ftlab_reproduce.gcmix.axes import (
    BARS,
    FAST,
    FTLS,
    MIXED,
    OMEGA_AGE,
    OMEGA_FTL,
    READINGS,
    SCALES,
    SLC_BUFFER,
    SLC_BUFFERED,
    TAUS,
    TRACES,
    UNIFORMS,
    WAYS,
    ZIPFS,
    Evidence,
    Point,
    Scale,
    sets,
    time_scale,
    under,
    varied,
    weight,
)
from ftlab_reproduce.gcmix.servers import CAPTURED, MODELS, SECOND, SERVERS, SWEPT, modelled, other, wanted
from ftlab_reproduce.study import Experiment, Study, Work, grid
from ftlab_reproduce.workloads import Wanted, Workload


def traces(scale: Scale) -> Sequence[Wanted]:
    """The servers, cut off at full scale, captured traces, and the servers as other models have them."""
    others = [
        other(server, model, scale.longest_mib)
        for model in MODELS for server in SERVERS if modelled(server.name, model) != server.name
    ]  # fmt: skip
    return [*(wanted(server, scale.longest_mib) for server in SERVERS), *CAPTURED, *others]


def origin(workload: Workload) -> str:
    """Where a trace comes from."""
    model = workload.name.partition(", ")[2]
    if model:
        return MODELS[model].words
    if workload.kind == "generated":
        return "generated to the figures of Table 3"
    return f"{workload.origin}; its times are multiplied by {time_scale(workload):g}"


def lives(work: Work) -> tuple[list[survival.Trial], dict[str, float]]:
    """Tries every protection, and restarts a device."""
    trials = survival.matrix(work.scale, jobs=work.jobs, tell=work.tell.note)
    return trials, survival.restart(work.study.scales[work.scale].ratio)


EXPERIMENTS = {
    "fig5": Experiment(
        "the distribution of ω on Zipf workloads",
        [Point(name, OMEGA_FTL, OMEGA_AGE) for name in ZIPFS],
        [tables.figure5], {"fig5": drawing.figure5},
    ),
    "readings": Experiment(
        "what ω, and WAF, depend on: rate, FTL, planes, filling, update blocks",
        [
            *(Point(name, ftl, setting) for ftl, setting in WAYS for name in ZIPFS),
            *(Point("EXCHANGE", ftl, FAST) for ftl in ("D", "DML")),
        ],
        [tables.readings_omega, tables.readings_waf, tables.readings_rate], {"readings": drawing.readings},
    ),
    "fig7": Experiment(
        "the distribution of ω on server workloads and captured traces",
        [Point(name, OMEGA_FTL) for name in TRACES],
        [tables.figure7], {"fig7": drawing.figure7},
    ),
    "fig8": Experiment(
        "WAF of the seven FTLs on Zipf workloads",
        grid(Point, ftl=FTLS, workload=ZIPFS),
        [tables.figure8], {"fig8": drawing.figure8},
    ),
    "fig9": Experiment(
        "WAF of the seven FTLs on server workloads and captured traces",
        grid(Point, workload=TRACES, ftl=FTLS),
        [drawing.FIGURE9.table], {"fig9": drawing.FIGURE9.picture},
    ),
    "fig10": Experiment(
        "erases of data and of backup blocks on the same",
        grid(Point, workload=TRACES, ftl=BARS),
        [drawing.FIGURE10.table], {"fig10": drawing.FIGURE10.picture},
    ),
    "fig11": Experiment(
        "the part of the host's pages that is paired on the same",
        grid(Point, workload=TRACES, ftl=MIXED),
        [drawing.FIGURE11.table], {"fig11": drawing.FIGURE11.picture},
    ),
    "fig12": Experiment(
        "time to process writes on the same, on a serial device",
        grid(Point, workload=TRACES, ftl=BARS, setting=["serial"]),
        [drawing.FIGURE12.table], {"fig12": drawing.FIGURE12.picture},
    ),
    "fig13": Experiment(
        "time to process reads, from the same runs",
        grid(Point, workload=TRACES, ftl=BARS, setting=["serial"]),
        [drawing.FIGURE13.table], {"fig13": drawing.FIGURE13.picture},
    ),
    "fig14": Experiment(
        "WAF and erases by storage utilisation",
        grid(Point, workload=UNIFORMS, ftl=("P", "DML")),
        [tables.figure14], {"fig14": drawing.figure14},
    ),
    "slc": Experiment(
        "WAF with SLC-mode buffer blocks in place of LSB backups",
        grid(Point, workload=ZIPFS, ftl=("P", SLC_BUFFER)),
        [tables.buffered],
    ),
    "servers": Experiment(
        "the servers' claims under a second model of them: runs of pages, and Exchange's hours of maintenance",
        [*under(""), *under(SECOND)],
        [tables.claims_by_model(["", SECOND]), tables.wafs_by_model(["", SECOND])],
    ),
    "models": Experiment(
        "the same under models in which one thing is varied: runs, what is touched, folding, quiet seconds, reads",
        [*under(""), *(point for model in SWEPT for point in varied(model))],
        [tables.claims_by_model(SWEPT), tables.wafs_by_model(SWEPT), tables.adaptive_by_model(SWEPT)],
    ),
    "thresholds": Experiment(
        "DML on Zipf workloads with other thresholds τ",
        [
            *grid(Point, workload=ZIPFS, ftl=("D", "DM", "DML")),
            *grid(Point, workload=ZIPFS, ftl=["DML"], setting=[f"τ = {tau}" for tau in TAUS]),
        ],
        [tables.thresholds],
    ),
    "survival": Experiment(
        "which protection survives which fault: a fault at every operation of many short lives",
        [],
        [tables.lives], {"survival": drawing.lives}, lives,
    ),
}  # fmt: skip

STUDY = Study(
    name="gcmix",
    title="GCMix",
    scales=SCALES,
    experiments=EXPERIMENTS,
    statements=tuple(claims.statements()),
    preset=lambda point: f"gcmix-{'p' if point.ftl == SLC_BUFFER else point.ftl.lower()}",
    sets=sets,
    axes={
        "ftl": {**{ftl: {} for ftl in FTLS}, SLC_BUFFER: SLC_BUFFERED},
        "setting": READINGS,
    },
    weight=weight,
    traces=traces,
    places=(Path("../shared/traces/captured"), Path("traces")),
    origin=origin,
    evidence=Evidence,
)
