"""Editions of more agents than can all meet each other."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from arena_kit.ranking.matchmaking import edition_sizes
from core.editions import chosen
from core.editions.services import advance, start_now
from core.editions.tests.samples import LATER, edition, participants_of, play, play_all, players
from core.jobs.states import OPEN
from core.models import CHOSEN, Environment, JobState, Rating, Submission, Tournament, TournamentState
from core.moderation.services import agent_disable
from core.tests import factories
from core.tournaments.selectors import tournament_progress

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def environment() -> Environment:
    environment = factories.environment()
    environment.all_pairs_up_to = 8
    environment.save()
    return environment


def settled(environment: Environment) -> list[Submission]:
    """Eight agents that have all met; the earlier an agent was uploaded, the stronger it is."""
    rows = players(environment, 8)
    played_out(environment)
    return rows


def played_out(environment: Environment) -> Tournament:
    """Let an edition begin, and play it to its end."""
    advance(environment, now=LATER)
    tournament = edition(environment)
    while tournament.duels.filter(state__in=OPEN).exists():
        play_all(tournament)
        advance(environment, now=LATER)
    return edition(environment)


def joined(environment: Environment, count: int = 1) -> list[Submission]:
    owner = factories.user("newcomer")
    owner.is_quota_exempt = True
    owner.save()
    return [factories.ready(factories.agent(owner, environment)) for _ in range(count)]


def test_up_to_its_size_an_edition_plays_all_pairs(environment: Environment) -> None:
    settled(environment)
    assert edition(environment).format == "round-robin"
    assert edition(environment).duels.count() == 28


def test_above_it_a_new_version_plays_its_duels_and_a_few_others_meet(environment: Environment) -> None:
    settled(environment)
    (new,) = joined(environment)
    tournament = played_out(environment)
    size = asdict(edition_sizes(9))
    assert size == {"new_duels": 8, "other_duels": 7}
    assert (tournament.format, tournament.state) == (CHOSEN, TournamentState.FINISHED)
    duels = list(tournament.duels.values_list("player_1", "player_2"))
    assert sum(new.pk in pair for pair in duels) == 8
    assert len(duels) == 8 + 7
    assert Rating.objects.get(submission=new).rank == 9
    assert tournament.participants.get(submission=new).rank == tournament.participants.count()


def test_participants_are_those_who_play_and_ratings_rank_them(environment: Environment) -> None:
    settled(environment)
    joined(environment)
    tournament = played_out(environment)
    assert participants_of(tournament) == {
        key for pair in tournament.duels.values_list("player_1", "player_2") for key in pair
    }
    values = list(tournament.participants.order_by("rank").values_list("submission__rating__value", flat=True))
    assert values == sorted(values, reverse=True)
    assert all(row.rating is not None for row in tournament.participants.all())


def test_opponents_follow_the_results_of_the_new_version(environment: Environment) -> None:
    rows = settled(environment)
    (new,) = joined(environment)
    advance(environment, now=LATER)
    tournament = edition(environment)
    met: list[int] = []
    while own := [
        duel for duel in tournament.duels.filter(state=JobState.QUEUED) if new in (duel.player_1, duel.player_2)
    ]:
        for duel in tournament.duels.filter(state=JobState.QUEUED):
            play(duel)
        met += [duel.player_2_id if duel.player_1_id == new.pk else duel.player_1_id for duel in own]
        advance(environment, now=LATER)
    # It loses every duel, so those it meets are the weak half more often than the strong one.
    weak = {row.pk for row in rows[4:]}
    assert sum(key in weak for key in met[4:]) >= len(met[4:]) / 2
    assert Counter(met).most_common(1)[0][1] <= 3


def test_none_begins_until_another_version_is_ready(environment: Environment) -> None:
    settled(environment)
    joined(environment)
    last = played_out(environment)
    advance(environment, now=LATER)
    assert edition(environment) == last
    joined_later = factories.ready(factories.agent(factories.user("later"), environment))
    advance(environment, now=LATER)
    assert participants_of(edition(environment)) >= {joined_later.pk}


def test_an_organiser_can_ask_for_one_without_a_new_version(environment: Environment) -> None:
    settled(environment)
    joined(environment)
    played_out(environment)
    tournament = start_now(environment)
    while tournament.duels.filter(state__in=OPEN).exists():
        play_all(tournament)
        advance(environment, now=LATER)
    assert tournament.duels.count() == asdict(edition_sizes(9))["other_duels"]


def test_a_second_step_changes_nothing(environment: Environment) -> None:
    settled(environment)
    joined(environment)
    advance(environment, now=LATER)
    tournament = edition(environment)
    before = tournament.duels.count()
    chosen.goes_on(tournament)
    assert tournament.duels.count() == before
    assert tournament_progress(tournament).total == 15


def test_an_agent_that_is_disabled_meets_no_one_any_more(environment: Environment) -> None:
    settled(environment)
    first, second = joined(environment, 2)
    advance(environment, now=LATER)
    tournament = edition(environment)
    agent_disable(agent=first.agent, reason="It copies another one.")
    played_out(environment)
    tournament.refresh_from_db()
    assert tournament.state == TournamentState.FINISHED
    done = Counter(
        key
        for pair in tournament.duels.filter(state=JobState.SUCCEEDED).values_list("player_1", "player_2")
        for key in pair
    )
    assert done[first.pk] == 0
    assert done[second.pk] == tournament.settings["new_duels"]


def test_a_start_reads_no_more_rows_of_versions_for_more_agents(environment: Environment) -> None:
    def started(count: int) -> int:
        owner = factories.user(f"crowd-{count}")
        owner.is_quota_exempt = True
        owner.save()
        for _ in range(count):
            factories.ready(factories.agent(owner, environment))
        with CaptureQueriesContext(connection) as queries:
            advance(environment, now=LATER)
        tournament = edition(environment)
        while tournament.duels.filter(state__in=OPEN).exists():
            play_all(tournament)
            advance(environment, now=LATER)
        return len(queries)

    settled(environment)
    started(1)
    few, many = started(2), started(4)
    assert many <= few + 20
