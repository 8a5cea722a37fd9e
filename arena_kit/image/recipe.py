"""How a submission becomes something that can be played: named steps, logged as they go.

On an engine: an image per set of requirements, and one layer with the submission's files on top. Nothing of the
submission runs here. Without an engine (process sandbox, a person's own code): an unpacked folder.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from docker.errors import ImageNotFound

from arena_kit.image.calls import base_image_id, engine
from arena_kit.image.errors import BuildFailed
from arena_kit.image.inventory import inventory
from arena_kit.image.labels import PREFIX_LABEL
from arena_kit.image.layer import commit_layer, folder_layer
from arena_kit.image.leftovers import Needed, sweep_containers, sweep_images
from arena_kit.image.packages import Network, PackageImage, package_image
from arena_kit.image.sbom import sbom
from arena_kit.image.wheels import is_met
from arena_kit.upload.archive import ArchiveRefused, check_python_compiles, read_text, unpack_archive
from arena_kit.upload.requirements import Requirements, RequirementsRefused, read_requirements, unmet

FOLDER_PREFIX = "folder:"
_NAME = re.compile(r"s(\d+)-b(\d+)-[0-9a-f]+")
"""What `builder.tasks` calls the folders: submission, build and claim, once its attempt."""
Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BuildResult:
    """image: its name for people, or a folder. warnings: for the owner.

    digest: content id of the image, which is what a sandbox launches. base_digest, requirements_digest: those of the
    images below it. sbom: its bill of materials. All four are empty for a folder, the third where nothing is required.
    """

    image: str
    warnings: tuple[str, ...]
    digest: str = ""
    base_digest: str = ""
    requirements_digest: str = ""
    sbom: bytes = b""


class Recipe(Protocol):
    """Turns archives into images, and removes them."""

    def build(
        self, archive: IO[bytes], *, name: str, labels: dict[str, str], log: Log, defaults: tuple[str, ...] = ()
    ) -> BuildResult:
        """Raises BuildFailed (the owner must act) or BuilderUnavailable (the platform must).

        defaults: what is installed where the archive requires nothing.
        """

    def remove(self, image: str) -> None:
        """Remove an image; it may be gone already."""

    def missing(self, launched: Collection[str]) -> set[str]:
        """Those of the images that a sandbox would launch which are not here. Raises BuilderUnavailable."""

    def sweep(self, needed: Callable[[], Needed]) -> None:
        """Remove what was once made and is not needed any more. needed: asked once it is known what is there."""


class DockerRecipe:
    """Builds images on a Docker engine."""

    def __init__(self, *, base_image: str, prefix: str, network: Network) -> None:
        self._base_image, self._prefix, self._network = base_image, prefix, network

    def build(
        self, archive: IO[bytes], *, name: str, labels: dict[str, str], log: Log, defaults: tuple[str, ...] = ()
    ) -> BuildResult:
        started = time.monotonic()
        tag = f"{self._prefix}:{name}"
        with tempfile.TemporaryDirectory(prefix="arena-build-") as temporary:
            folder = Path(temporary) / "player"
            log("Step 1/4: check and unpack the archive")
            requirements, notes = unpack(archive, folder, defaults, log)
            with engine() as client:
                log(f"Step 2/4: base image {self._base_image}")
                base_id = base_image_id(client, self._base_image)
                base = inventory(client, base_id, self._prefix)
                log(f"Step 3/4: requirements ({len(requirements.lines) or 'none'})")
                packages = PackageImage("", (), ())
                if requirements.lines and is_met(requirements.lines, base.python):
                    log("The base image has all of them; nothing is installed.")
                elif requirements.lines:
                    packages = package_image(
                        client, base_id, requirements.lines, base=base.python, prefix=self._prefix,
                        network=self._network, log=log,
                    )  # fmt: skip
                log("Step 4/4: image of the submission")
                layer = folder_layer(folder, "player")
                labels = {**labels, PREFIX_LABEL: self._prefix}
                digest = commit_layer(client, packages.image_id or base_id, layer, tag=tag, labels=labels)
        document = sbom(
            image=tag, image_digest=digest, base_image=self._base_image, base_digest=base_id, base=base,
            wheels=packages.wheels, archive_sha256=_sha256(archive),
        )  # fmt: skip
        log(f"Built {tag} in {time.monotonic() - started:.1f} s")
        warnings = (*notes, *requirements.notes, *packages.warnings)
        return BuildResult(tag, warnings, digest, base_id, packages.image_id, document)

    def remove(self, image: str) -> None:
        with engine() as client, contextlib.suppress(ImageNotFound):
            client.images.remove(image, force=True)

    def missing(self, launched: Collection[str]) -> set[str]:
        with engine() as client:
            images = client.api.images()
        return set(launched).difference(*([image["Id"], *(image.get("RepoTags") or ())] for image in images))

    def sweep(self, needed: Callable[[], Needed]) -> None:
        with engine() as client:
            sweep_containers(client, self._prefix, needed)
            sweep_images(client, self._prefix, needed)


def _sha256(file: IO[bytes]) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while data := file.read(1 << 20):
        digest.update(data)
    return digest.hexdigest()


class FolderRecipe:
    """Unpacks archives into folders of this host, for the process sandbox."""

    def __init__(self, *, folder: Path) -> None:
        self._folder = folder

    def build(
        self, archive: IO[bytes], *, name: str, labels: dict[str, str], log: Log, defaults: tuple[str, ...] = ()
    ) -> BuildResult:
        target = self._folder / name
        shutil.rmtree(target, ignore_errors=True)
        log("Step 1/2: check and unpack the archive")
        try:
            requirements, notes = unpack(archive, target, defaults, log)
        except BuildFailed:
            shutil.rmtree(target, ignore_errors=True)
            raise
        log(f"Step 2/2: requirements ({len(requirements.lines) or 'none'})")
        warnings = [*requirements.notes, *missing_here(requirements)]
        for warning in warnings:
            log(f"Warning: {warning}")
        warnings = [*notes, *warnings]
        return BuildResult(f"{FOLDER_PREFIX}{target}", tuple(warnings))

    def remove(self, image: str) -> None:
        target = Path(image.removeprefix(FOLDER_PREFIX)).resolve()
        if image.startswith(FOLDER_PREFIX) and target.parent == self._folder.resolve():
            shutil.rmtree(target, ignore_errors=True)

    def missing(self, launched: Collection[str]) -> set[str]:
        return {image for image in launched if not Path(image.removeprefix(FOLDER_PREFIX)).is_dir()}

    def sweep(self, needed: Callable[[], Needed]) -> None:
        if not self._folder.is_dir():
            return
        found = [(folder, name) for folder in self._folder.iterdir() if (name := _NAME.fullmatch(folder.name))]
        rows = needed()
        kept = {Path(image.removeprefix(FOLDER_PREFIX)).name for image in rows.images}
        for folder, name in found:
            if folder.name not in kept and not rows.spares(name[1], name[2]):
                shutil.rmtree(folder, ignore_errors=True)


def unpack(archive: IO[bytes], folder: Path, defaults: tuple[str, ...], log: Log) -> tuple[Requirements, list[str]]:
    """Unpack an archive, and say what of it is left out or cannot be read. Raises BuildFailed.

    Returns its requirements, `defaults` where it has none, and what was said.
    """
    try:
        report = unpack_archive(archive, folder)
        # The site has done so, unless it was busy with other uploads.
        check_python_compiles(archive)
        for note in report.notes:
            log(f"Note: {note}")
        requirements = read_requirements(report, lambda name: read_text(archive, name))
        requirements = requirements if requirements.lines else dataclasses.replace(requirements, lines=defaults)
        return requirements, report.notes
    except (ArchiveRefused, RequirementsRefused) as refusal:
        raise BuildFailed(str(refusal), code=refusal.code) from None


def missing_here(requirements: Requirements) -> list[str]:
    """Sentences on requirements that the arena's own Python does not meet."""
    installed = {row.name: row.version for row in importlib.metadata.distributions()}
    return [
        f"{line} is not installed: the process sandbox uses the arena's own Python."
        if version is None
        else f"{line} is asked for; the process sandbox uses version {version} of the arena's Python."
        for line, version in unmet(requirements, installed)
    ]
