"""A container of a Docker engine in which a player runs: how it ends, its processor time, and the engine's errors."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from typing import Any

import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound

from arena_kit.image.engine import NoEngine
from arena_kit.sandbox.base import EXIT_SECONDS, SandboxError, SandboxUnavailable
from arena_kit.sandbox.cpu import CpuClock
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.outside import killed_from_outside

CPU_SHARES, LEAST_CPU_SHARES = 1024, 2
CONFLICT = 409
REMOVED = "container_removed"
KILLED_STATUS = 128 + signal.SIGKILL
LOOK_SECONDS = 0.5


class DockerBox:
    """A container of the engine."""

    def __init__(self, container: Any, core: int | None = None, cgroup_parent: str = "") -> None:
        self._container, self._core = container, core
        self.id = str(container.id)[:12]
        self._cpu = CpuClock(container.id, cgroup_parent)

    def is_alive(self) -> bool:
        try:
            return bool(self._state().get("Running"))
        except SandboxError as error:
            if error.code != REMOVED:
                raise
            return False

    def ending(self) -> Ending:
        with contextlib.suppress(SandboxError, requests.RequestException, DockerException):
            # The control connection closes a little before the engine learns of the exit.
            self._container.wait(timeout=EXIT_SECONDS)
        state = self._state()
        if state.get("Running"):
            return Ending.RUNNING
        if state.get("ExitCode") != 0:
            # The engine may learn of the end before it learns the reason.
            time.sleep(LOOK_SECONDS)
            state = self._state()
            with engine_errors():
                if killed_from_outside(self._container):
                    return Ending.KILLED_FROM_OUTSIDE
        if state.get("OOMKilled"):
            return Ending.OUT_OF_MEMORY
        return Ending.KILLED if state.get("ExitCode") == KILLED_STATUS else Ending.EXITED

    def raise_if_paused(self) -> None:
        if self._state().get("Paused"):
            raise SandboxError("The container was paused from outside.", code="container_paused")

    def cpu_seconds(self) -> float | None:
        return self._cpu.seconds()

    def throttle(self) -> None:
        self._update(cpu_shares=LEAST_CPU_SHARES)

    def bring_forward(self) -> None:
        if self._core is not None:
            self._update(cpuset_cpus=str(self._core), cpu_shares=CPU_SHARES)
        else:
            self._update(cpu_shares=CPU_SHARES)

    def _update(self, **options: object) -> None:
        try:
            with engine_errors():
                self._container.update(**options)
        except NotFound:
            raise _removed() from None

    def remove(self) -> None:
        self._cpu.close()
        with engine_errors():
            container_remove(self._container)

    def _state(self) -> dict[str, Any]:
        try:
            with engine_errors():
                self._container.reload()
        except NotFound:
            raise _removed() from None
        state: dict[str, Any] = self._container.attrs["State"]
        return state


def _removed() -> SandboxError:
    """Return a platform fault, because no player can remove its container."""
    return SandboxError("The container was removed from outside.", code=REMOVED)


def container_remove(container: Any) -> None:
    """Kill and remove a container, unless it is gone or another process is removing it."""
    try:
        try:
            container.remove(force=True)
        except requests.ReadTimeout:
            # gVisor may take long to end many processes. The engine goes on meanwhile, and this call waits for it.
            container.remove(force=True)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != CONFLICT:
            raise


@contextlib.contextmanager
def engine_errors() -> Iterator[None]:
    """Turn the engine's errors into SandboxError, except NotFound of a container, which callers handle."""
    try:
        yield
    except ImageNotFound as error:
        raise SandboxError(f"The image is missing on this host: {error.explanation}", code="image_missing") from None
    except NotFound:
        raise
    except APIError as error:
        code = "name_taken" if error.status_code == CONFLICT else "engine_refused"
        raise SandboxError(f"The Docker engine refused: {error.explanation or error}", code=code) from None
    except (NoEngine, DockerException, requests.RequestException) as error:
        raise SandboxUnavailable(str(NoEngine()), code="engine_unavailable") from error
