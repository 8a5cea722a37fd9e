"""The people and rows that the organisers' tests begin with."""

from __future__ import annotations

import pytest
from django.test import Client

from core.models import Environment, Submission, User
from core.tests import factories
from core.tests.clocks import Clock
from core.tests.organising import ready


@pytest.fixture
def people() -> factories.Cast:
    return factories.cast()


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


@pytest.fixture
def organiser(client: Client, people: factories.Cast) -> Client:
    client.force_login(people.olga)
    return client


@pytest.fixture
def players(people: factories.Cast, environment: Environment) -> list[Submission]:
    return [ready(people, environment, name) for name in ("anna", "berta", "clara")]


@pytest.fixture
def archives_are_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling what is in them, in a process of its own each, is not what this is about."""
    monkeypatch.setattr("core.submissions.uploads.inspect_apart", lambda *_, **__: True)


@pytest.fixture
def alice() -> User:
    return factories.user("alice")


@pytest.fixture
def clock() -> Clock:
    return Clock()
