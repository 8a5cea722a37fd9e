"""The programs of browsers, and the actions of keys and mouse that WebDriver and WebDriver BiDi share."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.drivers.driver import PATIENCE_SECONDS

NAMED_KEYS = {
    "Escape": "\ue00c", "Tab": "\ue004", "Enter": "\ue007", "Home": "\ue011", "End": "\ue010",
    "ArrowLeft": "\ue012", "ArrowRight": "\ue014",
}  # fmt: skip
"""Keys of the WebDriver standard that are no characters."""


def key_pressed(key: str) -> list[dict[str, Any]]:
    value = NAMED_KEYS.get(key, key)
    presses = [{"type": kind, "value": value} for kind in ("keyDown", "keyUp")]
    return [{"type": "key", "id": "keys", "actions": presses}]


def mouse_clicked(x: int, y: int) -> list[dict[str, Any]]:
    move = {"type": "pointerMove", "x": x, "y": y, "duration": 0}
    presses = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
    return [
        {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [move, *presses]},
    ]


@contextmanager
def started(command: list[str], environment: Mapping[str, str], output: Path) -> Iterator[subprocess.Popen[bytes]]:
    with output.open("wb") as file:
        process = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def printed(output: Path, pattern: str) -> str:
    """Wait until a program has printed a line that fits, and return the group of the pattern."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (found := re.search(pattern, output.read_text(errors="replace"))):
        assert time.monotonic() < end, output.read_text(errors="replace")
        time.sleep(0.1)
    return found[1]


def patiently(attempt: Callable[[], Any]) -> Any:
    """Return what an attempt returns once nothing refuses the connection."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return attempt()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
