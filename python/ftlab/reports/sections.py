"""The sections of a page: what is shown of a run, of runs side by side, of a sweep, of a paper's claims."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ftlab.api.keys import told
from ftlab.reports import cards, charts, settings, sweeping
from ftlab.reports.charts import legend, look, swatches, table
from ftlab.reports.markdown import rendered
from ftlab.reports.markup import Child, Html, joined, prose, tag
from ftlab.reports.sources import Checked, Reproduction, Run, Runs, Source, Swept
from ftlab.results import pictures, plot, reasons, tail, tenants, text
from ftlab.results.charts import Drawable
from ftlab.results.claims import number
from ftlab.results.comparison import TENANTS_HEAD, Comparison, figure_rows, tenants_rows
from ftlab.results.figures import Figures
from ftlab.results.latency_parts import KINDS, around, tenant_names
from ftlab.results.pictures import Results
from ftlab.results.result import Result
from ftlab.sweeps import headlines
from ftlab.sweeps.sweep import Sweep


def title(source: Source) -> str:
    """The title of a section."""
    match source:
        case Run():
            return f"Run: {source.name}"
        case Runs():
            return f"{len(source.comparison.results)} runs side by side: {source.name}"
        case Swept():
            return f"Sweep: {source.name}"
        case Reproduction():
            return f"Claims of {source.document.get('paper', '')}: {source.name}"
        case Checked():
            return f"Real drives beside simulated ones: {source.name}"


def body(source: Source) -> Html:
    """The content of a section."""
    match source:
        case Run():
            return joined(_run(source.result, {"hash": source.hash}, level=3))
        case Runs():
            return joined(_runs(source))
        case Swept():
            return joined(_swept(source))
        case Reproduction():
            return joined(_reproduction(source))
        case Checked():
            return joined(_checked(source))


def _run(result: Result, origin: Mapping[str, Any], level: int) -> Iterator[Child]:
    yield tag(
        "p",
        prose(
            f"{reasons.alone(Figures.of(result))}.".capitalize().replace("Waf", "WAF").replace(" gc ", " GC ")
        ),
        class_="lead",
    )
    yield _about(result)
    yield cards.html(cards.of_result(result))
    yield from _warnings(result)
    yield from _tenants(result, level)
    one: Results = {"": result}
    yield from _latency(one, level)
    yield from _waits(result, level)
    yield from _series(one, level)
    yield from _time_use(one, level)
    yield from _flash(result, level)
    yield from _wear(one, level)
    yield from _policies(result, level)
    yield from _configuration(result, level)
    yield from _again(result, origin, level)


def _about(result: Result) -> Html:
    """The device and its workload in two lines."""
    config = result.summary["config"]
    spare = text.percent(config["device"]["over_provisioning"])
    return tag(
        "dl",
        [tag("dt", "Device"), tag("dd", f"{text.device_line(config)}; {text.capacity(config)} for the user, "
                                        f"over-provisioning {spare} (spare / user)")],
        [tag("dt", "FTL"), tag("dd", text.policy_line(config))],
        [tag("dt", "Workload"), tag("dd", _workload(config))],
        [tag("dt", "Run"), tag("dd", f"executor {config['run']['executor']}, seed {config['run']['seed']}, "
                                     f"{text.aged(result)}")],
        class_="about",
    )  # fmt: skip


def _workload(config: Mapping[str, Any]) -> str:
    workload, host = config["workload"], config["host"]
    if hosts := config.get("tenant"):
        names = ", ".join(tenants.listed(config))
        return f"{len(hosts)} tenants: {names}; {told(host['arbitration'])}, {host['queue_depth']} commands at once"
    if workload.get("trace"):
        what = f"trace {workload['trace']}"
    else:
        what = (
            f"generator {told(workload.get('generator'))}, requests of {told(workload.get('request_size'))}, "
        )
        what += f"{text.percent(float(workload.get('read_fraction', 0.0)), 0)} reads"
    depth = f", queue depth {host['queue_depth']}" if host["replay"] == "closed" else ""
    return f"{what}; replay {host['replay']}{depth}"


def _warnings(result: Result) -> Iterator[Html]:
    if found := text.notes(result):
        yield tag("ul", [tag("li", prose(note)) for note in found], class_="notes")


def _heading(level: int, words: str) -> Html:
    return tag(f"h{level}", words)


def _charts(shown: Sequence[Child], columns: int = 0) -> Html:
    return tag("div", shown, class_=f"charts of-{columns or min(len(shown), 4)}")


def _group(
    names: Sequence[str], shown: Sequence[Child], columns: int = 0, *, has_marks: bool = False
) -> Html:
    """Charts of the same series, with one legend."""
    buttons = legend(names, has_marks=has_marks) if len(names) > 1 else None
    return tag("div", buttons, _charts(shown, columns), class_="group")


def _names(results: Results) -> list[str]:
    return list(results) if len(results) > 1 else []


def _html(drawn: Sequence[Drawable]) -> list[Html]:
    return [charts.html(chart) for chart in drawn]


def _tenants(result: Result, level: int) -> Iterator[Html]:
    """The figures of each host, where several share the device."""
    if rows := text.tenant_rows(result):
        yield _heading(level, "Tenants")
        yield table(
            tenants.COLUMNS, rows, "Each host by itself; WAF of the pages that are its own", "figures"
        )


def _latency(results: Results, level: int) -> Iterator[Html]:
    drawn = pictures.latency(results)
    if not drawn:
        return
    yield _heading(level, "Latency")
    if len(results) == 1:
        result = next(iter(results.values()))
        rows = text.latency_rows(result.summary["host"])
        yield table(["requests", *text.PERCENTILES],
                    [[f"{name}{'es' if name == 'flush' else 's'}", *cells] for name, *cells in rows],
                    "Latency by percentile", "figures")  # fmt: skip
        yield _group(["reads", "writes"] if len(drawn[0].lines) > 1 else [], _html(drawn), 2)
    else:
        yield _group(list(results), _html(drawn), 2)


def _waits(result: Result, level: int) -> Iterator[Html]:
    """The waits of requests, where latencies were split, and what their tails say."""
    rows = text.part_rows(result)
    if not rows:
        return
    yield _heading(level, "What latencies went to")
    yield table(["requests", "at", "latency", "went to"], [[f"{kind}s", *cells] for kind, *cells in rows],
                "Latencies by what requests waited for")  # fmt: skip
    whose: list[str | None] = [*tenant_names(result)] or [None]
    named = tenants.distinct(result.summary["config"])
    for tenant in whose:
        for kind in KINDS:
            if (found := around(result, kind, "p99.9", tenant)) is not None and found.latency_us > 0:
                of = f"{kind.capitalize()}s" if tenant is None else f"{kind.capitalize()}s of {named[tenant]}"
                yield tag("p", prose(f"{of} at p99.9: {tail.in_words(result, found)}"))


def _series(results: Results, level: int) -> Iterator[Html]:
    for axis, words in (("volume", "Over the volume written"), ("time", "Over simulated time")):
        if drawn := pictures.series(results, axis):
            yield _heading(level, words)
            yield _group(_names(results), _html(drawn))


def _time_use(results: Results, level: int) -> Iterator[Html]:
    bars = [_bars(results, resource) for resource in ("channel", "die")]
    if not any(bars):
        return
    yield _heading(level, "What the time went to")
    if len(results) == 1:
        yield _charts(_html(pictures.utilisation(next(iter(results.values())))))
    else:
        yield _charts(bars)


def _bars(results: Results, resource: str) -> Html | None:
    """The mean of all channels, or dies, of each run."""
    found = pictures.shares(results, resource)
    if not found:
        return None
    parts = list(next(iter(found.values())))
    used = [part for part in parts if any(shares[part] >= 0.0005 for shares in found.values())]
    rows = [
        tag(
            "div",
            tag("p", label),
            tag("div", [
                tag("i", class_=f"p-{part}", style=f"flex-grow:{shares[part]:.4f}",
                    title=f"{part}: {text.percent(shares[part])}")
                for part in used if shares[part] > 0
            ], class_="bar", aria_hidden="true"),
            class_="barred",
        )
        for label, shares in found.items()
    ]  # fmt: skip
    words = f"What {resource}s did, by {pictures.BY[resource]}, mean"
    cells = [[label, *(text.percent(shares[part]) for part in used)] for label, shares in found.items()]
    return tag(
        "figure", tag("figcaption", words), rows, swatches(used),
        tag("details", tag("summary", "Table"), table(["run", *used], cells, words), class_="behind"), class_="chart",
    )  # fmt: skip


def _flash(result: Result, level: int) -> Iterator[Html]:
    head, rows = _operations(result.summary)
    if rows:
        yield _heading(level, "Flash operations by cause")
        yield table(head, rows, "Flash operations by cause", "figures")


def _operations(summary: Mapping[str, object]) -> tuple[list[str], list[list[str]]]:
    """Operations by cause, as the run's summary prints them."""
    flash_ = summary["flash"]
    assert isinstance(flash_, dict)
    kinds = [kind for kind in ("reads", "programs", "erases", "copybacks")
             if any(ops[kind] for ops in flash_["by_cause"].values())]  # fmt: skip
    rows = [
        [cause, *(text.count(ops[kind]) for kind in kinds)]
        for cause, ops in flash_["by_cause"].items() if any(ops.values())
    ]  # fmt: skip
    return ["cause", *kinds], rows


