from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import pairwise
from types import SimpleNamespace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from arena_kit.environment.records import Outcome
from arena_kit.ranking.formats import Impossible
from arena_kit.ranking.matchmaking import Pairing, Reason
from core.editions import ladder
from core.editions.ladder import ladder_step
from core.editions.ladder_choice import ladder_settings, last_round, met_today
from core.editions.services import advance, start_now
from core.editions.tests.samples import LATER, edition, play, play_all, players
from core.errors import Refused
from core.jobs.lifecycle import job_claim
from core.models import Agent, Duel, Environment, JobState, Play, Submission, Tournament, TournamentState
from core.tests import factories
from core.tournaments.ladders import agent_rest
from core.tournaments.services import tournament_cancel
from core.tournaments.strikes import duel_play_again

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(autouse=True)
def the_same_lots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ladder draws its seed; of some seeds a promise of evenness would be broken now and then by mere chance."""
    monkeypatch.setattr(ladder, "secrets", SimpleNamespace(randbelow=lambda _: 20261122))


@pytest.fixture
def environment() -> Environment:
    environment = factories.environment()
    environment.play = Play.LADDER
    environment.save()
    return environment


def rivals(environment: Environment, count: int) -> list[Submission]:
    """An agent each of so many owners."""
    return [factories.ready(factories.agent(factories.user(f"rival-{number}"), environment)) for number in range(count)]


def here(tournament: Tournament) -> set[int]:
    return set(tournament.participants.filter(withdrawn_at=None).values_list("submission", flat=True))


def waiting(tournament: Tournament) -> list[Duel]:
    return list(tournament.duels.filter(state=JobState.QUEUED).order_by("number"))


def by_number(duel: Duel) -> Outcome:
    """Who was uploaded first is stronger, but does not always win."""
    first_is_stronger = duel.player_1_id < duel.player_2_id
    return Outcome.PLAYER_1 if first_is_stronger == bool(duel.seed % 4) else Outcome.PLAYER_2


# --- Many rounds ------------------------------------------------------------------------------------------


def test_few_who_play_at_once_do_not_meet_the_same_again_and_again(environment: Environment) -> None:
    rivals(environment, 4)
    advance(environment, now=LATER)
    tournament = edition(environment)
    while tournament.duels.count() < 24:
        # One after the other, as workers end them: the others are still under way.
        duel = waiting(tournament)[0]
        play(duel, by_number(duel))
        advance(environment, now=timezone.now())

    met = Counter(frozenset((duel.player_1_id, duel.player_2_id)) for duel in tournament.duels.all())
    assert len(met) == 6
    assert max(met.values()) <= 3 * min(met.values())


def test_only_todays_duels_of_those_to_be_paired_are_read(environment: Environment) -> None:
    one, two, three, four = rivals(environment, 4)
    advance(environment, now=LATER)
    tournament = edition(environment)
    tournament.duels.all().delete()
    now = timezone.now()
    for number, (first, second, age) in enumerate(
        [(one, two, 30), (one, two, 0), (two, one, 0), (one, three, 0), (three, four, 0), (three, four, 0)], start=1
    ):
        duel = factories.duel(tournament, first, second, number=number, state=JobState.SUCCEEDED)
        Duel.objects.filter(pk=duel.pk).update(created_at=now - timedelta(hours=age))
    with CaptureQueriesContext(connection) as asked:
        found = met_today(tournament, [Pairing(two.pk, one.pk, Reason.NEW, "", 0.5)], now)
    assert found == {frozenset((one.pk, two.pk)): 2}
    assert len(asked) == 2


@pytest.mark.nightly
def test_a_ladder_of_many_rounds_keeps_its_rules(environment: Environment) -> None:
    rows = rivals(environment, 11)
    twin = factories.ready(factories.agent(rows[0].agent.owner, environment))
    advance(environment, now=LATER)
    tournament = edition(environment)
    longest, cap = 2, 2
    settings = {"longest_wait": longest, "pair_cap": cap, "new_below": 0, "noise": 0}
    Tournament.objects.filter(pk=tournament.pk).update(settings=settings)
    tournament.refresh_from_db()
    joined = dict.fromkeys((row.pk for row in (*rows, twin)), 0)
    newer = None
    while tournament.duels.count() < 70:
        for duel in waiting(tournament):
            play(duel, by_number(duel))
        ladder_step(tournament, now=timezone.now())
        if newer is None and tournament.duels.count() > 35:
            newer = factories.ready(rows[3].agent)
            joined[newer.pk] = last_round(tournament)
            last_of_old = tournament.duels.latest("number").number
            ladder_step(tournament, now=timezone.now())

    duels = list(tournament.duels.order_by("number"))
    assert [duel.number for duel in duels] == list(range(1, len(duels) + 1))
    assert {duel.seed - tournament.seed - duel.number for duel in duels} == {0}
    assert all(duel.expected is not None and 0 < duel.expected < 1 and duel.reason for duel in duels)
    owner = dict(Submission.objects.values_list("pk", "agent__owner"))
    assert all(owner[duel.player_1_id] != owner[duel.player_2_id] for duel in duels)
    assert max(Counter(frozenset((duel.player_1_id, duel.player_2_id)) for duel in duels).values()) <= cap
    # The old version plays no more, the new one at once, and those who play are linked by results.
    assert newer is not None
    assert rows[3].pk not in {player for duel in duels[last_of_old:] for player in (duel.player_1_id, duel.player_2_id)}
    assert here(tournament) == {row.pk for row in (*rows, twin, newer)} - {rows[3].pk}
    first_of_newer = min(duel.round for duel in duels if newer.pk in (duel.player_1_id, duel.player_2_id))
    assert first_of_newer == joined[newer.pk] + 1
    advance(environment, now=LATER)
    assert environment.rating_pool.is_connected
    # No agent waits for many more rounds than allowed: then there is a place among four pairs.
    last = duels[-1].round
    for player in joined:
        rounds = [duel.round for duel in duels if player in (duel.player_1_id, duel.player_2_id)]
        end = [] if player == rows[3].pk else [last + 1]
        assert max(after - before for before, after in pairwise([joined[player], *rounds, *end])) <= longest + 2
    # Seats change with every meeting, and are even as a whole: drawn by lot, 12 duels would lean by 2.7 in the mean.
    seats = Counter((duel.player_1_id, duel.player_2_id) for duel in duels)
    assert all(abs(met - seats[second, first]) <= 1 for (first, second), met in seats.items())
    first, second = (
        Counter(duel[seat] for duel in tournament.duels.values()) for seat in ("player_1_id", "player_2_id")
    )
    assert sum(abs(first[player] - second[player]) for player in joined) <= 2 * len(joined)


def test_stepping_twice_makes_nothing_twice(environment: Environment) -> None:
    rivals(environment, 4)
    advance(environment, now=LATER)
    tournament = edition(environment)
    assert len(waiting(tournament)) == 2
    for _ in range(3):
        ladder_step(tournament, now=LATER)
    assert tournament.duels.count() == 2
    # One that is played leaves too few in line, but those who play meet no others meanwhile.
    job_claim(kind=Duel, job_id=tournament.duels.earliest("number").pk, worker="worker-1")
    ladder_step(tournament, now=LATER)
    assert tournament.duels.count() == 2


# --- Who takes part ---------------------------------------------------------------------------------------


# --- Beginning and ending ---------------------------------------------------------------------------------


def test_no_ladder_begins_among_the_agents_of_one_owner(environment: Environment) -> None:
    players(environment, 2)
    advance(environment, now=LATER)
    assert not Tournament.objects.exists()
    with pytest.raises(Refused, match="begins by itself. The ladder begins as soon as agents of two owners are ready"):
        start_now(environment)


def test_an_edition_ends_before_the_ladder_begins_and_the_other_way_round(environment: Environment) -> None:
    environment.play = Play.EDITIONS
    environment.save()
    rivals(environment, 2)
    advance(environment, now=LATER)
    first = edition(environment)
    Environment.objects.update(play=Play.LADDER)
    environment.refresh_from_db()
    advance(environment, now=LATER)
    assert Tournament.objects.get() == first
    play_all(first)
    advance(environment, now=LATER)
    second = edition(environment)
    assert (second.is_ladder, second.state) == (True, TournamentState.RUNNING)
    Environment.objects.update(play=Play.EDITIONS)
    environment.refresh_from_db()
    advance(environment, now=LATER)
    second.refresh_from_db()
    third = edition(environment)
    assert (second.state, third.is_ladder, third.state) == ("FINISHED", False, TournamentState.RUNNING)
    assert not second.duels.filter(state__in=["QUEUED", "RUNNING"]).exists()
    # What both had been expected to do is kept with editions, too.
    assert third.duels.get().expected == pytest.approx(0.7, abs=0.3)


@pytest.mark.parametrize("end", ["cancelled", "its time is over", "nothing is to be played"])
def test_a_ladder_that_was_ended_stays_so(environment: Environment, end: str) -> None:
    rivals(environment, 2)
    advance(environment, now=LATER)
    tournament = edition(environment)
    play_all(tournament)
    if end == "cancelled":
        tournament_cancel(tournament=tournament, reason="Wrong limits.")
    elif end == "its time is over":
        Tournament.objects.update(ends_at=LATER - timedelta(minutes=1))
    else:
        Environment.objects.update(play=Play.NOTHING)
    for _ in range(2):
        environment.refresh_from_db()
        advance(environment, now=LATER)
    tournament = Tournament.objects.get()
    assert tournament.state == ("CANCELLED" if end == "cancelled" else "FINISHED")
    assert environment.play == Play.NOTHING
    assert sorted(tournament.participants.values_list("rank", "wins")) == [(1, 1), (2, 0)]


def test_who_was_about_to_draw_when_a_ladder_was_ended_draws_nothing(environment: Environment) -> None:
    rivals(environment, 4)
    advance(environment, now=LATER)
    tournament = edition(environment)
    play_all(tournament)
    count = tournament.duels.count()
    Environment.objects.update(play=Play.NOTHING)
    ladder_step(tournament, now=LATER)
    assert tournament.duels.count() == count
    Environment.objects.update(play=Play.LADDER)
    ladder_step(tournament, now=LATER)
    assert tournament.duels.count() > count


def test_who_comes_back_and_who_leaves_are_written_together(environment: Environment) -> None:
    """Else two who write rows of the same ladder might each wait for the other."""
    rows = rivals(environment, 4)
    advance(environment, now=LATER)
    tournament = edition(environment)
    agent_rest(agent=rows[3].agent, is_resting=True)
    agent_rest(agent=rows[3].agent, is_resting=False)
    Agent.objects.filter(pk=rows[0].agent_id).update(is_resting=True)
    with CaptureQueriesContext(connection) as queries:
        ladder_step(tournament, now=LATER)
    assert here(tournament) == {row.pk for row in rows[1:]}
    assert len([row for row in queries if row["sql"].startswith('UPDATE "core_participant"')]) == 1


def test_other_rules_of_the_game_are_played_in_another_ladder(environment: Environment) -> None:
    rivals(environment, 2)
    advance(environment, now=LATER)
    Environment.objects.update(version=environment.version + 1)
    environment.refresh_from_db()
    advance(environment, now=LATER)
    assert list(Tournament.objects.order_by("edition").values_list("state", flat=True)) == ["FINISHED", "RUNNING"]


def test_a_ladder_says_why_it_plays_nothing(environment: Environment) -> None:
    rivals(environment, 2)
    advance(environment, now=LATER)
    tournament = edition(environment)
    Tournament.objects.update(settings={"pair_cap": 1})
    play_all(tournament)
    ladder_step(tournament, now=timezone.now())
    tournament.refresh_from_db()
    assert tournament.shortfall == "All pairs that may meet have reached the limit of 1 duel."
    # What was long ago does not count.
    ladder_step(tournament, now=timezone.now() + timedelta(days=31))
    tournament.refresh_from_db()
    assert (tournament.shortfall, len(waiting(tournament))) == ("", 1)
    with pytest.raises(Refused, match="chooses the next ones itself"):
        duel_play_again(duel=Duel(tournament=tournament, state=JobState.FAILED))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"pairs": 2}, "A ladder has no setting 'pairs'. Its settings are pair_cap,"),
        ({"pair_cap": 0}, "pair_cap is 0; make it a whole number from 1 to 10000."),
        ({"longest_wait": True}, "longest_wait is True; make it a whole number from 1 to 1000."),
        ({"noise": "much"}, "noise is 'much'; make it a number from 0 to 10."),
        ({"order_share": float("nan")}, "order_share is nan; make it a number from 0 to 1."),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(Impossible, match=sentence):
        ladder_settings(settings)


def test_agents_of_the_account_of_anonymous_uploads_all_play(environment: Environment) -> None:
    rivals(environment, 1)
    (*_, last) = rows = players(environment, 3)
    owner = last.agent.owner
    owner.email = "anonymous@arena.invalid"
    owner.save()
    advance(environment, now=LATER)
    assert here(edition(environment)) >= {row.pk for row in rows}
    assert Agent.objects.count() == 4
