"""Reports: every kind of result on a page that stands by itself, and what is no result."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import samples

import ftlab
from ftlab import InputError
from ftlab.cli.main import main
from ftlab.reports import charts, markup, page, settings, sources
from ftlab.results import drawing, text
from ftlab.results.comparison import Comparison
from ftlab.results.output import OutputDirectory
from ftlab.sweeps.sweep import Sweep
from ftlab.theory.prediction import predicted_waf, unlike_theory

EVIL = "</script><script>alert(1)</script>\"'&<b>\x1b[2J"
"""A name that breaks whatever does not escape it."""


KNOWN = frozenset(re.findall(r"\w+", """
    html head meta title style body a header h1 h2 h3 h4 button nav ol ul li main section p dl div dt dd span strong b i
    code pre figure figcaption svg g line path text image img script details summary table caption thead tbody tr th td
    footer
"""))  # fmt: skip
"""What a page is made of."""


class Page(HTMLParser):
    """A page taken apart; whatever does not close, or names something outside, is a fault."""

    VOID = frozenset({*markup.VOID, "img", "image"})
    FETCHING = ("src", "href", "xlink:href", "srcset", "action", "poster")

    def __init__(self, content: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.cards: dict[str, tuple[float, str]] = {}
        self.outside: list[str] = []
        self.words: list[str] = []
        self._card: tuple[str, float] | None = None
        self.feed(content)
        self.close()
        self.faults += [f"{name} is not closed" for name in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        if len(given) < len(attrs):
            self.faults.append(f"{tag} has an attribute twice")
        if tag not in markup.VOID:
            self.open.append(tag)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        for name in self.FETCHING:
            value = given.get(name)
            if value is not None and not value.startswith(("data:", "#")):
                self.outside.append(f"{tag} {name}={value}")
        if given.get("data-key"):
            self._card = str(given["data-key"]), float(str(given["data-raw"]))
            self.cards[self._card[0]] = (self._card[1], "")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")
        if tag == "dd":
            self._card = None

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self._card is not None:
            key, raw = self._card
            self.cards[key] = (raw, self.cards[key][1] + data)


def checked(content: str) -> Page:
    """The page, if it is sound and needs nothing from outside."""
    found = Page(content)
    assert not found.faults
    assert not found.outside
    assert len(found.ids) == len(set(found.ids))
    assert "url(" not in content
    assert "@import" not in content
    assert "fetch(" not in content
    # Names of XML are no addresses; none is needed in HTML.
    assert not re.findall(r"https?://", content)
    assert found.tags.count("h1") == 1
    return found


def comparison(directory: Path, labels: tuple[str, ...] = ("greedy", "fifo")) -> Path:
    """The directory of a comparison."""
    results = {
        label: samples.result(waf=2.0 + i, iops=9000 + 999 * i, seed=i) for i, label in enumerate(labels)
    }
    made = Comparison(
        results,
        {label: {"config": "tbm-small", "sets": ["ftl.victim=fifo"], "trace": None} for label in results},
    )
    OutputDirectory(directory).write_comparison(made.to_json(), made.markdown(), results, plots=False)
    return directory


SWEEP = {
    "config": "tbm-small",
    "set": {
        "run.executor": "count", "run.precondition": "steady", "workload.generator": "uniform", "workload.volume": "1x",
        "device.channels": 1, "device.chips_per_channel": 1, "device.dies_per_chip": 1,
        "device.planes_per_die": 1,
        "device.multiplane": "off", "device.blocks_per_plane": 64, "device.pages_per_block": 32,
        "ftl.allocation": "CWDP", "ftl.scheduler": "fifo",
    },
    "grid": {"op": [0.15, 0.28], "victim": ["greedy", "cost-benefit"], "seed": "1..2"},
}  # fmt: skip


@pytest.fixture(scope="session")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a small sweep of real runs."""
    place = tmp_path_factory.mktemp("sweeps") / "op"
    made = ftlab.sweep(SWEEP, out=place, jobs=1)
    assert made.statuses == {"ok": 8}
    return place


