"""The picture of a tournament, and what other sites show for a link to its page."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from django.urls import reverse

from core.links import tournament_address
from core.models import Tournament
from web.duels.match_parts import link_tags

KEY_LENGTH, SIZE = 36, re.compile(r"-(\d+)x(\d+)\.webp$")
MOST_HEIGHT = 320
"""The style sheet shows no picture higher, which is 20rem there."""


def picture_key(tournament: Tournament) -> str:
    """Return the key of a tournament's picture, with which the name of its file begins."""
    return PurePosixPath(str(tournament.picture.name)).stem[:KEY_LENGTH]


def picture_size(tournament: Tournament) -> tuple[int, ...]:
    """Return the width and height of a tournament's picture on its page, in pixels; nothing for one that was chosen
    before its name had them."""
    if (found := SIZE.search(str(tournament.picture.name))) is None:
        return ()
    width, height = map(int, found.groups())
    share = min(1.0, MOST_HEIGHT / height)
    return max(1, round(width * share)), round(height * share)


def picture_address(tournament: Tournament) -> str:
    """Return the path of a tournament's picture; empty without one."""
    if not tournament.picture:
        return ""
    return reverse(
        "web:tournament_picture", args=[tournament.environment.slug, tournament.edition, picture_key(tournament)]
    )


def picture_tags(tournament: Tournament) -> tuple[tuple[str, str], ...]:
    """Return what other sites show for a link to a tournament with a picture; nothing without one."""
    if not tournament.picture:
        return ()
    shown = {"og:image": picture_address(tournament), "og:image:type": "image/webp"}
    said = f"{tournament.environment.name}, edition {tournament.edition}"
    page = tournament_address(tournament)
    return link_tags(tournament.title, said, page, shown | {"og:image:alt": tournament.picture_alt})
