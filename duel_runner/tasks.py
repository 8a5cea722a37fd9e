"""Background work of the runner: validations and duels, by the id of their job."""

from __future__ import annotations

import time

from django.conf import settings
from django.db import close_old_connections

from core.models import Duel, JobState, PlayedJob, Submission, Validation
from core.services.artifacts import artifacts_store
from core.services.duels import duel_succeed
from core.services.phases import validation_fail, validation_succeed
from core.worker import PlatformFault, Pulse, perform
from duel_runner import referee
from duel_runner.cores import free_core
from duel_runner.sandbox.base import Container, Launch, Sandbox, SandboxError
from duel_runner.sandbox.docker import DockerSandbox
from duel_runner.sandbox.process import ProcessSandbox
from environments.records import DuelRecord, Fault
from environments.registry import get_spec


def validation_run(job_id: int) -> None:
    """Let a submission play against itself; any fault fails it, with the reason and both players' logs."""
    perform(Validation, job_id, _validate)


def duel_run(job_id: int) -> None:
    """Play a rated duel and write its result to the ledger."""
    perform(Duel, job_id, _duel)


def leftovers_reap(_: int = 0) -> None:
    """Remove containers on this host whose claim no longer holds: their worker died."""
    sandbox().reap("arena.claim", _live_claims)


def _live_claims() -> frozenset[str]:
    running = (model._default_manager.filter(state=JobState.RUNNING) for model in (Validation, Duel))
    return frozenset(str(token) for jobs in running for token in jobs.values_list("claim_token", flat=True))


def sandbox() -> Sandbox:
    """The sandbox that the settings name; never silently another one."""
    if settings.SANDBOX == "docker":
        return DockerSandbox(
            base_image=settings.PLAYER_BASE_IMAGE, runtime=settings.PLAYER_RUNTIME, channel_dir=settings.CHANNEL_DIR
        )
    if settings.SANDBOX == "process" and settings.DEBUG:
        return ProcessSandbox(channel_dir=settings.CHANNEL_DIR)
    raise PlatformFault(f"The sandbox {settings.SANDBOX!r} may not be used here.", code="sandbox_refused")


def _validate(validation: Validation, pulse: Pulse) -> None:
    submission = validation.submission
    duel = _play(validation, submission, submission, pulse)
    artifacts = artifacts_store(job=validation, record=duel.record, player_logs=duel.player_logs)
    fault = first_fault(duel.record)
    if fault is None:
        validation_succeed(validation=validation, artifacts=artifacts, log=pulse.text)
    else:
        code, sentence = fault
        validation_fail(validation=validation, artifacts=artifacts, code=code, error=sentence, log=pulse.text)


def _duel(duel: Duel, pulse: Pulse) -> None:
    played = _play(duel, duel.player_1, duel.player_2, pulse)
    artifacts = artifacts_store(job=duel, record=played.record, player_logs=played.player_logs)
    duel_succeed(duel=duel, record=played.record, artifacts=artifacts, log=pulse.text)


def first_fault(record: DuelRecord) -> tuple[str, str] | None:
    """Typed code and sentence of the first match that a player forfeited, None when all went well."""
    for match in record.matches:
        if match.fault is Fault.PLAYER:
            return match.error_code, f"Match {match.number}: {match.error}"
    return None


def _play(job: PlayedJob, player_1: Submission, player_2: Submission, pulse: Pulse) -> referee.PlayedDuel:
    environment = player_1.agent.environment
    spec = get_spec(environment.slug)
    arena = sandbox()
    names = (str(player_1), str(player_2))
    images = (player_1.launched_image, player_2.launched_image)
    labels = {"arena.job": f"{job.KIND}-{job.pk}", "arena.claim": str(job.claim_token)}
    launches = iter(range(1, 1_000_000))

    def launch(player: int) -> Container:
        pulse.raise_if_lost()
        name = f"arena-{job.KIND}-{job.pk}-{str(job.claim_token)[:8]}-{player + 1}-{next(launches)}"
        return arena.launch(
            Launch(image=images[player], name=name, limits=environment.limits, labels=labels, core=core)
        )

    def on_progress(matches_done: int) -> None:
        pulse.raise_if_lost()
        pulse.progress(matches_done)

    pulse.log(f"{names[0]} against {names[1]}: {job.match_count} matches of {spec.id}, sandbox {arena.name}.")
    try:
        with free_core(settings.CHANNEL_DIR) as core:
            arena.check()
            played = referee.run_duel(
                spec,
                launch,
                names=names,
                seed=job.seed,
                match_count=job.match_count,
                parallel_matches=environment.parallel_matches,
                limits=environment.limits,
                clock=time.monotonic,
                on_progress=on_progress,
            )
    except (SandboxError, referee.PlatformFault) as fault:
        raise PlatformFault(str(fault), code=fault.code) from fault
    # A duel may outlast a connection; what follows writes its result.
    close_old_connections()
    if played.log:
        pulse.log(played.log)
    return played
