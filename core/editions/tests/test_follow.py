"""What follows from the ledger: noticed by versions, done once, the same as from nothing, at a cost without history."""

from __future__ import annotations

import re
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django_q.models import OrmQ
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoCaptureOnCommitCallbacks

from arena_kit.environment.records import Outcome
from core.editions import follow as follow_module
from core.editions import results as results_module
from core.editions import sums as sums_module
from core.editions.fits import ratings_are_outdated, ratings_refresh
from core.editions.follow import follow, rebuild
from core.editions.results import LedgerDuel
from core.editions.services import advance, start_now
from core.editions.tests.samples import LATER, edition, finished_edition, play, play_all, players
from core.jobs.messages import TOURNAMENT_TASK
from core.models import (
    Audience,
    Duel,
    Environment,
    JobState,
    Ledger,
    LedgerChange,
    LedgerSums,
    Lens,
    LiveRating,
    PairTotal,
    Participant,
    Play,
    Rating,
    RatingPool,
    Tournament,
)
from core.moderation.services import agent_disable
from core.ratings.pairs import pair_totals
from core.tests import factories
from core.tests.working import do_requested, requested
from core.tournaments.planning import results_release
from core.tournaments.strikes import duel_void
from tests.databases import rolled_back

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
WHY = "The clock was wrong."
OUTCOMES = (Outcome.PLAYER_1, Outcome.PLAYER_2, Outcome.DRAW)


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


def sums() -> dict[str, Any]:
    """All that is kept of the ledger and read again with the next result."""
    pairs = ("first", "second", "wins", "draws", "losses", "duel_count", "latest_duel")
    table = ("tournament", "submission", "rank", "points", "wins", "draws", "losses", "total_score")
    return {
        "pairs": sorted(PairTotal.objects.values_list(*pairs)),
        "live": sorted(LiveRating.objects.values_list("submission", "value", "duel_count")),
        "tables": sorted(Participant.objects.values_list(*table)),
    }


def fitted(environment: Environment) -> dict[str, Any]:
    """Official ratings and lenses, made anew of what is kept."""
    ratings_refresh(environment)
    columns = ("submission", "value", "low", "high", "rank", "best_chance", "live", "duel_count", "match_count")
    lens = Lens.objects.values("nash", "cycles", "cycle_count", "pair_count", "clear_count", "calibration").get()
    return {"ratings": sorted(Rating.objects.values_list(*columns)), "lens": lens}


def test_strikes_and_results_that_balance_each_other_are_noticed(environment: Environment) -> None:
    players(environment, 5)
    advance(environment, now=LATER)
    duels = list(edition(environment).duels.order_by("pk"))
    # One of the ten stays open: the end of an edition has ratings fitted in any case.
    for duel in (duels[0], *duels[3:9]):
        play(duel)
    advance(environment, now=LATER)
    fitted_at = RatingPool.objects.get().fitted_at
    for duel in (duels[0], duels[3]):
        duel_void(duel=Duel.objects.get(pk=duel.pk), reason=WHY, user=None)
    for duel in (duels[1], duels[2]):
        play(duel)
    assert duels[0].pk + duels[3].pk == duels[1].pk + duels[2].pk

    advance(environment, now=fitted_at)
    assert RatingPool.objects.get().fitted_at > fitted_at
    kept = fitted(environment)
    rebuild(environment)
    assert fitted(environment) == kept


moves = st.tuples(st.sampled_from("ppppppsrrawl"), st.integers(0, 11), st.integers(0, 9))


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(
    history=st.lists(moves, min_size=6, max_size=16),
    is_withheld=st.booleans(),
    is_ladder=st.booleans(),
    every=st.sampled_from([1, 2, 5_000]),
)
def test_the_ledger_read_from_nothing_gives_the_same_as_step_by_step(
    history: list[tuple[str, int, int]], is_withheld: bool, is_ladder: bool, every: int
) -> None:
    with rolled_back(), patch.object(sums_module, "CHECKPOINT_EVERY", every):
        environment = factories.environment()
        Environment.objects.update(play=Play.LADDER if is_ladder else Play.EDITIONS)
        environment.refresh_from_db()
        for number in range(4):
            factories.ready(factories.agent(factories.user(f"owner-{number}"), environment))
        advance(environment, now=LATER)
        tournament = edition(environment)
        if is_withheld:
            Tournament.objects.update(results=Audience.HIDDEN)
        for move, which, size in history:
            _move(tournament, move, which, size)
        follow(environment)
        step_by_step, of_steps = sums(), fitted(environment)
        Rating.objects.all().delete()
        rebuild(environment)
        names = ("pairs", "live") if is_ladder else ("pairs", "live", "tables")
        assert {name: sums()[name] for name in names} == {name: step_by_step[name] for name in names}
        assert fitted(environment) == of_steps
        if is_ladder:
            # It stands in the order of the ratings, whenever those were fitted.
            assert _results(sums()["tables"]) == _results(step_by_step["tables"])


