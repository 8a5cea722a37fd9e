"""Process 1 of a player's container: starts and ends the player's processes and limits their output.

It takes orders from the host over `control.sock`, one JSON object per frame: `sit` (begin a duel, with the name of the
wire's socket) and `stand` (end the duel). Its messages are `loaded`, `ended`, and `printed` with the first output of a
player, which the host keeps if the whole container is killed. The player never sees this connection.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import selectors
import signal
import socket
import sys
import time
from typing import Any

from arena_kit.frames import MESSAGE, Splitter, pack_data, unpack_data

from . import descriptors, loading, process, walls
from .printing import Log

GRACE_SECONDS = 1.0
"""How long a player may take to end by itself when its duel is over."""
LINE_BYTES = 4096
MODEL = "model.sock"
"""The socket in the channel to the language model, for players that may not make sockets."""
POD_SECONDS = 300.0
"""How long process 1 of a pod's container waits for the referee's container to come up."""
MEMORY_SECONDS = 0.05
"""Seconds between two looks at the memory of a container whose engine would kill all of it, process 1 as well."""
EARLY_REPORTS, EARLY_BYTES = 32, 8192
"""Number and total size of `printed` messages; both are small, because the host may not read before the duel ends."""


class Lines:
    """Reads whole lines of at most LINE_BYTES from a socket."""

    def __init__(self, source: socket.socket) -> None:
        self.source, self._rest = source, b""

    def read(self) -> list[str] | None:
        """Return the lines that have arrived; None when the other side has closed, or sent too long a line."""
        with contextlib.suppress(OSError):
            if data := self.source.recv(LINE_BYTES):
                *whole, self._rest = (self._rest + data).split(b"\n")
                if len(self._rest) <= LINE_BYTES:
                    return [line.decode("utf-8", "replace") for line in whole]
        return None


class Supervisor:
    """The event loop of process 1."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._log = Log(options.log_limit)
        self._control = self._connected("control.sock", POD_SECONDS if options.pod else 0.0)
        self._control.settimeout(5)
        # The buffer holds a whole log while the host is busy with the other player.
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self._orders, theirs = socket.socketpair()
        self._output, writer = os.pipe()
        os.set_blocking(self._output, False)
        self._early_reports = EARLY_REPORTS
        self._early_bytes = EARLY_BYTES
        self._is_loaded = False
        self._maps = -1
        self._warm = False
        self._traits = ""
        """The loader's traits before its last fork, e.g. signals and limits, which a duel must not change."""
        self._duel: int | None = None
        """The process of the running duel; 0 while it is unknown."""
        self._reaped: dict[int, int] = {}
        self._deadline: float | None = None
        self._oom_kills = process.oom_kills()
        self._is_over_memory = False
        self._wire = ""
        """The name of the wire's socket, in a pod."""
        self._handover: socket.socket | None = None
        """In a pod, the supervisor's end of a socket pair, over which the duel's process requests its wire."""
        self._is_loader_dead = self._has_forked = False
        self._sleep: process.Sleep | None = None
        """The loader's counts after its last fork."""
        self._model = self._connected(MODEL, POD_SECONDS) if options.model else None
        self._loader = self._start_loader(theirs, writer)
        theirs.close()
        os.close(writer)
        self._loaded_log = self._log

    def run(self) -> None:
        """Serve until the host hangs up, or the container cannot be used any more."""
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector = selector = selectors.DefaultSelector()
        orders, control = Lines(self._orders), Splitter(LINE_BYTES)
        for source in (self._output, self._orders, self._control, wake):
            selector.register(source, selectors.EVENT_READ)
        while True:
            self._reap()
            left = None if self._deadline is None else self._deadline - time.monotonic()
            if left is not None and left <= 0:
                self._end_duel(-1)
                continue
            if self._options.memory_limit:
                left = MEMORY_SECONDS if left is None else min(left, MEMORY_SECONDS)
                self._limit_memory()
            ready = {key.fileobj for key, _ in selector.select(left)}
            if wake in ready:
                os.read(wake, 4096)
            if self._output in ready:
                self._drain(once=True)
            if self._orders in ready:
                self._hear_loader(orders)
            if self._handover in ready:
                self._hand_over_wire()
            if self._control in ready:
                self._hear_host(control)

    # --- Orders of the host ---------------------------------------------------------------------------------

    def _hear_host(self, control: Splitter) -> None:
        data = b""
        with contextlib.suppress(OSError):
            data = self._control.recv(LINE_BYTES)
        if not data:
            self._exit()
        control.feed(data)
        while (frame := control.take()) is not None:
            self._obey(unpack_data(frame[1]))

    def _obey(self, command: dict[str, Any]) -> None:
        if command["do"] == "sit":
            self._log = self._loaded_log.copy()
            self._early_reports, self._early_bytes = EARLY_REPORTS, EARLY_BYTES
            self._oom_kills = process.oom_kills()
            self._duel = 0 if self._warm else self._loader
            self._reaped.clear()
            self._has_forked = False
            if self._warm:
                os.kill(self._loader, signal.SIGCONT)
                # The traits are read again, because the host may have moved the container to another core.
                self._traits = process.traits(self._loader)
            word = "fork" if self._warm else "serve"
            if self._options.pod:
                self._wire = command["wire"]
                self._handover, theirs = socket.socketpair()
                self._selector.register(self._handover, selectors.EVENT_READ)
                self._order(f"{word} ", theirs)
                theirs.close()
            else:
                self._order(f"{word} {command['wire']}")
        elif command["do"] == "stand" and (self._duel is not None or not self._is_loaded):
            self._deadline = time.monotonic() + GRACE_SECONDS

    def _report(self, event: str, **values: object) -> None:
        with contextlib.suppress(OSError):
            self._control.sendall(pack_data(MESSAGE, {"event": event, **values}))

    def _order(self, line: str, *passed: socket.socket) -> None:
        with contextlib.suppress(OSError):
            descriptors.send(self._orders, line.encode() + b"\n", [end.fileno() for end in passed])

    def _connected(self, name: str, patience: float) -> socket.socket:
        """Connect to a socket of the host in the channel's folder, which must appear within `patience` seconds."""
        until = time.monotonic() + patience
        while True:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.connect(os.path.join(self._options.channel, name))
                return connection
            except OSError:
                connection.close()
                if time.monotonic() >= until:
                    raise
                time.sleep(0.02)

    def _hand_over_wire(self) -> None:
        """Connect the wire and pass it to the duel's process, which may not make sockets and has just asked for it."""
        assert self._handover is not None
        self._selector.unregister(self._handover)
        with contextlib.suppress(OSError):
            if self._handover.recv(1):
                wire = self._connected(self._wire, 0.0)
                descriptors.send(self._handover, b"w", [wire.fileno()])
                wire.close()
        self._handover.close()
        self._handover = None

    def _limit_memory(self) -> None:
        """End the player's processes when they use more memory than allowed."""
        if process.memory_bytes() > self._options.memory_limit:
            self._is_over_memory = self._is_loader_dead = True
            process.kill_others()
            self._end_duel(signal.SIGKILL)

    def _exit(self) -> None:
        process.kill_others()
        if self._options.pod:
            # A pod's container cannot be started a second time, so process 1 begins anew for the next duel.
            os.execv("/proc/self/exe", sys.orig_argv)
        os._exit(0)

    # --- The process that loads -----------------------------------------------------------------------------

    def _start_loader(self, orders: socket.socket, writer: int) -> int:
        pid = os.fork()
        if pid:
            return pid
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        model = os.dup(self._model.fileno()) if self._model else -1
        os.dup2(orders.fileno(), loading.ORDERS)
        if model >= 0:
            os.dup2(model, loading.MODEL)
            os.environ[loading.MODEL_DESCRIPTOR] = str(loading.MODEL)
        os.closerange(loading.ORDERS + 1 + (model >= 0), 1024)
        process.prctl(process.PR_SET_PDEATHSIG, signal.SIGKILL)
        # The player may read its own files under /proc, as libraries do, but not its supervisor's.
        process.prctl(process.PR_SET_DUMPABLE, 1)
        process.go_first()
        process.limit_resources(self._options.data_limit, processes=self._options.pids)
        if self._options.pod:
            walls.build()
        os._exit(loading.run(self._options))

    def _hear_loader(self, orders: Lines) -> None:
        lines = orders.read()
        if lines is None:
            self._selector.unregister(self._orders)
        for line in lines or []:
            self._take_line(line)

    def _take_line(self, line: str) -> None:
        word, _, value = line.partition(" ")
        if word == "loaded" and not self._is_loaded:
            self._drain()
            self._is_loaded, self._loaded_log = True, self._log
            why = (
                "the player is loaded for one duel only"
                if self._options.fresh
                else process.objection(self._loader, loading.ORDERS)
            )
            if why:
                self._report("loaded", warm=False, why=why)
            else:
                self._maps = process.maps(self._loader)
                self._order("seal")
        elif word == "sealed" and self._maps >= 0 and not self._traits:
            self._traits = process.traits(self._loader)
            why = ""
            if not process.is_sealed(self._loader):
                why = "its memory stays open to its children"
            elif not process.halt(self._loader):
                why = "it has started other processes"
            self._warm = not why
            self._report("loaded", warm=self._warm, why=why)
        elif word == "forked" and self._duel is not None and not self._has_forked:
            self._has_forked, self._sleep = True, self._sleep_of_loader()
        elif word == "duel" and self._duel == 0 and value.isdigit() and int(value) != self._loader:
            self._duel = int(value)

    def _sleep_of_loader(self) -> process.Sleep | None:
        """Wait until the loader sleeps and return its counts."""
        for _ in range(1000):
            with contextlib.suppress(OSError):
                if (sleep := process.Sleep.of(self._loader)) is not None:
                    return sleep
            time.sleep(0.0005)
        return None

    def _loader_is_untouched(self) -> bool:
        """Return whether the loader has slept through the duel, with the same traits and no shared memory."""
        try:
            now = process.Sleep.of(self._loader)
            return (
                self._sleep is not None
                and now is not None
                and self._sleep.lasted(now)
                and process.traits(self._loader) == self._traits
                and not process.shared_memory(self._maps)
            )
        except OSError:
            return False

    # --- Ends -----------------------------------------------------------------------------------------------

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = found
                self._reaped[pid] = status
                if pid == self._loader:
                    self._is_loader_dead = True
                    if not (self._warm and self._duel):
                        self._end_duel(status)
        # The duel ends only after the loader sleeps again, so that changes to the loader during the duel show.
        is_settled = self._has_forked or self._is_loader_dead or not self._warm
        if self._duel and is_settled and self._duel in self._reaped:
            self._end_duel(self._reaped[self._duel])

    def _end_duel(self, status: int) -> None:
        """Kill the duel's processes, remove its files and report to the host; exit unless the state is clean then.

        status: of the player's process, as `waitpid` returns it; -1 when it had to be killed.
        """
        self._deadline, self._duel = None, None
        if self._handover is not None:
            self._selector.unregister(self._handover)
            self._handover.close()
            self._handover = None
        keep = self._warm and not self._is_loader_dead
        clean = process.kill_others(self._loader if keep else 0) and keep
        self._drain()
        if clean:
            clean = self._loader_is_untouched()
            try:
                for folder in filter(os.path.isdir, self._options.wipe):
                    process.wipe(folder)
            except (OSError, RecursionError):
                clean = False
            # The loader is stopped between duels, so that it cannot take the processor from other duels.
            clean = clean and process.halt(self._loader)
        self._report(
            "ended",
            status=None if status < 0 else process.exit_status(status),
            oom=self._is_over_memory or process.oom_kills() > self._oom_kills,
            clean=clean,
            log=self._log.text(),
        )
        if not clean:
            self._exit()

    def _drain(self, *, once: bool = False) -> None:
        """Read the output until there is no more now, or with `once` one piece of it."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._output, 65536):
                self._log.add(data)
                if self._early_reports and self._early_bytes:
                    early = data[: self._early_bytes]
                    self._early_reports -= 1
                    self._early_bytes -= len(early)
                    self._report("printed", text=early.decode("utf-8", "replace"))
                if once:
                    return


def main() -> None:
    """Start as process 1 of a container, or as an ordinary process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--channel", required=True)
    parser.add_argument("--player", required=True)
    parser.add_argument("--packages", default="", help="Folder of the packages that the submission requires.")
    parser.add_argument("--wipe", action="append", default=[], help="Folder to empty after each duel.")
    parser.add_argument("--fresh", action="store_true", help="Play one duel, in the process that loads the player.")
    parser.add_argument("--log-limit", type=int, default=65536)
    parser.add_argument("--data-limit", type=int, default=0, help="Bytes of memory per process, 0 for no limit.")
    parser.add_argument("--pids", type=int, default=0, help="Number of the user's processes, 0 for no limit.")
    parser.add_argument("--pod", action="store_true", help="The container shares its network with others in a pod.")
    parser.add_argument("--model", action="store_true", help="In a pod: connect to the gateway to a language model.")
    parser.add_argument("--memory-limit", type=int, default=0, help="Bytes of all processes, 0 if an engine limits it.")
    options = parser.parse_args()
    process.become_supervisor()
    try:
        if options.pod:
            for folder in filter(os.path.isdir, options.wipe):
                process.wipe(folder)
            walls.check()
        Supervisor(options).run()
    except Exception:
        # Nothing of a player may outlive its supervisor.
        process.kill_others()
        sys.exit(1)
