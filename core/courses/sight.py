"""Who sees what belongs to a course: one table of the paths from rows to their courses, which all that is shown uses.

Addresses of one row use `hidden`: a person who may not see the course gets 404. Lists use `listed`, which also leaves
out what only people with the link see. What everyone is shown in the same way uses `public`.
"""

from __future__ import annotations

from typing import TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import F, Model, Q, QuerySet

from core.jobs.kinds import JOB_MODELS
from core.lookup import ByKey
from core.models import (
    Agent,
    Analysis,
    Assignment,
    Audience,
    Batch,
    Blunder,
    Challenge,
    Course,
    Duel,
    Environment,
    Evaluation,
    Job,
    LedgerEntry,
    Package,
    Participant,
    Promotion,
    Rating,
    Registration,
    Run,
    Season,
    SeedList,
    SeenBy,
    Submission,
    Task,
    TaskSet,
    Team,
    Tournament,
    TournamentSchedule,
    User,
)
from core.people.rights import courses_with, may, roles_of

Viewer = User | AnonymousUser
Row = TypeVar("Row", bound=Model)
OF_TOURNAMENT = ("tournament__course", "tournament__environment__course")
OF_ENVIRONMENT = ("environment__course",)


def _of_job(model: type[Job]) -> tuple[str, ...]:
    return (f"{model.ENVIRONMENT}__course",)


PATHS: dict[type[Model], tuple[str, ...]] = {
    Course: ("pk",),
    Assignment: ("course",),
    Environment: ("course",),
    Tournament: ("course", "environment__course"),
    **dict.fromkeys((Registration, Participant), OF_TOURNAMENT),
    **dict.fromkeys((Agent, Batch, Package, Season, SeedList, Task, TaskSet, TournamentSchedule), OF_ENVIRONMENT),
    Submission: ("agent__environment__course",),
    Rating: ("submission__agent__environment__course",),
    LedgerEntry: ("duel__tournament__course", "submission__agent__environment__course"),
    Challenge: ("assignment__course", "submission__agent__environment__course"),
    Promotion: ("candidate__agent__environment__course",),
    Blunder: ("duel__tournament__course", "duel__challenge__assignment__course", "agent__environment__course"),
    Run: (
        "duel__tournament__course",
        "duel__player_1__agent__environment__course",
        "evaluation__environment__course",
    ),
    **{model: _of_job(model) for model in JOB_MODELS.values()},
    Evaluation: OF_ENVIRONMENT,
    Analysis: (
        "duel__tournament__course",
        "duel__challenge__assignment__course",
        "duel__player_1__agent__environment__course",
        "sitting__submission__agent__environment__course",
    ),
    Duel: ("tournament__course", "challenge__assignment__course", "player_1__agent__environment__course"),
}
"""By model: the paths to the courses that a row belongs to."""
CHALLENGES: dict[type[Model], str] = {
    Challenge: "pk",
    Duel: "challenge",
    Analysis: "duel__challenge",
    Blunder: "duel__challenge",
}
"""By model: the path to the challenge, which an assignment may have asked for."""
ANY_COURSE = ByKey(lambda: Course.objects.order_by().values_list("pk")[:1])
"""One course, if the site has any."""
MARKS = "core.view_tournament"
"""The right in a course to see results that are withheld, and the marks of all."""


def courses_closed(viewer: Viewer) -> QuerySet[Course]:
    """Return the courses that a person may not see."""
    rows = Course.objects.filter(seen_by=SeenBy.MEMBERS).order_by()
    return rows.none() if may(viewer, "core.view_course") else rows.exclude(pk__in=list(roles_of(viewer)))


def courses_unlisted(viewer: Viewer) -> QuerySet[Course]:
    """Return the courses that lists leave out for a person: all but those for everyone and their own."""
    rows = Course.objects.exclude(seen_by=SeenBy.EVERYONE).order_by()
    return rows.none() if may(viewer, "core.view_course") else rows.exclude(pk__in=list(roles_of(viewer)))


