"""The two drives that mechanisms are switched on: the papers' base, and a drive of today."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ftlab_reproduce.study import Settings

Members = tuple[str, ...]
"""What is changed on a base, by the names of its `changes`; nothing: the base as it is."""

APART = 50
"""Erases by which the most and the least worn block of a plane may differ: then wear leveling moves cold data."""

IPR: Settings = {
    "ftl.read_disturb.ipr.low_density": 0.1, "ftl.read_disturb.ipr.monitor": 0.1, "ftl.read_disturb.ipr.pool": 0.2,
}  # fmt: skip


class Base(NamedTuple):
    """A drive, and what may be changed on it."""

    preset: str
    sets: Settings
    """On top of the preset and of the scale's device."""
    changes: Mapping[str, Settings]
    """What is switched on, or taken away, and the choice that it takes the place of."""


PAPERS = ""
"""The base that the papers have in common."""
TODAY = "today's drive"

MEMBERS: Mapping[str, Settings] = {
    "TBM": {"ftl.reclaim_unit": "twin"},
    "rCPB": {"ftl.migration": "rcpb"},
    "GCF": {"ftl.gc_schedule": "forwarding"},
    "CF": {"ftl.gc_schedule": "cycle-filling"},
    "IPR": IPR,
    "GCMix": {"ftl.paired_page": "gcmix"},
}
"""What is switched on, on the papers' base."""

CHANGES: Mapping[str, Settings] = {
    # Quotas by page: those by block need an active block each and for each kind of data. Beside IPR and `host-gc`
    # that is 42 of the 208 blocks of a plane, and the device is refused.
    "rCPB": {"ftl.migration.rcpb.quota": "page"},
    "GCF": {"ftl.gc_schedule": "forwarding"},
    "CF": {"ftl.gc_schedule": "cycle-filling"},
    "IPR": IPR,
    "GCMix": {"ftl.paired_page": "gcmix"},
    "backups": {"ftl.paired_page": "lsb-backup"},
    "no TBM": {"ftl.reclaim_unit": "block"},
    "no pacing": {"ftl.gc_schedule": "threshold"},
    "no host-gc": {"ftl.separation": "none"},
}
"""What is switched on, or taken away, on today's drive. It has twin blocks, paced GC and `host-gc` as it stands."""

BASES: Mapping[str, Base] = {
    # Keeps its data without any of the five: blocks are refreshed before their read limit, lower pages are backed up,
    # pages are moved through the controller, and a collection begins when blocks run short.
    PAPERS: Base(
        "stack",
        {
            "ftl.allocation": "F2",
            "ftl.reclaim_unit": "block",
            "ftl.migration": "off-chip",
            "ftl.gc_schedule": "threshold",
            "ftl.read_disturb": "refresh",
            "ftl.paired_page": "lsb-backup",
            "ftl.separation": "none",
            "ftl.wear_leveling.static.threshold": APART,
            "ftl.write_buffer.lru.size": "16MiB",
            "ftl.scheduler.paq.max_wait": "0ns",
        },
        MEMBERS,
    ),
    # The preset as it stands, but for what the study's device asks for: its blocks have a read limit, so they are
    # refreshed; a supercap is what the preset's `none` takes for granted; and there is as much buffer for each die.
    # Flash pages are mapped whole, as the preset did when the study was made.
    TODAY: Base(
        "client-tlc-small",
        {
            "ftl.map_unit": "page",
            "ftl.read_disturb": "refresh",
            "ftl.paired_page": "supercap",
            "ftl.write_buffer.fifo.size": "16MiB",
            "ftl.write_buffer.fifo.flush": "free",
        },
        CHANGES,
    ),
}


def _exclude(one: str, other: str) -> bool:
    """Whether two are choices of the same thing."""
    return not MEMBERS[one].keys().isdisjoint(MEMBERS[other])


