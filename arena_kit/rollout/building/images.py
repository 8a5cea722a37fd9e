"""The image of a service before its data: a base, its requirements, its files. Nothing of the package runs."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
from docker.errors import ImageNotFound

from arena_kit.image.calls import engine_errors
from arena_kit.image.errors import BuilderUnavailable
from arena_kit.image.inventory import inventory
from arena_kit.image.labels import PREFIX_LABEL
from arena_kit.image.layer import commit_layer, folder_layer
from arena_kit.image.packages import Network, package_image
from arena_kit.rollout.packages.compose import Service
from arena_kit.rollout.worlds.built import BuiltService
from arena_kit.sandbox.docker import PACKAGES
from arena_kit.upload.requirements import parse_requirements

logger = logging.getLogger(__name__)
FILES, SEED = "app", "seed"
"""Where a service's files and the data of the package are in its image."""
Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Bases:
    """Where images come from, and how they are called.

    names: of images on the engine, by what compose.yml calls them; others stand for themselves. prefix: of the names of
    what is made; it must differ from that of submissions' images. network: over which requirements are fetched.
    """

    names: Mapping[str, str]
    prefix: str
    network: Network = dataclasses.field(default_factory=Network)


def service_image(
    client: docker.DockerClient, service: Service, bases: Bases, unpacked: Path, tag: str, log: Log, *, has_seed: bool
) -> tuple[BuiltService, tuple[str, ...]]:
    """Return a service with its image, and the names of what was made. unpacked: the package, in a folder.

    tag: of what is made. has_seed: whether the package's data go into it. Raises BuildFailed, and BuilderUnavailable
    for a base that the engine has not.
    """
    base_id, config = _base(client, bases.names.get(service.image, service.image))
    environment, image_id = {}, base_id
    if service.requirements:
        lines = parse_requirements((unpacked / service.requirements).read_text(), service.requirements).lines
        known = inventory(client, base_id, bases.prefix).python
        made = package_image(client, base_id, lines, base=known, prefix=bases.prefix, network=bases.network, log=log)
        image_id, environment = made.image_id or base_id, {"PYTHONPATH": PACKAGES} if made.image_id else {}
    folders = [(unpacked / service.files, FILES)] if service.files else []
    folders += [(unpacked / SEED, SEED)] if has_seed and (unpacked / SEED).is_dir() else []
    names = []
    for folder, target in folders:
        log(f"{service.name}: the files of {folder.relative_to(unpacked)} as /{target}")
        names.append(f"{tag}-{service.name}-{target}")
        labels = {PREFIX_LABEL: bases.prefix}
        image_id = commit_layer(client, image_id, folder_layer(folder, target), tag=names[-1], labels=labels)
    return BuiltService(_as_in_base(service, config), image_id, environment), tuple(names)


def untag(client: docker.DockerClient, names: Iterable[str]) -> None:
    """Remove images by their names; one that others stand on loses its name alone, and goes with the last of them.

    One that is in use stays, and is named in the log.
    """
    for name in names:
        try:
            with engine_errors(), contextlib.suppress(ImageNotFound):
                client.images.remove(name)
        except BuilderUnavailable as trouble:
            logger.warning("The image %s stays behind: %s", name, trouble)


def _as_in_base(service: Service, config: Mapping[str, Any]) -> Service:
    """Return a service with the base's own command, user and folder where it has none of its own."""
    command = service.command
    if command is None and service.entrypoint is None:
        command = tuple(config.get("Cmd") or ())
    return dataclasses.replace(
        service,
        entrypoint=tuple(config.get("Entrypoint") or ()) if service.entrypoint is None else service.entrypoint,
        command=command or (),
        user=service.user or str(config.get("User") or ""),
        working_dir=service.working_dir or str(config.get("WorkingDir") or ""),
    )


def _base(client: docker.DockerClient, name: str) -> tuple[str, Mapping[str, Any]]:
    with engine_errors():
        try:
            image = client.images.get(name)
        except ImageNotFound:
            raise BuilderUnavailable(
                f"The image {name} is not on this engine. arena_kit/image/base/make-app-images.sh makes the bases, "
                "make-mediawiki-image.sh that of the wiki; other images come by `docker load`.",
                code="image_missing",
            ) from None
    return str(image.id), image.attrs["Config"]
