"""Constants of a simulated drive from the measurements of a real one.

Jobs marked `fitted` give the constants; those marked `predicted` are simulated with them and give none. A constant that
no job identifies keeps the value of the preset and is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ftlab._core import ConfigError, InputError
from ftlab.api import simulation
from ftlab.api.configs import Config
from ftlab.base.quantities import in_bytes, in_us
from ftlab.fio import running
from ftlab.fio.jobfile import JobFile
from ftlab.hardware import measured
from ftlab.hardware.jobs import BY_NAME, JOBS, Job
from ftlab.hardware.measured import Drive, Ran
from ftlab.hardware.rows import Figure

SECONDS, READS = 2.0, 20_000
"""Simulated seconds of a job at most, and reads of one beside writes."""

BLOCKS, PAGES = 160, 72
"""Blocks of a plane and pages of a block of the simulated drive at most: it is small, with all its dies."""

HELD = 5
"""Blocks of a plane that are open or held free: the user of a small drive has less, so that as much is left for GC."""

COUNTED = {
    "device.channels": 1, "device.chips_per_channel": 1, "device.dies_per_chip": 1, "device.planes_per_die": 1,
    "ftl.reclaim_unit": "block",
}  # fmt: skip
"""The drive whose write amplification is counted: one plane, whose blocks are collected as any other's."""

TIMELESS = ("threshold", "paced")
"""Schedules of GC that need no time."""

COUNTED_BLOCKS, COUNTED_PAGES = 1600, 288
"""Its blocks and their pages at most: with fewer blocks write amplification is off by 2 %, with fewer pages by that of
pages that the end of a collection fills up.
"""

CLOSE = 0.02
"""A constant's interval: values that keep its figure within this fraction, or the mean error of a search."""

FLAT = 0.005
"""A search whose mean error moves by less, whatever the value, says nothing of it."""

RATE, LATENCY, WAF = 0.2, 1.5, 0.1
"""How near is near enough, as of all figures of drives: fractions, and a factor for latencies."""

SUSPEND = "device.program_suspend"

SEARCHED = (
    ("step", (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0), "parts of a program"),
    ("most", (1, 2, 4, 8), "suspends of a program"),
    ("latency", (5.0, 20.0, 50.0, 100.0, 200.0), "us"),
    ("resume", (5.0, 20.0, 50.0, 100.0), "us"),
)
"""Parameters of suspends and the values that are tried first; around the best one they are then tried more finely."""

FINER = (1.25, 1.1, 1.04)
"""Steps of the finer search, as factors up and down."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the drive."""

    key: str
    value: Any
    """As a configuration has it."""
    interval: str
    source: str
    """The measurement that identified it."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure of the drive beside the simulated one."""

    job: Job
    figure: Figure
    ours: float

    @property
    def is_met(self) -> bool:
        """True if it is near enough."""
        return self.figure.is_met(self.ours)


@dataclass(slots=True)
class Fit:
    """A fitted drive."""

    preset: str
    constants: list[Constant] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    """Keys that keep the value of the preset, and why."""
    classes: list[str] = field(default_factory=list)
    """The class of the drive, in sentences."""
    compared: list[Compared] = field(default_factory=list)
    sets: dict[str, Any] = field(default_factory=dict)
    """All that differs from the preset."""

    def counts(self, use: str) -> tuple[int, int]:
        """Figures that are met, of how many, for `fitted` or `predicted` jobs."""
        each = [one for one in self.compared if one.job.use == use]
        return sum(one.is_met for one in each), len(each)


def fit(
    drive: Drive,
    preset: Config,
    name: str,
    *,
    tell: Callable[[str], object] = lambda _: None,
    seconds: float = SECONDS,
) -> Fit:
    """Fits a preset to a measured drive and predicts what nothing was taken from.

    Args:
        drive: the measurements.
        preset: the drive that it starts from: its structure, and what is not identified.
        name: how the result calls the preset.
        tell: called with what is done now.
        seconds: simulated seconds of a job at most.

    Raises:
        ConfigError: the preset cannot be used, or not for this drive.
        InputError: a job asks for what is not simulated.
        RunError: a run failed.
    """
    return _Fitting(drive, preset, Fit(name), tell, seconds).done()


