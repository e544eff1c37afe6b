"""Power cuts under file systems and databases on served drives.

``python -m evidence.torture --cuts 10000 --flushes 1000 --live 12 --out docs/evidence`` ages a small drive of each
class. fio writes to it; ext4, xfs and btrfs are made on it, and databases on ext4. Each load is recorded once, and the
power goes off again and again while it is replayed, and after its flushes (:mod:`evidence.recorded`). And it goes off
under the live load, which has to act on it. After each cut it looks (:mod:`evidence.torture_fio`,
:mod:`evidence.torture_filesystems`, :mod:`evidence.torture_databases`, :mod:`evidence.torture_rocksdb`). It keeps
``torture.json``, where rows of others stay that were measured before, and the exit code is 1 if a promise is broken.
"""

from __future__ import annotations

import argparse
import functools
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from evidence import (
    recorded,
    report,
    served,
    torture_databases,
    torture_filesystems,
    torture_fio,
    torture_rocksdb,
)
from evidence.recorded import Wanted
from ftlab.cli.usage import say


@dataclass(frozen=True)
class Oracle:
    """Somebody who writes to a drive, and knows what has to be there after a power cut."""

    name: str
    missing: Callable[[], str | None]
    torture: Callable[[Path, str, int, int], int]
    """Under a live load."""
    replay: Callable[[Path, str, Wanted], recorded.Cuts]
    """In a record of it."""
    unit: str
    """The unit of what was done."""
    share: tuple[float, float] = (1.0, 1.0)
    """Of the cuts that are asked for, in a record and live: databases take longer to start."""


ORACLES = [
    Oracle("fio", torture_fio.missing, torture_fio.torture, torture_fio.torture_recorded, "writes", (0.1, 1.0)),
    *(
        Oracle(
            kind.name, kind.missing, functools.partial(torture_filesystems.torture, kind),
            functools.partial(torture_filesystems.torture_recorded, kind), "bytes",
        )
        for kind in torture_filesystems.KINDS.values()
    ),
    Oracle(
        "SQLite", torture_databases.sqlite_missing, torture_databases.sqlite, torture_databases.sqlite_recorded,
        "transactions", (0.1, 1.0),
    ),
    Oracle(
        "RocksDB", torture_rocksdb.missing, torture_rocksdb.torture, torture_rocksdb.torture_recorded,
        "batches", (0.1, 1.0),
    ),
    Oracle(
        "PostgreSQL", torture_databases.postgres_missing, torture_databases.postgres,
        torture_databases.postgres_recorded, "transactions", (0.1, 0.2),
    ),
]  # fmt: skip
"""All of them."""


@dataclass(frozen=True)
class Tally:
    """The outcome of an oracle on a class of drives."""

    oracle: str
    drive: str
    cuts: int
    done: str
    seconds: float
    problem: str | None

    def row(self) -> str:
        """A row of the page."""
        verdict = "held" if self.problem is None else self.problem.replace("\n", " ")[:200]
        today = time.strftime("%Y-%m-%d")
        words = (self.oracle, self.drive, f"{self.cuts:,}", self.done, f"{self.seconds:,.0f}", today, verdict)
        return f"| {' | '.join(words)} |"


def _tallied(oracle: Oracle, drive: str, cuts: int, work: Callable[[Path], tuple[int, str]]) -> Tally:
    """The outcome of work in a directory, which is kept if a promise was broken."""
    began, place = time.monotonic(), Path(tempfile.mkdtemp(prefix="torture-"))
    problem, done = None, "-"
    try:
        cuts, done = work(place)
    except AssertionError as error:
        problem = str(error)
        say(f"kept for a look: {place}")
    else:
        shutil.rmtree(place)
    tally = Tally(oracle.name, drive, cuts, done, time.monotonic() - began, problem)
    say(tally.row())
    return tally


def tried(oracle: Oracle, drive: str, cuts: int, seed: int) -> Tally:
    """Tries an oracle's live load on a class of drives."""
    return _tallied(oracle, drive, cuts, lambda place: (
        cuts, f"{oracle.torture(place, served.CHOICES[drive], cuts, seed):,} {oracle.unit}"
    ))  # fmt: skip


def replayed(oracle: Oracle, drive: str, wanted: Wanted) -> Tally:
    """Tries a record of an oracle's load on a class of drives."""

    def work(place: Path) -> tuple[int, str]:
        made = oracle.replay(place, served.CHOICES[drive], wanted)
        lap = "" if wanted.at_flushes else f"{made.operations:,} | {made.laps:,} | "
        behind = "" if wanted.at_flushes else f"{made.behind:,} | "
        return made.cuts, f"{lap}{made.second:,} | {behind}{made.contents:,}"

    return _tallied(oracle, drive, wanted.cuts, work)


