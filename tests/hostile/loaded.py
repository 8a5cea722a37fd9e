"""Players that outlast a case: a start costs more than all else that a case does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from arena_kit.sandbox.base import Container, Host, Launch, Sandbox


class Loaded:
    """Copies of one player that stay loaded from one case to the next. Use it as a context.

    A pool of workers has threads, which would count as left over by a case; here nothing happens between two duels.
    """

    def __init__(self, sandbox: Sandbox, launch: Callable[[], Launch]) -> None:
        """launch: returns how to start another copy."""
        self._sandbox, self._launch = sandbox, launch
        self._idle: list[Host] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove all that are not in a duel."""
        while self._idle:
            self._idle.pop().close()

    def ready(self, count: int) -> None:
        """Have this many that wait. Raises SandboxError and PlayerDidNotStart."""
        while len(self._idle) < count:
            self._idle.append(self._sandbox.start(self._launch()))

    def slot(self, _: Launch) -> Container:
        """Return a slot of one that waits, else of a new one. Raises SandboxError and PlayerDidNotStart."""
        is_kept = bool(self._idle)
        host = self._idle.pop() if is_kept else self._sandbox.start(self._launch())
        try:
            slot = host.slot()
        except BaseException:
            host.close()
            raise
        if is_kept:
            slot.on_close = self._put_back
        return slot

    def _put_back(self, host: Host) -> None:
        if host.reusable:
            self._idle.append(host)
        else:
            host.close()
