"""What end-to-end tests are run on."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from tests.sandboxes import PLACES


@pytest.fixture(params=PLACES)
def sandbox(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> str:
    """Play for real in this sandbox."""
    settings.SANDBOX = request.param
    settings.DEBUG = True
    settings.DATA_DIR = tmp_path
    return str(request.param)


@pytest.fixture
def store(settings: Settings, tmp_path: Path) -> None:
    """A store of this test's own."""
    settings.MEDIA_ROOT = tmp_path / "store"
    settings.MEDIA_ROOT.mkdir()
