"""Figures as text: units, aligned columns, the summary of a run. Nothing here needs colour to be read."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ftlab.base import escape
from ftlab.base.quantities import in_bytes, quantity
from ftlab.results import tenants
from ftlab.results.figures import Figures
from ftlab.results.latency_parts import KINDS, Around, around, tenant_names
from ftlab.results.overload import admission, overload
from ftlab.results.result import Result
from ftlab.results.stall import Stall, stall
from ftlab.results.transient import too_short

ABSENT = "-"
"""Printed where a figure is not defined."""


def count(value: float | None) -> str:
    """A number of things: 1,234,567."""
    return ABSENT if value is None else f"{value:,.0f}"


def percent(fraction: float | None, digits: int = 1) -> str:
    """A fraction as per cent: 12.3 %."""
    return ABSENT if fraction is None else f"{100 * fraction:.{digits}f} %"


def figure(value: float | None, digits: int = 3) -> str:
    """A measured number with `digits` significant digits, and more only before the point; never in powers of ten."""
    if value is None:
        return ABSENT
    if value == 0:
        return "0"
    # The place of the first digit that is not 0, after rounding.
    place = int(f"{value:.{digits - 1}e}".partition("e")[2])
    return f"{value:,.{max(0, digits - 1 - place)}f}"


def amplification(waf: float | None) -> str:
    """A write amplification: 2.347."""
    return ABSENT if waf is None else f"{waf:.3f}"


def in_pages(summary: Mapping[str, Any]) -> str:
    """A summary's WAF in pages, or in map units, as what is said beside that in bytes."""
    waf, units = amplification(summary["waf"]), amplification(summary["waf_units"])
    counted = "pages" if map_unit(summary["config"]) is None else "map units"
    return f"the same in {counted}" if waf == units else f"{units} in {counted}"


def map_unit(config: Mapping[str, Any]) -> str | None:
    """The size of a map unit in a resolved config; `None` where it is a flash page."""
    chosen = config["ftl"].get("map_unit", "page")
    name: str = chosen if isinstance(chosen, str) else next(iter(chosen))
    return None if name == "page" else name


def duration(us: float | None) -> str:
    """Microseconds in the unit that suits them: 812 µs, 3.41 ms, 1.20 s."""
    if us is None:
        return ABSENT
    for limit, scale, unit in ((1e3, 1.0, "µs"), (1e6, 1e-3, "ms"), (1e9, 1e-6, "s")):
        if us < limit * 0.9995:
            return f"{figure(us * scale)} {unit}"
    return f"{count(us * 1e-6)} s"


def size(value: float, *, binary: bool = False) -> str:
    """Bytes: 1.50 GB of 10^9 bytes, or with `binary` 1.4 GiB of 2^30."""
    step, units = (
        (1024.0, ("B", "KiB", "MiB", "GiB", "TiB")) if binary else (1000.0, ("B", "kB", "MB", "GB", "TB"))
    )
    for unit in units:
        if value < step or unit == units[-1]:
            break
        value /= step
    return f"{value:g} {unit}" if value == int(value) else f"{figure(value)} {unit}"


def capacity(config: Mapping[str, Any]) -> str:
    """The user capacity of a resolved config, in the unit that it is a round number of: 500 GB are no 466 GiB."""
    told = in_bytes(config["device"]["user_capacity"])
    # A page at most is missing of a round number where it is no whole number of pages.
    return size(told, binary=not (_is_round(told, 1000) and not _is_round(told, 1024)))


def _is_round(told: int, step: int) -> bool:
    """True for three digits of a unit, but for a page."""
    unit: int = step ** max(0, int(math.log(max(told, 1), step)))
    digits = 2 - int(math.log10(max(told / unit, 1)))
    return abs(told - round(told / unit, digits) * unit) < PAGE_MAX


PAGE_MAX = 1 << 16
"""Bytes of the largest page that is common."""


