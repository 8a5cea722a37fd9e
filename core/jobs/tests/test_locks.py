"""The order of row locks: kept by the code, and watched."""

from __future__ import annotations

import pytest
from django.db import transaction
from django.db.models import Model

from core.jobs.locks import WrongLockOrder
from core.models import Agent, Duel, Duty, Environment, Evaluation, Tournament, User

pytestmark = [
    pytest.mark.django_db,
    # SQLite locks the whole database.
    pytest.mark.postgres,
]


def lock(*models: type[Model]) -> None:
    with transaction.atomic():
        for model in models:
            list(model._default_manager.order_by("pk").select_for_update(no_key=True))


@pytest.mark.parametrize(
    "models",
    [
        (User, Agent, Environment, Tournament, Duel),
        # A table that is locked already may be locked again.
        (User, Agent, User),
        # The one exception.
        (Environment, Evaluation),
    ],
)
def test_locks_in_the_order_are_taken(models: tuple[type[Model], ...]) -> None:
    lock(*models)


@pytest.mark.parametrize("models", [(Agent, User), (Duel, Tournament), (Tournament, Evaluation)])
def test_locks_against_the_order_are_refused(models: tuple[type[Model], ...]) -> None:
    with pytest.raises(WrongLockOrder, match=f"{models[1]._meta.db_table} is locked after {models[0]._meta.db_table}"):
        lock(*models)


def test_a_lock_ends_with_its_transaction() -> None:
    lock(Duel)
    lock(User)


def test_a_lock_that_never_waits_is_free() -> None:
    with transaction.atomic():
        list(Duel.objects.order_by("pk").select_for_update(no_key=True))
        list(User.objects.select_for_update(no_key=True, skip_locked=True))


def test_a_table_without_a_place_in_the_order_is_free() -> None:
    lock(Duel, Duty, Duel)
