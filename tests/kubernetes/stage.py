"""A lot on a real cluster to which something happens, and what the cluster says of it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from arena_kit.cluster.client import ApiCluster
from arena_kit.cluster.lots.driver import JOB_NAME
from arena_kit.cluster.lots.manifest import LotJob, lot_manifest
from arena_kit.cluster.manifest import PodPlayerSpec, Tenant
from arena_kit.environment.spec import Limits
from arena_kit.sandbox.base import SandboxUnavailable
from tests.kubernetes.cluster import NAMESPACE, RealCluster

Plain = dict[str, Any]
MIB = 1 << 20
MEMORY = 32 * MIB
PATIENCE_SECONDS, POLL_SECONDS = 120.0, 0.2
PROGRAMS = """
sleep() { python3 -c "import time; time.sleep($1)"; }
eat() { exec python3 -c "import time; time.sleep(2); eaten = bytearray(1 << 29)"; }
fill() { python3 -c "
with open('$2', 'wb') as file:
    for _ in range($1):
        file.write(bytes(1 << 20))"; }
"""
"""What scripts use besides those of a shell: the image has Python alone. fill: a file of some MiB."""
NODES = (1, 2)
NODE, REGISTRY = "A-NODE", "THE-REGISTRY"
"""What stands in a scene for the name of a node, and for the folder of images of the registry."""
URGENT = {
    "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000,
}  # fmt: skip


class Stage:
    """One lot, by name. What its containers run is given as shell scripts."""

    def __init__(self, cluster: RealCluster, tenant: Tenant, number: int, claim: str) -> None:
        self.cluster, self._tenant = cluster, tenant
        self._api = ApiCluster(tenant, kubeconfig=str(cluster.kubeconfig))
        self._number, self._claim = number, claim
        self.name = ""

    def make(self, prepare: str, referee: str, players: tuple[str, ...], patch: Any) -> None:
        """Make the Job. Raises JobRefused."""
        limits = Limits(memory_limit_bytes=MEMORY, duel_seconds=600.0)
        player = PodPlayerSpec(self._tenant.referee_image, limits)
        job = LotJob("duel", self._number, 1, self._claim, "{}", (player,) * len(players), limits.duel_seconds)
        made = lot_manifest(job, self._tenant)
        pod = made["spec"]["template"]["spec"]
        scripts = [prepare, referee, *players]
        for container, script in zip((*pod["initContainers"], *pod["containers"]), scripts, strict=True):
            container |= {"command": ["/bin/sh", "-c", f"{PROGRAMS}\n{script}"], "args": []}
        patch(made)
        self.name = job.name
        text = json.dumps(made).replace(NODE, self.cluster.nodes()[0])
        self._api.create(json.loads(text.replace(REGISTRY, self._tenant.referee_image.partition("@")[0])))

    def look(self) -> tuple[Plain | None, list[Plain], list[Plain]]:
        """Return the Job, its pods, and the events of its pod, or of the Job if it has none."""
        job = next((one for one in self._api.jobs() if one["metadata"]["name"] == self.name), None)
        pods = [one for one in self._api.pods() if one["metadata"]["labels"].get(JOB_NAME) == self.name]
        return job, pods, self._api.events(pods[0]["metadata"]["name"] if pods else self.name)

    def log(self, pods: list[Plain]) -> list[str]:
        newest = max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
        with suppress(SandboxUnavailable):
            return self._api.log(newest["metadata"]["name"]) or []
        return []

    def clear(self) -> None:
        """Delete the Job and wait until nothing of it is left."""
        self.delete_job()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            job, pods, _ = self.look()
            if job is None and not pods:
                return
            assert time.monotonic() < deadline, (job, pods)
            for pod in pods:
                name = pod["metadata"]["name"]
                self.cluster.kubectl("-n", NAMESPACE, "delete", "pod", name, "--ignore-not-found", *FORCED)
            time.sleep(1)

    # --- What may happen to it ----------------------------------------------------------------------------------

    def delete_pod(self) -> None:
        self.cluster.kubectl("-n", NAMESPACE, "delete", "pod", self._pod(), "--wait=false")

    def remove_pod(self) -> None:
        """As it goes when a node does not come back."""
        self.cluster.kubectl("-n", NAMESPACE, "delete", "pod", self._pod(), *FORCED)

    def delete_job(self, how: str = "background") -> None:
        self.cluster.kubectl(
            "-n", NAMESPACE, "delete", "job", self.name, f"--cascade={how}", "--wait=false", "--ignore-not-found"
        )

    def delete_job_last(self) -> None:
        """As a person does with `--cascade=foreground`: the pod goes first."""
        self.delete_job("foreground")

    def drain(self) -> None:
        self.cluster.kubectl("drain", self._node(), "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s")

    def power_cut(self) -> None:
        self.cluster.node(self._node_number(), "stop")

    def restart_node(self) -> None:
        number = self._node_number()
        self.cluster.node(number, "stop")
        self.cluster.node(number, "start")

    def freeze(self) -> None:
        """Its node is cut off from the API server, and plays on."""
        self.cluster.node(self._node_number(), "freeze")

    def delete_node(self) -> None:
        """As a cloud does with a machine that it takes back."""
        self.cluster.node(self._node_number(), "stop")
        self.cluster.kubectl("delete", "node", self._node())

    def restart_kubelet(self) -> None:
        self.cluster.node(self._node_number(), "restart")

    def preempt(self) -> None:
        """Let a more urgent pod take its place."""
        pod = {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "urgent", "namespace": NAMESPACE},
            "spec": {
                "priorityClassName": "urgent", "nodeSelector": {"kubernetes.io/hostname": self._node()},
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "urgent", "image": self._tenant.referee_image, "command": ["/bin/sh", "-c", "sleep 600"],
                    "resources": {"requests": {"cpu": "1500m"}, "limits": {"cpu": "2"}},
                }],
            },
        }  # fmt: skip
        self.cluster.apply(URGENT, pod)

    def kill(self, container: str) -> None:
        """Kill a container as an administrator of its node may."""
        found = next(
            one for one in self._status()["containerStatuses"] if one["name"] == container
        )["containerID"].removeprefix("containerd://")  # fmt: skip
        self.cluster.node(self._node_number(), "ctr", "tasks", "kill", "--signal", "SIGKILL", found)

    def kill_referee(self) -> None:
        self.kill("referee")

    def kill_player(self) -> None:
        self.kill("player-1")

    def kill_all(self) -> None:
        for name in ("player-1", "player-2", "referee"):
            self.kill(name)

    def repair(self) -> None:
        """Let both nodes run, and remove what was in the lot's way."""
        for number, name in zip(NODES, self.cluster.nodes(), strict=True):
            self.cluster.node(number, "start")
            self.cluster.node(number, "thaw")
            if self._is_gone(name):
                # A kubelet registers its node only when it starts.
                self.cluster.node(number, "restart")
        self.cluster.kubectl("-n", NAMESPACE, "delete", "pod", "urgent", "--ignore-not-found", *FORCED)
        deadline = time.monotonic() + PATIENCE_SECONDS
        for name in self.cluster.nodes():
            while self._is_gone(name):
                assert time.monotonic() < deadline
                time.sleep(1)
            self.cluster.kubectl("uncordon", name)
            self.cluster.kubectl("wait", "--for=condition=Ready", f"--timeout={PATIENCE_SECONDS:.0f}s", f"node/{name}")

    def _is_gone(self, node: str) -> bool:
        return not self.cluster.kubectl("get", "node", node, "--ignore-not-found", "-o", "name").strip()

    def _status(self) -> Mapping[str, Any]:
        _, (pod, *_), _ = self.look()
        status: Mapping[str, Any] = pod["status"]
        return status

    def _pod(self) -> str:
        _, (pod, *_), _ = self.look()
        return str(pod["metadata"]["name"])

    def _node(self) -> str:
        _, (pod, *_), _ = self.look()
        return str(pod["spec"]["nodeName"])

    def _node_number(self) -> int:
        return int(self._node().rpartition(".")[2])


FORCED = ("--force", "--grace-period=0", "--wait=false")
