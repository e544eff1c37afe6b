"""Cases inside the process: what goes wrong with configurations, traces, device states, names, arguments and calls.

Every case makes its input from the chance of its scratch directory, hands it over, and returns the outcome.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import lzma
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa

import ftlab
from evidence.battery_oracle import Fault, Run, Scratch, attempt, command, kinds
from ftlab import _core
from ftlab.api.configs import Raw
from ftlab.results import plot

TINY = """\
[device]
channels = 2
chips_per_channel = 1
dies_per_chip = 2
planes_per_die = 2
blocks_per_plane = 12
pages_per_block = 16
page_size = "4KiB"
cell = "mlc"
over_provisioning = 0.5

[device.timing]
read = "75us"
program = ["500us", "1500us"]
erase = "5ms"

[ftl]
allocation = "CWDP"
victim.rga.d = 4
gc_schedule.threshold.free_blocks = 2

[host]
replay = "closed"
queue_depth = 8

[workload]
generator = "uniform"
request_size = "4KiB"
read_fraction = 0.3
requests = 300

[run]
executor = "timed"
seed = 7
"""
"""A device of 6 MiB that runs in milliseconds."""

CAPACITY = 2 * 2 * 2 * 12 * 16 * 4096 * 2 // 3 // 4096 * 4096
"""Its user capacity in bytes."""

TRACES = {
    "msr": "128166391024154329,prxy,0,Write,1105182720,1024,1514\n134396733288653914,v,0,Flush,0,0,780,POSTFUA\n",
    "spc": "0,20941264,8192,W,0.551706\n1,3436288,15872,r,1.011732,9\n",
    "etw": "BeginHeader\n DiskRead, TimeStamp, P, T, I, ByteOffset, IOSize, E, DiskNum\n"
    "DiskRead, 1107, System (4), 120, 0xff, 0x4e54000, 0x2000, 17, 2, 0x43\n",
    "ssdsim": "0 0 280605840 2 1\n979 0 287641400 128 1\n",
    "ssdsim-us": "1 0 280605840 2 1\n2 0 287641400 128 1\n3 0 11 8 0\n",
    "disksim": "7961.833 0 20228336 8 0\n8346.206 0 6397360 496 3\n",
    "flashsim": "26.214000\t0\t303574\t1\t0\n26.214000\t0\t240840\t2\t1\n",
    "ms-bytes": "0.000 0 200626176 4096 0\n223.412 0 3159347200 36864 1\n",
    "biotracer": "4043872 96 49152 5 1398396860.168065791 1398396860.168307510 1.5 1.6\n",
    "blkparse": "  8,33  21  2 0.001003911 6742 D WS 4202624 + 8 [(null)]\n  8,33 6 8 0.0002 6742 D FN [k]\n"
    " 0.5 1 2 3 Q FWFS 8 + 8 [x]\n",
    "iolog": "fio version 2 iolog\na add\na write 0 4096\na wait 15\na sync 0 0\n",
    "vscsi": "version,time,op,size,lbn\n1,5633898368802,2a,512,42932745\n1,5633898745540,35,0,0\n",
    "alibaba": "419,W,8792731648,16384,1577808144360767\n",
    "tencent": "1538323200,12910952128,128,0,1063\n",
}
"""A few valid lines of every format."""

TOKENS = (
    "18446744073709551615", "18446744073709551616", "9223372036854775808", "4294967296", "-1", "NaN", "inf", "1e300",
    "0x", ",", ",,,,,,,,", "\t", " ", "\n", "\r\n", "\0", "0", ".", "+", "F", "#", "\ufffd", "99999999999.999999999",
    "=", "[", "]", "{", "}", '"', "'''", "[[", "\\", "é", "∞", "preset = 'tbm'\n", "\x1b[31m", "|", "$", "../",
)  # fmt: skip
"""What mutations like to insert."""


SEAMS: dict[str, list[dict[str, Any]]] = {seam["key"]: seam["choices"] for seam in ftlab.registry()["seams"]}
SEAMS["generator"] = ftlab.registry()["generators"]
"""What can be chosen, by key."""


def evil(random: Random) -> Any:
    """A value that hardly any key takes."""
    plain: tuple[Any, ...] = (
        None, True, False, 0, -1, 1, 2**31, 2**32, 2**63, 2**64, 2**127, -(2**63), 0.0, -0.0, 0.5, 1e-300, 1e300,
        float("nan"), float("inf"), "", " ", "0", "-1", "8KiB", "1e9", "10x", "0x", "-3x", "1.5.2ms", "1 parsec",
        "100%", "99999999999GiB", "17EiB", "∞", "é", "\0", "\x1b[31mred", "\udcff", "\u202e", "x" * 10_000, "auto",
        "none", "off", b"bytes", [], [[]], [1, "a", None], {}, {"a": 1}, {"rga": {"d": 4}}, {"": ""}, {1: 2}, object(),
        Path("x"), np.int64(4), np.float32(0.5), np.arange(3), len, ["75us"] * 5, {"sequential": "1x"}, {"random": -1},
        Raw("8KiB"),
    )  # fmt: skip
    choice = random.randrange(len(plain) + 3)
    if choice < len(plain):
        return plain[choice]
    if choice == len(plain):
        return random.choice((1, -1)) * (random.getrandbits(random.randrange(1, 90)))
    if choice == len(plain) + 1:
        return nested(random.choice((3, 40, 200, 5000)), random.choice(("list", "dict")))
    return random.uniform(-10, 10) * 10.0 ** random.randrange(-30, 30)


def near(value: Any, key: str, random: Random) -> Any:
    """Another value that the key may well take."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice((value + 1, value - 1, value * 2, value // 2, value * 3, value * 100, 1))
    if isinstance(value, float):
        return value * random.choice((0.1, 0.5, 0.99, 1.01, 2, 10))
    choices = SEAMS.get(key)
    if choices:
        choice = random.choice(choices)
        params = random.sample(choice["params"], min(len(choice["params"]), random.randrange(3)))
        return (
            {choice["name"]: {param["name"]: _param(param, random) for param in params}}
            if params
            else choice["name"]
        )
    if isinstance(value, str):
        return random.choice(
            (value * 2, f"{random.randrange(1, 100)}{value.lstrip('0123456789.')}", value[:-1])
        )
    return value


