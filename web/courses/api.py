"""API of courses: the marks and the boards of assignments, with the rights of their pages."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.assignments.board import ClassBoardRow, class_board
from core.assignments.marks import Goal, course_marks, membership, students_of
from core.courses.sight import MARKS
from core.courses.tutoring import SOURCES
from core.models import Assignment, Course
from core.people.rights import may, roles_of
from web.api.base import Acting, one
from web.api.listing import Pages


class GoalAnswer(serializers.Serializer[Any]):
    agent = serializers.CharField(source="baseline.agent", allow_null=True, help_text="The baseline.")
    score = serializers.FloatField(source="baseline.score", allow_null=True, help_text="Or a mean score to reach.")
    percent = serializers.IntegerField(source="baseline.percent", help_text="Share of the points to win.")
    state = serializers.CharField(help_text="passed, being played, not reached or nothing yet.")
    duel = serializers.SerializerMethodField(help_text="Id of the duel that decides; null without one.")
    version = serializers.SerializerMethodField(help_text="Public id of the version that played it.")
    late_days = serializers.IntegerField()
    marks = serializers.FloatField()
    most = serializers.IntegerField(source="baseline.marks")

    def get_duel(self, goal: Goal) -> int | None:
        return None if goal.decisive is None else goal.decisive.duel

    def get_version(self, goal: Goal) -> str | None:
        return None if goal.decisive is None else str(goal.decisive.version.public_id)


class MarkAnswer(serializers.Serializer[Any]):
    assignment = serializers.IntegerField(source="assignment.pk")
    name = serializers.CharField(source="assignment.name")
    environment = serializers.CharField(source="assignment.environment.slug")
    weight = serializers.IntegerField(source="assignment.weight")
    due_at = serializers.DateTimeField(help_text="The deadline of this person.")
    marks = serializers.FloatField()
    most = serializers.IntegerField()
    by_hand = serializers.CharField(
        source="by_hand.reason", default=None, allow_null=True, help_text="Why a teacher changed the marks; else null."
    )
    baselines = GoalAnswer(many=True, source="goals")


class LineAnswer(serializers.Serializer[Any]):
    user = serializers.CharField(source="line.member.user.username")
    name = serializers.CharField(help_text="Their own name, for teachers and tutors; else empty.")
    team = serializers.CharField(source="line.member.team_name")
    percent = serializers.FloatField(allow_null=True, help_text="Weighted, over what has opened; null before.")
    assignments = MarkAnswer(many=True, source="line.marks")


class ClassBoardAnswer(serializers.Serializer[Any]):
    rank = serializers.IntegerField(allow_null=True, help_text="Ties share: 1, 1, 3. Null for a baseline.")
    name = serializers.CharField(help_text="Of the user, the team or the baseline.")
    version = serializers.CharField(help_text="Empty for a baseline.")
    score = serializers.FloatField()
    score_low = serializers.FloatField(allow_null=True, help_text="Lower end of its 95% interval.")
    score_high = serializers.FloatField(allow_null=True)
    late_days = serializers.IntegerField()
    is_own = serializers.SerializerMethodField(help_text="Whether it is your row or your team's.")

    def get_is_own(self, row: ClassBoardRow) -> bool:
        return self.context["account"].pk in row.people


class Marks(Acting):
    """The marks of a course."""

    tag = "courses"
    # The description has pages where the view names them.
    pagination_class = Pages

    @extend_schema(responses=LineAnswer(many=True))
    def get(self, request: Request, course: str) -> Response:
        """Return the marks of all students to the staff of the course, to a student their own, a page at a time.

        A token of a team returns what the team has reached; its people may have other marks.
        """
        # The row first: a stranger learns the same of a course that does not exist as of one that they may not see.
        row, account = one(Course.objects.all(), slug=course), self.account(request)
        sees_all, now = may(account, MARKS, row.pk), timezone.now()
        if not sees_all and row.pk not in roles_of(account):
            raise Http404("There is no such course.")
        pages = self.pagination_class()
        people = students_of(row) if sees_all else membership(row, account).order_by("pk")
        lines = course_marks(row, people=pages.paginate_queryset(people, request, view=self))
        sees_names = may(account, SOURCES, row.pk)
        rows = [
            {"line": one, "percent": one.percent(now), "name": one.member.user.name if sees_names else ""}
            for one in lines
        ]
        return pages.get_paginated_response(LineAnswer(rows, many=True).data)


class ClassBoards(Acting):
    """The board that the class of an assignment sees."""

    tag = "courses"
    pagination_class = Pages

    @extend_schema(responses=ClassBoardAnswer(many=True))
    def get(self, request: Request, course: str, assignment_id: int) -> Response:
        """Return the board of an assignment to the members of its course, a page at a time, the best first."""
        rows = Assignment.objects.select_related("course", "environment")
        row, account = one(rows, course__slug=course, pk=assignment_id), self.account(request)
        board = class_board(row, account, now=timezone.now())
        if board is None:
            raise Http404("There is no such board.")
        pages = self.pagination_class()
        shown = pages.paginate_queryset(board.rows, request, view=self)
        return pages.get_paginated_response(ClassBoardAnswer(shown, many=True, context={"account": account}).data)
