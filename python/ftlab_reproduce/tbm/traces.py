"""The TBM paper's seven workloads, made to its Table 1, and others beside them."""

from __future__ import annotations

from dataclasses import replace

from ftlab_reproduce.synthesis import TraceModel
from ftlab_reproduce.workloads import Wanted


def _wanted(files: str, description: str, **model: float | int | str) -> Wanted:
    made = TraceModel(**model, sources=description)  # type: ignore[arg-type]
    table = {
        "write_fraction": made.write_fraction,
        "read_kib": made.read_kib,
        "write_kib": made.write_kib,
        "inter_arrival_ms": made.inter_arrival_ms,
    }
    return Wanted(made.name, files, table, made)


# Table 1's "Req. Size" is read / write: the public Postmark trace has 98.8 KiB reads and 833.0 KiB writes at 17 %
# writes, and the whole of Financial1 has 2.3 and 3.8.
SPACE_GIB = 240.0
"""The addresses of made traces lie anywhere in the drive. How much of it they fill follows from the requests of a pass
and their locality: all of them fill a small part, as a pass of the originals writes far less than 240 GB. See
docs/papers/tbm.md for why not less.
"""

WORKLOADS = (
    _wanted(
        r"tpc[-_]?e.*",
        "84 minutes of TPC-E; at 0.3 ms a pass has about 17 million requests and writes 11 GB; 8 KiB database pages",
        name="tpce", write_fraction=0.08, read_kib=8.0, write_kib=8.4, inter_arrival_ms=0.3,
        requests=16_800_000, space_gib=SPACE_GIB, zipf=0.6, sequential=0.02, lattice_kib=8.0, burst=1.0,
    ),
    _wanted(
        r"(msr[-_])?prn[-_]?0(\.csv)?",
        "MSR Cambridge, 7 days: 5.6 million requests over about 15 GiB; small writes, most to few places",
        name="prn-0", write_fraction=0.89, read_kib=22.9, write_kib=9.7, inter_arrival_ms=108.3,
        requests=5_590_000, space_gib=SPACE_GIB, zipf=0.9, sequential=0.2, lattice_kib=0.5, burst=8.0,
    ),
    _wanted(
        r"(msr[-_])?prn[-_]?1(\.csv)?",
        "MSR Cambridge, 7 days: 11.2 million requests over about 77 GiB, most of it read once; what is written is less",
        name="prn-1", write_fraction=0.25, read_kib=22.5, write_kib=11.7, inter_arrival_ms=53.8,
        requests=11_230_000, space_gib=SPACE_GIB, zipf=0.8, sequential=0.35, lattice_kib=0.5, burst=8.0,
    ),
    _wanted(
        r"exch.*",
        "Exchange 2007, 24 hours; at 1.1 ms 20 million requests are the first six; 8 KiB database pages",
        name="exch", write_fraction=0.72, read_kib=16.8, write_kib=15.9, inter_arrival_ms=1.1,
        requests=20_000_000, space_gib=SPACE_GIB, zipf=0.6, sequential=0.1, lattice_kib=8.0, burst=4.0,
    ),
    _wanted(
        r"fin(ancial)?[-_]?1(\.spc)?",
        "UMass Financial1, 12 hours: 5.3 million requests on 24 units; about 1 GiB of data, few places very hot",
        name="fin1", write_fraction=0.77, read_kib=2.3, write_kib=3.8, inter_arrival_ms=8.2,
        requests=5_330_000, space_gib=SPACE_GIB, zipf=1.0, sequential=0.1, lattice_kib=0.5, burst=4.0,
    ),
    _wanted(
        r"(msr[-_])?pro?j[-_]?0(\.csv)?",
        "MSR Cambridge, 7 days: 4.2 million requests, 144 GB written to about 3 GiB",
        name="prj-0", write_fraction=0.88, read_kib=17.9, write_kib=40.9, inter_arrival_ms=143.2,
        requests=4_220_000, space_gib=SPACE_GIB, zipf=0.9, sequential=0.25, lattice_kib=0.5, burst=8.0,
    ),
    _wanted(
        r"post(mark)?([-_].*)?(\.trace)?",
        "the public trace has 62 257 requests and 5.8 GiB of data; files are written whole, in sequence",
        name="post", write_fraction=0.17, read_kib=98.8, write_kib=833.0, inter_arrival_ms=6.9,
        requests=62_257, space_gib=SPACE_GIB, zipf=0.2, sequential=0.5, lattice_kib=4.0, burst=4.0, spread=0.4,
    ),
)  # fmt: skip
"""The paper's seven workloads, in the order of its Table 1."""

