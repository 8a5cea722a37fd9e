"""The interface of all sandboxes: start a player behind a socket, tell how it ended, and leave nothing behind."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from arena_kit.environment.spec import Limits
from arena_kit.errors import PlatformFault
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.scripts import OnOutput, ScriptEnd, ScriptLaunch

FOLDER_PREFIX = "folder:"
"""An image name with this prefix is an unpacked archive in a folder of this host."""

EXIT_SECONDS = 5.0
"""How long to wait for a container that is about to exit, to learn how it ended; a busy host may be slow."""


class SandboxError(PlatformFault):
    """The platform could not run a player, which is never the player's fault. The message is a sentence for people."""


class SandboxUnavailable(SandboxError):
    """This sandbox cannot be used on this machine now."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The container to start for a player.

    image: name of an image on the engine, or `folder:PATH`. name: unique on the host, so that it also serves as a
    mutex. packages: where the requirements of a folder are installed: for containers an image that the folder is
    mounted on, for local processes another folder; empty without requirements. labels: put on the container, so that
    the leftovers of a dead worker can be found. core: CPU core to pin it to; None for any. fresh: load the player for
    one duel only, in the process that plays. in_background: keep it off its core, where another duel is played, and at
    low priority, until it has a slot. model_folder: folder of this host with the socket model.sock, by which the player
    reaches a language model; empty without one. own_image: whether all files of the image are the submission's, its
    Python too: then what its supervisor sends or fails to do is the player's, and nothing of it is used twice.
    """

    image: str
    name: str
    limits: Limits
    labels: Mapping[str, str]
    core: int | None = None
    fresh: bool = False
    in_background: bool = False
    packages: str = ""
    model_folder: str = ""
    own_image: bool = False


class Container(Protocol):
    """A player in a sandbox, for one duel."""

    @property
    def wire(self) -> socket.socket:
        """The referee's end of the stream socket to the player server."""

    def ending(self) -> Ending:
        """Return how it ended, or RUNNING. Waits at most EXIT_SECONDS for an exit that is under way.

        Raises SandboxError when the whole container was killed from outside.
        """

    def raise_if_paused(self) -> None:
        """Raise SandboxError when it was paused from outside, because the player is not at fault for a delay then."""

    def log(self) -> str:
        """Return the player's output: its start and end, at most `limits.log_limit_bytes`, with the cut marked."""

    def cpu_seconds(self) -> float | None:
        """Return the CPU time that the container has used in its life; None where the host cannot measure it."""

    def throttle(self) -> None:
        """Give it the processor only while no other process needs it."""

    def close(self) -> None:
        """Kill it and everything that it started, and remove every trace on the host. May be called twice."""


class Slot(Container, Protocol):
    """A player in a container that may outlast its duel."""

    on_close: Callable[[Host], None]
    """Called with the container when the duel is over."""

    @property
    def container_id(self) -> str:
        """The container's name in the log."""

    @property
    def why_cold(self) -> str:
        """Why the container can be used for one duel only; "" when it can be used for many."""


class Host(Protocol):
    """A container with a loaded player, which gives it a slot for one duel after another."""

    @property
    def why_cold(self) -> str:
        """Why it can be used for one duel only; "" when it can be used for many."""

    @property
    def reusable(self) -> bool:
        """Return whether another duel can have a slot in it now."""

    def slot(self) -> Slot:
        """Start a new process of the player and connect its wire. Raises SandboxError and PlayerDidNotStart."""

    def close(self) -> None:
        """Kill everything in it and remove every trace on the host. May be called twice."""


class Sandbox(Protocol):
    """A way to run players apart from the referee and from each other."""

    name: str

    def check(self) -> None:
        """Raise SandboxUnavailable with the reason when players cannot be started here now."""

    def start(self, launch: Launch) -> Host:
        """Start a container and return when its server has loaded the player.

        Raises SandboxError for a fault of the platform, and PlayerDidNotStart when the container came up but the player
        was not loaded within `limits.start_seconds`.
        """

    def launch(self, launch: Launch) -> Container:
        """Start a container with a player for one duel; closing the result removes the container."""

    def run_to_end(self, launch: ScriptLaunch, on_output: OnOutput) -> ScriptEnd:
        """Run a script submission in a container of its own; return when every trace of the container is removed.

        on_output: called about once a second with the end of the output; an exception that it raises ends the script.
        Raises SandboxError for a fault of the platform; everything that the script does itself gives a ScriptEnd.
        """

    def reap(self, label: str, live: Callable[[], frozenset[str]]) -> int:
        """Remove the containers whose value of `label` is not in `live()`; return how many.

        live: called after the containers are listed, so that one launched meanwhile is not taken for a leftover.
        """


class PlayerDidNotStart(Exception):
    """The container ran, but the player did not connect, which is the player's fault. Carries its log."""

    def __init__(self, message: str, *, log: str, ending: Ending) -> None:
        super().__init__(message)
        self.log = log
        self.ending = ending