def columns(rows: Sequence[Sequence[str]], align: str = "", gap: str = "  ", indent: str = "") -> str:
    """Rows of cells in columns. `align` has `<` or `>` for each column; the last letter goes on."""
    align = align or "<"
    rows = [[escape.terminal(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(max(map(len, rows)))]
    lines = []
    for row in rows:
        cells = [f"{cell:{align[min(i, len(align) - 1)]}{widths[i]}}" for i, cell in enumerate(row)]
        lines.append((indent + gap.join(cells)).rstrip())
    return "\n".join(lines)


def markdown_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown section that is one table; numbers after the first column."""
    return [
        f"## {title}", "", "| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|",
        *("| " + " | ".join(row) + " |" for row in rows),
    ]  # fmt: skip


def listed(entries: Mapping[str, str], width: int) -> str:
    """Entries under their names, wrapped at `width` characters behind a column of names."""
    entries = {escape.terminal(name): escape.terminal(entry) for name, entry in entries.items()}
    indent = min(24, max(map(len, entries)) + 2)
    lines = []
    for name, entry in entries.items():
        head = f"  {name:<{indent}}" if len(name) < indent else f"  {name}\n  {'':<{indent}}"
        # A number is not parted from its unit.
        tied = re.sub(r"(?<=\d) (?=%|µs|ms|s\b)", "\u00a0", entry)
        wrapped = textwrap.wrap(tied, max(40, width - indent - 2), break_on_hyphens=False)
        lines.append(head + f"\n  {'':<{indent}}".join(wrapped).replace("\u00a0", " "))
    return "\n".join(lines) + "\n"


def run_summary(result: Result, name: str) -> str:
    """A run on one screen."""
    blocks = [
        _title(result, name),
        _host(result),
        _tenants(result),
        _latencies(result),
        _windows(result),
        _latency_parts(result),
        _flash(result),
        _drive(result),
        _time_use(result),
        _cost(result),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def device_line(config: dict[str, Any]) -> str:
    """The device in one line."""
    d = config["device"]
    counts = {"channel": d["channels"], "chip": d["chips_per_channel"], "die": d["dies_per_chip"],
              "plane": d["planes_per_die"]}  # fmt: skip
    parts = " x ".join(f"{number} {part}{'s' * (number != 1)}" for part, number in counts.items())
    return (
        f"{parts}, {d['blocks_per_plane']} blocks x {d['pages_per_block']} pages x {quantity(d['page_size'])}"
    )


def policy_line(config: dict[str, Any]) -> str:
    """The choices of the FTL that are not plain absences, in one line."""
    words = [f"{key} {_choice(value)}" for key, value in config["ftl"].items()]
    return ", ".join(word for word in words if not word.endswith((" none", " ignore")))


def _choice(value: Any) -> str:
    if isinstance(value, dict):
        name, parameters = next(iter(value.items()))
        if isinstance(parameters, dict) and parameters:
            given = (f"{k}={v}" if isinstance(v, str) else f"{k}={v:g}" for k, v in parameters.items())
            return f"{name}({', '.join(given)})"
        return str(name)
    return str(value)


def _title(result: Result, name: str) -> str:
    config = result.summary["config"]
    device = config["device"]
    run = config["run"]
    spare = f"over-provisioning {percent(device['over_provisioning'])} (spare / user)"
    rows: list[Sequence[str]] = [
        ["device", device_line(config)],
        ["", f"{capacity(config)} for the user, {spare}"],
        ["FTL", policy_line(config)],
        ["run", f"executor {run['executor']}, seed {run['seed']}, {aged(result)}"],
        ["load", _load(result)],
        *_columns_line(result),
    ]
    return f"{escape.terminal(name)}\n{columns(_wrapped(rows), indent='  ')}"


def _load(result: Result) -> str:
    """The requests of the host, and how it sends them."""
    summary = result.summary
    workload, host = summary["config"]["workload"], summary["config"]["host"]
    tally = summary.get("workload", {})
    if hosts := summary["config"].get("tenant"):
        names = ", ".join(map(escape.terminal, tenants.listed(summary["config"])))
        way = _choice(host["arbitration"])
        return f"{len(hosts)} tenants: {names}, {way} arbitration, {host['queue_depth']} commands at once"
    if trace := workload.get("trace"):
        parts = [f"trace {escape.terminal(str(trace))} ({tally.get('format', 'format not kept')})"]
        if tally.get("rounds", 0) > 1:
            parts.append(f"{count(tally['rounds'])} rounds")
    else:
        parts = [f"generator {_choice(workload['generator'])}"]
    if summary["config"]["run"]["executor"] == "timed":
        parts.append(_replay(host, bool(trace)))
    return ", ".join(parts)


def _replay(host: Mapping[str, Any], has_trace: bool) -> str:
    if host["replay"] == "closed":
        return f"closed loop, queue depth {host['queue_depth']}"
    if host["replay"] == "batch":
        return f"batch: as fast as the write buffer accepts, queue depth {host['queue_depth']}"
    times = f"open loop at {'the times of the trace' if has_trace else 'its own times'}"
    scale = host.get("time_scale", 1)
    scaled = "" if scale == 1 else f" x {scale:g}"
    return f"{times}{scaled}, queue depth {host['queue_depth']}"


def _columns_line(result: Result) -> list[Sequence[str]]:
    """Which columns were taken for what, where only their names said so."""
    if not result.summary.get("workload", {}).get("columns_guessed"):
        return []
    columns = result.summary["config"]["workload"]["trace_columns"].replace(",", ", ")
    return [["", f"columns {columns}, by their names; `--columns` names others"]]


WIDTH = 80
"""Columns of every terminal."""


def _wrapped(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Rows of a name and a text, of which none is wider than a terminal; lines break at commas where they can."""
    width = WIDTH - 4 - max(len(name) for name, _ in rows)
    lines: list[Sequence[str]] = []
    for name, words in rows:
        # A part that fits a line is not broken inside.
        tied = re.sub(r"(?<!,) ", "\u00a0", words) if max(map(len, words.split(", "))) < width else words
        for i, line in enumerate(textwrap.wrap(tied, width, break_long_words=False, break_on_hyphens=False)):
            lines.append([name if i == 0 else "", line.replace("\u00a0", " ")])
    return lines


def aged(result: Result) -> str:
    """How the device was preconditioned."""
    aged = result.summary.get("precondition") or {}
    kind = aged.get("kind", "none")
    if kind == "none":
        return "not preconditioned"
    text = f"preconditioned: {kind}"
    if aged.get("written_bytes") is not None:
        capacity = in_bytes(result.summary["config"]["device"]["user_capacity"])
        text += f", {figure(aged['written_bytes'] / capacity)} x user capacity written"
    waf, units = (aged.get(key) for key in ("waf", "waf_units"))
    if waf is not None:
        text += f", WAF {waf:.2f}"
    if units is not None and (waf is None or f"{waf:.2f}" != f"{units:.2f}"):
        text += f", WAF in pages {units:.2f}" if waf is None else f" ({units:.2f} in pages)"
    if aged.get("settled") is False:
        text += ", which had not settled"
    return text


def _host(result: Result) -> str:
    host = result.summary["host"]
    reads, writes = host["reads"], host["writes"]
    rows: list[Sequence[str]] = [
        ["reads", count(reads), size(host["bytes_read"]), _rate(host["read_iops"])],
        ["writes", count(writes), size(host["bytes_written"]), _rate(host["write_iops"])],
    ]
    if host["trims"]:
        rows.append(["trims", count(host["trims"]), size(host["bytes_trimmed"]), ""])
    if host["flushes"]:
        rows.append(["flushes", count(host["flushes"]), "", ""])
    text = "host\n" + columns(rows, align="<>", indent="  ")
    if host["simulated_s"] is not None:
        text += f"\n  {figure(host['simulated_s'], 4)} s simulated"
        if host["iops"] is not None:
            text += f": {count(host['iops'])} IOPS, {figure(host['throughput_mb_s'])} MB/s"
    return "\n".join([text, *map(_note, notes(result))])


def _note(note: str) -> str:
    return textwrap.fill(note, WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False)


def notes(result: Result) -> list[str]:
    """The notes for a reader of the figures: what became of the workload, what the run was too short for."""
    config, tally = result.summary["config"], result.summary.get("workload", {})
    notes = list(result.summary.get("rounded", ()))
    replay, is_timed = config["host"]["replay"], config["run"]["executor"] == "timed"
    if not is_timed and _leaves_when_free(config["ftl"].get("write_buffer", "none")):
        executor = config["run"]["executor"]
        notes.append(f'flush = "free" of the write buffer is "full" here: under `{executor}` no time passes')
    if config["workload"].get("trace") and is_timed and replay != "open":
        notes.append(f"the trace's times do not count: host.replay is {replay}, not open")
    if flood := overload(result):
        notes.append(
            f"overloaded: requests came faster than they were served, about {percent(flood.served, 0)} of them in "
            f"their time; their mean latency grew from {duration(flood.early_us)} to {duration(flood.late_us)}, and "
            "tells how long the run was"
        )
        if config["workload"].get("trace") and result.summary["host"]["iops"] > RATE_MAX * flood.served:
            notes.append(
                "the trace has more than a million requests a second: the unit of its times can hardly be right "
                "(`ftlab trace info` shows what was found, `workload.trace_format` names another)"
            )
    if (kept := admission(result)) is not None:
        tail = f"{percent(kept.fraction, 0)} of the {kept.at} of {kept.kind}s"
        depth = config["host"]["queue_depth"]
        notes.append(
            f"kept outside: {tail} went before the device took them in, for the device held all that it can, also "
            "without a limit: it does not keep up"
            if depth == "unlimited"
            else f"kept outside: {tail} is the wait for one of the {count(depth)} places of host.queue_depth; "
            "--set host.queue_depth=unlimited takes what comes, as NVMe does"
        )
    if stood := stall(result):
        notes.append(f"{stalled(stood)}: {stood.cause}. Cure: {stood.cure}")
    if short := too_short(result):
        notes.append(str(short))
    if part := _part_of_page(result):
        notes.append(part)
    if tally.get("format") == "oracle-general":
        notes.append("the trace's format says which objects, and it has no operations: all are "
                     + ("reads" if result.summary["host"]["reads"] else "writes"))  # fmt: skip
    notes += [f"{count(tally[key])} {words}" for key, words in MOVED.items() if tally.get(key)]
    if unmapped := result.summary["host"]["unmapped_reads"]:
        notes.append(f"{count(unmapped)} page reads of never-written pages, answered without flash")
    if failed := result.summary["host"].get("failed_reads"):
        notes.append(f"{count(failed)} page reads ended in an error: their data are lost")
    return notes


RATE_MAX = 1e6
"""Requests a second beyond which the unit of a trace's times is doubted."""


def _leaves_when_free(buffer: str | Mapping[str, Any]) -> bool:
    """True if pages leave a write buffer whenever a die is free."""
    return not isinstance(buffer, str) and any(params.get("flush") == "free" for params in buffer.values())


def stalled(stood: Stall) -> str:
    """How long the longest request took, beside an erase."""
    return (
        f"the longest {stood.kind} took {duration(stood.longest_us)}, as long as {count(stood.erases)} erases"
    )


PADDED = 1.05
"""By what factor the WAF in bytes is above that in pages where writes of parts of pages are worth a word."""


def _part_of_page(result: Result) -> str | None:
    """That writes do not fill the pages that are programmed for them, and what helps."""
    s = result.summary
    waf, units, config = s["waf"], s["waf_units"], s["config"]
    if waf is None or not units or waf < PADDED * units:
        return None
    unit = map_unit(config)
    whole, word = (config["device"]["page_size"], "page") if unit is None else (unit, "map unit")
    mean = s["host"]["bytes_written"] / s["host"]["writes"]
    if mean < in_bytes(whole):
        told = f"writes have {size(mean, binary=True)} on average, and a {word} {size(in_bytes(whole), binary=True)}"
    else:
        told = f"writes begin or end inside {word}s"
    both = f"WAF is {waf:.2f} in bytes and {units:.2f} in {word}s"
    text = f"{told}: {word}s are programmed whole for parts of them, so {both}"
    if config["workload"].get("generator", "sequential") != "sequential":
        # Writes to one page are far from each other, so that no buffer meets two of them.
        return f"{text}; `--set workload.request_size={whole}` writes whole ones"
    if config["ftl"].get("write_buffer", "none") == "none":
        return f"{text}; a write buffer takes writes to a {word} together (`--set ftl.write_buffer=lru`)"
    return f"{text}; the write buffer takes few of them together, a larger one more"


MOVED = {
    "wrapped": "requests past the end of the device, wrapped to its beginning",
    "split": "of them straddled the end: two requests each",
    "clamped": "requests across the end of the device, cut off there",
    "dropped_past_end": "requests past the end of the device, dropped",
    "discards_ignored": "discards of the trace, left out",
    "out_of_order": "requests of the trace in the wrong place, put in order",
    "postfua_dropped": "flushes of the trace that only completed a FUA write, dropped",
    "bad_lines": "lines of the trace that cannot be read, skipped",
    "zero_length": "requests of the trace without bytes, dropped",
    "stray_times": "requests of the trace of another clock, dropped",
    "requeued": "dispatches of requests that the traced drive had given back, dropped: the first counts",
    "backwards_times": "requests of the trace with times that run backwards, given the latest so far",
}
"""The changes to a workload that its trace or generator does not tell, by the key of the tally."""


def _rate(iops: float | None) -> str:
    return "" if iops is None else f"{count(iops)} IOPS"


PERCENTILES = ("mean", "p50", "p90", "p99", "p99.9", "p99.99", "max")
"""The columns of a table of latencies for each kind of request."""


def latency_rows(host: Mapping[str, Any]) -> list[list[str]]:
    """A kind of request and its latencies, for those that take time."""
    rows = []
    for name in ("read", "write", "trim", "flush"):
        latency = host[f"{name}_latency_us"]
        # Trims take no time on a device without mapping pages in flash.
        if latency["mean"] is not None and latency["max"] > 0:
            rows.append([name, *(duration(latency[key.replace(".", "")]) for key in PERCENTILES)])
    return rows


def tenant_rows(result: Result) -> list[Sequence[str]]:
    """Rows of figures of several hosts that share the device, as `COLUMNS` of `results.tenants` has them."""
    return [
        [
            row.label, count(row.reads), count(row.writes), count(row.iops), figure(row.mb_s),
            *(duration(row.latency_us[key]) for key in ("mean", "p99", "p999")),
            ABSENT if row.waf is None else f"{row.waf:.2f}",
        ]
        for row in tenants.rows(result)
    ]  # fmt: skip


def _tenants(result: Result) -> str:
    rows = tenant_rows(result)
    return (
        columns([tenants.COLUMNS, *(["  " + row[0], *row[1:]] for row in rows)], align="<>") if rows else ""
    )


def _latencies(result: Result) -> str:
    rows = [[f"  {name}", *cells] for name, *cells in latency_rows(result.summary["host"])]
    return columns([["latency", *PERCENTILES], *rows], align="<>") if rows else ""


def _windows(result: Result) -> str:
    from ftlab.results import windows

    return windows.described(result.summary)


NAMED = 3
"""Parts of a latency that a line names."""

SHARES_FROM = 28
"""Where a line begins to name them."""


def part_rows(result: Result) -> list[Sequence[str]]:
    """By kind of request, of each tenant: percentiles, latencies, what these went to; none where not split."""
    rows: list[Sequence[str]] = []
    whose: Sequence[str | None] = tenant_names(result) or [None]
    named = tenants.distinct(result.summary["config"])
    for tenant in whose:
        for kind in KINDS:
            name = kind if tenant is None else f"{named[tenant]} {kind}"
            for at in ("mean", "p50", "p99", "p99.9", "p99.99"):
                if (found := around(result, kind, at, tenant)) is not None and found.latency_us > 0:
                    rows.append([name, at, duration(found.percentile_us), _shares(found)])
    return rows


def _latency_parts(result: Result) -> str:
    rows = part_rows(result)
    rows = [["", *row[1:]] if i and rows[i - 1][0] == row[0] else row for i, row in enumerate(rows)]
    return f"what latencies went to\n{columns(rows, align='<<><', indent='  ')}" if rows else ""


def _shares(found: Around) -> str:
    """The largest parts in words, but for those below 1 %, as many as a line holds."""
    said = ""
    for share in found.shares()[:NAMED]:
        if share.us >= 0.01 * found.latency_us:
            more = f"{said}{', ' if said else ''}{share.label} {percent(share.us / found.latency_us, 0)}"
            if said and len(more) > WIDTH - SHARES_FROM:
                break
            said = more
    return said


def _flash(result: Result) -> str:
    s = result.summary
    flash, gc, wear = s["flash"], s["gc"], s["wear"]["erases"]
    figures = Figures.of(result)
    rows = [["flash", "reads", "programs", "erases"]]
    for cause, ops in flash["by_cause"].items():
        if any(ops.values()):
            rows.append([f"  {cause}", count(ops["reads"]), count(ops["programs"]), count(ops["erases"])])
    multiplane = flash["multiplane"]
    if any(multiplane.values()) or s["config"]["device"]["planes_per_die"] > 1:
        rows.append(
            [
                "  multi-plane",
                *(percent(multiplane[f"{kind}_fraction"]) for kind in ("read", "program", "erase")),
            ]
        )
    moved = (
        "" if figures.victim_valid is None else f", {percent(figures.victim_valid)} of a victim's pages moved"
    )
    waf = ABSENT if s["waf"] is None else f"{amplification(s['waf'])} in bytes, {in_pages(s)}"
    return (
        columns(rows, align="<>")
        + f"\n  WAF {waf}{_sampled(s)}\n  {count(gc['invocations'])} garbage collections{moved}"
        + _across(s)
        + _cache(s)
        + _handles(s)
        + f"\n  erases per block {count(wear['min'])} to {count(wear['max'])}, mean {figure(wear['mean'])}, "
        f"standard deviation {figure(wear['stddev'])}" + _life(s)
    )


def _across(summary: Mapping[str, Any]) -> str:
    """The reclaim units that span dies, where victims are chosen so."""
    across = summary["policy"].get("reclaim_across", {})
    if not across.get("chosen"):
        return ""
    text = f"\n  {count(across['chosen'])} reclaim units across dies, of {figure(across['blocks_of_each'])} blocks each"
    if across["blocks_alone"]:
        text += f"; {count(across['blocks_alone'])} blocks were collected by themselves"
    return text


def _cache(summary: Mapping[str, Any]) -> str:
    """The way of the host's pages through the pseudo-SLC cache, if there is one."""
    cache = summary["policy"].get("slc_cache", {})
    if cache.get("hit_fraction") is None:
        return ""
    return (
        f"\n  the pseudo-SLC cache took {percent(cache['hit_fraction'])} of the pages; "
        f"{count(cache['folded_pages'])} were folded, {count(cache['died_pages'])} died"
    )


HANDLES = {"streams": "stream", "fdp": "handle", "write-hints": "lifetime"}
"""The kinds of handles, by the separation that has them."""

LIFETIMES = ("none", "short", "medium", "long", "extreme")
"""The lifetimes of a write, in their order."""


MUCH_PADDING = 0.02
"""From what part of all programs on dummy units are worth a word."""


def _handles(summary: Mapping[str, Any]) -> str:
    """The pages of each handle, where the host says what it wants kept together."""
    separation, found = summary["config"]["ftl"]["separation"], summary["policy"].get("separation", {})
    name = separation if isinstance(separation, str) else next(iter(separation))
    if name not in HANDLES:
        return ""
    rows: list[Sequence[str]] = [[f"  {HANDLES[name]}", "written", "copied", "WAF"]]
    for number, (written, copied) in enumerate(
        zip(found["written_pages"], found["copied_pages"], strict=True)
    ):
        if written or copied:
            label = LIFETIMES[number] if name == "write-hints" else str(number)
            waf = amplification((written + copied) / written) if written else ABSENT
            rows.append([f"  {label}", count(written), count(copied), waf])
    if (again := found.get("recopied_pages")) is not None:
        rows.append(["  copies", ABSENT, count(again), ABSENT])
    text = "\n" + columns(rows, align="<>")
    flash = summary["flash"]
    padding = flash["by_cause"].get("pad", {}).get("programs", 0) / max(1, flash["page_programs"])
    if padding > MUCH_PADDING:
        text += f"\n  {percent(padding)} of all programs are dummy units: a flash page has data of one {HANDLES[name]},"
        text += "\n  and is filled up where the host waits for them: a protected write buffer has it wait for none"
    if updates := found.get("handle_updates"):
        units, pages = count(found["unfinished_units"]), count(found["unwritten_pages"])
        text += f"\n  {count(updates)} updates of handles left {units} reclaim units before they were full,"
        text += f"\n  and {pages} pages in them unwritten"
    if invalid := found["invalid_hints"]:
        text += f"\n  {count(invalid)} pages had a number that is none of these, and went to the first"
    return text


UNSTEADY = 0.05
"""By what part the WAF may move in the first quarter of a life where erases stand for several P/E cycles."""


def _life(summary: Mapping[str, Any]) -> str:
    """Where blocks fail: the end of the device's life, or what is left of it."""
    end = summary.get("end_of_life")
    if end is None:
        return ""
    bad = summary["policy"]["bad_blocks"]
    units = f"{count(bad['grown_units'])} units have failed and {count(bad['factory_units'])} were bad from the factory"
    if not end["reached"]:
        return (
            f"\n  {units}; {count(bad['spare_units_least'])} can fail in the plane that has fewest to spare"
        )
    written = f"{size(end['lifetime_bytes'])} written ({figure(end['lifetime_drive_writes'])} drive writes)"
    text = f"\n  end of life after {written}; {units}" + _steps(end)
    if bad["exhausted"]:
        left = count(bad["spare_units_least"])
        text += "\n  it came early: no free unit was left for what had failed, though at least"
        text += f"\n  {left} of each plane could still be spared"
    if bad["lost_pages"]:
        text += f"\n  {count(bad['lost_pages'])} pages of the host were lost, and reads of them are errors"
    return text


def _steps(end: Mapping[str, Any]) -> str:
    """How the WAF went through a life, and whether that allows erases that stand for several cycles."""
    waf = [value for value in end["waf_by_eighth"] if value is not None]
    text = f"\n  WAF in the eighths of that life: {', '.join(figure(value) for value in waf)}"
    if end["cycles_per_erase"] == 1:
        return text
    text += f"\n  each erase stood for {count(end['cycles_per_erase'])} P/E cycles"
    if len(waf) > 1 and abs(waf[0] / waf[1] - 1) > UNSTEADY:
        text += ", and the life began before its WAF was steady,"
        text += "\n  which weighs too much then: age the device longer (`run.precondition`)"
    return text


def _sampled(summary: Mapping[str, Any]) -> str:
    """Where samples stand for the device: which, and how well they know its WAF."""
    sample = summary.get("sample")
    if sample is None:
        return ""
    error, of = sample["waf"]["error"], f"{count(sample['hashes'])} of {count(1 / sample['part'])} samples"
    known = "its error is not known from one" if error is None else f"± {figure(error, 2)}"
    return f"; {known}, by {of} of {count(sample['blocks'])} blocks each; counts are of the first"


def _time_use(result: Result) -> str:
    die, channel = (result.summary["utilisation"][key] for key in ("die", "channel"))
    if die["idle"] is None:
        return ""
    gc_share = Figures.of(result).gc_share
    rows: list[Sequence[str]] = [
        ["dies", *(f"{key} {percent(die[key])}" for key in ("read", "program", "erase", "idle"))],
        ["channels", *(f"{key} {percent(channel[key])}" for key in ("host", "gc", "transfer", "idle"))],
    ]
    return (
        "time\n"
        + columns(rows, indent="  ", gap="   ")
        + f"\n  about {percent(gc_share, 0)} of die time is GC"
    )


def aged_s(summary: Mapping[str, Any]) -> float:
    """Seconds that preconditioning took; making the device alone is none."""
    is_aged = summary["precondition"]["kind"] != "none"
    return (summary["run"].get("precondition_wall_s") or 0.0) if is_aged else 0.0


def _drive(result: Result) -> str:
    """The reads that were compared, and the restart at the end, where there are real bytes."""
    drive = result.summary.get("device")
    if drive is None:
        return ""
    restart, wall_s = drive["restart"], result.summary["run"]["restart_wall_s"]
    unknown = drive["sectors_unknown"]
    rows: list[Sequence[str]] = [
        ["reads", f"{count(drive['sectors_checked'])} sectors, all of them as they were written"],
        ["after a power cut", f"{count(drive['sectors_checked_after_restart'])} sectors, all likewise"],
        [
            "restart",
            f"{count(restart['pages_read'])} spare areas read in {duration(restart['array_s'] * 1e6)} of the flash's "
            f"time, {duration(wall_s * 1e6)} of this machine's",
        ],
    ]
    if unknown:
        rows.append(["not compared", f"{count(unknown)} sectors, which somebody else wrote"])
    if drive["sectors_lost"]:
        rows.append(["lost", f"{count(drive['sectors_lost'])} sectors, to failed programs: errors to read"])
    return "real bytes\n" + columns(rows, indent="  ")


def _cost(result: Result) -> str:
    run = result.summary["run"]
    aged = aged_s(result.summary)
    parts = [f"took {figure(run['wall_s'] + aged)} s"]
    if aged >= 0.0005:
        parts.append(f"{figure(aged)} s of it to precondition")
    if run["flash_ops_per_s"] is not None:
        parts.append(f"{figure(run['flash_ops_per_s'] / 1e6)} million flash operations per CPU second")
    if run["peak_rss_mb"] is not None:
        parts.append(f"{count(run['peak_rss_mb'])} MB")
    return textwrap.fill(", ".join(parts), WIDTH, subsequent_indent="  ")