class _Fitting:
    """The fit under way."""

    def __init__(
        self, drive: Drive, preset: Config, found: Fit, tell: Callable[[str], object], seconds: float
    ) -> None:
        self.drive, self.found, self.tell, self.seconds = drive, found, tell, seconds
        sets = [*running.ANY_WORKLOAD, 'run.precondition="none"']
        self.config = simulation.Job.of(preset, sets, None).resolve()
        self.device, self.ftl = self.config["device"], self.config["ftl"]
        self.base = {key: value for key, value in self.config.items() if key not in ("workload", "tenant")}
        if self.config["run"]["executor"] != "timed":
            raise ConfigError(
                f'error: `{found.preset}` has no time; expected a drive with `run.executor = "timed"`'
            )
        self.spare = float(self.device["over_provisioning"])
        self.sets: dict[str, Any] = {}
        self.program = max(map(in_us, _listed(self.device["timing"]["program"])))

    def done(self) -> Fit:
        self._front()
        self._program()
        self._interval()
        self._order()
        self._suspends()
        self._spare()
        self._classes()
        self._compare()
        self._keep()
        self.found.sets = dict(self.sets) | self._whole()
        return self.found

    # Runs of the simulated drive.

    def _scaled(self) -> dict[str, Any]:
        """Settings of the small drive: all dies, fewer and shorter blocks."""
        device = self.device
        blocks, pages = device["blocks_per_plane"], device["pages_per_block"]
        fewer, shorter = min(blocks, BLOCKS), self._pages(PAGES)
        planes = _product(device)
        raw = fewer * shorter * planes * in_bytes(device["page_size"])
        left = (1 - HELD / fewer) / (1 - HELD / blocks) if blocks > fewer else 1.0
        unit = 1 << 20 if raw >= 1 << 30 else 1 << 14
        user = int(raw / (1 + self.spare) * left) // unit * unit
        if user <= 0:
            raise ConfigError(
                f"error: `{self.found.preset}` with a spare share of {self.spare:.3f} has no user space"
            )
        return {
            "device.blocks_per_plane": fewer, "device.pages_per_block": shorter, "device.user_capacity": f"{user}B",
            "device.timing.erase": _ns(in_us(device["timing"]["erase"]) * shorter / pages),
        }  # fmt: skip

    def _pages(self, most: int) -> int:
        """Pages of a block, so many at most: a part of the preset's, in whole wordlines."""
        pages, bits = self.device["pages_per_block"], _bits(self.device)
        return (
            int(pages)
            if pages <= most
            else next(n for n in range(most, 0, -1) if n % bits == 0 and pages % n == 0)
        )

    def _run(self, job: Job, more: Mapping[str, Any] | None = None) -> Ran:
        """A job on the simulated drive, with the constants that are known by now."""
        of = self.drive.ran[job.name]
        self.tell(f"{job.name}: {job.about.lower()}")
        ages = {"empty": "none", "filled": {"sequential": "1x"}, "aged": {"random": f"{self._aged():.2f}x"}}
        sets = {**self._scaled(), **self.sets, "run.precondition": ages[job.state], **(more or {})}
        file = JobFile(shortened(of, self._time(of)), f"{job.name}.fio")
        _, told = running.run(self.base, file, sets=sets)
        return measured.read(job, told, job.name, "", told["ftlab"]["waf"])

    def _time(self, of: Ran) -> float:
        """Simulated seconds of a job: of an aged drive as long as it takes to write a quarter of the small one."""
        if of.job.state == "aged":
            user = in_bytes(self._scaled()["device.user_capacity"])
            return max(self.seconds, user / 4e6 / of.figures["write mb_s"])
        rate = of.figures.get("read iops")
        if rate is None:
            # Requests end in groups; of so many groups a part at the end does not matter.
            seconds = max(self.seconds, 1e-4 * of.figures["write mean"])
            # A drive that is filled erases nothing.
            user = in_bytes(self._scaled()["device.user_capacity"])
            return min(seconds, 0.6 * user / 1e6 / of.figures["write mb_s"])
        return min(self.seconds, max(READS / rate, self.seconds / 8))

    def _aged(self) -> float:
        """Capacities that were written at random before the jobs of an aged drive."""
        age, capacity = self.drive.ran.get("age"), self.drive.capacity
        if age is None or not capacity:
            return 2.0
        return min(4.0, max(0.1, age.written / capacity))

    def _has(self, *names: str) -> bool:
        return all(name in self.drive.ran for name in names)

    def _add(self, key: str, value: Any, interval: str, source: str) -> None:
        self.sets[key] = value
        self.found.constants.append(Constant(key, value, interval, source))

    # Constants, in the order in which they hang on each other.

    def _told(self, key: str, job: str, figure: str) -> float | None:
        """A figure from which a constant is taken; `None`: its job was not run, and the constant is kept."""
        told = self.drive.figure(job, figure)
        if told is None:
            self.found.kept[key] = f"needs the job {job}"
        return told

    def _front(self) -> None:
        """Link, controller and array reads: each is what the others leave of a latency or rate."""
        told = self._told("host.link", "read-128k", "read mb_s")
        if told is not None:
            self.sets["host.link"] = _rate(told)
        self._controller()
        self._reads()
        if told is not None:
            self._link(told)

    def _controller(self) -> None:
        """A write into an empty buffer takes the link and the controller, and nothing else."""
        key = "host.command_time"
        told = self._told(key, "write-1", "write p50")
        if told is None:
            return
        if not _is_buffered(self.ftl):
            self.found.kept[key] = "the preset has no write buffer"
            return
        time = in_us(self.config["host"]["command_time"])
        for _ in range(2):
            ours = self._run(BY_NAME["write-1"], {key: _ns(time)}).figures["write p50"]
            time = max(0.0, time + told - ours)
        self._add(
            key, _ns(time), _span(time, 0.008 * told, "us"), f"write-1: median {told:.1f} us, less the link"
        )

    def _reads(self) -> None:
        """The array's time for each type of page: what a lone read takes, less all that is not the array."""
        key = "device.timing.read"
        if not self._has("read-1"):
            self.found.kept[key] = "needs the job read-1"
            return
        bits = _bits(self.device)
        theirs = self.drive.ran["read-1"].percentiles.get("read", {})
        if not theirs:
            self.found.kept[key] = "read-1.json has no percentiles"
            return
        at = [_nearest(theirs, 100 * (i + 0.5) / bits) for i in range(bits)]
        given = sorted(map(in_us, _listed(self.device["timing"]["read"])))
        times = given if len(given) == bits else [given[0]] * bits
        for _ in range(2):
            ours = self._run(BY_NAME["read-1"], {key: [_ns(time) for time in times]}).percentiles["read"]
            times = [max(1.0, time + theirs[p] - ours[p]) for time, p in zip(times, at, strict=True)]
            times.sort()
        shown = ", ".join(f"{time:.1f}" for time in times)
        of = ", ".join(f"{p:g}th" for p in at)
        self._add(
            key, [_ns(time) for time in times], f"{shown} ± {0.008 * theirs[at[-1]]:.1f} us",
            f"read-1: the {of} percentile, a type of page each",
        )  # fmt: skip

    def _link(self, told: float) -> None:
        """The link is what reads in order fill, where the dies could send more."""
        key = "host.link"
        most = self._run(BY_NAME["read-128k"], {key: "100GB/s"}).figures["read mb_s"]
        if most > 1.03 * told:
            near = f"{told * (1 - CLOSE):,.0f} to {told * (1 + CLOSE):,.0f} MB/s"
            self._add(key, _rate(told), near, f"read-128k: {told:,.0f} MB/s")
            return
        self.found.kept[key] = (
            f"reads of 128 KiB in order reach {told:,.0f} MB/s, and the dies and channels {most:,.0f}: the link is not "
            "what limits them"
        )
        # The others were taken from what the link left.
        self.sets.clear()
        self.found.constants.clear()
        self._controller()
        self._reads()

    def _program(self) -> None:
        """All dies program all the time while the drive is filled, unless the link is slower."""
        key = "device.timing.program"
        told = self._told(key, "fill", "write mb_s")
        if told is None:
            return
        given = list(map(in_us, _listed(self.device["timing"]["program"])))
        most = self._run(BY_NAME["fill"], {key: "1us"}).figures["write mb_s"]
        if most < 1.03 * told:
            self.found.kept[key] = (
                f"writes in order reach {told:,.0f} MB/s, which the link and the channels limit, not the dies"
            )
            return

        def scaled(factor: float) -> Any:
            each = [_ns(time * factor) for time in given]
            return each if len(each) > 1 else each[0]

        factor, ratio, mean = 1.0, 1.0, self.drive.ran["fill"].figures["write mean"]
        for _ in range(4):
            # The mean latency of a closed loop is as exact as its rate, and has no part of a group at its end.
            ratio = mean / self._run(BY_NAME["fill"], {key: scaled(factor)}).figures["write mean"]
            if abs(ratio - 1) < 0.002:
                break
            factor *= ratio
        self.program = max(given) * factor
        self._add(
            key, scaled(factor), _span(self.program, CLOSE * self.program, "us"),
            f"fill: {told:,.0f} MB/s on {_dies(self.device)} dies of {self.device['planes_per_die']} planes",
        )  # fmt: skip

    def _interval(self) -> None:
        """Commands a second, where a drive takes fewer than its dies could serve."""
        key = "host.command_interval"
        told = self._told(key, "read-256", "read iops")
        if told is None:
            return
        most = self._run(BY_NAME["read-256"], {key: "0ns"}).figures["read iops"]
        source = f"read-256: {told:,.0f} reads a second, where the dies could serve {most:,.0f}"
        if most < (1 + CLOSE) * told:
            self._add(key, "0ns", f"up to {1e9 / told:.0f} ns", source)
            return
        # A controller that serves nearly as many makes the dies' queues uneven: it costs more than its own limit says.
        tried = {0.0: most}
        low, high = 0.0, 1e6 / told
        for _ in range(6):
            middle = (low + high) / 2
            tried[middle] = self._run(BY_NAME["read-256"], {key: _ns(middle)}).figures["read iops"]
            if abs(tried[middle] / told - 1) < CLOSE / 10:
                break
            low, high = (middle, high) if tried[middle] > told else (low, middle)
        time = min(tried, key=lambda each: abs(tried[each] - told))
        falling = sorted(tried, reverse=True)
        ends = np.interp([told * (1 + CLOSE), told * (1 - CLOSE)], [tried[each] for each in falling], falling)
        self._add(key, _ns(time), f"{1e3 * ends[0]:.0f} to {1e3 * ends[1]:.0f} ns", source)

    def _suspends(self) -> None:
        """Suspends of programs: a coordinate search on percentiles of reads beside writes."""
        jobs = [
            job
            for job in JOBS
            if job.use == "fitted" and job.name.startswith("beside") and self._has(job.name)
        ]
        if not jobs:
            self.found.kept[SUSPEND] = "needs the jobs beside-250 and beside-1000-32"
            return
        search = _Search(self, jobs)
        found, errors = search.best()
        source = "; ".join(job.name for job in jobs) + f": mean error of the percentiles {errors.least:.0%}"
        if found is None:
            self._add(SUSPEND, "off", f"a suspend fits worse, by {errors.gain:.0%} at least", source)
            return
        for name, value in found.items():
            key = f"{SUSPEND}.reads.{name}"
            told, is_flat = errors.interval(name)
            if is_flat:
                self.found.kept[key] = "no percentile moves with it"
                continue
            self._add(key, value if name == "most" else _ns(value), told, source)

    def _spare(self) -> None:
        """Spare space from the write amplification of uniform writes, by bisection without time."""
        key = "device.over_provisioning"
        if not self._has("random"):
            self.found.kept[key] = "needs the job random"
            return
        random = self.drive.ran["random"]
        waf, source = random.waf, "random: WAF {:.3f} by the drive's counters"
        if waf is None:
            if not self._has("fill"):
                self.found.kept[key] = "needs the drive's counters, or the job fill"
                return
            waf = self.drive.ran["fill"].figures["write mb_s"] / random.figures["write mb_s"]
            source = (
                "random: WAF {:.3f} by the rate of fill over that of random, since there are no counters; "
                "that may be 18 % too high"
            )
        if waf < 1.02:
            self.found.kept[key] = f"a WAF of {waf:.3f} tells no spare space"
            return
        spare, slope = self._bisected(waf)
        self.spare = spare
        ends = sorted(spare * (1 + sign * CLOSE) ** (1 / slope) for sign in (-1, 1))
        self.found.constants.append(
            Constant(key, round(spare, 4), f"{ends[0]:.4f} to {ends[1]:.4f}", source.format(waf))
        )

    def _bisected(self, waf: float) -> tuple[float, float]:
        """The spare share of a WAF, and the slope of its logarithm over that of the share."""
        low, high = 0.02, 4.0
        # A preset that cannot be counted says so with space enough.
        tried = {high: self._counted(high)}
        while high / low > 1.005 and len(tried) < 12:
            # In logarithms; between two points that were counted along their line, so that few are needed.
            middle = math.sqrt(low * high)
            if math.isfinite(tried.get(low, math.inf)) and high in tried:
                part = math.log(tried[low] / waf) / math.log(tried[low] / tried[high])
                middle = low * (high / low) ** min(0.95, max(0.05, part))
            tried[middle] = self._counted(middle)
            if abs(tried[middle] / waf - 1) < 0.002:
                break
            low, high = (low, middle) if tried[middle] < waf else (middle, high)
        best = min(tried, key=lambda share: abs(math.log(tried[share] / waf)))
        if abs(tried[best] / waf - 1) > CLOSE:
            raise InputError(
                f"error: no spare share between 2 % and 400 % gives a WAF of {waf:.3f}; the nearest, {best:.3f}, gives "
                f"{tried[best]:.3f}\nhint: expected counters of random writes to a drive in its steady state"
            )
        apart = [
            share for share in tried if abs(math.log(share / best)) > CLOSE and math.isfinite(tried[share])
        ]
        other = min(apart, key=lambda share: abs(math.log(share / best)), default=None)
        slope = -1.0 if other is None else math.log(tried[best] / tried[other]) / math.log(best / other)
        return best, slope if slope < -0.05 else -1.0

    def _counted(self, spare: float) -> float:
        """The WAF of uniform writes of a steady drive, counted."""
        self.tell(f"random: counted with a spare share of {spare:.3f}")
        pages = self._pages(COUNTED_PAGES)
        blocks = min(self.device["blocks_per_plane"], COUNTED_BLOCKS)
        raw = blocks * pages * in_bytes(self.device["page_size"])
        sets = {
            **COUNTED, "device.blocks_per_plane": blocks, "device.pages_per_block": pages,
            "device.user_capacity": f"{int(raw / (1 + spare)) >> 16 << 16}B",
            "run.executor": "count", "run.precondition": {"random": f"{self._aged():.2f}x"},
            "workload.generator": "uniform",
            "workload.request_size": "4KiB", "workload.read_fraction": 0.0, "workload.volume": "1x",
            "workload.footprint": "100%",
        }  # fmt: skip
        if self.ftl["write_buffer"] != "none":
            sets["ftl.write_buffer"] = "none"
        if _named(self.ftl["gc_schedule"]) not in TIMELESS:
            sets["ftl.gc_schedule"] = "threshold"
        try:
            waf: float = simulation.run(self.base, sets=sets).summary["waf"]
        except ConfigError:
            if spare > 0.5:
                raise
            # Blocks that are held free leave no such space for the user.
            return math.inf
        return waf

    def _order(self) -> None:
        """Reads that wait behind writes for the buffer have the writes' latency."""
        buffer = self.ftl["write_buffer"]
        kind = _named(buffer)
        key = f"ftl.write_buffer.{kind}.reads"
        read, write = (self.drive.figure("limit", f"{name} p50") for name in ("read", "write"))
        if kind == "none" or read is None or write is None:
            self.found.kept["ftl.write_buffer"] = "needs the job limit, and a preset with a write buffer"
            return
        word = "wait" if read > write / 3 else "pass"
        self._add(
            key, word, "",
            f"limit: the median of reads is {_time(read)}, of writes {_time(write)}",
        )  # fmt: skip

    # What kind of drive it is.

    def _classes(self) -> None:
        say = self.found.classes.append
        figure = self.drive.figure
        for constant in self.found.constants:
            if constant.key.endswith(".reads"):
                say(
                    "Reads wait behind writes at the limit."
                    if constant.value == "wait"
                    else "Reads pass writes at the limit."
                )
        p50, p999 = (figure("half", f"write {name}") for name in ("p50", "p999"))
        if p50 and p999:
            in_bursts = p999 > 50 * p50
            say(
                f"Its collections come {'in bursts' if in_bursts else 'in step with the host (paced)'}: at half of the "
                f"steady rate the 99.9th percentile of writes is {_time(p999)}, the median {_time(p50)}."
            )
        steady, cold = figure("random", "write iops"), figure("cold", "write iops")
        if steady and cold:
            ratio = cold / steady
            word = "apart" if ratio > 1.15 else "not apart"
            say(
                f"Cold data are kept {word}: with 60 % of the drive cold it writes {ratio:.2f} times as fast."
            )

    # Figures beside each other.

    def _compare(self) -> None:
        for job in JOBS:
            if not job.use or job.name not in self.drive.ran:
                continue
            theirs, ours = self.drive.ran[job.name], self._run(job)
            for name, value in theirs.figures.items():
                kind, _, what = name.partition(" ")
                if what == "mb_s" and f"{kind} iops" in theirs.figures and "bs=128k" not in job.text:
                    continue
                if what == "iops" and job.name in ("fill", "read-128k"):
                    continue
                if value <= 0 or name not in ours.figures:
                    # A shorter run tells fewer percentiles.
                    continue
                if what in ("iops", "mb_s"):
                    figure = Figure(name, value, "" if what == "iops" else "MB/s", within=RATE)
                else:
                    figure = Figure(name, value, "us", factor=LATENCY)
                self.found.compared.append(Compared(job, figure, ours.figures[name]))
            if theirs.waf is not None and ours.waf is not None and job.state == "aged":
                self.found.compared.append(Compared(job, Figure("WAF", theirs.waf, within=WAF), ours.waf))

    def _keep(self) -> None:
        """Names the constants that no job identifies."""
        for key, why in NEVER.items():
            self.found.kept.setdefault(key, why)

    def _whole(self) -> dict[str, Any]:
        """Capacity and blocks of the whole drive, on the dies of the preset."""
        if self.drive.capacity is None:
            self.found.kept["device.user_capacity"] = "needs the job fill, or the file `capacity`"
            user = in_bytes(self.device["user_capacity"])
        else:
            user = self.drive.capacity
        page = in_bytes(self.device["page_size"])
        row = _product(self.device) * self.device["pages_per_block"] * page
        blocks = round(user * (1 + self.spare) / row)
        return {"device.user_capacity": f"{user // page * page}B", "device.blocks_per_plane": max(8, blocks)}


