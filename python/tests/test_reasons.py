"""The line that says why runs differ names the cause that was put there."""

from __future__ import annotations

import pytest
import samples

from ftlab import Comparison, compare, run
from ftlab.results import plot
from ftlab.results.overload import admission, overload
from ftlab.results.reasons import _causes as causes
from ftlab.results.text import duration, notes


def reasons(**runs: dict[str, float]) -> dict[str, str]:
    return why_of(Comparison({label: samples.result(**settings) for label, settings in runs.items()}))  # type: ignore[arg-type]


def why_of(comparison: Comparison) -> dict[str, str]:
    """The reasons of a comparison, none of which is too long to be read at a glance."""
    found = comparison.reasons
    assert max(len(line.split()) for line in found.values()) <= 25, found
    return found


def test_write_amplification_is_named() -> None:
    why = reasons(greedy={"waf": 2.0, "iops": 10_000}, fifo={"waf": 3.0, "iops": 6_000})
    assert why["greedy"].startswith("reference: WAF 2.00")
    assert why["fifo"].startswith("40 % fewer IOPS than greedy: WAF 3.00 against 2.00")
    assert "67 % valid pages against 50 %" in why["fifo"]


def test_planes_are_named() -> None:
    why = reasons(pairs={"program_us": 200, "iops": 10_000}, single={"program_us": 400, "iops": 7_000})
    assert "30 % fewer IOPS than pairs: programming a page took 400 µs against 200 µs" in why["single"]
    assert "fewer planes" in why["single"]


def test_what_pulls_the_other_way_is_told() -> None:
    why = reasons(a={"waf": 2.0, "iops": 10_000}, b={"waf": 3.0, "iops": 12_000, "program_us": 150})
    assert why["b"].startswith("20 % more IOPS than a: programming a page took 150 µs against 300 µs")
    assert "; but WAF 3.00 against 2.00" in why["b"]


def test_no_cause_is_invented() -> None:
    why = reasons(a={"iops": 10_000}, b={"iops": 8_000}, c={"iops": 10_010})
    assert why["b"].startswith("20 % fewer IOPS than a; nothing measured explains this difference")
    assert why["c"].startswith("the same IOPS as a within 1 %")


def test_without_time_waf_is_what_counts() -> None:
    why = reasons(a={"waf": 2.0, "timed": False}, b={"waf": 2.6, "timed": False})
    assert why["b"] == "30 % higher WAF than a: a victim held 62 % valid pages against 50 %."


def test_the_table_has_a_column_for_each_run_and_wraps() -> None:
    labels = [f"configuration {i}" for i in range(9)]
    comparison = Comparison({label: samples.result() for label in labels})
    wide = comparison.table(300)
    assert all(label in wide.splitlines()[0] for label in labels)
    narrow = comparison.table(80)
    assert max(map(len, narrow.splitlines())) <= 80
    assert all(label in narrow for label in labels)
    assert "| WAF | 2.000 |" in comparison.markdown()


def test_another_schedule_of_gc_is_named_and_gc_is_not_denied() -> None:
    runs = {"a": samples.result(iops=10_000), "b": samples.result(iops=8_000)}
    for name, schedule in (("a", "threshold"), ("b", {"background": {"idle": "1ms"}})):
        runs[name].summary["config"]["ftl"]["gc_schedule"] = schedule
    why = why_of(Comparison(runs))["b"]
    assert (
        "; nothing measured explains this difference, but GC ran at other times (`background`, not `threshold`)"
        in why
    )


def test_a_schedule_that_collected_nothing_explains_nothing() -> None:
    """With collections that no schedule began, in one run as in the other: `collected 0 % ... against 0 %`."""
    runs = {"a": samples.result(iops=10_000), "b": samples.result(iops=8_000)}
    for (name, schedule), foreground in zip((("a", "threshold"), ("b", "paced")), (1500, 1562), strict=True):
        runs[name].summary["config"]["ftl"]["gc_schedule"] = schedule
        runs[name].summary["gc"]["foreground"] = foreground
    why = why_of(Comparison(runs))["b"]
    assert "0 %" not in why.partition(";")[2] and "moved none" not in why and "a few pages" not in why
    for name in runs:
        runs[name].summary["gc"] |= {"invocations": 0, "foreground": 0}
    why = why_of(Comparison(runs))["b"]
    assert "nothing measured explains this difference" in why and "GC" not in why


