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
from decimal import Decimal
from pathlib import Path
from typing import Any

from ftlab import _core
from ftlab._core import ConfigError, InputError
from ftlab.base import escape
from ftlab.base.quantities import in_bytes
from ftlab.cli.usage import Parser, plain, pointed
from ftlab.results import text


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a datasheet."""

    option: str
    key: str
    default: str
    question: str
    comment: str
    """What the configuration says beside it."""
    listed: bool = False
    """Whether there may be one for each page type, between commas."""

    @property
    def name(self) -> str:
        """Its name among parsed options."""
        return self.option.removeprefix("--").replace("-", "_")

    def toml(self, value: str) -> str:
        """A value as a configuration has it."""
        parts = [part.strip() for part in value.split(",")] if self.listed else [value.strip()]
        shown = [part if part.isdigit() else json.dumps(part, ensure_ascii=False) for part in parts]
        return shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"


NUMBERS = (
    Number("--channels", "device.channels", "8", "channels", "channels of the controller"),
    Number("--chips", "device.chips_per_channel", "2", "chips (packages) per channel", "chips on each channel"),
    Number("--dies", "device.dies_per_chip", "1", "dies per chip", "dies of each chip, which work side by side"),
    Number("--planes", "device.planes_per_die", "4", "planes per die", "planes of each die"),
    Number("--pages-per-block", "device.pages_per_block", "768", "pages per block", "a multiple of the bits per cell"),
    Number("--page", "device.page_size", "16KiB", "page size", "what one program writes, and the unit of the map"),
    Number("--cell", "device.cell", "tlc", "cell type: slc, mlc, tlc, qlc", "slc 1, mlc 2, tlc 3, qlc 4 bits"),
    Number("--capacity", "device.user_capacity", "512GiB", "user capacity",
           "what the host may address; blocks_per_plane follows from it"),
    Number("--op", "device.over_provisioning", "7%", "over-provisioning, spare ÷ user capacity",
           "spare ÷ user capacity, at least"),
    Number("--t-read", "device.timing.read", "50us", "array read time (tR)",
           "tR; a list has one for each page type: [\"45us\", \"55us\", \"70us\"]", listed=True),
    Number("--t-program", "device.timing.program", "700us", "program time of a page (tPROG)",
           "tPROG; may be a list too", listed=True),
    Number("--t-erase", "device.timing.erase", "5ms", "block erase time (tBERS)", "tBERS"),
    Number("--rate", "device.timing.channel_rate", "1200MT/s", "transfer rate of a channel",
           "8 bits wide: 1200 MT/s move 1.2 GB/s"),
)  # fmt: skip
"""What is asked for, with the values of a current TLC drive."""

DECIMAL = re.compile(r"(\d+(?:\.\d+)?) *([kMGTP])B")
"""A size in units of a thousand."""

MULTIPLANE = 'multiplane = "pac"'

FTL = """\
[ftl]                                   # `ftlab explain ftl.victim` lists the choices of a key
mapping = "page"                        # a map of pages in DRAM; "dftl": in flash
allocation = "F2"                       # writes go to the next die that is free, over all of its planes at once
block_allocation = "least-worn"         # of the free blocks, the one with the fewest erases
victim = "greedy"                       # the block with the fewest valid pages is collected first
gc_schedule = "threshold"               # collects when a write needs room; "background": also in idle time
separation = "host-gc"                  # host writes and moved pages go to different blocks
wear_leveling = "static"                # moves cold data off blocks that are hardly worn
write_buffer.fifo.size = "16MiB"        # DRAM that completes a write before it is programmed; "none"
scheduler = "paq"                       # reads first, collections last
"""

RUN = """\
[run]
executor = "timed"                      # "count" is faster, and has no time: write amplification and wear only
precondition.random = "1x"              # ages the device before: a fill, then so much at random; not in the results
seed = 1                                # the same seed gives the same run
"""

GENERATOR = """\
[host]
replay = "closed"                       # a queue that is always full; "open": requests come at their own times
queue_depth = 32