NEVER = {
    "device.channels and dies, planes of a die": "only their product over a program's time shows",
    "device.timing.channel_rate": "no job fills a channel without filling the link",
    "device.timing.erase": "no job sees an erase by itself",
    "device.timing.ecc_latency, command_overhead": "they are part of a read, as the array's time is",
    "device.erase_suspend": "no job tells it from suspends of programs",
    "ftl.write_buffer size": "no job fills it by itself",
    "ftl.scheduler, ftl.gc_schedule, ftl.separation": "their class is told below, in words",
}
"""Keys that no job identifies, and why."""


@dataclass(slots=True)
class _Errors:
    """The errors of a search, by what was tried."""

    least: float
    gain: float
    tried: Mapping[str, Mapping[float, float]]
    """The mean error for each value of a parameter, the others at their best."""
    units: Mapping[str, float]

    def interval(self, name: str) -> tuple[str, bool]:
        """The values that fit nearly as well, and whether all do."""
        tried = self.tried[name]
        near = [value for value, error in tried.items() if error <= self.least + CLOSE]
        is_flat = max(tried.values()) - min(tried.values()) < FLAT
        if name == "most":
            return f"{min(near):g} to {max(near):g}", is_flat
        return f"{min(near):.1f} to {max(near):.1f} us", is_flat


