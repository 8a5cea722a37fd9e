"""Containers of the honest player that outlast a case."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from arena_kit.sandbox.base import Container, Host, Launch, Sandbox


class Loaded:
    """Honest players that stay loaded from one case to the next. Use it as a context.

    A pool of workers has threads, which would count as left over by a case; here nothing happens between two duels.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._idle: list[Host] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove all that are not in a duel. The next duel starts others."""
        while self._idle:
            self._idle.pop().close()

    def slot(self, launch: Launch) -> Container:
        """Return a slot of one that waits, or of a new one. Raises SandboxError and PlayerDidNotStart."""
        if not self._idle:
            labels = {key: f"{value}-bystander" for key, value in launch.labels.items()}
            self._idle.append(self._sandbox.start(replace(launch, labels=labels)))
        host = self._idle.pop()
        try:
            slot = host.slot()
        except BaseException:
            host.close()
            raise
        slot.on_close = self._put_back
        return slot

    def _put_back(self, host: Host) -> None:
        if host.reusable:
            self._idle.append(host)
        else:
            host.close()
