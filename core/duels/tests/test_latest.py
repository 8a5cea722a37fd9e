"""The newest duels of agents, whose versions follow each other."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection

from core.duels.latest import Latest, newest_of_version
from core.lookup import Lookup, Value
from core.models import Duel, JobState, Submission
from core.tests import factories

pytestmark = pytest.mark.django_db


def test_the_newest_duels_of_each_agent_are_found_among_few(monkeypatch: pytest.MonkeyPatch) -> None:
    cast, game = factories.cast(), factories.environment()
    first, other = (factories.ready(factories.agent(cast.alice, game, name)) for name in ("first", "other"))
    newer = factories.ready(first.agent)
    idle = factories.ready(factories.agent(cast.alice, game, "idle"))
    tournament = factories.tournament([first, other])
    Duel.objects.all().delete()

    def play(one: Submission, two: Submission, number: int) -> int:
        return factories.duel(tournament, one, two, number=number, state=JobState.SUCCEEDED).pk

    old = [play(first, other, number) for number in range(1, 9)]
    new = [play(newer, other, 9), play(other, newer, 10), play(newer, other, 11)]
    agents = [first.agent_id, other.agent_id, idle.agent_id]

    read: set[int] = set()
    look = Lookup.__call__

    def looked(self: Lookup, *values: Value) -> list[tuple[Any, ...]]:
        rows = look(self, *values)
        read.update(key for key, *others in rows if len(others) == 1)
        return rows

    monkeypatch.setattr(Lookup, "__call__", looked)
    latest = Latest(Duel.objects.all, 3)
    assert latest(agents) == {
        first.agent_id: [(new[2], "player_1"), (new[1], "player_2"), (new[0], "player_1")],
        other.agent_id: [(new[2], "player_2"), (new[1], "player_1"), (new[0], "player_2")],
        idle.agent_id: [],
    }
    assert read
    assert not read & set(old[:5]), "older ones are not read"
    since = Latest(lambda without: Duel.objects.exclude(pk__in=without), 2)
    assert since([first.agent_id], (new[2], new[0])) == {first.agent_id: [(new[1], "player_2"), (old[-1], "player_1")]}
    assert since([first.agent_id], ()) == {first.agent_id: [(new[2], "player_1"), (new[1], "player_2")]}
    newest = Submission.objects.values_list(*newest_of_version())
    assert newest.get(pk=newer.pk) == (new[2], new[1])
    assert newest.get(pk=idle.pk) == (None, None)


@pytest.mark.postgres
def test_a_version_without_duels_costs_nothing_where_few_have_played_all() -> None:
    cast, game = factories.cast(), factories.environment()
    first, other, idle = (factories.ready(factories.agent(cast.alice, game, name)) for name in ("a", "b", "idle"))
    tournament = factories.tournament([first, other])
    duel = factories.duel(tournament, first, other, number=1001, state=JobState.SUCCEEDED)
    fields = [field for field in Duel._meta.concrete_fields if not field.primary_key]
    same = {field.attname: field.value_from_object(duel) for field in fields}
    Duel.objects.bulk_create(Duel(**same | {"number": number}) for number in range(1002, 5000))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE core_duel")
    versions = Submission.objects.filter(pk=idle.pk).values_list(*newest_of_version())
    plan = versions.explain(analyze=True, buffers=True)
    assert "duel_of_player_1" in plan
    assert all(int(rows) < 10 for rows in re.findall(r"Rows Removed by Filter: (\d+)", plan)), "few duels are read"
