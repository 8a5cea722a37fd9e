from __future__ import annotations

import pytest

from arena_kit.environment.records import Outcome
from core.editions import selectors
from core.editions import services as editions
from core.editions.selectors import participants_due
from core.editions.services import advance, start_now
from core.editions.tests.samples import (
    LATER,
    break_down,
    edition,
    finished_edition,
    participants_of,
    play,
    play_all,
    players,
    table,
)
from core.errors import Refused
from core.models import (
    Duel,
    Environment,
    JobFault,
    JobState,
    Participant,
    Rating,
    Submission,
    Tournament,
    TournamentState,
    User,
)
from core.moderation.services import agent_disable
from core.submissions.existing import submission_delete
from core.tests import factories
from core.tournaments.ladders import agent_rest
from core.tournaments.services import tournament_cancel
from core.tournaments.strikes import duel_void

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


# --- Starting ---------------------------------------------------------------------------------------------


def test_two_valid_agents_start_an_edition(environment: Environment) -> None:
    rows = players(environment, 3)
    advance(environment, now=LATER)

    tournament = Tournament.objects.get()
    assert (tournament.edition, tournament.state) == (1, TournamentState.RUNNING)
    assert participants_of(tournament) == {row.pk for row in rows}
    assert Duel.objects.filter(state=JobState.QUEUED).count() == 3


def test_one_agent_alone_starts_nothing(environment: Environment) -> None:
    players(environment, 1)
    advance(environment, now=LATER)
    assert not Tournament.objects.exists()


def test_only_valid_submissions_take_part_the_latest_of_each_agent(environment: Environment) -> None:
    one, two, three, four, five = players(environment, 5)
    newer = factories.ready(one.agent)
    broken = factories.submission(two.agent)
    factories.validation(broken, JobState.FAILED)
    agent_disable(agent=three.agent, reason="Mines coins.")
    submission_delete(submission=four)
    other = User.objects.create(username="gone", email="gone@arena.example", is_active=False)
    five.agent.owner = other
    five.agent.save()
    factories.submission(factories.agent(one.agent.owner, environment))

    advance(environment, now=LATER)
    assert participants_of(edition(environment)) == {newer.pk, two.pk}


def test_an_inactive_environment_starts_nothing(environment: Environment) -> None:
    players(environment, 2)
    environment.is_active = False
    environment.save()
    advance(environment, now=LATER)
    assert not Tournament.objects.exists()


def test_nothing_starts_while_an_edition_runs(environment: Environment) -> None:
    rows = players(environment, 2)
    advance(environment, now=LATER)
    factories.ready(rows[0].agent)
    advance(environment, now=LATER)
    assert Tournament.objects.count() == 1


def test_the_same_set_of_submissions_starts_no_second_edition(environment: Environment) -> None:
    finished_edition(environment)
    advance(environment, now=LATER)
    assert Tournament.objects.count() == 1


@pytest.mark.parametrize("change", ["new agent", "new version", "disabled agent", "deleted version"])
def test_a_changed_set_starts_the_next_edition(environment: Environment, change: str) -> None:
    first, rows = finished_edition(environment)
    expected = {row.pk for row in rows}
    if change == "new agent":
        expected |= {factories.ready(factories.agent(rows[0].agent.owner, environment)).pk}
    elif change == "new version":
        expected = expected - {rows[0].pk} | {factories.ready(rows[0].agent).pk}
    elif change == "disabled agent":
        agent_disable(agent=rows[0].agent, reason="Asked for.")
        expected -= {rows[0].pk}
    else:
        submission_delete(submission=rows[0])
        expected -= {rows[0].pk}

    advance(environment, now=LATER)
    second = edition(environment)
    assert (second.edition, second.state) == (first.edition + 1, TournamentState.RUNNING)
    assert participants_of(second) == expected


def test_a_cancelled_edition_is_not_started_again_by_itself(environment: Environment) -> None:
    rows = players(environment, 2)
    advance(environment, now=LATER)
    tournament_cancel(tournament=edition(environment), reason="Wrong limits.")
    advance(environment, now=LATER)
    assert Tournament.objects.count() == 1

    factories.ready(rows[0].agent)
    advance(environment, now=LATER)
    assert edition(environment).edition == 2


