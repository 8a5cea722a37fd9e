"""Leaderboards as files: what is in them, who gets them, and that no spreadsheet runs them."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.core.cache import cache
from django.test import Client
from rest_framework.throttling import SimpleRateThrottle

from core.models import Agent, Audience, Environment, RatingPoint, Submission, Tournament, User
from core.tests import factories
from core.tests.factories import NOON, Cast
from tests.worlds import Fresh
from web.conftest import As
from web.site.exports import csv_text
from web.tests import scored

pytestmark = pytest.mark.django_db
ADDRESS = "/environments/tic-tac-toe/leaderboard"


@pytest.fixture(scope="module")
def shared_edition(shared_cast: Cast, shared_environment: Environment) -> Tournament:
    owners = (shared_cast.alice, shared_cast.bob, shared_cast.charlie)
    return factories.tournament([factories.ready(factories.agent(owner, shared_environment)) for owner in owners])


@pytest.fixture
def edition(shared_edition: Tournament, fresh: Fresh) -> Tournament:
    return fresh(shared_edition)


def records(client: Client, address: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(client.get(address).content.decode())))


def test_a_file_holds_the_rows_of_all_pages_with_what_was_asked_for(
    client: Client, edition: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.ratings.board.ROWS_A_PAGE", 1)
    rows = records(client, f"{ADDRESS}.csv")
    assert [(row["rank"], row["owner"], row["rating"]) for row in rows] == [
        ("1", "alice", "1520.0"), ("2", "bob", "1500.0"), ("3", "charlie", "1480.0"),
    ]  # fmt: skip
    assert [row["points"] for row in records(client, f"{ADDRESS}.csv?edition=1")] == ["4", "2", "0"]
    assert [row["owner"] for row in records(client, f"{ADDRESS}.csv?team=blue&sort=owner&page=2")] == ["alice", "bob"]
    found = client.get(f"{ADDRESS}.json?owner=bob").json()
    assert (found["environment"], found["count"]) == ("tic-tac-toe", 1)
    (row,) = found["results"]
    assert (row["owner"], row["rating"], row["best_rank"], row["change"]) == ("bob", 1500.0, 1, None)


def test_files_are_attachments_of_their_own_type(client: Client, edition: Tournament) -> None:
    for kind, content_type in (("csv", "text/csv; charset=utf-8"), ("json", "application/json")):
        answer = client.get(f"{ADDRESS}.{kind}")
        assert answer["Content-Type"] == content_type
        assert answer["X-Content-Type-Options"] == "nosniff"
        name = answer["Content-Disposition"]
        assert name.startswith('attachment; filename="tic-tac-toe-leaderboard-20')
        assert name.endswith(f'.{kind}"')
    assert client.get(f"{ADDRESS}.xlsx").status_code == 404


def test_an_earlier_edition_tells_ratings_as_they_stood_then(client: Client, edition: Tournament) -> None:
    factories.tournament([row.submission for row in edition.participants.all()], edition=2)
    edition.participants.update(rating=1234.0)
    assert {row["rating"] for row in records(client, f"{ADDRESS}.csv?edition=1")} == {"1234.0"}
    assert {row["match_count"] for row in records(client, f"{ADDRESS}.csv?edition=1")} == {""}
    assert "1234.0" not in {row["rating"] for row in records(client, f"{ADDRESS}.csv")}
    for wrong in ("3", "0", "x", "-1", "9" * 20, ""):
        assert client.get(f"{ADDRESS}.csv?edition={wrong}").status_code == 404


def test_a_leaderboard_of_the_past_is_kept_as_it_stood(client: Client, edition: Tournament) -> None:
    for row in edition.participants.all():
        RatingPoint.objects.create(
            environment=edition.environment, submission=row.submission, at=NOON, value=1400.0 + row.rank, rank=row.rank,
            best_rank=1, worst_rank=3,
        )  # fmt: skip
    found = client.get(f"{ADDRESS}.json?as_of=2026-03-02").json()
    assert (found["as_of"], found["count"]) == ("2026-03-01T12:00:00+00:00", 3)
    assert [(row["rank"], row["owner"], row["rating"]) for row in found["results"]] == [
        (1, "alice", 1401.0), (2, "bob", 1402.0), (3, "charlie", 1403.0),
    ]  # fmt: skip
    assert (
        "leaderboard.csv?as_of=2026-03-02" in client.get("/environments/tic-tac-toe/?as_of=2026-03-02").content.decode()
    )
    for wrong in ("2020-01-01", "soon"):
        assert client.get(f"{ADDRESS}.csv?as_of={wrong}").status_code == 404


def test_results_that_are_held_back_are_in_no_file(client: Client, visit: As, cast: Cast, edition: Tournament) -> None:
    Tournament.objects.update(results=Audience.HIDDEN)
    assert client.get(f"{ADDRESS}.csv?edition=1").status_code == 404
    assert visit(cast.alice).get(f"{ADDRESS}.csv?edition=1").status_code == 404
    assert visit(cast.olga).get(f"{ADDRESS}.csv?edition=1").status_code == 200


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n", "＝"])
def test_no_cell_is_a_formula(client: Client, edition: Tournament, begin: str) -> None:
    evil = f"{begin}cmd|'/c calc'!A1,\"x"
    User.objects.filter(username="bob").update(team=evil)
    Agent.objects.filter(owner__username="bob").update(name=evil[:50].replace("/", "_"))
    row = records(client, f"{ADDRESS}.csv")[1]
    assert row["team"] == f"'{evil}"
    assert row["agent"].startswith("'")
    # JSON is for programs: as it is.
    assert client.get(f"{ADDRESS}.json").json()["results"][1]["team"] == evil


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (" =1+1", " '=1+1"), ("\ufeff=1", "\ufeff'=1"), ("\u200b\u00a0 @x", "\u200b\u00a0 '@x"), ('"=1+1', '"\'=1+1'),
        # Split by semicolons, bars, tabs or lines a cell begins in the middle of the text.
        ("x;=1+1", "x;'=1+1"), ("x; \ufeff+1|-2\t@3", "x; \ufeff'+1|'-2\t'@3"), ('x;"=1+1"', 'x;"\'=1+1"'),
        ("x\n=1", "x\n'=1"),
        # What cannot be taken for a formula stays as it is.
        ("a-b = c; d+e | f", "a-b = c; d+e | f"), ("", ""),
    ],
)  # fmt: skip
def test_no_cell_is_a_formula_however_it_is_hidden_or_split(text: str, kept: str) -> None:
    ((found,),) = list(csv.reader(io.StringIO(csv_text([{"team": text}]), newline="")))[1:] or [[""]]
    assert found == kept
    # People name columns too, e.g. assignments.
    assert next(csv.reader(io.StringIO(csv_text([{text: 1}]), newline=""))) == [kept] or not text


def test_numbers_stay_numbers() -> None:
    assert csv_text([{"score": -1.5, "team": "-1.5", "rank": None}]) == "score,team,rank\r\n-1.5,'-1.5,\r\n"
    assert csv_text([]) == ""


def test_a_board_of_scores_is_kept_like_a_table(client: Client, cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.environments.exports.MOST_ROWS", 2)
    task = scored.environment()
    for number, name in enumerate(("one", "two", "three")):
        scored.evaluation(scored.submission(cast.alice, task, name), scored.scores_around(100 * (number + 1), 5))
    Submission.objects.filter(agent__name="two").update(algorithm="=1+1")
    address = f"/environments/{task.slug}/leaderboard"
    rows = records(client, f"{address}.csv")
    assert [(row["rank"], row["agent"], row["algorithm"]) for row in rows] == [
        ("1", "three", "Q-learning"), ("2", "two", "'=1+1"), ("3", "one", "Q-learning"),
    ]  # fmt: skip
    assert [row["agent"] for row in records(client, f"{address}.csv?algorithm==1")] == ["two"]
    found = json.loads(client.get(f"{address}.json?sort=date_asc").content)
    assert [row["agent"] for row in found["results"]] == ["one", "two", "three"]


def test_files_are_counted_with_other_downloads(
    client: Client, edition: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.clear()
    rates = {**SimpleRateThrottle.THROTTLE_RATES, "results": "1/minute"}
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", rates)
    assert [client.get(f"{ADDRESS}.{kind}").status_code for kind in ("csv", "json")] == [200, 429]