PAGE = """\
# Power cuts under file systems and databases

Aged drives were served over NBD; rows are of several days. For all but fio the drives were attached through FUSE and a
loop device. `volatile` and `protected` are their write buffers.

## Recorded loads

A load was recorded once, and replayed on a copy of the drive. The power went off at operations of the flash drawn at
random, the first after a restart, one of four, of fifty or of a twentieth of the load: before an operation or in its
middle, and in a fifth of the cuts once more in the restart.
After each cut the drive restarted by a scan. All that the load writes from the first cut on was compared with what may
be there, by map unit; after every 50th cut the whole drive was. fio found the checksums of what was flushed. File
systems were mounted, so that the kernel replayed the journal. Files that were fsynced had their digests; transactions
that were acknowledged and batches that were synced were there. Then came the file system's checker, and the
database's. After many a cut the drive holds what it held after another one. The same content is looked at once for
what has to be there, and so many *contents* were. *Second* are the cuts in restarts. *Behind* are the cuts that took
writes along which were not flushed.
*Operations* are those of the flash in a load without cuts, and a *lap* is a replay from its beginning. *Seconds* are
those of the clock, beside other rows and jobs.

It proves what a drive leaves behind. It does not prove that a file system goes on well: the recorded one did not see
the cut, and the drive was given the lost writes again.

| who | drive | cuts | operations | laps | second | behind | contents | seconds | date | promises |
|---|---|---|---|---|---|---|---|---|---|---|
{recorded}

## After each flush

In a record of the same kind the power went off as soon as a flush was acknowledged: after each, or after one of some,
in one lap. Then the drive has to hold what the record has up to there, no older state and no newer one. Restarts and
contents were as above.

| who | drive | flushes | second | contents | seconds | date | promises |
|---|---|---|---|---|---|---|---|
{flushed}

## Live loads

The server ended at an operation of the flash drawn at random, under the load or while a journal was replayed. Then the
drive was opened again and looked at in the same way, and the load went on.

| who | drive | cuts | done | seconds | date | promises |
|---|---|---|---|---|---|---|
{rows}
{skipped}"""


@dataclass
class Page:
    """The page, as far as it has come."""

    arguments: Sequence[str] | None
    options: argparse.Namespace
    recorded: list[Tally]
    flushed: list[Tally]
    live: list[Tally]
    skipped: list[str]

    def write(self) -> None:
        """Writes it, if it was asked for."""
        if self.options.out is None:
            return
        file = self.options.out / "torture.json"
        before = _rows_of(report.markdown(report.read(file)) if file.exists() else "")
        measured = (self.recorded, self.flushed, self.live)
        recorded, flushed, live = ("\n".join(_renewed(*rows)) for rows in zip(before, measured, strict=True))
        text = PAGE.format(
            skipped="\n" * bool(self.skipped) + "".join(self.skipped),
            recorded=recorded,
            flushed=flushed,
            rows=live,
        )
        report.write(file, text, report.command_of("torture", self.arguments))


HEADS = ("## After each flush", "## Live loads")
"""The heads of the page's second and third table."""


def _rows_of(page: str) -> list[list[str]]:
    """The rows that a page has of recorded loads, of their flushes, and of live loads."""
    first, _, rest = page.partition(HEADS[0])
    second, _, third = rest.partition(HEADS[1])
    return [
        [line for line in part.splitlines() if line.startswith("| ") and not line.startswith("| who ")]
        for part in (first, second, third)
    ]


def _renewed(before: list[str], measured: list[Tally]) -> list[str]:
    """Rows of a table in the order of the oracles, with those that were measured anew."""
    rows = {tuple(row.split(" | ")[:2]): row for row in [*before, *(tally.row() for tally in measured)]}
    order = [(f"| {oracle.name}", drive) for oracle in ORACLES for drive in served.CHOICES]
    return [rows[key] for key in order if key in rows]


def _oracles(page: Page) -> Sequence[Oracle]:
    """Those that can be tried here."""
    found = []
    for oracle in ORACLES:
        if page.options.only and oracle.name not in page.options.only:
            continue
        if reason := oracle.missing():
            page.skipped.append(f"Not tried: {oracle.name}, which {reason}.\n")
            say(page.skipped[-1].strip())
        else:
            found.append(oracle)
    return found


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cuts", type=int, default=200, help="cuts in the record of each file system on each class of drives"
    )
    parser.add_argument(
        "--flushes", type=int, default=50, help="of each record, after which the power goes off"
    )
    parser.add_argument("--live", type=int, default=12, help="cuts under live loads, likewise")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="an oracle's name; may be repeated")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="of each record on each class; fewer cuts then"
    )
    parser.add_argument("--jobs", type=int, default=2, help="records that are replayed side by side")
    parser.add_argument("--out", type=Path, help="the directory of `torture.json`")
    options = parser.parse_args(arguments)
    page = Page(arguments, options, [], [], [], [])
    oracles = [(oracle, drive) for oracle in _oracles(page) for drive in served.CHOICES]
    with ThreadPoolExecutor(options.jobs) as pool:
        futures: list[tuple[list[Tally], Future[Tally]]] = []
        for count, tallies in ((options.cuts, page.recorded), (options.flushes, page.flushed)):
            for oracle, drive in oracles if count > 0 else []:
                wanted = Wanted(
                    f"{oracle.name}, {drive}", max(1, round(count * oracle.share[0])), options.seed,
                    options.minutes * 60, at_flushes=tallies is page.flushed,
                )  # fmt: skip
                futures.append((tallies, pool.submit(replayed, oracle, drive, wanted)))
        for tallies, future in futures:
            tallies.append(future.result())
            page.write()
    for oracle, drive in oracles if options.live > 0 else []:
        page.live.append(tried(oracle, drive, max(1, round(options.live * oracle.share[1])), options.seed))
        page.write()
    return int(any(tally.problem is not None for tally in page.recorded + page.flushed + page.live))


if __name__ == "__main__":
    sys.exit(main())
