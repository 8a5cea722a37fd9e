"""Checking, submitting and looking up from a notebook: any thread, no signal handlers, and what is shown."""

from __future__ import annotations

import signal
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import arena_kit
from arena_kit.cli.common import BadArgument
from arena_kit.cli.main import main
from arena_kit.cli.sites import path_of_sites, read_sites
from arena_kit.client import SiteError
from arena_kit.client.client import Client
from arena_kit.notebook.source import CannotWrite
from arena_kit.tests.cli.test_remote import ABOUT, ID, phase, version
from arena_kit.tests.client.sites import Said, Site, said, site

FIRST = """
class Player:
    def start(self, state, valid_actions): return valid_actions[0]
    def step(self, state, valid_actions, prev_reward): return valid_actions[0]
    def end(self, state, prev_reward): pass
"""
POINT = {"at": "2026-11-01T12:00:00Z", "number": 1, "value": 1500.5, "low": 0.0, "high": 1600.0, "rank": 2}
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ARENA_TOKEN", "arena_secret-token")
    monkeypatch.setattr("arena_kit.cli.follow.POLL_SECONDS", 0.0)
    with site() as found:
        monkeypatch.setenv("ARENA_URL", found.url)
        found.by_path["/api/v1/"] = said(ABOUT)
        found.by_path["/api/v1/environments/tic-tac-toe/"] = said({
            "slug": "tic-tac-toe", "version": "tic-tac-toe-v1", "name": "T", "is_scored": False, "takes_scripts": False,
        })  # fmt: skip
        yield found


@pytest.fixture
def player(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "player.py").write_text(FIRST)
    return tmp_path / "mine"


def in_a_thread(action: Callable[[], Any]) -> Any:
    """Return what an action returns in a thread; signal handlers must be as before."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(action())
        except BaseException as error:
            found.append(error)

    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)] == before
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


@pytest.mark.slow
def test_a_check_plays_in_any_thread_and_shows_its_verdict(player: Path) -> None:
    found = in_a_thread(lambda: arena_kit.check(player, "tic-tac-toe", sandbox="process", quiet=True))
    assert found.passes
    assert str(found).startswith("It passes: the files are in order, and it played ")
    assert str(found) in found._repr_html_()


def test_a_refusal_says_why_and_is_escaped(player: Path) -> None:
    (player / "player.py").write_text(f"{HOSTILE} (")
    found = arena_kit.check(player, "tic-tac-toe", files_only=True)
    assert (found.passes, found.code) == (False, "does_not_compile")
    assert HOSTILE not in found._repr_html_()
    with pytest.raises(ValueError, match="no sandbox 'jail'"):
        arena_kit.check(player, "tic-tac-toe", sandbox="jail")
    with pytest.raises(CannotWrite, match="Give the class or the function, not a Random made of it"):
        arena_kit.check(Random(), "tic-tac-toe", files_only=True)
    with pytest.raises(BadArgument, match="There is no file or folder gone"):
        arena_kit.check("gone", "tic-tac-toe", files_only=True)


def test_the_command_works_in_a_thread_and_leaves_the_handlers_of_a_kernel_alone(
    player: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["check", str(player), "--environment", "tic-tac-toe", "--files-only"]
    assert in_a_thread(lambda: main(words)) == 0
    before = signal.getsignal(signal.SIGTERM)
    assert main(words) == 0
    assert signal.getsignal(signal.SIGTERM) == before
    capsys.readouterr()


def test_a_login_asks_by_getpass_and_saves_the_token(
    remote: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("getpass.getpass", lambda prompt: "secret" if prompt == "Password: " else "arena_given")
    monkeypatch.setattr("builtins.input", lambda prompt: "ada@example.org")
    remote.by_path["/api/v1/tokens/"] = said({"token": "arena_made"})
    remote.by_path["/api/v1/me/"] = said({"username": HOSTILE})
    found = arena_kit.login(remote.url)
    assert "arena_made" not in f"{found!r}{capsys.readouterr()}"
    assert read_sites().tokens == {remote.url: "arena_made"}
    assert stat.S_IMODE(path_of_sites().stat().st_mode) == 0o600
    arena_kit.login(remote.url, token="ask")
    assert read_sites().tokens == {remote.url: "arena_given"}


def test_a_submission_is_followed_until_it_is_ready(remote: Site, player: Path) -> None:
    remote.by_path["/api/v1/agents/"] = said(version("BUILDING", phases=[phase("RUNNING")]), 201)
    remote.by_path["/api/v1/jobs/build/5/"] = said(
        {"kind": "build", "id": 5, "state": "RUNNING", "error_code": "", "error": "", "wait": None}
    )
    remote.by_path[f"/api/v1/submissions/{ID}/"] = said(version("READY", phases=[phase("SUCCEEDED")]))
    found = in_a_thread(
        lambda: arena_kit.submit(player, environment="tic-tac-toe", name="mine", algorithm="guess", quiet=True)
    )
    assert found.is_ready
    assert "mine, version 1 in tic-tac-toe: ready" in found._repr_html_()
    sent = next(body for method, path, _, body in remote.asked if (method, path) == ("POST", "/api/v1/agents/"))
    assert b"guess" in sent
    remote.by_path[f"/api/v1/submissions/{ID}/"] = said(version("FAILED", error=HOSTILE))
    found = arena_kit.submit(player, environment="tic-tac-toe", name="mine", quiet=True)
    assert not found.is_ready
    assert HOSTILE not in found._repr_html_()


@pytest.mark.parametrize(
    "given", [{}, {"environment": "tic-tac-toe"}, {"name": "x"}, {"new_version_of": "a", "name": "x"},
              {"new_version_of": "a", "public": True}],
)  # fmt: skip
def test_half_a_submission_is_refused(given: Any, player: Path) -> None:
    with pytest.raises(ValueError, match=r"new_version_of|public"):
        arena_kit.submit(player, **given)


def test_a_history_is_drawn_and_has_a_table(remote: Site) -> None:
    remote.by_path["/api/v1/agents/3/history/"] = said({"points": [POINT, {**POINT, "value": 1550.0, "low": None}]})
    found = arena_kit.history(3)
    assert found.table[0] == POINT
    assert "data:image/svg+xml" in found._repr_html_()
    remote.by_path["/api/v1/agents/3/history/"] = said({"points": []})
    assert "no rows" in arena_kit.history(3)._repr_html_()


def test_a_board_and_a_comparison_are_shown_without_hostile_text(remote: Site) -> None:
    row = {"rank": 1, "submission": {"number": 2, "agent": {"name": HOSTILE, "owner": "ada"}}, "value": 1.0}
    remote.by_path["/api/v1/environments/tic-tac-toe/leaderboard/"] = said({"count": 1, "results": [row]})
    board = Client(remote.url).board("tic-tac-toe")
    assert board.table[0]["owner"] == "ada"
    remote.by_path["/api/v1/environments/tic-tac-toe/compare/"] = said({"sentence": f"{HOSTILE} is better."})
    shown = board._repr_html_() + arena_kit.compare("tic-tac-toe", "a", "b")._repr_html_()
    assert HOSTILE not in shown
    assert "is better" in shown
    remote.by_path["/api/v1/environments/tic-tac-toe/compare/"] = Said(404)
    with pytest.raises(SiteError):
        arena_kit.compare("tic-tac-toe", "a", "b")
