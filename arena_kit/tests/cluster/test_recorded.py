"""What a real cluster said of lots to which something happened, and the verdict that each state must have.

`python -m tests.kubernetes.record` causes what happens there (Kubernetes 1.20.2) and keeps each state once.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from arena_kit.cluster.status import Ended, Running, Status, Waiting, status_of
from arena_kit.referee.part import read_lot
from arena_kit.sandbox.base import SandboxError

STATES: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).with_name("golden") / "states.jsonl").read_text().splitlines()
]
CLAIM = "0123456789abcdef0123456789abcdef"
TAKEN = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API"}
LATE = {"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded"}


def name_of(seen: dict[str, Any]) -> str:
    return f"{seen['scene']}: {seen['must']['is']} {seen['must'].get('code', '')}".strip()


def told(status: Status) -> dict[str, Any]:
    if isinstance(status, Running):
        return {"is": "Running"}
    if isinstance(status, Waiting):
        return {"is": "Waiting", "code": status.code}
    return {"is": "Ended", "code": status.code, **({} if status.code else {"killed": sorted(status.killed)})}


@pytest.mark.parametrize("seen", STATES, ids=name_of)
def test_what_was_seen_has_the_verdict_of_what_was_done(seen: dict[str, Any]) -> None:
    must = dict(seen["must"])
    read = must.pop("read", None)
    status = status_of(seen["job"], seen["pods"], seen["events"])
    assert told(status) == must, seen["why"]
    if must.get("code"):
        assert getattr(status, "sentence", "").endswith(".")
    if read is not None:
        assert isinstance(status, Ended)
        assert read_as(seen["log"], status) == read


def read_as(log: list[str], ended: Ended) -> str:
    try:
        read_lot(log, ended.seal, CLAIM, ended.killed)
    except SandboxError as error:
        return error.code
    return "sealed"


@pytest.mark.parametrize("seen", [seen for seen in STATES if seen["pods"]], ids=name_of)
def test_what_newer_clusters_add_decides_whatever_else_was_seen(seen: dict[str, Any]) -> None:
    """A disruption blames no player, not even where the referee has ended well, and a deadline that is over is told."""
    job = json.loads(json.dumps(seen["job"]))
    pods = json.loads(json.dumps(seen["pods"]))
    newest = max(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")))
    newest["status"].setdefault("conditions", []).append(TAKEN)
    disrupted = status_of(job, pods, seen["events"])
    assert isinstance(disrupted, Ended)
    assert disrupted.code in ("pod_disrupted", "lot_timed_out")
    assert disrupted.killed == frozenset()
    job["status"].setdefault("conditions", []).append(LATE)
    late = status_of(job, pods, seen["events"])
    assert isinstance(late, Ended)
    assert late.code == "lot_timed_out"


def test_every_verdict_was_seen() -> None:
    codes = Counter(seen["must"].get("code", "") for seen in STATES if seen["must"]["is"] == "Ended")
    assert set(codes) == {"", "pod_disrupted", "lot_timed_out", "referee_failed", "pod_refused"}
    waits = {seen["must"]["code"] for seen in STATES if seen["must"]["is"] == "Waiting"}
    assert waits == {"", "no_capacity", "image_missing", "pod_refused"}
    assert len(STATES) >= 100
