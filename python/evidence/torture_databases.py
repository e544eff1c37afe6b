"""Databases over power cuts: no committed transaction is lost, balances add up, and their own checkers find nothing."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from random import Random

from evidence import recorded, served
from evidence.served import Served, command
from evidence.torture_filesystems import KINDS

ACCOUNTS = 200
"""Rows between which money is moved."""


def sqlite_missing() -> str | None:
    """The reason why SQLite cannot be tried here."""
    return KINDS["ext4"].missing()


def sqlite(place: Path, choices: str, cuts: int, seed: int) -> int:
    """Cuts the power so often under transfers between accounts; the transactions that were committed.

    Raises:
        AssertionError: a promise is broken.
    """
    chance, committed = Random(f"sqlite {seed}"), 0

    def load(mnt: Path, cut: int, server: Served) -> None:
        nonlocal committed
        with suppress(sqlite3.Error), closing(_opened(mnt, cut)) as database:
            for _ in range(chance.randrange(20, 200)):
                _transfer(database, chance, committed + 1)
                committed += 1

    def look(mnt: Path, cut: int) -> None:
        nonlocal committed
        try:
            committed = _check_sqlite(mnt, cut, committed)
        except sqlite3.Error as error:
            raise AssertionError(str(error)) from error

    cut_live(f"SQLite, seed {seed}", place, choices, cuts, chance, load, look)
    return committed


def cut_live(
    name: str,
    place: Path,
    choices: str,
    cuts: int,
    chance: Random,
    load: Callable[[Path, int, Served], None],
    look: Callable[[Path, int], None],
) -> None:
    """Cuts the power so often under a load on ext4, and has a look after each cut.

    Both are told the place of the file system and the number of the cut, and the load also whose drive it is.

    Raises:
        AssertionError: a promise is broken.
    """
    _make(place, choices)
    for cut in range(cuts):
        server = Served(place, *(served.any_cut(chance) if cut else []))
        with (
            suppress(AssertionError, OSError),
            served.attached(server) as device,
            served.mounted(device, place / "mnt") as mnt,
        ):
            load(mnt, cut, server)
        _end(server)
        server = Served(place)
        try:
            with served.attached(server) as device, served.mounted(device, place / "mnt") as mnt:
                look(mnt, cut)
        except AssertionError as error:
            _end(server)
            raise AssertionError(f"{name}, cut {cut}: {error}") from error
        assert server.end() == 0, server.said


def _make(place: Path, choices: str) -> None:
    served.make(place, choices, KINDS["ext4"].mebibytes)
    server = Served(place)
    with served.attached(server) as device:
        command(*KINDS["ext4"].make, device)
    assert server.end() == 0, server.said


def _end(server: Served) -> None:
    if server.process.poll() is None:
        server.kill()
    else:
        server.wait()


def _opened(mnt: Path, cut: int) -> sqlite3.Connection:
    database = sqlite3.connect(mnt / "bank.sqlite", isolation_level=None)
    # The rollback journal and the write-ahead log by turns.
    database.execute(f"PRAGMA journal_mode = {'DELETE' if cut % 2 else 'WAL'}")
    # With FULL the end of a rollback journal may be lost, and with it the last transaction.
    database.execute("PRAGMA synchronous = EXTRA")
    database.execute(
        "CREATE TABLE IF NOT EXISTS account (number INTEGER PRIMARY KEY, balance INTEGER, note TEXT)"
    )
    database.execute("CREATE TABLE IF NOT EXISTS done (number INTEGER PRIMARY KEY)")
    with suppress(sqlite3.IntegrityError):
        database.execute("BEGIN")
        database.executemany(
            "INSERT INTO account VALUES (?, 0, ?)", ((number, "x" * 300) for number in range(ACCOUNTS))
        )
        database.execute("COMMIT")
    if database.in_transaction:
        database.execute("ROLLBACK")
    return database


def _transfer(database: sqlite3.Connection, chance: Random, number: int) -> None:
    amount, (giver, taker) = chance.randrange(1000), chance.sample(range(ACCOUNTS), 2)
    database.execute("BEGIN")
    change = "UPDATE account SET balance = balance + ?, note = ? WHERE number = ?"
    database.execute(change, (-amount, chance.randbytes(150).hex(), giver))
    database.execute(change, (amount, chance.randbytes(150).hex(), taker))
    database.execute("INSERT INTO done VALUES (?)", (number,))
    database.execute("COMMIT")


def _check_sqlite(mnt: Path, cut: int, committed: int) -> int:
    """The committed transactions, which may be one more than is known."""
    with closing(_opened(mnt, cut)) as database:
        found = database.execute("PRAGMA integrity_check").fetchall()
        assert found == [("ok",)], found
        balance, accounts = database.execute("SELECT sum(balance), count(*) FROM account").fetchone()
        assert (balance, accounts) == (0, ACCOUNTS), f"{accounts} balances add up to {balance}"
        newest = database.execute("SELECT coalesce(max(number), 0) FROM done").fetchone()[0]
        assert committed <= newest <= committed + 1, f"{committed} were committed, and {newest} are there"
        return int(newest)


def sqlite_recorded(place: Path, choices: str, wanted: recorded.Wanted) -> recorded.Cuts:
    """Records transfers once, and cuts the power while they are replayed.

    Raises:
        AssertionError: a promise is broken.
    """
    ext4, chance, commits = KINDS["ext4"], Random(f"sqlite {wanted.seed}"), list[int]()
    served.make(place, choices, ext4.mebibytes)
    with recorded.Record.of(place) as (record, device):
        command(*ext4.make, *ext4.keeps, device)
        with served.mounted(device, place / "mnt") as mnt:
            for journal in range(2):
                with closing(_opened(mnt, journal)) as database:
                    if journal == 0:
                        record = replace(record, begins=record.clock())
                    for _ in range(TRANSFERS):
                        _transfer(database, chance, len(commits) + 1)
                        commits.append(record.clock())

    def committed(position: int) -> int:
        return bisect_right(commits, position)

    def look(committed: int, content: Path) -> None:
        with recorded.mounted(content, place / "mnt") as mnt:
            try:
                _check_sqlite(mnt, 0, committed)
            except sqlite3.Error as error:
                raise AssertionError(str(error)) from error
        command(*ext4.check, content)

    return recorded.cut(record, wanted, committed, look)


TRANSFERS = 200
"""Transactions of SQLite that are recorded, with each kind of journal."""


def _postgres_bin() -> Path | None:
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return places[-1] if places and (places[-1] / "initdb").exists() else None


def postgres_missing() -> str | None:
    """The reason why PostgreSQL cannot be tried here."""
    if _postgres_bin() is None or shutil.which("runuser") is None:
        return "needs PostgreSQL's server and runuser"
    return KINDS["ext4"].missing()


class Postgres:
    """A PostgreSQL over a directory of the drive, run by its own user."""

    def __init__(self, place: Path, *, full_page_writes: bool = True) -> None:
        self.full_page_writes = "on" if full_page_writes else "off"
        self.data, self.socket = place / "mnt" / "pg", place / "sockets"
        bin_place = _postgres_bin()
        assert bin_place is not None
        self.bin = bin_place
        self.socket.mkdir(exist_ok=True)
        shutil.chown(self.socket, "postgres")

    def run(self, program: str, *words: object, timeout_s: float = 300) -> str:
        """Carries out a program of PostgreSQL; what it prints."""
        return command("runuser", "-u", "postgres", "--", self.bin / program, *words, timeout_s=timeout_s)

    def make(self) -> None:
        """A new cluster with checksums of pages."""
        self.data.mkdir()
        shutil.chown(self.data, "postgres")
        self.run("initdb", "-D", self.data, "-k", "-A", "trust", "--no-instructions")

    def start(self) -> None:
        """Starts, and replays the log."""
        # After a power cut no process of this number is there; here it may be one that nobody waited for.
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        options = (
            f"-k {self.socket} -h '' -c shared_buffers=8MB -c max_wal_size=32MB -c min_wal_size=32MB "
            f"-c full_page_writes={self.full_page_writes}"
        )
        self.run("pg_ctl", "-D", self.data, "-w", "-t", 60, "-l", self.socket / "log", "-o", options, "start")

    def stop(self, how: str) -> None:
        """Stops; `immediate` leaves all to the next start."""
        self.run("pg_ctl", "-D", self.data, "-w", "-m", how, "stop")

    def query(self, text: str) -> list[str]:
        """The first row."""
        return self.run("psql", "-h", self.socket, "-d", "postgres", "-Atc", text).strip().split("|")

    def bench(self, seconds: int) -> int:
        """Runs transactions; those that were acknowledged."""
        for old in self.socket.glob("acked.*"):
            old.unlink()
        words = [
            "-h",
            self.socket,
            "-c",
            4,
            "-j",
            1,
            "-T",
            seconds,
            "-n",
            "--log",
            f"--log-prefix={self.socket}/acked",
        ]
        with suppress(AssertionError, subprocess.TimeoutExpired):
            self.run("pgbench", *words, "postgres", timeout_s=seconds + 60)
        return sum(len(file.read_text().splitlines()) for file in self.logs())

    def complaint(self) -> str:
        """The line of the server's log about a damaged page, if there is one."""
        lines = (self.socket / "log").read_text(encoding="utf-8", errors="replace").splitlines()
        return next((line for line in reversed(lines) if "invalid page" in line or "PANIC" in line), "")

    def logs(self) -> list[Path]:
        """A line for each transaction of :meth:`bench`."""
        return sorted(self.socket.glob("acked.*"))


