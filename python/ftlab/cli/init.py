"""`ftlab init`: a configuration with comments, from a datasheet's numbers or from questions."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ftlab import _core
from ftlab._core import ConfigError, InputError
from ftlab.base import escape
from ftlab.base.quantities import DECIMAL, in_bytes, said_bytes
from ftlab.cli.usage import Parser, plain, pointed
from ftlab.results import output, text


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a datasheet."""

    option: str
    key: str
    default: str
    question: str
    comment: str
    """The comment beside it."""
    listed: bool = False
    """There may be one for each page type, between commas."""
    besides: str = ""
    """The choices beside the default."""

    @property
    def name(self) -> str:
        """Its name among parsed options."""
        return self.option.removeprefix("--").replace("-", "_")

    def toml(self, value: str) -> str:
        """A value as a configuration has it."""
        parts = [part.strip() for part in value.split(",")] if self.listed else [value.strip()]
        shown = [part if part.isdigit() else json.dumps(part, ensure_ascii=False) for part in parts]
        return shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"


HELD = 3
"""Blocks of each plane that paced GC holds free; on a small drive they are a part of its spare to be seen."""

NUMBERS = (
    Number("--channels", "device.channels", "8", "channels", "channels of the controller"),
    Number("--chips", "device.chips_per_channel", "2", "chips (packages) per channel", "chips on each channel"),
    Number("--dies", "device.dies_per_chip", "1", "dies per chip", "dies of each chip, which work side by side"),
    Number("--planes", "device.planes_per_die", "4", "planes per die", "planes of each die"),
    Number("--pages-per-block", "device.pages_per_block", "768", "pages per block", "a multiple of the bits per cell"),
    Number("--page", "device.page_size", "16KiB", "page size", "what one program writes"),
    Number("--cell", "device.cell", "tlc", "cell type: slc, mlc, tlc, qlc", "slc 1, mlc 2, tlc 3, qlc 4 bits"),
    Number("--capacity", "device.user_capacity", "512GiB", "user capacity",
           "what the host may address; blocks_per_plane follows from it"),
    Number("--op", "device.over_provisioning", "7%", "over-provisioning, spare ÷ user capacity",
           "spare ÷ user capacity, in whole blocks", besides=f", and {HELD} blocks of each plane"),
    Number("--t-read", "device.timing.read", "50us", "array read time (tR)",
           "tR; a list has one for each page type: [\"45us\", \"55us\", \"70us\"]", listed=True),
    Number("--t-program", "device.timing.program", "700us", "program time of a page (tPROG)",
           "tPROG; may be a list too", listed=True),
    Number("--t-erase", "device.timing.erase", "5ms", "block erase time (tBERS)", "tBERS"),
    Number("--rate", "device.timing.channel_rate", "1200MT/s", "transfer rate of a channel",
           "8 bits wide: 1200 MT/s move 1.2 GB/s"),
)  # fmt: skip
"""The numbers that are asked for, with the values of a current TLC drive."""

ASKED = frozenset(number.key for number in NUMBERS)
"""Their keys."""

PER_PLANE = (
    "device.channels", "device.chips_per_channel", "device.dies_per_chip", "device.planes_per_die",
    "device.pages_per_block", "device.page_size",
)  # fmt: skip
"""The numbers whose product is a block of every plane."""

PRESET = "client-tlc"
"""The preset that what no datasheet says is taken from: its text, so that there is no second copy."""

SECTIONS = ("device", "device.timing", "ftl", "host")
"""The sections of it that a configuration has; `[device.wear]` is about ages that a new drive has not reached."""

LEFT_OUT = ("device.blocks_per_plane", "host.replay", "host.queue_depth", "host.time_scale")
"""Keys of those sections that follow from the numbers, or from the load."""

PAIR = re.compile(r"([\w.]+) = (.+?) *(?:# (.*))?")
"""A line of a preset: name, value, comment."""

BUFFER = "ftl.write_buffer.fifo.size"

BUFFER_SHARE = 256
"""The write buffer has at most one part in so many of the user capacity; the presets' smallest drive: one in 892."""

MAP_UNIT = "ftl.map_unit"

FREE, LOW = "ftl.gc_schedule.paced.free_blocks", "ftl.gc_schedule.paced.low"

FEW_BLOCKS = 32
"""A plane with fewer blocks is so small that blocks held free are much of it."""

CODEWORD = 4096
"""Bytes of a codeword, and of a map unit (docs/ftl.md)."""

FEW = 8
"""A plane with fewer spare blocks begins its collections as late as it can."""

RUN = """\
[run]
executor = "timed"                      # "count" is faster, and has no time: write amplification and wear only
precondition.random = "1x"              # ages the device before: a fill, then so much at random; not in the results
seed = 1                                # the same seed gives the same run
"""

