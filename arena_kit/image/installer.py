"""Runs pip in a locked-down container, which fetches wheels with a network and installs them without one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

import docker

from arena_kit.image.container import SCRATCH, WORK, LockedContainer
from arena_kit.image.layer import packages_layer
from arena_kit.image.limits import (
    FETCHED_BYTES,
    INSTALL_SECONDS,
    INSTALLED_BYTES,
    LOOK_SECONDS,
    MAX_FILES,
    TIMED_OUT,
    WATCH,
)
from arena_kit.image.wheels import DOWNLOAD, HASHES, INSTALL, TESTS, Wheel, checked_wheels

FOLDER = "/opt/requirements"
"""The folder of the packages in an image. Python's path does not include it until the player server adds it in the
player's process, so that no code of a wheel runs before."""
_WHEELS, _PACKAGES = f"{WORK}/wheels", f"{WORK}/packages"
_PIP = ("python3", "-I", "-m", "pip", "--no-cache-dir")


class Installer(LockedContainer):
    """A container of the base image in which pip runs, several times if needed, within INSTALL_SECONDS."""

    def __init__(
        self,
        client: docker.DockerClient,
        base_id: str,
        *,
        name: str,
        prefix: str,
        network: str,
        environment: Mapping[str, str],
        certificates: bytes,
        constraints: bytes = b"",
    ) -> None:
        pip = {
            "PIP_NO_INPUT": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **environment,
            **({"PIP_CERT": f"{WORK}/certificates.crt"} if certificates else {}),
        }
        seconds = 2 * INSTALL_SECONDS
        super().__init__(client, base_id, name=name, prefix=prefix, network=network, environment=pip, seconds=seconds)
        self._certificates, self._constraints = certificates, constraints
        self._deadline: float = time.monotonic() + INSTALL_SECONDS

    def fetch(self, lines: tuple[str, ...], log: Callable[[str], None]) -> tuple[int, str]:
        """Let pip find and fetch the wheels of these lines; return its exit status and the end of its output."""
        self.make_folders("wheels")
        files = {"requirements.txt": "\n".join(lines).encode(), "certificates.crt": self._certificates}
        self.put({**files, "constraints.txt": self._constraints})
        command: tuple[str, ...] = (*DOWNLOAD, "--dest", _WHEELS, "--requirement", f"{WORK}/requirements.txt")
        if self._constraints:
            command += ("--constraint", f"{WORK}/constraints.txt")
        return self._limited(WORK, FETCHED_BYTES, command, log)

    def wheels(self) -> tuple[Wheel, ...]:
        """Return the fetched wheels. Raises BuildFailed."""
        return checked_wheels(self.look(HASHES, _WHEELS))

    def install(self, wheels: tuple[Wheel, ...], log: Callable[[str], None]) -> tuple[int, str]:
        """Leave the network and install the wheels; return the exit status and the end of the output."""
        self.leave_network()
        self.make_folders("packages")
        files = (f"{_WHEELS}/{wheel.filename}" for wheel in wheels)
        command = (*INSTALL, "--target", _PACKAGES, *files)
        status, output = self._limited(f"{SCRATCH}:{_PACKAGES}", INSTALLED_BYTES, command, log)
        if status == 0:
            # Files in layers have no times, so compiled files that check the time of their source would go unused.
            compile_all = (
                "python3",
                "-I",
                "-m",
                "compileall",
                "-q",
                "--invalidation-mode",
                "unchecked-hash",
                "-x",
                TESTS,
                "-s",
                _PACKAGES,
                "-p",
                FOLDER,
                _PACKAGES,
            )
            # The exit status is ignored: packages may hold files for other versions of Python, which do not compile.
            self._limited(_PACKAGES, INSTALLED_BYTES, compile_all, None, program=())
        return status, output

    def layer(self) -> Iterator[bytes]:
        """Yield the tar of the installed packages, as a layer of an image."""
        with self.get(_PACKAGES) as tar:
            yield from packages_layer(tar, FOLDER[1:], most_bytes=INSTALLED_BYTES, most_files=MAX_FILES)

    def _limited(
        self,
        folders: str,
        most_bytes: int,
        command: tuple[str, ...],
        log: Callable[[str], None] | None,
        program: tuple[str, ...] = _PIP,
    ) -> tuple[int, str]:
        seconds = self._deadline - time.monotonic()
        if seconds < 1:
            return TIMED_OUT, ""
        limits = (f"{seconds:.0f}", str(LOOK_SECONDS), str(most_bytes), str(MAX_FILES))
        return self.run(("python3", "-I", "-c", WATCH, *limits, folders, *program, *command), log)
