from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from core.models import Audience, Duel, Environment, Tournament
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.site.tests.test_limits import rates
from web.tests import played
from web.tests.arena import Stage, damage_match, lose_files, staged

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(scope="module")
def shared_stage(shared_cast: Cast, shared_environment: Environment) -> Stage:
    return staged(shared_cast, shared_environment, match_count=8)


def file(duel: Duel, form: str, number: int = 1) -> str:
    return f"/duels/{duel.pk}/matches/{number}/replay.{form}"


def api(duel: Duel, number: int = 1, query: str = "") -> str:
    return f"/api/v1/duels/{duel.pk}/matches/{number}/replay/{query}"


def embed(duel: Duel, number: int = 1) -> str:
    return f"/embed/duels/{duel.pk}/matches/{number}/"


def document(client: Client, address: str) -> dict[str, Any]:
    response = client.get(address)
    assert response.status_code == 200, response.content
    data: dict[str, Any] = json.loads(response.content)
    return data


def test_pages_and_programs_get_the_same_files(client: Client, stage: Stage) -> None:
    for form, kind in (("json", "application/json"), ("html", "text/html; charset=utf-8")):
        page, program = client.get(file(stage.duel, form)), client.get(api(stage.duel, query=f"?format={form}"))

        assert page.content == program.content
        for response in (page, program):
            assert response["Content-Type"] == kind
            name = f"duel-{stage.duel.pk}-match-1.{form}"
            assert response["Content-Disposition"] == f'attachment; filename="{name}"'
            assert response["X-Content-Type-Options"] == "nosniff"


def test_a_document_says_who_played_and_when(client: Client, stage: Stage) -> None:
    metadata = document(client, file(stage.duel, "json", 2))["metadata"]

    assert metadata["match_id"] == f"duel-{stage.duel.pk}-match-2"
    assert [(agent["agent_id"], agent["name"], agent["version"]) for agent in metadata["agents"]] == [
        (str(stage.anna.agent_id), "anna v1", 1),
        (str(stage.berta.agent_id), "berta v1", 1),
    ]
    assert stage.duel.started_at is not None
    assert metadata["start_time"] == stage.duel.started_at.isoformat()
    assert metadata["environment_version"] == "tic-tac-toe-v1"


def test_programs_choose_what_a_document_holds(client: Client, stage: Stage) -> None:
    query = "?include_observations=false&include_actions=false&max_frames=2&gzip=true"
    response = client.get(api(stage.duel, query=query))

    assert response["Content-Type"] == "application/gzip"
    assert response["Content-Disposition"].endswith('.json.gz"')
    data = json.loads(gzip.decompress(response.content))
    assert (data["truncated"], len(data["frames"])) == (True, 2)
    assert data["frames"][1]["actions"] == {} == data["frames"][1]["observations"]


@pytest.mark.parametrize("query", ["?format=pdf", "?max_frames=0", "?max_frames=10001", "?include_actions=perhaps"])
def test_a_wish_that_is_not_understood_is_refused_by_its_name(client: Client, stage: Stage, query: str) -> None:
    response = client.get(api(stage.duel, query=query))

    assert response.status_code == 400
    assert list(response.json()) == [query[1:].partition("=")[0]]


def test_a_file_in_hand_is_not_sent_again(client: Client, stage: Stage) -> None:
    for address in (file(stage.duel, "json"), file(stage.duel, "html"), api(stage.duel), embed(stage.duel)):
        first = client.get(address)
        again = client.get(address, headers={"If-None-Match": first["ETag"]})

        assert (again.status_code, again.content) == (304, b"")
        assert again["ETag"] == first["ETag"]
        assert first["Cache-Control"] == ("public, max-age=300" if "embed" in address else "private, no-cache")
    tags = {client.get(file(stage.duel, form, number))["ETag"] for form in ("json", "html") for number in (1, 2)}
    assert len(tags) == 4


