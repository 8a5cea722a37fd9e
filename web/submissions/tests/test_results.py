"""The results on the page of an agent: its last matches, its record, and what is withheld from whom."""

from __future__ import annotations

import pytest
from django.test import Client

from core.editions.fits import ratings_refresh
from core.models import Audience, Environment, JobState, Participant, Submission, Tournament
from core.submissions.last_duels import MOST
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.submissions.last_part import SQUARES, squares
from web.tests import played

pytestmark = pytest.mark.django_db
PAGE = "/environments/tic-tac-toe/agents/anna/"


@pytest.fixture
def anna(cast: Cast, environment: Environment) -> Submission:
    return played.ready(factories.agent(cast.alice, environment, "anna"))


@pytest.fixture
def berta(cast: Cast, environment: Environment) -> Submission:
    return played.ready(factories.agent(cast.bob, environment, "berta"))


def text(client: Client, address: str) -> str:
    return " ".join(client.get(address).content.decode().split())


def groups(client: Client) -> list[tuple[str, list[tuple[str, str, int, int]]]]:
    """The last matches as the page has them: by tournament, opponent, outcome, won and lost."""
    return [
        (
            "" if group.tournament is None else group.tournament.title,
            [(str(line.row.opponent), line.row.outcome, line.row.won, line.row.lost) for line in group.lines],
        )
        for group in client.get(PAGE).context["last"]
    ]


def test_last_matches_are_seen_from_the_agent_newest_first_with_a_way_to_those_it_lost(
    anna: Submission, berta: Submission, environment: Environment, client: Client
) -> None:
    edition = played.edition([anna, berta], environment)
    played.play(played.waiting_duel(edition, anna, berta, 4), faults_of_1={1, 2, 3})
    last = played.play(played.waiting_duel(edition, berta, anna, 4), faults_of_1={1, 2, 3, 4})
    factories.challenged(anna, berta)
    rating = factories.rating(berta, 1612)
    [(none, [asked]), (title, [second, first])] = groups(client)
    assert (none, asked) == ("", ("berta v1", "Won", 8, 1))
    assert title == "Edition 1"
    assert second == ("berta v1", "Won", 4, 0)
    assert first[0] == "berta v1"
    assert first[3] >= 3
    page = text(client, PAGE)
    assert f'href="/duels/{last.pk}/">Won 4 : 0' in page
    assert "?result=player_1_error#matches" in page or "?result=player_2#matches" in page
    assert (
        f'href="/environments/tic-tac-toe/agents/berta/">berta</a> <span class="muted">v1 · {rating.value:.0f}' in page
    )


def test_the_rating_at_the_end_of_an_edition_stands_with_its_change(
    anna: Submission, berta: Submission, client: Client
) -> None:
    for edition, rating in ((1, 1400.0), (2, 1393.4)):
        made = factories.tournament([anna, berta], edition=edition)
        Participant.objects.filter(tournament=made, submission=anna).update(rating=rating)
    page = text(client, PAGE)
    assert 'rating 1393 <span class="change">(−7)</span>' in page
    assert "rating 1400</span>" in page


def test_a_duel_that_is_played_shows_how_far_it_is_and_older_ones_fall_out(
    anna: Submission, berta: Submission, environment: Environment, client: Client
) -> None:
    edition = played.edition([anna, berta], environment)
    for number in range(1, MOST + 2):
        factories.duel(edition, anna, berta, number=number, state=JobState.SUCCEEDED)
    running = factories.duel(edition, anna, berta, number=MOST + 2, state=JobState.RUNNING)
    [(_, lines)] = groups(client)
    assert len(lines) == MOST
    assert lines[0] == ("berta v1", "", 0, 0)
    assert f'href="/duels/{running.pk}/">Playing, 0 of 10' in text(client, PAGE)


def test_results_that_are_withheld_are_not_among_the_last_matches(
    anna: Submission, berta: Submission, environment: Environment, cast: Cast, visit: As
) -> None:
    edition = factories.tournament([anna, berta])
    Tournament.objects.filter(pk=edition.pk).update(results=Audience.PARTICIPANTS)
    for person, sees in ((None, False), (cast.charlie, False), (cast.alice, True), (cast.olga, True)):
        assert bool(groups(visit(person))) is sees, person


def test_the_record_counts_by_seat_and_by_opponent(
    anna: Submission, berta: Submission, environment: Environment, client: Client
) -> None:
    edition = played.edition([anna, berta], environment)
    duel = played.play(played.waiting_duel(edition, anna, berta, 10), faults_of_2=set(range(1, 11)))
    assert duel.player_2_errors == 10
    ratings_refresh(environment)
    record = client.get(PAGE).context["record"]
    assert [(row.wins, row.draws, row.losses) for row in record.seats] == [(5, 0, 0), (5, 0, 0)]
    assert [(str(row.agent), row.wins, row.matches, row.share) for row in record.opponents] == [("berta", 10, 10, 1.0)]
    assert "id=anna&amp;id=berta" in text(client, PAGE)


@pytest.mark.parametrize(
    ("result", "counts"),
    [((0, 0, 0), (0, 0, 0)), ((3, 1, 2), (3, 1, 2)), ((10, 0, 10), (10, 0, 10)), ((99, 0, 1), (19, 0, 1)),
     ((50, 1, 49), (10, 1, 9)), ((1, 1, 998), (1, 1, 18)), ((40, 30, 30), (8, 6, 6))],
)  # fmt: skip
def test_squares_show_every_kind_of_result_in_proportion(
    result: tuple[int, int, int], counts: tuple[int, int, int]
) -> None:
    found = squares(*result)
    assert tuple(found.count(kind) for kind in ("won", "drawn", "lost")) == counts
    assert len(found) == min(SQUARES, sum(result))


def test_pages_of_duels_and_matches_lead_to_the_agents_with_their_ratings(
    anna: Submission, berta: Submission, environment: Environment, client: Client
) -> None:
    edition = played.edition([anna, berta], environment)
    duel = played.play(played.waiting_duel(edition, anna, berta, 2))
    factories.rating(anna, 1534)
    named = (
        '<a class="player-name" href="/environments/tic-tac-toe/agents/anna/">anna</a> <span class="muted">v1 · 1534'
    )
    for address in (f"/duels/{duel.pk}/", f"/duels/{duel.pk}/matches/1/"):
        assert named in text(client, address), address
