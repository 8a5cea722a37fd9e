"""Tries the protections of a cluster: what the driver's account may do, and what a lot can do from inside."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from arena_kit.cluster.client import ApiCluster
from arena_kit.cluster.lots.driver import JOB_NAME
from arena_kit.cluster.lots.manifest import LotJob, lot_manifest
from arena_kit.cluster.manifest import CLAIM, PodPlayerSpec, Tenant
from arena_kit.cluster.rights import LOT_RIGHTS, Right
from arena_kit.cluster.status import Ended, status_of
from arena_kit.sandbox.base import SandboxError
from arena_kit.sandbox.probes import PROBE_LIMITS
from arena_kit.sandbox.probes.walls import WALLS, ProbeFinding, Result, in_words

BEYOND = (
    Right("create", "pods"),
    Right("create", "pods", subresource="exec"),
    Right("update", "jobs", "batch"),
    Right("get", "secrets"),
    Right("list", "pods", namespace="kube-system"),
    Right("list", "nodes", namespace=""),
)
"""The acts that a stolen account of a driver should not be able to do."""
PROBE_FOLDER = "/app/arena_kit/sandbox/probes"
"""Where the arena's image has the probes, which are a player."""
NOT_IN_PODS = frozenset(
    (
        "interfaces",
        "metadata",
        "loopback",
        "name_resolution",
        "cores",
        "groups",
        "run_from_tmp",
        "tmp_files",
        "dies_first",
    )
)
"""Probes of what a pod does not have: an interface is always there but no socket can be made, processors are shared by
time, the volumes' group is a further one, and a volume in memory limits neither programs nor the number of files."""
NETWORK_PROBE = """
import json, os, pathlib, socket
def tried(host, port):
    if not host:
        return "no address"
    try:
        socket.create_connection((host, port), 3).close()
    except OSError as error:
        return "refused: " + type(error).__name__
    return "reached"
def named():
    try:
        socket.getaddrinfo("kubernetes.default.svc.cluster.local", 443)
    except OSError as error:
        return "refused: " + type(error).__name__
    return "resolved"
host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
print(json.dumps({
    "the API server": tried(host, int(os.environ.get("KUBERNETES_SERVICE_PORT") or 443)),
    "the cloud's metadata": tried("169.254.169.254", 80),
    "an address outside": tried("192.0.2.1", 443),
    "resolving a name": named(),
    "a token of the API": "there" if pathlib.Path("/var/run/secrets/kubernetes.io").exists() else "refused: none",
}))
"""
"""Runs in a referee's container, which can make sockets: only the cluster's network keeps it in."""
WAIT_SECONDS = 600.0


def rights_findings(
    cluster: ApiCluster, rights: Sequence[Right] = LOT_RIGHTS, foreign: Sequence[Right] = ()
) -> list[ProbeFinding]:
    """Return what the account may do that it needs, and what it may do beyond that. Raises SandboxUnavailable.

    rights: what it needs. foreign: what it should not be able to do elsewhere, besides what no account should.
    """
    needed = [
        ProbeFinding("rights", f"may {right}", _allowed(cluster.may(right)), cluster.may(right)) for right in rights
    ]
    beyond = []
    for right in (*(one for one in BEYOND if one not in rights), *foreign):
        where = f" in {right.namespace}" if right.namespace else ""
        allowed = cluster.may(right)
        beyond.append(ProbeFinding("no other rights", f"may not {right}{where}", _allowed(allowed), not allowed))
    return needed + beyond


def lot_findings(cluster: ApiCluster, tenant: Tenant, lot: Callable[[str], str], *, play: Play) -> list[ProbeFinding]:
    """Play a lot of two players that try every wall; return what held. Raises SandboxError."""
    claim = secrets.token_hex(16)
    player = PodPlayerSpec(tenant.referee_image, PROBE_LIMITS, folder=PROBE_FOLDER)
    job = LotJob("check", 0, 1, claim, lot(claim), (player, player), PROBE_LIMITS.duel_seconds)
    lines, ended = run_job(cluster, lot_manifest(job, tenant))
    return list(wall_findings(play(lines, ended, claim)))


Play = Callable[[list[str], Ended, str], str]
"""Returns the output of the first player of a lot, from the lines of its log, its end and its claim."""


def wall_findings(log: str) -> Iterator[ProbeFinding]:
    """Judge the output of the probes."""
    line = next((line for line in log.splitlines() if line.startswith("{")), "{}")
    results: Mapping[str, Result] = json.loads(line)
    for wall in WALLS:
        if wall.probe not in NOT_IN_PODS:
            yield wall.judge(results)
    groups = results.get("groups", {})
    unknown = all(number >= 60_000 for number in groups.get("done", [0]))
    yield ProbeFinding("user", "its further groups", in_words(groups), unknown)


def network_findings(cluster: ApiCluster, tenant: Tenant) -> list[ProbeFinding]:
    """Try from a referee's container what the cluster's network lets out. Raises SandboxError."""
    job = LotJob("network", 0, 1, secrets.token_hex(16), "", (), 60.0)
    manifest = lot_manifest(job, tenant)
    pod = manifest["spec"]["template"]["spec"]
    pod["initContainers"] = []
    pod["containers"][0] |= {"command": ["python3", "-c", NETWORK_PROBE]}
    lines, _ = run_job(cluster, manifest)
    results: Mapping[str, str] = json.loads(next((line for line in lines if line.startswith("{")), "{}"))
    if not results:
        raise SandboxError("The pod that tries the network has printed nothing.", code="lot_not_started")
    return [
        ProbeFinding("no network", what, happened, happened.startswith("refused") or happened == "no address")
        for what, happened in results.items()
    ]


def run_job(
    cluster: ApiCluster, manifest: Mapping[str, Any], *, seconds: float = WAIT_SECONDS
) -> tuple[list[str], Ended]:
    """Run a Job to its end; return what its referee printed, and how it ended. Raises SandboxError."""
    name, claim = manifest["metadata"]["name"], manifest["metadata"]["labels"][CLAIM]
    cluster.create(manifest)
    deadline, sentence = time.monotonic() + seconds, "It waits."
    try:
        while time.monotonic() < deadline:
            time.sleep(1.0)
            job = next((one for one in cluster.jobs() if one["metadata"]["name"] == name), None)
            if job is None:
                continue
            pods = [one for one in cluster.pods() if one["metadata"]["labels"].get(JOB_NAME) == name]
            status = status_of(job, pods, cluster.events(name))
            if isinstance(status, Ended):
                if status.code:
                    raise SandboxError(status.sentence, code=status.code)
                return cluster.log(pods[0]["metadata"]["name"]) or [], status
            sentence = getattr(status, "sentence", "It runs.")
        raise SandboxError(f"A lot has not ended in {seconds:.0f} s. {sentence}", code="lot_not_started")
    finally:
        for job in cluster.jobs():
            if job["metadata"]["labels"].get(CLAIM) == claim:
                cluster.delete(job["metadata"]["name"], job["metadata"]["uid"])


def _allowed(allowed: bool) -> str:
    return "allowed" if allowed else "not allowed"
