"""The jobs of a job file as streams of requests: where, how large, how many, how many at once, how fast."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ftlab.base.hints import nearest, one_of
from ftlab.fio import laws, options, sizes
from ftlab.fio.jobfile import JobFile, Line, Section, Word
from ftlab.fio.quantities import Part, microseconds, share, size
from ftlab.fio.sizes import READ, TRIM, WRITE, Sizes, by_kind, short, three

SYNCHRONOUS = {"psync", "sync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "libcufile", "libhipfile"}
"""Engines that send a request when the last one is done, whatever `iodepth` says; `psync` is fio's own choice."""

ENGINES = {
    *SYNCHRONOUS, "libaio", "aio", "linuxaio", "posixaio", "io_uring", "io_uring_cmd", "windowsaio", "solarisaio", "sg",
    "nvme", "xnvme",
    "spdk", "spdk_bdev", "nbd", "libblkio", "libiscsi", "libzbc", "null", "cpp_null",
}  # fmt: skip
"""Engines that send reads and writes to a block device, or to nothing."""

DIRECTIONS: dict[str, tuple[int, ...]] = {
    "read": (READ,), "write": (WRITE,), "trim": (TRIM,), "randread": (READ,), "randwrite": (WRITE,),
    "randtrim": (TRIM,),
    "rw": (READ, WRITE), "readwrite": (READ, WRITE), "randrw": (READ, WRITE), "trimwrite": (WRITE, TRIM),
    "randtrimwrite": (WRITE, TRIM),
}  # fmt: skip
"""Values of `rw`, and the kinds of requests that a job of each sends."""

LIFETIMES = {"none": 0, "short": 2, "medium": 3, "long": 4, "extreme": 5}
"""Values of `write_hint`, as Linux numbers them."""

SELECTS = {"roundrobin": "round-robin", "random": "random"}
"""Values of `plid_select`, with those of `workload.hint_select`."""

MOST_IDENTIFIER = 65_535
"""The largest placement identifier."""

MOST_IDENTIFIERS = 128
"""As many as a job may take in turns."""

MOST_FILES = 4096
"""Files of a job at most."""

SERVICES = ("roundrobin", "sequential", "random")
"""Values of `file_service_type`."""

MOST_COPIES = 4096
"""Copies of a job at most."""

MOST = 1 << 62
"""No count is larger."""

HOUR_US = 3_600_000_000
SECOND_US = 1_000_000

PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
"""Those that fio reports where nobody says which."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A job, or one of its copies (`numjobs`), on a drive of a known size."""

    section: Section
    name: str
    """The name of the job."""
    copy: int
    """The number of the copy, from 0."""
    kinds: tuple[int, ...]
    """The kinds of its requests: reads, writes and trims are 0, 1 and 2."""
    depth: int
    """Requests in the drive at once."""
    source: dict[str, Any]
    """Its requests, as keys of `[workload]`."""
    runtime_us: int | None
    """After so long it ends, behind what is not measured."""
    ramp_us: int
    """So long it is not measured."""
    delay_us: int
    """So long after the others it begins."""
    is_paced: bool
    """True where requests have times of their own."""
    pause: dict[str, Any]
    """The keys of a tenant that say when places are filled again."""
    percentiles: tuple[float, ...]
    """Those that are reported."""
    copies: int = 1
    """Copies that it stands for, in a report."""
    stage: int = 0
    """Jobs of a stage begin when those of the stage before are done."""
    group: int = 0
    """fio's number of the group that it is reported with."""
    steady: dict[str, str] = field(default_factory=dict)
    """The keys of a tenant that end it once its figures are steady."""
    hints: dict[str, Any] = field(default_factory=dict)
    """The keys of `[workload]` that say which hint its writes carry."""

    @property
    def end_us(self) -> int | None:
        """When it ends, from its beginning."""
        return None if self.runtime_us is None else self.ramp_us + self.runtime_us

    @property
    def is_a_loop(self) -> bool:
        """True where nothing but requests of a generator says when the next one is sent, or when it is over."""
        times = (self.runtime_us, self.ramp_us, self.delay_us, self.is_paced, self.pause, self.steady)
        return "generator" in self.source and not any(times)


