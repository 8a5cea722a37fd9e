"""Lets versions of students play against the baselines of their assignments, in unrated duels or alone for a score.

One version of a person is tested at a time, the newest that works: first of those uploaded in time, then of the late
ones. It meets the baselines at which it could still gain marks; with a board each version plays, for its score.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice

from django.core.cache import cache
from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet

from core.assignments.marks import Goal, Mark, assignment_marks, days_of, marks_for
from core.duels.challenge_selectors import active_version
from core.duels.goals import goal_test
from core.duels.services import duel_new, duels_enqueue
from core.evaluations.services import evaluation_create
from core.jobs.apart import apart
from core.models import (
    Assignment,
    Challenge,
    ChallengeKind,
    Course,
    Duel,
    Environment,
    JobState,
    Member,
    Role,
    Submission,
    SubmissionForm,
)
from core.watching.shown import environment_shown

MOST = 50
"""How many tests begin in one transaction, which SQLite lets no other write beside."""
TRIES = 3
"""How often a version meets a baseline while the arena itself fails."""
STILL_SECONDS = 600.0
"""How long an assignment is left alone while its stamp stays."""
WATCHED = timedelta(days=60)
"""How long after its deadline an assignment is looked at: late days, and versions that wait for their validation."""


def assignments_advance(*, now: datetime, environment: Environment | None = None) -> int:
    """Begin the tests that are due, in one environment or in all; return how many. Safe to repeat at any time."""
    begun = 0
    for row in _open_assignments(now, environment).select_related("environment"):
        with apart(f"Assignment {row.pk}"):
            stamp = _stamp(row)
            if cache.get(f"assignment:{row.pk}") == stamp:
                continue
            count = MOST
            while count == MOST:
                count = assignment_advance(assignment_id=row.pk, now=now)
                begun += count
            cache.set(f"assignment:{row.pk}", stamp, STILL_SECONDS)
    return begun


def _stamp(assignment: Assignment) -> str:
    """Return what differs once a version, a result, or something that organisers and teachers do could begin a test."""
    shown = environment_shown(assignment.environment.slug)
    duels = Duel.objects.filter(challenge__assignment=assignment).aggregate(Count("pk"), Max("ended_at"))
    uploads = Submission.objects.filter(agent__environment=assignment.environment_id).aggregate(Max("pk"))
    return f"{shown and shown.version} {duels} {uploads} {assignment.has_board}"


def assignment_advance(*, assignment_id: int, now: datetime) -> int:
    """Begin the tests of an assignment that are due, at most MOST; return how many."""
    with transaction.atomic():
        # Locked, so that two callers do not test the same version.
        Assignment.objects.select_for_update(no_key=True).get(pk=assignment_id)
        assignment = Assignment.objects.select_related("environment", "course").get(pk=assignment_id)
        if assignment.opens_at > now or assignment.environment.closed_because:
            return 0
        agents = [one.agent for one in assignment.baselines.select_related("agent") if one.agent is not None]
        rivals = {agent.pk: version for agent in agents if (version := active_version(agent)) is not None}
        waiting = _waiting(assignment, assignment_marks(assignment, people=players(assignment.course)))
        begun = (mark for mark, versions in waiting if _begin(mark, versions, rivals))
        return sum(1 for _ in islice(begun, MOST))


def is_settled(assignment: Assignment, marks: Sequence[Mark], until: datetime) -> bool:
    """Return whether each version that some people uploaded up to a moment has all its results, where they play alone.

    None is being built or validated, plays, or waits for its turn.
    """
    owners = [mark.member.user_id for mark in marks]
    uploads = Submission.objects.filter(agent__environment=assignment.environment_id, created_at__lte=until)
    if any(map(_is_playing, marks)) or uploads.filter(agent__owner__in=owners).pending().exists():
        return False
    return not any(next(_wanted(mark, found), None) for mark, found in _waiting(assignment, marks))


def _open_assignments(now: datetime, environment: Environment | None) -> QuerySet[Assignment]:
    last = now - WATCHED
    rows = Assignment.objects.filter(Q(due_at__gte=last) | Q(extensions__due_at__gte=last), opens_at__lte=now)
    return (rows if environment is None else rows.filter(environment=environment)).order_by("pk").distinct()


def players(course: Course) -> QuerySet[Member]:
    """Return the students of a course, and its teams."""
    return course.members.filter(role=Role.STUDENT).select_related("user", "team__account")


def _waiting(assignment: Assignment, marks: Iterable[Mark]) -> list[tuple[Mark, list[Submission]]]:
    """Return those for whom no version plays though one might be worth it, with their versions that may play."""
    rows = [mark for mark in marks if (assignment.has_board or not mark.is_full) and not _is_playing(mark)]
    versions = _versions(assignment.environment, [mark.member.user_id for mark in rows])
    return [(mark, versions[mark.member.user_id]) for mark in rows]


def _is_playing(mark: Mark) -> bool:
    return any(one.is_open for goal in mark.goals for one in goal.tries)


def _versions(environment: Environment, owners: Collection[int]) -> dict[int, list[Submission]]:
    """Return the versions that may play of each person, newest first."""
    rows = Submission.objects.valid().filter(agent__environment=environment, agent__owner__in=owners)
    found: dict[int, list[Submission]] = defaultdict(list)
    for row in rows.exclude(form=SubmissionForm.SCRIPT).select_related("agent__environment").order_by("-pk"):
        found[row.agent.owner_id].append(row)
    return found


def _begin(mark: Mark, versions: list[Submission], rivals: dict[int, Submission]) -> bool:
    """Begin the next test of a person; return whether there is one."""
    for version, wanted in _wanted(mark, versions):
        if any(goal.baseline.score is not None for goal in wanted):
            evaluation_create(submission=version, assignment=mark.assignment)
            return True
        if can_play := [goal for goal in wanted if goal.baseline.agent_id in rivals]:
            _play(mark, version, can_play, rivals)
            return True
    return False


def _wanted(mark: Mark, versions: list[Submission]) -> Iterator[tuple[Submission, list[Goal]]]:
    """Yield the versions of a person to test, with the baselines, in their order."""
    days = {version: days_of(version, mark.assignment, mark.due_at) for version in versions}
    in_time = [version for version in versions if not days[version]]
    late = [version for version in versions if 0 < days[version] <= mark.assignment.late_days]
    for version in (*in_time[:1], *late[:1]):
        if wanted := [goal for goal in mark.goals if _gains(mark, goal, version)]:
            yield version, wanted


def _gains(mark: Mark, goal: Goal, version: Submission) -> bool:
    """Return whether a version could gain marks, or a place on a board, at a baseline that it has not met."""
    worth = marks_for(mark.assignment, goal.baseline, days_of(version, mark.assignment, mark.due_at))
    met = [one for one in goal.tries if one.version.pk == version.pk and one.state != JobState.CANCELLED]
    is_met = len(met) >= TRIES or any(one.reaches(goal.baseline) is not None for one in met)
    return not is_met and (mark.assignment.has_board or worth > goal.marks)


def _play(mark: Mark, version: Submission, goals: list[Goal], rivals: dict[int, Submission]) -> None:
    environment = version.agent.environment
    challenge = Challenge.objects.create(
        user_id=mark.member.user_id, submission=version, kind=ChallengeKind.COURSE, assignment=mark.assignment
    )
    # One seed for all, so that the baselines are met on the same openings.
    seed, duels = secrets.randbelow(2**31), []
    for number, goal in enumerate(goals, start=1):
        assert goal.baseline.agent_id is not None
        rival, test = rivals[goal.baseline.agent_id], goal_test(environment, goal.baseline.percent)
        duels.append(
            duel_new(
                challenge=challenge,
                number=number,
                player_1=version,
                player_2=rival,
                seed=seed,
                match_count=2 * test.cap,
                reason=f"{mark.assignment} of {mark.assignment.course} asks for {goal.baseline.percent}%.",
                test=test,
            )
        )
    duels_enqueue(duels=duels)
