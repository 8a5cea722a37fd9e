"""One rank: at every moment all pages, files and programs give an agent the same one."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from arena_kit.cli.main import main
from core.demo.progress import leaderboard
from core.editions.services import advance
from core.editions.tests.samples import LATER, edition, play, play_all
from core.models import Environment, JobState, Notice, Submission
from core.tests import factories
from core.tournaments.ladders import agent_rest
from core.tournaments.strikes import duel_void

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
PAGE = "/environments/tic-tac-toe/"
NAMES = ("anna", "berta", "clara", "dora")


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


@pytest.fixture
def rows(environment: Environment) -> list[Submission]:
    """Agents of four people; the one that was uploaded first wins all duels."""
    return [factories.ready(factories.agent(factories.user(f"of-{name}"), environment, name)) for name in NAMES]


def found(pattern: str, text: str) -> dict[str, int]:
    """Rank by name."""
    return {name: int(rank) for rank, name in re.findall(pattern, text, re.DOTALL)}


def ordinals(client: Client, address: str, pattern: str) -> dict[str, int]:
    """Ranks from the pages of single agents; those that show none are left out."""
    ranks = {}
    for name in NAMES:
        answer = client.get(address.format(name=name))
        assert answer.status_code == 200
        if told := re.search(pattern, " ".join(unescape(answer.content.decode()).split())):
            ranks[name] = int(told[1])
    return ranks


def told(client: Client, environment: Environment, site: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """What each place says of the ranks, by the name of the place."""
    cache.clear()
    page = unescape(client.get(PAGE).content.decode())
    places: dict[str, Any] = {
        "board": found(r'class="rank"><span>(\d+)</span>.*?class="name"[^>]*>(\w+)</a>', page),
        "CSV": {
            row["agent"]: int(row["rank"])
            for row in csv.DictReader(io.StringIO(client.get(f"{PAGE}leaderboard.csv").content.decode()))
        },
        "JSON": {row["agent"]: row["rank"] for row in client.get(f"{PAGE}leaderboard.json").json()["results"]},
        "API leaderboard": {
            row["submission"]["agent"]["name"]: row["rank"]
            for row in client.get("/api/v1/environments/tic-tac-toe/leaderboard/").json()["results"]
        },
        "API ratings": {
            row["submission"]["agent"]["name"]: row["rank"]
            for row in client.get("/api/v1/ratings/?environment=tic-tac-toe").json()["results"]
            if row["rank"] is not None
        },
        "agent": ordinals(
            client, f"{PAGE}agents/{{name}}/", r"<dt>Rank</dt><dd>(\d+)(?:st|nd|rd|th) <span class=\"interval\">of \d+"
        ),
        "person": ordinals(client, "/users/of-{name}/", r">(\d+)(?:st|nd|rd|th) of \d+</a>"),
        "badge": ordinals(client, f"{PAGE}agents/{{name}}/badge.svg", r">(\d+)(?:st|nd|rd|th) of \d+ ·"),
        "search": ordinals(client, "/search/?q={name}", r"(\d+)(?:st|nd|rd|th) of \d+ in Tic-tac-toe"),
    }
    main(["board", "tic-tac-toe", "--site", site])
    places["arena board"] = found(r"(?m)^ +(\d+)  (\w+) v\d+", capsys.readouterr().out)
    places["arena status"] = {}
    for row in Submission.objects.filter(number=1):
        main(["status", str(row.public_id), "--site", site])
        if told := re.search(r"(?m)^  rank +(\d+) of \d+, rating", capsys.readouterr().out):
            places["arena status"] |= {row.agent.name: int(told[1])}
    ranks = places["board"]
    assert isinstance(ranks, dict)
    leader = re.search(r"<dt>Leader</dt><dd><a [^>]*>(\w+)</a>", page)
    assert ((leader and leader[1]) in {name for name, rank in ranks.items() if rank == 1}) == bool(ranks)
    if line := leaderboard(environment):
        for rank, name in re.findall(r"(\d+)\. (\w+) v", line):
            assert ranks[name] == int(rank)
    return places


def test_all_places_say_one_rank_at_all_moments(
    environment: Environment,
    rows: list[Submission],
    client: Client,
    live_server: LiveServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: object,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    moments: list[dict[str, object]] = []

    def look() -> dict[str, int]:
        places = told(client, environment, live_server.url, capsys)
        ranks = places["board"]
        assert {place: said for place, said in places.items() if said != ranks} == {}, json.dumps(ranks)
        moments.append(places)
        assert isinstance(ranks, dict)
        return ranks

    # Before the first edition.
    assert look() == {}
    # During one.
    advance(environment, now=LATER)
    first = edition(environment)
    for duel in list(first.duels.filter(state=JobState.QUEUED))[:3]:
        play(duel)
    advance(environment, now=LATER)
    during = look()
    assert during
    # After it. The notices say the same.
    play_all(first)
    advance(environment, now=LATER + timedelta(hours=1))
    after = look()
    assert after == {"anna": 1, "berta": 2, "clara": 3, "dora": 4}
    titles = Notice.objects.filter(kind="TOURNAMENT_ENDED").values_list("title", flat=True)
    said = " ".join(titles)
    assert {name: int(rank) for name, rank in re.findall(r"(\w+) is (\d+)(?:st|nd|rd|th) of 4", said)} == after
    # A new version waits: the rank is still that of the version before.
    newer = factories.ready(rows[3].agent)
    advance(environment, now=LATER + timedelta(hours=2))
    assert look() == after
    # It has played, and one of its duels is void.
    second = edition(environment)
    assert second != first
    play_all(second)
    advance(environment, now=LATER + timedelta(hours=3))
    look()
    lost = second.duels.filter(player_2=newer).first() or second.duels.filter(player_1=newer).first()
    assert lost is not None
    duel_void(duel=lost, reason="A worker's clock was wrong.", user=factories.user("olga", is_staff=True))
    advance(environment, now=LATER + timedelta(hours=4))
    assert look().keys() == after.keys()
    # One is hidden, before any other fit.
    agent_rest(agent=rows[1].agent, is_resting=True)
    left = look()
    assert sorted(left) == ["anna", "clara", "dora"]
    assert sorted(left.values()) == [1, 2, 3]
    assert len(moments) == 7
