"""Positions in which versions gave something away, on the page of their agent, in the API and in the inbox."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains

from arena_kit.environment.registry import get_spec
from core.duels.blunders import drill_positions
from core.links import agent_address, tournament_address
from core.models import Blunder, DrillMove, Notice, NoticeKind, Submission, Tournament
from core.notices.services import Message, notify_each
from core.submissions import blunders
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.submissions.blunder_views import SHOWN
from web.tests import played
from web.tests.arena import Stage

pytestmark = pytest.mark.django_db
SAID = "anna v1 played"
TITLE = "Positions to learn from"


@pytest.fixture
def second(stage: Stage) -> Submission:
    """Version 2 of anna, which has found one move, missed one, and met one that is not solved."""
    version = played.ready(stage.anna.agent)
    for number, (action, is_found) in enumerate(((4, True), (1, False), (2, None)), start=1):
        row = factories.blunder(stage.anna, stage.duel, number)
        DrillMove.objects.create(submission=version, blunder=row, action=action, is_found=is_found)
    return version


def page_of(stage: Stage) -> str:
    return f"/environments/{stage.environment.slug}/agents/anna/"


def test_only_the_owner_and_organisers_see_positions_and_which_versions_find_the_move(
    client: Client, stage: Stage, second: Submission, cast: Cast, visit: As
) -> None:
    page, api = page_of(stage), f"/api/v1/agents/{stage.anna.agent.pk}/blunders/"
    for viewer in (visit(cast.alice), visit(cast.olga)):
        shown = viewer.get(page)
        assertContains(shown, TITLE)
        assertContains(shown, SAID, count=SHOWN)
        assertContains(shown, "after which the other side can force a win. It would have kept the draw with")
        assertContains(shown, "v2 finds 1 of 2.")
        assertContains(shown, f"/duels/{stage.duel.pk}/matches/1/?ply=1")
        assertContains(viewer.get(f"{page}blunders/"), SAID, count=3)
        unsolved, missed, found = viewer.get(api).json()
        assert (found["found_by"], found["missed_by"]) == ([2], [1])
        assert (missed["found_by"], missed["missed_by"]) == ([], [1, 2])
        assert (unsolved["found_by"], unsolved["missed_by"]) == ([], [1])
        assert (found["actions"], found["seat"], found["holding"]) == ([0], 1, [4])
    bob = visit(cast.bob)
    assertNotContains(bob.get(page), TITLE)
    assertNotContains(client.get(page), TITLE)
    assert (bob.get(f"{page}blunders/").status_code, bob.get(api).status_code) == (404, 403)
    assert (client.get(f"{page}blunders/").status_code, client.get(api).status_code) == (302, 401)


@pytest.mark.usefixtures("second")
def test_positions_of_matches_whose_results_are_withheld_are_withheld_too(stage: Stage, cast: Cast, visit: As) -> None:
    Tournament.objects.update(results="HIDDEN")
    page, api = page_of(stage), f"/api/v1/agents/{stage.anna.agent.pk}/blunders/"
    assertNotContains(visit(cast.alice).get(page), TITLE)
    assert visit(cast.alice).get(api).json() == []
    assertContains(visit(cast.olga).get(page), SAID)
    Tournament.objects.update(results="PARTICIPANTS")
    assertContains(visit(cast.alice).get(page), SAID)


@pytest.mark.usefixtures("second")
def test_positions_of_games_with_hidden_information_are_not_listed(
    stage: Stage, cast: Cast, visit: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = get_spec(stage.environment.spec_id)
    monkeypatch.setattr(blunders, "get_spec", lambda _: replace(spec, isolation="apart"))
    assertNotContains(visit(cast.alice).get(page_of(stage)), TITLE)


def test_a_position_whose_rules_are_gone_has_no_board(stage: Stage, cast: Cast, visit: As) -> None:
    factories.blunder(stage.anna, stage.duel, environment_version="tic-tac-toe-v99")
    assertContains(visit(cast.alice).get(page_of(stage)), "The board cannot be drawn now.")


def test_positions_by_playouts_say_how_the_share_fell(stage: Stage, cast: Cast, visit: As) -> None:
    factories.blunder(stage.anna, stage.duel, holding=[], losing=[], before=0.78, after=0.2)
    said = "its side won 78% of the matches, and 20% a few moves later."
    assertContains(visit(cast.alice).get(page_of(stage)), said)


def test_an_overlooked_threat_is_a_position_of_a_kind_of_its_own(stage: Stage, cast: Cast, visit: As) -> None:
    row = factories.blunder(stage.anna, stage.duel, before=None, steps=3)
    said = "which let the other side force a win in 2 moves. It would have prevented that with"
    assertContains(visit(cast.alice).get(page_of(stage)), said)
    (told,) = visit(cast.alice).get(f"/api/v1/agents/{stage.anna.agent.pk}/blunders/").json()
    assert (told["before"], told["after"], told["steps"]) == (None, 0.0, 3)
    # A win that was given away weighs more, a draw as much.
    assert (row.given, factories.blunder(stage.anna, stage.duel, 2, before=1.0).given) == (0.5, 1.0)
    newer = factories.ready(stage.anna.agent)
    assert list(drill_positions(newer, row.environment_version)) == list(Blunder.objects.all())


def test_the_notice_about_an_edition_shows_the_worst_mistake_to_the_owner_alone(
    stage: Stage, cast: Cast, visit: As
) -> None:
    factories.blunder(stage.anna, stage.duel)
    worst = factories.blunder(stage.anna, stage.duel, 2, before=1.0)
    address = tournament_address(stage.tournament)
    notify_each(
        kind=NoticeKind.TOURNAMENT_ENDED,
        messages=[Message(person, "It is over", "You came 2nd.", address) for person in (cast.alice, cast.bob)],
    )
    shown = visit(cast.alice).get("/inbox/")
    assertContains(shown, "which turned a forced win into a forced loss", count=1)
    assertContains(shown, f"/matches/{worst.match_number}/?ply=1")
    assertNotContains(visit(cast.bob).get("/inbox/"), SAID)
    Tournament.objects.update(results="HIDDEN")
    assertNotContains(visit(cast.alice).get("/inbox/"), SAID)


def test_a_notice_about_being_overtaken_has_a_button_that_challenges_the_rival(
    stage: Stage, cast: Cast, visit: As
) -> None:
    message = Message(cast.alice, "anna is overtaken", "", agent_address(stage.anna.agent))
    told = replace(message, agent=stage.anna.agent, rival=stage.berta.agent)
    notify_each(kind=NoticeKind.OVERTAKEN, messages=[told])
    alice = visit(cast.alice)
    for address in ("/inbox/", "/"):
        assertContains(alice.get(address), "Challenge berta")
    assertContains(alice.get("/inbox/"), f'action="/environments/{stage.environment.slug}/challenges/"')
    assertContains(alice.get("/inbox/"), 'name="opponent" value="berta"')
    Notice.objects.update(rival=None)
    assertNotContains(alice.get("/inbox/"), "Challenge berta")
