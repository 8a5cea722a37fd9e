"""Runs players as local processes, for a person's own code on their own machine, never for other people's code.

Every player gets resource limits, a clean environment and a session of its own, and is killed with everything that it
started. Where util-linux `unshare` works, it also gets its own process, network and IPC namespaces.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from arena_kit.sandbox.base import EXIT_SECONDS, Container, Launch, SandboxError, SandboxUnavailable
from arena_kit.sandbox.channel import Channel
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.host import PlayerHost, slot_once
from arena_kit.sandbox.script_host import follow, script_arguments
from arena_kit.sandbox.scripts import ScriptEnd, ScriptLaunch, Watch
from arena_kit.sandbox.startup import FIRST_PLAYER_UID, PLAYER_ENVIRONMENT, PLAYER_SERVER, player_folder, player_uid

Arguments = Callable[[Path, Path, Path], list[str]]
"""Returns the player server's arguments for the channel's folder, the folder of the submission's files, and a home."""
MARK = "ARENA_CONTAINER"
"""The environment variable by which all processes of a player are found, even those that left its session."""
LABELS = "labels.json"
"""The file in a channel's folder with the labels of its launch, by which leftovers of dead workers are found."""


@functools.cache
def namespace_command() -> tuple[str, ...]:
    """Return the command prefix that gives a process its own namespaces; empty where this machine does not allow it."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    spaces = ["--pid", "--net", "--ipc", "--mount-proc", "--fork", "--kill-child=KILL"]
    user = [] if os.geteuid() == 0 else ["--user", "--map-current-user"]
    command = (unshare, *user, *spaces)
    probe = subprocess.run([*command, "true"], capture_output=True, timeout=60, check=False)
    return command if probe.returncode == 0 else ()


@functools.cache
def power_command() -> tuple[str, ...]:
    """Return the command prefix that drops root's powers; empty for other users, and where it does not work."""
    setpriv = shutil.which("setpriv")
    command = (setpriv or "", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all")
    return command if setpriv and os.geteuid() == 0 and _starts(command) else ()


@functools.cache
def has_own_users() -> bool:
    """Return whether submissions run as other users, which needs root and an interpreter that they can read."""
    return bool(power_command()) and _starts((*power_command(), *_as_user(FIRST_PLAYER_UID)))


def _as_user(uid: int) -> tuple[str, ...]:
    return (f"--reuid={uid}", f"--regid={uid}", "--clear-groups")


def _starts(command: tuple[str, ...]) -> bool:
    """Return whether the player server's interpreter works behind a command prefix."""
    check = f"import ctypes, array; open({str(PLAYER_SERVER / 'start.py')!r}).close()"
    probe = subprocess.run(
        [*namespace_command(), *command, sys.executable, "-s", "-P", "-c", check],
        capture_output=True, cwd="/", timeout=60, check=False,
    )  # fmt: skip
    return probe.returncode == 0


def _hand_over(folder: Path, home: Path, uid: int) -> Path:
    """Give the player's user its home; return the folder, or a copy where that user cannot read the original."""
    os.chown(home, uid, uid)
    if _is_readable(folder):
        return folder
    copy = home.with_name("player")
    # Links are copied as links: root following them could copy files that the player must not read.
    shutil.copytree(folder, copy, symlinks=True)
    for path in [copy, *copy.rglob("*")]:
        os.chown(path, uid, uid, follow_symlinks=False)
    return copy


def _is_readable(folder: Path) -> bool:
    """Whether other users can reach and list a folder."""
    return all(path.stat().st_mode & 0o001 for path in [folder, *folder.parents]) and bool(folder.stat().st_mode & 4)


def _packages_for_others(folder: Path, home: Path) -> Path:
    """Return a folder of packages that other users can read: links to the files if the folder's parents are private."""
    if _is_readable(folder):
        return folder
    copy = home.with_name("packages")
    shutil.copytree(folder, copy, symlinks=True, copy_function=_link)
    return copy


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
    return target


class ProcessSandbox:
    """Starts players as processes of this host."""

    name = "process"

    def __init__(self, channel_dir: Path) -> None:
        self._channel_dir = channel_dir

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
        return PlayerHost(launch, self._channel_dir, self._starter(launch, arguments, core))

    def run_to_end(self, launch: ScriptLaunch, watch: Watch) -> ScriptEnd:
        limits = launch.limits
        # The kernel counts processes per user and user namespace, and the limit must not count a person's own ones.
        pids = limits.pids if has_own_users() or "--user" in namespace_command() else 0

        def arguments(channel: Path, player: Path, home: Path) -> list[str]:
            given = script_arguments(launch, channel=str(channel), player=str(player), work=str(home / "work"))
            return [*given, "--data-limit", str(limits.memory_limit_bytes), "--pids", str(pids)]

        return follow(launch, self._channel_dir, self._starter(launch, arguments, launch.core), watch)

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
        processes = _labelled_processes(label)
        folders = _labelled_folders(self._channel_dir, label)
        keep = live()
        dead = {pid for pid, value in processes if value not in keep}
        # The processes end before their folders are removed, because they could still write to them.
        _kill_all(lambda: [pid for pid, _ in _labelled_processes(label) if pid in dead])
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
        home = channel_folder / "home"
        home.mkdir()
        environment = {
            **PLAYER_ENVIRONMENT,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "TMPDIR": str(home),
            MARK: self._token,
            **{_label_variable(label): value for label, value in launch.labels.items()},
        }
        powers, packages = power_command(), launch.packages
        if has_own_users():
            uid = player_uid(launch.name)
            powers += _as_user(uid)
            folder = _hand_over(folder, home, uid)
            packages = str(_packages_for_others(Path(packages), home)) if packages else ""
        command = [
            *namespace_command(), *powers, sys.executable, "-s", "-P", str(PLAYER_SERVER / "start.py"),
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
        return [pid for pid, value in _labelled_processes(MARK, prefix="") if value == self._token]

    def remove(self) -> None:
        """Kill the process, its session, and all other processes with its token."""
        self._killed = True
        with contextlib.suppress(OSError):
            self._process.kill()
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(60)
        _kill_all(self._pids)


def _kill_all(find: Callable[[], list[int]]) -> None:
    """Kill processes until `find` returns no more of them, or about a second has passed."""
    for _ in range(100):
        if not (left := find()):
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _label_variable(label: str) -> str:
    return "ARENA_LABEL_" + label.replace(".", "_")


def _labelled_processes(label: str, prefix: str | None = None) -> list[tuple[int, str]]:
    """Return (pid, value) for each of this user's processes whose environment has the label."""
    variable = (_label_variable(label) if prefix is None else prefix + label).encode() + b"="
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        for item in environment.split(b"\0"):
            if item.startswith(variable):
                found.append((int(entry.name), item[len(variable) :].decode()))
                break
    return found


def _labelled_folders(parent: Path, label: str) -> list[tuple[Path, str]]:
    """Return (folder, value) for each channel of a launch with the label."""
    found = []
    for path in parent.glob(f"*/{LABELS}"):
        with contextlib.suppress(OSError, ValueError):
            value = json.loads(path.read_text()).get(label)
            if value is not None:
                found.append((path.parent, value))
    return found
