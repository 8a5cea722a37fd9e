"""Which evaluations stand on the board of an environment that is ranked by score, now and at a moment in the past."""

from __future__ import annotations

from datetime import datetime

from django.db.models import OuterRef, QuerySet, Subquery

from core.models import Agent, Environment, Evaluation, JobState, User


def standing(environment: Environment | int) -> QuerySet[Evaluation]:
    """Return the evaluations that stand on an environment's board.

    Evaluations of deleted submissions are not current. Barred agents are excluded through small indexes instead of
    joins with every row, so that one index answers the rest.
    """
    return _not_barred(environment, Evaluation.objects.filter(environment=environment, is_current=True))


def stood(environment: Environment, moment: datetime) -> QuerySet[Evaluation]:
    """Return the evaluations that stood on the board at a moment: the newest one of each agent's newest version.

    Versions deleted since then and agents that are barred now are left out.
    """
    over = Evaluation.objects.filter(
        environment=environment, state=JobState.SUCCEEDED, ended_at__lte=moment, submission__deleted_at=None
    )
    newest = over.filter(agent=OuterRef("agent")).order_by("-submission__number", "-pk").values("pk")[:1]
    return _not_barred(environment, over.filter(pk=Subquery(newest)))


def _not_barred(environment: Environment | int, rows: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    barred = Agent.objects.filter(environment=environment)
    return rows.exclude(agent__in=barred.filter(is_disabled=True)).exclude(
        agent__in=barred.filter(owner__in=User.objects.filter(is_active=False))
    )
