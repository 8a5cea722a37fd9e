"""`--json` of the commands that play at home: one object on standard output, whatever happens."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arena_kit.cli.main import main
from arena_kit.tests.playing import GOOD, folders, player

Arena = Callable[..., tuple[int, dict[str, Any]]]
HERE = ("--sandbox", "process", "--json")
SCRIPT = 'import json\nprint(json.dumps({"score": 12.5, "episodes": 3}))\n'


@pytest.fixture
def arena(capsys: pytest.CaptureFixture[str]) -> Iterator[Arena]:
    handler = signal.getsignal(signal.SIGTERM)

    def run(*words: str | Path) -> tuple[int, dict[str, Any]]:
        status = main([str(word) for word in words])
        return status, json.loads(capsys.readouterr().out)

    yield run
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.slow
def test_a_duel_and_its_check(arena: Arena, tmp_path: Path) -> None:
    with folders(GOOD, player(step="raise RuntimeError('no')")) as (one, two):
        status, played = arena("play", one, two, "--environment", "tic-tac-toe", "--matches", "2", "--quiet", *HERE)
        assert (status, played["outcome"], played["errors"], played["error"]) == (0, "PLAYER_1", [0, 2], "")
        status, checked = arena("check", two, "--environment", "tic-tac-toe", "--quiet", *HERE)
        assert (status, checked["passes"], checked["code"]) == (3, False, "player_raised")
        assert checked["error"].startswith("Match 1: The player raised an exception")
        status, checked = arena("check", one, "--environment", "tic-tac-toe", "--quiet", *HERE)
        assert (status, checked["passes"], checked["step"], checked["sandbox"]) == (0, True, "play", "process")


@pytest.mark.slow
def test_an_evaluation_its_records_and_a_script(arena: Arena, tmp_path: Path) -> None:
    records = tmp_path / "records.zip"
    with folders(GOOD, {"submission.py": SCRIPT}) as (one, script):
        status, scored = arena(
            "evaluate", one, "--environment", "FrozenLake-v1", "--episodes", "2", "--records", records, *HERE
        )
        assert (status, scored["episodes"], scored["code"], scored["sandbox"]) == (0, 2, "", "process")
        assert scored["low"] <= scored["score"] <= scored["high"]
        status, verified = arena("recheck", records, "--json")
        assert (status, verified["verifies"], verified["mismatches"]) == (0, True, [])
        status, ran = arena("script", script, "--environment", "CartPole-v1", "--no-install", *HERE)
        assert (status, ran["score"], ran["episodes"], ran["sandbox"]) == (0, 12.5, 3, "process")


@pytest.mark.parametrize(
    "words",
    [
        ("play", "nothing", "nobody", "--environment", "tic-tac-toe"),
        ("play", "a", "b", "--environment", "chess"),
        ("evaluate", "nothing", "--environment", "FrozenLake-v1"),
        ("script", "nothing.zip", "--environment", "CartPole-v1"),
        ("check", "nothing", "--environment", "tic-tac-toe"),
        ("ladder", "nothing", "--environment", "tic-tac-toe"),
    ],
    ids=" ".join,
)
def test_wrong_arguments_are_an_object_as_well(arena: Arena, words: tuple[str, ...]) -> None:
    status, said = arena(*words, *HERE)
    assert (status, said["code"]) == (2, "bad_arguments")


def test_a_file_that_is_no_record_is_an_object_as_well(arena: Arena, tmp_path: Path) -> None:
    (tmp_path / "records.zip").write_bytes(b"no zip")
    status, said = arena("recheck", tmp_path / "records.zip", "--json")
    assert (status, said["verifies"]) == (2, None)
