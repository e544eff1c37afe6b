"""Thousands of adversarial cases from one seed, and an oracle that says of each whether ftlab took it as it should.

``python -m evidence.battery --cases 10000 --seed 1 --out docs/evidence`` makes mutated configurations, traces and
device states, odd names and arguments, calls with values of wrong types, outputs that cannot be written, and processes
that are interrupted and killed (:mod:`evidence.battery_inputs`, :mod:`evidence.battery_results`,
:mod:`evidence.battery_processes`). Allowed
is success, or an error of ftlab whose text says where and what would be right. Never another exception, a panic, a
traceback, the death of the process, an exit code but 0, 1 and 2, a temporary file left behind, or a change to a file of
the user's. It keeps ``battery.json``, and the exit code is 1 if any case fails, with a line that repeats it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import platform
import queue
import resource
import select
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import ftlab
from evidence import battery_inputs, battery_processes, battery_results, report
from evidence.battery_oracle import Enough, Fault, Kind, Scratch
from ftlab.cli.signals import exit_with
from ftlab_reproduce.experiment import engine_digest

KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (*battery_inputs.KINDS, *battery_results.KINDS, *battery_processes.KINDS)
}
"""Every kind of case by name."""

PATIENCE_S = 300.0
"""A case that takes longer is a fault."""

MEMORY_BYTES = 4 << 30
"""Address space of a worker: what needs more has to be refused."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case by name: with the seed it is the same every time."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a case."""

    kind: str
    number: int
    outcome: str
    fault: str | None
    seconds: float


def planned(cases: int) -> list[Case]:
    """So many cases, by the shares of their kinds, at least one of each."""
    whole = sum(kind.share for kind in KINDS.values())
    counts = {name: max(1, round(cases * kind.share / whole)) for name, kind in KINDS.items()}
    return [Case(name, number) for name, count in counts.items() for number in range(count)]


def judge(case: Case, seed: int, shared: Path) -> Verdict:
    """Runs a case in this process."""
    begun = time.monotonic()
    fault = None
    found = "fault"
    with tempfile.TemporaryDirectory(prefix="ftlab-battery-", ignore_cleanup_errors=True) as directory:
        # A level deeper, so that `..` is a place of the case as well.
        place = Path(directory) / "here"
        place.mkdir()
        os.chdir(place)
        scratch = Scratch(place, Random(f"{seed} {case}"), shared)
        try:
            found = KINDS[case.kind].run(scratch)
            scratch.check()
        except Fault as error:
            fault = str(error)
        except BaseException as error:  # A panic is no `Exception`.
            if isinstance(error, KeyboardInterrupt) and not isinstance(error, Enough):
                raise
            last = "".join(traceback.format_exception(error)[-3:])
            fault = f"{type(error).__name__}: {last[-800:]}"
        os.chdir("/")
    return Verdict(case.kind, case.number, "fault" if fault else found, fault, time.monotonic() - begun)


def serve(seed: int) -> None:
    """A worker: reads names of cases, answers with verdicts. What else is printed goes to stderr."""
    # Else the first run that is stopped could stop an import half-way, which Python does not get over.
    importlib.import_module("matplotlib.figure")
    importlib.import_module("matplotlib.backends.backend_svg")
    importlib.import_module("pyarrow.parquet")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    with tempfile.TemporaryDirectory(prefix="ftlab-battery-shared-") as shared:
        for line in sys.stdin:
            name, _, number = line.strip().rpartition(":")
            verdict = judge(Case(name, int(number)), seed, Path(shared))
            print(json.dumps(asdict(verdict)), file=answers, flush=True)


class Worker:
    """A process that judges cases; one that dies or does not answer is replaced."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.process: subprocess.Popen[bytes] | None = None
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115

    def judge(self, case: Case) -> Verdict:
        """The verdict on a case, also if it ends the process."""
        process = self.process or self._start()
        assert process.stdin is not None and process.stdout is not None
        begun = time.monotonic()
        line = b""
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(f"{case}\n".encode())
            process.stdin.flush()
        if select.select([process.stdout], [], [], PATIENCE_S)[0]:
            line = process.stdout.readline()
        if line:
            return Verdict(**json.loads(line))
        fault = self._post_mortem(process)
        return Verdict(case.kind, case.number, "fault", fault, time.monotonic() - begun)

    def _start(self) -> subprocess.Popen[bytes]:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "evidence.battery", "--serve", "--seed", str(self.seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
        )  # fmt: skip
        return self.process

    def _post_mortem(self, process: subprocess.Popen[bytes]) -> str:
        hangs = False
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            hangs = True
            process.kill()
        code = process.wait()
        self._forget(process)
        size = self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(0, size - 500))
        said = self.errors.read().decode(errors="replace")
        return f"no answer in {PATIENCE_S:.0f} s" if hangs else f"the process died ({code}): {said}"

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        process.wait()
        self.process = None

    def close(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self._forget(self.process)
        self.errors.close()


class Kept:
    """Verdicts in a file, one a line, so that a battery that was interrupted goes on where it was.

    A case with a fault is judged again, and so is every case after a change of the engine.
    """

    def __init__(self, file: Path | None, seed: int) -> None:
        self.about = {"seed": seed, "engine": engine_digest()}
        self.file = file
        self.verdicts: dict[Case, Verdict] = {}
        if file is not None and file.exists():
            for line in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
                verdict = Verdict(**line.pop("verdict"))
                if line == self.about and not verdict.fault:
                    self.verdicts[Case(verdict.kind, verdict.number)] = verdict

    def add(self, verdict: Verdict) -> None:
        """Keeps a verdict."""
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**self.about, "verdict": asdict(verdict)}) + "\n")


