"""The registry of players' images that the settings name, and what this host keeps of it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django.conf import settings

from core.models import Submission

if TYPE_CHECKING:
    # The engine's client takes long to load, and most processes never ask.
    from arena_kit.image.cache import ImageCache
    from arena_kit.image.registry import Registry

logger = logging.getLogger(__name__)


def player_registry() -> Registry | None:
    """Return the registry of the settings; None where images stay on the engine that built them."""
    # Late: Docker's client takes long to load.
    from arena_kit.image.registry import Registry

    if not settings.PLAYER_REGISTRY or settings.SANDBOX == "process":
        return None
    return Registry(settings.PLAYER_REGISTRY, settings.PLAYER_REGISTRY_USER, settings.PLAYER_REGISTRY_PASSWORD)


def image_cache() -> ImageCache:
    """Return the images of this host, which all of its workers share."""
    # Late: Docker's client takes long to load.
    from arena_kit.image.cache import ImageCache

    return ImageCache(settings.CHANNEL_DIR / "images", settings.PLAYER_IMAGE_PREFIX)


def registry_is_down() -> bool:
    """Return whether the registry does not answer this host's engine, or refuses the password."""
    # Late: Docker's client takes long to load.
    from arena_kit.image.calls import engine
    from arena_kit.image.errors import BuilderUnavailable

    if (registry := player_registry()) is None:
        return False
    try:
        with engine() as client:
            registry.check(client)
    except BuilderUnavailable:
        return True
    return False


def base_images_missing() -> bool:
    """Return whether this host lacks a base image of the settings and there is a registry, so that others can build."""
    # Late: Docker's client takes long to load.
    from arena_kit.image.calls import base_image_id, engine
    from arena_kit.image.errors import BuilderUnavailable

    if (registry := player_registry()) is None:
        return False
    try:
        with engine() as client:
            for name in {*settings.PLAYER_BASE_IMAGES.values(), *settings.SCRIPT_BASE_IMAGES.values()}:
                registry.fetch_pinned(client, name)
                base_image_id(client, name)
    except BuilderUnavailable:
        return True
    return False


def images_evict() -> int:
    """Remove images of this host above PLAYER_CONTAINERS=cache_bytes=... that the registry has; return how many."""
    # Late: Docker's client takes long to load.
    from arena_kit.image.cache import SPARED_SECONDS
    from arena_kit.image.calls import engine
    from arena_kit.image.errors import BuilderUnavailable

    if player_registry() is None:
        return 0

    def only_here() -> frozenset[str]:
        rows = Submission.objects.exclude(image="").filter(registry_digest="")
        return frozenset(rows.values_list("image_digest", flat=True))

    try:
        with engine() as client:
            return image_cache().evict(
                client, most_bytes=settings.IMAGE_CACHE_BYTES, keep=only_here, spared_seconds=SPARED_SECONDS
            )
    except BuilderUnavailable as trouble:
        logger.warning("The images of this host could not be looked through: %s", trouble)
        return 0
