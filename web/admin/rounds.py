"""Actions on the rounds of a tournament."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from core.models import Tournament, User
from core.tournaments.rounds import round_void
from web.admin.base import NamedTimesAdmin, Question, ask, do_each, number_given

VOID_ROUND = Question(
    title="Void a round",
    consequence="From now on the results of the round count for neither side, and the round is played again with the "
    "same seeds. Rounds that depend on it, such as later rounds of a Swiss tournament, become void too and are drawn "
    "again. A tournament that has ended continues. Records stay.",
    button="Void the round",
    number="Round",
    reason="Reason, shown on the pages of the duels",
)


class RoundsAdmin(NamedTimesAdmin[Tournament]):
    """The part of the tournaments' page that acts on rounds."""

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
