"""Follows a rollout while it runs: its phase and latest steps go to the row, a cancellation comes from there."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from arena_kit.rollout.attempt import Phase
from arena_kit.rollout.recording.recorder import RUNNING
from arena_kit.rollout.worlds.world import DEADLINE_LABEL, World
from core.jobs.apart import apart
from core.jobs.hosts import worker_name
from core.jobs.lease import Lease
from core.jobs.states import StaleJob
from core.jobs.stopping import WorkerStopped
from core.models import JobState, Rollout
from core.rollouts.leases import world_closed, world_opened
from core.rollouts.storable import storable
from rollout_runner.host import host_name

LOOK_SECONDS = 1.0
MOST_LIVE = 50
"""Steps in the row; older ones are read from the file once the rollout is over."""
MOST_TEXT = 500
SHOWN = ("number", "at_ms", "action", "note", "error", "url", "title", "tokens", "cost_micros")


class Follower:
    """Tells a rollout's row how far it is, and its worker whether to go on."""

    def __init__(self, rollout: Rollout, lease: Lease, folder: Path, beside_bytes: int) -> None:
        """folder: in which it is recorded. beside_bytes: memory of the world beside its package."""
        self._rollout, self._lease, self._folder, self._beside_bytes = rollout, lease, folder, beside_bytes
        self._begun, self._looked_at, self._is_over = time.monotonic(), 0.0, False
        self._read, self._count = 0, 0
        self._steps: list[dict[str, Any]] = []
        self._phase, self._token = "", ""
        self.provision_seconds: float | None = None

    def on_phase(self, phase: Phase, world: World | None) -> None:
        """Note a phase that begins."""
        self._phase = phase.value
        if phase is Phase.WORKING and world is not None:
            self._token = world.token
            with apart("The row of a world"):
                world_opened(
                    token=world.token,
                    rollout=self._rollout,
                    host=host_name(),
                    worker=worker_name(),
                    memory_bytes=world.package.memory_bytes + self._beside_bytes,
                    deadline=float(world.labels[DEADLINE_LABEL]),
                )
        self._lease.log(f"{phase.value.capitalize()}, after {time.monotonic() - self._begun:.1f} s.")
        self._tell()

    def closed(self) -> None:
        """Note that the world is gone."""
        if self._token:
            with apart("The row of a world"):
                world_closed(token=self._token)

    def is_cancelled(self) -> bool:
        """Return whether the rollout must end: it was cancelled, its claim is lost, or this worker stops."""
        if self.provision_seconds is None:
            self.provision_seconds = time.monotonic() - self._begun
        try:
            self._lease.raise_if_lost()
        except (StaleJob, WorkerStopped):
            return True
        now = time.monotonic()
        if now - self._looked_at >= LOOK_SECONDS:
            self._looked_at = now
            with apart("A look at a rollout's row"):
                self._is_over = self._is_over or not self._still_ours()
            self._tell()
        return self._is_over

    def _still_ours(self) -> bool:
        rows = Rollout.objects.filter(pk=self._rollout.pk, state=JobState.RUNNING)
        return rows.filter(claim_token=self._rollout.claim_token).exists()

    def raise_if_over(self) -> None:
        """Raise what ends the job in the place of a result: StaleJob or WorkerStopped."""
        self._lease.raise_if_lost()
        if self._is_over:
            raise StaleJob(f"rollout {self._rollout.pk} was cancelled.")

    def _tell(self) -> None:
        self._read_steps()
        self._lease.progress(
            phase=self._phase, step_count=self._count, live={"steps": list(self._steps), "count": self._count}
        )

    def _read_steps(self) -> None:
        path = self._folder / RUNNING
        if not path.exists() or path.stat().st_size <= self._read:
            return
        with path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        whole = data.rpartition(b"\n")[0]
        if not whole:
            return
        self._read += len(whole) + 1
        for line in whole.splitlines():
            self._count += 1
            self._steps.append(_shown(json.loads(line)))
        del self._steps[:-MOST_LIVE]


def _shown(step: dict[str, Any]) -> dict[str, Any]:
    """Return what a row holds of a step: texts of agents and pages are cut."""
    return {name: storable(_cut(step[name])) for name in SHOWN}


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:MOST_TEXT]
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in value.items()}
    return value
