"""The board of an assignment where agents play alone, for the class: persons and teams by their best score.

It follows the functions of marks: who is a student, which versions count by which deadline, and what is a team's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max

from arena_kit.ranking.formats.ranking import rank_rows
from core.assignments.marks import Mark, Try, assignment_marks
from core.assignments.testing import is_settled, players
from core.cache.answers import cached
from core.courses.repeats import days_later
from core.courses.sight import MARKS, Viewer
from core.models import Assignment, Evaluation, User
from core.people.rights import may, roles_of

KEPT_SECONDS = 5.0
"""Maximum age of a board, which a whole class follows while it changes."""


@dataclass(frozen=True, slots=True)
class ClassBoardRow:
    """A person or team with the best version that counts; or a baseline, with a name and a score alone.

    rank: ties share, 1, 1, 3; None for a baseline. people: keys of the accounts whose row it is.
    """

    rank: int | None
    name: str
    score: float
    version: str = ""
    score_low: float | None = None
    score_high: float | None = None
    late_days: int = 0
    people: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassBoard:
    """Rows from the best score to the worst. final_since: None while uploads, results or deadlines may change it."""

    rows: tuple[ClassBoardRow, ...]
    final_since: datetime | None


def class_board(assignment: Assignment, viewer: Viewer, *, now: datetime) -> ClassBoard | None:
    """Return the board of an assignment, at most KEPT_SECONDS old; None without one and for strangers to its course."""
    is_of_course = assignment.course_id in roles_of(viewer) or may(viewer, MARKS, assignment.course_id)
    if not (assignment.has_board and is_of_course):
        return None
    return cached(board_key(assignment), ClassBoard, lambda: _board(assignment, now), seconds=KEPT_SECONDS)


def board_key(assignment: Assignment) -> str:
    """Return the key under which a board is kept."""
    return f"class-board:{assignment.pk}"


def _board(assignment: Assignment, now: datetime) -> ClassBoard:
    marks = assignment_marks(assignment, people=players(assignment.course))
    rows = [*_ranked(marks), *(ClassBoardRow(None, one.name, one.score or 0.0) for one in assignment.baselines.all())]
    rows.sort(key=lambda row: (-row.score, row.rank is None))
    return ClassBoard(tuple(rows), _final_since(assignment, marks, now))


def _ranked(marks: list[Mark]) -> list[ClassBoardRow]:
    """Return a row for each person or team whose version is the best of a student; the earlier of equals is first."""
    found: dict[int, tuple[Try, int]] = {}
    people: dict[int, list[int]] = {}
    for mark in marks:
        if (best := mark.best) is not None and not mark.member.user.is_team:
            owner = best.version.owner
            people.setdefault(owner, [owner]).append(mark.member.user_id)
            if owner not in found or (best.score or 0.0) > (found[owner][0].score or 0.0):
                found[owner] = best, mark.days_of(best)
    names = dict(User.objects.filter(pk__in=found, is_active=True).values_list("pk", "username"))
    owners = sorted(names, key=lambda owner: (found[owner][0].version.created_at, found[owner][0].version.pk))
    scores = {owner: (found[owner][0].score or 0.0,) for owner in owners}
    rows = []
    for line in rank_rows(owners, scores, scores, gone=(), notes={}):
        (best, days), (score,) = found[line.participant], line.values
        bounds, of = (best.score_low, best.score_high), tuple(people[line.participant])
        rows.append(ClassBoardRow(line.rank, names[line.participant], score, str(best.version), *bounds, days, of))
    return rows


def _final_since(assignment: Assignment, marks: list[Mark], now: datetime) -> datetime | None:
    """Return when the last version that counts had its result, or the last deadline passed; None before that."""
    due_at = max([assignment.due_at, *(mark.due_at for mark in marks)])
    closes_at = days_later(due_at, assignment.course.time_zone, assignment.late_days)
    if now <= closes_at or not is_settled(assignment, marks, closes_at):
        return None
    last = Evaluation.every.filter(assignment=assignment).aggregate(last=Max("ended_at"))["last"]
    return max(closes_at, last or closes_at)
