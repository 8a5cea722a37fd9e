"""Which versions are to be seen in the arena's git repository, and the publications that bring them there."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from core.errors import Refused
from core.jobs.apart import apart
from core.jobs.bells import REPOSITORY_TASK, wake
from core.jobs.lifecycle import job_enqueue
from core.jobs.locks import agent_lock
from core.models import CancelCode, JobFault, JobState, Publication, Submission

PASSING = (CancelCode.NOT_PUBLIC, CancelCode.OWNER_BANNED, CancelCode.AGENT_DISABLED, CancelCode.SUPERSEDED)
"""Reasons of cancelled publications that may have gone since."""


def publication_begin(submission: Submission) -> None:
    """Publish a version that has just become valid, if its agent is public and the arena publishes."""
    if submission.agent.is_public and settings.PUBLISHER_REMOTE:
        _create(submission)


def publication_again(*, publication: Publication) -> Publication:
    """Publish a submission again after a failed or cancelled publication. Raises Refused."""
    submission = publication.submission
    with transaction.atomic():
        agent_lock(submission.agent_id)
        latest = Submission.objects.select_for_update(no_key=True).get(pk=submission.pk).latest_publication
        if submission.deleted_at is not None or not submission.agent.is_public:
            raise Refused("Only existing versions of public agents are published.")
        if latest is not None and latest.state not in (JobState.FAILED, JobState.CANCELLED):
            raise Refused(f"Its latest publication is {latest.get_state_display()}.")
        return _create(submission)


def publications_ensure(*, failed_too: bool = False, limit: int = 100) -> int:
    """Publish the newest version of every public agent that is not in the repository; return how many were queued.

    failed_too: also those whose publication failed by the arena's own fault, e.g. while the repository was away.
    """
    made = 0
    for submission in _missing(failed_too=failed_too).select_related("agent").order_by("pk")[:limit]:
        with apart(submission), transaction.atomic():
            agent_lock(submission.agent_id)
            # Another worker may have been quicker.
            if _missing(failed_too=failed_too).filter(pk=submission.pk).exists():
                _create(submission)
                made += 1
    return made


def repository_review() -> None:
    """Ask the publisher to remove what must not be seen any more, once the surrounding transaction has committed."""
    if settings.PUBLISHER_REMOTE:
        wake("publish", REPOSITORY_TASK)


def publications_shown() -> QuerySet[Publication]:
    """Return the publications whose folder is in the repository, of each folder of an agent the newest."""
    shown = Publication.objects.filter(state=JobState.SUCCEEDED, removed_at=None)
    newer = shown.filter(submission__agent=OuterRef("submission__agent"), folder=OuterRef("folder")).filter(
        Q(submission__number__gt=OuterRef("submission__number"))
        | Q(submission__number=OuterRef("submission__number"), pk__gt=OuterRef("pk"))
    )
    return shown.filter(~Exists(newer)).select_related("submission__agent__environment", "submission__agent__owner")


def is_to_be_shown(publication: Publication) -> bool:
    """Return whether what was published may stay where it is."""
    submission = publication.submission
    agent = submission.agent
    is_in_place = publication.folder == f"{agent.environment.slug}/{agent.name}"
    return agent.is_public and agent.owner.is_active and submission.deleted_at is None and is_in_place


def _missing(*, failed_too: bool) -> QuerySet[Submission]:
    """Return the newest version of each public agent, where it is neither published nor about to be."""
    public = {"agent__is_public": True, "agent__is_disabled": False, "agent__owner__is_active": True}
    newest = Submission.objects.publishable().filter(agent=OuterRef("agent")).order_by("-number").values("pk")[:1]
    latest = Publication.objects.filter(submission=OuterRef("pk")).order_by("-pk")
    rows = Submission.objects.filter(**public, pk=Subquery(newest)).alias(
        publication=Subquery(latest.values("pk")[:1]),
        state=Subquery(latest.values("state")[:1]),
        code=Subquery(latest.values("cancel_code")[:1]),
        fault=Subquery(latest.values("fault")[:1]),
        removed=Subquery(latest.values("removed_at")[:1]),
    )
    wanted = Q(publication=None) | Q(removed__isnull=False) | Q(state=JobState.CANCELLED, code__in=PASSING)
    if failed_too:
        wanted |= Q(state=JobState.FAILED, fault=JobFault.PLATFORM)
    return rows.filter(wanted)


def _create(submission: Submission) -> Publication:
    publication = Publication.objects.create(submission=submission)
    job_enqueue(job=publication)
    return publication