CLOSED = """\
replay = "closed"                       # a queue that is always full; "open": requests come at their own times
# queue_depth                           # where it is not given: 32 in a closed loop, and as many as come in an open one
"""

OPEN = """\
replay = "open"                         # at the times of the trace; "closed": as fast as queue_depth lets it
time_scale = 1.0                        # 0.5: twice as fast
"""

GENERATOR = """\
[workload]
generator = "uniform"                   # or zipf, hot-cold, sequential, mixed; `ftlab init --trace FILE` replays one
request_size = {page}                 # one page
read_fraction = 0.5                     # reads ÷ requests
volume = "0.1x"                         # ends when so much is written, in user capacities
"""

TRACE = """\
[workload]
trace = {trace} # replayed once; `volume` or `rounds` make it longer
out_of_range = "wrap"                   # requests past the end of the device; "clamp", "reject"
"""


def add_arguments(command: Parser) -> None:
    """Adds the arguments of `ftlab init`."""
    command.runs(_init)
    command.epilog = (
        "Without any number, a terminal is asked for each. What is not given is that of a current TLC drive."
    )
    command.add_argument(
        "file", metavar="FILE", nargs="?", default="ftlab.toml", help="the file to write (default ftlab.toml)"
    )
    for number in NUMBERS:
        command.add_argument(
            number.option, type=plain, metavar="VALUE", dest=number.name,
            help=f"{number.question} (default {number.default}{number.besides})".replace("%", "%%"),
        )  # fmt: skip
    command.add_argument(
        "--trace", type=plain, metavar="FILE", help="a trace to replay; without it, uniform requests"
    )
    command.add_argument("--force", action="store_true", help="replace the file if it is there")


def _init(options: argparse.Namespace) -> None:
    path = Path(options.file)
    if os.path.lexists(path) and not options.force:
        at = Parser.argv.index(options.file) if options.file in Parser.argv else None
        raise pointed(Parser.argv, at, f"{options.file} is there already", "expected a new name",
                      "`--force` replaces it")  # fmt: skip
    place = output.replaced(path)
    given = {n.key: value for n in NUMBERS if (value := getattr(options, n.name)) is not None}
    if not given and options.trace is None:
        if not sys.stdin.isatty():
            raise pointed(Parser.argv, None, "no numbers, and no terminal to ask for them",
                          "expected, for example, `--capacity 512GiB --planes 4`")  # fmt: skip
        given = ask(input)
    toml = written(given, options.trace)
    config = check(toml)
    save(place, toml, replaces=options.force)
    spare = _spare_of(config).replace("%", " %")
    name = escape.terminal(str(path))
    sys.stdout.write(
        f"{name}: {text.capacity(config)} for the user, over-provisioning {spare}, "
        f"{config['device']['blocks_per_plane']} blocks per plane\n"
        f"{_few(config)}next: `ftlab run {name}`; `ftlab explain KEY` says what a key can be\n"
    )


def _few(config: Mapping[str, Any]) -> str:
    """A note on a drive whose planes have hardly a block to spare."""
    spare, blocks = spare_blocks(config), config["device"]["blocks_per_plane"]
    if spare >= FEW and blocks >= FEW_BLOCKS:
        return ""
    return (
        f"note: of {blocks} blocks of a plane {spare} are spare, and garbage collection holds up to {HELD} free; "
        f"drives have hundreds. Fewer `--channels`, `--chips`, `--dies` or `--planes`, or more `--op`, lower the WAF\n"
    )


def written(given: Mapping[str, str], trace: str | None = None) -> str:
    """The configuration as text, with the numbers by key that are given.

    Raises:
        ConfigError: the over-provisioning is a number that was meant as per cent.
    """
    is_spare_given = "device.over_provisioning" in given
    given = {**{number.key: number.default for number in NUMBERS}, **given}
    _check_spare(given["device.over_provisioning"])
    said = given["device.user_capacity"]
    given["device.user_capacity"] = _whole_pages(said, given["device.page_size"])
    rounded = "" if given["device.user_capacity"] == said else said
    if not is_spare_given:
        given["device.over_provisioning"] = _default_spare(given)
    lines = _fitted(_preset_lines(), given)
    toml = _composed(given, lines, rounded, trace)
    whole = {key: line for key, line in lines.items() if key != MAP_UNIT}
    if not _passes(toml) and _passes(_composed(given, whole, rounded, trace)):
        # A drive of a few pages: what fills up flash pages of several units is much of its spare space.
        lines, toml = whole, _composed(given, whole, rounded, trace)
    try:
        config = check(toml)
    except ConfigError:
        # What is wrong with it is for who asked to say.
        return toml
    if (spare := spare_blocks(config)) >= FEW:
        return _in_whole_blocks(toml, config, given, lines, rounded, trace)
    late = Line("1", f"and it begins as late as it can, for a plane has {spare} spare blocks")
    lines = {
        name: at
        for key, line in lines.items()
        for name, at in ((key, line), *([(LOW, late)] if key == FREE else []))
    }
    toml = _composed(given, lines, rounded, trace)
    return _in_whole_blocks(toml, check(toml), given, lines, rounded, trace)


