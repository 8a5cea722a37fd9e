"""Child processes of the demo: each has its own process group, writes its output to a file and is always stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

LOG_LINES_SHOWN = 15
EXECUTOR_PORT = 50051


class Child:
    """A running program of the demo.

    name: shown to people. log_path: the file that takes its output.
    """

    def __init__(self, name: str, command: Sequence[str], *, log_path: Path) -> None:
        self.name = name
        self.log_path = log_path
        with log_path.open("ab") as log:
            # Its own session: Ctrl-C reaches only the demo, which then stops its children in order.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def last_lines(self) -> str:
        """Return the end of the log."""
        with self.log_path.open(encoding="utf-8", errors="replace") as log:
            return "".join(deque(log, maxlen=LOG_LINES_SHOWN)).rstrip()

    def ask_to_stop(self) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def stop(self, *, grace_seconds: float) -> None:
        """Ask the child to end, wait, then kill what is left of its group."""
        self.ask_to_stop()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=grace_seconds)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def port_is_free(host: str, port: int) -> bool:
    """Return whether a server can listen there."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Like the server: connections of the last run in TIME_WAIT do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_port(host: str, *, other: int) -> int:
    """Return a port on which a server can listen. other: one that is not free, nor is that of `make executor`."""
    while True:
        with socket.create_server((host, 0)) as probe:
            port: int = probe.getsockname()[1]
        if port not in (other, EXECUTOR_PORT):
            return port


def port_answers(host: str, port: int) -> bool:
    """Return whether a server listens there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((host, port)) == 0
