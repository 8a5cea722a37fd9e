"""Background work of the runner: validations, evaluations, recordings and duels, by the id of their job."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from django.conf import settings

from arena_kit.sandbox.channel import remove_abandoned_channels
from arena_kit.sandbox.lock_file import tokens_alive
from core.duels.selectors import duels_next
from core.duels.services import duel_succeed
from core.jobs.artifacts import artifacts_stored
from core.jobs.lines import line
from core.jobs.worker import (
    Performed,
    Pulse,
    is_stopping,
    is_well,
    perform,
    perform_first,
    perform_waiting,
)
from core.models import Duel, Evaluation, Job, Recording, Validation
from duel_runner.drawing import draw
from duel_runner.evaluating import evaluate
from duel_runner.makeable import if_makeable
from duel_runner.playing import play_matches
from duel_runner.rules import decided_by
from duel_runner.validating import validate
from duel_runner.workplace import sandbox, worker_label

AnyJob = TypeVar("AnyJob", bound=Job)
AWAKE_SECONDS = 60.0
"""How long a worker goes from job to job before it looks at its messages again."""
PREPARED_DUELS = 2
"""Duels at the head of the queue whose players are made ready while another duel is played."""


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
    validate(validation, pulse, duels_next(count=PREPARED_DUELS))


@if_makeable
def _duel(duel: Duel, pulse: Pulse, coming: Sequence[Duel] | None = None) -> None:
    if coming is None:
        coming = duels_next(count=PREPARED_DUELS)
    played = play_matches(duel, duel.player_1, duel.player_2, pulse, coming, decided_by(duel))
    digests = (duel.player_1.image_digest, duel.player_2.image_digest)
    with artifacts_stored(job=duel, record=played.record, player_logs=played.player_logs, digests=digests) as artifacts:
        duel_succeed(duel=duel, record=played.record, artifacts=artifacts, log=pulse.text)
