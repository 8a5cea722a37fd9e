"""The board of a class: who stands on it with which version, in which rank, and until when it changes."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.core.cache import caches

from arena_kit.ranking.scores import mean_interval
from core.assignments.board import ClassBoard, board_key, class_board
from core.assignments.marks import assignment_marks
from core.assignments.services import Wanted, assignment_copy, assignment_save, extend
from core.assignments.testing import assignment_advance
from core.assignments.tests.rows import DUE, course, member, version
from core.courses.services import member_remove
from core.courses.teams import member_move, team_create
from core.errors import Refused
from core.evaluations.services import evaluation_succeed
from core.jobs.artifacts import EvaluationArtifacts
from core.jobs.lifecycle import job_claim
from core.models import Assignment, Evaluation, FormerTeam, JobState, Member, Role, Submission, User, Validation
from core.moderation.services import agent_disable, user_ban
from core.tests import factories
from core.tests.factories import NOON

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def tess() -> User:
    return member(course(), "tess", Role.TEACHER).user


@pytest.fixture
def task(tess: User) -> Assignment:
    """Balance a pole: 4 marks for a mean score of 20, 6 for 30."""
    here = tess.memberships.get().course
    row = Assignment(
        course=here, environment=factories.task(episodes=4), name="Pole", opens_at=NOON, due_at=DUE, has_board=True
    )
    assignment_save(assignment=row, wanted=[Wanted(None, 50, 4, 20.0), Wanted(None, 50, 6, 30.0)])
    return row


def student(task: Assignment, name: str) -> Member:
    return member(task.course, name)


def scored(task: Assignment, owner: User, mean: float, uploaded_at: datetime = NOON) -> Submission:
    """A version that has its result: four scores around a mean."""
    made = version(owner, task.environment, uploaded_at)
    assignment_advance(assignment_id=task.pk, now=max(uploaded_at, NOON))
    finish(made, mean)
    return made


def finish(made: Submission, mean: float) -> None:
    claimed = job_claim(kind=Evaluation, job_id=Evaluation.every.get(submission=made).pk, worker="worker-1")
    assert claimed is not None
    rows = [(number, mean + away, 9, 0.01) for number, away in enumerate((-3.0, -1.0, 1.0, 3.0), start=1)]
    evaluation_succeed(evaluation=claimed, episodes=rows, runtime="", artifacts=EvaluationArtifacts(), log="Played.")


def board(task: Assignment, viewer: User, now: datetime = DUE) -> ClassBoard:
    caches["answers"].delete(board_key(task))
    found = class_board(Assignment.objects.get(pk=task.pk), viewer, now=now)
    assert found is not None
    return found


def lines(task: Assignment, viewer: User) -> list[tuple[int | None, str, float]]:
    return [(row.rank, row.name, row.score) for row in board(task, viewer).rows]


def test_people_stand_in_ranks_that_equals_share_and_baselines_between_them_without_one(
    task: Assignment, tess: User
) -> None:
    means = {"ann": 25.0, "bob": 31.0, "carl": 25.0, "dora": 12.5, "eve": 30.0, "fred": 20.0}
    for number, (name, mean) in enumerate(means.items()):
        scored(task, student(task, name).user, mean, NOON + timedelta(minutes=number))
    student(task, "absent")
    found = board(task, tess).rows
    ranked = [row for row in found if row.rank is not None]
    # Counted again: one more than the people with a better score.
    again = {name: 1 + sum(other > mean for other in means.values()) for name, mean in means.items()}
    assert {row.name: row.rank for row in ranked} == again
    assert sorted(again.values()) == [1, 2, 3, 3, 5, 6]
    # The earlier of equals is listed first, and people who reach a baseline stand above it.
    assert [row.name for row in found] == ["bob", "eve", "score 30", "ann", "carl", "fred", "score 20", "dora"]
    for row in ranked:
        interval = mean_interval([means[row.name] + away for away in (-3.0, -1.0, 1.0, 3.0)])
        assert (row.score, row.score_low, row.score_high) == (interval.value, interval.low, interval.high)
    baseline = next(row for row in found if row.name == "score 30")
    assert (baseline.rank, baseline.version, baseline.people) == (None, "", ())


def test_with_a_board_each_version_plays_and_the_best_stays(task: Assignment, tess: User) -> None:
    ann = student(task, "ann").user
    scored(task, ann, 40.0)
    assert assignment_marks(task)[0].is_full
    best = scored(task, ann, 50.0, NOON + DAY)
    scored(task, ann, 45.0, NOON + 2 * DAY)
    assert [(row.name, row.version) for row in board(task, tess).rows][:1] == [("ann", str(best))]
    # Each once.
    assignment_advance(assignment_id=task.pk, now=DUE)
    assert Evaluation.every.filter(assignment=task).count() == 3
    Assignment.objects.update(has_board=False)
    version(ann, task.environment, NOON + 3 * DAY)
    assert assignment_advance(assignment_id=task.pk, now=DUE) == 0
    assert class_board(Assignment.objects.get(), tess, now=DUE) is None


def test_versions_count_on_the_board_as_for_marks(task: Assignment, tess: User) -> None:
    ann, bob, carl = (student(task, name) for name in ("ann", "bob", "carl"))
    Assignment.objects.update(late_days=2, late_percent=50)
    scored(task, ann.user, 21.0, DUE)
    scored(task, bob.user, 22.0, DUE + timedelta(hours=30))
    extend(assignment=task, members=[carl], due_at=DUE + DAY)
    scored(task, carl.user, 23.0, DUE + 2 * DAY + timedelta(hours=1))
    found = [(row.name, row.late_days) for row in board(task, tess).rows if row.rank]
    assert found == [("carl", 2), ("bob", 2), ("ann", 0)]
    # Late days that are taken back take the versions with them, also from the column of the staff.
    Assignment.objects.update(late_days=0)
    assert lines(task, tess) == [(None, "score 30", 30.0), (1, "ann", 21.0), (None, "score 20", 20.0)]
    assert [mark.best and mark.best.score for mark in assignment_marks(Assignment.objects.get())] == [21.0, None, None]


def test_a_team_has_one_row_and_people_who_left_have_none(task: Assignment, tess: User) -> None:
    ann, bob, carl, dora = (student(task, name) for name in ("ann", "bob", "carl", "dora"))
    blue = team_create(course=task.course, name="blue", people=[ann, bob])
    FormerTeam.objects.update(left_at=NOON - DAY)
    scored(task, blue.account, 25.0)
    scored(task, carl.user, 24.0)
    scored(task, dora.user, 28.0)
    ranked = [(1, "dora", 28.0), (2, "blue", 25.0), (3, "carl", 24.0)]
    assert [line for line in lines(task, tess) if line[0]] == ranked
    row = next(row for row in board(task, ann.user).rows if row.name == "blue")
    assert set(row.people) == {blue.account_id, ann.user_id, bob.user_id}
    # After the deadline the row stays with the team of then when people move; before it, it does not.
    member_move(member=ann, team=None, now=DUE + DAY)
    assert [line for line in lines(task, tess) if line[0]] == ranked
    row = next(row for row in board(task, ann.user).rows if row.name == "blue")
    assert ann.user_id in row.people
    # One's own version counts where it is better.
    scored(task, bob.user, 27.0, NOON + DAY)
    assert [name for rank, name, _ in lines(task, tess) if rank] == ["dora", "bob", "blue", "carl"]
    member_remove(member=dora)
    assert lines(task, tess)[1] == (1, "bob", 27.0)
    assert class_board(task, dora.user, now=DUE) is None


def test_barred_agents_and_people_stand_on_no_board(task: Assignment, tess: User) -> None:
    ann, bob = (student(task, name) for name in ("ann", "bob"))
    scored(task, ann.user, 25.0)
    made = scored(task, bob.user, 26.0)
    agent_disable(agent=made.agent, reason="Copied.")
    assert [line for line in lines(task, tess) if line[0]] == [(1, "ann", 25.0)]
    user_ban(user=ann.user, reason="Cheated.")
    assert [line for line in lines(task, tess) if line[0]] == []


def test_a_board_is_final_when_no_deadline_and_no_result_is_to_come(task: Assignment, tess: User) -> None:
    Assignment.objects.update(late_days=1)
    ann, bob = (student(task, name) for name in ("ann", "bob"))
    scored(task, ann.user, 25.0)
    closes = DUE + DAY
    assert board(task, tess, closes).final_since is None
    after = closes + timedelta(seconds=1)
    extend(assignment=task, members=[bob], due_at=DUE + DAY)
    assert board(task, tess, after).final_since is None
    extend(assignment=task, members=[bob], due_at=DUE)
    last = Evaluation.every.get()
    Evaluation.every.update(ended_at=NOON + DAY)
    assert board(task, tess, after).final_since == closes
    # A version that was uploaded in time waits for its validation, then for its test, then plays.
    made = version(bob.user, task.environment, DUE)
    factories.moved(Validation.objects.filter(submission=made), JobState.RUNNING)
    assert board(task, tess, after).final_since is None
    factories.moved(Validation.objects.filter(submission=made), JobState.SUCCEEDED)
    assert board(task, tess, after).final_since is None
    assert assignment_advance(assignment_id=task.pk, now=after) == 1
    assert board(task, tess, after).final_since is None
    finish(made, 30.0)
    ended = Evaluation.every.exclude(pk=last.pk).get().ended_at
    assert board(task, tess, after).final_since == ended
    assert ended is not None
    # One that is too late changes nothing.
    version(bob.user, task.environment, after)
    assert board(task, tess, after).final_since == ended


def test_boards_are_for_scores_alone_and_copies_have_one_too(task: Assignment, tess: User) -> None:
    assert assignment_copy(assignment=task).has_board
    game = factories.environment()
    agent = factories.ready(factories.agent(tess, game, "easy")).agent
    wrong = Assignment(course=task.course, environment=game, name="Duel", opens_at=NOON, due_at=DUE, has_board=True)
    with pytest.raises(Refused, match="agents play alone"):
        assignment_save(assignment=wrong, wanted=[Wanted(agent, 50, 10)])
