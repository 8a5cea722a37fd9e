"""Jobs as steps: what a job has to play, and what it does with the result, wherever that is played."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from arena_kit.referee.play import PlayedDuel, PlayedEvaluation
from core.models import Evaluation, PlayedJob, Submission, Validation


@dataclass(frozen=True, slots=True)
class MatchesOfJob:
    """The matches of a job between two submissions. trial_seconds: the time of a trial, see `run_duel`; None: no trial.

    test: values of the sequential test that may end the duel early; None without one.
    """

    job: PlayedJob
    players: tuple[Submission, Submission]
    trial_seconds: float | None = None
    test: dict[str, Any] | None = None

    @property
    def submissions(self) -> tuple[Submission, ...]:
        """Who plays, one for each container."""
        return self.players


@dataclass(frozen=True, slots=True)
class Episodes:
    """One episode of a submission for every seed. order: in which they are played; None for that of the list."""

    job: Evaluation | Validation
    submission: Submission
    seeds: tuple[int, ...]
    order: tuple[int, ...] | None = None
    trial_seconds: float | None = None

    @property
    def submissions(self) -> tuple[Submission, ...]:
        """Who plays, one for each container."""
        return (self.submission,)


@dataclass(frozen=True, slots=True)
class PlayResult:
    """The result of play. seconds: wall time from the first start of a player to the end of play."""

    played: PlayedDuel | PlayedEvaluation
    seconds: float

    @property
    def duel(self) -> PlayedDuel:
        """The result of Matches."""
        assert isinstance(self.played, PlayedDuel)
        return self.played

    @property
    def evaluation(self) -> PlayedEvaluation:
        """The result of Episodes."""
        assert isinstance(self.played, PlayedEvaluation)
        return self.played


Steps = Generator[MatchesOfJob | Episodes, PlayResult, None]
"""Yields what is to be played and gets each result, or the PlatformFault instead of it; finishes the job at the end."""
