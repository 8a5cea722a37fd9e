"""What people and programs are told of tournaments, ladders and ratings."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.models import (
    LADDER,
    Audience,
    Delivery,
    Environment,
    Notice,
    Rating,
    RatingPool,
    Registration,
    Submission,
    Tournament,
    TournamentState,
    User,
    Webhook,
)
from core.ratings.services import moment_notify, ratings_note
from core.tests import factories
from core.tests.factories import NOON, Cast
from core.tournaments.notices import tournament_started
from core.tournaments.planning import results_release, tournament_relabel
from core.tournaments.services import tournament_cancel, tournament_finish

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return factories.cast()


@pytest.fixture
def game() -> Environment:
    return factories.environment()


def titles(person: User) -> list[str]:
    return list(Notice.objects.filter(user=person).order_by("pk").values_list("title", flat=True))


def rated(submissions: list[Submission], ratings: list[float], *, edition: int, is_running: bool = False) -> Tournament:
    """An edition at whose end these ratings were kept."""
    state = TournamentState.RUNNING if is_running else TournamentState.FINISHED
    row = factories.tournament(submissions, edition=edition, state=state)
    for submission, value in zip(submissions, ratings, strict=True):
        kept = {"rating": value, "rating_low": value - 30, "rating_high": value + 30}
        row.participants.filter(submission=submission).update(**kept)
    return row


def test_who_is_overtaken_hears_it_once_a_day_and_webhooks_hear_of_a_new_leader(cast: Cast, game: Environment) -> None:
    Webhook.objects.create(name="chat", secret_url="https://hooks.example/", secret="s", kinds=["LEADER_CHANGED"])
    owners = (("anna", cast.alice), ("berta", cast.bob), ("alma", cast.alice))
    players = [factories.ready(factories.agent(owner, game, name)) for name, owner in owners]
    rated(players, [1600, 1500, 1400], edition=1)
    # Berta comes before anna; alma comes before anna, too, but is of the same owner.
    tournament_finish(tournament=rated(players, [1500, 1600, 1550], edition=2, is_running=True))

    told = Notice.objects.filter(kind="OVERTAKEN")
    (row,) = told
    assert (row.user, row.title) == (cast.alice, "anna is overtaken by berta")
    assert "has a rating of 1500 (1470 to 1530) now, and has been overtaken by berta of bob" in row.text
    assert "luck" not in row.text
    assert "berta leads Tic-tac-toe" in Delivery.objects.get().body

    tournament_finish(tournament=rated(players, [1600, 1500, 1400], edition=3, is_running=True))
    assert titles(cast.bob)[-1] == "berta is overtaken by anna"
    tournament_finish(tournament=rated(players, [1500, 1510, 1550], edition=4, is_running=True))
    assert told.filter(user=cast.alice).count() == 1


@pytest.mark.parametrize(
    ("results", "mine", "everybodys"),
    [("PUBLIC", "anna came 1st of 2", "1. anna v1 (alice)"), ("PARTICIPANTS", "anna came 1st of 2", "not released"),
     ("HIDDEN", "Tic-tac-toe: Cup is over", "not released")],
)  # fmt: skip
def test_results_that_are_held_back_are_told_only_to_people_who_may_see_them(
    cast: Cast, game: Environment, results: str, mine: str, everybodys: str
) -> None:
    Webhook.objects.create(name="chat", secret_url="https://hooks.example/", secret="s", kinds=["TOURNAMENT_ENDED"])
    players = [factories.ready(factories.agent(cast.alice, game, "anna")),
               factories.ready(factories.agent(cast.bob, game, "berta"))]  # fmt: skip
    cup = factories.tournament(players, state=TournamentState.RUNNING)
    Tournament.objects.filter(pk=cup.pk).update(is_automatic=False, name="Cup", results=results)
    cup.refresh_from_db()
    cup.participants.filter(submission=players[1]).update(rank=2)
    assert tournament_finish(tournament=cup)

    notice, delivery = Notice.objects.get(user=cast.alice), Delivery.objects.get()
    assert mine in notice.title
    assert everybodys in delivery.body
    if results != "PUBLIC":
        assert "anna" not in delivery.body
    if results == "HIDDEN":
        assert "1st" not in notice.title + notice.text


def test_ranks_that_were_held_back_are_told_once_and_to_programs_with_the_table(cast: Cast, game: Environment) -> None:
    Webhook.objects.create(name="chat", secret_url="https://hooks.example/", secret="s", kinds=["TOURNAMENT_ENDED"])
    players = [factories.ready(factories.agent(cast.alice, game, "anna")),
               factories.ready(factories.agent(cast.bob, game, "berta"))]  # fmt: skip
    cups = [factories.tournament(players, edition=edition, state=TournamentState.FINISHED) for edition in (1, 2)]
    Tournament.objects.update(is_automatic=False, name="Cup", results=Audience.HIDDEN)
    tournament_relabel(tournament=cups[0], name="Cup", season=None, results=Audience.PARTICIPANTS)
    assert titles(cast.alice) == ["anna came 1st of 2 in Tic-tac-toe: Cup"]
    assert not Delivery.objects.exists()

    # Withheld again and released: people are told only of ranks that differ from what they were last told.
    for rank, results in ((1, Audience.PARTICIPANTS), (2, Audience.PUBLIC)):
        tournament_relabel(tournament=cups[0], name="Spring Cup", season=None, results=Audience.HIDDEN)
        cups[0].participants.filter(submission=players[1]).update(rank=rank)
        tournament_relabel(tournament=cups[0], name="Spring Cup", season=None, results=results)
    assert len(titles(cast.alice)) == 1
    spring = "of 2 in Tic-tac-toe: Spring Cup"
    assert titles(cast.bob)[1:] == [f"berta came 1st {spring}", f"berta came 2nd {spring}"]
    assert "Tic-tac-toe: Spring Cup is over" in Delivery.objects.get().body
    # Public at once: then people are told as well.
    results_release(tournament=cups[1])
    assert (len(titles(cast.alice)), Delivery.objects.count()) == (2, 2)


def test_results_of_long_ago_that_are_released_are_no_news_of_ratings(cast: Cast, game: Environment) -> None:
    Webhook.objects.create(name="chat", secret_url="https://hooks.example/", secret="s", kinds=["LEADER_CHANGED"])
    players = [factories.ready(factories.agent(cast.alice, game, "anna")),
               factories.ready(factories.agent(cast.bob, game, "berta"))]  # fmt: skip
    rated(players, [1600, 1500], edition=1)
    old = rated(players, [1600, 1500], edition=2)
    Tournament.objects.filter(pk=old.pk).update(results=Audience.HIDDEN)
    rated(players, [1500, 1600], edition=3)
    results_release(tournament=old)
    assert not Notice.objects.exists()
    assert not Delivery.objects.exists()


def test_a_new_leader_is_announced_though_a_cup_ended_between_two_editions(cast: Cast, game: Environment) -> None:
    Webhook.objects.create(name="chat", secret_url="https://hooks.example/", secret="s", kinds=["LEADER_CHANGED"])
    players = [factories.ready(factories.agent(cast.alice, game, "anna")),
               factories.ready(factories.agent(cast.bob, game, "berta"))]  # fmt: skip
    rated(players, [1600, 1500], edition=1)
    cup = rated(players, [1500, 1600], edition=2, is_running=True)
    Tournament.objects.filter(pk=cup.pk).update(is_automatic=False, name="Cup")
    cup.refresh_from_db()
    tournament_finish(tournament=cup)
    assert not Delivery.objects.exists()
    tournament_finish(tournament=rated(players, [1500, 1610], edition=3, is_running=True))
    assert "berta leads Tic-tac-toe" in Delivery.objects.get().body
    assert Notice.objects.filter(kind="OVERTAKEN").count() == 1


def test_while_a_ladder_runs_overtaking_and_its_leader_are_told_and_its_end_of_those_in_it(
    cast: Cast, game: Environment
) -> None:
    Webhook.objects.create(name="chat", secret_url="https://hooks.example/", secret="s", kinds=["LEADER_CHANGED"])
    old, anna = (factories.ready(agent) for agent in [factories.agent(cast.alice, game, "anna")] * 2)
    berta = factories.ready(factories.agent(cast.bob, game, "berta"))
    ladder = factories.tournament([old, anna, berta], state=TournamentState.RUNNING)
    Tournament.objects.filter(pk=ladder.pk).update(format=LADDER)
    ladder.refresh_from_db()
    ladder.participants.filter(submission=old).update(withdrawn_at=NOON, rank=3)
    Rating.objects.filter(submission=old).update(rank=None, best_rank=None, worst_rank=None, best_chance=None)

    def hour(number: int, **values: float) -> None:
        for row, value in ((anna, values["anna"]), (berta, values["berta"])):
            Rating.objects.filter(submission=row).update(value=value, low=value - 30, high=value + 30)
        at = NOON + timedelta(hours=number)
        RatingPool.objects.update(fitted_at=at)
        assert ratings_note(environment=game, at=at) == 2
        assert moment_notify(environment=game)
        assert not moment_notify(environment=game), "nothing is told twice"

    hour(0, anna=1600, berta=1500)
    hour(1, anna=1590, berta=1500)
    assert not Notice.objects.exists()
    hour(2, anna=1500, berta=1600)
    assert titles(cast.alice) == ["anna is overtaken by berta"]
    assert "1500 (1470 to 1530) now" in Notice.objects.get().text
    # Webhooks hear of the leader once a day, but not of a leader in between who no longer leads.
    hour(3, anna=1600, berta=1500)
    hour(11, anna=1500, berta=1600)
    assert not Delivery.objects.exists()
    hour(14, anna=1570, berta=1610)
    (told,) = Delivery.objects.all()
    assert "berta of bob has a rating of 1610 (1580 to 1640) and comes before anna. The intervals overlap" in told.body
    hour(15, anna=1700, berta=1610)
    hour(39, anna=1500, berta=1610)
    assert Delivery.objects.count() == 1

    tournament_finish(tournament=ladder)
    ended = Notice.objects.get(user=cast.alice, kind="TOURNAMENT_ENDED")
    assert ended.text == "anna v2 is 2nd of 2, with a rating of 1500."


def test_after_an_edition_those_hear_whose_rank_on_the_leaderboard_is_another(cast: Cast, game: Environment) -> None:
    players = [factories.ready(factories.agent(cast.alice, game, "anna")),
               factories.ready(factories.agent(cast.bob, game, "berta"))]  # fmt: skip

    def edition(number: int, *ranks: int) -> None:
        row = factories.tournament(players, edition=number, state=TournamentState.RUNNING)
        for player, rank in zip(players, ranks, strict=True):
            Rating.objects.filter(submission=player).update(rank=rank, worst_rank=2)
            factories.rating_point(player, NOON + timedelta(hours=number), rank=rank, worst_rank=2)
        tournament_finish(tournament=row)

    edition(1, 1, 2)
    assert (titles(cast.alice), titles(cast.bob)) == (
        ["anna is 1st of 2 in Tic-tac-toe"],
        ["berta is 2nd of 2 in Tic-tac-toe"],
    )
    # The places in an edition are no news.
    edition(2, 1, 2)
    assert Notice.objects.count() == 2
    edition(3, 2, 1)
    # The newest notice of an environment takes the place of the one before.
    assert titles(cast.alice) == ["anna is 2nd of 2 in Tic-tac-toe"]
    assert Notice.objects.latest("pk").text.startswith("berta v1 is 1st of 2, with a rating of 1")


def test_who_was_in_a_planned_tournament_or_registered_hears_how_it_begins_or_is_called_off(
    cast: Cast, game: Environment
) -> None:
    players = [factories.ready(factories.agent(owner, game)) for owner in (cast.alice, cast.alice, cast.bob)]
    cup = factories.tournament(players, state=TournamentState.RUNNING)
    tournament_started(cup)
    assert not Notice.objects.exists()
    Tournament.objects.filter(pk=cup.pk).update(is_automatic=False, name="Cup")
    cup.refresh_from_db()
    Registration.objects.create(tournament=cup, agent=factories.agent(cast.charlie, game, "idle"))

    tournament_started(cup)
    tournament_cancel(tournament=cup, reason="The clock was wrong.")

    assert titles(cast.alice) == ["Tic-tac-toe: Cup has begun", "Tic-tac-toe: Cup was cancelled"]
    assert titles(cast.charlie) == ["Tic-tac-toe: Cup has begun without idle", "Tic-tac-toe: Cup was cancelled"]
    assert Notice.objects.latest("pk").text == "The clock was wrong."