def test_who_is_slower_starts_nothing(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    players(environment, 2)
    look = participants_due

    def somebody_starts_and_ends_one(environment: Environment) -> list[Submission]:
        rows = look(environment)
        if not Tournament.objects.exists():
            Tournament.objects.create(
                environment=environment, edition=1, state=TournamentState.FINISHED, ended_at=LATER
            )
        return rows

    monkeypatch.setattr(editions, "participants_due", somebody_starts_and_ends_one)
    assert editions.start_if_due(environment, now=LATER) is None
    assert Tournament.objects.count() == 1


# --- Starting now -----------------------------------------------------------------------------------------


def test_an_organiser_can_start_an_edition_although_nothing_has_changed(environment: Environment) -> None:
    finished_edition(environment)
    tournament = start_now(environment)
    assert (tournament.edition, tournament.state) == (2, TournamentState.RUNNING)


def test_an_organiser_is_told_why_no_edition_starts(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused, match=r"needs two agents with a valid version that play; Tic-tac-toe has no agent\."):
        start_now(environment)
    rows = players(environment, 1)
    with pytest.raises(Refused, match=r"Tic-tac-toe has one agent\."):
        start_now(environment)
    factories.ready(factories.agent(rows[0].agent.owner, environment))
    tournament = start_now(environment)
    with pytest.raises(Refused, match=r"Tic-tac-toe edition 1 is still running\. Wait until it ends, or cancel it\."):
        start_now(environment)
    monkeypatch.setattr(selectors, "last_edition", lambda _: None)
    with pytest.raises(Refused, match=r"An edition of Tic-tac-toe has just been started\."):
        start_now(environment)
    assert Tournament.objects.get() == tournament
    environment.is_active = False
    with pytest.raises(Refused, match=r"Tic-tac-toe is inactive; make it active first\."):
        start_now(environment)


# --- Running and ending -----------------------------------------------------------------------------------


def test_the_table_is_live_while_the_edition_runs(environment: Environment) -> None:
    one, two, three = players(environment, 3)
    advance(environment, now=LATER)
    play(Duel.objects.get(player_1=two, player_2=three), Outcome.DRAW)
    advance(environment, now=LATER)
    tournament = edition(environment)
    assert tournament.state == TournamentState.RUNNING
    assert table(tournament) == [(two.pk, 1, 1), (three.pk, 1, 1), (one.pk, 3, 0)]


def test_an_edition_ends_with_its_last_duel(environment: Environment) -> None:
    tournament, (one, two, three) = finished_edition(environment)

    assert tournament.state == TournamentState.FINISHED
    assert tournament.ended_at is not None
    assert table(tournament) == [(one.pk, 1, 4), (two.pk, 2, 2), (three.pk, 3, 0)]
    ratings = dict(Rating.objects.values_list("submission", "value"))
    assert ratings[one.pk] > ratings[two.pk] > ratings[three.pk]
    assert dict(tournament.participants.values_list("submission", "rating")) == ratings


def test_ratings_go_on_over_editions_and_participants_keep_those_of_their_day(environment: Environment) -> None:
    first, rows = finished_edition(environment)
    then = dict(first.participants.values_list("submission", "rating"))
    second = start_now(environment)
    play_all(second)
    advance(environment, now=LATER)

    assert set(Rating.objects.values_list("duel_count", flat=True)) == {4}
    assert dict(first.participants.values_list("submission", "rating")) == then
    now = dict(second.participants.values_list("submission", "rating"))
    assert now == dict(Rating.objects.values_list("submission", "value"))
    assert now[rows[0].pk] != then[rows[0].pk]


def test_a_duel_that_cannot_be_played_is_void_and_holds_nothing_up(environment: Environment) -> None:
    one, two, three = players(environment, 3)
    advance(environment, now=LATER)
    tournament = edition(environment)
    broken = Duel.objects.get(player_1=one, player_2=two)
    break_down(broken)
    play_all(tournament)
    advance(environment, now=LATER)

    broken.refresh_from_db()
    assert (broken.state, broken.fault, broken.is_void) == (JobState.FAILED, JobFault.PLATFORM, True)
    tournament.refresh_from_db()
    assert tournament.state == TournamentState.FINISHED
    assert table(tournament) == [(one.pk, 1, 2), (two.pk, 1, 2), (three.pk, 3, 0)]
    assert dict(Rating.objects.values_list("submission", "duel_count")) == {one.pk: 1, two.pk: 1, three.pk: 2}


def test_an_edition_of_void_duels_alone_ends_too(environment: Environment) -> None:
    players(environment, 2)
    advance(environment, now=LATER)
    break_down(Duel.objects.get())
    advance(environment, now=LATER)
    assert edition(environment).state == TournamentState.FINISHED
    assert [row[1:] for row in table(edition(environment))] == [(1, 0), (1, 0)]
    assert not Rating.objects.exists()


def test_advancing_again_changes_nothing(environment: Environment) -> None:
    finished_edition(environment)

    def rows() -> list[object]:
        return [list(model.objects.order_by("pk").values()) for model in (Tournament, Participant, Rating, Duel)]

    before = rows()
    for _ in range(3):
        advance(environment, now=LATER)
    assert rows() == before


def test_a_worker_that_dies_while_an_edition_ends_leaves_nothing_undone(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(**_: object) -> None:
        raise Killed

    players(environment, 2)
    advance(environment, now=LATER)
    play_all(edition(environment))
    with monkeypatch.context() as patch:
        patch.setattr(editions, "tournament_finish", die)
        with pytest.raises(Killed):
            advance(environment, now=LATER)
    advance(environment, now=LATER)

    tournament = edition(environment)
    assert tournament.state == TournamentState.FINISHED
    assert not tournament.participants.filter(rating=None).exists()


# --- Corrections ------------------------------------------------------------------------------------------


def test_striking_a_duel_corrects_an_old_edition_and_the_ratings(environment: Environment) -> None:
    first, (one, two, _) = finished_edition(environment)
    play_all(start_now(environment))
    advance(environment, now=LATER)
    rated = Rating.objects.get(submission=one).value
    duel_void(duel=first.duels.get(player_1=one, player_2=two), reason="The clock was wrong.", user=None)
    advance(environment, now=LATER)

    assert [row[1:] for row in table(first)] == [(1, 2), (1, 2), (3, 0)]
    rating = Rating.objects.get(submission=one)
    assert (rating.duel_count, rating.value < rated) == (3, True)


def test_striking_a_duel_of_an_old_edition_shows_while_another_runs(environment: Environment) -> None:
    first, (one, two, _) = finished_edition(environment)
    start_now(environment)
    duel_void(duel=first.duels.get(player_1=one, player_2=two), reason="The clock was wrong.", user=None)
    advance(environment, now=LATER)
    assert [row[1:] for row in table(first)] == [(1, 2), (1, 2), (3, 0)]


def test_striking_every_duel_leaves_no_ratings(environment: Environment) -> None:
    tournament, _ = finished_edition(environment, 2)
    duel_void(duel=tournament.duels.get(), reason="The clock was wrong.", user=None)
    advance(environment, now=LATER)
    assert not Rating.objects.exists()
    assert [row[1:] for row in table(tournament)] == [(1, 0), (1, 0)]


def test_what_a_cancelled_edition_played_counts_for_ratings(environment: Environment) -> None:
    players(environment, 3)
    advance(environment, now=LATER)
    tournament = edition(environment)
    play(tournament.duels.all()[0])
    tournament_cancel(tournament=tournament, reason="Wrong limits.")
    advance(environment, now=LATER)
    assert sum(row[2] for row in table(tournament)) == 2
    assert Rating.objects.count() == 2


def test_an_agent_that_is_hidden_and_shown_again_starts_no_edition(environment: Environment) -> None:
    first, rows = finished_edition(environment)
    for is_resting in (True, False):
        agent_rest(agent=rows[0].agent, is_resting=is_resting)
        advance(environment, now=LATER)
        assert edition(environment) == first
    factories.ready(rows[1].agent)
    advance(environment, now=LATER)
    assert edition(environment).edition == first.edition + 1


def test_of_one_owner_the_two_newest_agents_play_and_the_others_wait(environment: Environment) -> None:
    one, two, three = players(environment, 3)
    User.objects.update(is_quota_exempt=False)
    rival = factories.ready(factories.agent(factories.user("rival"), environment))
    advance(environment, now=LATER)
    assert participants_of(edition(environment)) == {two.pk, three.pk, rival.pk}
    # An upload of the third would start nothing while it waits.
    play_all(edition(environment))
    advance(environment, now=LATER)
    assert environment.tournaments.count() == 1
    agent_rest(agent=three.agent, is_resting=True)
    advance(environment, now=LATER)
    assert participants_of(edition(environment)) == {one.pk, two.pk, rival.pk}
