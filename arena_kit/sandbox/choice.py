"""Chooses a sandbox for a person's own machine. A site names its sandbox, and never gets another one."""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path

from arena_kit.environment.spec import Limits
from arena_kit.errors import parts_needed
from arena_kit.machine.processes import LINUX, WINDOWS
from arena_kit.sandbox.base import FOLDER_PREFIX, Launch, PlayerDidNotStart, Sandbox, SandboxError, SandboxUnavailable
from arena_kit.text import plain_line

TRIAL_SECONDS = 15.0
IN_ANOTHER_MACHINE = "Docker Desktop and other engines in a machine of their own cannot connect to this one."
TRIAL_PLAYER = """
class Player:
    def __init__(self, train_mode): ...
    def start(self, state, valid_actions): ...
    def step(self, state, valid_actions, prev_reward): ...
    def end(self, state, prev_reward): ...
"""


def local_processes(channel_dir: Path, name: str = "process") -> Sandbox:
    """Return the sandbox of local processes: plain ones by the name `plain`, and where the machine is not Linux."""
    if name == "plain" or not LINUX:
        # Late: only one of them is needed, and the other one needs Linux.
        from arena_kit.sandbox.plain import PlainSandbox

        return PlainSandbox(channel_dir)
    # Late: as above.
    from arena_kit.sandbox.process import ProcessSandbox

    return ProcessSandbox(channel_dir)


def containers(*, base_image: str, runtime: str, channel_dir: Path) -> Sandbox:
    """Return the sandbox of an engine's containers. Raises SandboxUnavailable where it can never work."""
    if WINDOWS:
        raise SandboxUnavailable(
            "a container cannot connect to Windows: use WSL 2, or local processes", code="sandbox_unavailable"
        )
    try:
        # Late: Docker's client and the reading of zips take long to load.
        from arena_kit.sandbox.docker import DockerSandbox
    except ModuleNotFoundError as error:
        if error.name != "docker":
            raise
        raise SandboxUnavailable(
            f"containers need the Python package docker: {parts_needed('docker')}", code="sandbox_unavailable"
        ) from None
    return DockerSandbox(base_image=base_image, runtime=runtime, channel_dir=channel_dir)


@functools.cache
def containers_trouble(base_image: str, runtime: str) -> str:
    """Return why no player starts in a container here, without a full stop; "" if one has just started."""
    with tempfile.TemporaryDirectory(prefix="arena-channel-") as folder:
        try:
            trial(containers(base_image=base_image, runtime=runtime, channel_dir=Path(folder)))
        except SandboxError as error:
            return plain_line(str(error)).rstrip(".")[:200]
    return ""


def trial(sandbox: Sandbox) -> None:
    """Start a player that does nothing, and end it. Raises SandboxError.

    An engine that answers may run in another machine, as Docker Desktop does, whose containers cannot connect to a
    socket of this one: only a start shows it.
    """
    sandbox.check()
    with tempfile.TemporaryDirectory(prefix="arena-trial-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "player.py").write_text(TRIAL_PLAYER, encoding="utf-8")
        limits = Limits(start_seconds=TRIAL_SECONDS)
        try:
            sandbox.launch(Launch(f"{FOLDER_PREFIX}{folder}", f"arena-trial-{os.getpid()}", limits, {})).close()
        except PlayerDidNotStart as error:
            raise SandboxError(str(error), code="container_failed") from None
        except SandboxError as error:
            if error.code != "container_failed":
                raise
            raise SandboxError(f"{error} {IN_ANOTHER_MACHINE}", code=error.code) from None
