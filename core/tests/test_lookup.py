"""Lookups, whose SQL is written once."""

from __future__ import annotations

import gc
from datetime import UTC, datetime, timedelta, timezone
from threading import Thread
from typing import Any
from weakref import ref

import pytest
from django.db import DatabaseError, connection, connections, transaction
from django.db.models import Count, Model, QuerySet
from django.test.utils import CaptureQueriesContext

from core.lookup import Lookup, Objects, prefetch
from core.models import Agent, Build, Evaluation, Submission, User
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


@pytest.mark.parametrize("by_key", [False, True])
def test_a_score_is_compared_as_it_is(by_key: bool) -> None:
    owner, board = factories.user("alice"), factories.environment("cart-pole")
    players = [factories.ready(factories.agent(owner, board)) for _ in range(3)]
    rows = [factories.evaluation(players[n], score=score) for n, score in enumerate((0.1, 0.1 + 1e-15, -2.5))]
    better = Lookup(
        lambda environment, score: (
            Evaluation.objects.filter(environment=environment, score__gt=score)
            .order_by("pk")
            .values_list("pk", "score")
        ),
        by_key=by_key,
    )
    assert better(board.pk, 0.1) == [(rows[1].pk, 0.1 + 1e-15)]
    assert [key for key, _ in better(board.pk, -3.0)] == [row.pk for row in rows]


def test_a_number_that_no_key_reaches_finds_nothing() -> None:
    lookup = Lookup(lambda key: User.objects.filter(pk=key).values_list("pk"))
    assert [lookup(key) for key in (1 << 63, 10**30, -(10**30), (1 << 63) - 1)] == [[]] * 4


@pytest.mark.postgres
def test_a_connection_that_stays_plans_a_lookup_once_and_one_of_a_pooler_never(monkeypatch: pytest.MonkeyPatch) -> None:
    alice = factories.cast().alice
    lookup = Lookup(lambda key: User.objects.filter(pk=key, is_active=True).values_list("pk"), by_key=True)

    def planned() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_prepared_statements")
            return int(cursor.fetchone()[0])

    before = planned()
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 0)
    assert (lookup(alice.pk), planned()) == ([(alice.pk,)], before)
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 60)
    assert (lookup(alice.pk), lookup(alice.pk), planned()) == ([(alice.pk,)], [(alice.pk,)], before + 1)
    every = Lookup(lambda: User.objects.filter(username="alice").values_list("pk"), by_key=True)
    assert (every(), every(), planned()) == ([(alice.pk,)], [(alice.pk,)], before + 2)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", ["ALTER TABLE core_user ALTER COLUMN github TYPE varchar({})", "DISCARD ALL"])
def test_a_plan_that_no_longer_fits_is_left_and_the_rows_are_read(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 60)
    alice, width = factories.cast().alice, User._meta.get_field("github").max_length
    lookup = Lookup(lambda key: User.objects.filter(pk=key).values_list("pk", "github"), by_key=True)
    assert lookup(alice.pk) == [(alice.pk, "")]
    try:
        with connection.cursor() as cursor:
            cursor.execute(change.format(200))
        with pytest.raises(DatabaseError), transaction.atomic():
            lookup(alice.pk)
        assert lookup(alice.pk) == lookup(alice.pk) == [(alice.pk, "")]
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE core_user ALTER COLUMN github TYPE varchar({width})")
        # The next one plans anew.
        connection.close()
    assert lookup(alice.pk) == [(alice.pk, "")]


def test_a_value_may_be_used_twice_and_another_never() -> None:
    alice = factories.cast().alice
    lookup = Lookup(lambda key, name: User.objects.filter(pk=key, pk__lte=key).values_list("pk"))
    assert lookup(alice.pk, "unused") == [(alice.pk,)]


@pytest.mark.parametrize("by_key", [False, True])
def test_a_tuple_of_any_length_stands_in_an_in(monkeypatch: pytest.MonkeyPatch, by_key: bool) -> None:
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 60)
    cast = factories.cast()
    people = sorted((cast.alice.pk, cast.bob.pk))
    lookup = Lookup(
        lambda keys, without, name: (
            User.objects.filter(pk__in=keys).exclude(pk__in=without).exclude(username=name).order_by("pk")
        ).values_list("pk"),
        by_key=by_key,
    )
    for keys, without, found in (
        ((), (), []),
        (tuple(people), (), people),
        (tuple(people), (people[0],), people[1:]),
        (tuple(people), tuple(people), []),
        ((people[1],), (), people[1:]),
    ):
        assert [key for (key,) in lookup(keys, without, "eve")] == found
    assert [key for (key,) in lookup(tuple(people), (), "alice")] == [cast.bob.pk]


