"""Agents registered for planned tournaments, by their owners."""

from __future__ import annotations

from functools import partial

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from core.models import Agent, Tournament, User
from core.tournaments.registration_selectors import RegistrationCard, registration_card
from core.tournaments.registrations import registration_create, registration_exchange, registration_withdraw
from web.site.refusals import said
from web.site.requests import whole_number


@require_POST
@login_required
def register(request: HttpRequest, slug: str, edition: int) -> HttpResponse:
    """Register the agent that the form names."""
    tournament, agent, user = _asked(request, slug, edition)
    change = partial(registration_create, tournament=tournament, agent=agent, by=user, now=timezone.now())
    until = (
        f"uploaded before {tournament.moment(tournament.freezes_at)}" if tournament.freezes_at else "at the beginning"
    )
    said(request, f"{agent} is registered. It plays with its newest validated version {until}.", change)
    return redirect("web:edition", slug, edition)


@require_POST
@login_required
def withdraw(request: HttpRequest, slug: str, edition: int) -> HttpResponse:
    """Take back the registration of the agent that the form names."""
    tournament, agent, user = _asked(request, slug, edition)
    change = partial(registration_withdraw, tournament=tournament, agent=agent, by=user)
    said(request, f"{agent} is no longer registered.", change)
    return redirect("web:edition", slug, edition)


@require_POST
@login_required
def exchange(request: HttpRequest, slug: str, edition: int) -> HttpResponse:
    """Let another agent of the person take the place of the one that the form names."""
    tournament, agent, user = _asked(request, slug, edition)
    other = _own(tournament, user, request.POST.get("other", ""))
    change = partial(registration_exchange, tournament=tournament, agent=agent, other=other, by=user)
    said(request, f"{other} plays instead of {agent}.", change)
    return redirect("web:edition", slug, edition)


def shown_registration(request: HttpRequest, tournament: Tournament) -> RegistrationCard:
    """Return the values for `web/tournaments/registration.html`, as `registration`."""
    viewer = request.user if isinstance(request.user, User) else None
    return registration_card(tournament, viewer, now=timezone.now())


def _asked(request: HttpRequest, slug: str, edition: int) -> tuple[Tournament, Agent, User]:
    """Return the tournament and the person's own agent; other people's are not found."""
    assert isinstance(request.user, User)
    tournament = get_object_or_404(Tournament, environment__slug=slug, edition=edition)
    return tournament, _own(tournament, request.user, request.POST.get("agent", "")), request.user


def _own(tournament: Tournament, user: User, key: str) -> Agent:
    own = Agent.objects.filter(environment=tournament.environment_id, owner=user)
    return get_object_or_404(own, pk=whole_number(key) or 0)
