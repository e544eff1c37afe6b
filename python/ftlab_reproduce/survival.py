"""Which protection of paired pages survives which fault: tried at every operation, not argued."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ftlab import _core
from ftlab.api.runner import in_threads
from ftlab.results import text

Trouble = Literal["program-failure", "power-cut", "second-cut"]

TROUBLES: dict[Trouble, str] = {
    "program-failure": "program failure",
    "power-cut": "power cut",
    "second-cut": "two power cuts",
}
"""What goes wrong: a program fails; the power is cut; and is cut again while the device recovers."""

CELLS: dict[str, tuple[str, str]] = {
    "MLC consecutive": ("mlc", "consecutive"),
    "MLC shadow": ("mlc", "shadow"),
    "TLC consecutive": ("tlc", "consecutive"),
    "TLC shadow": ("tlc", "shadow"),
}

PROTECTIONS: dict[str, dict[str, Any]] = {
    "none": {"paired_page": "none"},
    "page buffer": {"paired_page": "page-buffer"},
    "supercap": {"paired_page": "supercap"},
    "SLC buffer": {"paired_page": {"slc-buffer": {"blocks": 2}}},
    "LSB backup": {"paired_page": "lsb-backup"},
    "parity backup": {"paired_page": "parity-backup"},
    "GCMix": {"paired_page": {"gcmix": {"high": 6}}},
    "GCMix on DAC": {"paired_page": {"gcmix": {"high": 6}}, "separation": {"dac": {"regions": 3}}},
    "GCMix, victim erased at once": {"paired_page": {"gcmix": {"high": 6, "hold": False}}},
}

_NOWHERE = "takes the lower pages of its wordline along, and they are nowhere else"
_EARLY = "the originals of the lower pages were erased with the victim before the upper pages were programmed"

REASONS: dict[tuple[str, Trouble], str] = {
    ("none", "program-failure"): f"the failed program {_NOWHERE}",
    ("none", "power-cut"): f"the interrupted program {_NOWHERE}",
    (
        "page buffer",
        "power-cut",
    ): "the copies of the lower pages are in volatile memory and go with the power",
    ("supercap", "program-failure"): f"a program that fails with all the power it needs {_NOWHERE}",
    ("GCMix, victim erased at once", "program-failure"): _EARLY,
    ("GCMix, victim erased at once", "power-cut"): _EARLY,
}
"""Why a protection loses data; a second cut adds nothing to the reason of the first."""

EXPECTED: dict[tuple[str, Trouble], bool] = {
    **{("none", trouble): False for trouble in TROUBLES},
    ("page buffer", "program-failure"): True,
    ("page buffer", "power-cut"): False,
    ("page buffer", "second-cut"): False,
    ("supercap", "program-failure"): False,
    ("supercap", "power-cut"): True,
    ("supercap", "second-cut"): True,
    **{
        (protection, trouble): True
        for protection in ("SLC buffer", "LSB backup", "parity backup", "GCMix", "GCMix on DAC")
        for trouble in TROUBLES
    },
}
"""What sections 3 and 4 of the paper argue: whether the data survive."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One cell of the matrix."""

    protection: str
    cell: str
    trouble: Trouble
    runs: int
    """Lives with a fault."""
    losing: int
    """Those in which acknowledged data were lost."""
    restarts: int
    rescued: int
    """Pages that recovery brought back from backups."""
    first: dict[str, Any] | None
    """The first loss: seed, operation, logical page, the version that was durable and the one found."""

    @property
    def survives(self) -> bool:
        return self.losing == 0


@dataclass(frozen=True, slots=True)
class Effort:
    """How thoroughly it is tried."""

    seeds: int
    """Lives of a device of 20 blocks."""
    stride: int
    """Operations between two faults of one life; together the lives cover all."""
    large_seeds: int
    """Lives of a device of 2 planes of 256 blocks, with faults at operations drawn evenly."""
    large_stride: int


EFFORTS = {"quick": Effort(3, 3, 1, 2003), "paper": Effort(16, 1, 8, 499)}


def config(protection: str, cell: str, *, large: bool = False) -> dict[str, Any]:
    """The device of a cell: small blocks, so that collections and backups are frequent."""
    bits, order = CELLS[cell]
    pages, times = (8, ["50us", "100us"]) if bits == "mlc" else (9, ["50us", "70us", "100us"])
    timing = {"read": times, "program": times}
    size = (
        {"planes_per_die": 2, "blocks_per_plane": 256}
        if large
        else {"planes_per_die": 1, "blocks_per_plane": 20}
    )
    return {
        "preset": "gcmix-px",
        "device": {
            "channels": 1, "cell": bits, "program_order": order, "pages_per_block": pages,
            "over_provisioning": 1.5, "timing": timing, **size,
        },
        "ftl": {"gc_schedule": {"threshold": {"free_blocks": 3}}, **PROTECTIONS[protection]},
        "run": {"payload": "stamp", "precondition": "none"},
    }  # fmt: skip


def is_possible(protection: str, cell: str) -> bool:
    """Parity backup pairs the LSB pages of cells of two bits."""
    return protection != "parity backup" or cell.startswith("MLC")


