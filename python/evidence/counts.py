"""The structure of the engine in counts, by the text of its sources.

``python -m evidence.counts`` prints the table of ``docs/adding-a-policy.md``, with what each count is now beside what
it may be at most. A test holds the sources to the page, so that none rises; ``--write`` writes those that fell into it.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CRATES = ROOT / "crates"
PAGE = ROOT / "docs/adding-a-policy.md"

BEGIN, END = "<!-- counts -->\n", "<!-- end of counts -->\n"
"""What the table stands between, in the page."""

OUT_OF_DEVICE = ("device", "controller", "front")
"""The crate `device`, and those that come out of it."""

MACHINE = (
    "run.rs",
    "die.rs",
    "bus.rs",
    "choose.rs",
    "array.rs",
    "mod.rs",
    "context.rs",
)
"""Files of `timed` that are to know no feature."""

FEATURES = re.compile(
    r"suspen|cache|follow|wordline|one_shot|two_pass|(?:first|second)_pass|codeword|slow_die|retr(?:y|ies)|\blink\b",
    re.I,
)
"""How features of a chip, and the link, are called in the code."""

ROWS = ("one-shot", "two-pass", "cache read", "program suspend", "transfer of sectors", "link of the host")
"""Rows that `pairs.txt` is to have."""

PHYSICAL = (
    "goes with page mapping alone",
    "goes with no copies of lower pages",
    "goes with copies through the controller",
    "sends the data of a wordline again",
)
"""Refusals of one-shot and two-pass programming that have a reason beside the model's own."""


