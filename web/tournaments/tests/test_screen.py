"""The page for a hall shows what everyone may see, also to organisers, and changes by itself."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from arena_kit.ranking.formats import History
from core.editions.progress import history_of, tournament_begin, tournament_step
from core.editions.revealing import round_reveal
from core.editions.screen import screen_get
from core.models import Audience, Duel, Environment, JobState, Tournament, TournamentState
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.tests import played

pytestmark = pytest.mark.django_db


@pytest.fixture
def cup(cast: Cast, environment: Environment) -> Tournament:
    """A cup of four whose first round is played."""
    agents = [factories.ready(factories.agent(cast.alice, environment, f"seed-{n}")).agent for n in range(1, 5)]
    planned = factories.planned(environment, format="single-elimination", settings={"pairs": 1}, starts_at=None)
    for agent in agents:
        planned.registrations.create(agent=agent)
    begun = tournament_begin(planned, now=timezone.now())
    play_round(begun)
    return begun


def play_round(cup: Tournament) -> None:
    for duel in cup.duels.filter(state=JobState.QUEUED).order_by("number"):
        played.play(duel, **{f"faults_of_{2 if duel.player_1_id < duel.player_2_id else 1}": {1, 2}})
    tournament_step(cup, now=timezone.now())


def address(cup: Tournament) -> str:
    return f"/environments/{cup.environment.slug}/editions/{cup.edition}/screen/"


def test_an_organisers_screen_shows_no_more_than_that_of_a_stranger(cup: Tournament, cast: Cast, visit: As) -> None:
    Tournament.objects.update(results=Audience.HIDDEN)
    for told in (False, True):
        pages = [visit(one).get(address(cup)).content.decode() for one in (cast.olga, None)]
        assert pages[0] == pages[1]
        assert ("seed-1" in pages[0]) is told
        assert "frames.json" not in pages[0] or told
        cup.refresh_from_db()
        if not told:
            round_reveal(tournament=cup, to=Audience.PUBLIC)
    assert "Next: Final" in pages[0]
    # What only participants see is for no hall.
    play_round(cup)
    cup.refresh_from_db()
    round_reveal(tournament=cup, to=Audience.PARTICIPANTS)
    assert visit(cast.alice).get(address(cup)).content.decode() == pages[0]


def test_a_round_that_was_revealed_is_planned_once_until_the_plan_changes(
    cup: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    Tournament.objects.update(results=Audience.HIDDEN)
    cup.refresh_from_db()
    round_reveal(tournament=cup, to=Audience.PUBLIC)
    planned: list[int] = []

    def history(tournament: Tournament) -> History:
        planned.append(tournament.pk)
        return history_of(tournament)

    monkeypatch.setattr("core.editions.revealing.history_of", history)
    pages = [Client().get(address(cup)).content for _ in range(3)]
    assert (len(set(pages)), len(planned)) == (1, 1)
    # The page of the tournament shows the same round.
    assert b"seed-1" in Client().get(address(cup).removesuffix("screen/")).content
    assert len(planned) == 1
    # A new plan is looked at once, and shows no more of what came later.
    play_round(cup)
    assert [Client().get(address(cup)).content for _ in range(2)] == pages[:2]
    assert len(planned) == 2


def test_a_scene_that_has_not_changed_is_not_sent_again(cup: Tournament) -> None:
    client, page = Client(), Client().get(address(cup))
    stamp, scene = page.context["stamp"], page.context["shown"].name
    seen = {"HX-Target": "screen", "X-Seen": stamp, "X-Scene": scene}
    assert client.get(address(cup), headers=seen).status_code == 204
    duel = cup.duels.get(round=2)
    factories.moved(cup.duels.filter(pk=duel.pk), JobState.RUNNING, started_at=timezone.now())
    part = client.get(address(cup), headers=seen)
    assert "0 of 2" in part.content.decode()
    assert "<html" not in part.content.decode()
    # A duel that runs long enough to be followed is another scene.
    cup.duels.filter(pk=duel.pk).update(started_at=timezone.now() - timedelta(minutes=1))
    assert screen_get(cup, now=timezone.now()).live == duel
    assert client.get(address(cup), headers=seen).headers["HX-Refresh"] == "true"
    assert 'id="live-board"' in client.get(address(cup)).content.decode()


def test_a_film_plays_on_while_results_change_beside_it(cup: Tournament) -> None:
    # The two duels of the first round were over too soon to be followed.
    page, client = Client().get(address(cup)), Client()
    seen = {"HX-Target": "screen", "X-Seen": page.context["stamp"], "X-Scene": page.context["shown"].name}
    assert '<div id="film" hx-preserve>' in page.content.decode()
    (duel,) = cup.duels.filter(round=2)
    factories.moved(cup.duels.filter(pk=duel.pk), JobState.RUNNING, started_at=timezone.now())
    assert '<div id="film" hx-preserve>' in client.get(address(cup), headers=seen).content.decode()
    # Another film begins with a page of its own, whose script plays it.
    Duel.objects.filter(pk=page.context["shown"].films[0].duel.pk).update(records="")
    assert client.get(address(cup), headers=seen).headers["HX-Refresh"] == "true"


def test_a_cancelled_tournament_says_so(cup: Tournament, environment: Environment) -> None:
    called_off = factories.planned(environment)
    for one in (cup, called_off):
        Tournament.objects.filter(pk=one.pk).update(
            state=TournamentState.CANCELLED, ended_at=timezone.now(), cancel_reason="The hall burns.", results="HIDDEN"
        )
        assert "It is cancelled. The hall burns." in Client().get(address(one)).content.decode()


def test_the_last_scene_is_the_podium_with_the_final_as_a_film(cup: Tournament) -> None:
    play_round(cup)
    shown = screen_get(Tournament.objects.get(pk=cup.pk), now=timezone.now())
    assert [row.participant.submission.agent.name for row in shown.podium[:2]] == ["seed-1", "seed-2"]
    final = cup.duels.get(round=2)
    assert [(film.duel, film.number) for film in shown.films] == [(final, 1), (final, 2)]
    assert Client().get(address(cup)).content.decode().count("frames.json") == 2


def test_planned_tournaments_have_a_countdown_and_editions_no_screen(environment: Environment) -> None:
    planned = factories.planned(environment)
    assert "Registration closes" in Client().get(address(planned)).content.decode()
    edition = Tournament.objects.create(environment=environment, edition=9)
    assert Client().get(address(edition)).status_code == 404


def test_the_table_of_a_cup_names_disqualify_to_people_who_may(cup: Tournament, cast: Cast, visit: As) -> None:
    row = cup.participants.order_by("pk")[0]
    question = f"/organise/do/participant/{row.pk}/disqualify/"
    page = address(cup).removesuffix("screen/")
    assert question in visit(cast.olga).get(page).text
    assert {question in visit(one).get(page).text for one in (cast.alice, None)} == {False}
    # One who has left is out of the table already.
    cup.participants.filter(pk=row.pk).update(withdrawn_at=timezone.now(), disqualified_because="Copied.")
    assert question not in visit(cast.olga).get(page).text
