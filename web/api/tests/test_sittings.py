"""Programs of people who sit down against an agent: begin, look, move, resign, with the limits of the pages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from arena_kit.environment.registry import get_spec
from core.jobs.control import job_cancel
from core.models import Agent, CancelCode, JobState, Opponents, Sitting, SittingMove
from core.sittings.services import opponents_set
from core.tests import factories
from core.tests.factories import Cast
from web.api.tests.conftest import Program
from web.tests.arena import staged

pytestmark = pytest.mark.django_db
V1 = "/api/v1/sittings/"


def agent(cast: Cast, game: str = "quarto", opponents: str = Opponents.MEMBERS) -> Agent:
    row = factories.ready(factories.agent(cast.alice, factories.environment(game), "anna"))
    opponents_set(agent=row.agent, opponents=opponents)
    return row.agent


def sent(client: Client, address: str, **fields: object) -> Any:
    return client.post(address, fields, content_type="application/json")


def begun(client: Client, opponent: Agent, **fields: object) -> dict[str, Any]:
    answer = sent(client, V1, agent=opponent.pk, seat="first", **fields)
    assert answer.status_code == 201, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_a_match_is_begun_played_and_resigned(cast: Cast, program: Program) -> None:
    bob, stranger = program(cast.bob), Client()
    made = begun(bob, agent(cast))
    assert (made["environment"], made["seat"], made["state"], made["page"]) == (
        "quarto", "first", "QUEUED", f"/sittings/{made['id']}/"
    )  # fmt: skip
    assert (made["is_yours"], made["is_your_turn"], made["step"], made["moves"]) == (True, True, 0, [])
    assert len(made["observation"]) == 17
    assert {"action": 16 * 6 + 1, "name": "Cell c2, small dark solid square"} in made["actions"]
    assert [row["id"] for row in bob.get(V1).json()] == [made["id"]]

    here = f"{V1}{made['id']}/"
    moved = sent(bob, f"{here}moves/", step=0, action=16 * 6 + 1)
    assert moved.status_code == 200, moved.content
    assert (moved.json()["is_your_turn"], moved.json()["actions"], moved.json()["step"]) == (False, [], 1)
    words = "the large dark hollow round on c2, handing over the small dark solid square"
    assert moved.json()["moves"] == [{"step": 0, "seat": "first", "action": 97, "words": words}]
    SittingMove.objects.create(sitting=Sitting.objects.get(), step=1, seat=1, action=16 * 15 + 2)
    assert bob.get(here).json()["is_your_turn"] is True

    # Everyone may watch, and sees neither what the seat sees nor what it could play.
    watched = stranger.get(here).json()
    assert (watched["is_yours"], watched["is_your_turn"], watched["actions"]) == (False, False, [])
    assert (watched["observation"], len(watched["moves"])) == (None, 2)

    resigned = sent(bob, f"{here}resign/")
    assert (resigned.status_code, resigned.json()["is_your_turn"]) == (200, False)
    assert Sitting.objects.get().resigned_at is not None


def test_what_the_pages_refuse_is_refused(cast: Cast, program: Program, settings: Settings) -> None:
    opponent, bob, charlie = agent(cast), program(cast.bob), program(cast.charlie)
    assert sent(Client(), V1, agent=opponent.pk).status_code == 401
    assert sent(bob, V1, agent=10**9).json() == {"agent": ["There is no such agent."]}
    assert sent(bob, V1, agent=opponent.pk, seat="third").status_code == 400
    here = f"{V1}{begun(bob, opponent)['id']}/"
    for wrong, why in (
        ({"step": 0, "action": 255}, "not possible here"),
        ({"step": 1, "action": 97}, "not your turn"),
    ):
        refused = sent(bob, f"{here}moves/", **wrong)
        assert (refused.status_code, why in refused.json()["detail"]) == (400, True)
    assert sent(bob, f"{here}moves/", action=97).json() == {"step": ["This field is required."]}
    for action in ("moves", "resign"):
        assert sent(charlie, f"{here}{action}/", step=0, action=97).status_code == 403
        assert sent(Client(), f"{here}{action}/", step=0, action=97).status_code == 401
        assert sent(bob, f"{V1}{uuid4()}/{action}/", step=0, action=97).status_code == 404
    assert not SittingMove.objects.exists()

    begun(bob, opponent)
    assert "You have 2 matches against agents open" in sent(bob, V1, agent=opponent.pk).json()["detail"]
    settings.QUOTAS = settings.QUOTAS | {"sittings_per_day": 1}
    begun(charlie, opponent)
    refused = sent(charlie, V1, agent=opponent.pk)
    assert (refused.status_code, refused.json()["code"]) == (429, "quota_sittings_per_day")
    opponents_set(agent=opponent, opponents=Opponents.NOBODY)
    assert "does not let people play" in sent(program(cast.olga), V1, agent=opponent.pk).json()["detail"]


def test_hidden_information_is_told_to_the_seat_that_has_it(
    cast: Cast, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = replace(get_spec("tic-tac-toe-v2"), isolation="apart")
    monkeypatch.setattr("web.sittings.seen.spec_get", lambda sitting: apart)
    bob = program(cast.bob)
    here = f"{V1}{begun(bob, agent(cast, 'tic-tac-toe'))['id']}/"
    sent(bob, f"{here}moves/", step=0, action=4)
    own, other = bob.get(here).json(), Client().get(here).json()
    assert own["observation"] is not None
    assert (own["moves"], other["moves"], other["observation"]) == ([], [], None)
    assert "hidden information" in other["text"]


def test_a_match_that_was_stopped_says_why(cast: Cast, program: Program) -> None:
    bob = program(cast.bob)
    here = f"{V1}{begun(bob, agent(cast))['id']}/"
    job_cancel(job=Sitting.objects.get(), code=CancelCode.BY_ORGANISER, reason="An organiser stopped it.")
    over = bob.get(here).json()
    assert (over["state"], over["error"]) == (JobState.CANCELLED, "An organiser stopped it.")
    assert (over["step"], over["text"], over["actions"], over["winner"], over["replay"]) == (None, "", [], None, None)
    assert bob.get(V1).json() == []


def test_a_person_goes_on_from_a_match(cast: Cast, program: Program) -> None:
    stage = staged(cast, factories.environment("tic-tac-toe"), 4)
    duel, opponent = stage.duel.pk, stage.clara.agent
    made = begun(program(cast.bob), opponent, duel=duel, match=1, ply=2)
    row = Sitting.objects.get()
    assert (row.origin_id, row.origin_match, row.origin_ply) == (duel, 1, 2)
    assert made["step"] == 0
    assert sent(program(cast.bob), V1, agent=opponent.pk, duel=duel, match=99).status_code == 404
