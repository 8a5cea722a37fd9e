"""Doubles of a cluster and of an arena's rows, in memory, for the driver of lots. Neither is a real one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arena_kit.cluster.client import JobRefused
from arena_kit.cluster.lots.manifest import LotJob
from arena_kit.cluster.manifest import PodPlayerSpec
from arena_kit.cluster.status import Ended
from arena_kit.environment.spec import Limits
from arena_kit.sandbox.base import SandboxUnavailable

Plain = dict[str, Any]
PLAYER = PodPlayerSpec("registry/player@sha256:" + "b" * 64, Limits())


class ClusterDouble:
    """Keeps Jobs and pods in memory, and fails when it is told to."""

    def __init__(self) -> None:
        self.made: dict[str, Plain] = {}
        self.pods_of: dict[str, list[Plain]] = {}
        self.events_of: dict[str, list[Plain]] = {}
        self.logs: dict[str, list[str]] = {}
        self.is_away = self.is_unreadable = False
        self.loses_answers = False
        """Whether the answer to a change is lost after the change is made."""
        self.takes_nothing = False
        """Whether Jobs can be listed, but not created."""
        self.refusal: JobRefused | None = None
        self.created = 0
        self._uids = itertools.count(1)

    def jobs(self) -> list[Plain]:
        self._answer()
        return list(self.made.values())

    def pods(self) -> list[Plain]:
        self._answer()
        return [pod for pods in self.pods_of.values() for pod in pods]

    def events(self, name: str) -> list[Plain]:
        self._answer()
        return self.events_of.get(name, [])

    def log(self, pod: str, *, last: int | None = None) -> list[str] | None:
        self._answer()
        if self.is_unreadable:
            raise SandboxUnavailable("The kubelet does not answer.", code="cluster_unavailable")
        return self.logs.get(pod)

    def create(self, manifest: Mapping[str, Any]) -> None:
        self._answer()
        if self.takes_nothing:
            raise SandboxUnavailable("A webhook does not answer.", code="cluster_unavailable")
        if self.refusal is not None:
            raise self.refusal
        name = manifest["metadata"]["name"]
        if name not in self.made:
            uid = f"uid-{next(self._uids)}"
            self.made[name] = {**manifest, "metadata": {**manifest["metadata"], "uid": uid}, "status": {}}
            self.created += 1
        self._lose_answer()

    def delete(self, name: str, uid: str) -> None:
        self._answer()
        if name in self.made and self.made[name]["metadata"]["uid"] == uid:
            self.remove(name)
        self._lose_answer()

    def remove(self, name: str) -> None:
        """Let a Job vanish with its pod."""
        self.made.pop(name)
        for pod in self.pods_of.pop(name, []):
            self.logs.pop(pod["metadata"]["name"], None)

    def set_pod(self, name: str, status: Plain) -> None:
        """Let a Job's pod be in this state."""
        labels = {**self.made[name]["metadata"]["labels"], "job-name": name}
        metadata = {"name": f"{name}-pod", "labels": labels, "creationTimestamp": "2026-11-23T12:00:00Z"}
        self.pods_of[name] = [{"metadata": metadata, "status": status}]

    def run(self, name: str) -> None:
        running = {"name": "referee", "state": {"running": {}}}
        self.set_pod(name, {"phase": "Running", "containerStatuses": [running]})

    def end(self, name: str, lines: list[str]) -> None:
        ended = {"name": "referee", "state": {"terminated": {"exitCode": 0, "message": "seal"}}}
        self.set_pod(name, {"phase": "Succeeded", "containerStatuses": [ended]})
        self.logs[f"{name}-pod"] = lines

    def disrupt(self, name: str) -> None:
        self.set_pod(name, {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."})

    def _answer(self) -> None:
        if self.is_away:
            raise SandboxUnavailable("The API does not answer.", code="cluster_unavailable")

    def _lose_answer(self) -> None:
        if self.loses_answers:
            raise SandboxUnavailable("The answer was lost.", code="cluster_unavailable")


@dataclass
class Row:
    """A job of the arena. results: the claims by which it was finished; more than one would be a doubled result."""

    number: int
    attempt: int = 0
    claim: str = ""
    owner: int = 0
    lots: int = 1
    steps: list[str] = field(default_factory=list)
    """The lots of the present claim that are over; `lots` of them finish the row."""
    results: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class RowsDouble:
    """The rows of an arena in memory; each driver has one, over the same list."""

    def __init__(self, table: list[Row], owner: int) -> None:
        self._table, self._owner = table, owner

    def live_claims(self) -> frozenset[str]:
        return frozenset(row.claim for row in self._table if row.claim)

    def renew(self, claims: Sequence[str]) -> frozenset[str]:
        return frozenset(claims) - self.live_claims()

    def claim(self, count: int) -> list[LotJob]:
        claimed = []
        for row in [row for row in self._table if not row.claim and not row.results][:count]:
            row.attempt += 1
            row.claim, row.owner, row.steps = f"{row.number:04x}{row.attempt:04x}{self._owner:08x}", self._owner, []
            claimed.append(self._lot(row))
        return claimed

    def _lot(self, row: Row) -> LotJob:
        step = len(row.steps) + 1
        return LotJob("duel", row.number, row.attempt, row.claim, "{}", (PLAYER, PLAYER), 60.0, step)

    def progress(self, claim: str, done: dict[str, int]) -> None:
        pass

    def finish(self, claim: str, lines: Sequence[str], ended: Ended) -> LotJob | None:
        if (row := self._held(claim)) is None:
            return None
        assert list(lines) == [f"result {row.number} {len(row.steps) + 1}"]
        row.steps.append(claim)
        if len(row.steps) < row.lots:
            return self._lot(row)
        row.results.append(claim)
        row.claim = ""
        return None

    def finish_parts(self, claim: str, lines: Sequence[str]) -> None:
        raise AssertionError("These rows have no blocks.")

    def fail(self, claim: str, code: str, sentence: str) -> None:
        if (row := self._held(claim)) is not None:
            row.faults.append(code)
            row.claim = ""

    def expire(self) -> None:
        """End the leases of this driver, as the reaper does after its death."""
        for row in self._table:
            if row.owner == self._owner:
                row.claim = ""

    def _held(self, claim: str) -> Row | None:
        return next((row for row in self._table if row.claim == claim), None)
