"""Which versions are to be seen in the arena's git repository, and the publications that bring them there."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from core.errors import Refused
from core.jobs.apart import apart
from core.jobs.lifecycle import job_enqueue
from core.jobs.locks import agent_lock
from core.jobs.messages import REPOSITORY_TASK, task_request
from core.models import Agent, CancelCode, JobFault, JobState, Publication, Submission

PUSH_TIME = timedelta(minutes=10)
"""A publication that was cancelled, or whose worker was lost, has arrived by then if it arrives at all."""
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
        task_request("publish", REPOSITORY_TASK)


def publications_shown() -> QuerySet[Publication]:
    """Return the publications whose source is in the repository, of each folder of an agent the latest."""
    return _latest(Publication.objects.filter(state=JobState.SUCCEEDED, removed_at=None))


def publications_newer(agent: Agent | OuterRef, number: int | OuterRef) -> QuerySet[Publication]:
    """Return the publications in the repository that are of a newer version of an agent than this number."""
    in_repository = Publication.objects.filter(state=JobState.SUCCEEDED, removed_at=None)
    return in_repository.filter(submission__agent=agent, submission__number__gt=number)


def publications_pushed() -> QuerySet[Publication]:
    """Return the publications whose source may be in the repository, of each folder of an agent the latest.

    A worker that was killed, or whose job was cancelled, may have pushed all the same.
    """
    return _latest(Publication.objects.filter(removed_at=None).exclude(folder=""))


def is_to_be_shown(publication: Publication) -> bool:
    """Return whether what was published may stay where it is."""
    submission = publication.submission
    agent = submission.agent
    is_in_place = publication.folder == f"{agent.environment.slug}/{agent.name}"
    return agent.is_public and agent.owner.is_active and submission.deleted_at is None and is_in_place


def publications_remove(rows: Iterable[Publication], *, now: datetime) -> None:
    """Note that the folders of these publications, with all versions of their agents, are not in the repository now.

    A version that may still arrive is not noted: the next review looks for it again.
    """
    rows = list(rows)
    removed = Publication.objects.filter(removed_at=None).filter(folder__in={row.folder for row in rows})
    removed = removed.filter(submission__agent__in={row.submission.agent_id for row in rows})
    has_arrived = Q(state=JobState.SUCCEEDED) | Q(ended_at__lt=now - PUSH_TIME)
    removed.filter(has_arrived).update(removed_at=now, url="")


def _latest(rows: QuerySet[Publication]) -> QuerySet[Publication]:
    """Return of each folder of an agent the publication that was pushed last."""
    later = rows.filter(
        submission__agent=OuterRef("submission__agent"), folder=OuterRef("folder"), pk__gt=OuterRef("pk")
    )
    return rows.filter(~Exists(later)).select_related("submission__agent__environment", "submission__agent__owner")


def _missing(*, failed_too: bool) -> QuerySet[Submission]:
    """Return the newest version of each public agent, where it is neither published nor about to be.

    One that is older than what is in the repository is not missing.
    """
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
    was_removed = Q(state=JobState.SUCCEEDED, removed__isnull=False)
    wanted = Q(publication=None) | was_removed | Q(state=JobState.CANCELLED, code__in=PASSING)
    if failed_too:
        wanted |= Q(state=JobState.FAILED, fault=JobFault.PLATFORM)
    return rows.filter(wanted, ~Exists(publications_newer(OuterRef("agent"), OuterRef("number"))))


def _create(submission: Submission) -> Publication:
    publication = Publication.objects.create(submission=submission)
    job_enqueue(job=publication)
    return publication
