"""Cards of matches: the picture that other sites show for a link, with the last position, names and scores."""

from __future__ import annotations

import re
import unicodedata
from html import escape

from django.core.cache import cache

from arena_kit.environment.records import MatchRecord
from arena_kit.environment.replay_file.facts import ending
from arena_kit.environment.replay_file.views import seat_views
from arena_kit.text import plain_line
from core.duels.replays import Names, match_views, replay_facts
from core.duels.selectors import NotStored, match_get
from core.models import Duel, Sitting
from web.cards.fonts import drawable
from web.cards.rasteriser import NotDrawn, rasterised

CARD_SIZE = (1200, 630)
"""Width and height in pixels, as sites that preview links ask for."""
BOARD, MARGIN = 510, 60
NAME_LETTERS, LINE_LETTERS = 20, 32
MAX_PICTURE_LETTERS = 500_000
"""A longer picture is left out of the card, because drawing it would take long."""
PLAIN_SECONDS = 600
"""How long the cards of an environment have no picture after one could not be drawn: trying takes seconds."""
_PLACE = re.compile(r"""\s(?:x|y|width|height)\s*=\s*(?:"[^"]*"|'[^']*')""")
_OUTSIDE = re.compile(r"""(?:href\s*=\s*["'](?!\#|data:)|url\(\s*["']?(?!\#|data:)|@import|<!ENTITY)""", re.IGNORECASE)
"""Matches what a picture would load from elsewhere, files of the server included."""


def card_png(row: Duel | Sitting, number: int) -> bytes:
    """Draw the card of a match as PNG. Raises NotStored."""
    of = row.environment if isinstance(row, Duel) else row.submission.agent.environment
    record, _ = match_get(row, number)
    names = replay_facts(row, number).names
    environment, key = of.name, f"card-without-picture:{row.environment_version}"
    if not cache.get(key):
        last = match_views(row, record, (names[0], names[1]))[-1]
        try:
            return rasterised(card_svg(record, (names[0], names[1]), environment, last.svg))
        except NotDrawn:
            cache.set(key, True, timeout=PLAIN_SECONDS)
    try:
        return rasterised(card_svg(record, (names[0], names[1]), environment, ""))
    except NotDrawn:
        raise NotStored("The arena is busy, so this picture cannot be drawn now.") from None


def card_svg(record: MatchRecord, names: Names, environment: str, picture: str) -> str:
    """Return the card as SVG. picture: the last position."""
    width, height = CARD_SIZE
    x = MARGIN + BOARD + MARGIN
    # The page that the card stands for has the names in every script.
    names = drawable(names[0], "Player 1"), drawable(names[1], "Player 2")
    environment = drawable(environment, "A match")
    parts = [f'<rect width="{width}" height="{height}" fill="#f6f7fa"/>', _placed(picture)]
    parts.append(_line(x, 130, 28, environment, "#566176", LINE_LETTERS))
    for place, seat in enumerate(seat_views(record, names)):
        y = 240 + 130 * place
        colour = "#2f6fed" if seat.player == 1 else "#e4572e"
        parts.append(f'<circle cx="{x + 16}" cy="{y - 16}" r="16" fill="{colour}"/>')
        parts.append(_line(x + 50, y, 34, seat.name, "#141b2b", NAME_LETTERS, bold=True))
        parts.append(_line(x + 50, y + 44, 28, f"{seat.score:g}", "#566176", LINE_LETTERS))
    parts.append(_line(x, 520, 28, ending(record, names), "#141b2b", LINE_LETTERS))
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{"".join(parts)}</svg>'


def _placed(picture: str) -> str:
    """Return the position's picture in its place on the card; nothing if it would load anything or is too large."""
    if not picture.startswith("<svg ") or len(picture) > MAX_PICTURE_LETTERS or _OUTSIDE.search(picture):
        return ""
    place = f'x="{MARGIN}" y="{MARGIN}" width="{BOARD}" height="{BOARD}"'
    head, _, rest = picture.partition(">")
    return f"<svg {place}{_PLACE.sub('', head[4:])}>{rest}"


def _line(x: int, y: int, size: int, text: str, colour: str, letters: int, *, bold: bool = False) -> str:
    """Return a line of text, cut after a number of letters, and smaller where it would not fit onto the card."""
    text = plain_line(text)
    shown = text if len(text) <= letters else f"{text[: letters - 1]}…"
    size = min(size, int((CARD_SIZE[0] - MARGIN - x) / max(1.0, sum(map(_width, shown)))))
    weight = ' font-weight="700"' if bold else ""
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}"{weight}>{escape(shown)}</text>'


def _width(letter: str) -> float:
    """Return the width of a letter as a share of the font's size, rather too large than too small."""
    if letter in "MWmw@%—…" or unicodedata.east_asian_width(letter) in "WF":
        return 1.1
    return 0.8 if letter.isupper() else 0.7
