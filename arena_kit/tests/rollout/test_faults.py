"""The worker, the engine, a service and the proxy lost in each phase of a rollout: one verdict, and nothing left."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena_kit.environment.records import Fault
from arena_kit.image.engine import connect
from arena_kit.rollout.attempt import Attempt, Work, task_attempt
from arena_kit.rollout.building.build import package_build, package_remove
from arena_kit.rollout.packages.package import Package
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.worlds import front
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.docker_world import DockerWorld
from arena_kit.rollout.worlds.host import DockerWorlds
from arena_kit.rollout.worlds.world import ARENA_LABEL, World
from arena_kit.tests.rollout import notes

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.nightly]
ENGINE = Path("/var/run/docker.sock")
PHASES = ("provision", "work", "export", "remove")


@dataclasses.dataclass(frozen=True)
class Place:
    """A built package with a proxy, and worlds of this module alone."""

    package: Package
    built: BuiltPackage
    worlds: DockerWorlds
    folder: Path

    def attempt(self, then: Callable[[World], None]) -> Attempt:
        """A rollout in whose work something is done to its world."""

        def agent(world: World, of: Task) -> Work:
            then(world)
            return notes.oracle(world, of)

        return task_attempt(self.worlds, self.built, notes.task("milk", self.package), agent)

    def left(self) -> int:
        """How many containers of these worlds there are."""
        client = connect()
        try:
            label = f"{ARENA_LABEL}={(self.folder / 'worlds' / 'name').read_text()}"
            return len(client.api.containers(all=True, filters={"label": label}))
        finally:
            client.close()


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    worlds, file = notes.worlds(folder / "worlds"), notes.packed(manifest={"front": True})
    package = notes.package(file)
    built = package_build(file, package, worlds=worlds, bases=notes.bases(), log=lambda _: None, seed=7)
    yield Place(package, built, worlds, folder)
    package_remove(built, notes.bases())
    shutil.rmtree(folder)


class Way:
    """A way to the engine that can be closed: a socket that hands everything on."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "way.sock"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen()
        self._open: list[socket.socket] = []
        self._is_closed = False
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """End every connection, and refuse further ones."""
        self._is_closed = True
        for each in (self._listener, *self._open):
            hang_up(each)

    def _serve(self) -> None:
        while not self._is_closed:
            try:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(str(ENGINE))
            except OSError:
                return
            self._open += [near, far]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=carry, args=pair, daemon=True).start()


def hang_up(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()


def carry(source: socket.socket, target: socket.socket) -> None:
    """Hand on what one side says until it ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
        return
    hang_up(target)


def before(phase: str, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something when a world comes to a phase; in `provision`, between its containers."""
    name = {"provision": "_wait", "work": "run", "export": "_export", "remove": "remove"}[phase]
    usual = getattr(DockerWorld, name)

    def acting(world: World, *given: object, **further: object) -> object:
        act()
        return usual(world, *given, **further)

    monkeypatch.setattr(DockerWorld, name, acting)


@pytest.mark.parametrize("phase", PHASES)
def test_a_worker_killed_in_any_phase_leaves_nothing_that_is_not_reaped(
    place: Place, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = os.fork()
    if not pid:
        before(phase, lambda: os.kill(os.getpid(), signal.SIGKILL), monkeypatch)
        place.attempt(lambda _: None)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    assert place.left() > 0
    assert place.worlds.reserved_bytes() == 0
    assert place.worlds.reap() > 0
    assert place.left() == 0
    assert place.attempt(lambda _: None).verdict.is_solved


@pytest.mark.parametrize("phase", PHASES)
def test_an_engine_that_is_away_in_any_phase_is_the_platforms_fault_and_nothing_stays(
    place: Place, phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    # In a process of its own: docker's library does not close the connections that the engine has broken off.
    pid = os.fork()
    if not pid:
        way = Way(tmp_path)
        monkeypatch.setenv("DOCKER_HOST", f"unix://{way.path}")
        before(phase, way.close, monkeypatch)
        verdict = place.attempt(lambda _: None).verdict
        told.write_text(f"{verdict.fault.value} {verdict.code} {verdict.is_solved} {place.worlds.reserved_bytes()}")
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    # What was fetched before the engine went is judged, and the reaper removes the world.
    found = "NONE  True 0" if phase == "remove" else "PLATFORM engine_unavailable False 0"
    assert told.read_text() == found
    place.worlds.reap()
    assert place.left() == 0
    assert place.attempt(lambda _: None).verdict.is_solved


@pytest.mark.parametrize(("name", "code"), [("web", "service_ended"), (front.NAME, ""), ("_pause", "")])
def test_a_container_killed_at_work_spoils_the_rollout_at_most(place: Place, name: str, code: str) -> None:
    def kill(world: World) -> None:
        client = connect()
        try:
            client.api.kill(f"arena-world-{world.token[:16]}-{name}")
        finally:
            client.close()

    # The oracle itself has ended by then, so that what is killed is seen by the export alone.
    def agent(world: World, of: Task) -> Work:
        work = notes.oracle(world, of)
        kill(world)
        return work

    attempt = task_attempt(place.worlds, place.built, notes.task("milk", place.package), agent)
    if code:
        assert (attempt.verdict.fault, attempt.verdict.code) == (Fault.PLATFORM, code), attempt.verdict
    else:
        assert attempt.verdict.is_solved, attempt.verdict
    assert place.left() == 0
    assert place.worlds.reserved_bytes() == 0
