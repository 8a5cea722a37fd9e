"""Acts on agents and submissions that exist: change their settings, build again, and delete."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.utils import timezone

from core.errors import Refused
from core.evaluations.services import standing_decide
from core.jobs.control import job_cancel_if_open
from core.jobs.lifecycle import job_enqueue
from core.jobs.locks import agent_lock
from core.jobs.messages import IMAGES_TASK, TOURNAMENT_TASK, task_request
from core.jobs.states import OPEN
from core.models import (
    Agent,
    Build,
    CancelCode,
    Drill,
    Evaluation,
    Publication,
    Rollout,
    Sitting,
    Submission,
    TournamentState,
    User,
    Validation,
)
from core.submissions.notices import agent_renamed
from core.submissions.promotions import promotions_review
from core.submissions.publishing import repository_review

WORK: tuple[Any, ...] = (Build, Validation, Evaluation, Rollout, Publication, Sitting, Drill)
"""The kinds of work on a version, in the order in which one leads to the next, so that later ones are found too."""


def agent_settings_save(*, agent: Agent, fields: Collection[str], by: User) -> None:
    """Save what an organiser has changed about an agent; one that is private or renamed leaves the repository."""
    with transaction.atomic():
        before = Agent.objects.values_list("name", flat=True).get(pk=agent.pk)
        agent.save(update_fields=fields)
        repository_review()
        if "name" in fields and agent.owner_id != by.pk:
            agent_renamed(agent, before)


def submission_rebuild(*, submission: Submission) -> Build:
    """Build and validate a submission again; its open jobs are cancelled. Raises Refused when it is deleted."""
    with transaction.atomic():
        # The lock orders simultaneous deletions and rebuilds.
        agent_lock(submission.agent_id)
        submission = Submission.objects.get(pk=submission.pk)
        if submission.deleted_at is not None:
            raise Refused("A deleted submission cannot be built.")
        phases = (submission.latest_build, submission.latest_validation)
        for job in (*phases, *submission.evaluations.filter(state__in=OPEN)):
            if job is not None:
                job_cancel_if_open(job=job, code=CancelCode.SUPERSEDED, reason="The submission is being rebuilt.")
        build = Build.objects.create(submission=submission)
        job_enqueue(job=build)
    return build


def submission_delete(*, submission: Submission) -> None:
    """Delete a submission's archive and image. Its results stay, because they are part of others' history.

    On a board its agent falls back to the previous version if that has been evaluated.
    """
    with transaction.atomic():
        agent = agent_lock(submission.agent_id)
        # The jobs before the submission's row, see `core.jobs.locks`.
        for kind in WORK:
            for job in kind.objects.filter(submission=submission, state__in=OPEN).order_by("pk"):
                job_cancel_if_open(job=job, code=CancelCode.SUBMISSION_DELETED, reason="The submission was deleted.")
        submission.deleted_at = timezone.now()
        submission.save(update_fields=["deleted_at"])
        standing_decide(agent=agent)
        promotions_review(agent=agent)
        planned = submission.participations.filter(tournament__is_automatic=False)
        if planned.filter(tournament__state=TournamentState.RUNNING).exists():
            # It has withdrawn from that tournament.
            task_request("tournament", TOURNAMENT_TASK, agent.environment_id)
        storage, name = submission.archive.storage, str(submission.archive.name)
        # If the store fails, the retention deletes it later.
        transaction.on_commit(lambda: storage.delete(name), robust=True)
        task_request("build", IMAGES_TASK)
        repository_review()
