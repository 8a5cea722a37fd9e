"""Trials: an archive is built and plays like a version, itself or an opponent, for no agent, and is deleted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.files.uploadedfile import UploadedFile

from core.duels.selectors import records_open
from core.errors import Refused
from core.evaluations.episodes import spec_or_none
from core.jobs.lines import line
from core.jobs.phase_selectors import validation_of
from core.jobs.worker_selectors import places_alive
from core.models import Agent, Build, Environment, JobFault, JobState, Submission, SubmissionForm, User, Validation
from core.submissions.existing import submission_delete
from core.submissions.services import agent_create, submission_create

DAY = timedelta(days=1)
FORGOTTEN = timedelta(hours=2)
"""The age of a trial whose caller must have gone, with the process that would have deleted it."""
MATCHES = 10
"""The matches of a trial against an opponent."""
PATIENCE = timedelta(seconds=3)
"""A trial against an opponent that waits longer for a worker is given up, because a person is looking."""
BUSY = "No worker is free at the moment, so it played no matches."
A_DAY = 100
"""The most trials against an opponent of a person within 24 hours."""
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


@dataclass(frozen=True, slots=True)
class TrialMatches:
    """The matches of a trial against its opponent; errors: those that it forfeited. error: why it failed."""

    opponent: str
    played: int = 0
    won: int = 0
    drawn: int = 0
    errors: int = 0
    error: str = ""


def trial_opponent(environment: Environment) -> Submission | None:
    """Return the version that archives are tried against: the reference of a game, such as random; None without one."""
    spec = spec_or_none(environment.spec_id)
    if spec is None or environment.seats != 2:
        return None
    rows = Submission.objects.valid().filter(agent__environment=environment)
    return rows.filter(archive_sha256__in=spec.reference.sha256).select_related("agent").order_by("pk").first()


def trial_play(
    *, caller: User, environment: Environment, archive: UploadedFile[bytes], now: datetime
) -> Submission | None:
    """Put an archive in line to play MATCHES against the reference, without the caller's quotas of uploads.

    None for environments without a reference. Raises Refused, also if no worker is free or the caller has had A_DAY.
    """
    recent = Submission.objects.filter(agent__owner=caller, trial_opponent__isnull=False, created_at__gt=now - DAY)
    opponent = trial_opponent(environment)
    if opponent is None:
        return None
    if recent.count() >= A_DAY:
        raise Refused(f"You have checked {A_DAY} archives within a day, so this one played no matches.")
    if not _worker_is_free():
        raise Refused(BUSY)
    for earlier in recent.filter(deleted_at=None):
        submission_delete(submission=earlier)
    return trial_start(caller=caller, environment=environment, archive=archive, opponent=opponent)


def trial_matches(submission: Submission, *, now: datetime) -> TrialMatches | None:
    """Return how the matches of a trial ended; None while it is built or plays. Raises Refused if no worker took it."""
    opponent, state = str(submission.trial_opponent and submission.trial_opponent.agent), trial_state(submission.pk)
    if state.is_over and (state.has_passed or not state.is_ours):
        validation = validation_of(submission)
        if validation is None or not validation.records:
            return TrialMatches(opponent, error=state.error)
        with records_open(validation) as archive:
            found = archive.summary
        won = found.wins[0] + found.errors[1]
        return TrialMatches(opponent, found.match_count, won, found.draws, found.errors[0], state.error)
    job = validation_of(submission) or submission.latest_build
    waits = job is not None and job.state == JobState.QUEUED and now - job.created_at > PATIENCE
    if state.is_over or waits:
        raise Refused(BUSY)
    return None


def _worker_is_free() -> bool:
    """Return whether builds and validations have workers, and none of either waits."""
    return all(places_alive(kind) and not line(kind).exists() for kind in (Build, Validation))


def trial_start(
    *, caller: User, environment: Environment, archive: UploadedFile[bytes], opponent: Submission | None = None
) -> Submission:
    """Put an archive in line to be built and to play against itself, or an opponent. Raises Refused.

    Against itself, it counts as an upload.

    It is a version of a private agent of the caller, which has no other ones and is in no list.
    """
    if environment.is_app:
        raise Refused(f"{environment} is an application: its agents do not play themselves.", field="self_play")
    name = f"self-play-{caller.pk}"
    agent = Agent.every.filter(environment=environment, owner=caller, name=name).first()
    if agent is not None:
        made = submission_create(agent=agent, archive=archive, is_trial=True, opponent=opponent)
    else:
        made = agent_create(
            owner=caller,
            environment=environment,
            name=name,
            is_public=False,
            archive=archive,
            is_trial=True,
            opponent=opponent,
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