def postgres(place: Path, choices: str, cuts: int, seed: int) -> int:
    """Cuts the power so often under pgbench; the transactions that were committed.

    Raises:
        AssertionError: a promise is broken.
    """
    chance = Random(f"postgres {seed}")
    served.make(place, choices, 256)
    _let_others_in(place)
    server, database = Served(place), Postgres(place)
    with served.attached(server) as device:
        # Files lie in clusters of PostgreSQL's pages.
        command(*KINDS["ext4"].make, "-O", "bigalloc", "-C", 8192, device)
        with served.mounted(device, place / "mnt"):
            database.make()
            database.start()
            database.run("pgbench", "-h", database.socket, "-i", "-q", "-s", 1, "postgres")
            database.stop("fast")
    assert server.end() == 0, server.said
    committed = 0
    for cut in range(cuts):
        server = Served(place, *(served.any_cut(chance) if cut else []))
        with (
            suppress(AssertionError, OSError),
            served.attached(server) as device,
            served.mounted(device, place / "mnt"),
        ):
            try:
                database.start()
                committed += database.bench(chance.randrange(1, 4))
                if server.process.poll() is None:
                    # Not reached yet: the power goes off now.
                    server.kill()
            finally:
                _kill_postgres(database)
        _end(server)
        server = Served(place)
        try:
            with served.attached(server) as device, served.mounted(device, place / "mnt"):
                committed = _check_postgres(database, committed)
        except AssertionError as error:
            _kill_postgres(database)
            _end(server)
            raise AssertionError(f"PostgreSQL, seed {seed}, cut {cut}: {error}") from error
        assert server.end() == 0, server.said
    return committed