def reproduction(directory: Path) -> Path:
    """The directory of a reproduction."""
    directory.mkdir()
    claims = [
        {"id": f"c{i}", "claim": EVIL, "paper_value": 40.0, "measured": measured, "unit": "%", "verdict": verdict,
         "workload": EVIL, "workload_kind": "generated", "note": "within 3 %"}
        for i, (verdict, measured) in enumerate(
            [("reproduced", 41.0), ("direction", 12.0), ("not-reproduced", -1.0), ("not-run", None)])
    ]  # fmt: skip
    document = {"schema": "ftlab.claims/1", "paper": "tbm", "scale": "quick", "claims": claims}
    (directory / "claims.json").write_text(json.dumps(document), encoding="utf-8")
    (directory / "report.md").write_text(
        "# TBM\n\n## Workloads\n\n```\nprn-0  real\n```\n\n- prn-0: a \\*trace\\*\n\n"
        "## Claims\n\n| no |\n|---|\n| no |\n\n## Figure 1\n\n"
        "| series | a\\|b |\n|---|---:|\n| <i>F</i> | 1.25 |\n", encoding="utf-8",
    )  # fmt: skip
    (directory / "fig1.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>', encoding="utf-8")
    return directory


def figure(shown: str) -> float:
    """The number at the beginning of a card, in the unit that the summary has it in."""
    found = re.match(r"([\d,.]+)(?: (\S+))?", shown)
    assert found is not None, shown
    scale = {"ms": 1e3, "s": 1e6, "GB": 1e9, "MB": 1e6, "kB": 1e3, "%": 0.01}
    return float(found[1].replace(",", "")) * scale.get(found[2] or "", 1.0)


@pytest.mark.parametrize("timed", [True, False])
def test_cards_are_the_figures_of_the_summary(tmp_path: Path, timed: bool) -> None:
    result = samples.result(timed=timed)
    result.save(tmp_path / "run", plots=False)
    ftlab.report(tmp_path / "run", tmp_path / "page.html")
    found = checked((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert found.cards.keys() >= {"waf", "gc.invocations", "flash.block_erases", "wear.erases.mean"}
    for kind in ("read", "write"):
        of_kind = [
            f"host.{kind}_iops",
            *(f"host.{kind}_latency_us.{p}" for p in ("mean", "p99", "p999", "p9999")),
        ]
        assert all((key in found.cards) == timed for key in of_kind)
    # Reads and writes have nothing in common.
    assert not {
        key for key in found.cards if key.startswith(("host.iops", "host.throughput", "host.latency_us"))
    }
    for key, (raw, shown) in found.cards.items():
        value: Any = result.summary
        for part in key.split("."):
            value = value[part]
        assert raw == value, key
        in_seconds = key.endswith("_s") and "mb_s" not in key
        assert figure(shown) / (1e6 if in_seconds else 1) == pytest.approx(value, rel=6e-3), (key, shown)
    # The same figures, in the units of the printed summary.
    if timed:
        assert (
            text.duration(result.summary["host"]["read_latency_us"]["p99"])
            == found.cards["host.read_latency_us.p99"][1]
        )
        assert "Latency by percentile" in found.words


def test_a_run_has_its_charts_and_how_to_run_it_again(tmp_path: Path, tiny: Path) -> None:
    result = ftlab.run(
        tiny, sets={"workload.requests": 4000, "run.precondition": "none"}, out=tmp_path / "run", plots=False
    )
    ftlab.report(tmp_path / "run", tmp_path / "page.html")
    content = (tmp_path / "page.html").read_text(encoding="utf-8")
    found = checked(content)
    for title in ("Latency: share of requests done", "Throughput (MB/s)", "What each channel did, by cause",
                  "What each die did, by operation", "Where the erases are"):  # fmt: skip
        assert found.words.count(title) >= 2, title  # over the chart, and over the table behind it
    assert content.count('role="img"') == content.count("<summary>Table</summary>")
    assert "seed" in content
    config = result.summary["config"]
    toml = settings.toml(config)
    assert toml is not None
    assert ftlab.resolve(toml) == config
    assert markup.joined(toml) in content
    assert settings.config_hash(config) in content


def test_runs_are_put_side_by_side_with_what_differs(tmp_path: Path) -> None:
    for name, waf in (("a", 2.0), ("b", 3.0)):
        result = samples.result(waf=waf)
        result.summary["config"]["ftl"]["victim"] = {"a": "greedy", "b": "fifo"}[name]
        result.save(tmp_path / name, plots=False)
    ftlab.report([tmp_path / "a", tmp_path / "b"], tmp_path / "page.html")
    found = checked((tmp_path / "page.html").read_text(encoding="utf-8"))
    words = found.words
    assert "2 runs side by side: runs" in words
    differences = words[words.index("In what the configurations differ") :]
    assert differences[:10].count("ftl.victim") == 1
    assert {"greedy", "fifo"} <= set(differences[:14])


def test_all_kinds_on_one_page(tmp_path: Path, sweep: Path) -> None:
    samples.result().save(tmp_path / "run", plots=False)
    places = [tmp_path / "run", comparison(tmp_path / "cmp"), sweep, reproduction(tmp_path / "tbm")]
    ftlab.report(places, tmp_path / "page.html")
    content = (tmp_path / "page.html").read_text(encoding="utf-8")
    found = checked(content)
    assert set(found.words) >= {"Run: run", "2 runs side by side: cmp", "Sweep: op", "Claims of tbm: tbm"}
    assert "ftlab run tbm-small --set ftl.victim=fifo" in found.words
    assert "ftlab reproduce tbm --scale quick" in found.words
    assert {"Reproduced", "Right direction", "Not reproduced", "Not run"} <= set(found.words)
    assert {"a|b", "<i>F</i>", "prn-0: a *trace*"} <= set(found.words)
    assert "no" not in found.words
    assert {"op", "victim", "0.28", "cost-benefit"} <= set(found.words)
    assert re.search(
        r"Dashed lines: theory. No theory for cost-benefit: there is none for ftl.victim cost-benefit.",
        content,
    )
    assert content.count('class="line theory"') == 1
    kept = json.loads(next((sweep / "runs").glob("*/kept.json")).read_text(encoding="utf-8"))["is"]
    assert kept in content


def test_sentences_have_code_and_keep_numbers_with_their_units() -> None:
    shown = markup.prose("buffer (`fifo`, 2 MiB): 108 ms against 87 %, 5 seconds, 3 blocks & `<b>`")
    assert shown == (
        "buffer (<code>fifo</code>, 2\u00a0MiB): 108\u00a0ms against 87\u00a0%, 5 seconds, 3 blocks &amp; "
        "<code>&lt;b&gt;</code>"
    )


def test_names_do_not_break_the_page(tmp_path: Path) -> None:
    results = {EVIL: samples.result(), f"{EVIL}2": samples.result(waf=3.0)}
    for result in results.values():
        result.summary["config"]["workload"]["trace"] = EVIL
        result.summary["ftlab_version"] = EVIL
    ftlab.report({EVIL: Comparison(results)}, tmp_path / "page.html")
    content = (tmp_path / "page.html").read_text(encoding="utf-8")
    found = checked(content)
    assert found.tags.count("script") == content.count('<script type="application/json">') + 1
    assert "alert(1)</script>" not in content
    assert "\x1b" not in content
    shown = EVIL.replace("\x1b", "\\x1b")
    assert found.words.count(shown) > 3
    # What is in quotes is the text of an attribute or of JSON, and stays in it.
    assert not [name for name in found.tags if name not in KNOWN]


def test_many_series_differ_in_more_than_colour(tmp_path: Path) -> None:
    looks = {(charts.look(i), drawing.mark_of(i)) for i in range(40)}
    assert len(looks) == 40
    results = {f"run {i}": samples.result(seed=i) for i in range(12)}
    ftlab.report(Comparison(results), tmp_path / "page.html")
    content = (tmp_path / "page.html").read_text(encoding="utf-8")
    checked(content)
    assert 'class="s1 d1"' in content


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    comparison(tmp_path / "cmp")
    for name in ("a.html", "b.html"):
        ftlab.report(tmp_path / "cmp", tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_notebooks_show_the_cards(tmp_path: Path, sweep: Path) -> None:
    result = samples.result()
    for shown, word in (
        (result, "2.000"),
        (Comparison.load(comparison(tmp_path / "cmp")), "throughput\u00a0(MB/s)"),
        (Sweep.load(sweep), "Lowest WAF"),
    ):
        content = shown._repr_html_()
        found = Page(content)
        assert not found.faults
        assert not found.outside
        assert word in found.words
    assert Page(result._repr_html_()).cards["waf"] == (2.0, "2.000")


def test_theory_holds_where_the_engine_agrees_with_it(sweep: Path) -> None:
    read = sources.read(sweep)
    assert isinstance(read, sources.Swept)
    for row in read.sweep.table.to_pylist():
        config = read.configs[row["hash"]]
        predicted = predicted_waf(config)
        if row["victim"] == "cost-benefit":
            assert predicted is None
            assert unlike_theory(config) == "there is none for ftl.victim cost-benefit"
        else:
            # 64 blocks: what is left is of the order of 1 / blocks, and the runs are short.
            assert row["waf"] == pytest.approx(predicted, rel=0.08)
            assert predicted_waf(config, config["device"]["over_provisioning"]) == pytest.approx(
                predicted, rel=0.01
            )
    config["workload"]["generator"] = {"zipf": {"z": 0.9}}
    config["ftl"]["victim"] = "greedy"
    assert unlike_theory(config) == "the workload is not uniform"


def refused(place: Path, out: Path, message: str) -> None:
    """Says in one sentence what is wrong with a directory."""
    with pytest.raises(InputError, match=message) as caught:
        ftlab.report(place, out)
    assert str(caught.value).startswith("error: ")
    assert str(place) in str(caught.value)
    assert not out.exists()


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    refused(tmp_path / "nothing", out, r"is not there; expected a directory")
    empty = tmp_path / "empty"
    empty.mkdir()
    refused(empty, out, "is empty, as a run that is not finished leaves it")
    (empty / "notes.txt").write_text("mine", encoding="utf-8")
    refused(empty, out, "holds no result; expected a directory")
    refused(empty / "notes.txt", out, "is a file; expected a directory")
    samples.result().save(tmp_path / "all" / "run", plots=False)
    refused(
        tmp_path / "all", out, f"is no result itself; expected the results in it: {tmp_path / 'all' / 'run'}"
    )
    refused(tmp_path / "all" / "run" / "wear.parquet", out, "is a file; expected the directory it is in")


def test_what_is_not_finished_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    for name, inner, message in (
        (
            "comparison",
            ".ftlab-runs",
            "holds a comparison that is not finished; the same `ftlab compare` goes on",
        ),
        ("sweep", "runs", "holds what is not finished; the command that wrote it goes on from there"),
    ):
        (tmp_path / name / inner).mkdir(parents=True)
        refused(tmp_path / name, out, message)
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "runs-1-of-2.parquet").touch()
    refused(parts, out, "holds 1 of the parts of a sweep")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("summary.json", '{"schema": "ftlab.summary/2"}', "this version of ftlab reads.*/2`.*\nhint: read it with"),
        ("comparison.json", '{"schema": "ftlab.comparison/7"}', "this version of ftlab reads.*`ftlab.comparison/7`"),
        ("claims.json", '{"schema": "ftlab.claims/2"}', "this version of ftlab reads.*`ftlab.claims/2`"),
        ("claims.json", '{"schema": "ftlab.claims/1"}', "is damaged"),
        ("claims.json", '{"schema": "ftlab.claims/1", "claims": 7}', "is damaged"),
        ("comparison.json", '{"schema": "ftlab.comparison/1", "runs": 3}', "has no list of runs"),
        ("comparison.json", "{", "is not JSON"),
        ("runs.parquet", "PAR1", "runs.parquet cannot be read"),
    ],
)  # fmt: skip
def test_newer_and_damaged_files_are_refused(tmp_path: Path, file: str, content: str, message: str) -> None:
    place = tmp_path / "result"
    place.mkdir()
    (place / file).write_text(content, encoding="utf-8")
    refused(place, tmp_path / "page.html", message)


def test_a_summary_that_lacks_figures_is_refused(tmp_path: Path) -> None:
    result = samples.result()
    del result.summary["host"]["iops"]
    result.save(tmp_path / "run", plots=False)
    refused(tmp_path / "run", tmp_path / "page.html", "is damaged: something in it is not as ftlab writes it")


def test_nothing_is_overwritten_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    samples.result().save("run", plots=False)

    def report(*arguments: str) -> tuple[int, str]:
        code = main(["report", *arguments])
        out, err = capsys.readouterr()
        assert out == ""
        return code, err

    assert report("run") == (0, "written to report.html; open it in a browser\n")
    first = Path("report.html").read_bytes()
    code, said = report("run")
    assert code == 2
    assert "error: report.html is there already, and nobody asked to overwrite it" in said
    Path("mine.html").write_text("<p>mine", encoding="utf-8")
    code, said = report("run", "--out", "mine.html")
    assert code == 2
    assert "mine.html is there and was not written by `ftlab report`" in said
    assert Path("mine.html").read_text(encoding="utf-8") == "<p>mine"
    assert report("run", "--out", "report.html")[0] == 0
    assert Path("report.html").read_bytes() == first
    code, said = report("run", "--out", "/proc/new.html")
    assert (code, said) == (
        2,
        "error: cannot write /proc/new.html: no file can be made in /proc\nhint: name another place\n",
    )
    code, said = report("nowhere", "--out", "other.html")
    assert code == 2
    assert "error: nowhere is not there" in said
    assert not Path("other.html").exists()


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`a source of the report` is an int; expected a path"):
        ftlab.report([3], tmp_path / "page.html")  # type: ignore[list-item]
    with pytest.raises(InputError, match="`results` is empty"):
        ftlab.report([], tmp_path / "page.html")
    with pytest.raises(InputError, match="expected a file name"):
        ftlab.report(samples.result(), tmp_path)


def test_objects_of_python_and_names_of_their_own(tmp_path: Path) -> None:
    made = ftlab.report(
        {"emptiest": samples.result(), "oldest": samples.result(waf=3.0)}, tmp_path / "page.html"
    )
    assert made == tmp_path / "page.html"
    content = made.read_text(encoding="utf-8")
    assert "oldest" in checked(content).words
    assert page.is_page(made)


def test_points_that_are_not_defined_are_no_fault() -> None:
    import numpy as np
    from matplotlib.figure import Figure

    from ftlab.results.drawing import NOWHERE, _places

    panel = Figure().add_subplot()
    x, y = _places(panel, np.array([0.0, np.nan, 1.0]), np.array([0.5, 0.5, np.nan]))
    assert len(x) == len(y) == 3 and x[0] > 0 and x[1] == NOWHERE and y[2] > 1000
