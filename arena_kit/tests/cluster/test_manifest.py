"""The Job of a lot."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.cluster.lots.manifest import LotJob, channel_of, lot_manifest
from arena_kit.cluster.manifest import PodPlayerSpec, Tenant
from arena_kit.environment.spec import Limits
from arena_kit.referee.lot import Lot, LotPlayer

GOLDEN = Path(__file__).with_name("golden") / "lot.json"
LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
TENANT = Tenant(id="demo", namespace="arena-players", referee_image="registry/arena@sha256:" + "a" * 64)
PLAYERS = tuple(PodPlayerSpec(f"registry/player@sha256:{digit * 64}", Limits()) for digit in "bc")
LOT = Lot("9f3c21ab44", tuple(LotPlayer(f"player-{n + 1}", channel_of(n), Limits()) for n in range(2)))
JOB = LotJob("duel", 4711, 1, "9f3c21ab44", LOT.to_json(), PLAYERS, play_seconds=1800.0)


def pod(job: LotJob = JOB, tenant: Tenant = TENANT) -> dict[str, Any]:
    spec: dict[str, Any] = lot_manifest(job, tenant)["spec"]["template"]["spec"]
    return spec


def test_a_duel_is_this_job() -> None:
    """After an intended change, write the file anew and read the difference."""
    assert lot_manifest(JOB, TENANT) == json.loads(GOLDEN.read_text())


def test_every_container_is_behind_all_walls() -> None:
    containers = [*pod()["initContainers"], *pod()["containers"]]
    for container in containers:
        context = container["securityContext"]
        assert context["runAsNonRoot"]
        assert context["readOnlyRootFilesystem"]
        assert not context["allowPrivilegeEscalation"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"].keys() >= {"cpu", "memory"}
    assert pod()["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod().keys()
    assert all("emptyDir" in volume for volume in pod()["volumes"])


def test_a_player_shares_a_folder_with_the_referee_alone() -> None:
    places: dict[str, list[tuple[str, bool]]] = {}
    for container in pod()["containers"]:
        for mount in container["volumeMounts"]:
            places.setdefault(mount["name"], []).append((container["name"], mount.get("readOnly", False)))
    assert places["channel-1"] == [("referee", False), ("player-1", True)]
    assert places["channel-2"] == [("referee", False), ("player-2", True)]
    assert places["tmp-1"] == [("player-1", False)]
    assert {name for name, _ in places["scratch"]} == {"referee"}
    # No player can write to what all players see.
    assert all(read_only for _, read_only in places["nothing"])
    users = [container["securityContext"]["runAsUser"] for container in pod()["containers"]]
    assert len(set(users)) == len(users)


@pytest.mark.parametrize(
    ("tenant", "key", "value"),
    [
        ({"runtime_class": "gvisor"}, "runtimeClassName", "gvisor"),
        ({"priority_class": "arena-duel"}, "priorityClassName", "arena-duel"),
        ({"pull_secret": "registry"}, "imagePullSecrets", [{"name": "registry"}]),
        ({"node_selector": {"pool": "players"}}, "nodeSelector", {"pool": "players"}),
        ({"host_users": False}, "hostUsers", False),
    ],
)
def test_what_a_cluster_offers_is_asked_for(tenant: dict[str, Any], key: str, value: object) -> None:
    assert key not in pod()
    assert pod(tenant=replace(TENANT, **tenant))[key] == value


def test_the_users_of_a_pod_are_those_that_its_user_namespace_has() -> None:
    containers = pod(tenant=replace(TENANT, host_users=False))["containers"]
    users = [container["securityContext"]["runAsUser"] for container in containers]
    assert users == [65000, 60001, 60002]


def test_a_queue_of_kueue_starts_the_job_itself() -> None:
    manifest = lot_manifest(JOB, replace(TENANT, queue="players"))
    assert manifest["spec"]["suspend"] is True
    assert manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "players"


def test_a_block_requests_the_processors_of_a_duel() -> None:
    """With more, six submissions would not fit on a node with two cores."""
    containers = pod(replace(JOB, players=PLAYERS * 3))["containers"]
    assert [one["resources"]["requests"]["cpu"] for one in containers] == ["300m", *["100m"] * 6]


def test_a_gpu_is_requested_and_limited() -> None:
    players = (replace(PLAYERS[0], limits=Limits(gpu_count=1)), PLAYERS[1])
    _, one, other = (container["resources"] for container in pod(replace(JOB, players=players))["containers"])
    assert one["requests"]["nvidia.com/gpu"] == one["limits"]["nvidia.com/gpu"] == "1"
    assert "nvidia.com/gpu" not in str(other)
    tolerated = [{one["key"] for one in pod(job)["tolerations"]} for job in (JOB, replace(JOB, players=players))]
    assert tolerated[1] - tolerated[0] == {"nvidia.com/gpu"}


@given(
    kind=st.sampled_from(("duel", "validation", "evaluation")),
    number=st.integers(1, 1 << 63),
    attempt=st.integers(1, 100),
    claim=st.text("0123456789abcdef", min_size=32, max_size=32),
    count=st.integers(1, 6),
)
def test_names_and_labels_are_legal_for_any_lot(kind: str, number: int, attempt: int, claim: str, count: int) -> None:
    manifest = lot_manifest(LotJob(kind, number, attempt, claim, "{}", PLAYERS[:1] * count, 60.0), TENANT)
    name = manifest["metadata"]["name"]
    assert len(name) <= 63
    assert NAME.fullmatch(name)
    for value in manifest["metadata"]["labels"].values():
        assert len(value) <= 63
        assert LABEL_VALUE.fullmatch(value)
    assert len(json.dumps(manifest)) < 256 << 10


def test_the_same_lot_has_the_same_hash_and_another_has_another() -> None:
    def digest(job: LotJob) -> str:
        value: str = lot_manifest(job, TENANT)["metadata"]["annotations"]["arena/spec-sha256"]
        return value

    assert digest(JOB) == digest(replace(JOB))
    assert digest(JOB) != digest(replace(JOB, lot="{}"))
