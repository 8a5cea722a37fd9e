from __future__ import annotations

from collections.abc import Iterator

import pytest

from arena_kit.tests.adapters import odd


@pytest.fixture
def odd_environments() -> Iterator[None]:
    """Gymnasium knows the environments of `odd.py`."""
    odd.register()
    yield
    odd.unregister()
