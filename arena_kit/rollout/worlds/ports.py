"""Which ports of a world accept connections, as one command in its network reports."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from arena_kit.rollout.worlds.containers import Containers, Printed
from arena_kit.rollout.worlds.walls import LOOPBACK

LOOK_SECONDS = 1.0
"""How long one look at a service's ports lasts at most."""
_PROGRAM = f"""
import socket, sys, time
left, until = set(map(int, sys.argv[2:])), time.monotonic() + float(sys.argv[1])
while left and time.monotonic() < until:
    for port in sorted(left):
        try:
            socket.create_connection(("{LOOPBACK}", port), 0.5).close()
        except OSError:
            continue
        left.discard(port)
        print(port, flush=True)
    time.sleep(0.01)
"""
"""Prints each port once it accepts. It starts while the services do: a command of its own for each service would make
a world a quarter slower to start."""


class Ports:
    """The ports that accept so far."""

    def __init__(self, output: Printed) -> None:
        self._output = output

    def accept(self, ports: Sequence[int], deadline: float) -> bool:
        """Return whether all of these ports accept, or do so within LOOK_SECONDS. deadline: monotonic."""
        latest = min(deadline, time.monotonic() + LOOK_SECONDS)
        wanted = {str(port).encode() for port in ports}
        while not wanted <= set(self._output.said.split()):
            if not self._output.more(latest):
                return wanted <= set(self._output.said.split())
        return True


@contextlib.contextmanager
def ports_of(containers: Containers, container: str, ports: Sequence[int], deadline: float) -> Iterator[Ports]:
    """Watch ports of the network of a container that has Python, until a monotonic deadline. Raises PlatformFault."""
    seconds = deadline - time.monotonic()
    with containers.follow(
        container, ["python3", "-I", "-S", "-c", _PROGRAM, f"{seconds:.0f}", *map(str, ports)]
    ) as output:
        yield Ports(output)
