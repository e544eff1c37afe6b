"""One line per run that says why it came out as it did, derived from its figures and those of the reference.

A cause is named only if its figures differ as they are printed, push the way that the runs differ, and differ by enough
for that. Where none is left the line says so. A line has 25 words at most: what matters most goes in first.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ftlab.base.quantities import quantity
from ftlab.results.figures import Figures
from ftlab.results.text import count, duration, figure

SAME = 0.01
"""Figures that differ by less than this fraction are called the same."""

POINTS = 0.02
"""Shares that differ by less than this (2 percentage points) explain nothing."""


WORDS = 25
"""Words of a line at most; a number, its unit and a name count as one each."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A difference from the reference that makes a run slower or faster."""

    slower: bool
    """Which way it pushes."""
    effect: float
    """About how strongly: the logarithm of the factor by which it would change the rate, or a guess at it."""
    text: str
    more: str = ""
    """The rest of the sentence, told where there is room."""
    is_price: bool = False
    """It is the cost of a cause that `buys`, where it pushes the other way."""
    buys: bool = False
    """It trades work for time."""


def reasons(figures: Mapping[str, Figures], noted: Collection[str] = ()) -> dict[str, str]:
    """A line for each run. The first run is the reference of the others; of the `noted` ones a note names a cause."""
    runs = iter(figures.items())
    reference, base = next(runs)
    lines = {reference: f"{alone(base)}."}
    for label, run in runs:
        is_noted = not {label, reference}.isdisjoint(noted)
        lines[label] = f"{_against(run, base, reference, is_noted=is_noted)}."
    return lines


ENOUGH = 0.25
"""A cause explains a difference if its effect is at least this part of it."""

BESIDE = 0.1
"""A second cause is told beside the first if its effect is at least this part of the difference."""

MINOR = 0.05
"""A cause with less than this part of the effect of the first one is not told beside it."""

NEAR = 0.05
"""Tails that differ by less than this fraction are as good as each other."""


def lowest(figures: Mapping[str, Figures]) -> dict[str, str]:
    """For reads and for writes: the run with the lowest p99.9, and what that costs in WAF."""
    told = {}
    for kind in ("read", "write"):
        tails = {label: getattr(run, f"{kind}_us").p999 for label, run in figures.items()}
        known = {label: tail for label, tail in tails.items() if tail is not None}
        if len(known) > 1 and duration(max(known.values())) != duration(min(known.values())):
            told[f"{kind}s"] = _lowest(known, figures)
    return told


def _lowest(tails: Mapping[str, float], figures: Mapping[str, Figures]) -> str:
    if short := [label for label in tails if figures[label].too_short]:
        runs = f"{short[0]} was" if len(short) == 1 else f"{len(short)} of the runs were"
        return f"no run is named: {runs} too short to compare, as the notes say."
    best = min(tails, key=tails.__getitem__)
    written = {label: waf for label in tails if (waf := figures[label].waf) is not None}
    thrift = min(written, key=written.__getitem__, default=best)
    text = f"{duration(tails[best])} with {best}{_at_waf(figures[best])}"
    if best in written and thrift == best and len(written) == len(tails) > 1:
        text += ", the lowest too"
    near = [label for label, tail in tails.items() if label != best and tail <= tails[best] * (1 + NEAR)]
    if near:
        also = ", ".join(f"{label} ({duration(tails[label])}{_at_waf(figures[label])})" for label in near)
        text += f"; within {100 * NEAR:.0f} % of that: {also}"
    if thrift != best and thrift not in near and written[thrift] < (figures[best].waf or 0.0) * (1 - SAME):
        text += f". The lowest WAF, {written[thrift]:.2f}, has {thrift}, with a p99.9 of {duration(tails[thrift])}"
    return f"{text}."


def _at_waf(run: Figures) -> str:
    return "" if run.waf is None else f", at a WAF of {run.waf:.2f}"


def _told(first: str, *parts: tuple[int, Sequence[str]]) -> str:
    """A line that begins with `first`. Of each other part the longest form goes in that has room, of those with
    the lower rank before others; they stay in their order.
    """
    left = WORDS - len(first.split())
    chosen = [""] * len(parts)
    for i in sorted(range(len(parts)), key=lambda i: parts[i][0]):
        fitting = [text for text in parts[i][1] if _words(text) <= left]
        if fitting:
            chosen[i] = fitting[0]
            left -= _words(fitting[0])
    return first + "".join(chosen)