def test_a_cause_too_small_for_the_difference_is_no_cause() -> None:
    why = reasons(a={"iops": 10_000, "waf": 3.0}, b={"iops": 5_000, "waf": 3.05})
    assert why["b"].startswith("50 % fewer IOPS than a; nothing measured explains this difference")
    assert "WAF" not in why["b"]


def test_figures_that_print_the_same_are_no_cause() -> None:
    runs = {"a": samples.result(iops=10_000), "b": samples.result(iops=9_000)}
    for name, victim in (("a", 89.21), ("b", 89.24)):
        runs[name].summary["gc"]["moved_per_victim"] = 128 * victim / 100
    runs["b"].summary["waf"] = runs["b"].summary["waf_units"] = 2.2
    runs["b"].summary["flash"]["page_programs"] = 220_000
    why = why_of(Comparison(runs))["b"]
    assert "WAF 2.20 against 2.00" in why and "valid pages" not in why
    for name, scheduler in (("a", "fifo"), ("b", "paq")):
        runs[name].summary["config"]["ftl"]["scheduler"] = scheduler
        for kind in ("read", "write"):
            runs[name].summary["host"][f"{kind}_latency_us"]["mean"] = 500.0
    assert "paq" not in why_of(Comparison(runs))["b"]
    runs["b"].summary["host"]["iops"] = 11_000
    runs["b"].summary["host"]["read_latency_us"]["mean"] = 300.0
    told = "`paq` sends reads first and collections last: a read took 300 µs against 500 µs"
    assert told in why_of(Comparison(runs))["b"]


def test_a_waf_of_a_run_too_short_for_one_is_not_praised() -> None:
    runs = {"a": samples.result(waf=2.0, iops=8_000), "b": samples.result(waf=3.0, iops=10_000)}
    assert Comparison(runs).lowest["reads"].endswith("The lowest WAF, 2.00, has a, with a p99.9 of 36.0 ms.")
    runs["a"].summary["flash"]["block_erases"] = 3
    comparison = Comparison(runs)
    assert "lowest WAF" not in comparison.lowest["reads"]
    assert why_of(comparison)["a"].startswith("reference: WAF 2.00 (too short a run for one), a victim")
    told = [
        note
        for note in comparison.notes
        if note.startswith("too short for a WAF: a, only 3 blocks were erased;")
    ]
    assert len(told) == 1 and "--set workload.volume=" in told[0]
    best = {"a": samples.result(waf=2.0, iops=10_000), "b": samples.result(waf=3.0, iops=8_000)}
    best["a"].summary["flash"]["block_erases"] = 3
    assert (
        Comparison(best).lowest["reads"] == "no run is named: a was too short to compare, as the notes say."
    )
    best["b"].summary["flash"]["block_erases"] = 3
    end = "no run is named: 2 of the runs were too short to compare, as the notes say."
    assert Comparison(best).lowest["writes"] == end


def test_a_note_with_the_cause_stands_in_place_of_nothing_measured() -> None:
    runs = {"a": samples.result(iops=10_000), "b": samples.result(iops=8_000)}
    assert "nothing measured explains" in why_of(Comparison(runs))["b"]
    runs["b"].summary["flash"]["block_erases"] = 3
    why = why_of(Comparison(runs))["b"]
    assert why.startswith("20 % fewer IOPS than a; the notes say why") and "nothing measured" not in why
    # Without time there is only the WAF, and it is none.
    runs = {label: samples.result(waf=waf, timed=False) for label, waf in (("a", 2.0), ("b", 2.6))}
    runs["a"].summary["flash"]["block_erases"] = 3
    assert why_of(Comparison(runs))["b"] == "no WAF to compare with a: the notes say which run was too short."


def test_what_is_nearly_nothing_is_told_as_a_factor() -> None:
    why = reasons(a={"iops": 100_000}, b={"iops": 100}, c={"iops": 100_000_000})
    assert why["b"].startswith("1/1,000 of the IOPS of a")
    assert why["c"].startswith("1,000 times the IOPS of a")


SMALL = {
    "device.channels": 2, "device.chips_per_channel": 1, "device.dies_per_chip": 2, "device.planes_per_die": 4,
    "device.blocks_per_plane": 40, "device.pages_per_block": 96, "device.page_size": "16KiB", "device.cell": "tlc",
    "device.over_provisioning": 0.3, "workload.request_size": "16KiB", "run.precondition": "none",
}  # fmt: skip
OPEN = {
    "host.replay": "open",
    "workload.interval": "4ms",
    "workload.read_fraction": 0.5,
    "workload.volume": "0.3x",
}


