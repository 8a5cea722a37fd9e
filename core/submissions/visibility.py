"""The visibility of jobs. Hidden seeds stay hidden, even if a player prints them.

`core.tournaments.results` decides who sees results of tournaments that are withheld.
"""

from __future__ import annotations

from typing import TypeVar, cast

from django.db.models import Exists, OuterRef, QuerySet

from core.evaluations.episodes import seeds_hidden
from core.models import (
    Analysis,
    Build,
    Drill,
    Duel,
    EnvironmentTrial,
    Evaluation,
    Job,
    JobFault,
    PackageBuild,
    Publication,
    Recording,
    Rollout,
    Sitting,
    Submission,
    Validation,
)
from core.people.rights import may
from core.rollouts.permissions import rollouts_visible
from core.submissions.selectors import agent_source_visible
from core.submissions.tries import versions_visible
from core.tournaments.results import Viewer, duel_visible

AnyJob = TypeVar("AnyJob", bound=Job)
SECRETS = "core.view_evaluation"
"""The right to see what hidden seeds have led to."""


def episodes_visible(evaluation: Evaluation, viewer: Viewer) -> bool:
    """Return whether a viewer sees results by episode: everyone once the seeds are public, before that only
    organisers who may view evaluations.

    Owners do not see them before, because an agent that replays the best actions of earlier uploads for each episode
    could climb without being better.
    """
    return not seeds_hidden(evaluation) or may(viewer, SECRETS)


def records_visible(evaluation: Evaluation, viewer: Viewer) -> bool:
    """Return whether a viewer sees records, which contain the seeds: by the same rule as results by episode."""
    return episodes_visible(evaluation, viewer)


def recording_visible(recording: Recording, viewer: Viewer) -> bool:
    """Return whether a viewer sees a recording: everyone for practice, else by the rule of results by episode."""
    return recording.practice_id is not None or episodes_visible(recording.evaluation, viewer)


def player_log_visible(evaluation: Evaluation, viewer: Viewer) -> bool:
    """Return whether a viewer sees a player's log: only staff while seeds are hidden, else those who see the source."""
    if seeds_hidden(evaluation):
        return may(viewer, SECRETS)
    return agent_source_visible(evaluation.submission.agent, viewer)


def arena_log_visible(evaluation: Evaluation, viewer: Viewer) -> bool:
    """Return whether a viewer sees the arena's log: everyone, but a script's only those who see the source."""
    return evaluation.is_verified or agent_source_visible(evaluation.submission.agent, viewer)


def error_shown(job: Job, viewer: Viewer, *, can_see_source: bool) -> str:
    """Return why a job failed, as far as a viewer may know.

    A player's own words, and the episode's number, are for those who may see its source; after an evaluation on hidden
    seeds, only for staff. All others read `public_error`, which contains only the arena's words.
    """
    if job.fault == JobFault.PLATFORM and job.public_error and not may(viewer, SECRETS):
        return job.public_error
    is_hidden = isinstance(job, Evaluation) and seeds_hidden(job)
    if may(viewer, SECRETS) if is_hidden and job.fault == JobFault.PLAYER else can_see_source:
        return job.error
    if job.public_error or not job.error:
        return job.public_error
    return "The organisers can read why." if is_hidden else "The owner can read why."


def jobs_visible(rows: QuerySet[AnyJob], viewer: Viewer) -> QuerySet[AnyJob]:
    """Return the jobs among some of one kind that a viewer may know of: of rollouts, those whose outcome they see.

    Of versions, those of versions that they may know of: a failed try is its owner's. Organisers see all of these.
    """
    if rows.model is Rollout:
        return cast(QuerySet[AnyJob], rollouts_visible(cast(QuerySet[Rollout], rows), viewer))
    if rows.model in (Build, Validation, Publication, Evaluation, Drill):
        of_version = Submission.objects.filter(pk=OuterRef("submission"))
        return rows if may(viewer) else rows.filter(Exists(versions_visible(of_version, viewer)))
    if rows.model is EnvironmentTrial:
        return rows if may(viewer, "core.view_environmenttrial") else rows.none()
    return rows


def submission_of(job: Job) -> Submission | None:
    """Return the submission of a job; None for a duel, which has two."""
    match job:
        case Build() | Validation() | Publication() | Evaluation() | Sitting() | Drill():
            return job.submission
        case Recording():
            return job.evaluation.submission
    return None


def job_error_shown(job: Job, viewer: Viewer) -> str:
    """Like `error_shown`, for a job of any kind."""
    submission = submission_of(job)
    can_see_source = _may_view(job, viewer) if submission is None else agent_source_visible(submission.agent, viewer)
    return error_shown(job, viewer, can_see_source=can_see_source)


def job_log_visible(job: Job, viewer: Viewer) -> bool:
    """Return whether a viewer may read a job's log: of a duel as its results, of a recording only staff."""
    match job:
        case Duel():
            return duel_visible(job, viewer)
        case Analysis():
            return job_log_visible(job.played, viewer)
        case Evaluation():
            return arena_log_visible(job, viewer)
        case Recording() | PackageBuild() | EnvironmentTrial() | Rollout() | Sitting():
            return _may_view(job, viewer)
    submission = submission_of(job)
    return submission is not None and agent_source_visible(submission.agent, viewer)


def _may_view(job: Job, viewer: Viewer) -> bool:
    """Return whether a viewer is an organiser who may view jobs of this kind."""
    return may(viewer, f"core.view_{job._meta.model_name}")
