"""The figures of a result as cards: the same on the page and in notebooks, in the units of the printed tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ftlab.reports.markup import Html, tag
from ftlab.results import text
from ftlab.results.figures import Figures
from ftlab.results.result import Result

if TYPE_CHECKING:
    from ftlab.sweeps.sweep import Sweep


class Card(NamedTuple):
    """One figure."""

    label: str
    value: str
    """With its unit."""
    key: str = ""
    """Where the summary has it."""
    raw: float | None = None
    """The figure itself."""
    note: str = ""


def html(cards: Sequence[Card]) -> Html:
    """Cards beside each other."""
    return tag("dl", [_html(card) for card in cards], class_="cards")


def _html(card: Card) -> Html:
    number, _, unit = card.value.partition(" ")
    return tag(
        "div",
        tag("dt", card.label),
        tag("dd", tag("span", number, class_="number"), f" {unit}" if unit else None, class_="value",
            data_key=card.key or None, data_raw=None if card.raw is None else repr(card.raw)),
        tag("dd", card.note, class_="note") if card.note else None,
        class_="card",
    )  # fmt: skip


def of_result(result: Result) -> list[Card]:
    """The headline figures of a run; those that are not defined are left out."""
    s = result.summary
    host, wear = s["host"], s["wear"]["erases"]
    figures = Figures.of(result)
    spread = f"{text.count(wear['min'])} to {text.count(wear['max'])}, standard deviation {text.figure(wear['stddev'])}"
    victims = (
        ""
        if figures.victim_valid is None
        else f"{text.percent(figures.victim_valid)} of a victim's pages moved"
    )
    cards = [
        *_of_kind(s, "read"),
        *_of_kind(s, "write"),
        _card(s, "waf", "WAF", text.amplification, f"bytes programmed ÷ bytes written; {text.in_pages(s)}"),
        _card(s, "gc.invocations", "Garbage collections", text.count, victims),
        _card(s, "flash.block_erases", "Block erases", text.count),
        _card(s, "wear.erases.mean", "Erases per block", text.figure, spread),
        *_of_life(s),
        _card(s, "host.bytes_written", "Written by the host", text.size, f"{text.count(host['writes'])} writes"),
        _card(s, "host.bytes_read", "Read by the host", text.size, f"{text.count(host['reads'])} reads"),
        _card(s, "utilisation.die.idle", "Dies idle", text.percent,
              "" if figures.gc_share is None else f"about {text.percent(figures.gc_share, 0)} of die time is GC"),
        _card(s, "utilisation.channel.idle", "Channels idle", text.percent),
        _card(s, "host.simulated_s", "Simulated time", lambda v: f"{text.figure(v, 4)} s"),
        _card(s, "run.wall_s", "Took", lambda v: f"{text.figure(v)} s",
              "; ".join(_cost(s))),
    ]  # fmt: skip
    return [card for card in cards if card is not None]


def _of_life(summary: Mapping[str, Any]) -> Iterator[Card | None]:
    """Where blocks fail: what the host wrote in the device's life, and what is left to spare."""
    if "end_of_life" not in summary:
        return
    end, bad = summary["end_of_life"], summary["policy"]["bad_blocks"]
    step = end["cycles_per_erase"]
    notes = [f"{text.figure(end['lifetime_drive_writes'])} drive writes"] if end["reached"] else []
    notes += [f"each erase stood for {text.count(step)} P/E cycles"] if step > 1 else []
    yield _card(summary, "end_of_life.lifetime_bytes", "Lifetime", text.size, "; ".join(notes))
    grown, factory = (text.count(bad[name]) for name in ("grown_units", "factory_units"))
    failed = f"{grown} units failed, {factory} were bad from the factory"
    yield _card(summary, "policy.bad_blocks.spare", "Spare left", text.percent, failed)


def _cost(summary: Mapping[str, Any]) -> Iterator[str]:
    if aged := text.aged_s(summary):
        yield f"and {text.figure(aged)} s to precondition"
    if peak := summary["run"].get("peak_rss_mb"):
        yield f"{text.count(peak)} MB"


def _iops(value: float) -> str:
    return f"{text.count(value)} IOPS"


