"""Views of the compatible API: submissions, results, boards and health."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import Http404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import NotAuthenticated, ParseError, ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.cache.answers import cached
from core.environments.additions import addable_ids
from core.errors import QuotaExceeded, Refused
from core.evaluations.board import board_page, environments_with_boards
from core.evaluations.counts import evaluation_counts
from core.models import Submission
from core.monitoring.metrics import upload_refused
from core.operations.health import UNHEALTHY, health_lately
from core.submissions.client_selectors import client_result, client_submission
from core.submissions.clients import CLIENT_ID_TAKEN, client_submit
from core.version import arena_version
from web.api.base import Polled
from web.api.compatible import answers, forms, queries
from web.api.deleting import delete
from web.api.errors import Conflict
from web.api.parsers import AnyTextJSONParser, BoundedFormParser
from web.site.requests import account_of, client_network, viewer_of
from web.site.throttling import AccountThrottle, StrangerThrottle, UploadThrottle
from web.site.uploads import allow_strangers, environment_first

NOT_FOUND = "Submission not found"


class Submit(APIView):
    """Submit a script, several files, or a zip. The answer has the id under which to ask for the result."""

    tag = "compatible"
    parser_classes = [MultiPartParser, BoundedFormParser, AnyTextJSONParser]
    throttle_classes = [StrangerThrottle, AccountThrottle, UploadThrottle]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if account_of(request) is None:
            if not settings.ANONYMOUS_SUBMISSIONS:
                raise NotAuthenticated
            allow_strangers(request._request)

    @extend_schema(
        request={"multipart/form-data": forms.SubmitRequest, "application/json": forms.SubmitText},
        responses={
            200: answers.Submitted,
            409: OpenApiResponse(description="client_id belongs to another submission, or a quota is used up."),
        },
    )
    def post(self, request: Request) -> Response:
        try:
            form = forms.read_submit(request)
        except (ParseError, ValidationError) as error:
            upload_refused(forms.reason_of(error))
            raise
        try:
            submission = _submit(request, form)
        except QuotaExceeded:
            raise
        except Refused as refusal:
            raise (Conflict if refusal.code == CLIENT_ID_TAKEN else ParseError)(str(refusal)) from None
        env_id, algorithm = submission.agent.environment.env_id, submission.algorithm
        answer = {"id": submission.public_id, "status": "queued", "env_id": env_id, "algorithm": algorithm}
        return Response(answers.Submitted(answer).data)


def _submit(request: Request, form: forms.CompatibleSubmitForm) -> Submission:
    environment = form.environment or environment_first(
        request, env_id=form.env_id, archive=form.archive, is_script=form.is_script, public_id=form.client_id
    )
    return client_submit(
        owner=account_of(request),
        environment=environment,
        archive=form.archive,
        algorithm=form.algorithm,
        user_label=form.user_id,
        public_id=form.client_id,
        is_script=form.is_script,
        address=client_network(request) or "",
        mode=form.mode,
    )


class SubmissionsRoot(Submit):
    """Submit a script, several files, or a zip. The same as /api/submit/, for other clients."""


class Results(Polled):
    """The status of a submission, its score, or why it failed."""

    tag = "compatible"

    @extend_schema(
        parameters=[OpenApiParameter("id", OpenApiTypes.UUID, OpenApiParameter.PATH)], responses=answers.Result
    )
    def get(self, request: Request, id: str) -> Response:  # noqa: A002  (its name in the address)
        return Response(answers.Result(client_result(_submission(id), viewer_of(request))).data)


class SubmissionById(Results):
    """The status of a submission, its score, or why it failed. DELETE deletes it."""

    @extend_schema(
        parameters=[OpenApiParameter("id", OpenApiTypes.UUID, OpenApiParameter.PATH)],
        request=None,
        responses={204: OpenApiResponse(description="The submission is deleted.")},
    )
    def delete(self, request: Request, id: str) -> Response:  # noqa: A002  (of its address)
        """Delete your submission. A body, which some clients send, is ignored."""
        account = account_of(request)
        if account is None:
            raise NotAuthenticated
        delete(request, account, _submission(id))
        return Response(status=204)


class Leaderboard(APIView):
    """The board of an environment, best first, with the newest version of each agent."""

    tag = "compatible"

    @extend_schema(parameters=[queries.EnvironmentQuery], responses=answers.BoardEntry(many=True))
    def get(self, request: Request) -> Response:
        return _board(request, request.query_params.get("env_id") or forms.DEFAULT_ENVIRONMENT)


class LeaderboardOf(APIView):
    """The board of the environment that the address names."""

    tag = "compatible"

    @extend_schema(parameters=[queries.BoardQuery], responses=answers.BoardEntry(many=True))
    def get(self, request: Request, env_id: str) -> Response:
        return _board(request, env_id)


class LeaderboardEnvironments(APIView):
    """The ids of all environments that have a board; with `all` also those that a submission may add."""

    tag = "compatible"

    @extend_schema(parameters=[queries.ListQuery], responses=answers.Environments)
    def get(self, request: Request) -> Response:
        query = queries.ListQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        more = addable_ids() if query.validated_data["all"] else []
        return Response({"envs": [*(row.env_id for row in environments_with_boards(viewer_of(request))), *more]})


class EvaluationCountsView(APIView):
    """How many evaluations began, ended well and failed: in all, in the last hour, day and week, and by environment."""

    tag = "compatible"

    @extend_schema(responses=answers.EvaluationCounts)
    def get(self, request: Request) -> Response:
        now = timezone.now()
        counts = cached("evaluation-counts", dict[str, Any], lambda: evaluation_counts(now=now))
        return Response({**counts, "timestamp": now})


class HealthCheck(APIView):
    """The health of each part of the arena, at most a second old."""

    tag = "compatible"
    authentication_classes = ()
    throttle_classes = ()

    @extend_schema(
        responses={
            200: answers.Health,
            503: OpenApiResponse(answers.Health, description="At least one part is unhealthy."),
        }
    )
    def get(self, request: Request) -> Response:
        now = timezone.now()
        components, active = health_lately()
        is_healthy = UNHEALTHY not in components.values()
        status = "healthy" if is_healthy else UNHEALTHY
        answer = {"status": status, "components": components, "timestamp": now}
        answer |= {"version": arena_version(), "active_matches": active}
        if is_healthy:
            return Response(answers.Health(answer).data)
        return Response(answers.Health(answer).data, status=503, headers={"Retry-After": "30"})


def _submission(text: str) -> Submission:
    try:
        submission = client_submission(UUID(text))
    except ValueError:
        submission = None
    if submission is None:
        raise Http404(NOT_FOUND)
    return submission


def _board(request: Request, env_id: str) -> Response:
    environment = forms.environment_known(env_id, viewer_of(request))
    filters, limit, _ = queries.read_board_query(request)
    page = board_page(environment, filters, limit=limit)
    return Response(answers.BoardEntry(page.rows, many=True, context={"env_id": environment.env_id}).data)
