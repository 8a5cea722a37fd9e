"""The images of a registry that a host keeps: above a limit, those used longest ago are removed.

The engine does not know when an image was used last, so a file named after the image tells it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import docker
from docker.errors import ImageNotFound

from arena_kit.image.calls import engine_errors
from arena_kit.image.labels import SUBMISSION_LABEL
from arena_kit.image.leftovers import Found, remove_name

logger = logging.getLogger(__name__)

SPARED_SECONDS = 1800.0
"""How long an image is kept after its last use or its build, whatever the limit: a push of it may be under way."""
_ID = re.compile(r"sha256:[0-9a-f]{64}")


class ImageCache:
    """The images of submissions on this host's engine.

    folder: of all workers of this host; it holds an empty file for each image that was used. prefix: of the images.
    """

    def __init__(self, folder: Path, prefix: str) -> None:
        self._folder, self._prefix = folder, prefix

    def use(self, image_id: str) -> None:
        """Note that an image is used now. A folder that cannot be written makes no difference but to the order."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._folder / image_id).touch()

    def evict(
        self,
        client: docker.DockerClient,
        *,
        most_bytes: int,
        keep: Callable[[], frozenset[str]],
        spared_seconds: float,
    ) -> int:
        """Remove the images used longest ago until all together take at most `most_bytes`; return how many.

        Layers that images share count once. Images of containers, those of `keep` (content ids), and those used or
        built within `spared_seconds` stay. Raises BuilderUnavailable.
        """
        with engine_errors():
            listed = [Found.of(summary) for summary in client.api.images()]
            mine = [
                one for one in listed if SUBMISSION_LABEL in one.labels and list(one.names(self._prefix, self._prefix))
            ]
            self._tidy({one.id for one in mine})
            for image_id in _known.keys() - {one.id for one in mine}:
                del _known[image_id]
            # The sum counts shared layers often, so it is an upper bound that costs nothing to know.
            if sum(one.size for one in mine) <= most_bytes or _bytes(client, mine) <= most_bytes:
                return 0
            kept = keep() | {str(container["ImageID"]) for container in client.api.containers(all=True)}
            newest = time.time() - spared_seconds
            removed = 0
            for image in sorted(mine, key=self._used):
                if _bytes(client, mine) <= most_bytes:
                    break
                if image.id in kept or self._used(image) > newest:
                    continue
                # The engine refuses if a container was made of it meanwhile.
                if all(remove_name(client, name) for name in image.names(self._prefix, self._prefix)):
                    mine = [one for one in mine if one is not image]
                    removed += 1
            return removed

    def _used(self, image: Found) -> float:
        with contextlib.suppress(OSError):
            return max(image.created, (self._folder / image.id).stat().st_mtime)
        return image.created

    def _tidy(self, there: set[str]) -> None:
        """Remove the files of images that are gone; of one that is just being fetched the file is young."""
        with contextlib.suppress(OSError):
            for entry in os.scandir(self._folder):
                is_old = entry.stat().st_mtime < time.time() - SPARED_SECONDS
                if _ID.fullmatch(entry.name) and entry.name not in there and is_old:
                    Path(entry.path).unlink(missing_ok=True)


def _bytes(client: docker.DockerClient, images: Iterable[Found]) -> int:
    layers: dict[str, int] = {}
    for image in images:
        # Removed meanwhile: it takes nothing.
        with contextlib.suppress(ImageNotFound):
            layers.update(_layers(client, image.id))
    return sum(layers.values())


_known: dict[str, dict[str, int]] = {}
"""Sizes of layers by image, because the same images are looked at every minute."""


def _layers(client: docker.DockerClient, image_id: str) -> dict[str, int]:
    """Return the size of each layer of an image by its id."""
    if image_id not in _known:
        image = client.images.get(image_id)
        ids = image.attrs["RootFS"]["Layers"]
        steps = [int(step["Size"]) for step in reversed(image.history())]
        sizes = steps if len(steps) == len(ids) else [size for size in steps if size]
        if len(sizes) != len(ids):
            # Steps that changed nothing cannot be told from empty layers: then all of it counts as its topmost layer.
            sizes = [0] * (len(ids) - 1) + [sum(steps)]
        _known[image_id] = dict(zip(ids, sizes, strict=True))
    return _known[image_id]
