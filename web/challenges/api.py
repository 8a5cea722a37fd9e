"""API of challenges: create, list, show, cancel."""

from __future__ import annotations

from typing import Any

from django_filters import rest_framework as filters
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from core.courses.sight import seen
from core.duels.challenge_selectors import ChallengeDuel, ChallengeTally, challenge_rows, report_of
from core.duels.challenges import challenge_cancel, challenge_create
from core.duels.version_tests import version_test_create
from core.listing import agent_rows
from core.models import Agent, AuditEntry, Challenge, ChallengeKind, User
from core.people.audit_log import operator_of
from web.api.base import Acting, Listed, Shown, checked, one, refusals
from web.api.fields import JOB_STATES, Version
from web.api.listing import MAX_ROW_ID, RowFilter


class TallyAnswer(serializers.Serializer[Any]):
    """Matches as the challenger sees them; forfeits count as won or lost."""

    won = serializers.IntegerField()
    drawn = serializers.IntegerField()
    lost = serializers.IntegerField()
    share = serializers.FloatField(
        allow_null=True, help_text="Share of the matches, a draw is half; null before any match."
    )
    low = serializers.FloatField(
        allow_null=True, help_text="Lower end of its 95% interval; assumes that no match repeats."
    )
    high = serializers.FloatField(allow_null=True)


class ChallengeLine(serializers.Serializer[Any]):
    duel = serializers.IntegerField(help_text="Id of the duel.")
    opponent = Version()
    state = serializers.ChoiceField(choices=JOB_STATES)
    result = TallyAnswer()


class ChallengeAnswer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=ChallengeKind.choices)
    environment = serializers.CharField(source="submission.agent.environment.slug")
    submission = Version()
    user = serializers.CharField(source="user.username")
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    duels = serializers.SerializerMethodField()
    total = serializers.SerializerMethodField()

    @extend_schema_field(ChallengeLine(many=True))
    def get_duels(self, row: Challenge) -> Any:
        return ChallengeLine([_line(line) for line in report_of(row).lines], many=True).data

    @extend_schema_field(TallyAnswer)
    def get_total(self, row: Challenge) -> Any:
        return TallyAnswer(_tally(report_of(row).total)).data


class ChallengeRequest(serializers.Serializer[Any]):
    agent = serializers.IntegerField(min_value=1, max_value=MAX_ROW_ID, help_text="Id of one of your agents.")
    opponent = serializers.IntegerField(
        min_value=1,
        max_value=MAX_ROW_ID,
        default=None,
        allow_null=True,
        help_text="Id of its opponent; null for the top ten.",
    )
    version = serializers.IntegerField(
        min_value=1, default=None, allow_null=True, help_text="Number of a version to test instead of a challenge."
    )
    against = serializers.IntegerField(
        min_value=1,
        default=None,
        allow_null=True,
        help_text="Number of the agent's version that it is tested against.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        is_test = attrs["version"] is not None
        if is_test != (attrs["against"] is not None) or (is_test and attrs["opponent"] is not None):
            raise ValidationError("A test needs version and against, and no opponent.")
        return attrs


class ChallengeFilter(filters.FilterSet):
    environment = filters.CharFilter(field_name="submission__agent__environment__slug", help_text="Slug.")
    agent = RowFilter(field_name="submission__agent", help_text="Id of the challenging agent.")
    user = filters.CharFilter(field_name="user__username", lookup_expr="iexact")

    class Meta:
        model = Challenge
        fields = ["environment", "agent", "user"]


class ChallengeList(Listed[Challenge], Acting):
    """All challenges, newest first."""

    tag = "challenges"
    queryset = challenge_rows()
    serializer_class = ChallengeAnswer
    filterset_class = ChallengeFilter

    @extend_schema(
        request=ChallengeRequest,
        responses={201: ChallengeAnswer, 403: OpenApiResponse(description="The agent is not yours.")},
    )
    def post(self, request: Request) -> Response:
        """Start unrated duels between your agent and another one, or the top ten. Active versions play.

        With version and against, one version is tested against the other until a sequential test is decided.
        """
        account = self.account(request)
        form = checked(ChallengeRequest, request)
        wanted = {key: form[key] for key in ("agent", "opponent") if form[key] is not None}
        found = seen(agent_rows(), account).in_bulk(set(wanted.values()))
        for name, key in wanted.items():
            if key not in found:
                raise ValidationError({name: ["There is no such agent."]})
        agent = found[form["agent"]]
        if agent.owner_id != account.pk:
            raise PermissionDenied("Only the owner of an agent may challenge others with it.")
        with refusals():
            made = _asked(account, agent, found.get(form["opponent"]), form)
        return Response(ChallengeAnswer(challenge_rows().get(pk=made.pk)).data, status=201)


class ChallengeShown(Shown[Challenge]):
    """One challenge with its duels."""

    tag = "challenges"
    queryset = challenge_rows()
    serializer_class = ChallengeAnswer


class ChallengeCancel(Acting):
    """Cancelling a challenge."""

    tag = "challenges"

    @extend_schema(
        request=None,
        responses={200: ChallengeAnswer, 403: OpenApiResponse(description="The challenge is not yours.")},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Cancel the unfinished duels of your challenge."""
        account = self.account(request)
        row = one(challenge_rows(), pk=pk)
        if row.user_id != account.pk:
            raise PermissionDenied("Only the person who made a challenge may cancel it.")
        with refusals():
            challenge_cancel(challenge=row, operator=operator_of(request, AuditEntry.Channel.API))
        return Response(ChallengeAnswer(challenge_rows().get(pk=pk)).data)


def _asked(account: User, agent: Agent, opponent: Agent | None, form: dict[str, Any]) -> Challenge:
    """Make what a request asks for. Raises Refused and ValidationError."""
    if form["version"] is None:
        return challenge_create(user=account, agent=agent, opponent=opponent)
    numbers = {field: form[field] for field in ("version", "against")}
    rows = {row.number: row for row in agent.submissions.filter(number__in=numbers.values())}
    for field, number in numbers.items():
        if number not in rows:
            raise ValidationError({field: ["This agent has no such version."]})
    return version_test_create(user=account, submission=rows[form["version"]], against=rows[form["against"]])


def _line(line: ChallengeDuel) -> dict[str, Any]:
    return {
        "duel": line.duel.pk,
        "opponent": line.duel.player_2,
        "state": line.duel.state,
        "result": _tally(line.tally),
    }


def _tally(tally: ChallengeTally) -> dict[str, Any]:
    share = tally.share
    return {
        "won": tally.won,
        "drawn": tally.drawn,
        "lost": tally.lost,
        "share": share.value if share else None,
        "low": share.low if share else None,
        "high": share.high if share else None,
    }
