"""Duels are fair between environments and owners: a large edition holds up nothing else by more than one duel."""

from __future__ import annotations

import random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core.duels.services import duel_new, duels_enqueue
from core.jobs import turns
from core.jobs.claims import claim_next
from core.jobs.lifecycle import job_claim, job_enqueue, job_give_back, job_succeed
from core.jobs.lines import line, places_of
from core.jobs.turns import TURNS_PER_PRIORITY, priority_write
from core.models import Challenge, ChallengeKind, Duel, Environment, JobState, Promotion, Submission, Tournament
from core.tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
DUELS = 200


@pytest.fixture
def game() -> Environment:
    return factories.environment()


@pytest.fixture
def other_game() -> Environment:
    return factories.environment("connect-four")


def player(name: str, environment: Environment) -> Submission:
    return factories.ready(factories.agent(factories.user(name), environment))


def edition(players: tuple[Submission, Submission], count: int, *, number: int = 1) -> Tournament:
    """A running edition, or ladder, of which this many duels wait."""
    tournament = Tournament.objects.create(environment=players[0].agent.environment, edition=number)
    draw(tournament, players, count)
    return tournament


def draw(tournament: Tournament, players: tuple[Submission, Submission], count: int) -> None:
    drawn = tournament.duels.count()
    duels_enqueue(duels=[
            Duel(
                tournament=tournament, number=number, round=1, player_1=players[0], player_2=players[1],
                environment_version=tournament.environment.spec_id, seed=number, match_count=10,
            )
            for number in range(drawn + 1, drawn + 1 + count)
        ],
    )  # fmt: skip


def serve() -> Duel:
    """Claim the next duel as a worker does, and finish it."""
    claim = claim_next("duel", worker="worker")
    assert claim is not None
    assert isinstance(claim.job, Duel)
    job_succeed(job=claim.job, outcome="DRAW", matches_done=0)
    return claim.job


@pytest.fixture
def large(game: Environment) -> Tournament:
    """An edition of which ten duels have been played, and many wait."""
    tournament = edition((player("ann", game), player("bob", game)), DUELS)
    for _ in range(10):
        serve()
    return tournament


def promotion(candidate: Submission) -> Duel:
    """The duel of a new version against the one before it."""
    incumbent = factories.ready(candidate.agent)
    row = Promotion.objects.create(candidate=candidate, incumbent=incumbent, test={})
    duel = duel_new(promotion=row, number=1, player_1=candidate, player_2=incumbent, seed=1, match_count=10)
    duels_enqueue(duels=[duel])
    return duel


def challenge(asking: Submission, rival: Submission, count: int = 1) -> list[Duel]:
    """Duels that an owner has asked for."""
    row = Challenge.objects.create(user=asking.agent.owner, submission=asking, kind=ChallengeKind.AGENT)
    duels = [
        duel_new(challenge=row, number=number, player_1=asking, player_2=rival, seed=number, match_count=10)
        for number in range(1, count + 1)
    ]
    duels_enqueue(duels=duels)
    return duels


@pytest.mark.nightly
def test_an_edition_of_5000_duels_delays_another_games_ladder_by_one_duel_each(
    large: Tournament, other_game: Environment
) -> None:
    first = large.duels.all()[0]
    draw(large, (first.player_1, first.player_2), 5000 - DUELS)
    ladder = edition((player("cleo", other_game), player("dan", other_game)), 5)
    assert list(places_of(Duel, [duel.pk for duel in ladder.duels.order_by("number")]).values()) == [1, 3, 5, 7, 9]
    order = [serve().tournament_id for _ in range(10)]
    assert order == [ladder.pk, large.pk] * 5
    # One round after the other, as a ladder draws them: it was served a moment ago.
    for _ in range(3):
        draw(ladder, (ladder.duels.all()[0].player_1, ladder.duels.all()[0].player_2), 1)
        assert ladder.pk in {serve().tournament_id for _ in range(2)}


def test_a_large_edition_delays_a_promotion_and_a_challenge_of_its_own_game_by_one_duel(
    large: Tournament, game: Environment
) -> None:
    tested = promotion(player("cleo", game))
    (asked,) = challenge(player("dan", game), tested.player_1)
    assert places_of(Duel, [tested.pk, asked.pk]) == {tested.pk: 1, asked.pk: 2}
    assert [serve() for _ in range(2)] == [tested, asked]


def test_owners_who_ask_for_much_wait_behind_those_who_ask_for_little(game: Environment) -> None:
    greedy, modest = player("greedy", game), player("modest", game)
    many = challenge(greedy, modest, 10)
    (one,) = challenge(modest, greedy)
    assert [serve() for _ in range(3)] == [many[0], one, many[1]]


def test_within_a_turn_games_go_in_rounds(game: Environment, other_game: Environment) -> None:
    rival = player("rival", game)
    crowd = [challenge(player(f"c{number}", game), rival)[0] for number in range(5)]
    (late,) = challenge(player("late", other_game), player("rival-2", other_game))
    assert [serve() for _ in range(3)] == [crowd[0], late, crowd[1]]


def test_a_duel_that_waits_again_goes_first_and_keeps_its_flows_turn(large: Tournament) -> None:
    again = line(Duel)[0]
    claimed = job_claim(kind=Duel, job_id=again.pk, worker="worker")
    assert claimed is not None
    job_give_back(job=claimed, code="engine_down", error="No engine.", is_delayed=False)
    Duel.objects.update(not_before=None)
    assert places_of(Duel, [again.pk]) == {again.pk: 1}
    draw(large, (again.player_1, again.player_2), 1)
    assert large.duels.latest("number").turn == DUELS + 1


