"""Runs a script's container from its start to its end, on the host's side."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from arena_kit.log_context import bind
from arena_kit.sandbox.base import SandboxError
from arena_kit.sandbox.channel import Channel
from arena_kit.sandbox.control import Control
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.host import Box
from arena_kit.sandbox.scripts import (
    BEST_EFFORT,
    MAX_LOG_BYTES,
    OnOutput,
    ScriptEnd,
    ScriptLaunch,
    ScriptLimits,
    plain_output,
)
from arena_kit.text import plain_text

KILL_SECONDS = 15.0
"""How long after its limit the host ends a script that its supervisor, with its share of a processor, has not ended."""
LOOK_SECONDS = 1.0
Seconds = TypeVar("Seconds", float, None)


def script_arguments(launch: ScriptLaunch, *, channel: str, player: str, work: str) -> list[str]:
    """Return the player server's arguments for a script; the paths are those inside the sandbox."""
    limits = launch.limits
    return [
        "script", "--channel", channel, "--player", player, "--work", work, "--environment", launch.environment_id,
        "--seconds", str(limits.seconds), "--log-limit", str(limits.log_limit_bytes), "--nice", str(limits.nice),
        "--ionice", str(limits.ionice_class << 13 | (limits.ionice_level if limits.ionice_class == BEST_EFFORT else 0)),
        "--open-files", str(limits.open_files), "--file-limit", str(limits.file_limit_bytes),
    ]  # fmt: skip


def follow(launch: ScriptLaunch, channel_dir: Path, start: Callable[[Channel], Box], on_output: OnOutput) -> ScriptEnd:
    """Start a container, wait until its script has ended, and remove every trace of it.

    Raises SandboxError for a fault of the platform, and what `on_output` raises.
    """
    channel, control, box = Channel(channel_dir), Control(), None
    try:
        listener = channel.listen("control.sock")
        try:
            box = start(channel)
            bind(container_id=box.id)
            deadline = time.monotonic() + launch.limits.start_seconds
            control.connection = listener.accept(deadline, box.is_alive)
        finally:
            listener.close()
        if not control.is_open:
            # The supervisor connects before any code of the script runs, so this is a fault of the platform.
            raise SandboxError("The script's container did not come up.", code="container_failed")
        return _wait(launch.limits, control, box, on_output)
    finally:
        control.close()
        try:
            if box is not None:
                box.remove()
        finally:
            channel.close()


def _wait(limits: ScriptLimits, control: Control, box: Box, on_output: OnOutput) -> ScriptEnd:
    """Return how the script ended, according to its supervisor, or to its container when the supervisor is lost."""
    begun, printed, score = time.monotonic(), "", ""
    longest = limits.seconds + KILL_SECONDS
    cpu_seconds: float | None = None

    def end(ending: Ending, message: dict[str, Any]) -> ScriptEnd:
        status = message.get("status")
        return ScriptEnd(
            ending,
            status if type(status) is int else None,
            # The supervisor measures from the script's start, which a busy host may notice late.
            min(_seconds(message.get("wall_seconds"), time.monotonic() - begun), longest),
            cpu_seconds if cpu_seconds is not None else _seconds(message.get("cpu_seconds"), None),
            plain_output(str(message.get("log", printed)))[: MAX_LOG_BYTES + 64],
            plain_output(score)[: MAX_LOG_BYTES + 64],
        )

    while True:
        message = control.message(time.monotonic() + LOOK_SECONDS)
        # The time is read every time, because it is unknown once the container is gone.
        cpu_seconds = cpu if (cpu := box.cpu_seconds()) is not None else cpu_seconds
        event = None if message is None else message.get("event")
        if message is not None and event == "printed":
            printed = str(message.get("text"))
        elif message is not None and event == "score":
            score = str(message.get("text"))
            continue
        elif message is not None and event == "ended":
            return end(_ending(message), message)
        elif message is not None:
            why = plain_text(str(message.get("why")))[:200]
            raise SandboxError(f"The script could not be started: {why}.", code="container_failed")
        elif not control.is_open:
            ending = box.ending()
            # A supervisor lost in any other way counts as the script's fault; scripts could force a new run otherwise.
            if ending is Ending.KILLED_FROM_OUTSIDE:
                raise SandboxError("The script's container was killed from outside.", code="container_killed")
            return end(Ending.OUT_OF_MEMORY if ending is Ending.OUT_OF_MEMORY else Ending.KILLED, {})
        elif time.monotonic() - begun > longest:
            return end(Ending.TIMED_OUT, {})
        on_output(plain_output(printed))


def _ending(message: dict[str, Any]) -> Ending:
    status = message.get("status")
    if message.get("timed_out") is True:
        return Ending.TIMED_OUT
    # The kernel may have killed only a child of the script; the script has not failed if it went on without it.
    if message.get("oom") is True and status != 0:
        return Ending.OUT_OF_MEMORY
    return Ending.EXITED if type(status) is int and status >= 0 else Ending.KILLED


def _seconds(value: object, otherwise: Seconds) -> float | Seconds:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
        return float(value)
    return otherwise