@pytest.mark.parametrize("by_key", [False, True])
def test_a_moment_is_compared_as_one(monkeypatch: pytest.MonkeyPatch, by_key: bool) -> None:
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 60)
    joined = datetime(2026, 11, 28, 12, 30, tzinfo=UTC)
    User.objects.filter(pk=factories.cast().alice.pk).update(date_joined=joined)
    lookup = Lookup(
        lambda since, name: User.objects.filter(date_joined__gte=since, username=name).values_list("username"),
        by_key=by_key,
    )
    assert lookup(joined, "alice") == [("alice",)]
    assert lookup(joined - timedelta(microseconds=1), "alice") == [("alice",)]
    assert lookup(joined + timedelta(microseconds=1), "alice") == []
    assert lookup(joined.astimezone(timezone(timedelta(hours=5))), "alice") == [("alice",)]


def _told(row: Model, *before: Model) -> dict[str, Any]:
    """Return all that is known of an object: its columns, those that were not read, and the objects beside it."""
    beside = {name: found for name, found in row._state.fields_cache.items() if found not in before}
    return {
        "kind": type(row),
        "left": row.get_deferred_fields(),
        "database": row._state.db,
        "columns": {name: value for name, value in vars(row).items() if name != "_state"},
        "beside": {name: found and _told(found, row, *before) for name, found in beside.items()},
    }


@pytest.mark.parametrize("is_kept", [False, True])
def test_objects_are_those_of_the_query(monkeypatch: pytest.MonkeyPatch, is_kept: bool) -> None:
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 60 if is_kept else 0)
    cast, game, board = factories.cast(), factories.environment(), factories.environment("cart-pole")
    mine = [factories.ready(factories.agent(cast.alice, game, name)) for name in ("one", "two")]
    theirs = factories.ready(factories.agent(cast.bob, board))
    score = factories.evaluation(theirs, score=1.5)
    factories.rating(mine[1], 1511.5)

    def submissions(keys: tuple[int, ...]) -> QuerySet[Submission]:
        rows = Submission.objects.filter(pk__in=keys).select_related("agent__environment", "agent__owner", "rating")
        return rows.annotate(of_owner=Count("agent__owner__agents")).order_by("-pk")

    def evaluations(agents: tuple[int, ...]) -> QuerySet[Evaluation]:
        rows = Evaluation.objects.filter(agent__in=agents).select_related("submission", "seed_list")
        return rows.defer("log", "seed_list__seeds").order_by("pk")

    def agents(owner: int, name: str) -> QuerySet[Agent]:
        return Agent.objects.filter(owner=owner, name=name).only("name", "created_at", "environment__slug")

    keys = (mine[0].pk, theirs.pk, mine[1].pk)
    cases: list[tuple[Any, tuple[Any, ...], int]] = [
        (submissions, (keys,), 3),
        (evaluations, ((score.agent_id,),), 1),
        (agents, (cast.alice.pk, "two"), 1),
        (agents, (cast.alice.pk, "three"), 0),
    ]
    for make, values, count in cases:
        lookup = Objects(make)
        for _ in range(2):
            with CaptureQueriesContext(connection) as asked:
                found = lookup(*values)
            assert (len(found), len(asked)) == (count, 1)
            assert [_told(row) for row in found] == [_told(row) for row in make(*values)]
    row = Objects(submissions)(keys)[0]
    with CaptureQueriesContext(connection) as asked:
        assert (row.agent.owner, row.agent.environment, row.agent.owner.username) == (cast.bob, board, "bob")
        assert not hasattr(row, "rating")
    assert not asked.captured_queries


def test_objects_get_what_belongs_to_them() -> None:
    cast, game = factories.cast(), factories.environment()
    first = factories.ready(factories.agent(cast.alice, game, "one"))
    factories.build(first)
    second = factories.submission(factories.agent(cast.alice, game, "two"))
    rows = [second, Submission.objects.get(pk=first.pk)]
    lookups = {"builds": Objects(lambda keys: Build.objects.filter(submission__in=keys).defer("log"))}
    with CaptureQueriesContext(connection) as asked:
        prefetch([], lookups)
        assert not asked.captured_queries
        prefetch(rows, lookups)
        builds = [[one.pk for one in row.builds.all()] for row in rows]
        assert [one.submission for one in rows[1].builds.all()] == [first] * 2
    assert len(asked) == 1
    assert [sorted(found) for found in builds] == [[], sorted(first.builds.values_list("pk", flat=True))]
    assert rows[1].builds.filter(pk=builds[1][0]).count() == 1
    assert all("log" in one.get_deferred_fields() for one in rows[1].builds.all())


@pytest.mark.django_db(transaction=True)
def test_objects_keep_no_connection_of_a_thread_that_has_ended() -> None:
    lookup, ended = Objects(lambda key: User.objects.filter(pk=key)), []

    def first() -> None:
        assert lookup(1) == []
        ended.append(ref(connections["default"]))
        connections.close_all()

    thread = Thread(target=first)
    thread.start()
    thread.join()
    gc.collect()
    assert [one() for one in ended] == [None]
    alice = factories.user("alice")
    assert lookup(alice.pk) == [alice]
