"""The acts of organisers on tournaments over the API, with the rights and the services of the buttons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, PermissionDenied, ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from core.courses.sight import seen
from core.listing import tournament_rows
from core.models import AuditEntry, Participant, Tournament
from core.people.audit_log import operator_of
from core.people.rights import may
from web.api.base import Acting, checked, one
from web.organise.acting import act_on
from web.organise.action import OrganiserAction, QuestionForm, said
from web.organise.actions.participants import PARTICIPANT_ACTIONS
from web.organise.actions.tournaments import PICTURE, TOURNAMENT_ACTIONS
from web.site.throttling import AccountThrottle, ChangeThrottle, StrangerThrottle, UploadThrottle

ACTS: dict[str, OrganiserAction[Any]] = {action.name: action for action in (*TOURNAMENT_ACTIONS, *PARTICIPANT_ACTIONS)}
NO_RIGHT = OpenApiResponse(description="Your account does not have the right that this needs.")


class ActRequest(serializers.Serializer[Any]):
    """The answers to the question before an act."""

    reason = serializers.CharField(max_length=200, required=False, help_text="For acts that ask for one.")
    number = serializers.IntegerField(
        required=False, help_text="Of the round, for acts on one: the next one to reveal, or one to void."
    )
    agent = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        help_text=f"Id of a participant, for acts on one: {', '.join(one.name for one in PARTICIPANT_ACTIONS)}.",
    )


class PictureRequest(serializers.Serializer[Any]):
    """A picture, and what it shows in words."""

    picture = serializers.FileField(required=False, help_text="PNG, JPEG or WebP, unless it has one already.")
    alt = serializers.CharField(max_length=200, help_text="The picture in words, for people who do not see it.")


class ActAnswer(serializers.Serializer[Any]):
    detail = serializers.CharField(help_text="What was done, as a sentence.")


class TournamentAct(Acting):
    """An act of an organiser on a tournament, as its page has a button for it."""

    tag = "tournaments"
    throttle_classes = [StrangerThrottle, AccountThrottle, ChangeThrottle]

    @extend_schema(
        parameters=[OpenApiParameter("name", str, "path", enum=list(ACTS))],
        request=ActRequest,
        responses={200: ActAnswer, 403: NO_RIGHT},
    )
    def post(self, request: Request, pk: int, name: str) -> Response:
        """Do what a button of a tournament or of a participant does, e.g. begin it, release it or void a round."""
        return self.acted(request, pk, name, ActRequest)

    def acted(self, request: Request, pk: int, name: str, answers: type[serializers.Serializer[Any]]) -> Response:
        """Do an act with the answers that are sent."""
        account = self.account(request)
        action = ACTS.get(name)
        if action is None:
            raise NotFound(f"There is no such act; take one of {', '.join(ACTS)}.")
        tournament = one(seen(tournament_rows(), account), pk=pk)
        is_of_one = action in PARTICIPANT_ACTIONS
        if not may(account, action.permission(Participant if is_of_one else Tournament), tournament.course_id):
            raise PermissionDenied("Your account does not have the right that this needs.")
        sent = checked(answers, request)
        row = _participant(tournament, sent) if is_of_one else tournament
        form = QuestionForm(action.question, sent, [row], sent)
        if not form.is_valid():
            raise ValidationError({name: [str(one) for one in found] for name, found in form.errors.items()})
        operator = operator_of(request, AuditEntry.Channel.API)
        is_done, sentence = act_on(row, action, form.answer(account), operator)
        if not is_done:
            raise ValidationError({"detail": said([row], sentence)})
        return Response(ActAnswer({"detail": said([row], sentence)}).data)


def _participant(tournament: Tournament, sent: Mapping[str, Any]) -> Participant:
    """Return the participant that an act is on. Raises ValidationError and Http404."""
    if "agent" not in sent:
        raise ValidationError({"agent": ["This field is required."]})
    rows = Participant.objects.select_related("tournament__environment", "submission__agent__owner")
    # Editions of the arena may have several versions of an agent.
    return one(rows.filter(tournament=tournament, tournament__is_automatic=False), submission__agent=sent["agent"])


class TournamentPicture(TournamentAct):
    """The picture of a tournament, which comes as a form with a file."""

    parser_classes = [MultiPartParser]
    throttle_classes = [StrangerThrottle, AccountThrottle, UploadThrottle]

    @extend_schema(request=PictureRequest, responses={200: ActAnswer, 403: NO_RIGHT})
    def post(self, request: Request, pk: int) -> Response:  # type: ignore[override]  # of one act
        """Show a picture on the pages of a tournament, or describe the one that it has anew."""
        return self.acted(request, pk, PICTURE.name, PictureRequest)
