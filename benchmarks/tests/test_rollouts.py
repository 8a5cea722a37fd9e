from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import rollouts


def test_intervals_of_rollouts_hold_the_truth_and_a_bootstrap_too_seldom(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollouts, "TASKS", (8, 30))
    monkeypatch.setattr(rollouts, "ATTEMPTS", (3,))
    assert rollouts.main(["--sets", "60", "--json", str(tmp_path / "figures.json")]) == 0

    found = json.loads((tmp_path / "figures.json").read_text())
    assert len(found["settings"]) == 3 * 2 * 3
    assert 0.93 <= found["coverage_95"] <= 1
    assert found["coverage_95_bootstrap"] < found["coverage_95"]
    assert "mostly hard" in capsys.readouterr().out
