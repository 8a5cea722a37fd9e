"""Starts threads until it is refused, at most 300 that end by themselves."""

from __future__ import annotations

import threading

from tests.hostile import probe
from tests.hostile.probe import until_refused


class Player(probe.Player):
    def attack(self) -> None:
        done = threading.Event()
        until_refused("thread", lambda _: threading.Thread(target=done.wait, args=(8,), daemon=True).start(), 300)
        done.set()
