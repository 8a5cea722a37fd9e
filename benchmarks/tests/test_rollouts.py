from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from django.conf import settings

from arena_kit.image.engine import connect
from arena_kit.rollout.worlds.world import ARENA_LABEL
from benchmarks import rollout_leftovers, rollout_worlds, rollouts
from benchmarks.rollout_leftovers import Host, changes, host


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
        "left": {"containers": 2}, "spoilt": {"login_failed": 3},
    }  # fmt: skip
    ready, played = rollout_worlds.lines(report)
    assert ready == "shop: a world is ready after 1.5 s, 6.0 times as fast as Compose"
    assert "wrong verdicts: {'city null': 1}; 72 one after the other, the others 4 at a time" in played
    assert "unlike the first: {'town oracle': 2}; spoilt and played again: {'login_failed': 3}" in played
    assert played.endswith("left over: {'containers': 2}")


@pytest.mark.nightly
@pytest.mark.docker
def test_only_what_containers_of_the_arena_have_made_is_left_over(tmp_path: Path) -> None:
    leases = tmp_path / "worlds"
    leases.mkdir()
    (leases / "name").write_text(uuid.uuid4().hex)
    found: Any = SimpleNamespace(leases=leases, worlds=SimpleNamespace(reserved_bytes=lambda: 0))
    client = connect()
    begun: list[Any] = []

    def begin(labels: dict[str, str]) -> None:
        image = settings.PLAYER_BASE_IMAGE
        begun.append(client.containers.create(image, ["true"], labels=labels, network=network.name, volumes=["/data"]))
        begun[-1].start()
        begun[-1].wait()

    def left(counting: Host, before: Mapping[str, int]) -> dict[str, int]:
        # The connections of this test are open files, too.
        return {key: count for key, count in changes(before, counting.count()).items() if key != "descriptors"}

    network = client.networks.create(f"arena-left-{leases.parent.name}", internal=True)
    try:
        with host(found) as counting:
            before = counting.count()
            begin({})
            assert left(counting, before) == {}, "others may do what they like meanwhile"
            begin({ARENA_LABEL: (leases / "name").read_text()})
            (Path(tempfile.gettempdir()) / "forgotten").touch()
            assert left(counting, before) == {"containers": 1, "volumes": 1, "networks": 1, "temporary": 1}
            begun.pop().remove(v=True)
            assert left(counting, before) == {"networks": 1, "temporary": 1}
            assert counting.seen() == {"containers": 1, "volumes": 1, "networks": 1}
    finally:
        for container in begun:
            container.remove(v=True, force=True)
        network.remove()
        client.close()


def test_leftovers_are_not_said_to_be_none_when_the_engine_tells_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    client = MagicMock()
    client.api.events.return_value = MagicMock(__iter__=lambda _: iter(()))
    monkeypatch.setattr(rollout_leftovers, "connect", lambda: client)
    events = rollout_leftovers.Events(client, "ours")
    with pytest.raises(RuntimeError, match="no longer tells"):
        events.wait()
    client.api.remove_volume.assert_called_once()
