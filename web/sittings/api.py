"""API of sittings: begin a match against an agent, look at it, move, resign."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.addresses import client_address
from core.courses.sight import seen
from core.duels.positions import Position, position_of
from core.listing import agent_rows
from core.models import Agent, Duel, DuelOutcome, Sitting, User
from core.sittings.selectors import sittings_open
from core.sittings.services import MOST_STEPS, sitting_begin, sitting_move, sitting_resign
from web.api.base import Acting, checked, one, refusals
from web.api.fields import JOB_STATES, Version
from web.api.listing import MAX_ROW_ID
from web.site.played import get_duel
from web.site.requests import viewer_of
from web.sittings.seen import observed, seen_of

SEATS = ("first", "second")
WINNERS = {DuelOutcome.PLAYER_1: "person", DuelOutcome.PLAYER_2: "agent", DuelOutcome.DRAW: "draw"}
NOT_YOURS = OpenApiResponse(description="The sitting is not yours.")
NO_DUEL = OpenApiResponse(description="There is no such duel.")


class ActionAnswer(serializers.Serializer[Any]):
    """An action that is possible now. name: as the page calls it."""

    action = serializers.IntegerField()
    name = serializers.CharField()


class SittingMoveAnswer(serializers.Serializer[Any]):
    """A move. step: from 0. words: in the words of the game."""

    step = serializers.IntegerField()
    seat = serializers.ChoiceField(choices=SEATS)
    action = serializers.IntegerField()
    words = serializers.CharField()


class SittingLine(serializers.Serializer[Any]):
    """A sitting without its board."""

    id = serializers.UUIDField(source="public_id")
    environment = serializers.CharField(source="submission.agent.environment.slug")
    rules = serializers.CharField(source="environment_version", help_text="The exact rules, e.g. connect-four-v2.")
    submission = Version(help_text="The version that plays for the agent.")
    state = serializers.ChoiceField(choices=JOB_STATES, help_text="QUEUED and RUNNING: the match is not over.")
    seat = serializers.SerializerMethodField(help_text="Of the person.")
    page = serializers.SerializerMethodField(help_text="The address on the site.")

    def get_seat(self, row: Sitting) -> str:
        return SEATS[row.persons_seat]

    def get_page(self, row: Sitting) -> str:
        return reverse("web:sitting", args=[row.public_id])


class SittingBoard(serializers.Serializer[Any]):
    """The view of a sitting for the account of a request. What its seat may not know is not in there."""

    is_yours = serializers.BooleanField()
    is_your_turn = serializers.BooleanField()
    step = serializers.IntegerField(allow_null=True, help_text="The current step, from 0; null when it is over.")
    text = serializers.CharField(help_text="The board in words; empty when it is over.")
    observation = serializers.ListField(
        child=serializers.FloatField(),
        allow_null=True,
        help_text="What your seat sees, row by row, as agents get it; null when it is over or not yours.",
    )
    actions = ActionAnswer(many=True, help_text="What you can play now; empty when it is not your turn.")
    moves = SittingMoveAnswer(many=True, help_text="So far, without what the match began with; empty when it is over.")
    winner = serializers.ChoiceField(choices=["person", "agent", "draw"], allow_null=True)
    error = serializers.CharField(help_text="Why it could not be played to its end; empty otherwise.")
    replay = serializers.CharField(allow_null=True, help_text="Where its replay is, once it is over.")


class SittingAnswer(SittingLine, SittingBoard):
    """A sitting with its board."""


class SittingRequest(serializers.Serializer[Any]):
    agent = serializers.IntegerField(min_value=1, max_value=MAX_ROW_ID, help_text="Id of the agent.")
    seat = serializers.ChoiceField(choices=SEATS, default=None, allow_null=True, help_text="Yours; null draws it.")
    duel = serializers.IntegerField(
        min_value=1, max_value=MAX_ROW_ID, default=None, allow_null=True, help_text="Go on from a match of this duel."
    )
    match = serializers.IntegerField(min_value=1, max_value=MAX_ROW_ID, default=1, help_text="The number of the match.")
    ply = serializers.IntegerField(min_value=0, max_value=MAX_ROW_ID, default=0, help_text="The state to go on from.")


class MoveRequest(serializers.Serializer[Any]):
    step = serializers.IntegerField(min_value=0, help_text="The one that you have seen, so that no move is made twice.")
    action = serializers.IntegerField(min_value=0, max_value=MAX_ROW_ID)
    steps = serializers.IntegerField(
        min_value=1,
        max_value=MOST_STEPS,
        default=1,
        help_text="For how many steps it is played where both seats move at once.",
    )


class SittingList(Acting):
    """Matches of people against agents."""

    tag = "sittings"

    @extend_schema(responses=SittingLine(many=True))
    def get(self, request: Request) -> Response:
        """List your open sittings, newest first."""
        return Response(SittingLine(sittings_open(self.account(request)), many=True).data)

    @extend_schema(request=SittingRequest, responses={201: SittingAnswer, 404: NO_DUEL})
    def post(self, request: Request) -> Response:
        """Begin a match against an agent. It is unrated, and counts towards the matches of a day as on the site."""
        account = self.account(request)
        form = checked(SittingRequest, request)
        agent = seen(agent_rows(), account).filter(pk=form["agent"]).first()
        if agent is None:
            raise ValidationError({"agent": ["There is no such agent."]})
        made = _begun(request, account, agent, form)
        return Response(_answer(_sitting(made.public_id), account), status=201)


class SittingShown(APIView):
    """One sitting."""

    tag = "sittings"

    @extend_schema(responses=SittingAnswer)
    def get(self, request: Request, public_id: UUID) -> Response:
        """Look at a match. Ask again every second or so while it is not your turn."""
        viewer = viewer_of(request)
        return Response(_answer(_sitting(public_id), viewer if isinstance(viewer, User) else None))


class SittingMoves(Acting):
    """Moves of the person."""

    tag = "sittings"

    @extend_schema(request=MoveRequest, responses={200: SittingAnswer, 403: NOT_YOURS})
    def post(self, request: Request, public_id: UUID) -> Response:
        """Play a move of yours."""
        account, row = self.account(request), _sitting(public_id)
        _own(account, row)
        form = checked(MoveRequest, request)
        with refusals():
            sitting_move(sitting=row, **form)
        return Response(_answer(_sitting(public_id), account))


class SittingResign(Acting):
    """Giving up."""

    tag = "sittings"

    @extend_schema(request=None, responses={200: SittingAnswer, 403: NOT_YOURS})
    def post(self, request: Request, public_id: UUID) -> Response:
        """Resign a match of yours."""
        account, row = self.account(request), _sitting(public_id)
        _own(account, row)
        with refusals():
            sitting_resign(sitting=row)
        return Response(_answer(_sitting(public_id), account))


def _begun(request: Request, account: User, agent: Agent, form: dict[str, Any]) -> Sitting:
    position: Position | None = None
    if form["duel"] is not None:
        one(seen(Duel.objects.all(), account), pk=form["duel"])
        position = position_of(get_duel(request, form["duel"]), form["match"], form["ply"])
    seat = None if form["seat"] is None else SEATS.index(form["seat"])
    address = client_address(request.META)
    with refusals():
        return sitting_begin(user=account, address=address, agent=agent, seat=seat, position=position)


def _sitting(public_id: UUID) -> Sitting:
    return one(Sitting.objects.select_related(*Sitting.RELATED), public_id=public_id)


def _own(account: User, row: Sitting) -> None:
    if not _is_of(account, row):
        raise PermissionDenied("Only the person who plays may move.")


def _answer(row: Sitting, account: User | None) -> dict[str, Any]:
    """Return a sitting for an account. Raises NotStored."""
    is_yours = account is not None and _is_of(account, row)
    board: dict[str, Any] = {
        "is_yours": is_yours,
        "is_your_turn": False,
        "step": None,
        "text": "",
        "observation": None,
        "actions": [],
        "moves": [],
        "winner": WINNERS.get(DuelOutcome(row.outcome)),
        "error": row.public_error if row.is_over and not row.records else "",
        "replay": reverse("web:sitting_replay", args=[row.public_id, "json"]) if row.records else None,
    }
    if not row.is_over:
        board |= _open_board(row, is_yours=is_yours)
    return {**SittingLine(row).data, **SittingBoard(board).data}


def _open_board(row: Sitting, *, is_yours: bool) -> dict[str, Any]:
    seen = seen_of(row, is_seated=is_yours)
    return {
        "is_your_turn": is_yours and seen.is_turn,
        "step": len(seen.state.steps),
        "text": seen.text,
        "observation": observed(seen.spec, seen.state, row.persons_seat) if is_yours else None,
        "actions": [{"action": one.action, "name": one.name} for one in seen.choices],
        "moves": [
            {"step": move.step, "seat": SEATS[move.seat], "action": move.action, "words": move.words}
            for moves in seen.moves
            for move in moves
        ],
    }


def _is_of(account: User, row: Sitting) -> bool:
    """Return whether a person plays; visitors have no account, so theirs are played in the browser alone."""
    return row.user_id == account.pk and not row.address_digest
