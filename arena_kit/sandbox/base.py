"""What every sandbox offers the referee: start a player behind a socket, say how it ended, leave nothing behind."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from arena_kit.environment.spec import Limits
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.scripts import ScriptEnd, ScriptLaunch, Watch

FOLDER_PREFIX = "folder:"
"""An image name with this prefix is an unpacked archive in a folder of this host."""

EXIT_SECONDS = 5.0
"""How long an exit that is under way is waited for, to learn of its kind: a busy host may be slow to tell."""


class SandboxError(Exception):
    """The platform could not run a player: never the player's fault. The message is a sentence for a person."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class SandboxUnavailable(SandboxError):
    """This sandbox cannot be used on this machine (now)."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start.

    image: name of an image of the engine, or `folder:PATH`. name: unique on the host, doubles as a mutex.
    packages: where the requirements of a folder are installed: for containers an image that the folder is mounted
    on, for local processes another folder; '' for no requirements.
    labels: put on the container, so that leftovers of a dead worker can be found.
    core: CPU core to pin to, None for any. fresh: load the player for one duel only, in the process that plays.
    in_background: until it has a slot keep it off its core, where another duel is played, and give way to all others.
    """

    image: str
    name: str
    limits: Limits
    labels: Mapping[str, str]
    core: int | None = None
    fresh: bool = False
    in_background: bool = False
    packages: str = ""


class Container(Protocol):
    """A player in a sandbox, for one duel."""

    @property
    def wire(self) -> socket.socket:
        """Connected stream socket to the player server; the referee's end."""

    def ending(self) -> Ending:
        """How it ended, or RUNNING. Waits at most EXIT_SECONDS for an exit that is under way.

        Raises SandboxError when the whole container was killed from outside.
        """

    def raise_if_paused(self) -> None:
        """Raise SandboxError when somebody outside holds it up: what it does not do then is not its fault."""

    def log(self) -> str:
        """What the player printed, at most `limits.log_limit_bytes` (start and end kept, the cut marked)."""

    def cpu_seconds(self) -> float | None:
        """CPU time that the container has used in its life; None where the host cannot tell."""

    def throttle(self) -> None:
        """Give it the processor only while nobody else wants it."""

    def close(self) -> None:
        """Kill it and everything it started, remove every trace on the host. May be called twice."""


class Slot(Container, Protocol):
    """A player that sits in a container which may outlast its duel."""

    on_close: Callable[[Host], None]
    """What becomes of the container when the duel is over."""

    @property
    def container_id(self) -> str:
        """What the log calls its container."""

    @property
    def why_cold(self) -> str:
        """Why the container can be used for one duel only, '' when for many."""


class Host(Protocol):
    """A container whose server has loaded a player and gives it a slot for one duel after another."""

    @property
    def why_cold(self) -> str:
        """Why it can be used for one duel only, '' when for many."""

    @property
    def reusable(self) -> bool:
        """Whether another duel may have a slot in it now."""

    def slot(self) -> Slot:
        """A fresh process of the player, with its wire connected. Raises SandboxError and PlayerDidNotStart."""

    def close(self) -> None:
        """Kill everything in it and remove every trace on the host. May be called twice."""


class Sandbox(Protocol):
    """A way to run players apart from the referee and from each other."""

    name: str

    def check(self) -> None:
        """Raise SandboxUnavailable, saying why, when players cannot be started here now."""

    def start(self, launch: Launch) -> Host:
        """Start a container and return once its server has loaded the player, or the start limit has passed.

        Raises SandboxError for a fault of the platform, PlayerDidNotStart when the container came up
        but its player was not loaded in time.
        """

    def launch(self, launch: Launch) -> Container:
        """Start a container for one duel with the player in a slot of it; closing it removes the container."""

    def run_to_end(self, launch: ScriptLaunch, watch: Watch) -> ScriptEnd:
        """Run a script submission in a container of its own, and return when every trace of it is removed.

        watch: called about once a second with the end of what was printed; what it raises ends the script.
        Raises SandboxError for a fault of the platform; whatever the script does is a ScriptEnd.
        """

    def reap(self, label: str, live: Callable[[], frozenset[str]]) -> int:
        """Remove what carries `label` with a value not in `live()`; return how many.

        `live` is asked after the containers were listed, so that one launched meanwhile is never taken for a leftover.
        """


class PlayerDidNotStart(Exception):
    """The container ran but the player did not connect: the player's fault. Carries its log."""

    def __init__(self, message: str, *, log: str, ending: Ending) -> None:
        super().__init__(message)
        self.log = log
        self.ending = ending
