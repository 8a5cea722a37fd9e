"""The parts of a match's page besides its states, and the ways to share it with other sites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from django.conf import settings
from django.urls import reverse

from arena_kit.environment.records import MatchRecord
from arena_kit.environment.replay_file.facts import ending
from arena_kit.text import plain_line
from core.duels.replays import Names, duel_names
from core.links import absolute
from core.models import Duel
from web.cards.drawing import CARD_SIZE

VALIDATION_PARTS = ("web:validation_frames", "web:validation_replay")
FRAME_SIZE = (640, 620)
"""Width and height of an embedded match in pixels: its picture, caption and buttons."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """How other sites show a match. page, embed: paths. snippet: HTML that embeds it.

    tags: (property, content) of the elements by which other sites preview a link (Open Graph).
    """

    page: str
    embed: str
    snippet: str
    tags: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class MatchAddresses:
    """Where the parts of a match's page are. files: by form of the replay. previous, next: of the matches beside it.

    page: its own.
    """

    page: str
    frames: str
    files: dict[str, str]
    previous: str = ""
    next: str = ""


def match_addresses(page: str, job_id: int, number: int, count: int) -> MatchAddresses:
    """Return the addresses of a match among others. page: the name of its page's address."""
    frames, replay = (f"{page}_frames", f"{page}_replay") if page == "web:match" else VALIDATION_PARTS
    return MatchAddresses(
        reverse(page, args=[job_id, number]),
        reverse(frames, args=[job_id, number]),
        {form: reverse(replay, args=[job_id, number, form]) for form in ("html", "json")},
        reverse(page, args=[job_id, number - 1]) if number > 1 else "",
        reverse(page, args=[job_id, number + 1]) if number < count else "",
    )


def match_parts(record: MatchRecord, names: Names, *, trace: str) -> dict[str, Any]:
    """Return what the page of a match shows besides its states. trace: the traceback, for people who may see it."""
    return {
        "match": record,
        "names": names,
        "title": f"{names[0]} against {names[1]}",
        "ending": ending(record, names),
        "error": record.error.partition("\n")[0],
        "trace": trace,
    }


def sharing(row: Duel, record: MatchRecord, count: int) -> Sharing:
    """Return how other sites show a match. count: the number of matches of its duel."""
    arguments = [row.pk, record.number]
    names = duel_names(row)
    title = plain_line(f"{names[0]} against {names[1]}")
    page, embed, card = (reverse(f"web:{name}", args=arguments) for name in ("match", "embedded_match", "match_card"))
    width, height = FRAME_SIZE
    said = f"{row.environment.name}, match {record.number} of {count}: {ending(record, names)}."
    snippet = (
        f'<iframe src="{escape(absolute(embed))}" title="{escape(title)}" width="{width}" height="{height}" '
        'loading="lazy"></iframe>'
    )
    return Sharing(page, embed, snippet, preview_tags(title, said, page, card))


def preview_tags(title: str, said: str, page: str, card: str) -> tuple[tuple[str, str], ...]:
    """Return what other sites show for a link to a match. said: what happened in it. page, card: paths."""
    width, height = map(str, CARD_SIZE)
    size = {"og:image:width": width, "og:image:height": height}
    shown = {"og:image": card, "og:image:type": "image/png", **size, "og:image:alt": f"The last position. {said}"}
    return link_tags(title, said, page, shown)


def link_tags(title: str, said: str, page: str, shown: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what other sites show for a link. shown: the tags of its picture, with a path as og:image."""
    tags = {
        "og:type": "website",
        "og:site_name": settings.SITE_NAME,
        "og:title": title,
        "og:description": said,
        "og:url": absolute(page),
        **shown,
        "og:image": absolute(shown["og:image"]),
        "twitter:card": "summary_large_image",
    }
    return tuple((name, plain_line(value)) for name, value in tags.items())