def _in_whole_blocks(
    toml: str,
    config: Mapping[str, Any],
    given: Mapping[str, str],
    lines: Mapping[str, Line],
    rounded: str,
    trace: str | None,
) -> str:
    """The configuration with the spare that its whole blocks give, so that the file says what a run has."""
    exact = {**given, "device.over_provisioning": _spare_of(config)}
    told = _composed(exact, lines, rounded, trace)
    blocks = config["device"]["blocks_per_plane"]
    return told if _passes(told) and check(told)["device"]["blocks_per_plane"] == blocks else toml


def _spare_of(config: Mapping[str, Any]) -> str:
    """The over-provisioning of a resolved configuration, rounded down, so that no block is added for it."""
    return f"{math.floor(config['device']['over_provisioning'] * 1e4 + 1e-6) / 100:g}%"


def _passes(toml: str) -> bool:
    """True if a configuration can be used."""
    try:
        check(toml)
    except ConfigError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Line:
    """A key's value as TOML, and what is said beside it."""

    value: str
    comment: str

    def named(self, name: str) -> str:
        """The line under a name."""
        return f"{f'{name} = {self.value}':<39} # {self.comment}"


def _preset_lines() -> dict[str, Line]:
    """Lines that no datasheet gives, by key, in the preset's order, with its words or those of the reference."""
    toml = next(toml for name, _, toml, _ in _core.presets() if name == PRESET)
    found: dict[str, Line] = {}
    section = ""
    for line in toml.splitlines():
        if head := re.fullmatch(r"\[(.+)\]", line):
            section = head[1]
        elif (parts := PAIR.fullmatch(line)) and section in SECTIONS:
            key = f"{section}.{parts[1]}"
            if key not in ASKED and key not in LEFT_OUT:
                found[key] = Line(parts[2], parts[3] or _meaning(key, parts[2]))
    return found


def _meaning(key: str, value: str) -> str:
    """A choice of the FTL, in the words of its declaration."""
    seams = json.loads(_core.registry())["seams"]
    choices = next(seam["choices"] for seam in seams if f"ftl.{seam['key']}" == key)
    doc: str = next(choice["doc"] for choice in choices if json.dumps(choice["name"]) == value)
    return doc[0].lower() + doc[1:].removesuffix(".")


