"""Editions that a participant is taken out of: the others stand as if they had never met it."""

from __future__ import annotations

import pytest

from arena_kit.ranking.standings import DuelResult, standings
from core.editions.services import advance
from core.editions.tests.samples import LATER, edition, participants_of, play, play_all, players, table
from core.models import Environment, JobState, LedgerEntry, Rating, TournamentState
from core.moderation.services import agent_disable, agent_enable
from core.tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


def test_who_has_met_the_withdrawn_one_has_nothing_of_it(environment: Environment) -> None:
    one, two, three, four = players(environment, 4)
    advance(environment, now=LATER)
    tournament = edition(environment)
    for duel in tournament.duels.filter(player_1__in=(one, four), player_2__in=(one, four)):
        play(duel)
    advance(environment, now=LATER)
    assert table(tournament)[0] == (one.pk, 1, 2)

    agent_disable(agent=four.agent, reason="Cheats.")
    advance(environment, now=LATER)
    assert table(tournament) == [(one.pk, 1, 0), (two.pk, 1, 0), (three.pk, 1, 0), (four.pk, 4, 0)]

    play_all(tournament)
    advance(environment, now=LATER)
    tournament.refresh_from_db()
    assert tournament.state == TournamentState.FINISHED
    assert table(tournament) == [(one.pk, 1, 4), (two.pk, 2, 2), (three.pk, 3, 0), (four.pk, 4, 0)]


def test_what_was_played_stays_in_the_ledger_and_the_ratings(environment: Environment) -> None:
    one, two, three = players(environment, 3)
    advance(environment, now=LATER)
    tournament = edition(environment)
    play_all(tournament)
    agent_disable(agent=three.agent, reason="Cheats.")
    advance(environment, now=LATER)

    assert LedgerEntry.objects.filter(submission=three).count() == 2
    assert Rating.objects.get(submission=three).duel_count == 2
    assert Rating.objects.get(submission=one).value > Rating.objects.get(submission=two).value > 1400


def test_an_edition_whose_last_open_duels_are_cancelled_ends(environment: Environment) -> None:
    rows = players(environment, 2)
    advance(environment, now=LATER)
    agent_disable(agent=rows[1].agent, reason="Cheats.")
    advance(environment, now=LATER)
    tournament = edition(environment)
    assert tournament.state == TournamentState.FINISHED
    assert not tournament.duels.exclude(state=JobState.CANCELLED).exists()


def test_an_agent_that_is_enabled_again_takes_part_in_the_next_edition(environment: Environment) -> None:
    rows = players(environment, 3)
    advance(environment, now=LATER)
    agent_disable(agent=rows[2].agent, reason="A mistake.")
    agent_enable(agent=rows[2].agent)
    tournament = edition(environment)
    play_all(tournament)
    advance(environment, now=LATER)
    assert table(tournament)[-1] == (rows[2].pk, 3, 0)
    # Nothing has changed in who can play, so it is up to the organisers.
    assert participants_of(tournament) == {row.pk for row in rows}


def test_the_withdrawn_stand_below_who_has_lost_everything() -> None:
    rows = standings([1, 2, 3, 4], [DuelResult(1, (1, 2), (2, 0), (5.0, -5.0))], withdrawn={3, 4})
    assert [(row.submission, row.rank) for row in rows] == [(1, 1), (2, 2), (3, 3), (4, 3)]
