"""Background work of the runner: validations and duels. Evaluations and recordings have modules of their own."""

from __future__ import annotations

import time
from collections.abc import Sequence

from django.conf import settings
from django.db import close_old_connections

from arena_kit.environment.records import Fault
from arena_kit.log_context import bind
from arena_kit.referee import run as referee
from arena_kit.referee.duel import Decided
from arena_kit.referee.faults import with_output
from arena_kit.sandbox.base import Container, SandboxError
from arena_kit.sandbox.channel import remove_abandoned_channels
from arena_kit.sandbox.cores import pinned
from arena_kit.sandbox.lock_file import tokens_alive
from core.duels.selectors import duels_next
from core.duels.services import duel_succeed
from core.jobs.artifacts import artifacts_stored
from core.jobs.worker import PlatformFault, Pulse
from core.models import Duel, PlayedJob, Submission, Validation
from core.operations.metrics import matches_played
from core.submissions.phases import validation_fail, validation_succeed
from duel_runner.evaluating import practise
from duel_runner.rules import decided_by, limits_of, rules
from duel_runner.workplace import bench_of_this_worker, sandbox, worker_label

PREPARED_DUELS = 2
"""Duels at the head of the queue whose players are made ready while another duel is played."""
IDLE_CONNECTION_SECONDS = 30.0
"""A connection to the database that was idle for so long may be cut: one is opened anew."""


def leftovers_reap(_: int = 0) -> None:
    """Remove containers of this arena on this host whose worker has died, and their channels."""
    try:
        sandbox().reap(worker_label(), lambda: tokens_alive(settings.CHANNEL_DIR))
    finally:
        # Of a container that was never made there is nothing else.
        remove_abandoned_channels(settings.CHANNEL_DIR)


def validate(validation: Validation, pulse: Pulse) -> None:
    """Let a submission play against itself, or with one seat a few episodes; any fault fails it, with the reason."""
    submission = validation.submission
    if submission.agent.environment.is_scored:
        practise(validation, pulse)
        return
    duel = _play(validation, submission, submission, pulse, duels_next(count=PREPARED_DUELS))
    fault = first_fault(duel)
    if fault is not None and not submission.needs_fresh_container:
        # What cannot be forked (threads of native code, handles of a GPU) shows here, before anything is rated.
        pulse.log(f"A player failed ({fault[0]}). Once more, each in a fresh container that loads it for this alone.")
        submission.needs_fresh_container = True
        duel = _play(validation, submission, submission, pulse, ())
        fault = first_fault(duel)
        if fault is None:
            pulse.log("That works: this version gets a fresh container for every duel.")
    digests = (submission.image_digest, submission.image_digest)
    with artifacts_stored(
        job=validation, record=duel.record, player_logs=duel.player_logs, digests=digests
    ) as artifacts:
        if fault is None:
            validation_succeed(validation=validation, artifacts=artifacts, log=pulse.text)
        else:
            code, sentence = fault
            validation_fail(validation=validation, artifacts=artifacts, code=code, error=sentence, log=pulse.text)
    matches_played(
        kind=validation.KIND,
        env_id=submission.agent.environment.env_id,
        matches=len(duel.record.matches),
        moves=sum(sum(match.move_counts) for match in duel.record.matches),
    )


def play_duel(duel: Duel, pulse: Pulse) -> None:
    """Play a rated duel and write its result to the ledger."""
    coming = duels_next(count=PREPARED_DUELS)
    played = _play(duel, duel.player_1, duel.player_2, pulse, coming, decided_by(duel))
    digests = (duel.player_1.image_digest, duel.player_2.image_digest)
    with artifacts_stored(job=duel, record=played.record, player_logs=played.player_logs, digests=digests) as artifacts:
        duel_succeed(duel=duel, record=played.record, artifacts=artifacts, log=pulse.text)


def first_fault(duel: referee.PlayedDuel) -> tuple[str, str] | None:
    """Typed code and sentence of the first match that a player forfeited, None when all went well.

    For the owner: of a player that did not start or died the last line of its output is quoted.
    """
    for match in duel.record.matches:
        if match.fault is Fault.PLAYER:
            log = duel.player_logs[match.faulty_player or 0]
            return match.error_code, with_output(match.error_code, f"Match {match.number}: {match.error}", log)
    return None


def _play(
    job: PlayedJob,
    player_1: Submission,
    player_2: Submission,
    pulse: Pulse,
    coming: Sequence[Duel],
    decided: Decided | None = None,
) -> referee.PlayedDuel:
    """Play a job's matches. coming: duels whose players are made ready meanwhile. decided: ends it early."""
    environment = player_1.agent.environment
    spec = rules(job)
    names = (str(player_1), str(player_2))
    for player in (player_1, player_2):
        if not player.launched_image:
            raise PlatformFault(f"{player} has no image: it has to be built again first.", code="image_missing")
    try:
        bench = bench_of_this_worker()
    except SandboxError as error:
        raise PlatformFault(str(error), code=error.code) from error
    core = bench.core
    players = (player_1, player_2)
    containers: list[str] = []

    def launch(player: int) -> Container:
        pulse.raise_if_lost()
        seat = bench.players.seat(bench.launch(players[player], core))
        containers.append(seat.container_id)
        bind(container_id=",".join(containers))
        if seat.why_cold and not players[player].needs_fresh_container:
            pulse.log(f"{names[player]} gets a fresh container for every duel: {seat.why_cold}.")
        return seat

    def on_progress(matches_done: int) -> None:
        pulse.raise_if_lost()
        pulse.progress(matches_done=matches_done)

    bind(stage="play")
    pulse.log(f"{names[0]} against {names[1]}: {job.match_count} matches of {spec.id}, sandbox {bench.sandbox.name}.")
    try:
        bench.players.prepare(
            [[bench.launch(submission, core) for submission in (duel.player_1, duel.player_2)] for duel in coming]
        )
        with pinned(core):
            played = referee.run_duel(
                spec,
                launch,
                names=names,
                seed=job.seed,
                match_count=job.match_count,
                parallel_matches=environment.parallel_matches,
                limits=limits_of(job, environment),
                clock=time.monotonic,
                one_core=core is not None,
                on_progress=on_progress,
                decided=decided,
            )
    except (SandboxError, referee.PlatformFault) as fault:
        raise PlatformFault(str(fault), code=fault.code) from fault
    if played.playing_seconds > IDLE_CONNECTION_SECONDS:
        # What follows writes the result.
        close_old_connections()
    pulse.log(f"Playing took {played.playing_seconds:.3f} s.")
    if played.log:
        pulse.log(played.log)
    bind(stage="store")
    return played
