"""Players in locked-down containers of a Docker engine. Reasons: `docs/reference/security-players.md`."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.types import Mount, Ulimit

from arena_kit.image.engine import NoEngine, connect
from arena_kit.sandbox.base import EXIT_SECONDS, Container, Launch, SandboxError, SandboxUnavailable
from arena_kit.sandbox.channel import Channel
from arena_kit.sandbox.cpu import CpuClock
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.host import PlayerHost, slot_once
from arena_kit.sandbox.outside import killed_from_outside
from arena_kit.sandbox.script_host import follow, script_arguments
from arena_kit.sandbox.scripts import ScriptEnd, ScriptLaunch, Watch
from arena_kit.sandbox.startup import PLAYER_ENVIRONMENT, PLAYER_SERVER, player_folder, player_uid

CONFLICT = 409
CHANNEL_LABEL = "arena.channel"
"""Name of the container's channel folder, so that it can be removed with the leftovers of a dead worker."""
PIDS_LIMIT = 64
GVISOR = "runsc"
GVISOR_THREADS = 100
"""More than gVisor needs for itself: they count against the container's processes."""
SUPERVISOR_OOM_SCORE = 900
"""What a submission runs has 1000: of a container that wants too much memory it goes first, and process 1 says why."""
CPU_SHARES, BACKGROUND_CPU_SHARES, LEAST_CPU_SHARES = 1024, 64, 2
REMOVED = "container_removed"
KILLED_STATUS = 128 + signal.SIGKILL
NEWS_SECONDS = 0.5
NOT_COPIED = shutil.ignore_patterns("__pycache__")
CHANNEL, PLAYER = "/channel", "/player"  # inside the container
TMP = "/tmp"  # inside the container, where it is the only writable place
MESSAGE_QUEUES = "/dev/mqueue"  # its calls are refused, but files can be made there
TMP_BYTES = 64 * 1024 * 1024
SECCOMP_PROFILE = Path(__file__).with_name("seccomp.json")
PACKAGES = "/opt/requirements"
"""Where the builder installs what a submission requires; never on the path of process 1."""
COMMAND = (
    'unset PYTHONPATH PYTHONHOME; exec python3 -s -P -u /channel/player_server/start.py "$@" </dev/null >/dev/null 2>&1'
)
"""The supervisor must never write to the engine's own streams: the engine's work is not inside the limits.
Not -I, which would drop PYTHONHASHSEED, too: what else it keeps out is kept out by -s, -P and the unset variables."""