def restart(ratio: float) -> dict[str, float]:
    """What a restart of the paper's device costs, of so many of its blocks, full and overwritten once."""
    sets = {
        "device": {
            "blocks_per_plane": round(4096 * ratio),
            "user_capacity": f"{round(24 * 1024 * ratio)}MiB",
        },
        "run": {"payload": "stamp", "precondition": {"random": "1x"}},
    }
    cost: dict[str, float] = json.loads(
        _core.restart_cost("json", json.dumps({"preset": "gcmix-pm", **sets}), [])
    )
    return cost


def restart_line(cost: dict[str, float] | Any) -> str:
    """The cost of a restart in a sentence."""
    return (
        f"A restart of the device, full and overwritten once, reads {int(cost['pages_read']):,} spare areas, "
        f"{cost['restart_s']:.3g} s of array reads on its 4 dies; {int(cost['spare_bytes_per_page'])} bytes of spare "
        f"area per page, {100 * cost['spare_share']:.2f} % of it ({cost['wall_s']:.2g} s here)."
    )


def matrix(
    scale: str, *, jobs: int | None = None, tell: Callable[[str], object] | None = None
) -> list[Trial]:
    """Tries every protection under every fault, on small devices and on larger ones."""
    effort = EFFORTS[scale]
    cases = [
        (protection, cell, trouble)
        for protection in PROTECTIONS
        for cell in CELLS
        if is_possible(protection, cell)
        for trouble in TROUBLES
    ]

    def attempt(case: tuple[str, str, Trouble], go_on: Callable[[], None]) -> Trial:
        trial = _attempt(*case, effort, go_on)
        if tell is not None:
            tell(f"{trial.protection}, {trial.cell}, {TROUBLES[trial.trouble]}: {_verdict(trial)}")
        return trial

    return in_threads(attempt, cases, jobs or os.cpu_count() or 1)


def _attempt(
    protection: str, cell: str, trouble: Trouble, effort: Effort, go_on: Callable[[], None]
) -> Trial:
    def tally(*, large: bool, seeds: int, stride: int) -> dict[str, Any]:
        source = json.dumps(config(protection, cell, large=large))
        result: dict[str, Any] = json.loads(
            _core.survival(
                "json", source, [], trouble, seeds=seeds, stride=stride, progress=lambda *_: go_on()
            )
        )
        return result

    small = tally(large=False, seeds=effort.seeds, stride=effort.stride)
    large = tally(large=True, seeds=effort.large_seeds, stride=effort.large_stride)
    return Trial(
        protection, cell, trouble,
        first=small["first"] or large["first"],
        **{key: small[key] + large[key] for key in ("runs", "losing", "restarts", "rescued")},
    )  # fmt: skip


def _verdict(trial: Trial) -> str:
    return f"survives {trial.runs:,}" if trial.survives else f"loses in {trial.losing:,} of {trial.runs:,}"


def table(trials: Sequence[Trial]) -> str:
    """The matrix as Markdown, and under it the reason of each loss."""
    by_case = {(trial.protection, trial.cell, trial.trouble): trial for trial in trials}
    lines = [
        "| protection | cell and program order | " + " | ".join(TROUBLES.values()) + " |",
        "|---|---|" + "---|" * len(TROUBLES),
    ]
    for protection in PROTECTIONS:
        for cell in CELLS:
            row = [by_case.get((protection, cell, trouble)) for trouble in TROUBLES]
            if any(row):
                lines.append(
                    f"| {protection} | {cell} | " + " | ".join(_verdict(t) if t else "-" for t in row) + " |"
                )
    reasons = [reason for protection in PROTECTIONS for reason in _reasons(protection, trials)]
    return "\n".join([*lines, "", *reasons])


def plain_table(trials: Sequence[Trial]) -> str:
    """The matrix for a terminal, and under it the reason of each loss."""
    by_case = {(trial.protection, trial.cell, trial.trouble): trial for trial in trials}
    rows = [["protection", "cell and program order", *TROUBLES.values()]]
    for protection in PROTECTIONS:
        for cell in CELLS:
            row = [by_case.get((protection, cell, trouble)) for trouble in TROUBLES]
            if any(row):
                rows.append([protection, cell, *(_verdict(trial) if trial else text.ABSENT for trial in row)])
    reasons = [reason for protection in PROTECTIONS for reason in _reasons(protection, trials)]
    listed = [textwrap.fill(reason, 110, subsequent_indent="  ") for reason in reasons]
    return text.columns(rows, align="<<<<<") + "\n\n" + "\n".join(listed)


def _reasons(protection: str, trials: Sequence[Trial]) -> Iterator[str]:
    for trouble in TROUBLES:
        lost = [t for t in trials if (t.protection, t.trouble) == (protection, trouble) and not t.survives]
        reason = REASONS.get((protection, trouble))
        if not lost or trouble == "second-cut":
            continue
        example = ""
        if (first := lost[0].first) is not None:
            found = f"version {first['found']}" if first["found"] else "nothing"
            example = (
                f" ({lost[0].cell}, seed {first['seed']}, operation {first['at']:,}: page {first['lpn']} read as "
                f"{found}, version {first['promised']} was durable)"
            )
        yield f"- {protection}, {TROUBLES[trouble]}: {reason or 'not foreseen'}{example}."
