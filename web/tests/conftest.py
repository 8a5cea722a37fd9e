"""The cast that every page test plays with."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from core.models import Environment, User
from core.tests import factories
from core.tests.factories import Cast

As = Callable[[User | None], Client]


@pytest.fixture
def cast(db: None) -> Cast:
    return factories.cast()


@pytest.fixture
def environment(db: None) -> Environment:
    return factories.environment()


@pytest.fixture
def visit() -> As:
    """A browser of this person; None is a visitor who is not logged in."""

    def client_of(person: User | None) -> Client:
        client = Client()
        if person is not None:
            client.force_login(person)
        return client

    return client_of