def test_collections_in_idle_time_against_those_in_the_way_of_a_write() -> None:
    vary = {"ftl.gc_schedule": ["threshold", "background"]}
    aged = {**SMALL, **OPEN, "run.precondition": {"random": "0.5x"}, "ftl.allocation": "F2"}
    comparison = compare("tbm-small", vary=vary, sets=aged)
    threshold, background = comparison.figures.values()
    why = why_of(comparison)["background"]
    assert background.write_us.p9999 < threshold.write_us.p9999  # type: ignore[operator]
    assert background.gc_forward is not None
    share = f"{100 * background.gc_forward:.0f} %"
    assert f"but `background` collected {share} of its victims while idle" in why
    # What it costs is told, whichever way the mean went.
    assert f"WAF {background.waf:.2f} against {threshold.waf:.2f}" in why
    assert "GC at other times" not in why and "not for GC" not in why


def test_collections_in_step_with_writes_against_whole_ones() -> None:
    """What the engineer with a tail is told: writes do not wait for whole collections, at a price in WAF."""
    vary = {"ftl.gc_schedule": ["threshold", {"paced": {"free_blocks": 2}}]}
    aged = {
        **SMALL,
        **OPEN,
        "device.blocks_per_plane": 120,
        "device.pages_per_block": 33,
        "run.precondition": {"random": "0.5x"},
        "ftl.allocation": "F2",
        "ftl.reclaim_unit": "twin",
    }
    comparison = compare("tbm-small", vary=vary, sets=aged)
    threshold, paced = comparison.figures.values()
    why = list(comparison.reasons.values())[1]
    assert paced.foreground_per_gb == 0 and paced.gc_forward == 1
    # The mean hardly differs; the tail does.
    assert ". p99.9 of writes" in why
    tail = Comparison(comparison.results).results
    for result, mean in zip(tail.values(), (9_000.0, 900.0), strict=True):
        result.summary["host"]["latency_us"]["mean"] = mean
    why = list(why_of(Comparison(tail)).values())[1]
    assert ": `paced` moved 100 % of its victims a few pages at a time; `threshold` moved none ahead" in why
    assert paced.write_us.p999 < 0.3 * threshold.write_us.p999  # type: ignore[operator]
    assert paced.read_us.p999 < threshold.read_us.p999  # type: ignore[operator]


def test_planes_in_sequence_and_a_row_for_them_also_where_none_works() -> None:
    sets = {
        **SMALL,
        "workload.generator": "sequential",
        "workload.request_size": "256KiB",
        "workload.volume": "0.2x",
    }
    comparison = compare("tbm-small", vary={"ftl.allocation": ["F", "D"]}, sets=sets)
    why = why_of(comparison)["D"]
    assert "times the IOPS of F: programming a page took 400 µs against 1.60 ms" in why
    assert "more planes worked at once" in why
    only = compare("tbm-small", vary={"run.seed": [1, 2]}, sets=sets).table()
    assert (
        next(line for line in only.splitlines() if "host programs, multi-plane" in line).split()[-2:]
        == ["0.0"] * 2
    )


def test_a_buffer_against_none() -> None:
    comparison = compare("tbm-small", vary={"ftl.write_buffer": ["none", "fifo"]}, sets={**SMALL, **OPEN})
    why = why_of(comparison)["fifo"]
    assert (
        "of the mean latency of none: a write ends in the buffer (`fifo`, 2 MiB), not when programmed" in why
    )
    back = compare("tbm-small", vary={"ftl.write_buffer": ["fifo", "none"]}, sets={**SMALL, **OPEN}).reasons[
        "none"
    ]
    assert "a write ends when programmed, not in a buffer (`fifo`, 2 MiB)" in back


def test_the_price_of_a_lower_latency_is_its_waf() -> None:
    runs = {"a": samples.result(waf=2.0), "b": samples.result(waf=9.0)}
    for label, schedule, forward, mean in (("a", "threshold", 0, 900.0), ("b", "background", 900, 300.0)):
        summary = runs[label].summary
        summary["config"]["ftl"]["gc_schedule"] = schedule
        summary["config"]["host"]["replay"] = "open"
        summary["host"]["latency_us"]["mean"] = mean
        summary["gc"] |= {"invocations": 1000, "forward": forward, "foreground": 1000 - forward}
    why = why_of(Comparison(runs))["b"]
    ahead = "`background` collected 90 % of its victims while idle; `threshold` moved none ahead"
    assert why.startswith(f"67 % lower mean latency than a: {ahead}; but WAF 9.00 against 2.00")