def _words(text: str) -> int:
    """Words that a text adds to a line; a mark that it begins with stands at the word before."""
    return len(f"x{text}".split()) - 1


def alone(run: Figures) -> str:
    """A run by itself: what its time went to."""
    if run.waf is None:
        if run.die_idle is None:
            return "reference: nothing was written"
        return f"reference: nothing was written; dies were idle {_share(run.die_idle)} of the time"
    parts = []
    if run.victim_valid is not None:
        parts.append((0, [f", a victim still held {_share(run.victim_valid)} valid pages"]))
    if run.gc_share is not None:
        parts.append((1, [f", GC took {_share(run.gc_share)} of die time"]))
    if run.die_idle is not None:
        parts.append((2, [f", dies were idle {_share(run.die_idle)}"]))
    if run.program_us is not None:
        parts.append((3, [f", programming a page took {duration(run.program_us)}"]))
    return _told(
        f"reference: WAF {run.waf:.2f}{' (too short a run for one)' if run.too_short else ''}", *parts
    )


def _against(run: Figures, base: Figures, reference: str, *, is_noted: bool) -> str:
    change, slower, size = _outcome(run, base, reference)
    causes = sorted(_causes(run, base), key=lambda cause: -cause.effect)
    # Where the means hardly differ, the tails are what does.
    tails = (3 if size < NEAR else 6, _tails(run, base))
    if slower is None:
        if change.startswith(TOO_SHORT):
            return change
        if not causes:
            return _told(f"{change}; no share of GC, planes or dies differs either", tails)
        return _told(f"{change}, although {causes[0].text}", tails, (7, [causes[0].more]))
    weight = _leverage(run, base)
    because = [cause for cause in causes if cause.slower == slower and cause.effect * weight >= BESIDE * size]
    despite = [cause for cause in causes if cause.slower != slower]
    parts: list[tuple[int, Sequence[str]]] = []
    if not because or because[0].effect * weight < ENOUGH * size:
        because = []
        text = f"{change}; {'the notes say why' if is_noted else 'nothing measured explains this difference'}"
        parts += [(0, [_moved(run, base)]), (1, [_tail(run, base)])]
    else:
        text = f"{change}: {because[0].text}"
        parts.append((4, [because[0].more]))
        second = [cause for cause in because[1:2] if not 0 < cause.effect < MINOR * because[0].effect]
        parts += [(5, [f"; {cause.text}"]) for cause in second]
    bought = not slower and any(cause.buys for cause in because)
    price = [cause.text for cause in despite if cause.is_price and bought]
    if price or despite:
        other = price[0] if price else despite[0].text
        parts.append((2, [f"; but {other}", f"; but {other.partition(';')[0]}"]))
    return _told(text, *parts, tails)


def _leverage(run: Figures, base: Figures) -> float:
    """By what factor a difference in the work shows in the outcome. Requests that come at their own times wait the
    longer for it, the less time is left between them.
    """
    if not run.open_loop:
        return 1.0
    idle = [idle for idle in (run.die_idle, base.die_idle) if idle is not None]
    return 1 / max(NEAR, min(idle)) if idle else 1.0


def _moved(run: Figures, base: Figures) -> str:
    """That the same work was done at other times."""
    if run.gc_schedule == base.gc_schedule or not (run.gc_per_gb or base.gc_per_gb):
        return ""
    return f", but GC ran at other times (`{run.gc_schedule}`, not `{base.gc_schedule}`)"


TOO_SHORT = "no WAF to compare"
"""The outcome of runs without time that have none."""


