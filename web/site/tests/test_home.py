from __future__ import annotations

from datetime import timedelta

import pytest
from allauth.usersessions.models import UserSession
from django.core.cache import cache, caches
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains
from pytest_django.fixtures import Settings

from core.duels.featured import featured_get
from core.models import Audience, Duel, JobState, TournamentState, User
from core.tests import applications, factories
from core.tests.factories import Cast
from core.tournaments.cards import Leader
from core.tournaments.ladders import agent_rest
from web.conftest import As
from web.tests import scored

pytestmark = pytest.mark.django_db


def test_an_empty_arena_says_how_to_add_environments(client: Client) -> None:
    assert "There are no environments yet" in client.get("/").content.decode()


def test_a_card_counts_agents_and_users_and_names_the_first_of_the_leaderboard(client: Client, cast: Cast) -> None:
    environment = factories.environment()
    owners = (cast.alice, cast.alice, cast.bob)
    first, second, third = (
        factories.ready(factories.agent(owner, environment, name))
        for owner, name in zip(owners, ("a", "b", "c"), strict=True)
    )
    factories.tournament([first, second, third])
    for place, row in enumerate((second, first, third), start=1):
        factories.rating(row, 1700 - 100 * place, rank=place, worst_rank=3)
    (card,) = client.get("/").context["cards"]
    assert (card.figures.agent_count, card.figures.user_count) == (3, 2)
    assert card.figures.leader == Leader("b", 1, cast.alice.username, 1600)


def test_the_first_agent_that_is_ranked_is_counted_as_soon_as_it_leads(client: Client, cast: Cast) -> None:
    task = factories.environment("cart-pole")
    client.get("/")
    assert caches["answers"].get("cards:counts") is not None
    factories.evaluation(factories.ready(factories.agent(cast.alice, task)))
    caches["answers"].delete("cards:first")
    (card,) = client.get("/").context["cards"]
    assert (card.figures.best.agent, card.figures.agent_count) == (cast.alice.agents.get().name, 1)


def test_a_closed_environment_has_no_card(client: Client, cast: Cast) -> None:
    environment = factories.environment()
    environment.is_active = False
    environment.save()
    assert client.get("/").context["cards"] == []


def test_applications_have_a_group_of_their_own(client: Client) -> None:
    applications.package()
    page = client.get("/").content.decode()
    assert 'id="applications"' in page
    assert 'id="tasks"' not in page
    # The hidden task is not counted.
    assert "3 tasks, no agent on the board yet" in page


