"""Teams of a course: their account, their people, and who counts as one entrant.

A team owns agents by an account that has no password. Its people work as the team (`web.site.working`), or with API
tokens that do, so that whatever is said of an owner holds for a team too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import ProtectedError, Q, QuerySet
from django.utils import timezone

from core.errors import Refused
from core.models import Course, FormerTeam, Member, Role, Team, Tournament, TournamentState, User
from core.people.rights import may, roles_of
from core.people.services import team_account_create

FOREVER = datetime.max.replace(tzinfo=UTC)
GONE = "The team was deleted in the meantime."
LEFT = "{} has left the course in the meantime."
FULL = "The team has {most} people, which is the most here. Ask a teacher."


def team_create(*, course: Course, name: str, label: str = "", people: Sequence[Member] = ()) -> Team:
    """Make a team with an account of its own; the first of its people leads it. Raises Refused for a name that is
    taken or that no account may have, and for more teams than students, as each has quotas of its own."""
    with transaction.atomic():
        _lock(course.pk)
        if people and course.teams.count() >= students(course).count():
            raise Refused("There are as many teams as students here. Ask a teacher.")
        if there := Member.objects.filter(pk__in=[one.pk for one in people]).exclude(team=None).first():
            raise Refused(f"{there.user} is in a team already, {there.team}.")
        account = team_account_create(username=name, team=label)
        team = Team.objects.create(course=course, account=account)
        Member.objects.create(course=course, user=account)
        for member in people:
            member_move(member=member, team=team)
    return team


def teams_from_names(*, course: Course) -> int:
    """Put the students who are in no team into teams by the names in the class list; return how many are in one now.

    A name that another account has gets that of the course before it. Raises Refused as `team_create`.
    """
    with transaction.atomic():
        _lock(course.pk)
        rows = students(course).filter(team=None).exclude(user__team="").select_related("user").order_by("pk")
        teams = {team.account.username.casefold(): team for team in course.teams.select_related("account")}
        for member in (found := list(rows)):
            name = re.sub(r"[^\w@.+-]+", "-", member.user.team).strip("-")
            own, longer = name.casefold(), f"{course.slug}-{name}"
            team = teams.get(own) or teams.get(longer.casefold())
            if team is None:
                is_taken = User.objects.filter(username__iexact=name).exists()
                name = longer if is_taken else name
                team = teams[own] = team_create(course=course, name=name, label=member.user.team)
            member_move(member=member, team=team)
    return len(found)


def team_join(*, member: Member, team: Team) -> None:
    """Let a student of the course into a team by its link. Raises Refused when it is full, and for other people."""
    with transaction.atomic():
        course = _lock(team.course_id)
        found = course.members.filter(pk=member.pk).select_related("user", "team__account").first()
        if problem := join_problem(found, team, course):
            raise Refused(problem)
        member_move(member=member, team=team)


def join_problem(member: Member | None, team: Team, course: Course) -> str:
    """Return why a member of a course may not join a team of it, as a sentence; empty when they may."""
    if member is None or member.role != Role.STUDENT or member.user.is_team:
        return f"Teams are for students of {course}."
    if member.team_id not in (None, team.pk):
        return f"You are in another team, {member.team}. Leave it first."
    is_full = course.team_size and member.team_id is None and team.people.count() >= course.team_size
    return FULL.format(most=course.team_size) if is_full else ""


def member_move(*, member: Member, team: Team | None, now: datetime | None = None) -> None:
    """Put a student into a team, or out of all; they take nothing along. A team without a leader gets one.

    For deadlines that have passed, the team of then goes on to count for them.

    Raises Refused when they and the team have registered more agents for a tournament than one owner may, and for a
    team or a member that is gone.
    """
    with transaction.atomic():
        _lock(member.course_id)
        try:
            member.refresh_from_db(fields=["team"])
        except Member.DoesNotExist:
            raise Refused(LEFT.format(member.user)) from None
        before = member.team_id
        if before == (team and team.pk):
            return
        if team is not None:
            if not Team.objects.filter(pk=team.pk).exists():
                raise Refused(GONE)
            _entries_check(member, team)
        member.team = team
        member.leads = team is not None and not team.people.filter(leads=True).exists()
        Member.objects.filter(pk=member.pk).update(team=team, leads=member.leads)
        FormerTeam.objects.create(course=member.course, user=member.user, team_id=before, left_at=now or timezone.now())
        left = Member.objects.filter(team=before) if before else Member.objects.none()
        if not left.filter(leads=True).exists() and (heir := left.order_by("joined_at", "pk").first()) is not None:
            heir.leads = True
            heir.save(update_fields=["leads"])


def _lock(course: int) -> Course:
    """Return a course whose teams no other transaction changes until this one has ended."""
    return Course.objects.select_for_update(no_key=True).get(pk=course)


def _entries_check(member: Member, team: Team) -> None:
    entered = Tournament.objects.filter(course=team.course_id, state=TournamentState.PLANNED)
    for one in entered.filter(registrations__agent__owner=member.user_id).select_related("environment").distinct():
        most, as_one = one.environment.active_per_owner, [member.user_id, *entrants(team.course_id, team.account)]
        if most and one.registrations.filter(agent__owner__in=as_one).count() > most:
            raise Refused(f"{member.user} and {team} have registered more than {most} for {one}. Withdraw first.")


def team_delete(*, team: Team) -> None:
    """Delete a team that owns nothing, with its account. Raises Refused for another one, whose results stay."""
    try:
        with transaction.atomic():
            _lock(team.course_id)
            # The rows of its people stay.
            team.account.delete()
    except ProtectedError:
        raise Refused(f"{team} owns agents or runs, so it stays. Put its people into other teams instead.") from None


def students(course: Course) -> QuerySet[Member]:
    """Return the students of a course without the accounts of teams."""
    return course.members.filter(role=Role.STUDENT, user__as_team=None)


def teams_of(user: User) -> QuerySet[Team]:
    """Return the teams of a person, as which they may work."""
    return Team.objects.filter(people__user=user.pk, account__is_active=True).select_related("account", "course")


def entrants(course: int | None, owner: User) -> Sequence[int]:
    """Return the keys of the accounts that count as one with an owner in a tournament of a course.

    They are a team and all its people.
    """
    team = Team.objects.filter(Q(account=owner) | Q(people__user=owner), course=course).first()
    if team is None:
        return [owner.pk]
    return [team.account_id, *team.people.values_list("user", flat=True)]


def teams_by_person(course: int | None) -> dict[int, int]:
    """Return the account of the team of each person of a course who is in one, both as keys.

    They are one entrant in the editions and ladders of the environments of the course.
    """
    rows = Member.objects.filter(course=course, team__isnull=False) if course is not None else Member.objects.none()
    return dict(rows.values_list("user", "team__account"))


def with_teams(accounts: QuerySet[User] | Sequence[int], course: int | None) -> QuerySet[User]:
    """Return accounts with their teams in a course, and with the people of those that are its teams: what is open to
    the ones in the course is open to the others."""
    teams = Team.objects.filter(course=course, people__user__in=accounts).order_by().values("account")
    people = Member.objects.filter(course=course, team__account__in=accounts).order_by().values("user")
    return User.objects.filter(Q(pk__in=accounts) | Q(pk__in=teams) | Q(pk__in=people))


def members_of_teams(teams: Iterable[Team]) -> QuerySet[Member]:
    """Return the people of teams, those who lead first."""
    return Member.objects.filter(team__in=teams).select_related("user").order_by("-leads", "user__username")


def owners(member: Member) -> list[int]:
    """Return the keys of the accounts whose agents count for a member: their own, and that of their team."""
    return [member.user_id, *([member.team.account_id] if member.team else [])]


def stays_of(course: Course, members: Iterable[Member]) -> dict[int, list[tuple[datetime, int | None]]]:
    """Return until when members were in which teams, by their own key, in order; the last is the team of now.

    Teams are keys of their accounts; None stands for no team.
    """
    found: dict[int, list[tuple[datetime, int | None]]] = defaultdict(list)
    for row in FormerTeam.objects.filter(course=course).select_related("team"):
        found[row.user_id].append((row.left_at, row.team.account_id if row.team else None))
    for one in members:
        found[one.user_id].append((FOREVER, one.team.account_id if one.team else None))
    return found


def team_at(stays: Sequence[tuple[datetime, int | None]], at: datetime) -> int | None:
    """Return the team in which a person was at a moment, as `stays_of` has it; before a deadline, that of now."""
    return next(account for until, account in stays if until > at)


def team_parts(account: User, viewer: User | AnonymousUser) -> dict[str, Any]:
    """Return what pages show of a team beside its agents. people: for those who share the course; own_team: for its own
    people."""
    team = Team.objects.select_related("account").filter(account=account).first() if account.is_team else None
    if team is None or not isinstance(viewer, User) or not (team.course_id in roles_of(viewer) or may(viewer)):
        return {"people": (), "own_team": None}
    people = list(members_of_teams([team]))
    return {"people": people, "own_team": team if any(one.user_id == viewer.pk for one in people) else None}


def worked_as(user: User, team_id: int) -> Team | None:
    """Return the team as which a person works; None when they may not, or may no longer."""
    return teams_of(user).filter(pk=team_id).first()
