"""Evaluations: plays the episodes of a submission and stores the scores."""

from __future__ import annotations

import time

from django.db import close_old_connections

from arena_kit.environment.episodes import EpisodeRecord, secret_order
from arena_kit.log_context import bind
from arena_kit.referee import play as referee
from arena_kit.sandbox.base import Container
from arena_kit.sandbox.cores import pinned
from core.evaluations.services import EpisodeRow, episode_row, evaluation_fail, evaluation_succeed
from core.jobs.artifacts import evaluation_stored
from core.jobs.lease import Lease
from core.jobs.log import log_stage
from core.models import Evaluation
from duel_runner.playing import in_time
from duel_runner.rules import rules
from duel_runner.steps import Episodes, Steps
from duel_runner.workplace import workplace_of_this_worker


def evaluation_steps(evaluation: Evaluation, lease: Lease) -> Steps:
    """Play the episodes of an evaluation and store the scores."""
    assert evaluation.seed_list is not None
    # An earlier attempt that ended by a platform fault may have left files.
    lease.progress(episodes_done=0, episodes=[])
    # A program may ask for fewer episodes than the list has.
    seeds = tuple(evaluation.seed_list.seeds[: evaluation.episode_count])
    order = secret_order(evaluation.order_secret, len(seeds))
    played = (yield Episodes(evaluation, evaluation.submission, seeds, order)).evaluation
    episodes = [episode_row(record) for record in played.record.episodes]
    with evaluation_stored(
        job=evaluation,
        record=played.record,
        player_log=played.player_log,
        digest=evaluation.submission.image_digest,
    ) as artifacts:
        if played.failure is None:
            evaluation_succeed(
                evaluation=evaluation,
                episodes=episodes,
                runtime=played.record.runtime,
                artifacts=artifacts,
                log=lease.text,
            )
        else:
            evaluation_fail(
                evaluation=evaluation,
                episodes=episodes,
                artifacts=artifacts,
                code=played.failure.fault.value,
                # The public error leaves out the player's output, which may show hidden seeds.
                error=played.failure.sentence,
                public_error=played.failure.public_sentence,
                log=lease.text,
            )


def play_episodes(play: Episodes, lease: Lease) -> referee.PlayedEvaluation:
    """Play the episodes of a job. Raises PlatformFault."""
    job, submission, seeds = play.job, play.submission, play.seeds
    trial_until = None if play.trial_seconds is None else time.monotonic() + play.trial_seconds
    environment = submission.agent.environment
    spec = rules(job)
    workplace = workplace_of_this_worker()
    core = workplace.core
    finished: list[EpisodeRow] = []

    def launch() -> Container:
        lease.raise_if_lost()
        slot = workplace.players.slot(in_time(workplace.launch(submission, core), trial_until))
        bind(container_id=slot.container_id)
        if slot.why_cold and not submission.needs_fresh_container:
            lease.log(f"{submission} gets a fresh container for every evaluation: {slot.why_cold}.")
        return slot

    def on_episode(record: EpisodeRecord) -> None:
        finished.append(episode_row(record))
        if isinstance(job, Evaluation):
            lease.progress(episodes_done=len(finished), episodes=list(finished))
        else:
            lease.progress(matches_done=len(finished))

    log_stage("play")
    lease.log(f"{submission}: {len(seeds)} episodes of {spec.id}, sandbox {workplace.sandbox.name}.")
    with pinned(core):
        played = referee.run_evaluation(
            spec,
            launch,
            name=str(submission),
            seeds=seeds,
            parallel_episodes=environment.parallel_matches,
            limits=environment.limits,
            clock=time.monotonic,
            order=play.order,
            on_episode=on_episode,
            still_wanted=lease.raise_if_lost,
            trial_until=trial_until,
        )
    log_stage("store")
    # The database may have closed the connection during a long evaluation; the result is written next.
    close_old_connections()
    steps = sum(record.length for record in played.record.episodes)
    lease.log(f"Playing {steps} steps took {played.playing_seconds:.3f} s.")
    return played
