"""Images on the engine that no row of this arena needs any more, and containers of builds that are long over.

Images are left behind by builds that lost their claim, by builds that were done again, and by removals that failed. An
arena knows its own by the prefix of their tags, or by a label where the tag is gone, and never touches what another
arena's label is on: arenas that share an engine must have prefixes of their own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import docker
from docker.errors import APIError, ImageNotFound, NotFound

from arena_kit.image.labels import BUILD_LABEL, CONTAINER_LABEL, PREFIX_LABEL, REQUIREMENTS_LABEL, SUBMISSION_LABEL
from arena_kit.image.limits import INSTALL_SECONDS

logger = logging.getLogger(__name__)

REQUIREMENTS_SECONDS = 24 * 3600
"""Requirements may be asked for again: their images stay for so long, used or not."""


@dataclass(frozen=True, slots=True)
class Needed:
    """What rows name. images: as in `Submission.image`. submissions: those with open duels. builds: those running."""

    images: frozenset[str]
    submissions: frozenset[str]
    builds: frozenset[str]

    def spares(self, submission: str, build: str) -> bool:
        """Whether whatever was made for these stays, named by a row or not."""
        return submission in self.submissions or build in self.builds


def sweep_containers(client: docker.DockerClient, prefix: str, needed: Callable[[], Needed]) -> None:
    """Remove the containers in which builds of this prefix worked, once no build can still work in them.

    Those that say whose they are go with their build, others, which builds share, once all that could be are over.
    """
    oldest = time.time() - 2 * INSTALL_SECONDS
    listed = client.api.containers(all=True, filters={"label": f"{CONTAINER_LABEL}={prefix}"})
    running = needed().builds if listed else frozenset()
    for found in listed:
        build = (found["Labels"] or {}).get(BUILD_LABEL, "")
        if build in running if build else found["Created"] > oldest:
            continue
        try:
            client.api.remove_container(found["Id"], v=True, force=True)
        except NotFound:
            continue
        except APIError as error:
            logger.warning("The container %s of a build is still there: %s", found["Id"], error.explanation or error)
        else:
            logger.info("The container %s of a build that is over was removed.", found["Id"])


def sweep_images(client: docker.DockerClient, prefix: str, needed: Callable[[], Needed]) -> None:
    """Remove the images of this prefix that are not needed.

    The rows are read after the images: a build that ends meanwhile is seen running or with its image in its row.
    """
    found = [Found.of(summary) for summary in client.api.images()]
    rows = needed()
    used = set()
    for image in found:
        if SUBMISSION_LABEL in image.labels and not _swept(client, image, prefix, rows):
            used.add(image.labels.get(REQUIREMENTS_LABEL, ""))
    # A running build may be about to stand on one. One that begins just now fails and is tried again.
    if rows.builds:
        return
    oldest = time.time() - REQUIREMENTS_SECONDS
    for image in found:
        if SUBMISSION_LABEL in image.labels or image.created > oldest:
            continue
        for name in image.names(f"{prefix}-requirements", prefix):
            if image.labels.get(REQUIREMENTS_LABEL, name) not in used:
                _remove(client, name)


@dataclass(frozen=True, slots=True)
class Found:
    """An image as the engine lists it."""

    id: str
    tags: tuple[str, ...]
    labels: dict[str, str]
    created: float

    @classmethod
    def of(cls, summary: dict[str, Any]) -> Found:
        tags = tuple(tag for tag in summary.get("RepoTags") or () if tag != "<none>:<none>")
        return cls(summary["Id"], tags, summary.get("Labels") or {}, summary["Created"])

    def names(self, repository: str, prefix: str) -> Iterator[str]:
        """Its tags of this repository, or its id when it has no tag at all; nothing when it is another arena's."""
        # What is tagged and has no label was made before there were labels.
        if self.labels.get(PREFIX_LABEL, prefix if self.tags else "") != prefix:
            return
        if not self.tags:
            yield self.id
        yield from (tag for tag in self.tags if tag.startswith(f"{repository}:"))


def _swept(client: docker.DockerClient, image: Found, prefix: str, rows: Needed) -> bool:
    """Remove what is not needed of an image of a submission; return whether all of it is gone."""
    is_spared = rows.spares(image.labels[SUBMISSION_LABEL], image.labels.get(BUILD_LABEL, ""))
    names = list(image.names(prefix, prefix))
    removed = [name not in rows.images and not is_spared and _remove(client, name) for name in names]
    return bool(removed) and all(removed)


def _remove(client: docker.DockerClient, name: str) -> bool:
    """Remove an image that nothing uses; what a container or another image stands on stays for another time."""
    try:
        client.images.remove(name)
    except ImageNotFound:
        return True
    except APIError as error:
        logger.warning("The unused image %s is still there: %s", name, error.explanation or error)
        return False
    logger.info("The unused image %s was removed.", name)
    return True
