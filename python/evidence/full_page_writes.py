"""PostgreSQL without ``full_page_writes``, on a drive whose atomic size allows it and on one whose does not.

``python -m evidence.full_page_writes --cuts 60 --out docs/evidence`` cuts the power in a checkpoint, which writes the
pages that pgbench changed. A page of PostgreSQL has 8 KiB. A drive that maps pages of 8 KiB never tears one; one that
maps units of 4 KiB does, and without its copy in the log the page is lost.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from evidence import report, torture_databases
from evidence.recorded import Wanted
from ftlab.cli.usage import say

BUFFER = 'write_buffer.lru.size = "512KiB"'
DRIVES = {"8 KiB": BUFFER, "4 KiB": f'map_unit = "4KiB"\n{BUFFER}'}
"""Units of the map, by the atomic size."""

PAGE = """\
# PostgreSQL without full_page_writes

PostgreSQL with checksums of its pages of 8 KiB, on ext4 with clusters of 8 KiB. pgbench ran, and a checkpoint wrote
the pages that it had changed. That was recorded, and the power went off in it again and again, {gap} operations of the
flash apart on average. After each cut the server started on what was left, and all tables and indexes were looked at.
With `full_page_writes = off` its log has no copies of pages.

| full_page_writes | atomic size | cuts | outcome |
|---|---|---|---|
{rows}
"""

GAP = 5
"""Operations from cut to cut."""


def tried(atomic: str, full_page_writes: bool, cuts: int, seed: int) -> str:
    """A row of the page."""
    place = Path(tempfile.mkdtemp(prefix="pages-"))
    wanted = Wanted(f"pages of {atomic}", cuts, seed, gaps=(2 * GAP,))
    try:
        made = torture_databases.checkpoint_recorded(
            place, DRIVES[atomic], wanted, full_page_writes=full_page_writes
        )
        outcome = f"no page damaged, and no transaction lost; {made.behind} cuts took writes along"
    except AssertionError as error:
        outcome = " ".join(str(error).split())[:400].replace("|", " ")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return f"| {'on' if full_page_writes else 'off'} | {atomic} | {cuts} | {outcome} |"


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 where nothing can be tried."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="the directory of `full-page-writes.json`")
    options = parser.parse_args(arguments)
    if reason := torture_databases.postgres_missing():
        say(f"not tried: {reason}")
        return 1
    rows = []
    for full_page_writes, atomic in ((False, "8 KiB"), (False, "4 KiB"), (True, "4 KiB")):
        rows.append(tried(atomic, full_page_writes, options.cuts, options.seed))
        say(rows[-1])
    if options.out is not None:
        page = PAGE.format(gap=GAP, rows="\n".join(rows))
        command = report.command_of("full_page_writes", arguments)
        report.write(options.out / "full-page-writes.json", page, command)
    return 0


if __name__ == "__main__":
    sys.exit(main())
