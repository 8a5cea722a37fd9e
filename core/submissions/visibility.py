"""Who may read what of a job: hidden seeds stay hidden, whatever a player tells of them.

Who sees results of tournaments that are held back is in `results`.
"""

from __future__ import annotations

from core.evaluations.episodes import seeds_hidden
from core.models import Build, Duel, Evaluation, Job, JobFault, Publication, Recording, Submission, Validation
from core.submissions.selectors import agent_source_visible
from core.tournaments.results import Viewer, duel_visible


def records_visible(evaluation: Evaluation, viewer: Viewer) -> bool:
    """Records name the seeds: to everyone once these are public, to staff always."""
    return viewer.is_staff or not seeds_hidden(evaluation)


def player_log_visible(evaluation: Evaluation, viewer: Viewer) -> bool:
    """What a player printed can hold what it saw of hidden seeds: then staff alone; else as the agent's source."""
    if seeds_hidden(evaluation):
        return viewer.is_staff
    return agent_source_visible(evaluation.submission.agent, viewer)


def arena_log_visible(evaluation: Evaluation, viewer: Viewer) -> bool:
    """The arena's own words are everyone's; the log of a script's run holds what the script prints."""
    return evaluation.is_verified or agent_source_visible(evaluation.submission.agent, viewer)


def error_shown(job: Job, viewer: Viewer, *, can_see_source: bool) -> str:
    """Why a job failed, as far as a person may know it.

    The words of a player go to those who may see its source; from an evaluation on hidden seeds to staff alone. All
    others read `public_error`, which holds the arena's own words.
    """
    is_hidden = isinstance(job, Evaluation) and seeds_hidden(job)
    if viewer.is_staff if is_hidden and job.fault == JobFault.PLAYER else can_see_source:
        return job.error
    if job.public_error or not job.error:
        return job.public_error
    return "The organisers can read why." if is_hidden else "The owner can read why."


def submission_of(job: Job) -> Submission | None:
    """The submission that a job is done for; None for a duel, which has two."""
    match job:
        case Build() | Validation() | Publication() | Evaluation():
            return job.submission
        case Recording():
            return job.evaluation.submission
    return None


def job_error_shown(job: Job, viewer: Viewer) -> str:
    """As `error_shown`, for a job of any kind."""
    submission = submission_of(job)
    can_see_source = viewer.is_staff if submission is None else agent_source_visible(submission.agent, viewer)
    return error_shown(job, viewer, can_see_source=can_see_source)


def job_log_visible(job: Job, viewer: Viewer) -> bool:
    """Whether a person may read a job's log: a duel's holds the arena's words alone, a recording's is for staff."""
    match job:
        case Duel():
            return duel_visible(job, viewer)
        case Evaluation():
            return arena_log_visible(job, viewer)
        case Recording():
            return viewer.is_staff
    submission = submission_of(job)
    return submission is not None and agent_source_visible(submission.agent, viewer)
