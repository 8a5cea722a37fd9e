"""Process 1 of a script's container: starts the script, keeps the end of its output, and ends what it leaves behind.

It runs no code of the script, and the script cannot see it or its connection to the host. Its messages to the host are
`printed` (the end of both outputs, once a second), `failed` (the script could not be started), and at the end `score`
(the end of standard output) and `ended`.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import resource
import selectors
import signal
import socket
import sys
import time

from arena_kit.frames import MESSAGE, pack_data

from . import process

SCRIPT = "submission.py"
PREVIEW_SECONDS, PREVIEW_BYTES = 1.0, 16384
"""How often the host gets the end of the output, and how much of it; the host keeps it if the container is killed."""
OWN_PROGRAM = "/proc/self/exe"
IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
IOPRIO_WHO_PROCESS = 1
LONGEST_LINE = 4096
"""Longer lines get into the log in pieces."""
LEFT_READS = 64
"""At most this many reads empty the pipe, four times what it can hold; without namespaces, a process that escaped may
still print."""
SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")


class Tail:
    """The last bytes of the output."""

    def __init__(self, limit: int) -> None:
        self._limit, self._data, self.count = limit, bytearray(), 0

    def add(self, data: bytes) -> None:
        self.count += len(data)
        self._data += data
        # The buffer is cut rarely, because a cut moves all kept bytes.
        if len(self._data) > 2 * self._limit:
            del self._data[: -self._limit]

    def text(self, limit: int) -> str:
        """Return at most the last `limit` bytes; the mark of a cut is put into the line that was cut."""
        kept = bytes(self._data[-min(limit, self._limit) :])
        cut = self.count - len(kept)
        return (f"[{cut} bytes cut]" if cut else "") + kept.decode("utf-8", "replace")


class ScriptSupervisor:
    """The event loop of process 1."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._control.connect(os.path.join(options.channel, "control.sock"))
        self._tail = Tail(options.log_limit)
        self._printed = Tail(options.log_limit)
        """Standard output alone, which has the score."""
        self._held = {True: b"", False: b""}
        """The line that each output has begun: the log gets whole lines, or the two would mix within one."""
        self._told = 0
        self._next_preview = 0.0
        self._oom_kills = process.oom_kills()

    def run(self) -> None:
        """Run the script until it ends or the host hangs up."""
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        output, writer = os.pipe()
        errors, error_writer = os.pipe()
        for pipe in (output, errors):
            os.set_blocking(pipe, False)
        try:
            work = self._make_work_folder()
            begun = time.monotonic()
            script = self._start(work, writer, error_writer)
        except OSError as error:
            # A failure before the script runs is not the script's fault.
            self._say("failed", why=f"{error.strerror}: {error.filename or 'fork'}")
            return
        os.close(writer)
        os.close(error_writer)
        selector = selectors.DefaultSelector()
        for source in (output, errors, wake, self._control):
            selector.register(source, selectors.EVENT_READ)
        deadline = begun + self._options.seconds
        status = None
        while status is None and (now := time.monotonic()) < deadline:
            ready = {key.fileobj for key, _ in selector.select(min(deadline - now, PREVIEW_SECONDS))}
            for pipe, is_printed in ((output, True), (errors, False)):
                if pipe in ready and not self._read(pipe, is_printed=is_printed):
                    # The script has closed this output, and may still run.
                    selector.unregister(pipe)
            if wake in ready:
                os.read(wake, 4096)
                status = reaped(script)
            if self._control in ready:
                # The host sends no orders to a script, so it has hung up.
                return
            self._preview()
        wall_seconds = time.monotonic() - begun
        process.kill_others()
        for pipe, is_printed in ((output, True), (errors, False)):
            for _ in range(LEFT_READS):
                if not self._read(pipe, is_printed=is_printed):
                    break
        self._tail.add(b"".join(self._held.values()))
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._say("score", text=self._printed.text(self._options.log_limit))
        self._say(
            "ended",
            status=status,
            timed_out=status is None,
            oom=process.oom_kills() > self._oom_kills,
            wall_seconds=wall_seconds,
            cpu_seconds=used.ru_utime + used.ru_stime,
            log=self._tail.text(self._options.log_limit),
        )

    def _make_work_folder(self) -> str:
        """Make a writable folder with links to the submission's files; return its path."""
        work: str = self._options.work
        os.mkdir(work)
        for name in os.listdir(self._options.player):
            os.symlink(os.path.join(self._options.player, name), os.path.join(work, name))
        return work

    def _start(self, work: str, writer: int, error_writer: int) -> int:
        pid = os.fork()
        if pid:
            return pid
        try:
            os.dup2(writer, 1)
            os.dup2(error_writer, 2)
            os.closerange(3, 1024)
            os.setsid()
            process.prctl(process.PR_SET_PDEATHSIG, signal.SIGKILL)
            process.prctl(process.PR_SET_DUMPABLE, 1)
            step_back(self._options.nice, self._options.ionice)
            os.chdir(work)
            process.limit_resources(
                self._options.data_limit,
                open_files=self._options.open_files,
                file_bytes=self._options.file_limit,
                processes=self._options.pids,
            )
            environment = {
                **os.environ,
                "PYTHONPATH": SITE,
                "ARENA_PACKAGES": self._options.packages,
                "ARENA_SOURCES": os.pathsep.join((self._options.player, work)),
            }
            # The interpreter is started by its open file, because the script's user may have no right to reach it by
            # its path, e.g. in root's home. The first argument is still that path: Python finds its own files by it.
            program = OWN_PROGRAM if os.path.exists(OWN_PROGRAM) else sys.executable
            os.execve(program, [sys.executable, "-u", SCRIPT, self._options.environment], environment)
        except BaseException as error:
            os.write(2, f"The script could not be started: {error}\n".encode())
        finally:
            os._exit(127)

    def _read(self, output: int, *, is_printed: bool) -> bool:
        """Read a piece of an output; return False when there is no more now, or at its end."""
        try:
            data = os.read(output, 65536)
        except BlockingIOError:
            return False
        if is_printed:
            self._printed.add(data)
        held = self._held[is_printed] + data
        whole = max(held.rfind(b"\n"), held.rfind(b"\r")) + 1
        if len(held) - whole > LONGEST_LINE:
            whole = len(held)
        self._tail.add(held[:whole])
        self._held[is_printed] = held[whole:]
        return bool(data)

    def _preview(self) -> None:
        now, held = time.monotonic(), b"".join(self._held.values())
        count = self._tail.count + len(held)
        if count > self._told and now >= self._next_preview:
            self._told, self._next_preview = count, now + PREVIEW_SECONDS
            self._say("printed", text=self._tail.text(PREVIEW_BYTES) + held.decode("utf-8", "replace"))

    def _say(self, event: str, **values: object) -> None:
        with contextlib.suppress(OSError):
            self._control.sendall(pack_data(MESSAGE, {"event": event, **values}))


