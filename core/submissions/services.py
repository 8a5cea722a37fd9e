"""Agents and their submissions: create them, also when an archive is sent again."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from arena_kit.text import plain_line
from arena_kit.upload.zip_safety import ArchiveRefused
from core.environments.availability import refuse_unavailable
from core.errors import Refused
from core.evaluations.services import evaluation_again
from core.files.uploads import Stored
from core.jobs.lifecycle import job_enqueue
from core.jobs.locks import agent_lock
from core.jobs.phase_selectors import decisive_job
from core.models import (
    Agent,
    Build,
    Environment,
    Evaluation,
    JobFault,
    JobState,
    Submission,
    SubmissionForm,
    User,
)
from core.monitoring.metrics import refusals_counted, submission_received
from core.people.quotas import makes_agent_active, owner_share, quota_check, upload_lock
from core.submissions.existing import submission_rebuild
from core.submissions.naming import NAME_TAKEN, name_check
from core.submissions.uploads import (
    Upload,
    archive_restore,
    archive_sha256,
    archive_stored,
    upload_clean,
    upload_compile,
    upload_look,
)


@dataclass(frozen=True, slots=True)
class Labels:
    """The uploader's own words about a submission, which are not checked. public_id: None lets the arena choose.

    mode: how it was sent, for metrics: zip, single (one script) or multi (several files).
    """

    algorithm: str = ""
    user: str = ""
    public_id: uuid.UUID | None = None
    mode: str = "zip"

    def __post_init__(self) -> None:
        # Cleaned, because pages show these texts beside their own.
        object.__setattr__(self, "algorithm", plain_line(self.algorithm))
        object.__setattr__(self, "user", plain_line(self.user))


NO_LABELS = Labels()


@refusals_counted()
def agent_create(
    *,
    owner: User,
    environment: Environment,
    name: str,
    is_public: bool,
    archive: UploadedFile[bytes],
    tell: Callable[[str], None] = lambda _: None,
    labels: Labels = NO_LABELS,
    is_script: bool = False,
    address_digest: str = "",
    is_trial: bool = False,
    opponent: Submission | None = None,
    has_quota: bool = True,
) -> Submission:
    """Create an agent with its first submission and start its build; return the submission.

    is_script: submission.py is run, whatever else the archive contains. address_digest: of an anonymous client, for
    its quota. is_trial, opponent: see `core.submissions.trials`. has_quota: whether quotas apply. Sending the same form
    twice returns the first submission, which is rebuilt if the arena had failed on it; `tell` gets a sentence about
    that. Raises Refused with what to do for an archive that is not allowed or a name that is taken, and QuotaExceeded
    when the owner's quota is used up.
    """
    if not environment.is_active:
        raise Refused(f"{environment} accepts no uploads at the moment.", field="archive")
    refuse_unavailable(environment)
    upload = upload_look(archive=archive, environment=environment, is_script=is_script)

    if upload.form == SubmissionForm.IMAGE and address_digest:
        raise Refused("Container images are taken from people with an account.", field="archive", code="needs_account")

    def found() -> Submission | None:
        return _twin(environment, owner, name, upload.sha256, is_public=is_public)

    def check(by: User) -> None:
        name_check(environment=environment, owner=owner, name=name)
        if opponent is not None or not has_quota:
            return
        quota_check(
            owner=by,
            environment=environment,
            archive_bytes=upload.size,
            makes_agent=True,
            address_digest=address_digest,
        )

    if (twin := _sent_before(found, lambda: check(owner))) is not None:
        return _submission_again(twin, upload, tell)
    upload_compile(upload=upload, sender=f"{owner.pk} {address_digest}", tell=tell)
    with archive_stored(upload) as stored:
        try:
            with transaction.atomic():
                locked = upload_lock(owner=owner, environment=environment, address_digest=address_digest)
                _check_exists(environment)
                twin = found()
                if twin is None:
                    check(locked)
                    agent = Agent(environment=environment, owner=owner, name=name, is_public=is_public)
                    agent.deleted_at = timezone.now() if is_trial else None
                    agent.save(force_insert=True)
                    made = _submission_create(
                        agent,
                        upload,
                        stored,
                        labels=labels,
                        address_digest=address_digest,
                        is_trial=is_trial,
                        opponent=opponent,
                    )
        except IntegrityError:
            # Another account has just taken the name, or organisers have removed the environment.
            name_check(environment=environment, owner=owner, name=name)
            _check_exists(environment)
            raise Refused(NAME_TAKEN, field="name") from None
        stored.is_kept = twin is None
    return made if twin is None else _submission_again(twin, upload, tell)


@refusals_counted()
def submission_create(
    *,
    agent: Agent,
    archive: UploadedFile[bytes],
    tell: Callable[[str], None] = lambda _: None,
    labels: Labels = NO_LABELS,
    is_trial: bool = False,
    opponent: Submission | None = None,
    has_quota: bool = True,
) -> Submission:
    """Add a new version to an agent and start its build; the same archive as the latest version is that version.

    In that case it is rebuilt if the arena had failed on it, and `tell` gets a sentence about that. A quarantined agent
    accepts new versions, which can end the quarantine. Raises Refused with what to do, and QuotaExceeded when the
    owner's quota is used up.
    """
    _check_enabled(agent)
    environment = agent.environment
    if not environment.is_active:
        raise Refused(f"{environment} accepts no uploads at the moment.", field="archive")
    refuse_unavailable(environment)
    upload = upload_look(archive=archive, environment=environment)

    def found() -> Submission | None:
        return _same_version(agent, upload)

    def check(by: User) -> None:
        if opponent is not None or not has_quota:
            return
        quota_check(
            owner=by,
            environment=environment,
            archive_bytes=upload.size,
            makes_agent=makes_agent_active(agent),
        )

    if (twin := _sent_before(found, lambda: check(agent.owner))) is not None:
        return _submission_again(twin, upload, tell)
    upload_compile(upload=upload, sender=str(agent.owner_id), tell=tell)
    with archive_stored(upload) as stored:
        with transaction.atomic():
            owner = upload_lock(owner=agent.owner, environment=environment)
            locked = agent_lock(agent.pk)
            # Checked again under the lock.
            _check_enabled(locked)
            twin = found()
            if twin is None:
                check(owner)
                number = (locked.submissions.aggregate(last=Max("number"))["last"] or 0) + 1
                made = _submission_create(
                    locked, upload, stored, number=number, labels=labels, is_trial=is_trial, opponent=opponent
                )
        stored.is_kept = twin is None
    return made if twin is None else _submission_again(twin, upload, tell)


def submission_repeat(*, submission: Submission, archive: UploadedFile[bytes]) -> Submission:
    """Handle a submission that is sent again: rebuild it if the arena had failed on it.

    Raises Refused for a deleted submission, another archive than before, or a closed account.
    """
    try:
        upload_clean(archive)
    except ArchiveRefused as refusal:
        raise Refused(str(refusal), field="archive", code=refusal.code) from None
    sha256 = archive_sha256(archive)
    with transaction.atomic():
        owner_share(submission.agent.owner)
    if submission.deleted_at is not None or submission.archive_sha256 != sha256:
        raise Refused("This is not the archive that was submitted.", field="archive", code="not_the_same")
    upload = Upload(archive, sha256, SubmissionForm(submission.form), archive.size or 0)
    return _submission_again(submission, upload, lambda _: None)


def _check_enabled(agent: Agent) -> None:
    if agent.is_disabled and not agent.is_quarantined:
        raise Refused("The organisers have disabled this agent; it accepts no new versions.", field="archive")


def _twin(environment: Environment, owner: User, name: str, sha256: str, *, is_public: bool) -> Submission | None:
    """Return the first version of an agent that was created by the same form; None without one."""
    return Submission.objects.filter(
        agent__environment=environment,
        agent__owner=owner,
        agent__name=name,
        agent__is_public=is_public,
        number=1,
        archive_sha256=sha256,
        deleted_at=None,
    ).first()


def _check_exists(environment: Environment) -> None:
    """Refuse an upload into an environment that organisers have just removed."""
    if not Environment.objects.filter(pk=environment.pk).exists():
        raise Refused(f"{environment} was removed a moment ago.", field="archive")


def _same_version(agent: Agent, upload: Upload) -> Submission | None:
    """Return the latest version of a locked agent if it has this archive; otherwise None."""
    latest = agent.submissions.order_by("-number").first()
    is_same = latest is not None and latest.archive_sha256 == upload.sha256 and latest.deleted_at is None
    return latest if is_same else None


def _sent_before(found: Callable[[], Submission | None], check: Callable[[], None]) -> Submission | None:
    """Return the submission of an archive that was sent before; None for a new one that may be uploaded.

    Nothing is locked yet: it spares an upload without a place all further work. Raises what `check` raises.
    """
    if (submission := found()) is not None:
        return submission
    try:
        check()
    except Refused:
        # The same form may have been sent twice, and the other request has just taken the last place or the name.
        if (submission := found()) is not None:
            return submission
        raise
    return None


def _submission_again(submission: Submission, upload: Upload, tell: Callable[[str], None]) -> Submission:
    """Handle an archive that was sent again."""
    if submission.deleted_at is None:
        archive_restore(submission=submission, upload=upload)
    with transaction.atomic():
        return _again(submission, tell)


def _again(submission: Submission, tell: Callable[[str], None]) -> Submission:
    # The lock orders this and a simultaneous disabling by an organiser.
    agent = agent_lock(submission.agent_id)
    submission = Submission.objects.select_for_update(of=("self",), no_key=True).get(pk=submission.pk)
    submission.is_repeat = True
    job = decisive_job(submission)
    failed = job is not None and job.state == JobState.FAILED and job.fault == JobFault.PLATFORM
    if not failed or (agent.is_disabled and not agent.is_quarantined):
        tell(f"Version {submission.number} has the same archive, so nothing new was uploaded.")
        return submission
    if isinstance(job, Evaluation):
        evaluation_again(submission=submission)
        tell(
            f"Version {submission.number} has the same archive. The arena had failed on it and now evaluates it again."
        )
        return submission
    submission_rebuild(submission=submission)
    tell(f"Version {submission.number} has the same archive. The arena had failed on it and now builds it again.")
    return submission


def _submission_create(
    agent: Agent,
    upload: Upload,
    stored: Stored,
    *,
    number: int = 1,
    labels: Labels = NO_LABELS,
    address_digest: str = "",
    is_trial: bool = False,
    opponent: Submission | None = None,
) -> Submission:
    submission = Submission(
        agent=agent,
        number=number,
        form=upload.form,
        image_name=upload.image_name,
        algorithm=labels.algorithm,
        user_label=labels.user,
        address_digest=address_digest,
        archive=stored.name,
        is_trial=is_trial,
        trial_opponent=opponent,
        archive_sha256=upload.sha256,
        archive_bytes=upload.size,
    )
    if labels.public_id is not None:
        submission.public_id = labels.public_id
    submission.save(force_insert=True)
    job_enqueue(job=Build.objects.create(submission=submission))
    submission_received(mode=labels.mode, archive_bytes=submission.archive_bytes)
    return submission
