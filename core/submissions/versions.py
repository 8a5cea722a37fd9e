"""Which of an agent's versions plays: the newest valid one that is not benched. Its owner may choose another."""

from __future__ import annotations

from django.db import transaction

from core.errors import Refused
from core.jobs.locks import agent_lock
from core.jobs.messages import TOURNAMENT_TASK, task_request
from core.models import Agent, JobState, Promotion, PromotionState, Submission
from core.submissions.promotions import promotion_stop


def submission_activate(*, submission: Submission) -> None:
    """Let a version play for its agent from the next tournament on and bench the newer ones. Raises Refused.

    Newer versions that are still being built or validated are not benched: they play once they may. A running test of
    another version is stopped.
    """
    with transaction.atomic():
        agent, submission = _locked(submission)
        if not Submission.objects.validated().filter(pk=submission.pk).exists():
            raise Refused(
                f"Version {submission.number} cannot play: only versions that are built and validated, and whose image "
                "is kept, can. Upload it again as a new version."
            )
        if _is_tested(submission):
            raise Refused(f"Version {submission.number} is being tested: it plays once the test says so.")
        promotion_stop(agent=agent, why=f"Its owner chose to play with version {submission.number}.")
        newer = agent.submissions.filter(number__gt=submission.number, validations__state=JobState.SUCCEEDED)
        Submission.objects.filter(pk__in=newer.order_by().values("pk")).update(is_benched=True)
        Submission.objects.filter(pk=submission.pk).update(is_benched=False)
        _answer(submission, PromotionState.ACTIVATED, "Its owner let it play.")
        task_request("tournament", TOURNAMENT_TASK, agent.environment_id)


def submission_bench(*, submission: Submission) -> None:
    """Bench a version, so that the newest other one plays for its agent. Raises Refused when there is no other."""
    with transaction.atomic():
        agent, submission = _locked(submission)
        if _is_tested(submission):
            raise Refused(f"Version {submission.number} is benched while it is being tested.")
        rival = Promotion.objects.filter(incumbent=submission, state=PromotionState.TESTING).first()
        if rival is not None:
            raise Refused(
                f"Version {rival.candidate.number} is being tested against version {submission.number}: "
                "wait for the end of the test."
            )
        others = Submission.objects.validated().filter(agent=agent, is_benched=False).exclude(pk=submission.pk)
        if not submission.is_benched and not others.exists():
            raise Refused(
                f"Version {submission.number} is the only one that can play. Let another one play first, or hide the "
                "whole agent."
            )
        Submission.objects.filter(pk=submission.pk).update(is_benched=True)
        _answer(submission, PromotionState.BENCHED, "Its owner left it benched.")
        task_request("tournament", TOURNAMENT_TASK, agent.environment_id)


def _locked(submission: Submission) -> tuple[Agent, Submission]:
    agent = agent_lock(submission.agent_id)
    submission = Submission.objects.get(pk=submission.pk)
    if submission.deleted_at is not None:
        raise Refused(f"Version {submission.number} is deleted.")
    if agent.environment.is_scored:
        raise Refused(f"In {agent.environment} the newest version that was evaluated stands on the board.")
    return agent, submission


def _is_tested(submission: Submission) -> bool:
    return submission.promotions.filter(state=PromotionState.TESTING).exists()


def _answer(submission: Submission, state: PromotionState, words: str) -> None:
    """Record an owner's decision on promotions that a test left undecided."""
    for promotion in submission.promotions.filter(state=PromotionState.CHOICE):
        promotion.state, promotion.verdict = state, f"{promotion.verdict} {words}"
        promotion.save(update_fields=["state", "verdict"])
