"""The jobs of a job file as streams of requests: where, how large, how many, how many at once, how fast."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from ftlab.base.hints import nearest, one_of
from ftlab.fio.jobfile import JobFile, Section, Word
from ftlab.fio.quantities import Part, microseconds, share, size
from ftlab.fio.words import IGNORED

READ, WRITE = 0, 1

SYNCHRONOUS = {"psync", "sync", "vsync", "pvsync", "pvsync2", "mmap", "splice"}
"""Engines that send a request when the last one is done, whatever `iodepth` says; `psync` is fio's own choice."""

ENGINES = {
    *SYNCHRONOUS, "libaio", "posixaio", "io_uring", "io_uring_cmd", "windowsaio", "solarisaio", "sg", "nvme", "xnvme",
    "spdk", "spdk_bdev", "nbd", "libblkio", "null",
}  # fmt: skip
"""Engines that send reads and writes to a block device, or to nothing."""

LIFETIMES = {"none": 0, "short": 2, "medium": 3, "long": 4, "extreme": 5}
"""Values of `write_hint`, as Linux numbers them."""

SELECTS = {"roundrobin": "round-robin", "random": "random"}
"""Values of `plid_select`, with those of `workload.hint_select`."""

MOST_IDENTIFIER = 65_535
"""The largest placement identifier."""

MOST_IDENTIFIERS = 128
"""As many as a job may take in turns."""

MOST_ZONES = 4
"""Zones that the generator `zoned` has."""

PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
"""Those that fio reports where nobody says which."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A job, or one of its copies (`numjobs`), on a drive of a known size."""

    section: Section
    name: str
    rw: str
    """`read`, `write`, `randread`, `randwrite` or `randrw`."""
    read_fraction: float
    """Fraction of the requests that are reads."""
    bs: int
    """Bytes of each request."""
    depth: int
    """Requests in the drive at once, of all copies."""
    copies: int
    """Copies of the job, of which each is a stream."""
    offset: int
    """First byte of its range."""
    footprint: int
    """Bytes of its range, whole requests."""
    generator: dict[str, Any] | str
    """The pattern, as `workload.generator` has it."""
    requests: int | None
    """How many end it; `None`: only time does."""
    runtime_us: int | None
    """After so long it ends, behind what is not measured."""
    ramp_us: int
    """So long it is not measured."""
    delay_us: int
    """So long after the others it begins."""
    interval_ns: float | None
    """From one request to the next; `None`: as soon as one is done."""
    poisson: bool
    """Whether intervals are exponentially distributed."""
    think_us: int
    """So long after a request is done the next one is sent."""
    percentiles: tuple[float, ...]
    """Those that are reported."""
    hints: tuple[int, ...] = (0,)
    """The numbers that its writes carry, in turns; 0: none."""
    hint_select: str = "round-robin"
    """The one that comes next: `round-robin` or `random`."""

    @property
    def end_us(self) -> int | None:
        """When it ends, from its beginning."""
        return None if self.runtime_us is None else self.ramp_us + self.runtime_us

    @property
    def is_a_loop(self) -> bool:
        """True where nothing but requests says when the next one is sent, or when it is over."""
        times = (self.interval_ns, self.runtime_us, self.ramp_us, self.delay_us, self.think_us)
        return not any(times)