def _of_kind(summary: Mapping[str, Any], kind: str) -> Iterator[Card | None]:
    """The rate and the latencies of reads, or of writes."""
    host = summary["host"]
    if not host[f"{kind}s"]:
        return
    name, key = kind.capitalize(), f"host.{kind}_latency_us"
    latency = host[f"{kind}_latency_us"]
    moved = host["bytes_read" if kind == "read" else "bytes_written"]
    rate = f"{text.figure(moved / host['simulated_s'] / 1e6)} MB/s" if host["simulated_s"] else ""
    yield _card(summary, f"host.{kind}_iops", f"{name}s", _iops, rate)
    yield _card(
        summary,
        f"{key}.mean",
        f"{name} latency, mean",
        text.duration,
        f"median {text.duration(latency['p50'])}",
    )
    yield _card(summary, f"{key}.p99", f"{name} latency, p99", text.duration)
    yield _card(summary, f"{key}.p999", f"{name} latency, p99.9", text.duration)
    longest = f"longest {text.duration(latency['max'])}"
    yield _card(summary, f"{key}.p9999", f"{name} latency, p99.99", text.duration, longest)


def _card(summary: Mapping[str, Any], key: str, label: str, form: Any, note: str = "") -> Card | None:
    value: Any = summary
    for part in key.split("."):
        value = value[part]
    # A workload without reads has none to speak of.
    if value is None or (key.startswith("host.bytes") and not value):
        return None
    return Card(label, form(value), key, value, note)


BEST: tuple[tuple[str, str, Callable[[float], str], Callable[..., Any]], ...] = (
    ("waf", "Lowest WAF", text.amplification, min),
    ("host_read_iops", "Most reads", lambda v: _iops(v), max),
    ("host_write_iops", "Most writes", lambda v: _iops(v), max),
    ("host_read_latency_us_p99", "Lowest p99 of reads", text.duration, min),
    ("host_write_latency_us_p99", "Lowest p99 of writes", text.duration, min),
)
"""Which combination of a sweep is named for which figure."""


def of_sweep(sweep: Sweep) -> list[Card]:
    """The number of runs, and the best of them."""
    statuses = sweep.statuses
    words = {"ok": "Finished runs", "failed": "Failed runs", "missing": "Runs to come"}
    cards = [Card(words[name], text.count(statuses[name])) for name in words if statuses.get(name)]
    rows = sweep.means.to_pylist()
    names = [name for name in sweep.factors if name in sweep.means.column_names]
    for key, title, form, pick in BEST:
        known = [row for row in rows if row.get(f"{key}_mean") is not None]
        if len(known) > 1:
            best = pick(known, key=lambda row: row[f"{key}_mean"])
            note = ", ".join(f"{name} {best[name]}" for name in names)
            cards.append(Card(title, form(best[f"{key}_mean"]), raw=best[f"{key}_mean"], note=note))
    return cards


VERDICTS = {
    "reproduced": "Reproduced",
    "direction": "Right direction",
    "not-reproduced": "Not reproduced",
    "not-run": "Not run",
}
"""The names of verdicts."""


def of_claims(claims: Sequence[Mapping[str, Any]]) -> list[Card]:
    """The number of claims of each verdict."""
    counts = {name: sum(claim["verdict"] == name for claim in claims) for name in VERDICTS}
    return [
        Card(VERDICTS[name], str(count), note=f"of {len(claims)} claims")
        for name, count in counts.items()
        if count
    ]


def of_figures(counts: Mapping[str, Mapping[str, int]]) -> list[Card]:
    """The number of figures of real drives that are met, by what they say of the model."""
    words = {
        "predicted": "Predicted figures met", "fitted": "Fitted figures met", "hindsight": "Figures met in hindsight",
    }  # fmt: skip
    found = []
    for kind, label in words.items():
        judged = counts[kind]["met"] + counts[kind]["missed"]
        if judged:
            found.append(Card(label, str(counts[kind]["met"]), note=f"of {judged}"))
    unbuilt = sum(each["not built"] for each in counts.values())
    return [*found, *([Card("Figures that need what is not built", str(unbuilt))] if unbuilt else [])]
