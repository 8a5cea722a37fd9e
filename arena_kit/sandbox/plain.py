"""Runs players as plain processes, behind a connection of this machine's loopback, for a person's own code only.

It needs neither forks nor Unix sockets nor namespaces: on macOS and Windows it is what `process` stands for. Nothing
but time is limited. A player is ended with its duel, and so is what it has started, as far as `arena_kit.machine.trees`
finds it.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from arena_kit.folders import OwnFolder, remove_abandoned
from arena_kit.machine import loopback, processes
from arena_kit.machine.trees import Tree
from arena_kit.older import SAFE_PATH
from arena_kit.sandbox.base import Container, Launch, PlayerDidNotStart, SandboxError
from arena_kit.sandbox.cores import own_folder
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.inside.player_server.printing import Log
from arena_kit.sandbox.scripts import OnOutput, ScriptEnd, ScriptLaunch, plain_output
from arena_kit.sandbox.slots import EndedProcess, PlayerSlot, slot_once
from arena_kit.sandbox.startup import PLAYER_ENVIRONMENT, PLAYER_SERVER, copy_server, interpreter, player_folder

PREFIX = "p-"
GRACE_SECONDS = 1.0
"""How long a player may take to end by itself when its duel is over."""
KILL_SECONDS = 60.0
LOOK_SECONDS = 1.0
READ_BYTES = 65536
KILLED_STATUS = -9


class PlainSandbox:
    """Starts players as processes of this host, without walls."""

    name = "plain"

    def __init__(self, channel_dir: Path) -> None:
        self._channel_dir = channel_dir

    def check(self) -> None:
        pass

    def describe(self) -> str:
        """Return a phrase that says what protects this host from a player."""
        return "plain processes with limits on time alone, and no protection of this user's files"

    def start(self, launch: Launch) -> PlainHost:
        process, folder = self._process(launch)
        return PlainHost(launch, process, folder)

    def launch(self, launch: Launch) -> Container:
        return slot_once(self.start(launch))

    def run_to_end(self, launch: ScriptLaunch, on_output: OnOutput) -> ScriptEnd:
        process, folder = self._process(launch)
        try:
            work = process.folder / "work"
            shutil.copytree(folder, work)
            variables = {
                "PYTHONPATH": str(process.folder / PLAYER_SERVER.name / "site"),
                "ARENA_PACKAGES": launch.packages,
                "ARENA_SOURCES": str(work),
            }
            process.start(["-u", "submission.py", launch.environment_id], variables, work)
            return _followed(process, launch.limits.seconds, on_output)
        finally:
            process.remove()

    def reap(self, label: str, live: Callable[[], frozenset[str]]) -> int:
        # A player ends when its referee does, which closes the connection; its folder has lost its lock then.
        return remove_abandoned(self._channel_dir, PREFIX)

    def _process(self, launch: Launch | ScriptLaunch) -> tuple[PlainProcess, Path]:
        """Return a process that is not started yet, and the folder of the submission's files."""
        folder = player_folder(launch.image)
        if folder is None:
            raise SandboxError(f"Plain processes run folders, not the image {launch.image}.", code="image_missing")
        return PlainProcess(launch.name, self._channel_dir, launch.limits.log_limit_bytes), folder


