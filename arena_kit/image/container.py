"""A locked-down container in which the builder runs its own commands on an image.

`docs/reference/security-builds.md` gives the reasons for its settings.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

import docker
import requests
from docker.errors import APIError, DockerException
from docker.types import LogConfig, Mount, Ulimit

from arena_kit.image.calls import CALL_SECONDS, engine, engine_errors
from arena_kit.image.errors import BuilderUnavailable
from arena_kit.image.labels import CONTAINER_LABEL
from arena_kit.image.layer import Pieces
from arena_kit.image.limits import MEMORY_BYTES, OUTPUT_CHARACTERS
from arena_kit.image.streams import archive_pieces, command_stream
from arena_kit.log_context import bind
from arena_kit.older import Self

WORK = "/opt/arena-work"
"""A volume that is removed with the container, and the only place on disk that the container can write to."""
SCRATCH = f"{WORK}/scratch"
UID = 60700
"""The user in the container; no system's passwd and no player has this id."""
FILE_BYTES = 4 << 30
CONFLICT = 409
SECCOMP_PROFILE = Path(__file__).with_name("seccomp.json")
"""The players' list of kernel calls, extended by internet sockets; `tests/test_builder_seccomp.py` compares the two."""
LOG_LINES = 400


class NameTaken(Exception):
    """Another container has this name."""


def ulimits(*, open_files: int, file_bytes: int) -> list[Ulimit]:
    """Return the limits of each process of a container: open files, no core files, and the size of one file."""
    return [
        Ulimit(name="nofile", soft=open_files, hard=open_files),
        Ulimit(name="core", soft=0, hard=0),
        Ulimit(name="fsize", soft=file_bytes, hard=file_bytes),
    ]


