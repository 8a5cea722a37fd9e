"""Worlds in pods, as far as no cluster is needed: the pod of a world, its relay, users as numbers, exit statuses."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from arena_kit.cluster.manifest import PodPlayerSpec, Tenant
from arena_kit.cluster.streams import status_of
from arena_kit.environment.spec import Limits
from arena_kit.errors import PlatformFault
from arena_kit.rollout.building.users import numbers_of
from arena_kit.rollout.packages.compose import HealthCheck, Service
from arena_kit.rollout.pods.channel import RELAY
from arena_kit.rollout.pods.manifest import GO, PLAYER, WATCHER, WorldPod, world_manifest
from arena_kit.rollout.pods.prepare import main as prepare
from arena_kit.rollout.worlds.built import BuiltPackage, BuiltService
from arena_kit.rollout.worlds.world import Extras

DIGEST = "sha256:" + "a" * 64
TENANT = Tenant(id="demo-worlds", namespace="arena-worlds", referee_image=f"registry/arena@{DIGEST}")
DB = Service(
    "db", "base:postgres", entrypoint=(), command=("arena-postgres", "shop"), ports=(5432,), user="postgres",
    memory_bytes=256 << 20, health=HealthCheck(("pg_isready",)),
)  # fmt: skip
WEB = Service(
    "web", "base:python", entrypoint=("tini", "--"), command=("python", "-m", "$(shop)", "$$(PRICE) $x"),
    ports=(8000,), after=("db",), environment={"PRICE": "$(DB)"}, tmpfs={"/tmp": 16 << 20}, memory_bytes=128 << 20,
    read_only=True, cpu_count=0.5,
)  # fmt: skip
PACKAGE = BuiltPackage(
    "b" * 64, "shop",
    (BuiltService(DB, "sha256:1", user="105:110", reference=f"registry/apps@{DIGEST}"),
     BuiltService(WEB, "sha256:2", {"PYTHONPATH": "/p"}, user="1000:1000", reference=f"registry/apps@{DIGEST}")),
    (), 384 << 20, ("http://web:8000",), front=True,
)  # fmt: skip
ALL = Extras(
    memory_bytes=2 << 30,
    has_browser=True,
    player=PodPlayerSpec(f"registry/player@{DIGEST}", Limits(), fresh=True),
)
POD = WorldPod(PACKAGE, "0123456789abcdef" * 2, "f" * 32, 1500.0, ALL, f"registry/browser@{DIGEST}")


def pod(world: WorldPod = POD, tenant: Tenant = TENANT) -> dict[str, Any]:
    spec: dict[str, Any] = world_manifest(world, tenant)["spec"]["template"]["spec"]
    return spec


def containers(world: WorldPod = POD) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in pod(world)["containers"]}


@pytest.mark.parametrize("version", ["1.33", "1.37"])
def test_a_world_is_valid_for_new_versions(version: str) -> None:
    kubernetes_validate.validate(world_manifest(POD, TENANT), version, strict=True)


def test_every_container_of_a_world_is_behind_all_walls() -> None:
    whole = pod()
    for one in (*whole["initContainers"], *whole["containers"]):
        context = one["securityContext"]
        assert context["runAsNonRoot"] is True
        assert context["runAsUser"] > 0
        assert context["runAsGroup"] > 0
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert one["resources"]["limits"].keys() >= {"cpu", "memory", "ephemeral-storage"}
        # What is not there cannot be taken by another pod: memory is reserved whole.
        assert one["resources"]["requests"]["memory"] == one["resources"]["limits"]["memory"]
        assert "ports" not in one
        assert "@sha256:" in one["image"]
    assert whole["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert whole["automountServiceAccountToken"] is False
    assert whole["enableServiceLinks"] is False
    assert whole["shareProcessNamespace"] is False
    assert whole["restartPolicy"] == "Never"
    assert whole["dnsPolicy"] == "None"
    assert not {"hostNetwork", "hostPID", "hostIPC"} & whole.keys()
    assert all("emptyDir" in volume for volume in whole["volumes"])
    assert all("sizeLimit" in volume["emptyDir"] for volume in whole["volumes"])


def test_only_services_that_say_nothing_else_can_write_to_their_root() -> None:
    can_write = {name for name, one in containers().items() if not one["securityContext"]["readOnlyRootFilesystem"]}
    assert can_write == {"service-db"}


def test_a_folder_can_be_written_by_one_side_only() -> None:
    """What a container finds, hears or may begin by is the arena's: none of the others can change it."""
    writers: dict[str, set[str]] = {}
    seen: dict[str, set[str]] = {}
    for name, one in containers().items():
        for mount in one["volumeMounts"]:
            seen.setdefault(mount["name"], set()).add(name)
            if not mount.get("readOnly", False):
                writers.setdefault(mount["name"], set()).add(name)
    assert writers["go"] == {WATCHER}
    assert writers["channel-browser"] == writers["channel-player"] == {WATCHER}
    assert "nothing" not in writers
    assert seen["channel-player"] == {WATCHER, PLAYER}
    assert seen["channel-browser"] == {WATCHER, "browser"}
    assert all(len(names) == 1 for names in writers.values())
    # The containers of a pod share the folders of shared memory and queues; here each has its own, or none.
    for name in ("service-db", "service-web", "browser", PLAYER):
        places = {mount["mountPath"] for mount in containers()[name]["volumeMounts"]}
        assert places >= {"/dev/shm", "/dev/mqueue"}
    users = [one["securityContext"]["runAsUser"] for one in containers().values()]
    assert len(set(users)) == len(users) - 1, "The watcher and the proxy are the arena's own."


