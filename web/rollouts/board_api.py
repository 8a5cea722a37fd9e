"""The native API of boards of applications, and of what becomes of tasks."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.errors import Refused
from core.models import AuditEntry, Environment, Task
from core.people.acting import acting
from core.rollouts.board import TaskBoard, TaskBoardRow, board
from core.rollouts.permissions import task_visible
from core.rollouts.selectors import tasks_named
from core.rollouts.sets import task_archive, task_delete, task_set_choose
from core.rollouts.storable import storable_text
from web.api.base import Acting, checked, one, refusals
from web.api.fields import Version
from web.rollouts.api import NO_APPLICATION, TaskAnswer
from web.rollouts.batch_api import LONGEST_NAME, FigureAnswer
from web.rollouts.views import get_task
from web.site.requests import viewer_of

SLUG = OpenApiParameter("slug", OpenApiTypes.STR, OpenApiParameter.PATH)
KEY = OpenApiParameter("key", OpenApiTypes.STR, OpenApiParameter.PATH)


class TaskBoardRowAnswer(serializers.Serializer[Any]):
    rank = serializers.IntegerField(allow_null=True, help_text="null until every task has an attempt.")
    submission = Version()
    success = FigureAnswer(help_text="Mean success rate over tasks, with its 95% interval.")
    all_of_3 = FigureAnswer(help_text="pass^3.")
    cost_per_solved = serializers.SerializerMethodField()
    median_steps = serializers.SerializerMethodField()
    attempted = serializers.IntegerField()
    open_count = serializers.IntegerField()

    def get_cost_per_solved(self, row: TaskBoardRow) -> float | None:
        return row.summary.cost_per_solved

    def get_median_steps(self, row: TaskBoardRow) -> float | None:
        return row.summary.median_steps


class BoardVersion(serializers.Serializer[Any]):
    version = serializers.IntegerField(required=False, min_value=1, help_text="The newest one without it.")


class BoardTasks(serializers.Serializer[Any]):
    tasks = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_NAME), max_length=2_000, help_text="Ids of current tasks."
    )


class TaskChange(serializers.Serializer[Any]):
    archived = serializers.BooleanField()


@extend_schema(parameters=[SLUG])
class ApplicationBoard(Acting):
    """The board of an application: agents by the tasks that they solve. POST chooses these tasks; organisers may."""

    tag = "rollouts"

    @extend_schema(parameters=[BoardVersion], responses={200: OpenApiTypes.OBJECT, 404: NO_APPLICATION})
    def get(self, request: Request, slug: str) -> Response:
        """Show the board by the newest version of its tasks, or by an earlier one."""
        query = BoardVersion(data=request.query_params)
        query.is_valid(raise_exception=True)
        environment = one(Environment.objects.filter(kind="APP"), slug=slug)
        version = query.validated_data.get("version")
        found = board(environment, version)
        if version is not None and found.version != version:
            raise Http404(f"This board has no version {version}.")
        return Response(_shown(found, request))

    @extend_schema(request=BoardTasks, responses={201: OpenApiTypes.OBJECT, 404: NO_APPLICATION})
    def post(self, request: Request, slug: str) -> Response:
        """Choose the tasks of the board; agents work at new ones when the board is renewed."""
        account, sent = self.account(request), checked(BoardTasks, request)
        environment = one(Environment.objects.filter(kind="APP"), slug=slug)
        names = [storable_text(name) for name in sent["tasks"]]
        with refusals(), acting(request, action="choose_tasks", row=environment, sentence="", channel=API):
            named = tasks_named(account, names, environment)
            if lost := [name for name in names if name not in named]:
                raise Refused(f"There is no task {lost[0]}.", field="tasks", code="task_not_found")
            task_set_choose(environment=environment, tasks=list(named.values()), by=account)
        return Response(_shown(board(environment), request), status=201)


@extend_schema(parameters=[SLUG, KEY])
class ApplicationTask(Acting):
    """One task. PATCH archives it or brings it back, DELETE deletes one without results."""

    tag = "rollouts"

    @extend_schema(responses={200: TaskAnswer})
    def get(self, request: Request, slug: str, key: str) -> Response:
        """Show a task."""
        return Response(TaskAnswer(_task(request, slug, key), context={"request": request}).data)

    @extend_schema(request=TaskChange, responses={200: TaskAnswer})
    def patch(self, request: Request, slug: str, key: str) -> Response:
        """Archive a task, which takes it out of the lists, or bring it back; results stay."""
        account, sent, row = self.account(request), checked(TaskChange, request), _task(request, slug, key)
        action, sentence = ("archive", "is archived") if sent["archived"] else ("restore", "is in the lists again")
        with refusals(), acting(request, action=action, row=row, sentence=sentence, channel=API):
            task_archive(task=row, by=account, is_archived=sent["archived"])
        return self.get(request, slug, key)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, key: str) -> Response:
        """Delete a task that has no rollouts and was on no board."""
        account, row = self.account(request), _task(request, slug, key)
        with refusals(), acting(request, action="delete", row=row, sentence="is deleted", channel=API):
            task_delete(task=row, by=account)
        return Response(status=204)


API = AuditEntry.Channel.API


def _task(request: Request, slug: str, key: str) -> Task:
    environment = one(Environment.objects.filter(kind="APP"), slug=slug)
    return get_task(viewer_of(request), storable_text(key), environment)


def _shown(found: TaskBoard, request: Request) -> dict[str, Any]:
    """Return a board; its hidden tasks are named only for those who see them."""
    viewer = viewer_of(request)
    return {
        "version": found.version,
        "tasks": [{"id": task.name, "revision": task.revision} for task in found.tasks if task_visible(task, viewer)],
        "task_count": found.task_count,
        "hidden_count": found.hidden_count,
        "rows": TaskBoardRowAnswer(found.rows, many=True).data,
    }
