"""What the worker of a duel tells while it plays, and what people see of it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.environment.records import MatchRecord, Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.referee.live import LiveView
from arena_kit.referee.match import pair_seed
from core.duels.selectors import NotPlayed
from core.jobs.lease import Lease
from core.models import Duel, JobState, ToldMoves, WatchedDuel
from core.tests import factories
from core.watching import services
from core.watching.selectors import DELAY, live_state, match_shown, told_index
from core.watching.services import duel_watch, moves_forget
from duel_runner import live_feed
from duel_runner.live_feed import LiveFeed
from web.tests import played

pytestmark = pytest.mark.django_db


class Looked(LiveView):
    """A look at a duel as a test wants it: what is over, and the actions of what is played."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[MatchRecord] = []
        self.playing: dict[int, tuple[int, ...]] = {}

    def over(self, known: Container[int]) -> list[MatchRecord]:
        return [record for record in self.ended if record.number not in known]

    def running(self) -> list[int]:
        return sorted(self.playing)

    def actions(self, number: int) -> tuple[int, ...] | None:
        return self.playing.get(number)


@pytest.fixture
def duel() -> Duel:
    """A running duel of an edition that everyone may see."""
    environment = factories.environment()
    players = [factories.ready(factories.agent(factories.user(name), environment, name)) for name in ("ann", "bob")]
    tournament = played.edition(players, environment)
    return factories.duel(tournament, *players, number=1, state=JobState.RUNNING)


@pytest.fixture
def view() -> Looked:
    return Looked()


