"""What organisers do with the rounds of a tournament."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from core.models import Tournament, User
from core.tournaments.rounds import round_void
from web.admin.base import NamedTimesAdmin, Question, ask, do_each, number_given

VOID_ROUND = Question(
    title="Void a round",
    consequence="Its results count for neither side from now on, and it is played again with the same seeds. What "
    "depends on it, as later rounds of a Swiss tournament do, is void too and drawn anew. A tournament that has "
    "ended goes on. Records stay.",
    button="Void the round",
    number="Round",
    reason="Reason, shown on the pages of the duels",
)


class RoundsAdmin(NamedTimesAdmin[Tournament]):
    """Mixed into the page of tournaments."""

    @admin.action(description="Void a round, with a reason", permissions=["change"])
    def void_round(self, request: HttpRequest, queryset: QuerySet[Tournament]) -> HttpResponse | None:
        answer = ask(self, request, queryset, VOID_ROUND)
        if isinstance(answer, HttpResponse):
            return answer
        assert isinstance(request.user, User)
        number, user = number_given(request), request.user

        def action(tournament: Tournament) -> str:
            count = round_void(tournament=tournament, number=number, reason=answer, user=user)
            return f"round {number} is void ({count} duel{'s' * (count != 1)}) and is played again."

        do_each(self, request, queryset, action)
        return None
