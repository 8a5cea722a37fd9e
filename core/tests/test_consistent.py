"""All that is read at one moment agrees, while others write."""

from __future__ import annotations

from threading import Thread

import pytest
from django.db import connection, transaction
from django.db.utils import InternalError

from core.consistent import one_moment
from core.models import User
from core.tests import factories


def _written_by_another(name: str) -> None:
    def write() -> None:
        factories.user(name)
        connection.close()

    other = Thread(target=write)
    other.start()
    other.join(20)
    assert not other.is_alive()


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_what_others_write_meanwhile_is_seen_by_the_next_reader_only() -> None:
    with one_moment():
        before = User.objects.count()
        _written_by_another("late")
        assert User.objects.count() == before
    assert User.objects.count() == before + 1
    factories.user("one-who-writes-afterwards")


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_nothing_is_written_at_one_moment() -> None:
    if connection.vendor != "postgresql":
        assert connection.vendor == "sqlite"
        with one_moment():
            assert User.objects.count() == 0
        with transaction.atomic():
            factories.user("writer")
        assert User.objects.count() == 1
        return
    with pytest.raises(InternalError, match="read-only transaction"), one_moment():
        factories.user("writer")
    assert User.objects.count() == 0


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_a_transaction_around_it_stays_as_it_is() -> None:
    with transaction.atomic():
        with one_moment():
            factories.user("writer")
        assert User.objects.count() == 1
    assert User.objects.count() == 1
