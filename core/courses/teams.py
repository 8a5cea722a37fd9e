"""Teams of a course: their account, their people, and who counts as one entrant.

A team owns agents by an account that has no password. Its people work as the team (`web.site.working`), or with API
tokens that do, so that whatever is said of an owner holds for a team too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import QuerySet

from core.errors import Refused
from core.models import Course, Member, Role, Team, User
from core.people.rights import may, roles_of
from core.people.services import team_account_create

FULL = "The team has {most} people, which is the most here. Ask a teacher."


def team_create(*, course: Course, name: str, people: Iterable[Member] = ()) -> Team:
    """Make a team with an account of its own; the first of its people leads it. Raises Refused for a name that is
    taken or that no account may have."""
    with transaction.atomic():
        account = team_account_create(username=name)
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
        rows = students(course).filter(team=None).exclude(user__team="").select_related("user").order_by("pk")
        teams = {team.account.username.casefold(): team for team in course.teams.select_related("account")}
        for member in (found := list(rows)):
            name = re.sub(r"[^\w@.+-]+", "-", member.user.team).strip("-")
            own, longer = name.casefold(), f"{course.slug}-{name}"
            team = teams.get(own) or teams.get(longer.casefold())
            if team is None:
                is_taken = User.objects.filter(username__iexact=name).exists()
                team = teams[own] = team_create(course=course, name=longer if is_taken else name)
            member_move(member=member, team=team)
    return len(found)


def team_join(*, member: Member, team: Team) -> None:
    """Let a student of the course into a team by its link. Raises Refused when it is full, and for other people."""
    with transaction.atomic():
        locked = Team.objects.select_for_update(of=("self",)).select_related("course").get(pk=team.pk)
        most = locked.course.team_size
        if member.course_id != locked.course_id or member.role != Role.STUDENT:
            raise Refused(f"Teams are for students of {locked.course}.")
        if member.team_id not in (None, locked.pk):
            raise Refused(f"You are in another team, {member.team}. Leave it first.")
        if most and member.team_id is None and locked.people.count() >= most:
            raise Refused(FULL.format(most=most))
        member_move(member=member, team=locked)


def member_move(*, member: Member, team: Team | None) -> None:
    """Put a student into a team, or out of all; they take nothing along. A team without a leader gets one."""
    before = member.team_id
    if before == (team and team.pk):
        return
    with transaction.atomic():
        member.team = team
        member.leads = team is not None and not team.people.filter(leads=True).exists()
        member.save(update_fields=["team", "leads"])
        left = Member.objects.filter(team=before) if before else Member.objects.none()
        if not left.filter(leads=True).exists() and (heir := left.order_by("joined_at", "pk").first()) is not None:
            heir.leads = True
            heir.save(update_fields=["leads"])


def team_delete(*, team: Team) -> None:
    """Delete a team that owns no agent, with its account. Raises Refused for another one, whose results stay."""
    if team.account.agents(manager="every").exists():
        raise Refused(f"{team} owns agents, so it stays. Put its people into other teams instead.")
    with transaction.atomic():
        # The rows of its people stay.
        team.account.delete()


def students(course: Course) -> QuerySet[Member]:
    """Return the students of a course without the accounts of teams."""
    return course.members.filter(role=Role.STUDENT, user__as_team=None)


def teams_of(user: User) -> QuerySet[Team]:
    """Return the teams of a person, as which they may work."""
    return Team.objects.filter(people__user=user.pk, account__is_active=True).select_related("account", "course")


def entrants(course: int | None, owner: User) -> Sequence[int]:
    """Return the keys of the accounts that count as one with an owner in a tournament of a course.

    They are a person and their team; for a team all its people.
    """
    if course is None:
        return [owner.pk]
    if owner.is_team:
        return [owner.pk, *Member.objects.filter(team__account=owner).values_list("user", flat=True)]
    return [owner.pk, *Team.objects.filter(course=course, people__user=owner).values_list("account", flat=True)]


def members_of_teams(teams: Iterable[Team]) -> QuerySet[Member]:
    """Return the people of teams, those who lead first."""
    return Member.objects.filter(team__in=teams).select_related("user").order_by("-leads", "user__username")


def owners(member: Member) -> list[int]:
    """Return the keys of the accounts whose agents count for a member: their own, and that of their team."""
    return [member.user_id, *([member.team.account_id] if member.team else [])]


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
