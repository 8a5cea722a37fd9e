"""The publisher's background tasks: to publish a version, and to keep the rest of the repository right."""

from __future__ import annotations

import logging
import tempfile
from email.utils import parseaddr
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from arena_kit.errors import PlatformFault
from core.jobs.control import job_cancel
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_fail, job_heartbeat, job_succeed
from core.links import site_url
from core.models import CancelCode, JobFault, Publication, Submission
from core.notices.alarms import alarm_raise, alarm_settle
from core.submissions.publishing import (
    is_to_be_shown,
    publications_ensure,
    publications_newer,
    publications_remove,
    repository_review,
)
from publisher.catalogue import environments_shown, folders_of, publications_gone
from publisher.git import GitError
from publisher.pages import environment_page, is_ours, root_page
from publisher.remote import Remote, remote_of
from publisher.repository import Author, Change, Repository, Snapshot, agent_folder
from publisher.source import SourceRefused, unpack_source

logger = logging.getLogger(__name__)

BRANCH = "main"
"""The branch of the remote repository that gets a commit for every publication."""
ALARM = "repository-is-not-kept"


def remote() -> Remote:
    """Return the remote repository of the settings."""
    return remote_of(settings.PUBLISHER_REMOTE, ssh_folder=settings.PUBLISHER_SSH_FOLDER)


def repository() -> Repository:
    """Return the repository of the settings."""
    author = Author(settings.SITE_NAME, parseaddr(settings.DEFAULT_FROM_EMAIL)[1])
    return Repository.at(settings.DATA_DIR / "publisher.git", remote=remote(), branch=BRANCH, author=author)


def publish(publication: Publication, lease: Lease) -> None:
    """Publish the source of a public submission to the repository of the settings."""
    submission = publication.submission
    reason = reason_not_to_publish(submission)
    if reason:
        job_cancel(job=publication, code=CancelCode.NOT_PUBLIC, reason=reason)
        # An earlier attempt may have pushed it.
        review_if_gone(publication)
        return
    agent = submission.agent
    # A user's name may contain line breaks, but the message has one line.
    user = " ".join(agent.owner.username.split())
    message = f"Publish {agent.name} v{submission.number} for {agent.environment.name} by {user}"
    try:
        folder = agent_folder(agent.environment.slug, agent.name)
        with tempfile.TemporaryDirectory(prefix="arena-publish-") as scratch, submission.archive.open("rb") as archive:
            source = unpack_source(archive, Path(scratch) / "source")
            for note in source.notes:
                lease.log(note)
            lease.log(message)
            change = Change((folder,), {f"{folder}/{path}": source.folder / path for path in source.paths})

            def before_push() -> None:
                lease.raise_if_lost()
                # From here on it may be in the repository, whatever becomes of this job.
                job_heartbeat(job=publication, progress={"folder": folder})

            commit = repository().change(lambda _: change, message=message, before_push=before_push)
    except SourceRefused as refusal:
        job_fail(job=publication, fault=JobFault.PLAYER, code=refusal.code, error=str(refusal), log=lease.text)
        return
    except FileNotFoundError:
        raise PlatformFault("The uploaded archive is missing from the store.", code="archive_missing") from None
    except GitError as trouble:
        raise PlatformFault(str(trouble), code=trouble.code) from trouble
    lease.log(f"Published as {commit}.")
    url = source_url(commit, f"{folder}/{source.entry_point}")
    try:
        job_succeed(job=publication, log=lease.text, url=url)
    finally:
        # Also where the job was cancelled meanwhile: the review that this asked for may have been before our push.
        review_if_gone(publication)


def review_if_gone(publication: Publication) -> None:
    """Ask for a review of the repository if what this job has pushed, or may have, must not be seen (any more)."""
    rows = Publication.objects.exclude(folder="").select_related(
        "submission__agent__environment", "submission__agent__owner"
    )
    row = rows.filter(pk=publication.pk).first()
    if row is not None and not is_to_be_shown(row):
        repository_review()


def repository_refresh(_: int | str = 0) -> None:
    """Remove folders that must not be seen any more, write the README pages, and queue what is missing.

    All in one commit, and none without a difference. History keeps what was removed.
    """
    if not settings.PUBLISHER_REMOTE:
        return
    gone = publications_gone()
    try:
        with tempfile.TemporaryDirectory(prefix="arena-pages-") as scratch:
            repository().change(
                lambda snapshot: refresh_plan(snapshot, gone, Path(scratch)),
                message=refresh_message(gone),
                before_push=lambda: None,
            )
    except GitError as trouble:
        alarm_raise(key=ALARM, message=f"{trouble} Try it with: manage.py publisher_check")
        return
    alarm_settle(key=ALARM)
    publications_remove(gone, now=timezone.now())
    for row in gone:
        logger.info("%s is no longer in the repository.", row.folder)
    publications_ensure()


def refresh_plan(snapshot: Snapshot, gone: list[Publication], scratch: Path) -> Change:
    """Return the change that removes what is gone and brings the pages up to date."""
    removed = folders_of(gone)
    left = [path for path in snapshot.paths if not Change(removed).removes(path)]
    environments = environments_shown(left)
    pages = {f"{environment.slug}/README.md": environment_page(environment) for environment in environments}
    # An environment whose last agent has gone keeps no page of ours.
    old = {path for path in left if path.count("/") == 1 and path.endswith("/README.md") and path not in pages}
    removed += tuple(path for path in sorted(old) if snapshot.text(path) and is_ours(snapshot.text(path)))
    if environments or "README.md" in snapshot.paths:
        pages["README.md"] = root_page(settings.SITE_NAME, site_url(), environments)
    files = {}
    for number, (path, text) in enumerate(pages.items()):
        if is_ours(snapshot.text(path)):
            files[path] = scratch / str(number)
            files[path].write_text(text)
    return Change(removed, files)


def refresh_message(gone: list[Publication]) -> str:
    """Return the message of a commit."""
    if not gone:
        return "Update the pages"
    count = len({row.folder for row in gone})
    return f"Remove {gone[0].folder}" if count == 1 else f"Remove {count} agents"


def reason_not_to_publish(submission: Submission) -> str:
    """Return why the submission must not be published (any more); empty if it may."""
    if not settings.PUBLISHER_REMOTE:
        return "This arena has no repository to publish to."
    if not submission.agent.is_public:
        return "The agent is not public."
    if submission.deleted_at is not None:
        return "The submission was deleted."
    if publications_newer(submission.agent, submission.number).exists():
        return "A newer version is already published."
    return ""


def source_url(commit: str, path: str) -> str:
    """Return the address of the published source; empty if the repository has no pages."""
    web = settings.PUBLISHER_WEB_URL.rstrip("/")
    return f"{web}/blob/{commit}/{path}" if web else ""
