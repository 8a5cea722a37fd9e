"""Rows as programs list them: what every list needs at hand, and nothing long that it does not show."""

from __future__ import annotations

from django.db.models import Max, QuerySet

from core.models import (
    Agent,
    Duel,
    Environment,
    Evaluation,
    Job,
    Participant,
    Rating,
    Recording,
    Submission,
    Tournament,
)
from core.selectors.phases import submissions_with_phases
from core.services.jobs import JOB_MODELS

PLAYERS = ("player_1__agent__owner", "player_2__agent__owner")
LONG_OF_DUELS = ("log", "verification")
# A list of seeds is long, and hidden.
LONG_OF_EVALUATIONS = ("log", "verification", "metrics", "episodes", "runtime", "seed_list__seeds")
JOB_NEEDS: dict[type[Job], tuple[tuple[str, ...], tuple[str, ...]]] = {
    Duel: (PLAYERS, LONG_OF_DUELS),
    Recording: (
        ("evaluation__submission__agent",),
        ("log", "evaluation__log", "evaluation__verification", "evaluation__metrics", "evaluation__episodes"),
    ),
    Evaluation: (("submission__agent", "seed_list"), LONG_OF_EVALUATIONS),
}
"""By kind: the rows to read along with a job, and the columns to leave where they are."""


def environment_rows() -> QuerySet[Environment]:
    return Environment.objects.order_by("name", "pk")


def agent_rows() -> QuerySet[Agent]:
    """Agents with `latest_number`, the number of their newest version."""
    return (
        Agent.objects.select_related("environment", "owner")
        .annotate(latest_number=Max("submissions__number"))
        .order_by("-pk")
    )


def submission_rows() -> QuerySet[Submission]:
    """Submissions with their phases, newest first."""
    return submissions_with_phases().select_related("agent__owner").order_by("-pk")


def tournament_rows() -> QuerySet[Tournament]:
    return Tournament.objects.select_related("environment").order_by("-pk")


def participant_rows() -> QuerySet[Participant]:
    """The table of editions, by rank."""
    return Participant.objects.select_related("submission__agent__owner", "submission__rating").order_by("rank", "pk")


def duel_rows() -> QuerySet[Duel]:
    """Duels, newest first."""
    return (
        Duel.objects.select_related("tournament__environment", "void", *PLAYERS).defer(*LONG_OF_DUELS).order_by("-pk")
    )


def evaluation_rows() -> QuerySet[Evaluation]:
    """Evaluations without their episodes, newest first."""
    related = ("submission__agent__owner", "environment", "seed_list")
    return Evaluation.objects.select_related(*related).defer(*LONG_OF_EVALUATIONS).order_by("-pk")


def rating_rows() -> QuerySet[Rating]:
    """Ratings, best first."""
    related = ("submission__agent__owner", "submission__agent__environment")
    return Rating.objects.select_related(*related).order_by("-value", "pk")


def job_rows(kind: str) -> QuerySet[Job]:
    """Jobs of a kind without their logs, newest first. Raises KeyError for another than those of JOB_MODELS."""
    model = JOB_MODELS[kind]
    related, long = JOB_NEEDS.get(model, (("submission__agent",), ("log",)))
    return model._default_manager.select_related(*related).defer(*long).order_by("-pk")
