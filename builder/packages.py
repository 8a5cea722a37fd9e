"""An image per set of requirements, shared by all submissions that ask for the same.

pip runs in a locked-down container of the base image, as nobody in particular, on lines that `core.requirements` has
parsed: wheels only, no options, no addresses. No code of a submission is there.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import docker
import requests
from docker.errors import DockerException, ImageNotFound
from docker.types import Mount

from builder.engine import engine_errors
from builder.errors import BuilderUnavailable, BuildFailed

FOLDER = "/opt/requirements"
INSTALL_SECONDS = 900
MEMORY_BYTES = 2 << 30
LOG_LINES = 400
INSTALLED = "import importlib.metadata as m, json; print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}))"
_MISSING = re.compile(r"No matching distribution found for ([A-Za-z0-9._-]+)")


@dataclass(frozen=True, slots=True)
class Network:
    """How containers that fetch wheels reach the index: the worker's own pip variables and certificates."""

    environment: dict[str, str]
    certificates: str = ""
    """Path on the host of a bundle of certificate authorities, empty for the image's own."""


@dataclass(frozen=True, slots=True)
class PackageImage:
    """An image with a set of requirements, and what the owner should know of it."""

    name: str
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
    key = hashlib.sha256("\n".join((base_id, *lines)).encode()).hexdigest()[:20]
    name = f"{prefix}-requirements:{key}"
    with engine_errors(), contextlib.suppress(ImageNotFound):
        image = client.images.get(name)
        log("These requirements have been installed before; their image is reused.")
        return PackageImage(name, tuple(json.loads(image.labels.get("arena.warnings", "[]"))))
    wanted, warnings = list(lines), []
    while True:
        output = _install(client, base_id, tuple(wanted), name, warnings, network, log)
        if output is None:
            return PackageImage(name, tuple(warnings))
        missing = _MISSING.search(output)
        if missing is None:
            raise _failure(output)
        line = _line_of(missing.group(1), wanted)
        version = _base_version(client, base_id, missing.group(1))
        if line is None or version is None:
            raise BuildFailed(
                f"There is no wheel for {line or missing.group(1)} and the Python of the base image. "
                "Ask for a version that has one.",
                code="no_wheel",
            )
        wanted.remove(line)
        warnings.append(
            f"{line} has no wheel for the Python of the base image; version {version} of the base image is used."
        )
        log(f"Warning: {warnings[-1]}")


def _install(
    client: docker.DockerClient,
    base_id: str,
    lines: tuple[str, ...],
    name: str,
    warnings: list[str],
    network: Network,
    log: Callable[[str], None],
) -> str | None:
    """Install into a container and commit it as `name`; return pip's output when it failed."""
    container = _container(client, base_id, network)
    try:
        with engine_errors():
            container.put_archive("/opt", _tar("requirements.txt", "\n".join(lines)))
            container.start()
            output = ""
            for number, line in enumerate(container.logs(stream=True, follow=True)):
                text = line.decode("utf-8", "replace").rstrip()
                output = (output + "\n" + text)[-20_000:]
                if number < LOG_LINES:
                    log(text)
            status = container.wait(timeout=INSTALL_SECONDS)["StatusCode"]
            if status != 0:
                return output
            repository, _, tag = name.partition(":")
            labels = json.dumps(json.dumps(warnings))
            container.commit(repository, tag, changes=[f"LABEL arena.warnings={labels}", f"ENV PYTHONPATH={FOLDER}"])
            return None
    finally:
        with contextlib.suppress(DockerException, requests.RequestException):
            container.remove(force=True)


def _container(client: docker.DockerClient, base_id: str, network: Network) -> Any:
    environment = {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "HOME": "/tmp", **network.environment}
    # Mounts, not volumes: those would be committed into the image.
    mounts = []
    if network.certificates:
        mounts.append(Mount("/opt/certificates.crt", network.certificates, type="bind", read_only=True))
        environment["PIP_CERT"] = "/opt/certificates.crt"
    command = (
        f"timeout {INSTALL_SECONDS} python3 -m pip install --only-binary :all: --no-cache-dir --no-warn-script-location"
        f" --root-user-action=ignore --target {FOLDER} --requirement /opt/requirements.txt 2>&1"
    )
    with engine_errors():
        return client.containers.create(
            base_id,
            ["/bin/sh", "-c", command],
            environment=environment,
            mounts=mounts,
            labels={"arena.packages": "1"},
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            mem_limit=MEMORY_BYTES,
            memswap_limit=MEMORY_BYTES,
            pids_limit=128,
            nano_cpus=10**9,
        )


def _base_version(client: docker.DockerClient, base_id: str, package: str) -> str | None:
    """Version of a package in the base image, None when it has none."""
    with engine_errors():
        output = client.containers.run(
            base_id, ["python3", "-I", "-c", INSTALLED], network_mode="none", cap_drop=["ALL"], remove=True
        )
    versions = {_normal(name): version for name, version in json.loads(output).items() if name}
    found = versions.get(_normal(package))
    return None if found is None else str(found)


def _line_of(package: str, lines: list[str]) -> str | None:
    for line in lines:
        if _normal(re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]) == _normal(package):
            return line
    return None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _failure(output: str) -> BuildFailed | BuilderUnavailable:
    errors = [line for line in output.splitlines() if line.startswith("ERROR:")]
    first = errors[-1].removeprefix("ERROR:").strip() if errors else "pip ended without saying why"
    if "No space left" in output:
        return BuilderUnavailable("The disk is full.", code="disk_full")
    if "Max retries exceeded" in output or "Temporary failure in name resolution" in output:
        return BuilderUnavailable("The package index cannot be reached.", code="index_unreachable")
    return BuildFailed(f"The requirements cannot be installed: {first}", code="requirements_failed")


def _tar(name: str, text: str) -> bytes:
    data = text.encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(data), 0o644
        tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
