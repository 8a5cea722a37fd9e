"""Keeps long-running processes of workers alive and leaves none of them behind."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Protocol

BACK_OFF_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)
HEALTHY_SECONDS = 60.0
"""Lifetime after which a child's next restart uses the first pause of BACK_OFF_SECONDS again."""
STEP_SECONDS = 0.5


class Process(Protocol):
    """A child that leads a group of its own: a `subprocess.Popen`, or a fork (`core.jobs.forks`)."""

    @property
    def pid(self) -> int: ...

    @property
    def stdout(self) -> IO[str] | None: ...

    @property
    def returncode(self) -> int | None: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def terminate(self) -> None: ...


def programs(command: Sequence[str], variables: Mapping[str, Mapping[str, str]]) -> Callable[[str], Process]:
    """Return a function that starts one command with the variables of a name."""

    def start(name: str) -> Process:
        return subprocess.Popen(
            command,
            env={**os.environ, **variables[name]},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # Its own group: Ctrl-C reaches only the supervisor, which then ends the children in order.
            start_new_session=True,
        )

    return start


@dataclass(slots=True)
class _Child:
    process: Process | None = None
    started_at: float = 0.0
    start_at: float = 0.0
    deaths: int = 0


class WorkerProcesses:
    """Runs a child of each name, and restarts those that end.

    start: starts the child of a name. clock: seconds, monotonic. write: takes a line for people; each line of a child
    is prefixed with its name.
    """

    def __init__(
        self,
        start: Callable[[str], Process],
        names: Iterable[str],
        *,
        clock: Callable[[], float],
        write: Callable[[str], None],
    ) -> None:
        self._start_child = start
        self._clock = clock
        self._write = write
        self._writing = threading.Lock()
        self._children = {name: _Child() for name in names}
        self._stopping = False

    def ask_to_stop(self) -> None:
        """Make `run` return soon. Takes no lock, so a signal handler may call it."""
        self._stopping = True

    def run(self, *, grace_seconds: float) -> None:
        """Keep all children running until asked to stop, then end them."""
        try:
            while not self._stopping:
                self.step()
                time.sleep(STEP_SECONDS)
        finally:
            self.end(grace_seconds=grace_seconds)

    def step(self) -> None:
        """Check every child once: start those that are due, note those that have ended."""
        for name, child in self._children.items():
            now = self._clock()
            if child.process is not None and child.process.poll() is not None:
                # Processes that the child had started would run on beside its successor.
                _kill_group(child.process)
                child.deaths = child.deaths + 1 if now - child.started_at < HEALTHY_SECONDS else 1
                pause = BACK_OFF_SECONDS[min(child.deaths, len(BACK_OFF_SECONDS)) - 1]
                self._write(f"{name} ended with {child.process.returncode}; it starts again in {pause:g} s.")
                child.process, child.start_at = None, now + pause
            if child.process is None and now >= child.start_at:
                child.process, child.started_at = self._start(name), now

    def end(self, *, grace_seconds: float) -> None:
        """Ask all children to end, wait, then kill what is left of their groups."""
        processes = [child.process for child in self._children.values() if child.process is not None]
        for process in processes:
            with suppress(ProcessLookupError):
                process.terminate()
        deadline = self._clock() + grace_seconds
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - self._clock()))
            _kill_group(process)
            process.wait()
        for child in self._children.values():
            child.process = None

    def _start(self, name: str) -> Process:
        # No other thread holds the lock of an output while this process is forked: the child could never write there.
        with self._writing:
            process = self._start_child(name)
        assert process.stdout is not None
        threading.Thread(target=self._copy, args=(name, process.stdout), name=f"output-{name}", daemon=True).start()
        return process

    def _copy(self, name: str, output: IO[str]) -> None:
        with output:
            for line in output:
                text = line.rstrip()
                # A JSON record names its process itself, and a prefix would make it invalid.
                with self._writing:
                    self._write(text if text.startswith("{") else f"[{name}] {text}")


def _kill_group(process: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
