"""Runs the engine where latencies and bandwidths follow from the datasheet, and writes down both figures.

The second half of :mod:`evidence.closed_forms`: every operation on an idle device, to the nanosecond, and
the saturated bandwidth of channels, dies and the controller's DRAM. The formulas are those of
``docs/time.md``; they know nothing of the simulator.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidence import report

TOLERANCE = 0.01
"""Largest difference of a bandwidth, as a fraction: a run begins and ends with some resources idle."""

BLOCKS = 64
"""Blocks of a plane, and pages per block: enough for the runs to last."""
PAGES = 192


@dataclass(frozen=True, slots=True)
class Flash:
    """A flash device as its datasheet has it; times in nanoseconds."""

    name: str
    """The preset that has these times."""
    cell: str
    page_bytes: int
    planes: int
    """Planes of a die."""
    read_ns: tuple[int, ...]
    """By page type, LSB first."""
    program_ns: tuple[int, ...]
    """By page type, LSB first."""
    erase_ns: int
    channel_bytes_per_s: int
    command_ns: int
    dram_bytes_per_s: int | None
    ecc_ns: int

    @property
    def bus_ns(self) -> int:
        """A page on the channel."""
        return -(-self.page_bytes * 10**9 // self.channel_bytes_per_s)

    @property
    def dram_ns(self) -> int:
        """A page through the controller's DRAM; 0 without a limit."""
        return -(-self.page_bytes * 10**9 // self.dram_bytes_per_s) if self.dram_bytes_per_s else 0

    def read(self, kind: int, planes: int = 1) -> int:
        """How long a read of one page of each of `planes` planes holds its die; without the correction."""
        return planes * self.command_ns + self.read_ns[kind] + planes * max(self.bus_ns, self.dram_ns)

    def program(self, kind: int, planes: int = 1) -> int:
        """How long a program holds its die."""
        data = max(planes * (self.command_ns + self.bus_ns), planes * self.dram_ns)
        return data + self.program_ns[kind]

    def config(self, *, channels: int = 1, dies: int = 1, planes: int = 1, **device: Any) -> dict[str, Any]:
        """A device of `dies` dies on each of `channels` channels, with no spare policy in the way."""
        return {
            "device": {
                "channels": channels,
                "chips_per_channel": dies,
                "dies_per_chip": 1,
                "planes_per_die": planes,
                "blocks_per_plane": BLOCKS,
                "pages_per_block": PAGES,
                "page_size": self.page_bytes,
                "cell": self.cell,
                "program_order": "consecutive",
                "multiplane": "pac",
                "over_provisioning": 0.25,
                "timing": {
                    "read": [f"{ns}ns" for ns in self.read_ns],
                    "program": [f"{ns}ns" for ns in self.program_ns],
                    "erase": f"{self.erase_ns}ns",
                    "channel_rate": f"{self.channel_bytes_per_s // 10**6}MT/s",
                    "command_overhead": f"{self.command_ns}ns",
                    "dram_bandwidth": f"{self.dram_bytes_per_s // 10**6}MB/s"
                    if self.dram_bytes_per_s
                    else "off",
                    "ecc_latency": f"{self.ecc_ns}ns",
                },
                **device,
            },
            "ftl": {"allocation": "CWDP", "scheduler": "fifo"},
            "run": {"executor": "timed"},
        }


TBM = Flash("tbm", "mlc", 8192, 2, (75_000,) * 2, (1_600_000,) * 2, 5_000_000, 200_000_000, 0, None, 0)
STACK = Flash(
    "stack", "tlc", 16384, 4, (50_000, 60_000, 75_000), (400_000, 600_000, 800_000), 3_500_000,
    1_600_000_000, 300, 12_800_000_000, 2_000,
)  # fmt: skip

PAGE_TYPES = ("LSB", "CSB", "MSB")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure by formula and by measurement."""

    what: str
    formula: str
    expected: float
    measured: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Whether the two are within the tolerance."""
        return abs(self.measured - self.expected) <= self.tolerance * self.expected


def _replay(config: dict[str, Any], rows: Iterable[tuple[int, str, float, float]], page_bytes: int) -> Any:
    """Replays time (ns), type, offset and size (pages; fractions are parts of one) at their times."""
    import ftlab

    with tempfile.TemporaryDirectory() as directory:
        trace = Path(directory, "one.csv")
        lines = (
            f"{128_166_372_000_000_000 + at // 100},test,0,{kind},{int(offset * page_bytes)},"
            f"{int(size * page_bytes)},0\n"
            for at, kind, offset, size in rows
        )
        trace.write_text("".join(lines), encoding="ascii")
        host = {"replay": "open", "queue_depth": 64}
        return ftlab.run({**config, "host": host, "workload": {"trace": trace}}).summary


def _nanoseconds(summary: Any, kind: str) -> int:
    latency_us: float = summary["host"][f"{kind}_latency_us"]["max"]
    return round(1000 * latency_us)


def _aged(config: dict[str, Any], pages: int, page_bytes: int) -> dict[str, Any]:
    """As `config`, after its first `pages` pages were written in order."""
    aging = {"sequential": pages * page_bytes} if pages else "none"
    return {**config, "run": {**config["run"], "precondition": aging}}


def latencies(flash: Flash) -> list[Figure]:
    """Every operation on an idle device."""
    size = flash.page_bytes
    figures: list[Figure] = []

    def one(
        what: str, formula: str, expected: int, config: Any, kind: str, offset: float, pages: float
    ) -> None:
        summary = _replay(config, [(0, kind, offset, pages)], size)
        measured = _nanoseconds(summary, kind.lower())
        figures.append(Figure(what, formula, expected, measured, 0.0))

    read, program = "c + tR + b + e", "max(c + b, m) + tPROG"
    types = PAGE_TYPES if len(flash.read_ns) == 3 else ("LSB", "MSB")
    single = flash.config()
    for kind, name in enumerate(types):
        aged = _aged(single, len(types), size)
        one(f"read, {name} page", read, flash.read(kind) + flash.ecc_ns, aged, "Read", kind, 1)
    for kind, name in enumerate(types):
        aged = _aged(single, kind, size)
        one(f"program, {name} page", program, flash.program(kind), aged, "Write", 0, 1)
    n = flash.planes
    planes = flash.config(planes=n)
    expected = flash.read(0, n) + flash.ecc_ns
    one(f"read, {n} planes", "n c + tR + n b + e", expected, _aged(planes, n, size), "Read", 0, n)
    one(f"program, {n} planes", "max(n (c + b), n m) + tPROG", flash.program(0, n), planes, "Write", 0, n)
    expected = flash.read(0) + flash.ecc_ns + flash.program(1)
    formula = f"{read} + {program}"
    one(
        "write of half a page (read, then program)",
        formula,
        expected,
        _aged(single, 1, size),
        "Write",
        0,
        0.5,
    )
    figures.append(_collection(flash))
    return figures


def _collection(flash: Flash) -> Figure:
    """A write that arrives just after the one that began a collection of a block with 3 valid pages."""
    # One page type, so that every program takes the same time.
    flash = dataclasses.replace(flash, cell="slc", read_ns=flash.read_ns[:1], program_ns=flash.program_ns[:1])
    cold, block = 3, 12
    config = flash.config(
        blocks_per_plane=4, pages_per_block=block, user_capacity=(cold + block) * flash.page_bytes
    )
    del config["device"]["over_provisioning"]
    config["ftl"] |= {"victim": "fifo", "gc_schedule": {"threshold": {"free_blocks": 1}}}
    second = 10**9
    offsets = [i if i < cold else cold + (i - cold) % block for i in range(3 * block)]
    rows = [(i * second, "Write", offset, 1) for i, offset in enumerate(offsets)]
    rows.append(((3 * block - 1) * second + 100, "Write", cold, 1))
    measured = _nanoseconds(_replay(config, rows, flash.page_bytes), "write")
    program = flash.program(0)
    copy = flash.read(0) + flash.ecc_ns + program
    expected = program + cold * copy + flash.command_ns + flash.erase_ns + program - 100
    formula = "two programs, 3 × (read + e + program), c + tERASE, less the 0.1 µs between the arrivals"
    return Figure(
        "write that waits for a collection of 3 pages (one page type)", formula, expected, measured, 0.0
    )


def _bandwidth(config: dict[str, Any], reads: bool, requests: int) -> float:
    """Bytes per second of a closed loop of single pages in address order."""
    import ftlab

    page = config["device"]["page_size"]
    run = {**config["run"], "precondition": {"sequential": requests * page} if reads else "none"}
    workload = {
        "generator": "sequential",
        "request_size": page,
        "read_fraction": 1.0 if reads else 0.0,
        "footprint": requests * page,
        "requests": requests,
    }
    loop = {"replay": "closed", "queue_depth": 256}
    summary = ftlab.run({**config, "host": loop, "workload": workload, "run": run}).summary
    assert summary["flash"]["block_erases"] == 0, "a run without collections"
    return float(1e6 * summary["host"]["throughput_mb_s"])


def bandwidths(flash: Flash) -> list[Figure]:
    """Saturated resources."""
    # One page type, so that dies stay in step and the formula has one term.
    flash = dataclasses.replace(
        flash, cell="slc", read_ns=flash.read_ns[-1:], program_ns=flash.program_ns[-1:]
    )
    figures: list[Figure] = []
    n, b, c = flash.planes, flash.bus_ns, flash.command_ns

    def one(what: str, formula: str, pages: int, ns: float, config: Any, reads: bool, requests: int) -> None:
        expected = pages * flash.page_bytes * 1e9 / ns
        figures.append(Figure(what, formula, expected, _bandwidth(config, reads, requests), TOLERANCE))

    die = flash.config()
    one("a die, programs", "1 / (max(c + b, m) + tPROG)", 1, flash.program(0), die, False, 4000)
    one("a die, reads", "1 / (c + tR + b)", 1, flash.read(0), die, True, 8000)
    die = flash.config(planes=n)
    one(f"a die, programs of {n} planes", "n / (max(n (c + b), n m) + tPROG)", n, flash.program(0, n), die,
        False, 4000 * n)  # fmt: skip
    one(f"a die, reads of {n} planes", "n / (n c + tR + n b)", n, flash.read(0, n), die, True, 8000 * n)
    # So many dies that they could keep twice the channel busy.
    dies = 2 * -(-flash.program(0) // (b + c))
    channel = flash.config(dies=dies, blocks_per_plane=16)
    one(f"a channel of {dies} dies, programs", "1 / (c + b)", 1, b + c, channel, False, 40_000)
    dies = 16
    channel = flash.config(dies=dies)
    one(f"a channel of {dies} dies, reads", "1 / (c + b)", 1, b + c, channel, True, 40_000)
    limited = dataclasses.replace(flash, dram_bytes_per_s=2 * flash.channel_bytes_per_s, command_ns=0)
    config = limited.config(channels=4, dies=16)
    one(
        "four channels through DRAM of half their rate, reads",
        "1 / m",
        1,
        limited.dram_ns,
        config,
        True,
        80_000,
    )
    return figures


def markdown(figures: Sequence[tuple[Flash, list[Figure], list[Figure]]]) -> str:
    """The page of the evidence."""
    everything = [f for _, latency, bandwidth in figures for f in (*latency, *bandwidth)]
    agreeing = sum(f.agrees for f in everything)
    lines = [
        "# Latency and bandwidth against formulas",
        "",
        "Latencies are of single requests on an idle device and have to equal their "
        f"formula to the nanosecond; bandwidths are of closed loops and have to equal it to {TOLERANCE:.0%}. "
        "The tests of the device check many more combinations (`crates/device/tests/timing.rs`).",
        "",
        f"**{agreeing} of {len(everything)} figures agree.**",
        "",
        "c: command and address cycles; tR, tPROG, tERASE: the array; b: a page on the channel, for reads the "
        "longer of that and m; m: a page through the controller's DRAM; e: correction; n: planes of a command.",
    ]
    for flash, latency, bandwidth in figures:
        lines += ["", f"## Times of the preset `{flash.name}`", ""]
        lines += [
            "| operation on an idle device | formula | by formula (ns) | measured (ns) |",
            "|---|---|--:|--:|",
        ]
        lines += [
            f"| {f.what} | {f.formula} | {f.expected:,.0f} | {_mark(f, f'{f.measured:,.0f}')} |"
            for f in latency
        ]
        lines += [
            "",
            "| saturated resource | formula, pages | by formula (MB/s) | measured (MB/s) | difference |",
        ]
        lines += ["|---|---|--:|--:|--:|"]
        lines += [
            f"| {f.what} | {f.formula} | {f.expected / 1e6:,.2f} | {f.measured / 1e6:,.2f} | "
            f"{_mark(f, f'{f.measured / f.expected - 1:+.2%}')} |"
            for f in bandwidth
        ]
    return "\n".join(lines) + "\n"


def _mark(figure: Figure, text: str) -> str:
    return text if figure.agrees else f"**{text}**"


def latency_bandwidth(out: Path, command: str) -> list[Figure]:
    """Measures both devices and keeps ``latency-bandwidth.json`` in `out`."""
    figures = [(flash, latencies(flash), bandwidths(flash)) for flash in (TBM, STACK)]
    report.write(out / "latency-bandwidth.json", markdown(figures), command)
    return [f for _, latency, bandwidth in figures for f in (*latency, *bandwidth)]
