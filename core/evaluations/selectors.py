"""Evaluations for pages and the API: the seeds that rank an environment, and the evaluations that count."""

from __future__ import annotations

from django.db.models import OuterRef, Prefetch, Q, QuerySet, Subquery

from core.jobs.states import OPEN
from core.models import Agent, Environment, Evaluation, JobState, SeedList, SeedPurpose, Submission

RANKING = ~Q(purpose=SeedPurpose.PRACTICE) & Q(assignment=None, tournament=None)
"""The condition for lists that rank an environment or once did."""
RANKING_LISTS = "ranking_lists"
"""The attribute of an environment whose lists were read with it."""


def ranking_list(environment: Environment) -> SeedList | None:
    """Return the hidden seeds that rank an environment now: those of the final phase once it has begun."""
    read: list[SeedList] | None = getattr(environment, RANKING_LISTS, None)
    return _ranking(environment).order_by("pk").last() if read is None else read[-1] if read else None


def ranking_lists_read() -> Prefetch[str, QuerySet[SeedList], str]:
    """Return what reads the lists of all environments of a query at once, for `ranking_list`; seeds are read later."""
    rows = SeedList.objects.filter(RANKING).order_by("pk").defer("seeds")
    return Prefetch("seed_lists", rows, to_attr=RANKING_LISTS)


def practice_list(environment: Environment) -> SeedList | None:
    """Return the public seeds that validations play."""
    return environment.seed_lists.filter(purpose=SeedPurpose.PRACTICE).order_by("pk").last()


def revealed_lists(environment: Environment) -> list[SeedList]:
    """Return the lists that once ranked and are public now, oldest first."""
    return list(_ranking(environment).exclude(revealed_at=None))


def _ranking(environment: Environment) -> QuerySet[SeedList]:
    return environment.seed_lists.filter(RANKING)


def evaluations_checkable() -> QuerySet[Evaluation]:
    """The evaluations whose records can be checked. Scripts have none, and programs may play a part of a list."""
    return Evaluation.every.filter(is_verified=True, run=None)


def board_can_change(environment: Environment) -> bool:
    """Return whether an evaluation waits or runs."""
    return environment.evaluations.filter(state__in=OPEN).exists()


def submissions_to_rank(environment: Environment) -> list[Submission]:
    """Return the latest valid submission of every agent of an environment that does not rest, by agent."""
    valid = Submission.objects.valid().filter(agent__environment=environment, agent__is_resting=False)
    newest = valid.filter(agent=OuterRef("agent")).order_by("-number").values("pk")[:1]
    return list(valid.filter(pk=Subquery(newest)).select_related("agent__environment").order_by("agent_id"))


def is_evaluated(submission: Submission, environment: Environment) -> bool:
    """Return whether a submission's last evaluation has a score by the current rules and seeds of its environment."""
    last = submission.evaluations.order_by("-pk").first()
    return (
        last is not None
        and last.state == JobState.SUCCEEDED
        and last.seed_list == ranking_list(environment)
        and last.environment_version == environment.spec_id
    )


def evaluations_comparable(environment: Environment) -> Q:
    """Return the condition for evaluations by the rules and seeds that rank an environment now, and for scripts."""
    return Q(is_verified=False) | Q(seed_list=ranking_list(environment), environment_version=environment.spec_id)


def evaluation_to_stand_with(agent: Agent) -> Evaluation | None:
    """Return an agent's evaluation for the board: the newest good one of its newest version that has one; else None.

    Verified evaluations count only by the rules and seeds that rank the environment now. A version that fails on new
    seeds does not fall back to its score on the old ones.
    """
    if agent.is_resting:
        return None
    good = Evaluation.objects.filter(agent=agent, state=JobState.SUCCEEDED, submission__deleted_at=None)
    good = good.filter(evaluations_comparable(agent.environment)).defer("log", "episodes", "metrics")
    return good.order_by("-submission__number", "-pk").first()
