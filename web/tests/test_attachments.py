"""What people have uploaded, and what their agents have printed, is a file to keep or plain text, never a page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client

from core.models import Build, Duel, Evaluation, Submission, Validation
from core.tests.factories import Cast
from web.conftest import As
from web.tests.house import furnished

pytestmark = pytest.mark.django_db
PAGE = b"<!doctype html><script>alert(1)</script>"
TYPES = {
    "application/zip",
    "application/gzip",
    "application/json",
    "application/jsonl",
    "text/plain; charset=utf-8",
    "text/csv; charset=utf-8",
}
OTHER_TYPES = {
    "/duels/{duel}/matches/3/replay.html": "text/html; charset=utf-8",
    "/kit/files/{wheel_sha256}/{wheel}": "application/octet-stream",
}
"""Of two files that the arena makes: a page to keep, of which only texts come from people, and a package."""
FILES = [
    "/environments/{slug}/leaderboard.csv",
    "/courses/{course}/marks.csv",
    "/environments/{slug}/cite/results.csv?as_of=2099-12-31",
    "/api/v1/rollouts/export.csv",
    "/api/v1/batches/{batch}/export/",
    "/starter-kit/{kit}.zip",
    "/environments/{slug}/kits/minimax.zip",
    "/environments/{slug}/notebook.ipynb",
    "/environments/{slug}/rules.zip",
    "/kit/files/{wheel_sha256}/{wheel}",
    "/evaluations/{evaluation}/records.zip",
    "/duels/{duel}/results.json.gz",
    "/duels/{duel}/records.zip",
    "/duels/{duel}/matches/3/replay.json",
    "/duels/{duel}/matches/3/replay.html",
    "/validations/{validation}/matches/1/replay.json",
    "/submissions/{submission}/archive.zip",
    "/submissions/{submission}/sbom.json",
    "/api/v1/submissions/{public_id}/archive.zip",
    "/api/v1/environments/{slug}/folder.zip",
    "/api/v1/environments/{slug}/matches.jsonl",
    "/api/v1/duels/{duel}/matches/3/replay/",
    "/api/v1/validations/{validation}/matches/1/replay/",
]
"""Every address that answers with a file to keep; `test_access.py` finds those that are missing here."""
LOGS = [
    "/evaluations/{evaluation}/logs/arena/",
    "/evaluations/{evaluation}/logs/player/",
    "/duels/{duel}/logs/arena/",
    "/duels/{duel}/logs/player_1/",
    "/submissions/{submission}/logs/build/",
    "/submissions/{submission}/logs/player_1/",
]
"""Logs open in a page, and are files to keep with `?download`."""
EMPTY = {"/api/v1/batches/{batch}/export/"}
"""Those that may be empty: no rollout of the house has its steps stored. `web/rollouts/tests` reads a full one."""
RECORDING = "/evaluations/{evaluation}/episodes/best/video"
"""Drawn by the arena, shown in its own page."""
PICTURE = "/environments/{slug}/editions/{cup_edition}/picture/{picture}/"
"""Drawn anew by the arena from what organisers have uploaded."""
SHOWN = {
    RECORDING,
    PICTURE,
    "/embed/duels/{duel}/matches/3/card.png",
    "/environments/{slug}/agents/{agent}/badge.svg",
}
"""Drawn by the arena, and shown in pages."""
TEXTS = {
    "/environments/{slug}/feed.atom",
    "/environments/{slug}/agents/{agent}/feed.atom",
    "/api/v1/batches/{batch}/events/",
    "/api/v1/rollouts/{rollout}/events/",
    "/metrics",
    "/robots.txt",
    "/sitemap.xml",
    "/kit/simple/",
    "/schemas/tasks.json",
    "/kit/simple/arena-kit/",
}
"""No files, but plain text and lists of the arena's own."""


@pytest.fixture(scope="module")
def house(shared_cast: Cast) -> dict[str, Any]:
    """All files hold a page with a script, whatever they should be."""
    found = furnished(shared_cast)
    evaluation = Evaluation.objects.get(pk=found["evaluation"])
    validation = Validation.objects.get(pk=found["validation"])
    duel = Duel.objects.get(pk=found["duel"])
    submission = Submission.objects.get(pk=found["submission"])
    for row, name in (
        (submission, "archive"), (Build.objects.get(pk=found["build"]), "sbom"), (evaluation, "player_log"),
        (evaluation, "records"), (duel, "player_1_log"), (validation, "player_1_log"),
    ):  # fmt: skip
        getattr(row, name).save("page.html", ContentFile(PAGE))
    for row in (evaluation, duel):
        type(row).objects.filter(pk=row.pk).update(log=PAGE.decode())
    return found


@pytest.mark.parametrize("address", [*FILES, *(f"{log}?download=1" for log in LOGS)])
def test_a_file_is_an_attachment_of_a_fixed_type(house: dict[str, Any], cast: Cast, visit: As, address: str) -> None:
    response: Any = visit(cast.olga).get(address.format(**house))

    assert response.status_code == 200
    assert response["Content-Disposition"].startswith("attachment; filename=")
    assert response["Content-Type"] in ({OTHER_TYPES[address]} if address in OTHER_TYPES else TYPES)
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert response["Cross-Origin-Resource-Policy"] == "same-origin"
    assert b"".join(response) or address in EMPTY


@pytest.mark.parametrize("address", LOGS)
def test_a_log_in_a_page_is_text(house: dict[str, Any], cast: Cast, visit: As, address: str) -> None:
    page = visit(cast.olga).get(address.format(**house)).content
    assert b"&lt;script&gt;alert(1)" in page or b"built" in page.lower()
    assert b"<script>alert" not in page


def test_logs_in_the_api_are_json(house: dict[str, Any], cast: Cast, visit: As) -> None:
    response = visit(cast.alice).get("/api/v1/jobs/build/{build}/log/".format(**house))
    assert (response["Content-Type"], response["X-Content-Type-Options"]) == ("application/json", "nosniff")
    assert "<script>" in json.loads(response.content)["log"]


@pytest.mark.parametrize(("address", "kind"), [(RECORDING, "video/webm"), (PICTURE, "image/webp")])
def test_a_recording_is_shown_but_never_as_anything_else(
    house: dict[str, Any], client: Client, address: str, kind: str
) -> None:
    response: Any = client.get(address.format(**house))
    assert (response["Content-Type"], response["X-Content-Type-Options"]) == (kind, "nosniff")
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert b"".join(response)


def test_stored_files_have_no_address_of_their_own(house: dict[str, Any], cast: Cast, visit: As) -> None:
    name = Submission.objects.get(pk=house["submission"]).archive.name
    olga = visit(cast.olga)
    for address in (f"/{name}", f"/files/{name}", f"/media/{name}", f"/static/{name}", f"/data/files/{name}"):
        assert olga.get(address, follow=True).status_code == 404
