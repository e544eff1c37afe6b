"""Several hosts on one drive: their results on the screen, in reports and in comparisons with each alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Ftlab

import ftlab
from ftlab.cli.config_commands import schema
from ftlab.results.tenants import fairness

SHARED: dict[str, Any] = {
    "preset": "tbm-small",
    "device": {"blocks_per_plane": 8, "over_provisioning": 0.5},
    "run": {"precondition": {"sequential": "1x"}},
    "host": {"queue_depth": 8},
    "tenant": [
        {
            "name": "reader", "namespace": "50%", "generator": "uniform", "read_fraction": 1.0,
            "queue_depth": 2, "requests": 400,
        },
        {"name": "writer", "namespace": "50%", "generator": "uniform", "queue_depth": 16},
    ],
}  # fmt: skip


def text() -> str:
    tenants = "".join(
        "[[tenant]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in tenant.items())
        for tenant in SHARED["tenant"]
    )
    return (
        'preset = "tbm-small"\ndevice.blocks_per_plane = 8\ndevice.over_provisioning = 0.5\n'
        f'run.precondition.sequential = "1x"\nhost.queue_depth = 8\n{tenants}'
    )


def test_a_comparison_has_each_alone() -> None:
    comparison = ftlab.compare([SHARED])
    assert list(comparison.results) == ["config", "reader alone", "writer alone"]
    together, alone = comparison.results["config"], comparison.results["writer alone"]
    writer = together.summary["tenants"][1]
    # One without an end has as many requests alone as beside the others.
    assert alone.summary["tenants"][1]["writes"] == writer["writes"] > 400
    assert alone.summary["tenants"][0]["reads"] == 0
    found = {slowdown.tenant: slowdown for slowdown in comparison.slowdowns}
    assert found["reader"].factor > found["writer"].factor > 0.9
    reader = comparison.results["reader alone"].summary
    assert (
        found["reader"].alone_us
        == reader["tenants"][0]["latency_us"]["mean"]
        == reader["host"]["latency_us"]["mean"]
    )
    assert fairness(comparison.slowdowns) == pytest.approx(found["reader"].factor / found["writer"].factor)
    kept = comparison.to_json()
    assert kept["fairness"] == fairness(comparison.slowdowns)
    assert [tenant["tenant"] for tenant in kept["tenants"]] == ["reader", "writer"]
    assert "| reader |" in comparison.markdown() and "fairness" in str(comparison)


def test_the_screen_and_the_report_have_tenants(tmp_path: Path, ftlab: Ftlab) -> None:
    (tmp_path / "shared.toml").write_text(text())
    screen = ftlab("run", "shared.toml", "--out", "out")
    assert "2 tenants: reader, writer, round-robin(burst=1) arbitration" in screen.stdout
    assert "\n  reader " in screen.stdout and "\n  writer " in screen.stdout
    ftlab("report", "out", "--out", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "2 tenants: reader, writer" in page and "Each host by itself" in page
    screen = ftlab("compare", "shared.toml", "--out", "both")
    assert "fairness" in screen.stdout
    ftlab("report", "both", "--out", "both.html")
    assert "Each among the others, and alone" in (tmp_path / "both.html").read_text()


def test_the_tail_of_a_tenant_names_its_neighbour(tmp_path: Path, ftlab: Ftlab) -> None:
    (tmp_path / "shared.toml").write_text(text())
    screen = ftlab("run", "shared.toml", "--set", "run.latency_parts=true", "--out", "out").stdout
    assert "  reader read " in screen and "other tenants" in screen
    said = ftlab("explain-tail", "out", "--tenant", "reader", "--at", "mean").stdout
    assert said.startswith("reads of reader, mean of all 400: ")
    said = " ".join(said.split())
    assert "The other tenant was writer." in said and "tenant.writer.queue_depth" in said
    found = json.loads(ftlab("explain-tail", "out", "--tenant", "reader", "--json").stdout)
    assert found["tenant"] == "reader" and [each["name"] for each in found["neighbours"]] == ["writer"]
    assert sum(each["us"] for each in found["neighbours"]) == pytest.approx(found["parts_us"]["other_tenant"])
    assert (
        "other tenants"
        not in ftlab("explain-tail", "out", "--tenant", "writer", "--at", "p50").stdout.split("%")[0]
    )
    assert (
        "expected one of `reader`, `writer`" in ftlab("explain-tail", "out", "--tenant", "x", code=2).stderr
    )
    assert "has no reads" in ftlab("explain-tail", "out", "--tenant", "writer", "--reads", code=2).stderr
    ftlab("report", "out", "--out", "page.html")
    assert "Reads of reader at p99.9" in (tmp_path / "page.html").read_text()


def test_one_tenant_is_nothing_to_compare(tmp_path: Path, ftlab: Ftlab) -> None:
    (tmp_path / "one.toml").write_text(text())
    found = ftlab("compare", "one.toml", "--set", "tenant.writer.idle=true", code=2)
    assert "nothing to compare it with" in found.stderr


def test_the_schema_has_tenants_with_the_keys_of_a_workload() -> None:
    tenant = schema()["properties"]["tenant"]
    assert tenant["type"] == "array" and tenant["items"]["required"] == ["name"]
    assert {"name", "weight", "generator", "replay", "queue_depth"} <= set(tenant["items"]["properties"])
    assert "executor" not in tenant["items"]["properties"]


def test_the_longest_request_of_a_full_queue_is_told_by_tenant() -> None:
    sets = {"tenant.writer.queue_depth": 4000, "host.queue_depth": 4, "tenant.reader.requests": 3000}
    notes = ftlab.run(SHARED, sets=sets).summary["notes"]
    assert any(
        "the queue of tenant writer" in note and "tenant.writer.queue_depth" in note for note in notes
    ), notes
