"""Several workers that advance one environment at once, on a real database with real locks."""

from __future__ import annotations

from functools import partial

import pytest

from core.editions.follow import follow
from core.editions.progress import tournament_step
from core.editions.services import advance
from core.editions.tests.planned import begun, drawn
from core.editions.tests.samples import LATER, play, play_all, players, table
from core.models import (
    CHOSEN,
    Duel,
    Environment,
    JobState,
    LedgerChange,
    LiveRating,
    PairTotal,
    Participant,
    Play,
    Tournament,
    TournamentState,
)
from core.moderation.withdrawals import participant_withdraw
from core.tests import factories
from core.tests.concurrency import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases, pytest.mark.slow]
WORKERS = 4


def test_workers_that_look_together_start_one_edition() -> None:
    environment = factories.environment()
    players(environment, 3)
    at_once(*[lambda: advance(environment, now=LATER)] * WORKERS)

    assert Tournament.objects.get().edition == 1
    assert (Participant.objects.count(), Duel.objects.count()) == (3, 3)


def test_workers_that_look_together_end_an_edition_once_and_rightly() -> None:
    environment = factories.environment()
    one, two, three = players(environment, 3)
    advance(environment, now=LATER)
    play_all(Tournament.objects.get())
    at_once(*[lambda: advance(environment, now=LATER)] * WORKERS)

    tournament = Tournament.objects.get()
    assert tournament.state == TournamentState.FINISHED
    assert table(tournament) == [(one.pk, 1, 4), (two.pk, 2, 2), (three.pk, 3, 0)]
    assert not tournament.participants.filter(rating=None).exists()


def test_workers_that_look_together_choose_the_duels_of_an_edition_once() -> None:
    environment = factories.environment()
    Environment.objects.update(all_pairs_up_to=2)
    players(environment, 6)
    environment.refresh_from_db()
    advance(environment, now=LATER)
    tournament = Tournament.objects.get()
    play_all(tournament)
    begun = tournament.duels.count()
    at_once(*[lambda: advance(Environment.objects.get(), now=LATER)] * WORKERS)

    tournament.refresh_from_db()
    assert (tournament.format, tournament.state) == (CHOSEN, TournamentState.RUNNING)
    assert begun < tournament.duels.count() <= begun + 4
    numbers = list(tournament.duels.order_by("number").values_list("number", flat=True))
    assert numbers == list(range(1, len(numbers) + 1))


def test_workers_that_step_together_draw_a_round_once() -> None:
    tournament = begun(players(factories.environment(), 4))
    play_all(tournament)
    at_once(*[lambda: tournament_step(Tournament.objects.get(), now=LATER)] * WORKERS)

    assert list(tournament.duels.order_by("pk").values_list("number", "round")) == [(1, 1), (2, 1), (3, 2), (4, 2)]
    assert len(drawn(tournament, 2)) == 2


def test_a_participant_that_withdraws_during_a_step_is_out_and_holds_up_no_other() -> None:
    tournament = begun(players(factories.environment(), 4))
    play_all(tournament)
    leaving = tournament.participants.order_by("pk")[0]
    owner = leaving.submission.agent.owner
    step = partial(tournament_step, tournament, now=LATER)
    at_once(step, partial(participant_withdraw, participant=leaving, user=owner), step)
    step()

    leaving.refresh_from_db()
    assert leaving.left_after in (1, 2)
    gone = leaving.submission_id
    opened = tournament.duels.filter(state=JobState.QUEUED)
    assert not any(gone in pair for pair in opened.values_list("player_1", "player_2"))


def test_workers_that_look_together_choose_one_round_of_a_ladder() -> None:
    environment = factories.environment()
    environment.play = Play.LADDER
    environment.save()
    for number in range(4):
        factories.ready(factories.agent(factories.user(f"rival-{number}"), environment))
    at_once(*[lambda: advance(environment, now=LATER)] * WORKERS)
    play_all(Tournament.objects.get())
    at_once(*[lambda: advance(environment, now=LATER)] * WORKERS)

    assert list(Duel.objects.order_by("number").values_list("number", "round")) == [(1, 1), (2, 1), (3, 2), (4, 2)]
    assert Participant.objects.count() == 4


def test_workers_that_refresh_together_add_each_result_once() -> None:
    environment = factories.environment()
    players(environment, 4)
    advance(environment, now=LATER)
    play_all(Tournament.objects.get())
    at_once(*[lambda: follow(environment)] * WORKERS)

    assert sorted(LiveRating.objects.values_list("duel_count", flat=True)) == [3, 3, 3, 3]
    assert sum(PairTotal.objects.values_list("duel_count", flat=True)) == 6
    assert sum(Participant.objects.values_list("wins", flat=True)) == 6


def test_results_that_come_in_while_others_are_read_are_all_counted_once() -> None:
    environment = factories.environment()
    players(environment, 4)
    advance(environment, now=LATER)
    duels = list(Duel.objects.order_by("number"))

    def look() -> None:
        for _ in range(4):
            follow(environment)

    at_once(*[partial(play, duel) for duel in duels], look, look)
    follow(environment)

    assert list(LedgerChange.objects.order_by("version").values_list("version", flat=True)) == [1, 2, 3, 4, 5, 6]
    assert sorted(LiveRating.objects.values_list("duel_count", flat=True)) == [3, 3, 3, 3]
    assert sum(PairTotal.objects.values_list("duel_count", flat=True)) == 6
    assert sum(Participant.objects.values_list("wins", flat=True)) == 6
