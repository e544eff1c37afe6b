"""One line per run that says why it came out as it did, derived from its figures and those of the reference.

A cause is named only if its figures differ as they are printed, push the way that the runs differ, and differ by enough
for that. Where none is left the line says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ftlab.base.quantities import quantity
from ftlab.results.figures import Figures
from ftlab.results.text import count, duration, figure

SAME = 0.01
"""Figures that differ by less than this fraction are called the same."""

POINTS = 0.02
"""Shares that differ by less than this (2 percentage points) explain nothing."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A difference from the reference that makes a run slower or faster."""

    slower: bool
    """Which way it pushes."""
    effect: float
    """About how strongly: the logarithm of the factor by which it would change the rate, or a guess at it."""
    text: str
    is_price: bool = False
    """It is the cost of a cause that `buys`, where it pushes the other way."""
    buys: bool = False
    """It trades work for time."""


def reasons(figures: Mapping[str, Figures]) -> dict[str, str]:
    """A line for each run. The first run is the reference of the others."""
    runs = iter(figures.items())
    reference, base = next(runs)
    lines = {reference: f"reference: {alone(base)}."}
    for label, run in runs:
        lines[label] = f"{_against(run, base, reference)}."
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
    best = min(tails, key=tails.__getitem__)
    # What a run too short for a WAF wrote is no price and no merit.
    written = {
        label: waf
        for label in tails
        if (waf := figures[label].waf) is not None and not figures[label].too_short
    }
    thrift = min(written, key=written.__getitem__, default=best)
    is_any = bool(written)

    def at_waf(label: str) -> str:
        return _at_waf(figures[label], mark=is_any)

    text = f"{duration(tails[best])} with {best}{at_waf(best)}"
    if best in written and thrift == best and len(written) == len(tails) > 1:
        text += ", the lowest too"
    near = [label for label, tail in tails.items() if label != best and tail <= tails[best] * (1 + NEAR)]
    if near:
        also = ", ".join(f"{label} ({duration(tails[label])}{at_waf(label)})" for label in near)
        text += f"; within {100 * NEAR:.0f} % of that: {also}"
    if thrift != best and thrift not in near and written[thrift] < (figures[best].waf or 0.0) * (1 - SAME):
        text += f". The lowest WAF, {written[thrift]:.2f}, has {thrift}, with a p99.9 of {duration(tails[thrift])}"
    if not written and any(figures[label].waf is not None for label in tails):
        text += ". None of the runs is long enough for a WAF"
    return f"{text}."


def _at_waf(run: Figures, *, mark: bool) -> str:
    return "" if run.waf is None else f", at a WAF of {_waf(run, mark=mark)}"


def _waf(run: Figures, *, mark: bool = True) -> str:
    return f"{run.waf:.2f}{' (too short a run for one)' if mark and run.too_short else ''}"


def alone(run: Figures) -> str:
    """A run by itself: what its time went to."""
    if run.waf is None:
        if run.die_idle is None:
            return "nothing was written"
        return f"nothing was written; dies were idle {_share(run.die_idle)} of the time"
    parts = [f"WAF {_waf(run)}"]
    if run.victim_valid is not None:
        parts.append(f"a victim still held {_share(run.victim_valid)} valid pages")
    if run.gc_share is not None:
        parts.append(f"GC took {_share(run.gc_share)} of die time")
    if run.die_idle is not None:
        parts.append(f"dies were idle {_share(run.die_idle)}")
    if run.program_us is not None:
        parts.append(f"a programmed page took {duration(run.program_us)} of die time")
    return ", ".join(parts)


def _against(run: Figures, base: Figures, reference: str) -> str:
    change, slower, size = _outcome(run, base, reference)
    causes = sorted(_causes(run, base), key=lambda cause: -cause.effect)
    tail = _tails(run, base)
    if slower is None:
        if not causes:
            return f"{change}; no share of GC, planes or dies differs either{tail}"
        return f"{change}, although {causes[0].text}{tail}"
    weight = _leverage(run, base)
    because = [cause for cause in causes if cause.slower == slower and cause.effect * weight >= BESIDE * size]
    despite = [cause for cause in causes if cause.slower != slower]
    if not because or because[0].effect * weight < ENOUGH * size:
        because = []
        text = f"{change}; nothing measured explains this difference{_moved(run, base)}{_tail(run, base)}"
    else:
        second = [cause for cause in because[1:2] if not 0 < cause.effect < MINOR * because[0].effect]
        text = f"{change}: " + "; ".join(cause.text for cause in (because[0], *second))
    bought = not slower and any(cause.buys for cause in because)
    price = [cause.text for cause in despite if cause.is_price and bought]
    if price:
        text += f"; at a price: {price[0]}"
    elif despite:
        text += f"; although {despite[0].text}"
    return text + tail


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
    return f", but GC ran at other times (`{run.gc_schedule}` against `{base.gc_schedule}`)"


