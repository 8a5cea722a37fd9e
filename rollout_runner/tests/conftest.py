"""A host for tests with real worlds, on which nothing of them stays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from rollout_runner.tests.places import images_forget


@pytest.fixture
def clean(settings: Settings) -> Iterator[None]:
    """A host on which nothing of these tests stays."""
    settings.ROLLOUTS, settings.QUEUES = "members", (*settings.QUEUES, settings.ROLLOUT_QUEUE)
    settings.ROLLOUT_MEMORY_BYTES = 6 << 30
    yield
    images_forget(f"{settings.PLAYER_IMAGE_PREFIX}:")
