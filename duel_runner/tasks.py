"""The runner's background tasks: validations, duels and evaluations. Recordings have their own module."""

from __future__ import annotations

from django.conf import settings

from arena_kit.errors import PlatformFault
from arena_kit.referee.faults import ENVIRONMENT_FAILED
from arena_kit.referee.match import match_seed
from arena_kit.sandbox.channel import remove_abandoned_channels
from arena_kit.sandbox.lock_file import tokens_alive
from core.duels.services import duel_succeed
from core.environments.holding import duel_hold, is_held_after
from core.jobs.artifacts import artifacts_stored
from core.jobs.fetching import images_fetch
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_fail
from core.models import Duel, Evaluation, JobFault, SubmissionForm
from duel_runner.evaluating import evaluation_steps
from duel_runner.local import here
from duel_runner.makeable import if_makeable
from duel_runner.rules import rules
from duel_runner.scripts import evaluate_script
from duel_runner.steps import MatchesOfJob, Steps
from duel_runner.validating import validation_steps
from duel_runner.workplace import sandbox, worker_label


def leftovers_reap(_: int = 0) -> None:
    """Remove the containers, and their channels, of this arena's dead workers on this host."""
    try:
        sandbox().reap(worker_label(), lambda: tokens_alive(settings.CHANNEL_DIR))
    finally:
        # A channel without a container: the worker died before the engine created it.
        remove_abandoned_channels(settings.CHANNEL_DIR)


def duel_steps(duel: Duel, lease: Lease) -> Steps:
    """Play a duel and store its result; that of a rated duel goes to the ledger."""
    try:
        played = (yield MatchesOfJob(duel, (duel.player_1, duel.player_2), test=duel.test)).duel
    except PlatformFault as fault:
        if fault.code != ENVIRONMENT_FAILED or not is_held_after(duel):
            raise
        # A void duel would let a player escape a loss by an action that crashes the environment.
        seeds = {number: match_seed(rules(duel), duel.seed, number) for number in fault.matches}
        duel_hold(duel=duel, error=str(fault), seeds=seeds, log=lease.text)
        return
    digests = (duel.player_1.image_digest, duel.player_2.image_digest)
    with artifacts_stored(job=duel, record=played.record, player_logs=played.player_logs, digests=digests) as artifacts:
        duel_succeed(duel=duel, record=played.record, artifacts=artifacts, log=lease.text)


play_duel = if_makeable(here(duel_steps))
validate = if_makeable(here(validation_steps))
_rank = if_makeable(here(evaluation_steps))


def evaluate(evaluation: Evaluation, lease: Lease) -> None:
    """Play the episodes of an evaluation, or run its script."""
    is_script = evaluation.submission.form == SubmissionForm.SCRIPT
    if is_script and settings.SANDBOX == "kubernetes":
        job_fail(
            job=evaluation,
            fault=JobFault.PLATFORM,
            code="sandbox_refused",
            error="This arena plays on a cluster, where scripts are not run. Submit a player instead.",
            log=lease.text,
        )
    elif is_script:
        images_fetch(evaluation.submission, lease=lease)
        evaluate_script(evaluation, lease)
    else:
        _rank(evaluation, lease)
