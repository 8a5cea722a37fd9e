"""Runs players in locked-down containers of a Docker engine.

`docs/reference/security-players.md` gives the reasons for each setting.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import DockerException
from docker.types import Mount

from arena_kit.image.container import ulimits
from arena_kit.image.engine import connect
from arena_kit.machine.processes import allowed_cores
from arena_kit.sandbox.base import Container, Launch, SandboxError, SandboxUnavailable
from arena_kit.sandbox.channel import Channel, short_folder
from arena_kit.sandbox.docker_box import CPU_SHARES, LEAST_CPU_SHARES, DockerBox, container_remove, engine_errors
from arena_kit.sandbox.host import PlayerHost
from arena_kit.sandbox.script_host import follow, script_arguments
from arena_kit.sandbox.scripts import OnOutput, ScriptEnd, ScriptLaunch
from arena_kit.sandbox.slots import slot_once
from arena_kit.sandbox.startup import (
    MODEL_SOCKET,
    PLAYER_ENVIRONMENT,
    PLAYER_SERVER,
    copy_server,
    player_folder,
    player_uid,
)

CHANNEL_LABEL = "arena.channel"
"""Holds the name of the container's channel folder, so that the leftovers of a dead worker can be removed."""
PIDS_LIMIT = 64
GVISOR = "runsc"
GVISOR_THREADS = 100
"""Added to a script's limit on processes, because gVisor's own threads (fewer than this) count against it."""
SUPERVISOR_OOM_SCORE = 900
"""Lower than the 1000 of a submission's processes, so that the kernel kills those first when memory runs out, and
process 1 lives to report it."""
BACKGROUND_CPU_SHARES = 64
CHANNEL, PLAYER, MODEL = "/channel", "/player", "/model"  # inside the container
HOSTS_FILE = "/etc/hosts"
HOSTS = "127.0.0.1\tlocalhost\n::1\tlocalhost\n"
"""The engine writes a file of hosts only for networks of its own, and players may call their loopback by name."""
TMP = "/tmp"  # the only writable folder inside the container
MESSAGE_QUEUES = "/dev/mqueue"  # the calls for queues are refused, but a player can make files there
TMP_BYTES = 64 * 1024 * 1024
SECCOMP_PROFILE = Path(__file__).with_name("seccomp.json")
PACKAGES = "/opt/requirements"
"""The folder of a submission's requirements in its image; process 1 never has it on its path."""
COMMAND = (
    'unset PYTHONPATH PYTHONHOME; exec python3 -s -u /channel/player_server/start.py "$@" </dev/null >/dev/null 2>&1'
)
"""Starts the supervisor. Its output is discarded, because the engine's work on its streams is outside the container's
limits. The option -I would also ignore PYTHONHASHSEED; -s, the unset variables and start.py do the rest of it."""


