"""The specification of a sweep: which configurations, over which values of which keys."""

from __future__ import annotations

import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any

from ftlab._core import ConfigError, InputError
from ftlab.api.configs import SHORT, Source, named, plain, set_list
from ftlab.api.keys import exclude_each_other, known, loses, shown_as
from ftlab.api.simulation import COMBINATIONS_MAX, Job
from ftlab.base import arguments, escape
from ftlab.base.hints import nearest
from ftlab.base.quantities import in_bytes
from ftlab.fio import running
from ftlab.fio.jobfile import JobFile
from ftlab.sweeps import volumes

TOP = ("config", "trace", "fio", "section", "volumes", "out", "repeats", "set", "grid", "list")
"""The keys of a specification."""

LEVEL = ("label", "value", "set", "config")
"""The keys of a level that is a table."""

COLUMNS = ("run", "label", "status", "error", "hash", "engine")
"""Columns of the table that every sweep has."""

SEED = "run.seed"

RANGE = re.compile(r" *(-?\d+(?:\.\d+)?) *\.\. *(-?\d+(?:\.\d+)?)(?: +step +(\d+(?:\.\d+)?))? *")
"""`1..5`, `0.05..0.3 step 0.05`; the end is part of it."""


@dataclass(frozen=True, slots=True)
class Level:
    """A value of a factor."""

    shown: Any
    """Its value in the column of the factor: a number, a boolean or a text."""
    label: str
    """Its word in the label of a run; may be empty."""
    sets: dict[str, Any] = field(default_factory=dict)
    config: str | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """A run of a sweep."""

    index: int
    label: str
    job: Job
    levels: dict[str, Any]
    """Its values in the columns of its factors."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A specification that has been read."""

    runs: tuple[Planned, ...]
    factors: tuple[str, ...]
    seed: str | None
    """The factor that is the seed, over which means are taken."""
    out: str | None

    @classmethod
    def of(cls, spec: str | PathLike[str] | Mapping[str, Any]) -> Spec:
        """Reads a TOML file or a dictionary.

        Raises:
            ConfigError: it is no specification.
            InputError: the file cannot be read.
        """
        if isinstance(spec, Mapping):
            return _Reader("the specification", plain(spec, "the specification")).read()
        name = arguments.file_name(spec, "spec")
        try:
            # An editor of Windows may have put a byte order mark before it.
            tree = tomllib.loads(Path(name).read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise InputError(
                f"error: {escape.terminal(name)} cannot be read: {error.strerror}\n"
                "hint: expected a TOML file that says what to sweep over; `ftlab sweep --help` shows one"
            ) from None
        except UnicodeDecodeError:
            raise ConfigError(f"error: {escape.terminal(name)} is not UTF-8 text; expected TOML") from None
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ConfigError(f"error: this is not TOML: {error}\n --> {escape.terminal(name)}") from None
        return _Reader(escape.terminal(name), tree).read()


@dataclass(frozen=True, slots=True)
class _Reader:
    name: str
    """The name of the specification in messages."""
    tree: Mapping[str, Any]

    def read(self) -> Spec:
        for key in self.tree:
            if key not in TOP:
                raise self._refusal(key, f"unknown key `{key}` of a sweep", f"expected one of {_listed(TOP)}",
                                    nearest(key, TOP, 0.6))  # fmt: skip
        self._check_count()
        base = dict(self._settings(self._table("set"), "set"))
        factors: dict[str, list[Level]] = {}
        configs = self._configs()
        if len(configs) > 1:
            factors["config"] = configs
        if (found := self._volumes()) is not None:
            factors[volumes.FACTOR] = found
        factors |= {
            name: self._distinct(name, self._levels(name, key, given)) for name, key, given in self._grid()
        }
        seeds = [name for name in factors if self._key(name) == SEED]
        if (repeats := self._repeats()) is not None:
            if seeds:
                raise self._refusal(
                    "repeats", "the grid has seeds of its own", "expected only one of the two"
                )
            factors["seed"] = [Level(seed, f"seed={seed}", {SEED: seed}) for seed in range(1, repeats + 1)]
            seeds = ["seed"]
        entries = self._list()
        columns = [*dict.fromkeys(itertools.chain(*(entry for entry, _ in entries), factors))]
        self._check(columns, factors, entries)
        self._check_settings(base, factors, entries)
        runs = tuple(self._planned(configs[0], base, factors, entries))
        return Spec(runs, tuple(columns), seeds[0] if seeds else None, self._text("out"))

    def _planned(
        self,
        only: Level,
        base: dict[str, Any],
        factors: Mapping[str, Sequence[Level]],
        entries: Sequence[tuple[dict[str, Any], Level]],
    ) -> Iterator[Planned]:
        trace = self._text("trace")
        trace = None if trace is None else arguments.trace_name(trace)
        fio = self._text("fio")
        if fio is None and self.tree.get("section") is not None:
            raise self._refusal(
                "section", "`section` is a job of a job file", 'expected `fio = "FILE"` as well'
            )
        if fio is not None and trace is not None:
            raise self._refusal("fio", "a sweep has a trace or a job file", "expected one of them")
        file = None if fio is None else JobFile.load(fio)
        taken: dict[str, int] = {}
        combinations = itertools.product(entries, *factors.values())
        for index, ((columns, entry), *levels) in enumerate(combinations):
            config = next((level.config for level in (entry, *levels) if level.config), only.config)
            assert config is not None
            sets = dict(base)
            for level in (entry, *levels):
                sets |= level.sets
            words = [level.label for level in (entry, *levels) if level.label] or [only.label]
            label = " ".join(words)
            taken[label] = taken.get(label, 0) + 1
            if taken[label] > 1:
                label = f"{label} ({taken[label]})"
            shown = {name: level.shown for name, level in zip(factors, levels, strict=True)}
            written = {key: f"{self.name}: {key} = " for key in sets}
            job = Job(label, Source.of(config), set_list(sets), trace, written)
            if file is not None:
                job = running.on(job, file, self._text("section"))
            yield Planned(index, label, job, {**columns, **shown})

    def _check(
        self,
        columns: Sequence[str],
        factors: Mapping[str, Sequence[Level]],
        entries: Sequence[tuple[dict[str, Any], Level]],
    ) -> None:
        for name in columns:
            if name in COLUMNS:
                raise self._refusal(name, f"a factor cannot be called `{name}`",
                                    f"every sweep has a column of that name, as {_listed(COLUMNS)}")  # fmt: skip
        for name in factors:
            if any(name in entry for entry, _ in entries):
                raise self._refusal(f"list.{name}", f"`{name}` is in the grid and in the list",
                                    "expected only one of the two")  # fmt: skip

    def _check_count(self) -> None:
        """Refuses more runs than there may be, before any of them is made."""
        configs, entries = self.tree.get("config"), self.tree.get("list")
        factors = [len(configs)] if isinstance(configs, list | Mapping) else []
        factors += [len(entries)] if isinstance(entries, list) else []
        for name, _, given in self._grid():
            items = given if isinstance(given, list) else [given]
            factors.append(sum(self._numbers(item, f"grid.{name}")[0] for item in items))
        factors.append(len(self._volumes() or ()))
        count = math.prod(factor for factor in factors if factor) * (self._repeats() or 1)
        if count > COMBINATIONS_MAX:
            where = "grid" if factors else "repeats"
            raise self._refusal(where, f"{count:,} runs", f"expected at most {COMBINATIONS_MAX:,}")

    def _distinct(self, name: str, levels: list[Level]) -> list[Level]:
        """Levels that are called alike would be one row of the means, whatever they are."""
        seen: dict[Any, int] = {}
        for i, level in enumerate(levels, 1):
            if (first := seen.setdefault(level.shown, i)) != i:
                raise self._refusal(
                    f"grid.{name}", f"`{level.shown}` is there twice, as value {first} and {i} of `{name}`",
                    "expected each value once, or labels that tell them apart: `{ label = \"…\", value = … }`; "
                    "`repeats = 5` runs each with five seeds",
                )  # fmt: skip
        return levels

    def _check_settings(
        self,
        base: Mapping[str, Any],
        factors: Mapping[str, Sequence[Level]],
        entries: Sequence[tuple[dict[str, Any], Level]],
    ) -> None:
        """Refuses settings that take each other's place: the rows would be called after what does not hold."""
        places = [("list", [entry for _, entry in entries])] if "list" in self.tree else []
        for name, levels in factors.items():
            of_repeats = name == "seed" and self._repeats() is not None
            places.append(
                (
                    "repeats"
                    if of_repeats
                    else name
                    if name == "config"
                    else "volumes"
                    if name == volumes.FACTOR
                    else f"grid.{name}",
                    list(levels),
                )
            )
        given = {
            place: dict.fromkeys(key for level in levels for key in level.sets) for place, levels in places
        }
        if self.tree.get("trace") is not None:
            given["trace"] = {"workload.trace": None}
        for (one, keys_of_one), (other, keys_of_other) in itertools.combinations(given.items(), 2):
            for key, later in itertools.product(keys_of_one, keys_of_other):
                if exclude_each_other(key, later):
                    raise self._twice(one, key, other, later)
        for place, named_there in given.items():
            for (key, value), later in itertools.product(base.items(), named_there):
                if loses(key, value, later) or (place == "trace" and key == later):
                    raise self._twice("set", key, place, later)
        if len(both := [place for place, levels in places if any(level.config for level in levels)]) > 1:
            raise self._refusal(
                both[1], f"the configuration is named in `{both[0]}` too", "expected it in one place"
            )

    def _twice(self, one: str, key: str, other: str, later: str) -> ConfigError:
        if key == later:
            return self._refusal(other, f"`{key}` is given twice, in `{one}` too", "expected it in one place")
        example = 'victim = ["greedy", { rga = { d = 4 } }, { rga = { d = 8 } }]'
        return self._refusal(
            other, f"`{later}` and `{key}` of `{one}` make a choice twice, of which only one has a say",
            f"expected a choice with its parameters as one value: `{example}`",
        )  # fmt: skip

    def _configs(self) -> list[Level]:
        given = self.tree.get("config")
        if given is None:
            raise self._refusal("config", "there is no configuration to sweep over",
                                'expected `config = "NAME"`, a preset or a TOML file, or a list of them')  # fmt: skip
        if isinstance(given, str):
            return [self._config(Path(given).stem, given, "config")]
        if isinstance(given, Mapping):
            pairs = list(given.items())
        elif isinstance(given, list):
            pairs = [(Path(str(config)).stem, config) for config in given]
        else:
            pairs = []
        if not pairs:
            raise self._wrong(
                "config", given, "a preset or a file, a list of them, or a table of them by label"
            )
        levels = [self._config(label, config, "config") for label, config in pairs]
        seen: dict[str, Level] = {}
        for level in levels:
            if (first := seen.setdefault(level.label, level)) is not level:
                raise self._refusal(
                    "config", f"`{level.label}` is the name of two configurations",
                    f'expected labels: `config = {{ "first" = "{first.config}", "second" = "{level.config}" }}`',
                )  # fmt: skip
        return levels

    def _volumes(self) -> list[Level] | None:
        """The volumes that were asked for, each with its trace and, unless another was, a device of its size."""
        given = self.tree.get("volumes")
        if given is None:
            return None
        expected = 'a directory, or `{ from = "DIR", written = "1GiB", sized = true }`'
        asked = {"from": given} if isinstance(given, str) else given
        if not isinstance(asked, Mapping) or not set(asked) <= {"from", "written", "sized"}:
            raise self._wrong("volumes", given, expected)
        directory, sized = asked.get("from"), asked.get("sized", True)
        if not isinstance(directory, str) or not directory or not isinstance(sized, bool):
            raise self._wrong("volumes", given, expected)
        try:
            least = in_bytes(str(asked.get("written", "0B")))
        except ValueError:
            raise self._wrong("volumes.written", asked["written"], 'a size, such as "1GiB"') from None
        found = volumes.listed(directory)
        enough = [volume for volume in found if volume.written >= least]
        if not enough:
            raise self._refusal("volumes", f"none of {len(found):,} volumes writes as much",
                                "expected a smaller `written`")  # fmt: skip
        capacity = {"device.user_capacity": None} if sized else {}
        return [
            Level(
                volume.number, f"volume={volume.number}",
                {"workload.trace": volume.trace, **dict.fromkeys(capacity, f"{volume.capacity}B")},
            )
            for volume in enough
        ]  # fmt: skip

    def _config(self, label: str, config: Any, where: str) -> Level:
        if not isinstance(config, str) or not config:
            raise self._wrong(where, config, "the name of a preset or a file")
        return Level(label, label, config=config)

    def _repeats(self) -> int | None:
        given = self.tree.get("repeats")
        if given is not None and (not isinstance(given, int) or isinstance(given, bool) or given < 1):
            raise self._wrong("repeats", given, "a whole number from 1 on")
        return given

    def _text(self, key: str) -> str | None:
        given = self.tree.get(key)
        if given is not None and (not isinstance(given, str) or not given):
            raise self._wrong(key, given, "the name of a file or directory")
        return given

    def _table(self, key: str) -> Mapping[str, Any]:
        given = self.tree.get(key, {})
        if not isinstance(given, Mapping):
            raise self._wrong(key, given, "a table of settings")
        return given

    def _grid(self) -> Iterator[tuple[str, str | None, Any]]:
        """Name, key and values of every factor of the grid."""
        yield from self._walked("", self._table("grid"))

    def _walked(self, above: str, table: Mapping[str, Any]) -> Iterator[tuple[str, str | None, Any]]:
        """TOML has a table for each part of `ftl.victim = […]`."""
        for part, given in table.items():
            name = f"{above}{part}"
            if isinstance(given, Mapping):
                if not self._begins_key(name):
                    raise self._unknown(f"grid.{name}", name)
                yield from self._walked(f"{name}.", given)
            else:
                yield name, self._key(name), given

    def _levels(self, name: str, key: str | None, given: Any) -> list[Level]:
        where = f"grid.{name}"
        items = given if isinstance(given, list) else [given]
        expanded = [value for item in items for value in self._expanded(item, where)]
        if not expanded:
            raise self._refusal(
                where, f"`{name}` has no values", "expected a list of values, or a range such as `1..5`"
            )
        return [self._level(name, key, item, where) for item in expanded]

    def _expanded(self, item: Any, where: str) -> list[Any]:
        """The numbers of a range, or what is none."""
        count, start, step = self._numbers(item, where)
        if step is None:
            return [item]
        values = [start + i * step for i in range(count)]
        whole = all(value == int(value) for value in values) and "." not in item.replace("..", "")
        return [int(value) if whole else float(value) for value in values]

    def _numbers(self, item: Any, where: str) -> tuple[int, Decimal, Decimal | None]:
        """The number of values that an item stands for; of a range also its start and its step."""
        found = RANGE.fullmatch(item) if isinstance(item, str) else None
        if found is None:
            return 1, Decimal(0), None
        start, end, step = Decimal(found[1]), Decimal(found[2]), Decimal(found[3] or 1)
        if step == 0 or end < start:
            raise self._refusal(
                where, f"the range `{item}` is empty", "expected a start, a larger end, a step above 0"
            )
        count = int((end - start) / step) + 1
        if count > COMBINATIONS_MAX:
            raise self._refusal(where, f"the range `{item}` has {count:,} numbers",
                                f"expected at most {COMBINATIONS_MAX:,}")  # fmt: skip
        return count, start, step

    def _level(self, name: str, key: str | None, item: Any, where: str) -> Level:
        if isinstance(item, Mapping) and item and set(item) <= set(LEVEL):
            return self._table_level(name, key, item, where)
        if key is None:
            raise self._unknown(where, name)
        return self._valued(name, key, item, None)

    def _valued(self, name: str, key: str, value: Any, label: str | None) -> Level:
        shown = label if label is not None else shown_as(_number(key, value))
        spoken = isinstance(shown, str) and shown[:1].isalpha()
        return Level(shown, str(shown) if spoken else f"{name.rpartition('.')[2]}={shown}", {key: value})

    def _table_level(self, name: str, key: str | None, item: Mapping[str, Any], where: str) -> Level:
        label = item.get("label")
        if label is not None and (not isinstance(label, str) or not label):
            raise self._wrong(f"{where}.label", label, "a text")
        if "value" in item:
            if key is None:
                raise self._unknown(where, name)
            level = self._valued(name, key, item["value"], label)
        elif label is None:
            raise self._refusal(
                where, f"a level of `{name}` has no label", 'expected `label = "…"` with `set` or `config`'
            )
        else:
            level = Level(label, label)
        given = item.get("set", {})
        if not isinstance(given, Mapping):
            raise self._wrong(f"{where}.set", given, "a table of settings")
        more = dict(self._settings(given, f"{where}.set"))
        for own, added in itertools.product(level.sets, more):
            if exclude_each_other(own, added):
                raise self._twice(f"{where}.value", own, f"{where}.set", added)
        sets = {**level.sets, **more}
        config = item.get("config")
        if config is not None:
            config = self._config("", config, f"{where}.config").config
        return Level(level.shown, level.label, sets, config)

    def _list(self) -> list[tuple[dict[str, Any], Level]]:
        """The entries of the list: what their columns hold, and what they set. Without a list, one of nothing."""
        given = self.tree.get("list", [])
        if not isinstance(given, list) or not all(isinstance(entry, Mapping) for entry in given):
            raise self._wrong("list", given, "tables, each `[[list]]`")
        entries = [self._entry(entry, f"list[{i}]") for i, entry in enumerate(given, 1)]
        seen: dict[str, int] = {}
        for i, (columns, _) in enumerate(entries, 1):
            if (first := seen.setdefault(json.dumps(columns, sort_keys=True, default=str), i)) != i:
                raise self._refusal(f"list[{i}]", f"it is the same as list[{first}]", "expected each run once; "
                                    "`repeats = 5` runs each with five seeds")  # fmt: skip
        return entries or [({}, Level("", ""))]

    def _entry(self, entry: Mapping[str, Any], where: str) -> tuple[dict[str, Any], Level]:
        entry = dict(entry)
        label, config = entry.pop("label", None), entry.pop("config", None)
        if label is not None and (not isinstance(label, str) or not label):
            raise self._wrong(f"{where}.label", label, "a text")
        columns: dict[str, Any] = {}
        sets: dict[str, Any] = {}
        words = []
        if config is not None:
            columns["config"] = config = self._config("", config, f"{where}.config").config
            words.append(Path(str(config)).stem)
        for name, key, value in self._named(entry, where):
            for before in sets:
                if exclude_each_other(before, key):
                    raise self._twice(where, before, f"{where}.{name}", key)
            level = self._valued(name, key, value, None)
            columns[name] = level.shown
            sets[key] = value
            words.append(level.label)
        return columns, Level("", label or " ".join(words), sets, config)

    def _settings(self, table: Mapping[str, Any], where: str) -> Iterator[tuple[str, Any]]:
        """Settings by key."""
        for _, key, value in self._named(table, where):
            yield key, value

    def _named(self, table: Mapping[str, Any], where: str, above: str = "") -> Iterator[tuple[str, str, Any]]:
        """Settings by the name that was written, and by key."""
        for part, value in table.items():
            name = f"{above}{part}"
            key = self._key(name)
            if key is not None:
                yield name, key, value
            elif isinstance(value, Mapping) and self._begins_key(name):
                yield from self._named(value, where, f"{name}.")
            else:
                raise self._unknown(f"{where}.{name}", name)

    def _key(self, name: str) -> str | None:
        """The key that a name stands for: itself, a parameter of a choice, or the key's last part alone."""
        if any(name.startswith(f"{key}.") for key in known()):
            return name
        return named(name, known())

    def _begins_key(self, name: str) -> bool:
        return self._key(name) is not None or any(key.startswith(f"{name}.") for key in known())

    def _unknown(self, where: str, name: str) -> ConfigError:
        names = [*known(), *(key.rpartition(".")[2] for key in known())]
        return self._refusal(where, f"`{name}` is no key of a configuration",
                             'expected a key such as `ftl.victim` or `seed`, or levels `{ label = "…", set = { … } }`',
                             nearest(name, names, 0.6))  # fmt: skip

    def _wrong(self, where: str, found: Any, expected: str) -> ConfigError:
        told = json.dumps(found, default=str, ensure_ascii=False)
        told = told if len(told) <= 60 else f"{told[:60]}…"
        return self._refusal(where, f"`{where}` cannot be `{told}`", f"expected {expected}")

    def _refusal(self, where: str, what: str, expected: str, hint: str = "") -> ConfigError:
        hint = f"\nhint: {hint}" if hint else ""
        return ConfigError(
            escape.terminal(f"error: {what}\n --> {self.name}, {where}\n  = {expected}{hint}", keep="\n")
        )


def _number(key: str, value: Any) -> Any:
    """A share that is written as a percentage, as the number that it is: a column of numbers can be computed with."""
    found = re.fullmatch(r" *(\d+(?:\.\d+)?) *% *", value) if isinstance(value, str) else None
    return float(Decimal(found[1]) / 100) if found and key == SHORT["op"] else value


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