class DockerSandbox:
    """Starts players in containers without network, capabilities or a writable root."""

    name = "docker"

    def __init__(self, *, base_image: str, channel_dir: Path, runtime: str = "runc", cgroup_parent: str = "") -> None:
        """cgroup_parent: control group whose limits hold for all players of this host together, '' for the engine's."""
        self._base_image, self._runtime, self._channel_dir = base_image, runtime, channel_dir
        self._cgroup_parent = cgroup_parent

    @functools.cached_property
    def _engine(self) -> docker.DockerClient:
        return connect()

    def check(self) -> None:
        with _engine_errors():
            runtimes = self._engine.info().get("Runtimes") or {}
        if self._runtime not in runtimes:
            raise SandboxUnavailable(
                f"The Docker engine has no runtime {self._runtime}, only {', '.join(sorted(runtimes))}.",
                code="runtime_missing",
            )

    def start(self, launch: Launch) -> PlayerHost:
        def box(channel: Channel) -> DockerBox:
            return self._box(self._start(self._options(launch, channel)), launch.core)

        return PlayerHost(launch, self._channel_dir, box)

    def launch(self, launch: Launch) -> Container:
        return slot_once(self.start(launch))

    def run_to_end(self, launch: ScriptLaunch, watch: Watch) -> ScriptEnd:
        def box(channel: Channel) -> DockerBox:
            return self._box(self._start(self._script_options(launch, channel)), None)

        return follow(launch, self._channel_dir, box, watch)

    def reap(self, label: str, live: Callable[[], frozenset[str]]) -> int:
        with _engine_errors():
            found = self._engine.containers.list(all=True, filters={"label": label}, ignore_removed=True)
            keep = live()
            dead = [container for container in found if container.labels.get(label) not in keep]
            for container in dead:
                _remove(container)
                folder = container.labels.get(CHANNEL_LABEL, "")
                if folder and folder == Path(folder).name:
                    shutil.rmtree(self._channel_dir / folder, ignore_errors=True)
            return len(dead)

    def _box(self, container: Any, core: int | None) -> DockerBox:
        return DockerBox(container, core, self._cgroup_parent)

    def _start(self, options: dict[str, Any]) -> Any:
        with _engine_errors():
            # Not `run`: it would pull a missing image.
            container = self._engine.containers.create(**options)
            try:
                container.start()
            except BaseException:
                with contextlib.suppress(DockerException, requests.RequestException):
                    _remove(container)
                raise
            return container

    def _options(self, launch: Launch, channel: Channel) -> dict[str, Any]:
        limits = launch.limits
        arguments = [
            "--channel", CHANNEL, "--player", PLAYER, "--packages", PACKAGES,
            "--log-limit", str(limits.log_limit_bytes), "--wipe", TMP, "--wipe", MESSAGE_QUEUES,
            *(["--fresh"] if launch.fresh else []),
        ]  # fmt: skip
        options = self._walls(launch, channel, arguments, pids=PIDS_LIMIT, open_files=256, file_bytes=32 << 20)
        is_pinned = launch.core is not None and launch.core < (os.cpu_count() or 1)
        if is_pinned:
            options["cpuset_cpus"] = str(launch.core)
        if launch.in_background:
            options["cpu_shares"] = BACKGROUND_CPU_SHARES
            if is_pinned:
                options["cpuset_cpus"] = ",".join(
                    str(core) for core in sorted(os.sched_getaffinity(0)) if core != launch.core
                ) or str(launch.core)
        # One core is the limit already, and a quota would throttle.
        if not is_pinned or limits.cpu_count < 1:
            options["nano_cpus"] = int(limits.cpu_count * 1e9)
        return options

    def _script_options(self, launch: ScriptLaunch, channel: Channel) -> dict[str, Any]:
        limits = launch.limits
        arguments = script_arguments(launch, channel=CHANNEL, player=PLAYER, work=f"{TMP}/work")
        pids = limits.pids
        if self._runtime == GVISOR:
            # Its own kernel counts the script's, alone in it, exactly.
            arguments += ["--pids", str(pids)]
            pids += GVISOR_THREADS
        options = self._walls(
            launch,
            channel,
            [*arguments, "--packages", PACKAGES],
            pids=pids,
            open_files=limits.open_files,
            file_bytes=limits.file_limit_bytes,
        )
        options["nano_cpus"] = int(limits.cpu_count * 1e9)
        # Within a container only its own processes are nice to each other.
        options["cpu_shares"] = max(LEAST_CPU_SHARES, round(CPU_SHARES / 1.25**limits.nice))
        if launch.core is not None and launch.core < (os.cpu_count() or 1):
            options["cpuset_cpus"] = str(launch.core)
        return options

    def _walls(
        self,
        launch: Launch | ScriptLaunch,
        channel: Channel,
        arguments: list[str],
        *,
        pids: int,
        open_files: int,
        file_bytes: int,
    ) -> dict[str, Any]:
        """What keeps whatever a submission runs apart from everything else. arguments: of the player server."""
        # A worker may itself run in a container: of its files the engine can only mount the shared channel folder.
        try:
            shutil.copytree(PLAYER_SERVER, channel.folder / PLAYER_SERVER.name, ignore=NOT_COPIED, copy_function=_copy)
        except OSError as error:
            raise SandboxError(f"The player server cannot be copied: {error}.", code="channel_failed") from None
        # Mounts, not volumes: for those the engine would make a missing folder.
        mounts = [Mount(CHANNEL, str(channel.folder), type="bind", read_only=True)]
        image = launch.image
        if (folder := player_folder(image)) is not None:
            if not folder.stat().st_mode & stat.S_IXOTH:
                raise SandboxError(
                    f"Other users may not read the folder {folder}, and players run as one: chmod -R o+rX it.",
                    code="folder_unreadable",
                )
            mounts.append(Mount(PLAYER, str(folder), type="bind", read_only=True))
            image = launch.packages or self._base_image
        uid = player_uid(launch.name)
        options: dict[str, Any] = {
            "image": image,
            "name": launch.name,
            "labels": {**launch.labels, CHANNEL_LABEL: channel.folder.name},
            "runtime": self._runtime,
            "entrypoint": ["/bin/sh", "-c", COMMAND, "sh"],
            "command": arguments,
            "working_dir": TMP,
            "hostname": "player",
            "user": f"{uid}:{uid}",
            "environment": {**PLAYER_ENVIRONMENT, "HOME": TMP},
            "mounts": mounts,
            "network_mode": "none",
            "ipc_mode": "none",
            "read_only": True,
            "tmpfs": {TMP: f"rw,noexec,nosuid,nodev,size={TMP_BYTES},nr_inodes=4096,mode=1777"},
            "mem_limit": launch.limits.memory_limit_bytes,
            "memswap_limit": launch.limits.memory_limit_bytes,
            "oom_score_adj": SUPERVISOR_OOM_SCORE,
            "pids_limit": pids,
            # With control groups of version 1 the engine's default shows the paths of the host.
            "cgroupns": "private",
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges", f"seccomp={SECCOMP_PROFILE.read_text()}"],
            "ulimits": [
                Ulimit(name="nofile", soft=open_files, hard=open_files),
                Ulimit(name="core", soft=0, hard=0),
                Ulimit(name="fsize", soft=file_bytes, hard=file_bytes),
            ],
            "log_config": {"type": "none"},
            "healthcheck": {"test": ["NONE"]},
            "stdin_open": False,
            # An engine that is stopped itself has nothing to wait for.
            "stop_signal": "SIGKILL",
            # The supervisor is process 1 even where the engine's default is another.
            "init": False,
        }  # fmt: skip
        if self._cgroup_parent:
            options["cgroup_parent"] = self._cgroup_parent
        return options


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
            # The control closes a little before the engine knows of the exit.
            self._container.wait(timeout=EXIT_SECONDS)
        state = self._state()
        if state.get("Running"):
            return Ending.RUNNING
        if state.get("ExitCode") != 0:
            # The engine may hear of the end before it hears why.
            time.sleep(NEWS_SECONDS)
            state = self._state()
            with _engine_errors():
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
            with _engine_errors():
                self._container.update(**options)
        except NotFound:
            raise _removed() from None

    def remove(self) -> None:
        self._cpu.close()
        with _engine_errors():
            _remove(self._container)

    def _state(self) -> dict[str, Any]:
        try:
            with _engine_errors():
                self._container.reload()
        except NotFound:
            raise _removed() from None
        state: dict[str, Any] = self._container.attrs["State"]
        return state


def _removed() -> SandboxError:
    """No player can do that: it is nobody's fault who plays."""
    return SandboxError("The container was removed from outside.", code=REMOVED)


def _copy(source: str, target: str) -> str:
    shutil.copyfile(source, target)
    Path(target).chmod(0o644)
    return target


def _remove(container: Any) -> None:
    """Kill and remove a container; it may be gone, or being removed by another."""
    try:
        try:
            container.remove(force=True)
        except requests.ReadTimeout:
            # gVisor is slow now and then to let go of many processes; the engine goes on removing, and says so.
            container.remove(force=True)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != CONFLICT:
            raise


@contextlib.contextmanager
def _engine_errors() -> Iterator[None]:
    """Turn the engine's troubles into SandboxError; NotFound of a container passes, callers know what it means."""
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
