"""Every verb of `arena` on simulated machines, against a live site, with output in an encoding of few letters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.cache import cache
from django.utils import timezone
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from arena_kit.cli.main import VERBS
from core.models import Duel, Tournament
from core.people.tokens import token_create
from core.tests import factories
from tests.machines.journey import FIRST, GAME, LAST, Machine, at_home
from tests.samples import deliver_messages, tic_tac_toe, upload

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.mark.parametrize(("system", "encoding"), [("windows", "cp1252"), ("macos", "ascii")])
def test_every_verb_works(
    system: str,
    encoding: str,
    tmp_path: Path,
    settings: Settings,
    live_server: LiveServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "process", True, tmp_path / "data"
    settings.DATA_DIR.mkdir()
    cache.clear()
    for name in ("MOST_SECONDS", "PATIENCE_SECONDS"):
        monkeypatch.setattr(f"arena_kit.upload.inspection.{name}", 300.0)
    environment = tic_tac_toe("tic-tac-toe-v2")
    ada = factories.user("ada")
    upload(environment, "rival", LAST)
    token = token_create(owner=ada, name="laptop", now=timezone.now(), days=1)[1]
    machine = Machine(system, encoding, tmp_path)
    run = machine.run
    at_home(machine)
    assert json.loads((tmp_path / "duel.json").read_text())["check"]["sandbox"] == "plain"
    rollout = run("rollout", "tasks.json", "--package", "nothing", status=2)
    assert ("WSL 2" in rollout) is (system == "windows")

    assert token not in run("login", live_server.url, "--with-token", typed=f"{token}\n")
    submitted = machine.data("submit", "mine", *GAME, "--name", "mine", "--public", "--quiet")
    run("submit", "broken", *GAME, "--name", "broken", "--quiet")
    deliver_messages(drawing=False)
    assert "ready" in run("status", "tic-tac-toe/mine")
    assert "\\u2713" in run("logs", "tic-tac-toe/broken")
    assert "mine v1" in run("board", "tic-tac-toe")
    assert "rival v1" in run("compare", "tic-tac-toe", "mine v1", "rival")
    run("challenge", "mine", "tic-tac-toe/rival")
    deliver_messages(drawing=False)
    duel = Duel.objects.filter(player_1__agent__name="mine").first()
    assert duel is not None
    listed = machine.data("blunders", "mine")
    assert {one["version"] for one in listed["blunders"]} <= {1}
    assert "opens with" in run("replay", f"{duel.pk}/1")
    run("replay", f"{duel.pk}/1", "--html", "match.html")
    assert "moves are the same" in run("replay", f"{duel.pk}/1", "--diff", "mine")
    run("pull", submitted["id"], "--output", "pulled")
    assert (tmp_path / "pulled" / "player.py").read_text() == FIRST
    run("pull", "tic-tac-toe", "--matches")
    table = run("organise", "table", f"{Tournament.objects.latest('pk').pk}")
    assert "rank,agent,version,points" in table
    assert machine.used == set(VERBS)