def _outcome(run: Figures, base: Figures, reference: str) -> tuple[str, bool | None, float]:
    """The difference that matters in words, whether this run is the slower one (`None`: neither is), and the logarithm
    of the factor between them.
    """
    for name, mine, theirs, more_is_slower in _measures(run, base):
        if mine is None or theirs is None or theirs <= 0:
            continue
        if name == "WAF" and (run.too_short or base.too_short):
            return f"{TOO_SHORT} with {reference}: the notes say which run was too short", None, 0.0
        if mine <= 0:
            return f"no {name} at all against {reference}", more_is_slower is False, 0.0
        ratio = mine / theirs - 1
        if abs(ratio) < SAME:
            return f"the same {name} as {reference} within {100 * SAME:.0f} %", None, 0.0
        return _change(ratio, name, reference), (ratio > 0) == more_is_slower, _factor(mine, theirs)
    return f"nothing to measure against {reference}", None, 0.0


def _factor(mine: float, theirs: float) -> float:
    """How far two figures are from each other: the logarithm of their ratio."""
    return abs(math.log(mine / theirs)) if mine > 0 and theirs > 0 else math.inf


def _measures(run: Figures, base: Figures) -> list[tuple[str, float | None, float | None, bool]]:
    rate = ("IOPS", run.iops, base.iops, False)
    latency = ("mean latency", run.mean_us, base.mean_us, True)
    waf = ("WAF", run.waf, base.waf, True)
    return [latency, rate, waf] if run.open_loop else [rate, latency, waf]


def _causes(run: Figures, base: Figures) -> list[Cause]:
    causes = [
        _gc(run, base), _planes(run, base), _dies(run, base), _schedule(run, base), _preemption(run, base),
        _buffer(run, base), _flushes(run, base), _order(run, base), _bound(run, base), _interrupts(run, base),
        _suspends(run, base), _programming(run, base), _passes(run, base), _filled(run, base),
    ]  # fmt: skip
    return [cause for cause in causes if cause is not None]


def _gc(run: Figures, base: Figures) -> Cause | None:
    if run.waf is None or base.waf is None or abs(run.waf / base.waf - 1) < SAME:
        return None
    # What a write costs is pages; of larger writes the WAF may differ where that does not.
    mine, theirs = run.programs_per_write, base.programs_per_write
    if run.iops is None:
        mine, theirs = run.waf, base.waf
    if not mine or not theirs or abs(mine / theirs - 1) < SAME or (mine > theirs) != (run.waf > base.waf):
        return None
    text, more = f"WAF {run.waf:.2f} against {base.waf:.2f}", ""
    if run.waf_units and base.waf_units and abs(run.waf_units / base.waf_units - 1) < SAME:
        less = "less" if run.waf > base.waf else "more"
        text += f", as {less} of a programmed page is the host's data"
        return Cause(run.waf > base.waf, _factor(mine, theirs), text, is_price=True)
    valid, other = run.victim_valid, base.victim_valid
    if valid is not None and other is not None and (valid - other) * (run.waf - base.waf) > 0:
        # Without a digit more, victims that are nearly full may look the same.
        digits = 0 if abs(valid - other) >= POINTS else 1
        full, theirs_full = _share(valid, digits), _share(other, digits)
        held = f"a victim held {full} valid pages against {theirs_full}"
        if full != theirs_full:
            # Without time the difference in WAF is what is being explained.
            if run.iops is not None:
                return Cause(run.waf > base.waf, _factor(mine, theirs), text, f", as {held}", is_price=True)
            text = held
    if (
        run.gc_share is not None
        and base.gc_share is not None
        and _share(run.gc_share) != _share(base.gc_share)
    ):
        more = f", and GC took {_share(run.gc_share)} of die time against {_share(base.gc_share)}"
    return Cause(run.waf > base.waf, _factor(mine, theirs), text, more, is_price=True)


def _schedule(run: Figures, base: Figures) -> Cause | None:
    """Collections that stood in the way of requests, where GC runs at other times."""
    mine, theirs = run.foreground_per_gb, base.foreground_per_gb
    if run.gc_schedule == base.gc_schedule or mine is None or theirs is None or run.iops is None:
        return None
    if figure(mine) == figure(theirs) or abs(mine - theirs) < POINTS * max(mine, theirs):
        return None
    if _share(run.gc_forward or 0.0) == _share(base.gc_forward or 0.0):
        # Neither schedule began what the other did not: there is more or less to collect, which is in the WAF.
        return None
    text = f"{_collected(run)}; {_collected(base)}"
    more = f" ({figure(mine)} whole collections per GB in the way of writes against {figure(theirs)})"
    # However few are left: when GC runs is what was changed.
    return Cause(mine > theirs, 1 + abs(mine - theirs) / max(mine, theirs), text, more, buys=True)


