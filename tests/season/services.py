"""PostgreSQL, Redis, a Docker engine and a small artifact store of the benchmark's own, which it may break.

Each is known by the id of its process as its own file says it, so that whichever process of the benchmark breaks one
can bring it back. Nothing here touches a service that the benchmark has not started.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import docker
import redis
from docker.errors import DockerException, ImageNotFound
from requests import RequestException

from arena_kit.image.engine import NoEngine, connect
from tests.postgres import call, postgres_programs, unprivileged_user

STEP_SECONDS = 0.05
START_SECONDS = 90.0


class CannotRun(Exception):
    """Something that the benchmark needs is not here; the message says what."""


def until(true: Callable[[], bool], seconds: float, what: str) -> None:
    """Return once something is true. Raises CannotRun."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise CannotRun(f"In {seconds:.0f} s this has not happened: {what}.")
        time.sleep(STEP_SECONDS)


def state_of(pid: int) -> str:
    """Letter of the kernel for what a process does (T: stopped), '' when there is none or it only waits to be noted."""
    try:
        letter = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
    return "" if letter in "ZX" else letter


def end_process(pid: int, number: signal.Signals, seconds: float = 60.0) -> None:
    """Signal a process and return once it is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
    until(lambda: not state_of(pid), seconds, f"the end of process {pid}")


class Postgres:
    """A PostgreSQL server on a Unix socket. It keeps what it commits, also over a crash."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._programs, self._user = folder / "pg", postgres_programs(), unprivileged_user()
        self._data = self._folder / "data"
        self._folder.mkdir()
        if self._user is not None:
            os.chown(self._folder, self._user, -1)
        words = ["-U", "arena", "-A", "trust", "-E", "UTF8", "--no-sync"]
        call([self._programs / "initdb", "-D", self._data, *words], self._user)
        self.start()

    def url(self, name: str) -> str:
        """Address of a database, as DATABASE_URL takes it."""
        return f"postgresql://arena@{quote(str(self._folder), safe='')}/{name}"

    def create(self, name: str) -> None:
        call([self._programs / "createdb", "-h", self._folder, "-U", "arena", name], self._user)

    @property
    def pid(self) -> int:
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def start(self) -> None:
        options = f"-c listen_addresses='' -c max_connections=200 -k {self._folder}"
        self._control("-l", self._folder / "log", "-o", options, "start")

    def stop(self, how: str = "immediate") -> None:
        """how: fast, which ends all connections, or immediate, which is a crash."""
        self._control("-m", how, "stop")

    def _control(self, *arguments: str | Path) -> None:
        call([self._programs / "pg_ctl", "-D", self._data, "-w", *arguments], self._user)