class DockerSandbox:
    """Starts players in containers without a network, capabilities or a writable root."""

    name = "docker"

    def __init__(self, *, base_image: str, channel_dir: Path, runtime: str = "runc", cgroup_parent: str = "") -> None:
        """cgroup_parent: control group with limits for all players of this host together; "" for the engine's own."""
        self._base_image, self._runtime, self._channel_dir = base_image, runtime, short_folder(channel_dir)
        self._cgroup_parent = cgroup_parent

    @functools.cached_property
    def _engine(self) -> docker.DockerClient:
        return connect()

    def check(self) -> None:
        with engine_errors():
            runtimes = self._engine.info().get("Runtimes") or {}
        if self._runtime not in runtimes:
            raise SandboxUnavailable(
                f"The Docker engine has no runtime {self._runtime}, only {', '.join(sorted(runtimes))}.",
                code="runtime_missing",
            )

    def start(self, launch: Launch) -> PlayerHost:
        if launch.limits.gpu_count:
            sentence = "The Docker sandbox gives out no graphics cards. Play this environment with SANDBOX=kubernetes."
            raise SandboxError(sentence, code="gpu_missing")

        def box(channel: Channel) -> DockerBox:
            return self._box(self._start(self._options(launch, channel)), launch.core)

        return PlayerHost(launch, Channel(self._channel_dir), box)

    def launch(self, launch: Launch) -> Container:
        return slot_once(self.start(launch))

    def run_to_end(self, launch: ScriptLaunch, on_output: OnOutput) -> ScriptEnd:
        def box(channel: Channel) -> DockerBox:
            return self._box(self._start(self._script_options(launch, channel)), None)

        return follow(launch, self._channel_dir, box, on_output)

    def reap(self, label: str, live: Callable[[], frozenset[str]]) -> int:
        with engine_errors():
            found = self._engine.containers.list(all=True, filters={"label": label}, ignore_removed=True)
            keep = live()
            dead = [container for container in found if container.labels.get(label) not in keep]
            for container in dead:
                container_remove(container)
                folder = container.labels.get(CHANNEL_LABEL, "")
                if folder and folder == Path(folder).name:
                    shutil.rmtree(self._channel_dir / folder, ignore_errors=True)
            return len(dead)

    def _box(self, container: Any, core: int | None) -> DockerBox:
        return DockerBox(container, core, self._cgroup_parent)

    def _start(self, options: dict[str, Any]) -> Any:
        with engine_errors():
            # `run` would pull a missing image.
            container = self._engine.containers.create(**options)
            try:
                container.start()
            except BaseException:
                with contextlib.suppress(DockerException, requests.RequestException):
                    container_remove(container)
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
                    str(core) for core in sorted(allowed_cores()) if core != launch.core
                ) or str(launch.core)
        # A pinned container is limited to one core already, and a quota would only add pauses.
        if not is_pinned or limits.cpu_count < 1:
            options["nano_cpus"] = int(limits.cpu_count * 1e9)
        return options

    def _script_options(self, launch: ScriptLaunch, channel: Channel) -> dict[str, Any]:
        limits = launch.limits
        arguments = script_arguments(launch, channel=CHANNEL, player=PLAYER, work=f"{TMP}/work")
        pids = limits.pids
        if self._runtime == GVISOR:
            # gVisor's own kernel enforces the limit on the script's processes exactly.
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
        # nice(1) has an effect only among the processes of one container.
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
        """Return the container options that isolate a submission. arguments: for the player server."""
        # A worker may run in a container itself, and then the channel folder is the only one that the engine can mount.
        copy_server(PLAYER_SERVER, channel.folder)
        # With `volumes` instead of mounts, the engine would make a missing folder.
        hosts = channel.folder / "hosts"
        hosts.write_text(HOSTS)
        hosts.chmod(0o644)
        mounts = [
            Mount(CHANNEL, str(channel.folder), type="bind", read_only=True),
            Mount(HOSTS_FILE, str(hosts), type="bind", read_only=True),
        ]
        image = launch.image
        if (folder := player_folder(image)) is not None:
            if not folder.stat().st_mode & stat.S_IXOTH:
                raise SandboxError(
                    f"Players run as another user, who cannot read the folder {folder}. Run chmod -R o+rX on it.",
                    code="folder_unreadable",
                )
            mounts.append(Mount(PLAYER, str(folder), type="bind", read_only=True))
            image = launch.packages or self._base_image
        environment = {**PLAYER_ENVIRONMENT, "HOME": TMP}
        if isinstance(launch, Launch) and launch.model_folder:
            mounts.append(Mount(MODEL, launch.model_folder, type="bind", read_only=True))
            environment[MODEL_SOCKET] = f"{MODEL}/model.sock"
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
            "environment": environment,
            "mounts": mounts,
            # The kernel's own empty network. With the mode alone the engine would manage a network without anything in
            # it, and start itself twice for that, which is a third of what a container's start costs.
            "network_disabled": True,
            "network_mode": "none",
            "ipc_mode": "none",
            "read_only": True,
            "tmpfs": {TMP: f"rw,noexec,nosuid,nodev,size={TMP_BYTES},nr_inodes=4096,mode=1777"},
            "mem_limit": launch.limits.memory_limit_bytes,
            "memswap_limit": launch.limits.memory_limit_bytes,
            "oom_score_adj": SUPERVISOR_OOM_SCORE,
            "pids_limit": pids,
            # With control groups of version 1, the engine's default shows paths of the host.
            "cgroupns": "private",
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges", f"seccomp={SECCOMP_PROFILE.read_text()}"],
            "ulimits": ulimits(open_files=open_files, file_bytes=file_bytes),
            "log_config": {"type": "none"},
            "healthcheck": {"test": ["NONE"]},
            "stdin_open": False,
            # An engine that shuts down need not wait for players.
            "stop_signal": "SIGKILL",
            # The supervisor must be process 1, whatever the engine's default is.
            "init": False,
        }
        if self._cgroup_parent:
            options["cgroup_parent"] = self._cgroup_parent
        return options
