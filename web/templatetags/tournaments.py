"""Filters and tags for meetings and participants of tournaments."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from arena_kit.ranking.formats import Meeting, Source
from core.models import Tournament, User
from core.tournaments.brackets import Drawn, OpenDuel, Side
from core.tournaments.registration_selectors import closed_because
from core.tournaments.selectors import leavable_list
from web.tournaments import bracket_parts as brackets
from web.tournaments.pictures import picture_address, picture_size

register = template.Library()


@register.filter
def source_words(source: Source | None) -> str:
    """Name the participant who comes from a source: winner of W1.2."""
    return brackets.source_words(source)


@register.filter
def registration_closed(tournament: Tournament) -> str:
    """Return why owners cannot register agents now, as a sentence; empty while they can."""
    return closed_because(tournament, now=timezone.now())


register.filter(picture_address)
register.filter(picture_size)


@register.filter
def sides(meeting: Meeting, drawn: Drawn) -> tuple[Side, Side]:
    return drawn.sides(meeting)


@register.filter
def open_duel(meeting: Meeting, drawn: Drawn) -> OpenDuel | None:
    return drawn.open_duel(meeting)


@register.filter
def meeting_words(meeting: Meeting, drawn: Drawn) -> str:
    """Describe a meeting for screen readers: anna against berta."""
    one, other = (_who(side) for side in drawn.sides(meeting))
    return f"{one} against {other}"


@register.simple_tag
def seen(one: brackets.SeenMeeting) -> SafeString:
    """Draw a meeting as one of its sides sees it. A tag, because it is faster: a page may have a thousand cells."""
    words = seen_words(one)
    score = _score(one)
    drawn = format_html(
        '<b aria-hidden="true">{}</b>{}<span class="sr">{}</span>',
        one.result.sign,
        format_html('<small aria-hidden="true">{}</small>', score) if score else "",
        words,
    )
    kind, duels = one.result.name.lower(), one.meeting.duel_keys
    if not duels:
        return format_html('<span class="seen {}" title="{}">{}</span>', kind, words, drawn)
    return format_html(
        '<a id="seen-{}-{}" class="seen {}" href="{}" title="{}">{}</a>',
        duels[-1],
        1 if one.is_player_1 else 2,
        kind,
        reverse("web:duel", args=[duels[-1]]),
        words,
        drawn,
    )


def seen_words(one: brackets.SeenMeeting) -> str:
    """Describe a meeting as one side sees it: won 14:6 against berta, as player 2."""
    if one.opponent is None:
        return one.meeting.sentence or "open"
    score = f" {_score(one)}" if one.meeting.has_score else ""
    seat = "player 1" if one.is_player_1 else "player 2"
    words = f"{one.result}{score} against {one.opponent.submission.agent.name}, as {seat}"
    return f"{words}. {one.meeting.remark}" if one.meeting.remark else words


def _score(one: brackets.SeenMeeting) -> str:
    return f"{matches_won(one.points[0])}:{matches_won(one.points[1])}" if one.meeting.has_score else ""


@register.filter
def matches_won(points: int) -> str:
    """Write match points, 2 for a win and 1 for a draw, as won matches, a draw counting half: 52, 47.5."""
    return f"{points / 2:g}"


def _who(side: Side) -> str:
    return str(side.participant.submission) if side.participant else brackets.source_words(side.source)


@register.inclusion_tag("web/tournaments/withdraw.html", takes_context=True)
def withdraw(context: Context, tournament: Tournament | None) -> dict[str, Any]:
    """List the viewer's agents that may withdraw from a tournament, each with a button."""
    user = context.get("user")
    participants = leavable_list(tournament, user) if tournament is not None and isinstance(user, User) else []
    return {"csrf_token": context.get("csrf_token"), "tournament": tournament, "participants": participants}
