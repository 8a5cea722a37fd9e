"""The runner's background tasks: validations and duels. Evaluations and recordings have their own modules."""

from __future__ import annotations

from django.conf import settings

from arena_kit.referee.faults import ENVIRONMENT_FAILED
from arena_kit.referee.match import pair_seed
from arena_kit.sandbox.channel import remove_abandoned_channels
from arena_kit.sandbox.lock_file import tokens_alive
from core.duels.selectors import duels_next
from core.duels.services import duel_succeed
from core.environments.holding import duel_hold, is_held_after
from core.jobs.artifacts import artifacts_stored
from core.jobs.worker import Lease, PlatformFault
from core.models import Duel, Validation
from duel_runner import validating
from duel_runner.images import images_fetch
from duel_runner.makeable import if_makeable
from duel_runner.playing import play_matches
from duel_runner.rules import decided_by
from duel_runner.workplace import sandbox, worker_label

PREPARED_DUELS = 2
"""Number of duels at the head of the queue whose players are prepared while another duel is played."""


def leftovers_reap(_: int = 0) -> None:
    """Remove the containers, and their channels, of this arena's dead workers on this host."""
    try:
        sandbox().reap(worker_label(), lambda: tokens_alive(settings.CHANNEL_DIR))
    finally:
        # A channel without a container: the worker died before the engine created it.
        remove_abandoned_channels(settings.CHANNEL_DIR)


def validate(validation: Validation, lease: Lease) -> None:
    """Validate a submission, see `validating.validate`."""
    images_fetch(validation.submission, lease=lease)
    validating.validate(validation, lease, duels_next(count=PREPARED_DUELS, is_heavy=False))


@if_makeable
def play_duel(duel: Duel, lease: Lease) -> None:
    """Play a duel and store its result; that of a rated duel goes to the ledger."""
    images_fetch(duel.player_1, duel.player_2, lease=lease)
    coming = duels_next(count=PREPARED_DUELS, is_heavy=duel.is_heavy)
    try:
        played = play_matches(duel, duel.player_1, duel.player_2, lease, coming, decided_by(duel))
    except PlatformFault as fault:
        if fault.code != ENVIRONMENT_FAILED or not is_held_after(duel):
            raise
        # A void duel would let a player escape a loss by an action that crashes the environment.
        seeds = {number: pair_seed(duel.seed, (number - 1) // 2) for number in fault.matches}
        duel_hold(duel=duel, error=str(fault), seeds=seeds, log=lease.text)
        return
    digests = (duel.player_1.image_digest, duel.player_2.image_digest)
    with artifacts_stored(job=duel, record=played.record, player_logs=played.player_logs, digests=digests) as artifacts:
        duel_succeed(duel=duel, record=played.record, artifacts=artifacts, log=lease.text)
