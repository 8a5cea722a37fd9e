"""The API that lists agents, creates them and uploads new versions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Q, QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from arena_kit.upload.image_reference import MOST_REFERENCE_CHARACTERS
from arena_kit.upload.packing import pack_files, pack_image
from core.courses.sight import Viewer, seen
from core.listing import agent_rows, environment_rows
from core.models import Agent, AuditEntry, Environment
from core.models.agent import agent_name
from core.monitoring.metrics import BAD_FORM, upload_mode, upload_refused
from core.ratings.opponents import record_get
from core.submissions.descriptions import MOST_CHARACTERS, agent_describe, agent_share
from core.submissions.services import Labels, agent_create, submission_create
from core.submissions.tries import agents_listed, agents_visible
from web.api.base import Acting, Listed, Shown, checked, one, refusals
from web.site.requests import viewer_of
from web.site.throttling import AccountThrottle, ChangeThrottle, StrangerThrottle, UploadThrottle
from web.site.uploads import archive_upload, too_large
from web.submissions.resting import remove, rest
from web.submissions.version_api import UploadAnswer, submission_uploaded

USED_UP = "Your quota of agents or storage is used up: delete a version first. See /api/v1/me/quotas/."


class AgentAnswer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    environment = serializers.CharField(source="environment.slug")
    owner = serializers.CharField(source="owner.username")
    is_public = serializers.BooleanField(help_text="Whether everyone can read the source and logs.")
    description = serializers.CharField(help_text="What its owner says about it, in Markdown.")
    is_disabled = serializers.BooleanField(help_text="Whether the agent is barred from playing.")
    is_quarantined = serializers.BooleanField(
        help_text="Whether the arena paused the agent for crashing. A new version that validates brings it back."
    )
    is_resting = serializers.BooleanField(
        help_text="Whether the owner has hidden the agent: it joins nothing new and is in no list."
    )
    latest_number = serializers.IntegerField(allow_null=True, help_text="Number of the newest version.")
    latest_submission = serializers.IntegerField(allow_null=True, help_text="Id of the newest version.")
    active_submission = serializers.IntegerField(
        allow_null=True, help_text="Id of the version that plays for the agent; null where none does."
    )
    created_at = serializers.DateTimeField()


class AgentFilter(filters.FilterSet):
    environment = filters.CharFilter(field_name="environment__slug", help_text="Slug of the environment.")
    owner = filters.CharFilter(field_name="owner__username", lookup_expr="iexact")
    name = filters.CharFilter(lookup_expr="icontains", help_text="Part of the name, in any case.")
    is_public = filters.BooleanFilter()

    class Meta:
        model = Agent
        fields = ["environment", "owner", "name", "is_public"]


class UploadRequest(serializers.Serializer[Any]):
    """A new version: a zip as `archive`, or single `files`, of which the arena runs `main_file`."""

    archive = serializers.FileField(
        required=False, allow_empty_file=True, help_text="A zip with player.py or submission.py at its root."
    )
    files = serializers.ListField(
        child=serializers.FileField(allow_empty_file=True), required=False, help_text="Single files instead."
    )
    main_file = serializers.CharField(
        required=False, max_length=200, help_text="The Python file to run, if there are several and none is player.py."
    )
    image = serializers.CharField(
        required=False,
        max_length=MOST_REFERENCE_CHARACTERS,
        help_text="Full name of a container image instead of files, where the arena takes them.",
    )
    algorithm = serializers.CharField(
        required=False, default="", max_length=100, help_text="Algorithm that trained the agent."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        files: list[UploadedFile[bytes]] = attrs.get("files") or []
        archive: UploadedFile[bytes] | None = attrs.get("archive")
        if archive is not None and not files and (archive.name or "").lower().endswith(".py"):
            files, archive = [archive], None
        image = attrs.get("image", "")
        if bool(files) + (archive is not None) + bool(image) != 1:
            or_image = " or image" if settings.IMAGE_REGISTRIES else ""
            raise ValidationError({"archive": [f"Send exactly one of archive (a zip) or files{or_image}."]})
        if image:
            attrs["archive"] = archive_upload(pack_image(image), self.context["request"].FILES)
            attrs["mode"] = "zip"
            return attrs
        if sum(file.size or 0 for file in (*files, *([archive] if archive else []))) > settings.MAX_UPLOAD_BYTES:
            raise ValidationError({"archive": [too_large()]})
        attrs["mode"] = upload_mode([file.name or "" for file in files]) if files else "zip"
        if files:
            with refusals():
                attrs["archive"] = archive_upload(
                    pack_files(files, attrs.get("main_file", ""), takes_scripts=self._takes_scripts(attrs)),
                    self.context["request"].FILES,
                )
        return attrs

    def _takes_scripts(self, attrs: dict[str, Any]) -> bool:
        """Return whether the environment takes scripts; True for one that is not there, which is refused later."""
        wanted = attrs.get("environment") or self.context.get("environment", "")
        found = environment_rows().filter(Q(slug=wanted) | Q(env_id=wanted)).first()
        return found is None or found.runs_scripts


class AgentRequest(UploadRequest):
    """A new agent with its first version."""

    environment = serializers.CharField(max_length=100, help_text="Slug or env_id of the environment.")
    name = serializers.CharField(max_length=50, validators=[agent_name])
    is_public = serializers.BooleanField(
        default=False, help_text="Whether everyone can read source and logs. You cannot change this later."
    )


def environment_named(wanted: str, viewer: Viewer) -> Environment:
    """Return an environment that a viewer may see by its slug or env_id. Raises ValidationError."""
    environment = seen(environment_rows(), viewer).filter(Q(slug=wanted) | Q(env_id=wanted)).first()
    if environment is None:
        raise ValidationError({"environment": ["There is no such environment. See /api/v1/environments/."]})
    return environment


class Uploading(Acting):
    """A view that accepts files."""

    parser_classes = [MultiPartParser]
    throttle_classes = [StrangerThrottle, AccountThrottle, UploadThrottle]

    def checked(self, form: type[UploadRequest], request: Request, environment: str = "") -> dict[str, Any]:
        """Do as `checked` does, and count a refused form as a refused upload.

        environment: the slug, where the form itself names none.
        """
        try:
            return checked(form, request, environment=environment)
        except ValidationError:
            upload_refused(BAD_FORM)
            raise


class VisibleAgents(APIView):
    """Restricts a view to agents that its viewer may know of."""

    def get_queryset(self) -> QuerySet[Agent]:
        return agents_visible(agent_rows(), viewer_of(self.request))


class AgentList(VisibleAgents, Listed[Agent], Uploading):
    """Agents that have worked, and those of the account, newest first."""

    tag = "agents"
    serializer_class = AgentAnswer
    filterset_class = AgentFilter
    ordering_fields = ("name", "created_at")

    def get_queryset(self) -> QuerySet[Agent]:
        return agents_listed(agent_rows(), viewer_of(self.request))

    @extend_schema(
        request={"multipart/form-data": AgentRequest},
        responses={
            200: OpenApiResponse(UploadAnswer, description="The same files were sent before."),
            201: UploadAnswer,
            409: OpenApiResponse(description=USED_UP),
        },
    )
    def post(self, request: Request) -> Response:
        """Create an agent and upload its first version. Sending the same again returns the same version, and a note."""
        owner = self.account(request)
        form = self.checked(AgentRequest, request)
        environment = environment_named(form["environment"], owner)
        notes: list[str] = []
        with refusals():
            submission = agent_create(
                owner=owner,
                environment=environment,
                name=form["name"],
                is_public=form["is_public"],
                archive=form["archive"],
                labels=Labels(algorithm=form["algorithm"], mode=form["mode"]),
                tell=notes.append,
            )
        return submission_uploaded(request, submission, notes)


class AgentChange(serializers.Serializer[Any]):
    description = serializers.CharField(
        max_length=MOST_CHARACTERS, allow_blank=True, required=False, help_text="In Markdown."
    )
    shares_moves = serializers.BooleanField(
        required=False, help_text="Whether its rated matches are part of public data sets (CC BY 4.0)."
    )


class AgentShown(VisibleAgents, Shown[Agent], Acting):
    """One agent."""

    tag = "agents"
    serializer_class = AgentAnswer
    throttle_classes = [StrangerThrottle, AccountThrottle, ChangeThrottle]

    @extend_schema(
        request=AgentChange, responses={200: AgentAnswer, 403: OpenApiResponse(description="The agent is not yours.")}
    )
    def patch(self, request: Request, pk: int) -> Response:
        """Change what you say about your agent."""
        account = self.account(request)
        agent = one(agent_rows(), pk=pk)
        if agent.owner_id != account.pk:
            raise PermissionDenied("Only the owner of an agent may change it.")
        form = checked(AgentChange, request)
        with refusals():
            if "description" in form:
                agent_describe(agent=agent, description=form["description"])
            if "shares_moves" in form:
                agent_share(agent=agent, shares_moves=form["shares_moves"])
        return Response(AgentAnswer(agent).data)

    @extend_schema(request=None, responses={204: None, 403: OpenApiResponse(description="The agent is not yours.")})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete your agent with all its archives, unless it has rated matches or a score."""
        account = self.account(request)
        with refusals():
            remove(request, account, one(agent_rows(), pk=pk), channel=AuditEntry.Channel.API)
        return Response(status=204)


