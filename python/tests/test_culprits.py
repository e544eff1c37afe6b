"""Devices that are broken on purpose: `explain-tail` names what is broken, and does not name it where it is not."""

from __future__ import annotations

import functools
import json
import re
import tomllib
from typing import Any, NamedTuple

import numpy as np
import pytest
import samples

import ftlab as lab
from ftlab.reports import sections, sources
from ftlab.results import plot, tail
from ftlab.results.culprit import Culprit, culprit
from ftlab.results.latency_parts import PARTS, Around

HEALTHY = """\
# Eight dies that keep up: chips that suspend, paced GC, a deep queue, a buffer of two blocks for each die.
[device]
channels = 4
chips_per_channel = 1
dies_per_chip = 2
planes_per_die = 1
blocks_per_plane = 64
pages_per_block = 64
page_size = "16KiB"
cell = "slc"
over_provisioning = "25%"
program_suspend = "reads"
erase_suspend.reads.interval = "50us"

[device.timing]
read = "50us"
program = "500us"
erase = "5ms"
channel_rate = "1200MT/s"

[ftl]
allocation = "CWDP"
scheduler = "paq"
gc_schedule = "paced"
write_buffer.fifo = { size = "8MiB", flush = "free" }

[host]
replay = "open"
queue_depth = 256

[workload]
generator = "uniform"
request_size = "16KiB"
read_fraction = 0.7
interval = "400us"
poisson = true
requests = 20_000

[run]
precondition = "steady"
latency_parts = true
seed = 3
"""


class Device(NamedTuple):
    """A device that is broken, and what has to be found."""

    load: dict[str, Any]
    """What brings it to light; the healthy device bears it."""
    fault: dict[str, Any]
    kind: str
    culprit: str
    setting: str
    words: str


BROKEN = {
    "threshold GC": Device(
        {"workload.interval": "200us", "host.queue_depth": 16, "ftl.write_buffer": "none"},
        {"ftl.gc_schedule": "threshold"},
        "read", "gc", "ftl.gc_schedule",
        "while it waited for a place in the device, whose holders waited for that",
    ),
    "no suspend": Device(
        {}, {"device.program_suspend": "off", "device.erase_suspend": "off"},
        "read", "erase", "device.erase_suspend", "its die erased a block",
    ),
    "shallow queue": Device(
        {"workload.interval": "40us", "workload.read_fraction": 0.95}, {"host.queue_depth": 2},
        "read", "queue-depth", "host.queue_depth", "the device takes only 2 requests at once for 8 dies",
    ),
    "small buffer": Device(
        {}, {"ftl.write_buffer.fifo.size": "32KiB"},
        "write", "write-buffer", "ftl.write_buffer", "the write buffer holds only 2 pages for 8 dies",
    ),
    "one slow die": Device(
        {}, {"device.slow_die.one.die": 5, "device.slow_die.one.factor": 6.0},
        "read", "slow-die", "device.slow_die", "(channel 2, chip 0 die 1): its reads took",
    ),
}  # fmt: skip


@functools.cache
def run(name: str, *, is_broken: bool) -> lab.Result:
    device = BROKEN[name]
    return lab.run(tomllib.loads(HEALTHY), sets=device.load | (device.fault if is_broken else {}))


def explained(name: str, *, is_broken: bool) -> tuple[lab.Result, Around, Culprit | None]:
    result = run(name, is_broken=is_broken)
    found = tail.chosen(result, "out", BROKEN[name].kind, "p99.9")
    return result, found, culprit(result, found)


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_named(name: str) -> None:
    device = BROKEN[name]
    result, found, cause = explained(name, is_broken=True)
    said = " ".join(tail.explanation(result, found).split())
    assert cause is not None
    assert (cause.name, device.setting in cause.settings) == (device.culprit, True), said
    assert device.words in said and device.setting in said.partition("Settings that act on")[2]


@pytest.mark.parametrize("name", BROKEN)
def test_a_device_that_is_not_broken_so_is_not_accused(name: str) -> None:
    device = BROKEN[name]
    result, found, cause = explained(name, is_broken=False)
    assert cause is None or cause.name != device.culprit, tail.explanation(result, found)
    broken = explained(name, is_broken=True)[1]
    assert broken.percentile_us > 1.5 * found.percentile_us, "it is worth to be found"


def drive(requests: int = 3000, **sets: Any) -> lab.Result:
    """The healthy device, with `__` for dots."""
    more = {name.replace("__", "."): value for name, value in sets.items()}
    return lab.run(tomllib.loads(HEALTHY), sets={"workload.requests": requests} | more)


