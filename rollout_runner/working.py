"""The job of a rollout: one agent at one task in one fresh world, judged when the world is gone, and stored."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import close_old_connections
from django.utils import timezone

from arena_kit.environment.records import Fault
from arena_kit.errors import PlatformFault
from arena_kit.log_context import bind
from arena_kit.rollout.gateway.endpoint import MISCONFIGURED
from arena_kit.rollout.gateway.gateway import LOG as MODEL_LOG
from arena_kit.rollout.loop import RolloutHost
from arena_kit.rollout.play import PlayedRollout, rollout_run
from arena_kit.rollout.pods.host import CLAIM_LABEL
from arena_kit.rollout.recording.record import CHANGES, EXPORT, RECORD, WORLD_LOG
from arena_kit.rollout.recording.recorder import HAR, PAGES, STEPS, TRACE, VIDEO
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.leases import NoRoom
from arena_kit.rollout.worlds.world import ROLLOUT_LABEL
from core.jobs.artifacts import files_stored
from core.jobs.fetching import images_fetch
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_delay, job_fail
from core.links import page
from core.models import JobFault, JobState, PackageBuild, Rollout
from core.notices.alarms import alarm_raise
from core.rollouts.packages import builds_of, package_build_ensure, package_built
from core.rollouts.quotas import model_has_budget
from core.rollouts.reading import BESIDE_BYTES, limits_of, task_of
from core.rollouts.services import JudgedRollout, rollout_finish
from rollout_runner.agents import PLAYER_LOG, agent_make
from rollout_runner.building import delay, package_here
from rollout_runner.following import Follower
from rollout_runner.host import browser_host, is_on_cluster, player_label, worker_token, worlds

BUILD_PAUSE, MODEL_PAUSE, BUDGET_PAUSE = timedelta(seconds=20), timedelta(seconds=10), timedelta(minutes=10)
MOST_LOG_CHARACTERS = 16_000
FILES: Mapping[str, str] = {
    "record": RECORD, "steps": STEPS, "pages": PAGES, "video": VIDEO, "trace": TRACE, "har": HAR, "export": EXPORT,
    "changes": CHANGES, "world_log": WORLD_LOG, "model_log": MODEL_LOG, "player_log": PLAYER_LOG,
}  # fmt: skip
"""The file of each artifact in the folder of a rollout."""


def rollout_perform(rollout: Rollout, lease: Lease) -> None:
    """Carry out a rollout and store it, or let it wait for its package, its model or memory. Raises PlatformFault."""
    build = _build(rollout, lease)
    if build is None or _model_is_busy(rollout, lease):
        return
    try:
        package = package_here(build, lease)
        if rollout.submission is not None and not is_on_cluster():
            # Before there is a world, whose memory and time would wait for it.
            images_fetch(rollout.submission, lease=lease)
        with tempfile.TemporaryDirectory(prefix="rollout-") as folder:
            _work(rollout, lease, package, Path(folder))
    except NoRoom as full:
        delay(rollout, full, lease)


def task_with_limits(rollout: Rollout) -> Task:
    """Return the task of a rollout with the limits of its package and its batch. Raises PlatformFault."""
    try:
        task, limits = task_of(rollout.task), limits_of(rollout.task, rollout.package)
    except ValueError as error:
        raise PlatformFault(str(error), code="task_unreadable") from None
    given: dict[str, Any] = dict(rollout.batch.limits)
    own = dataclasses.asdict(limits)
    tighter = {name: min(own[name], value) if own[name] is not None else value for name, value in given.items()}
    return dataclasses.replace(task, limits=dataclasses.replace(limits, **tighter))


def _work(rollout: Rollout, lease: Lease, package: BuiltPackage, folder: Path) -> None:
    task = task_with_limits(rollout)
    follower = Follower(rollout, lease, folder, BESIDE_BYTES)
    bind(stage="work")
    try:
        host = RolloutHost(
            worlds(),
            browser_host(),
            is_cancelled=follower.is_cancelled,
            labels=_labels(rollout),
            on_phase=follower.on_phase,
        )
        played = rollout_run(
            host,
            package,
            task,
            lambda meter: agent_make(rollout, task, meter, folder),
            folder,
            name=rollout.batch.agent_name,
            model=str(rollout.batch.model or ""),
        )
    except PlatformFault as fault:
        if fault.code != MISCONFIGURED:
            raise
        _misconfigured(rollout, lease, str(fault))
        return
    finally:
        follower.closed()
    follower.raise_if_over()
    # The database may have closed the connection during a long rollout; the result is written next.
    close_old_connections()
    if played.verdict.fault is Fault.PLATFORM:
        _spoilt(rollout, lease, played, folder)
        return
    bind(stage="store")
    files = {field: folder / name for field, name in FILES.items() if (folder / name).is_file()}
    files = {field: path for field, path in files.items() if path.stat().st_size}
    with files_stored(job=rollout, files=files) as artifacts:
        rollout_finish(rollout=rollout, result=_result(rollout, played, follower), artifacts=artifacts, log=lease.text)


def _labels(rollout: Rollout) -> dict[str, str]:
    """Return the label of a world in use, for reapers: on a cluster the claim, on a host the worker."""
    if is_on_cluster():
        return {CLAIM_LABEL: rollout.claim_token.hex if rollout.claim_token else ""}
    return {player_label(): worker_token(), ROLLOUT_LABEL: str(rollout.public_id)}


def _spoilt(rollout: Rollout, lease: Lease, played: PlayedRollout, folder: Path) -> None:
    """Give a rollout back after a platform fault; fail it if its model is misconfigured."""
    verdict = played.verdict
    if (folder / WORLD_LOG).is_file():
        said = (folder / WORLD_LOG).read_text(encoding="utf-8", errors="replace")[-MOST_LOG_CHARACTERS:]
        lease.log(f"What the services have printed:\n{said}")
    if verdict.code == MISCONFIGURED:
        _misconfigured(rollout, lease, verdict.sentence)
        return
    raise PlatformFault(verdict.sentence, code=verdict.code)


def _misconfigured(rollout: Rollout, lease: Lease, sentence: str) -> None:
    """Fail a rollout whose model is set wrongly, without another attempt, and tell the organisers."""
    model = rollout.batch.model
    alarm_raise(
        key=f"model-{model}-misconfigured",
        message=f"The language model {model} cannot be used: {sentence}",
        address=page("language_models"),
    )
    job_fail(job=rollout, fault=JobFault.PLATFORM, code=MISCONFIGURED, error=sentence, log=lease.text)


def _result(rollout: Rollout, played: PlayedRollout, follower: Follower) -> JudgedRollout:
    facts = played.facts
    return JudgedRollout(
        verdict=played.verdict,
        work=played.attempt.work,
        usage=played.usage,
        steps=facts.steps,
        seconds=round(facts.seconds, 3),
        agent_seconds=round(facts.agent_seconds, 3),
        provision_seconds=None if follower.provision_seconds is None else round(follower.provision_seconds, 3),
        record_sha256=str(played.record.get("record_sha256", "")),
        player_digest=rollout.submission.image_digest if rollout.submission is not None else "",
    )


def _build(rollout: Rollout, lease: Lease) -> PackageBuild | None:
    """Return the build that a rollout works with; without one it waits, or fails if the package was refused."""
    package, seed = rollout.package, rollout.seed
    if (build := package_built(package, seed)) is not None:
        return build
    last = builds_of(package, seed).first()
    if last is not None and last.state == JobState.FAILED and last.fault == JobFault.PLAYER:
        error = f"{package} could not be built with the seed {seed}: {last.error}"
        job_fail(job=rollout, fault=JobFault.PLATFORM, code="package_refused", error=error, log=lease.text)
        return None
    package_build_ensure(package=package, seed=seed)
    error = f"{package} is still being built."
    job_delay(job=rollout, span=BUILD_PAUSE, code="package_not_built", error=error, log=lease.text)
    return None


def _model_is_busy(rollout: Rollout, lease: Lease) -> bool:
    """Delay a rollout whose model is busy or over its daily budget; return whether it is delayed."""
    model = rollout.batch.model
    if model is None:
        return False
    if not model_has_budget(model, now=timezone.now()):
        error = f"What {model} may cost a day is used up; the next day begins at 00:00 UTC."
        job_delay(job=rollout, span=BUDGET_PAUSE, code="model_budget", error=error, log=lease.text)
        return True
    running = Rollout.objects.filter(batch__model=model, state=JobState.RUNNING).exclude(pk=rollout.pk)
    if model.parallel and running.count() >= model.parallel:
        error = f"{model.parallel} rollouts use {model} already."
        job_delay(job=rollout, span=MODEL_PAUSE, code="model_busy", error=error, log=lease.text)
        return True
    return False
