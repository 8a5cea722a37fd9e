"""Background work of the runner: validations and duels. Evaluations and recordings have modules of their own."""

from __future__ import annotations

from django.conf import settings

from arena_kit.sandbox.channel import remove_abandoned_channels
from arena_kit.sandbox.lock_file import tokens_alive
from core.duels.selectors import duels_next
from core.duels.services import duel_succeed
from core.jobs.artifacts import artifacts_stored
from core.jobs.worker import Lease
from core.models import Duel, Validation
from duel_runner import validating
from duel_runner.makeable import if_makeable
from duel_runner.playing import play_matches
from duel_runner.rules import decided_by
from duel_runner.workplace import sandbox, worker_label

PREPARED_DUELS = 2
"""Duels at the head of the queue whose players are made ready while another duel is played."""


def leftovers_reap(_: int = 0) -> None:
    """Remove containers of this arena on this host whose worker has died, and their channels."""
    try:
        sandbox().reap(worker_label(), lambda: tokens_alive(settings.CHANNEL_DIR))
    finally:
        # Of a container that was never made there is nothing else.
        remove_abandoned_channels(settings.CHANNEL_DIR)


def validate(validation: Validation, lease: Lease) -> None:
    """Let a submission play against itself, or with one seat a few episodes; any fault fails it, with the reason."""
    validating.validate(validation, lease, duels_next(count=PREPARED_DUELS))


@if_makeable
def play_duel(duel: Duel, lease: Lease) -> None:
    """Play a rated duel and write its result to the ledger."""
    coming = duels_next(count=PREPARED_DUELS)
    played = play_matches(duel, duel.player_1, duel.player_2, lease, coming, decided_by(duel))
    digests = (duel.player_1.image_digest, duel.player_2.image_digest)
    with artifacts_stored(job=duel, record=played.record, player_logs=played.player_logs, digests=digests) as artifacts:
        duel_succeed(duel=duel, record=played.record, artifacts=artifacts, log=lease.text)