HOW = {
    "paced": "moved {} of its victims a few pages at a time",
    "background": "collected {} of its victims while idle",
    "forwarding": "collected {} of its victims while nothing was written",
    "cycle-filling": "collected {} of its victims while others were collected",
}
"""The use that a GC schedule makes of the share of its victims for which no request waits."""


def _collected(run: Figures) -> str:
    share = _share(run.gc_forward or 0.0)
    if share == _share(0.0):
        return f"`{run.gc_schedule}` moved none ahead"
    return f"`{run.gc_schedule}` {HOW.get(run.gc_schedule, 'moved {} of its victims ahead').format(share)}"


def _preemption(run: Figures, base: Figures) -> Cause | None:
    mine, theirs = run.preempted, base.preempted
    if abs(mine - theirs) <= 0.5 * max(mine, theirs) or not run.requests:
        return None
    # Each spares one request a wait.
    effect = min(0.5, abs(mine - theirs) / run.requests)
    text = f"requests went before a collection {count(mine)} times against {count(theirs)}"
    return Cause(mine < theirs, effect, text)


def _buffer(run: Figures, base: Figures) -> Cause | None:
    mine, theirs = run.write_us.mean, base.write_us.mean
    if (run.buffer, run.buffer_size) == (base.buffer, base.buffer_size) or mine is None or theirs is None:
        return None
    if abs(mine - theirs) <= POINTS * max(mine, theirs):
        return None
    took = f"{duration(mine)} against {duration(theirs)}"
    if run.buffer == "none":
        text = f"a write ends when programmed, not in a buffer ({_sized(base)}): {took}"
    elif mine < theirs:
        instead = "when programmed" if base.buffer == "none" else f"in {_sized(base)}"
        text = f"a write ends in the buffer ({_sized(run)}), not {instead}: {took}"
    else:
        text = f"a write waits for room in the buffer ({_sized(run)}): {took}"
    effect = 1 + abs(mine - theirs) / max(mine, theirs)
    return Cause(mine > theirs, effect, text, _taken_together(run, base))


def _flushes(run: Figures, base: Figures) -> Cause | None:
    """A FLUSH that waits for programs, or does not."""
    mine, theirs = run.flush_us, base.flush_us
    safe, other = run.power_loss == "protected", base.power_loss == "protected"
    if safe == other or mine is None or theirs is None or duration(mine) == duration(theirs):
        return None
    how = (
        "a protected buffer ends a FLUSH at once"
        if safe
        else "a FLUSH waits until a volatile buffer is programmed"
    )
    text = f"{how}: {duration(mine)} against {duration(theirs)}"
    return Cause(mine > theirs, abs(mine - theirs) / max(mine, theirs), text)


def _sized(run: Figures) -> str:
    return f"`{run.buffer}`" if run.buffer_size is None else f"`{run.buffer}`, {quantity(run.buffer_size)}"


def _taken_together(run: Figures, base: Figures) -> str:
    mine, theirs = run.programs_per_page, base.programs_per_page
    if mine is None or not theirs or mine > theirs * (1 - POINTS):
        return ""
    return f", and newer data replaced {_share(1 - mine / theirs)} of the pages in it"


def _order(run: Figures, base: Figures) -> Cause | None:
    if {run.scheduler, base.scheduler} != {"fifo", "paq"}:
        return None
    is_late = run.scheduler == "fifo"
    how = (
        "`fifo` sends reads and collections as they come"
        if is_late
        else "`paq` sends reads first and collections last"
    )
    for kind, mine, theirs in _means(run, base):
        if (mine > theirs) == is_late:
            return Cause(is_late, _factor(mine, theirs), f"{how}: a {kind} took {_both(mine, theirs)}")
    return None


def _means(run: Figures, base: Figures) -> Iterator[tuple[str, float, float]]:
    """The mean latencies of reads and of writes, where they are known and differ as printed."""
    for kind, mine, theirs in (
        ("read", run.read_us.mean, base.read_us.mean),
        ("write", run.write_us.mean, base.write_us.mean),
    ):
        if mine is not None and theirs is not None and duration(mine) != duration(theirs):
            yield kind, mine, theirs


