"""The order in which changes of a course take their locks. SQLite lets one transaction write at a time."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, transaction

from core.courses.services import member_change
from core.courses.teams import member_move, team_create
from core.models import Course, Member, Role
from core.tests import factories
from core.tests.concurrency import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]
BLOCKS = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)))"


@pytest.fixture
def course() -> Course:
    return Course.objects.create(slug="robots", name="Robots", team_size=2)


def test_a_student_becomes_a_teacher_while_they_are_put_into_a_team(course: Course) -> None:
    ann = Member.objects.create(course=course, user=factories.user("ann"))
    begun = threading.Event()

    def put() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            team = team_create(course=course, name="blue")
            begun.set()
            # Until the other transaction holds all that it takes before it waits for this one.
            while cursor.execute(BLOCKS) or cursor.fetchone() != (True,):
                pass
            member_move(member=Member.objects.get(pk=ann.pk), team=team)

    def appoint() -> None:
        assert begun.wait(timeout=120)
        member_change(member=Member.objects.get(pk=ann.pk), role=Role.TEACHER)

    at_once(put, appoint)

    ann.refresh_from_db()
    assert (ann.role, ann.team) == (Role.TEACHER, None)
