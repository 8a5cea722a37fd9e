from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from web.site.charts import TABLE_ROWS, Series, formation, histogram, over_time, overlaid, running_means, thinned
from web.site.numbers import short
from web.site.plots import Axis, Mark, Plot, PlotLine, Span
from web.site.whiskers import whiskers

finite = st.floats(-1e9, 1e9, allow_nan=False)


def plots_of(scores: Sequence[float]) -> list[Plot | None]:
    mean = running_means(scores)[-1][0]
    return [
        formation(scores, 100),
        histogram(scores, mean, min(scores), max(scores), solved=0.0),
        overlaid([Series("A", "a", scores, "--first"), Series("B", "b", scores[:1], "--second")]),
        over_time(scores, "return"),
    ]


def columns(plot: Plot | None) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    assert plot is not None
    assert plot.table is not None
    return plot.table.columns, plot.table.rows


@given(st.lists(finite, min_size=1, max_size=60))
def test_every_figure_of_any_scores_lies_within_its_plot(scores: list[float]) -> None:
    for plot in plots_of(scores):
        assert plot is not None
        assert "nan" not in plot.summary
        for axis, values in ((plot.x, plot.xs), (plot.y, [value for line in plot.lines for value in line.values])):
            assert all(value is not None and math.isfinite(value) for value in values)
            assert axis.low is None or axis.low <= min(value for value in values if value is not None)
            assert axis.high is None or axis.high >= max(value for value in values if value is not None)


@given(st.lists(st.floats(), min_size=1, max_size=20))
@example([1e308, -1e308, 5.0])
@example([math.nan, 1.0, math.inf])
@example([1e308, 1e308])
@example([1e15, -1e15])
@example([1e15])
@example([-952380952380953.0])
def test_what_no_axis_holds_is_left_out_of_the_drawing_and_stands_in_the_table(scores: list[float]) -> None:
    """A page says JSON, which has no such numbers, to a library that would look for ticks between them without end."""
    drawn = plots_of(scores)
    assert columns(drawn[0])[1][-1][1] == short(scores[-1])
    for plot in filter(None, drawn):
        told = json.loads(json.dumps(plot.data, allow_nan=False))
        assert all(first < second for first, second in pairwise(told["xs"]))
        figures = [value for part in told["lines"] for value in part["values"]]
        figures += [value for part in told["spans"] for value in (*part["low"], *part["high"])]
        assert all(value is None or abs(value) <= 1e15 for value in figures)
        counts = {len(part["values"]) for part in told["lines"]} | {len(part["low"]) for part in told["spans"]}
        assert counts in ({len(told["xs"])}, {len(told["xs"]) - 1})
        assert columns(plot)[1]


def test_the_key_names_what_has_to_be_told_apart() -> None:
    score, band = PlotLine("score", [1.0]), Span("95% interval", [0.5], [1.5])
    marks = (Mark(1.0, "v1"), Mark(2.0, "mean 2", is_key=True))
    plot = Plot("", Axis(""), Axis(""), [1.0], (score,), (band,), marks)
    assert [key.label for key in plot.keys] == ["score", "95% interval", "mean 2"]
    assert Plot("", Axis(""), Axis(""), [1.0], (score,), marks=marks[:1]).keys == ()


@given(st.lists(finite, min_size=1, max_size=40))
def test_running_means_are_means_with_their_standard_errors(scores: list[float]) -> None:
    *_, (mean, error) = running_means(scores)
    size = max(1.0, *map(abs, scores))
    assert math.isclose(mean, statistics.fmean(scores), rel_tol=1e-9, abs_tol=1e-9 * size)
    expected = 1.96 * statistics.stdev(scores) / math.sqrt(len(scores)) if len(scores) > 1 else 0.0
    assert math.isclose(error, expected, rel_tol=1e-4, abs_tol=1e-4 * size)


def test_every_score_stands_in_one_bar() -> None:
    scores = [0.0] * 32 + [1.0] * 68
    plot = histogram(scores, 0.68, 0.6, 0.76, None)
    assert plot is not None
    assert [count for count in plot.lines[0].values if count] == [32, 68]
    assert (len(plot.xs), plot.xs[0], plot.xs[-1]) == (len(plot.lines[0].values) + 1, 0.0, 1.0)
    assert "100 scores from 0 to 1" in plot.summary
    assert [(mark.at, mark.to, mark.label) for mark in plot.marks] == [
        (0.68, None, "mean 0.68"),
        (0.6, 0.76, "its 95% interval"),
    ]


