"""Charts of scores, as plots for the chart library with the tables behind them, and whiskers of boards. Pure.

Scores are what an environment gave, and may be any numbers: what is none, or too large for an axis, stands in the table
and is left out of the drawing (`web.site.plots.drawable`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from arena_kit.ranking.scores import as_equal, bin_edges
from web.site.plots import LARGEST, Axis, Line, Mark, Plot, Span, Table, drawable

Z_95 = 1.96
MOST_POINTS = 400
"""Of a line: more could not be told apart."""
MOST_DOTS = 1000
"""Of a chart that is sent anew every few seconds while it grows."""
OF_SCORES = "Score of an episode"
TABLE_ROWS = 20
"""Of a line, in the table behind it: about so many are read by somebody."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps low .. high to the width of a whisker's place in per cent, with some room at both ends; low < high."""

    low: float
    high: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(3 + 94 * min(1.0, max(0.0, share)), 2)


@dataclass(frozen=True, slots=True)
class Whisker:
    """A value with its interval on a scale that all rows of a board share, in per cent of its width."""

    low: float
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class Series:
    """One distribution among others. letter: what the chart calls it; name: what the table does. colour, dash: as of a
    `Line`."""

    letter: str
    name: str
    values: Sequence[float]
    colour: str
    dash: tuple[int, ...] = ()


def short(value: float) -> str:
    """A number for a table or a sentence: 0, 2.5, −12, 12346, 2.5e+06."""
    text = f"{value:.0f}" if 1e4 <= abs(value) < 1e6 else f"{value:.4g}" if value else "0"
    return text.replace("-", "−")


def scale_of(values: Sequence[float]) -> Scale:
    """A scale on which all values fit with some room at both ends; equal values stand in its middle."""
    low, high = min(values), max(values)
    margin = max(abs(high) * 0.5, 0.5) if as_equal(low, high) else (high - low) * 0.06
    return Scale(low - margin, high + margin)


def whiskers(
    rows: Sequence[tuple[float, float, float]], *marks: float, scaled_by: Sequence[bool] = ()
) -> tuple[list[Whisker | None], list[float]]:
    """Means with their intervals (low, value, high) and single marks, all on one scale, in per cent.

    scaled_by: which rows make the scale, all where none do; None stands for another row that does not fit on it. A
    script may print any number: it must not squeeze the others into a point.
    """
    if not rows:
        return [], []
    making = [row for row, makes in zip(rows, scaled_by, strict=False) if makes] or rows
    scale = scale_of([*(value for row in making for value in row), *marks])
    if not math.isfinite(scale.high - scale.low):
        return [None] * len(rows), []
    placed = [
        Whisker(scale(low), scale(value), scale(high)) if scale.low <= low and high <= scale.high else None
        for low, value, high in rows
    ]
    return placed, [scale(mark) for mark in marks]


def running_means(scores: Sequence[float]) -> list[tuple[float, float]]:
    """Mean of the first 1, 2, … scores, each with 1.96 standard errors (0 for the first)."""
    values = np.asarray(scores, dtype=float)
    counts = np.arange(1, len(values) + 1)
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.cumsum(values) / counts
        centred = values - (values[0] if len(values) else 0.0)
        squares = np.cumsum(centred**2) - np.cumsum(centred) ** 2 / counts
        spread = np.sqrt(np.maximum(squares, 0.0) / np.maximum(counts - 1, 1) / counts)
    return list(zip(means.tolist(), (Z_95 * spread).tolist(), strict=True))


def formation(scores: Sequence[float], episode_count: int) -> Plot | None:
    """How a score forms: episodes as dots, the mean so far as a line in its band. None without any episode.

    Of very many episodes about MOST_DOTS are drawn; the mean is always that of all.
    """
    if not scores:
        return None
    running = running_means(scores)
    total = max(episode_count, len(scores), 2)
    mean, error = running[-1]
    kept = thinned(len(scores), MOST_DOTS)
    shown = [running[place] for place in kept]
    return Plot(
        summary=f"Mean after {len(scores)} of {episode_count} episodes: {short(mean)}, give or take {short(error)}. "
        f"Scores go from {short(min(scores))} to {short(max(scores))}."
        + (f" One episode in {kept[1]} is drawn." if len(kept) < len(scores) else ""),
        x=Axis("Episode", "whole", 0.5, total + 0.5),
        y=Axis("Score"),
        xs=[place + 1 for place in kept],
        lines=(
            Line("score", rounded(scores[place] for place in kept), "--edge-strong", "dots"),
            Line("mean so far", rounded(mean for mean, _ in shown), look="line"),
        ),
        spans=(
            Span(
                "within 1.96 standard errors",
                rounded(mean - error for mean, error in shown),
                rounded(mean + error for mean, error in shown),
            ),
        ),
        table=Table(
            ("Episode", "Score", "Mean so far", "Give or take"),
            tuple(
                (str(place + 1), *map(short, (scores[place], *running[place])))
                for place in thinned(len(scores), TABLE_ROWS)
            ),
        ),
    )


