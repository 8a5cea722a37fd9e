from __future__ import annotations

import gzip
import io
import json
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.utils import timezone

from arena_kit.environment.record_archive import DuelArchive
from arena_kit.environment.records import record_sha256
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay import replay
from core.models import Duel, Environment, JobState, Submission
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As
from web.tests import played
from web.tests.arena import MATCH_COUNT, Stage, damage_match, lose_files

pytestmark = pytest.mark.django_db


def body(client: Client, path: str) -> bytes:
    """What is downloaded; it must be an attachment that no browser shows as something else."""
    response: Any = client.get(path)
    assert response.status_code == 200
    assert response["Content-Disposition"].startswith("attachment; filename=")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Type"] in (
        "application/zip", "application/gzip", "application/json", "text/plain; charset=utf-8",
    )  # fmt: skip
    return b"".join(response)


def sentence(client: Client, path: str, status: int) -> str:
    response = client.get(path)
    assert response.status_code == status
    return response.content.decode()


def document(client: Client, duel: Duel) -> dict[str, object]:
    result: dict[str, object] = json.loads(gzip.decompress(body(client, f"/duels/{duel.pk}/results.json.gz")))
    return result


def test_everyone_gets_the_classic_document(client: Client, stage: Stage) -> None:
    data = document(client, stage.duel)

    matches = data.pop("matches")
    assert isinstance(matches, list)
    assert data["num_matches"] == len(matches) == MATCH_COUNT
    assert (data["player_1_errors"], data["player_2_errors"], data["other_errors"]) == (1, 2, 0)
    assert data["player_1_wins"] == stage.duel.player_1_wins
    assert [matches[number]["result"] for number in (2, 3, 5)] == ["PLAYER_1_ERROR", "PLAYER_2_ERROR", "PLAYER_2_ERROR"]
    assert matches[0]["states"][0]["cells"] == [0] * 9


def test_the_classic_document_says_by_what_it_can_be_checked(client: Client, stage: Stage) -> None:
    assert document(client, stage.duel)["check"] == {
        "environment": "tic-tac-toe-v1",
        "seed": stage.duel.seed,
        "player_1_image": played.DIGESTS[0],
        "player_2_image": played.DIGESTS[1],
        "sha256": stage.duel.record_sha256,
    }


def test_downloaded_records_have_the_hash_of_the_page_with_and_without_traces(
    stage: Stage, cast: Cast, visit: As
) -> None:
    for person in (None, cast.alice, cast.olga):
        archive = DuelArchive(io.BytesIO(body(visit(person), f"/duels/{stage.duel.pk}/records.zip")))
        assert record_sha256(archive.record()) == stage.duel.record_sha256


def test_the_classic_document_is_the_same_bytes_every_time(client: Client, stage: Stage) -> None:
    path = f"/duels/{stage.duel.pk}/results.json.gz"

    assert body(client, path) == body(client, path)


def test_downloaded_records_can_be_replayed(client: Client, stage: Stage) -> None:
    archive = DuelArchive(io.BytesIO(body(client, f"/duels/{stage.duel.pk}/records.zip")))

    record = archive.record()
    assert record.players == ("anna v1", "berta v1")
    assert record.summary.wins == (stage.duel.player_1_wins, stage.duel.player_2_wins)
    *_, end = replay(get_spec("tic-tac-toe-v1"), record.matches[0])
    assert end.text


def test_traces_in_the_records_go_to_those_who_may_see_the_source(stage: Stage, cast: Cast, visit: As) -> None:
    def errors(client: Client) -> list[str]:
        archive = DuelArchive(io.BytesIO(body(client, f"/duels/{stage.duel.pk}/records.zip")))
        return [archive.match(number).error for number in (3, 4)]

    with_trace = f"{played.SENTENCE}\n{played.TRACE}"
    assert errors(visit(None)) == [played.SENTENCE, played.SENTENCE]
    assert errors(visit(cast.alice)) == [with_trace, played.SENTENCE]
    assert errors(visit(cast.bob)) == [played.SENTENCE, with_trace]
    assert errors(visit(cast.olga)) == [with_trace, with_trace]


