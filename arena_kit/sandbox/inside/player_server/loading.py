"""Loads a player once, in a process of its own, and forks a new process for every duel."""

from __future__ import annotations

import argparse
import gc
import os
import random
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

from . import descriptors, printing, process, serving
from .playing import load_player, play, report
from .site import arena_packages

ORDERS, MODEL = 3, 4
"""The descriptors over which the supervisor sends orders, and of the connection to a language model in a pod."""
MODEL_DESCRIPTOR = "ARENA_MODEL_DESCRIPTOR"
"""The variable that names the latter."""


def run(options: argparse.Namespace) -> int:
    """Load the player, then follow the supervisor's orders; return the exit status."""
    orders = socket.socket(fileno=ORDERS)
    printing.install()
    try:
        arena_packages.add(options.packages)
        serving.import_numpy()
        if os.environ.get("ARENA_MODEL_SOCKET") or os.environ.get(MODEL_DESCRIPTOR):
            from . import arena_model

            sys.modules["arena_model"] = arena_model
        randomness = Randomness()
        form, make = load_player(options.player)
    except BaseException as error:
        return report(error)
    gc.freeze()
    orders.sendall(b"loaded\n")
    received = Orders(orders, options.channel)
    for word, connect in received:
        if word == "serve":
            return play(connect, form, make)
        if word == "seal":
            # From now on, this process's children cannot read, trace or interrupt it.
            signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals() - {signal.SIGCHLD})
            process.prctl(process.PR_SET_DUMPABLE, 0)
            orders.sendall(b"sealed\n")
        elif word == "fork":
            if (between := os.fork()) == 0:
                # After a second fork, the duel's process is the supervisor's child, and this one never notices its end.
                if os.fork() == 0:
                    orders.sendall(b"duel %d\n" % os.getpid())
                    os.close(orders.detach())
                    os.setsid()
                    signal.pthread_sigmask(signal.SIG_SETMASK, [])
                    process.prctl(process.PR_SET_DUMPABLE, 1)
                    randomness.renew()
                    os._exit(play(connect, form, make))
                os._exit(0)
            os.waitpid(between, 0)
            received.close_passed()
            orders.sendall(b"forked\n")
    return 0


class Orders:
    """Reads the supervisor's orders: a word, and how to connect the wire of the duel that it begins.

    An order names the wire's socket, or passes a descriptor over which the supervisor hands over the connected wire, in
    a container where the player may not make sockets.
    """

    def __init__(self, connection: socket.socket, channel: str) -> None:
        self._connection, self._channel = connection, channel
        self._passed: list[int] = []

    def __iter__(self) -> Iterator[tuple[str, Callable[[], socket.socket]]]:
        rest = b""
        while True:
            data, passed = descriptors.receive(self._connection, 4096, 4)
            if not data:
                return
            self._passed += passed
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                word, _, wire = line.decode().strip().partition(" ")
                yield word, self._connector(wire)

    def _connector(self, wire: str) -> Callable[[], socket.socket]:
        if not self._passed:
            return lambda: connected(os.path.join(self._channel, wire))
        return lambda: handed_over(self._passed[-1])

    def close_passed(self) -> None:
        """Close the descriptors that were passed, which belong to duels' processes."""
        while self._passed:
            os.close(self._passed.pop())


def connected(path: str) -> socket.socket:
    """Connect the wire."""
    wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    wire.connect(path)
    return wire


def handed_over(descriptor: int) -> socket.socket:
    """Ask the supervisor for the connected wire."""
    with socket.socket(fileno=descriptor) as supervisor:
        supervisor.sendall(b"r")
        _, passed = descriptors.receive(supervisor, 1, 1)
    if not passed:
        raise ConnectionResetError("The duel is over.")
    return socket.socket(fileno=passed[0])


class Randomness:
    """Gives every duel different random numbers, unless the player set a seed while it was loaded."""

    def __init__(self) -> None:
        self._state: Any = None
        self._numpy_seeded = False
        seed = random.seed

        def noted_seed(*arguments: Any, **options: Any) -> None:
            seed(*arguments, **options)
            self._state = random.getstate()

        random.seed = noted_seed
        # The submission may bring its own package with the name numpy.
        self._numpy = getattr(serving.numpy, "random", None)
        if self._numpy is not None:
            self._renew_numpy = numpy_seed = self._numpy.seed

            def noted_numpy_seed(*arguments: Any, **options: Any) -> None:
                numpy_seed(*arguments, **options)
                self._numpy_seeded = True

            self._numpy.seed = noted_numpy_seed

    def renew(self) -> None:
        """Set up the generators in a duel's process."""
        # Python seeds `random` anew in every fork; NumPy does not.
        if self._state is not None:
            random.setstate(self._state)
        if self._numpy is not None and not self._numpy_seeded:
            self._renew_numpy()