def test_more_environments_and_editions_take_no_more_queries(
    client: Client, cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for slug in ("tic-tac-toe", "connect-four", "quarto"):
        environment = factories.environment(slug)
        players = [factories.ready(factories.agent(cast.alice, environment)) for _ in range(3)]
        for edition in (1, 2):
            factories.tournament(players, edition=edition)
    # Cards and the figures of three kinds of them, duels to watch, the duels and tournaments that run, and those that
    # are planned.
    with django_assert_num_queries(13):
        assert client.get("/").status_code == 200


def test_the_banner_says_when_players_run_without_a_container_engine(client: Client, settings: Settings) -> None:
    banner = "Upload only code that you trust"
    settings.SANDBOX = "docker"
    assert banner not in client.get("/").content.decode()
    settings.SANDBOX = "process"
    assert banner in client.get("/").content.decode()


def test_only_staff_see_the_way_to_the_admin(cast: Cast, visit: As) -> None:
    assert 'href="/admin/"' in visit(cast.olga).get("/").content.decode()
    for person in (None, cast.alice):
        assert 'href="/admin/"' not in visit(person).get("/").content.decode()


def test_pages_load_nothing_from_other_hosts_and_no_inline_code(client: Client) -> None:
    response = client.get("/")
    page = response.content.decode()
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert "style=" not in page
    assert "<style" not in page
    assert "<script>" not in page
    assert 'src="http' not in page


def test_the_home_page_leads_to_a_match_of_the_duels_worth_a_look(client: Client, cast: Cast) -> None:
    environment = factories.environment()
    players = [factories.ready(factories.agent(cast.alice, environment, name)) for name in ("a", "b", "c")]
    edition = factories.tournament(players)
    newest, other, first = Duel.objects.order_by("-pk")
    assert "Watch a match" not in client.get("/").content.decode()
    caches["answers"].clear()
    Duel.objects.update(records="records.zip")
    Duel.objects.filter(pk=first.pk).update(expected=0.1)
    Duel.objects.filter(pk=other.pk).update(player_1_wins=5, player_2_wins=5)
    page = " ".join(client.get("/").content.decode().split())
    assert [(one.why, one.duel) for one in featured_get().duels] == [
        ("Last upset", first),
        ("Newest duel", newest),
    ]
    assert f'<a href="/duels/{first.pk}/matches/1/">Watch a match</a>' in page
    # The first of them without a forfeit plays beside the first words.
    assert f'data-frames="/duels/{first.pk}/matches/1/frames.json"' in page
    # Until it has come, the picture of its own game stands there.
    assert 'data-still src="/static/environments/tic-tac-toe/tic-tac-toe.svg"' in page
    Duel.objects.filter(pk=first.pk).update(player_1_wins=9, player_1_errors=0, player_2_errors=1)
    assert featured_get().films[0].duel == other
    for player in players:
        factories.rating(player, 1500 + (player in (other.player_1, other.player_2)))
    # Close duels are those of players with a rating in the upper half.
    assert [(one.why, one.duel) for one in featured_get().duels] == [
        ("Last upset", first),
        ("Closest duel", other),
        ("Newest duel", newest),
    ]
    edition.results = Audience.HIDDEN
    edition.save()
    assert featured_get().duels == []


def test_the_home_page_names_the_duels_that_are_played_now(client: Client, cast: Cast) -> None:
    environment = factories.environment()
    players = [factories.ready(factories.agent(cast.alice, environment, name)) for name in ("a", "b")]
    edition = factories.tournament(players, state=TournamentState.RUNNING)
    factories.moved(edition.duels.all(), JobState.RUNNING)
    (duel,) = client.get("/").context["playing"]
    page = client.get("/").content.decode()
    assert f'href="/duels/{duel.pk}/">a against b</a>' in page
    assert 'href="/live/"' in page


def test_a_new_user_is_told_the_first_steps_until_there_is_an_agent(cast: Cast, visit: As) -> None:
    environment = factories.environment()
    players = [factories.ready(factories.agent(cast.bob, environment, name)) for name in ("one", "two")]
    factories.moved(factories.tournament(players, state=TournamentState.RUNNING).duels.all(), JobState.RUNNING)
    new = visit(cast.alice).get("/").content.decode()
    assert "Three steps" in new
    # The advertisement is for strangers, and one link leads to what is running.
    assert "Let your agents play." not in new
    assert "Create an account" not in new
    assert new.count("Watch what is running now") == 1
    factories.agent(cast.alice, environment)
    own = visit(cast.alice).get("/").content.decode()
    assert "Three steps" not in own
    assert own.count("Watch what is running now") == 1


def test_the_home_page_shows_ones_agents_of_tasks_with_rank_and_score(cast: Cast, visit: As) -> None:
    learnt = scored.environment("cart-pole")
    scored.evaluation(scored.submission(cast.bob, learnt, "better"), scored.scores_around(400, 20))
    scored.evaluation(scored.submission(cast.alice, learnt, "mine"), scored.scores_around(200, 20))
    page = visit(cast.alice).get("/")
    (line,) = page.context["own"]
    assert (line.agent.name, line.rank, line.score_rank, line.standing) == ("mine", 2, 2, None)
    assert "2nd</strong> <span>score" in " ".join(page.content.decode().split())


def test_tasks_without_an_agent_are_a_line_of_names_below_those_with_one(client: Client, cast: Cast) -> None:
    learnt, _ = scored.environment("cart-pole"), factories.task("acrobot")
    context = client.get("/").context
    assert [len(context[name]) for name in ("tasks", "waiting_tasks")] == [2, 0]
    scored.evaluation(scored.submission(cast.alice, learnt, "one"), scored.scores_around(200, 20))
    caches["answers"].clear()
    context = client.get("/").context
    assert [[card.environment.slug for card in context[name]] for name in ("tasks", "waiting_tasks")] == [
        ["cart-pole"],
        ["acrobot"],
    ]


def test_who_comes_back_finds_own_agents_with_rank_results_and_the_next_one_above(cast: Cast, visit: As) -> None:
    environment = factories.environment()
    rival, mine, other = (
        factories.ready(factories.agent(owner, environment, name))
        for owner, name in ((cast.bob, "rival"), (cast.alice, "mine"), (cast.charlie, "other"))
    )
    factories.tournament([rival, mine, other])
    for row, before in ((rival, 1500), (mine, 1480), (other, 1490)):
        factories.rating_point(row, factories.NOON, before)
    waiting = factories.ready(factories.agent(cast.alice, environment, "waiting"))
    page = visit(cast.alice).get("/")
    first, second = page.context["own"]
    assert (first.agent, first.standing.rank, first.change) == (mine.agent, 2, 20)
    assert [row.outcome for row in first.results] == ["lost", "won"]
    assert (Duel.objects.get(pk=first.lost.duel).player_1, first.lost.opponent) == (rival, str(rival))
    assert (first.above.agent, first.gap) == (rival.agent.name, 20)
    assert (second.agent, second.standing) == (waiting.agent, None)
    html = " ".join(page.content.decode().split())
    assert '#matches">rival v1</a></span> <button class="small ghost" type="submit">Why?' in html
    assert 'name="opponent" value="rival"' in html
    assert "QuerySet" not in html
    assert "Let your agents play." not in html
    stranger = visit(None).get("/").content.decode()
    assert "Let your agents play." in stranger
    assert "Your agents" not in stranger


def test_the_home_page_calls_a_hidden_agent_hidden(cast: Cast, visit: As) -> None:
    row = factories.ready(factories.agent(cast.alice, factories.environment(), "anna"))
    assert "not rated yet" in told(visit(cast.alice))
    agent_rest(agent=row.agent, is_resting=True)
    assert "hidden" in told(visit(cast.alice))


def test_the_home_page_says_how_a_rating_moved_since_the_last_visit(cast: Cast, visit: As) -> None:
    row = factories.ready(factories.agent(cast.alice, factories.environment(), "anna"))
    factories.rating(row, 1600)
    now = timezone.now()
    for hours, value in ((72, 1400), (30, 1550), (1, 1590)):
        factories.rating_point(row, now - timedelta(hours=hours), value)
    client = visit(cast.alice)
    assert "+50 since yesterday" in told(client)
    session = client.session
    session["seen_at"] = int((now - timedelta(hours=48)).timestamp())
    session.save()
    assert "+200 since your last visit" in told(client)
    # Pages of one visit have the same beginning.
    assert "+200 since your last visit" in told(client)


def told(client: Client) -> str:
    return " ".join(client.get("/").content.decode().replace("(", "").split())


def test_the_home_page_counts_the_matches_and_the_people_of_today(cast: Cast, visit: As) -> None:
    now = timezone.now()
    yesterday = now - timedelta(days=1)
    User.objects.update(last_login=yesterday)
    assert 'class="muted today"' not in visit(None).get("/").content.decode()
    # A session that began yesterday is used today.
    session = {"session_key": "kept", "ip": "192.0.2.1", "user_agent": "", "data": {}}
    UserSession.objects.create(user=cast.alice, last_seen_at=now, **session)
    cache.clear()
    assertContains(visit(None).get("/"), "<strong>1</strong> person here")
    game, owners = factories.environment(), (cast.alice, cast.bob)
    tournament = factories.tournament([factories.ready(factories.agent(owner, game)) for owner in owners])
    tournament.duels.update(ended_at=now)
    User.objects.filter(pk=cast.bob.pk).update(last_login=now)
    cache.clear()
    page = visit(None).get("/")
    assertContains(page, "<strong>10</strong> matches")
    assertContains(page, "<strong>2</strong> people here")
