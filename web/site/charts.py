"""Charts of scores with the tables behind them. Pure functions.

Scores come from environments and may be any float: those that are not a number, or too large for an axis, appear in the
table but not in the drawing (`web.site.plots.drawable`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from arena_kit.ranking.scores import bin_edges
from web.site.numbers import short
from web.site.plots import LARGEST, Axis, Mark, Plot, PlotLine, PlotTable, Span, drawable

Z_95 = 1.96
MOST_POINTS = 400
"""Points of a line; more would be indistinguishable."""
MOST_DOTS = 1000
"""Dots of a chart that the page loads again every few seconds while it grows."""
OF_SCORES = "Score of an episode"
TABLE_ROWS = 20
"""Rows of the table behind a line; people read about this many."""


@dataclass(frozen=True, slots=True)
class Series:
    """One distribution among others.

    letter: its name in the chart. name: its name in the table. colour, dash: as in `PlotLine`.
    """

    letter: str
    name: str
    values: Sequence[float]
    colour: str
    dash: tuple[int, ...] = ()


def running_means(scores: Sequence[float]) -> list[tuple[float, float]]:
    """Return the mean of the first 1, 2, … scores, each with 1.96 standard errors (0 for the first)."""
    values = np.asarray(scores, dtype=float)
    counts = np.arange(1, len(values) + 1)
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.cumsum(values) / counts
        centred = values - (values[0] if len(values) else 0.0)
        squares = np.cumsum(centred**2) - np.cumsum(centred) ** 2 / counts
        spread = np.sqrt(np.maximum(squares, 0.0) / np.maximum(counts - 1, 1) / counts)
    return list(zip(means.tolist(), (Z_95 * spread).tolist(), strict=True))


def formation(scores: Sequence[float], episode_count: int) -> Plot | None:
    """Draw episodes as dots and the mean so far as a line in its band; None if there are no episodes.

    The chart draws about MOST_DOTS episodes at most; the mean always includes all of them.
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
            PlotLine("score", rounded(scores[place] for place in kept), "--edge-strong", "dots"),
            PlotLine("mean so far", rounded(mean for mean, _ in shown), look="line"),
        ),
        spans=(
            Span(
                "within 1.96 standard errors",
                rounded(mean - error for mean, error in shown),
                rounded(mean + error for mean, error in shown),
            ),
        ),
        table=PlotTable(
            ("Episode", "Score", "Mean so far", "Give or take"),
            tuple(
                (str(place + 1), *map(short, (scores[place], *running[place])))
                for place in thinned(len(scores), TABLE_ROWS)
            ),
        ),
    )


def _edges(values: Sequence[float]) -> list[float]:
    """Return edges of bins over drawable values; the edges themselves stay drawable too."""
    edges: list[float] = np.clip(bin_edges(values), -LARGEST, LARGEST).tolist()
    return edges


def histogram(scores: Sequence[float], mean: float, low: float, high: float, solved: float | None) -> Plot | None:
    """Draw the distribution of scores, their mean with its interval, and the score at which the task is solved.

    A solved score far outside the bars is left out, because it would squeeze them. None if no score is drawable.
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
        + (f" {left_out} of them cannot be drawn." if left_out else ""),
        x=Axis(OF_SCORES, "number", left, right),
        y=Axis("Episodes", "whole", 0),
        xs=edges,
        lines=(PlotLine("episodes", counts, look="bars"),),
        marks=tuple(marks),
        table=PlotTable(
            ("Scores from", "To", "Episodes"),
            tuple(
                (short(left), short(right), str(count))
                for (left, right), count in zip(pairwise(edges), counts, strict=True)
            ),
        ),
    )


def overlaid(series: Sequence[Series]) -> Plot | None:
    """Draw several distributions in the same bins as overlaid outlines, each as shares of its episodes."""
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
            PlotLine(one.letter, share, one.colour, "steps", one.dash)
            for (one, _), share in zip(shown, shares, strict=True)
        ),
        table=PlotTable(
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
    """Draw a figure of an episode step by step. name: of the figure, for example return."""
    if not values:
        return None
    kept = thinned(len(values))
    fifths = [values[max(0, round(len(values) * part / 5) - 1)] for part in range(1, 6)]
    return Plot(
        summary=f"{name.capitalize()} over {len(values)} steps. After each fifth of the steps: "
        + ", ".join(short(value) for value in fifths)
        + ".",
        x=Axis("Step", "whole", 0, len(values)),
        y=Axis(""),
        xs=[step + 1 for step in kept],
        lines=(PlotLine(name, rounded(values[step] for step in kept), look="line"),),
        marks=(Mark(0.0, axis="y", dash=()),),
        table=PlotTable(
            ("Step", name.capitalize()),
            tuple((str(step + 1), short(values[step])) for step in thinned(len(values), TABLE_ROWS)),
        ),
    )


def constant(values: Sequence[float], name: str) -> str:
    """Return a sentence about a figure that has one value at all steps of an episode, or an empty string."""
    if not values or min(values) != max(values):
        return ""
    if len(values) == 1:
        return f"The {name} of the only step is {short(values[0])}."
    return f"The {name} is {short(values[0])} at each of the {len(values)} steps."


def rounded(values: Iterable[float]) -> list[float]:
    """Round to nine significant digits: more are invisible and only make pages larger."""
    return [float(f"{value:.9g}") for value in values]


def thinned(count: int, most: int = MOST_POINTS) -> list[int]:
    """Return indices of at most about `most` of `count` points; the last point is always among them."""
    stride = max(1, math.ceil(count / most))
    kept = list(range(0, count, stride))
    return kept if not count or kept[-1] == count - 1 else [*kept, count - 1]
