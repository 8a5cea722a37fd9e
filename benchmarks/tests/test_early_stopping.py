from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import early_stopping


@pytest.mark.slow
def test_stopping_saves_matches_and_says_what_it_does_to_ratings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--seasons", "3", "--matches", "50", "--json", str(tmp_path / "figures.json")]
    assert early_stopping.main(arguments) == 0

    found = json.loads((tmp_path / "figures.json").read_text())["by_matches"]["50"]
    assert found["whole"]["matches"] == 50
    assert found["stopped"]["matches"] == pytest.approx(found["cut"]["matches"], abs=1)
    assert found["stopped"]["matches"] < 40
    assert found["whole"]["rmse"] < found["stopped"]["rmse"]
    # Counting only the winner of each duel would be far off.
    assert 0.9 < found["stopped"]["slope"] < 1.1
    assert "stopped" in capsys.readouterr().out
