"""Makes one image for each set of requirements, shared by all submissions that ask for the same set.

pip runs in a locked-down container of the base image, as a user without rights, on lines that the package `upload` has
parsed: wheels only, no options, no addresses. The container holds no code of a submission, and no code of a wheel is
run. The settings with which pip reaches the index, which may hold passwords, go to its process alone, never into an
image.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import docker
from docker.errors import ImageNotFound

from arena_kit.image.calls import engine_errors
from arena_kit.image.container import NameTaken
from arena_kit.image.errors import BuilderUnavailable
from arena_kit.image.failures import failure
from arena_kit.image.installer import Installer
from arena_kit.image.labels import PREFIX_LABEL, REQUIREMENTS_LABEL, WARNINGS_LABEL, WHEELS_LABEL, container_name
from arena_kit.image.layer import commit_layer
from arena_kit.image.limits import INSTALL_SECONDS
from arena_kit.image.wheels import Log, Wheel, fetch_all, not_met, warning

RECIPE = "4"
"""Version of the way that images are made; a change of it keeps older images from being reused."""
WAIT_SECONDS = 1.0
"""Seconds between two checks whether another worker has installed the same requirements."""
LOOK_SECONDS = 5.0
"""Seconds between two log lines while waiting for it; `log` may raise to end the build."""


@dataclass(frozen=True, slots=True)
class Network:
    """How pip reaches the package index: the worker's own pip variables and certificates."""

    environment: dict[str, str] = field(default_factory=dict)
    certificates: str = ""
    """Path on this host of a bundle of certificate authorities; empty for the image's own."""
    name: str = "bridge"
    """Name of the engine's network over which wheels are fetched."""

    def read_certificates(self) -> bytes:
        """Return the bundle, or b"" without one. Raises BuilderUnavailable."""
        try:
            return Path(self.certificates).read_bytes() if self.certificates else b""
        except OSError as error:
            raise BuilderUnavailable(
                f"The certificates {self.certificates} cannot be read: {error.strerror}.", code="certificates_missing"
            ) from None


@dataclass(frozen=True, slots=True)
class PackageImage:
    """An image with a set of requirements. image_id: its content id; empty if the base image has all of them.

    warnings: sentences for the owner.
    """

    image_id: str
    wheels: tuple[Wheel, ...]
    warnings: tuple[str, ...]


def package_image(
    client: docker.DockerClient,
    base_id: str,
    lines: tuple[str, ...],
    *,
    base: Mapping[str, str],
    prefix: str,
    network: Network,
    log: Log,
    constraints: bytes = b"",
) -> PackageImage:
    """Return the image of these requirements on this base, after making it if it is missing; only one worker does that.

    base: versions of the base image's Python packages, by normalised name. Lines that these meet are not installed
    again, but still bind what other packages ask for. A pin that is too old to have a wheel falls back to the base
    image's version, with a warning. constraints: the organisers' file of constraints for pip. Raises BuildFailed, and
    BuilderUnavailable for faults of the platform.
    """
    missing = not_met(lines, base)
    if not missing:
        log("The base image has all of them; nothing is installed.")
        return PackageImage("", (), ())
    constraints = b"\n".join(filter(None, [constraints, *(line.encode() for line in lines if line not in missing)]))
    words = (RECIPE, base_id, *missing, *([constraints.hex()] if constraints else []))
    key = hashlib.sha256("\n".join(words).encode()).hexdigest()[:20]
    tag = f"{prefix}-requirements:{key}"
    waits_since = told_at = 0.0
    while True:
        if found := _existing(client, tag):
            log("These requirements have been installed before; their image is reused.")
            return found
        pip = Installer(
            client,
            base_id,
            name=container_name(prefix, f"requirements-{key}"),
            prefix=prefix,
            network=network.name,
            environment=network.environment,
            certificates=network.read_certificates(),
            constraints=constraints,
        )
        try:
            with pip:
                # Another worker may have finished between the check above and the start of this container.
                return _existing(client, tag) or _make(client, base_id, missing, base, tag, prefix, pip, log)
        except NameTaken:
            if not waits_since:
                waits_since = told_at = time.monotonic()
                log("Another build installs the same requirements; waiting for it.")
        if time.monotonic() > waits_since + 2 * INSTALL_SECONDS:
            raise BuilderUnavailable(
                "Another build takes too long to install the same requirements.", code="installer_busy"
            )
        if time.monotonic() > told_at + LOOK_SECONDS:
            told_at = time.monotonic()
            # `log` raises when the build is cancelled or the worker stops.
            log(f"Still waiting after {told_at - waits_since:.0f} s.")
        time.sleep(WAIT_SECONDS)


def read_constraints(path: str) -> bytes:
    """Return the content of pip's constraints; b"" without a path. Raises BuilderUnavailable."""
    try:
        return Path(path).read_bytes() if path else b""
    except OSError as error:
        raise BuilderUnavailable(
            f"The constraints {path} cannot be read: {error.strerror}.", code="constraints_missing"
        ) from None


def _existing(client: docker.DockerClient, tag: str) -> PackageImage | None:
    with engine_errors():
        try:
            image = client.images.get(tag)
        except ImageNotFound:
            return None
    wheels = json.loads(image.labels.get(WHEELS_LABEL, "{}"))
    warnings = json.loads(image.labels.get(WARNINGS_LABEL, "[]"))
    return PackageImage(str(image.id), tuple(Wheel(*pair) for pair in wheels.items()), tuple(warnings))


def _make(
    client: docker.DockerClient,
    base_id: str,
    lines: tuple[str, ...],
    base: Mapping[str, str],
    tag: str,
    prefix: str,
    pip: Installer,
    log: Log,
) -> PackageImage:
    given_up = fetch_all(pip, list(lines), base, log)
    wheels = pip.wheels()
    if wheels:
        status, output = pip.install(wheels, log)
        if status != 0:
            raise failure(status, output)
    else:
        # Every line fell back to the base image, or is meant for another Python.
        pip.make_folders("packages")
    here = {wheel.name: wheel.version for wheel in wheels}
    warnings = tuple(warning(line, here, base) for line in given_up)
    for sentence in warnings:
        log(f"Warning: {sentence}")
    labels = {
        PREFIX_LABEL: prefix,
        REQUIREMENTS_LABEL: tag,
        WARNINGS_LABEL: json.dumps(warnings),
        WHEELS_LABEL: json.dumps({wheel.filename: wheel.sha256 for wheel in wheels}),
    }
    return PackageImage(commit_layer(client, base_id, pip.layer(), tag=tag, labels=labels), wheels, warnings)
