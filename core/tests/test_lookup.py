"""Lookups, whose SQL is written once."""

from __future__ import annotations

import pytest
from django.db.models import QuerySet

from core.lookup import Lookup
from core.models import Agent, User
from core.tests import factories

pytestmark = pytest.mark.django_db


def test_each_value_stands_where_it_belongs_and_the_sql_is_written_once() -> None:
    cast, game = factories.cast(), factories.environment()
    made: list[str] = []

    def make(owner: int, name: str) -> QuerySet[Agent, tuple[object, ...]]:
        made.append(name)
        return Agent.objects.filter(name=name, is_disabled=False, owner=owner).values_list("name", "owner")

    lookup = Lookup(make)
    for person, name in ((cast.alice, "it's"), (cast.bob, "100%s")):
        factories.agent(person, game, name)
        assert lookup(person.pk, name) == [(name, person.pk)]
    assert lookup(cast.alice.pk, "100%s") == []
    assert len(made) == 1


def test_a_value_may_be_used_twice_and_another_never() -> None:
    alice = factories.cast().alice
    lookup = Lookup(lambda key, name: User.objects.filter(pk=key, pk__lte=key).values_list("pk"))
    assert lookup(alice.pk, "unused") == [(alice.pk,)]
