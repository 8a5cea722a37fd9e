"""Builds images of submissions on a Docker engine.

The result is an image per set of requirements and a layer with the submission's files on top; no code of the
submission runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from docker import DockerClient
from docker.errors import ImageNotFound

from arena_kit.image.calls import base_image_id, engine
from arena_kit.image.inventory import Inventory, inventory
from arena_kit.image.labels import PREFIX_LABEL
from arena_kit.image.layer import commit_layer, folder_layer
from arena_kit.image.leftovers import Needed, sweep_containers, sweep_images
from arena_kit.image.manifests import registry_tags, sweep_registry
from arena_kit.image.packages import Network, PackageImage, package_image, read_constraints
from arena_kit.image.recipe import BuildResult, Log, unpack
from arena_kit.image.registry import SILENCE_SECONDS, Registry
from arena_kit.image.sbom import sbom
from arena_kit.image.wheels import not_met
from arena_kit.upload.pythons import Version


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
                        client,
                        base_id,
                        requirements.lines,
                        base=base.python,
                        prefix=self._prefix,
                        network=self._network,
                        constraints=read_constraints(self._constraints),
                        log=log,
                    )
                log("Step 4/4: image of the submission")
                layer = folder_layer(folder, "player")
                labels = {**labels, PREFIX_LABEL: self._prefix}
                digest = commit_layer(client, packages.image_id or base_id, layer, tag=tag, labels=labels)
        document = sbom(
            image=tag,
            image_digest=digest,
            base_image=base_image,
            base_digest=base_id,
            base=base,
            wheels=packages.wheels,
            archive_sha256=_sha256(archive),
        )
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

    def lost(self, pushed: Mapping[str, str], *, most: int) -> set[str]:
        registry = self._registry
        if registry is None or not pushed:
            return set()
        with engine() as client:
            listed = registry_tags(client, registry)
            # Only what the list lacks is asked for one by one.
            doubtful = [image for image in pushed if image.rpartition(":")[2] not in listed]
            return {image for image in doubtful[:most] if not registry.has(client, pushed[image])}

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