def text_of(file: Path) -> str:
    """A source without the module of tests at its end; a line that says that tests are another file ends nothing."""
    tests = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{", re.M)
    return tests.split(file.read_text(encoding="utf-8"), maxsplit=1)[0]


def code_of(file: Path) -> str:
    """The same without comments."""
    return re.sub(r"//[^\n]*", "", text_of(file))


def sources(crate: str, under: str = "") -> Iterator[Path]:
    """The files of a crate, or of a part of it, that are not tests alone."""
    for file in sorted((CRATES / crate / "src" / under).rglob("*.rs")):
        if file.stem not in ("tests", "conformance"):
            yield file


def all_sources() -> Iterator[Path]:
    """Those of every crate."""
    for crate in sorted(CRATES.iterdir()):
        yield from sources(crate.name)


def plain_questions() -> int:
    """How often `timed` asks whether the run is plain, outside the folder for that."""
    files = [file for file in sources("device", "timed") if "plain" not in file.parts]
    return sum(len(re.findall(r"\.is_(?:plain|bare)\(\)", code_of(file))) for file in files)


def parts_asked_for() -> int:
    """How often `timed` asks its plan for a part, outside the same folder."""
    files = [file for file in sources("device", "timed") if "plain" not in file.parts]
    return sum(len(re.findall(r"\.has\(\)", code_of(file))) for file in files)


def feature_names() -> int:
    """Names of features in the machine."""
    places = [CRATES / "device/src/timed" / name for name in MACHINE]
    return sum(len(FEATURES.findall(code_of(place))) for place in places if place.exists())


def programs() -> int:
    """Places outside `nand` that program its array."""
    calls = re.compile(r"\bnand(?:_mut\(\))?\s*\.(?:fail_)?(?:re)?program(?:_run|_guard|_as)?\(")
    return sum(len(calls.findall(code_of(file))) for crate in OUT_OF_DEVICE for file in sources(crate))


def takers_back() -> int:
    """Functions that book what may not come to pass, or take back what did."""
    names = re.compile(r"\bfn (?:\w+_)?(?:book|cancel)(?:led|ed|s)?(?:_\w+)?\b")
    return sum(len(names.findall(code_of(file))) for file in all_sources())


def body_at(text: str, at: int) -> str:
    """What stands between the brace that opens at or behind a place and the one that closes it."""
    begin = text.index("{", at)
    depth = 0
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[begin + 1 : place]
    raise ValueError("a brace that nobody closes")


def facade() -> str:
    """The façade: its folder, and page mapping as the executor with time has it where nothing else is in force."""
    files = [
        file
        for file in sources("ftl")
        if "facade" in file.relative_to(CRATES).parts or file.name == "plain.rs"
    ]
    return "\n".join(code_of(file) for file in files)


def variants() -> Mapping[str, int]:
    """By enum that may be an argument of the façade, its variants."""
    text = "\n".join(
        code_of(file)
        for file in sources("ftl")
        if file.name == "ops.rs" or "facade" in str(file.relative_to(CRATES))
    )
    found = {}
    for enum in re.finditer(r"\benum (\w+)", text):
        found[enum[1]] = len(re.findall(r"^    [A-Z]\w*", body_at(text, enum.start()), re.M))
    return found


def facade_calls() -> int:
    """Calls that an executor can make; of an argument that says which one is meant, every variant.

    The calls that every mapping answers are declared once, in a macro, and those of parts by their types.
    """
    text, of_enum = facade(), variants()
    declared = "".join(body_at(text, calls.start()) for calls in re.finditer(r"^calls! ", text, re.M))
    own = r"^    pub fn (\w+)(?:<[^{;]*?>)?\(([^{;]*?)\)(?: ->|\s*\{|;)"
    of_trait = own.replace("    pub fn", "        fn")
    count = 0
    for pattern, where in ((own, text), (of_trait, declared)):
        for call in re.finditer(pattern, where, re.M | re.S):
            if "self" in call[2]:
                kinds = [of_enum[name] for name in re.findall(r": &?(\w+)", call[2]) if name in of_enum]
                count += kinds[0] if kinds else 1
    return count


def constant_answers() -> int:
    """Answers of a mapping to a call of the façade that are a constant, since it has no such thing."""
    constant = r"(?:true|false|None|0|\{\}|\(\)|Vec::new\(\)|unreachable!\([^)]*\)|[A-Z]\w*::[A-Z]\w*)"
    arms = rf"InForce::\w+\(_\)(?: \| InForce::\w+\(_\))*(?:, _\))?\s*=>\s*{constant}[,)\s]"
    body = rf"\bfn \w+\([^)]*\)[^{{;]*\{{\s*{constant}?\s*\}}"
    text = "\n".join(code_of(file) for file in sources("ftl"))
    doors = re.finditer(
        r"^(?:pub(?:\([^)]*\))? trait (?:Mapping|CollectsAhead)\b|impl.* (?:Mapping|CollectsAhead) for )",
        text,
        re.M,
    )
    bodies = "".join(body_at(text, door.start()) for door in doors)
    return len(re.findall(arms, facade())) + len(re.findall(body, bodies))


def methods() -> tuple[int, int]:
    """Methods of the mechanisms' traits, and those that one mechanism or none fills in.

    A macro makes the traits: a line of `traits.rs` declares a method by the way in which several answers become one.
    """
    of_trait: dict[str, list[str]] = defaultdict(list)
    current = ""
    declares = r"(?:fn|all|any|every|first|sound) (\w+)(?:<[^(]*>)?\("
    for line in code_of(CRATES / "ftl/src/mechanism/traits.rs").splitlines():
        if trait := re.match(r"\s*(?:pub(?:\([^)]*\))? )?trait (\w+)", line):
            current = trait[1]
        elif (method := re.match(rf"\s*{declares}", line)) and current:
            of_trait[current].append(method[1])
    fills: dict[tuple[str, str], set[str]] = defaultdict(set)
    mechanisms = CRATES / "ftl/src/mechanism"
    for file in sources("ftl", "mechanism"):
        folder = file.relative_to(mechanisms).parts[0]
        if folder == file.name:
            continue
        text = code_of(file)
        for block in re.finditer(r"^impl(?:<[^>]*>)? (\w+)(?:<[^>]*>)? for (\w+)[^{]*", text, re.M):
            body = body_at(text, block.end() - 1)
            for method in re.finditer(r"^    fn (\w+)", body, re.M):
                fills[block[1], method[1]].add(folder)
    every = [(trait, name) for trait, names in of_trait.items() for name in names]
    return len(every), sum(len(fills[method]) <= 1 for method in every)


def files_of_a_device_key() -> int:
    """Files of `config` that name a feature of the chip: the most of any."""
    texts = [code_of(file) for file in sources("config")]
    declared = "\n".join(code_of(file) for file in all_sources())
    keys = re.findall(r'FeatureKey = FeatureKey \{\s*key: "(\w+)"', declared)
    assert keys, "the features of `[device]` are declared in another way: count them anew"
    return max(sum(bool(re.search(rf"\b{key}\b", text)) for text in texts) for key in keys)


def preset_lines() -> int:
    """Lines of presets that say something."""
    texts = (preset.read_text(encoding="utf-8") for preset in (ROOT / "presets").glob("*.toml"))
    return sum(bool(line.strip()) for text in texts for line in text.splitlines())


def missing_rows() -> int:
    """Features of a chip without a row in the table of pairs."""
    table = (CRATES / "device/tests/pairs.txt").read_text(encoding="utf-8")
    return sum(not re.search(rf"^. {name}  ", table, re.M) for name in ROWS)


def unphysical_refusals() -> int:
    """What one-shot and two-pass programming are refused with for a reason of the model, not of the chip."""
    table = (CRATES / "device/tests/pairs.txt").read_text(encoding="utf-8")
    reasons = set(re.findall(r"device\.programming: ([^;:\n]*)", table))
    return sum(not reason.startswith(PHYSICAL) for reason in reasons)


def names_of_types() -> int:
    """Names that several types have."""
    names: Counter[str] = Counter()
    for file in all_sources():
        names.update(
            re.findall(r"^ *(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union) (\w+)", code_of(file), re.M)
        )
    return sum(count > 1 for count in names.values())


def vague_doc_lines() -> int:
    """Doc lines of sources that begin with What or Whether."""
    begin = re.compile(r"^\s*//[/!] (?:What|Whether)\b", re.M)
    return sum(len(begin.findall(text_of(file))) for file in all_sources())


def lines_of_device() -> int:
    """Lines of `device` and of the crates that come out of it, without tests."""
    return sum(text_of(file).count("\n") for crate in OUT_OF_DEVICE for file in sources(crate))


def imports_of_device() -> Mapping[str, set[str]]:
    """By file of `device`, the other files that it names something of."""
    root = CRATES / "device/src"
    files = {
        str(file.relative_to(root).with_suffix("")).removesuffix("/mod"): file for file in sources("device")
    }
    edges: dict[str, set[str]] = {name: set() for name in files}
    for name, file in files.items():
        own = () if name == "lib" else tuple(name.split("/"))
        children = {
            other.rsplit("/", 1)[-1] for other in files if "/".join((*own, other.rsplit("/", 1)[-1])) == other
        }
        for path in paths_of(code_of(file), own, children):
            parts = list(path)
            while parts and "/".join(parts) not in files:
                parts.pop()
            target = "/".join(parts) or "lib"
            if target != name:
                edges[name].add(target)
    return edges


def paths_of(code: str, own: tuple[str, ...], children: set[str]) -> Iterator[tuple[str, ...]]:
    """The paths of modules and items that a file names, from the root of its crate."""
    use = re.compile(r"^ *(?:pub(?:\([^)]*\))? )?use ([^;]+);", re.M)
    # Who may see an item needs nothing of it.
    code = re.sub(r"\bpub\(in [\w:]+\)", "pub", code)
    named = [path for used in use.findall(code) for path in expanded(re.sub(r"\s+(?:as \w+)?", "", used))]
    named += re.findall(r"(?<![\w:])(?:crate|self|super|[a-z]\w*)(?:::\w+)+", use.sub("", code))
    for path in named:
        at, parts = own, path.split("::")
        if parts[0] == "crate":
            at, parts = (), parts[1:]
        elif parts[0] in ("self", "super"):
            while parts and parts[0] in ("self", "super"):
                at, parts = at[:-1] if parts[0] == "super" else at, parts[1:]
        elif parts[0] not in children:
            continue
        yield (*at, *parts)


def expanded(path: str) -> list[str]:
    """A path with braces, as paths without."""
    if "{" not in path:
        return [path]
    begin = path.index("{")
    inner, depth, parts, last = path[begin + 1 : path.rindex("}")], 0, [], 0
    for at, letter in enumerate(inner):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(inner[last:at])
            last = at + 1
    parts.append(inner[last:])
    return [whole for part in parts if part for whole in expanded(path[:begin] + part)]


def backward_imports() -> int:
    """Imports among the files of `device` that run back up, in the best order of files that is found."""
    edges = imports_of_device()
    place = {name: at for at, name in enumerate(least_backward(edges))}
    back = {(name, to) for name, targets in edges.items() for to in targets if place[to] <= place[name]}
    for edge in sorted(back):
        # Another order has it forward, and all others as they are.
        if is_ordered({n: {to for to in tos if (n, to) not in back - {edge}} for n, tos in edges.items()}):
            back.remove(edge)
    return len(back)


def is_ordered(edges: Mapping[str, set[str]]) -> bool:
    """True if files can be put in an order in which none imports from one before it."""
    left = dict(edges)
    while sinks := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in sinks:
            del left[name]
    return not left


def least_backward(edges: Mapping[str, set[str]]) -> list[str]:
    """An order in which few files import from one before them: by Eades, Lin and Smyth, then by single moves."""
    left = {name: set(targets) for name, targets in edges.items()}
    first: list[str] = []
    last: list[str] = []
    while left:
        into = Counter(to for targets in left.values() for to in targets)
        sinks = sorted(name for name, targets in left.items() if not targets)
        roots = sorted(name for name in left if not into[name])
        if sinks:
            chosen = sinks[0]
            last.append(chosen)
        else:
            chosen = roots[0] if roots else max(sorted(left), key=lambda name: len(left[name]) - into[name])
            first.append(chosen)
        del left[chosen]
        for targets in left.values():
            targets.discard(chosen)
    order = first + last[::-1]
    while any(moved(order, edges, name) for name in sorted(edges)):
        pass
    return order


def moved(order: list[str], edges: Mapping[str, set[str]], name: str) -> bool:
    """Moves a file to where it leaves the fewest imports backward; whether that is better than where it was."""
    others = [other for other in order if other != name]
    # At the very end, who imports from it looks forward, and it looks back at all that it imports from.
    costs = [len(edges[name])]
    for other in reversed(others):
        costs.append(costs[-1] + (name in edges[other]) - (other in edges[name]))
    costs.reverse()
    best, now = min(range(len(costs)), key=lambda at: (costs[at], at)), order.index(name)
    if costs[best] >= costs[now]:
        return False
    order[:] = [*others[:best], name, *others[best:]]
    return True


def shared_names() -> int:
    """Names that several files of `device` have, besides `mod`."""
    names = Counter(
        file.name
        for crate in OUT_OF_DEVICE
        for file in sources(crate)
        if file.name not in ("mod.rs", "lib.rs")
    )
    return sum(count > 1 for count in names.values())


@dataclass(frozen=True)
class Row:
    """A count, and what it is to come to."""

    what: str
    now: int
    aim: int

    def line(self, most: int) -> str:
        """Its line in the page."""
        return f"| {self.what} | {most:,} | {self.aim:,} |"

    def ceiling(self, before: int | None) -> int:
        """What it may be from now on: no more than before, and no less than its aim."""
        return max(self.aim, self.now if before is None else min(self.now, before))


def rows() -> Sequence[Row]:
    """Everything that is counted."""
    of_traits, with_one = methods()
    return (
        Row("`is_plain`, `is_bare` asked in `timed/` outside `plain/`", plain_questions(), 8),
        Row("parts of a plan asked for there, which it answers by constants", parts_asked_for(), 40),
        Row("features' names in the files of `timed` that are to know none", feature_names(), 0),
        Row("places that program the array", programs(), 3),
        Row("functions that book or cancel", takers_back(), 0),
        Row("calls of the façade, every variant of a multiplexed argument counted", facade_calls(), 45),
        Row("answers of a mapping that are constants", constant_answers(), 0),
        Row("methods of the mechanisms' traits", of_traits, 45),
        Row("of these, with one implementor at most", with_one, 10),
        Row("files of `config` that name a feature of the chip", files_of_a_device_key(), 0),
        Row("lines of presets", preset_lines(), 700),
        Row("features of the chip without a row in `pairs.txt`", missing_rows(), 0),
        Row("refusals of one-shot and two-pass without a physical reason", unphysical_refusals(), 0),
        Row("names that several types have", names_of_types(), 20),
        Row("doc lines that begin with What or Whether", vague_doc_lines(), 300),
        Row("source lines of `device` and of what comes out of it", lines_of_device(), 15_200),
        Row("imports among the files of `device` that run back up", backward_imports(), 8),
        Row("names that several files have there", shared_names(), 0),
    )


def written(page: str) -> dict[str, int]:
    """By criterion what the page allows."""
    table = page.split(BEGIN)[1].split(END)[0]
    return {
        what: int(most.replace(",", ""))
        for what, most in re.findall(r"^\| (.+?) \| ([\d,]+) \|", table, re.M)
    }


def table(counted: Sequence[Row], most: Mapping[str, int]) -> str:
    """The table of the page."""
    head = "| criterion | at most | aim |\n|---|---:|---:|\n"
    return head + "".join(f"{row.line(most[row.what])}\n" for row in counted)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m evidence.counts", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write counts that fell into the page")
    page = PAGE.read_text(encoding="utf-8")
    allowed, counted = written(page), rows()
    if parser.parse_args(arguments).write:
        most = {row.what: row.ceiling(allowed.get(row.what)) for row in counted}
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(f"{before}{BEGIN}\n{table(counted, most)}\n{END}{after}", encoding="utf-8")
        return
    print(f"{'now':>7} {'at most':>8} {'aim':>7}")
    for row in counted:
        print(f"{row.now:7,} {allowed.get(row.what, row.now):8,} {row.aim:7,}  {row.what}")


if __name__ == "__main__":
    main()
