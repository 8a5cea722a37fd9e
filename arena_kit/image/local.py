"""A folder per set of requirements in the cache of this user, for players that run as local processes.

pip runs as this user, with this user's own settings for the package index, and otherwise as in a build of the site:
wheels only, the same options and limits, and no code of a package runs while it is installed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from arena_kit.folders import OwnFolder, remove_abandoned
from arena_kit.image.errors import BuilderUnavailable
from arena_kit.image.failures import failure
from arena_kit.image.limits import (
    FETCHED_BYTES,
    INSTALL_SECONDS,
    INSTALLED_BYTES,
    LOOK_SECONDS,
    MAX_FILES,
    OUTPUT_CHARACTERS,
    TIMED_OUT,
    WATCH,
)
from arena_kit.image.wheels import DOWNLOAD, INSTALL, Log, Wheel, checked_wheels, fetch_all, not_met, warning
from arena_kit.machine import files, processes
from arena_kit.machine.processes import temporary_folder
from arena_kit.older import SAFE_PATH

RECIPE = "1"
"""Counted up when folders are made in another way, so that older ones are not reused."""
HERE = "this computer"
PART = "part-"
"""Prefix of folders that are still being filled."""
PACKAGES, WARNINGS = "packages", "warnings.json"
FOLDER_MASK = 0o022
"""Players may run as another user, who must be able to read the packages."""
PIP = (*SAFE_PATH, "-m", "pip")
PIP_ENVIRONMENT = {
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    # A person's settings for their own installations contradict --target.
    "PIP_USER": "0",
    "PIP_REQUIRE_VIRTUALENV": "0",
}


@dataclass(frozen=True, slots=True)
class PackageFolder:
    """A folder of installed packages, and what the owner of the requirements should know about it."""

    path: Path
    warnings: tuple[str, ...]


def cache_folder() -> Path:
    """Return the folder for installed requirements in this user's cache, after the XDG Base Directory Specification."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "arena-kit" / "requirements"


def installed_here() -> dict[str, str]:
    """Return the versions of the packages that this Python can import, by normalised name."""
    found: dict[str, str] = {}
    for row in importlib.metadata.distributions():
        if name := row.metadata["Name"]:
            found.setdefault(canonicalize_name(name), row.version)
    return found


def package_folder(lines: tuple[str, ...], *, cache: Path, log: Log) -> PackageFolder | None:
    """Return the folder of these requirements, and install them first if no folder has them yet.

    Returns None if this Python meets all of them already. Two processes may ask for the same requirements at once: the
    second waits for the first. Raises BuildFailed, and BuilderUnavailable for trouble that is not the owner's.
    """
    base = installed_here()
    if not not_met(lines, base):
        return None
    if importlib.util.find_spec("pip") is None:
        raise BuilderUnavailable(
            "This Python has no pip, which installs requirements. Run `python -m ensurepip`.", code="pip_missing"
        )
    versions = (f"{name}=={version}" for name, version in sorted(base.items()))
    words = (RECIPE, sys.version, sysconfig.get_platform(), *versions, "", *lines)
    target = cache / hashlib.sha256("\n".join(words).encode()).hexdigest()[:20]
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(target.with_suffix(".lock"), log):
            if target.is_dir():
                log("These requirements have been installed before; their folder is reused.")
            else:
                remove_abandoned(cache, PART)
                _install(lines, base, target, log)
            return PackageFolder(target / PACKAGES, tuple(json.loads((target / WARNINGS).read_text(encoding="utf-8"))))
    except OSError as error:
        raise BuilderUnavailable(
            f"The requirements cannot be kept in {cache}: {error.strerror}.", code="cache_unusable"
        ) from None


@contextlib.contextmanager
def _locked(path: Path, log: Log) -> Iterator[None]:
    with path.open("ab") as lock:
        if not files.lock(lock.fileno()):
            log("Another process installs the same requirements; waiting for it.")
            files.lock(lock.fileno(), waits=True)
        yield


def _install(lines: tuple[str, ...], base: dict[str, str], target: Path, log: Log) -> None:
    part = OwnFolder(target.parent, PART, mode=0o755)
    try:
        pip = LocalPip(part.path)
        given_up = fetch_all(pip, list(lines), base, log, where=HERE)
        wheels = pip.wheels()
        pip.install(wheels, log)
        here = {wheel.name: wheel.version for wheel in wheels}
        warnings = [warning(line, here, base, where=HERE) for line in given_up]
        (pip.made / WARNINGS).write_text(json.dumps(warnings), encoding="utf-8")
        # Renamed when complete: a folder under its final name can always be used.
        pip.made.rename(target)
    finally:
        part.close()


class LocalPip:
    """pip in a folder of its own, within INSTALL_SECONDS for all calls together."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.made = folder, folder / "made"
        for path in (folder / "wheels", folder / "scratch", self.made, self.made / PACKAGES):
            path.mkdir(mode=0o755)
        self._deadline = time.monotonic() + INSTALL_SECONDS

    def fetch(self, lines: tuple[str, ...], log: Log) -> tuple[int, str]:
        """Let pip find and fetch the wheels of these lines; return its exit status and the end of its output."""
        (self._folder / "requirements.txt").write_text("\n".join(lines), encoding="utf-8")
        command = (*PIP, *DOWNLOAD, "--dest", "wheels", "--requirement", "requirements.txt")
        return self._limited("wheels:scratch", FETCHED_BYTES, command, log)

    def wheels(self) -> tuple[Wheel, ...]:
        """Return the fetched wheels, without hashes. Raises BuildFailed."""
        return checked_wheels(dict.fromkeys(sorted(path.name for path in (self._folder / "wheels").iterdir()), ""))

    def install(self, wheels: tuple[Wheel, ...], log: Log) -> None:
        """Unpack the wheels. Raises BuildFailed and BuilderUnavailable."""
        if not wheels:
            return
        packages = f"made/{PACKAGES}"
        paths = (f"wheels/{wheel.filename}" for wheel in wheels)
        command = (*PIP, *INSTALL, "--target", packages, *paths)
        status, output = self._limited(f"scratch:{packages}", INSTALLED_BYTES, command, log)
        if status != 0:
            raise failure(status, output)
        # Players may not write here, so their Python could not keep what it compiles. Packages may hold files for
        # other Pythons, which do not compile.
        self._limited(packages, INSTALLED_BYTES, ("-m", "compileall", "-q", packages), lambda _: None)

    def _limited(self, folders: str, most_bytes: int, command: tuple[str, ...], log: Log) -> tuple[int, str]:
        seconds = self._deadline - time.monotonic()
        if seconds < 1:
            return TIMED_OUT, ""
        limits = (f"{seconds:.0f}", str(LOOK_SECONDS), str(most_bytes), str(MAX_FILES))
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", WATCH, *limits, folders, sys.executable, *command],
            cwd=self._folder,
            env={**os.environ, **PIP_ENVIRONMENT, **temporary_folder(self._folder / "scratch")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            umask=-1 if processes.WINDOWS else FOLDER_MASK,
            **processes.apart(),
        )
        output = ""
        assert process.stdout is not None
        try:
            for line in process.stdout:
                output = (output + line)[-OUTPUT_CHARACTERS:]
                log(line.rstrip())
            return process.wait(), output
        finally:
            processes.tree_end(process)
            process.wait()
            process.stdout.close()