class PlainProcess:
    """A process with a folder of its own, a clean environment, and the ends of its output."""

    def __init__(self, name: str, parent: Path, log_bytes: int) -> None:
        """Make its folder in `parent`, with the player server in it. Raises SandboxError."""
        self.name = name
        try:
            own_folder(parent)
            self._own = OwnFolder(parent, PREFIX)
        except OSError as error:
            raise SandboxError(f"{parent} cannot be used: {error.strerror}.", code="channel_failed") from None
        self.folder = self._own.path
        self.server = copy_server(PLAYER_SERVER, self.folder)
        self._log, self._child, self._is_killed = Log(log_bytes), None, False
        self._reader: threading.Thread | None = None

    _child: Tree | None

    def start(self, words: list[str], variables: dict[str, str], place: Path) -> None:
        """Start Python with these words, in the folder `place`. Raises SandboxError."""
        home = self.folder / "home"
        home.mkdir()
        command, more = interpreter()
        environment = processes.child_variables({**PLAYER_ENVIRONMENT, **more, **variables}, home=home)
        try:
            self._child = Tree([*command, *words], environment, place)
        except OSError as error:
            raise SandboxError(f"No process could be started: {error}.", code="process_failed") from None
        self._reader = threading.Thread(target=self._read, args=(self._child,), name="player-output", daemon=True)
        self._reader.start()

    def _read(self, child: subprocess.Popen[bytes]) -> None:
        assert child.stdout is not None
        with child.stdout as output:
            while data := output.read1(READ_BYTES):  # type: ignore[attr-defined]  # a pipe is buffered
                self._log.add(data)

    def status(self, wait_seconds: float = 0.0) -> int | None:
        """Return the exit status, as in `subprocess`; None if it still runs after this time."""
        assert self._child is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(wait_seconds)
        return self._child.returncode

    def is_alive(self) -> bool:
        return self.status() is None

    def text(self) -> str:
        """Return both ends of the output."""
        if self._reader is not None and not self.is_alive():
            # What it has left behind may hold its output open.
            self._reader.join(GRACE_SECONDS)
        return plain_output(self._log.text())

    def ending(self) -> Ending:
        if self.is_alive():
            return Ending.RUNNING
        return Ending.KILLED if self._is_killed or self.status() == KILLED_STATUS else Ending.EXITED

    def throttle(self) -> None:
        if self._child is not None:
            processes.step_back(self._child, 19)

    def kill(self) -> None:
        """End it with all that it has started."""
        if self._child is not None:
            self._is_killed = self._is_killed or self.is_alive()
            self._child.end()
            self._child.wait(KILL_SECONDS)

    def remove(self) -> None:
        """Kill it and remove its folder. May be called twice."""
        try:
            self.kill()
        finally:
            self._own.close()


class PlainHost:
    """A player in a process of its own, for one duel."""

    why_cold = "plain processes play one duel each"

    def __init__(self, launch: Launch, process: PlainProcess, player: Path) -> None:
        """Start it and wait until it is loaded and connected. Raises SandboxError and PlayerDidNotStart."""
        self._process, self.container_id, self.reusable = process, launch.name, True
        seconds = launch.limits.start_seconds
        try:
            with contextlib.closing(loopback.Door()) as door:
                words = [*SAFE_PATH, str(process.server / "start.py"), "plain"]
                options = ["--player", str(player), "--packages", launch.packages]
                process.start([*words, *options], door.variables, process.folder)
                wire = door.accept(time.monotonic() + seconds, process.is_alive)
            if wire is None:
                raise self._not_started(seconds)
            self._wire = wire
        except OSError as error:
            self.close()
            raise SandboxError(f"The loopback cannot be used: {error}.", code="channel_failed") from None
        except BaseException:
            self.close()
            raise

    def slot(self) -> PlayerSlot:
        self.reusable = False
        return PlayerSlot(self, self._wire)

    def ended(self, wait_seconds: float) -> EndedProcess | None:
        if self._process.status(wait_seconds) is None:
            return None
        return EndedProcess(self._process.ending(), self._process.text())

    def stand(self) -> EndedProcess:
        if (ended := self.ended(GRACE_SECONDS)) is not None:
            return ended
        self._process.kill()
        return EndedProcess(self._process.ending(), self._process.text())

    def raise_if_paused(self) -> None:
        # This sandbox runs a person's own code, and only that person can pause it.
        pass

    def cpu_seconds(self) -> float | None:
        return None

    def throttle(self) -> None:
        self._process.throttle()

    def close(self) -> None:
        self.reusable = False
        if (wire := getattr(self, "_wire", None)) is not None:
            wire.close()
        self._process.remove()

    def _not_started(self, seconds: float) -> PlayerDidNotStart:
        if self._process.is_alive():
            sentence, ending = f"It was not ready within {seconds:g} s.", Ending.RUNNING
        else:
            sentence, ending = "It ended before it was ready: see its log.", self._process.ending()
        return PlayerDidNotStart(sentence, log=self._process.text(), ending=ending)


def _followed(process: PlainProcess, seconds: float, on_output: OnOutput) -> ScriptEnd:
    """Wait until a script has ended, or end it after its time."""
    begun = time.monotonic()
    status = None
    while status is None and (left := begun + seconds - time.monotonic()) > 0:
        if (status := process.status(min(left, LOOK_SECONDS))) is None:
            on_output(process.text())
    wall_seconds = time.monotonic() - begun
    process.kill()
    ending = Ending.TIMED_OUT if status is None else Ending.EXITED if status >= 0 else Ending.KILLED
    return ScriptEnd(ending, status, wall_seconds, None, process.text())
