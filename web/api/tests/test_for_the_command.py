"""What the command `arena` needs of the API: logs of players, folders of environments, typed refusals."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from core.tests import factories
from web.api.tests.conftest import Arena, Program
from web.api.tests.test_native import get

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("person", "own", "other"), [("alice", 200, 403), ("bob", 403, 404), (None, 403, 403)])
def test_what_players_printed_is_for_people_who_may_see_their_source(
    arena: Arena, program: Program, person: str | None, own: int, other: int
) -> None:
    """anna is alice's; berta is bob's, and printed nothing. Both are private."""
    client = program(getattr(arena.cast, person) if person else None)
    address = f"jobs/duel/{arena.stage.duel.pk}/log/"
    get(client, f"{address}?player=1", own)
    get(client, f"{address}?player=2", other)
    get(client, f"{address}?player=3", 400)


def test_a_build_has_no_player_that_prints(arena: Arena, program: Program) -> None:
    build = factories.build(arena.stage.anna)
    get(program(arena.cast.alice), f"jobs/build/{build.pk}/log/?player=1", 403)


def test_the_folder_of_an_environment_is_whole_and_holds_no_tests(arena: Arena) -> None:
    answer = Client().get("/api/v1/environments/tic-tac-toe/folder.zip")
    names = zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
    assert {"tic_tac_toe/info.yml", "tic_tac_toe/rules.py"} <= set(names)
    assert not any("tests" in name.split("/") for name in names)
    single = Client().get("/api/v1/environments/cart-pole/folder.zip")
    assert zipfile.ZipFile(io.BytesIO(single.content)).namelist() == ["cart-pole.yml"]
    assert Client().get("/api/v1/environments/chess/folder.zip").status_code == 404


def test_a_refused_archive_says_its_typed_reason(arena: Arena, program: Program) -> None:
    form = {"environment": "tic-tac-toe", "name": "x", "archive": SimpleUploadedFile("a.zip", b"Rar!")}
    answer = program(arena.cast.alice).post("/api/v1/agents/", form)
    assert (answer.status_code, answer.json()["code"]) == (400, "not_a_zip")
