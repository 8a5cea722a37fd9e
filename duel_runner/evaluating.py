"""Evaluations and practice: one submission, many episodes, and what becomes of them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from django.db import close_old_connections

from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.log_context import bind
from arena_kit.referee import run as referee
from arena_kit.referee.faults import with_output
from arena_kit.sandbox.base import Container, SandboxError
from arena_kit.sandbox.cores import pinned
from core.evaluations.selectors import practice_list
from core.evaluations.services import EpisodeRow, episode_row, evaluation_fail, evaluation_succeed
from core.jobs.artifacts import DuelArtifacts, evaluation_stored
from core.jobs.worker import PlatformFault, Pulse
from core.models import Evaluation, Submission, SubmissionForm, Validation
from core.operations.metrics import matches_played
from core.submissions.phases import validation_fail, validation_succeed
from duel_runner.rules import rules
from duel_runner.scripts import evaluate_script
from duel_runner.workplace import bench_of_this_worker


def evaluate(evaluation: Evaluation, pulse: Pulse) -> None:
    """Play the episodes that rank a submission."""
    if evaluation.submission.form == SubmissionForm.SCRIPT:
        evaluate_script(evaluation, pulse)
        return
    assert evaluation.seed_list is not None
    # What an attempt that the platform failed has left there.
    pulse.progress(episodes_done=0, episodes=[])
    played = _play(evaluation, evaluation.submission, evaluation.seed_list.seeds, pulse)
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
                log=pulse.text,
            )
        else:
            evaluation_fail(
                evaluation=evaluation,
                episodes=episodes,
                artifacts=artifacts,
                code=played.failure.fault.value,
                # Without the player's output, which may hold what it has seen of the hidden seeds.
                error=played.failure.sentence,
                public_error=played.failure.public_sentence,
                log=pulse.text,
            )


def practise(validation: Validation, pulse: Pulse) -> None:
    """Let a submission play the public seeds of its environment; any fault fails it."""
    submission = validation.submission
    practice = practice_list(submission.agent.environment)
    if practice is None:
        raise PlatformFault("This environment has no seeds yet: run `manage.py sync_environments`.", code="no_seeds")
    played = _play(validation, submission, practice.seeds, pulse)
    if played.failure is not None and not submission.needs_fresh_container:
        # What cannot be forked (threads of native code, handles of a GPU) shows here, before anything is ranked.
        pulse.log(f"The player failed ({played.failure.fault.value}). Once more, in a fresh container of its own.")
        submission.needs_fresh_container = True
        played = _play(validation, submission, practice.seeds, pulse)
        if played.failure is None:
            pulse.log("That works: this version gets a fresh container for every evaluation.")
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
        if played.failure is None:
            validation_succeed(validation=validation, artifacts=artifacts, log=pulse.text)
        else:
            code = played.failure.fault.value
            error = with_output(code, played.failure.sentence, played.player_log)
            validation_fail(validation=validation, artifacts=artifacts, code=code, error=error, log=pulse.text)
    matches_played(
        kind=validation.KIND,
        env_id=submission.agent.environment.env_id,
        matches=len(played.record.episodes),
        moves=sum(record.length for record in played.record.episodes),
    )


def _play(
    job: Evaluation | Validation, submission: Submission, seeds: Sequence[int], pulse: Pulse
) -> referee.PlayedEvaluation:
    environment = submission.agent.environment
    spec = rules(job)
    try:
        bench = bench_of_this_worker()
    except SandboxError as error:
        raise PlatformFault(str(error), code=error.code) from error
    core = bench.core
    finished: list[EpisodeRow] = []

    def launch() -> Container:
        pulse.raise_if_lost()
        seat = bench.players.seat(bench.launch(submission, core))
        bind(container_id=seat.container_id)
        if seat.why_cold and not submission.needs_fresh_container:
            pulse.log(f"{submission} gets a fresh container every time: {seat.why_cold}.")
        return seat

    def on_episode(record: EpisodeRecord) -> None:
        finished.append(episode_row(record))
        if isinstance(job, Evaluation):
            pulse.progress(episodes_done=len(finished), episodes=list(finished))
        else:
            pulse.progress(matches_done=len(finished))

    bind(stage="play")
    pulse.log(f"{submission}: {len(seeds)} episodes of {spec.id}, sandbox {bench.sandbox.name}.")
    try:
        with pinned(core):
            played = referee.run_evaluation(
                spec,
                launch,
                name=str(submission),
                seeds=seeds,
                parallel_episodes=environment.parallel_matches,
                limits=environment.limits,
                clock=time.monotonic,
                on_episode=on_episode,
                still_wanted=pulse.raise_if_lost,
            )
    except (SandboxError, referee.PlatformFault) as fault:
        raise PlatformFault(str(fault), code=fault.code) from fault
    bind(stage="store")
    # An evaluation may outlast a connection; what follows writes its result.
    close_old_connections()
    steps = sum(record.length for record in played.record.episodes)
    pulse.log(f"Playing {steps} steps took {played.playing_seconds:.3f} s.")
    return played
