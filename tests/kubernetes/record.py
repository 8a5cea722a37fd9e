"""Causes everything in `scenes` on a real cluster and keeps what the cluster said, each state with its verdict.

    python -m tests.kubernetes.record [--only WORDS] [--at-once 3]

writes `arena_kit/tests/cluster/golden/states.jsonl`, one state a line, which a test reads again. It ends with 1 when
the code reads a state otherwise than its scene demands, and prints which; the file holds what the scene demands.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arena_kit.cluster.manifest import Tenant
from arena_kit.cluster.status import REFEREE, Ended, Running, Status, Waiting, status_of
from arena_kit.image.calls import engine as connect
from arena_kit.referee.part import read_lot
from arena_kit.sandbox.base import SandboxError, SandboxUnavailable
from arena_kit.tests.image.registries import registry_server, small_base_image
from tests.kubernetes.cluster import NAMESPACE, RealCluster
from tests.kubernetes.scenes import CLAIM, SCENES, SEALED, TAKEN, WAITS, Scene
from tests.kubernetes.stage import POLL_SECONDS, Stage

Plain = dict[str, Any]
FILE = Path(__file__).parents[2] / "arena_kit" / "tests" / "sandbox" / "golden" / "states.jsonl"
AFTER_SECONDS = 8.0
"""How long a lot is watched after its end, and after it waits for what it waits for to the end."""
KEPT = {
    "job": ("startTime", "completionTime", "active", "failed", "succeeded", "conditions"),
    "pod": ("phase", "reason", "message", "startTime", "conditions", "initContainerStatuses", "containerStatuses"),
    "container": ("name", "state"),
    "metadata": ("name", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"),
    "spec": ("activeDeadlineSeconds", "suspend"),
    "event": ("type", "reason", "message", "lastTimestamp"),
}


@dataclass
class Recorder:
    """Keeps each state once, whatever scene it is of."""

    cluster: RealCluster
    tenant: Tenant
    states: list[Plain] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def record(self, scene: Scene) -> None:
        """Cause a scene, watch it to its end and clean up."""
        with self._lock:
            stage = Stage(self.cluster, self.tenant, next(self._numbers), CLAIM)
        if scene.before is not None:
            self.cluster.apply(scene.before)
            # What is allowed is counted a moment later.
            time.sleep(2)
        try:
            stage.make(scene.prepare, scene.referee, scene.players, scene.patch)
            self._watch(scene, stage)
        except (SandboxError, AssertionError) as error:
            self._complain(scene, str(error))
        finally:
            if scene.before is not None:
                kind, name = scene.before["kind"], scene.before["metadata"]["name"]
                self.cluster.kubectl("-n", NAMESPACE, "delete", kind, name)
            if scene.cause is not None:
                stage.repair()
            stage.clear()
        print(f"{len(self.states):4} {scene.name}", flush=True)

    def _watch(self, scene: Scene, stage: Stage) -> None:
        deadline = time.monotonic() + scene.seconds
        decided_at = caused_at = None
        verdict: Status = Waiting()
        names: set[str] = set()
        while (now := time.monotonic()) < deadline and (decided_at is None or now - decided_at < AFTER_SECONDS):
            time.sleep(POLL_SECONDS)
            try:
                job, pods, events = stage.look()
            except SandboxUnavailable:
                continue
            if job is None:
                break
            # A driver asks for the events of what waits without a reason.
            status = status_of(job, pods)
            if not isinstance(status, Waiting) or status.code:
                events = []
            status = status_of(job, pods, events)
            names |= {one["metadata"]["name"] for one in pods}
            if decided_at is None:
                verdict = status
            if decided_at is None and _is_decided(scene, status):
                decided_at = time.monotonic()
            self._keep(scene, stage, (job, pods, events), status, is_first=decided_at is None or status == verdict)
            if scene.cause is not None and caused_at is None and _is_ready(pods):
                caused_at = time.monotonic()
                scene.cause(stage)
        waited = scene.must == WAITS and told(verdict) == {"is": "Waiting", "code": scene.waits_for}
        # Clusters before 1.28 replace a pod as soon as it is being deleted, and the next one plays.
        is_replaced = scene.must == TAKEN and len(names) > 1
        if decided_at is None and not waited and not is_replaced:
            self._complain(scene, f"ended as {verdict}")

    def _keep(self, scene: Scene, stage: Stage, seen: Any, status: Status, *, is_first: bool) -> None:
        job, pods, events = seen
        state: Plain = {
            "scene": scene.name,
            "job": trimmed(job, "job"),
            "pods": [trimmed(one, "pod") for one in pods],
            "events": [_only(one, KEPT["event"]) for one in events],
        }
        must = demanded(scene, status)
        if isinstance(status, Ended) and must["is"] == "Ended" and not must["code"]:
            state["log"] = stage.log(pods)
            must["read"] = scene.read
            if (found := read_as(state["log"], status)) != scene.read:
                self._complain(scene, f"the log is read as {found}")
        with self._lock:
            shape = json.dumps([shape_of(state), must], sort_keys=True)
            if shape in self._known:
                return
            self._known.add(shape)
            self.states.append({**state, "must": must, "why": scene.why})
        if is_first and told(status) != {key: value for key, value in must.items() if key != "read"}:
            self._complain(scene, f"{status} instead of {must}")

    def _complain(self, scene: Scene, what: str) -> None:
        complaint = f"{scene.name}: {what}"
        if complaint not in self.complaints:
            self.complaints.append(complaint)
            print(f"     {complaint}", flush=True)


def told(status: Status) -> Plain:
    """Return what a verdict says, as it stands in the file."""
    if isinstance(status, Running):
        return {"is": "Running"}
    if isinstance(status, Waiting):
        return {"is": "Waiting", "code": status.code}
    return {"is": "Ended", "code": status.code, **({} if status.code else {"killed": sorted(status.killed)})}


def demanded(scene: Scene, status: Status) -> Plain:
    """Return what a state must be read as: before the end, it waits for what its scene says, or it runs."""
    if isinstance(status, Ended):
        if scene.must == WAITS:
            return {"is": "Waiting", "code": scene.waits_for}
        return {"is": "Ended", "code": scene.must, **({} if scene.must else {"killed": sorted(scene.killed)})}
    if isinstance(status, Waiting) and status.code:
        return {"is": "Waiting", "code": scene.waits_for}
    return told(status)


def read_as(lines: Sequence[str], ended: Ended) -> str:
    """Return what a driver reads in a referee's log and seal: SEALED or a code."""
    try:
        read_lot(lines, ended.seal, CLAIM, ended.killed)
    except SandboxError as error:
        return error.code
    return SEALED


