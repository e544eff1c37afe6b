"""The figures show what the tables say, and are not empty."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import samples

from ftlab import Comparison
from ftlab.results import charts, drawing, pictures, plot


def test_a_plot_of_writes_alone_says_so() -> None:
    result = samples.result()
    assert [chart.title for chart in pictures.latency({"": result})][1] == "Latency by percentile"
    table = result.tables["latency"]
    table["count"] = np.where(table["kind"] == "read", 0, table["count"])
    titles = [chart.title for chart in pictures.latency({"": result})]
    assert titles == [
        "Latency of writes alone: share of requests done",
        "Latency of writes alone by percentile",
    ]


def test_every_figure_has_ink(tmp_path: Path) -> None:
    from matplotlib.image import imread

    several = {"greedy": samples.result(waf=1.8), "fifo": samples.result(waf=3.0, iops=5000)}
    for name, results in (("one", {"": samples.result()}), ("several", several)):
        directory = tmp_path / name
        directory.mkdir()
        figures = plot.figures(results)
        assert set(figures) == {"latency", "series", "wear", "utilisation"} | (
            {"overview"} if len(results) > 1 else set()
        )
        plot.save(figures, directory)
        for figure in figures:
            image = imread(directory / f"{figure}.png")[..., :3]
            assert (image.min(axis=2) < 0.9).mean() > 0.01, f"{name}/{figure} is nearly white"
            assert "<path" in (directory / f"{figure}.svg").read_text(encoding="utf-8")


def test_without_time_only_wear_and_series_remain() -> None:
    figures = plot.figures({"": samples.result(timed=False)})
    assert set(figures) == {"series", "wear"}
    # WAF and GC rate, over volume.
    assert len(figures["series"].axes) == 2


def test_curves_have_the_values_of_the_table() -> None:
    result = samples.result(waf=2.0)
    figure = plot.figures({"": result})["series"]
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    waf = np.asarray(figure.axes[titles.index("WAF")].lines[0].get_ydata(), dtype=np.float64)
    series = result.series
    rows = series["axis"] == "volume"
    mean = series["page_programs"][rows].sum() / series["host_page_programs"][rows].sum()
    assert waf.size <= pictures.INTERVALS
    assert waf.mean() == pytest.approx(mean, rel=0.01)


def test_the_tail_goes_to_the_percentiles_of_the_table() -> None:
    curve = pictures.Curve(np.array([10.0, 20.0, 30.0, 40.0]), np.array([0.5, 0.9, 0.99, 1.0]), 1000)
    reach, latency = curve.tail()
    for percentile, expected in ((0.25, 10), (0.7, 20), (0.95, 30), (0.995, 40)):
        at = int(np.searchsorted(reach, 1 / (1 - percentile)))
        assert latency[at] == expected, percentile
    assert reach[-1] == pytest.approx(1000), "of 1000 requests no percentile beyond p99.9 is told"
    reach, latency = curve._replace(requests=10**6).tail()
    assert (reach[-1], latency[-1]) == (pytest.approx(1e4), 40)


def test_labels_do_not_have_to_be_names() -> None:
    results = {"_a $x^2$ <b>": samples.result(), "tbm [small]": samples.result(seed=3)}
    for figure in plot.figures(results).values():
        figure.draw_without_rendering()


def test_latencies_of_zero_are_drawn_without_a_warning(tmp_path: Path) -> None:
    result = samples.result()
    result.tables["latency"]["latency_us"][:] = 0.0
    # Warnings are errors here.
    figures = plot.figures({"": result})
    plot.save(figures, tmp_path)
    assert "0 is drawn at 1 ns" in figures["latency"].axes[-2].get_xlabel()


def test_colours_do_not_come_round() -> None:
    looks = [drawing.colour(i) for i in range(60)]
    assert len(set(looks)) == 60
    assert looks[:10] == list(drawing.COLOURS)


def test_operations_have_other_colours_than_causes() -> None:
    shared = set(drawing.CAUSE_COLOURS.values()) & set(drawing.KIND_COLOURS.values())
    assert shared == {drawing.KIND_COLOURS["idle"]}
    for results in ({"": samples.result()}, {"a": samples.result(), "b": samples.result(seed=2)}):
        titles = [axes.get_title(loc="left") for axes in plot.figures(results)["utilisation"].axes]
        assert "by cause" in titles[0] and "by operation" in titles[1]


def test_the_overview_has_the_units_of_the_table() -> None:
    results = {"a": samples.result(iops=100.0), "b": samples.result(iops=120.0)}
    titles = [axes.get_title(loc="left") for axes in plot.figures(results)["overview"].axes]
    table = Comparison(results).table()
    for name in ("read latency, p99.9", "write latency, p99.9"):
        title = next(title for title in titles if title.startswith(name))
        assert title in table, "the same words, and the same unit"
    assert "write latency, p99.9" in titles and "reads (IOPS)" in titles and "rate (IOPS)" not in titles


def test_a_waf_below_one_with_a_spike_is_drawn() -> None:
    # A window of few writes, and before it some that only overwrite what is buffered.
    at = np.arange(30.0)
    line = charts.Line("", 0, at, np.where(at == 20, 900.0, 0.5))
    axis = pictures._height("waf", [line])
    assert axis.is_log and axis.low is None
    low, high = drawing._ends(axis, [line.y], 0.04)
    assert 0 < low < 0.5 and high > 900
