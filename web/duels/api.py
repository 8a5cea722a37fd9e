"""API of duels, their matches and their replays."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from arena_kit.environment.records import MatchRecord
from core.duels.selectors import match_get, records_open
from core.duels.traces import match_trace
from core.listing import duel_rows
from core.models import Duel, DuelOutcome, JobState, RecheckVerdict, Submission
from core.submissions.selectors import agent_source_visible
from core.tournaments.results import duel_check, withheld_from
from web.api.base import Listed, Shown
from web.api.fields import JobFields, Version
from web.api.listing import Pages, RowFilter
from web.api.replays import NOT_PLAYED, WITHHELD
from web.site.played import get_duel
from web.site.requests import viewer_of

BY_PLAYER = "Two values: of player 1 and of player 2."


class DuelAnswer(JobFields):
    tournament = serializers.IntegerField(source="tournament_id", allow_null=True, help_text="null: it is unrated.")
    promotion = serializers.IntegerField(
        source="promotion_id",
        allow_null=True,
        help_text="Id of the promotion: the duel tests a new version and is unrated.",
    )
    environment = serializers.CharField(source="environment.slug")
    environment_version = serializers.CharField()
    number = serializers.IntegerField(help_text="Place in the schedule, from 1.")
    round = serializers.IntegerField()
    player_1 = Version()
    player_2 = Version()
    expected = serializers.FloatField(
        allow_null=True, help_text="Share of the matches for player 1, 0 to 1, as predicted before the duel."
    )
    is_void = serializers.BooleanField(help_text="Whether the duel counts for neither side.")
    outcome = serializers.ChoiceField(choices=DuelOutcome.choices, allow_blank=True)
    reason = serializers.CharField(help_text="Why the two meet; may be empty.")
    match_count = serializers.IntegerField(help_text="With a sequential test, the maximum.")
    matches_done = serializers.IntegerField()
    distinct_matches = serializers.IntegerField(
        allow_null=True, help_text="Matches that do not merely repeat others; null: not counted."
    )
    player_1_wins = serializers.IntegerField()
    player_2_wins = serializers.IntegerField()
    draws = serializers.IntegerField()
    player_1_errors = serializers.IntegerField(help_text="Matches forfeited.")
    player_2_errors = serializers.IntegerField()
    player_1_score = serializers.FloatField()
    player_2_score = serializers.FloatField()
    test = serializers.JSONField(allow_null=True, help_text="The sequential test that may end the duel early.")
    test_result = serializers.JSONField(
        allow_null=True,
        help_text="Its result: state, pairs, counts (pairs by half points), llr (log-likelihood ratio), sentence.",
    )
    seed = serializers.IntegerField()
    player_1_digest = serializers.CharField(help_text="Content id of the image that played.")
    player_2_digest = serializers.CharField()
    record_sha256 = serializers.CharField(help_text="Hash of the play, see docs/contributor/architecture.md.")
    verdict = serializers.ChoiceField(choices=RecheckVerdict.choices, allow_blank=True)


class DuelFilter(filters.FilterSet):
    tournament = RowFilter(field_name="tournament_id")
    environment = filters.CharFilter(
        field_name="player_1__agent__environment__slug", help_text="Slug of the environment."
    )
    agent = RowFilter(method="of_agent", help_text="Id of an agent that is one of its players.")
    state = filters.ChoiceFilter(choices=JobState.choices)
    outcome = filters.ChoiceFilter(choices=[choice for choice in DuelOutcome.choices if choice[0]])

    class Meta:
        model = Duel
        fields = ["tournament", "environment", "state", "outcome"]

    def of_agent(self, rows: QuerySet[Duel], name: str, value: int) -> QuerySet[Duel]:
        # The keys first: with a subquery on either side PostgreSQL would read all duels.
        versions = list(Submission.objects.filter(agent=value).values_list("pk", flat=True))
        return rows.filter(Q(player_1__in=versions) | Q(player_2__in=versions))


class DuelList(Listed[Duel]):
    """All duels, newest first. Tournaments whose results are withheld from you are left out."""

    tag = "duels"
    queryset = duel_rows()
    serializer_class = DuelAnswer
    filterset_class = DuelFilter
    ordering_fields = ("created_at",)

    def get_queryset(self) -> QuerySet[Duel]:
        return super().get_queryset().exclude(tournament__in=withheld_from(viewer_of(self.request)))


class DuelShown(Shown[Duel]):
    """One duel."""

    tag = "duels"
    queryset = duel_rows()
    serializer_class = DuelAnswer

    def get_object(self) -> Duel:
        row = super().get_object()
        duel_check(row, viewer_of(self.request))
        return row


class MatchLine(serializers.Serializer[Any]):
    """A match in the index of its duel. Players are 1 and 2.

    first_player: the player in the first seat. faulty_player: the one that forfeited; null for none. moves: including
    those of the opening.
    """

    number = serializers.IntegerField()
    outcome = serializers.CharField()
    fault = serializers.CharField()
    faulty_player = serializers.IntegerField(allow_null=True)
    first_player = serializers.IntegerField()
    moves = serializers.IntegerField()


class MatchPage(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = MatchLine(many=True)


class MatchPageQuery(serializers.Serializer[Any]):
    page = serializers.IntegerField(default=1, min_value=1)
    page_size = serializers.IntegerField(default=Pages.page_size, min_value=1, max_value=Pages.max_page_size)


class MatchList(APIView):
    """The matches of a duel, by number."""

    tag = "duels"

    @extend_schema(responses={200: MatchPage, 403: WITHHELD, 409: NOT_PLAYED}, parameters=[MatchPageQuery])
    def get(self, request: Request, pk: int) -> Response:
        row = get_duel(request, pk)
        with records_open(row) as archive:
            pages = Pages()
            page = pages.paginate_queryset(archive.index, request, view=self)
            lines = [
                {
                    "number": match.number,
                    "outcome": match.outcome.value,
                    "fault": match.fault.value,
                    "faulty_player": None if match.faulty_player is None else match.faulty_player + 1,
                    "first_player": match.first_player + 1,
                    "moves": match.moves,
                }
                for match in page or ()
            ]
        return pages.get_paginated_response(MatchLine(lines, many=True).data)


class MatchAnswer(serializers.Serializer[Any]):
    """The complete record of a match: with the rules of its version it can be replayed. Players are 1 and 2."""

    number = serializers.IntegerField()
    seed = serializers.IntegerField()
    seats = serializers.SerializerMethodField(help_text="The player on each seat, in order of play.")
    actions = serializers.ListField(child=serializers.IntegerField())
    opening_count = serializers.IntegerField(help_text="How many of the first actions are the opening.")
    outcome = serializers.CharField()
    scores = serializers.ListField(child=serializers.FloatField(), help_text=BY_PLAYER)
    fault = serializers.CharField()
    faulty_player = serializers.SerializerMethodField(help_text="The player that forfeited; null for none.")
    error_code = serializers.CharField()
    error = serializers.SerializerMethodField(
        help_text="A sentence; people who may see the source also get a traceback."
    )
    move_counts = serializers.ListField(child=serializers.IntegerField(), help_text=BY_PLAYER)
    thinking_seconds = serializers.ListField(child=serializers.FloatField(), help_text=BY_PLAYER)
    slowest_move_seconds = serializers.ListField(child=serializers.FloatField(), help_text=BY_PLAYER)
    cpu_seconds = serializers.ListField(child=serializers.FloatField(), help_text=BY_PLAYER)
    move_ms = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        allow_null=True,
        help_text=f"{BY_PLAYER} Milliseconds of each move; empty where no move took half of one, null in old records.",
    )

    def get_seats(self, record: MatchRecord) -> list[int]:
        return [player + 1 for player in record.seats]

    def get_faulty_player(self, record: MatchRecord) -> int | None:
        return None if record.faulty_player is None else record.faulty_player + 1

    def get_error(self, record: MatchRecord) -> str:
        return "\n".join(filter(None, (record.error.partition("\n")[0], self.context["trace"])))


class MatchShown(APIView):
    """One match of a duel."""

    tag = "duels"

    @extend_schema(responses={200: MatchAnswer, 403: WITHHELD, 409: NOT_PLAYED})
    def get(self, request: Request, pk: int, number: int) -> Response:
        row = get_duel(request, pk)
        record, _ = match_get(row, number)
        players = (row.player_1, row.player_2)
        faulty = record.faulty_player
        visible = faulty is None or agent_source_visible(players[faulty].agent, viewer_of(request))
        return Response(MatchAnswer(record, context={"trace": match_trace(row, record) if visible else ""}).data)
