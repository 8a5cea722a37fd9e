"""`arena ladder` and `arena pack`, run in this process with players in processes of their own."""

from __future__ import annotations

import json
import re
import signal
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena_kit.cli.ladder_report import report_html
from arena_kit.cli.main import main
from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.tests.playing import GOOD, player

NAMES = ("first<b>", "last", "raises")


@pytest.fixture(autouse=True)
def same_signals() -> Iterator[None]:
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    folder = tmp_path / "agents"
    sources = (GOOD, player(step="return valid_actions[-1]"), player(step="raise RuntimeError('no')"))
    for name, source in zip(NAMES, sources, strict=True):
        (folder / name).mkdir(parents=True)
        (folder / name / "player.py").write_text(source)
    (folder / "notes.txt").write_text("no agent")
    return folder


@pytest.mark.slow
def test_a_folder_of_agents_becomes_one_report(
    agents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.html"
    words = ["ladder", str(agents), "--environment", "tic-tac-toe", "--matches", "4", "--sandbox", "process"]
    status = main([*words, "--output", str(report), "--json"])
    said = capsys.readouterr()
    rows = json.loads(said.out)["rows"]

    assert status == 3, said.err  # an agent forfeits
    assert {row["name"] for row in rows} == set(NAMES)
    assert rows[-1]["name"] == "raises"
    assert all(row["low"] < row["rating"] < row["high"] for row in rows)
    assert sum(row["points"] for row in rows) == 12
    html = report.read_text()
    assert "first&lt;b&gt;" in html
    assert "<b>" not in html
    assert not re.search(r"""(?:src|href)\s*=|url\(|@import|<script""", html)
    assert html.count("<details>") == 6


def test_what_is_no_ladder_is_a_sentence(agents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        [str(tmp_path / "nothing"), "--environment", "tic-tac-toe"],
        [str(agents / NAMES[0]), "--environment", "tic-tac-toe"],
        [str(agents), "--environment", "CartPole-v1"],
        [str(agents), "--environment", "tic-tac-toe", "--matches", "3"],
        [str(agents), "--environment", "chess"],
    ):
        assert main(["ladder", *words, "--sandbox", "process"]) == 2
        assert capsys.readouterr().err.startswith("arena: ")


def test_the_report_escapes_what_players_say() -> None:
    spec = get_spec("tic-tac-toe")
    evil = "<script>alert(1)</script>\x1b[2J"
    match = MatchRecord(1, 1, (0, 1), (), Outcome.PLAYER_2, (-1.0, 1.0), Fault.PLAYER, 0, "player_raised", evil)
    html = report_html(spec, [], [DuelRecord(spec.id, 1, (evil, "b"), (match,))])
    assert "<script" not in html
    assert "\x1b" not in html


def test_a_packed_folder_is_what_a_site_takes(
    agents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (agents / "last" / ".secret").write_text("x")
    assert main(["pack", str(agents / "last"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["file"] == "last.zip"
    assert zipfile.ZipFile(tmp_path / "last.zip").namelist() == ["player.py"]
    assert main(["pack", str(agents), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["code"] == "entry_point_in_folder"
    assert main(["pack", str(agents / "nothing")]) == 2
    capsys.readouterr()
    assert main(["pack", str(agents / "last"), "--output", "/proc/x.zip"]) == 2
    assert capsys.readouterr().err.startswith("arena: /proc/x.zip cannot be written: ")
