from __future__ import annotations

import gzip
import json
import re
from typing import Any

import pytest
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains

from arena_kit.environment.records import Outcome
from arena_kit.environment.registry import all_specs, get_spec
from arena_kit.environment.replay_file.views import frame_views
from arena_kit.tests.environment.playing import match_record
from core.duels.analyses import analysis_request
from core.jobs.worker import Performed, step
from core.models import Duel, Validation
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.strikes import duel_void
from web.conftest import As
from web.tests import played
from web.tests.arena import MATCH_COUNT, Stage, damage_match, lose_files, staged

pytestmark = pytest.mark.django_db


def address(duel: Duel, number: int = 1) -> str:
    return f"/duels/{duel.pk}/matches/{number}/"


def frames(client: Client, path: str) -> list[dict[str, Any]]:
    response = client.get(path + "frames.json", headers={"Accept-Encoding": "gzip"})
    assert response.status_code == 200
    packed = response.content
    data: dict[str, list[dict[str, Any]]] = json.loads(
        gzip.decompress(packed) if response.get("Content-Encoding") == "gzip" else packed
    )
    return data["frames"]


@pytest.mark.parametrize("slug", [spec.slug for spec in all_specs() if spec.seats == 2])
def test_every_state_of_a_match_is_a_picture_a_text_and_a_sentence(
    client: Client, cast: Cast, stage: Stage, slug: str
) -> None:
    if slug != stage.environment.slug:
        stage = staged(cast, factories.environment(slug), 1)

    states = frames(client, address(stage.duel))

    if slug == "pong":
        assert states[0]["caption"] == "Start. Both players move at once"
        assert re.fullmatch(r"anna v1 played (up|stay|down); berta v1 played (up|stay|down)", states[1]["caption"])
        assert [state["seats"] for state in states[:3]] == [[], [0, 1], [0, 1]]
    else:
        assert states[0]["caption"] == "Start. anna v1 moves first"
        assert states[1]["caption"].startswith("anna v1 played ")
        assert states[2]["caption"].startswith("berta v1 played ")
        assert [state["seats"] for state in states[:3]] == [[], [0], [1]]
    for state in states:
        assert state["svg"].startswith("<svg ")
        assert state["text"]
    assert states[-1]["caption"].endswith((" wins", "Draw"))


def test_the_page_shows_one_state_and_links_to_all_without_scripts(client: Client, stage: Stage) -> None:
    states = frames(client, address(stage.duel))

    page = client.get(address(stage.duel) + "?ply=2")

    assertContains(page, states[2]["caption"])
    assertContains(page, states[2]["text"].splitlines()[0])
    assertContains(page, "data:image/svg+xml;base64,")
    for number in range(len(states)):
        assertContains(page, f'href="?ply={number}"')


@pytest.mark.parametrize(
    ("asked", "shown"), [("0", 0), ("999999", -1), ("-1", 0), ("x", 0), ("", 0), ("%C2%B2", 0), ("9" * 50, 0)]
)
def test_a_shared_state_that_does_not_exist_becomes_one_that_does(
    client: Client, stage: Stage, asked: str, shown: int
) -> None:
    states = frames(client, address(stage.duel))

    page = client.get(f"{address(stage.duel)}?ply={asked}")

    position = shown % len(states)
    assertContains(page, f'data-position="{position}"')
    assertContains(page, states[position]["caption"])


def test_seats_players_and_scores_stand_beside_the_picture(client: Client, stage: Stage) -> None:
    page = client.get(address(stage.duel, 2)).content.decode()

    first, second = page.index(">first seat"), page.index(">second seat")
    assert page.rindex('agents/berta/">berta</a>', 0, first) > page.rindex("disc player-2", 0, first)
    assert first < second
    assert "250 ms, slowest move 125 ms" in page


def test_players_that_move_at_once_have_seats_and_steps(client: Client, cast: Cast) -> None:
    stage = staged(cast, factories.environment("pong"), 2)

    page = client.get(address(stage.duel) + "?ply=1")

    assertContains(page, ">first seat")
    assertContains(page, "Steps, with a move of both players each")
    assertNotContains(page, "moves first")


def test_matches_lead_to_their_neighbours_and_back_to_the_duel(client: Client, stage: Stage) -> None:
    first, last = client.get(address(stage.duel, 1)), client.get(address(stage.duel, MATCH_COUNT))

    assertNotContains(first, 'rel="prev"')
    assertContains(first, f'rel="next" href="{address(stage.duel, 2)}"')
    assertContains(last, f'rel="prev" href="{address(stage.duel, MATCH_COUNT - 1)}"')
    assertNotContains(last, 'rel="next"')
    assertContains(first, f'href="/duels/{stage.duel.pk}/"')


