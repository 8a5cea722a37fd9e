"""Background work of the runner: validations, evaluations, recordings and duels, by the id of their job."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.conf import settings
from django.db import close_old_connections
from django.db.models import QuerySet

from core.log_context import bind
from core.metrics import matches_played
from core.models import Duel, Evaluation, PlayedJob, Recording, Submission, Validation
from core.selectors.duels import duels_next
from core.selectors.lines import line
from core.services.artifacts import artifacts_stored
from core.services.duels import duel_succeed
from core.services.phases import validation_fail, validation_succeed
from core.worker import Performed, PlatformFault, Pulse, is_stopping, perform, perform_next, perform_waiting
from duel_runner import referee
from duel_runner.bench import bench_of_this_worker, sandbox, worker_label
from duel_runner.cores import pinned
from duel_runner.drawing import draw
from duel_runner.evaluating import evaluate, practise
from duel_runner.faults import with_output
from duel_runner.presence import tokens_alive
from duel_runner.rules import rules
from duel_runner.sandbox.base import Container, SandboxError
from duel_runner.sandbox.channel import remove_abandoned_channels
from environments.records import Fault

AWAKE_SECONDS = 60.0
"""How long a worker goes from duel to duel before it looks at its messages again."""
PREPARED_DUELS = 2
"""Duels at the head of the queue whose players are made ready while another duel is played."""
IDLE_CONNECTION_SECONDS = 30.0
"""A connection to the database that was idle for so long may be cut: one is opened anew."""


def validation_run(job_id: int) -> None:
    """Let a submission play against itself, or with one seat a few episodes; any fault fails it, with the reason."""
    perform_next(Validation, job_id, _validate)


def evaluation_run(job_id: int) -> None:
    """Let a submission play its episodes, or run a script; what it scores is its place on the board."""
    perform_next(Evaluation, job_id, evaluate)


def recording_run(job_id: int) -> None:
    """Draw an episode of an evaluation as a video."""
    perform_next(Recording, job_id, draw)


def duel_run(job_id: int) -> None:
    """Play a rated duel and write its result to the ledger, then what else waits.

    The rows say what waits, so a worker that is awake need not be woken for every duel. Before each a validation is
    played, if one waits: somebody waits for it, and the messages of a whole edition may be before its own.
    """
    outcome = _next_quick_job()
    if outcome is not Performed.GIVEN_BACK:
        outcome = perform(Duel, job_id, _duel)
    until = time.monotonic() + AWAKE_SECONDS
    # A worker in trouble takes no more jobs than it was sent: others may be well.
    while outcome is not Performed.GIVEN_BACK and time.monotonic() < until and not is_stopping():
        outcome = _next_quick_job()
        if outcome is Performed.NOT_CLAIMED:
            outcome = _next_duel()
        if outcome is Performed.NOT_CLAIMED:
            return


def quick_run(_: int) -> None:
    """What a worker does that is reserved for validations and evaluations: the next of them."""
    _next_quick_job()


def _next_quick_job() -> Performed:
    """The next validation, else the next evaluation: somebody waits for each, and both are short beside an edition.

    Scripts may take minutes; those wait for their message, as duels do.
    """
    quick: tuple[tuple[QuerySet[Any], Callable[[Any, Pulse], None]], ...] = (
        (line(Validation), _validate),
        (line(Evaluation).filter(is_verified=True), evaluate),
    )
    for waiting, action in quick:
        first = waiting.values_list("pk", flat=True).first()
        if first is not None and (outcome := perform(waiting.model, first, action)) is not Performed.NOT_CLAIMED:
            return outcome
    return Performed.NOT_CLAIMED


def _next_duel() -> Performed:
    """Play one of the next duels; another worker may be quicker with the first of them."""
    waiting = duels_next(count=1 + PREPARED_DUELS)
    for number, duel in enumerate(waiting, start=1):
        outcome = perform_waiting(duel, partial(_duel, coming=waiting[number:]))
        if outcome is not Performed.NOT_CLAIMED:
            return outcome
    return Performed.NOT_CLAIMED


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
    played = _play(duel, duel.player_1, duel.player_2, pulse, coming)
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
    job: PlayedJob, player_1: Submission, player_2: Submission, pulse: Pulse, coming: Sequence[Duel]
) -> referee.PlayedDuel:
    """Play a job's matches. coming: duels whose players are made ready meanwhile."""
    environment = player_1.agent.environment
    spec = rules(job)
    names = (str(player_1), str(player_2))
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
                limits=environment.limits,
                clock=time.monotonic,
                one_core=core is not None,
                on_progress=on_progress,
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