def _both(mine: float, theirs: float) -> str:
    return f"{duration(mine)} against {duration(theirs)}"


def _bound(run: Figures, base: Figures) -> Cause | None:
    """Reads go first for ever, or for so long."""
    if run.max_wait == base.max_wait:
        return None
    told = [f"for {one.max_wait}" if one.max_wait else "for ever" for one in (run, base)]
    text = f"reads go before writes {told[0]}, not {told[1]}"
    for kind, mine, theirs in reversed(list(_means(run, base))):
        return Cause(mine > theirs, _factor(mine, theirs), f"{text}: a {kind} took {_both(mine, theirs)}")
    return None


def _interrupts(run: Figures, base: Figures) -> Cause | None:
    """Reads that wait for whole collections, or for a step of them."""
    if run.reads_interrupt_gc == base.reads_interrupt_gc:
        return None
    mine, theirs = run.read_us.mean, base.read_us.mean
    if mine is None or theirs is None or duration(mine) == duration(theirs):
        return None
    if (mine < theirs) != run.reads_interrupt_gc:
        # Then something else counts for more.
        return None
    how = (
        "reads are served between the steps of a collection"
        if run.reads_interrupt_gc
        else "reads wait until a collection is over"
    )
    return Cause(mine > theirs, _factor(mine, theirs), f"{how}: {_both(mine, theirs)}")


def _suspends(run: Figures, base: Figures) -> Cause | None:
    """Programs and erases that reads interrupt, or wait for."""
    kinds = [kind for kind in ("programs", "erases") if (kind in run.suspended) != (kind in base.suspended)]
    mine, theirs = run.read_us.mean, base.read_us.mean
    if not kinds or not mine or not theirs or duration(mine) == duration(theirs):
        return None
    does = run if kinds[0] in run.suspended else base
    if not sum(does.suspends[kind] for kind in kinds):
        return None
    often = " and ".join(f"{count(does.suspends[kind])} {kind}" for kind in kinds)
    told = (
        f"reads no longer wait for {' and '.join(kinds)}"
        if does is run
        else f"reads wait until {' and '.join(kinds)} are over"
    )
    more = f" ({often} suspended{'' if does is run else ' there'})"
    policies = ("gc_schedule", "scheduler", "max_wait", "buffer", "buffer_size")
    if any(getattr(run, policy) != getattr(base, policy) for policy in policies):
        # Then reads do not wait longer or shorter for this alone.
        return Cause(does is base, 0.5, told, more)
    effect = 1 + abs(mine - theirs) / max(mine, theirs)
    return Cause(mine > theirs, effect, f"{told}: a read took {_both(mine, theirs)}", more)


def _programming(run: Figures, base: Figures) -> Cause | None:
    """Whole wordlines at once, or page by page."""
    mine, theirs = run.program_us, base.program_us
    if not _one_by_one(run, base) or mine is None or not theirs or abs(mine / theirs - 1) < POINTS:
        return None
    how = (
        "pages are programmed one by one"
        if run.programming == "page"
        else f"the {run.wordline_pages} pages of a wordline are programmed at once"
    )
    took = f"a page took {duration(mine)} against {duration(theirs)}"
    return Cause(mine > theirs, _factor(mine, theirs), f"{how}: {took}")


def _one_by_one(run: Figures, base: Figures) -> bool:
    """True if one of the two programs page by page, and the other whole wordlines."""
    return (run.programming == "page") != (base.programming == "page")


def _passes(run: Figures, base: Figures) -> Cause | None:
    """A second pass for which data are sent again, and until which they are in the controller."""
    twice = run.programming == "two-pass"
    mine, theirs = run.channel_idle, base.channel_idle
    if twice == (base.programming == "two-pass") or mine is None or theirs is None:
        return None
    if run.program_us is None or base.program_us is None:
        return None
    if _share(1 - mine) == _share(1 - theirs):
        return None
    busy = f"channels were busy {_share(1 - mine)} against {_share(1 - theirs)}"
    text = f"data are sent {'twice' if twice else 'once, not twice'}: {busy}"
    more = f", and writes wait for {'both passes' if twice else 'one pass'}"
    return Cause(twice, 1 - (mine if twice else theirs), text, more)


