"""Actions on the rounds of a tournament."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from core.models import Tournament
from core.tournaments.voiding import round_void
from web.admin.base import NamedTimesAdmin, OrganiserAnswer, OrganiserQuestion, ask_and_do

VOID_ROUND = OrganiserQuestion(
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
        def action(tournament: Tournament, answer: OrganiserAnswer) -> str:
            count = round_void(tournament=tournament, number=answer.number, reason=answer.reason, user=answer.user)
            return f"round {answer.number} is void ({count} duel{'s' * (count != 1)}) and is played again."

        return ask_and_do(self, request, queryset, VOID_ROUND, action)
