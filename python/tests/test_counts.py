"""The structure of the engine, by counts that never rise, and whether the counting counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence import counts


def test_no_count_is_above_its_limit() -> None:
    allowed = counts.written(counts.PAGE.read_text(encoding="utf-8"))
    rose = [
        f"{row.what}: {row.now}, and {allowed[row.what]} at most"
        for row in counts.rows()
        if row.now > allowed[row.what]
    ]
    assert not rose, "docs/adding-a-policy.md allows less:\n" + "\n".join(rose)


def test_the_page_has_every_count_with_its_aim() -> None:
    page = counts.PAGE.read_text(encoding="utf-8")
    table = counts.table(counts.rows(), counts.written(page))
    assert f"{counts.BEGIN}\n{table}\n{counts.END}" in page, (
        "`python -m evidence.counts --write` writes it anew"
    )


def test_a_limit_falls_to_the_aim_and_does_not_rise() -> None:
    row = counts.Row("questions", 7, 5)
    assert [row.ceiling(before) for before in (None, 6, 9)] == [7, 6, 7]
    assert counts.Row("questions", 2, 5).ceiling(9) == 5


@pytest.fixture
def crates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources of a small engine, to be written."""
    monkeypatch.setattr(counts, "CRATES", tmp_path)
    (tmp_path / "device/src/timed/plain").mkdir(parents=True)
    return tmp_path / "device/src"


def test_questions_are_counted_outside_comments_tests_and_the_folder_for_them(crates: Path) -> None:
    asks = "fn f() { plan.is_plain(); first_is_plain(); plan.is_bare() } // .is_plain()\n"
    (crates / "timed/mod.rs").write_text(
        asks + "#[cfg(test)]\nmod tests { fn f() { plan.is_plain() } }\n", encoding="utf-8"
    )
    (crates / "timed/plain/mod.rs").write_text(asks, encoding="utf-8")
    assert counts.plain_questions() == 2
    assert counts.takers_back() == 0
    (crates / "timed/die.rs").write_text(
        "fn cancel_read() {}\nfn who_booked() {}\nfn bookish() {}\n", encoding="utf-8"
    )
    assert counts.takers_back() == 2


def test_a_file_goes_on_behind_the_line_that_names_its_file_of_tests(crates: Path) -> None:
    asks = "fn f() { plan.is_plain() }\n"
    (crates / "timed/mod.rs").write_text("#[cfg(test)]\nmod tests;\n\n" + asks, encoding="utf-8")
    assert counts.plain_questions() == 1


def test_imports_that_run_back_are_found(crates: Path) -> None:
    (crates / "lib.rs").write_text("mod flash;\nmod timed;\nuse timed::run;\n", encoding="utf-8")
    (crates / "flash.rs").write_text("pub struct Flash;\n", encoding="utf-8")
    (crates / "timed/mod.rs").write_text(
        "mod die;\nuse crate::flash::{self, Flash};\nuse die::Die;\n", encoding="utf-8"
    )
    (crates / "timed/die.rs").write_text("use super::super::flash;\n", encoding="utf-8")
    assert counts.imports_of_device() == {
        "lib": {"timed"}, "flash": set(), "timed": {"flash", "timed/die"}, "timed/die": {"flash"},
    }  # fmt: skip
    assert counts.backward_imports() == 0
    (crates / "timed/die.rs").write_text("fn f() { super::run() }\n", encoding="utf-8")
    assert counts.backward_imports() == 1


def test_of_two_circles_that_share_an_import_one_runs_back() -> None:
    edges = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"a"}}
    order = counts.least_backward(edges)
    assert sum(order.index(to) < order.index(name) for name, targets in edges.items() for to in targets) == 1


def test_names_of_types_and_vague_lines_are_counted(crates: Path) -> None:
    (crates / "a.rs").write_text(
        "/// What it is.\npub(crate) struct Step;\n/// A step.\nenum Way {}\n", encoding="utf-8"
    )
    (crates / "b.rs").write_text("//! Whether it is.\npub enum Step {}\n", encoding="utf-8")
    assert (counts.names_of_types(), counts.vague_doc_lines()) == (1, 2)


FACADE = """calls! {
    trait Mapping {
        /// Where a page is.
        fn lookup(&self, lpn: Lpn) -> Option<Ppn>;
        fn place(
            &mut self, domain: Domain, suits: Option<impl FnOnce(Ppn) -> bool>
        ) -> Option<Placed>;
    }
}
impl Ftl {
    pub fn new(geometry: Geometry) -> Ftl {}
    pub fn write_if<S: FnOnce(Ppn) -> bool>(&mut self, suits: S) {}
    pub fn tell(&mut self, told: Told) {}
    pub(crate) fn own(&self) {}
}
pub enum Told {
    Time(Instant),
    Fill,
}
"""


def test_calls_of_the_facade_are_counted_with_every_variant(crates: Path) -> None:
    folder = crates.parents[1] / "ftl/src/facade"
    folder.mkdir(parents=True)
    (folder / "mod.rs").write_text(FACADE, encoding="utf-8")
    assert counts.facade_calls() == 5, "lookup, place, write_if, and tell twice"
    (folder.parent / "plain.rs").write_text("impl Pages {\n    pub fn next(&self) {}\n}\n", encoding="utf-8")
    assert counts.facade_calls() == 6


def test_answers_that_are_constants_are_seen_in_doors_and_in_bodies(crates: Path) -> None:
    folder = crates.parents[1] / "ftl/src/facade"
    folder.mkdir(parents=True)
    (folder / "mod.rs").write_text(
        "fn f() { match x { InForce::Fast(_) => None, InForce::Plain(_) => not_given() } }\n",
        encoding="utf-8",
    )
    (folder.parent / "fast.rs").write_text(
        "impl Mapping for Fast {\n    fn a(&self) -> bool {\n        true\n    }\n    fn b(&self) -> bool {\n"
        "        self.b\n    }\n}\nimpl Other for Fast {\n    fn c(&self) -> bool {\n        true\n    }\n}\n",
        encoding="utf-8",
    )
    assert counts.constant_answers() == 2