def _edges(values: Sequence[float]) -> list[float]:
    """Edges of bins over values that can be drawn; those around a single one must not go beyond what can."""
    edges: list[float] = np.clip(bin_edges(values), -LARGEST, LARGEST).tolist()
    return edges


def histogram(scores: Sequence[float], mean: float, low: float, high: float, solved: float | None) -> Plot | None:
    """How scores are distributed, with their mean and its interval, and the score from which a task is solved.

    That is left out where it lies so far off that the bars would be squeezed. None where there is nothing to draw.
    """
    drawn = [score for score in scores if drawable(score)]
    if not drawn:
        return None
    edges = _edges(drawn)
    counts = np.histogram(drawn, edges)[0].tolist()
    first, last = edges[0], edges[-1]
    if solved is not None and not 2 * first - last <= solved <= 2 * last - first:
        solved = None
    left, right = _with_room([first, last, *([] if solved is None else [solved])])
    marks = [
        Mark(mean, f"mean {short(mean)}", colour="--ink", dash=(), is_key=True),
        Mark(max(low, left), "its 95% interval", to=min(high, right), colour="--ink", is_key=True),
    ]
    if solved is not None:
        marks.append(Mark(solved, "solved", colour="--good", dash=(5, 4), is_key=True))
    most = max(range(len(counts)), key=counts.__getitem__)
    left_out = len(scores) - len(drawn)
    return Plot(
        summary=f"Distribution of {len(scores)} scores from {short(min(scores))} to {short(max(scores))}; most, "
        f"{counts[most]}, lie from {short(edges[most])} to {short(edges[most + 1])}. Mean {short(mean)}."
        + (f" Not drawn: {left_out} that no chart has a place for." if left_out else ""),
        x=Axis(OF_SCORES, "number", left, right),
        y=Axis("Episodes", "whole", 0),
        xs=edges,
        lines=(Line("episodes", counts, look="bars"),),
        marks=tuple(marks),
        table=Table(
            ("Scores from", "To", "Episodes"),
            tuple(
                (short(left), short(right), str(count))
                for (left, right), count in zip(pairwise(edges), counts, strict=True)
            ),
        ),
    )


def overlaid(series: Sequence[Series]) -> Plot | None:
    """Several distributions in the same bins, as shares of their episodes: outlines over each other."""
    drawn = [(one, [value for value in one.values if drawable(value)]) for one in series]
    shown = [(one, values) for one, values in drawn if values]
    if not shown:
        return None
    edges = _edges([value for _, values in shown for value in values])
    shares = [(np.histogram(values, edges)[0] / len(one.values)).tolist() for one, values in shown]
    told = [f"{one.name}: {short(min(one.values))} to {short(max(one.values))}" for one, _ in shown]
    return Plot(
        summary="Distributions of the scores. " + "; ".join(told) + ".",
        x=Axis(OF_SCORES, "number", *_with_room([edges[0], edges[-1]])),
        y=Axis("Share of the episodes", "share", 0),
        xs=edges,
        lines=tuple(
            Line(one.letter, share, one.colour, "steps", one.dash)
            for (one, _), share in zip(shown, shares, strict=True)
        ),
        table=Table(
            ("Scores from", "To", *(one.name for one, _ in shown)),
            tuple(
                (short(left), short(right), *(f"{100 * share[place]:.0f}%" for share in shares))
                for place, (left, right) in enumerate(pairwise(edges))
            ),
        ),
    )


def _with_room(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return low - 0.04 * (high - low), high + 0.04 * (high - low)


def over_time(values: Sequence[float], name: str) -> Plot | None:
    """A figure of an episode step by step. name: what it is, e.g. return."""
    if not values:
        return None
    kept = thinned(len(values))
    fifths = [values[max(0, round(len(values) * part / 5) - 1)] for part in range(1, 6)]
    return Plot(
        summary=f"{name.capitalize()} over {len(values)} steps. After each fifth of them: "
        + ", ".join(short(value) for value in fifths)
        + ".",
        x=Axis("Step", "whole", 0, len(values)),
        y=Axis(""),
        xs=[step + 1 for step in kept],
        lines=(Line(name, rounded(values[step] for step in kept), look="line"),),
        marks=(Mark(0.0, axis="y", dash=()),),
        table=Table(
            ("Step", name.capitalize()),
            tuple((str(step + 1), short(values[step])) for step in thinned(len(values), TABLE_ROWS)),
        ),
    )


def rounded(values: Iterable[float]) -> list[float]:
    """More digits than anybody sees would only make pages longer."""
    return [float(f"{value:.9g}") for value in values]


def thinned(count: int, most: int = MOST_POINTS) -> list[int]:
    """Indices of at most about `most` of so many points, the last one always among them."""
    stride = max(1, math.ceil(count / most))
    kept = list(range(0, count, stride))
    return kept if not count or kept[-1] == count - 1 else [*kept, count - 1]
