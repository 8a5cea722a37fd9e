"""The badge of an agent: a small picture with its rank, for pages elsewhere such as a README."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control

from core.evaluations.board import board_rank
from core.models import Agent
from core.ratings.board import standing_of
from web.ratings.parts import agent_shown
from web.site.embedding import loadable
from web.site.numbers import ordinal

CHARACTER = 6.6
"""The width of a character of the badge; names may be up to 50 long."""
PAD = 10


@cache_control(public=True, max_age=60)
def badge(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Draw the badge of an agent."""
    agent = agent_shown(slug, name)
    said = _said(agent)
    left, right = (round(2 * PAD + CHARACTER * len(text)) for text in (agent.name, said))
    context = {"agent": agent, "said": said, "left": left, "right": right, "width": left + right}
    context |= {"middle": left / 2, "middle_right": left + right / 2}
    return loadable(render(request, "web/ratings/badge.svg", context, content_type="image/svg+xml"))


def _said(agent: Agent) -> str:
    if agent.is_resting:
        return "hidden"
    if agent.environment.is_scored:
        current = agent.evaluations.filter(is_current=True).first()
        rank = None if current is None else board_rank(current)
        return "not ranked yet" if current is None or rank is None else f"{ordinal(rank)} · {current.score:.4g}"
    standing = standing_of(agent)
    if standing is None:
        return "not rated yet"
    return f"{ordinal(standing.rank)} of {standing.size} · {standing.rating.value:.0f}"