def test_a_match_plays_from_the_end_of_its_opening_unless_the_address_names_a_state(
    client: Client, stage: Stage
) -> None:
    damage_match(stage.duel, 1, opening_count=2)

    assertContains(client.get(address(stage.duel)), "data-plays")
    assertContains(client.get(address(stage.duel)), 'data-position="2"')
    assertContains(client.get(address(stage.duel)), "2 / ")
    assertNotContains(client.get(address(stage.duel) + "?ply=1"), "data-plays")


def test_the_board_comes_before_what_explains_the_match(client: Client, stage: Stage) -> None:
    page = client.get(address(stage.duel)).content.decode()

    parts = ("Players", 'id="frame"', 'id="controls"', ">Moves</h2>", "Why did it end", "As text</h2>", "Facts</h2>")
    places = [page.index(part) for part in parts]
    assert places == sorted(places)


def test_mistakes_are_marked_in_the_list_of_moves_and_for_the_slider(client: Client, stage: Stage) -> None:
    analysis_request(user=stage.anna.agent.owner, played=stage.duel, number=1)
    assert step("duel") is Performed.DONE

    shown = client.get(address(stage.duel) + "?ply=0")

    found = {ply: (mark.sign, mark.word) for ply, mark in shown.context["marks"].items()}
    assert found, "two players without a plan make mistakes"
    values = frames_shares(client, stage)
    for ply, (sign, word) in found.items():
        assert sign == ("??" if {values[ply - 1], values[ply]} == {0, 100} else "?")
        assertContains(shown, f'aria-label="{word}">{sign}</b>')
        assertContains(shown, f'<line x1="{ply}"')


def frames_shares(client: Client, stage: Stage) -> list[int | None]:
    shares: list[int | None] = client.get(address(stage.duel) + "frames.json").json()["shares"]
    return shares


def test_a_match_leads_to_those_worth_a_look(client: Client, stage: Stage) -> None:
    damage_match(stage.duel, 5, actions=(0,) * 20)

    for number in (4, 6):
        page = client.get(address(stage.duel, number))
        assertContains(page, f'<a href="{address(stage.duel, 5)}">')
        assertContains(page, "match 5, the longest")


def test_after_the_last_match_worth_a_look_comes_the_next_duel_of_the_tournament(
    client: Client, stage: Stage, cast: Cast
) -> None:
    later = Duel.objects.get(pk=stage.duel.pk)
    later.pk, later.number = None, 2
    later.save(force_insert=True)
    damage_match(stage.duel, 5, actions=(0,) * 20)

    page = client.get(address(stage.duel, 6))
    assertContains(page, f'<a href="{address(later, 1)}">match 1 of anna against\n  berta, the longest')
    assertContains(
        client.get(address(later, 1)), f'<a href="{address(stage.duel, 5)}"><span aria-hidden="true">←</span>'
    )
    duel_void(duel=later, reason="A clock was wrong.", user=cast.olga)
    assertNotContains(client.get(address(stage.duel, 6)), address(later, 1))


def test_a_forfeit_shows_its_sentence_to_all_and_its_trace_to_those_who_may_see_the_source(
    stage: Stage, cast: Cast, visit: As
) -> None:
    path = address(stage.duel, 4)

    for person in (None, cast.alice, cast.bob, cast.olga):
        assertContains(visit(person).get(path), "KeyError: &#x27;nine&#x27;")
        assertContains(visit(person).get(path), "berta v1 forfeits, anna v1 wins")
    for person in (cast.bob, cast.olga):
        assertContains(visit(person).get(path), "secret_move")
    for person in (None, cast.alice):
        assertNotContains(visit(person).get(path), "secret_move")


def test_the_last_state_of_a_forfeit_says_who_forfeits(client: Client, stage: Stage) -> None:
    states = frames(client, address(stage.duel, 3))

    assert len(states) == 3
    assert states[-1]["caption"].endswith(". anna v1 forfeits, berta v1 wins")


def test_a_void_duel_says_so_on_its_matches(client: Client, stage: Stage, cast: Cast) -> None:
    duel_void(duel=stage.duel, reason="The clock was wrong.", user=cast.olga)

    assertContains(client.get(address(stage.duel)), "This duel is void")


@pytest.mark.parametrize("number", [0, MATCH_COUNT + 1, 10**30])
def test_a_bad_match_number_has_a_page_that_says_which_there_are(client: Client, stage: Stage, number: int) -> None:
    page, data = client.get(address(stage.duel, number)), client.get(address(stage.duel, number) + "frames.json")

    assert (page.status_code, data.status_code) == (404, 404)
    sentence = f"This duel has matches 1 to {MATCH_COUNT}; there is no match {number}."
    assert sentence in page.content.decode()
    assert data.json() == {"error": sentence}