[workload]
generator = "uniform"                   # or zipf, hot-cold, sequential, mixed; `ftlab init --trace FILE` replays one
request_size = {page}
read_fraction = 0.5
volume = "0.1x"                         # ends when so much is written, in user capacities
"""

TRACE = """\
[host]
replay = "open"                         # at the times of the trace; "closed": as fast as queue_depth lets it
time_scale = 1.0                        # 0.5: twice as fast

[workload]
trace = {trace}
out_of_range = "wrap"                   # requests past the end of the device; "clamp", "reject"
"""


def add_parser(commands: Any) -> None:
    """Adds the command to the command line's grammar."""
    line = "write a configuration with comments, from a datasheet's numbers or from questions"
    command: Parser = commands.add_parser(
        "init", help=line, description=f"{line[0].upper()}{line[1:]}.", allow_abbrev=False,
        epilog="Without any number, a terminal is asked for each. What is not given is that of a current TLC drive.",
    )  # fmt: skip
    command.set_defaults(command=_init)
    command.add_argument(
        "file", metavar="FILE", nargs="?", default="ftlab.toml", help="the file to write (default ftlab.toml)"
    )
    for number in NUMBERS:
        command.add_argument(
            number.option, type=plain, metavar="VALUE", dest=number.name,
            help=f"{number.question} (default {number.default})".replace("%", "%%"),
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
    given = {n.key: value for n in NUMBERS if (value := getattr(options, n.name)) is not None}
    if not given and options.trace is None:
        if not sys.stdin.isatty():
            raise pointed(Parser.argv, None, "no numbers, and no terminal to ask for them",
                          "expected, for example, `--capacity 512GiB --planes 4`")  # fmt: skip
        given = ask(input)
    toml = written(given, options.trace)
    config = check(toml)
    save(path, toml, replaces=options.force)
    spare = text.percent(config["device"]["over_provisioning"])
    name = escape.terminal(str(path))
    sys.stdout.write(
        f"{name}: {text.capacity(config)} for the user, over-provisioning {spare}, "
        f"{config['device']['blocks_per_plane']} blocks per plane\n"
        f"next: `ftlab run {name}`; `ftlab explain KEY` says what a key can be\n"
    )


def written(given: Mapping[str, str], trace: str | None = None) -> str:
    """The configuration as text, with the numbers by key that are given.

    Raises:
        ConfigError: the over-provisioning is a number that was meant as per cent.
    """
    given = {**{number.key: number.default for number in NUMBERS}, **given}
    _check_spare(given["device.over_provisioning"])
    said = given["device.user_capacity"]
    given["device.user_capacity"] = _whole_pages(said, given["device.page_size"])
    rounded = given["device.user_capacity"] != said
    lines = [
        "# A configuration of ftlab. `ftlab config check FILE` says whether it can be used, `ftlab run FILE` runs it."
    ]
    section = ""
    for number in NUMBERS:
        above, _, last = number.key.rpartition(".")
        if above != section:
            lines += ["", f"[{above}]"]
            section = above
        comment = number.comment
        if rounded and last == "user_capacity":
            comment = f"{said}, in whole pages: {comment}"
        lines.append(f"{f'{last} = {number.toml(given[number.key])}':<39} # {comment}")
        if last == "cell":
            lines.append(
                f'{MULTIPLANE:<39} # planes work at once on pages of equal offsets; "off", "any", "bac"'
            )
    page = NUMBERS[[n.key for n in NUMBERS].index("device.page_size")]
    load = (
        GENERATOR.format(page=page.toml(given[page.key]))
        if trace is None
        else TRACE.format(trace=json.dumps(trace, ensure_ascii=False))
    )
    return "\n".join([*lines, "", FTL, load, RUN])


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
    found = DECIMAL.fullmatch(capacity.strip())
    try:
        page_bytes = in_bytes(page)
    except ValueError:
        return capacity
    if found is None or page_bytes < 1:
        return capacity
    wanted = int(Decimal(found[1]) * 1000 ** (1 + "kMGTP".index(found[2])))
    whole = wanted // page_bytes * page_bytes
    if whole == wanted:
        return capacity
    return f"{whole}B" if whole % 1024 else f"{whole // 1024}KiB"


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
                said = answer(f"  {number.question} [{number.default}]: ").strip()
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
