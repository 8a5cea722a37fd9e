"""A long duel gives way to what people and programs wait for, and pays nothing for it."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from core.duels.run_requests import RunPlayer, RunRequest
from core.duels.runs import run_start
from core.jobs import claims
from core.jobs.heartbeat import activity
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_enqueue, job_succeed
from core.jobs.registry import SERVICES
from core.models import Duel, Environment, Job, JobState, Run, Submission, Validation
from core.tests import factories
from core.tests.factories import Cast
from duel_runner.giving_way import LONGEST_AWAY_SECONDS, LOOK_SECONDS, GivingWay

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases, pytest.mark.usefixtures("midday")]


class Clock:
    """A clock that a test sets; a job that is done takes `costs` seconds."""

    now, costs = 0.0, 1.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> list[Job]:
    """Return a list that collects the jobs that were done, in order, without playing anything."""
    found: list[Job] = []

    def play(job: Job, lease: Lease) -> None:
        clock.now += clock.costs
        found.append(job)
        result: dict[str, Any] = {"outcome": "DRAW", "matches_done": 0} if isinstance(job, Duel) else {}
        job_succeed(job=job, **result)

    for line in SERVICES["duel"].lines:
        monkeypatch.setattr(line.perform, play)
    monkeypatch.setattr(claims, "_rotas", {})
    return found


@pytest.fixture
def cast() -> Cast:
    return factories.cast()


@pytest.fixture
def players(cast: Cast) -> list[Submission]:
    game = factories.environment()
    return [factories.ready(factories.agent(owner, game)) for owner in (cast.alice, cast.bob)]


@pytest.fixture
def rated(players: list[Submission]) -> Duel:
    """Return a rated duel that is played, before another one that waits."""
    tournament = factories.tournament(
        [*players, factories.ready(factories.agent(factories.user("dan"), game_of(players)))]
    )
    factories.moved(Duel.objects.all(), JobState.QUEUED)
    first = tournament.duels.order_by("pk")[0]
    factories.moved(Duel.objects.filter(pk=first.pk), JobState.RUNNING)
    first.refresh_from_db()
    return first


def game_of(players: list[Submission]) -> Environment:
    return players[0].agent.environment


def asked(cast: Cast, players: list[Submission], key: str = "match-1") -> Run:
    rival = Submission.objects.filter(agent__name="own").first()
    rival = rival or factories.ready(factories.agent(cast.alice, game_of(players), "own"))
    named = tuple(RunPlayer(f"p{each.pk}", f"submission:{each.pk}") for each in (players[0], rival))
    request = RunRequest(key, game_of(players).slug, named, 0)
    return run_start(caller=cast.alice, request=request, now=timezone.now())[0]


def test_a_run_is_played_within_a_look_of_a_rated_duel(
    cast: Cast, players: list[Submission], rated: Duel, done: list[Job], clock: Clock
) -> None:
    others = GivingWay(rated, clock)
    run = asked(cast, players)
    assert not others.give_way(), "it has looked when it began"
    clock.now += LOOK_SECONDS
    assert others.give_way()
    assert done == [run.duel]
    assert others.clock() == LOOK_SECONDS, "the other duel took no time of this one"
    assert (activity.job_kind, activity.job_id) == ("duel", rated.pk)
    clock.now += LOOK_SECONDS
    assert not others.give_way(), "the rated duel that waits is not asked for"


def test_a_validation_is_not_kept_waiting_either(
    cast: Cast, players: list[Submission], rated: Duel, done: list[Job], clock: Clock
) -> None:
    fresh = factories.submission(factories.agent(cast.charlie, game_of(players)))
    job_enqueue(job=factories.validation(fresh, JobState.QUEUED))
    others = GivingWay(rated, clock)
    clock.now += LOOK_SECONDS
    assert others.give_way()
    assert [type(job) for job in done] == [Validation]


def test_what_is_asked_for_gives_way_to_nothing(
    cast: Cast, players: list[Submission], done: list[Job], clock: Clock
) -> None:
    first, second = (asked(cast, players, key).duel for key in ("match-1", "match-2"))
    others = GivingWay(first, clock)
    clock.now += LOOK_SECONDS
    assert not others.give_way()
    assert done == []
    assert Duel.objects.get(pk=second.pk).state == JobState.QUEUED


def test_runs_without_end_do_not_keep_a_duel_for_ever(
    cast: Cast, players: list[Submission], rated: Duel, done: list[Job], clock: Clock
) -> None:
    clock.costs = LONGEST_AWAY_SECONDS
    others = GivingWay(rated, clock)
    for number in range(4):
        asked(cast, players, f"match-{number}")
    for _ in range(50):
        clock.now += LOOK_SECONDS
        others.give_way()
    assert len(done) == 2, "after these it has been away for two minutes, and was played for less than one"


def test_a_run_that_fails_does_not_touch_the_duel(
    cast: Cast, players: list[Submission], rated: Duel, done: list[Job], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(job: Job, lease: Lease) -> None:
        raise RuntimeError

    for line in SERVICES["duel"].lines:
        monkeypatch.setattr(line.perform, fail)
    others = GivingWay(rated, clock)
    run = asked(cast, players)
    clock.now += LOOK_SECONDS
    assert others.give_way()
    run.duel.refresh_from_db()
    assert (run.duel.state, run.duel.error_code) == (JobState.QUEUED, "internal_error")
    assert Duel.objects.get(pk=rated.pk).state == JobState.RUNNING