def _filled(run: Figures, base: Figures) -> Cause | None:
    """Wordlines that writes wait for until they are filled up."""
    if abs(run.filled - base.filled) < POINTS or not run.waf or not base.waf:
        return None
    text = f"{_share(run.filled)} of programs filled up wordlines against {_share(base.filled)}"
    # Of a difference in WAF this is the reason.
    return Cause(run.filled > base.filled, 1 + _factor(run.waf, base.waf), text)


def _planes(run: Figures, base: Figures) -> Cause | None:
    mine, theirs = run.program_us, base.program_us
    if mine is None or not theirs or abs(mine / theirs - 1) < POINTS or _one_by_one(run, base):
        return None
    text, more = f"programming a page took {duration(mine)} against {duration(theirs)}", ""
    more_suspends = (run.suspend_share or 0.0) - (base.suspend_share or 0.0)
    if run.suspended != base.suspended and more_suspends * (mine - theirs) > 0:
        more = f", {'with' if mine > theirs else 'without'} the time of suspends and resumes"
    elif run.array == base.array:
        # With equal chips, what changes the mean is how many planes work at once.
        more = f", as {'fewer' if mine > theirs else 'more'} planes worked at once"
    return Cause(mine > theirs, _factor(mine, theirs), text, more)


def _dies(run: Figures, base: Figures) -> Cause | None:
    mine, theirs = run.die_idle, base.die_idle
    if mine is None or theirs is None or abs(mine - theirs) < POINTS or run.open_loop:
        return None
    text, more = f"dies were idle {_share(mine)} against {_share(theirs)}", ""
    if mine > theirs:
        # In a closed loop the queue is never empty.
        waited = run.channel_idle is not None and run.channel_idle < NEAR
        text += f", while requests waited for {'channels' if waited else 'other dies'}"
    if (
        run.die_imbalance is not None
        and base.die_imbalance is not None
        and run.die_imbalance > base.die_imbalance + 0.1
        and mine > theirs
    ):
        more = f" (the busiest had {_share(run.die_imbalance)} more to do)"
    return Cause(mine > theirs, min(10.0, _factor(1 - mine, 1 - theirs)), text, more)


def _tail(run: Figures, base: Figures) -> str:
    """Where the latencies differ, when the shares do not say."""
    for name, mine, theirs in (("p99.99", run.p9999_us, base.p9999_us), ("p99", run.p99_us, base.p99_us)):
        if mine is not None and theirs and abs(mine / theirs - 1) > 0.1:
            return f"; {name} latency {duration(mine)} against {duration(theirs)}"
    return ""


APART = 1.25
"""Tails that differ by less than this factor are not told."""


def _tails(run: Figures, base: Figures) -> list[str]:
    """The tails of reads and writes, each where it differs; and the one that differs most alone."""
    tails = (
        ("reads", run.read_us.p999, base.read_us.p999),
        ("writes", run.write_us.p999, base.write_us.p999),
    )
    told = [
        (_factor(mine, theirs), f"of {kind} {duration(mine)} against {duration(theirs)}")
        for kind, mine, theirs in tails
        if mine and theirs and not 1 / APART < mine / theirs < APART
    ]
    if not told:
        return []
    return [f". p99.9 {', '.join(text for _, text in told)}", f". p99.9 {max(told)[1]}"]


def _change(ratio: float, name: str, reference: str) -> str:
    if ratio >= 1:
        return f"{figure(ratio + 1)} times the {name} of {reference}"
    if ratio <= -0.9:
        # `100 % lower` would be nothing at all.
        return f"1/{figure(1 / (1 + ratio))} of the {name} of {reference}"
    more, less = ("more", "fewer") if name == "IOPS" else ("higher", "lower")
    percent = f"{abs(ratio) * 100:.{1 if abs(ratio) < 0.1 else 0}f} %"
    return f"{percent} {more if ratio > 0 else less} {name} than {reference}"


def _share(fraction: float, digits: int | None = None) -> str:
    percent = 100 * fraction
    if digits is None:
        digits = 0 if percent >= 9.95 or percent < 0.05 else 1
    return f"{percent:.{digits}f} %"