class Reading:
    """Makes streams of sections; `notes` are for the user."""

    def __init__(self, file: JobFile, capacity: int, handles: int = 1) -> None:
        self.file = file
        self.capacity = capacity
        self.handles = handles
        self.notes: list[str] = []

    def stream(self, section: Section) -> Stream:
        """The stream of a job, with its copies as one.

        Raises:
            InputError: a word of it has no such value, or asks for what is not carried out.
        """
        base = self._kb_base(section)
        rw, read_fraction = self._direction(section)
        direction = READ if read_fraction == 1 else WRITE if read_fraction == 0 else None
        bs = self._block_size(section, direction, base)
        copies = self._count(section, "numjobs", 1, most=4096)
        offset, footprint = self._range(section, bs, base)
        generator = self._pattern(section, rw)
        interval, poisson = self._pace(section, direction, bs, base)
        depth = self._depth(section)
        runtime, ramp, delay = (self._time(section, key) for key in ("runtime", "ramp_time", "startdelay"))
        stream = Stream(
            section=section,
            name=section.name,
            rw=rw,
            read_fraction=read_fraction,
            bs=bs,
            depth=depth,
            copies=copies,
            offset=offset,
            footprint=footprint,
            generator=generator,
            requests=self._requests(section, bs, footprint, base),
            runtime_us=runtime or None,
            ramp_us=ramp,
            delay_us=delay,
            interval_ns=interval,
            poisson=poisson,
            think_us=self._think(section, depth),
            percentiles=self._percentiles(section),
            hints=self._hints(section),
            hint_select=self._hint_select(section),
        )
        if section.flag("time_based") and not runtime:
            raise self.file.refusal(
                section.words["time_based"], "`time_based` has no end", "expected `runtime` as well"
            )
        if section.flag("time_based"):
            stream = replace(stream, requests=None)
        self._ignored(section)
        return stream

    def _hints(self, section: Section) -> tuple[int, ...]:
        """The numbers that writes carry: of a lifetime as Linux has it, placement identifiers or streams."""
        words = section.words
        places = words.get("plids") or words.get("fdp_pli")
        kind = words.get("dataplacement")
        if kind is not None and kind.value not in ("none", "fdp", "streams"):
            raise self.file.refusal(
                kind, f"`dataplacement` cannot be `{kind.value}`", "expected `none`, `fdp` or `streams`"
            )
        is_on = section.flag("fdp") if kind is None else kind.value != "none"
        if (word := words.get("write_hint")) is not None:
            if word.value not in LIFETIMES:
                raise self.file.refusal(word, f"`write_hint` cannot be `{word.value}`", one_of(LIFETIMES))
            if is_on and LIFETIMES[word.value]:
                raise self.file.refusal(word, "a write has a lifetime or a placement identifier, not both",
                                 "expected only one of `write_hint` and `dataplacement`")  # fmt: skip
            if not is_on:
                return (LIFETIMES[word.value],)
        if not is_on:
            return (0,)
        if places is not None:
            return self._identifiers(places)
        if kind is not None and kind.value == "streams":
            raise self.file.refusal(
                kind,
                "`dataplacement=streams` does not say which streams",
                "expected `plids` as well: `plids=1,2`",
            )
        # As fio does: all that the drive has.
        return tuple(range(self.handles))

    def _identifiers(self, word: Word) -> tuple[int, ...]:
        """The numbers of a list of numbers and ranges, in the order of fio: from the lowest."""
        found: list[int] = []
        for part in (word.value or "").split(","):
            match = re.fullmatch(r"\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?", part)
            first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
            if first > last or last > MOST_IDENTIFIER:
                raise self.file.refusal(word, f"`{part.strip()}` is no placement identifier, and no range of them",
                                        f"expected numbers from 0 to {MOST_IDENTIFIER}: `plids=0,2,5-7`")  # fmt: skip
            found += range(first, last + 1)
        if len(found) > MOST_IDENTIFIERS:
            raise self.file.refusal(word, f"`{word.key}` has {len(found):,} placement identifiers",
                                    f"expected at most {MOST_IDENTIFIERS}, as many as fio takes")  # fmt: skip
        return tuple(sorted(found))

    def _hint_select(self, section: Section) -> str:
        """Which of several numbers the next write carries."""
        word = section.words.get("plid_select") or section.words.get("fdp_pli_select")
        if word is None:
            return "round-robin"
        if word.value == "scheme":
            raise self.file.refusal(word, f"`{word.key}=scheme` is not carried out: no file of ranges is read",
                                    "expected a job for each range, with `offset`, `size` and `plids`")  # fmt: skip
        if word.value not in SELECTS:
            raise self.file.refusal(word, f"`{word.key}` cannot be `{word.value}`", one_of(SELECTS))
        return SELECTS[word.value]

    def _kb_base(self, section: Section) -> int:
        word = section.words.get("kb_base")
        if word is None:
            return 1024
        if word.value not in ("1000", "1024"):
            raise self.file.refusal(word, f"`kb_base` cannot be `{word.value}`", "expected 1000 or 1024")
        return int(word.value)

    def _direction(self, section: Section) -> tuple[str, float]:
        """The kind of I/O, and the fraction of reads."""
        word, rw = section.words.get("rw"), section.value("rw") or "read"
        at: Word | int = section.line if word is None else word
        kind, colon, _ = rw.partition(":")
        kinds = {"read": 1.0, "write": 0.0, "randread": 1.0, "randwrite": 0.0, "randrw": None, "rw": None,
                 "readwrite": None}  # fmt: skip
        if kind in ("trim", "randtrim", "trimwrite", "randtrimwrite"):
            raise self.file.refusal(at, f"`rw={kind}` is not carried out: no generator sends trims",
                             "a trace may have them: `--trace FILE`")  # fmt: skip
        if kind not in kinds:
            raise self.file.refusal(at, f"`rw` cannot be `{rw}`", one_of(kinds), nearest(rw, kinds))
        if colon:
            raise self.file.refusal(at, f"`rw={rw}` is not carried out: runs of requests have no generator",
                             f"expected `rw={kind}`; the generator `mixed` has runs")  # fmt: skip
        fixed = kinds[kind]
        if fixed is not None:
            return kind, fixed
        reads = self._mix(section)
        if kind == "randrw":
            return kind, reads
        if reads in (0.0, 1.0):
            return ("read" if reads else "write"), reads
        raise self.file.refusal(
            at,
            f"`rw={kind}` is not carried out: fio reads and writes in two sequences, and a generator has one",
            "expected `randrw`, `read` or `write`",
        )

    def _mix(self, section: Section) -> float:
        for key, of_reads in (("rwmixread", True), ("rwmixwrite", False)):
            if (word := section.words.get(key)) is not None:
                percent = self._number(word, 0, 100)
                return (percent if of_reads else 100 - percent) / 100
        return 0.5

    def _block_size(self, section: Section, direction: int | None, base: int) -> int:
        word = section.words.get("bs")
        if word is None:
            return 4096
        parts = [part.strip() for part in (word.value or "").split(",")]
        sizes = [size(part, base) if part else 4096 for part in parts]
        if len(parts) > 3 or None in sizes:
            raise self.file.refusal(
                word,
                f"`bs` cannot be `{word.value}`",
                "expected a size, such as 4k; of reads, writes: 4k,16k",
            )
        read, write = sizes[0], sizes[1] if len(sizes) > 1 else sizes[0]
        if direction is None and read != write:
            raise self.file.refusal(word, "`bs` has two sizes, and requests of a generator have one",
                             "expected one size, or a job for reads and one for writes")  # fmt: skip
        bs = write if direction == WRITE else read
        assert bs is not None
        if bs % 512 or not bs or bs > 1 << 30:
            raise self.file.refusal(
                word, f"`bs` is {bs:,} bytes", "expected a multiple of 512, at most 1 GiB"
            )
        return bs

    def _range(self, section: Section, bs: int, base: int) -> tuple[int, int]:
        """The first byte of a job's range, and the bytes of it."""
        offset = self._extent(section, "offset", self.capacity, base) or 0
        at = section.words.get("offset")
        if at is not None and isinstance(share(at.value or ""), Part):
            # As fio does: a part of the drive begins where a request can.
            offset = offset // bs * bs
        if at is not None and (offset % 512 or offset >= self.capacity):
            raise self.file.refusal(
                at,
                f"`offset` is {offset:,} bytes",
                f"expected a multiple of 512, less than the drive's {self.capacity:,}",
            )
        room = self.capacity - offset
        given = self._extent(section, "size", self.capacity, base)
        footprint = room if given is None or given == self.capacity else given
        where = section.words.get("size") or section.line
        if footprint > room:
            raise self.file.refusal(where, f"{footprint:,} bytes from {offset:,} on go past the end of the drive",
                             f"expected at most {room:,}: the drive has {self.capacity:,}")  # fmt: skip
        if footprint < bs:
            raise self.file.refusal(
                where, f"{footprint:,} bytes hold no request of {bs:,}", "expected at least one"
            )
        return offset, footprint // bs * bs

    def _extent(self, section: Section, key: str, whole: int, base: int) -> int | None:
        word = section.words.get(key)
        if word is None:
            return None
        text = word.value or ""
        found = share(text) or size(text, base)
        if found is None or (isinstance(found, Part) and found.percent > 100):
            raise self.file.refusal(
                word, f"`{key}` cannot be `{text}`", "expected a size, such as 10g, or up to 100%"
            )
        return found.of(whole) if isinstance(found, Part) else found

    def _pattern(self, section: Section, rw: str) -> dict[str, Any] | str:
        word = section.words.get("random_distribution")
        if not rw.startswith("rand"):
            return "sequential"
        named = "random" if word is None else (word.value or "")
        kind, colon, number = named.partition(":")
        if kind == "random" and not colon:
            return "uniform" if section.flag("norandommap") else "shuffled"
        assert word is not None or kind == "random"
        at = word or section.line
        if kind == "zoned" and colon:
            return self._zones(at, number)
        limits = {"zipf": (1.1, 0.0, 4.0), "pareto": (0.2, 0.001, 0.999)}
        if kind not in limits:
            raise self.file.refusal(at, f"`random_distribution` cannot be `{named}`",
                             "expected `random`, `zipf:THETA`, `pareto:H` or `zoned:REQUESTS/SIZE:…`")  # fmt: skip
        default, least, most = limits[kind]
        try:
            value = float(number) if colon else default
        except ValueError:
            value = -1.0
        if not least <= value <= most or (kind == "zipf" and value == 0):
            raise self.file.refusal(
                at,
                f"`random_distribution={kind}` cannot have `{number}`",
                f"expected a number from {least or 'above 0'} to {most}",
            )
        parameter = {"zipf": "z", "pareto": "h"}[kind]
        return {kind: {parameter: value}}

    def _zones(self, at: Word | int, text: str) -> dict[str, Any]:
        """Zones one behind the other, of each its per cent of the requests and of the range."""
        zones = [zone.split("/") for zone in text.split(":")]
        if not all(len(zone) == 2 and all(part.strip().isdecimal() for part in zone) for zone in zones):
            raise self.file.refusal(
                at,
                f"`random_distribution=zoned` cannot have `{text}`",
                "expected whole per cent of the requests and of the range, zone by zone: `60/10:30/20:10/70`",
            )
        if len(zones) > MOST_ZONES:
            raise self.file.refusal(
                at, f"`random_distribution=zoned` has {len(zones)} zones", f"expected at most {MOST_ZONES}"
            )
        shares = [[int(part) for part in zone] for zone in zones]
        for which, of in enumerate(("requests", "range")):
            if (whole := sum(share[which] for share in shares)) != 100:
                raise self.file.refusal(
                    at, f"zones have {whole} % of the {of}", "expected 100 % of the requests and of the range"
                )
        shares += [[0, 0]] * (MOST_ZONES - len(shares))
        return {
            "zoned": {
                f"{key}{number}": share[which]
                for number, share in enumerate(shares, start=1)
                for which, key in enumerate(("requests", "size"))
            }
        }

    def _pace(self, section: Section, direction: int | None, bs: int, base: int) -> tuple[float | None, bool]:
        """Nanoseconds from one request to the next, and whether they are random."""
        process = section.words.get("rate_process")
        if process is not None and process.value not in ("linear", "poisson"):
            raise self.file.refusal(
                process, f"`rate_process` cannot be `{process.value}`", "expected `linear` or `poisson`"
            )
        found: float | None = None
        for key in ("rate", "rate_iops"):
            word = section.words.get(key)
            if word is None:
                continue
            if direction is None:
                raise self.file.refusal(
                    word,
                    f"`{key}` of a job that reads and writes: fio paces each by itself",
                    "expected a job that reads and one that writes, each with its rate",
                )
            parts = [part.strip() for part in (word.value or "").split(",")]
            rates = [size(part, base) if part else 0 for part in parts]
            if None in rates or len(parts) > 3:
                raise self.file.refusal(
                    word, f"`{key}` cannot be `{word.value}`", "expected a number, or that of reads, writes"
                )
            # One number is that of both.
            rate = rates[direction] if direction < len(rates) else rates[0] if len(rates) == 1 else 0
            if not rate:
                continue
            interval = 1e9 / rate * (bs if key == "rate" else 1)
            found = interval if found is None else max(found, interval)
        if found is not None and not 1 <= found <= 3.6e12:
            at = section.words.get("rate") or section.words["rate_iops"]
            raise self.file.refusal(
                at, f"a request each {found:g} ns", "expected one in 1 ns to one in an hour"
            )
        return found, process is not None and process.value == "poisson" and found is not None

    def _depth(self, section: Section) -> int:
        depth = self._count(section, "iodepth", 1, most=65_536)
        word = section.words.get("ioengine")
        engine = "psync" if word is None else (word.value or "")
        if word is not None and engine.partition(":")[0] not in {*ENGINES, "external"}:
            raise self.file.refusal(word, f"`ioengine={engine}` does no reads and writes of a block device",
                             "expected one that does, such as `libaio`", nearest(engine, ENGINES))  # fmt: skip
        if engine in SYNCHRONOUS and depth > 1:
            said = f"`ioengine={engine}`" if word else "`psync`, which is fio's engine where none is named,"
            self.notes.append(
                f"[{section.name}]: {said} sends a request when the last is done: `iodepth` is 1, not {depth}"
            )
            return 1
        return depth

    def _requests(self, section: Section, bs: int, footprint: int, base: int) -> int:
        """How many requests end a job, of one copy."""
        given = self._extent(section, "io_size", footprint, base)
        once = (given or footprint) // bs
        number = self._count(section, "number_ios", 0, most=(1 << 63) - 1, least=0)
        once = min(once, number) if number else once
        if once == 0:
            raise self.file.refusal(
                section.words.get("io_size") or section.line,
                "the job sends no request",
                "expected at least one",
            )
        return once * self._count(section, "loops", 1, most=1 << 32)

    def _count(self, section: Section, key: str, default: int, *, most: int, least: int = 1) -> int:
        word = section.words.get(key)
        return default if word is None else self._number(word, least, most)

    def _number(self, word: Word, least: int, most: int) -> int:
        found = size(word.value or "")
        if found is None or not least <= found <= most:
            raise self.file.refusal(
                word,
                f"`{word.key}` cannot be `{word.value}`",
                f"expected a whole number from {least} to {most:,}",
            )
        return found

    def _time(self, section: Section, key: str) -> int:
        word = section.words.get(key)
        if word is None:
            return 0
        found = microseconds(word.value or "")
        if found is None or found > 365 * 86_400_000_000:
            raise self.file.refusal(
                word,
                f"`{key}` cannot be `{word.value}`",
                "expected a time, such as 30 (seconds), 30s, 500ms, 2m",
            )
        return found

    def _think(self, section: Section, depth: int) -> int:
        word = section.words.get("thinktime")
        if word is None:
            return 0
        value = word.value or ""
        # Its numbers without a unit are microseconds, unlike those of other times.
        found = microseconds(f"{value}us" if value.isdecimal() else value)
        if found is None or found > 3_600_000_000:
            raise self.file.refusal(
                word,
                f"`thinktime` cannot be `{value}`",
                "expected a time up to an hour, such as 500 (microseconds), 2ms",
            )
        if found and depth > 1:
            raise self.file.refusal(
                word,
                f"`thinktime` of a job with {depth} requests at once: fio lets all of them end before it thinks",
                "expected `iodepth=1`, and copies (`numjobs`) for more at once",
            )
        return found

    def _percentiles(self, section: Section) -> tuple[float, ...]:
        word = section.words.get("percentile_list")
        if word is None:
            return PERCENTILES
        try:
            found = tuple(sorted(float(part) for part in (word.value or "").split(":")))
        except ValueError:
            found = ()
        if not found or not all(0 < each <= 100 for each in found):
            raise self.file.refusal(
                word,
                f"`percentile_list` cannot be `{word.value}`",
                "expected percentages, such as 50:99:99.9",
            )
        return found

    def _ignored(self, section: Section) -> None:
        kinds: dict[str, list[str]] = {}
        for key in section.words:
            if key in IGNORED:
                kinds.setdefault(IGNORED[key], []).append(f"`{key}`")
        for kind, words in kinds.items():
            self.notes.append(f"[{section.name}]: {', '.join(words)}: not looked at ({kind})")