def test_the_arenas_log_is_public(client: Client, stage: Stage) -> None:
    assert body(client, f"/duels/{stage.duel.pk}/logs/arena/?download=1") == b"anna v1 against berta v1: played."


def test_a_players_log_goes_to_owner_staff_and_for_public_agents_to_everyone(
    stage: Stage, cast: Cast, visit: As
) -> None:
    public = played.play(played.waiting_duel(stage.tournament, stage.clara, stage.anna))
    private = f"/duels/{stage.duel.pk}/logs/player_1/"

    assert (
        body(visit(cast.alice), private + "?download=1")
        == body(visit(cast.olga), private + "?download=1")
        == b"one said hello\n"
    )
    assert body(visit(None), f"/duels/{public.pk}/logs/player_1/?download=1") == b"one said hello\n"
    for outsider in (None, cast.bob, cast.charlie):
        assert visit(outsider).get(private).status_code == 404


def test_a_player_that_printed_nothing_has_a_notice_instead_of_a_log(stage: Stage, cast: Cast, visit: As) -> None:
    assert "printed nothing" in sentence(visit(cast.bob), f"/duels/{stage.duel.pk}/logs/player_2/", 404)


@pytest.mark.parametrize("log", ["player_3", "settings", "arena_"])
def test_logs_that_do_not_exist_are_not_found(stage: Stage, cast: Cast, visit: As, log: str) -> None:
    assert visit(cast.olga).get(f"/duels/{stage.duel.pk}/logs/{log}/").status_code == 404


@pytest.mark.parametrize("name", ["results.json.gz", "records.zip"])
def test_a_duel_that_is_not_played_yet_has_nothing_to_download(client: Client, stage: Stage, name: str) -> None:
    waiting = played.waiting_duel(stage.tournament, stage.anna, stage.clara)

    assert "is waiting for a worker" in sentence(client, f"/duels/{waiting.pk}/{name}", 409)


@pytest.mark.parametrize("name", ["results.json.gz", "records.zip", "logs/player_1/"])
def test_a_file_that_is_gone_is_said_to_be_gone(stage: Stage, cast: Cast, visit: As, name: str) -> None:
    lose_files(stage.duel)

    assert "no longer stored" in sentence(visit(cast.olga), f"/duels/{stage.duel.pk}/{name}", 404)


def test_damaged_records_are_said_to_be_damaged(client: Client, stage: Stage) -> None:
    with stage.duel.records.storage.open(str(stage.duel.records.name), "r+b") as file:
        file.seek(0)
        file.truncate(len("PK and nothing more"))

    for name in ("results.json.gz", "records.zip"):
        assert "damaged" in sentence(client, f"/duels/{stage.duel.pk}/{name}", 404)


def test_records_that_do_not_fit_their_rules_make_no_document(client: Client, stage: Stage) -> None:
    damage_match(stage.duel, 5, actions=(4, 4))

    assert "do not fit its rules" in sentence(client, f"/duels/{stage.duel.pk}/results.json.gz", 404)


def test_records_of_rules_that_are_gone_make_no_document(client: Client, stage: Stage) -> None:
    Duel.objects.update(environment_version="tic-tac-toe-v0")

    said = sentence(client, f"/duels/{stage.duel.pk}/results.json.gz", 404)

    assert "tic-tac-toe-v0" in said
    assert "no longer has" in said


def test_source_goes_to_owner_and_staff_and_for_public_agents_to_everyone(stage: Stage, cast: Cast, visit: As) -> None:
    private, public = (f"/submissions/{row.pk}/archive.zip" for row in (stage.anna, stage.clara))

    assert (
        body(visit(cast.alice), private + "?download=1") == body(visit(cast.olga), private + "?download=1") == b"zip!"
    )
    assert body(visit(None), public) == b"zip!"
    response: Any = visit(cast.alice).get(private)
    assert b"".join(response)
    assert response["Content-Disposition"] == 'attachment; filename="anna-v1.zip"'
    for outsider in (None, cast.bob, cast.charlie):
        assert visit(outsider).get(private).status_code == 404