def test_programs_and_erases_that_reads_suspend() -> None:
    """On a device that programs and erases all the time: in both directions, with the figures that show it."""
    sets = {
        **SMALL,
        "workload.read_fraction": 0.5,
        "workload.volume": "0.5x",
        "run.precondition": {"random": "0.5x"},
    }
    off = {"device.program_suspend": "off", "device.erase_suspend": "off"}
    on = {"device.program_suspend": "reads", "device.erase_suspend": "reads"}
    runs = {name: run("tbm-small", sets={**sets, **chips}) for name, chips in (("off", off), ("on", on))}
    found = runs["on"].summary["flash"]["suspends"]
    programs, erases = found["programs"], found["erases"]
    assert programs > 100 and erases > 0
    why = why_of(Comparison(runs))["on"]
    means = [runs[name].summary["host"]["read_latency_us"]["mean"] for name in ("on", "off")]
    took = f"a read took {duration(means[0])} against {duration(means[1])}"
    assert f"reads no longer wait for programs and erases: {took}" in why
    back = why_of(Comparison({name: runs[name] for name in ("on", "off")}))["off"]
    assert "reads wait until programs and erases are over: a read took" in back
    # What suspends add to the array's time is not a matter of planes.
    assert "planes worked" not in why and "planes worked" not in back
    # Of erases alone.
    one = {
        name: run("tbm-small", sets={**sets, **chips})
        for name, chips in (("on", on), ("programs", {**on, "device.erase_suspend": "off"}))
    }
    assert "reads wait until erases are over: a read took" in why_of(Comparison(one))["programs"]


def test_of_two_changes_suspends_do_not_claim_the_effect_of_the_other() -> None:
    runs = {"a": samples.result(), "b": samples.result()}
    chips = ({"reads": {"most": 8}}, "off")
    for (label, schedule), suspend, mean in zip(
        (("a", "paced"), ("b", "threshold")), chips, (90.0, 6_000.0), strict=True
    ):
        summary = runs[label].summary
        summary["config"]["ftl"]["gc_schedule"] = schedule
        summary["config"]["device"]["program_suspend"] = suspend
        summary["config"]["host"]["replay"] = "open"
        summary["host"]["latency_us"]["mean"] = summary["host"]["read_latency_us"]["mean"] = mean
    runs["a"].summary["flash"]["suspends"]["programs"] = 4_000
    why = why_of(Comparison(runs))["b"]
    assert "reads wait until programs are over (4,000 programs suspended there)" in why
    assert "a read took" not in why


def test_a_cause_that_hardly_counts_is_not_told_beside_one_that_does() -> None:
    why = reasons(
        a={"iops": 10_000, "program_us": 100, "waf": 3.0}, b={"iops": 4_000, "program_us": 200, "waf": 3.04}
    )
    assert "programming a page took 200 µs" in why["b"] and "WAF" not in why["b"]


def test_suspends_that_did_nothing_are_no_reason() -> None:
    runs = {"off": samples.result(iops=10_000), "on": samples.result(iops=9_000)}
    runs["on"].summary["config"]["device"]["program_suspend"] = {"reads": {"most": 8}}
    assert "suspended" not in why_of(Comparison(runs))["on"]


def test_wordlines_that_are_programmed_at_once() -> None:
    sets = {**SMALL, "device.timing.program": "700us", "ftl.allocation": "F2", "workload.volume": "0.3x",
            "workload.generator": "sequential", "host.queue_depth": 256}  # fmt: skip
    comparison = compare("tbm-small", vary={"device.programming": ["page", "one-shot"]}, sets=sets)
    page, shot = (figures.program_us for figures in comparison.figures.values())
    assert page is not None and shot is not None and shot < 0.5 * page
    why = why_of(comparison)["one-shot"]
    assert (
        f"the 3 pages of a wordline are programmed at once: a page took {duration(shot)} against {duration(page)}"
        in why
    )
    assert "planes worked" not in why
    back = Comparison(dict(reversed(comparison.results.items()))).reasons["page"]
    assert "pages are programmed one by one: a page took" in back