def test_a_new_name_or_record_gives_a_new_tag(client: Client, stage: Stage) -> None:
    before = client.get(file(stage.duel, "json"))["ETag"]
    stage.anna.agent.name = "annabel"
    stage.anna.agent.save()
    renamed = client.get(file(stage.duel, "json"))["ETag"]
    damage_match(stage.duel, 2, seed=99)

    assert len({before, renamed, client.get(file(stage.duel, "json"))["ETag"]}) == 3


def test_self_play_is_sent_to_those_who_may_see_the_logs(stage: Stage, cast: Cast, visit: As) -> None:
    row = played.play_validation(stage.anna)
    addresses = [
        *(f"/validations/{row.pk}/matches/1/replay.{form}" for form in ("json", "html")),
        f"/api/v1/validations/{row.pk}/matches/1/replay/",
    ]
    for address in addresses:
        for person in (cast.alice, cast.olga):
            assert visit(person).get(address).status_code == 200
        for outsider in (None, cast.bob, cast.charlie):
            assert visit(outsider).get(address).status_code == 404
    names = document(visit(cast.alice), addresses[0])["metadata"]["agents"]
    assert [agent["agent_id"] for agent in names] == [f"{stage.anna.agent_id}:1", f"{stage.anna.agent_id}:2"]


def test_results_that_are_held_back_are_in_no_file(stage: Stage, cast: Cast, visit: As) -> None:
    Tournament.objects.update(results=Audience.PARTICIPANTS)
    addresses = [
        file(stage.duel, "json"),
        file(stage.duel, "html"),
        api(stage.duel),
        api(stage.duel, query="?format=html"),
    ]
    for address in addresses:
        assert visit(None).get(address).status_code == 403
        assert visit(cast.alice).get(address).status_code == 200
    for address in (embed(stage.duel), embed(stage.duel) + "card.png"):
        for person in (None, cast.alice, cast.olga):
            response = visit(person).get(address)
            assert response.status_code == 403
            assert "until they are released" in response.content.decode()
            assert response["Content-Security-Policy"].endswith("frame-ancestors *")


def test_what_cannot_be_replayed_says_why(client: Client, stage: Stage) -> None:
    waiting = played.waiting_duel(stage.tournament, stage.anna, stage.clara)
    for address in (file(waiting, "json"), file(waiting, "html"), api(waiting), embed(waiting)):
        response = client.get(address)
        assert (response.status_code, "is waiting for a worker" in response.content.decode()) == (409, True)
    assert client.get(file(stage.duel, "pdf")).status_code == 404
    assert client.get(file(stage.duel, "json", 99)).status_code == 404
    assert client.get(embed(stage.duel, 99)).status_code == 404
    assert client.get("/embed/duels/98765/matches/1/").status_code == 404
    damage_match(stage.duel, 1, actions=(4, 4))
    for address in (file(stage.duel, "json"), file(stage.duel, "html"), api(stage.duel), embed(stage.duel)):
        response = client.get(address)
        assert (response.status_code, "does not fit its rules" in response.content.decode()) == (404, True)
    lose_files(stage.duel)
    assert client.get(file(stage.duel, "json")).status_code == 404


def test_a_forfeit_quotes_no_source(client: Client, stage: Stage) -> None:
    for address in (file(stage.duel, "json", 4), file(stage.duel, "html", 4), embed(stage.duel, 4)):
        content = client.get(address).content.decode()
        assert "berta" in content
        assert "secret_move" not in content


def test_embedded_pages_alone_may_be_framed(client: Client, stage: Stage) -> None:
    for address in (embed(stage.duel), embed(stage.duel) + "card.png"):
        response = client.get(address)
        policy = response["Content-Security-Policy"]
        assert response.status_code == 200
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert policy.endswith("; frame-ancestors *")
        assert "'self'" not in policy
        assert "X-Frame-Options" not in response
        assert response["Cross-Origin-Resource-Policy"] == "cross-origin"
        assert response.cookies == {}
    for address in ("/", f"/duels/{stage.duel.pk}/matches/1/", file(stage.duel, "html")):
        response = client.get(address)
        assert "frame-ancestors 'none'" in response["Content-Security-Policy"]
        assert response["X-Frame-Options"] == "DENY"


