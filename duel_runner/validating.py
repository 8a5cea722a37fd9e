"""Validations: a submission plays against itself, or alone, before it meets others.

A validation ends at its first fault and within its own time limit, so that it never delays other jobs for longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from arena_kit.errors import PlatformFault
from arena_kit.referee import run as referee
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.verdict import FoundFault, duel_fault, evaluation_fault
from core.evaluations.selectors import practice_list
from core.jobs.artifacts import DuelArtifacts, artifacts_stored, evaluation_stored
from core.jobs.worker import Lease
from core.models import Duel, Submission, Validation
from core.monitoring.metrics import matches_played
from core.submissions.phases import validation_fail, validation_succeed
from duel_runner.evaluating import play_episodes
from duel_runner.makeable import if_makeable
from duel_runner.playing import play_matches

Played = TypeVar("Played", referee.PlayedDuel, referee.PlayedEvaluation)

FORK_FAULTS = (PlayerFault.DID_NOT_START, PlayerFault.DIED)
"""Codes of faults that a fork can cause: the copy lacks threads of native code and handles of devices."""


@if_makeable
def validate(validation: Validation, lease: Lease, coming: Sequence[Duel] = ()) -> None:
    """Have a submission play against itself, or a few episodes in a one-seat environment; any fault fails it.

    coming: duels whose players are prepared meanwhile. Raises PlatformFault.
    """
    if validation.submission.agent.environment.is_scored:
        _practise(validation, lease)
    else:
        _play_itself(validation, lease, coming)


def _play_itself(validation: Validation, lease: Lease, coming: Sequence[Duel]) -> None:
    submission = validation.submission
    until = _until(validation)

    def play() -> tuple[referee.PlayedDuel, FoundFault | None]:
        duel = play_matches(validation, submission, submission, lease, coming, trial_until=until)
        return duel, duel_fault(duel, submission.agent.environment.limits)

    duel, fault = _played_twice(submission, lease, play, until)
    digests = (submission.image_digest, submission.image_digest)
    with artifacts_stored(
        job=validation, record=duel.record, player_logs=duel.player_logs, digests=digests
    ) as artifacts:
        _finish(validation, lease, artifacts, fault)
    moves = sum(sum(match.move_counts) for match in duel.record.matches)
    _count(validation, matches=len(duel.record.matches), moves=moves)


def _practise(validation: Validation, lease: Lease) -> None:
    """Have the submission play a few episodes on public seeds."""
    submission = validation.submission
    practice = practice_list(submission.agent.environment)
    if practice is None:
        raise PlatformFault("This environment has no seeds yet: run `manage.py sync_environments`.", code="no_seeds")
    until = _until(validation)

    def play() -> tuple[referee.PlayedEvaluation, FoundFault | None]:
        played = play_episodes(validation, submission, practice.seeds, lease, trial_until=until)
        return played, evaluation_fault(played, submission.agent.environment.limits)

    played, fault = _played_twice(submission, lease, play, until)
    with evaluation_stored(
        job=validation, record=played.record, player_log=played.player_log, digest=submission.image_digest
    ) as stored:
        artifacts = DuelArtifacts(
            matches_done=len(played.record.episodes),
            records=stored.records,
            player_1_log=stored.player_log,
            player_2_log="",
            player_1_digest=stored.player_digest,
            record_sha256=stored.record_sha256,
        )
        _finish(validation, lease, artifacts, fault)
    moves = sum(record.length for record in played.record.episodes)
    _count(validation, matches=len(played.record.episodes), moves=moves)


def _until(validation: Validation) -> float:
    return time.monotonic() + validation.submission.agent.environment.limits.validation_seconds


def _played_twice(
    submission: Submission, lease: Lease, play: Callable[[], tuple[Played, FoundFault | None]], until: float
) -> tuple[Played, FoundFault | None]:
    """Play, and after a fault that a fork can cause play again in fresh containers if there is time."""
    played, fault = play()
    can_be_forks = fault is not None and fault.code in FORK_FAULTS
    if not can_be_forks or submission.needs_fresh_container or time.monotonic() >= until:
        return played, fault
    assert fault is not None
    # A player that cannot be forked (threads of native code, handles of a GPU) fails here, before rated duels.
    lease.log(
        f"The player failed ({fault.code}). Trying again in a fresh container that loads it only for this validation."
    )
    submission.needs_fresh_container = True
    played, fault = play()
    if fault is None:
        lease.log("This works, so this version always plays in a fresh container.")
    return played, fault


def _finish(validation: Validation, lease: Lease, artifacts: DuelArtifacts, fault: FoundFault | None) -> None:
    if fault is None:
        if artifacts.matches_done < validation.match_count:
            lease.log(
                f"The time limit came after {artifacts.matches_done} of {validation.match_count}: that is enough."
            )
        validation_succeed(validation=validation, artifacts=artifacts, log=lease.text)
    else:
        validation_fail(
            validation=validation, artifacts=artifacts, code=fault.code, error=fault.sentence, log=lease.text
        )


def _count(validation: Validation, *, matches: int, moves: int) -> None:
    env_id = validation.submission.agent.environment.env_id
    matches_played(kind=validation.KIND, env_id=env_id, matches=matches, moves=moves)
