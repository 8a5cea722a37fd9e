"""A host for tests with real worlds, on which nothing of them stays."""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest
from pytest_django.fixtures import Settings

from rollout_runner.building import forget_built
from rollout_runner.host import prefix


@pytest.fixture
def clean(settings: Settings) -> Iterator[None]:
    """A host on which nothing of these tests stays."""
    settings.ROLLOUTS, settings.QUEUES = "members", (*settings.QUEUES, settings.ROLLOUT_QUEUE)
    settings.ROLLOUT_MEMORY_BYTES = 6 << 30
    yield
    forget_built()
    client = docker.from_env()
    try:
        for image in client.images.list():
            for tag in image.tags:
                if tag.startswith((f"{prefix()}-", f"{settings.PLAYER_IMAGE_PREFIX}:")):
                    client.images.remove(tag, force=True)
    finally:
        client.close()