class RedisServer:
    """A Redis on a Unix socket that keeps nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "redis"
        self._folder.mkdir()
        self._socket = self._folder / "redis.sock"
        self.start()

    def url(self, number: int) -> str:
        return f"unix://{self._socket}?db={number}"

    @property
    def pid(self) -> int:
        return int((self._folder / "redis.pid").read_text())

    def client(self, number: int) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self._socket), db=number, socket_timeout=5)

    def start(self) -> None:
        self._socket.unlink(missing_ok=True)
        command = [
            "redis-server", "--port", "0", "--unixsocket", str(self._socket), "--save", "", "--dir", str(self._folder),
            "--daemonize", "yes", "--pidfile", str(self._folder / "redis.pid"), "--logfile", "log",
        ]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        until(self._answers, START_SECONDS, "an answer of Redis")

    def stop(self) -> None:
        end_process(self.pid, signal.SIGKILL)

    def _answers(self) -> bool:
        with contextlib.suppress(redis.RedisError):
            return bool(self.client(0).ping())
        return False


class Engine:
    """A Docker engine with its own data, sockets and containerd; without networks, which players never have."""

    def __init__(self, folder: Path, base_image: str) -> None:
        self._folder, self._base_image = folder / "docker", base_image
        self._folder.mkdir()
        self._socket = self._folder / "docker.sock"
        self.host = f"unix://{self._socket}"
        self.start()
        self._have_base_image()

    @property
    def pid(self) -> int:
        return int((self._folder / "pid").read_text())

    def start(self) -> None:
        """Start it and wait for its answer."""
        # One that was killed has not removed it, and another process may have its id by now.
        (self._folder / "pid").unlink(missing_ok=True)
        command = [
            "dockerd", "--host", self.host, "--data-root", str(self._folder / "data"),
            "--exec-root", str(self._folder / "run"), "--pidfile", str(self._folder / "pid"),
            "--bridge", "none", "--iptables=false", "--ip-forward=false", "--ip-masq=false",
            # It must not take the containerd of another engine on this machine for its own.
            "--containerd", str(self._start_containerd()),
        ]  # fmt: skip
        with (self._folder / "log").open("ab") as log:
            # Without a parent that would have to notice its end.
            # In a network of its own: an engine without a bridge removes the one that another engine has.
            apart = ["setsid", "--fork", "unshare", "--net", *command]
            subprocess.run(apart, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True)
        until(self.answers, START_SECONDS, f"an answer of the engine (see {self._folder / 'log'})")

    def answers(self) -> bool:
        try:
            client = docker.DockerClient(self.host, timeout=5)
        except (DockerException, RequestException):
            return False
        try:
            return bool(client.ping())
        except (DockerException, RequestException):
            return False
        finally:
            client.close()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        end_process(self.pid, number)

    def end(self) -> None:
        """Stop it for good, with all that runs in it, its containerd and what it has mounted."""
        with contextlib.suppress(OSError, ValueError, CannotRun):
            if not self.answers():
                # Whatever it has left running it ends when it begins.
                self.start()
            self.stop()
        with contextlib.suppress(OSError, ValueError, CannotRun):
            end_process(int((self._folder / "containerd.pid").read_text()), signal.SIGTERM)
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for mount in sorted((path for path in mounts if path.startswith(str(self._folder))), reverse=True):
            subprocess.run(["umount", "--lazy", mount], check=False, stderr=subprocess.DEVNULL)

    def shims(self) -> int:
        """Processes that hold a container of this engine."""
        count = 0
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                count += b"containerd-shim" in words[0] and str(self._folder).encode() in b" ".join(words)
        return count

    def _start_containerd(self) -> Path:
        """One that outlasts the engine's restarts, as on a real host."""
        address = self._folder / "containerd.sock"
        pid_file = self._folder / "containerd.pid"
        with contextlib.suppress(OSError, ValueError):
            if state_of(int(pid_file.read_text())):
                return address
        config = self._folder / "containerd.toml"
        # Engines need no more of it than runtimes and a store for what runs.
        config.write_text('version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n')
        command = [
            "containerd", "--config", str(config), "--root", str(self._folder / "containerd"),
            "--state", str(self._folder / "containerd-run"), "--address", str(address),
        ]  # fmt: skip
        # The shell's id is that of the program that takes its place.
        command = ["setsid", "--fork", "sh", "-c", 'echo $$ >"$0"; exec "$@"', str(pid_file), *command]
        with (self._folder / "containerd.log").open("ab") as log:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True)
        until(address.exists, START_SECONDS, "a socket of containerd")
        return address

    def _have_base_image(self) -> None:
        """Take the base image from the engine of this machine, else from where `make-base-image.sh` keeps it."""
        mine = docker.DockerClient(self.host, timeout=300)
        try:
            theirs = connect(300)
            try:
                with tempfile.TemporaryFile() as copy:
                    for piece in theirs.images.get(self._base_image).save(named=True):
                        copy.write(piece)
                    copy.seek(0)
                    mine.images.load(copy)
            finally:
                theirs.close()
        except (NoEngine, ImageNotFound):
            # Relative to the repository, where benchmarks are run.
            script = Path(__file__).resolve().parents[2] / "arena_kit" / "image" / "base" / "make-base-image.sh"
            command = [str(script)]
            environment = {**os.environ, "DOCKER_HOST": self.host, "NAME": self._base_image}
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        finally:
            mine.close()


class EmptyEngine(Engine):
    """An engine in which there is no image: what a submission needs comes with its image, from a registry."""

    def answers(self) -> bool:
        """Try the socket first: the engine's client leaks one where none listens."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(self.host.removeprefix("unix://"))
            except OSError:
                return False
        return super().answers()

    def _have_base_image(self) -> None:
        """Leave it out."""


def needed_programs() -> None:
    """Raise CannotRun when a program is missing, naming the package that has it."""
    for program, package in (
        ("dockerd", "docker.io"), ("containerd", "containerd"), ("redis-server", "redis-server"), ("mount", "mount"),
        ("setsid", "util-linux"), ("cc", "gcc libc6-dev"),
    ):  # fmt: skip
        if shutil.which(program) is None:
            raise CannotRun(f"{program} is missing (on Debian: apt install {package}).")
    if os.geteuid() != 0:
        raise CannotRun("Engines and file systems of its own take root.")


def wrong_clock(folder: Path) -> Path:
    """A library that shows a process a clock as wrong as a file says. Raises CannotRun.

    Not libfaketime, whose `clock_nanosleep` fails or returns at once under Python: seen with its version 0.9.10.
    """
    library = folder / "clock.so"
    source = Path(__file__).with_name("clock.c")
    done = subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=False)
    if done.returncode:
        raise CannotRun("The library of the wrong clock cannot be compiled.")
    return library