def _wear(results: Results, level: int) -> Iterator[Html]:
    worn: list[Drawable] = [*pictures.wear(results)]
    if not worn:
        return
    if len(results) == 1:
        found = pictures.wear_map(next(iter(results.values())).wear)
        worn += [found] if found is not None else []
    yield _heading(level, "Wear")
    yield tag("p", "Erases since the device was made, preconditioning included.", class_="note")
    yield _group(_names(results), _html(worn))


def _policies(result: Result, level: int) -> Iterator[Html]:
    rows = [[key, told(value)] for key, value in settings.flattened(result.summary["policy"]).items()]
    if rows:
        yield _heading(level, "What the policies did")
        yield table(["figure", "value"], rows, "What the policies did", "figures")


def _configuration(result: Result, level: int) -> Iterator[Html]:
    config = result.summary["config"]
    mine = settings.flattened(config)
    name, base = settings.nearest_preset(config)
    keys = settings.different([base, mine])
    yield _heading(level, "Configuration")
    of = f"the preset {name}" if name else "the defaults"
    if keys:
        yield tag("p", f"It differs from {of} in {len(keys)} of {len(mine)} keys:")
        yield table(
            ["key", of, "this run"], settings.rows([base, mine], keys), f"Differences from {of}", "keys"
        )
    else:
        yield tag("p", f"It is {of}.")
    every = table(["key", "value"], settings.rows([mine], list(mine)), "The whole configuration", "keys")
    yield tag("details", tag("summary", f"All {len(mine)} keys, resolved"), every)