def reaped(script: int) -> int | None:
    """Reap all ended processes; return the script's exit status, negative for a signal, or None if it still runs."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == script:
                status = process.exit_status(found[1])
    return status


def step_back(nice: int, ionice: int) -> None:
    """Lower the priority of this process for the processor and the disk, which it cannot undo."""
    os.nice(nice)
    number = IOPRIO_SET.get(os.uname().machine)
    if number is not None:
        # gVisor refuses this call, which it does not have.
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).syscall(number, IOPRIO_WHO_PROCESS, 0, ionice)
    process.go_first()


def main() -> None:
    """Start as process 1 of a container, or as an ordinary process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--channel", required=True)
    parser.add_argument("--player", required=True, help="Folder of the submission's files.")
    parser.add_argument("--work", required=True, help="Folder to make for the script to run in.")
    parser.add_argument("--packages", default="", help="Folder of the packages that the submission requires.")
    parser.add_argument("--environment", required=True, help="The script's argument.")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--log-limit", type=int, required=True)
    parser.add_argument("--nice", type=int, required=True)
    parser.add_argument("--ionice", type=int, required=True, help="Class and level as ioprio_set(2) takes them.")
    parser.add_argument("--open-files", type=int, required=True)
    parser.add_argument("--file-limit", type=int, required=True, help="Largest size of a file in bytes.")
    parser.add_argument("--data-limit", type=int, default=0, help="Bytes of memory per process, 0 for no limit.")
    parser.add_argument("--pids", type=int, default=0, help="Processes of this user, 0 for no limit.")
    options = parser.parse_args(sys.argv[2:])
    process.become_supervisor()
    try:
        ScriptSupervisor(options).run()
    finally:
        # Nothing of a script may outlive its supervisor.
        process.kill_others()
