"""Organisers close an environment or pause a tournament: its duels wait, and go on when they may."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.editions.progress import tournament_step
from core.editions.tests.planned import begun, play_on
from core.editions.tests.samples import LATER, play, players
from core.environments.services import environment_close, environment_open
from core.errors import Refused
from core.jobs.lifecycle import job_claim
from core.jobs.waits import WaitCode, wait_of
from core.models import Duel, Environment, JobState, Tournament, TournamentState
from core.tests import factories
from core.tournaments.services import tournament_cancel, tournament_go_on, tournament_pause

pytestmark = pytest.mark.django_db


def _close(cup: Tournament) -> None:
    environment_close(environment=cup.environment)


def _open(cup: Tournament) -> None:
    environment_open(environment=Environment.objects.get(pk=cup.environment_id))


def _pause(cup: Tournament) -> None:
    tournament_pause(tournament=cup)


def _go_on(cup: Tournament) -> None:
    tournament_go_on(tournament=cup)


BOTH = pytest.mark.parametrize(
    ("stop", "start", "why"),
    [
        (_close, _open, "Tic-tac-toe is closed at the moment. It goes on when the organisers let it."),
        (_pause, _go_on, "Tic-tac-toe: Cup is paused. It goes on when the organisers let it."),
    ],
)


def fresh(cup: Tournament) -> Tournament:
    return Tournament.objects.select_related("environment").get(pk=cup.pk)


@BOTH
def test_waiting_duels_wait_and_no_round_is_drawn_until_they_may_go_on(
    stop: Callable[[Tournament], None], start: Callable[[Tournament], None], why: str
) -> None:
    cup = begun(players(factories.environment(), 4))
    waiting = list(cup.duels.filter(state=JobState.QUEUED))
    assert waiting

    stop(cup)

    assert all(job_claim(kind=Duel, job_id=duel.pk, worker="w") is None for duel in waiting)
    wait = wait_of(Duel.objects.get(pk=waiting[0].pk))
    assert wait is not None
    assert (wait.code, wait.sentence) == (WaitCode.PAUSED, why)
    with pytest.raises(Refused):
        stop(fresh(cup))

    start(fresh(cup))

    with pytest.raises(Refused):
        start(fresh(cup))
    play_on(fresh(cup))
    assert fresh(cup).state == TournamentState.FINISHED
    assert not Duel.objects.filter(error_code="paused").exists()


@BOTH
def test_a_round_that_ends_meanwhile_is_followed_by_none(
    stop: Callable[[Tournament], None], start: Callable[[Tournament], None], why: str
) -> None:
    cup = begun(players(factories.environment(), 4))
    for duel in cup.duels.filter(state=JobState.QUEUED).order_by("number"):
        play(duel)
    stop(cup)
    tournament_step(fresh(cup), now=LATER)
    assert not cup.duels.filter(state=JobState.QUEUED).exists()
    assert fresh(cup).shortfall

    start(fresh(cup))
    tournament_step(fresh(cup), now=LATER)
    assert cup.duels.filter(state=JobState.QUEUED).exists()
    assert not fresh(cup).shortfall


def test_a_tournament_that_ends_or_is_cancelled_is_no_longer_paused() -> None:
    cup = begun(players(factories.environment(), 4))
    tournament_pause(tournament=cup)
    tournament_cancel(tournament=cup, reason="Enough.")
    assert fresh(cup).paused_at is None
