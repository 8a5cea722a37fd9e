"""Players of this process: each answers on the arena's own player server, in a thread behind a pair of sockets."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import socket
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena_kit.environment.spec import EnvironmentSpec, Limits
from arena_kit.opponents import opponent_maker
from arena_kit.sandbox.base import PlayerDidNotStart
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.inside.player_server.serving import Server, import_numpy
from arena_kit.text import plain_line

FORM = "player"
END_SECONDS = 0.2
"""How long to wait for a thread that is about to end."""


@dataclass(frozen=True, slots=True)
class LocalPlayer:
    """A player of this process. make: makes an object with the player contract. limit: matches at once, 0 for any."""

    name: str
    make: Callable[[bool], Any]
    limit: int = 0

    @classmethod
    def of(cls, spec: EnvironmentSpec, given: Any, seed: int) -> LocalPlayer:
        """Return the player of what is given: see `opponent_maker`. Raises UnknownOpponent."""
        maker, seeds = opponent_maker(spec, given), itertools.count(seed)
        if isinstance(given, (str, Path)):
            return cls(plain_line(Path(given).resolve().name), lambda _: maker(next(seeds) % 2**32))
        name = plain_line(str(getattr(given, "__name__", type(given).__name__)))
        # One object cannot follow several matches, unless it says so; a function and a class can.
        one_at_a_time = not (inspect.isroutine(given) or inspect.isclass(given))
        return cls(name, lambda _: maker(next(seeds) % 2**32), int(one_at_a_time))

    def launch(self, limits: Limits, parallel: int) -> ThreadContainer:
        """Start the player. Raises PlayerDidNotStart with the traceback of what it raised, or after `start_seconds`."""
        return ThreadContainer(self, limits.start_seconds, parallel)


class ThreadContainer:
    """A Container whose player server is a thread. A thread cannot be killed: a player that hangs stays until it ends.

    What the player prints is printed where the referee runs.
    """

    def __init__(self, player: LocalPlayer, start_seconds: float, parallel: int) -> None:
        import_numpy()
        self.wire, self._theirs = socket.socketpair()
        self._player, self._parallel = player, parallel
        self._loaded, self._trace = threading.Event(), ""
        self._thread = threading.Thread(target=self._serve, name=f"player {player.name}", daemon=True)
        self._thread.start()
        is_in_time = self._loaded.wait(start_seconds)
        if self._trace or not is_in_time:
            self.wire.close()
            ending = Ending.EXITED if self._trace else Ending.RUNNING
            message = self._trace.rstrip().rpartition("\n")[2] or f"It was not ready within {start_seconds:g} seconds."
            raise PlayerDidNotStart(message, log=self._trace, ending=ending)

    def _serve(self) -> None:
        # Ctrl-C reaches the main thread alone; what a player itself raises of these two is its exit.
        with self._theirs, contextlib.suppress(OSError, SystemExit, KeyboardInterrupt):
            try:
                first = self._player.make(False)
            except BaseException:
                self._trace = traceback.format_exc()
                return
            finally:
                self._loaded.set()
            asked = getattr(first, "max_parallel_matches", None)
            limit = asked if isinstance(asked, int) and asked > 0 else self._player.limit or self._parallel
            Server(self._theirs, FORM, self._player.make, first, limit).run()

    def ending(self) -> Ending:
        self._thread.join(END_SECONDS)
        return Ending.RUNNING if self._thread.is_alive() else Ending.EXITED

    def raise_if_paused(self) -> None:
        """Nothing pauses a thread."""

    def log(self) -> str:
        return self._trace

    def cpu_seconds(self) -> float | None:
        return None

    def throttle(self) -> None:
        """A thread has no priority of its own."""

    def close(self) -> None:
        self.wire.close()
        self._thread.join(END_SECONDS)