def test_an_embedded_page_is_the_same_to_everyone(stage: Stage, cast: Cast, visit: As) -> None:
    pages = {visit(person).get(embed(stage.duel)).content for person in (None, cast.alice, cast.olga)}

    assert len(pages) == 1


def test_other_sites_can_preview_a_match(client: Client, stage: Stage) -> None:
    for address in (embed(stage.duel, 3), f"/duels/{stage.duel.pk}/matches/3/"):
        page = client.get(address).content.decode()
        assert '<meta property="og:title" content="anna v1 against berta v1">' in page
        card = f"http://127.0.0.1{embed(stage.duel, 3)}card.png"
        assert f'<meta property="og:image" content="{card}">' in page
        assert "match 3 of 8: anna v1 forfeits, berta v1 wins." in page


def test_a_match_offers_its_files_and_a_line_that_embeds_it(client: Client, stage: Stage) -> None:
    page = client.get(f"/duels/{stage.duel.pk}/matches/2/").content.decode()

    for form in ("html", "json"):
        assert f'href="{file(stage.duel, form, 2)}"' in page
    snippet = (
        f"&lt;iframe src=&quot;http://127.0.0.1{embed(stage.duel, 2)}&quot; title=&quot;anna v1 against berta v1&quot;"
    )
    assert snippet in page


def test_a_match_that_not_everyone_may_see_is_not_offered_to_other_sites(stage: Stage, cast: Cast, visit: As) -> None:
    Tournament.objects.update(results=Audience.PARTICIPANTS)
    for person in (cast.alice, cast.olga):
        page = visit(person).get(f"/duels/{stage.duel.pk}/matches/2/").content.decode()
        assert file(stage.duel, "html", 2) in page
        assert "iframe" not in page
        assert "og:title" not in page


def test_pages_and_files_call_seats_the_same(client: Client, stage: Stage) -> None:
    for address in (f"/duels/{stage.duel.pk}/matches/2/", embed(stage.duel, 2), file(stage.duel, "html", 2)):
        page = client.get(address).content.decode()
        assert '<span class="muted">first seat</span>' in page
        assert page.index('class="disc player-2"') < page.index('class="disc player-1"')


def test_self_play_offers_files_and_cannot_be_embedded(stage: Stage, cast: Cast, visit: As) -> None:
    row = played.play_validation(stage.anna)
    page = visit(cast.alice).get(f"/validations/{row.pk}/matches/1/").content.decode()

    assert reverse("web:validation_replay", args=[row.pk, 1, "html"]) in page
    assert "iframe" not in page
    assert "og:title" not in page


def test_files_and_embedded_pages_have_limits_of_their_own(
    client: Client, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates(monkeypatch, replay="1/minute", replay_file="2/minute")
    answers: list[HttpResponse] = [
        client.get(address)  # type: ignore[misc]  # the client's own kind of response
        for address in (
            file(stage.duel, "json"),
            api(stage.duel),
            file(stage.duel, "html"),
            embed(stage.duel),
            embed(stage.duel),
        )
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 429, 200, 429]
    assert "downloaded too many replays" in answers[2].content.decode()
    assert answers[4]["Content-Security-Policy"].endswith("frame-ancestors *")
    assert "Retry-After" in answers[4]


def test_names_are_text_in_files_and_embedded_pages(client: Client, stage: Stage) -> None:
    name = '</script><img src=x onerror=alert(1)>"\u202e'
    type(stage.anna.agent).objects.filter(pk=stage.anna.agent_id).update(name=name[:50])

    for address in (file(stage.duel, "html"), embed(stage.duel)):
        page = client.get(address).content.decode()
        assert "<img src=x" not in page
        assert "&lt;/script&gt;&lt;img" in page
        assert "\u202e" not in page
    assert client.get(embed(stage.duel) + "card.png").status_code == 200


def test_challenges_have_replays_too(client: Client, stage: Stage) -> None:
    Duel.objects.update(tournament=None, challenge=factories.challenge(stage.anna))

    assert client.get(file(stage.duel, "json")).status_code == 200
    assert client.get(embed(stage.duel)).status_code == 200
