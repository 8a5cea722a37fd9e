"""How a script's host reads the messages of its supervisor."""

from __future__ import annotations

import json
import socket

import pytest

from arena_kit.frames import MESSAGE, pack
from arena_kit.sandbox.base import SandboxError
from arena_kit.sandbox.control import Control
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.script_host import KILL_SECONDS, _wait
from arena_kit.sandbox.scripts import ScriptEnd
from arena_kit.tests.scripts import LIMITS


class Box:
    """A fake container that lives until its supervisor is gone."""

    id = "box"

    def __init__(self, ending: Ending) -> None:
        self._ending = ending

    def is_alive(self) -> bool:
        return True

    def ending(self) -> Ending:
        return self._ending

    def cpu_seconds(self) -> float | None:
        return None

    def throttle(self) -> None: ...

    def raise_if_paused(self) -> None: ...

    def bring_forward(self) -> None: ...

    def remove(self) -> None: ...


def told(*messages: object, ending: Ending = Ending.EXITED) -> ScriptEnd:
    """Return how a script ended whose supervisor sends these messages and ends. ending: that of its container."""
    control = Control()
    control.connection, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(b"".join(pack(MESSAGE, json.dumps(message).encode()) for message in messages))
    try:
        return _wait(LIMITS, control, Box(ending), lambda _: None)
    finally:
        control.close()


ENDED = {"event": "ended", "status": 0, "log": "bye\n"}


@pytest.mark.parametrize(
    ("said", "kept"), [(2.5, 2.5), (0, 0.0), (1e12, LIMITS.seconds + KILL_SECONDS)], ids=["late", "none", "too long"]
)
def test_the_supervisor_knows_how_long_a_script_ran(said: float, kept: float) -> None:
    # The host may have been too busy to notice the start.
    assert told({**ENDED, "wall_seconds": said}).wall_seconds == kept


@pytest.mark.parametrize("said", [None, "2", True, -1, float("nan"), float("inf")])
def test_what_is_no_time_is_measured_by_the_host(said: object) -> None:
    assert 0 <= told({**ENDED, "wall_seconds": said}).wall_seconds < LIMITS.seconds


def test_what_was_printed_outlives_a_supervisor_that_is_lost() -> None:
    end = told({"event": "printed", "text": "so far\n"}, ending=Ending.OUT_OF_MEMORY)

    assert (end.ending, end.exit_status, end.log) == (Ending.OUT_OF_MEMORY, None, "so far\n")


def test_a_container_that_is_killed_from_outside_is_no_fault_of_its_script() -> None:
    with pytest.raises(SandboxError) as caught:
        told({"event": "printed", "text": "so far\n"}, ending=Ending.KILLED_FROM_OUTSIDE)
    assert caught.value.code == "container_killed"


def test_a_supervisor_that_is_lost_otherwise_is_its_scripts_doing() -> None:
    end = told({"event": "printed", "text": "so far\n"}, ending=Ending.KILLED)

    assert (end.ending, end.log) == (Ending.KILLED, "so far\n")


@pytest.mark.parametrize("message", [{"event": "failed", "why": "No space"}, {"event": "else"}, {}])
def test_a_script_that_did_not_start_is_the_platforms_fault(message: dict[str, str]) -> None:
    with pytest.raises(SandboxError, match="could not be started") as caught:
        told(message)
    assert caught.value.code == "container_failed"