ALONE: Sequence[Members] = tuple((name,) for name in MEMBERS)
PAIRS: Sequence[Members] = tuple(pair for pair in itertools.combinations(MEMBERS, 2) if not _exclude(*pair))
AHEAD = ("GCF", "CF")
"""The two ways of collecting ahead of need that the paper on GC forwarding has; one of them can be in force."""
EVERY: Sequence[Members] = tuple(
    tuple(name for name in MEMBERS if name == ahead or name not in AHEAD) for ahead in AHEAD
)
"""All five papers together, with either."""
THREE: Members = ("TBM", "GCF", "GCMix")
"""Three that were picked after results had been seen: what the others cost is left out."""
SUBSETS: Sequence[Members] = ((), *ALONE, *PAIRS, THREE, *EVERY)
STEPS: Sequence[Members] = (*ALONE, ("TBM", "GCMix"), THREE, *EVERY)
"""What each brings alone, and what is switched on together in the end."""
HEADLINE: Sequence[Members] = ((), ("TBM",), ("CF",), ("GCMix",), ("TBM", "GCMix"), THREE, *EVERY)
"""What it takes to see what to switch on, and what not; all that is run at full size."""
LIVED: Sequence[Members] = ((), ("TBM",), ("CF",), ("GCMix",), THREE)
"""What is run to the end of its life on the papers' base."""
OF_OWN: Sequence[Members] = ((), ("TBM",), THREE)
"""What is run at half of each one's own rate on the papers' base."""

NEW = ("rCPB", "GCF", "CF", "IPR")
"""What today's drive lacks, GCMix apart, which takes the place of its protection of lower pages."""
TODAYS_THREE: Members = ("GCF", "GCMix")
"""The three of the papers' base: today's drive has TBM as it stands."""
TODAYS_EVERY: Members = ("rCPB", "GCF", "IPR", "GCMix")
PAPERS_FTL: Members = ("backups", "no TBM", "no pacing", "no host-gc")
"""The papers' base, but for the flash, the buffer and the scheduler, which are today's drive's."""
PAPERS_THREE: Members = ("GCF", "GCMix", "no host-gc")
TODAYS: Sequence[Members] = (
    (),
    *((name,) for name in (*NEW, "no TBM", "no pacing", "no host-gc")),
    ("backups",),
    *(("backups", name) for name in ("GCF", "no TBM", "no pacing")),
    ("GCMix",),
    *((name, "GCMix") for name in ("rCPB", "GCF", "IPR")),
    *(("GCMix", name) for name in ("no TBM", "no pacing")),
    TODAYS_EVERY,
    PAPERS_FTL,
    PAPERS_THREE,
)
"""Each mechanism on the drive as it stands, what helps beside backups and GCMix, and what the drive has taken away."""
TODAYS_OWN: Sequence[Members] = (
    (),
    ("GCF",),
    ("no TBM",),
    ("no pacing",),
    ("backups",),
    ("backups", "GCF"),
    ("GCMix",),
    TODAYS_THREE,
    TODAYS_EVERY,
    PAPERS_FTL,
)
"""What is run at half of its own load on today's drive."""
TODAYS_LIVED: Sequence[Members] = (
    (),
    *((name,) for name in ("GCF", "CF", "IPR", "no TBM", "no pacing")),
    ("backups",),
    ("backups", "GCF"),
    ("GCMix",),
    *((name, "GCMix") for name in ("GCF", "IPR")),
    ("GCF", "IPR", "GCMix"),
    PAPERS_FTL,
)
"""What is run to the end of its life there. Not rCPB: its quotas go with the real erases of a block, of which a life in
steps has few."""
TODAYS_HALF: Sequence[Members] = ((), ("GCF",), ("no pacing",), ("backups",), ("GCMix",), TODAYS_THREE)
"""What is run at half load there: drives that serve about as much."""


def name_of(members: Members) -> str:
    """Changes of the papers' base, for people."""
    if members in EVERY:
        (ahead,) = (name for name in members if name in AHEAD)
        return f"all five, {ahead}"
    return " + ".join(members) or "none"


PROTECTIONS = ("backups", "GCMix")
"""What today's drive may have in place of its supercap."""


def protection_of(members: Members) -> str:
    """What keeps lower pages safe on today's drive."""
    return next((name for name in PROTECTIONS if name in members), "supercap")


def todays_name_of(members: Members) -> str:
    """Changes of today's drive, for people: first what keeps lower pages safe."""
    if members == TODAYS_EVERY:
        return "all five, GCF"
    if members == PAPERS_FTL:
        return "papers' FTL, backups"
    if members == PAPERS_THREE:
        return "papers' FTL, the three"
    return " + ".join([protection_of(members), *(name for name in members if name not in PROTECTIONS)])


def name_on(base: str, members: Members) -> str:
    """Changes of a base, for people."""
    return name_of(members) if base == PAPERS else todays_name_of(members)


def beside(members: Members) -> Members:
    """What a change of today's drive is compared with: the drive with the same protection, which itself is compared
    with that whose place it takes.
    """
    protected = tuple(name for name in members if name in PROTECTIONS)
    if members != protected:
        return protected
    return ("backups",) if members == ("GCMix",) else ()
