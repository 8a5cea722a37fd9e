"""Opens files until it is refused, at most 2,000, and tries to be allowed more."""

from __future__ import annotations

import os
import resource

from tests.hostile import probe
from tests.hostile.probe import tried, until_refused


class Player(probe.Player):
    def attack(self) -> None:
        most = 4096
        tried("raising the limit", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
        opened: list[int] = []
        until_refused("open", lambda _: opened.append(os.open("/dev/null", os.O_RDONLY)), 2000)
        for descriptor in opened:
            os.close(descriptor)
        tried("core dumps", lambda: resource.getrlimit(resource.RLIMIT_CORE)[1])
