"""Fixtures: an arena with one of everything, and programs that call its API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.models import Environment, Evaluation, Season, User
from core.people.tokens import token_create
from core.tests import factories
from core.tests.factories import Cast
from tests.worlds import Fresh
from web.tests import scored
from web.tests.arena import Stage, staged

Program = Callable[[User | None], Client]
RATE = "100000/minute"


@pytest.fixture(autouse=True)
def nothing_is_kept() -> Iterator[None]:
    """Clear counters and caches, so that tests do not affect each other."""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture(scope="module")
def shared_cast(module_db: object) -> Cast:
    return factories.cast()


@pytest.fixture
def cast(shared_cast: Cast, fresh: Fresh) -> Cast:
    return fresh(shared_cast)


@pytest.fixture
def program() -> Program:
    """Return a client with a token of this person, without a token for None."""

    def program_of(person: User | None) -> Client:
        if person is None:
            return Client()
        _, token = token_create(owner=person, name="test", now=timezone.now(), days=1)
        return Client(headers={"Authorization": f"Bearer {token}"})

    return program_of


@pytest.fixture(scope="module")
def shared_cart_pole(module_db: object) -> Environment:
    return scored.environment()


@pytest.fixture
def cart_pole(shared_cart_pole: Environment, fresh: Fresh) -> Environment:
    return fresh(shared_cart_pole)


@pytest.fixture
def open_to_all(settings: Settings) -> None:
    settings.ANONYMOUS_SUBMISSIONS = True


@dataclass(frozen=True, slots=True)
class Arena:
    """A played edition, and a board with alice's verified and bob's self-reported score."""

    cast: Cast
    stage: Stage
    season: Season
    cart_pole: Environment
    verified: Evaluation
    reported: Evaluation


@pytest.fixture(scope="module")
def shared_arena(shared_cast: Cast, shared_cart_pole: Environment) -> Arena:
    cast, cart_pole = shared_cast, shared_cart_pole
    stage = staged(cast, factories.environment(), match_count=4)
    made = scored.submission(cast.alice, cart_pole, "balance")
    verified = scored.with_files(scored.evaluation(made, scored.scores_around(300, 20)))
    reported = scored.script(cast.bob, cart_pole, "boast", 500.0)
    season = factories.season(stage.environment)
    return Arena(cast, stage, season, cart_pole, verified, reported)


@pytest.fixture
def arena(shared_arena: Arena, fresh: Fresh) -> Arena:
    return fresh(shared_arena)
