"""The workplace of a worker process, kept between duels: its sandbox, its core and its warm containers."""

from __future__ import annotations

import itertools
import os
import threading
from multiprocessing.util import Finalize

from django.conf import settings

from arena_kit.errors import PlatformFault
from arena_kit.sandbox.base import Launch, Sandbox
from arena_kit.sandbox.choice import local_processes
from arena_kit.sandbox.cores import Core, reserve_core
from arena_kit.sandbox.docker import DockerSandbox
from arena_kit.sandbox.lock_file import LockFile
from arena_kit.sandbox.warm import WarmPlayers
from core.models import Submission, SubmissionForm

IDLE_SECONDS = 300.0
"""Seconds after which a container with a loaded player is removed if no duel has used it."""


def worker_label() -> str:
    """Return the name of the label with a container's worker; arenas that share an engine have different names."""
    return f"arena.worker.{settings.PLAYER_IMAGE_PREFIX}"


def sandbox(name: str = "") -> Sandbox:
    """Return the sandbox of this name, by default of the settings; raise instead of using another one."""
    name = name or settings.SANDBOX
    if name == "docker":
        return DockerSandbox(
            base_image=settings.PLAYER_BASE_IMAGE,
            runtime=settings.PLAYER_CONTAINERS["runtime"],
            channel_dir=settings.CHANNEL_DIR,
            cgroup_parent=settings.PLAYER_CONTAINERS["cgroup_parent"],
        )
    if name == "process" and settings.DEBUG:
        return local_processes(settings.CHANNEL_DIR)
    raise PlatformFault(f"The sandbox {name!r} may not be used here.", code="sandbox_refused")


class Workplace:
    """The workplace of a worker process. The kernel and `leftovers_reap` clear up after a killed process."""

    def __init__(self) -> None:
        self.sandbox = sandbox()
        self.sandbox.check()
        self.process = os.getpid()
        self._lock_file = LockFile(settings.CHANNEL_DIR)
        self.players = WarmPlayers(self.sandbox, capacity=settings.PLAYER_CONTAINERS["warm"], idle_seconds=IDLE_SECONDS)
        self._core: Core | None = None
        self._numbers = itertools.count(1)
        self._at_exit = Finalize(self, self._close, exitpriority=10)

    @property
    def core(self) -> Core | None:
        """Return the core for this worker's duels; None while other workers hold all cores."""
        if self._core is None:
            self._core = reserve_core(settings.CHANNEL_DIR)
        return self._core

    def name(self) -> str:
        """Return a unique name for a container."""
        return f"arena-{self._lock_file.token[:12]}-{next(self._numbers)}"

    def labels(self, submission: Submission) -> dict[str, str]:
        """Return the labels by which the containers of a dead worker are found."""
        return {worker_label(): self._lock_file.token, "arena.submission": str(submission.pk)}

    def launch(self, submission: Submission, core: Core | None) -> Launch:
        """Return how to start a submission's player here."""
        return Launch(
            image=submission.launched_image,
            name=self.name(),
            limits=submission.agent.environment.limits,
            labels=self.labels(submission),
            core=None if core is None else core.number,
            fresh=submission.needs_fresh_container,
            own_image=submission.form == SubmissionForm.IMAGE,
        )

    def close(self) -> None:
        """Remove the containers and release the core."""
        self._at_exit()

    def _close(self) -> None:
        self.players.close()
        if self._core is not None:
            self._core.release()
        self._lock_file.end()


_workplace: Workplace | None = None
_creating = threading.Lock()


def workplace_of_this_worker() -> Workplace:
    """Return the workplace of this process, created on first use. Raises PlatformFault."""
    global _workplace  # noqa: PLW0603  # one per process
    with _creating:
        if _workplace is None or _workplace.process != os.getpid():
            _workplace = Workplace()
        return _workplace
