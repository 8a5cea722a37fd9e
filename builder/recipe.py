"""How a submission becomes something that can be played: named steps, logged as they go.

On an engine: an image per set of requirements, and one COPY layer with the submission's files on top. Nothing of the
submission runs here. Without an engine (process sandbox, a person's own code): an unpacked folder.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

import docker
from docker.errors import APIError, ImageNotFound
from packaging.requirements import Requirement

from builder.engine import base_image_id, engine
from builder.errors import BuildFailed
from builder.leftovers import PREFIX_LABEL, Needed, sweep_engine
from builder.packages import Network, normal_name, package_image
from core.archive import ArchiveRefused, read_text, unpack_archive
from core.requirements import Requirements, RequirementsRefused, read_requirements

FOLDER_PREFIX = "folder:"
_NAME = re.compile(r"s(\d+)-b(\d+)-a\d+")
"""What `builder.tasks` calls the folders: submission, build and attempt."""
Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BuildResult:
    """image: what a sandbox can launch. digest: its content id, empty for a folder. warnings: for the owner."""

    image: str
    digest: str
    warnings: tuple[str, ...]


class Recipe(Protocol):
    """Turns archives into images, and removes them."""

    def build(self, archive: IO[bytes], *, name: str, labels: dict[str, str], log: Log) -> BuildResult:
        """Raises BuildFailed (the owner must act) or BuilderUnavailable (the platform must)."""

    def remove(self, image: str) -> None:
        """Remove an image; it may be gone already."""

    def sweep(self, needed: Callable[[], Needed]) -> None:
        """Remove what was once made and is not needed any more. needed: asked once it is known what is there."""


class DockerRecipe:
    """Builds images on a Docker engine."""

    def __init__(self, *, base_image: str, prefix: str, network: Network) -> None:
        self._base_image, self._prefix, self._network = base_image, prefix, network

    def build(self, archive: IO[bytes], *, name: str, labels: dict[str, str], log: Log) -> BuildResult:
        with tempfile.TemporaryDirectory(prefix="arena-build-") as temporary:
            folder = Path(temporary) / "player"
            log("Step 1/4: check and unpack the archive")
            requirements = unpack(archive, folder)
            warnings = list(requirements.notes)
            tag = f"{self._prefix}:{name}"
            with engine() as client:
                log(f"Step 2/4: base image {self._base_image}")
                parent = base_image_id(client, self._base_image)
                log(f"Step 3/4: requirements ({len(requirements.lines) or 'none'})")
                if requirements.lines:
                    packages = package_image(
                        client, parent, requirements.lines, prefix=self._prefix, network=self._network, log=log
                    )
                    parent = packages.image_id
                    warnings += packages.warnings
                log("Step 4/4: image of the submission")
                digest = _copy_layer(client, parent, folder, tag, {**labels, PREFIX_LABEL: self._prefix})
        log(f"Built {tag}")
        return BuildResult(tag, digest, tuple(warnings))

    def remove(self, image: str) -> None:
        with engine() as client, contextlib.suppress(ImageNotFound):
            client.images.remove(image, force=True)

    def sweep(self, needed: Callable[[], Needed]) -> None:
        with engine() as client:
            sweep_engine(client, self._prefix, needed)


def _copy_layer(client: docker.DockerClient, parent: str, folder: Path, tag: str, labels: dict[str, str]) -> str:
    """Put the files of a folder on an image; return the new image's content id.

    The context's root holds our Dockerfile alone: a Dockerfile or .dockerignore of the submission lies in player/ and
    is a file like any other. The parent is named by its id, so that it can never be pulled from somewhere.
    """
    with tempfile.TemporaryFile() as context:
        dockerfile = folder.parent / "Dockerfile"
        dockerfile.write_text(f"FROM {parent}\nCOPY player /player\n")
        with tarfile.open(fileobj=context, mode="w") as tar:
            tar.add(dockerfile, "Dockerfile", filter=_anonymous)
            tar.add(folder, "player", filter=_anonymous)
        context.seek(0)
        for event in client.api.build(
            fileobj=context, custom_context=True, tag=tag, labels=labels, network_mode="none", rm=True, forcerm=True,
            decode=True,
        ):  # fmt: skip
            if "error" in event:
                raise APIError(event["error"])
        return str(client.images.get(tag).id)


class FolderRecipe:
    """Unpacks archives into folders of this host, for the process sandbox."""

    def __init__(self, *, folder: Path) -> None:
        self._folder = folder

    def build(self, archive: IO[bytes], *, name: str, labels: dict[str, str], log: Log) -> BuildResult:
        target = self._folder / name
        shutil.rmtree(target, ignore_errors=True)
        log("Step 1/2: check and unpack the archive")
        try:
            requirements = unpack(archive, target)
        except BuildFailed:
            shutil.rmtree(target, ignore_errors=True)
            raise
        log(f"Step 2/2: requirements ({len(requirements.lines) or 'none'})")
        warnings = [*requirements.notes, *missing_here(requirements)]
        for warning in warnings:
            log(f"Warning: {warning}")
        return BuildResult(f"{FOLDER_PREFIX}{target}", "", tuple(warnings))

    def remove(self, image: str) -> None:
        target = Path(image.removeprefix(FOLDER_PREFIX)).resolve()
        if image.startswith(FOLDER_PREFIX) and target.parent == self._folder.resolve():
            shutil.rmtree(target, ignore_errors=True)

    def sweep(self, needed: Callable[[], Needed]) -> None:
        if not self._folder.is_dir():
            return
        found = [(folder, name) for folder in self._folder.iterdir() if (name := _NAME.fullmatch(folder.name))]
        rows = needed()
        kept = {Path(image.removeprefix(FOLDER_PREFIX)).name for image in rows.images}
        for folder, name in found:
            if folder.name not in kept and not rows.spares(name[1], name[2]):
                shutil.rmtree(folder, ignore_errors=True)


def unpack(archive: IO[bytes], folder: Path) -> Requirements:
    """Unpack an archive and read its requirements. Raises BuildFailed."""
    try:
        report = unpack_archive(archive, folder)
        return read_requirements(report, lambda name: read_text(archive, name))
    except (ArchiveRefused, RequirementsRefused) as refusal:
        raise BuildFailed(str(refusal), code=refusal.code) from None


def missing_here(requirements: Requirements) -> list[str]:
    """Sentences on requirements that the arena's own Python does not meet."""
    found = {normal_name(d.name): d.version for d in importlib.metadata.distributions()}
    warnings = []
    for line in requirements.lines:
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        version = found.get(normal_name(requirement.name))
        if version is None:
            warnings.append(f"{line} is not installed: the process sandbox uses the arena's own Python.")
        elif not requirement.specifier.contains(version, prereleases=True):
            warnings.append(f"{line} is asked for; the process sandbox uses version {version} of the arena's Python.")
    return warnings


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """No owner and no time of this host; equal files give equal layers."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    entry.mode = 0o755 if entry.isdir() else 0o644
    return entry
