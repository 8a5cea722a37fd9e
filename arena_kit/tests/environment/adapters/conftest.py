from __future__ import annotations

from collections.abc import Iterator

import pytest

from arena_kit.tests.environment.adapters import odd


@pytest.fixture
def odd_environments() -> Iterator[None]:
    """Register the environments of `odd.py` with Gymnasium."""
    odd.register()
    yield
    odd.unregister()
