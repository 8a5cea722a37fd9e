"""The player server on the Python of images that other people have made."""

from __future__ import annotations

import ast
import tempfile
import time
from pathlib import Path

import pytest

from arena_kit.environment.records import record_sha256
from arena_kit.environment.registry import get_spec
from arena_kit.image.flatten import LEAST_PYTHON
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.play import PlayedDuel, run_duel
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.sandbox.startup import PLAYER_SERVER
from arena_kit.tests.arenas import FIRST_VALID, LIMITS, Arena
from arena_kit.tests.pythons import OLDER, older_pythons

WHICH = FIRST_VALID.replace('print("made")', "import sys; print(sys.version_info[1], sys.path[0])")
AGENT = """
def agent(observation, configuration):
    if observation.mark == 2:
        raise ValueError("no idea")
    return observation.legalActions[0]
"""


def test_the_player_server_has_the_syntax_of_the_oldest_python_that_images_may_have() -> None:
    assert OLDER[0] == LEAST_PYTHON
    for path in PLAYER_SERVER.rglob("*.py"):
        ast.parse(path.read_text(), str(path), feature_version=(3, LEAST_PYTHON))


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, *(pytest.param(place, marks=pytest.mark.nightly) for place in (1, 2))])
def test_players_play_the_same_on_older_pythons(place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On those that this machine has; the nightly tests of images play with the oldest of them in a container."""
    # The interpreters may be in the home of root, where no other user may look.
    monkeypatch.setattr("arena_kit.sandbox.process.has_own_users", lambda: False)
    here = played(WHICH, AGENT)
    assert {match.error_code for match in here.record.matches} == {"", PlayerFault.RAISED}
    for python in older_pythons()[place : place + 1]:
        # The process sandbox starts it with an option that they do not know.
        program = tmp_path / f"{python.name}.sh"
        program.write_text(f'#!/bin/sh\n[ "$1 $2" = "-s -P" ] || exit 1\nshift 2\nexec {python} -s "$@"\n')
        program.chmod(0o755)
        monkeypatch.setattr("arena_kit.sandbox.startup.sys.executable", str(program))
        there = played(WHICH, AGENT)
        assert record_sha256(there.record) == record_sha256(here.record)
        assert any("no idea" in match.error for match in there.record.matches)
        minor, _, folder = there.player_logs[0].partition("\n")[0].partition(" ")
        assert f"python3.{minor}" == python.name
        assert "player_server" not in folder


def played(*sources: str) -> PlayedDuel:
    """Play a duel between two players in local processes."""
    # Sockets have short paths.
    with tempfile.TemporaryDirectory(prefix="arena-") as name:
        folders = [Path(name) / "players", Path(name) / "channels"]
        for folder in folders:
            folder.mkdir()
        arena = Arena(ProcessSandbox(folders[1]), *folders)
        launches = [arena.prepare(source) for source in sources]
        return run_duel(
            get_spec("tic-tac-toe-v1"),
            lambda seat: arena.sandbox.launch(launches[seat]),
            names=("one", "other"),
            seed=1,
            match_count=4,
            parallel_matches=4,
            limits=LIMITS,
            clock=time.monotonic,
        )
