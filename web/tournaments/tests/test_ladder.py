"""Ladders on pages: the table, the duels with their reasons, the agents that wait for a place, and agents that rest."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import Environment, Play, Submission, Tournament, TournamentState
from core.tests import factories
from core.tests.factories import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def environment() -> Environment:
    environment = factories.environment()
    environment.play = Play.LADDER
    environment.save()
    return environment


def ladder(*rows: Submission) -> Tournament:
    """A running ladder in which half of the duels have been played."""
    tournament = factories.tournament(rows, state=TournamentState.RUNNING)
    Tournament.objects.filter(pk=tournament.pk).update(format="ladder", name="")
    tournament.duels.update(reason="Their result tells much.")
    tournament.refresh_from_db()
    return tournament


def text(client: Client, address: str, **headers: str) -> str:
    response = client.get(address, headers=headers)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


@pytest.mark.slow
def test_the_page_of_a_ladder_shows_who_plays_whom_and_why(
    client: Client, cast: Cast, environment: Environment
) -> None:
    anna = factories.ready(factories.agent(cast.alice, environment, "anna"))
    berta = factories.ready(factories.agent(cast.bob, environment, "berta"))
    gone = factories.ready(factories.agent(cast.charlie, environment, "gone"))
    newer = factories.ready(gone.agent)
    tournament = ladder(anna, berta, gone, newer)
    tournament.participants.filter(submission=gone).update(withdrawn_at=timezone.now(), rank=9)
    page = reverse("web:edition", args=[environment.slug, 1])

    shown = text(client, page)
    assert "<h1>Ladder</h1>" in shown
    assert "without an end date." in shown
    assert "anna v1 beat berta v1" in shown
    assert "Their result tells much." in shown
    assert shown.count('class="name"') == 3
    assert "Waiting agents" not in shown
    # Its parts refresh themselves; the environment's page has the same table.
    assert text(client, page, **{"HX-Target": "ladder-duels"}).startswith('<div id="ladder-duels"')
    home = text(client, reverse("web:environment", args=[environment.slug]))
    for table in (shown, home):
        assert "Filter the table" in table
    assert "leaderboard.csv?edition=1" in shown
    assert f'href="{page}"' in home
    guide = text(client, reverse("web:environment_write", args=[environment.slug]))
    assert "joins the ladder within a minute" in guide
    assert text(client, f"{page}?q=bert").count('class="name"') == 1
    rows = client.get(reverse("web:leaderboard_file", args=[environment.slug, "json"]), {"edition": 1}).json()[
        "results"
    ]
    assert len(rows) == 3
    # Of an agent the newest version, and any other by its number.
    own = reverse("web:participant", args=[environment.slug, 1, "gone"])
    assert 'gone <span class="muted">v2' in text(client, own)
    assert "This version left the ladder on" in text(client, f"{own}?version=1")
    # No page of it speaks of an edition; once it has ended its title says when.
    duel = text(client, reverse("web:duel", args=[tournament.duels.latest("pk").pk]))
    assert "the ladder</a>" in duel
    Tournament.objects.update(state=TournamentState.FINISHED, ended_at=datetime(2026, 3, 1, tzinfo=UTC))
    ended = text(client, page)
    assert "<title>Ladder of Tic-tac-toe, ended 1 March 2026" in ended
    assert "/ the ladder</p>" in ended
    assert "edition 1" not in duel + shown + ended


def test_the_page_of_an_edition_of_chosen_duels_promises_no_meeting_of_all(
    client: Client, cast: Cast, environment: Environment
) -> None:
    anna = factories.ready(factories.agent(cast.alice, environment, "anna"))
    gone = factories.ready(factories.agent(cast.charlie, environment, "gone"))
    tournament = ladder(anna, factories.ready(factories.agent(cast.bob, environment, "berta")), gone)
    Tournament.objects.update(format="chosen", settings={"new_duels": 40, "other_duels": 22, "planned_duels": 62})
    tournament.participants.filter(submission=gone).update(withdrawn_at=timezone.now())

    shown = text(client, reverse("web:edition", args=[environment.slug, 1]))
    assert "<h1>Edition 1</h1>" in shown
    assert "Each new version plays about 40 duels" in shown
    assert "ladder of" not in shown.lower()
    own = text(client, reverse("web:participant", args=[environment.slug, 1, "anna"]))
    assert "played so far" in own
    assert "<dt>Points</dt>" not in own
    assert "does not count" not in own
    left = text(client, reverse("web:participant", args=[environment.slug, 1, "gone"]))
    assert "its finished ones still count for ratings" in left
    assert " points" not in text(client, reverse("web:agent", args=[environment.slug, "anna"]))
    # What is only known while it runs has no column afterwards.
    assert "Likely rank" in shown
    Tournament.objects.update(state=TournamentState.FINISHED, ended_at=timezone.now())
    over = text(client, reverse("web:edition", args=[environment.slug, 1]))
    assert "Ratings are those from when it ended." in over
    assert "Likely rank" not in over
    assert ">Matches<" not in over


def test_a_ladder_says_why_nothing_is_played_and_why_it_has_not_begun(
    client: Client, cast: Cast, environment: Environment
) -> None:
    page = reverse("web:environment", args=[environment.slug])
    Environment.objects.update(play=Play.NOTHING)
    assert "agents play here only in" in text(client, page)
    Environment.objects.update(play=Play.LADDER)
    assert "as soon as agents of two owners are ready" in text(client, page)
    rows = [factories.ready(factories.agent(person, environment)) for person in (cast.alice, cast.bob)]
    assert "The ladder begins within minutes." in text(client, page)
    edition = factories.tournament(rows, state=TournamentState.RUNNING)
    assert "The ladder begins when edition 1 has ended." in text(client, page)
    edition.duels.all().delete()
    Tournament.objects.update(format="ladder", shortfall="A duel needs two agents; 1 can play.")
    ladder_page = reverse("web:edition", args=[environment.slug, 1])
    assert "No duels are being played at the moment. A duel needs two agents; 1 can play." in text(client, ladder_page)


def test_whose_owner_has_too_many_waits_on_the_side_and_is_told_what_to_do(
    client: Client, cast: Cast, environment: Environment
) -> None:
    rows = [factories.ready(factories.agent(cast.alice, environment, name)) for name in ("anna", "berta", "clara")]
    ladder(*rows[1:], factories.ready(factories.agent(cast.bob, environment)))
    page = reverse("web:agent", args=[environment.slug, "anna"])
    assert (
        "This agent waits for a place: each owner may have up to 2 agents in the ladder, and berta and clara have "
        "newer versions. Hide one of them to make room."
    ) in text(client, page)
    side = text(client, reverse("web:edition", args=[environment.slug, 1]))
    assert "Waiting agents" in side
    assert 'href="/environments/tic-tac-toe/agents/anna/"' in side
    assert "It plays in the ladder." in text(client, reverse("web:agent", args=[environment.slug, "berta"]))


def test_an_owner_lets_an_agent_rest_and_play_again(client: Client, cast: Cast, environment: Environment) -> None:
    anna = factories.ready(factories.agent(cast.alice, environment, "anna"))
    page = reverse("web:agent", args=[environment.slug, "anna"])
    assert "Hide and take out of play" not in text(client, page)
    client.force_login(cast.alice)
    assert "Hide and take out of play" in text(client, page)
    said = client.post(reverse("web:agent_rest", args=[environment.slug, "anna"]), follow=True).content.decode()
    assert "anna is hidden." in said
    assert "Show again" in said
    # What it could do stands there no more, but what would help.
    assert '<span class="badge badge-calm">Hidden</span>' in said
    assert "anna is hidden: show it again first." in said
    anna.agent.refresh_from_db()
    assert anna.agent.is_resting
    assert client.delete(f"/api/v1/agents/{anna.agent.pk}/rest/").json()["is_resting"] is False
    assert client.put(f"/api/v1/agents/{anna.agent.pk}/rest/").json()["is_resting"] is True


def test_the_range_of_ranks_beside_a_row_says_that_it_counts_all_rated_agents(
    client: Client, cast: Cast, environment: Environment
) -> None:
    anna = factories.ready(factories.agent(cast.alice, environment, "anna"))
    berta = factories.ready(factories.agent(cast.bob, environment, "berta"))
    ladder(anna, berta)
    factories.rating(anna, 1600, rank=4, best_rank=4, worst_rank=5)
    shown = text(client, reverse("web:edition", args=[environment.slug, 1]))
    assert "Likely rank of all rated" in shown
    assert ">4th to 5th" in shown
