"""Editions of more agents than can all meet each other."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from arena_kit.ranking.newcomers import edition_sizes
from core.editions import chosen, chosen_choice
from core.editions.services import advance, start_now
from core.editions.tests.samples import LATER, break_down, edition, participants_of, play, play_all, players
from core.jobs.states import OPEN
from core.models import (
    CHOSEN,
    Delivery,
    Environment,
    EventKind,
    JobState,
    Notice,
    NoticeKind,
    PairTotal,
    Play,
    Rating,
    Submission,
    Tournament,
    TournamentState,
)
from core.moderation.services import agent_disable
from core.ratings.notices import tournament_rated
from core.tests import factories
from core.tournaments.newcomers import newcomers, unplayed
from core.tournaments.selectors import tournament_progress
from core.tournaments.services import tournament_cancel
from core.tournaments.strikes import duel_void
from tests.worlds import Fresh

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def choosing(slug: str) -> Environment:
    """An environment in which more than eight agents do not all meet."""
    environment = factories.environment(slug)
    environment.all_pairs_up_to = 8
    environment.save()
    return environment


@pytest.fixture(scope="module")
def shared_settled(module_db: object) -> list[Submission]:
    environment = choosing("tic-tac-toe")
    rows = players(environment, 8)
    played_out(environment)
    return rows


@pytest.fixture
def settled(shared_settled: list[Submission], fresh: Fresh) -> list[Submission]:
    """Eight agents that have all met; the earlier an agent was uploaded, the stronger it is."""
    return fresh(shared_settled)


@pytest.fixture
def environment(settled: list[Submission]) -> Environment:
    return settled[0].agent.environment


@pytest.fixture
def empty() -> Environment:
    return choosing("connect-four")


def played_out(environment: Environment) -> Tournament:
    """Let an edition begin, and play it to its end."""
    advance(environment, now=LATER)
    tournament = edition(environment)
    while tournament.duels.filter(state__in=OPEN).exists():
        play_all(tournament)
        advance(environment, now=LATER)
    return edition(environment)


def joined(environment: Environment, count: int = 1, name: str = "newcomer") -> list[Submission]:
    owner = factories.user(name)
    owner.is_quota_exempt = True
    owner.save()
    return [factories.ready(factories.agent(owner, environment)) for _ in range(count)]


def test_up_to_its_size_an_edition_plays_all_pairs(environment: Environment) -> None:
    assert edition(environment).format == "round-robin"
    assert edition(environment).duels.count() == 28


def test_above_it_a_new_version_plays_its_duels_and_a_few_others_meet(environment: Environment) -> None:
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
    joined(environment)
    tournament = played_out(environment)
    assert participants_of(tournament) == {
        key for pair in tournament.duels.values_list("player_1", "player_2") for key in pair
    }
    values = list(tournament.participants.order_by("rank").values_list("submission__rating__value", flat=True))
    assert values == sorted(values, reverse=True)
    assert all(row.rating is not None for row in tournament.participants.all())


def test_opponents_follow_the_results_of_the_new_version(
    environment: Environment, settled: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    (new,) = joined(environment)
    # Choices depend on the seed and the key of the version together: the same draws in every run.
    monkeypatch.setattr("core.editions.chosen.secrets.randbelow", lambda _: 1_000_000_000 - new.pk)
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
    weak = {row.pk for row in settled[4:]}
    assert sum(key in weak for key in met[4:]) >= len(met[4:]) / 2
    assert Counter(met).most_common(1)[0][1] <= 3


def test_none_begins_until_another_version_is_ready(environment: Environment) -> None:
    joined(environment)
    last = played_out(environment)
    advance(environment, now=LATER)
    assert edition(environment) == last
    joined_later = factories.ready(factories.agent(factories.user("later"), environment))
    advance(environment, now=LATER)
    assert participants_of(edition(environment)) >= {joined_later.pk}


def test_an_organiser_can_ask_for_one_without_a_new_version(environment: Environment) -> None:
    joined(environment)
    played_out(environment)
    tournament = start_now(environment)
    while tournament.duels.filter(state__in=OPEN).exists():
        play_all(tournament)
        advance(environment, now=LATER)
    assert tournament.duels.count() == asdict(edition_sizes(9))["other_duels"]


def test_a_second_step_changes_nothing(environment: Environment) -> None:
    joined(environment)
    advance(environment, now=LATER)
    tournament = edition(environment)
    before = tournament.duels.count()
    chosen.goes_on(tournament)
    assert tournament.duels.count() == before
    assert tournament_progress(tournament).total == 15


def test_an_agent_that_is_disabled_meets_no_one_any_more(environment: Environment) -> None:
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
        return len(queries)

    started(1)
    played_out(environment)
    few = started(2)
    played_out(environment)
    assert started(4) <= few + 20


def counted(tournament: Tournament, submission: Submission) -> int:
    """The duels of a submission that have a result that counts."""
    done = tournament.duels.filter(state=JobState.SUCCEEDED, void=None).values_list("player_1", "player_2")
    return sum(submission.pk in pair for pair in done)


def test_an_edition_waits_while_its_environment_is_closed(environment: Environment) -> None:
    (new,) = joined(environment)
    advance(environment, now=LATER)
    Environment.objects.update(is_active=False)
    tournament = edition(environment)
    play_all(tournament)
    advance(environment, now=LATER)
    tournament.refresh_from_db()
    assert (tournament.state, tournament.duels.filter(state__in=OPEN).count()) == (TournamentState.RUNNING, 0)
    assert tournament.shortfall == f"{environment} is closed at the moment: no new duels are made."
    Environment.objects.update(is_active=True)
    environment.refresh_from_db()
    assert played_out(environment) == tournament
    tournament.refresh_from_db()
    assert (tournament.state, tournament.shortfall) == (TournamentState.FINISHED, "")
    assert counted(tournament, new) == 8


def test_an_edition_is_played_by_one_version_of_the_rules(environment: Environment) -> None:
    joined(environment)
    advance(environment, now=LATER)
    tournament = edition(environment)
    begun = tournament.duels.count()
    Environment.objects.update(version=environment.version + 1)
    play_all(tournament)
    advance(environment, now=LATER)
    tournament.refresh_from_db()
    assert (tournament.state, tournament.duels.count()) == (TournamentState.FINISHED, begun)


def test_an_upload_during_an_edition_waits_for_the_next(environment: Environment) -> None:
    joined(environment)
    advance(environment, now=LATER)
    tournament = edition(environment)
    (late,) = joined(environment, name="late")
    while tournament.duels.filter(state__in=OPEN).exists():
        play_all(tournament)
        chosen.goes_on(tournament)
    assert late.pk not in participants_of(tournament)
    advance(environment, now=LATER)
    assert newcomers(edition(environment)) == {late.pk}


def test_a_newer_version_leaves_the_duels_of_the_others_as_they_were(environment: Environment) -> None:
    first, second = joined(environment, 2)
    advance(environment, now=LATER)
    tournament = edition(environment)
    newer = factories.ready(first.agent)
    while tournament.duels.filter(state__in=OPEN).exists():
        play_all(tournament)
        chosen.goes_on(tournament)
    assert newer.pk not in participants_of(tournament)
    assert counted(tournament, second) >= tournament.settings["new_duels"]
    others = [
        pair for pair in tournament.duels.values_list("player_1", "player_2") if not {first.pk, second.pk} & {*pair}
    ]
    assert len(others) == tournament.settings["other_duels"]


@pytest.mark.parametrize("bound", [0, 1])
def test_without_all_pairs_an_edition_needs_two_agents(empty: Environment, bound: int) -> None:
    empty.all_pairs_up_to = bound
    empty.save()
    joined(empty)
    advance(empty, now=LATER)
    assert not empty.tournaments.exists()
    joined(empty, name="second")
    tournament = played_out(empty)
    assert (tournament.format, tournament.state) == (CHOSEN, TournamentState.FINISHED)
    assert tournament.duels.filter(state=JobState.SUCCEEDED).count() == 1


def test_agents_of_one_owner_meet_where_no_other_plays(empty: Environment) -> None:
    empty.active_per_owner = 0
    empty.save()
    owner = factories.user("alone")
    rows = [factories.ready(factories.agent(owner, empty)) for _ in range(10)]
    tournament = played_out(empty)
    assert all(counted(tournament, row) >= tournament.settings["new_duels"] for row in rows[:-1])


def test_a_duel_without_a_result_is_made_good(environment: Environment) -> None:
    (new,) = joined(environment)
    advance(environment, now=LATER)
    tournament = edition(environment)
    first, second = [duel for duel in tournament.duels.order_by("number") if new in (duel.player_1, duel.player_2)][:2]
    break_down(first)
    play(second)
    second.refresh_from_db()
    duel_void(duel=second, reason="The engine was slow.", user=None)
    played_out(environment)
    assert counted(tournament, new) == tournament.settings["new_duels"]


def test_where_no_duel_can_be_played_an_edition_ends(environment: Environment) -> None:
    (new,) = joined(environment)
    advance(environment, now=LATER)
    tournament = edition(environment)
    while (duels := tournament.duels.filter(state=JobState.QUEUED)).exists():
        for duel in duels:
            break_down(duel)
        advance(environment, now=LATER)
    tournament.refresh_from_db()
    assert tournament.state == TournamentState.FINISHED
    assert sum(new in (duel.player_1, duel.player_2) for duel in tournament.duels.all()) == 16


def test_after_a_cancelled_edition_the_next_upload_starts_one_for_both(environment: Environment) -> None:
    (new,) = joined(environment)
    advance(environment, now=LATER)
    cancelled = edition(environment)
    tournament_cancel(tournament=cancelled, reason="Wrong limits.")
    advance(environment, now=LATER)
    assert edition(environment) == cancelled
    (later,) = joined(environment, name="later")
    advance(environment, now=LATER)
    assert newcomers(edition(environment)) == {new.pk, later.pk}


def test_an_agent_that_may_play_again_gets_its_duels(environment: Environment) -> None:
    (new,) = joined(environment)
    advance(environment, now=LATER)
    agent_disable(agent=new.agent, reason="It copies another one.")
    played_out(environment)
    assert unplayed(new.agent.environment, [new]) == [new]
    new.agent.is_disabled = False
    new.agent.save()
    # Of eight agents all pairs are played.
    assert played_out(environment).format == CHOSEN
    tournament = played_out(environment)
    assert counted(tournament, new) == 8


def test_a_ladder_begins_after_the_edition_that_runs(environment: Environment) -> None:
    (new,) = joined(environment)
    advance(environment, now=LATER)
    tournament = edition(environment)
    Environment.objects.update(play=Play.LADDER)
    while (duels := tournament.duels.filter(state__in=OPEN)).exists():
        for duel in duels:
            play(duel)
        advance(Environment.objects.get(), now=LATER)
    assert counted(tournament, new) == 8
    assert edition(environment).is_ladder


def test_pairs_that_others_connect_are_not_said_to_lack_a_chain(environment: Environment) -> None:
    joined(environment)
    advance(environment, now=LATER)
    PairTotal.objects.all().delete()
    candidates = chosen_choice._candidates(edition(environment), list(Submission.objects.all()[:8]))
    pairs = chosen_choice._of_others(edition(environment), candidates, 4)
    assert pairs
    assert {row.reason for row in pairs} == {"tells"}


def test_only_newcomers_are_told_their_ranks(environment: Environment) -> None:
    (new,) = joined(environment)
    before = Notice.objects.count()
    played_out(environment)
    told = Notice.objects.order_by("pk")[before:]
    assert [(row.user, row.kind) for row in told] == [(new.agent.owner, NoticeKind.TOURNAMENT_ENDED)]
    assert "9th of 9" in told[0].text


def test_the_best_of_those_who_play_is_not_announced_as_the_leader(
    environment: Environment, settled: list[Submission]
) -> None:
    factories.webhook(kinds=[EventKind.LEADER_CHANGED.value])
    joined(environment)
    tournament = played_out(environment)
    tournament.participants.filter(submission=settled[0]).delete()
    tournament_rated(tournament)
    assert not Delivery.objects.exclude(kind="TEST").exists()
