"""Self-play on trial: an archive is built and validated like a version, plays for no agent, and is deleted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.files.uploadedfile import UploadedFile

from core.errors import Refused
from core.jobs.phase_selectors import validation_of
from core.models import Agent, Environment, JobFault, JobState, Submission, SubmissionForm, User
from core.submissions.existing import submission_delete
from core.submissions.services import agent_create, submission_create

FORGOTTEN = timedelta(hours=2)
"""The age of a trial whose caller must have gone, with the process that would have deleted it."""
LATEST = (JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, slots=True)
class Trial:
    """Where a trial is. code, error: why it failed, or was cancelled. is_ours: whether the arena is to blame."""

    is_over: bool
    has_passed: bool = False
    code: str = ""
    error: str = ""
    is_ours: bool = False
    matches: int = 0


def trial_start(*, caller: User, environment: Environment, archive: UploadedFile[bytes]) -> Submission:
    """Put an archive in line to be built and to play against itself; it counts as an upload. Raises Refused.

    It is a version of a private agent of the caller, which has no other ones.
    """
    if environment.is_app:
        raise Refused(f"{environment} is an application: its agents do not play themselves.", field="self_play")
    name = f"self-play-{caller.pk}"
    agent = Agent.objects.filter(environment=environment, owner=caller, name=name).first()
    if agent is not None:
        made = submission_create(agent=agent, archive=archive, is_trial=True)
    else:
        made = agent_create(
            owner=caller, environment=environment, name=name, is_public=False, archive=archive, is_trial=True
        )
    if made.form == SubmissionForm.SCRIPT:
        submission_delete(submission=made)
        raise Refused("A script plays its environment itself: there is no self-play.", field="self_play")
    return made


def trial_state(submission_id: int) -> Trial:
    """Return where a trial is."""
    submission = Submission.objects.get(pk=submission_id)
    if submission.deleted_at is not None:
        return Trial(True, error="The same archive was on trial twice, and the other call has ended.", is_ours=True)
    build = submission.latest_build
    if build is None or build.state not in (*LATEST, JobState.SUCCEEDED):
        return Trial(False)
    job = build if build.state in LATEST else validation_of(submission)
    if job is None or not job.is_over:
        return Trial(False)
    done = 0 if job is build else getattr(job, "matches_done", 0)
    if job.state == JobState.SUCCEEDED:
        return Trial(True, True, matches=done)
    code = job.error_code or job.cancel_code.lower()
    return Trial(True, False, code, job.error, job.fault != JobFault.PLAYER, done)


def trial_end(submission_id: int) -> None:
    """Delete a trial; what still plays of it is cancelled."""
    submission = Submission.objects.get(pk=submission_id)
    if submission.deleted_at is None:
        submission_delete(submission=submission)


def trials_sweep(*, now: datetime) -> int:
    """Delete trials that were forgotten; return how many."""
    old = Submission.objects.filter(is_trial=True, deleted_at=None, created_at__lt=now - FORGOTTEN)
    for submission in old:
        submission_delete(submission=submission)
    return len(old)
