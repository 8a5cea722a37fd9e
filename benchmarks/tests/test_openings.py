from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import openings


def test_openings_make_matches_distinct_and_ratings_surer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--matches", "40", "--games", "tic-tac-toe", "--json", str(tmp_path / "figures.json")]
    assert openings.main(arguments) == 0

    found = json.loads((tmp_path / "figures.json").read_text())["games"]["tic-tac-toe"]
    assert found["before"]["is_repeatable"]
    assert found["after"]["is_repeatable"]
    assert found["before"]["distinct_share"] == 2 / 40
    assert found["after"]["distinct_share"] > 0.7
    assert found["interval_ratio"] > 2
    assert "tic-tac-toe" in capsys.readouterr().out


def test_the_interval_narrows_with_the_root_of_the_matches() -> None:
    assert openings.interval_width(0.5, 400) == pytest.approx(openings.interval_width(0.5, 100) / 2, rel=0.01)


def test_all_games_with_openings_are_measured() -> None:
    assert openings.games() == ["connect-four", "quarto", "tic-tac-toe"]