def test_services_wait_for_their_file_and_then_run_what_compose_says() -> None:
    web = containers()["service-web"]
    assert web["command"][:2] == ["/bin/sh", "-c"]
    assert web["command"][3] == f"{GO}/web"
    assert web["args"] == ["tini", "--", "python", "-m", "$$(shop)", "$$$$(PRICE) $$x"]
    assert {"name": "PRICE", "value": "$$(DB)"} in web["env"]
    assert {"name": "PYTHONPATH", "value": "/p"} in web["env"]
    assert pod()["hostAliases"] == [{"ip": "127.0.0.1", "hostnames": ["db", "web"]}]


def test_the_wait_ends_with_the_file(tmp_path: Path) -> None:
    """The real shell, as of the machine."""
    shell, go = containers()["service-web"]["command"][:3], tmp_path / "web"
    with subprocess.Popen([*shell, str(go), "echo", "a b", "c"], stdout=subprocess.PIPE) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
        go.touch()
        assert process.communicate(timeout=10)[0] == b"a b c\n"


def test_what_is_not_asked_for_is_not_in_the_pod() -> None:
    bare = replace(POD, extras=Extras(), package=replace(PACKAGE, front=False), browser_image="")
    assert set(containers(bare)) == {WATCHER, "service-db", "service-web"}
    assert not [volume for volume in pod(bare)["volumes"] if "browser" in volume["name"] or "player" in volume["name"]]
    assert set(containers()) == {WATCHER, "service-db", "service-web", "front", "browser", PLAYER}


def test_a_world_is_given_up_by_the_cluster_itself() -> None:
    job = world_manifest(POD, TENANT)
    assert job["spec"]["activeDeadlineSeconds"] == 1500 + 900
    assert job["spec"]["backoffLimit"] == 0
    assert job["spec"]["ttlSecondsAfterFinished"] == 60
    labels = job["metadata"]["labels"]
    assert (labels["arena/claim"], labels["arena/site"]) == ("f" * 32, "demo-worlds")
    assert labels["arena/world"] == POD.token


@pytest.mark.parametrize("user", ["0:0", "", "0:1000"])
def test_no_service_runs_as_root_on_a_cluster(user: str) -> None:
    db, web = PACKAGE.services
    with pytest.raises(PlatformFault, match=r"db runs as root") as caught:
        pod(replace(POD, package=replace(PACKAGE, services=(replace(db, user=user), web))))
    assert caught.value.code == "package_refused"


