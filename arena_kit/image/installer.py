"""Runs pip in a locked-down container, which fetches wheels with a network and installs them without one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import docker
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from arena_kit.image.container import SCRATCH, WORK, LockedContainer
from arena_kit.image.errors import BuildFailed
from arena_kit.image.layer import packages_layer

FOLDER = "/opt/requirements"
"""The folder of the packages in an image. Python's path does not include it until the player server adds it in the
player's process, so that no code of a wheel runs before."""
INSTALL_SECONDS = 900
"""Limit on all runs of pip together."""
FETCHED_BYTES, INSTALLED_BYTES = 8 << 30, 8 << 30
MAX_FILES, MAX_PACKAGES = 200_000, 200
TIMED_OUT, TOO_LARGE, TOO_MANY_FILES = 124, 121, 122
"""The exit statuses with which WATCH says which limit was exceeded."""
WATCH_SECONDS = 1.0
_WHEELS, _PACKAGES = f"{WORK}/wheels", f"{WORK}/packages"
TESTS = r"/tests?/"
"""Matches the tests inside packages, half of the files of NumPy and SciPy, which are not compiled."""
_PIP = ("python3", "-I", "-m", "pip", "--no-cache-dir")
WATCH = """
import os, subprocess, sys, time
seconds, pause, most_bytes, most_files = map(float, sys.argv[1:5])
folders, command = sys.argv[5].split(":"), sys.argv[6:]
deadline = time.monotonic() + seconds
child = subprocess.Popen(command)
status = None
while status is None:
    try:
        status = child.wait(pause)
    except subprocess.TimeoutExpired:
        if time.monotonic() > deadline:
            status = 124
    size = count = 0
    for folder in folders:
        for path, folders_in, names in os.walk(folder):
            count += len(folders_in) + len(names)
            for name in names:
                try:
                    size += os.lstat(os.path.join(path, name)).st_size
                except OSError:
                    pass
    if size > most_bytes or count > most_files:
        status = 121 if size > most_bytes else 122
child.kill()
sys.exit(status if status >= 0 else 128 - status)
"""
HASHES = """
import hashlib, json, os, sys
found = {}
for name in sorted(os.listdir(sys.argv[1])):
    with open(os.path.join(sys.argv[1], name), "rb") as file:
        found[name] = hashlib.file_digest(file, "sha256").hexdigest()
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Wheel:
    """An installed wheel. sha256: the hash of its file, in hexadecimal."""

    filename: str
    sha256: str

    @property
    def name(self) -> str:
        return parse_wheel_filename(self.filename)[0]

    @property
    def version(self) -> str:
        return str(parse_wheel_filename(self.filename)[1])


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
    ) -> None:
        pip = {
            "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment,
            **({"PIP_CERT": f"{WORK}/certificates.crt"} if certificates else {}),
        }  # fmt: skip
        seconds = 2 * INSTALL_SECONDS
        super().__init__(client, base_id, name=name, prefix=prefix, network=network, environment=pip, seconds=seconds)
        self._certificates = certificates
        self._deadline: float = time.monotonic() + INSTALL_SECONDS

    def fetch(self, lines: tuple[str, ...], log: Callable[[str], None]) -> tuple[int, str]:
        """Let pip find and fetch the wheels of these lines; return its exit status and the end of its output."""
        self.make_folders("wheels")
        self.put({"requirements.txt": "\n".join(lines).encode(), "certificates.crt": self._certificates})
        command = (
            "download", "--only-binary", ":all:", "--progress-bar", "off", "--dest", _WHEELS,
            "--requirement", f"{WORK}/requirements.txt",
        )  # fmt: skip
        return self._watched(WORK, FETCHED_BYTES, command, log)

    def wheels(self) -> tuple[Wheel, ...]:
        """Return the fetched wheels. Raises BuildFailed."""
        found = tuple(Wheel(name, digest) for name, digest in self.look(HASHES, _WHEELS).items())
        if len(found) > MAX_PACKAGES:
            raise BuildFailed(
                f"The requirements need {len(found)} packages; at most {MAX_PACKAGES} are allowed.",
                code="too_many_packages",
            )
        try:
            for wheel in found:
                parse_wheel_filename(wheel.filename)
        except InvalidWheelFilename as error:
            raise BuildFailed(f"The package index gave a file that is not a wheel: {error}.", code="no_wheel") from None
        return found

    def install(self, wheels: tuple[Wheel, ...], log: Callable[[str], None]) -> tuple[int, str]:
        """Leave the network and install the wheels; return the exit status and the end of the output."""
        self.leave_network()
        self.make_folders("packages")
        files = (f"{_WHEELS}/{wheel.filename}" for wheel in wheels)
        command = (
            "install", "--no-index", "--no-deps", "--no-compile", "--no-warn-script-location",
            "--target", _PACKAGES, *files,
        )  # fmt: skip
        status, output = self._watched(f"{SCRATCH}:{_PACKAGES}", INSTALLED_BYTES, command, log)
        if status == 0:
            # Files in layers have no times, so compiled files that check the time of their source would go unused.
            compile_all = (
                "python3", "-I", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash",
                "-x", TESTS, "-s", _PACKAGES, "-p", FOLDER, _PACKAGES,
            )  # fmt: skip
            # The exit status is ignored: packages may hold files for other versions of Python, which do not compile.
            self._watched(_PACKAGES, INSTALLED_BYTES, compile_all, None, program=())
        return status, output

    def layer(self) -> Iterator[bytes]:
        """Yield the tar of the installed packages, as a layer of an image."""
        with self.get(_PACKAGES) as tar:
            yield from packages_layer(tar, FOLDER[1:], most_bytes=INSTALLED_BYTES, most_files=MAX_FILES)

    def _watched(
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
        limits = (f"{seconds:.0f}", str(WATCH_SECONDS), str(most_bytes), str(MAX_FILES))
        return self.run(("python3", "-I", "-c", WATCH, *limits, folders, *program, *command), log)
