from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains

from core.jobs.lifecycle import job_claim, job_fail, job_heartbeat
from core.models import Duel, Environment, JobFault, Participant, Tournament, TournamentState
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.services import tournament_finish
from core.tournaments.strikes import duel_void
from web.conftest import As
from web.tests import played
from web.tests.arena import Stage, staged

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def shared_stage(shared_cast: Cast, shared_environment: Environment) -> Stage:
    return staged(shared_cast, shared_environment, 10)


def address(name: str, edition: int = 1) -> str:
    return f"/environments/tic-tac-toe/editions/{edition}/agents/{name}/"


def row_against(client: Client, name: str, opponent: str, at: str = "") -> str:
    """The words of one row of a participant's table."""
    page = client.get(at or address(name)).content.decode()
    rows = re.findall(r"<tr role=\"row\">(.*?)</tr>", page, re.DOTALL)
    (row,) = [row for row in rows if f"/agents/{opponent}/" in row]
    return " ".join(re.sub(r"<[^>]+>", " ", row).split())


def test_both_sides_see_the_same_duel_from_their_own_side(client: Client, stage: Stage) -> None:
    duel = stage.duel
    first, second = ("Won", "Lost") if duel.outcome == "PLAYER_1" else ("Lost", "Won")

    figures = f"{duel.player_1_wins} {duel.draws} {duel.player_2_wins} 1 2"
    mirrored = f"{duel.player_2_wins} {duel.draws} {duel.player_1_wins} 2 1"

    assert row_against(client, "anna", "berta").startswith(f"berta v1 by bob {first} {figures} Matches")
    assert row_against(client, "berta", "anna").startswith(f"anna v1 by alice {second} {mirrored} Matches")


def test_a_drawn_duel_is_drawn_for_both(client: Client, stage: Stage) -> None:
    Duel.objects.filter(pk=stage.duel.pk).update(outcome="DRAW")

    assert "Drawn" in row_against(client, "anna", "berta")
    assert "Drawn" in row_against(client, "berta", "anna")


def test_duels_show_how_far_they_are_and_why_they_do_not_count(client: Client, stage: Stage, cast: Cast) -> None:
    dora, emma, fritz = (
        played.ready(factories.agent(cast.bob, stage.environment, n)) for n in ("dora", "emma", "fritz")
    )
    for player in (dora, emma, fritz):
        Participant.objects.create(tournament=stage.tournament, submission=player)
    played.waiting_duel(stage.tournament, stage.clara, stage.anna)
    running = job_claim(
        kind=Duel, job_id=played.waiting_duel(stage.tournament, stage.anna, dora, 50).pk, worker="worker-1"
    )
    failed = job_claim(kind=Duel, job_id=played.waiting_duel(stage.tournament, emma, stage.anna).pk, worker="worker-1")
    struck = played.play(played.waiting_duel(stage.tournament, fritz, stage.anna))
    assert running is not None
    assert failed is not None
    job_heartbeat(job=running, progress={"matches_done": 20})
    job_fail(job=failed, fault=JobFault.PLATFORM, code="engine_down", error="The engine did not answer.")
    duel_void(duel=struck, reason="The clock was wrong.", user=cast.olga)

    assert row_against(client, "anna", "clara").startswith("clara v1 by charlie Waiting – – – – – Duel")
    assert row_against(client, "anna", "dora").startswith("dora v1 by bob Running 20 of 50")
    assert row_against(client, "anna", "emma").startswith("emma v1 by bob Void The engine did not answer.")
    assert row_against(client, "anna", "fritz").startswith("fritz v1 by bob Void The clock was wrong.")


def test_the_page_is_live_until_the_edition_ends(client: Client, stage: Stage) -> None:
    running = client.get(address("anna"))
    part = client.get(address("anna"), headers={"HX-Request": "true", "HX-Target": "participant"})
    tournament_finish(tournament=stage.tournament)
    over = client.get(address("anna"))

    assertContains(running, 'hx-trigger="every 2s"')
    assertContains(part, "berta")
    assertNotContains(part, "<html")
    assertNotContains(over, "hx-trigger")


def test_names_are_found_in_any_case(client: Client, stage: Stage) -> None:
    assertContains(client.get(address("ANNA")), "berta")


@pytest.mark.parametrize(
    "path", [address("nobody"), address("anna", 2), address("anna").replace("tic-tac-toe", "chess")]
)
def test_what_takes_no_part_is_not_found(client: Client, stage: Stage, path: str) -> None:
    assert client.get(path).status_code == 404


def test_own_logs_are_offered_to_those_who_may_read_them(stage: Stage, cast: Cast, visit: As) -> None:
    log = f"/duels/{stage.duel.pk}/logs/player_1/"

    assertContains(visit(cast.alice).get(address("anna")), log)
    assertNotContains(visit(cast.bob).get(address("anna")), log)
    assertNotContains(visit(cast.alice).get(address("berta")), "/logs/")


def test_many_duels_ask_the_database_no_more_than_few(
    client: Client, stage: Stage, cast: Cast, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(12):
        other = played.ready(factories.agent(cast.bob, stage.environment, f"other-{number}"))
        Participant.objects.create(tournament=stage.tournament, submission=other)
        played.waiting_duel(stage.tournament, stage.anna, other)

    with django_assert_max_num_queries(5):
        client.get(address("anna"))


@pytest.mark.slow
def test_an_owner_withdraws_an_agent_from_a_running_tournament(visit: As, cast: Cast, stage: Stage) -> None:
    page, place = "/environments/tic-tac-toe/editions/1/", Participant.objects.get(submission=stage.anna)
    button = 'action="/environments/tic-tac-toe/editions/1/agents/anna/withdraw/"'
    assertNotContains(visit(cast.alice).get(page), button)
    Tournament.objects.update(is_automatic=False, state=TournamentState.RUNNING, ended_at=None)
    assertContains(visit(cast.alice).get(page), button)
    assertNotContains(visit(cast.bob).get(page), button)
    # It goes from an open page when the tournament ends.
    part = {"HX-Request": "true", "HX-Target": "tournament"}
    assertContains(visit(cast.alice).get(page, headers=part), button)
    Tournament.objects.update(state=TournamentState.FINISHED, ended_at=timezone.now())
    ended = visit(cast.alice).get(page, headers=part)
    assertContains(ended, 'id="tournament"')
    assertNotContains(ended, button)
    Tournament.objects.update(state=TournamentState.RUNNING, ended_at=None)

    links = "/environments/tic-tac-toe/agents/anna/"
    assertContains(visit(cast.alice).get(links), "It leaves Edition 1, for good. Its results stay.")
    answer = visit(cast.alice).post(f"{page}agents/anna/withdraw/", follow=True)
    assertNotContains(visit(cast.alice).get(links), "for good. Its results stay.")

    place.refresh_from_db()
    assert place.withdrawn_at is not None
    assertContains(answer, "anna has withdrawn. Its duels stay in its history.")
    assertNotContains(answer, button)
    again = visit(cast.alice).post(f"{page}agents/anna/withdraw/", follow=True)
    assertContains(again, "anna no longer takes part: it has left, or the tournament is over.")
