from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from core.models import Participant, User
from core.selectors.agents import agent_source_visible
from core.selectors.tournaments import opponent_list


def participant(request: HttpRequest, slug: str, edition: int, name: str) -> HttpResponse:
    """A participant's duels against each opponent."""
    rows = Participant.objects.select_related(
        "tournament__environment", "submission__agent__owner", "submission__agent__environment", "submission__rating"
    )
    row = get_object_or_404(
        rows,
        tournament__environment__slug=slug,
        tournament__edition=edition,
        submission__agent__name__iexact=name,
    )
    assert request.user.is_anonymous or isinstance(request.user, User)
    context = {
        "participant": row,
        "tournament": row.tournament,
        "environment": row.tournament.environment,
        "opponents": opponent_list(row),
        "can_see_source": agent_source_visible(row.submission.agent, request.user),
    }
    return render(request, "web/tournament/participant.html", context)