class _Search:
    """The coordinate search over parameters of suspends."""

    def __init__(self, fitting: _Fitting, jobs: Sequence[Job]) -> None:
        self.fitting, self.jobs = fitting, jobs
        self.known: dict[tuple[float, ...] | None, float] = {}

    def best(self) -> tuple[dict[str, float] | None, _Errors]:
        """The parameters that fit best, `None` where no suspend does better, and the errors around them."""
        off = self._error(None)
        program = self.fitting.program
        starts: list[dict[str, float]] = [
            {"step": 0.0, "most": 8, "latency": 20.0, "resume": 5.0},
            {"step": program / 4, "most": 1, "latency": 20.0, "resume": 5.0},
        ]
        best = min(starts, key=self._error)
        for _ in range(3):
            before = self._error(best)
            for name, values, _unit in SEARCHED:
                each = [value * program for value in values] if name == "step" else list(map(float, values))
                best = min((best, *({**best, name: value} for value in each)), key=self._error)
            if before - self._error(best) < FLAT / 10:
                break
        for factor in FINER:
            for _ in range(3):
                before = self._error(best)
                for name in ("step", "latency", "resume"):
                    best = min(
                        (best, *({**best, name: best[name] * by} for by in (factor, 1 / factor))),
                        key=self._error,
                    )
                if before - self._error(best) < FLAT / 10:
                    break
        least = self._error(best)
        errors = _Errors(least, least - off, dict(self._around(best)), {})
        if off <= least:
            errors.least, errors.gain = off, least - off
            return None, errors
        return best, errors

    def _around(self, best: Mapping[str, float]) -> Iterator[tuple[str, dict[float, float]]]:
        """The errors along each parameter."""
        for name, values, _ in SEARCHED:
            tried = (
                [value * self.fitting.program for value in values]
                if name == "step"
                else list(map(float, values))
            )
            if name != "most":
                tried += [best[name] * by for factor in FINER for by in (factor, 1 / factor)]
            yield name, {value: self._error({**best, name: value}) for value in {*tried, best[name]}}

    def _error(self, at: Mapping[str, float] | None) -> float:
        """The mean of the logarithms of ours over the drive's, as the root of their squares."""
        key = None if at is None else tuple(round(at[name], 3) for name, _, _ in SEARCHED)
        if key not in self.known:
            self.known[key] = self._measured(at)
        return self.known[key]

    def _measured(self, at: Mapping[str, float] | None) -> float:
        sets: dict[str, Any] = {SUSPEND: "off"}
        if at is not None:
            sets = {
                f"{SUSPEND}.reads.{name}": int(value) if name == "most" else _ns(value)
                for name, value in at.items()
            }
        squares = []
        for job in self.jobs:
            theirs, ours = self.fitting.drive.ran[job.name].figures, self.fitting._run(job, sets).figures
            squares += [
                math.log(ours[name] / value) ** 2
                for name, value in theirs.items()
                if name.startswith("read ") and name != "read mb_s" and name in ours
            ]
            squares.append(math.log(ours["write mb_s"] / theirs["write mb_s"]) ** 2)
        return math.sqrt(sum(squares) / len(squares))