def _is_decided(scene: Scene, status: Status) -> bool:
    if scene.must == WAITS:
        return isinstance(status, Waiting) and status.code == scene.waits_for != ""
    return isinstance(status, Ended)


def _is_ready(pods: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether all containers run, or have run, or the pod finds no node."""
    if not pods:
        return False
    status = pods[0]["status"]
    if any(one.get("reason") == "Unschedulable" for one in status.get("conditions") or []):
        return True
    containers = status.get("containerStatuses") or []
    return bool(containers) and all("waiting" not in one["state"] for one in containers)


def trimmed(found: Plain, kind: str) -> Plain:
    """Return what of an object a verdict may rest on."""
    status = _only(found.get("status", {}), KEPT[kind])
    for name in ("initContainerStatuses", "containerStatuses"):
        if name in status:
            status[name] = [_only(one, KEPT["container"]) for one in status[name]]
            for one in status[name]:
                for state in one["state"].values():
                    state.pop("containerID", None)
    kept: Plain = {"metadata": _only(found["metadata"], KEPT["metadata"]), "status": status}
    return {**kept, "spec": _only(found["spec"], KEPT["spec"])} if kind == "job" else kept


def shape_of(state: Plain) -> Plain:
    """Return what tells a state from others: no names, no times, no sentences, and no order of the players."""

    def conditions(status: Plain) -> list[Any]:
        return sorted([one["type"], one["status"], one.get("reason", "")] for one in status.get("conditions") or [])

    def containers(status: Plain) -> list[Any]:
        every = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
        return sorted(
            [
                one["name"].partition("-")[0],
                name,
                values.get("reason", ""),
                values.get("exitCode", ""),
                values.get("message", "") if one["name"] == REFEREE and "exitCode" in values else "",
            ]
            for one in every
            for name, values in one["state"].items()
        )

    job = state["job"]
    newest: Plain = max(state["events"], key=lambda one: str(one.get("lastTimestamp") or ""), default={})
    counts = [bool(job["status"].get(name)) for name in ("active", "failed", "succeeded")]
    return {
        "job": [conditions(job["status"]), counts, "deletionTimestamp" in job["metadata"]],
        "pods": [
            ["deletionTimestamp" in one["metadata"], one["status"].get("phase"), one["status"].get("reason", ""),
             conditions(one["status"]), containers(one["status"])]
            for one in sorted(state["pods"], key=lambda one: one["metadata"]["creationTimestamp"])
        ],
        "events": newest.get("reason"),
        "log": state.get("log"),
    }  # fmt: skip


def _only(values: Mapping[str, Any], names: Sequence[str]) -> Plain:
    return {name: values[name] for name in names if values.get(name) not in (None, [], {})}


@contextmanager
def recorder() -> Iterator[Recorder]:
    """Start a cluster with a registry that holds one image with a shell."""
    with ExitStack() as stack:
        engine = stack.enter_context(connect())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-record-")))
        registry = stack.enter_context(registry_server(folder)).registry
        name = f"rl-arena-record-{os.getpid()}:small"
        small_base_image(engine, "rl-arena-base", name)
        stack.callback(engine.images.remove, name, force=True)
        image = registry.reference(registry.push(engine, name))
        cluster = RealCluster()
        stack.callback(cluster.close)
        cluster.up()
        cluster.set_up(registry)
        yield Recorder(cluster, Tenant("recorded", NAMESPACE, image, pull_secret="registry"))


def write(file: Path, states: list[Plain]) -> None:
    """Write the states in the order of their scenes, one a line."""
    order = {scene.name: number for number, scene in enumerate(SCENES)}
    lines = [json.dumps(state, separators=(",", ":")) for state in sorted(states, key=lambda one: order[one["scene"]])]
    file.write_text("".join(f"{line}\n" for line in lines))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="scenes with these words in their names")
    parser.add_argument("--at-once", type=int, default=3, help="lots at once, of those that disturb no other (3)")
    parser.add_argument("--file", type=Path, default=FILE)
    options = parser.parse_args()
    chosen = [scene for scene in SCENES if options.only in scene.name]
    quiet = [scene for scene in chosen if scene.before is None and scene.cause is None]
    with recorder() as made:
        with ThreadPoolExecutor(options.at_once) as threads:
            list(threads.map(made.record, quiet))
        write(options.file, made.states)
        for scene in chosen:
            if scene not in quiet:
                made.record(scene)
                write(options.file, made.states)
    print(f"{len(made.states)} states of {len(chosen)} scenes.", *made.complaints, sep="\n")
    return 1 if made.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
