from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from core.assignments.deadlines import deadlines_tell
from core.assignments.services import extend, mark_by_hand
from core.assignments.tests import rows
from core.assignments.tests.rows import DUE
from core.models import Notice, Registration, Role, Tournament, User
from core.tests import factories

pytestmark = pytest.mark.django_db
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


def told(user: User) -> list[str]:
    return list(Notice.objects.filter(user=user, kind="ANNOUNCEMENT").order_by("pk").values_list("title", flat=True))


def test_people_who_lack_marks_are_reminded_once_a_day_before_their_own_deadline() -> None:
    course, environment = rows.course(), factories.environment()
    teacher = rows.member(course, "tess", Role.TEACHER)
    ann, bea, cem, dan = (rows.member(course, name) for name in ("ann", "bea", "cem", "dan"))
    easy = rows.reference(teacher.user, environment, "easy")
    row = rows.assignment(course, environment, easy)
    rows.version(ann.user, environment, DUE - 2 * DAY)
    (duel,) = rows.advance(row, DUE - 2 * DAY)
    rows.end(duel, reached=True)
    extend(assignment=row, members=[cem], due_at=DUE + 3 * DAY)
    mark_by_hand(assignment=row, user=dan.user, marks=Decimal(4), reason="By word of mouth.", by=teacher.user)
    Notice.objects.all().delete()

    assert deadlines_tell(now=DUE - DAY - HOUR) == 0
    assert deadlines_tell(now=DUE - DAY) == 1
    assert deadlines_tell(now=DUE - HOUR) == 0
    # Noon in UTC is one o'clock in Berlin.
    assert told(bea.user) == ["Week 1 of Robots is due on 8 Mar 2026, 13:00 Europe/Berlin"]
    assert "reached 0 of its 1 baselines" in Notice.objects.get(user=bea.user, kind="ANNOUNCEMENT").text
    assert told(ann.user) == told(cem.user) == told(dan.user) == told(teacher.user) == []

    assert deadlines_tell(now=DUE + 2 * DAY) == 1
    assert len(told(cem.user)) == 1
    # Read and mailed ones are not sent again, and the deadline is over.
    Notice.objects.update(read_at=DUE)
    assert deadlines_tell(now=DUE + 2 * DAY) == deadlines_tell(now=DUE + 4 * DAY) == 0


def test_people_who_have_not_registered_are_reminded() -> None:
    course, environment = rows.course(), factories.environment()
    ann, bea = (rows.member(course, name) for name in ("ann", "bea"))
    version = rows.version(ann.user, environment, DUE - 5 * DAY)
    cup = factories.planned(environment, course=course)
    times = {"registration_opens_at": DUE - 5 * DAY, "registration_closes_at": DUE, "starts_at": DUE + DAY}
    Tournament.objects.filter(pk=cup.pk).update(**times)
    Registration.objects.create(tournament=cup, agent=version.agent)
    assert deadlines_tell(now=DUE - DAY) == 1
    assert told(ann.user) == []
    assert told(bea.user)[0].startswith("Registration for ")
    assert deadlines_tell(now=DUE - DAY) == 0