TIMES = ("runtime", "time_based", "ramp_time", "number_ios", "loops", "io_size", "startdelay")
"""Options that say how long a job lasts."""


def shortened(of: Ran, seconds: float) -> str:
    """The job file of a job, for so many simulated seconds behind a quarter of that which does not count."""
    lines = [line for line in of.text.splitlines() if line.partition("=")[0] not in TIMES]
    times = ["time_based", f"runtime={round(seconds * 1e6)}us", f"ramp_time={round(seconds * 2.5e5)}us"]
    if "[global]" not in lines:
        lines.insert(0, "[global]")
    at = lines.index("[global]") + 1
    return "\n".join([*lines[:at], *times, *lines[at:]]) + "\n"


def _nearest(percentiles: Mapping[float, float], place: float) -> float:
    """The percentile nearest to a place."""
    return min(percentiles, key=lambda at: abs(at - place))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _bits(device: Mapping[str, Any]) -> int:
    return {"slc": 1, "mlc": 2, "tlc": 3, "qlc": 4}[device["cell"]]


def _dies(device: Mapping[str, Any]) -> int:
    return int(device["channels"] * device["chips_per_channel"] * device["dies_per_chip"])


def _product(device: Mapping[str, Any]) -> int:
    return _dies(device) * int(device["planes_per_die"])


def _named(choice: Any) -> str:
    """The name of a choice."""
    return str(next(iter(choice)) if isinstance(choice, dict) else choice)


def _is_buffered(ftl: Mapping[str, Any]) -> bool:
    return bool(ftl["write_buffer"] != "none")


def _ns(us: float) -> str:
    return f"{round(us * 1e3)}ns"


def _rate(mb_s: float) -> str:
    return f"{round(mb_s * 1e3)}kB/s"


def _time(us: float) -> str:
    return f"{us:.3g} us" if us < 1000 else f"{us / 1000:.3g} ms"


def _span(value: float, by: float, unit: str) -> str:
    return f"{max(0.0, value - by):.1f} to {value + by:.1f} {unit}"


__all__ = ["Compared", "Constant", "Fit", "fit", "shortened"]