BENCH_S = 12
"""Seconds of pgbench that are recorded."""


class _Acknowledged:
    """When transactions were acknowledged, as positions in a record."""

    def __init__(self, record: recorded.Record) -> None:
        self.record = record
        self.samples: list[tuple[int, float]] = []
        self.commits: list[float] = []
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._sample)
        self.thread.start()

    def _sample(self) -> None:
        while not self.ends.wait(0.0005):
            now = time.time()
            self.samples.append((self.record.clock(), now))

    def end(self, logs: list[Path]) -> None:
        """Reads pgbench's own logs, which have the time of each end."""
        self.ends.set()
        self.thread.join()
        words = [line.split() for log in logs for line in log.read_text().splitlines()]
        self.commits = sorted(int(word[4]) + int(word[5]) * 1e-6 for word in words)

    def at(self, position: int) -> int:
        """Transactions whose log had surely reached the drive before a position."""
        # What was acknowledged before a sample depends on nothing behind the position that it found.
        last = bisect_right(self.samples, (position, float("inf"))) - 1
        return bisect_right(self.commits, self.samples[last][1]) if last >= 0 else 0


def postgres_recorded(place: Path, choices: str, wanted: recorded.Wanted) -> recorded.Cuts:
    """Records pgbench once, and cuts the power while it is replayed.

    Raises:
        AssertionError: a promise is broken.
    """
    with _recorded_database(place, choices) as (record, database):
        acknowledged = _Acknowledged(record)
        record = replace(record, begins=record.clock())
        # Pages are written back in between, too.
        database.bench(BENCH_S // 2)
        logs = [log.rename(log.with_name(f"first-{log.name}")) for log in database.logs()]
        database.query("CHECKPOINT")
        database.bench(BENCH_S // 2)
        acknowledged.end([*logs, *database.logs()])
        database.stop("fast")

    def look(committed: int, content: Path) -> None:
        with recorded.mounted(content, place / "mnt"):
            try:
                _check_postgres(database, committed)
            finally:
                _kill_postgres(database)
        command(*KINDS["ext4"].check, content)

    return recorded.cut(record, wanted, acknowledged.at, look)


def checkpoint_recorded(
    place: Path, choices: str, wanted: recorded.Wanted, *, full_page_writes: bool
) -> recorded.Cuts:
    """Records a checkpoint after pgbench, which writes the pages that it changed, and cuts the power in it.

    Without `full_page_writes` the log has no copies of pages, and PostgreSQL relies on a drive that tears none of them.

    Raises:
        AssertionError: a page is damaged, or something else is not as it was committed.
    """
    with _recorded_database(place, choices, full_page_writes=full_page_writes) as (record, database):
        committed = database.bench(BENCH_S // 2)
        record = replace(record, begins=record.clock())
        database.query("CHECKPOINT")
        database.stop("immediate")

    def look(committed: int, content: Path) -> None:
        with recorded.mounted(content, place / "mnt"):
            try:
                _check_postgres(database, committed)
            except AssertionError as error:
                raise AssertionError(database.complaint() or str(error)) from error
            finally:
                _kill_postgres(database)

    return recorded.cut(record, wanted, lambda _: committed, look)


@contextmanager
def _recorded_database(
    place: Path, choices: str, *, full_page_writes: bool = True
) -> Iterator[tuple[recorded.Record, Postgres]]:
    """A database of pgbench that is begun and flushed, on a drive whose requests are recorded."""
    ext4 = KINDS["ext4"]
    served.make(place, choices, 256)
    _let_others_in(place)
    with recorded.Record.of(place) as (record, device):
        # Files lie in clusters of PostgreSQL's pages.
        command(*ext4.make, *ext4.keeps, "-O", "bigalloc", "-C", 8192, device)
        with served.mounted(device, place / "mnt"):
            database = Postgres(place, full_page_writes=full_page_writes)
            database.make()
            database.start()
            database.run("pgbench", "-h", database.socket, "-i", "-q", "-s", 1, "postgres")
            database.query("CHECKPOINT")
            yield record, database


def _let_others_in(place: Path) -> None:
    """The server's user has to come to its files."""
    for part in (place, *place.parents):
        if part.stat().st_mode & 0o001 == 0:
            part.chmod(part.stat().st_mode | 0o011)


def _kill_postgres(database: Postgres) -> None:
    """The power of its machine goes off too."""
    with suppress(AssertionError, OSError, subprocess.TimeoutExpired):
        if (database.data / "postmaster.pid").exists():
            database.stop("immediate")


def _check_postgres(database: Postgres, committed: int) -> int:
    database.start()
    sums = "SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(tbalance) FROM pgbench_tellers)," \
        " (SELECT sum(bbalance) FROM pgbench_branches), (SELECT coalesce(sum(delta), 0) FROM pgbench_history)," \
        " (SELECT count(*) FROM pgbench_history)"  # fmt: skip
    *balances, found = (int(number) for number in database.query(sums))
    assert len(set(balances)) == 1, f"balances differ: {balances}"
    # Of each client one may have been committed that it did not hear of.
    assert found >= committed, f"{committed} transactions were acknowledged, and {found} are there"
    database.run("pg_amcheck", "-h", database.socket, "--install-missing", "--heapallindexed", "postgres")
    database.stop("fast")
    database.run("pg_checksums", "--check", "-D", database.data)
    return found