def test_a_private_submission_looks_like_one_that_does_not_exist(stage: Stage, client: Client) -> None:
    hidden = client.get(f"/submissions/{stage.anna.pk}/archive.zip")
    missing = client.get("/submissions/987654/archive.zip")

    assert hidden.content == missing.content
    assert (hidden.status_code, client.get(f"/submissions/{10**30}/archive.zip").status_code) == (404, 404)


def test_a_deleted_or_lost_archive_has_a_notice(stage: Stage, cast: Cast, visit: As) -> None:
    path = f"/submissions/{stage.anna.pk}/archive.zip"
    stage.anna.archive.storage.delete(str(stage.anna.archive.name))
    assert "no longer stored" in sentence(visit(cast.alice), path, 404)
    Submission.objects.filter(pk=stage.anna.pk).update(deleted_at=timezone.now())

    assert "deleted by its owner" in sentence(visit(cast.alice), path, 404)


def test_the_bill_of_materials_goes_to_those_who_may_see_the_source(stage: Stage, cast: Cast, visit: As) -> None:
    path = f"/submissions/{stage.anna.pk}/sbom.json"
    assert "no bill of materials" in sentence(visit(cast.alice), path, 404)
    build = factories.build(stage.anna, JobState.SUCCEEDED)
    assert "no bill of materials" in sentence(visit(cast.alice), path, 404)
    build.sbom.save("sbom.json", ContentFile(b"{}"))

    assert body(visit(cast.alice), path) == body(visit(cast.olga), path) == b"{}"
    for outsider in (None, cast.bob):
        assert visit(outsider).get(path).status_code == 404
    agent = stage.anna.agent
    page = visit(cast.alice).get(f"/environments/{agent.environment.slug}/agents/{agent.name}/").content.decode()
    assert path in page


def test_logs_of_a_submission_go_to_those_who_may_see_its_source(stage: Stage, cast: Cast, visit: As) -> None:
    factories.build(stage.anna, JobState.SUCCEEDED, log="Built in no time.")
    played.play_validation(stage.anna)
    path = f"/submissions/{stage.anna.pk}/logs/"

    said = {
        log: body(visit(cast.alice), f"{path}{log}/?download=1")
        for log in ("build", "validation", "player_1", "player_2")
    }

    assert said == {
        "build": b"Built in no time.",
        "validation": b"Self-play: played.",
        "player_1": b"hello from 1\n",
        "player_2": b"hello from 2\n",
    }
    assert body(visit(cast.olga), f"{path}build/?download=1") == b"Built in no time."
    for log in said:
        assert visit(cast.bob).get(f"{path}{log}/").status_code == 404


def test_logs_that_are_not_there_yet_have_a_notice(cast: Cast, environment: Environment, visit: As) -> None:
    fresh = factories.submission(factories.agent(cast.alice, environment, "dora"))
    path = f"/submissions/{fresh.pk}/logs/"

    for log in ("build", "validation", "publication"):
        assert f"There is no log of the {log} yet." in sentence(visit(cast.alice), f"{path}{log}/", 404)
    assert "not been validated yet" in sentence(visit(cast.alice), f"{path}player_1/", 404)
    assert visit(cast.alice).get(f"{path}secrets/").status_code == 404


def test_a_page_in_a_log_stays_text(stage: Stage, cast: Cast, visit: As) -> None:
    factories.build(stage.anna, JobState.FAILED, log="<script>alert(1)</script>")

    opened = visit(cast.alice).get(f"/submissions/{stage.anna.pk}/logs/build/").content.decode()
    sent = visit(cast.alice).get(f"/submissions/{stage.anna.pk}/logs/build/?download=1")

    assert "&lt;script&gt;alert(1)" in opened
    assert "<script>alert" not in opened
    assert sent["Content-Type"] == "text/plain; charset=utf-8"
    assert b"".join(sent) == b"<script>alert(1)</script>"