def challenges_of_others(viewer: Viewer) -> QuerySet[Challenge]:
    """Return the challenges of assignments that a person may not see: a student sees their own and
    their team's, until they leave."""
    rows = Challenge.objects.filter(assignment__isnull=False).order_by()
    if may(viewer, "core.view_course"):
        return rows.none()
    teams = Team.objects.filter(people__user=viewer.pk).order_by().values("account")
    own = (Q(user=viewer.pk) | Q(user__in=teams)) & Q(assignment__course__in=list(roles_of(viewer)))
    return rows.exclude(own | Q(assignment__course__in=courses_with(viewer, MARKS)))


def _kept_from(model: type[Model], viewer: Viewer, courses: QuerySet[Course]) -> Q:
    """Return the condition of rows that a person is not shown. courses: those of which they are shown nothing."""
    closed = belongs(model, courses)
    path = CHALLENGES.get(model)
    return closed if path is None else closed | Q(**{f"{path}__in": challenges_of_others(viewer)})


def _all_shown(model: type[Model]) -> bool:
    """Return whether everyone is shown all rows of a model because the site has no course now: no Lookup may ask.

    It is asked where that spares a query the joins of several tables. Elsewhere the question takes longer: False.
    """
    return model in CHALLENGES and not ANY_COURSE()


def belongs(model: type[Model], courses: QuerySet[Course], prefix: str = "") -> Q:
    """Return the condition that a row belongs to one of some courses. prefix: of a relation to the row."""
    return Q(*((f"{prefix}{path}__in", courses) for path in PATHS[model]), _connector=Q.OR)


def hidden(rows: QuerySet[Row], viewer: Viewer) -> QuerySet[Row]:
    """Return those among some rows that a person may not see."""
    return (
        rows.none() if _all_shown(rows.model) else rows.filter(_kept_from(rows.model, viewer, courses_closed(viewer)))
    )


def seen(rows: QuerySet[Row], viewer: Viewer) -> QuerySet[Row]:
    """Return those among some rows that a person may see."""
    return rows if _all_shown(rows.model) else rows.exclude(_kept_from(rows.model, viewer, courses_closed(viewer)))


def listed(rows: QuerySet[Row], viewer: Viewer) -> QuerySet[Row]:
    """Return those among some rows that lists show a person."""
    return rows if _all_shown(rows.model) else rows.exclude(_kept_from(rows.model, viewer, courses_unlisted(viewer)))


def public(rows: QuerySet[Row]) -> QuerySet[Row]:
    """Return those among some rows that everyone is shown."""
    return listed(rows, AnonymousUser())


def aside(tournament: str = "", environment: str = "environment__") -> Q:
    """Return the condition that a tournament belongs to a course that is not for everyone, and its environment does
    not: pages of the environment, which show all the same, leave it out. Both: prefixes of the relations."""
    unlisted = courses_unlisted(AnonymousUser())
    own = Q(**{f"{environment}course": F(f"{tournament}course"), f"{environment}course__isnull": False})
    return Q(**{f"{tournament}course__in": unlisted}) & ~own


def released() -> Q:
    """Return the condition of duels whose results everyone is shown on the pages of their environment."""
    return Q(tournament__results=Audience.PUBLIC) & ~aside("tournament__", "tournament__environment__")


def released_to_all() -> Q:
    """Return the condition of duels whose results everyone is shown on pages of the whole site."""
    return Q(tournament__results=Audience.PUBLIC) & ~belongs(Duel, courses_unlisted(AnonymousUser()))


def is_released(tournament: Tournament) -> bool:
    """Return whether `released` holds for the duels of a tournament."""
    return tournament.results == Audience.PUBLIC and not Tournament.objects.filter(aside(), pk=tournament.pk).exists()


def course_of(row: Model) -> int | None:
    """Return the key of the course to which a row belongs whose roles may act on it; None without one."""
    match row:
        case Tournament():
            return row.course_id
        case Participant():
            return row.tournament.course_id
        case Duel():
            return None if row.tournament is None else row.tournament.course_id
    return None


def is_public(course: Course | None) -> bool:
    """Return whether everyone is shown what belongs to a course; True without one."""
    return course is None or course.seen_by == SeenBy.EVERYONE
