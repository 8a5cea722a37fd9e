"""pip in a locked-down container, and what it installed as an image."""

from __future__ import annotations

import contextlib
import io
import json
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import docker
import requests
from docker.errors import DockerException
from docker.types import LogConfig, Ulimit

from builder.engine import engine, engine_errors
from builder.errors import BuilderUnavailable, BuildFailed

FOLDER = "/opt/requirements"
"""On no path of Python: `player_server.py` adds it in the player's process, so that no wheel runs before that."""
WORK = "/opt/arena-work"
"""Of pip, emptied before the image is made."""
INSTALLER_UID = 60700
"""Outside every passwd and not that of any player."""
INSTALL_SECONDS = 900
"""For all rounds of pip together."""
TIMED_OUT = 124
"""Exit status that stands for a round which the time did not suffice for."""
MEMORY_BYTES = 2 << 30
FILE_BYTES = 4 << 30
IMAGE_BYTES = 8 << 30
LOG_LINES = 400
OUTPUT_CHARACTERS = 20_000
PIP = (
    "python3", "-m", "pip", "install", "--only-binary", ":all:", "--no-cache-dir",
    "--no-warn-script-location", "--progress-bar", "off",
    "--target", FOLDER, "--requirement", f"{WORK}/requirements.txt",
)  # fmt: skip
VERSIONS = """
import importlib.metadata, json, re, sys
found = importlib.metadata.distributions(**({"path": sys.argv[1:]} if sys.argv[1:] else {}))
print(json.dumps({re.sub(r"[-_.]+", "-", d.metadata["Name"]).lower(): d.version for d in found if d.metadata["Name"]}))
"""


class Installer:
    """A container of the base image in which pip runs a few times within INSTALL_SECONDS; removed on leaving."""

    def __init__(
        self, client: docker.DockerClient, base_id: str, *, environment: Mapping[str, str], certificates: bytes
    ) -> None:
        self._client, self._base_id = client, base_id
        self._certificates = certificates
        self._environment = {
            "HOME": WORK, "TMPDIR": WORK, "LANG": "C.UTF-8", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **environment,
            **({"PIP_CERT": f"{WORK}/certificates.crt"} if certificates else {}),
        }  # fmt: skip

    def __enter__(self) -> Self:
        with engine_errors():
            self._container = self._client.containers.create(
                self._base_id,
                entrypoint=["sleep", str(2 * INSTALL_SECONDS)],
                user=f"{INSTALLER_UID}:{INSTALLER_UID}",
                labels={"arena.packages": "1"},
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                mem_limit=MEMORY_BYTES,
                memswap_limit=MEMORY_BYTES,
                pids_limit=128,
                nano_cpus=10**9,
                ulimits=[Ulimit(name="fsize", soft=FILE_BYTES, hard=FILE_BYTES)],
                log_config=LogConfig(type="none"),
                healthcheck={"test": ["NONE"]},
            )
            try:
                self._container.put_archive("/opt", _tar({}))
                self._container.put_archive(WORK, _tar({"certificates.crt": self._certificates}))
                self._container.start()
            except BaseException:
                self._remove()
                raise
        self._deadline = time.monotonic() + INSTALL_SECONDS
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def install(self, lines: tuple[str, ...], log: Callable[[str], None]) -> tuple[int, str]:
        """Let pip install these lines in the time that is left; return its exit status and the end of its output."""
        seconds = int(self._deadline - time.monotonic())
        if seconds < 1:
            return TIMED_OUT, ""
        with engine_errors():
            self._container.put_archive(WORK, _tar({"requirements.txt": "\n".join(lines).encode()}))
        status, output = self._run(("timeout", "--kill-after=10", str(seconds), *PIP), log)
        # Status 137 is also that of a pip which had to be killed at the deadline.
        return (status if time.monotonic() < self._deadline or status == 0 else TIMED_OUT), output

    def versions(self, *path: str) -> dict[str, str]:
        """Versions by normalised name of what is installed in the image itself, or in these folders."""
        status, output = self._run(("python3", "-I", "-c", VERSIONS, *path), _ignore, limit=1 << 20)
        if status != 0:
            raise BuildFailed("The installed packages cannot be read.", code="requirements_failed")
        versions: dict[str, str] = json.loads(output)
        return versions

    def commit(self, name: str, labels: Mapping[str, str]) -> str:
        """Make what is installed an image with this name and these labels; return its content id."""
        self._run(("find", WORK, "-mindepth", "1", "-delete"), _ignore)
        with engine_errors():
            size = self._client.api.containers(all=True, size=True, filters={"id": self._container.id})[0]
            if size.get("SizeRw", 0) > IMAGE_BYTES:
                raise BuildFailed(
                    f"The requirements take more than {IMAGE_BYTES >> 30} GiB on disk.", code="requirements_too_large"
                )
            repository, _, tag = name.partition(":")
            image = self._container.commit(
                repository,
                tag,
                conf={
                    "Labels": dict(labels),
                    "Entrypoint": [],
                    "Cmd": ["python3"],
                },
            )
            return str(image.id)

    def _run(
        self, command: tuple[str, ...], log: Callable[[str], None], limit: int = OUTPUT_CHARACTERS
    ) -> tuple[int, str]:
        output = ""
        # A client of its own: pip may be silent for as long as it may run.
        with engine(INSTALL_SECONDS + 60) as client:
            run = client.api.exec_create(
                self._container.id, ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", *command], environment=self._environment
            )
            for number, line in enumerate(_lines(_pieces(client, run["Id"]))):
                output = (output + line + "\n")[-limit:]
                if number < LOG_LINES:
                    log(line)
            status = client.api.exec_inspect(run["Id"])["ExitCode"]
        return (-1 if status is None else int(status)), output

    def _remove(self) -> None:
        with contextlib.suppress(DockerException, requests.RequestException):
            self._container.remove(force=True)


def _pieces(client: docker.DockerClient, exec_id: str) -> Iterator[bytes]:
    """Start a command and yield its output as it comes; unlike the SDK's own stream, with a time-out and closed after.

    The format is that of the engine's attached streams: kind of stream, three zeros, u32 length, data.
    """
    stream: Any = client.api.exec_start(exec_id, socket=True)
    reader = io.BufferedReader(stream)
    try:
        while len(header := reader.read(8)) == 8:
            yield reader.read(int.from_bytes(header[4:], "big"))
    except OSError as error:
        raise BuilderUnavailable(f"The Docker engine went silent: {error}.", code="engine_unavailable") from None
    finally:
        reader.detach()
        stream._response.close()


def _lines(pieces: Iterator[bytes]) -> Iterator[str]:
    """Whole lines of a stream that comes in pieces; a line without end is cut."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > OUTPUT_CHARACTERS:
            lines, rest = [*lines, rest], b""
        for line in lines:
            yield line.decode("utf-8", "replace").rstrip()
    if rest:
        yield rest.decode("utf-8", "replace").rstrip()


def _ignore(_: str) -> None:
    """For output that nobody has to see."""


def _tar(files: Mapping[str, bytes]) -> bytes:
    """Files that the installer's user owns; without any, the two folders that it may write to."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in files.items():
            tar.addfile(_owned(name, size=len(data), mode=0o644), io.BytesIO(data))
        if not files:
            for folder in (FOLDER, WORK):
                entry = _owned(folder.rpartition("/")[2], size=0, mode=0o755)
                entry.type = tarfile.DIRTYPE
                tar.addfile(entry)
    return buffer.getvalue()


def _owned(name: str, *, size: int, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, mode
    entry.uid = entry.gid = INSTALLER_UID
    return entry
