"""The line that says why runs differ names the cause that was put there."""

from __future__ import annotations

import samples

from ftlab import Comparison


def reasons(**runs: dict[str, float]) -> dict[str, str]:
    return Comparison({label: samples.result(**settings) for label, settings in runs.items()}).reasons  # type: ignore[arg-type]


def test_write_amplification_is_named() -> None:
    why = reasons(greedy={"waf": 2.0, "iops": 10_000}, fifo={"waf": 3.0, "iops": 6_000})
    assert why["greedy"].startswith("reference: WAF 2.00")
    assert why["fifo"].startswith("40 % fewer IOPS than greedy: WAF is 3.00 against 2.00")
    assert "67 % valid pages against 50 %" in why["fifo"]


def test_planes_are_named() -> None:
    why = reasons(pairs={"program_us": 200, "iops": 10_000}, single={"program_us": 400, "iops": 7_000})
    assert (
        "30 % fewer IOPS than pairs: a programmed page took 400 µs of die time against 200 µs"
        in why["single"]
    )
    assert "fewer planes" in why["single"]


def test_what_pulls_the_other_way_is_told() -> None:
    why = reasons(a={"waf": 2.0, "iops": 10_000}, b={"waf": 3.0, "iops": 12_000, "program_us": 150})
    assert why["b"].startswith(
        "20 % more IOPS than a: a programmed page took 150 µs of die time against 300 µs"
    )
    assert "although WAF is 3.00 against 2.00" in why["b"]


def test_no_cause_is_invented() -> None:
    why = reasons(a={"iops": 10_000}, b={"iops": 8_000}, c={"iops": 10_010})
    assert "the same shares of GC, planes and idle dies, which leaves the timing of GC" in why["b"]
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
    why = Comparison(runs).reasons["b"]
    assert "GC at other times (`background` against `threshold`)" in why
    assert "not for GC" not in why


def test_what_is_nearly_nothing_is_told_as_a_factor() -> None:
    why = reasons(a={"iops": 100_000}, b={"iops": 100}, c={"iops": 100_000_000})
    assert why["b"].startswith("1/1,000 of the IOPS of a")
    assert why["c"].startswith("1,000 times the IOPS of a")
