"""The plays of a job for a lot, and the lot's part as the result."""

from __future__ import annotations

from collections.abc import Sequence

from arena_kit.cluster.lots.manifest import LotJob, channel_of
from arena_kit.cluster.manifest import PodPlayerSpec
from arena_kit.errors import PlatformFault
from arena_kit.referee.lot import DuelPart, EvaluationPart, Lot, LotPlayer
from arena_kit.referee.part import Failed, PlayedPart
from core.jobs.images import player_registry
from core.models import Duel, Job, Submission, SubmissionForm, Validation
from duel_runner.rules import branch_of, limits_of, rules
from duel_runner.steps import Episodes, MatchesOfJob, PlayResult


def claim_of(job: Job) -> str:
    """Return the token of a running job's claim, as a lot carries it."""
    assert job.claim_token is not None
    return job.claim_token.hex


def part_id(job: Job) -> str:
    """Return the name of a job's part in its lot."""
    return f"{job.KIND}-{job.pk}"


def must_be_apart(job: Job) -> bool:
    """Return whether a job's players may not share a pod. Raises PlatformFault for rules that are gone."""
    return isinstance(job, Duel | Validation) and rules(job).isolation == "apart"


def lot_job(*plays: MatchesOfJob | Episodes, step: int = 1) -> LotJob:
    """Return the lot of a running job, or of several duels. Raises PlatformFault for rules or an image that are gone.

    It has the name and the claim of the first.
    """
    job, (players, seats) = plays[0].job, _seated(plays)
    limits = players[0].agent.environment.limits
    lot = Lot(
        claim_of(job),
        tuple(LotPlayer(f"player-{n + 1}", channel_of(n), limits) for n in range(len(players))),
        duels=tuple(
            _duel(play, *seat) for play, seat in zip(plays, seats, strict=True) if isinstance(play, MatchesOfJob)
        ),
        evaluations=tuple(_evaluation(play) for play in plays if isinstance(play, Episodes)),
    )
    return LotJob(
        kind=job.KIND,
        id=job.pk,
        attempt=job.attempt,
        claim=lot.claim,
        lot=lot.to_json(),
        players=tuple(_player(submission) for submission in players),
        play_seconds=sum(map(_play_seconds, plays)),
        step=step,
        others=tuple(claim_of(play.job) for play in plays[1:]),
    )


def result_of(part: PlayedPart) -> PlayResult:
    """Return the result of a part. Raises PlatformFault when the platform failed."""
    if isinstance(part.result, Failed):
        raise PlatformFault(part.result.sentence, code=part.result.code, matches=part.result.matches)
    return PlayResult(part.result, part.seconds)


def _player(submission: Submission) -> PodPlayerSpec:
    registry = player_registry()
    if registry is None or not (submission.launched_image and submission.registry_digest):
        sentence = f"{submission} has no image in the registry. Build it again first."
        raise PlatformFault(sentence, code="image_missing")
    if submission.form == SubmissionForm.IMAGE:
        # The walls between the players of a pod are built by the Python of their images.
        sentence = f"{submission} is a container image of its own, which plays only with SANDBOX=docker."
        raise PlatformFault(sentence, code="image_not_apart")
    image = registry.reference(submission.registry_digest)
    limits = submission.agent.environment.limits
    # A process that has opened a graphics card cannot be forked.
    return PodPlayerSpec(image, limits, fresh=submission.needs_fresh_container or limits.gpu_count > 0)


def _seated(plays: Sequence[MatchesOfJob | Episodes]) -> tuple[list[Submission], list[tuple[int, ...]]]:
    """Return the submissions of a lot's containers, and for each play the indexes of its own."""
    if len(plays) == 1:
        # A validation has two containers of one submission.
        players = list(plays[0].submissions)
        return players, [tuple(range(len(players)))]
    found = {submission.pk: submission for play in plays for submission in play.submissions}
    places = {number: place for place, number in enumerate(found)}
    return list(found.values()), [tuple(places[player.pk] for player in play.submissions) for play in plays]


def _play_seconds(play: MatchesOfJob | Episodes) -> float:
    if play.trial_seconds is not None:
        return play.trial_seconds
    environment = play.submissions[0].agent.environment
    return (limits_of(play.job, environment) if isinstance(play, MatchesOfJob) else environment.limits).duel_seconds


def _duel(play: MatchesOfJob, first: int, second: int) -> DuelPart:
    job, environment = play.job, play.players[0].agent.environment
    return DuelPart(
        id=part_id(job),
        environment=rules(job).id,
        players=(first, second),
        names=(str(play.players[0]), str(play.players[1])),
        seed=job.seed,
        match_count=job.match_count,
        parallel_matches=environment.parallel_matches,
        limits=limits_of(job, environment),
        trial_seconds=play.trial_seconds,
        test=play.test,
        opening=branch_of(job),
    )


def _evaluation(play: Episodes) -> EvaluationPart:
    environment = play.submission.agent.environment
    return EvaluationPart(
        id=part_id(play.job),
        environment=rules(play.job).id,
        player=0,
        name=str(play.submission),
        seeds=play.seeds,
        order=tuple(range(len(play.seeds))) if play.order is None else play.order,
        parallel_episodes=environment.parallel_matches,
        limits=environment.limits,
        trial_seconds=play.trial_seconds,
    )
