"""Rights of organisers, and of roles in a course: one function decides, for pages, the API and the executor.

Staff without a right can do no more than a member. `docs/organiser/organise.md` lists which act needs which right.
"""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser

from core.models import Member, Role, User

SUPERUSER = "superuser"
"""In the place of a right, for what only superusers may do."""
OF_ROLES = {
    Role.TEACHER: frozenset(
        {
            "core.change_course",
            "core.view_tournament",
            "core.add_tournament",
            "core.change_tournament",
            "core.change_participant",
            "core.change_duel",
            "core.view_submission",
        }
    ),
    Role.TUTOR: frozenset({"core.view_tournament", "core.view_submission"}),
    Role.REFEREE: frozenset({"core.view_tournament", "core.change_participant", "core.change_duel"}),
    Role.STUDENT: frozenset[str](),
}
"""The rights of each role over what belongs to its course."""


def may(user: User | AnonymousUser, right: str = "", course: int | None = None) -> bool:
    """Return whether a person is an organiser and has a right, or has it by a role in a course.

    right: empty for every organiser, or SUPERUSER. course: the key of the course that the thing belongs to.
    """
    if not isinstance(user, User) or not user.is_active:
        return False
    if course is not None and right in OF_ROLES.get(roles_of(user).get(course, Role.STUDENT), ()):
        return True
    if not user.is_staff:
        return False
    return user.is_superuser if right == SUPERUSER else not right or user.has_perm(right)


def acts_on(user: User | AnonymousUser, course: int | None) -> bool:
    """Return whether a person is an organiser, or has any right by a role in a course."""
    return may(user) or (course is not None and bool(OF_ROLES[roles_of(user).get(course, Role.STUDENT)]))


def roles_of(user: User | AnonymousUser) -> dict[int, Role]:
    """Return a person's roles by the key of the course. They are read once for a `User` object: for one request."""
    if not isinstance(user, User):
        return {}
    known: dict[int, Role] | None = vars(user).get("_roles")
    if known is None:
        rows = Member.objects.filter(user=user.pk).order_by().values_list("course", "role")
        known = vars(user)["_roles"] = {course: Role(role) for course, role in rows}
    return known


def roles_lend(person: User, account: User) -> None:
    """Let the account of a team have the roles of a person who works as the team, for one request."""
    vars(account)["_roles"] = roles_of(person)


def courses_with(user: User | AnonymousUser, right: str) -> list[int]:
    """Return the keys of the courses in which a person has a right by their role."""
    return [course for course, role in roles_of(user).items() if right in OF_ROLES[role]]
