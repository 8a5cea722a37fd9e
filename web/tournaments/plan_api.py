"""Organisers plan tournaments over the API, with the rights, the checks and the service of the page."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from arena_kit.ranking.formats import FORMATS, format_usual
from core.courses.sight import seen
from core.listing import tournament_rows
from core.models import Audience, AuditEntry, Course, Eligibility, Environment, Season, Seeding, Tournament, User
from core.people.audit_log import audit_record, operator_of
from core.people.rights import may
from core.people.selectors import people_named
from core.times import zone_names
from core.tournaments.baselines import baselines_named
from core.tournaments.planning import tournament_plan
from web.api.base import Acting, checked, one, refusals
from web.site.throttling import AccountThrottle, ChangeThrottle, StrangerThrottle
from web.tournaments.api import TournamentAnswer, TournamentList

NO_RIGHT = OpenApiResponse(description="Your account does not have the right that this needs.")
NOT_THERE = OpenApiResponse(description="There is no such environment, course or season.")


class PlanRequest(serializers.Serializer[Any]):
    """A plan; what is left out is as in the form of the site."""

    environment = serializers.SlugField()
    name = serializers.CharField(max_length=100)
    course = serializers.SlugField(required=False, help_text="Of which it is; its roles may plan it.")
    about = serializers.CharField(max_length=5000, required=False, allow_blank=True)
    format = serializers.ChoiceField(choices=list(FORMATS), required=False)
    settings = serializers.DictField(required=False)
    seed = serializers.IntegerField(required=False)
    seeded_by = serializers.ChoiceField(choices=Seeding.choices, required=False)
    is_rated = serializers.BooleanField(required=False)
    has_openings = serializers.BooleanField(required=False)
    results = serializers.ChoiceField(choices=Audience.choices, required=False)
    season = serializers.IntegerField(required=False, help_text="Id of a season of the environment.")
    time_zone = serializers.ChoiceField(choices=zone_names(), required=False)
    registration_opens_at = serializers.DateTimeField(required=False)
    registration_closes_at = serializers.DateTimeField(required=False)
    freezes_at = serializers.DateTimeField(required=False)
    starts_at = serializers.DateTimeField(required=False)
    eligibility = serializers.ChoiceField(choices=Eligibility.choices, required=False)
    teams = serializers.ListField(child=serializers.CharField(max_length=100), required=False)
    invited = serializers.ListField(
        child=serializers.CharField(max_length=254), required=False, max_length=1000, help_text="User names or e-mails."
    )
    max_participants = serializers.IntegerField(required=False)
    baselines = serializers.ListField(
        child=serializers.CharField(max_length=100),
        required=False,
        help_text="Names of agents of the course's teachers or of the site that play without taking a rank.",
    )


class TournamentsPlanned(TournamentList, Acting):
    """All tournaments, newest first. POST plans one; organisers may."""

    throttle_classes = [StrangerThrottle, AccountThrottle, ChangeThrottle]

    @extend_schema(request=PlanRequest, responses={201: TournamentAnswer, 403: NO_RIGHT, 404: NOT_THERE})
    def post(self, request: Request) -> Response:
        """Plan a tournament."""
        account = self.account(request)
        asked = checked(PlanRequest, request)
        course = one(seen(Course.objects.all(), account), slug=asked["course"]) if "course" in asked else None
        _check(account, course)
        environment = one(seen(Environment.objects.all(), account), slug=asked["environment"])
        if course is not None and environment.course_id not in (None, course.pk):
            raise PermissionDenied("The environment belongs to another course.")
        season = one(Season.objects.filter(environment=environment), pk=asked["season"]) if "season" in asked else None
        if season is not None:
            _check(account, environment.course)
        invited, names = _people(asked.pop("invited", [])), asked.pop("baselines", [])
        asked.setdefault("format", format_usual(environment.seats))
        given = {"environment": environment, "course": course, "season": season, "created_by": account}
        row = Tournament(**asked | given)
        with refusals():
            baselines = baselines_named(names, environment, course)
            tournament_plan(tournament=row, invited=invited, baselines=baselines, now=timezone.now())
        audit_record(operator=operator_of(request, AuditEntry.Channel.API), action="add", row=row)
        return Response(TournamentAnswer(one(tournament_rows(), pk=row.pk)).data, status=201)


def _check(account: User, course: Course | None) -> None:
    if not may(account, "core.add_tournament", course.pk if course is not None else None):
        raise PermissionDenied("Your account does not have the right that this needs.")


def _people(names: list[str]) -> list[User]:
    """Return people by user name or e-mail. Raises ValidationError."""
    found = people_named(names)
    missing = [name for name in names if name.casefold() not in found]
    if missing:
        raise ValidationError({"invited": [f"There is no account with this user name or e-mail: {missing[0]}."]})
    return sorted(set(found.values()), key=lambda person: person.pk)
