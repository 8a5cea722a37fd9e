"""Replays of recorded episodes as files: pages and API, and who gets them while seeds are hidden."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from core.models import Environment, Evaluation, JobState, Recording, SeedList
from core.tests.factories import Cast
from tests.worlds import Fresh
from web.conftest import As
from web.site.tests.test_limits import rates
from web.tests import scored

pytestmark = pytest.mark.django_db
SEED = 424242


def document(words: str) -> dict[str, Any]:
    frame = {"frame_number": 0, "observations": {"7": [1.0]}, "actions": {"7": 1}, "info": {"text": words}}
    metadata = {"match_id": "evaluation-1-episode-1", "seed": SEED, "observations": "included"}
    return {"version": "1.0", "metadata": metadata, "truncated": False, "frames": [frame, frame, frame]}


@pytest.fixture(scope="module")
def shared_evaluation(shared_cast: Cast, shared_environment: Environment) -> Evaluation:
    task = scored.environment()
    return scored.evaluation(scored.submission(shared_cast.alice, task, "mine"), scored.scores_around(200, 20))


@pytest.fixture
def evaluation(shared_evaluation: Evaluation, fresh: Fresh) -> Evaluation:
    return fresh(shared_evaluation)


@pytest.fixture
def revealed(evaluation: Evaluation) -> None:
    SeedList.objects.update(revealed_at=timezone.now())


def file(row: Evaluation, form: str, choice: str = "best") -> str:
    return f"/evaluations/{row.pk}/episodes/{choice}/replay.{form}"


def api(row: Evaluation, choice: str = "best", query: str = "") -> str:
    return f"/api/v1/evaluations/{row.pk}/recordings/{choice}/replay/{query}"


@pytest.mark.usefixtures("revealed")
def test_pages_and_programs_get_the_same_files(client: Client, evaluation: Evaluation) -> None:
    scored.recording(evaluation, Recording.Choice.BEST, replay=document("mine"))
    for form, kind in (("json", "application/json"), ("html", "text/html; charset=utf-8")):
        page, program = client.get(file(evaluation, form)), client.get(api(evaluation, query=f"?format={form}"))

        assert page.status_code == 200
        assert page.content == program.content
        for response in (page, program):
            assert response["Content-Type"] == kind
            name = f"evaluation-{evaluation.pk}-best.{form}"
            assert response["Content-Disposition"] == f'attachment; filename="{name}"'
    assert json.loads(client.get(file(evaluation, "json")).content) == document("mine")


@pytest.mark.usefixtures("revealed")
def test_programs_choose_what_a_document_holds(client: Client, evaluation: Evaluation) -> None:
    scored.recording(evaluation, Recording.Choice.BEST, replay=document("mine"))
    query = "?include_observations=false&include_actions=false&max_frames=2&gzip=true"
    response = client.get(api(evaluation, query=query))

    assert response["Content-Type"] == "application/gzip"
    found = json.loads(gzip.decompress(response.content))
    assert (found["truncated"], len(found["frames"])) == (True, 2)
    assert (found["frames"][1]["actions"], found["frames"][1]["observations"]) == ({}, {})
    assert found["metadata"]["observations"] == "left out"
    assert client.get(api(evaluation, query="?format=pdf")).status_code == 400


@pytest.mark.usefixtures("revealed")
def test_a_file_in_hand_is_not_sent_again(client: Client, evaluation: Evaluation) -> None:
    scored.recording(evaluation, Recording.Choice.BEST, replay=document("mine"))
    tags = set()
    for address in (file(evaluation, "json"), file(evaluation, "html"), api(evaluation, query="?gzip=true")):
        first = client.get(address)
        again = client.get(address, headers={"If-None-Match": first["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        tags.add(first["ETag"])
    assert len(tags) == 3


@pytest.mark.slow
def test_while_seeds_are_hidden_only_practice_is_sent(evaluation: Evaluation, cast: Cast, visit: As) -> None:
    scored.recording(evaluation, Recording.Choice.WORST, replay=document("ranks"))
    practice = scored.practised(evaluation.submission)
    scored.recording(evaluation, Recording.Choice.BEST, replay=document("practice"), practice=practice)
    hidden = [
        file(evaluation, "json", "worst"),
        file(evaluation, "html", "worst"),
        api(evaluation, "worst"),
        api(evaluation, "worst", "?format=html&max_frames=1"),
    ]
    for person in (None, cast.alice, cast.bob):
        client = visit(person)
        for address in hidden:
            response = client.get(address, headers={"If-None-Match": "*"})
            assert response.status_code == 404
            assert str(SEED) not in response.content.decode()
            assert "ETag" not in response
        for address in (file(evaluation, "json"), file(evaluation, "html"), api(evaluation)):
            assert b"practice" in client.get(address).content
        page = client.get(f"/evaluations/{evaluation.pk}/").content.decode()
        assert file(evaluation, "html") in page
        assert file(evaluation, "html", "worst") not in page
    assert b"ranks" in visit(cast.olga).get(hidden[0]).content
    SeedList.objects.update(revealed_at=timezone.now())
    for address in hidden:
        assert b"ranks" in visit(None).get(address).content


@pytest.mark.usefixtures("revealed")
def test_what_is_not_there_is_said_to_be_so(client: Client, evaluation: Evaluation) -> None:
    row = scored.recording(evaluation, Recording.Choice.BEST, replay=document("mine"))
    scored.recording(evaluation, Recording.Choice.MEDIAN, state=JobState.QUEUED)
    scored.recording(evaluation, Recording.Choice.WORST)
    for choice, status in (("median", 409), ("worst", 404), ("BEST", 404), ("sixth", 404)):
        assert client.get(file(evaluation, "json", choice)).status_code == status
        assert client.get(api(evaluation, choice)).status_code == status
    assert client.get(file(evaluation, "pdf")).status_code == 404
    assert client.get("/evaluations/999999999/episodes/best/replay.json").status_code == 404
    with row.replay_document.storage.open(str(row.replay_document.name), "wb") as damaged:
        damaged.write(b"\x1f\x8b broken")
    response = client.get(file(evaluation, "json"))
    assert (response.status_code, "damaged" in response.content.decode()) == (404, True)


@pytest.mark.usefixtures("revealed")
def test_files_of_episodes_count_as_those_of_matches(
    client: Client, evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored.recording(evaluation, Recording.Choice.BEST, replay=document("mine"))
    rates(monkeypatch, replay_file="2/minute")

    answers = [client.get(address) for address in (file(evaluation, "json"), api(evaluation), file(evaluation, "html"))]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert "downloaded too many replays" in answers[2].content.decode()
