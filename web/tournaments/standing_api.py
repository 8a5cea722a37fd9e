"""How an organisers' tournament stands: brackets, groups, rounds and tables."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from arena_kit.ranking.formats import StageKind
from core.editions.revealing import standing_get
from core.models import Tournament
from core.tournaments.brackets import Drawn
from core.tournaments.results import rounds_visible, withheld_because
from web.api.base import one
from web.api.fields import Version
from web.site.requests import viewer_of

KINDS = [(kind.value, kind.value) for kind in StageKind]


class SourceAnswer(serializers.Serializer[Any]):
    """Where a side of a meeting comes from: seed 3, the winner or the loser of meeting W1.2, place A1 of a group."""

    kind = serializers.ChoiceField(choices=["seed", "winner", "loser", "place"])
    of = serializers.CharField()


class Sides(serializers.ListSerializer[Any]):
    """The sides of a meeting, with their participants."""

    def get_attribute(self, instance: Any) -> Any:
        return self.context["drawn"].sides(instance)


class Lines(serializers.ListSerializer[Any]):
    """The rows of a table, with their participants."""

    def get_attribute(self, instance: Any) -> Any:
        return self.context["drawn"].lines(instance)


class SideAnswer(serializers.Serializer[Any]):
    submission = Version(
        source="participant.submission",
        allow_null=True,
        default=None,
        help_text="Null: not known yet, or there is no opponent.",
    )
    # A serializer has a source of its own, which is set when it is made.
    source = SourceAnswer(allow_null=True)  # type: ignore[assignment]
    points = serializers.IntegerField(help_text="2 for each match that it won, also by forfeit, and 1 for each draw.")
    score = serializers.FloatField(help_text="Sum of its scores over all matches; it breaks ties in points.")
    is_winner = serializers.BooleanField()

    class Meta:
        list_serializer_class = Sides


class MeetingAnswer(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="Its name within the tournament.")
    number = serializers.IntegerField(help_text="Its place in the round, from 1.")
    round = serializers.IntegerField()
    sides = SideAnswer(many=True, help_text="Player 1 and player 2.")
    duels = serializers.ListField(
        child=serializers.IntegerField(), source="duel_keys", help_text="Ids of the duels that count."
    )
    decision = serializers.CharField(
        allow_blank=True,
        source="sentence",
        help_text="How the meeting was decided, as a sentence; empty while it is open.",
    )


class TableRowAnswer(serializers.Serializer[Any]):
    rank = serializers.IntegerField(
        source="shown_rank",
        allow_null=True,
        help_text="Ties share: 1, 1, 3. Null for baselines, after withdrawing, and without a score.",
    )
    submission = Version(source="participant.submission")
    values = serializers.ListField(
        child=serializers.FloatField(), source="row.values", help_text="In the order of the columns."
    )
    notes = serializers.ListField(child=serializers.CharField())

    class Meta:
        list_serializer_class = Lines


class TableAnswer(serializers.Serializer[Any]):
    columns = serializers.ListField(
        child=serializers.CharField(), help_text="The first column ranks, the others break ties."
    )
    rows = TableRowAnswer(many=True)


class StageAnswer(serializers.Serializer[Any]):
    """A group, a bracket, or all rounds of a Swiss tournament."""

    key = serializers.CharField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS)
    rounds = serializers.ListField(child=MeetingAnswer(many=True))
    table = TableAnswer(allow_null=True, help_text="The table of a group; null for other stages.")


class StruckAnswer(serializers.Serializer[Any]):
    round = serializers.IntegerField()
    reason = serializers.CharField()
    duel_count = serializers.IntegerField()


class StandingAnswer(serializers.Serializer[Any]):
    round = serializers.IntegerField(
        allow_null=True, help_text="The earliest round with duels to play; null when the tournament is over."
    )
    stages = StageAnswer(many=True, source="outline.stages")
    table = TableAnswer(source="outline.table")
    notes = serializers.ListField(
        child=serializers.CharField(), source="outline.notes", help_text="Sentences on the whole tournament."
    )
    revealed = serializers.SerializerMethodField(
        help_text="The last round whose results are told to you; null for all of them."
    )
    struck = StruckAnswer(many=True, help_text="Duels taken out of the ledger; those still needed are played again.")

    def get_revealed(self, drawn: Drawn) -> int | None:
        rounds: int | None = self.context["rounds"]
        return rounds


class TournamentStanding(APIView):
    """Stages, meetings and tables of an organisers' tournament; the arena's own editions have only participants."""

    tag = "tournaments"

    @extend_schema(responses=StandingAnswer)
    def get(self, request: Request, pk: int) -> Response:
        tournament = one(Tournament.objects.all(), pk=pk)
        rounds = rounds_visible(tournament, viewer_of(request))
        if rounds == 0:
            raise PermissionDenied(withheld_because(tournament))
        drawn = standing_get(tournament, rounds)
        if drawn is None:
            sentence = (
                "The tournament has not begun."
                if not tournament.is_automatic
                else "An edition has no rounds: see its participants."
            )
            raise Http404(sentence)
        return Response(StandingAnswer(drawn, context={"drawn": drawn, "rounds": rounds}).data)