@dataclass(frozen=True, slots=True)
class _Range:
    """The addresses of a job."""

    offset: int
    bytes: int
    """Of them, inside the drive."""
    size: int
    """Bytes that a pass has, as fio counts them; more than there are, where a job asks for more."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The requests of a job, whatever their addresses."""

    rw: str
    behind: str
    """The text behind the colon of `rw`."""
    kinds: tuple[int, ...]
    reads: int
    """Per cent of reads, of a job that mixes."""
    sizes: tuple[Sizes, Sizes, Sizes]

    @property
    def is_random(self) -> bool:
        return self.rw.startswith("rand")

    @property
    def least(self) -> int:
        """Bytes of the smallest request."""
        return min(self.sizes[kind].least for kind in self.kinds)

    @property
    def one_size(self) -> int | None:
        """Bytes of every request; `None` where they differ."""
        found = {each for kind in self.kinds for each in (self.sizes[kind].least, self.sizes[kind].most)}
        return found.pop() if len(found) == 1 else None


class Reading:
    """Makes streams of sections; `notes` are for the user."""

    def __init__(self, file: JobFile, capacity: int, handles: int = 1) -> None:
        self.file = file
        self.capacity = capacity
        self.handles = handles
        self.notes: list[str] = []

    def streams(self, section: Section) -> list[Stream]:
        """The streams of a job, one for each of its copies.

        Raises:
            InputError: a word of it has no such value, or asks for what is not carried out.
        """
        self._check_engine(section)
        section = self.file.checked(section)
        copies = self._count(section, "numjobs", 1, most=MOST_COPIES)
        depth = self._depth(section)
        runtime, ramp, delay = (self._time(section, key) for key in ("runtime", "ramp_time", "startdelay"))
        if section.flag("time_based") and not runtime:
            self.note(section, "`time_based` has no `runtime`, and fio leaves it out then")
        by_time = section.flag("time_based") and bool(runtime)
        pause = self._pause(section, depth)
        percentiles = self._percentiles(section)
        if "read_iolog" in section.words:
            kinds: tuple[int, ...] = (READ, WRITE, TRIM)
            sources = [(self._log(section, copy), kinds) for copy in range(copies)]
            paced = not section.flag("replay_no_stall")
        else:
            shape = self._shape(section)
            rates = self._rates(section, shape)
            sources = [
                (self._source(section, shape, copy, rates, by_time), shape.kinds) for copy in range(copies)
            ]
            paced = any(rates[1][kind] for kind in shape.kinds)
        hints, steady = self._hints(section), self._steady(section)
        self._no_matter(section)
        return [
            Stream(
                section=section, name=section.job_name, copy=copy, kinds=kinds, depth=depth, source=source,
                runtime_us=runtime or None, ramp_us=ramp, delay_us=delay, is_paced=paced, pause=pause,
                percentiles=percentiles, hints=hints, steady=steady,
            )
            for copy, (source, kinds) in enumerate(sources)
        ]  # fmt: skip

    def note(self, section: Section, text: str) -> None:
        """Tells the user something of a job, once."""
        told = f"[{section.name}]: {text}"
        if told not in self.notes:
            self.notes.append(told)

    # Requests.

    def _source(
        self, section: Section, shape: _Shape, copy: int, rates: tuple[str, tuple[float, ...]], by_time: bool
    ) -> dict[str, Any]:
        """The keys of `[workload]` for a copy of a job: a generator, or a job in words of fio."""
        files, service = self._files(section)
        where = self._range(section, shape, copy, files)
        aligns = self._aligns(section, shape)
        mixed = self._mixed(section)
        given = self._extent(section, "io_size", where.size)
        number = self._count(section, "number_ios", 0, most=MOST, least=0)
        loops = self._count(section, "loops", 1, most=MOST)
        base = self._kb_base(section)
        words: dict[str, Any] = {"rw": shape.rw + (f":{shape.behind}" if shape.behind else "")}
        words["bs"] = three([each.text for each in shape.sizes])
        words |= {"offset": short(where.offset)} if where.offset else {}
        words |= {"size": short(where.size)}
        words |= {"range": short(where.bytes)} if where.bytes != where.size else {}
        words |= {"files": files} if files > 1 else {}
        words |= {"file_service": service} if files > 1 and service != "roundrobin:1" else {}
        words |= {"io_size": short(given)} if given else {}
        words |= {"number_ios": number} if number else {}
        words |= {"loops": loops} if loops > 1 else {}
        words |= {"time_based": 1} if by_time else {}
        if self._is_synchronous(section):
            words["ioengine"] = "psync"
        repeats = (section.value("randrepeat") or "1") != "0" and "randseed" not in section.words
        words |= {} if repeats else {"randrepeat": 0}
        if len(shape.kinds) > 1 and TRIM not in shape.kinds:
            words["rwmixread"] = shape.reads
        plain_words = set(words) - {"files", "file_service"}
        words |= {"ba": aligns} if aligns else {}
        words |= {"percentage_random": mixed} if mixed else {}
        words |= self._flags(section)
        if len(shape.kinds) > 1 or shape.one_size is None:
            words |= self._pace_words(section, shape, rates)
        words |= self._read_back(section, shape)
        words |= self._through(section, shape)
        # Places are drawn in each file.
        generator: dict[str, Any] | str | None
        generator, law = "sequential", ""
        if shape.is_random:
            generator, law = laws.law(self.file, section, where.bytes // files, self._kb_base(section))
        only = shape.one_size
        limit = given or where.size
        once = min(limit // only, number) if only and number else limit // only if only else 0
        repeated = loops > 1 or bool(only and once > where.size // only)
        fits = (
            only is not None and limit % only == 0 and where.bytes % only == 0 and where.bytes == where.size
        )
        is_plain = (
            generator is not None
            and fits
            and once > 0
            and set(words) == plain_words
            and not shape.behind
            and TRIM not in shape.kinds
            and (shape.is_random or len(shape.kinds) == 1)
            and (not shape.is_random or not repeated or not repeats or by_time)
        )
        if is_plain:
            assert only is not None
            return self._generated(
                shape, where, generator, only, None if by_time else once * loops, rates, section
            )
        if shape.is_random:
            words |= {"norandommap": 1} if section.flag("norandommap") else {}
            words |= {"random_distribution": law} if law else {}
        if rates[0] and "rate" not in words and "rate_iops" not in words:
            words |= self._pace_words(section, shape, rates)
        least = max(shape.sizes[kind].least for kind in shape.kinds)
        if limit < least or where.bytes // files < least:
            at = section.words.get("io_size") or section.words.get("size") or section.line
            raise self.file.refusal(
                at,
                f"{min(limit, where.bytes // files):,} bytes hold no request of {least:,}",
                "expected at least one",
            )
        assert base
        return {"job": " ".join(f"{key}={value}" for key, value in words.items())}

    def _generated(
        self, shape: _Shape, where: _Range, generator: Any, bs: int, requests: int | None,
        rates: tuple[str, tuple[float, ...]], section: Section,
    ) -> dict[str, Any]:  # fmt: skip
        """The keys of a generator."""
        reads = shape.reads / 100 if len(shape.kinds) > 1 else float(shape.kinds[0] == READ)
        found: dict[str, Any] = {
            "generator": generator,
            "request_size": f"{bs}B",
            "read_fraction": reads,
            "footprint": f"{where.bytes}B",
        }
        if requests is not None:
            found["requests"] = min(requests, (1 << 63) - 1)
        if where.offset:
            found |= {"address_offset": f"{where.offset}B", "out_of_range": "reject"}
        rate = rates[1][shape.kinds[0]]
        if rate:
            interval = 1e9 / rate * (bs if rates[0] == "rate" else 1)
            if not 1 <= interval <= 3.6e12:
                raise self.file.refusal(
                    section.words[rates[0]],
                    f"a request each {interval:g} ns",
                    "expected one in 1 ns to one in an hour",
                )
            found |= {
                "interval": f"{round(interval)}ns",
                "poisson": section.value("rate_process") == "poisson",
            }
        return found

    def _shape(self, section: Section) -> _Shape:
        word, rw = section.words.get("rw"), section.value("rw") or "read"
        at: Word | Line = section.line if word is None else word
        kind, _, behind = rw.partition(":")
        if kind not in DIRECTIONS:
            raise self.file.refusal(
                at, f"`rw` cannot be `{rw}`", one_of(DIRECTIONS), nearest(kind, DIRECTIONS)
            )
        kind = "rw" if kind == "readwrite" else kind
        reads, kinds = self._mix(section), DIRECTIONS[kind]
        if kinds == (READ, WRITE) and reads in (0, 100):
            # As fio: it sends but one kind.
            kind = kind.replace("rw", "read" if reads else "write")
            kinds = DIRECTIONS[kind]
        if behind:
            sign = "-" if behind.startswith("-") else ""
            found = size(behind.removeprefix("-"), self._kb_base(section))
            if found is None or (kind.startswith("rand") and (sign or not found)):
                raise self.file.refusal(
                    at, f"`rw={rw}` has `{behind}` behind it",
                    "expected how many requests a run has (random), or the bytes to leave out (sequential)",
                )  # fmt: skip
            behind = "" if found == (1 if kind.startswith("rand") else 0) else f"{sign}{short(found)}"
        return _Shape(kind, behind, kinds, reads, self._sizes(section, kinds))

    def _mix(self, section: Section) -> int:
        """Per cent of reads."""
        for key, of_reads in (("rwmixread", True), ("rwmixwrite", False)):
            if (word := section.words.get(key)) is not None:
                percent = self._number(word, 0, 100)
                return percent if of_reads else 100 - percent
        return 50

    def _sizes(self, section: Section, kinds: tuple[int, ...]) -> tuple[Sizes, Sizes, Sizes]:
        base = self._kb_base(section)
        found: list[Sizes] = [sizes.one(4096)] * 3
        reads: tuple[tuple[str, Callable[[str, int], Sizes | None], str], ...] = (
            ("bs", sizes.fixed, "a size, such as 4k; of reads, writes: 4k,16k"),
            ("bsrange", sizes.ranged, "a range, such as 4k-64k; of reads, writes: 4k-64k,4k-8k"),
            ("bssplit", sizes.split, "sizes and per cent, such as 4k/10:64k/90; of reads, writes: 4k/100,64k/100"),
        )  # fmt: skip
        for key, read, expected in reads:
            if (word := section.words.get(key)) is None:
                continue
            parts = by_kind(word.value or "", "")
            # An empty part is fio's own size; the ones before it stay where only some kinds are named.
            each = [found[kind] if not part else read(part, base) for kind, part in enumerate(parts or ())]
            if parts is None or not all(each):
                shown = f"`{word.written}` cannot be `{word.value}`"
                if key == "bs" and size((word.value or "").partition(",")[0], base) == 0:
                    shown = f"`{word.written}` is 0 bytes"
                raise self.file.refusal(word, shown, f"expected {expected}")
            found = [one for one in each if one is not None]
        for kind in kinds:
            if wrong := [n for n in (found[kind].least, found[kind].most) if n % 512 or n >= 1 << 32]:
                at = section.words.get("bssplit") or section.words.get("bsrange") or section.words.get("bs")
                raise self.file.refusal(
                    at or section.line,
                    f"a request is {wrong[0]:,} bytes",
                    "expected a multiple of 512, less than 4 GiB",
                )
        return found[0], found[1], found[2]

    def _aligns(self, section: Section, shape: _Shape) -> str:
        """The value of `ba` for a job, where it says something."""
        if (word := section.words.get("ba")) is None or not shape.is_random:
            return ""
        parts = by_kind(word.value or "", "")
        base = self._kb_base(section)
        least = [each.least for each in shape.sizes]
        found = [size(part, base) if part else least[kind] for kind, part in enumerate(parts or ())]
        if parts is None or not all(each and each % 512 == 0 for each in found):
            raise self.file.refusal(
                word, f"`{word.written}` cannot be `{word.value}`", "expected a multiple of 512, such as 4k"
            )
        return (
            ""
            if all(found[kind] == least[kind] for kind in shape.kinds)
            else three([short(n or 0) for n in found])
        )

    def _mixed(self, section: Section) -> str:
        """The value of `percentage_random` for a job, where it says something."""
        if (word := section.words.get("percentage_random")) is None:
            return ""
        parts = by_kind(word.value or "", "100")
        if parts is None or not all(part.isdecimal() and int(part[:6]) <= 100 for part in parts):
            raise self.file.refusal(
                word, f"`percentage_random` cannot be `{word.value}`",
                "expected 0 to 100; of reads, writes: 0,25",
            )  # fmt: skip
        return "" if set(parts) == {"100"} else three([str(int(part)) for part in parts])

    def _flags(self, section: Section) -> dict[str, Any]:
        """Words of a job that are as in fio."""
        found: dict[str, Any] = {key: 1 for key in ("bs_unaligned", "bs_is_seq_rand") if section.flag(key)}
        word = section.words.get("rw_sequencer")
        if word is not None and word.value not in ("sequential", "identical"):
            raise self.file.refusal(
                word, f"`rw_sequencer` cannot be `{word.value}`", one_of(["sequential", "identical"])
            )
        if word is not None and word.value == "identical":
            found["rw_sequencer"] = "identical"
        return found

    def _through(self, section: Section, shape: _Shape) -> dict[str, Any]:
        """Flushes, and writes that are durable when they complete."""
        found: dict[str, Any] = {}
        if WRITE not in shape.kinds:
            return found
        for key in ("fsync", "fdatasync"):
            if every := self._count(section, key, 0, most=1 << 31, least=0):
                found[key] = every
        if any(section.flag(key) for key in ("end_fsync", "fsync_on_close", "end_syncfs")):
            found["end_fsync"] = 1
        word = section.words.get("sync")
        if word is not None and word.value not in ("0", "1", "none", "sync", "dsync", None):
            raise self.file.refusal(
                word, f"`sync` cannot be `{word.value}`", one_of(["none", "sync", "dsync"])
            )
        if (word is not None and word.value not in ("0", "none")) or section.flag("writefua"):
            found["sync"] = 1
        return found

    def _read_back(self, section: Section, shape: _Shape) -> dict[str, Any]:
        """Reads of what was written (`verify`)."""
        if (section.value("verify") or "0") in ("0", "none") or (section.value("do_verify") or "1") == "0":
            return {}
        self.note(
            section,
            "`verify` reads what was written, and compares nothing; `--set run.payload=stamp` checks every read",
        )
        if WRITE not in shape.kinds:
            return {}
        found: dict[str, Any] = {"verify": 1}
        for key in ("verify_backlog", "verify_backlog_batch"):
            if number := self._count(section, key, 0, most=MOST, least=0):
                found[key] = number
        return found

    def _log(self, section: Section, copy: int) -> dict[str, Any]:
        """A log of fio, as a trace."""
        word = section.words["read_iolog"]
        names = (word.value or "").split(":")
        found: dict[str, Any] = {"trace": names[copy % len(names)]}
        if (loops := self._count(section, "loops", 1, most=1 << 53)) > 1:
            found["rounds"] = loops
        return found

    # Addresses.

    def _files(self, section: Section) -> tuple[int, str]:
        """The files of a job, as equal ranges one behind the other, and whose turn it is among them."""
        files = self._count(section, "nrfiles", 1, most=MOST_FILES)
        if files > 1 and "filename" in section.words:
            self.note(section, "`nrfiles` counts for nothing beside `filename`, as in fio")
            return 1, ""
        word = section.words.get("file_service_type")
        kind, colon, turn = ((word.value if word else "") or "roundrobin").partition(":")
        number = size(turn) if colon else 1
        if files > 1 and (kind not in SERVICES or not number or (colon and kind != "roundrobin")):
            assert word is not None
            raise self.file.refusal(
                word,
                f"`{word.written}` cannot be `{word.value}`",
                one_of(["roundrobin", "roundrobin:N", *SERVICES[1:]]),
            )
        if files > 1 and self._count(section, "openfiles", files, most=MOST) < files:
            raise self.file.refusal(
                section.words["openfiles"], "`openfiles` is less than `nrfiles`: all files of a job are open",
                f"expected at least {files}, or no `openfiles`",
            )  # fmt: skip
        return files, f"roundrobin:{number}" if kind == "roundrobin" else kind

    def _range(self, section: Section, shape: _Shape, copy: int, files: int) -> _Range:
        """The addresses of a copy."""
        offset = self._offset(section, shape, copy)
        room = self.capacity - offset
        filled, size_word = self._file_range(section, offset), section.words.get("size")
        filled = None if filled is None else filled * files
        text = None if size_word is None else (size_word.value or "")
        part = None if text is None else share(text)
        bytes_ = filled if filled is not None else room
        given = 0
        if part is not None:
            if part.percent > 100:
                assert size_word is not None
                self.note(
                    section, f"`{size_word.written}={text}` is more than the drive, which it has all of"
                )
            elif part.percent != 100:
                whole = bytes_ + offset
                bytes_ = min(part.of(whole), whole - offset)
                bytes_ -= bytes_ % shape.least
        elif size_word is not None:
            given = self._extent(section, "size", self.capacity) or 0
            if filled is None:
                bytes_ = given or room
        least = max(shape.sizes[kind].least for kind in shape.kinds)
        inside = min(bytes_, room)
        if inside < least or (given and given < least):
            raise self.file.refusal(
                size_word or section.line,
                f"{min(inside, given or inside):,} bytes hold no request of {least:,}",
                "expected at least one",
            )
        if bytes_ > room:
            self.note(
                section,
                f"{bytes_:,} bytes from {offset:,} on are more than the drive has; as in fio it has the {room:,} there",
            )
        if filled is None and given == 0:
            # All of the rest of the drive: whole requests.
            inside -= inside % least if shape.one_size else 0
            bytes_ = inside
        return _Range(offset, inside, min(given, bytes_) if given and filled is not None else bytes_)

    def _offset(self, section: Section, shape: _Shape, copy: int) -> int:
        word = section.words.get("offset")
        found = self._extent(section, "offset", self.capacity) or 0
        is_part = word is not None and share(word.value or "") is not None
        step_word, step = section.words.get("offset_increment"), 0
        if step_word is not None:
            step = self._extent(section, "offset_increment", self.capacity) or 0
            is_part |= share(step_word.value or "") is not None
        found += copy * step
        if is_part:
            # As fio does: a part of the drive begins where a request can.
            align = self._count(section, "offset_align", 0, most=MOST, least=0) or shape.least
            found = -(-found // align) * align
        if found % 512 or found >= self.capacity:
            at = (step_word if copy else None) or word or step_word or section.line
            what = f"copy {copy + 1} begins at {found:,} bytes" if copy else f"`offset` is {found:,} bytes"
            raise self.file.refusal(
                at, what, f"expected a multiple of 512, less than the drive's {self.capacity:,}"
            )
        return found

    def _file_range(self, section: Section, offset: int) -> int | None:
        """The bytes of the range that `filesize` says, from the offset on."""
        if (word := section.words.get("filesize")) is None:
            return None
        least, sign, most = (word.value or "").partition("-")
        base = self._kb_base(section)
        found = size(least, base)
        if sign or found is None:
            is_range = bool(sign and size(most, base))
            expected = (
                "expected one size: of a range fio takes any" if is_range else "expected a size, such as 1g"
            )
            raise self.file.refusal(word, f"`filesize` cannot be `{word.value}`", expected)
        if not found:
            return None
        if offset >= found:
            raise self.file.refusal(
                word, f"`offset` is {offset:,} bytes, and `filesize` ends before", "expected a larger one"
            )
        return found - offset

    def _extent(self, section: Section, key: str, whole: int) -> int | None:
        word = section.words.get(key)
        if word is None:
            return None
        text = word.value or ""
        found = share(text) or size(text, self._kb_base(section))
        if found is None or (isinstance(found, Part) and found.percent > 100):
            raise self.file.refusal(
                word, f"`{word.written}` cannot be `{text}`", "expected a size, such as 10g, or up to 100%"
            )
        return found.of(whole) if isinstance(found, Part) else found

    # Times.

    def _rates(self, section: Section, shape: _Shape) -> tuple[str, tuple[float, ...]]:
        """The word that paces a job, and the bytes or requests a second of each kind; 0: none."""
        process = section.words.get("rate_process")
        if process is not None and process.value not in ("linear", "poisson"):
            raise self.file.refusal(
                process, f"`rate_process` cannot be `{process.value}`", "expected `linear` or `poisson`"
            )
        found: tuple[str, tuple[float, ...]] = ("", (0.0, 0.0, 0.0))
        for key in ("rate", "rate_iops"):
            if (word := section.words.get(key)) is None:
                continue
            parts = by_kind(word.value or "", "0")
            rates = [size(part, self._kb_base(section)) for part in parts or ("?",)]
            if parts is None or None in rates:
                raise self.file.refusal(
                    word,
                    f"`{key}` cannot be `{word.value}`",
                    "expected a number, or that of reads, writes, trims",
                )
            if not any(rates):
                continue
            if found[0]:
                raise self.file.refusal(
                    word, "`rate` and `rate_iops` of one job", "expected one of the two, as in fio"
                )
            found = key, tuple(float(rate or 0) for rate in rates)
        return found if any(found[1][kind] for kind in shape.kinds) else ("", (0.0, 0.0, 0.0))

    def _pace_words(
        self, section: Section, shape: _Shape, rates: tuple[str, tuple[float, ...]]
    ) -> dict[str, Any]:
        """A pace, as words of a job."""
        if not rates[0]:
            return {}
        each = [short(int(rates[1][kind])) if kind in shape.kinds else "0" for kind in range(3)]
        found: dict[str, Any] = {rates[0]: three(each)}
        return found | ({"rate_process": "poisson"} if section.value("rate_process") == "poisson" else {})

    def _depth(self, section: Section) -> int:
        depth = self._count(section, "iodepth", 1, most=65_536)
        word = section.words.get("ioengine")
        engine = "psync" if word is None else (word.value or "")
        if options.is_external(engine):
            self.note(
                section,
                f"`ioengine={engine}` and its own words are not looked at: requests are sent as by `libaio`",
            )
        if engine in SYNCHRONOUS and depth > 1:
            said = f"`ioengine={engine}`" if word else "`psync`, which is fio's engine where none is named,"
            self.note(section, f"{said} sends a request when the last is done: `iodepth` is 1, not {depth}")
            return 1
        return depth

    @staticmethod
    def _is_synchronous(section: Section) -> bool:
        """True for a job whose engine waits for each request: fio counts the bytes of its loops otherwise."""
        engine = section.value("ioengine") or "psync"
        return engine in SYNCHRONOUS or (
            engine in ("null", "cpp_null") and (section.value("iodepth") or "1") == "1"
        )

    def _check_engine(self, section: Section) -> None:
        """Refuses an engine that is none of a drive, before its own words are looked at."""
        word = section.words.get("ioengine")
        engine = "" if word is None else (word.value or "")
        if (
            word is None
            or "${" in engine
            or engine.partition(":")[0] in ENGINES
            or options.is_external(engine)
        ):
            return
        raise self.file.refusal(word, f"`ioengine={engine}` does no reads and writes of a block device",
                         "expected one that does, such as `libaio`", nearest(engine, ENGINES))  # fmt: skip

    def _pause(self, section: Section, depth: int) -> dict[str, Any]:
        """The keys of a tenant that say when places are filled again."""
        found: dict[str, Any] = {}
        low = self._count(section, "iodepth_low", depth, most=65_536, least=0) or depth
        least = self._count(section, "iodepth_batch_complete_min", 1, most=65_536, least=0) or 1
        refill = max(depth - min(low, depth), min(least, depth))
        if refill > 1:
            found["refill"] = refill
        think = self._think(section)
        if not think:
            return found
        after = self._count(section, "thinktime_blocks", 1, most=1 << 31)
        found["think"] = f"{think}us"
        if after > 1 or depth > 1:
            found["think_after"] = after
        return found

    def _count(self, section: Section, key: str, default: int, *, most: int, least: int = 1) -> int:
        word = section.words.get(key)
        return default if word is None else self._number(word, least, most)

    def _number(self, word: Word, least: int, most: int) -> int:
        found = size(word.value or "1")
        if found is None or not least <= found <= most:
            raise self.file.refusal(
                word,
                f"`{word.written}` cannot be `{word.value}`",
                f"expected a whole number from {least} to {most:,}",
            )
        return found

    def _time(self, section: Section, key: str) -> int:
        word = section.words.get(key)
        if word is None:
            return 0
        found = microseconds(word.value or "")
        if found is None or found > 24 * HOUR_US:
            raise self.file.refusal(
                word,
                f"`{word.written}` cannot be `{word.value}`",
                "expected a time up to a day, such as 30 (seconds), 30s, 500ms, 2m",
            )
        return found

    def _steady(self, section: Section) -> dict[str, str]:
        """The keys of a tenant that end it once its figures are steady; none without a window, as in fio."""
        window = self._time(section, "steadystate_duration")
        word = section.words.get("steadystate")
        if not window:
            if word is not None:
                self.note(section, "`steadystate` has no `steadystate_duration`, and fio leaves it out then")
            return {}
        limit = "iops_slope:0.01%" if word is None else word.value or ""
        if not re.fullmatch(r"(iops|bw)(_slope)?:[0-9]+(\.[0-9]*)?%?", limit):
            raise self.file.refusal(
                word or section.line,
                f"`steadystate` cannot be `{limit}`",
                "expected `iops`, `iops_slope`, `bw` or `bw_slope`, a colon and a limit, such as `iops_slope:0.3%`",
            )
        ramp = self._time(section, "steadystate_ramp_time")
        return {
            "steady": limit,
            "steady_window": f"{max(window // SECOND_US, 1)}s",
            "steady_ramp": f"{ramp}us",
        }

    def _think(self, section: Section) -> int:
        word = section.words.get("thinktime")
        if word is None:
            return 0
        value = word.value or ""
        # Its numbers without a unit are microseconds, unlike those of other times.
        found = microseconds(f"{value}us" if value.isdecimal() else value)
        if found is None or found > HOUR_US:
            raise self.file.refusal(
                word,
                f"`thinktime` cannot be `{value}`",
                "expected a time up to an hour, such as 500 (microseconds), 2ms",
            )
        return found

    # Hints, and what a drive does not see.

    def _hints(self, section: Section) -> dict[str, Any]:
        """The keys that say which hint writes carry: a lifetime as of Linux, placement identifiers or streams."""
        numbers, select = self._identifiers_of(section), self._hint_select(section)
        if len(numbers) > 1:
            return {"hint": list(numbers), "hint_select": select}
        return {"hint": numbers[0]} if numbers[0] else {}

    def _identifiers_of(self, section: Section) -> tuple[int, ...]:
        words = section.words
        places, kind = words.get("plids"), words.get("dataplacement")
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
            raise self.file.refusal(word, f"`{word.written}` has {len(found):,} placement identifiers",
                                    f"expected at most {MOST_IDENTIFIERS}, as many as fio takes")  # fmt: skip
        return tuple(sorted(found))

    def _hint_select(self, section: Section) -> str:
        """Which of several numbers the next write carries."""
        word = section.words.get("plid_select")
        if word is None:
            return "round-robin"
        if word.value == "scheme":
            raise self.file.refusal(word, f"`{word.written}=scheme` is not carried out: no file of ranges is read",
                                    "expected a job for each range, with `offset`, `size` and `plids`")  # fmt: skip
        if word.value not in SELECTS:
            raise self.file.refusal(word, f"`{word.written}` cannot be `{word.value}`", one_of(SELECTS))
        return SELECTS[word.value]

    def _kb_base(self, section: Section) -> int:
        word = section.words.get("kb_base")
        if word is None:
            return 1024
        if word.value not in ("1000", "1024"):
            raise self.file.refusal(word, f"`kb_base` cannot be `{word.value}`", "expected 1000 or 1024")
        return int(word.value)

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

    def _no_matter(self, section: Section) -> None:
        """Names the words that no drive sees."""
        if section.flag("buffered") or (section.value("direct") or "1") == "0":
            self.note(
                section,
                "there is no page cache: each request reaches the drive, as with `direct=1`",
            )
        kinds: dict[str, list[str]] = {}
        for key, word in section.words.items():
            option = options.table()[key]
            if option.fate == options.NO_MATTER and key not in ("direct", "buffered"):
                kinds.setdefault(option.meaning, []).append(f"`{word.written}`")
        for kind, words in kinds.items():
            self.note(section, f"{', '.join(words)}: not looked at ({kind})")
