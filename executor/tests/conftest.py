"""What tests of the executor stand on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from core.models import Environment, Submission
from core.tests import factories
from core.tests.factories import Cast
from executor.database import Database
from executor.tests.serving import OneThread


@dataclass(frozen=True, slots=True)
class World:
    """Alice's agent and Bob's, which may meet. database: the test's own, from within an event loop."""

    database: Database
    cast: Cast
    game: Environment
    mine: Submission
    rival: Submission

    @property
    def versions(self) -> tuple[str, str]:
        return f"submission:{self.mine.pk}", f"submission:{self.rival.pk}"


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr("executor.database.close_old_connections", lambda: None)
    cast, game = factories.cast(), factories.environment()
    mine = factories.ready(factories.agent(cast.alice, game, "anna"))
    rival = factories.ready(factories.agent(cast.bob, game, "bert"))
    factories.rating(rival, 1500, rank=1, worst_rank=1)
    pool = OneThread()
    yield World(Database(pool), cast, game, mine, rival)
    pool.close()


@pytest.fixture
def local_processes(settings: Settings, tmp_path: Path) -> None:
    """Play for real, without an engine."""
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "process", True, tmp_path
