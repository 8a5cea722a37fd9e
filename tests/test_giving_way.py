"""A run is played by real players in the midst of a rated duel, which goes on as if nothing had been."""

from __future__ import annotations

import pytest
from django.utils import timezone

from core.duels.run_requests import RunPlayer, RunRequest
from core.duels.runs import run_start
from core.models import Duel, Environment, JobState, Tournament
from core.tests import factories
from core.tests.working import run
from duel_runner import giving_way
from tests.samples import FIRST, LAST, deliver_messages, tic_tac_toe, upload

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def environment() -> Environment:
    return tic_tac_toe()


def test_a_run_ends_before_the_rated_duel_that_began_first(
    sandbox: str, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, last = upload(environment, "first", FIRST), upload(environment, "last", LAST)
    deliver_messages()
    alone = Duel.objects.get()
    rated = factories.duel(Tournament.objects.get(), first, last, number=9, state=JobState.QUEUED)
    Duel.objects.filter(pk=rated.pk).update(seed=alone.seed, match_count=alone.match_count)
    players = tuple(RunPlayer(one.agent.name, f"submission:{one.pk}") for one in (first, last))
    factories.rating(last, 1500, rank=1, worst_rank=1)
    asked, _ = run_start(
        caller=first.agent.owner, request=RunRequest("key", environment.slug, players), now=timezone.now()
    )
    # A duel of this test is over before a second look.
    monkeypatch.setattr(giving_way, "LOOK_SECONDS", 0.0)
    run(rated)
    rated.refresh_from_db()
    asked.duel.refresh_from_db()
    assert (rated.state, asked.duel.state) == (JobState.SUCCEEDED, JobState.SUCCEEDED), asked.duel.log
    assert rated.started_at is not None
    assert asked.duel.started_at is not None
    assert rated.ended_at is not None
    assert asked.duel.ended_at is not None
    assert rated.started_at < asked.duel.started_at < asked.duel.ended_at < rated.ended_at
    for name in ("outcome", "player_1_wins", "player_2_wins", "draws", "player_1_errors", "player_2_errors"):
        assert getattr(rated, name) == getattr(alone, name), name