class LockedContainer:
    """A running container that ends when its context is left, or when this process dies.

    Its first process reads an input that only this object holds open. When a worker dies, the engine closes the input,
    and removes the container and its volume. network: name of one of the engine's networks; `none` for no network.
    """

    def __init__(
        self,
        client: docker.DockerClient,
        image_id: str,
        *,
        name: str,
        prefix: str,
        network: str = "none",
        environment: Mapping[str, str] | None = None,
        seconds: int = CALL_SECONDS,
    ) -> None:
        self._client, self._network, self._seconds = client, network, seconds
        self._environment = {"HOME": SCRATCH, "TMPDIR": SCRATCH, "LANG": "C.UTF-8", **(environment or {})}
        self._options: dict[str, Any] = {
            "image": image_id,
            "name": name,
            "labels": {CONTAINER_LABEL: prefix},
            "entrypoint": ["timeout", str(seconds), "cat"],
            "command": [],
            "stdin_open": True,
            "auto_remove": True,
            "user": f"{UID}:{UID}",
            "working_dir": "/tmp",  # noqa: S108  (inside the container)
            "hostname": "builder",
            "network_disabled": network == "none",
            "network_mode": network,
            "ipc_mode": "none",
            "read_only": True,
            "tmpfs": {"/tmp": "rw,noexec,nosuid,nodev,size=64m,nr_inodes=4096,mode=1777"},  # noqa: S108  (in the container)
            "mounts": [Mount(WORK, None, no_copy=True, labels={CONTAINER_LABEL: prefix})],
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges", f"seccomp={SECCOMP_PROFILE.read_text()}"],
            "mem_limit": MEMORY_BYTES,
            "memswap_limit": MEMORY_BYTES,
            "oom_score_adj": 1000,
            "pids_limit": 128,
            "nano_cpus": 10**9,
            "ulimits": ulimits(open_files=1024, file_bytes=FILE_BYTES),
            "log_config": LogConfig(type="none"),
            "healthcheck": {"test": ["NONE"]},
            "init": False,
        }

    def __enter__(self) -> Self:
        with engine_errors():
            try:
                self._container: Any = self._client.containers.create(**self._options)
            except APIError as error:
                if error.status_code == CONFLICT:
                    raise NameTaken from None
                raise
            try:
                self._input: Any = self._client.api.attach_socket(str(self._container.id), {"stdin": 1, "stream": 1})
                self.make_folders("scratch")
                self._container.start()
                bind(container_id=str(self._container.id)[:12])
            except BaseException:
                self.__exit__(None, None, None)
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Closing the input first would start the engine's own removal, during which this one would be refused.
        with contextlib.suppress(DockerException, requests.RequestException):
            self._container.remove(force=True, v=True)
        if held := getattr(self, "_input", None):
            held._response.close()

    def make_folders(self, *names: str) -> None:
        """Make folders in WORK that the commands can write to."""
        self._put(*(_owned(name, b"", tarfile.DIRTYPE) for name in names))

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files to WORK."""
        self._put(*(_owned(name, data, tarfile.REGTYPE) for name, data in files.items()))

    @contextlib.contextmanager
    def get(self, folder: str) -> Iterator[IO[bytes]]:
        """Yield a stream with the tar of a folder."""
        with engine_errors(), archive_pieces(self._client, str(self._container.id), folder) as pieces:
            yield cast(IO[bytes], io.BufferedReader(Pieces(pieces), 1 << 20))

    def leave_network(self) -> None:
        """Disconnect the container from its network for good."""
        if self._network != "none":
            with engine_errors():
                self._client.networks.get(self._network).disconnect(self._container, force=True)

    def run(
        self, command: tuple[str, ...], log: Callable[[str], None] | None = None, limit: int = OUTPUT_CHARACTERS
    ) -> tuple[int, str]:
        """Run a command; return its exit status and the last `limit` characters of its output.

        log: called with each of the first LOG_LINES lines.
        """
        output = ""
        # This client has a longer time-out: pip may be silent until its own time is over.
        with engine(self._seconds) as client:
            run = client.api.exec_create(
                self._container.id, ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", *command], environment=self._environment
            )
            for number, line in enumerate(lines(_pieces(client, run["Id"]))):
                output = (output + line + "\n")[-limit:]
                if log is not None and number < LOG_LINES:
                    log(line)
            status = client.api.exec_inspect(run["Id"])["ExitCode"]
        return (-1 if status is None else int(status)), output

    def look(self, code: str, *arguments: str) -> Any:
        """Run a Python program and return what it prints as JSON. Raises BuilderUnavailable."""
        status, output = self.run(("python3", "-I", "-c", code, *arguments), limit=4 << 20)
        try:
            if status == 0:
                return json.loads(output)
        except ValueError:
            pass
        raise BuilderUnavailable(
            f"The builder's own program failed in its container: {output[-500:].strip()}", code="builder_failed"
        )

    def _put(self, *entries: tuple[tarfile.TarInfo, bytes]) -> None:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for entry, data in entries:
                tar.addfile(entry, io.BytesIO(data))
        with engine_errors():
            self._container.put_archive(WORK, buffer.getvalue())


def _owned(name: str, data: bytes, kind: bytes) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.type, entry.size = kind, len(data)
    entry.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
    entry.uid = entry.gid = UID
    return entry, data


def _pieces(client: docker.DockerClient, exec_id: str) -> Iterator[bytes]:
    """Start a command and yield its output as it comes.

    Frames of the engine's attached streams hold the kind of stream (one byte), three zeros, the length (u32) and the
    data.
    """
    try:
        with command_stream(client, exec_id) as (stream, first):
            further = iter(lambda: stream.read1(io.DEFAULT_BUFFER_SIZE), b"")
            reader = io.BufferedReader(cast(io.RawIOBase, Pieces(itertools.chain([first], further))))
            while len(header := reader.read(8)) == 8:
                yield reader.read(int.from_bytes(header[4:], "big"))
    except OSError as error:
        raise BuilderUnavailable(f"The Docker engine stopped answering: {error}.", code="engine_unavailable") from None


def lines(pieces: Iterator[bytes]) -> Iterator[str]:
    """Yield the lines of a stream that comes in pieces; lines beyond OUTPUT_CHARACTERS are split."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        if len(rest) > OUTPUT_CHARACTERS:
            whole, rest = [*whole, rest], b""
        for line in whole:
            yield line.decode("utf-8", "replace").rstrip()
    if rest:
        yield rest.decode("utf-8", "replace").rstrip()
