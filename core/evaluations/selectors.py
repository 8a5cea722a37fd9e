"""Evaluations as pages and the API show them: what an environment is ranked by, and who stands where."""

from __future__ import annotations

from django.db.models import OuterRef, Q, Subquery

from core.models import Agent, Environment, Evaluation, JobState, SeedList, SeedPurpose, Submission


def ranking_list(environment: Environment) -> SeedList | None:
    """The hidden seeds that the environment is ranked by now: those of the final phase once it has begun."""
    return environment.seed_lists.exclude(purpose=SeedPurpose.PRACTICE).order_by("pk").last()


def practice_list(environment: Environment) -> SeedList | None:
    """The public seeds that validations play."""
    return environment.seed_lists.filter(purpose=SeedPurpose.PRACTICE).order_by("pk").last()


def revealed_lists(environment: Environment) -> list[SeedList]:
    """Lists that have ranked and are public now, the oldest first."""
    return list(environment.seed_lists.exclude(purpose=SeedPurpose.PRACTICE).exclude(revealed_at=None))


def board_can_change(environment: Environment) -> bool:
    """Whether an evaluation waits or runs."""
    return environment.evaluations.filter(state__in=(JobState.QUEUED, JobState.RUNNING)).exists()


def submissions_to_rank(environment: Environment) -> list[Submission]:
    """The latest valid submission of every agent of an environment, by agent."""
    valid = Submission.objects.valid().filter(agent__environment=environment)
    newest = valid.filter(agent=OuterRef("agent")).order_by("-number").values("pk")[:1]
    return list(valid.filter(pk=Subquery(newest)).select_related("agent__environment").order_by("agent_id"))


def is_evaluated(submission: Submission, environment: Environment) -> bool:
    """Whether the last that was asked of a player has a score by the rules and seeds of its environment."""
    last = submission.evaluations.order_by("-pk").first()
    return (
        last is not None
        and last.state == JobState.SUCCEEDED
        and last.seed_list == ranking_list(environment)
        and last.environment_version == environment.spec_id
    )


def evaluation_to_stand_with(agent: Agent) -> Evaluation | None:
    """What an agent should stand on the board with: the newest good evaluation of its newest version that has one.

    Of verified ones those count that were played by the rules and on the seeds by which the environment is ranked now.
    A version that fails on new seeds has no way back to its score on the old ones.
    """
    environment = agent.environment
    is_comparable = Q(seed_list=ranking_list(environment), environment_version=environment.spec_id)
    good = Evaluation.objects.filter(agent=agent, state=JobState.SUCCEEDED, submission__deleted_at=None)
    good = good.filter(Q(is_verified=False) | is_comparable).defer("log", "episodes", "metrics")
    return good.order_by("-submission__number", "-pk").first()
