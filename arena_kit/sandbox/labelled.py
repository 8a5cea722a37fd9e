"""Finds local players by the labels in their environment and beside their channel, and kills them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

MARK = "ARENA_CONTAINER"
"""The environment variable by which all processes of a player are found, even those that left its session."""
CHANNELS = "ARENA_CHANNELS"
"""The environment variable with the folder of an arena's channels, which no other arena has."""
LABELS = "labels.json"
"""The file in a channel's folder with the labels of its launch, by which leftovers of dead workers are found."""


def kill_all(find: Callable[[], list[int]]) -> None:
    """Kill processes until `find` returns no more of them, or about a second has passed."""
    for _ in range(100):
        if not (left := find()):
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def label_variable(label: str) -> str:
    """Return the environment variable that holds the value of a label."""
    return "ARENA_LABEL_" + label.replace(".", "_")


def labelled_processes(label: str, prefix: str | None = None, *, channels: Path | None = None) -> list[tuple[int, str]]:
    """Return (pid, value) for each of this user's processes whose environment has the label.

    channels: of these, those whose channel is in this folder; others are of another arena.
    """
    variable = os.fsencode(label_variable(label) if prefix is None else prefix + label)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            items = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        values = dict(item.partition(b"=")[::2] for item in items)
        if variable in values and (channels is None or values.get(CHANNELS.encode()) == os.fsencode(channels)):
            found.append((int(entry.name), values[variable].decode()))
    return found


def labelled_folders(parent: Path, label: str) -> list[tuple[Path, str]]:
    """Return (folder, value) for each channel of a launch with the label."""
    found = []
    for path in parent.glob(f"*/{LABELS}"):
        with contextlib.suppress(OSError, ValueError):
            value = json.loads(path.read_text()).get(label)
            if value is not None:
                found.append((path.parent, value))
    return found
