"""Leaderboards of the past, and what the page of an environment says of the fit behind its ratings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from core.evaluations.tests import boards
from core.models import Environment, Evaluation, RatingPoint, RatingPool, Submission
from core.moderation.services import agent_disable
from core.ratings.history import MOST_POINTS, HistoryPoint, rating_history
from core.tests import factories
from core.tests.factories import Cast
from tests.worlds import Fresh

pytestmark = pytest.mark.django_db
ADDRESS = "/environments/tic-tac-toe/"
API = "/api/v1/environments/tic-tac-toe/leaderboard/"
MAY = datetime(2026, 5, 3, 12, tzinfo=UTC)
JUNE = datetime(2026, 6, 3, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def fresh_cache() -> None:
    cache.clear()


@pytest.fixture(scope="module")
def shared_players(shared_cast: Cast, shared_environment: Environment) -> list[Submission]:
    owners = ((shared_cast.alice, "alpha"), (shared_cast.bob, "beta"))
    return [factories.ready(factories.agent(owner, shared_environment, name)) for owner, name in owners]


@pytest.fixture
def players(shared_players: list[Submission], fresh: Fresh) -> list[Submission]:
    return fresh(shared_players)


@pytest.fixture
def history(players: Sequence[Submission]) -> list[Submission]:
    """In May alpha was ahead, in June beta."""
    alpha, beta = players
    factories.rating_point(alpha, MAY, 1540)
    factories.rating_point(beta, MAY, 1460, rank=2)
    factories.rating_point(alpha, JUNE, 1471, rank=2)
    factories.rating_point(beta, JUNE, 1529)
    return [alpha, beta]


def html(client: Client, query: str, status: int = 200) -> str:
    response = client.get(f"{ADDRESS}{query}")
    assert response.status_code == status
    return response.content.decode()


def names(page: str) -> list[str]:
    return re.findall(r'class="name" id="row-\d+" href="[^"]*">([^<]*)<', page)


def test_a_leaderboard_is_shown_as_it_was_kept_by_a_date(client: Client, history: Sequence[Submission]) -> None:
    may = html(client, "?as_of=2026-05-31")
    assert names(may) == ["alpha", "beta"]
    assert "3 May 2026, 12:00 UTC" in may
    for figure in ("<strong>1540</strong>", "± 50", "1st to 2nd", ">1560<", 'value="2026-05-31"'):
        assert figure in may, figure
    assert (
        "hx-trigger" not in may[may.index('id="leaderboard"') : may.index("</section>", may.index('id="leaderboard"'))]
    )
    assert names(html(client, "?as_of=2026-06-03")) == ["beta", "alpha"]
    # To the second.
    assert names(html(client, "?as_of=2026-06-03T11:59:59Z")) == ["alpha", "beta"]
    assert names(html(client, "?as_of=2026-06-03T12:00")) == ["beta", "alpha"]


def test_who_was_barred_since_still_stands_in_leaderboards_of_then(
    client: Client, history: Sequence[Submission]
) -> None:
    agent_disable(agent=history[0].agent, reason="It copies another.")
    assert names(html(client, "?as_of=2026-05-31")) == ["alpha", "beta"]


def test_before_the_first_result_a_page_says_when_history_begins(client: Client, history: Sequence[Submission]) -> None:
    page = html(client, "?as_of=2026-05-01")
    assert not names(page)
    assert "No leaderboard was saved by" in page
    assert "The first one is from" in page
    RatingPoint.objects.all().delete()
    assert "No leaderboard has been saved since then." in html(client, "?as_of=2026-05-01")


@pytest.mark.parametrize("words", ["soon", "2026-02-30", "<script>", "9" * 60])
def test_a_date_that_cannot_be_read_is_told_at_its_field(
    client: Client, history: Sequence[Submission], words: str
) -> None:
    page = html(client, f"?as_of={words}", 400)
    assert not names(page)
    assert "The date below is not valid" in page
    assert '<p class="error" id="id_as_of_error">' in page
    assert "<script>" not in page


def test_editions_without_intervals_and_ranks_are_shown_as_they_were_kept(
    client: Client, players: Sequence[Submission]
) -> None:
    nothing: dict[str, Any] = dict.fromkeys(("low", "high", "rank", "best_rank", "worst_rank", "live"))
    factories.rating_point(players[0], MAY, 1480, **nothing)
    factories.rating_point(players[1], MAY, 1520, **nothing)
    page = html(client, "?as_of=2026-05-31")
    assert names(page) == ["beta", "alpha"]
    assert "±" not in page
    (row, _) = client.get(f"{API}?as_of=2026-05-31").json()["results"]
    assert (row["rank"], row["low"], row["value"], row["live"]) == (None, None, 1520, None)


def test_the_api_has_the_leaderboard_of_now_and_of_a_date(client: Client, history: Sequence[Submission]) -> None:
    alpha, beta = history
    factories.rating(alpha, 1490, rank=2, worst_rank=2)
    factories.rating(beta, 1510)
    factories.rating(factories.ready(beta.agent), 1600, rank=None, best_rank=None, worst_rank=None, best_chance=None)
    pool = factories.rating_pool(alpha.agent.environment)
    now = client.get(API).json()
    assert [(row["rank"], row["value"]) for row in now["results"]] == [(1, 1510), (2, 1490)]
    assert (now["count"], now["is_connected"]) == (2, True)
    assert now["first_seat"] == {"value": 10, "low": -10, "high": 30}
    assert datetime.fromisoformat(now["at"]) == pool.fitted_at

    then = client.get(f"{API}?as_of=2026-05-31&limit=1&offset=1").json()
    assert (then["count"], then["first_seat"], datetime.fromisoformat(then["at"])) == (2, None, MAY)
    (row,) = then["results"]
    assert (row["submission"]["agent"]["name"], row["rank"], row["value"]) == ("beta", 2, 1460)
    assert client.get(f"{API}?as_of=2020-01-01").json() == {**then, "at": None, "count": 0, "results": []}
    assert "Write a day" in client.get(f"{API}?as_of=soon").json()["as_of"][0]
    task = factories.task()
    refused = client.get(f"/api/v1/environments/{task.slug}/leaderboard/")
    assert (refused.status_code, "ranked by score" in refused.json()["detail"]) == (400, True)


def test_the_api_has_the_course_of_an_agents_rating(client: Client, history: Sequence[Submission]) -> None:
    agent = history[0].agent_id
    points = client.get(f"/api/v1/agents/{agent}/history/").json()["points"]
    assert [(point["at"], point["value"], point["rank"]) for point in points] == [
        ("2026-05-03T12:00:00Z", 1540, 1),
        ("2026-06-03T12:00:00Z", 1471, 2),
    ]
    assert client.get("/api/v1/agents/999999/history/").status_code == 404


def test_the_page_says_what_going_first_is_worth_and_when_groups_have_not_met(
    client: Client, players: Sequence[Submission]
) -> None:
    factories.tournament(players)
    page = html(client, "")
    assert "Going first is worth 10 Elo here (95% interval −10 to 30). The difference is not clear yet." in page
    assert "have not played each other" not in page
    RatingPool.objects.update(is_connected=False, first_seat_low=2)
    page = html(client, "")
    assert "Ratings allow for this advantage." in page
    assert "Some groups of rated agents have not played each other yet." in page
    assert "Going first" not in html(client, "?as_of=2020-01-01")


def test_the_reference_has_no_interval(client: Client, players: Sequence[Submission]) -> None:
    factories.tournament(players)
    factories.rating(players[0], 1000, low=1000, high=1000)
    page = html(client, "")
    row = page[page.index("<strong>1000</strong>") :][:200]
    assert "fixed" in row
    assert "±" not in row
    assert "the reference" in html(client, "agents/alpha/")
    rows = client.get("/api/v1/ratings/?environment=tic-tac-toe").json()["results"]
    assert {row["submission"]["agent"]["name"]: row["is_reference"] for row in rows} == {"alpha": True, "beta": False}


def test_a_board_of_scores_is_shown_as_of_a_date_and_filtered_as_ever(client: Client, cast: Cast) -> None:
    task = factories.task()
    alpha = boards.evaluation(task, 300, owner=cast.alice, name="alpha", at=MAY, is_current=False).agent
    boards.evaluation(task, 200, owner=cast.bob, name="beta", at=MAY + timedelta(hours=1))
    # Its next version scored less in June, and stands there since.
    boards.evaluation(task, 100, owner=cast.alice, name="moved", at=JUNE)
    Evaluation.objects.filter(agent__name="moved").update(agent=alpha, submission=factories.submission(alpha))
    assert boards.shown(task) == ["beta", "alpha"]
    may = datetime(2026, 5, 31, tzinfo=UTC)
    assert boards.shown(task, as_of=may) == ["alpha", "beta"]
    assert boards.shown(task, as_of=may, user="bob") == ["beta"]
    assert boards.shown(task, as_of=MAY) == ["alpha"]
    assert boards.shown(task, as_of=MAY - timedelta(days=1)) == []
    address = f"/environments/{task.slug}/"
    page = client.get(f"{address}?as_of=2026-05-31&sort=date_asc").content.decode()
    assert "as of " in page
    assert 'value="2026-05-31"' in page
    assert "as_of=2026-05-31" in page[page.index('id="sort-date_desc"') :][:200]
    assert (
        "No agent that matches this filter was on the board"
        in client.get(f"{address}?as_of=2020-01-01").content.decode()
    )
    assert "Write a day" in client.get(f"{address}?as_of=soon").content.decode()
    api = f"/api/v1/environments/{task.slug}/board/"
    assert [row["agent"] for row in client.get(f"{api}?as_of=2026-05-31").json()["results"]] == ["alpha", "beta"]
    assert client.get(f"{api}?as_of=soon").status_code == 400


def test_a_history_goes_from_version_to_version(history: Sequence[Submission]) -> None:
    alpha, _ = history
    newer = factories.ready(alpha.agent)
    factories.ready(alpha.agent)
    factories.rating_point(newer, JUNE + timedelta(days=1), 1600)
    found = rating_history(alpha.agent)
    assert found.points[0] == HistoryPoint(MAY, 1, 1540, 1490, 1590, 1)
    assert [(point.number, point.value) for point in found.points] == [(1, 1540), (1, 1471), (2, 1600)]
    # The third version has not played yet.
    assert [(mark.number, mark.at) for mark in found.versions] == [(1, alpha.created_at), (2, newer.created_at)]


def test_a_long_history_keeps_its_ends_and_those_of_versions(players: Sequence[Submission]) -> None:
    alpha, _ = players
    newer = factories.ready(alpha.agent)
    count = 2 * MOST_POINTS + 1
    RatingPoint.objects.bulk_create(
        RatingPoint(
            environment=alpha.agent.environment,
            submission=alpha if number < 700 else newer,
            at=MAY + timedelta(hours=number),
            value=number,
        )
        for number in range(count)
    )
    found = [point.value for point in rating_history(alpha.agent).points]
    assert found == sorted(found)
    assert len(found) < MOST_POINTS
    assert {0, 699, 700, count - 1} <= set(found)
