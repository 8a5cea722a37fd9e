"""Removes images that no row of this arena needs any more, and containers of builds that are over.

Builds that lost their claim or were repeated, and removals that failed, leave images behind. An arena recognises its
own images by the prefix of their tags, or by a label where the tag is gone, and never touches those with another
arena's label. Arenas that share an engine therefore need different prefixes.
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
"""How long the image of a set of requirements is kept without being used, because others may ask for the same set."""


@dataclass(frozen=True, slots=True)
class Needed:
    """The images that the arena's rows need.

    images: the values of `Submission.image`. submissions: ids of those with open duels. builds: ids of running builds.
    last_build: the highest id of a build; higher ones are unknown to this arena.
    """

    images: frozenset[str]
    submissions: frozenset[str]
    builds: frozenset[str]
    last_build: int = 0

    def spares(self, submission: str, build: str) -> bool:
        """Return whether images of this submission or build are kept even when no row names them."""
        return submission in self.submissions or build in self.builds


def sweep_containers(client: docker.DockerClient, prefix: str, needed: Callable[[], Needed]) -> None:
    """Remove the builder's containers with this prefix once no build can be working in them.

    A container with a build's label is removed when that build is over; one that builds share, when it is older than
    any build can be. needed: called after the containers are listed.
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
            logger.warning(
                "The container %s of a build could not be removed: %s", found["Id"], error.explanation or error
            )
        else:
            logger.info("The container %s of a build that is over was removed.", found["Id"])


def sweep_images(client: docker.DockerClient, prefix: str, needed: Callable[[], Needed]) -> None:
    """Remove the images with this prefix that are not needed.

    needed: called after the images are listed, so that a build that ends meanwhile shows up either as running or with
    its image in a row.
    """
    found = [Found.of(summary) for summary in client.api.images()]
    rows = needed()
    used = set()
    for image in found:
        if SUBMISSION_LABEL in image.labels and not _swept(client, image, prefix, rows):
            used.add(image.labels.get(REQUIREMENTS_LABEL, ""))
    # A running build may be about to use a requirements image. A build that begins now fails and is tried again.
    if rows.builds:
        return
    oldest = time.time() - REQUIREMENTS_SECONDS
    for image in found:
        if SUBMISSION_LABEL in image.labels or image.created > oldest:
            continue
        for name in image.names(f"{prefix}-requirements", prefix):
            if image.labels.get(REQUIREMENTS_LABEL, name) not in used:
                remove_name(client, name)


@dataclass(frozen=True, slots=True)
class Found:
    """An image as the engine lists it."""

    id: str
    tags: tuple[str, ...]
    labels: dict[str, str]
    created: float
    size: int = 0

    @classmethod
    def of(cls, summary: dict[str, Any]) -> Found:
        tags = tuple(tag for tag in summary.get("RepoTags") or () if tag != "<none>:<none>")
        return cls(summary["Id"], tags, summary.get("Labels") or {}, summary["Created"], summary.get("Size", 0))

    def names(self, repository: str, prefix: str) -> Iterator[str]:
        """Yield its tags in this repository, or its id if it has no tag; nothing when it is another arena's."""
        # Images with a tag but no label were made before labels were introduced.
        if self.labels.get(PREFIX_LABEL, prefix if self.tags else "") != prefix:
            return
        if not self.tags:
            yield self.id
        yield from (tag for tag in self.tags if tag.startswith(f"{repository}:"))


def _swept(client: docker.DockerClient, image: Found, prefix: str, rows: Needed) -> bool:
    """Remove the names of a submission's image that are not needed; return whether all of them are gone."""
    is_spared = rows.spares(image.labels[SUBMISSION_LABEL], image.labels.get(BUILD_LABEL, ""))
    names = list(image.names(prefix, prefix))
    removed = [name not in rows.images and not is_spared and remove_name(client, name) for name in names]
    return bool(removed) and all(removed)


def remove_name(client: docker.DockerClient, name: str) -> bool:
    """Remove an image; return False when it must stay because a container or another image uses it."""
    try:
        client.images.remove(name)
    except ImageNotFound:
        return True
    except APIError as error:
        logger.warning("The unused image %s could not be removed: %s", name, error.explanation or error)
        return False
    logger.info("The unused image %s was removed.", name)
    return True
