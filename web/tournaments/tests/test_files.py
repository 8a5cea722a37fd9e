"""Tables of tournaments and seasons as files, from links on their pages."""

from __future__ import annotations

import csv
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from core.editions.tests.planned import begun, play_on
from core.editions.tests.samples import players as ready
from core.editions.tests.scored import score_all
from core.models import Season, Tournament
from core.tests import factories

pytestmark = pytest.mark.django_db


def rows_of(client: Client, page: str) -> list[dict[str, str]]:
    """The rows of the file that a page links."""
    link = re.search(r'<a\s+href="([^"]*)"\s+download>Download the table as CSV', client.get(page).content.decode())
    assert link is not None
    address = link[1] if link[1].startswith("/") else page + link[1]
    return list(csv.DictReader(client.get(address).content.decode().splitlines()))


def test_the_tables_of_a_tournament_and_of_its_season_are_files(client: Client) -> None:
    environment = factories.environment()
    season = Season.objects.create(
        environment=environment, name="Term", begins_at=factories.NOON, ends_at=factories.NOON + timedelta(days=90)
    )
    owners = [factories.user(name) for name in ("ann", "bob", "=cmd")]
    players = [factories.ready(factories.agent(owner, environment)) for owner in owners]
    for player, value in zip(players, (1700.0, 1600.0, 1500.0), strict=True):
        factories.rating(player, value)
    cup = begun(players, "round-robin")
    play_on(cup)
    Tournament.objects.filter(pk=cup.pk).update(name="Week 1", season=season)

    table = rows_of(client, reverse("web:edition", args=[environment.slug, cup.edition]))
    assert [row["rank"] for row in table] == ["1", "2", "3"]
    marks = rows_of(client, reverse("web:season", args=[environment.slug, season.pk]))
    assert [(row["owner"], row["points"], row[f"edition {cup.edition}: Week 1"]) for row in marks] == [
        ("ann", "2.0", "2.0"),
        ("bob", "1.0", "1.0"),
        ("'=cmd", "0.0", "0.0"),
    ]


def test_the_table_of_agents_that_play_alone_is_a_file_beside_the_board(client: Client) -> None:
    task = factories.task()
    rows = ready(task, 2)
    factories.evaluation(rows[0], scores=[7.0] * 4)
    cup = score_all(begun(rows, "score"), rows, [1.0, 2.0])
    file = reverse("web:leaderboard_file", args=[task.slug, "csv"])
    (board,) = csv.DictReader(client.get(file).content.decode().splitlines())
    assert board["score"] == "7.0"
    table = list(csv.DictReader(client.get(f"{file}?edition={cup.edition}").content.decode().splitlines()))
    assert [(row["rank"], row["agent"], row["score"]) for row in table] == [
        ("1", rows[1].agent.name, "2.0"),
        ("2", rows[0].agent.name, "1.0"),
    ]
    assert not {"points", "rating"} & table[0].keys()
    Tournament.objects.update(results="HIDDEN")
    assert client.get(f"{file}?edition={cup.edition}").status_code == 404
