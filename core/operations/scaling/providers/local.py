"""Hosts that are groups of worker processes on this machine."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from django.conf import settings

from core.operations.scaling.providers import ProviderFailed


@dataclass(slots=True)
class LocalProvider:
    """Starts `manage.py run_workers QUEUE... --host NAME`, each with a lock file that it and its forks hold.

    The kernel opens the lock when the last of them has died, so a process that takes over knows which still live.
    """

    folder: Path
    command: Sequence[str]
    slots: int
    _children: list[subprocess.Popen[bytes]] = field(default_factory=list)
    youngest_minutes: ClassVar[float] = 0
    oldest_minutes: ClassVar[float] = 0
    names_hosts: ClassVar[bool] = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        manage = str(settings.BASE_DIR / "manage.py")
        command = [sys.executable, manage, "run_workers", *options["queues"]]
        return cls(settings.DATA_DIR / "hosts", command, options["slots"])

    def hosts(self) -> list[str]:
        # Children that have ended are taken note of here.
        self._children = [child for child in self._children if child.poll() is None]
        self.folder.mkdir(parents=True, exist_ok=True)
        return sorted(file.stem for file in self.folder.glob("*.lock") if _is_locked(file))

    def nameless(self) -> int:
        return 0

    def create(self, name: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self._file(name)
        with file.open("w") as lock, self._log(name).open("ab") as log:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                # The shell's id is that of the program that takes its place. It is written there and not here, where it
                # would be missing if this process died now, and nothing could remove the host any more.
                child = subprocess.Popen(
                    ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(file), *self.command, "--host", name],
                    env={**os.environ, "DUEL_PARALLELISM": str(self.slots), "METRICS_PORT": "0"},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    pass_fds=(lock.fileno(),),
                    start_new_session=True,
                )
            except OSError as error:
                raise ProviderFailed(f"The workers cannot be started: {error.strerror}.") from None
        self._children.append(child)

    def destroy(self, name: str) -> None:
        file = self._file(name)
        if not (file.exists() and _is_locked(file)):
            return
        with suppress(ProcessLookupError, ValueError):
            os.kill(int(file.read_text()), signal.SIGTERM)

    def close(self) -> None:
        """Ask all hosts to end: without this process nothing would remove them."""
        for name in self.hosts():
            self.destroy(name)
        for child in self._children:
            with suppress(subprocess.TimeoutExpired):
                child.wait(timeout=settings.STOP_GRACE_SECONDS + 10)

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.lock"

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"


def _is_locked(file: Path) -> bool:
    """Return whether a process of a host lives; the file of one that has died is removed."""
    with suppress(FileNotFoundError), file.open("r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        file.unlink()
        file.with_suffix(".log").unlink(missing_ok=True)
    return False