def _outcome(run: Figures, base: Figures, reference: str) -> tuple[str, bool | None, float]:
    """The difference that matters in words, whether this run is the slower one (`None`: neither is), and the logarithm
    of the factor between them.
    """
    for name, mine, theirs, more_is_slower in _measures(run, base):
        if mine is None or theirs is None or theirs <= 0:
            continue
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
    parts = [f"WAF is {run.waf:.2f} against {base.waf:.2f}"]
    if run.waf_units and base.waf_units and abs(run.waf_units / base.waf_units - 1) < SAME:
        less = "less" if run.waf > base.waf else "more"
        parts[0] += f" ({run.waf_units:.2f} in pages in both: {less} of a programmed page is the host's data)"
    valid, other = run.victim_valid, base.victim_valid
    if valid is not None and other is not None and (valid - other) * (run.waf - base.waf) > 0:
        # Without a digit more, victims that are nearly full may look the same.
        digits = 0 if abs(valid - other) >= POINTS else 1
        full, theirs_full = _share(valid, digits), _share(other, digits)
        held = f"a victim held {full} valid pages against {theirs_full}"
        if full != theirs_full:
            # Without time the difference in WAF is what is being explained.
            parts = [*parts, f"as {held}"] if run.iops is not None else [held]
    if (
        run.gc_share is not None
        and base.gc_share is not None
        and _share(run.gc_share) != _share(base.gc_share)
    ):
        parts.append(f"and GC took {_share(run.gc_share)} of die time against {_share(base.gc_share)}")
    return Cause(run.waf > base.waf, _factor(mine, theirs), ", ".join(parts), is_price=True)


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
    text = (
        f"requests waited for {figure(mine)} whole collections per GB written against {figure(theirs)}, as "
        f"{_collected(run)}, {_collected(base)}"
    )
    # However few are left: when GC runs is what was changed.
    return Cause(mine > theirs, 1 + abs(mine - theirs) / max(mine, theirs), text, buys=True)


HOW = {
    "paced": "emptied {} of its victims in step with the host's writes, a few pages after each",
    "background": "collected {} of its victims ahead of need, while dies were idle",
    "forwarding": "collected {} of its victims ahead of need, while there was nothing to write",
    "cycle-filling": "collected {} of its victims ahead of need, while others were collected",
}
"""The use that a GC schedule makes of the share of its victims for which no request waits."""


def _collected(run: Figures) -> str:
    how = HOW.get(run.gc_schedule, "collected {} of its victims ahead of need")
    return f"`{run.gc_schedule}` {how.format(_share(run.gc_forward or 0.0))}"


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
    took = f"{duration(mine)} against {duration(theirs)} on average"
    if run.buffer == "none":
        text = f"a write is done when it is programmed, not when it is in a buffer ({_sized(base)}): {took}"
    elif mine < theirs:
        text = f"a write is done when it is in the buffer ({_sized(run)}), {_instead(base)}: {took}"
    else:
        text = f"a write waits for room in the buffer ({_sized(run)}): {took}"
    return Cause(mine > theirs, 1 + abs(mine - theirs) / max(mine, theirs), text + _taken_together(run, base))


def _flushes(run: Figures, base: Figures) -> Cause | None:
    """A FLUSH that waits for programs, or does not."""
    mine, theirs = run.flush_us, base.flush_us
    safe, other = run.power_loss == "protected", base.power_loss == "protected"
    if safe == other or mine is None or theirs is None or duration(mine) == duration(theirs):
        return None
    is_safe = "is protected from power loss, so a FLUSH is done at once"
    is_lost = "is volatile, so a FLUSH waits for programs"
    text = (
        f"the buffer {is_safe if safe else is_lost}: {duration(mine)} against {duration(theirs)} on average"
    )
    return Cause(mine > theirs, abs(mine - theirs) / max(mine, theirs), text)


def _sized(run: Figures) -> str:
    return f"`{run.buffer}`" if run.buffer_size is None else f"`{run.buffer}`, {quantity(run.buffer_size)}"


def _instead(base: Figures) -> str:
    return "not when it is programmed" if base.buffer == "none" else f"not in one of {_sized(base)}"


def _taken_together(run: Figures, base: Figures) -> str:
    mine, theirs = run.programs_per_page, base.programs_per_page
    if mine is None or not theirs or mine > theirs * (1 - POINTS):
        return ""
    return f", and newer data took the place of {_share(1 - mine / theirs)} of the pages before they were programmed"


