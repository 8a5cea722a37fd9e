from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import rollout_worlds, rollouts


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


def test_figures_of_worlds_are_said_with_what_is_wrong() -> None:
    report = {
        "package": "shop", "provision_seconds": 1.5, "provision_speedup": 6.0, "rollouts": 108, "tasks": 18,
        "in_a_row": 72, "wrong": {"city null": 1}, "serial_differs": {}, "parallel_differs": {"town oracle": 2},
        "left": {"containers": 2},
    }  # fmt: skip
    ready, played = rollout_worlds.lines(report)
    assert ready == "shop: a world is ready after 1.5 s, 6.0 times as fast as Compose"
    assert "wrong verdicts: {'city null': 1}; 72 one after the other, the others 4 at a time" in played
    assert "unlike the first: {'town oracle': 2}; left over: {'containers': 2}" in played
    assert rollout_worlds.changes({"images": 3, "volumes": 1}, {"images": 3, "volumes": 4}) == {
        "images": 0,
        "volumes": 3,
    }
