"""A course with an assignment, for tests."""

from __future__ import annotations

from datetime import datetime, timedelta

from arena_kit.ranking.sequential import SequentialState
from core.assignments.testing import assignment_advance
from core.models import (
    Assignment,
    Course,
    Duel,
    DuelOutcome,
    Environment,
    JobState,
    Member,
    Role,
    SeenBy,
    Submission,
    User,
)
from core.tests import factories
from core.tests.factories import NOON

DUE = NOON + timedelta(days=7)


def course(slug: str = "robots", seen_by: SeenBy = SeenBy.MEMBERS) -> Course:
    return Course.objects.create(slug=slug, name=slug.capitalize(), seen_by=seen_by, time_zone="Europe/Berlin")


def member(of: Course, name: str, role: Role = Role.STUDENT) -> Member:
    return Member.objects.create(course=of, user=factories.user(name), role=role)


def reference(owner: User, environment: Environment, name: str) -> Submission:
    return factories.ready(factories.agent(owner, environment, name))


def assignment(of: Course, environment: Environment, *baselines: Submission, **fields: object) -> Assignment:
    """Open from noon of the first of March 2026 for a week; 10 marks for 50% of the points against each baseline."""
    values: dict[str, object] = {"name": "Week 1", "opens_at": NOON, "due_at": DUE} | fields
    row = Assignment.objects.create(course=of, environment=environment, **values)
    for one in baselines:
        row.baselines.create(agent=one.agent, percent=50, marks=10)
    return row


def version(owner: User, environment: Environment, uploaded_at: datetime) -> Submission:
    """The next version of a person's agent, validated."""
    agent = owner.agents.filter(environment=environment).first() or factories.agent(owner, environment)
    row = factories.ready(agent)
    Submission.objects.filter(pk=row.pk).update(created_at=uploaded_at)
    row.refresh_from_db()
    return row


def advance(row: Assignment, now: datetime = DUE) -> list[Duel]:
    """Return the duels that begin."""
    before = list(Duel.objects.values_list("pk", flat=True))
    assignment_advance(assignment_id=row.pk, now=now)
    return list(Duel.objects.exclude(pk__in=before).select_related("player_2__agent").order_by("pk"))


def end(duel: Duel, *, reached: bool | None, points: int = 0) -> None:
    """Let a duel end after ten matches. reached: by its test; None where it is undecided, then `points` are won."""
    won = points if reached is None else 10 if reached else 0
    state = {True: SequentialState.ACCEPTED_H1, False: SequentialState.ACCEPTED_H0, None: SequentialState.INCONCLUSIVE}
    rows = Duel.objects.filter(pk=duel.pk)
    outcome = DuelOutcome.DRAW if won == 5 else DuelOutcome.PLAYER_1 if won > 5 else DuelOutcome.PLAYER_2
    result = {"outcome": outcome, "player_1_wins": won, "player_2_wins": 10 - won, "draws": 0, "matches_done": 10}
    found = {"state": state[reached].value, "sentence": "The test says so."}
    factories.moved(rows, JobState.SUCCEEDED, **result, test_result=found)
