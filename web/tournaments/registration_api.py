"""Registrations for planned tournaments."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from core.courses.sight import seen
from core.listing import agent_rows, registration_rows, tournament_rows
from core.models import Agent, Registration, User
from core.tournaments.registrations import registration_create, registration_exchange, registration_withdraw
from web.api.base import Acting, Listed, checked, one, refusals
from web.api.fields import AgentName
from web.site.throttling import AccountThrottle, ChangeThrottle, StrangerThrottle

NOT_YOURS = OpenApiResponse(description="The agent is not yours.")


class RegistrationAnswer(serializers.Serializer[Any]):
    agent = AgentName()
    created_at = serializers.DateTimeField()


class RegistrationRequest(serializers.Serializer[Any]):
    agent = serializers.IntegerField(min_value=1, max_value=2**63 - 1, help_text="Id of an agent of yours.")


class RegistrationList(Listed[Registration], Acting):
    """The agents registered for a tournament, in the order of registration."""

    tag = "tournaments"
    throttle_classes = [StrangerThrottle, AccountThrottle, ChangeThrottle]
    queryset = registration_rows()
    serializer_class = RegistrationAnswer

    def get_queryset(self) -> QuerySet[Registration]:
        tournament = one(tournament_rows(), pk=self.kwargs["pk"])
        return super().get_queryset().filter(tournament=tournament)

    @extend_schema(request=RegistrationRequest, responses={201: RegistrationAnswer, 403: NOT_YOURS})
    def post(self, request: Request, pk: int) -> Response:
        """Register an agent of yours while registration is open."""
        account = self.account(request)
        tournament = one(tournament_rows(), pk=pk)
        agent = _own(account, checked(RegistrationRequest, request)["agent"])
        with refusals():
            row = registration_create(tournament=tournament, agent=agent, by=account, now=timezone.now())
        return Response(RegistrationAnswer(row).data, status=201)


class RegistrationShown(Acting):
    """The registration of one agent."""

    tag = "tournaments"
    throttle_classes = [StrangerThrottle, AccountThrottle, ChangeThrottle]

    @extend_schema(request=RegistrationRequest, responses={200: RegistrationAnswer, 403: NOT_YOURS})
    def patch(self, request: Request, pk: int, agent_id: int) -> Response:
        """Let another agent of yours take the place of this one; possible until the tournament begins."""
        account = self.account(request)
        tournament = one(tournament_rows(), pk=pk)
        agent, other = _own(account, agent_id), _own(account, checked(RegistrationRequest, request)["agent"])
        with refusals():
            registration_exchange(tournament=tournament, agent=agent, other=other, by=account)
        return Response(RegistrationAnswer(one(registration_rows(), tournament=tournament, agent=other)).data)

    @extend_schema(responses={204: None, 403: NOT_YOURS})
    def delete(self, request: Request, pk: int, agent_id: int) -> Response:
        """Withdraw an agent of yours; possible until the tournament begins."""
        account = self.account(request)
        tournament = one(tournament_rows(), pk=pk)
        agent = _own(account, agent_id)
        with refusals():
            registration_withdraw(tournament=tournament, agent=agent, by=account)
        return Response(status=204)


def _own(account: User, agent_id: int) -> Agent:
    agent = one(seen(agent_rows(), account), pk=agent_id)
    if agent.owner_id != account.pk:
        raise PermissionDenied("Only the owner of an agent may register or withdraw it.")
    return agent
