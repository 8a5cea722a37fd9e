"""Players on the real player server in a thread of the test, which is fast and shows them all that players see."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any

from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.inside.player_server.serving import Server, import_numpy


class ThreadedContainer:
    """A Container whose player server is a thread."""

    why_cold = ""
    container_id = "thread"

    def __init__(self, make: Any, parallel_matches: int = 64) -> None:
        """make: the class of the player."""
        import_numpy()
        self.wire, self._theirs = socket.socketpair()
        server = Server(self._theirs, "player", make, make(False), parallel_matches)
        self._thread = threading.Thread(target=self._serve, args=(server,), daemon=True)
        self._thread.start()

    def _serve(self, server: Server) -> None:
        with contextlib.suppress(OSError):
            server.run()

    def ending(self) -> Ending:
        return Ending.EXITED

    def raise_if_paused(self) -> None: ...

    def log(self) -> str:
        return ""

    def cpu_seconds(self) -> float | None:
        return None

    def throttle(self) -> None: ...

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._theirs.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._theirs.close()
