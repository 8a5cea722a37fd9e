"""Runs players as local processes, for a person's own code on their own machine, never for other people's code.

Every player gets resource limits, a clean environment and a session of its own, and is killed with everything that it
started. Where util-linux `unshare` works, it also gets its own process, network and IPC namespaces.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from arena_kit.older import SAFE_PATH
from arena_kit.sandbox.base import EXIT_SECONDS, Container, Launch, SandboxError, SandboxUnavailable
from arena_kit.sandbox.channel import Channel, short_folder
from arena_kit.sandbox.confinement import (
    as_user,
    hand_over,
    has_own_users,
    namespace_command,
    packages_for_others,
    power_command,
)
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.host import PlayerHost
from arena_kit.sandbox.labelled import (
    CHANNELS,
    LABELS,
    MARK,
    kill_all,
    label_variable,
    labelled_folders,
    labelled_processes,
)
from arena_kit.sandbox.script_host import follow, script_arguments
from arena_kit.sandbox.scripts import OnOutput, ScriptEnd, ScriptLaunch
from arena_kit.sandbox.slots import slot_once
from arena_kit.sandbox.startup import (
    MODEL_SOCKET,
    PLAYER_ENVIRONMENT,
    PLAYER_SERVER,
    copy_server,
    interpreter,
    player_folder,
    player_uid,
)

Arguments = Callable[[Path, Path, Path], list[str]]
"""Returns the player server's arguments for the channel's folder, the folder of the submission's files, and a home."""


class ProcessSandbox:
    """Starts players as processes of this host."""

    name = "process"

    def __init__(self, channel_dir: Path) -> None:
        self._channel_dir = short_folder(channel_dir)

    def check(self) -> None:
        if not hasattr(os, "fork"):
            raise SandboxUnavailable("Local processes need Linux or macOS.", code="sandbox_unavailable")

    def describe(self) -> str:
        """Return a phrase that says what protects this host from a player."""
        spaces = "process, network and IPC namespaces" if namespace_command() else "no namespaces"
        user = "a user of its own" if has_own_users() else "no protection of this user's files"
        return f"local processes with {spaces}, resource limits, {user}"

    def start(self, launch: Launch) -> PlayerHost:
        limits = launch.limits

        def arguments(channel: Path, player: Path, home: Path) -> list[str]:
            return [
                "--channel", str(channel), "--player", str(player), "--log-limit", str(limits.log_limit_bytes),
                "--data-limit", str(limits.memory_limit_bytes), "--wipe", str(home),
                *(["--fresh"] if launch.fresh else []),
            ]  # fmt: skip

        core = None if launch.in_background else launch.core
        start = self._starter(launch, arguments, core)
        return PlayerHost(launch, Channel(self._channel_dir), start)

    def run_to_end(self, launch: ScriptLaunch, on_output: OnOutput) -> ScriptEnd:
        limits = launch.limits
        # The kernel counts processes per user and user namespace, and the limit must not count a person's own ones.
        pids = limits.pids if has_own_users() or "--user" in namespace_command() else 0

        def arguments(channel: Path, player: Path, home: Path) -> list[str]:
            given = script_arguments(launch, channel=str(channel), player=str(player), work=str(home / "work"))
            return [*given, "--data-limit", str(limits.memory_limit_bytes), "--pids", str(pids)]

        return follow(launch, self._channel_dir, self._starter(launch, arguments, launch.core), on_output)

    def _starter(
        self, launch: Launch | ScriptLaunch, arguments: Arguments, core: int | None
    ) -> Callable[[Channel], ProcessBox]:
        folder = player_folder(launch.image)
        if folder is None:
            raise SandboxError(f"The process sandbox runs folders, not the image {launch.image}.", code="image_missing")

        def start(channel: Channel) -> ProcessBox:
            try:
                return ProcessBox(launch, folder, channel.folder, arguments, core)
            except OSError as error:
                raise SandboxError(f"No process could be started: {error}.", code="process_failed") from None

        return start

    def launch(self, launch: Launch) -> Container:
        return slot_once(self.start(launch))

    def reap(self, label: str, live: Callable[[], frozenset[str]]) -> int:
        def players() -> list[tuple[int, str]]:
            # Another arena of this user knows its own workers alone.
            return labelled_processes(label, channels=self._channel_dir)

        processes = players()
        folders = labelled_folders(self._channel_dir, label)
        keep = live()
        dead = {pid for pid, value in processes if value not in keep}
        # The processes end before their folders are removed, because they could still write to them.
        kill_all(lambda: [pid for pid, _ in players() if pid in dead])
        left = [folder for folder, value in folders if value not in keep]
        for folder in left:
            shutil.rmtree(folder, ignore_errors=True)
        return len(left)


class ProcessBox:
    """A player server running as a child of this process."""

    def __init__(
        self,
        launch: Launch | ScriptLaunch,
        folder: Path,
        channel_folder: Path,
        arguments: Arguments,
        core: int | None,
    ) -> None:
        """folder: the submission's files. channel_folder: gets the player's home; the caller removes it in the end.

        arguments: returns the player server's arguments. core: the core to start on; None for any.
        """
        self._token = self.id = launch.name
        (channel_folder / LABELS).write_text(json.dumps(dict(launch.labels)))
        server = copy_server(PLAYER_SERVER, channel_folder)
        home = channel_folder / "home"
        home.mkdir()
        environment = {
            **PLAYER_ENVIRONMENT,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "TMPDIR": str(home),
            MARK: self._token,
            CHANNELS: str(channel_folder.parent),
            **_model_socket(launch),
            **{label_variable(label): value for label, value in launch.labels.items()},
        }
        powers, packages = power_command(), launch.packages
        python, variables = interpreter()
        environment |= variables
        if has_own_users():
            uid = player_uid(launch.name)
            powers += as_user(uid)
            folder = hand_over(folder, home, uid)
            packages = str(packages_for_others(Path(packages), home)) if packages else ""
        command = [
            *namespace_command(), *powers, *python, *SAFE_PATH, str(server / "start.py"),
            *arguments(channel_folder, folder, home), "--packages", packages,
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command,
            env=environment,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._core = launch.core
        if core is not None:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(self._process.pid, {core})
        self._killed = False

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ending(self) -> Ending:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(EXIT_SECONDS)
        if self._process.returncode is None:
            return Ending.RUNNING
        return Ending.KILLED if self._killed else Ending.EXITED

    def raise_if_paused(self) -> None:
        # This sandbox runs a person's own code, and only that person can pause it.
        pass

    def cpu_seconds(self) -> float | None:
        # For a person's own code, it is not worth a walk through /proc after every answer.
        return None

    def throttle(self) -> None:
        for pid in self._pids():
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, pid, 19)

    def bring_forward(self) -> None:
        if self._core is None:
            return
        for pid in self._pids():
            with contextlib.suppress(OSError):
                os.sched_setaffinity(pid, {self._core})

    def _pids(self) -> list[int]:
        return [pid for pid, value in labelled_processes(MARK, prefix="") if value == self._token]

    def remove(self) -> None:
        """Kill the process, its session, and all other processes with its token."""
        self._killed = True
        with contextlib.suppress(OSError):
            self._process.kill()
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(60)
        kill_all(self._pids)


def _model_socket(launch: Launch | ScriptLaunch) -> dict[str, str]:
    """Return the variable that names the socket of a model, if the player may use one."""
    folder = launch.model_folder if isinstance(launch, Launch) else ""
    return {MODEL_SOCKET: str(Path(folder) / "model.sock")} if folder else {}