def _param(param: dict[str, Any], random: Random) -> Any:
    if param["kind"] == "word":
        return random.choice(param["words"])
    if param["kind"] == "flag":
        return random.choice((True, False, 0, 1))
    ends = (
        param["min"],
        param["max"],
        param["default"],
        param["default"] * 2,
        param["max"] * 2,
        param["min"] - 1,
    )
    value = random.choice(ends)
    return int(value) if param["kind"] in ("integer", "size") and abs(value) < 2**62 else value


def nested(depth: int, of: str) -> Any:
    """A value inside so many others."""
    value: Any = 1
    for _ in range(depth):
        value = [value] if of == "list" else {"a": value}
    return value


def mutated(content: bytes, random: Random, changes: int = 6) -> bytes:
    """The bytes with some of them changed, cut, doubled and inserted."""
    text = bytearray(content)
    for _ in range(random.randrange(1, changes + 1)):
        at = random.randrange(len(text) + 1)
        match random.randrange(6):
            case 0 if at < len(text):
                text[at] = random.randrange(256)
            case 1:
                text[at:at] = random.choice(TOKENS).encode()
            case 2 if random.random() < 0.3:
                del text[max(1, at) :]
            case 3 if len(text) < 20_000:
                text += text[at:]
            case 4:
                del text[at : at + random.randrange(1, 30)]
            case _ if at < len(text):
                text[at] ^= 1 << random.randrange(8)
    return bytes(text)


