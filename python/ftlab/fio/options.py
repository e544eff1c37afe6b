"""The options of fio, and what becomes of each: `options.tsv`, from fio's sources and `fio --cmdhelp=all`.

An option is carried out, is no matter to a drive, or is refused with the reason and what to do instead. A word that
is in no row is one that fio does not know either.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

CARRIED_OUT, NO_MATTER, REFUSED = "done", "none", "refused"
"""The treatments of an option, in words of the table."""


def is_external(engine: str) -> bool:
    """True for an engine from a file of its own, which has options of its own."""
    return engine.partition(":")[0] == "external" or "/" in engine


@dataclass(frozen=True, slots=True)
class Option:
    """A row of the table."""

    name: str
    """The name that fio has it under."""
    others: tuple[str, ...]
    """Its other names."""
    kind: str
    """The kind of value: `size`, `number`, `time`, `flag`, `word`, `text`, …; `set` needs none."""
    default: str
    """fio's value where it is not given; may be empty."""
    fate: str
    """:data:`CARRIED_OUT`, :data:`NO_MATTER` or :data:`REFUSED`."""
    meaning: str
    """Its meaning here, or the reason why it is no matter or is refused."""
    instead: str
    """The nearest thing to do; of refused options only."""
    idle: tuple[str, ...]
    """Values of a refused option that ask for nothing."""

    def asks_for_nothing(self, value: str | None) -> bool:
        """True for a value with which a refused option does nothing in fio either."""
        if value is None:
            return False
        return value in self.idle or any(value.rstrip("%") == idle for idle in self.idle)


@cache
def table() -> dict[str, Option]:
    """Every option by the name that fio has it under, in fio's order."""
    text = resources.files("ftlab.fio").joinpath("options.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    found = {}
    for name, others, kind, default, fate, meaning, instead, idle in rows:
        found[name] = Option(
            name, tuple(others.split()), kind, default, fate, meaning, instead, tuple(idle.split())
        )
    return found


@cache
def names() -> dict[str, str]:
    """Every name of an option, with the name that the table has it under."""
    own = {name: name for name in table()}
    return {other: option.name for option in table().values() for other in option.others} | own
