"""The arena's own scaler in a season: it decides by the queue, is killed, and its hosts are drained or die."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import partial

from tests.season.driver import CATCH_SECONDS, Driver, Fault, NotInjected
from tests.season.hosts import host_dies
from tests.season.season import Season, again
from tests.season.services import CannotRun, until

OPTIONS = "provider=local,queues=duel,min=0,max=3,minutes=1,slots=1"
"""Editions of a season want all hosts while they are played, and none at their end."""
LEFT_SECONDS = 180.0
"""Without work all hosts have gone by then: rows of hosts that a killed scaler did not create count for one minute."""


class Scaler:
    """`manage.py autoscale` with looks as short as its season, started again when it was killed."""

    def __init__(self, season: Season) -> None:
        self._season = season
        self.hit: set[str] = set()
        """Hosts that a fault has chosen: a second one would find the first one's work."""
        self._log = (season.folder / "scaler.log").open("a")
        self._process = self._started()

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> int:
        """SIGKILL it, wherever it is, and start another; return the process that was killed. Raises NotInjected."""
        killed = self._process
        killed.kill()
        if killed.wait() != -signal.SIGKILL:
            raise CannotRun(f"The scaler had ended by itself with {killed.returncode}, see {self._log.name}.")
        self._process = self._started()
        return killed.pid

    def stop(self) -> None:
        """End it with all its hosts, as operators do."""
        self._process.terminate()
        self._process.wait()
        self._log.close()
        # It waits for its own children only, not for those of one that was killed.
        for file in (self._season.folder / "hosts").glob("*.lock"):
            host_dies(file.stem)

    def _started(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.season.worker", "autoscale"]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)


def scaler_killed(driver: Driver, draw: random.Random) -> tuple[float | None, str]:
    """SIGKILL for the scaler, in the middle of whatever it does; another takes over."""
    from core.models import Duty
    from core.operations.scaling.scaler import DUTY

    scaler = scaler_of(driver)
    with driver.alone_with("scaler"):
        time.sleep(draw.uniform(0.0, 2.0))
        killed, begun = scaler.kill(), time.monotonic()
        looks = Duty.objects.filter(name=DUTY, worker__endswith=f":{scaler.pid}")
        return driver.seconds_until(again(looks.exists), begun), f"process {killed}"


def scaled_host_goes(driver: Driver, draw: random.Random, *, drained: bool) -> tuple[float | None, str]:
    """A host that the scaler has created and that plays is drained by an organiser, or dies with all processes."""
    from core.models import HostState, WorkerHost
    from core.operations.scaling.scaler import host_drain
    from core.operations.scaling.work import jobs_running

    with driver.alone_with("host"):
        name = _busy_host(draw, scaler_of(driver).hit)
    rows, begun = WorkerHost.objects.filter(name=name), time.monotonic()
    if drained:
        if not again(lambda: host_drain(host=rows.get(), reason="The season."))():
            raise NotInjected(f"{name} is on its way out already")
        return driver.seconds_until(again(rows.filter(state=HostState.ENDED).exists), begun), f"{name} was drained"
    left = again(lambda: jobs_running(name))()
    host_dies(name)
    seconds = driver.seconds_until(again(lambda: jobs_running(name) == 0), begun)
    return seconds, f"{name} died with {left} jobs"


def scaler_of(driver: Driver) -> Scaler:
    """The scaler of a season that has one."""
    assert isinstance(driver.scaler, Scaler)
    return driver.scaler


def _busy_host(draw: random.Random, hit: set[str]) -> str:
    """The name of a host of the scaler that does a job, chosen only once. Raises CannotRun."""
    from core.models import HostState, WorkerHost
    from core.operations.scaling.work import jobs_running

    found: list[str] = []

    @again
    def is_found() -> bool:
        ready = WorkerHost.objects.filter(state=HostState.READY, name__startswith="local-").exclude(name__in=hit)
        found[:] = [row.name for row in ready.order_by("pk") if jobs_running(row.name)]
        return bool(found)

    until(is_found, CATCH_SECONDS, "a host of the scaler does a job")
    name = draw.choice(found)
    hit.add(name)
    return name


@again
def hosts_open() -> list[str]:
    """Hosts that have not gone, in words."""
    from core.models import WorkerHost
    from core.operations.scaling.scaler import OPEN

    return [f"host {row.name} {row.state}" for row in WorkerHost.objects.filter(state__in=OPEN)]


def await_no_hosts(season: Season) -> list[str]:
    """Wait until the scaler has removed all hosts, as there is nothing to do; return what has stayed."""
    from core.operations.scaling.providers.local import LocalProvider

    provider = LocalProvider(season.folder / "hosts", [], 1)
    begun = time.monotonic()
    while (
        found := [*hosts_open(), *(f"processes of {name}" for name in provider.hosts())]
    ) and time.monotonic() - begun < LEFT_SECONDS:
        time.sleep(0.5)
    return found


@again
def figures() -> dict[str, int]:
    """What the scaler has done: its hosts, what became of them, and the duels that were played there."""
    from core.models import Duel, HostState, WorkerHost

    rows = WorkerHost.objects.filter(name__startswith="local-")
    states = Counter(rows.values_list("state", flat=True))
    return {
        "hosts": rows.count(),
        "ready": rows.exclude(ready_at=None).count(),
        "drained by its decision": rows.exclude(drained_at=None).exclude(reason="The season.").count(),
        "ended": states[HostState.ENDED],
        "failed": states[HostState.FAILED],
        "duels": Duel.objects.filter(worker__startswith="local-", state="SUCCEEDED").count(),
    }


OF_SCALERS: dict[str, tuple[int, Fault]] = {
    "scaler killed": (12, scaler_killed),
    "scaled host drained": (8, partial(scaled_host_goes, drained=True)),
    "scaled host died": (8, partial(scaled_host_goes, drained=False)),
}
"""Further kinds where a scaler runs."""
