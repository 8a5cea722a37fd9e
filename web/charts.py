"""Geometry of the site's charts: from figures to shapes that templates draw as SVG. Pure.

A plot is 100 units wide and 100 high and is stretched over its place, with y downwards; labels stand beside it and are
never stretched. Shapes are numbers and path data, colours belong to the style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

Z_95 = 1.96
MOST_POINTS = 400
"""Of a line: more could not be told apart."""
MOST_BINS = 30


@dataclass(frozen=True, slots=True)
class Tick:
    """A label of an axis. at: in units of the plot. anchor: how the text stands to its place."""

    at: float
    label: str
    anchor: str = "middle"


@dataclass(frozen=True, slots=True)
class Shape:
    """Path data with the class that gives it its looks. title: what it is, for those who point at it."""

    kind: str
    path: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A plot with its axes. summary: the whole chart in words, for those who do not see it."""

    summary: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    shapes: tuple[Shape, ...]
    x_title: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps low .. high to start .. end. low and high differ."""

    low: float
    high: float
    start: float = 0.0
    end: float = 100.0

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + (self.end - self.start) * min(1.0, max(0.0, share)), 2)


@dataclass(frozen=True, slots=True)
class Whisker:
    """A value with its interval on a scale that all rows of a board share, in per cent of its width."""

    low: float
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class Series:
    """One line or distribution among others. kind: class of its shapes."""

    name: str
    values: Sequence[float]
    kind: str = field(default="series-1")


def short(value: float) -> str:
    """A number for an axis: 0, 2.5, −12, 12346, 2.5e+06."""
    text = f"{value:.0f}" if 1e4 <= abs(value) < 1e6 else f"{value:.4g}" if value else "0"
    return text.replace("-", "−")


def scale_of(values: Sequence[float], *, start: float = 0.0, end: float = 100.0, room: float = 0.06) -> Scale:
    """A scale on which all values fit with some room at both ends; equal values stand in its middle."""
    low, high = min(values), max(values)
    margin = max(abs(high) * 0.5, 0.5) if _as_equal(low, high) else (high - low) * room
    return Scale(low - margin, high + margin, start, end)


def _as_equal(low: float, high: float) -> bool:
    """Whether nothing could be told apart between two values: they are equal but for rounding."""
    return high - low <= 1e-12 * max(1.0, abs(low), abs(high))


def ticks(scale: Scale, count: int = 4) -> tuple[Tick, ...]:
    """About `count` round values within a scale."""
    raw = (scale.high - scale.low) / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(step for step in (power, 2 * power, 2.5 * power, 5 * power, 10 * power) if step >= raw * 0.999)
    first, last = math.ceil(scale.low / step), math.floor(scale.high / step)
    return tuple(Tick(scale(number * step), short(number * step)) for number in range(first, last + 1))


def whole_ticks(scale: Scale, count: int = 4) -> tuple[Tick, ...]:
    """As `ticks`, at whole numbers only: for counts of episodes and steps. Labels stay within the plot."""
    return _inside(tuple(tick for tick in ticks(scale, count) if "." not in tick.label))


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
    scale = scale_of([*(value for row in making for value in row), *marks], start=3, end=97)
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
    means = np.cumsum(values) / counts
    centred = values - (values[0] if len(values) else 0.0)
    squares = np.cumsum(centred**2) - np.cumsum(centred) ** 2 / counts
    spread = np.sqrt(np.maximum(squares, 0.0) / np.maximum(counts - 1, 1) / counts)
    return list(zip(means.tolist(), (Z_95 * spread).tolist(), strict=True))


def formation(scores: Sequence[float], episode_count: int) -> Chart | None:
    """How a score forms: each episode as a dot, the mean so far as a line in its band. None without any episode."""
    if not scores:
        return None
    running = running_means(scores)
    total = max(episode_count, len(scores), 2)
    x = Scale(0.5, total + 0.5)
    y = scale_of([*scores, *(mean - error for mean, error in running), *(m + e for m, e in running)], start=100, end=0)
    kept = thinned(len(scores))
    upper = [(x(number + 1), y(sum(running[number]))) for number in kept]
    lower = [(x(number + 1), y(running[number][0] - running[number][1])) for number in reversed(kept)]
    line = [(x(number + 1), y(running[number][0])) for number in kept]
    dots = "".join(f"M{x(number)} {y(score)}h0" for number, score in enumerate(scores, start=1))
    mean, error = running[-1]
    return Chart(
        summary=f"Mean after {len(scores)} of {episode_count} episodes: {short(mean)}, give or take {short(error)}. "
        f"Scores go from {short(min(scores))} to {short(max(scores))}.",
        x_ticks=whole_ticks(x),
        y_ticks=ticks(y),
        shapes=(
            Shape("band", f"M{_points(upper + lower)}Z"),
            Shape("dots", dots),
            Shape("line", f"M{_points(line)}" + ("h0" if len(line) == 1 else "")),
        ),
        x_title="episodes",
    )


def bin_edges(values: Sequence[float]) -> np.ndarray:
    """Edges of equal bins over all values: about the square root of their number, at most MOST_BINS."""
    low, high = min(values), max(values)
    if _as_equal(low, high):
        half = max(abs(low) * 0.05, 0.5)
        return np.asarray([low - half, low + half])
    return np.linspace(low, high, min(MOST_BINS, max(5, math.ceil(math.sqrt(len(values)) * 1.5))) + 1)


def histogram(scores: Sequence[float], mean: float, low: float, high: float, solved: float | None) -> Chart | None:
    """How scores are distributed, with their mean and its interval, and the score from which a task is solved.

    That is left out where it lies so far off that the bars would be squeezed.
    """
    if not scores:
        return None
    edges = bin_edges(scores)
    counts, _ = np.histogram(scores, edges)
    first, last = float(edges[0]), float(edges[-1])
    if solved is not None and not 2 * first - last <= solved <= 2 * last - first:
        solved = None
    x = scale_of([first, last, *([] if solved is None else [solved])], room=0.04)
    y = Scale(0, max(1, int(counts.max())) * 1.08, 100, 0)
    bars = [
        Shape("bar", _bar(x(left), x(right), y(int(count))), f"{short(left)} to {short(right)}: {count}")
        for left, right, count in zip(edges[:-1], edges[1:], counts, strict=True)
        if count
    ]
    solved_line = [Shape("solved", f"M{x(solved)} 0V100", f"solved from {short(solved)}")] if solved is not None else []
    most = int(counts.argmax())
    return Chart(
        summary=f"Distribution of {len(scores)} scores from {short(min(scores))} to {short(max(scores))}; most, "
        f"{counts[most]}, lie from {short(edges[most])} to {short(edges[most + 1])}. Mean {short(mean)}.",
        x_ticks=_inside(ticks(x, 5)),
        y_ticks=tuple(tick for tick in ticks(y, 3) if "." not in tick.label),
        shapes=(
            Shape("band", f"M{x(low)} 0H{x(high)}V100H{x(low)}Z"),
            *bars,
            Shape("mean", f"M{x(mean)} 0V100", f"mean {short(mean)}"),
            *solved_line,
        ),
        x_title="score of an episode",
    )


def overlaid(series: Sequence[Series]) -> Chart | None:
    """Several distributions in the same bins, as shares of their episodes: outlines over each other."""
    shown = [one for one in series if one.values]
    if not shown:
        return None
    edges = bin_edges([value for one in shown for value in one.values])
    shares = [np.histogram(one.values, edges)[0] / len(one.values) for one in shown]
    x = scale_of([float(edges[0]), float(edges[-1])], room=0.04)
    y = Scale(0, max(float(share.max()) for share in shares) * 108, 100, 0)
    shapes = []
    for one, share in zip(shown, shares, strict=True):
        steps = "".join(
            f"V{y(100 * float(value))}H{x(float(edge))}" for value, edge in zip(share, edges[1:], strict=True)
        )
        shapes.append(Shape(f"outline {one.kind}", f"M{x(float(edges[0]))} 100{steps}V100", one.name))
    told = [f"{one.name}: {short(min(one.values))} to {short(max(one.values))}" for one in shown]
    return Chart(
        summary="Distributions of the scores. " + "; ".join(told) + ".",
        x_ticks=_inside(ticks(x, 5)),
        y_ticks=tuple(Tick(tick.at, f"{tick.label}%") for tick in ticks(y, 3)),
        shapes=tuple(shapes),
        x_title="score of an episode",
    )


def over_time(values: Sequence[float], name: str) -> Chart | None:
    """A figure of an episode step by step. name: what it is, e.g. return."""
    if not values:
        return None
    x = Scale(0, max(1, len(values)))
    y = scale_of([*values, 0.0], start=100, end=0)
    kept = thinned(len(values))
    line = [(x(step + 1), y(values[step])) for step in kept]
    fifths = [values[max(0, round(len(values) * part / 5) - 1)] for part in range(1, 6)]
    return Chart(
        summary=f"{name.capitalize()} over {len(values)} steps. After each fifth of them: "
        + ", ".join(short(value) for value in fifths)
        + ".",
        x_ticks=whole_ticks(x),
        y_ticks=ticks(y, 3),
        shapes=(
            Shape("zero", f"M0 {y(0.0)}H100"),
            Shape("line", f"M{_points(line)}" + ("h0" if len(line) == 1 else "")),
        ),
        x_title="steps",
    )


def thinned(count: int) -> list[int]:
    """Indices of at most about MOST_POINTS of so many points, the last one always among them."""
    stride = max(1, math.ceil(count / MOST_POINTS))
    kept = list(range(0, count, stride))
    return kept if not count or kept[-1] == count - 1 else [*kept, count - 1]


def _inside(found: tuple[Tick, ...]) -> tuple[Tick, ...]:
    """Labels at the ends lean inwards, so that none is cut."""
    return tuple(
        Tick(tick.at, tick.label, "start" if tick.at < 4 else "end" if tick.at > 96 else "middle") for tick in found
    )


def _points(points: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{x} {y}" for x, y in points)


def _bar(left: float, right: float, top: float) -> str:
    gap = min(0.25, (right - left) / 8)
    return f"M{left + gap:.2f} 100V{top}H{right - gap:.2f}V100Z"