class OpponentAnswer(serializers.Serializer[Any]):
    agent = serializers.IntegerField(source="agent.pk")
    name = serializers.CharField(source="agent.name")
    owner = serializers.CharField(source="agent.owner.username")
    matches = serializers.IntegerField()
    wins = serializers.IntegerField(help_text="Of this agent; a forfeit is a win for the opponent.")
    draws = serializers.IntegerField()
    losses = serializers.IntegerField()
    duels = serializers.IntegerField(source="duel_count")


class AgentOpponents(VisibleAgents):
    """The opponents of an agent."""

    tag = "agents"

    @extend_schema(responses=OpponentAnswer(many=True))
    def get(self, request: Request, pk: int) -> Response:
        """Rated matches of all versions of an agent by opponent, those it met most often first."""
        return Response(OpponentAnswer(record_get(one(self.get_queryset(), pk=pk)).opponents, many=True).data)


class AgentVersions(Uploading):
    """New versions of an agent."""

    tag = "agents"

    @extend_schema(
        request={"multipart/form-data": UploadRequest},
        responses={
            200: OpenApiResponse(UploadAnswer, description="The same files were sent before."),
            201: UploadAnswer,
            403: OpenApiResponse(description="The agent is not yours."),
            409: OpenApiResponse(description=USED_UP),
        },
    )
    def post(self, request: Request, pk: int) -> Response:
        """Upload a new version of your agent. Sending the latest archive again returns that version, and a note."""
        account = self.account(request)
        agent = one(agent_rows(), pk=pk)
        if agent.owner_id != account.pk:
            raise PermissionDenied("Only the owner of an agent may change it.")
        form = self.checked(UploadRequest, request, agent.environment.slug)
        notes: list[str] = []
        with refusals():
            submission = submission_create(
                agent=agent,
                archive=form["archive"],
                labels=Labels(algorithm=form["algorithm"], mode=form["mode"]),
                tell=notes.append,
            )
        return submission_uploaded(request, submission, notes)


class AgentRest(Acting):
    """Hide an agent, or show it and let it play again."""

    tag = "agents"
    throttle_classes = [StrangerThrottle, AccountThrottle, ChangeThrottle]

    @extend_schema(
        request=None, responses={200: AgentAnswer, 403: OpenApiResponse(description="The agent is not yours.")}
    )
    def put(self, request: Request, pk: int) -> Response:
        """Hide your agent: it joins nothing new, leaves boards and running ladders at once, and is in no list."""
        return self._answer(request, pk, is_resting=True)

    @extend_schema(
        request=None, responses={200: AgentAnswer, 403: OpenApiResponse(description="The agent is not yours.")}
    )
    def delete(self, request: Request, pk: int) -> Response:
        """Show your agent and let it play again."""
        return self._answer(request, pk, is_resting=False)

    def _answer(self, request: Request, pk: int, *, is_resting: bool) -> Response:
        account = self.account(request)
        agent = one(agent_rows(), pk=pk)
        with refusals():
            rest(request, account, agent, is_resting=is_resting, channel=AuditEntry.Channel.API)
        return Response(AgentAnswer(one(agent_rows(), pk=pk)).data)