def _move(tournament: Tournament, move: str, which: int, size: int) -> None:
    """p: play, s: strike, r: refresh, a: advance, w: withdraw, l: release results."""
    environment = tournament.environment
    waiting = list(tournament.duels.filter(state=JobState.QUEUED).order_by("number"))
    played = list(tournament.duels.filter(state=JobState.SUCCEEDED, void=None).order_by("number"))
    tournament.refresh_from_db()
    if move == "p" and waiting:
        # Sums of tenths depend on the order in which they are added up.
        play(waiting[which % len(waiting)], OUTCOMES[size % 3], score=size / 10)
    elif move == "s" and played:
        duel_void(duel=played[which % len(played)], reason=WHY, user=None)
    elif move == "r":
        follow(environment)
    elif move == "a" and tournament.is_ladder:
        advance(environment, now=LATER)
    elif move == "w" and which < 2:
        agent_disable(agent=tournament.participants.order_by("pk")[which].submission.agent, reason="Mines coins.")
    elif move == "l" and tournament.results == Audience.HIDDEN:
        results_release(tournament=tournament)


def _results(tables: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Without ranks."""
    return [(tournament, submission, *figures) for tournament, submission, _, *figures in tables]


def test_a_refresh_that_dies_half_way_has_done_nothing_and_is_done_again(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished_edition(environment)
    play_all(start_now(environment))
    before = sums()

    def die(**_: object) -> None:
        raise ConnectionError("The worker died.")

    with monkeypatch.context() as broken:
        broken.setattr(follow_module, "sums_save", die)
        with pytest.raises(ConnectionError):
            follow(environment)
    assert sums() == before
    follow(environment)
    assert sums() != before
    done = sums()
    rebuild(environment)
    assert sums() == done


def test_where_nothing_has_changed_nothing_is_read_or_written(environment: Environment) -> None:
    finished_edition(environment)
    follow(environment)
    before = LedgerSums.objects.get().version
    with CaptureQueriesContext(
        connection,
    ) as asked:
        follow(environment)
    assert not any("ledgerentry" in query["sql"] or "participant" in query["sql"] for query in asked.captured_queries)
    assert LedgerSums.objects.get().version == before == Ledger.objects.get().version


def test_a_result_costs_as_many_queries_however_long_the_history_is(environment: Environment) -> None:
    def cost() -> int:
        duel = edition(environment).duels.filter(state=JobState.QUEUED)[0]
        play(duel)
        with CaptureQueriesContext(connection) as asked:
            follow(environment)
        return len(asked)

    finished_edition(environment)
    start_now(environment)
    short = cost()
    for _ in range(2):
        play_all(edition(environment))
        advance(environment, now=LATER)
        start_now(environment)
    assert cost() == short


def test_of_many_results_only_the_first_sends_a_message_until_its_task_begins(
    environment: Environment, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    players(environment, 4)
    advance(environment, now=LATER)
    OrmQ.objects.all().delete()
    one, two, three, four, *_ = edition(environment).duels.order_by("number")
    with django_capture_on_commit_callbacks(execute=True):
        play(one)
        play(two)
    asked = ("tournament", TOURNAMENT_TASK, environment.pk)
    assert requested().count(asked) == 1
    with django_capture_on_commit_callbacks(execute=True):
        do_requested()
    with django_capture_on_commit_callbacks(execute=True):
        play(three)
        play(four)
    assert requested().count(asked) == 1
    assert Ledger.objects.get().version == LedgerChange.objects.count() == 4


def test_who_beats_whom_is_kept_with_every_result_and_follows_a_strike(environment: Environment) -> None:
    tournament, (one, two, _) = finished_edition(environment)
    (met,) = (row for row in pair_totals(environment, [one.pk, two.pk]) if row.submission == one.pk)
    assert (met.opponent, met.wins, met.draws, met.losses, met.duel_count) == (two.pk, 1, 0, 0, 1)
    duel = tournament.duels.get(player_1__in=(one, two), player_2__in=(one, two))
    assert met.latest_duel == duel.pk
    duel_void(duel=duel, reason=WHY, user=None)
    follow(environment)
    assert pair_totals(environment, [one.pk, two.pk]) == []
    assert ratings_are_outdated(environment)


@pytest.mark.parametrize(
    "is_ladder", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["editions", "ladder"]
)
def test_a_strike_reads_results_since_the_last_checkpoint_however_long_the_history_is(
    environment: Environment, is_ladder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums_module, "CHECKPOINT_EVERY", 4)
    if is_ladder:
        Environment.objects.update(play=Play.LADDER)
        environment.refresh_from_db()
    for number in range(4):
        factories.ready(factories.agent(factories.user(f"owner-{number}"), environment))
    advance(environment, now=LATER)
    read, real = set[object](), results_module._played

    def counted(rows: list[tuple[object, ...]]) -> LedgerDuel:
        read.add(rows[0][0])
        return real(rows)

    monkeypatch.setattr(results_module, "_played", counted)

    def struck() -> int:
        """The number of results read after a strike of the newest one."""
        follow(environment)
        duel = Duel.objects.filter(state=JobState.SUCCEEDED).order_by("-pk")[0]
        duel_void(duel=duel, reason=WHY, user=None)
        read.clear()
        follow(environment)
        return len(read)

    costs, count = [], 0
    for _ in range(24):
        if not edition(environment).duels.filter(state=JobState.QUEUED).exists():
            advance(environment, now=LATER)
            if not is_ladder:
                start_now(environment)
        play(edition(environment).duels.filter(state=JobState.QUEUED)[0])
        follow(environment)
        count += 1
        if count in (8, 24):
            costs.append(struck())
    # Of the two players the pairs and rows of the table, and of everybody the results after the checkpoint.
    assert costs[1] < count - 4
    kept = sums()
    rebuild(environment)
    names = ("pairs", "live")
    assert {name: sums()[name] for name in names} == {name: kept[name] for name in names}


def test_a_result_inserted_without_a_version_counts_from_a_rebuild_on_and_its_strike_reads_little(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums_module, "CHECKPOINT_EVERY", 1)
    tournament, _ = finished_edition(environment)
    # As after rows that were inserted by SQL: entries, but no change of the ledger.
    LedgerChange.objects.filter(duel__in=tournament.duels.order_by("pk")[:2]).delete()
    rebuild(environment)
    assert not tournament.duels.filter(ledger_change=None).exists()
    assert Ledger.objects.get().version == LedgerChange.objects.latest("version").version
    assert sum(LiveRating.objects.values_list("duel_count", flat=True)) == 2 * 3

    LedgerChange.objects.filter(duel=tournament.duels.earliest("pk")).delete()
    duel_void(duel=tournament.duels.earliest("pk"), reason=WHY, user=None)
    anew = list[int]()
    monkeypatch.setattr(sums_module, "_live_anew", lambda *_, before: anew.append(before))
    follow(environment)
    assert anew == [], "no live rating is made anew, because none can contain a result without a version"
    assert sum(PairTotal.objects.values_list("duel_count", flat=True)) == 2


def test_only_the_row_of_the_sums_is_locked_while_the_whole_ledger_is_read(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament, _ = finished_edition(environment)
    duel_void(duel=tournament.duels.all()[0], reason=WHY, user=None)
    anew, seen = sums_module._live_anew, list[list[str]]()

    with CaptureQueriesContext(connection) as queries:

        def watched(*given: Any, **named: Any) -> Any:
            seen.append([query["sql"] for query in queries.captured_queries])
            return anew(*given, **named)

        monkeypatch.setattr(sums_module, "_live_anew", watched)
        follow(environment)

    (before,) = seen
    # Not by FOR alone: a cursor is declared FOR a query that locks nothing.
    locking = [
        sql for sql in before if re.match("UPDATE|INSERT|DELETE", sql) or re.search(" FOR .*(UPDATE|SHARE)", sql)
    ]
    assert not connection.features.has_select_for_update or locking
    assert all("core_ledgersums" in sql or "core_pairtotal" in sql for sql in locking), locking
    assert any(query["sql"].startswith('UPDATE "core_tournament"') for query in queries.captured_queries)
