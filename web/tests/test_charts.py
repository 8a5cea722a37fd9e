from __future__ import annotations

import math
import re
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.charts import (
    Chart,
    Scale,
    Series,
    formation,
    histogram,
    over_time,
    overlaid,
    running_means,
    short,
    thinned,
    ticks,
    whiskers,
)

finite = st.floats(-1e9, 1e9, allow_nan=False)


def numbers(chart: Chart) -> list[float]:
    return [float(word) for shape in chart.shapes for word in re.findall(r"-?\d+(?:\.\d+)?", shape.path)]


@given(st.lists(finite, min_size=1, max_size=60))
def test_every_shape_of_any_scores_lies_within_its_plot(scores: list[float]) -> None:
    mean = statistics.fmean(scores)
    charts = (
        formation(scores, 100),
        histogram(scores, mean, min(scores), max(scores), solved=0.0),
        overlaid([Series("a", scores), Series("b", scores[:1])]),
        over_time(scores, "return"),
    )
    for chart in charts:
        assert chart is not None
        assert all(0 <= number <= 100 for number in numbers(chart))
        assert all(0 <= tick.at <= 100 for tick in (*chart.x_ticks, *chart.y_ticks))
        assert "nan" not in chart.summary


@given(st.lists(finite, min_size=1, max_size=40))
def test_running_means_are_means_with_their_standard_errors(scores: list[float]) -> None:
    *_, (mean, error) = running_means(scores)
    size = max(1.0, *map(abs, scores))
    assert math.isclose(mean, statistics.fmean(scores), rel_tol=1e-9, abs_tol=1e-9 * size)
    expected = 1.96 * statistics.stdev(scores) / math.sqrt(len(scores)) if len(scores) > 1 else 0.0
    assert math.isclose(error, expected, rel_tol=1e-4, abs_tol=1e-4 * size)


def test_every_score_stands_in_one_bar() -> None:
    scores = [0.0] * 32 + [1.0] * 68
    chart = histogram(scores, 0.68, 0.6, 0.76, None)
    assert chart is not None
    titles = [shape.title for shape in chart.shapes if shape.kind == "bar"]
    assert [title.rpartition(" ")[2] for title in titles] == ["32", "68"]
    assert "100 scores from 0 to 1" in chart.summary


@pytest.mark.parametrize(("solved", "is_drawn"), [(10.0, True), (25.0, True), (475.0, False), (-200.0, False)])
def test_a_far_goal_does_not_squeeze_the_bars(solved: float, is_drawn: bool) -> None:
    chart = histogram([10.0, 15.0, 20.0], 15.0, 12.0, 18.0, solved)
    assert chart is not None
    assert any(shape.kind == "solved" for shape in chart.shapes) == is_drawn


@pytest.mark.parametrize("scores", [[], [5.0], [5.0] * 30, [0.0, 0.0], [-3.0, -3.0]])
def test_few_or_equal_scores_make_a_chart_or_none(scores: list[float]) -> None:
    charts = (formation(scores, 0), histogram(scores, 5, 5, 5, None), over_time(scores, "return"))
    assert all((chart is not None) == bool(scores) for chart in charts)


@given(finite, st.floats(1e-6, 1e9))
def test_ticks_are_few_and_round(low: float, width: float) -> None:
    scale = Scale(low, low + max(width, abs(low) * 1e-6))
    found = ticks(scale, 4)
    assert 2 <= len(found) <= 9


def test_a_number_that_does_not_fit_is_not_drawn_and_squeezes_nobody() -> None:
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
def test_axis_labels_are_short(value: float, shown: str) -> None:
    assert short(value) == shown
