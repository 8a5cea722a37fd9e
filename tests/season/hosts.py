"""A host of workers joins in the middle of a season, and goes: drained to its end, or with all processes at once."""

from __future__ import annotations

import os
import random
import secrets
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from tests.season.driver import Driver
from tests.season.season import again
from tests.season.services import until

READY_SECONDS = 90.0


def host_comes_and_goes(driver: Driver, draw: random.Random, *, drained: bool) -> tuple[float | None, str]:
    """Create a host, let it take a job, and remove it as the scaler or a dying machine does."""
    with driver.room_for_hosts:
        return _comes_and_goes(driver, draw, drained=drained)


def _comes_and_goes(driver: Driver, draw: random.Random, *, drained: bool) -> tuple[float | None, str]:
    from django.db.models.functions import Now

    from core.models import HostState, WorkerHost
    from core.operations.scaling.providers.local import LocalProvider
    from core.operations.scaling.scaler import host_drain
    from core.operations.scaling.work import jobs_running

    name = f"season-{secrets.token_hex(4)}"
    program = [sys.executable, "-m", "tests.season.worker", "run_workers", "duel"]
    # The places where a worker is caught need its name; `env` becomes the program itself.
    provider = LocalProvider(
        driver.season.folder / "hosts", ["env", f"FAULTS_NAME={name}", *program], draw.randint(1, 2)
    )
    running = again(lambda: jobs_running(name))
    again(lambda: WorkerHost.objects.create(name=name, provider="local", state=HostState.READY, created_at=Now()))()
    provider.create(name)
    try:
        until(lambda: running() > 0, READY_SECONDS, f"{name} begins a job")
        time.sleep(draw.uniform(0.0, 2.0))
        begun = time.monotonic()
        if drained:
            again(lambda: host_drain(host=WorkerHost.objects.get(name=name), reason="The season."))()
            until(lambda: running() == 0, READY_SECONDS, f"{name} ends its jobs")
            provider.destroy(name)
            seconds = driver.seconds_until(lambda: name not in provider.hosts(), begun)
            return seconds, f"{name} was drained"
        left = running()
        host_dies(name)
        # The kernel takes a moment to end them.
        until(lambda: name not in provider.hosts(), 30, f"{name} is dead")
        return driver.seconds_until(lambda: running() == 0, begun), f"{name} died with {left} jobs"
    finally:
        host_dies(name)
        again(lambda: WorkerHost.objects.filter(name=name).update(state=HostState.ENDED, ended_at=Now()))()


def host_dies(name: str) -> None:
    """SIGKILL all processes of a host."""
    for pid in processes_of(name):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def processes_of(name: str) -> list[int]:
    """Return the processes of a host: its program and all forks, which share its arguments."""
    mark = f"\0--host\0{name}\0".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found
