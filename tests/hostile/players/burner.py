"""Burns CPU in threads and children for as long as the duel lasts, 8 s at most."""

from __future__ import annotations

import os
import threading
import time

from tests.hostile import probe
from tests.hostile.probe import say


def burn() -> None:
    until = time.monotonic() + 8
    while time.monotonic() < until:
        pass


class Player(probe.Player):
    def attack(self) -> None:
        threading.Thread(target=burn, daemon=True).start()
        for _ in range(3):
            if os.fork() == 0:
                burn()
                os._exit(0)
        say("burning")
