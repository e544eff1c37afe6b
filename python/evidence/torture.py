"""Power cuts under file systems and databases on served drives.

``python -m evidence.torture --cuts 200 --out docs/evidence`` ages a small drive of each class, makes ext4, xfs and
btrfs on it, and databases on ext4, cuts the power at random operations of the flash, and looks each time
(:mod:`evidence.torture_filesystems`, :mod:`evidence.torture_databases`). It writes ``torture.md``, and the exit code is
1 if a promise is broken.
"""

from __future__ import annotations

import argparse
import functools
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evidence import served, torture_databases, torture_filesystems
from ftlab.cli.usage import say


@dataclass(frozen=True)
class Oracle:
    """Somebody who writes to a drive, and knows what has to be there after a power cut."""

    name: str
    missing: Callable[[], str | None]
    torture: Callable[[Path, str, int, int], int]
    share: float
    """Of the cuts that are asked for: databases take longer to start."""
    unit: str
    """The unit of what was done."""


ORACLES = [
    *(
        Oracle(kind.name, kind.missing, functools.partial(torture_filesystems.torture, kind), 1.0, "bytes")
        for kind in torture_filesystems.KINDS.values()
    ),
    Oracle("SQLite", torture_databases.sqlite_missing, torture_databases.sqlite, 1.0, "transactions"),
    Oracle("PostgreSQL", torture_databases.postgres_missing, torture_databases.postgres, 0.2, "transactions"),
]
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
        return f"| {self.oracle} | {self.drive} | {self.cuts:,} | {self.done} | {self.seconds:,.0f} | {verdict} |"


def tried(oracle: Oracle, drive: str, cuts: int, seed: int) -> Tally:
    """Tries an oracle on a class of drives."""
    began, place = time.monotonic(), Path(tempfile.mkdtemp(prefix="torture-"))
    problem, done = None, "-"
    try:
        done = f"{oracle.torture(place, served.CHOICES[drive], cuts, seed):,} {oracle.unit}"
    except AssertionError as error:
        problem = str(error)
        say(f"kept for a look: {place}")
    else:
        shutil.rmtree(place)
    return Tally(oracle.name, drive, cuts, done, time.monotonic() - began, problem)


PAGE = """\
# Power cuts under file systems and databases

`python -m evidence.torture --cuts {cuts} --seed {seed}` ({date}) served aged drives over NBD, and attached them
through FUSE and a loop device. The power went off at operations of the flash drawn at random, also while a journal was
replayed. After each cut the drive was opened again and looked at: files that were fsynced, the file system's own
checker, committed transactions, balances, the database's checker.

| who | drive | cuts | done | seconds | promises |
|---|---|---|---|---|---|
{rows}
{skipped}"""


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=200, help="cuts of each oracle on each class of drives")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="an oracle's name; may be repeated")
    parser.add_argument("--out", type=Path, help="the directory of `torture.md`")
    options = parser.parse_args(arguments)
    rows, skipped = [], []
    for oracle in ORACLES:
        if options.only and oracle.name not in options.only:
            continue
        if reason := oracle.missing():
            skipped.append(f"Not tried: {oracle.name}, which {reason}.\n")
            say(skipped[-1].strip())
            continue
        for drive in served.CHOICES:
            tally = tried(oracle, drive, max(1, round(options.cuts * oracle.share)), options.seed)
            say(tally.row())
            rows.append(tally)
    if options.out is not None:
        page = PAGE.format(
            cuts=options.cuts, seed=options.seed, date=time.strftime("%Y-%m-%d"),
            skipped="\n" * bool(skipped) + "".join(skipped),
            rows="\n".join(tally.row() for tally in rows),
        )  # fmt: skip
        (options.out / "torture.md").write_text(page, encoding="utf-8")
    return int(any(tally.problem is not None for tally in rows))


if __name__ == "__main__":
    sys.exit(main())
