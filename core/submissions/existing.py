"""Acts on agents and submissions that exist: change their settings, build again, and delete."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Exists
from django.utils import timezone

from core.duels.challenges import unrated_duels_cancel
from core.errors import Refused
from core.evaluations.services import standing_decide
from core.jobs.control import job_cancel_if_open
from core.jobs.lifecycle import job_enqueue
from core.jobs.locks import agent_lock
from core.jobs.messages import IMAGES_TASK, TOURNAMENT_TASK, task_request
from core.jobs.states import OPEN
from core.models import (
    Agent,
    Baseline,
    Build,
    CancelCode,
    Drill,
    Evaluation,
    JobState,
    LedgerEntry,
    Participant,
    Publication,
    Rollout,
    Sitting,
    Submission,
    TournamentState,
    User,
    Validation,
)
from core.submissions.naming import agent_forget
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
        _versions_delete(agent, [submission])
        planned = submission.participations.filter(tournament__is_automatic=False)
        if planned.filter(tournament__state=TournamentState.RUNNING).exists():
            # It has withdrawn from that tournament.
            task_request("tournament", TOURNAMENT_TASK, agent.environment_id)


def agent_delete(*, agent: Agent) -> None:
    """Delete an agent with all archives and images, so that its name is free. Raises Refused, see `delete_obstacle`.

    Unrated matches keep a row of it for the pages that show them, under a name that tells nothing.
    """
    with transaction.atomic():
        locked = agent_lock(agent.pk)
        if why := delete_obstacle(locked):
            raise Refused(why)
        _versions_delete(locked, list(locked.submissions.filter(deleted_at=None).order_by("pk")))
        locked.registrations.filter(tournament__state=TournamentState.PLANNED).delete()
        unrated_duels_cancel([locked], code=CancelCode.SUBMISSION_DELETED, reason="One of the two agents was deleted.")
        locked.deleted_at, locked.description = timezone.now(), ""
        locked.save(update_fields=["deleted_at", "description"])
        agent_forget(agent=locked)


def delete_obstacle(agent: Agent) -> str:
    """Return why an agent cannot be deleted; empty if it can."""
    if agent.deleted_at is not None:
        return "It is deleted already."
    # Keys and no subquery: PostgreSQL would read the whole ledger for an agent that has no rated match.
    own, done = list(Submission.objects.filter(agent=agent).values_list("pk", flat=True)), JobState.SUCCEEDED
    found = Agent.every.filter(pk=agent.pk).values(
        rated=Exists(LedgerEntry.objects.filter(submission__in=own)),
        ranked=Exists(Evaluation.every.filter(agent=agent, tournament__isnull=False, state=done)),
        scored=Exists(Evaluation.objects.filter(agent=agent, state=done))
        | Exists(Rollout.objects.filter(submission__in=own, state=done)),
        tests=Exists(Baseline.objects.filter(agent=agent)),
        plays=Exists(Participant.objects.filter(submission__in=own, tournament__state=TournamentState.RUNNING)),
    )
    reasons = {
        "rated": "has rated matches, which are results of others too",
        "ranked": "has a score in a tournament",
        "scored": "has results on the board",
        "tests": "is a baseline of an assignment",
        "plays": "takes part in a running tournament",
    }
    held = next((name for name, is_so in found.get().items() if is_so), None)
    return f"{agent} {reasons[held]}. Hide it instead." if held else ""


def _versions_delete(agent: Agent, submissions: Sequence[Submission]) -> None:
    """Delete versions of a locked agent."""
    # The jobs before the rows of submissions, see `core.jobs.locks`.
    for kind in WORK:
        for job in kind._base_manager.filter(submission__in=submissions, state__in=OPEN).order_by("pk"):
            job_cancel_if_open(job=job, code=CancelCode.SUBMISSION_DELETED, reason="The submission was deleted.")
    for submission in submissions:
        submission.deleted_at = timezone.now()
        submission.save(update_fields=["deleted_at"])
        # If the store fails, the retention deletes it later.
        file = submission.archive
        transaction.on_commit(partial(file.storage.delete, str(file.name)), robust=True)
    standing_decide(agent=agent)
    promotions_review(agent=agent)
    task_request("build", IMAGES_TASK)
    repository_review()