def paths(tree: Any, at: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths of all keys of a configuration, as deep as a configuration is."""
    if not isinstance(tree, dict) or len(at) > 5:
        return []
    found = []
    for key, value in tree.items():
        found += [(*at, key), *paths(value, (*at, key))]
    return found


def change(tree: dict[str, Any], random: Random) -> None:
    """Changes something in a configuration."""
    path = random.choice(paths(tree))
    table = tree
    for key in path[:-1]:
        table = table[key]
    key = path[-1]
    match random.randrange(8):
        case 0 | 1 | 2:
            table[key] = evil(random)
        case 6 | 7:
            table[key] = near(table[key], key, random)
        case 3:
            del table[key]
        case 4:
            table[f"{key}{random.choice(('', 's', '_', ' ', '.', 'é', chr(0)))}"] = evil(random)
        case 5:
            table[str(key)[:-1] + random.choice("aes_")] = table.pop(key)


def run(config: Any, **options: Any) -> ftlab.Result:
    """A run that can be stopped."""
    return ftlab.run(config, **options)


def configurations(s: Scratch) -> str:
    """A dictionary with values of wrong types and sizes."""
    tiny = tomllib.loads(TINY)
    preset = s.one((None, *ftlab.presets()))
    tree: dict[str, Any] = tiny if preset is None or s.chance(0.5) else ftlab.resolve(preset)
    is_tiny = tree is tiny
    for _ in range(s.random.randrange(1, 4)):
        if paths(tree):
            change(tree, s.random)
    if is_tiny and s.chance(0.6):
        return attempt(lambda: run(tree))
    return attempt(lambda: ftlab.resolve(tree))


def texts(s: Scratch) -> str:
    """A TOML file with bytes changed, in other encodings, or nested deeply."""
    base = TINY if s.chance(0.6) else ftlab.presets()[s.one(tuple(ftlab.presets()))]
    deep = s.one((50, 300, 20_000))
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: mutated(base.encode(), s.random),
        lambda: mutated(base.encode(), s.random, 40),
        lambda: mutated(base.encode(), s.random),
        lambda: base.encode(s.one(("utf-16", "utf-16-le", "utf-8-sig", "utf-32"))),
        lambda: f"# é\n{base}".encode("latin-1", "replace"),
        lambda: f"{base}\n[{'.'.join('a' * deep)}]\nx = 1\n".encode(),
        lambda: f"x = {'[' * deep}{']' * deep}\n{base}".encode(),
        lambda: f"x = {'{a=' * deep}1{'}' * deep}\n{base}".encode(),
        lambda: f"{'.'.join('a' * deep)} = 1\n{base}".encode(),
        lambda: (base + "# filler\n" * 120_000).encode(),
        lambda: s.random.randbytes(s.random.randrange(0, 3000)),
    )
    content = s.one(ways)()
    file = s.file("config.toml", content)
    if s.chance(0.3):
        with contextlib.suppress(UnicodeDecodeError):
            text = content.decode()
            return attempt(lambda: ftlab.resolve(text))
    if base is TINY and s.chance(0.4):
        return attempt(lambda: run(file))
    return attempt(lambda: ftlab.resolve(file))


def _keys() -> list[str]:
    known = [".".join(path) for path in paths(ftlab.resolve(TINY))]
    known += ["ftl.write_buffer.fifo.size", "ftl.mapping.dftl.cache", "ftl.mapping", "run.payload", "run.checks",
              "run.precondition", "run.precondition.sequential", "run.precondition.state", "workload.trace",
              "workload.volume", "workload.footprint", "workload.address_offset", "device.user_capacity",
              "ftl.reclaim_unit.superblock.over", "ftl.separation.dac.regions"]  # fmt: skip
    return known


def _setting(s: Scratch) -> str:
    key = s.one(_keys())
    value = s.one((*TOKENS, "4", "1GiB", "greedy", "[1, 2]", '"x"', "{ d = 4 }", "{" * 300, "[" * 3000, "1" * 5000,
                   "true", "2001-01-01", "10x", "1s", "0.0", "1e999", "-0", "0b1", "0o7", "nan"))  # fmt: skip
    match s.random.randrange(8):
        case 0:
            return key
        case 1:
            return f"{key}.{s.one(TOKENS)}={value}"
        case 2:
            return f"{'.'.join(['a'] * s.one((2, 9, 100, 30_000)))}={value}"
        case 3:
            return mutated(f"{key}={value}".encode(), s.random).decode(errors="surrogateescape")
        case _:
            return f"{key}={value}"


def settings(s: Scratch) -> str:
    """`sets` and `vary` with keys and values that are none, from the command line and from Python."""
    words = [_setting(s) for _ in range(s.random.randrange(1, 4))]
    match s.random.randrange(4):
        case 0:
            return attempt(lambda: ftlab.resolve(TINY, sets=words))
        case 1:
            return attempt(lambda: run(TINY, sets={s.one(_keys()): evil(s.random) for _ in range(2)}))
        case 2:
            file = s.file("tiny.toml", TINY)
            return command(["run", str(file), *(part for word in words for part in ("--set", word))])
        case _:
            file = s.file("tiny.toml", TINY)
            values = ",".join(
                s.one((*TOKENS, "greedy", "4", "1", '"a,b"')) for _ in range(s.random.randrange(1, 4))
            )
            vary = s.one((f"{s.one(_keys())}={values}", s.one(words)))
            return command(["compare", str(file), "--vary", vary, "--set", "workload.requests=50"])


def varied(s: Scratch) -> str:
    """`vary` of wrong types and impossible sizes."""
    keys = s.one(("ftl.victim", "run.seed", "nothing", "", "\udc80", 5, None))
    values = s.one((5, None, "greedy", "", [], [evil(s.random)], (1, evil(s.random)), {"a": 1}, np.arange(2), 1.5,
                    np.array(3), range(10**9), iter([1, 2]), object(), [[1], [2]]))  # fmt: skip
    vary: Any = s.one(
        ({keys: values}, {keys: values, "run.seed": [1, 2]}, [("a", 1)], 5, "ftl.victim=greedy")
    )
    if isinstance(values, range):
        # Nobody waits for a list of so many.
        vary = {f"device.x{i}": list(range(1000)) for i in range(3)}
    return attempt(lambda: ftlab.compare(TINY, vary=vary, sets={"workload.requests": 30}, jobs=1))


def trace_text(s: Scratch) -> bytes:
    lines = TRACES[s.one(tuple(TRACES))].encode()
    if s.chance(0.5):
        head, _, rest = lines.partition(b"\n")
        lines += (rest or head + b"\n") * s.random.randrange(1, 40)
    return mutated(lines, s.random, s.one((1, 3, 12)))


def _packed(content: bytes, s: Scratch) -> bytes:
    packed = {
        "gzip": gzip.compress(content),
        "xz": lzma.compress(content),
        "zstd": bytes(pa.Codec("zstd").compress(content)),
    }[s.one(("gzip", "xz", "zstd"))]
    return mutated(packed, s.random, 3) if s.chance(0.6) else packed


def traces(s: Scratch) -> str:
    """A trace of every format with bytes changed, cut, packed and packed badly; read, shown, rewritten and replayed."""
    content = trace_text(s)
    if s.chance(0.25):
        content = _packed(content, s)
    elif s.chance(0.03):
        content = s.random.randbytes(s.random.randrange(0, 5000))
    file = s.file("trace.csv", content)
    options: dict[str, Any] = {
        "format": s.one((None, None, None, *TRACES, "mrs", "")),
        "skip_bad": s.chance(0.6),
    }
    match s.random.randrange(5):
        case 0 | 1:
            return attempt(lambda: _core.trace_info(file, **options))
        case 2:
            return attempt(lambda: _core.trace_head(file, s.one((1, 10, 10**6)), **options))
        case 3:
            out = s.output(f"out{s.one(('', '.gz', '.zst', '.xz'))}")
            target = s.one(("msr", "iolog", "ssdsim", "disksim", "x"))
            return attempt(lambda: _core.trace_convert(file, out, target, **options))
        case _:
            sets = {
                "workload.out_of_range": s.one(("wrap", "clamp", "reject")),
                "workload.backwards_time": s.one(("clamp", "reject")),
                "workload.skip_bad": options["skip_bad"],
                "workload.rounds": s.one((1, 2)),
                "workload.address_offset": s.one((0, 512, 1 << 20)),
                "run.executor": s.one(("count", "timed")),
                "host.replay": s.one(("open", "closed", "batch")),
            }
            return attempt(lambda: run(TINY, sets=sets, trace=file))


def _state(s: Scratch) -> bytes:
    """A good state of the device, made once."""
    file = s.shared / "good.state"
    if not file.exists():
        ftlab.run(TINY, sets=STATE, save_state=file)
    return file.read_bytes()


STATE = {"run.precondition": "steady", "run.payload": "stamp", "run.executor": "count"}


def states(s: Scratch) -> str:
    """A saved state with bytes changed, outside and inside its compression."""
    good = _state(s)
    magic, packed = good[:8], good[8:]
    match s.random.randrange(4):
        case 0:
            content = mutated(good, s.random)
        case 1:
            content = s.one(
                (
                    b"",
                    b"x",
                    magic,
                    TINY.encode(),
                    good[: s.random.randrange(len(good))],
                    good + b"\0",
                    good * 2,
                )
            )
        case _:
            content = magic + _repacked(packed, s)
    file = s.file("aged.state", content)
    sets: dict[str, Any] = {
        **STATE,
        "run.precondition": {"state": str(file)},
        "run.checks": s.one(("fast", "full")),
    }
    if s.chance(0.2):
        key, value = s.one(
            (("ftl.victim", "greedy"), ("device.channels", 4), ("run.payload", "none"), ("run.seed", 3))
        )
        sets[key] = value
    return attempt(lambda: run(TINY, sets=sets))


def _repacked(packed: bytes, s: Scratch) -> bytes:
    """The content of a state with some words changed, with a right checksum."""
    content = bytearray(pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read())
    for _ in range(s.random.randrange(1, 4)):
        at = s.random.randrange(len(content) // 4) * 4
        match s.random.randrange(4):
            case 0:
                content[at : at + 4] = s.one((0, 1, 2**32 - 1, 2**31, s.random.randrange(400))).to_bytes(
                    4, "little"
                )
            case 1:
                content[at] ^= 1 << s.random.randrange(8)
            case 2:
                del content[at:]
                content += bytes(4)
            case 3:
                content[at:at] = bytes(s.one((1, 4, 8)))
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(bytes(content))
    return bytes(sink.getvalue())


NAMES = (
    "\x1b[31mred", "a\nb", "tab\there", "$x^2$", "a$b", "_hidden", "<b>&amp;", "|pipe|", "`code`", "*bold*", "-n",
    "--json", " ", "x" * 200, "x" * 300, "é", "日本", "\udcff\udcfe", "\u202egpj.exe", "c:x", "s3:x", "http:x", "con",
    "...", "nul\0nul", "", "=x", "x=y", "tbm-small", "%s%n", "{0}", "\\", "'", '"', "a/b", "#x", "~", "[bold]x[/bold]",
    "\x07", "\x9b31m", "\ud800", "🙂", ".", "..", "a;b", "$(x)", "&&", "!x",
)  # fmt: skip
"""Names that mean something to somebody: a terminal, Markdown, a plot, a shell, a file system."""


def _named(s: Scratch, name: str, content: str) -> bool:
    """Makes a file of that name, if the file system has such names."""
    try:
        s.file(name, content)
    except (OSError, ValueError):
        return False
    return True


@contextlib.contextmanager
def few_plots(s: Scratch) -> Iterator[None]:
    """One plot is drawn, in one case of twenty: they would take most of the time."""
    draw = plot.figures
    is_drawn = s.chance(1 / 20)
    which = s.random.randrange(4)

    def few(results: Mapping[str, ftlab.Result]) -> dict[str, Any]:
        return dict(list(draw(results).items())[which:][:1]) if is_drawn else {}

    plot.figures = few
    try:
        yield
    finally:
        plot.figures = draw


def names(s: Scratch) -> str:
    """Files, directories, presets and labels with odd names, on the command line and from Python."""
    name = s.one(NAMES) if s.chance(0.7) else s.one(NAMES) + s.one(NAMES)
    safe = "tiny.toml"
    s.file(safe, TINY)
    quick = ["--set", "workload.requests=50"]
    # A command line has no NUL, and no surrogates but those that stand for a byte.
    shown = name.replace("\0", "?").replace("\ud800", "?")
    match s.random.randrange(9):
        case 0:
            _named(s, name, TINY)
            return command(["run", *quick, "--", shown])
        case 1:
            _named(s, name, TINY)
            return attempt(lambda: run(Path(name), sets={"workload.requests": 50}))
        case 2:
            _named(s, name, TRACES["msr"] * 20)
            return command(["trace", s.one(("info", "head")), "--", shown])
        case 3:
            _named(s, name, TRACES["msr"] * 20)
            return attempt(lambda: run(TINY, trace=name, sets={"workload.requests": 50}))
        case 4:
            s.outputs |= {s.path / shown, s.path}
            return command(["run", safe, *quick, f"--timeline={shown}", f"--save-state={shown}2"])
        case 5:
            s.outputs |= {s.path / shown, s.path}
            with few_plots(s):
                return attempt(
                    lambda: run(TINY, out=name, sets={"workload.requests": 50, "run.executor": "count"})
                )
        case 6:
            return command(["presets", "--", shown])
        case 7:
            key = s.one(("run.precondition.state", "workload.trace"))
            return attempt(lambda: run(TINY, sets={key: name}))
        case _:
            return attempt(
                lambda: ftlab.compare({name: TINY, "b": TINY}, sets={"workload.requests": 30}).markdown()
            )


def labels(s: Scratch) -> str:
    """A comparison under odd labels: its tables keep their columns, its plots are drawn, their SVG is XML."""
    name = s.one(NAMES).replace("\0", "") + s.one(NAMES).replace("\0", "")
    with contextlib.suppress(UnicodeEncodeError):
        name.encode()
        compared = ftlab.compare(
            {name: TINY, "plain": TINY, "_": TINY}, sets={"workload.requests": 60}, jobs=1
        )
        for width in (20, 100):
            _printable(compared.table(width))
        page = compared.markdown()
        _printable(page)
        rows = [line for line in page.splitlines() if line.startswith("|")]
        if len({row.replace("\\|", "").count("|") for row in rows}) != 1:
            raise Fault(f"a table of Markdown with rows of different lengths: {rows[0]}")
        json.dumps(compared.to_json(), allow_nan=False)
        place = s.output("plots")
        place.mkdir()
        which = s.one(("overview", "wear", "latency", "series", "utilisation"))
        figures = {key: figure for key, figure in plot.figures(compared.results).items() if key == which}
        plot.save(figures, place)
        for file in place.glob("*.svg"):
            ElementTree.parse(file)
        return "success"
    return attempt(lambda: ftlab.compare({name: TINY}))


def _printable(text: str) -> None:
    odd = [letter for letter in text if not letter.isprintable() and letter not in "\n\u00a0"]
    if odd:
        raise Fault(f"{odd[0]!r} in a table")


def arguments(s: Scratch) -> str:
    """Command lines made of words that belong there, and of words that do not."""
    s.file("tiny.toml", TINY)
    s.file("t.csv", TRACES["msr"] * 30)
    words = ("run", "compare", "trace", "info", "head", "convert", "presets", "tiny.toml", "t.csv", "--json", "--set",
             "--vary", "--trace", "--format", "--skip-bad", "--jobs", "-n", "--to", "--timeline", "--timeline-window",
             "--version", "--help", "--jsno", "-x", "--", "", "0", "1", "18446744073709551616", "9" * 5000, "-1", "1.5",
             "0s..1ms", "1ms..0s", "..", "msr", "xls", "ftl.victim=greedy", "ftl.victim=greedy,fifo", "run.seed=1,2",
             "workload.requests=20", "\udcff", "\x1b[1m", "é", "--set=", "--json=1", "tbm-smal")  # fmt: skip
    begins: tuple[list[str], ...] = (
        ["run", "tiny.toml"], ["compare", "tiny.toml"], ["trace", "info", "t.csv"], ["trace", "head", "t.csv"],
        ["trace", "convert", "t.csv", "out.csv"], ["presets"], ["trace"], [],
    )  # fmt: skip
    first: list[str] = list(s.one(begins))
    s.outputs |= {s.path / name for name in ("out.csv",)} | {s.path / word for word in words if word}
    return command([*first, *(s.one(words) for _ in range(s.random.randrange(0, 5)))])


def calls(s: Scratch) -> str:
    """The functions of the package with values of wrong types."""
    value = evil(s.random)
    if callable(value):
        # What a caller's function raises is the caller's.
        value = 5
    options: dict[str, Any] = {"sets": {"workload.requests": 30}}
    which = s.one(("config", "sets", "trace", "timeline", "timeline_window", "save_state", "progress", "out"))
    if which in ("timeline", "save_state", "out"):
        s.outputs.add(s.path)
    match s.random.randrange(6):
        case 0 | 1 | 2:
            config = value if which == "config" else TINY
            if which != "config":
                options[which] = value
            with few_plots(s):
                return attempt(lambda: run(config, **options))
        case 3:
            options = {"sets": {"workload.requests": 30}, "jobs": 1}
            key = s.one(("configs", "vary", "sets", "trace", "jobs", "progress"))
            configs = value if key == "configs" else [TINY]
            if key != "configs":
                options[key] = value
            return attempt(lambda: ftlab.compare(configs, **options))
        case 4:
            return attempt(lambda: ftlab.Result.load(value))
        case _:
            s.outputs.add(s.path)
            result = ftlab.run(TINY, sets={"workload.requests": 30, "run.executor": "count"})
            return attempt(lambda: result.save(value, plots=False))


def outputs(s: Scratch) -> str:
    """Outputs that are somebody else's files, directories, links, or nowhere."""
    config = s.file("tiny.toml", TINY)
    theirs = s.file("theirs.txt", "mine")
    s.file("out/summary.json", "mine")
    (s.path / "link").symlink_to(theirs.name)
    (s.path / "dangling").symlink_to("nowhere/at/all")
    (s.path / "directory").mkdir()
    s.outputs |= {s.path / "link", s.path / "dangling", s.path / "fresh"}
    place = s.one(("theirs.txt/below", "out", "link/below", "dangling", "/proc/nowhere", "/dev/full", "no/such/place",
                   "directory", "fresh", "/proc/self/mem", "theirs.txt/"))  # fmt: skip
    quick = ["--set", "workload.requests=50"]
    s.outputs.add(s.path / "directory")
    option = s.one(("--out", "--timeline", "--save-state", "convert"))
    if option == "--out":
        s.outputs.add(s.path / "no")
        with few_plots(s):
            return command(["run", str(config), *quick, "--out", s.one((place, "theirs.txt", "link"))])
    if option == "convert":
        trace = s.file("t.csv", TRACES["msr"] * 50)
        return command(["trace", "convert", str(trace), place])
    return command(["run", str(config), *quick, option, place])


SHARES: dict[Run, float] = {
    configurations: 19, texts: 13, settings: 12, varied: 2, traces: 20, states: 6, names: 6, labels: 0.3, arguments: 7,
    calls: 5, outputs: 1.5,
}  # fmt: skip
"""How many of a hundred cases are of each kind."""

KINDS = kinds(SHARES)
