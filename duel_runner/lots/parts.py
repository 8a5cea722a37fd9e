"""What a job wants to be played as a lot, and the lot's part as the result."""

from __future__ import annotations

from arena_kit.errors import PlatformFault
from arena_kit.referee.lot import DuelPart, EvaluationPart, Lot, LotPlayer
from arena_kit.referee.part import Failed, PlayedPart
from arena_kit.sandbox.kubernetes.manifest import LotJob, PodPlayerSpec, channel_of
from core.jobs.images import player_registry
from core.models import Job, Submission
from duel_runner.rules import limits_of, rules
from duel_runner.steps import Episodes, Matches, Result


def claim_of(job: Job) -> str:
    """Return the token of a running job's claim, as a lot carries it."""
    assert job.claim_token is not None
    return job.claim_token.hex


def part_id(job: Job) -> str:
    """Return the name of a job's part in its lot."""
    return f"{job.KIND}-{job.pk}"


def lot_job(wish: Matches | Episodes, *, step: int) -> LotJob:
    """Return the lot of a running job. Raises PlatformFault for rules or an image that are gone."""
    job = wish.job
    players = wish.players if isinstance(wish, Matches) else (wish.submission,)
    limits = players[0].agent.environment.limits
    claim = claim_of(job)
    names = tuple(LotPlayer(f"player-{n + 1}", channel_of(n), limits) for n in range(len(players)))
    if isinstance(wish, Matches):
        lot = Lot(claim, names, duels=(_duel(wish),))
        play_seconds = lot.duels[0].limits.duel_seconds
    else:
        lot = Lot(claim, names, evaluations=(_evaluation(wish),))
        play_seconds = limits.duel_seconds
    return LotJob(
        kind=job.KIND,
        id=job.pk,
        attempt=job.attempt,
        claim=claim,
        lot=lot.to_json(),
        players=tuple(_player(submission) for submission in players),
        play_seconds=play_seconds if wish.trial_seconds is None else wish.trial_seconds,
        step=step,
    )


def result_of(part: PlayedPart) -> Result:
    """Return the result of a part. Raises PlatformFault when the platform failed."""
    if isinstance(part.result, Failed):
        raise PlatformFault(part.result.sentence, code=part.result.code, matches=part.result.matches)
    return Result(part.result, part.seconds)


def _player(submission: Submission) -> PodPlayerSpec:
    registry = player_registry()
    if registry is None or not (submission.launched_image and submission.registry_digest):
        sentence = f"{submission} has no image in the registry. Build it again first."
        raise PlatformFault(sentence, code="image_missing")
    image = registry.reference(submission.registry_digest)
    return PodPlayerSpec(image, submission.agent.environment.limits, fresh=submission.needs_fresh_container)


def _duel(wish: Matches) -> DuelPart:
    job, environment = wish.job, wish.players[0].agent.environment
    return DuelPart(
        id=part_id(job),
        environment=rules(job).id,
        players=(0, 1),
        names=(str(wish.players[0]), str(wish.players[1])),
        seed=job.seed,
        match_count=job.match_count,
        parallel_matches=environment.parallel_matches,
        limits=limits_of(job, environment),
        trial_seconds=wish.trial_seconds,
        test=wish.test,
    )


def _evaluation(wish: Episodes) -> EvaluationPart:
    environment = wish.submission.agent.environment
    return EvaluationPart(
        id=part_id(wish.job),
        environment=rules(wish.job).id,
        player=0,
        name=str(wish.submission),
        seeds=wish.seeds,
        order=tuple(range(len(wish.seeds))) if wish.order is None else wish.order,
        parallel_episodes=environment.parallel_matches,
        limits=environment.limits,
        trial_seconds=wish.trial_seconds,
    )
