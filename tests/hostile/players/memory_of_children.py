"""Three children fill 200 MB each: no one of them is above the limit, all together are."""

from __future__ import annotations

import os
import time

from tests.hostile import probe
from tests.hostile.probe import say

CHILDREN = 3


def fill(ready: int) -> None:
    block = bytearray(b"x") * (200 << 20)
    os.write(ready, b"f")
    # Held until all have theirs.
    time.sleep(1)
    os._exit(block[-1] != ord("x"))


class Player(probe.Player):
    def attack(self) -> None:
        reader, writer = os.pipe()
        for _ in range(CHILDREN):
            if os.fork() == 0:
                fill(writer)
        for _ in range(CHILDREN):
            os.wait()
        os.close(writer)
        say(f"tried filling: done by {len(os.read(reader, 16))} of {CHILDREN} children")
