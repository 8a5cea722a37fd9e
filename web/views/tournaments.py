"""Who takes part in a tournament."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from core.models import Participant, TournamentState, User
from core.selectors.agents import agent_source_visible
from core.selectors.tournaments import opponent_list


def participant(request: HttpRequest, slug: str, edition: int, name: str) -> HttpResponse:
    """A participant's duels against each opponent; asked by htmx, the part that changes while they are played."""
    related = ("tournament__environment", "submission__agent__owner", "submission__rating")
    row = get_object_or_404(
        Participant.objects.select_related(*related),
        tournament__environment__slug=slug,
        tournament__edition=edition,
        submission__agent__name__iexact=name,
    )
    assert request.user.is_anonymous or isinstance(request.user, User)
    opponents = opponent_list(row)
    context = {
        "participant": row,
        "agent": row.submission.agent,
        "tournament": row.tournament,
        "environment": row.tournament.environment,
        "is_running": row.tournament.state == TournamentState.RUNNING or any(not one.duel.is_over for one in opponents),
        "opponents": opponents,
        "duels_over": sum(one.duel.is_over for one in opponents),
        "can_see_source": agent_source_visible(row.submission.agent, request.user),
    }
    part = request.headers.get("HX-Target") == "participant"
    return render(request, "web/tournament/body.html" if part else "web/tournament/participant.html", context)
