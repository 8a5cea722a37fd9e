"""Tournaments, who takes part, and ratings."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django_filters import rest_framework as filters
from rest_framework import serializers

from core.models import Participant, Rating, Tournament, TournamentState
from core.selectors.listing import participant_rows, rating_rows, tournament_rows
from web.api.native.fields import Version
from web.api.native.views import Listed, Shown, one


class TournamentAnswer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    environment = serializers.CharField(source="environment.slug")
    edition = serializers.IntegerField()
    state = serializers.ChoiceField(choices=TournamentState.choices)
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class TournamentFilter(filters.FilterSet):
    environment = filters.CharFilter(field_name="environment__slug", help_text="Slug of the environment.")
    state = filters.ChoiceFilter(choices=TournamentState.choices)

    class Meta:
        model = Tournament
        fields = ["environment", "state"]


class TournamentList(Listed[Tournament]):
    """All editions, newest first."""

    tag = "tournaments"
    queryset = tournament_rows()
    serializer_class = TournamentAnswer
    filterset_class = TournamentFilter
    ordering_fields = ("started_at", "edition")


class TournamentShown(Shown[Tournament]):
    """One edition."""

    tag = "tournaments"
    queryset = tournament_rows()
    serializer_class = TournamentAnswer


class ParticipantAnswer(serializers.Serializer[Any]):
    rank = serializers.IntegerField(help_text="Ties share: 1, 1, 3.")
    submission = Version()
    points = serializers.IntegerField()
    wins = serializers.IntegerField(help_text="Duels won.")
    draws = serializers.IntegerField()
    losses = serializers.IntegerField()
    total_score = serializers.FloatField()
    rating = serializers.FloatField(allow_null=True, help_text="As it stood when the edition ended.")
    withdrawn_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was taken out of the edition: its duels count for nobody's standing."
    )


class ParticipantList(Listed[Participant]):
    """The table of an edition, by rank."""

    tag = "tournaments"
    queryset = participant_rows()
    serializer_class = ParticipantAnswer

    def get_queryset(self) -> QuerySet[Participant]:
        tournament = one(tournament_rows(), pk=self.kwargs["pk"])
        return super().get_queryset().filter(tournament=tournament)


class RatingAnswer(serializers.Serializer[Any]):
    submission = Version()
    environment = serializers.CharField(source="submission.agent.environment.slug")
    value = serializers.FloatField()
    duel_count = serializers.IntegerField()
    updated_at = serializers.DateTimeField()


class RatingFilter(filters.FilterSet):
    environment = filters.CharFilter(field_name="submission__agent__environment__slug", help_text="Slug of it.")
    owner = filters.CharFilter(field_name="submission__agent__owner__username", lookup_expr="iexact")

    class Meta:
        model = Rating
        fields = ["environment", "owner"]


class RatingList(Listed[Rating]):
    """Skill over all editions, best first. Compare within one environment only."""

    tag = "ratings"
    queryset = rating_rows()
    serializer_class = RatingAnswer
    filterset_class = RatingFilter
    ordering_fields = ("value", "duel_count")
