"""The main lists find their rows by an index and in their order, among thousands, on the database under test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now
from pytest_django import DjangoDbBlocker

from core.evaluations.board import SORTS
from core.evaluations.standing import standing
from core.jobs.estimates import newest_done
from core.listing import (
    agent_rows,
    duel_rows,
    evaluation_rows,
    participant_rows,
    rating_rows,
    submission_rows,
    tournament_rows,
)
from core.models import Agent, Build, Duel, JobState, LedgerEntry, Participant
from tests.databases import rolled_back
from web.duels.api import DuelFilter
from web.tests.crowd import Crowd, analyze, crowd, grow_results

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases, pytest.mark.slow, pytest.mark.nightly]
SIZE = 1000
SORTED = ("TEMP B-TREE FOR ORDER BY", "Sort Key")
"""How a database says that it has to put rows in order itself."""
Queries = dict[str, tuple[Callable[[Crowd], QuerySet[Any]], tuple[str, ...]]]
"""A query, and parts of plans that are good: names of indexes, by primary key on either database."""


def of_agent(rows: Crowd) -> QuerySet[Duel]:
    agent = Agent.objects.get(name="rival-20")
    found: QuerySet[Duel] = DuelFilter({"agent": str(agent.pk)}, queryset=duel_rows()).qs
    return found[:50]


LISTS: Queries = {
    "newest duels": (lambda _: duel_rows()[:50], ("core_duel_pkey", "SCAN core_duel")),
    "duels by age": (lambda _: duel_rows().order_by("created_at", "pk")[:50], ("duel_created",)),
    "newest evaluations": (lambda _: evaluation_rows()[:50], ("core_evaluation_pkey", "SCAN core_evaluation")),
    "newest submissions": (lambda _: submission_rows()[:50], ("core_submission_pkey", "SCAN core_submission")),
    "newest agents": (lambda _: agent_rows()[:50], ("core_agent_pkey", "SCAN core_agent")),
    "newest editions": (lambda _: tournament_rows()[:50], ("core_tournament_pkey", "SCAN core_tournament")),
    "versions of an agent": (
        lambda rows: rows.hero.agent.submissions.order_by("-number")[:20],
        ("submission_number_unique", "sqlite_autoindex_core_submission"),
    ),
    "ratings, best first": (lambda _: rating_rows()[:50], ("rating_best",)),
    "the table of an edition": (
        lambda rows: participant_rows().filter(tournament=rows.tournament)[:50],
        ("participant_ranked",),
    ),
    "a board": (lambda rows: standing(rows.task).order_by(*SORTS["score_desc"])[:50], ("evaluation_board",)),
    "a board by date": (lambda rows: standing(rows.task).order_by(*SORTS["date_desc"])[:50], ("evaluation_newest",)),
    "the schedule of an edition": (
        lambda rows: Duel.objects.filter(tournament=rows.tournament).order_by("number").values("pk")[:50],
        ("duel_number_unique", "sqlite_autoindex_core_duel"),
    ),
    "what was finished last": (
        lambda _: Duel.objects.filter(state=JobState.SUCCEEDED).order_by("-ended_at").values("ended_at")[:1],
        ("duel_ended",),
    ),
    "how long the last jobs took": (lambda _: newest_done(Duel), ("duel_ended",)),
    "what waits": (lambda _: Duel.objects.filter(state=JobState.QUEUED).order_by("pk")[:2], ("duel_waiting",)),
}
FOUND: Queries = {
    "an agent's duels": (of_agent, ("duel_of_player_1", "duel_of_player_2")),
    "versions of an agent": (lambda rows: rows.hero.agent.submissions.all(), ("submission",)),
    "jobs of a version": (lambda rows: Build.objects.filter(submission=rows.hero), ("core_build_submission_id",)),
    "entries of a duel": (lambda _: LedgerEntry.objects.filter(duel=7), ("ledger",)),
    "an owner's agents": (lambda _: Agent.objects.filter(owner=9), ("core_agent_owner",)),
    "an edition's participants": (lambda _: Participant.objects.filter(tournament=10**6), ("participant",)),
    "what has lost its lease": (
        lambda _: Duel.objects.filter(state=JobState.RUNNING, lease_expires_at__lt=Now()).order_by(),
        ("duel_running", "duel_open"),
    ),
    "a job that is claimed": (
        lambda _: Duel.objects.filter(pk=7, state=JobState.QUEUED, claim_token=None).order_by(),
        ("core_duel_pkey", "SEARCH core_duel USING INTEGER PRIMARY KEY", "duel_waiting"),
    ),
}


@pytest.fixture(scope="module")
def rows(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Crowd]:
    """Thousands of rows, made once for both tests."""
    with django_db_blocker.unblock(), rolled_back():
        made = crowd()
        grow_results(made, SIZE)
        analyze()
        yield made
    if connection.vendor == "postgresql":
        # What it knows of the size of tables is not rolled back: plans must not count with what is gone.
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")


def test_lists_come_in_their_order_from_an_index(rows: Crowd) -> None:
    for name, (query, indexes) in LISTS.items():
        plan = query(rows).explain()
        assert any(index in plan for index in indexes), (name, plan)
        # The few versions of one agent may be sorted; the list itself is not.
        whole, _, _ = plan.partition("SubPlan")
        assert not any(word in whole for word in SORTED), (name, plan)


def test_rows_are_found_by_an_index(rows: Crowd) -> None:
    for name, (query, indexes) in FOUND.items():
        plan = query(rows).explain()
        assert any(index in plan for index in indexes), (name, plan)
