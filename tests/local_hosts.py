"""Hosts for tests: groups of real workers on this machine, which use the test's own database and folders."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from core.operations.scaling.providers.local import LocalProvider
from tests.programs import ROOT, database_url


@contextmanager
def local_hosts(settings: Settings, folder: Path, *, sandbox: str) -> Iterator[LocalProvider]:
    """Yield what makes hosts, each with one worker of duels; those that are left go at the end."""
    settings.SANDBOX, settings.DEBUG = sandbox, True
    settings.DATA_DIR, settings.MEDIA_ROOT = folder, folder / "files"
    variables = {
        "DEBUG": "true", "DATABASE_URL": database_url(), "DATA_DIR": str(folder), "SANDBOX": sandbox,
        "CHANNEL_DIR": str(settings.CHANNEL_DIR), "PLAYER_IMAGE_PREFIX": settings.PLAYER_IMAGE_PREFIX,
    }  # fmt: skip
    command = [sys.executable, str(ROOT / "manage.py"), "run_workers", "duel"]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        with closing(LocalProvider(folder / "hosts", command, 1)) as made:
            yield made