def _again(result: Result, origin: Mapping[str, Any], level: int) -> Iterator[Html]:
    """How to run it again."""
    summary = result.summary
    config = summary["config"]
    facts = [
        ("Version", f"ftlab {summary.get('ftlab_version')}"),
        ("Seed", str(config["run"]["seed"])),
        ("Hash of the configuration", settings.config_hash(config)),
    ]
    if origin.get("hash"):
        facts.append(("Kept under the hash", str(origin["hash"])))
    yield _heading(level, "Run it again")
    yield tag(
        "dl", [[tag("dt", name), tag("dd", tag("code", value))] for name, value in facts], class_="about"
    )
    if (line := settings.command(origin)) is not None:
        yield copied("The command", line)
    toml = settings.toml(config)
    if toml is None:
        yield tag(
            "p", "This version of ftlab refuses the configuration; use the one named above.", class_="note"
        )
        return
    words = "The same configuration as a file, for `ftlab run again.toml`"
    yield tag("details", tag("summary", words.replace("`", "")), copied("again.toml", toml))


def copied(name: str, content: str) -> Html:
    """Text to be copied."""
    return tag("div", tag("button", "Copy", type="button", class_="copy", aria_label=f"Copy: {name}"),
               tag("pre", tag("code", content), tabindex="0", aria_label=name, role="region"),
               class_="copied")  # fmt: skip


