"""The cast that every page test plays with, and the stage on which a duel was played: made once for a module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from core.models import Environment, User
from core.tests import factories
from core.tests.factories import Cast
from tests.worlds import Fresh
from web.tests.arena import Stage, staged

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

As = Callable[[User | None], Client]


@pytest.fixture(scope="module")
def shared_cast(module_db: object) -> Cast:
    return factories.cast()


@pytest.fixture
def cast(shared_cast: Cast, fresh: Fresh) -> Cast:
    return fresh(shared_cast)


@pytest.fixture(scope="module")
def shared_environment(module_db: object) -> Environment:
    return factories.environment()


@pytest.fixture
def environment(shared_environment: Environment, fresh: Fresh) -> Environment:
    return fresh(shared_environment)


@pytest.fixture(scope="module")
def shared_stage(shared_cast: Cast, shared_environment: Environment) -> Stage:
    return staged(shared_cast, shared_environment)


@pytest.fixture
def stage(shared_stage: Stage, fresh: Fresh) -> Stage:
    """Sixty matches of anna against berta; fewer where a module makes its own."""
    return fresh(shared_stage)


@pytest.fixture
def visit() -> As:
    """A browser of this person; None is a visitor who is not logged in."""

    def client_of(person: User | None) -> Client:
        client = Client()
        if person is not None:
            client.force_login(person)
        return client

    return client_of


@pytest.fixture(scope="module")
def tab(live_server: LiveServer, chromium: Browser) -> Iterator[Page]:
    """The tab that the browser tests of a module share."""
    with chromium.new_page(base_url=live_server.url) as page:
        yield page
