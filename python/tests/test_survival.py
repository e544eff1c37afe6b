"""Which protection survives which fault: the matrix, its reasons, and the cost of a restart."""

from __future__ import annotations

import json

import pytest

from ftlab import _core
from ftlab_reproduce import survival
from ftlab_reproduce.survival import CELLS, EXPECTED, PROTECTIONS, TROUBLES, Trial, Trouble


def tally(protection: str, cell: str, trouble: Trouble) -> dict[str, int]:
    source = json.dumps(survival.config(protection, cell))
    result: dict[str, int] = json.loads(_core.survival("json", source, [], trouble, seeds=1, stride=9))
    return result


@pytest.mark.parametrize(("protection", "trouble"), EXPECTED)
def test_what_the_paper_argues_holds(protection: str, trouble: Trouble) -> None:
    found = tally(protection, "MLC shadow", trouble)
    assert found["runs"] > 20
    assert (found["losing"] == 0) is EXPECTED[protection, trouble]


def test_a_victim_that_is_erased_at_once_is_caught() -> None:
    source = json.dumps(survival.config("GCMix, victim erased at once", "TLC shadow"))
    found = json.loads(_core.survival("json", source, [], "program-failure", seeds=1, stride=3))
    assert found["losing"] > 0
    assert found["first"]["promised"] > 0


def trial(protection: str, trouble: Trouble, losing: int) -> Trial:
    first = {"seed": 3, "at": 1234, "during": True, "lpn": 7, "promised": 9, "found": 0}
    return Trial(protection, "MLC shadow", trouble, 100, losing, 90, 5, first if losing else None)


def test_every_loss_has_its_reason_under_the_table() -> None:
    trials = [trial("none", "power-cut", 12), trial("supercap", "power-cut", 0)]
    for text in (survival.table(trials), survival.plain_table(trials)):
        assert "loses in 12 of 100" in text
        assert "survives 100" in text
        words = " ".join(text.split())
        assert "none, power cut: the interrupted program takes the lower pages" in words
        assert "operation 1,234: page 7 read as nothing, version 9 was durable" in words
        assert "supercap, power cut:" not in words


def test_every_expected_loss_has_a_reason() -> None:
    for (protection, trouble), survives in EXPECTED.items():
        if not survives and trouble != "second-cut":
            assert (protection, trouble) in survival.REASONS


def test_parity_backup_is_for_cells_of_two_bits() -> None:
    possible = {cell for cell in CELLS if survival.is_possible("parity backup", cell)}
    assert possible == {"MLC consecutive", "MLC shadow"}
    assert {trouble for _, trouble in EXPECTED} == set(TROUBLES)
    assert {protection for protection, _ in EXPECTED} < set(PROTECTIONS)


def test_faults_need_pages_that_store_something() -> None:
    source = json.dumps(survival.config("none", "MLC shadow"))
    with pytest.raises(_core.InputError, match="payload"):
        _core.survival("json", source, ['run.payload="none"'], "power-cut", seeds=1, stride=9)


def test_a_restart_reads_a_spare_area_per_programmed_page() -> None:
    cost = survival.restart(1 / 256)
    raw = 32 * 1024 * 1024 // 8 // 256
    assert 0.7 * raw < cost["pages_read"] <= raw
    assert cost["spare_bytes_per_page"] == 16
    assert "16 bytes of spare" in survival.restart_line(cost)
