"""What a drive promises: in the summary, on the screen, and in the names of NVMe."""

from __future__ import annotations

from pathlib import Path

import ftlab
from ftlab.results import smart, text

WINDOWS = {"deterministic": "20us", "nondeterministic": "200us"}


def test_a_drive_promises_a_page_and_zeros(tiny: Path) -> None:
    result = ftlab.run(tiny, sets={"workload.requests": 500})
    promises = result.summary["promises"]
    page = promises["awupf_bytes"]
    assert page == promises["nawupf_bytes"] == promises["nabspf_bytes"]
    told = smart.values(result)
    assert told["Identify"]["AWUPF"] == page // 512 - 1
    assert told["Identify"]["DLFEAT"] == 1
    assert "PLM" not in told


def test_larger_writes_are_whole_where_the_buffer_outlives_the_power(tiny: Path) -> None:
    buffer = "ftl.write_buffer.fifo"
    sets = {f"{buffer}.size": "1MiB", f"{buffer}.power_loss": "protected", f"{buffer}.atomic_write": "64KiB"}
    result = ftlab.run(tiny, sets={**sets, "ftl.deallocated_reads": "ones", "workload.requests": 500})
    told = smart.values(result)["Identify"]
    assert (told["AWUPF"], told["NAWUPF"], told["NABSPF"], told["DLFEAT"]) == (127, 127, None, 2)


def test_windows_are_on_the_screen_and_in_the_log(tiny: Path) -> None:
    sets = {f"ftl.gc_schedule.windows.{name}": value for name, value in WINDOWS.items()}
    result = ftlab.run(tiny, sets={**sets, "workload.read_fraction": 0.5})
    windows = result.summary["windows"]
    assert windows["begun"] > 0
    assert len(result.tables["windows"]["from_s"]) == windows["begun"]
    assert "deterministic windows: " in text.run_summary(result, "tiny")
    assert smart.values(result)["PLM"]["Deterministic Excursions"] == windows["excursions"]
