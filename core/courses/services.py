"""Members of courses, the links with which people join, and news."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from django.core import signing
from django.db import transaction
from django.db.models import OuterRef, Q, Subquery

from core.links import absolute, page
from core.models import (
    Announcement,
    Course,
    Extension,
    Member,
    NoticeKind,
    Registration,
    Role,
    Tournament,
    TournamentState,
    User,
)
from core.notices.services import Message, notify_each

SALT = "core.courses"


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
        join_open(course=course)
    title, text = f"You are invited to {course}", "Join it on its page."
    messages = [Message(one, title, text, join_path(course), about=f"join {course.pk}") for one in people]
    notify_each(kind=NoticeKind.ANNOUNCEMENT, messages=messages)


def member_change(*, member: Member, role: Role) -> None:
    """Give a member another role."""
    member.role = role
    member.save(update_fields=["role"])


def member_remove(*, member: Member) -> None:
    """Take a person out of a course; their agents, results and extensions stay, their registrations do not."""
    with transaction.atomic():
        planned = Registration.objects.filter(
            tournament__course=member.course_id, tournament__state=TournamentState.PLANNED
        )
        planned.filter(agent__owner=member.user_id).delete()
        member.extensions.update(removed=member.user_id, member=None)
        member.delete()


def join_open(*, course: Course) -> None:
    """Make a join link, in place of the one before."""
    course.join_number = secrets.randbelow(2**31 - 1) + 1
    course.save(update_fields=["join_number"])


def join_close(*, course: Course) -> None:
    """End the join link."""
    course.join_number = None
    course.save(update_fields=["join_number"])


def join_address(course: Course) -> str:
    """Return the full address of the join link; empty without one."""
    return "" if course.join_number is None else absolute(join_path(course))


def join_path(course: Course) -> str:
    """Return the path of the join link, which is signed, so that it cannot be guessed."""
    return page("course_join", signing.Signer(salt=SALT).sign(f"{course.pk}.{course.join_number}"))


def join_find(token: str) -> Course | None:
    """Return the course of a join link; None for a link that has ended and for any other text."""
    try:
        key, number = signing.Signer(salt=SALT).unsign(token).split(".")
    except (signing.BadSignature, ValueError):
        return None
    return Course.objects.filter(pk=int(key), join_number=int(number)).first()


def announcement_write(
    *, course: Course, tournament: Tournament | None, title: str, text: str, by: User
) -> Announcement:
    """Show a text on the page of a course, and send it to its members, or to the participants of a tournament."""
    with transaction.atomic():
        row = Announcement.objects.create(course=course, tournament=tournament, title=title, text=text, written_by=by)
        readers = User.objects.filter(memberships__course=course)
        if tournament is not None:
            entered = tournament.registrations.order_by().values("agent__owner")
            played = tournament.participants.order_by().values("submission__agent__owner")
            readers = readers.filter(Q(pk__in=entered) | Q(pk__in=played))
        people_tell(course=course, people=readers, title=f"{course}: {title}", text=text)
    return row


def people_tell(*, course: Course, people: Iterable[User], title: str, text: str) -> int:
    """Send people a text about a course, to their inbox and by mail as they have chosen; return how many it reaches."""
    address = page("course", course.slug)
    messages: Sequence[Message] = [Message(person, title, text, address) for person in people]
    return len(notify_each(kind=NoticeKind.ANNOUNCEMENT, messages=messages))
