"""The host's side of the folder that one container shares with the runner: two Unix sockets, a wire and a log."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from duel_runner.sandbox.base import SandboxError

POLL_SECONDS = 0.02


def own_folder(path: Path) -> None:
    """Make a folder that nobody but this user (or root) can write to. Raises SandboxError when somebody else has it."""
    path.mkdir(mode=0o711, parents=True, exist_ok=True)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
        raise SandboxError(
            f"{path} belongs to somebody else or can be written to by others. Remove it, or set CHANNEL_DIR.",
            code="channel_failed",
        )


class Channel:
    """Listens for a player server to connect; collects what its player prints, within a limit.

    The parent folder lets nobody list it and the names are random, so another user of the host cannot find the
    sockets; the container sees its own folder only.
    """

    def __init__(self, parent: Path, log_limit_bytes: int) -> None:
        try:
            own_folder(parent)
            self.folder = Path(tempfile.mkdtemp(dir=parent))
            self.folder.chmod(0o755)
            self._wire = _listen(self.folder / "wire.sock")
            self._log = _listen(self.folder / "log.sock")
        except OSError as error:
            raise SandboxError(
                f"The channel folder {parent} cannot be used: {error.strerror or error}.", code="channel_failed"
            ) from None
        # Head and tail of the log come from the supervisor; a little more leaves room for its cut mark.
        self._limit = log_limit_bytes + 256
        self._collected = bytearray()
        self._collector = threading.Thread(target=self._collect, name="player-log", daemon=True)
        self._collector.start()

    def accept(self, seconds: float, alive: Callable[[], bool]) -> socket.socket | None:
        """The player's end of the wire, or None when it did not connect in time or is no longer alive."""
        deadline = time.monotonic() + seconds
        self._wire.settimeout(POLL_SECONDS)
        next_look = 0.0
        while (now := time.monotonic()) < deadline:
            try:
                wire, _ = self._wire.accept()
            except TimeoutError:
                if now >= next_look:
                    if not alive():
                        return None
                    next_look = now + 0.2
                continue
            self._close_listener(self._wire, "wire.sock")
            return wire
        return None

    def log(self, wait_seconds: float) -> str:
        """What was printed so far; waits for the end of the log at most `wait_seconds`."""
        self._collector.join(wait_seconds)
        text = bytes(self._collected).decode("utf-8", "replace")
        return text.replace("\x00", "")

    def close(self) -> None:
        self._close_listener(self._wire, "wire.sock")
        self._close_listener(self._log, "log.sock")
        self._collector.join(1)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _collect(self) -> None:
        try:
            connection, _ = self._log.accept()
        except OSError:
            return
        with connection:
            while len(self._collected) < self._limit:
                try:
                    data = connection.recv(min(65536, self._limit - len(self._collected)))
                except OSError:
                    return
                if not data:
                    return
                self._collected += data

    def _close_listener(self, listener: socket.socket, name: str) -> None:
        with contextlib.suppress(OSError):
            # Wakes an accept that still waits in the collector's thread.
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        (self.folder / name).unlink(missing_ok=True)


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(0o666)
    listener.listen(1)
    return listener