def test_promotions_do_not_wait_behind_the_challenges_of_the_same_owner(game: Environment) -> None:
    cleo = player("cleo", game)
    asked = challenge(cleo, player("dan", game), 10)
    tested = promotion(cleo)
    assert [serve() for _ in range(3)] == [asked[0], tested, asked[1]]


class TestPriority:
    """From -10 to 10, for organisers."""

    def test_a_duel_that_was_moved_forward_does_not_put_newcomers_behind_those_it_overtook(
        self, large: Tournament, other_game: Environment
    ) -> None:
        last = large.duels.get(number=DUELS)
        priority_write(rows=Duel.objects.filter(pk=last.pk), priority=10)
        assert serve() == last
        (asked,) = challenge(player("cleo", other_game), player("dan", other_game))
        assert places_of(Duel, [asked.pk])[asked.pk] <= 2
        assert asked in [serve(), serve()]

    def test_a_step_is_worth_a_number_of_turns(self, large: Tournament) -> None:
        urgent, late = large.duels.get(number=60), large.duels.get(number=12)
        assert priority_write(rows=Duel.objects.filter(pk=urgent.pk), priority=1) == 1
        assert priority_write(rows=Duel.objects.filter(pk=late.pk), priority=-1) == 1
        assert places_of(Duel, [urgent.pk, late.pk]) == {
            urgent.pk: 50 - TURNS_PER_PRIORITY,
            late.pk: 2 + TURNS_PER_PRIORITY,
        }
        # Taken back, they are where they were.
        priority_write(rows=Duel.objects.filter(pk__in=[urgent.pk, late.pk]), priority=0)
        assert places_of(Duel, [urgent.pk, late.pk]) == {urgent.pk: 50, late.pk: 2}

    def test_the_lowest_priority_is_not_starved_by_those_who_come_again_and_again(
        self, game: Environment, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(turns, "TURNS_PER_PRIORITY", 2)
        rivals = [player(name, game) for name in ("ann", "bob", "cleo")]
        (low,) = challenge(rivals[0], rivals[1])
        priority_write(rows=Duel.objects.all(), priority=-10)
        served: list[Duel] = []
        while low not in served:
            assert len(served) < 30, "It is overtaken for ever."
            # The other one asks for another duel as soon as one is played.
            challenge(rivals[1], rivals[2])
            served.append(serve())
        assert len(served) > 10

    def test_what_has_begun_or_waits_again_is_left_alone(self, game: Environment) -> None:
        ann, bob = player("ann", game), player("bob", game)
        first, second = challenge(ann, bob, 2)
        claimed = job_claim(kind=Duel, job_id=first.pk, worker="worker")
        assert claimed is not None
        assert priority_write(rows=Duel.objects.filter(pk=first.pk), priority=-10) == 0
        job_give_back(job=claimed, code="engine_down", error="No engine.", is_delayed=False)
        Duel.objects.update(not_before=None)
        assert priority_write(rows=Duel.objects.all(), priority=-10) == 1
        assert [serve(), serve()] == [first, second]


def test_places_are_those_in_which_duels_are_taken_whatever_comes(game: Environment, other_game: Environment) -> None:
    chance = random.Random(7)
    players = {environment: [player(f"{environment.slug}{n}", environment) for n in range(4)]
               for environment in (game, other_game)}  # fmt: skip
    running = [edition((crowd[0], crowd[1]), 12) for crowd in players.values()]
    for _ in range(40):
        match chance.randrange(5):
            case 0:
                tournament = chance.choice(running)
                draw(tournament, tuple(players[tournament.environment][:2]), chance.randint(1, 4))  # type: ignore[arg-type]
            case 1:
                crowd = chance.choice(list(players.values()))
                one, other = chance.sample(crowd, 2)
                challenge(one, other, chance.randint(1, 3))
            case 2:
                waiting = Duel.objects.filter(state=JobState.QUEUED).order_by("?")[:1].values_list("pk", flat=True)
                priority_write(rows=Duel.objects.filter(pk__in=list(waiting)), priority=chance.randint(-10, 10))
            case _:
                order = list(line(Duel).values_list("pk", flat=True))
                assert places_of(Duel, order) == {number: place for place, number in enumerate(order, start=1)}
                if order:
                    assert serve().pk == order[0]


def test_a_single_duel_is_put_in_line_as_many_are(large: Tournament) -> None:
    first = large.duels.earliest("number")
    again = Duel.objects.create(
        tournament=large, number=DUELS + 1, round=1, player_1=first.player_1, player_2=first.player_2,
        environment_version=first.environment_version, seed=1, match_count=10,
    )  # fmt: skip
    job_enqueue(job=again)
    assert (again.flow, again.turn) == (first.flow, DUELS + 1)


def test_thousands_of_duels_of_a_challenge_are_put_in_line_with_a_few_statements(
    game: Environment,
) -> None:
    asking, rival = player("ann", game), player("bob", game)
    with CaptureQueriesContext(connection) as asked:
        challenge(asking, rival, count=5000)
    # SQLite takes few rows in one INSERT.
    assert len([query for query in asked if not query["sql"].startswith("INSERT")]) <= 20
    turns = list(Duel.objects.order_by("number").values_list("turn", flat=True))
    assert turns == list(range(1, 5001))
