"""An image per set of requirements, shared by all submissions that ask for the same.

pip runs in a locked-down container of the base image, as an unknown user, on lines that `core.requirements` has parsed:
wheels only, no options, no addresses. No code of a submission is there, and nothing of a wheel is run. What pip needs
to reach the index (addresses with passwords, maybe) is given to its process alone, so no image ever holds it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import docker
from docker.errors import ImageNotFound

from builder.errors import BuilderUnavailable, BuildFailed
from builder.installer import FOLDER, INSTALL_SECONDS, MEMORY_BYTES, TIMED_OUT, Installer
from builder.leftovers import PREFIX_LABEL, REQUIREMENTS_LABEL

RECIPE = "3"
"""Counted up when images are made in another way, so that older ones are not reused."""
KILLED = (137, -9)
TERMINATED = 143
MAX_FALL_BACKS = 5
"""Lines that may be given up; every one costs a round of pip."""
_MISSING = re.compile(r"No matching distribution found for ([A-Za-z0-9._-]+)")
_UNREACHABLE = re.compile(r"max retries exceeded|temporary failure in name|connection broken|timed out", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Network:
    """How pip reaches the package index: the worker's own pip variables and certificates."""

    environment: dict[str, str] = field(default_factory=dict)
    certificates: str = ""
    """Path here of a bundle of certificate authorities, empty for the image's own."""

    def read_certificates(self) -> bytes:
        """The bundle, or nothing. Raises BuilderUnavailable."""
        try:
            return Path(self.certificates).read_bytes() if self.certificates else b""
        except OSError as error:
            raise BuilderUnavailable(
                f"The certificates {self.certificates} cannot be read: {error.strerror}.", code="certificates_missing"
            ) from None


@dataclass(frozen=True, slots=True)
class PackageImage:
    """The content id of an image with a set of requirements, and what the owner should know of it."""

    image_id: str
    warnings: tuple[str, ...]


def package_image(
    client: docker.DockerClient,
    base_id: str,
    lines: tuple[str, ...],
    *,
    prefix: str,
    network: Network,
    log: Callable[[str], None],
) -> PackageImage:
    """The image of these requirements on this base, made if it is not there yet.

    A pin without a wheel falls back to the version of the base image, with a warning. Raises BuildFailed when the
    base image has none either, BuilderUnavailable for troubles of the platform.
    """
    key = hashlib.sha256("\n".join((RECIPE, base_id, *lines)).encode()).hexdigest()[:20]
    name = f"{prefix}-requirements:{key}"
    with contextlib.suppress(ImageNotFound):
        image = client.images.get(name)
        log("These requirements have been installed before; their image is reused.")
        return PackageImage(str(image.id), tuple(json.loads(image.labels.get("arena.warnings", "[]"))))
    with Installer(client, base_id, environment=network.environment, certificates=network.read_certificates()) as pip:
        given_up = _install(pip, list(lines), log)
        here, base = (pip.versions(FOLDER), pip.versions()) if given_up else ({}, {})
        warnings = tuple(_warning(line, here, base) for line in given_up)
        for warning in warnings:
            log(f"Warning: {warning}")
        labels = {"arena.warnings": json.dumps(warnings), PREFIX_LABEL: prefix, REQUIREMENTS_LABEL: name}
        image_id = pip.commit(name, labels)
    return PackageImage(image_id, warnings)


def _install(pip: Installer, wanted: list[str], log: Callable[[str], None]) -> list[str]:
    """Install what has wheels; return the lines that the base image's own versions stand in for."""
    given_up: list[str] = []
    while wanted:
        status, output = pip.install(tuple(wanted), log)
        if status == 0:
            break
        missing = _MISSING.search(output)
        # Without an index pip finds no package at all; that is no reason to fall back.
        if missing is None or status == TIMED_OUT or _UNREACHABLE.search(output):
            raise _failure(status, output)
        package = missing.group(1)
        line = next((line for line in wanted if _package_of(line) == normal_name(package)), None)
        if line is None or normal_name(package) not in pip.versions():
            raise BuildFailed(
                f"There is no wheel for {line or package} and the Python of the base image. "
                "Ask for a version that has one.",
                code="no_wheel",
            )
        if len(given_up) == MAX_FALL_BACKS:
            raise BuildFailed(
                f"More than {MAX_FALL_BACKS} requirements have no wheel for the Python of the base image, "
                f"{line} among them. Ask for versions that have one.",
                code="no_wheel",
            )
        wanted.remove(line)
        given_up.append(line)
        log(f"No wheel for {line}: trying without it.")
    return given_up


def _warning(line: str, here: dict[str, str], base: dict[str, str]) -> str:
    package = _package_of(line)
    if package in here:
        # Another requirement brought it along.
        return f"{line} has no wheel for the Python of the base image; version {here[package]} is used."
    return f"{line} has no wheel for the Python of the base image; version {base[package]} of the base image is used."


def _package_of(line: str) -> str:
    return normal_name(re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0])


def normal_name(name: str) -> str:
    """The name of a package as the index compares it, after PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _failure(status: int, output: str) -> BuildFailed | BuilderUnavailable:
    # First: an index that was slow till the end has also left words on connections.
    if status in {TIMED_OUT, TERMINATED}:
        return BuildFailed(
            f"Installing the requirements takes longer than {INSTALL_SECONDS // 60} minutes.",
            code="requirements_too_slow",
        )
    if "No space left" in output:
        return BuilderUnavailable("The disk is full.", code="disk_full")
    if _UNREACHABLE.search(output):
        return BuilderUnavailable("The package index cannot be reached.", code="index_unreachable")
    if status in KILLED:
        return BuildFailed(
            f"Installing the requirements needs more than {MEMORY_BYTES >> 30} GiB of memory.",
            code="requirements_too_large",
        )
    errors = [line for line in output.splitlines() if line.startswith("ERROR:")]
    first = errors[-1].removeprefix("ERROR:").strip() if errors else "pip ended without saying why"
    return BuildFailed(f"The requirements cannot be installed: {first}", code="requirements_failed")