EXTRAS = (
    Wanted("fin1 excerpt", r"umass-financial1-10k\.ascii", {}, is_paper=False, whole=True),
    Wanted("dtrs excerpt", r"snia-msps-dtrs-300s\.trace", {}, is_paper=False, whole=True),
)
"""Real traces that are not the paper's: rows of their own, in no claim."""

SERIES_WORKLOAD = "prj-0"
"""The workload of Figures 2 and 6."""

DATA_GIB = (3.0, 12.0, 24.0, 60.0)
"""Address spaces that the same requests are put into, to see what depends on how full the drive is."""


def _wanted_named(name: str) -> Wanted:
    return next(wanted for wanted in WORKLOADS if wanted.name == name)


def _in_less(wanted: Wanted, gib: float) -> Wanted:
    assert isinstance(wanted.model, TraceModel)
    name = f"{wanted.name} in {gib:g} GiB"
    model = replace(wanted.model, name=name, space_gib=gib)
    return Wanted(name, "", wanted.table, model, is_paper=False)


def _longer(wanted: Wanted, times: int) -> Wanted:
    """A pass with so many times the requests, which write to more places."""
    assert isinstance(wanted.model, TraceModel)
    name = f"{wanted.name} x {times}"
    model = replace(wanted.model, name=name, requests=times * wanted.model.requests)
    return Wanted(name, "", wanted.table, model, is_paper=False)


def _sized(wanted: Wanted, name: str, **sizes: float) -> Wanted:
    """Other sizes of requests than the table's."""
    assert isinstance(wanted.model, TraceModel)
    model = replace(wanted.model, name=f"{wanted.name}, {name}", **sizes)  # type: ignore[arg-type]
    table = {**wanted.table, "read_kib": model.read_kib, "write_kib": model.write_kib}
    return Wanted(model.name, "", table, model, is_paper=False)


_POST = _wanted_named("post")

_LESS = tuple(_in_less(_wanted_named(SERIES_WORKLOAD), gib) for gib in DATA_GIB)
_LONGER = {
    name: _longer(_wanted_named(name), times) for name, times in (("prn-0", 4), ("prn-1", 8), ("fin1", 8))
}

_SERIES = _wanted_named(SERIES_WORKLOAD)
_SIZED = (
    *(_sized(_SERIES, f"writes of {kib} KiB", write_kib=float(kib)) for kib in (24, 16, 12, 8)),
    *(_sized(_SERIES, f"spread {spread:g}", spread=spread) for spread in (1.2, 1.6, 2.0)),
)

VARIANTS = (
    *_LESS,
    *_SIZED,
    *_LONGER.values(),
    Wanted("post whole", _POST.files, _POST.table, is_paper=False, ratio=1.0),
)
"""Figure 2's workload with less data, and those that move pages only with more."""

DATA_NAMES = tuple(wanted.name for wanted in _LESS)
LEAST_DATA = DATA_NAMES[0]
"""Every page is rewritten long before its block is collected: no collection moves a page."""

SIZED_NAMES = tuple(wanted.name for wanted in _SIZED)
"""Figure 2's workload with smaller writes, and with sizes that are more unlike: experiments, in no claim."""

LOSING = ("prn-1", "fin1")
"""The workloads on which the paper reports a loss."""

LONGER_NAMES = {name: _LONGER[name].name for name in LOSING}
MOVING_NAMES = (*(wanted.name for wanted in _LONGER.values()), VARIANTS[-1].name)
"""Workloads with so much data that collections move pages, beside those of the paper that do."""

PAPER_NAMES = tuple(wanted.name for wanted in WORKLOADS)
EXTRA_NAMES = tuple(wanted.name for wanted in EXTRAS)
