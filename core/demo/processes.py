"""Child processes of the demo: started in groups of their own, their output in files, stopped for certain."""

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


class Child:
    """A running program of the demo.

    name: for people. log_path: where its output goes.
    """

    def __init__(self, name: str, command: Sequence[str], *, log_path: Path) -> None:
        self.name = name
        self.log_path = log_path
        with log_path.open("ab") as log:
            # A session of its own: Ctrl-C reaches the demo alone, which then stops its children in order.
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
        """The end of its log."""
        with self.log_path.open(encoding="utf-8", errors="replace") as log:
            return "".join(deque(log, maxlen=LOG_LINES_SHOWN)).rstrip()

    def ask_to_stop(self) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def stop(self, *, grace_seconds: float) -> None:
        """Ask it to end, wait, then kill what is left of its group."""
        self.ask_to_stop()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=grace_seconds)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def port_is_free(host: str, port: int) -> bool:
    """Whether a server can listen there."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the server does it: a connection of the last run in TIME_WAIT is no hindrance.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def port_answers(host: str, port: int) -> bool:
    """Whether a server listens there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((host, port)) == 0
