"""Members of courses, the links with which people join, and news."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import TypeVar

from django.core import signing
from django.db import transaction
from django.db.models import Model, OuterRef, Q, Subquery

from core.courses.teams import LEFT, member_move
from core.errors import Refused
from core.links import absolute, page
from core.models import (
    Announcement,
    Course,
    Extension,
    Member,
    NoticeKind,
    Registration,
    Role,
    Team,
    Tournament,
    TournamentState,
    User,
)
from core.notices.services import Message, notify_each

Group = TypeVar("Group", Course, Team)
SALTS: dict[type[Model], str] = {Course: "core.courses", Team: "core.courses.teams"}
PAGES: dict[type[Model], str] = {Course: "course_join", Team: "team_join"}
"""By what a link leads into: the salt of its signature, and the name of its address."""


def members_add(*, course: Course, people: Iterable[User], role: Role = Role.STUDENT) -> int:
    """Make people members of a course; return how many were not before. Those who were keep their role."""
    there = set(course.members.values_list("user", flat=True))
    new = {person.pk: person for person in people if person.pk not in there}
    with transaction.atomic():
        Member.objects.bulk_create(
            [Member(course=course, user=person, role=role) for person in new.values()], ignore_conflicts=True
        )
        # People who come back have their later deadlines again.
        back = Member.objects.filter(course=course, user=OuterRef("removed")).values("pk")
        kept = Extension.objects.filter(assignment__course=course, removed__in=list(new))
        kept.update(member=Subquery(back), removed=None)
    return len(new)


def members_invite(*, course: Course, people: Sequence[User]) -> None:
    """Send people who have an account the join link of a course, which is made if there is none."""
    if people and course.join_number is None:
        join_open(group=course)
    title, text = f"You are invited to {course}", "Join it on its page."
    messages = [Message(one, title, text, join_path(course), about=f"join {course.pk}") for one in people]
    notify_each(kind=NoticeKind.ANNOUNCEMENT, messages=messages)


def member_change(*, member: Member, role: Role) -> None:
    """Give a member another role. Teams are for students, so others leave theirs.

    Raises Refused for one who is gone.
    """
    with transaction.atomic():
        # First, as it locks the course, which others hold when they change members.
        if role != Role.STUDENT:
            member_move(member=member, team=None)
        member.role = role
        if not Member.objects.filter(pk=member.pk).update(role=role):
            raise Refused(LEFT.format(member.user))


def member_remove(*, member: Member) -> None:
    """Take a person out of a course; their agents, results and extensions stay, their registrations do not.

    Raises Refused for one who is gone.
    """
    with transaction.atomic():
        planned = Registration.objects.filter(
            tournament__course=member.course_id, tournament__state=TournamentState.PLANNED
        )
        planned.filter(agent__owner=member.user_id).delete()
        member.extensions.update(removed=member.user_id, member=None)
        member_move(member=member, team=None)
        member.delete()


def join_open(*, group: Course | Team) -> None:
    """Make a join link of a course or a team, in place of the one before."""
    group.join_number = secrets.randbelow(2**31 - 1) + 1
    group.save(update_fields=["join_number"])


def join_close(*, group: Course | Team) -> None:
    """End the join link."""
    group.join_number = None
    group.save(update_fields=["join_number"])


def join_address(group: Course | Team) -> str:
    """Return the full address of the join link; empty without one."""
    return "" if group.join_number is None else absolute(join_path(group))


def join_path(group: Course | Team) -> str:
    """Return the path of the join link, which is signed, so that it cannot be guessed."""
    signer = signing.Signer(salt=SALTS[type(group)])
    return page(PAGES[type(group)], signer.sign(f"{group.pk}.{group.join_number}"))


def join_find(model: type[Group], token: str) -> Group | None:
    """Return the course or the team of a join link; None for a link that has ended and for any other text."""
    try:
        key, number = signing.Signer(salt=SALTS[model]).unsign(token).split(".")
    except (signing.BadSignature, ValueError):
        return None
    return model._default_manager.filter(pk=int(key), join_number=int(number)).first()


def announcement_write(
    *, course: Course, tournament: Tournament | None, title: str, text: str, by: User
) -> Announcement:
    """Show a text on the page of a course, and send it to its members, or to the participants of a tournament."""
    with transaction.atomic():
        row = Announcement.objects.create(course=course, tournament=tournament, title=title, text=text, written_by=by)
        readers = User.objects.filter(memberships__course=course)
        if tournament is not None:
            entered = tournament.registrations.order_by().values("agent__owner")
            played = tournament.participants.filter(is_baseline=False).order_by().values("submission__agent__owner")
            readers = readers.filter(Q(pk__in=entered) | Q(pk__in=played))
        people_tell(course=course, people=readers, title=f"{course}: {title}", text=text)
    return row


def people_tell(*, course: Course, people: Iterable[User], title: str, text: str) -> int:
    """Send people a text about a course, to their inbox and by mail as they have chosen; return how many it reaches."""
    address = page("course", course.slug)
    messages: Sequence[Message] = [Message(person, title, text, address) for person in people]
    return len(notify_each(kind=NoticeKind.ANNOUNCEMENT, messages=messages))
