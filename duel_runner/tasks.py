"""Background work of the runner: validations, evaluations, recordings and duels, by the id of their job."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

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
from core.jobs.lines import line
from core.jobs.worker import (
    Performed,
    PlatformFault,
    Pulse,
    is_stopping,
    is_well,
    perform,
    perform_first,
    perform_waiting,
)
from core.models import Duel, Evaluation, Job, PlayedJob, Recording, Submission, Validation
from core.operations.metrics import matches_played
from core.submissions.phases import validation_fail, validation_succeed
from duel_runner.drawing import draw
from duel_runner.evaluating import evaluate, practise
from duel_runner.rules import decided_by, limits_of, rules
from duel_runner.workplace import bench_of_this_worker, sandbox, worker_label

AnyJob = TypeVar("AnyJob", bound=Job)
AWAKE_SECONDS = 60.0
"""How long a worker goes from job to job before it looks at its messages again."""
PREPARED_DUELS = 2
"""Duels at the head of the queue whose players are made ready while another duel is played."""
IDLE_CONNECTION_SECONDS = 30.0
"""A connection to the database that was idle for so long may be cut: one is opened anew."""


def validation_run(job_id: int) -> None:
    """Let a submission play against itself, or with one seat a few episodes; any fault fails it, with the reason."""
    _work(Validation, job_id, _validate)


def evaluation_run(job_id: int) -> None:
    """Let a submission play its episodes, or run a script; what it scores is its place on the board."""
    _work(Evaluation, job_id, evaluate)


def recording_run(job_id: int) -> None:
    """Draw an episode of an evaluation as a video."""
    _work(Recording, job_id, draw)


def duel_run(job_id: int) -> None:
    """Play a rated duel and write its result to the ledger."""
    _work(Duel, job_id, _duel)


def quick_run(_: int) -> None:
    """What a worker does that is reserved for what is short: no duel, and no script either."""
    _go_on(_next_short_job(), _next_short_job)


def _work(kind: type[AnyJob], job_id: int, action: Callable[[AnyJob, Pulse], None]) -> None:
    """Do what waits for the workers of the queue; the job of the message where nothing stands in line.

    The rows say what waits, of every kind: its own message may be behind those of a whole edition. A message takes at
    least one job from its line, so that there is one for every job that still stands there.
    """
    outcome = _next_job()
    if outcome is Performed.NOT_CLAIMED:
        outcome = perform(kind, job_id, action)
    _go_on(outcome, _next_job)


def _go_on(outcome: Performed, take: Callable[[], Performed]) -> None:
    """Take job after job: a worker that is awake need not be woken for each. outcome: of the first."""
    until = time.monotonic() + AWAKE_SECONDS
    # A worker in trouble takes no more jobs than it was sent: others may be well.
    while outcome in (Performed.DONE, Performed.REFUSED) and time.monotonic() < until and not is_stopping():
        outcome = take()


def _next_job() -> Performed:
    """The next validation or evaluation; where none waits, recordings, scripts and duels by turns.

    So neither scripts, which may take minutes, nor a whole edition keep the others waiting for long.
    """
    if is_stopping() or not is_well():
        return Performed.NOT_CLAIMED
    if (outcome := _next_fresh()) is not Performed.NOT_CLAIMED:
        return outcome
    for take in tuple(_turns):
        if (outcome := take()) is not Performed.NOT_CLAIMED:
            _turns.remove(take)
            _turns.append(take)
            return outcome
    return Performed.NOT_CLAIMED


def _next_short_job() -> Performed:
    outcome = _next_fresh()
    return _next_recording() if outcome is Performed.NOT_CLAIMED else outcome


def _next_fresh() -> Performed:
    """The next validation, else the next evaluation: somebody waits for each, and both are short beside an edition."""
    outcome = perform_first(line(Validation), _validate)
    if outcome is Performed.NOT_CLAIMED:
        outcome = perform_first(line(Evaluation).filter(is_verified=True), evaluate)
    return outcome


def _next_recording() -> Performed:
    return perform_first(line(Recording), draw)


def _next_script() -> Performed:
    return perform_first(line(Evaluation).filter(is_verified=False), evaluate)


def _next_duel() -> Performed:
    """Play one of the next duels; another worker may be quicker with the first of them."""
    waiting = duels_next(count=1 + PREPARED_DUELS)
    for number, duel in enumerate(waiting, start=1):
        outcome = perform_waiting(duel, partial(_duel, coming=waiting[number:]))
        if outcome is not Performed.NOT_CLAIMED:
            return outcome
    return Performed.NOT_CLAIMED


_turns = [_next_recording, _next_script, _next_duel]
"""What this process takes where nothing fresh waits; what it took last comes last."""


def leftovers_reap(_: int = 0) -> None:
    """Remove containers of this arena on this host whose worker has died, and their channels."""
    try:
        sandbox().reap(worker_label(), lambda: tokens_alive(settings.CHANNEL_DIR))
    finally:
        # Of a container that was never made there is nothing else.
        remove_abandoned_channels(settings.CHANNEL_DIR)


def _validate(validation: Validation, pulse: Pulse) -> None:
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


def _duel(duel: Duel, pulse: Pulse, coming: Sequence[Duel] | None = None) -> None:
    if coming is None:
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