def test_a_package_that_is_in_no_registry_is_said_so() -> None:
    db, web = PACKAGE.services
    with pytest.raises(PlatformFault, match="is in no registry") as caught:
        pod(replace(POD, package=replace(PACKAGE, services=(replace(db, reference=""), web))))
    assert caught.value.code == "image_missing"


@pytest.mark.parametrize(
    ("user", "numbers"),
    [
        ("", "0:0"), ("root", "0:0"), ("app", "1000:1001"), ("1000", "1000:1001"), ("1000:5", "1000:5"),
        ("app:web", "1000:33"), ("4711", "4711:0"), ("nobody", ""), ("app:none", ""),
    ],
)  # fmt: skip
def test_users_are_known_by_their_numbers(user: str, numbers: str) -> None:
    passwd = "root:x:0:0::/root:/bin/sh\nbroken\napp:x:1000:1001::/app:/bin/sh\n"
    assert numbers_of(user, passwd, "root:x:0:\nweb:x:33:\n") == numbers


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"status": "Success"}, 0),
        ({"status": "Failure", "details": {"causes": [{"reason": "ExitCode", "message": "7"}]}}, 7),
        ({"status": "Failure", "message": "lost"}, None),
        ({"status": "Failure", "details": {"causes": [{"reason": "ExitCode", "message": "x"}]}}, None),
        ([], None),
    ],
)
def test_the_status_of_a_command_is_what_the_kubelet_says(told: object, status: int) -> None:
    assert status_of(json.dumps(told).encode()) == status
    assert status_of(b"") is None


@contextmanager
def relay(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-I", "-S", "-c", RELAY, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[bytes], size: int) -> bytes:
    assert process.stdout is not None
    found = b""
    while len(found) < size and (piece := process.stdout.read(size - len(found))):
        found += piece
    return found


def test_a_relay_hands_on_what_both_sides_say(tmp_path: Path) -> None:
    path = tmp_path / "a.sock"
    with relay(path) as process, socket.socket(socket.AF_UNIX) as client:
        assert process.stdin is not None
        assert said(process, 1) == b"L"
        client.connect(str(path))
        assert said(process, 1) == b"C"
        # Not more than what the sockets between them hold: this side reads only when it has written.
        large = bytes(range(256)) * 512
        client.sendall(b"question")
        assert said(process, 8) == b"question"
        left, received = large, b""
        while left:
            left = left[process.stdin.write(left) :]
        while len(received) < len(large):
            received += client.recv(1 << 16)
        assert received == large
        assert not path.exists(), "It takes one connection."
        client.close()
        assert process.wait(10) == 0


def test_a_relay_ends_when_its_worker_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.sock"
    with relay(path) as process:
        assert process.stdin is not None
        assert said(process, 1) == b"L"
        process.stdin.close()
        assert process.wait(10) == 0
    assert not path.exists()
    with relay(path) as process, socket.socket(socket.AF_UNIX) as client:
        assert process.stdin is not None
        client.connect(str(path)) if said(process, 1) == b"L" else pytest.fail("It does not listen.")
        assert said(process, 1) == b"C"
        process.stdin.close()
        client.settimeout(10)
        assert client.recv(1) == b""
        assert process.wait(10) == 0


def test_the_folders_of_browser_and_player_are_filled_before_they_start(tmp_path: Path) -> None:
    for name in ("browser", "player"):
        (tmp_path / name).mkdir()
    prepare(["--browser", str(tmp_path / "browser"), "--player", str(tmp_path / "player"), "http://web:8000"])
    assert (tmp_path / "browser" / "browser_server" / "start.py").is_file()
    assert (tmp_path / "player" / "player_server" / "start.py").is_file()
    told = json.loads((tmp_path / "browser" / "policies" / "arena.json").read_text())
    assert told["URLAllowlist"][0] == "http://.web:8000"
