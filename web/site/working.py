"""Working as a team: requests of a person then come from the account of the team, which owns its agents.

Pages about people themselves stay the person's: the account, the inbox, courses, and those of organisers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest

from core.courses.teams import worked_as
from core.models import Team, User
from core.people.rights import roles_lend
from web.site.requests import comes_with_session

TEAM = "works_as"
"""The place in a session for the key of the team as which its person works."""
PERSONAL = ("web.people.", "web.notices.", "web.courses.", "web.organise.", "web.admin.", "django.contrib.", "allauth.")
"""The modules of views that are about the person."""


def work_as_chosen(request: HttpRequest, view: Callable[..., Any]) -> None:
    """Let a person who works as a team of theirs do so in this request: `request.user` is then the team's account.

    `request.person` is the person, and `request.team` the team. Who has left it works as themselves again.
    """
    if not comes_with_session(request) or not isinstance(request.user, User) or TEAM not in request.session:
        return
    team = worked_as(request.user, request.session[TEAM])
    if team is None:
        del request.session[TEAM]
        return
    vars(request).update(team=team, person=request.user)
    if not view.__module__.startswith(PERSONAL):
        roles_lend(request.user, team.account)
        request.user = team.account


def team_of(request: HttpRequest) -> Team | None:
    """Return the team as which the sender of a request works; None for people who work as themselves."""
    found: Team | None = getattr(request, "team", None)
    return found


def work(request: HttpRequest, team: Team | None) -> None:
    """Let the person of a session work as a team of theirs, or as themselves again."""
    if team is None:
        request.session.pop(TEAM, None)
    else:
        request.session[TEAM] = team.pk