def match(duel: Duel, number: int, **fields: Any) -> MatchRecord:
    spec = get_spec(duel.environment_version)
    return replace(played.random_match(spec, number, pair_seed(duel.seed, (number - 1) // 2)), **fields)


def later() -> None:
    """Let the delay pass for what is told so far."""
    ToldMoves.objects.update(told_at=timezone.now() - DELAY - timedelta(seconds=1))


def test_nothing_is_told_of_a_duel_that_nobody_watches(duel: Duel, view: Looked) -> None:
    view.ended, view.playing = [match(duel, 1)], {2: (4,)}
    teller = LiveFeed(duel, view)
    teller.tell()
    assert not ToldMoves.objects.exists()
    duel_watch(duel)
    teller.tell()
    assert ToldMoves.objects.count() == 2
    WatchedDuel.objects.update(asked_at=timezone.now() - services.WATCHED - timedelta(seconds=1))
    view.ended.append(match(duel, 3))
    teller.tell()
    assert ToldMoves.objects.count() == 2


def test_finished_matches_are_there_at_once_and_are_those_of_the_record(duel: Duel, view: Looked) -> None:
    duel_watch(duel)
    view.ended = [match(duel, 1), match(duel, 2)]
    LiveFeed(duel, view).tell()
    shown, count, _ = match_shown(duel, 2)
    assert count == duel.match_count
    told = ("number", "seed", "seats", "actions", "outcome", "scores", "fault", "faulty_player", "opening_count")
    assert [getattr(shown, name) for name in told] == [getattr(view.ended[1], name) for name in told]
    assert [(one.number, one.outcome, one.first_player) for one in told_index(duel)] == [
        (record.number, record.outcome, record.seats[0]) for record in view.ended
    ]
    with pytest.raises(NotPlayed, match="Match 3 of this duel is not over yet"):
        match_shown(duel, 3)


def test_what_a_player_says_when_it_fails_is_not_told(duel: Duel, view: Looked) -> None:
    duel_watch(duel)
    spec = get_spec(duel.environment_version)
    view.ended = [played.random_match(spec, 1, pair_seed(duel.seed, 0), faulty_player=1)]
    LiveFeed(duel, view).tell()
    shown, *_ = match_shown(duel, 1)
    assert (shown.faulty_player, shown.outcome, shown.error) == (1, Outcome.PLAYER_1, "")
    assert "KeyError" in view.ended[0].error


def test_the_moves_of_one_match_are_seen_after_the_delay(duel: Duel, view: Looked) -> None:
    duel_watch(duel)
    whole, teller = match(duel, 1), LiveFeed(duel, view)
    view.playing = {1: whole.actions[:2], 2: match(duel, 2).actions[:2]}
    teller.tell()
    assert live_state(duel) is None
    later()
    state = live_state(duel)
    assert state is not None
    assert (state.match, state.view.ply) == (1, 2)
    view.playing[1] = whole.actions[:3]
    teller.tell()
    state = live_state(duel)
    assert state is not None
    assert state.view.ply == 2
    assert told_index(duel) == []
    view.playing, view.ended = {2: match(duel, 2).actions[:3]}, [whole]
    teller.tell()
    assert [one.number for one in told_index(duel)] == [1]
    later()
    state = live_state(duel)
    assert state is not None
    # The next one is followed from here on.
    assert (state.match, state.view.ply) == (2, 3)
    assert ToldMoves.objects.filter(match=1).count() == 3


def test_what_an_earlier_attempt_has_told_is_void(duel: Duel, view: Looked) -> None:
    duel_watch(duel)
    view.ended = [match(duel, 1)]
    LiveFeed(duel, view).tell()
    Duel.objects.update(claim_token=UUID(int=2))
    duel.refresh_from_db()
    assert told_index(duel) == []


def test_what_was_told_goes_when_the_duel_is_over(duel: Duel, view: Looked) -> None:
    duel_watch(duel)
    view.ended = [match(duel, 1)]
    LiveFeed(duel, view).tell()
    assert moves_forget() == 0
    factories.moved(Duel.objects.all(), JobState.SUCCEEDED)
    duel.refresh_from_db()
    assert moves_forget() == 1
    assert not WatchedDuel.objects.exists()


@pytest.mark.parametrize("change", ["actions", "begin", "match", "type"])
def test_rows_that_do_not_fit_are_left_out(duel: Duel, view: Looked, change: str) -> None:
    duel_watch(duel)
    view.ended = [match(duel, 1), match(duel, 2)]
    LiveFeed(duel, view).tell()
    wrong: dict[str, Any] = {
        "actions": {"actions": [10**9]}, "begin": {"begin": 1}, "match": {"match": 10**6}, "type": {"actions": "<b>"}
    }  # fmt: skip
    ToldMoves.objects.filter(match=1).update(**wrong[change])
    assert [one.number for one in told_index(duel)] == [2]


def test_few_rows_are_written_in_a_second(duel: Duel, view: Looked, monkeypatch: pytest.MonkeyPatch) -> None:
    duel_watch(duel)
    monkeypatch.setattr(live_feed, "MOST_AT_ONCE", 2)
    monkeypatch.setattr(live_feed, "MOST_MATCHES", 3)
    teller = LiveFeed(duel, view)
    view.ended = [match(duel, number) for number in range(1, 6)]
    counts = []
    for _ in range(4):
        teller.tell()
        counts.append(ToldMoves.objects.count())
    assert counts == [2, 4, 4, 4]


def test_matches_that_are_too_long_are_not_told(duel: Duel, view: Looked, monkeypatch: pytest.MonkeyPatch) -> None:
    duel_watch(duel)
    monkeypatch.setattr(live_feed, "MOST_ACTIONS", 4)
    view.ended, view.playing = [match(duel, 1)], {2: (0, 1, 2, 3, 4)}
    LiveFeed(duel, view).tell()
    assert not ToldMoves.objects.exists()


def test_nothing_is_told_where_players_do_not_see_everything(
    duel: Duel, view: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    duel_watch(duel)
    view.ended = [match(duel, 1)]
    LiveFeed(duel, view).tell()
    apart = replace(get_spec(duel.environment_version), isolation="apart")
    monkeypatch.setattr(services, "get_spec", lambda _: apart)
    # Neither is what another worker may have told read, nor is more told or asked for.
    assert told_index(duel) == []
    assert live_state(duel) is None
    ToldMoves.objects.all().delete()
    WatchedDuel.objects.update(asked_at=timezone.now())
    LiveFeed(duel, view).tell()
    assert not ToldMoves.objects.exists()
    WatchedDuel.objects.all().delete()
    duel_watch(duel)
    assert not WatchedDuel.objects.exists()


def test_a_cluster_says_that_nothing_is_told(duel: Duel, settings: Settings) -> None:
    settings.SANDBOX = "kubernetes"
    duel_watch(duel)
    assert not WatchedDuel.objects.exists()
    assert "cluster" in services.why_not_live(duel)


def test_a_telling_that_fails_costs_the_duel_nothing(duel: Duel, caplog: pytest.LogCaptureFixture) -> None:
    calls = []

    def fail() -> None:
        calls.append(1)
        raise DatabaseError("The disk is full.")

    lease = Lease(duel)
    lease.every_second(fail)
    lease._do_also()
    lease._do_also()
    assert calls == [1]
    assert not lease.lost.is_set()
    assert "Nothing more is told of duel" in caplog.text
