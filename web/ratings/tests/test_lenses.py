"""Head to head, who beats whom, calibration and the rating's history as pages and as JSON."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains

from arena_kit.ranking.calibration import Bin, Calibration
from arena_kit.ranking.lenses import Beating
from arena_kit.ranking.nash import NashStanding
from core.models import Agent, Duel, Environment, Lens, Rating, RatingPoint
from core.ratings.lenses import lens_save
from core.ratings.pairs import OpponentTotal
from core.tests import factories
from core.tests.circles import Circle, circle
from core.tests.factories import NOON, Cast
from tests.worlds import Fresh
from web.ratings.lens_parts import Cell

pytestmark = pytest.mark.django_db
PAGE = "/environments/tic-tac-toe"
API = "/api/v1/environments/tic-tac-toe"


@pytest.fixture(scope="module")
def shared_rows(shared_cast: Cast, shared_environment: Environment) -> Circle:
    """Rated by hand: scissors, rock, paper, novice. A circle and predictions as the tournament manager keeps them."""
    found = circle(shared_cast, shared_environment)
    for rank, row in enumerate((found.scissors, found.rock, found.paper, found.novice), start=1):
        factories.rating(row, 1600 - 50 * rank, rank=rank, best_rank=1, worst_rank=4)
    keys = [found.rock.pk, found.scissors.pk, found.paper.pk]
    steps = [
        Beating(winner, loser, share=0.9, lower=0.72, matches=40)
        for winner, loser in zip(keys, (*keys[1:], keys[0]), strict=True)
    ]
    one_bin = Bin(0.6, 0.65, pairs=3, duels=12, matches=120, expected=0.6, happened=0.9, lower=0.35, upper=0.97)
    lens_save(
        environment=shared_environment,
        nash=[*(NashStanding(key, 1, 0.0, 1 / 3) for key in keys), NashStanding(found.novice.pk, 4, -412.4, 0.0)],
        cycles=[steps],
        cycle_count=1,
        pair_count=4,
        clear_count=4,
        calibration=Calibration(12, 120, brier=0.18, even=0.25, bins=(one_bin,)),
        fitted_at=factories.NOON,
        ledger_version=1,
    )
    return found


@pytest.fixture
def rows(shared_rows: Circle, fresh: Fresh) -> Circle:
    return fresh(shared_rows)


def cells(page: str) -> dict[tuple[str, str], str]:
    """Text of each cell of the matrix by the names of row and column, with its class."""
    body = page[page.index("<tbody>") :]
    names = re.findall(r'<th scope="col" title="([^" ]+)', page)
    found = {}
    for row in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL):
        (name,) = re.findall(r'title="([^" ]+)', row)
        for column, (kind, text) in zip(names, re.findall(r'<td(?: class="(\w+)")?>(.*?)</td>', row), strict=True):
            found[name, column] = f"{kind} " + " ".join(re.sub("<[^>]+>", " ", text).split())
    return found


def test_a_matrix_says_share_and_matches_and_leads_to_the_last_duel(client: Client, rows: Circle) -> None:
    answer = client.get(f"{PAGE}/head-to-head/")
    found = cells(answer.content.decode())
    assert found["rock", "scissors"] == "s8 90 % of 40 matches"
    assert found["scissors", "rock"] == "s0 10 % of 40 matches"
    assert found["paper", "novice"] == " not met"
    assert found["paper", "paper"] == "self itself"
    assertContains(answer, f'<a href="/duels/{Duel.objects.get(number=4).pk}/">', count=2)


@pytest.mark.parametrize(
    ("wins", "draws", "losses", "step", "percent"),
    [
        (0, 0, 9, 0, 0), (1, 0, 999, 0, 1), (4, 0, 5, 4, 44), (0, 4, 0, 4, 50), (5, 0, 4, 5, 56), (999, 0, 1, 8, 99),
        (9, 0, 0, 8, 100),
    ],
)  # fmt: skip
def test_shades_follow_the_share_of_points(wins: int, draws: int, losses: int, step: int, percent: int) -> None:
    cell = Cell(OpponentTotal(1, 2, wins, draws, losses, 1, 1), is_self=False)
    assert (cell.step, cell.percent) == (step, percent)


def test_rows_cost_no_queries_of_their_own(
    client: Client, rows: Circle, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    # Three queries are of the head that all pages of an environment share, one of the gate of courses.
    for address, most in (("head-to-head", 8), ("lens", 7), ("calibration", 6)):
        for room in (PAGE, API):
            with django_assert_max_num_queries(most):
                assert client.get(f"{room}/{address}/").status_code == 200


def test_how_many_agents_stand_in_the_matrix_is_chosen(client: Client, rows: Circle) -> None:
    assertContains(client.get(f"{PAGE}/head-to-head/?top=10"), "Row against column")
    for word in ("11", "x", "-10", "9" * 30, "%00"):
        assertContains(client.get(f"{PAGE}/head-to-head/?top={word}"), "Row against column")


def test_a_circle_is_told_step_by_step_beside_a_second_ranking(client: Client, rows: Circle) -> None:
    page = client.get(f"{PAGE}/lens/")
    assertContains(page, "Three agents beat each other in a circle")
    assertContains(page, "90% of 40 matches, at least 72%", count=3)
    assertContains(page, "−412")
    assertContains(page, "33%", count=3)


def test_predictions_are_shown_with_the_table_behind_their_chart(client: Client, rows: Circle) -> None:
    page = client.get(f"{PAGE}/calibration/")
    assertContains(page, "0.180")
    assertContains(page, "0.250")
    assertContains(page, "<td>60% to 65%</td>")
    assertContains(page, "In 1 of 1 group the expected share lies within")
    (data,) = re.findall(
        r'<script id="data-reliability-plot" type="application/json">(.*?)</script>', page.content.decode()
    )
    plot = json.loads(data)
    assert (plot["xs"], plot["lines"][0]["values"], plot["spans"][0]["low"]) == ([0.6], [0.9], [0.35])


def test_before_anything_was_rated_pages_say_so(client: Client) -> None:
    slug = factories.environment("quarto").slug
    page, api = f"/environments/{slug}", f"/api/v1/environments/{slug}"
    assertContains(
        client.get(f"{page}/head-to-head/"),
        "The matrix needs at least two ranked agents. So far there are no ranked agents.",
    )
    assertContains(client.get(f"{page}/lens/"), "There are no ratings here yet.")
    calibration = client.get(f"{page}/calibration/")
    assertContains(calibration, "No duel with a prediction has been played here yet.")
    assertNotContains(calibration, "uPlot")
    assert client.get(f"{api}/lens/").json()["computed_at"] is None
    assert client.get(f"{api}/calibration/").json()["brier"] is None


def test_environments_without_two_players_have_no_such_pages(client: Client) -> None:
    task = factories.task()
    assertNotContains(client.get(f"/environments/{task.slug}/"), "Head to head")
    for name in ("head-to-head", "lens", "calibration"):
        assert client.get(f"/environments/{task.slug}/{name}/").status_code == 404
        assert client.get(f"/api/v1/environments/{task.slug}/{name}/").status_code == 400


def test_names_of_others_stay_names(client: Client, rows: Circle) -> None:
    Agent.objects.filter(name="rock").update(name="<img src=x>\"'")
    for name in ("head-to-head", "lens"):
        page = client.get(f"{PAGE}/{name}/")
        assertNotContains(page, "<img src=x>")
        assertContains(page, "&lt;img src=x&gt;")


def test_programs_are_told_the_same(client: Client, rows: Circle) -> None:
    matrix = client.get(f"{API}/head-to-head/?top=10").json()
    assert [row["submission"]["agent"]["name"] for row in matrix["ratings"]] == ["scissors", "rock", "paper", "novice"]
    assert matrix["cells"][0][1] == {
        "wins": 4, "draws": 0, "losses": 36, "matches": 40, "share": 0.1, "duel_count": 4,
        "latest_duel": Duel.objects.get(number=12).pk - 1,
    } | {"latest_duel": matrix["cells"][1][0]["latest_duel"]}  # fmt: skip
    assert matrix["cells"][2][3] is None
    assert client.get(f"{API}/head-to-head/?top=11").status_code == 400
    lens = client.get(f"{API}/lens/").json()
    assert [row["rank"] for row in lens["nash"]] == [1, 1, 1, 4]
    assert lens["cycles"][0][0]["winner"]["submission"]["agent"]["name"] == "rock"
    assert client.get(f"{API}/calibration/").json()["bins"][0]["happened"] == 0.9


def test_a_rating_that_is_gone_takes_its_steps_along(client: Client, rows: Circle) -> None:
    Rating.objects.filter(submission=rows.rock).delete()
    assertContains(client.get(f"{PAGE}/lens/"), "There are no circles.")
    Lens.objects.update(cycle_count=0, clear_count=0)
    assertContains(client.get(f"{PAGE}/lens/"), "No circle is certain yet")


def test_an_agent_shows_how_its_rating_went(client: Client, rows: Circle) -> None:
    agent, address = rows.rock.agent, f"{PAGE}/agents/rock/"
    again = factories.ready(agent)
    assertNotContains(client.get(address), "Rating over time")
    for days, row, value in ((0, rows.rock, 1500.0), (1, rows.rock, 1520.0), (2, again, 1580.0)):
        RatingPoint.objects.create(
            environment=agent.environment, submission=row, at=NOON + timedelta(days=days), value=value,
            low=value - 40 if days else None, high=value + 40 if days else None,
        )  # fmt: skip
    page = client.get(address)
    assertContains(page, "Rating over time, in 3 points: 1500 at first, 1580 at last, between 1500 and 1580.")
    assertContains(page, '<td class="num">1540 to 1620</td>')
    (data,) = re.findall(
        r'<script id="data-history-plot" type="application/json">(.*?)</script>', page.content.decode()
    )
    plot = json.loads(data)
    assert plot["spans"][0]["low"] == [None, 1480.0, 1540.0]
    assert [mark["label"] for mark in plot["marks"]] == ["v1", "v2"]