def _fitted(lines: Mapping[str, Line], given: Mapping[str, str]) -> dict[str, Line]:
    """The preset's lines as this device can have them."""
    fitted = dict(lines)
    if given["device.planes_per_die"].strip() == "1":
        # Nothing works at once, and a unit is a block.
        for key in [key for key in fitted if key.startswith(("device.multiplane", "ftl.reclaim_unit"))]:
            del fitted[key]
    page, user = _bytes(given["device.page_size"]), _bytes(given["device.user_capacity"])
    if not page or user is None:
        # That is no size, which is said where the configuration is checked.
        return fitted
    buffer = fitted[BUFFER]
    wanted = in_bytes(json.loads(buffer.value))
    if (size := min(wanted, user // BUFFER_SHARE) // page * page or page) != wanted:
        fitted[BUFFER] = Line(json.dumps(_shown(size)), buffer.comment)
    if page % CODEWORD:
        # Such a page has no codewords of that size, and no map units.
        del fitted["device.read_transfer"], fitted[MAP_UNIT]
    return fitted


def _composed(given: Mapping[str, str], lines: Mapping[str, Line], rounded: str, trace: str | None) -> str:
    """The text: what the datasheet says of a section, then what the preset says."""
    text = [
        "# A configuration of ftlab. `ftlab config check FILE` says whether it can be used, `ftlab run FILE` runs it.",
        f"# What no datasheet says is as in the preset `{PRESET}`; docs/hardware.md has the sources [n] that it names.",
    ]
    for section in SECTIONS:
        text += ["", f"[{section}]"]
        if section == "ftl":
            text[-1] = f"{text[-1]:<39} # `ftlab explain ftl.victim` lists the choices of a key"
        for number in NUMBERS:
            above, _, name = number.key.rpartition(".")
            if above == section:
                comment = (
                    f"{rounded}, in whole pages: {number.comment}"
                    if rounded and name == "user_capacity"
                    else number.comment
                )
                text.append(Line(number.toml(given[number.key]), comment).named(name))
        for key, line in lines.items():
            if _section(key) == section:
                text.append(line.named(key.removeprefix(f"{section}.")))
    text.append(CLOSED if trace is None else OPEN)
    page = next(number for number in NUMBERS if number.key == "device.page_size")
    load = (
        GENERATOR.format(page=page.toml(given[page.key]))
        if trace is None
        else TRACE.format(trace=json.dumps(trace, ensure_ascii=False))
    )
    return "\n".join([*text, load, RUN])


def _section(key: str) -> str:
    """The section that a key is in: the longest whose name it begins with."""
    return max((section for section in SECTIONS if key.startswith(f"{section}.")), key=len)


def spare_blocks(config: Mapping[str, Any]) -> int:
    """Whole blocks of a plane that the user does not address, in a resolved configuration."""
    device = config["device"]
    spare = device["over_provisioning"] / (1 + device["over_provisioning"])
    blocks: int = device["blocks_per_plane"]
    return int(blocks * spare)


MOST_BY_DEFAULT = 0.28
"""The spare that a drive of a few blocks gets at most, where none is given."""


def _default_spare(given: Mapping[str, str]) -> str:
    """The spare of a drive whose datasheet does not say it: the default, and as much as paced GC holds free."""
    default = given["device.over_provisioning"]
    user = _bytes(given["device.user_capacity"])
    sizes = [_bytes(given[key]) for key in PER_PLANE]
    if not user or not all(sizes):
        return default
    blocks = user / math.prod(size for size in sizes if size)
    spare = min(float(default.removesuffix("%")) / 100 + HELD / blocks, MOST_BY_DEFAULT)
    return f"{math.ceil(spare * 1000) / 10:g}%"


def _check_spare(said: str) -> None:
    """Refuses a spare of more than the user capacity, unless it says that it is one."""
    try:
        spare = float(said)
    except ValueError:
        # A percentage, or what the configuration refuses.
        return
    if 1 < spare < math.inf:
        raise ConfigError(
            f"error: an over-provisioning of `{said}` means {100 * spare:g} %; expected `{said}%`, or "
            f"`{100 * spare:g}%` if there is to be that much"
        )


def _whole_pages(capacity: str, page: str) -> str:
    """A capacity in a datasheet's units of a thousand as so many whole pages; any other as it is."""
    page_bytes, wanted = _bytes(page), _bytes(capacity)
    if (
        DECIMAL.fullmatch(capacity.strip()) is None
        or not page_bytes
        or wanted is None
        or wanted % page_bytes == 0
    ):
        return capacity
    # Up: all of what was asked for is there.
    return _shown(-(-wanted // page_bytes) * page_bytes)


def _bytes(said: str) -> int | None:
    """The bytes of a size as a user writes it; `None` where it is none."""
    try:
        return said_bytes(said)
    except ValueError:
        return None


def _shown(size: int) -> str:
    """Bytes as a configuration has them."""
    return f"{size}B" if size % 1024 else f"{size // 1024}KiB"


def check(toml: str) -> dict[str, Any]:
    """The configuration with every default filled in.

    Raises:
        ConfigError: no device can have these numbers.
    """
    try:
        _, resolved = _core.resolve("text", toml, [])
    except ConfigError as error:
        if "too little spare" not in str(error):
            raise
        raise ConfigError(
            f"{error}\nhint: or give the device fewer `--channels`, `--chips`, `--dies` or `--planes`, so that each "
            "plane has more blocks"
        ) from None
    config: dict[str, Any] = json.loads(resolved)
    return config


def ask(answer: Callable[[str], str]) -> dict[str, str]:
    """The numbers of a datasheet, one question each; an answer that cannot be used is asked for again.

    Raises:
        InputError: there are no more answers.
    """
    given: dict[str, str] = {}
    sys.stdout.write("The numbers of the datasheet; Enter takes what is in brackets.\n")
    for number in NUMBERS:
        while True:
            try:
                said = answer(f"  {number.question} [{number.default}{number.besides}]: ").strip()
            except EOFError:
                raise InputError(
                    "error: the answers ended before the questions; nothing is written"
                ) from None
            if not said:
                break
            try:
                check(written({**given, number.key: said}))
            except ConfigError as error:
                sys.stdout.write(escape.terminal(str(error), keep="\n") + "\n")
                continue
            given[number.key] = said
            break
    return given


def save(path: Path, toml: str, *, replaces: bool) -> None:
    """Writes the file whole or not at all.

    Raises:
        InputError: it cannot be written, or is there meanwhile.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=".ftlab-init-", dir=path.parent)
        beside = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(toml)
            beside.chmod(0o666 & ~_umask())
            if replaces:
                beside.replace(path)
            else:
                # Unlike a renaming, a link fails where somebody made the file meanwhile.
                path.hardlink_to(beside)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"error: {path} cannot be written: {error.strerror or error}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
