"""Cards of matches: the picture that other sites show for a link, with the last position, names and scores."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from pathlib import Path

from arena_kit.environment.records import MatchRecord
from arena_kit.environment.replay_file.facts import ending
from arena_kit.environment.replay_file.views import seat_views
from arena_kit.text import plain_line
from core.duels.replays import Names, match_views, replay_facts
from core.duels.selectors import match_get
from core.models import Duel

CARD_SIZE = (1200, 630)
"""Width and height in pixels, as sites that preview links ask for."""
BOARD, MARGIN = 510, 60
NAME_LETTERS, LINE_LETTERS = 20, 32
MAX_PICTURE_LETTERS = 500_000
"""A longer picture is left out of the card, because drawing it would take long."""
FONTS = Path("/usr/share/fonts/truetype/dejavu")
_PLACE = re.compile(r"""\s(?:x|y|width|height)\s*=\s*(?:"[^"]*"|'[^']*')""")
_OUTSIDE = re.compile(r"""(?:href\s*=\s*["'](?!\#|data:)|url\(\s*["']?(?!\#|data:)|@import|<!ENTITY)""", re.IGNORECASE)
"""Matches what a picture would load from elsewhere, files of the server included."""


def card_png(row: Duel, number: int) -> bytes:
    """Draw the card of a match as PNG. Raises NotStored."""
    record, _ = match_get(row, number)
    names = replay_facts(row, number).names
    last = match_views(row, record, (names[0], names[1]))[-1]
    try:
        return rasterised(card_svg(record, (names[0], names[1]), row.environment.name, last.svg))
    except ValueError:
        # The environment's own program has made a picture that is no SVG.
        return rasterised(card_svg(record, (names[0], names[1]), row.environment.name, ""))


def card_svg(record: MatchRecord, names: Names, environment: str, picture: str) -> str:
    """Return the card as SVG. picture: the last position."""
    width, height = CARD_SIZE
    x = MARGIN + BOARD + MARGIN
    parts = [f'<rect width="{width}" height="{height}" fill="#f6f7fa"/>', _placed(picture)]
    parts.append(_line(x, 130, 28, environment, "#566176", LINE_LETTERS))
    for place, seat in enumerate(seat_views(record, names)):
        y = 240 + 130 * place
        colour = "#2f6fed" if seat.number == 1 else "#e4572e"
        parts.append(f'<circle cx="{x + 16}" cy="{y - 16}" r="16" fill="{colour}"/>')
        parts.append(_line(x + 50, y, 34, seat.name, "#141b2b", NAME_LETTERS, bold=True))
        parts.append(_line(x + 50, y + 44, 28, f"{seat.score:g}", "#566176", LINE_LETTERS))
    parts.append(_line(x, 520, 28, ending(record, names), "#141b2b", LINE_LETTERS))
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{"".join(parts)}</svg>'


def rasterised(svg: str) -> bytes:
    """Return a picture as PNG. Raises ValueError if it is not SVG."""
    import resvg_py

    png = resvg_py.svg_to_bytes(
        svg_string=svg, skip_system_fonts=bool(_fonts()), font_dirs=_fonts(), sans_serif_family="DejaVu Sans",
        font_family="DejaVu Sans", monospace_family="DejaVu Sans Mono",
    )  # fmt: skip
    return bytes(png)


def _placed(picture: str) -> str:
    """Return the position's picture in its place on the card; nothing if it would load anything or is too large."""
    if not picture.startswith("<svg ") or len(picture) > MAX_PICTURE_LETTERS or _OUTSIDE.search(picture):
        return ""
    place = f'x="{MARGIN}" y="{MARGIN}" width="{BOARD}" height="{BOARD}"'
    head, _, rest = picture.partition(">")
    return f"<svg {place}{_PLACE.sub('', head[4:])}>{rest}"


def _line(x: int, y: int, size: int, text: str, colour: str, letters: int, *, bold: bool = False) -> str:
    text = plain_line(text)
    shown = text if len(text) <= letters else f"{text[: letters - 1]}…"
    weight = ' font-weight="700"' if bold else ""
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}"{weight}>{escape(shown)}</text>'


@cache
def _fonts() -> list[str]:
    return [str(FONTS)] if FONTS.is_dir() else []
