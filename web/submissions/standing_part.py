"""The first panel of an agent's page: whether the agent plays, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass

from core.evaluations.board import board_rank
from core.jobs.phase_selectors import SubmissionStatus
from core.models import Agent, Evaluation, JobState, Rating, Submission
from core.ratings.board import standing_of
from core.submissions.selectors import Version

AWAITED = {"build": "built", "validation": "validated", "evaluation": "evaluated"}


@dataclass(frozen=True, slots=True)
class Place:
    """The version that plays, or is on the board, and the place of the agent among `size` ranked ones.

    rating: of the ranked version, which is an earlier one until the version that plays has a rank; without a ranked
    version, of the one that plays. evaluation: on a board of scores.
    """

    playing: Submission | None
    rank: int | None = None
    size: int | None = None
    rating: Rating | None = None
    evaluation: Evaluation | None = None


@dataclass(frozen=True, slots=True)
class PlaysOrNot:
    """The word in the panel's badge, its tone, and a sentence about the newest version, if another one plays."""

    word: str
    tone: str
    sentence: str


def place_of(agent: Agent, playing: Submission | None) -> Place:
    """Return the place of an agent. playing: the result of `active_version`; None on a board of scores."""
    if agent.environment.is_scored:
        current = agent.evaluations.filter(is_current=True).select_related("submission").defer("log").first()
        return Place(None) if current is None else Place(current.submission, board_rank(current), evaluation=current)
    standing = standing_of(agent)
    if standing is None:
        return Place(playing, rating=getattr(playing, "rating", None))
    return Place(playing, standing.rank, standing.size, standing.rating)


def plays_or_not(agent: Agent, playing: Submission | None, newest: Version | None) -> PlaysOrNot:
    """Return whether an agent plays. newest: its newest version that the viewer may know of."""
    about = _about(newest) if newest is not None and newest.submission != playing else ""
    if not agent.owner.is_active or agent.is_disabled:
        return PlaysOrNot("Paused" if agent.is_quarantined else "Disabled", "bad", about)
    if agent.is_resting:
        return PlaysOrNot("Hidden", "calm", about)
    if playing is not None:
        verb = "is on the board" if agent.environment.is_scored else "plays"
        return PlaysOrNot(f"Version {playing.number} {verb}", "good", about)
    if newest is not None and newest.status != SubmissionStatus.READY:
        return PlaysOrNot(newest.status.label, newest.status.tone, about)
    return PlaysOrNot("Does not play", "calm", about or "No version of this agent can play.")


def _about(newest: Version) -> str:
    """Return a sentence about a version that does not play."""
    name, phase = f"Version {newest.submission.number}", newest.open_phase
    if phase is not None:
        done, count = getattr(phase, "matches_done", 0), getattr(phase, "match_count", 0)
        verb = "waits to be" if phase.state == JobState.QUEUED else "is being"
        return f"{name} {verb} {AWAITED[phase.KIND]}{f': {done} of {count} matches' if done else ''}."
    if newest.lineup is not None and newest.lineup.is_tested:
        return f"{name} is being tested against the version that plays."
    return {
        SubmissionStatus.FAILED: f"{name} failed.",
        SubmissionStatus.CANCELLED: f"{name} was cancelled.",
        SubmissionStatus.WAITING: f"{name} waits for its next phase.",
    }.get(newest.status, "")