def test_wordlines_that_are_programmed_in_two_passes() -> None:
    sets = {**SMALL, "device.timing.program": "700us", "ftl.allocation": "F2", "workload.volume": "0.05x",
            "workload.generator": "uniform", "run.precondition": {"sequential": "1x"}}  # fmt: skip
    busy = {**sets, "host.queue_depth": 32, "workload.read_fraction": 0.5, "ftl.write_buffer": "lru"}
    comparison = compare(
        "tbm-small", vary={"device.programming": ["page", "one-shot", "two-pass"]}, sets=busy
    )
    share = {
        label: f"{100 * (1 - figures.channel_idle):.0f} %"
        for label, figures in comparison.figures.items()
        if figures.channel_idle is not None
    }
    sent = "data are sent twice: channels were busy {} against {}"
    why = why_of(comparison)["two-pass"]
    assert why.startswith("10 % fewer IOPS than page: " + sent.format(share["two-pass"], share["page"]))
    shot = {label: comparison.results[label] for label in ("one-shot", "two-pass")}
    why = why_of(Comparison(shot))["two-pass"]
    assert sent.format(share["two-pass"], share["one-shot"]) in why and "one by one" not in why
    assert "and writes wait for both passes" in why
    back = Comparison(dict(reversed(shot.items()))).reasons["one-shot"]
    assert f"data are sent once, not twice: channels were busy {share['one-shot']}" in back


def test_wordlines_that_writes_wait_for() -> None:
    sets = {**SMALL, "device.timing.program": "700us", "ftl.allocation": "F2", "workload.volume": "0.05x",
            "workload.generator": "uniform", "host.queue_depth": 1}  # fmt: skip
    comparison = compare(
        "tbm-small", vary={"device.programming": ["page", "one-shot", "two-pass"]}, sets=sets
    )
    shares = [f"{100 * figures.filled:.0f} %" for figures in comparison.figures.values()]
    assert shares[:2] == ["0 %", "67 %"], "of a wordline of a TLC chip two pages"
    for label, dummies in (("one-shot", shares[1]), ("two-pass", shares[2])):
        told = f"{dummies} of programs filled up wordlines against 0 %"
        assert f" page: {told}" in why_of(comparison)[label]
    back = Comparison(dict(reversed(comparison.results.items()))).reasons
    assert f"{shares[1]} of programs filled up wordlines against {shares[2]}" in back["one-shot"]
    assert "0 % of programs filled up wordlines" in back["page"]


def test_where_channels_are_the_limit_nobody_waits_for_dies() -> None:
    runs = {"a": samples.result(), "b": samples.result(iops=9_000)}
    runs["b"].summary["utilisation"]["die"]["idle"] = 0.5
    assert "while requests waited for other dies" in why_of(Comparison(runs))["b"]
    runs["b"].summary["utilisation"]["channel"]["idle"] = 0.01
    assert "while requests waited for channels" in why_of(Comparison(runs))["b"]


def test_the_lowest_tail_is_named_with_its_waf() -> None:
    runs = {"a": samples.result(waf=2.0, iops=8_000), "b": samples.result(waf=3.0, iops=10_000),
            "c": samples.result(waf=3.5, iops=9_900), "d": samples.result(waf=2.5, iops=5_000)}  # fmt: skip
    comparison = Comparison(runs)
    tail = [duration(figures.read_us.p999) for figures in comparison.figures.values() if figures.read_us.p999]
    assert comparison.lowest["reads"] == (
        f"{tail[1]} with b, at a WAF of 3.00; within 5 % of that: c ({tail[2]}, at a WAF of 3.50). "
        f"The lowest WAF, 2.00, has a, with a p99.9 of {tail[0]}."
    )
    assert comparison.to_json()["lowest_p999"] == comparison.lowest
    assert "- Lowest p99.9 of writes: " in comparison.markdown()
    assert Comparison({"a": samples.result(), "b": samples.result()}).lowest == {}
    thrifty = Comparison({"a": samples.result(waf=2.0), "b": samples.result(waf=3.0, iops=5_000)}).lowest
    assert thrifty["reads"].endswith("with a, at a WAF of 2.00, the lowest too.")
    assert Comparison({"a": samples.result(timed=False), "b": samples.result(timed=False)}).lowest == {}


