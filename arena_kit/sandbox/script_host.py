"""A script's container from its start to its end, as its host sees it."""

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
    ScriptEnd,
    ScriptLaunch,
    ScriptLimits,
    Watch,
    plain_output,
)
from arena_kit.text import plain_text

KILL_SECONDS = 15.0
"""How much later than its time a script's supervisor may end it, on its share of a processor, before the host does."""
WATCH_SECONDS = 1.0
Seconds = TypeVar("Seconds", float, None)


def script_arguments(launch: ScriptLaunch, *, channel: str, player: str, work: str) -> list[str]:
    """Arguments of the player server for a script; paths are those inside the sandbox."""
    limits = launch.limits
    return [
        "script", "--channel", channel, "--player", player, "--work", work, "--environment", launch.environment_id,
        "--seconds", str(limits.seconds), "--log-limit", str(limits.log_limit_bytes), "--nice", str(limits.nice),
        "--ionice", str(limits.ionice_class << 13 | (limits.ionice_level if limits.ionice_class == BEST_EFFORT else 0)),
        "--open-files", str(limits.open_files), "--file-limit", str(limits.file_limit_bytes),
    ]  # fmt: skip


def follow(launch: ScriptLaunch, channel_dir: Path, start: Callable[[Channel], Box], watch: Watch) -> ScriptEnd:
    """Start a container and stay with it until its script has ended and every trace of it is removed.

    Raises SandboxError for a fault of the platform, and what `watch` raises.
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
            # The supervisor connects before a line of the script runs.
            raise SandboxError("The script's container did not come up.", code="container_failed")
        return _wait(launch.limits, control, box, watch)
    finally:
        control.close()
        try:
            if box is not None:
                box.remove()
        finally:
            channel.close()


def _wait(limits: ScriptLimits, control: Control, box: Box, watch: Watch) -> ScriptEnd:
    """How the script ended, told by its supervisor, or by its container when that is lost."""
    begun, printed = time.monotonic(), ""
    longest = limits.seconds + KILL_SECONDS
    cpu_seconds: float | None = None

    def end(ending: Ending, message: dict[str, Any]) -> ScriptEnd:
        status = message.get("status")
        return ScriptEnd(
            ending,
            status if type(status) is int else None,
            # A busy host may have heard of the script long after it began.
            min(_seconds(message.get("wall_seconds"), time.monotonic() - begun), longest),
            cpu_seconds if cpu_seconds is not None else _seconds(message.get("cpu_seconds"), None),
            plain_output(str(message.get("log", printed)))[: MAX_LOG_BYTES + 64],
        )

    while True:
        message = control.message(time.monotonic() + WATCH_SECONDS)
        # Every time: nobody can tell any more when the whole container is gone.
        cpu_seconds = cpu if (cpu := box.cpu_seconds()) is not None else cpu_seconds
        event = None if message is None else message.get("event")
        if message is not None and event == "printed":
            printed = str(message.get("text"))
        elif message is not None and event == "ended":
            return end(_ending(message), message)
        elif message is not None:
            why = plain_text(str(message.get("why")))[:200]
            raise SandboxError(f"The script could not be started: {why}.", code="container_failed")
        elif not control.is_open:
            ending = box.ending()
            # A supervisor that is lost otherwise is its script's doing, or scripts would run again when they like.
            if ending is Ending.KILLED_FROM_OUTSIDE:
                raise SandboxError("The script's container was killed from outside.", code="container_killed")
            return end(Ending.OUT_OF_MEMORY if ending is Ending.OUT_OF_MEMORY else Ending.KILLED, {})
        elif time.monotonic() - begun > longest:
            return end(Ending.TIMED_OUT, {})
        watch(plain_output(printed))


def _ending(message: dict[str, Any]) -> Ending:
    status = message.get("status")
    if message.get("timed_out") is True:
        return Ending.TIMED_OUT
    # The kernel may have ended one of its children only: a script that goes on without it has not failed by that.
    if message.get("oom") is True and status != 0:
        return Ending.OUT_OF_MEMORY
    return Ending.EXITED if type(status) is int and status >= 0 else Ending.KILLED


def _seconds(value: object, otherwise: Seconds) -> float | Seconds:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
        return float(value)
    return otherwise