def _runs(source: Runs) -> Iterator[Child]:
    comparison = source.comparison
    results = comparison.results
    yield why(comparison)
    yield _charts(_headlines(results), 4)
    yield side_by_side(comparison)
    if slowdowns := comparison.slowdowns:
        yield _heading(3, "Tenants")
        yield table(TENANTS_HEAD, tenants_rows(slowdowns), "Each among the others, and alone", "figures")
        yield tag("p", f"Fairness {tenants.fairness(slowdowns):.2f}: the largest slowdown ÷ the smallest.")
    yield from _latency(results, 3)
    yield from _series(results, 3)
    yield from _time_use(results, 3)
    yield from _wear(results, 3)
    yield from _differences(results)
    yield _heading(3, "Each run")
    for label, result in results.items():
        origin = comparison.origins.get(label, {})
        run = joined(_run(result, origin, level=4))
        yield tag("details", tag("summary", tag("strong", label)), run, class_="run")


def why(comparison: Comparison) -> Html:
    """The reason for each run, and what keeps them from being comparable."""
    reasons_ = [
        tag("li", tag("strong", label), ": ", prose(words)) for label, words in comparison.reasons.items()
    ]
    reasons_ += [
        tag("li", prose(f"Lowest p99.9 of {kind}: {told}")) for kind, told in comparison.lowest.items()
    ]
    notes = [tag("li", prose(f"Note: {note}")) for note in comparison.notes]
    return joined(
        [tag("ul", reasons_, class_="reasons"), tag("ul", notes, class_="notes") if notes else None]
    )


def side_by_side(comparison: Comparison) -> Html:
    """The figures that `compare` prints."""
    rows = figure_rows(list(comparison.figures.values()))
    cells = [[_unbroken(row[0]), *row[1:]] for row in rows]
    return table(["", *comparison.results], cells, "Figures side by side", "figures")


def _headlines(results: Results) -> list[Html]:
    """The headline figures as bars."""
    found = []
    for i, (name, values, told_) in enumerate(plot.headlines(results)):
        most = max((value for value in values if value is not None), default=0.0) or 1.0
        words = f"{name[0].upper()}{name[1:]}"
        bars = [
            [tag("span", label),
             tag("i", class_=look(k), style=f"width:{100 * (value or 0.0) / most:.1f}%", aria_hidden="true"),
             tag("b", told_[k])]
            for k, (label, value) in enumerate(zip(results, values, strict=True))
        ]  # fmt: skip
        found.append(
            tag("figure", tag("figcaption", words), tag("div", bars, class_="headline"), data_headline=str(i))
        )
    return found


def _unbroken(words: str) -> str:
    """A unit stays with what it is of."""
    return words.replace(" (", "\u00a0(")


def _differences(results: Results) -> Iterator[Html]:
    configs = [settings.flattened(result.summary["config"]) for result in results.values()]
    keys = settings.different(configs)
    yield _heading(3, "In what the configurations differ")
    if keys:
        yield table(
            ["key", *results], settings.rows(configs, keys), "Differences of the configurations", "keys"
        )
    else:
        yield tag("p", "In nothing.")


TABLE_MAX = 400
"""Rows of a sweep's table on the page; the files have all."""


def _swept(source: Swept) -> Iterator[Child]:
    sweep = source.sweep
    yield cards.html(cards.of_sweep(sweep))
    if sweep.statuses.get("missing"):
        yield tag("p", "The sweep is not finished: the same command goes on from there.", class_="warning")
    for plots in sweeping.plots(source):
        yield _heading(3, f"By {plots.factor}")
        yield _group(plots.names, _html(plots.charts), has_marks=True)
        yield from (tag("p", note, class_="note") for note in plots.notes)
    yield _heading(3, "Figures")
    yield from means(sweep)
    if sweep.errors:
        yield _heading(3, "Runs that failed")
        yield table(
            ["run", "error"],
            [[label, tag("pre", error)] for label, error in sweep.errors.items()],
            "Runs that failed",
            "keys",
        )
    yield from _sweep_again(source)


