"""What a run needs is told beforehand, is about what it takes, and is refused where there is not as much."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import TINY

import ftlab
from ftlab import _core

LARGE = {
    "device.blocks_per_plane": 2000,
    "device.pages_per_block": 256,
    "workload.requests": 1000,
    "run.executor": "count",
    # Every page of every block is written.
    "run.precondition": {"random": "0.6x"},
}

MEASURE = """
import json, sys, ftlab
from ftlab import _core
from ftlab.api.configs import set_list

def bytes_of(name):
    status = open("/proc/self/status")
    return next(int(line.split()[1]) * 1024 for line in status if line.startswith(name))

toml, sets = sys.argv[1], json.loads(sys.argv[2])
ftlab.run(toml, sets={"workload.requests": 50})
before = bytes_of("VmRSS")
needed = _core.memory_needed("text", toml, set_list(sets))
ftlab.run(toml, sets=sets)
print(needed, bytes_of("VmHWM") - before)
"""


@pytest.mark.parametrize(
    "sets",
    [
        {"device.blocks_per_plane": 4000},
        {"run.payload": "stamp"},
        {"ftl.mapping.dftl.cache": "1GiB", "ftl.allocation": "CWDP"},
        {
            "device.pages_per_block": 4,
            "device.blocks_per_plane": 100_000,
            "ftl.block_allocation": "least-worn",
        },
    ],
    ids=["maps", "stamps", "cache", "blocks"],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the figures are those of /proc")
def test_the_estimate_is_about_what_is_taken(sets: dict[str, Any]) -> None:
    arguments = [sys.executable, "-c", MEASURE, TINY, json.dumps({**LARGE, **sets})]
    needed, taken = map(int, subprocess.run(arguments, capture_output=True, check=True).stdout.split())
    assert taken > 40e6, "else what every run takes hides the rest"
    # Refusing too much is a nuisance; too little, a crash.
    assert taken <= needed <= 1.2 * taken + 16e6


def limited(
    megabytes: int, arguments: Sequence[str], which: int = resource.RLIMIT_AS
) -> tuple[int, str, str]:
    def limit() -> None:
        resource.setrlimit(which, (megabytes << 20, megabytes << 20))

    done = subprocess.run(
        [sys.executable, "-m", "ftlab", *arguments], capture_output=True, encoding="utf-8", preexec_fn=limit,
        check=False, timeout=300,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("which", "name"), [(resource.RLIMIT_AS, "-v"), (resource.RLIMIT_DATA, "-d")])
def test_what_a_limit_does_not_allow_is_refused_and_the_rest_runs(tiny: Path, which: int, name: str) -> None:
    def run(blocks: int) -> tuple[int, str]:
        sets = [f"device.blocks_per_plane={blocks}", "device.pages_per_block=256", "run.executor=count",
                "run.precondition=none", "workload.requests=100"]  # fmt: skip
        code, _, err = limited(1500, ["run", str(tiny), *(f"--set={setting}" for setting in sets)], which)
        return code, err

    code, err = run(1_000_000)
    assert code == 2, err
    found = re.search(r"needs (\d+\.\d) GB of memory, and there are (\d+\.\d) [GM]B", err)
    assert found, err
    assert f"limited by `ulimit {name}`" in err
    most = re.search(r"`blocks_per_plane` can be at most (\d+)", err)
    assert most, err
    assert run(int(most[1]) * 95 // 100)[0] == 0
    assert run(int(most[1]) * 105 // 100)[0] == 2


def test_a_large_cache_is_refused_at_its_key(tiny: Path) -> None:
    sets = ["ftl.mapping.dftl.cache=500GiB", "ftl.allocation=CWDP", "device.blocks_per_plane=300000",
            "device.pages_per_block=64", "run.precondition=none"]  # fmt: skip
    code, out, err = limited(3000, ["run", str(tiny), *(f"--set={setting}" for setting in sets)])
    assert (code, out) == (2, "")
    assert "--> --set ftl.mapping.dftl.cache=500GiB" in err
    assert "`mapping.dftl.cache` can be at most" in err


def test_a_trace_over_a_huge_address_space_has_its_footprint(tmp_path: Path) -> None:
    wide = tmp_path / "wide.csv"
    sizes = [(i * 2**40 + 4096, 2**31) for i in range(3000)]
    wide.write_text("".join(f"{10**15 + i},h,0,Write,{at},{size},1\n" for i, (at, size) in enumerate(sizes)))
    code, out, err = limited(1500, ["trace", "info", str(wide), "--json"])
    assert code == 0, err
    assert json.loads(out)["footprint_mib"] == 3000 * 2**31 / 2**20


def test_requests_that_do_not_fit_end_the_run_with_the_figure(tiny: Path, tmp_path: Path) -> None:
    trace = tmp_path / "long.csv"
    trace.write_text("".join(f"{10**15 + i},h,0,Write,0,{2**30},1\n" for i in range(5000)))
    sets = ["host.queue_depth=65536", "device.blocks_per_plane=400", "run.precondition=none"]
    arguments = ["run", str(tiny), "--trace", str(trace), *(f"--set={setting}" for setting in sets)]
    code, out, err = limited(1500, arguments)
    assert (code, out) == (1, "")
    assert "pages, which need" in err
    assert "hint: set a smaller `host.queue_depth`" in err


def test_runs_at_once_have_memory_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = _core.memory_needed("text", TINY, [])
    monkeypatch.setattr(_core, "memory_room", lambda: (2 * needed + needed // 2, "a test"))
    vary = {"run.seed": [1, 2, 3, 4], "workload.requests": [100]}
    with pytest.raises(ftlab.ConfigError, match="`jobs` is 4, and 4 runs at once need") as refused:
        ftlab.compare(TINY, vary=vary, jobs=4)
    assert "expected at most 2; limited by a test" in str(refused.value)
    assert len(ftlab.compare(TINY, vary=vary, jobs=2).results) == 4
    # Without a number there are as many as fit.
    assert len(ftlab.compare(TINY, vary=vary).results) == 4
