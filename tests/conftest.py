"""What end-to-end tests are run on."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from tests import object_stores
from tests.object_stores import StoreServer
from tests.sandboxes import PLACES


@pytest.fixture(params=PLACES)
def sandbox(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> str:
    """Play for real in this sandbox."""
    settings.SANDBOX = request.param
    settings.DEBUG = True
    settings.DATA_DIR = tmp_path
    return str(request.param)


@pytest.fixture(scope="session")
def store_server() -> Iterator[StoreServer]:
    """A real S3 server."""
    with object_stores.store_server() as made:
        yield made


@pytest.fixture(params=["local", pytest.param("s3", marks=[pytest.mark.object_store, pytest.mark.nightly])])
def store(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> None:
    """A store of this test's own: a folder, at night also a part of a bucket."""
    settings.MEDIA_ROOT = tmp_path / "store"
    settings.MEDIA_ROOT.mkdir()
    if request.param == "s3":
        server = request.getfixturevalue("store_server")
        settings.STORAGES = {**settings.STORAGES, "default": server.storages(uuid.uuid4().hex)}
