"""Turns the archive of a submission into something that can be played, in steps that are logged.

With an engine, the result is an image per set of requirements and a layer with the submission's files on top; no code
of the submission runs. Without one (the process sandbox, for a person's own code), it is an unpacked folder.
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from docker import DockerClient
from docker.errors import ImageNotFound

from arena_kit.image.calls import base_image_id, engine
from arena_kit.image.errors import BuildFailed
from arena_kit.image.inventory import Inventory, inventory
from arena_kit.image.labels import PREFIX_LABEL
from arena_kit.image.layer import commit_layer, folder_layer
from arena_kit.image.leftovers import Needed, sweep_containers, sweep_images
from arena_kit.image.manifests import sweep_registry
from arena_kit.image.packages import Network, PackageImage, package_image, read_constraints
from arena_kit.image.registry import SILENCE_SECONDS, Registry
from arena_kit.image.sbom import sbom
from arena_kit.image.wheels import not_met
from arena_kit.upload.archive import read_text, unpack_archive
from arena_kit.upload.compiling import check_python_compiles
from arena_kit.upload.findings import THIS_PYTHON
from arena_kit.upload.pythons import ChosenPython, Version, choose_python, read_wanted_python
from arena_kit.upload.requirements import Requirements, RequirementsRefused, read_requirements, unmet
from arena_kit.upload.zip_safety import ArchiveRefused

FOLDER_PREFIX = "folder:"
_NAME = re.compile(r"s(\d+)-b(\d+)-[0-9a-f]+")
"""Matches the folders' names: submission, build, and the build's claim token."""
Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BuildResult:
    """The result of a build.

    image: its name for people, or `folder:PATH`. warnings: sentences for the owner. digest: the image's content id,
    which sandboxes launch. base_image: name of the base image and its Python, for people. base_digest,
    requirements_digest: content ids of the images below it; the second is empty when nothing is required. sbom: its
    bill of materials. For a folder the last five are empty.
    """

    image: str
    warnings: tuple[str, ...]
    digest: str = ""
    base_image: str = ""
    base_digest: str = ""
    requirements_digest: str = ""
    sbom: bytes = b""


class Recipe(Protocol):
    """Turns archives into images, and removes them."""

    def build(
        self, archive: IO[bytes], *, name: str, labels: dict[str, str], log: Log, defaults: tuple[str, ...] = ()
    ) -> BuildResult:
        """Build an archive.

        defaults: requirement lines for an archive that has none. Raises BuildFailed when the owner must act, and
        BuilderUnavailable when the platform must.
        """

    def remove(self, image: str) -> None:
        """Remove an image, if it still exists."""

    def push(self, image: str, *, still_wanted: Callable[[], None]) -> str:
        """Put a built image where other hosts get it and return its digest there; "" where there is no registry.

        still_wanted: called often; what it raises ends the push. Raises BuilderUnavailable.
        """

    def missing(self, launched: Mapping[str, str]) -> set[str]:
        """Return the images that exist neither here nor in the registry, of those that sandboxes would launch.

        launched: the digest in the registry ("" for none) by image. Raises BuilderUnavailable.
        """

    def sweep(self, needed: Callable[[], Needed]) -> None:
        """Remove images that are not needed any more. needed: called after the images are listed."""


class DockerRecipe:
    """Builds images on a Docker engine."""

    def __init__(
        self,
        *,
        base_images: Mapping[Version, str],
        prefix: str,
        network: Network,
        constraints: str = "",
        larger_images: Mapping[Version, str] | None = None,
        registry: Registry | None = None,
    ) -> None:
        """base_images: by version of Python, the default first. constraints: path of pip's constraints, if any.

        larger_images: as base_images; one takes the place of the base image with its Python for submissions of which it
        meets more requirements. registry: where other hosts get the images, and base images named by digest come from.
        """
        self._registry = registry
        self._base_images, self._prefix, self._network = base_images, prefix, network
        self._constraints, self._larger_images = constraints, larger_images or {}

    def build(
        self, archive: IO[bytes], *, name: str, labels: dict[str, str], log: Log, defaults: tuple[str, ...] = ()
    ) -> BuildResult:
        started = time.monotonic()
        tag = f"{self._prefix}:{name}"
        with tempfile.TemporaryDirectory(prefix="arena-build-") as temporary:
            folder = Path(temporary) / "player"
            log("Step 1/4: check and unpack the archive")
            python, requirements, notes = unpack(archive, folder, defaults, log, tuple(self._base_images))
            with engine() as client:
                base_image, base_id, base = self._base(client, python.version, requirements.lines)
                log(f"Step 2/4: base image {base_image}")
                log(f"Step 3/4: requirements ({len(requirements.lines) or 'none'})")
                packages = PackageImage("", (), ())
                if requirements.lines:
                    packages = package_image(
                        client, base_id, requirements.lines, base=base.python, prefix=self._prefix,
                        network=self._network, constraints=read_constraints(self._constraints), log=log,
                    )  # fmt: skip
                log("Step 4/4: image of the submission")
                layer = folder_layer(folder, "player")
                labels = {**labels, PREFIX_LABEL: self._prefix}
                digest = commit_layer(client, packages.image_id or base_id, layer, tag=tag, labels=labels)
        document = sbom(
            image=tag, image_digest=digest, base_image=base_image, base_digest=base_id, base=base,
            wheels=packages.wheels, archive_sha256=_sha256(archive),
        )  # fmt: skip
        log(f"Built {tag} in {time.monotonic() - started:.1f} s")
        warnings = (*notes, *requirements.notes, *packages.warnings)
        shown = f"{base_image} (Python {base.interpreter})"
        return BuildResult(tag, warnings, digest, shown, base_id, packages.image_id, document)

    def _base(self, client: DockerClient, python: Version, lines: tuple[str, ...]) -> tuple[str, str, Inventory]:
        """Return name, content id and content of the base image, or of a larger one that leaves less to install."""

        def look(name: str) -> tuple[str, str, Inventory]:
            if self._registry is not None:
                self._registry.fetch_pinned(client, name)
            base_id = base_image_id(client, name)
            return name, base_id, inventory(client, base_id, self._prefix)

        found = look(self._base_images[python])
        missing = not_met(lines, found[2].python)
        if missing and python in self._larger_images:
            larger = look(self._larger_images[python])
            if len(not_met(lines, larger[2].python)) < len(missing):
                return larger
        return found

    def remove(self, image: str) -> None:
        with engine() as client, contextlib.suppress(ImageNotFound):
            client.images.remove(image, force=True)

    def push(self, image: str, *, still_wanted: Callable[[], None]) -> str:
        if self._registry is None:
            return ""
        with engine(SILENCE_SECONDS) as client:
            return self._registry.push(client, image, still_wanted=still_wanted)

    def missing(self, launched: Mapping[str, str]) -> set[str]:
        with engine() as client:
            images = client.api.images()
            gone = set(launched).difference(*([image["Id"], *(image.get("RepoTags") or ())] for image in images))
            registry = self._registry
            if registry is None:
                return gone
            return {image for image in gone if not (launched[image] and registry.has(client, launched[image]))}

    def sweep(self, needed: Callable[[], Needed]) -> None:
        with engine() as client:
            sweep_containers(client, self._prefix, needed)
            sweep_images(client, self._prefix, needed)
            if self._registry is not None:
                sweep_registry(client, self._registry, needed)


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
            _, requirements, notes = unpack(archive, target, defaults, log)
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

    def push(self, image: str, *, still_wanted: Callable[[], None]) -> str:
        return ""

    def missing(self, launched: Mapping[str, str]) -> set[str]:
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


def unpack(
    archive: IO[bytes],
    folder: Path,
    defaults: tuple[str, ...],
    log: Log,
    pythons: Sequence[Version] = THIS_PYTHON,
) -> tuple[ChosenPython, Requirements, list[str]]:
    """Unpack an archive; return its Python, its requirements, or `defaults` where it has none, and notes for the owner.

    The notes, on files that are left out or cannot be shown, are logged, too. pythons: the versions to choose from,
    the default first. Raises BuildFailed.
    """
    try:
        report = unpack_archive(archive, folder)
        python = choose_python(read_wanted_python(report, lambda name: read_text(archive, name)), pythons)
        # The site skips this check when it is busy with other uploads. It cannot judge what is for a newer Python.
        if python.version <= THIS_PYTHON[0]:
            check_python_compiles(archive)
        notes = [*report.notes, *([python.note] if python.note else [])]
        for note in notes:
            log(f"Note: {note}")
        requirements = read_requirements(report, lambda name: read_text(archive, name))
        requirements = requirements if requirements.lines else dataclasses.replace(requirements, lines=defaults)
        return python, requirements, notes
    except (ArchiveRefused, RequirementsRefused) as refusal:
        raise BuildFailed(str(refusal), code=refusal.code) from None


def missing_here(requirements: Requirements) -> list[str]:
    """Return a sentence for each requirement that the arena's own Python does not meet."""
    installed = {row.name: row.version for row in importlib.metadata.distributions()}
    return [
        f"{line} is not installed: the process sandbox uses the arena's own Python."
        if version is None
        else f"{line} is required, but the process sandbox uses version {version} of the arena's Python."
        for line, version in unmet(requirements, installed)
    ]