def _order(run: Figures, base: Figures) -> Cause | None:
    if {run.scheduler, base.scheduler} != {"fifo", "paq"}:
        return None
    is_late = run.scheduler == "fifo"
    how = (
        "`fifo` sends reads and collections as they come, not those first and these last"
        if is_late
        else "`paq` sends reads first and collections last, not as they come"
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
    return f"{duration(mine)} against {duration(theirs)} on average"


def _bound(run: Figures, base: Figures) -> Cause | None:
    """Reads go first for ever, or for so long."""
    if run.max_wait == base.max_wait:
        return None
    told = [
        f"for {one.max_wait} at most" if one.max_wait else "for as long as there are any"
        for one in (run, base)
    ]
    text = f"reads go before writes and their collections {told[0]}, not {told[1]}"
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
        "reads are served between the steps of a collection, not after it"
        if run.reads_interrupt_gc
        else "reads wait until a collection of their die is over, not for a step of it"
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
    cost = "" if does.suspend_share is None else f", which took {_share(does.suspend_share)} of die time"
    told = (
        f"reads no longer wait for {' and '.join(kinds)} ({often} were suspended for them{cost})"
        if does is run
        else f"reads wait until {' and '.join(kinds)} are over ({often} were suspended for them there)"
    )
    policies = ("gc_schedule", "scheduler", "max_wait", "buffer", "buffer_size")
    if any(getattr(run, policy) != getattr(base, policy) for policy in policies):
        # Then reads do not wait longer or shorter for this alone.
        return Cause(does is base, 0.5, told)
    took = f": a read took {duration(mine)} against {duration(theirs)} on average"
    return Cause(mine > theirs, 1 + abs(mine - theirs) / max(mine, theirs), told + took)


def _programming(run: Figures, base: Figures) -> Cause | None:
    """Whole wordlines at once, or page by page."""
    mine, theirs = run.program_us, base.program_us
    if not _one_by_one(run, base) or mine is None or not theirs or abs(mine / theirs - 1) < POINTS:
        return None
    how = (
        f"pages are programmed one by one, not the {base.wordline_pages} of a wordline at once"
        if run.programming == "page"
        else f"the {run.wordline_pages} pages of a wordline are programmed at once, not one by one"
    )
    took = f"a programmed page took {duration(mine)} of die time against {duration(theirs)}"
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
    busy = f"channels were busy {_share(1 - mine)} of the time against {_share(1 - theirs)}"
    text = (
        f"data are sent twice, once for each pass ({busy}), and a write is done after the second one, which waits "
        "for the next wordline"
        if twice
        else f"data are sent once, not for two passes ({busy}), and a write waits for no second pass"
    )
    if run.read_us.mean is not None and base.read_us.mean is not None:
        text += f"; the controller {'answers' if twice else 'no longer answers'} reads between the passes"
    return Cause(twice, 1 - (mine if twice else theirs), text)


def _filled(run: Figures, base: Figures) -> Cause | None:
    """Wordlines that writes wait for until they are filled up."""
    if abs(run.filled - base.filled) < POINTS or not run.waf or not base.waf:
        return None
    if run.filled > base.filled:
        waited = "until their wordlines were filled up"
    else:
        waited = f"for {'fewer wordlines' if run.filled else 'no wordline'} to be filled up"
    dummies = f"{_share(run.filled)} of the programmed pages were dummies against {_share(base.filled)}"
    text = f"writes waited {waited}: {dummies}"
    # Of a difference in WAF this is the reason.
    return Cause(run.filled > base.filled, 1 + _factor(run.waf, base.waf), text)


def _planes(run: Figures, base: Figures) -> Cause | None:
    mine, theirs = run.program_us, base.program_us
    if mine is None or not theirs or abs(mine / theirs - 1) < POINTS or _one_by_one(run, base):
        return None
    text = f"a programmed page took {duration(mine)} of die time against {duration(theirs)}"
    more_suspends = (run.suspend_share or 0.0) - (base.suspend_share or 0.0)
    if run.suspended != base.suspended and more_suspends * (mine - theirs) > 0:
        text += f", {'with' if mine > theirs else 'without'} the time of suspends and resumes"
    elif run.array == base.array:
        # With equal chips, what changes the mean is how many planes work at once.
        text += f", as {'fewer' if mine > theirs else 'more'} planes of a die were programmed at once"
    return Cause(mine > theirs, _factor(mine, theirs), text)


def _dies(run: Figures, base: Figures) -> Cause | None:
    mine, theirs = run.die_idle, base.die_idle
    if mine is None or theirs is None or abs(mine - theirs) < POINTS or run.open_loop:
        return None
    text = f"dies were idle {_share(mine)} of the time against {_share(theirs)}"
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
        text += f" (the busiest die had {_share(run.die_imbalance)} more to do than the mean)"
    return Cause(mine > theirs, min(10.0, _factor(1 - mine, 1 - theirs)), text)


def _tail(run: Figures, base: Figures) -> str:
    """Where the latencies differ, when the shares do not say."""
    for name, mine, theirs in (("p99.99", run.p9999_us, base.p9999_us), ("p99", run.p99_us, base.p99_us)):
        if mine is not None and theirs and abs(mine / theirs - 1) > 0.1:
            return f"; {name} latency is {duration(mine)} against {duration(theirs)}"
    return ""


APART = 1.25
"""Tails that differ by less than this factor are not told."""


def _tails(run: Figures, base: Figures) -> str:
    """The tails of reads and writes, each where it differs."""
    told = [
        f"of {kind} {duration(mine)} against {duration(theirs)}"
        for kind, mine, theirs in (
            ("reads", run.read_us.p999, base.read_us.p999),
            ("writes", run.write_us.p999, base.write_us.p999),
        )
        if mine and theirs and not 1 / APART < mine / theirs < APART
    ]
    return f". p99.9 {', '.join(told)}" if told else ""


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