def means(sweep: Sweep) -> Iterator[Html]:
    """The headline figures by factors."""
    head, rows = headlines.figure_rows(sweep)
    if rows:
        yield table(head, rows[:TABLE_MAX], "Figures by factors", "figures")
    if len(rows) > TABLE_MAX:
        yield tag(
            "p",
            f"The first {TABLE_MAX} of {len(rows)} rows; the tables of the sweep have all.",
            class_="note",
        )


def _sweep_again(source: Swept) -> Iterator[Html]:
    rows = source.sweep.table.to_pylist()
    factors = source.sweep.factors
    yield _heading(3, "Run it again")
    engines = ", ".join(dict.fromkeys(str(row["engine"]) for row in rows))
    yield tag("dl", tag("dt", "Version"), tag("dd", tag("code", f"ftlab {engines}")), class_="about")
    configs = list(source.configs.values())
    if configs:
        flat = [settings.flattened(config) for config in configs]
        varied = settings.different(flat)
        yield tag("p", f"The configurations differ in {', '.join(varied)}. The rest is the same in all runs:" if varied
                  else "All runs have the same configuration:")  # fmt: skip
        same = [key for key in flat[0] if key not in varied]
        yield tag("details", tag("summary", f"{len(same)} keys that all runs share"),
                  table(["key", "value"], settings.rows(flat[:1], same), "What all runs share", "keys"))  # fmt: skip
    cells = [[row["label"] or "", *(told(row[name]) for name in factors), row["status"], row["hash"] or "-"]
             for row in rows[:TABLE_MAX]]  # fmt: skip
    hashes = table(["run", *factors, "status", "hash"], cells, "Hashes of the runs", "keys")
    yield tag(
        "details", tag("summary", f"Hashes of the {len(rows)} runs: configuration, trace and engine"), hashes
    )


def _reproduction(source: Reproduction) -> Iterator[Child]:
    document = source.document
    found = document["claims"]
    yield cards.html(cards.of_claims(found))
    yield tag("ul", [_claim(claim) for claim in found], class_="claims")
    if source.pictures:
        yield _heading(3, "Pictures")
        yield _charts([_picture(name, svg) for name, svg in source.pictures.items()], 2)
    if source.report:
        yield tag(
            "details",
            tag("summary", "Workloads and every figure, as tables"),
            rendered(source.report, level=4, without="Claims"),
        )
    yield _heading(3, "Run it again")
    yield copied("The command", f"ftlab reproduce {document['paper']} --scale {document['scale']}")


def _checked(source: Checked) -> Iterator[Child]:
    yield cards.html(cards.of_figures(source.document["counts"]))
    if source.pictures:
        yield _charts([_picture(name, svg) for name, svg in source.pictures.items()], 2)
    yield rendered(source.report, level=3)
    yield _heading(3, "Run it again")
    yield copied("The command", f"ftlab hardware check --scale {source.document['scale']}")


def _claim(claim: Mapping[str, Any]) -> Html:
    verdict = claim["verdict"]
    paper = claim["paper_value"]
    unit = claim["unit"]
    shown = f"{paper} {unit}".strip() if isinstance(paper, int | float) else str(paper or "no figure")
    return tag(
        "li",
        tag("p", tag("span", cards.VERDICTS.get(verdict, verdict), class_=f"verdict v-{verdict}"), " ",
            tag("code", claim["id"])),
        tag("p", claim["claim"], class_="claim"),
        tag("dl",
            tag("dt", "Paper"), tag("dd", shown),
            tag("dt", "Measured"), tag("dd", tag("strong", f"{number(claim['measured'])} {unit}".strip())),
            tag("dt", "Workload"), tag("dd", f"{claim['workload']} ({claim['workload_kind']})"), class_="pair"),
        tag("details", tag("summary", "How it is judged"), tag("p", claim["note"])) if claim["note"] else None,
    )  # fmt: skip


def _picture(name: str, svg: bytes) -> Html:
    """A picture of its own, as matplotlib drew it."""
    words = name.replace("-", " ").replace("_", " ")
    source = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
    return tag("figure", tag("figcaption", words),
               tag("img", src=source, alt=f"{words}. Its figures are in the tables below."),
               class_="picture")  # fmt: skip
