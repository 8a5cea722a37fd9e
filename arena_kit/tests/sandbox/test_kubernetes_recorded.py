"""What drivers have seen on a real cluster (1.20.2, in a run of `make kubernetes-test`), and how they read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arena_kit.sandbox.kubernetes.status import Ended, status_of

RECORDED: list[dict[str, Any]] = json.loads((Path(__file__).with_name("golden") / "statuses.json").read_text())
TAKEN = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API"}
LATE = {"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded"}


def name_of(seen: dict[str, Any]) -> str:
    return f"{seen['is']} {seen['code']}".strip()


@pytest.mark.parametrize("seen", RECORDED, ids=name_of)
def test_what_was_seen_is_read_as_it_was_then(seen: dict[str, Any]) -> None:
    status = status_of(seen["job"], seen["pods"], seen["events"])
    assert (type(status).__name__, getattr(status, "code", "")) == (seen["is"], seen["code"])
    if seen["code"]:
        assert getattr(status, "sentence", "").endswith(".")


@pytest.mark.parametrize("seen", [seen for seen in RECORDED if seen["pods"]], ids=name_of)
def test_what_newer_clusters_add_decides_whatever_else_was_seen(seen: dict[str, Any]) -> None:
    """A disruption blames no player, not even where the referee has ended well, and a deadline that is over is told."""
    job = json.loads(json.dumps(seen["job"]))
    pods = json.loads(json.dumps(seen["pods"]))
    newest = max(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")))
    newest["status"].setdefault("conditions", []).append(TAKEN)
    disrupted = status_of(job, pods, seen["events"])
    assert isinstance(disrupted, Ended)
    assert disrupted.code in ("pod_disrupted", "lot_timed_out")
    assert disrupted.out_of_memory | disrupted.killed == frozenset()
    job["status"].setdefault("conditions", []).append(LATE)
    late = status_of(job, pods, seen["events"])
    assert isinstance(late, Ended)
    assert late.code == "lot_timed_out"