def judge_all(cases: Sequence[Case], seed: int, jobs: int, file: Path | None = None) -> list[Verdict]:
    """The verdicts on all cases, in their order; `jobs` workers at once. Those in the file are not judged again."""
    kept = Kept(file, seed)
    verdicts = {i: kept.verdicts[case] for i, case in enumerate(cases) if case in kept.verdicts}
    missing = [i for i in range(len(cases)) if i not in verdicts]
    # Mixed, so that a part says something of every kind.
    Random(seed).shuffle(missing)
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for i in missing:
        waiting.put(i)

    def work() -> None:
        worker = Worker(seed)
        try:
            while True:
                i = waiting.get_nowait()
                verdicts[i] = worker.judge(cases[i])
                kept.add(verdicts[i])
                if verdicts[i].fault:
                    print(f"{cases[i]}: {verdicts[i].fault}", file=sys.stderr, flush=True)
                if sys.stderr.isatty():
                    print(f"\r{len(verdicts)} of {len(cases)} cases", end="", file=sys.stderr, flush=True)
        except queue.Empty:
            pass
        finally:
            worker.close()

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [verdicts[i] for i in range(len(cases))]


def replay(case: Case | Verdict, seed: int) -> str:
    """The line that repeats a case."""
    return f"python -m evidence.battery --seed {seed} --case {case.kind}:{case.number}"


def markdown(verdicts: Sequence[Verdict], seed: int, asked: int) -> str:
    """The page of the evidence: kinds of case and what became of them."""
    faults = [verdict for verdict in verdicts if verdict.fault]
    minutes = sum(verdict.seconds for verdict in verdicts) / 60
    lines = [
        "# Adversarial cases",
        "",
        "Each case is made from the seed and its "
        "number. Allowed are success, an error of ftlab that says where and what would be right, exit codes 0, 1 and "
        "2; `stopped` is a valid run that was cut short, as by Ctrl-C. A fault is anything else: another exception, a "
        "panic, a traceback, the death of the process, no answer, an error without a remedy, a control character on "
        "the terminal, a temporary file left behind, a file of the user's that was changed.",
        "",
        f"**{len(verdicts):,} cases, {len(faults):,} faults**; `--cases {asked} --seed {seed}`, {minutes:.0f} "
        f"minutes of one worker, ftlab {ftlab.__version__}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}.",
        "",
        "| kind | what | cases | outcomes | faults | seconds |",
        "|---|---|--:|---|--:|--:|",
    ]
    for name in KINDS:
        mine = [verdict for verdict in verdicts if verdict.kind == name]
        if mine:
            counts = Counter(verdict.outcome for verdict in mine if not verdict.fault)
            outcomes = ", ".join(f"{outcome} {count:,}" for outcome, count in sorted(counts.items()))
            faulty = sum(verdict.fault is not None for verdict in mine)
            took = sum(verdict.seconds for verdict in mine)
            lines.append(
                f"| {name} | {KINDS[name].doc} | {len(mine):,} | {outcomes} | {faulty} | {took:.0f} |"
            )
    if faults:
        lines += ["", "Faults:", "", *(f"- `{replay(verdict, seed)}`" for verdict in faults)]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the battery; returns 1 if there is a fault."""
    parser = argparse.ArgumentParser(prog="python -m evidence.battery", description=__doc__)
    parser.add_argument("--cases", type=int, default=12_000, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")
    parser.add_argument("--out", type=Path, help="where to keep battery.json")
    parser.add_argument("--kind", action="append", help="only cases of this kind; may be repeated")
    parser.add_argument("--case", help="one case, such as traces:17")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="workers (%(default)s)")
    parser.add_argument(
        "--kept", type=Path, metavar="FILE", help="verdicts, to be taken up again after an interruption"
    )
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        serve(options.seed)
        return 0
    cases = planned(options.cases)
    if options.kind:
        cases = [case for case in cases if case.kind in options.kind]
    if options.case:
        name, _, number = options.case.rpartition(":")
        cases = [Case(name, int(number))]
    begun = time.monotonic()
    verdicts = judge_all(cases, options.seed, options.jobs, options.kept)
    seconds = time.monotonic() - begun
    faults = [verdict for verdict in verdicts if verdict.fault]
    if options.out is not None:
        page = markdown(verdicts, options.seed, options.cases)
        report.write(options.out / "battery.json", page, report.command_of("battery", arguments))
    for outcome, count in sorted(Counter(f"{v.kind}: {v.outcome}" for v in verdicts).items()):
        print(f"{count:6} {outcome}")
    print(
        f"battery: {len(verdicts) - len(faults):,} of {len(verdicts):,} cases as they should be, {seconds:.0f} s"
    )
    for verdict in faults:
        print(f"replay: {replay(verdict, options.seed)}")
    return 1 if faults else 0


if __name__ == "__main__":
    exit_with(main)
