"""Charts as plain values: figures, axes and marks. Pure.

`static/web/plots.js` draws them in the browser, in the colours of the style sheet. Every page shows the same figures in
a table, which is all that people without scripts see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Numbers = Sequence[float | None]
LARGEST = 1e15
"""Largest value that the library can draw; beyond it, rounding is coarser than the ticks of an axis."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis. title: what it measures. low, high: its ends, None to fit the figures.

    kind: how numbers are written; `whole` puts ticks at whole numbers, `time` is in seconds since 1970.
    """

    title: str
    kind: Literal["number", "whole", "share", "time"] = "number"
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class PlotLine:
    """A figure at each place of the horizontal axis; for bars and steps, from each place to the next.

    colour: a custom property of the style sheet. dash: lengths of strokes and gaps in pixels, empty for a solid line.
    """

    label: str
    values: Numbers
    colour: str = "--first"
    look: Literal["line", "dots", "both", "bars", "steps"] = "both"
    dash: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """The interval of a figure at each place, drawn as one band or as bars."""

    label: str
    low: Numbers
    high: Numbers
    colour: str = "--first"
    look: Literal["band", "bars"] = "band"


@dataclass(frozen=True, slots=True)
class Mark:
    """A line across the chart at a moment or number, or a band up to `to`.

    axis: the axis that `at` is a value of; a vertical axis always reaches it. is_key: the label is in the key of the
    chart, not beside the line.
    """

    at: float
    label: str = ""
    to: float | None = None
    axis: Literal["x", "y"] = "x"
    colour: str = "--edge-strong"
    dash: tuple[int, ...] = (3, 4)
    is_key: bool = False

    @property
    def look(self) -> str:
        return "line" if self.to is None else "band"


@dataclass(frozen=True, slots=True)
class PlotTable:
    """The text of a table: its column heads and its rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart.

    summary: the chart in words. xs: increasing places; for bars and steps their edges, one more than there are bars.
    diagonal: whether to draw the line on which both axes are equal. table: the figures as a table, with some places of
    a long line, always including the last; None if the page has a table of its own.
    """

    summary: str
    x: Axis
    y: Axis
    xs: Sequence[float]
    lines: tuple[PlotLine, ...]
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()
    diagonal: bool = False
    table: PlotTable | None = None

    @property
    def data(self) -> dict[str, Any]:
        """The chart as JSON values for the page; None for values that cannot be drawn."""
        return {name: _told(value) for name, value in asdict(self).items() if name != "table"}

    @property
    def keys(self) -> tuple[PlotLine | Span | Mark, ...]:
        """The lines, spans and marks that the chart's key explains; empty if there is only one."""
        marks = tuple(mark for mark in self.marks if mark.is_key)
        found: tuple[PlotLine | Span | Mark, ...] = (*self.lines, *self.spans, *marks)
        return found if len(found) > 1 else ()


def drawable(value: float) -> bool:
    """Return whether a chart can draw a value: it is a number and not too large."""
    return abs(value) <= LARGEST


def _told(value: Any) -> Any:
    if isinstance(value, float):
        return value if drawable(value) else None
    if isinstance(value, dict):
        return {name: _told(part) for name, part in value.items()}
    return [_told(part) for part in value] if isinstance(value, Sequence) and not isinstance(value, str) else value