def test_a_duel_that_is_not_played_yet_says_so(client: Client, stage: Stage) -> None:
    duel = played.waiting_duel(stage.tournament, stage.anna, stage.clara)

    page, data = client.get(address(duel)), client.get(address(duel) + "frames.json")

    assert (page.status_code, data.status_code) == (409, 409)
    assert "is waiting for a worker" in page.content.decode()
    assert f'href="/duels/{duel.pk}/"' in page.content.decode()


def test_lost_and_damaged_records_have_a_page(client: Client, stage: Stage) -> None:
    with stage.duel.records.storage.open(str(stage.duel.records.name), "wb") as file:
        file.write(b"no zip")
    assertContains(client.get(address(stage.duel)), "damaged", status_code=404)
    lose_files(stage.duel)

    assertContains(client.get(address(stage.duel)), "no longer stored", status_code=404)
    assert client.get(address(stage.duel) + "frames.json").status_code == 404


@pytest.mark.parametrize(
    "fields",
    [{"actions": (4, 4)}, {"actions": (99,)}, {"actions": (0, 1)}, {"seats": (0, 0)}, {"outcome": Outcome.NONE}],
)
def test_a_record_that_contradicts_the_rules_is_never_an_error_of_the_server(
    client: Client, stage: Stage, fields: dict[str, object]
) -> None:
    damage_match(stage.duel, 1, **fields)

    page, data = client.get(address(stage.duel)), client.get(address(stage.duel) + "frames.json")

    assert page.status_code in (200, 404)
    if "actions" in fields:
        assertContains(page, "does not fit its rules")
        assert data.status_code == 404
        assertContains(page, "Match 1")


def test_rules_that_are_gone_leave_the_facts_of_a_match(client: Client, stage: Stage) -> None:
    Duel.objects.update(environment_version="tic-tac-toe-v0")

    page = client.get(address(stage.duel))

    assertContains(page, "tic-tac-toe-v0 that this arena no longer has")
    assertContains(page, ">first seat")
    assertNotContains(page, "player.js")


def test_self_play_is_watched_by_those_who_may_see_the_logs(stage: Stage, cast: Cast, visit: As) -> None:
    validation = played.play_validation(stage.anna)
    path = f"/validations/{validation.pk}/matches/2/"

    for person in (cast.alice, cast.olga):
        page = visit(person).get(path)
        assertContains(page, "anna v1 (player 2)")
        assertContains(page, "self-play of version 1")
        assert frames(visit(person), path)[0]["caption"] == "Start. anna v1 (player 2) moves first"
    for outsider in (None, cast.bob, cast.charlie):
        assert visit(outsider).get(path).status_code == 404
        assert visit(outsider).get(path + "frames.json").status_code == 404
    assertContains(visit(None).get(f"/validations/{played.play_validation(stage.clara).pk}/matches/1/"), "clara v1")


def test_self_play_that_does_not_exist_or_is_not_played_has_a_page(stage: Stage, cast: Cast, visit: As) -> None:
    waiting = Validation.objects.create(submission=stage.anna, seed=1, match_count=4)

    assert visit(cast.alice).get("/validations/98765/matches/1/").status_code == 404
    assertContains(
        visit(cast.alice).get(f"/validations/{waiting.pk}/matches/1/"), "is waiting for a worker", status_code=409
    )


def test_the_moves_of_an_opening_are_marked_and_are_nobodys() -> None:
    spec = get_spec("connect-four")
    record = match_record(spec, 1, seed=7)

    views = frame_views(spec, record, ("anna v1", "berta v1"))

    assert views[0].caption == "Start. anna v1 has the first seat; the arena plays the opening"
    assert [view.is_opening for view in views[: record.opening_count + 2]] == [False, *[True] * 4, False]
    assert [view.caption for view in views[1:3]] == ["Opening for anna v1: column 4", "Opening for berta v1: column 6"]
    assert views[5].caption == f"anna v1 played column {record.actions[4]}"
    assert views[5].move == f"column {record.actions[4]}"


def test_the_page_of_a_match_counts_the_moves_of_the_opening(client: Client, stage: Stage) -> None:
    damage_match(stage.duel, 1, opening_count=2)

    page = client.get(address(stage.duel))

    assertContains(page, "of which 2 are the opening")
    assertContains(page, "the arena plays the opening")
    assert [state["is_opening"] for state in frames(client, address(stage.duel))[:4]] == [False, True, True, False]