def test_what_else_a_scheduler_and_a_buffer_may_say() -> None:
    runs = {"a": samples.result(iops=10_000), "b": samples.result(iops=10_000)}
    for label, bound, gc, loss, flush in (
        ("a", "0ns", "non-preemptible", "volatile", 700.0), ("b", "5ms", "preemptible", "protected", 0.0),
    ):  # fmt: skip
        summary = runs[label].summary
        summary["config"]["ftl"]["scheduler"] = {"paq": {"gc": gc, "max_wait": bound}}
        summary["config"]["ftl"]["write_buffer"] = {"fifo": {"size": "64MiB", "power_loss": loss}}
        summary["host"]["flush_latency_us"]["mean"] = flush
        summary["host"]["read_latency_us"]["mean"] = 900.0 if gc == "non-preemptible" else 700.0
        summary["host"]["write_latency_us"]["mean"] = 2_000.0 if bound == "0ns" else 1_500.0
    for label, told in (
        ("a", ("reads go before writes for ever, not for 5ms: "
               "a write took 2.00 ms against 1.50 ms",
               "reads wait until a collection is over: 900 µs against 700 µs",
               "a FLUSH waits until a volatile buffer is programmed: 700 µs against 0 µs")),
        ("b", ("reads go before writes for 5ms, not for ever: ",
               "reads are served between the steps of a collection: ",
               "a protected buffer ends a FLUSH at once: 0 µs against 700 µs")),
    ):  # fmt: skip
        other = next(name for name in runs if name != label)
        figures = Comparison(runs).figures
        texts = [cause.text for cause in causes(figures[label], figures[other])]
        assert all(any(text.startswith(one) for text in texts) for one in told), texts


def test_the_table_has_percentiles_of_reads_and_of_writes() -> None:
    rows = {" ".join(line.split()[:3]) for line in Comparison({"a": samples.result()}).table().splitlines()}
    assert {f"{kind} latency, {one}" for kind in ("read", "write") for one in ("p50", "p99", "p99.9")} <= rows


def test_every_latency_has_a_unit_of_its_own_and_three_digits() -> None:
    runs = {"quick": samples.result(iops=4_000_000), "slow": samples.result(iops=4_000)}
    for label, us in (("quick", 0.7312), ("slow", 2_314_000.0)):
        runs[label].summary["host"]["write_latency_us"]["p999"] = us
    comparison = Comparison(runs)
    row = next(line for line in comparison.table().splitlines() if line.startswith("write latency, p99.9 "))
    assert row.split()[3:] == ["0.731", "µs", "2.31", "s"]
    assert "| write latency, p99.9 | 0.731 µs | 2.31 s |" in comparison.markdown()
    [shown] = [words for title, _, words in plot.headlines(runs) if title == "write latency, p99.9"]
    assert shown == ["0.731 µs", "2.31 s"]
    for value, told in (
        (0.0, "0 µs"),
        (0.0234, "0.0234 µs"),
        (9.999, "10.0 µs"),
        (999.6, "1.00 ms"),
        (2314.0, "2.31 ms"),
    ):
        assert duration(value) == told


@pytest.mark.parametrize(("interval", "flooded"), [("100us", True), ("430us", False), ("4ms", False)])
def test_overload_is_a_queue_that_grows(interval: str, flooded: bool) -> None:
    # Four dies at 1.6 ms a page serve a request every 400 µs.
    sets = {**SMALL, **OPEN, "workload.interval": interval, "workload.read_fraction": 0.0}
    result = run("tbm-small", sets=sets)
    found = overload(result)
    if not flooded:
        assert found is None
        return
    assert found is not None and found.served == pytest.approx(0.25, abs=0.05)
    assert found.late_us > 2 * found.early_us
    closed = run("tbm-small", sets={**SMALL, "workload.volume": "0.3x"})
    assert overload(closed) is None


def test_a_wait_for_a_place_is_said_with_its_cure() -> None:
    # Bursts of thirty reads every 100 ms, far below what the device does in that time.
    sets = {**SMALL, **OPEN, "workload.interval": "1us", "workload.read_fraction": 1.0, "workload.idle_every": 30,
            "workload.idle_for": "100ms", "workload.requests": 3000,
            "run.precondition": {"sequential": "1x"}}  # fmt: skip
    told = {}
    for depth in ("unlimited", 30, 2):
        result = run("tbm-small", sets={**sets, "host.queue_depth": depth})
        assert overload(result) is None and "latency_parts" not in result.summary
        told[depth] = [note for note in notes(result) if note.startswith("kept outside")], admission(result)
    assert told["unlimited"] == told[30] == ([], None)
    (note,), kept = told[2]
    assert kept is not None and kept.kind == "read" and 0.5 < kept.fraction < 1
    assert "one of the 2 places of host.queue_depth" in note and "host.queue_depth=unlimited" in note
    closed = run("tbm-small", sets={**SMALL, "workload.volume": "0.1x"})
    assert closed.summary["host"]["admission"] is None and admission(closed) is None
