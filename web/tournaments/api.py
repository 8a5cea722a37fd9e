"""Tournaments, their participants, and ratings."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet
from django_filters import rest_framework as filters
from rest_framework import serializers

from core.listing import participant_rows, rating_rows, tournament_rows
from core.models import Audience, Participant, Rating, Seeding, Tournament, TournamentState
from core.tournaments.results import results_check
from web.api.base import Listed, Shown, one
from web.api.fields import SeedsAnswer, Version
from web.site.requests import viewer_of
from web.tournaments.pictures import picture_address


class TournamentAnswer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    environment = serializers.CharField(source="environment.slug")
    edition = serializers.IntegerField()
    name = serializers.CharField(allow_blank=True, help_text="Empty for editions of the arena itself.")
    about = serializers.CharField(allow_blank=True, help_text="What its organisers say about it, in Markdown.")
    picture = serializers.SerializerMethodField(help_text="Path of its picture; empty without one.")
    picture_alt = serializers.CharField(allow_blank=True, help_text="Its picture in words.")
    state = serializers.ChoiceField(choices=TournamentState.choices)
    format = serializers.CharField(help_text="round-robin, chosen, ladder, swiss, ...")
    settings = serializers.DictField(help_text="Of the format; an edition of all pairs has none.")
    seeded_by = serializers.ChoiceField(choices=Seeding.choices)
    draw_seed = serializers.IntegerField(
        allow_null=True, help_text="From which the seeds of its participants were drawn; null unless they were."
    )
    is_automatic = serializers.BooleanField(help_text="Whether the arena made it itself.")
    has_openings = serializers.BooleanField(help_text="Whether matches begin with an opening where the rules have any.")
    is_rated = serializers.BooleanField(help_text="Whether it counts for ratings, once its results are public.")
    results = serializers.ChoiceField(choices=Audience.choices, help_text="Who can see its results.")
    registration_opens_at = serializers.DateTimeField(allow_null=True, help_text="Null: there is no registration.")
    registration_closes_at = serializers.DateTimeField(allow_null=True)
    time_zone = serializers.CharField(source="zone_name", help_text="In which its organiser has planned it.")
    freezes_at = serializers.DateTimeField(
        allow_null=True, help_text="Versions that were uploaded later do not take part."
    )
    starts_at = serializers.DateTimeField(allow_null=True, help_text="When it is planned to begin.")
    ends_at = serializers.DateTimeField(allow_null=True, help_text="When a ladder is planned to end.")
    max_participants = serializers.IntegerField(allow_null=True)
    baselines = serializers.ListField(
        child=serializers.CharField(), source="baselines.all", help_text="Agents that play without taking a rank."
    )
    season = serializers.IntegerField(source="season_id", allow_null=True)
    cancel_reason = serializers.CharField(allow_blank=True)
    started_at = serializers.DateTimeField(allow_null=True, help_text="Null while it is planned.")
    ended_at = serializers.DateTimeField(allow_null=True)
    shortfall = serializers.CharField(
        help_text="Why no new duels are created at the moment, as a sentence; empty while they are."
    )

    def get_picture(self, tournament: Tournament) -> str:
        return picture_address(tournament)


class OneTournamentAnswer(TournamentAnswer):
    seeds = SeedsAnswer(
        source="seed_list", allow_null=True, help_text="That all its agents play alone; null where agents meet."
    )


class TournamentFilter(filters.FilterSet):
    environment = filters.CharFilter(field_name="environment__slug", help_text="Slug of the environment.")
    state = filters.ChoiceFilter(choices=TournamentState.choices)
    is_automatic = filters.BooleanFilter(help_text="true: editions of the arena itself; false: those of organisers.")

    class Meta:
        model = Tournament
        fields = ["environment", "state", "is_automatic"]


class TournamentList(Listed[Tournament]):
    """All tournaments, newest first."""

    tag = "tournaments"
    queryset = tournament_rows().prefetch_related("baselines")
    serializer_class = TournamentAnswer
    filterset_class = TournamentFilter
    ordering_fields = ("started_at", "edition")


class TournamentShown(Shown[Tournament]):
    """One tournament."""

    tag = "tournaments"
    queryset = tournament_rows().prefetch_related("baselines")
    serializer_class = OneTournamentAnswer


class ParticipantAnswer(serializers.Serializer[Any]):
    rank = serializers.IntegerField(source="shown_rank", allow_null=True, help_text="Ties share: 1, 1, 3.")
    is_baseline = serializers.BooleanField(help_text="Whether it plays without a rank; its duels decide no rank.")
    submission = Version()
    points = serializers.IntegerField()
    wins = serializers.IntegerField(help_text="Duels won.")
    draws = serializers.IntegerField()
    losses = serializers.IntegerField()
    total_score = serializers.FloatField()
    score = serializers.FloatField(allow_null=True, help_text="Mean score where agents play alone; null without one.")
    score_low = serializers.FloatField(allow_null=True, help_text="Lower end of the mean's 95% interval.")
    score_high = serializers.FloatField(allow_null=True, help_text="Upper end of the mean's 95% interval.")
    rating = serializers.FloatField(allow_null=True, help_text="The rating when the edition ended.")
    rating_low = serializers.FloatField(allow_null=True, help_text="Lower end of its 95% interval at that time.")
    rating_high = serializers.FloatField(allow_null=True, help_text="Upper end of its 95% interval at that time.")
    withdrawn_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When it was withdrawn. Its duels then do not count in the table of an edition of all pairs; in a "
        "ladder and an edition of chosen pairs they count.",
    )


class ParticipantFilter(filters.FilterSet):
    """The filters of the page of an edition; texts are looked for anywhere and in any case."""

    q = filters.CharFilter(method="search", help_text="In the names of agent, owner and team.")
    owner = filters.CharFilter(field_name="submission__agent__owner__username", lookup_expr="icontains")
    team = filters.CharFilter(field_name="submission__agent__owner__team", lookup_expr="icontains")
    matches_min = filters.NumberFilter(
        field_name="submission__rating__match_count",
        lookup_expr="gte",
        min_value=0,
        max_value=2**31 - 1,
        help_text="Rated matches behind the rating that it has now.",
    )

    class Meta:
        model = Participant
        fields = ["q", "owner", "team", "matches_min"]

    def search(self, rows: QuerySet[Participant], name: str, value: str) -> QuerySet[Participant]:
        agent = "submission__agent__"
        columns = (f"{agent}name", f"{agent}owner__username", f"{agent}owner__team")
        return rows.filter(reduce(or_, (Q(**{f"{column}__icontains": value}) for column in columns)))


class ParticipantList(Listed[Participant]):
    """The participants of a tournament, by rank; 403 while its results are withheld from you."""

    tag = "tournaments"
    queryset = participant_rows()
    serializer_class = ParticipantAnswer
    filterset_class = ParticipantFilter
    ordering_fields = ("rank", "points", "total_score", "score", "rating")

    def get_queryset(self) -> QuerySet[Participant]:
        tournament = one(tournament_rows(), pk=self.kwargs["pk"])
        results_check(tournament, viewer_of(self.request))
        return super().get_queryset().filter(tournament=tournament)


class RatingAnswer(serializers.Serializer[Any]):
    submission = Version()
    environment = serializers.CharField(source="submission.agent.environment.slug")
    value = serializers.FloatField(help_text="Strength on the Elo scale, fitted to all rated matches.")
    low = serializers.FloatField(help_text="Lower end of its 95% interval.")
    high = serializers.FloatField(help_text="Upper end of its 95% interval.")
    is_reference = serializers.BooleanField(help_text="Whether the scale hangs on it: value, low and high are equal.")
    rank = serializers.IntegerField(
        allow_null=True,
        help_text="Among the newest versions of all agents that may play: 1, 1, 3. Null: it has no rank.",
    )
    best_rank = serializers.IntegerField(allow_null=True, help_text="The best rank that it may truly have.")
    worst_rank = serializers.IntegerField(allow_null=True, help_text="The worst rank that it may truly have.")
    best_chance = serializers.FloatField(
        allow_null=True, help_text="Probability that it is the strongest of all ranked ones."
    )
    live = serializers.FloatField(
        help_text="Elo rating, updated after every duel; in environments with very many duels, at the next fit."
    )
    duel_count = serializers.IntegerField()
    match_count = serializers.IntegerField()
    updated_at = serializers.DateTimeField()


class RatingFilter(filters.FilterSet):
    environment = filters.CharFilter(
        field_name="submission__agent__environment__slug", help_text="Slug of the environment."
    )
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
