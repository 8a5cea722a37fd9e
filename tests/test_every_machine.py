"""Every verb of `arena` on simulated machines, against a live site, with output in an encoding of few letters."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from arena_kit.cli.main import VERBS
from core.models import Duel
from core.people.tokens import token_create
from core.tests import factories
from tests.machines import arena, simulated
from tests.samples import FIRST, LAST, deliver_messages, tic_tac_toe, upload

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
ROOT = Path(__file__).parents[1]
CYRILLIC = 'class Player:\n    def __init__(self, train_mode):\n        raise RuntimeError("ход → ✓")\n'
SCRIPT = 'print("счёт → ✓")\nprint(\'{"score": 2.5}\')\n'


class Machine:
    """A simulated machine on which a person types commands."""

    def __init__(self, system: str, encoding: str, folder: Path) -> None:
        home = folder / "home"
        home.mkdir()
        self.folder, self.used = folder, set[str]()
        self.variables = simulated(
            system, PYTHONIOENCODING=encoding, XDG_CONFIG_HOME=str(home), DOCKER_HOST="unix:///nowhere/engine.sock"
        )

    def run(self, *words: str | Path, status: int = 0, typed: str = "") -> str:
        """Run a verb, which must end with this status; return all that it printed."""
        self.used.add(str(words[0]))
        done = subprocess.run(
            arena(*map(str, words)), cwd=self.folder, env=self.variables, input=typed.encode(), capture_output=True,
            timeout=300, check=False,
        )  # fmt: skip
        printed = (done.stdout + done.stderr).decode("cp1252", "replace")
        assert done.returncode == status, (words, printed)
        assert "UnicodeEncodeError" not in printed
        return printed

    def data(self, *words: str | Path) -> Any:
        """Run a verb that prints JSON."""
        printed = self.run(*words, "--json")
        return json.loads(printed[printed.index("{") : printed.rindex("}") + 1])


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
    game = ("--environment", "tic-tac-toe")
    for name, source in (("mine", FIRST), ("broken", CYRILLIC), ("agents/first", FIRST), ("agents/last", LAST)):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "player.py").write_text(source, encoding="utf-8")
    (tmp_path / "script").mkdir()
    (tmp_path / "script" / "submission.py").write_text(SCRIPT, encoding="utf-8")
    shutil.copytree(ROOT / "example_players" / "random", tmp_path / "random")

    run("new", "made", *game)
    assert "It passes" in run("check", "mine", *game)
    assert "\\u0445\\u043e\\u0434 \\u2192 \\u2713" in run("check", "broken", *game, status=3)
    assert "\\u0445\\u043e\\u0434" in run("play", "mine", "broken", *game, "--matches", "2", "--output", "duel.json")
    assert run("play", "broken", "broken", *game, "--matches", "2", status=3).count("\\u2713") >= 2
    assert json.loads((tmp_path / "duel.json").read_text())["check"]["sandbox"] == "plain"
    run("pack", "mine", "--output", "mine.zip")
    assert "a draw" in run("play", "mine.zip", "mine", *game, "--matches", "2")
    run("ladder", "agents", *game, "--matches", "2", "--output", "ladder.html")
    cart = ("--environment", "CartPole-v1")
    run("evaluate", "random", *cart, "--episodes", "2", "--records", "records.zip", "--log", "-")
    assert "verifies" in run("recheck", "records.zip")
    assert "Score: 2.5" in run("script", "script", *cart, "--no-install", "--log", "-")
    rollout = run("rollout", "tasks.json", "--package", "nothing", status=2)
    assert ("WSL 2" in rollout) is (system == "windows")

    assert token not in run("login", live_server.url, "--with-token", typed=f"{token}\n")
    submitted = machine.data("submit", "mine", *game, "--name", "mine", "--public", "--quiet")
    run("submit", "broken", *game, "--name", "broken", "--quiet")
    deliver_messages(drawing=False)
    assert "ready" in run("status", "tic-tac-toe/mine")
    assert "\\u2713" in run("logs", "tic-tac-toe/broken")
    assert "mine v1" in run("board", "tic-tac-toe")
    assert "rival v1" in run("compare", "tic-tac-toe", "mine v1", "rival")
    run("challenge", "mine", "tic-tac-toe/rival")
    deliver_messages(drawing=False)
    duel = Duel.objects.filter(player_1__agent__name="mine").first()
    assert duel is not None
    run("replay", "duel.json", "--html", "duel.html")
    assert "opens with" in run("replay", f"{duel.pk}/1")
    run("replay", f"{duel.pk}/1", "--html", "match.html")
    assert "moves are the same" in run("replay", f"{duel.pk}/1", "--diff", "mine")
    run("pull", submitted["id"], "--output", "pulled")
    assert (tmp_path / "pulled" / "player.py").read_text() == FIRST
    run("pull", "tic-tac-toe", "--matches")
    assert machine.used == set(VERBS)