def accused(result: lab.Result, at: str) -> tuple[Culprit, str]:
    found = tail.chosen(result, "out", "read", at)
    cause = culprit(result, found)
    assert cause is not None
    return cause, " ".join(tail.explanation(result, found).split())


def reads(die_of: list[int], interval_s: float) -> dict[str, Any]:
    """A trace of reads, each of a page of that die, behind a write of all of them."""
    page, count = 16384, len(die_of)
    return {
        "time": [0.0, *(10 + number * interval_s for number in range(count))],
        "op": ["W", *["R"] * count],
        "offset": [0, *((8 * number + die) * page for number, die in enumerate(die_of))],
        "size": [count * 8 * page, *[page] * count],
    }


def test_a_die_that_has_most_of_the_load_is_busy_and_not_slow() -> None:
    # The stripes of `CWDP` count channels first: number 2 of the stripe is channel 2, chip 0 die 0.
    die_of = [2 if number % 5 else number % 8 for number in range(2000)]
    base = tomllib.loads(HEALTHY)
    del base["workload"]
    sets = {"run.precondition": "none", "ftl.write_buffer": "none"}
    cause, said = accused(lab.run(base, sets=sets, trace=reads(die_of, 45e-6)), "p99")
    assert (cause.name, cause.die, cause.settings) == ("busy-die", 4, ("ftl.allocation",)), said
    assert "one die of 8 (channel 2, chip 0 die 0): it had" in said


def test_too_much_of_it_is_an_overload() -> None:
    result = drive(workload__read_fraction=1.0, workload__interval="3us", run__precondition__sequential="1x")
    cause, said = accused(result, "p99")
    assert (cause.name, "host.time_scale" in cause.settings) == ("overload", True), said
    assert "requests come faster than the device serves them" in said


def test_what_others_held_adds_up() -> None:
    result = drive(
        host__queue_depth=3,
        workload__interval="100us",
        ftl__write_buffer__fifo__size="48KiB",
        run__per_request=True,
    )
    rows = result.tables["requests"]
    admission = np.sum([rows[f"admission_{part}_ns"] for part in PARTS], axis=0)
    buffer = np.sum([rows[f"buffer_{part}_ns"] for part in PARTS], axis=0)
    assert np.array_equal(admission, rows["admission_ns"]) and admission.any()
    assert np.array_equal(buffer, rows["buffer_ns"] + rows["admission_buffer_ns"]) and buffer.any()
    found = tail.chosen(result, "out", "read", "mean")
    ways = {share.way for share in found.shares()}
    assert ways >= {"", "admission", "admission buffer"}
    assert sum(share.us for share in found.shares()) == pytest.approx(found.latency_us)
    told = tail.to_json(result, "out", found)
    assert sum(cause["share"] for cause in told["causes"]) == pytest.approx(1)
    ways_told = [cause["way"] for cause in told["causes"] if cause["part"] == "host_program"]
    assert ["admission", "buffer"] in ways_told and [] in ways_told
    assert told["culprit"]["settings"] and told["culprit"]["name"] and told["dies"][0]["us"] > 0
    said = tail.explanation(result, found)
    assert "admission > buffer > host programs" in said and max(map(len, said.splitlines())) <= 80
    figure = plot.latency_parts({"": result})
    assert figure is not None and any("held" in words.get_text() for words in figure.legends[0].get_texts())


def test_results_of_older_versions_are_explained_as_they_were() -> None:
    result = drive(host__queue_depth=1, workload__interval="50us", workload__read_fraction=1.0)
    summary = json.loads(json.dumps(result.summary))
    del summary["latency_parts"]["dies"]
    for level in summary["latency_parts"]["read"].values():
        for name in ("admission_us", "buffer_us", "idle_dies", "dies"):
            del level[name]
        for example in level["examples"]:
            del example["admission_us"], example["buffer_us"]
    cause, said = accused(lab.Result(summary, {}), "p99")
    assert cause.name == "admission" and "it waited for a place in the device." in said


def test_the_report_says_what_tails_waited_for() -> None:
    page = sections.body(sources.Run("drive", run("shallow queue", is_broken=True)))
    said = " ".join(re.sub(r"<[^>]*>", " ", str(page)).replace("\u00a0", " ").split())
    assert "What latencies went to" in said
    assert "Reads at p99.9:" in said and "the device takes only 2 requests at once for 8 dies" in said
    plain = str(sections.body(sources.Run("plain", samples.result())))
    assert "What latencies went to" not in plain