def test_the_table_behind_a_chart_has_its_figures() -> None:
    assert columns(formation([10.0, 20.0, 60.0], 20)) == (
        ("Episode", "Score", "Mean so far", "Give or take"),
        (("1", "10", "10", "0"), ("2", "20", "15", "9.8"), ("3", "60", "30", "29.94")),
    )
    _, rows = columns(histogram([0.0] * 32 + [1.0] * 68, 0.68, 0.6, 0.76, None))
    assert [row[2] for row in rows if row[2] != "0"] == ["32", "68"]
    both = [Series("A", "a", [0.0, 0.0, 0.0, 1.0], "--first"), Series("B", "b", [1.0], "--second")]
    names, rows = columns(overlaid(both))
    assert names == ("Scores from", "To", "a", "b")
    assert (rows[0][2:], rows[-1][2:]) == (("75%", "0%"), ("25%", "100%"))
    _, rows = columns(over_time([float(step) for step in range(1000)], "return"))
    assert rows[-1] == ("1000", "999")
    assert len(rows) <= TABLE_ROWS + 1


def test_a_long_line_is_drawn_to_its_end() -> None:
    plot = over_time([float(step) for step in range(1000)], "return")
    assert plot is not None
    assert len(plot.xs) <= 402
    assert (plot.xs[-1], plot.lines[0].values[-1]) == (1000, 999.0)
    plot = formation([float(score) for score in range(10_000)], 10_000)
    assert plot is not None
    # It is sent anew every two seconds while it grows.
    assert len(json.dumps(plot.data)) < 60_000
    assert (plot.xs[-1], plot.lines[0].values[-1], plot.lines[1].values[-1]) == (10_000, 9999.0, 4999.5)
    assert plot.summary.endswith("Scores go from 0 to 9999. One episode in 10 is drawn.")


@pytest.mark.parametrize(("solved", "is_drawn"), [(10.0, True), (25.0, True), (475.0, False), (-200.0, False)])
def test_a_far_goal_does_not_squeeze_the_bars(solved: float, is_drawn: bool) -> None:
    plot = histogram([10.0, 15.0, 20.0], 15.0, 12.0, 18.0, solved)
    assert plot is not None
    assert any(mark.at == solved for mark in plot.marks) == is_drawn
    assert plot.x.low is not None
    assert plot.x.high is not None
    assert plot.x.high - plot.x.low < 20
    assert not is_drawn or plot.x.low < solved < plot.x.high


@pytest.mark.parametrize("scores", [[], [5.0], [5.0] * 30, [0.0, 0.0], [-3.0, -3.0]])
def test_few_or_equal_scores_make_a_chart_or_none(scores: list[float]) -> None:
    plots = (formation(scores, 0), histogram(scores, 5, 5, 5, None), over_time(scores, "return"))
    assert all((plot is not None) == bool(scores) for plot in plots)


def test_a_number_that_does_not_fit_is_not_drawn_and_squeezes_no_other() -> None:
    rows = [(4.0, 5.0, 6.0), (1.0, 2.0, 3.0), (1e12, 1e12, 1e12)]
    alone, _ = whiskers(rows[:2])
    placed, marks = whiskers(rows, scaled_by=[True, True, False])
    assert placed == [*alone, None]
    assert marks == []
    everyone, (solved,) = whiskers(rows, 5.0)
    assert None not in everyone
    assert 0 <= solved <= 100
    assert whiskers([], 5.0) == ([], [])


def test_numbers_further_apart_than_any_scale_are_not_drawn() -> None:
    rows = [(1e308, 1e308, 1e308), (-1e308, -1e308, -1e308)]
    assert whiskers(rows, 475.0) == ([None, None], [])


def test_long_episodes_keep_their_last_step() -> None:
    for count in (0, 1, 399, 400, 401, 1_600, 100_000):
        kept = thinned(count)
        assert len(kept) <= 402
        assert not count or kept[-1] == count - 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (-12.0, "−12"), (1500.0, "1500"), (-12_345.6, "−12346"), (2.5e6, "2.5e+06"), (0.1 + 0.2, "0.3")],
)
def test_figures_of_tables_are_short(value: float, shown: str) -> None:
    assert short(value) == shown
