"""The publisher's background task."""

from __future__ import annotations

import tempfile
from pathlib import Path

from django.conf import settings

from arena_kit.errors import PlatformFault
from core.jobs.control import job_cancel
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_fail, job_succeed
from core.models import CancelCode, JobFault, JobState, Publication, Submission
from publisher.git import GitError
from publisher.repository import Repository
from publisher.source import SourceRefused, unpack_source

BRANCH = "main"
"""The branch of the remote repository that gets a commit for every publication."""


def repository() -> Repository:
    """Return the repository of the settings."""
    return Repository.at(settings.DATA_DIR / "publisher.git", remote=settings.PUBLISHER_REMOTE, branch=BRANCH)


def publish(publication: Publication, lease: Lease) -> None:
    """Publish the source of a public submission to the repository of the settings."""
    submission = publication.submission
    reason = reason_not_to_publish(submission)
    if reason:
        job_cancel(job=publication, code=CancelCode.NOT_PUBLIC, reason=reason)
        return
    agent = submission.agent
    environment = agent.environment.slug
    # A user's name may contain line breaks, but the message has one line.
    user = " ".join(agent.owner.username.split())
    message = f"Publish {agent.name} v{submission.number} for {agent.environment.name} by {user}"
    try:
        with tempfile.TemporaryDirectory(prefix="arena-publish-") as scratch, submission.archive.open("rb") as archive:
            source = unpack_source(archive, Path(scratch) / "source")
            for note in source.notes:
                lease.log(note)
            lease.log(message)
            commit = repository().publish(
                source,
                environment=environment,
                agent=agent.name,
                message=message,
                before_push=lease.raise_if_lost,
            )
    except SourceRefused as refusal:
        job_fail(job=publication, fault=JobFault.PLAYER, code=refusal.code, error=str(refusal), log=lease.text)
        return
    except FileNotFoundError:
        raise PlatformFault("The uploaded archive is missing from the store.", code="archive_missing") from None
    except GitError as trouble:
        raise PlatformFault(str(trouble), code=trouble.code) from trouble
    lease.log(f"Published as {commit}.")
    job_succeed(job=publication, log=lease.text, url=source_url(commit, environment, agent.name, source.entry_point))


def reason_not_to_publish(submission: Submission) -> str:
    """Return why the submission must not be published (any more); empty if it may."""
    if not settings.PUBLISHER_REMOTE:
        return "This arena has no repository to publish to."
    if not submission.agent.is_public:
        return "The agent is not public."
    if submission.deleted_at is not None:
        return "The submission was deleted."
    newer = Publication.objects.filter(
        submission__agent=submission.agent, submission__number__gt=submission.number, state=JobState.SUCCEEDED
    )
    if newer.exists():
        return "A newer version is already published."
    return ""


def source_url(commit: str, environment: str, agent: str, entry_point: str) -> str:
    """Return the address of the published source; empty if the repository has no pages."""
    web = settings.PUBLISHER_WEB_URL.rstrip("/")
    return f"{web}/blob/{commit}/{environment}/{agent}/{entry_point}" if web else ""
