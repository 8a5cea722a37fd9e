"""The roster of a course: what each member has uploaded, registered and reached."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, OuterRef, Q, Subquery

from core.courses.teams import owners
from core.jobs.phase_selectors import SubmissionStatus, status_of, submissions_with_phases
from core.models import (
    Course,
    Environment,
    Extension,
    Member,
    Participant,
    Registration,
    Role,
    Submission,
    Tournament,
    TournamentState,
    ranked,
)

NOTHING, FAILED, UNREGISTERED = "nothing", "failed", "unregistered"


@dataclass(frozen=True, slots=True)
class RosterRow:
    """A member. newest: their newest version in the environments of the course, its tournaments and assignments.

    What their team has done counts for them. is_registered: for the next tournament; None without one. result: their
    best place in the last tournament. extensions: their later deadlines that are not over.
    """

    member: Member
    newest: Submission | None
    status: SubmissionStatus | None
    is_registered: bool | None
    result: Participant | None
    extensions: tuple[Extension, ...] = ()

    @property
    def lacks(self) -> frozenset[str]:
        """The filters that show this row, which are about students; a team lacks what its people lack."""
        if self.member.role != Role.STUDENT or self.member.user.is_team:
            return frozenset()
        found = {
            NOTHING: self.newest is None,
            FAILED: self.status is SubmissionStatus.FAILED,
            UNREGISTERED: self.is_registered is False,
        }
        return frozenset(name for name, lacks in found.items() if lacks)


@dataclass(frozen=True, slots=True)
class Roster:
    """The members of a course. coming, last: its next planned tournament, and the one that ended last; None without.

    size: how many took part in the last one.
    """

    rows: list[RosterRow]
    coming: Tournament | None
    last: Tournament | None
    size: int

    def shown(self, lacking: str) -> list[RosterRow]:
        """Return the rows of a filter; all for an unknown one."""
        known = lacking in (NOTHING, FAILED, UNREGISTERED)
        return [row for row in self.rows if lacking in row.lacks] if known else self.rows

    def count(self, lacking: str) -> int:
        """Return how many rows a filter shows."""
        return len(self.shown(lacking))


def next_tournament(course: Course) -> Tournament | None:
    """Return the planned tournament of a course that begins first."""
    planned = course.tournaments.filter(state=TournamentState.PLANNED).select_related("environment")
    return planned.order_by(F("starts_at").asc(nulls_last=True), "pk").first()


def roster_get(course: Course, *, now: datetime) -> Roster:
    """Return the roster: its queries do not grow with the number of members."""
    members = sorted(course.members.select_related("user", "team__account"), key=_place)
    coming = next_tournament(course)
    over = course.tournaments.filter(state=TournamentState.FINISHED).select_related("environment")
    last = over.order_by("-ended_at", "-pk").first()
    newest = _newest(course)
    entered = None if coming is None or not coming.has_registration else _entered(coming)
    places = {} if last is None else _places(last)
    later = Extension.objects.filter(member__course=course, due_at__gt=now).select_related("assignment")
    extended: dict[int, list[Extension]] = defaultdict(list)
    for one in later.order_by("due_at"):
        extended[one.member_id or 0].append(one)
    rows = [
        RosterRow(
            member,
            found := max(filter(None, map(newest.get, owners(member))), key=lambda row: row.created_at, default=None),
            None if found is None else status_of(found),
            None if entered is None or member.role != Role.STUDENT else not entered.isdisjoint(owners(member)),
            min(filter(None, map(places.get, owners(member))), key=lambda row: row.rank, default=None),
            tuple(extended[member.pk]),
        )
        for member in members
    ]
    size = 0 if last is None else last.participants.filter(ranked()).count()
    return Roster(rows, coming, last, size)


def _place(member: Member) -> tuple[str, bool, str]:
    """Return the place of a member in the roster: by team, each before its people."""
    own = member.user.username
    team = str(member.team) if member.team else own if member.user.is_team else member.user.team
    return team.casefold(), not member.user.is_team, own.casefold()


def _newest(course: Course) -> dict[int, Submission]:
    """Return each member's newest version where the course plays."""
    plays = Q(course=course) | Q(tournaments__course=course) | Q(assignments__course=course)
    here = Environment.objects.filter(plays).order_by().values("pk")
    own = Submission.objects.filter(
        agent__owner=OuterRef("user"), agent__environment__in=here, agent__deleted_at=None, deleted_at=None
    )
    keys = course.members.annotate(newest=Subquery(own.order_by("-created_at", "-pk").values("pk")[:1]))
    rows = submissions_with_phases().filter(pk__in=list(keys.values_list("newest", flat=True)))
    return {row.agent.owner_id: row for row in rows}


def _entered(tournament: Tournament) -> set[int]:
    rows = Registration.objects.filter(tournament=tournament).order_by()
    return set(rows.values_list("agent__owner", flat=True))


def _places(tournament: Tournament) -> dict[int, Participant]:
    """Return the best place of each owner."""
    rows = tournament.participants.filter(ranked()).select_related("submission__agent").order_by("-rank")
    return {row.submission.agent.owner_id: row for row in rows}


def course_counts(courses: list[Course]) -> dict[int, int]:
    """Return the number of members by the key of the course."""
    rows = Member.objects.filter(course__in=courses, user__as_team=None).order_by().values_list("course")
    return dict(rows.annotate(Count("pk")))
