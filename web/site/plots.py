"""What the chart library is told: figures, axes and marks as plain values. Pure.

Nothing here knows how a chart is drawn: `static/web/plots.js` does, in the browser, with colours of the style sheet.
Every page shows the same figures in a table, which is all there is without scripts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Numbers = Sequence[float | None]
LARGEST = 1e15
"""Beyond it the library finds no ticks for an axis: further apart numbers differ by less than they are rounded to."""


@dataclass(frozen=True, slots=True)
class Axis:
    """title: what it measures. kind: how its numbers are written, and that ticks stand at whole ones; time is in
    seconds since 1970. low, high: its ends, None where the figures decide."""

    title: str
    kind: Literal["number", "whole", "share", "time"] = "number"
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A figure at each place of the horizontal axis; of bars and steps, from each to the next.

    colour: a custom property of the style sheet. dash: lengths of strokes and gaps in pixels, none for a full line.
    """

    label: str
    values: Numbers
    colour: str = "--first"
    look: Literal["line", "dots", "both", "bars", "steps"] = "both"
    dash: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """From where to where a figure may lie, as one band or as a bar at each place."""

    label: str
    low: Numbers
    high: Numbers
    colour: str = "--first"
    look: Literal["band", "bars"] = "band"


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment or number worth a line across the chart, or a band with `to`. axis: on which it lies; the vertical one
    reaches at least there. is_key: its label stands with those of lines, not beside it."""

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
class Table:
    """Figures as they are read: words of the head, and of each row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart. summary: the whole of it in words. xs: places, increasing; the edges of bars and steps, one more than
    there are of them. diagonal: draw where both axes are equal.

    table: the same in figures, of a long line some places, the last one always among them; None where the page has a
    table of its own.
    """

    summary: str
    x: Axis
    y: Axis
    xs: Sequence[float]
    lines: tuple[Line, ...]
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()
    diagonal: bool = False
    table: Table | None = None

    @property
    def data(self) -> dict[str, Any]:
        """As JSON for the page; None for what cannot be drawn."""
        return {name: _told(value) for name, value in asdict(self).items() if name != "table"}

    @property
    def keys(self) -> tuple[Line | Span | Mark, ...]:
        """What has to be told apart."""
        marks = tuple(mark for mark in self.marks if mark.is_key)
        found: tuple[Line | Span | Mark, ...] = (*self.lines, *self.spans, *marks)
        return found if len(found) > 1 else ()


def drawable(value: float) -> bool:
    """Whether a chart has a place for it: it is a number, and not too large."""
    return abs(value) <= LARGEST


def _told(value: Any) -> Any:
    if isinstance(value, float):
        return value if drawable(value) else None
    if isinstance(value, dict):
        return {name: _told(part) for name, part in value.items()}
    return [_told(part) for part in value] if isinstance(value, Sequence) and not isinstance(value, str) else value
