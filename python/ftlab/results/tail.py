"""Why latencies are as long as they are: what the requests around a percentile waited for."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ftlab._core import InputError
from ftlab.base import escape
from ftlab.base.hints import one_of
from ftlab.results.culprit import Culprit, culprit, place
from ftlab.results.latency_parts import FRACTIONS, KINDS, PARTS, WAYS, Around, around, shares, tenant_names
from ftlab.results.result import Result
from ftlab.results.tenants import distinct
from ftlab.results.text import WIDTH, columns, count, duration, percent

SCHEMA = "ftlab.tail/1"
"""The schema of an explanation as an object."""


def chosen(result: Result, directory: str, kind: str | None, at: str, tenant: str | None = None) -> Around:
    """The requests that a command asks about: reads, if there are any, unless it says which; of all or of one tenant.

    Raises:
        InputError: the run did not split its latencies, had no such requests, or no such tenant.
    """
    if "latency_parts" not in result.summary:
        raise InputError(
            f"error: the run in {escape.terminal(directory)} did not keep what its requests waited for\n"
            "hint: run it again with `--set run.latency_parts=true`"
        )
    labels = {label: name for name, label in distinct(result.summary["config"]).items()}
    names = tenant_names(result)
    if tenant not in names:
        tenant = labels.get(tenant, tenant) if tenant is not None and names else tenant
    if tenant is not None and tenant not in names:
        hint = one_of(labels) if names else "leave `--tenant` out: it has one host"
        raise InputError(
            f"error: the run in {escape.terminal(directory)} has no tenant `{escape.terminal(tenant)}`\nhint: {hint}"
        )
    who = f"the run in {escape.terminal(directory)}" if tenant is None else f"the tenant `{tenant}`"
    kinds = [each for each in KINDS if around(result, each, "mean", tenant) is not None]
    if not kinds:
        raise InputError(f"error: {who} has no reads and no writes")
    if kind is not None and kind not in kinds:
        raise InputError(f"error: {who} has no {kind}s\nhint: ask for `--{kinds[0]}s`")
    found = around(result, kind or kinds[0], at, tenant)
    assert found is not None
    return found


def to_json(result: Result, directory: str, found: Around) -> dict[str, Any]:
    """The explanation as an object."""
    cause = culprit(result, found)
    return {
        "schema": SCHEMA,
        "directory": directory,
        "tenant": found.tenant,
        "kind": found.kind,
        "at": found.at,
        "percentile_us": found.percentile_us,
        "requests": found.requests,
        "latency_us": found.latency_us,
        "parts_us": dict(found.parts_us),
        "causes": [
            {
                "way": share.way.split(),
                "part": share.part,
                "us": share.us,
                "share": share.us / found.latency_us,
            }
            for share in found.shares()
        ],
        "idle_dies": found.idle_dies,
        "dies": [dict(die) for die in found.dies],
        "neighbours": [dict(neighbour) for neighbour in found.neighbours],
        "culprit": None if cause is None else _culprit_json(cause),
        "examples": [dict(example) for example in found.examples],
        "timeline": result.summary["run"].get("timeline"),
    }


def _culprit_json(cause: Culprit) -> dict[str, Any]:
    return {
        "name": cause.name,
        "words": cause.words,
        "settings": list(cause.settings),
        "die": cause.die,
        "causes": list(cause.causes),
    }


def explanation(result: Result, found: Around) -> str:
    """Which parts dominate, the figures, an example and where to see it."""
    blocks = [_head(result, found), _table(found), _filled(in_words(result, found)), _example(result, found)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(result: Result, found: Around) -> str:
    what = f"{found.kind}s"
    if found.at == "mean":
        return _filled(f"{_of(found)}, mean of all {found.requests:,}: {duration(found.percentile_us)}")
    total = result.summary["host"][what]
    if found.tenant is not None:
        total = next(each for each in result.summary["tenants"] if each["name"] == found.tenant)[what]
    slower = round(total * (1 - FRACTIONS[found.at]))
    few = (
        f" Only {slower} of {count(total)} {what} are slower: a longer run would say more."
        if slower < 10
        else ""
    )
    return _filled(
        f"{_of(found)} at {found.at}: {duration(found.percentile_us)}. The {found.requests:,} {what} around it took "
        f"{duration(found.latency_us)} on average.{few}"
    )


def _of(found: Around) -> str:
    return (
        f"{found.kind}s"
        if found.tenant is None
        else f"{found.kind}s of {escape.terminal(found.labels[found.tenant])}"
    )


NAMED = 6
"""Parts of an example that are named."""


def _table(found: Around) -> str:
    shown = [share for share in found.shares() if share.us >= 0.005 * found.latency_us]
    heads = [[share.label, duration(share.us), percent(share.us / found.latency_us, 0)] for share in shown]
    # What is left of a line for words.
    left = WIDTH - 2 - sum(max((len(head[at]) for head in heads), default=0) + 2 for at in range(3))
    rows = []
    for head, share in zip(heads, shown, strict=True):
        first, *more = textwrap.wrap(share.words, left)
        rows += [[*head, first], *(["", "", "", line] for line in more)]
    return columns(rows, align="<>><", indent="  ") if rows else ""


_BY_WAY = {
    "admission": "it waited for a place in the device, whose holders waited for",
    "buffer": "it waited for room in the write buffer, whose pages waited for",
    "admission buffer": (
        "it waited for a place in the device, whose holders waited for room in the write buffer, whose pages "
        "waited for"
    ),
}

_WAY = {
    "admission": "while it waited for a place in the device, whose holders waited for that",
    "buffer": "while it waited for room in the write buffer, whose pages waited for that",
    "admission buffer": "while it waited for a place in the device, held for room in the write buffer",
}


def in_words(result: Result, found: Around) -> str:
    """The waits of the requests, the trouble, and the settings that act on it: one paragraph."""
    cause = culprit(result, found)
    if cause is None:
        return f"These {found.kind}s took no time: they were answered without flash."
    names = cause.causes
    ways = dict.fromkeys(WAYS, 0.0)
    for share in found.shares():
        if share.part in names:
            ways[share.way] += share.us / found.latency_us
    way = max(ways, key=lambda way: ways[way])
    said = _listed([PARTS[name].label for name in names])
    sentences = [f"{said[0].upper()}{said[1:]} make {percent(found.share(names), 0)} of this latency."]
    if len(names) == 1:
        part = PARTS[names[0]]
        words = f"{_BY_WAY[way]} {part.held}" if way else part.words
        sentences = [f"{percent(ways[way], 0)} of this latency: {words}."]
        for other, of_way in ways.items():
            if other != way and of_way >= 0.05:
                words = f"passed {_WAY[other]}" if other else f"of it: {part.words}"
                sentences.append(f"Another {percent(of_way, 0)} {words}.")
    elif way:
        sentences.append(f"{percent(ways[way], 0)} of it passed {_WAY[way]}.")
    if found.share(["other_tenant"]) >= 0.01:
        sentences.append(_neighbours(found))
    if cause.words:
        sentences.append(cause.words)
    median = around(result, found.kind, "p50", found.tenant)
    if found.at not in ("mean", "p50") and median is not None and median.latency_us > 0:
        sentences.append(
            f"At p50, where a {found.kind} takes {duration(median.percentile_us)}, "
            f"{'it is' if len(names) == 1 else 'they are'} {percent(median.share(names), 0)}."
        )
    if cause.settings:
        one = len(names) == 1 or cause.words
        sentences.append(f"Settings that act on {'it' if one else 'them'}: {', '.join(cause.settings)}.")
    return " ".join(sentences)


def _neighbours(found: Around) -> str:
    """The other tenants, by how long they were waited for."""
    whole = sum(each["us"] for each in found.neighbours)
    first = (
        [(escape.terminal(found.labels[each["name"]]), each["us"] / whole) for each in found.neighbours[:3]]
        if whole
        else []
    )
    if len(first) == 1:
        return f"The other tenant was {first[0][0]}."
    return f"The other tenants were {_listed([f'{name} ({percent(share, 0)})' for name, share in first])}."


def _example(result: Result, found: Around) -> str:
    if not found.examples:
        return ""
    shown = result.summary["run"].get("timeline")
    example = next((each for each in found.examples if shown and _is_in(each, shown)), found.examples[0])
    parts = shares(example["parts_us"], example.get("admission_us", {}), example.get("buffer_us", {}))
    said = ", ".join(f"{share.label} {duration(share.us)}" for share in parts[:NAMED])
    said += ", and less" if len(parts) > NAMED else ""
    words = (
        f"For example, the {found.kind} of {example['size']:,} bytes at offset {example['offset']:,} that came at "
        f"{example['arrival_s']:.9f} s took {duration(example['latency_us'])}: {said or 'nothing at all'}."
    )
    return f"{_filled(words)}\n\n{_where(result, example, shown)}"


def _where(result: Result, example: Mapping[str, Any], shown: Mapping[str, Any] | None) -> str:
    """Where the timeline has an example, or how to record it."""
    start, end = _window(example)
    track = place(result, example["die"])
    where = f" ({track})" if track else ""
    file = "" if shown is None else escape.terminal(str(shown["file"]))
    if shown is not None and _is_in(example, shown):
        return _filled(
            f"Timeline: open {file} at https://ui.perfetto.dev and look at {start} to {end}{where}."
        )
    elsewhere = "" if shown is None else f"It is not in the window of {file}. "
    return (
        _filled(
            f"{elsewhere}To see it, run it again with the options below, and open the file at "
            f"https://ui.perfetto.dev{where}."
        )
        + f"\n  --timeline tail.json --timeline-window {start}..{end}"
    )


def _is_in(example: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    end = example["arrival_s"] + example["latency_us"] * 1e-6
    return bool(shown["from_s"] <= example["arrival_s"] and (shown["to_s"] is None or end <= shown["to_s"]))


def _window(example: Mapping[str, Any]) -> tuple[str, str]:
    """A tenth more than the example took, to both sides."""
    start, took = example["arrival_s"] * 1e3, example["latency_us"] * 1e-3
    return f"{max(0.0, start - took / 10):.3f}ms", f"{start + took * 1.1 + 0.001:.3f}ms"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _filled(words: str) -> str:
    # A number is not parted from its unit.
    tied = re.sub(r"(?<=\d) (?=%|µs|ms|s\b)", "\u00a0", words)
    return textwrap.fill(tied, WIDTH, break_long_words=False, break_on_hyphens=False).replace("\u00a0", " ")
