"""Pieces of HTML that notebooks show: tables, and pictures that play. All text in them is escaped.

Styles stand in the elements and take the colours of the page, because notebooks drop style sheets and may be dark.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from html import escape

from arena_kit.environment.svg import label, svg

SECONDS_A_STATE = 0.7
LAST_SECONDS = 2.5
"""The last state of a picture that plays stays longer than the others."""
CURVE_WIDTH, CURVE_HEIGHT = 640, 240
_BOX = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')
_STYLE = re.compile(r"<style>[^<]*</style>")


def table(rows: Sequence[Mapping[str, object]], caption: str = "") -> str:
    """Return a table of rows with the same keys, which head its columns; without rows the caption alone."""
    if not rows:
        return lines(caption or "There are no rows.")
    head = "".join(f'<th scope="col" style="{_align(rows, name)}">{escape(name)}</th>' for name in rows[0])
    cells = [[f'<td style="{_align(rows, name)}">{_cell(row[name])}</td>' for name in row] for row in rows]
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    above = f'<caption style="text-align:left;color:inherit">{escape(caption)}</caption>' if caption else ""
    return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def lines(text: str) -> str:
    """Return text of several lines as it stands, in a font of equal widths."""
    return f'<pre style="white-space:pre-wrap;margin:0">{escape(text)}</pre>'


def picture(svg: str, alternative: str, width: int = 320) -> str:
    """Return a picture as an image, in which no script runs. width: in pixels, at most."""
    data = base64.b64encode(svg.encode()).decode()
    return (
        f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(alternative)}" '
        f'style="width:{width}px;max-width:100%;height:auto">'
    )


def playing(states: Sequence[str]) -> str:
    """Return one SVG that shows stand-alone SVGs of one size one after another, again and again, without a script."""
    if len(states) < 2:
        return states[0] if states else ""
    box = _BOX.search(states[0])
    size = box[0] if box else ""
    style = _STYLE.search(states[0])
    whole = SECONDS_A_STATE * (len(states) - 1) + LAST_SECONDS
    parts = []
    for index, state in enumerate(states):
        begins, ends = SECONDS_A_STATE * index / whole, SECONDS_A_STATE * (index + 1) / whole
        shown, times = ["none", "inline", "none"], [0.0, begins, ends]
        if index == 0:
            shown, times = shown[1:], [0.0, ends]
        elif index == len(states) - 1:
            shown, times = shown[:2], times[:2]
        times_shown = ";".join(f"{time:.5f}" for time in times)
        inner = state.replace(style[0], "", 1) if style and index else state
        # Without animation, such as in print, the last state is seen.
        first = "" if index == len(states) - 1 else ' display="none"'
        parts.append(
            f'<g{first}>{inner}<animate attributeName="display" dur="{whole:.2f}s" repeatCount="indefinite" '
            f'calcMode="discrete" values="{";".join(shown)}" keyTimes="{times_shown}"/></g>'
        )
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{"".join(parts)}</svg>'


def curve(spans: Sequence[tuple[float, float, float]]) -> str:
    """Return a line chart as SVG. spans: low, value and high of each point, at least two, in order."""
    least, most = min(low for low, _, _ in spans), max(high for _, _, high in spans)
    scale = (CURVE_HEIGHT - 40) / ((most - least) or 1.0)

    def place(index: int, value: float) -> str:
        x = 60 + (CURVE_WIDTH - 80) * index / (len(spans) - 1)
        return f"{x:.1f},{20 + (most - value) * scale:.1f}"

    middle = " ".join(place(index, value) for index, (_, value, _) in enumerate(spans))
    edge = [place(index, high) for index, (_, _, high) in enumerate(spans)]
    edge += [place(index, low) for index, (low, _, _) in reversed(list(enumerate(spans)))]
    parts = [
        f'<rect class="cell" width="{CURVE_WIDTH}" height="{CURVE_HEIGHT}" rx="10"/>',
        f'<polygon class="first" opacity="0.2" points="{" ".join(edge)}"/>',
        f'<polyline class="stroke-first" fill="none" stroke-width="2" points="{middle}"/>',
        label(52, 25, 13, f"{most:.0f}", anchor="end"),
        label(52, CURVE_HEIGHT - 15, 13, f"{least:.0f}", anchor="end"),
    ]
    return svg(CURVE_WIDTH, CURVE_HEIGHT, "Rating over time", parts)


def page_frame(page: str, title: str, height: int) -> str:
    """Return a stand-alone page in a frame that carries it, so that it needs no file and reaches nothing around it.

    height: in pixels.
    """
    return (
        f'<iframe title="{escape(title)}" sandbox="allow-scripts" srcdoc="{escape(page)}" '
        f'style="width:100%;height:{height}px;border:0;border-radius:8px"></iframe>'
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def _align(rows: Sequence[Mapping[str, object]], name: str) -> str:
    is_number = any(isinstance(row[name], (int, float)) for row in rows)
    return f"text-align:{'right' if is_number else 'left'};padding:2px 10px;color:inherit"
