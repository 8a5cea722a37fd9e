"""Validations: a submission plays against itself, or alone, before it meets others.

A validation ends at its first fault and within its own time limit, so that it never delays other jobs for longer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from arena_kit.errors import PlatformFault
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.verdict import PACE, FoundFault, Pace, duel_fault, duel_pace, evaluation_fault, evaluation_pace
from core.evaluations.selectors import practice_list
from core.jobs.artifacts import DuelArtifacts, artifacts_stored, evaluation_stored
from core.jobs.lease import Lease
from core.models import Submission, Validation
from core.monitoring.metrics import matches_played
from core.submissions.phases import validation_fail, validation_succeed
from duel_runner.steps import Episodes, MatchesOfJob, PlayResult, Steps

FORK_FAULTS = (PlayerFault.DID_NOT_START, PlayerFault.DIED)
"""Codes of faults that a fork can cause: the copy lacks threads of native code and handles of devices."""


def validation_steps(validation: Validation, lease: Lease) -> Steps:
    """Have a submission play against itself, or a few episodes in a one-seat environment; any fault fails it."""
    if validation.submission.agent.environment.is_scored:
        yield from _practise(validation, lease)
    else:
        yield from _play_itself(validation, lease)


def _play_itself(validation: Validation, lease: Lease) -> Steps:
    """Have a submission play against itself; one on trial against its opponent, whose faults are not its own."""
    submission = validation.submission
    opponent = submission.trial_opponent or submission
    limits = submission.agent.environment.limits

    def play(seconds: float) -> MatchesOfJob:
        return MatchesOfJob(validation, (submission, opponent), trial_seconds=seconds)

    def fault_of(result: PlayResult) -> FoundFault | None:
        return duel_fault(result.duel, limits, of=(0, 1) if opponent is submission else (0,))

    result, fault = yield from _played_twice(submission, lease, play, fault_of)
    duel = result.duel
    digests = (submission.image_digest, opponent.image_digest)
    with artifacts_stored(
        job=validation, record=duel.record, player_logs=duel.player_logs, digests=digests
    ) as artifacts:
        whole = submission.agent.environment.matches_per_duel if opponent is submission else 0
        pace = duel_pace(duel, limits, planned=validation.match_count, whole=whole)
        _finish(validation, lease, artifacts, fault, pace)
    moves = sum(sum(match.move_counts) for match in duel.record.matches)
    _count(validation, matches=len(duel.record.matches), moves=moves)


def _practise(validation: Validation, lease: Lease) -> Steps:
    """Have the submission play a few episodes on public seeds."""
    submission = validation.submission
    limits = submission.agent.environment.limits
    practice = practice_list(submission.agent.environment)
    if practice is None:
        raise PlatformFault("This environment has no seeds yet: run `manage.py sync_environments`.", code="no_seeds")
    seeds = tuple(practice.seeds)

    def play(seconds: float) -> Episodes:
        return Episodes(validation, submission, seeds, trial_seconds=seconds)

    def fault_of(result: PlayResult) -> FoundFault | None:
        return evaluation_fault(result.evaluation, limits)

    result, fault = yield from _played_twice(submission, lease, play, fault_of)
    played = result.evaluation
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
        whole = submission.agent.environment.episodes_per_evaluation
        pace = evaluation_pace(played, limits, whole=whole)
        _finish(validation, lease, artifacts, fault, pace)
    moves = sum(record.length for record in played.record.episodes)
    _count(validation, matches=len(played.record.episodes), moves=moves)


def _played_twice(
    submission: Submission,
    lease: Lease,
    play: Callable[[float], MatchesOfJob | Episodes],
    fault_of: Callable[[PlayResult], FoundFault | None],
) -> Generator[MatchesOfJob | Episodes, PlayResult, tuple[PlayResult, FoundFault | None]]:
    """Play, and after a fault that a fork can cause play again in fresh containers if there is time."""
    seconds = submission.agent.environment.limits.validation_seconds
    result = yield play(seconds)
    fault, left = fault_of(result), seconds - result.seconds
    can_be_forks = fault is not None and fault.code in FORK_FAULTS
    if not can_be_forks or submission.needs_fresh_container or left <= 0:
        return result, fault
    assert fault is not None
    # A player that cannot be forked (threads of native code, handles of a GPU) fails here, before rated duels.
    lease.log(
        f"The player failed ({fault.code}). Trying again in a fresh container that loads it only for this validation."
    )
    submission.needs_fresh_container = True
    result = yield play(left)
    fault = fault_of(result)
    if fault is None:
        lease.log("This works, so this version always plays in a fresh container.")
    return result, fault


def _finish(
    validation: Validation, lease: Lease, artifacts: DuelArtifacts, fault: FoundFault | None, pace: Pace | None
) -> None:
    if fault is None:
        if pace is not None:
            lease.log(pace.sentence)
            others = [each for each in validation.submission.warnings if not each.startswith(PACE)]
            validation.submission.warnings = [*others, *([pace.sentence] if pace.is_cut else [])]
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
