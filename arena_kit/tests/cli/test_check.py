"""`arena check` says what often goes wrong, and refuses nothing for it."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena_kit.cli.main import main
from arena_kit.tests.environment.edited import nim
from arena_kit.tests.playing import player
from arena_kit.upload.requirements import Requirements


@pytest.fixture(autouse=True)
def same_signals() -> Iterator[None]:
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


def test_warnings_refuse_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "player.py").write_text(player(init='open("/home/me/weights.pt")'))
    words = ["check", str(tmp_path), "--environment", "tic-tac-toe", "--files-only"]

    assert main([*words, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["passes"], data["code"]) == (True, "")
    assert [(found["code"], found["file"]) for found in data["warnings"]] == [("absolute_path", "player.py")]

    assert main(words) == 0
    shown = capsys.readouterr().out
    assert f"Warning (player.py:{data['warnings'][0]['line']}): " in shown


def test_a_player_without_faults_has_no_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "player.py").write_text(player())
    assert main(["check", str(tmp_path), "--environment", "tic-tac-toe", "--files-only", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []


@pytest.mark.parametrize(
    ("requirements", "words", "installed"),
    [("", (), ("gymnasium",)), ("numpy>=2", (), ("numpy>=2",)), ("", ("--no-install",), ())],
)
def test_a_script_without_requirements_gets_those_of_the_site(
    requirements: str,
    words: tuple[str, ...],
    installed: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "submission.py").write_text("print('{\"score\": 1}')\n")
    if requirements:
        (tmp_path / "requirements.txt").write_text(requirements)
    asked: list[tuple[str, ...]] = []

    def install(_: str, required: Requirements, __: object) -> str:
        asked.append(required.lines)
        return ""

    monkeypatch.setattr("arena_kit.cli.check.install", install)
    assert main(["check", str(tmp_path), "--environment", "cart-pole", "--sandbox", "process", *words]) == 0
    assert asked == [installed]


def test_the_folder_of_an_environment_is_reported_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(nim(tmp_path)), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["passes"]
    assert {line["mark"] for line in data["lines"]} == {"good"}
    assert main(["check", str(nim(tmp_path, "broken", begins="raise RuntimeError('no board')"))]) == 3
    assert "no board" in capsys.readouterr().out.splitlines()[-1]


def test_a_player_needs_an_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "player.py").write_text(player())
    assert main(["check", str(tmp_path)]) == 2
    assert "--environment is missing" in capsys.readouterr().err
